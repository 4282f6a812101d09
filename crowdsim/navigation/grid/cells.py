"""From polygons to cells: which centres lie inside, and how far they are from edges.

Only ``+ - * /``, comparisons and square roots: the same cells on every processor.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.plane import orientation
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.grid.moves import STEP_X, STEP_Y


@lean_kernel
def fill_polygon(edge, x, y, cell, first_row, first_column, inside):
    """Mark the cells whose centres lie inside closed rings, by the even-odd rule,
    so that rings in rings are holes.

    Parameters
    ----------
    edge : (e, 4) float64, m
        x, y of start, x, y of end; all edges of all rings.
    x, y, cell : float, m
        Lower left corner of the grid and side of its cells.
    first_row, first_column : int
        Where in the grid the window `inside` begins.
    inside : (rows, columns) uint8
        All 0 before; 1 where the centre is inside. A centre exactly on an edge belongs to the ground on the
        edge's left or upper side, so that areas that share an edge hold it once.

    Notes
    -----
    Cost: an edge costs its height in cells. Twin: `tests/reference/grid_cells.py`.
    """
    rows, columns = inside.shape
    for e in range(edge.shape[0]):
        ax, ay, bx, by = edge[e, 0], edge[e, 1], edge[e, 2], edge[e, 3]
        if ay > by:
            ax, ay, bx, by = bx, by, ax, ay
        for row in range(
            max(0, int((ay - y) / cell) - 1 - first_row), min(rows, int((by - y) / cell) + 2 - first_row)
        ):
            height = y + (first_row + row + 0.5) * cell
            if height < ay or height >= by:
                continue
            crossing = ax + (height - ay) * ((bx - ax) / (by - ay))
            column = max(0, int((crossing - x) / cell) - 1 - first_column)
            while column < columns and x + (first_column + column + 0.5) * cell <= crossing:
                column += 1
            if column < columns:
                inside[row, column] ^= 1
    for row in range(rows):
        for column in range(1, columns):
            inside[row, column] ^= inside[row, column - 1]


@inlined_kernel
def _square_to_edge(edge, e, px, py):
    """Return the square of the distance from a point to an edge (m2)."""
    ax, ay = edge[e, 0], edge[e, 1]
    dx, dy = edge[e, 2] - ax, edge[e, 3] - ay
    square = dx * dx + dy * dy
    t = 0.0
    if square > 0.0:
        t = min(1.0, max(0.0, ((px - ax) * dx + (py - ay) * dy) / square))
    ox, oy = px - (ax + t * dx), py - (ay + t * dy)
    return ox * ox + oy * oy


@lean_kernel
def stamp_distances(edge, x, y, cell, first_row, first_column, reach, distance):
    """Lower the distances of cells to what the edges within reach of their centres are away.

    Parameters
    ----------
    edge : (e, 4) float64, m
        x, y of start, x, y of end.
    x, y, cell : float, m
        Lower left corner of the grid and side of its cells.
    first_row, first_column : int
        Where in the grid the window `distance` begins.
    reach : float, m
    distance : (rows, columns) float64, m
        Lowered where an edge is nearer, and no farther than `reach`.

    Notes
    -----
    Cost: an edge costs the cells within reach of it. Twin: `tests/reference/grid_cells.py`.
    """
    rows, columns = distance.shape
    for e in range(edge.shape[0]):
        ax, ay, bx, by = edge[e, 0], edge[e, 1], edge[e, 2], edge[e, 3]
        if ay > by:
            ax, ay, bx, by = bx, by, ax, ay
        first = max(0, int((ay - reach - y) / cell) - 1 - first_row)
        last = min(rows - 1, int((by + reach - y) / cell) + 1 - first_row)
        for row in range(first, last + 1):
            py = y + (first_row + row + 0.5) * cell
            # The part of the edge that is within reach of this row's height.
            left, right = min(ax, bx), max(ax, bx)
            if by > ay:
                slope = (bx - ax) / (by - ay)
                low, high = ax + (max(ay, py - reach) - ay) * slope, ax + (min(by, py + reach) - ay) * slope
                left, right = max(left, min(low, high)), min(right, max(low, high))
            near, far = (
                int((left - reach - x) / cell) - 1 - first_column,
                int((right + reach - x) / cell) + 1 - first_column,
            )
            for column in range(max(0, near), min(columns - 1, far) + 1):
                square = _square_to_edge(edge, e, x + (first_column + column + 0.5) * cell, py)
                if square <= reach * reach:
                    distance[row, column] = min(distance[row, column], np.sqrt(square))


@inlined_kernel
def _are_parted(edge, e, ax, ay, bx, by):
    """Return whether an edge is between two points:
    of an edge's line and of its ends, what lies on it belongs to its right side.
    """
    cx, cy, dx, dy = edge[e, 0], edge[e, 1], edge[e, 2], edge[e, 3]
    if (orientation(cx, cy, dx, dy, ax, ay) > 0.0) == (orientation(cx, cy, dx, dy, bx, by) > 0.0):
        return False
    return (orientation(ax, ay, bx, by, cx, cy) > 0.0) != (orientation(ax, ay, bx, by, dx, dy) > 0.0)


@lean_kernel
def bar_steps(edge, x, y, cell, first_row, first_column, bars):
    """Note the steps between centres of neighbouring cells that lead over edges.

    Parameters
    ----------
    edge : (e, 4) float64, m
        x, y of start, x, y of end.
    x, y, cell : float, m
        Lower left corner of the grid and side of its cells.
    first_row, first_column : int
        Where in the grid the window `bars` begins.
    bars : (rows, columns) uint8
        Bit d is set where an edge stands between a cell and its neighbour in direction d, which may lie
        outside of the window.

    Notes
    -----
    A step and the one back are barred alike. Cost: an edge costs the cells of its bounds. Twin:
    `tests/reference/grid_cells.py`.
    """
    rows, columns = bars.shape
    for e in range(edge.shape[0]):
        low, high = min(edge[e, 1], edge[e, 3]), max(edge[e, 1], edge[e, 3])
        slope = (edge[e, 2] - edge[e, 0]) / (edge[e, 3] - edge[e, 1]) if edge[e, 3] != edge[e, 1] else 0.0
        for row in range(
            max(0, int((low - y) / cell) - 2 - first_row), min(rows, int((high - y) / cell) + 3 - first_row)
        ):
            py = y + (first_row + row + 0.5) * cell
            left, right = min(edge[e, 0], edge[e, 2]), max(edge[e, 0], edge[e, 2])
            if high > low:  # the part of the edge that is within a cell and a half of this row
                one = edge[e, 0] + (min(max(py - 1.5 * cell, low), high) - edge[e, 1]) * slope
                other = edge[e, 0] + (min(max(py + 1.5 * cell, low), high) - edge[e, 1]) * slope
                left, right = min(one, other), max(one, other)
            for column in range(
                max(0, int((left - x) / cell) - 2 - first_column),
                min(columns, int((right - x) / cell) + 3 - first_column),
            ):
                px = x + (first_column + column + 0.5) * cell
                for d in range(8):
                    qx = x + (first_column + column + STEP_X[d] + 0.5) * cell
                    qy = y + (first_row + row + STEP_Y[d] + 0.5) * cell
                    if (
                        _are_parted(edge, e, px, py, qx, qy)
                        if d < 4
                        else _are_parted(edge, e, qx, qy, px, py)
                    ):
                        bars[row, column] |= 1 << d
