"""A small grid that follows an agent: what stands near it, drawn on cells,
and the free cells as spans ([Mononen 2010], "Local Navigation Grids").

A row of cells is one 64-bit word, so that a disc or a wall is drawn with one operation a row, and spans are
found by counting bits.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.kernels.simd import first_bit

LEAST_CELLS, MOST_CELLS = 20, 64  # a side: [Mononen 2010]
MOST_SPANS = MOST_CELLS * MOST_CELLS // 2  # A row of 64 has 32 spans at most.

_U0, _U1 = np.uint64(0), np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)

# Columns of the table of spans.
ROW, FIRST, LAST = range(3)


@inlined_kernel
def corner_of_grid(x, cell, cells):
    """Return the number of the first cell along one axis, counted from the origin of the world:
    cells stay where they are while the agent walks.
    """
    return np.int64(np.floor(x / cell)) - cells // 2


@inlined_kernel
def _mark(words, row, low, high, cells):
    """Block the cells of a row whose centres lie between two places,
    counted in cells from the grid's corner.
    """
    # an end may be infinite: limited before it becomes a whole number
    first = np.int64(np.ceil(max(low, 0.0) - 0.5))
    last = np.int64(np.floor(min(high, np.float64(cells)) - 0.5))
    if first <= last:
        width = np.uint64(last - first + 1)
        run = _ALL if width == np.uint64(64) else (_U1 << width) - _U1
        words[row] |= run << np.uint64(first)


@lean_kernel
def draw_discs(words, cells, cell, corner_x, corner_y, discs, count):
    """Block the cells whose centres lie in discs.

    Parameters
    ----------
    words : (cells,) uint64
        Bit i of word j is cell (i, j); 1 is blocked. In and out.
    cells : int, 20..64
        Cells a side.
    cell : float, m
        Width of a cell.
    corner_x, corner_y : int
        Number of the first cell along x and y, see `corner_of_grid`.
    discs : (k, 3) float64, m
        Centre and radius: that of what stands there and that of the agent together.
    count : int
        How many of them count.

    Notes
    -----
    Twin: `tests/reference/local_grid.py`.
    """
    for disc in range(count):
        x, y, reach = (
            discs[disc, 0] / cell - corner_x,
            discs[disc, 1] / cell - corner_y,
            discs[disc, 2] / cell,
        )
        for row in range(
            max(int(np.ceil(y - reach - 0.5)), 0), min(int(np.floor(y + reach - 0.5)), cells - 1) + 1
        ):
            away = row + 0.5 - y
            half = np.sqrt(max(0.0, reach * reach - away * away))
            _mark(words, row, x - half, x + half, cells)


@lean_kernel
def draw_segments(words, cells, cell, corner_x, corner_y, segments, count, radius):
    """Block the cells whose centres lie within a radius of segments.

    Parameters
    ----------
    words, cells, cell, corner_x, corner_y : as for `draw_discs`
    segments : (k, 4) float64, m
        Both ends.
    count : int
    radius : float, m
        Of the agent.

    Notes
    -----
    What is that near to a segment is a disc at each end and a band between them; a row of cells meets each in
    one run. Twin: as for `draw_discs`.
    """
    reach = radius / cell
    for segment in range(count):
        ax, ay = segments[segment, 0] / cell - corner_x, segments[segment, 1] / cell - corner_y
        bx, by = segments[segment, 2] / cell - corner_x, segments[segment, 3] / cell - corner_y
        dx, dy = bx - ax, by - ay
        length = np.sqrt(dx * dx + dy * dy)
        first, last = int(np.ceil(min(ay, by) - reach - 0.5)), int(np.floor(max(ay, by) + reach - 0.5))
        for row in range(max(first, 0), min(last, cells - 1) + 1):
            y = row + 0.5
            low, high = np.inf, -np.inf
            for end in range(2):
                x, away = (ax, y - ay) if end == 0 else (bx, y - by)
                if abs(away) <= reach:
                    half = np.sqrt(reach * reach - away * away)
                    low, high = min(low, x - half), max(high, x + half)
            if length > 0.0:
                from_x, to_x = _band(ax, ay, dx, dy, y, reach * length)
                if from_x <= to_x:
                    low, high = min(low, from_x), max(high, to_x)
            if low <= high:
                _mark(words, row, low, high, cells)


@inlined_kernel
def _band(ax, ay, dx, dy, y, width):
    """Return between which x a line of constant y lies beside a segment,
    no farther from it than the width over its length.
    """
    low, high = -np.inf, np.inf
    # (p - a) . d in 0..d . d, and (p - a) x d in -width..width: both are a slope times x and an offset
    for side in range(2):
        slope, offset = (dx, (y - ay) * dy - ax * dx) if side == 0 else (dy, -(y - ay) * dx - ax * dy)
        least, most = (0.0, dx * dx + dy * dy) if side == 0 else (-width, width)
        if slope == 0.0:
            if offset < least or offset > most:
                return 1.0, 0.0
        else:
            one, other = (least - offset) / slope, (most - offset) / slope
            low, high = max(low, min(one, other)), min(high, max(one, other))
    return low, high


@lean_kernel
def find_spans(words, cells, spans, row_start):
    """Write the free cells of a grid as runs ([Mononen 2010]: run-length encoded spans).

    Parameters
    ----------
    words : (cells,) uint64
    cells : int
    spans : (MOST_SPANS, 3) int32
        Receives row, first and last cell of each, row by row, from left to right.
    row_start : (cells + 1,) int32
        Receives the first span of each row.

    Returns
    -------
    int
        How many spans there are.
    """
    count = 0
    every = _ALL if cells == 64 else (_U1 << np.uint64(cells)) - _U1
    for row in range(cells):
        row_start[row] = count
        free = ~words[row] & every
        while free != _U0:
            first = first_bit(free)
            beyond = ~(free >> first)  # its lowest bit that is set ends the run
            width = first_bit(beyond) if beyond != _U0 else np.uint64(64)
            spans[count, ROW], spans[count, FIRST], spans[count, LAST] = (
                row,
                np.int32(first),
                np.int32(first + width) - 1,
            )
            count += 1
            if first + width >= np.uint64(64):
                break
            free = free >> (first + width) << (first + width)
    row_start[cells] = count
    return count
