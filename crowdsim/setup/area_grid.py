"""Kernels on areas that are laid out on grids:
is a point inside, how far are the walls, where may a disc stand.

Everything is decided by ``+ - * /`` and comparisons, so that the answers are the same on every processor.
Twins: `tests/reference/area_grid.py`.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel

OUTSIDE, INSIDE, BOUNDARY = 0, 1, 2  # what a cell of an area is


class Areas(NamedTuple):
    """Areas on uniform grids, one after the other in flat arrays.

    Attributes
    ----------
    x, y, cell : (a,) float64, m
        Lower left corner of the area's grid and size of its cells.
    across, up : (a,) int64
        Cells in x and in y.
    first : (a,) int64
        First cell of the area in `kind`; cells go row by row.
    kind : (c,) uint8
        OUTSIDE, INSIDE, or BOUNDARY where an edge passes.
    first_row : (a,) int64
        First row of the area in `row_start`.
    row_start : (r + a,) int64
    row_edge : (k,) int32
        Edges that reach into a row of cells are ``row_edge[row_start[row]:row_start[row + 1]]``.
    edge : (e, 4) float64, m
        x, y of start, x, y of end.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    cell: NDArray[np.float64]
    across: NDArray[np.int64]
    up: NDArray[np.int64]
    first: NDArray[np.int64]
    kind: NDArray[np.uint8]
    first_row: NDArray[np.int64]
    row_start: NDArray[np.int64]
    row_edge: NDArray[np.int32]
    edge: NDArray[np.float64]


class NearWalls(NamedTuple):
    """Walls by cell of the grid of area 0, each wall in every cell that it comes near.

    Attributes
    ----------
    start : (c + 1,) int64
    wall : (k,) int32
        Walls near cell c are ``wall[start[c]:start[c + 1]]``, as indices into `Areas.edge`.
    """

    start: NDArray[np.int64]
    wall: NDArray[np.int32]


class Spots(NamedTuple):
    """Where discs of an area may be drawn: cells that can hold a centre.

    Attributes
    ----------
    start : (a + 1,) int64
    cell : (k,) int64
        Cells of area a, counted from its first one, are ``cell[start[a]:start[a + 1]]``.
    """

    start: NDArray[np.int64]
    cell: NDArray[np.int64]


@lean_kernel
def edge_span(edge, low, high, reach):
    """Return the range of x that an edge covers between the heights low - reach and high + reach,
    widened by `reach`; inf, -inf where it has none.

    Parameters
    ----------
    edge : (4,) float64, m
    low, high, reach : float, m

    Returns
    -------
    float, float, m
    """
    ax, ay, bx, by = edge[0], edge[1], edge[2], edge[3]
    if ay > by:
        ax, ay, bx, by = bx, by, ax, ay
    bottom, top = low - reach, high + reach
    if by < bottom or ay > top:
        return np.inf, -np.inf
    first, last = ax, bx
    if ay < bottom:
        first = ax + (bx - ax) * ((bottom - ay) / (by - ay))
    if by > top:
        last = ax + (bx - ax) * ((top - ay) / (by - ay))
    return min(first, last) - reach, max(first, last) + reach


@lean_kernel
def list_near(edge, reach, x, y, cell, across, up, start, out):
    """Count, or write, the edges that come within `reach` of each cell of a grid.

    Parameters
    ----------
    edge : (e, 4) float64, m
    reach : float, m
    x, y, cell : float, m
        Corner and cell size of the grid.
    across, up : int
        Cells in x and y; cells go row by row.
    start : (across * up + 1,) int64
        Counting: `start[c + 1]` grows by one for each edge near cell c. Writing: where the list of cell c
        begins; used up.
    out : (k,) int32
        Empty: count. Else: receives the edges of all cells, ascending in each; k is the sum of the counts.

    Notes
    -----
    A cell may be given an edge that is a little farther than `reach` (by the cell's corners), never miss one
    that is nearer. Source: rows of cells clip the edge, and the widened clip covers the columns. Twin:
    `tests/reference/area_grid.py`.
    """
    for index in range(edge.shape[0]):
        low, high = min(edge[index, 1], edge[index, 3]) - reach, max(edge[index, 1], edge[index, 3]) + reach
        for row in range(max(0, int((low - y) / cell) - 1), min(up, int((high - y) / cell) + 2)):
            left, right = edge_span(edge[index], y + row * cell, y + (row + 1) * cell, reach + 1e-6 * cell)
            if left > right:
                continue
            for column in range(
                max(0, int(np.floor((left - x) / cell))), min(across, int(np.floor((right - x) / cell)) + 1)
            ):
                at = row * across + column
                if out.size == 0:
                    start[at + 1] += 1
                else:
                    out[start[at]] = index
                    start[at] += 1


@lean_kernel
def _cell_of(areas, area, x, y):
    """Return the row and the column of the cell of a point, -1, -1 outside the grid."""
    column, row = (
        np.floor((x - areas.x[area]) / areas.cell[area]),
        np.floor((y - areas.y[area]) / areas.cell[area]),
    )
    if column >= 0.0 and row >= 0.0 and column < areas.across[area] and row < areas.up[area]:
        return np.int64(row), np.int64(column)
    return np.int64(-1), np.int64(-1)


@lean_kernel
def _crossings_are_odd(areas, area, row, x, y):
    """Return whether a ray from (x, y) in the direction of x crosses the boundary an odd number of times."""
    at = areas.first_row[area] + row
    odd = False
    for place in range(areas.row_start[at], areas.row_start[at + 1]):
        edge = areas.edge[areas.row_edge[place]]
        if (edge[1] <= y) != (edge[3] <= y):
            # The crossing lies right of x: by the sign of a cross product, so that no division decides.
            side = (edge[2] - edge[0]) * (y - edge[1]) - (x - edge[0]) * (edge[3] - edge[1])
            if (side > 0.0) == (edge[3] > edge[1]):
                odd = not odd
    return odd


