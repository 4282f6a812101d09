"""From polygons to cells: which centres lie inside, and how far they are from edges.

Only ``+ - * /``, comparisons and square roots: the same cells on every processor.
"""

from __future__ import annotations

import numpy as np

from crowdsim.kernels import inlined_kernel, lean_kernel


@lean_kernel
def fill_polygon(edge, x, y, cell, first_row, first_column, inside):
    """Mark the cells whose centres lie inside closed rings, by the even-odd rule, so that rings in rings are holes.

    Parameters
    ----------
    edge : (e, 4) float64, m
        x, y of start, x, y of end; all edges of all rings.
    x, y, cell : float, m
        Lower left corner of the grid and side of its cells.
    first_row, first_column : int
        Where in the grid the window `inside` begins.
    inside : (rows, columns) uint8
        All 0 before; 1 where the centre is inside. A centre exactly on an edge belongs to the ground on the edge's left or upper side,
        so that areas that share an edge hold it once.

    Notes
    -----
    Cost: an edge costs its height in cells. Twin: `tests/reference/grid_cells.py`.
    """
    rows, columns = inside.shape
    for e in range(edge.shape[0]):
        ax, ay, bx, by = edge[e, 0], edge[e, 1], edge[e, 2], edge[e, 3]
        if ay > by:
            ax, ay, bx, by = bx, by, ax, ay
        for row in range(max(0, int((ay - y) / cell) - 1 - first_row), min(rows, int((by - y) / cell) + 2 - first_row)):
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
            near, far = int((left - reach - x) / cell) - 1 - first_column, int((right + reach - x) / cell) + 1 - first_column
            for column in range(max(0, near), min(columns - 1, far) + 1):
                square = _square_to_edge(edge, e, x + (first_column + column + 0.5) * cell, py)
                if square <= reach * reach:
                    distance[row, column] = min(distance[row, column], np.sqrt(square))
