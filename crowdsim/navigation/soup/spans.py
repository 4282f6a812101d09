"""Which heights do triangles take up over the square that a body stands on?

The plan is cut into square *columns*, one for each cell, numbered from the origin of the coordinates; 32 x 32
of them are a *block*. A body stands in the middle of a column on a square of its own side, which may be
larger than the cell. A triangle clipped to the prism over that square is plane and convex, so it takes up one
range of heights there, a *span*, and a box on the square meets the triangle exactly if it meets the span: no
separating axis has to be looked for.

A body touches nothing that reaches into it by less than `TOUCH_M`. Where bodies are as wide as cells, what
stands exactly between two columns reaches into neither, and is kept as an *upright* between them.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, kernel

BLOCK = 32  # Columns of a block, along each side.
COLUMNS = BLOCK * BLOCK
TOUCH_M = 1e-5  # Exporters round to some digits: what stands so far in a body only touches it.
EAST, NORTH, WEST, SOUTH = 0, 1, 2, 3
_MOST_CORNERS = 16  # Of a triangle that is cut by four lines: seven, and some by rounding.


class Lattice(NamedTuple):
    """How columns lie.

    Attributes
    ----------
    cell : float, m
        Side of a column.
    reach : float, m
        Half the side of a body's square, less `TOUCH_M`.
    first_x, first_y : int
        The block in the corner of the directory; block (0, 0) begins at the origin.
    wide, deep : int
        Blocks of the directory.
    """

    cell: float
    reach: float
    first_x: int
    first_y: int
    wide: int
    deep: int


class Triangles(NamedTuple):
    """Triangles, and which lie over which block.

    Attributes
    ----------
    corner : (nt, 3, 3) float64, m
        z is up.
    surface : (nt,) uint8
        What a body stands on there, from 1; 0 where it is too steep to stand.
    start : (nb + 1,) int64
        Block b of the directory has the triangles ``inside[start[b]:start[b + 1]]``.
    inside : (k,) int32
    """

    corner: NDArray[np.float64]
    surface: NDArray[np.uint8]
    start: NDArray[np.int64]
    inside: NDArray[np.int32]


class Spans(NamedTuple):
    """Spans of one block, as a list for each column; scratch.

    Attributes
    ----------
    first : (1024,) int32
        Of each column; -1 if it has none.
    after : (capacity,) int32
        The next in the list; -1 after the last.
    low, top : (capacity,) float64, m
    surface : (capacity,) uint8
        See `Triangles`.
    under_cell : (capacity,) float64, m
        Highest point over the cell itself of what can be stood on; -inf if it does not reach there.
    upright_column : (capacity,) int32
    upright_side : (capacity,) uint8
        On which side of its column it stands.
    upright_low, upright_top : (capacity,) float64, m
    corners : (3, 16, 3) float64
        Of polygons while they are cut.
    """

    first: NDArray[np.int32]
    after: NDArray[np.int32]
    low: NDArray[np.float64]
    top: NDArray[np.float64]
    surface: NDArray[np.uint8]
    under_cell: NDArray[np.float64]
    upright_column: NDArray[np.int32]
    upright_side: NDArray[np.uint8]
    upright_low: NDArray[np.float64]
    upright_top: NDArray[np.float64]
    corners: NDArray[np.float64]


def make_spans(capacity: int) -> Spans:
    """Return scratch for so many spans, and as many uprights."""
    return Spans(
        np.empty(COLUMNS, dtype=np.int32),
        np.empty(capacity, dtype=np.int32),
        np.empty(capacity),
        np.empty(capacity),
        np.empty(capacity, dtype=np.uint8),
        np.empty(capacity),
        np.empty(capacity, dtype=np.int32),
        np.empty(capacity, dtype=np.uint8),
        np.empty(capacity),
        np.empty(capacity),
        np.empty((3, _MOST_CORNERS, 3)),
    )


@inlined_kernel
def first_touched(low, cell, reach):
    """Return the first column (or row) whose square is not wholly below a coordinate (m)."""
    return np.int64(np.ceil((low - reach) / cell - 0.5))


@inlined_kernel
def last_touched(high, cell, reach):
    """Return the last column (or row) whose square is not wholly above a coordinate (m)."""
    return np.int64(np.floor((high + reach) / cell - 0.5))


@inlined_kernel
def _cut(points, count, axis, sign, limit, out):
    """Cut a convex polygon with a line of the plan: keep what lies at most at `limit` along an axis (sign 1),
    or at least (sign -1). Return its number of corners.
    """
    kept = 0
    for k in range(count):
        after = k + 1 if k + 1 < count else 0
        here, there = sign * (limit - points[k, axis]), sign * (limit - points[after, axis])
        if here >= 0.0:
            out[kept, 0], out[kept, 1], out[kept, 2] = points[k, 0], points[k, 1], points[k, 2]
            kept += 1
        if (here > 0.0 and there < 0.0) or (here < 0.0 and there > 0.0):
            share = here / (here - there)
            for each in range(3):
                out[kept, each] = points[k, each] + share * (points[after, each] - points[k, each])
            out[kept, axis] = limit
            kept += 1
    return kept


@inlined_kernel
def _heights_between(points, count, low, high, other, out):
    """Return the lowest and the highest point of a polygon between two values of x (m);
    the lowest is above the highest where there is none.
    """
    kept = _cut(points, count, 0, 1.0, high, other)
    kept = _cut(other, kept, 0, -1.0, low, out)
    bottom, top = np.inf, -np.inf
    for k in range(kept):
        bottom, top = min(bottom, out[k, 2]), max(top, out[k, 2])
    return bottom, top


@inlined_kernel
def _highest_over(corner, i, j, cell, one, other):
    """Return the highest point of a triangle over a cell, -inf if none lies there."""
    count = _cut(corner, 3, 1, 1.0, (j + 1) * cell - TOUCH_M, one)
    count = _cut(one, count, 1, -1.0, j * cell + TOUCH_M, other)
    count = _cut(other, count, 0, 1.0, (i + 1) * cell - TOUCH_M, one)
    count = _cut(one, count, 0, -1.0, i * cell + TOUCH_M, other)
    top = -np.inf
    for k in range(count):
        top = max(top, other[k, 2])
    return top


@kernel
def span_block(lattice, triangles, block, spans):
    """Find the spans of a block.

    Parameters
    ----------
    lattice : Lattice
    triangles : Triangles
    block : int
        Its place in the directory.
    spans : Spans
        Receives them.

    Returns
    -------
    spans, uprights : int
        How many there are; -1, -1 if there is no room for them.

    Notes
    -----
    Twin: `tests/reference/fill.py`.
    """
    spans.first[:] = -1
    used, uprights, capacity = 0, 0, len(spans.after)
    cell, reach = lattice.cell, lattice.reach
    is_wide = reach > 0.5 * cell
    left = (lattice.first_x + block % lattice.wide) * BLOCK
    bottom = (lattice.first_y + block // lattice.wide) * BLOCK
    whole, row, cut = spans.corners[0], spans.corners[1], spans.corners[2]
    for slot in range(triangles.start[block], triangles.start[block + 1]):
        number = triangles.inside[slot]
        corner, surface = triangles.corner[number], triangles.surface[number]
        south = min(corner[0, 1], corner[1, 1], corner[2, 1])
        north = max(corner[0, 1], corner[1, 1], corner[2, 1])
        is_level = corner[0, 2] == corner[1, 2] and corner[0, 2] == corner[2, 2]
        first_row, last_row = first_touched(south, cell, reach), last_touched(north, cell, reach)
        if first_row > last_row:  # between two rows
            for i in range(
                max(left, first_touched(min(corner[0, 0], corner[1, 0], corner[2, 0]), cell, reach)),
                min(
                    left + BLOCK - 1,
                    last_touched(max(corner[0, 0], corner[1, 0], corner[2, 0]), cell, reach),
                )
                + 1,
            ):
                middle = (i + 0.5) * cell
                low, top = _heights_between(corner, 3, middle - reach, middle + reach, row, cut)
                if low > top:
                    continue
                for j, side in ((last_row, NORTH), (first_row, SOUTH)):
                    if bottom <= j < bottom + BLOCK:
                        if uprights == capacity:
                            return -1, -1
                        spans.upright_column[uprights] = (j - bottom) * BLOCK + i - left
                        spans.upright_side[uprights] = side
                        spans.upright_low[uprights], spans.upright_top[uprights] = low, top
                        uprights += 1
            continue
        for j in range(max(first_row, bottom), min(last_row, bottom + BLOCK - 1) + 1):
            middle = (j + 0.5) * cell
            count = _cut(corner, 3, 1, 1.0, middle + reach, whole)
            count = _cut(whole, count, 1, -1.0, middle - reach, row)
            if count == 0:
                continue
            west, east = row[0, 0], row[0, 0]
            for k in range(1, count):
                west, east = min(west, row[k, 0]), max(east, row[k, 0])
            first, last = first_touched(west, cell, reach), last_touched(east, cell, reach)
            if first > last:  # between two columns
                low, top = row[0, 2], row[0, 2]
                for k in range(1, count):
                    low, top = min(low, row[k, 2]), max(top, row[k, 2])
                for i, side in ((last, EAST), (first, WEST)):
                    if left <= i < left + BLOCK:
                        if uprights == capacity:
                            return -1, -1
                        spans.upright_column[uprights] = (j - bottom) * BLOCK + i - left
                        spans.upright_side[uprights] = side
                        spans.upright_low[uprights], spans.upright_top[uprights] = low, top
                        uprights += 1
                continue
            for i in range(max(first, left), min(last, left + BLOCK - 1) + 1):
                # what a row's polygon covers along x it covers within the row
                low, top = corner[0, 2], corner[0, 2]
                if not is_level:
                    middle = (i + 0.5) * cell
                    low, top = _heights_between(row, count, middle - reach, middle + reach, whole, cut)
                    if low > top:
                        continue
                if used == capacity:
                    return -1, -1
                column = (j - bottom) * BLOCK + i - left
                spans.low[used], spans.top[used], spans.surface[used] = low, top, surface
                spans.under_cell[used] = top
                if is_wide and surface > 0:
                    spans.under_cell[used] = _highest_over(corner, i, j, cell, whole, cut)
                spans.after[used], spans.first[column] = spans.first[column], used
                used += 1
    return used, uprights