@lean_kernel
def classify_cells(areas, area):
    """Set `areas.kind` of the cells of one area that hold no edge; the others have been marked BOUNDARY.

    Between two boundary cells of a row nothing changes, so one test for each run of cells is enough.
    """
    across, cell = areas.across[area], areas.cell[area]
    for row in range(areas.up[area]):
        base = areas.first[area] + row * across
        known, kind = False, OUTSIDE
        for column in range(across):
            if areas.kind[base + column] == BOUNDARY:
                known = False
                continue
            if not known:
                inside = _crossings_are_odd(
                    areas,
                    area,
                    row,
                    areas.x[area] + (column + 0.5) * cell,
                    areas.y[area] + (row + 0.5) * cell,
                )
                known, kind = True, INSIDE if inside else OUTSIDE
            areas.kind[base + column] = kind


@lean_kernel
def is_inside(areas, area, x, y):
    """Return whether a point lies in an area (even-odd rule; points on the boundary may be either).

    Parameters
    ----------
    areas : Areas
    area : int
    x, y : float, m

    Returns
    -------
    bool

    Notes
    -----
    Constant time where no edge is near, else the edges of one row of cells. Twin:
    `tests/reference/area_grid.py`.
    """
    row, column = _cell_of(areas, area, x, y)
    if row < 0:
        return False
    kind = areas.kind[areas.first[area] + row * areas.across[area] + column]
    if kind != BOUNDARY:
        return kind == INSIDE
    return _crossings_are_odd(areas, area, row, x, y)


@lean_kernel
def _towards_wall(edge, x, y):
    """Return the vector from a point to the nearest point of a wall, and its length."""
    ex, ey = edge[2] - edge[0], edge[3] - edge[1]
    px, py = x - edge[0], y - edge[1]
    square = ex * ex + ey * ey
    along = (px * ex + py * ey) / square if square > 0.0 else 0.0
    along = min(max(along, 0.0), 1.0)
    dx, dy = along * ex - px, along * ey - py
    return dx, dy, np.sqrt(dx * dx + dy * dy)


@lean_kernel
def wall_clearance(areas, walls, x, y):
    """Return the distance from a point in area 0 to the nearest wall,
    inf where none is in the lists of its cell, -1 outside the grid.

    Parameters
    ----------
    areas : Areas
    walls : NearWalls
    x, y : float, m

    Returns
    -------
    float, m
    """
    row, column = _cell_of(areas, 0, x, y)
    if row < 0:
        return -1.0
    at = row * areas.across[0] + column
    nearest = np.inf
    for place in range(walls.start[at], walls.start[at + 1]):
        nearest = min(nearest, _towards_wall(areas.edge[walls.wall[place]], x, y)[2])
    return nearest


@lean_kernel
def may_stand(areas, walls, area, x, y, clearance):
    """Return whether a point lies in an area and in area 0, and keeps `clearance` from the walls.

    Parameters
    ----------
    areas : Areas
    walls : NearWalls
        With lists that reach at least as far as `clearance`.
    area : int
    x, y, clearance : float, m

    Returns
    -------
    bool
    """
    return (
        is_inside(areas, area, x, y)
        and is_inside(areas, 0, x, y)
        and wall_clearance(areas, walls, x, y) >= clearance
    )


@lean_kernel
def off_walls(areas, walls, x, y, clearance):
    """Return a point pushed away from the walls that are nearer than `clearance`, one wall after the other;
    in a corner it may stay too near.

    Parameters
    ----------
    areas : Areas
    walls : NearWalls
    x, y, clearance : float, m

    Returns
    -------
    float, float, m
    """
    row, column = _cell_of(areas, 0, x, y)
    if row < 0:
        return x, y
    at = row * areas.across[0] + column
    for place in range(walls.start[at], walls.start[at + 1]):
        dx, dy, distance = _towards_wall(areas.edge[walls.wall[place]], x, y)
        if 0.0 < distance < clearance:
            x -= dx / distance * (clearance * 1.000001 - distance)
            y -= dy / distance * (clearance * 1.000001 - distance)
    return x, y


@lean_kernel
def find_spots(areas, walls, area, clearance, out):
    """Write the cells of an area in which a centre may keep `clearance` from walls; return their number.

    A cell is left out only where its centre's distance to the walls leaves no doubt.

    Parameters
    ----------
    areas : Areas
    walls : NearWalls
        With lists that reach at least as far as `clearance`.
    area : int
    clearance : float, m
    out : (across * up,) int64
    """
    count = 0
    across, cell = areas.across[area], areas.cell[area]
    half_diagonal = cell * 0.7071067811865476 * (1.0 + 1e-9)
    for at in range(across * areas.up[area]):
        if areas.kind[areas.first[area] + at] == OUTSIDE:
            continue
        x, y = areas.x[area] + (at % across + 0.5) * cell, areas.y[area] + (at // across + 0.5) * cell
        distance = wall_clearance(areas, walls, x, y)
        if is_inside(areas, 0, x, y):
            most = distance + half_diagonal
        elif 0.0 <= distance < np.inf:
            most = half_diagonal - distance
        else:  # outside, and no wall is in reach: at least `clearance` away
            most = half_diagonal - clearance
        if most >= clearance:
            out[count] = at
            count += 1
    return count
