"""Kernels that find room for discs: is a point inside an area, how far are walls and other discs, where is a free spot, push overlapping discs apart.

Everything is decided by ``+ - * / sqrt`` and comparisons on a uniform grid, in one thread and in the order of rows: the result depends on the input alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels import kernel
from crowdsim.world.random import uniform01

OUTSIDE, INSIDE, BOUNDARY = 0, 1, 2  # what a cell of an area is
PLACED, CROWDED, HOMELESS = 0, 1, 2  # what became of a disc: free of others; overlaps others; no valid spot was found at all


MOVE_EVERY = 64  # Pushes after which a disc tries to move to a freer spot: a crowd that has room comes apart with fewer.
TOUCHING = 1e-6  # m; gaps below it count as overlaps while discs are pushed: far above rounding at coordinates of 1e7 m.
SPOTS_TRIED = 12  # Spots that it looks at then.


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


class Discs(NamedTuple):
    """Discs that are placed, and a grid of lists that finds them.

    Attributes
    ----------
    x, y, radius : (n,) float64, m
    area : (n,) int32
        Area that the centre has to stay in, beside area 0.
    fixed : (n,) bool
        Was given a position and keeps it.
    key : (n,) uint64
        Key of the disc's random numbers.
    drawn : (n,) int64
        Random numbers that it has used.
    status : (n,) uint8
        PLACED, CROWDED or HOMELESS.
    head : (h,) int32
        First disc in each cell, -1 for none.
    following : (n,) int32
        Next disc in the same cell, -1 for none.
    grid : (4,) float64
        x, y of the grid's corner, cell size, cells across. A cell is at least as large as the widest pair of discs.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    radius: NDArray[np.float64]
    area: NDArray[np.int32]
    fixed: NDArray[np.bool_]
    key: NDArray[np.uint64]
    drawn: NDArray[np.int64]
    status: NDArray[np.uint8]
    head: NDArray[np.int32]
    following: NDArray[np.int32]
    grid: NDArray[np.float64]


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


class Waiting(NamedTuple):
    """A queue of discs that may overlap others.

    Attributes
    ----------
    row : (n,) int64
        Ring buffer of rows.
    ends : (2,) int64
        Where the queue begins in the buffer, and its length.
    queued : (n,) uint8
        1 for discs in the queue.
    pushes : (n,) int64
        How often each was pushed.
    """

    row: NDArray[np.int64]
    ends: NDArray[np.int64]
    queued: NDArray[np.uint8]
    pushes: NDArray[np.int64]


@kernel
def edge_span(edge, low, high, reach):
    """Return the range of x that an edge covers between the heights low - reach and high + reach, widened by `reach`; inf, -inf where it has none.

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


@kernel
def count_near(edge, reach, x, y, cell, across, up, out):
    """Add to `out[c + 1]` one for each edge that comes within `reach` of cell c of a grid; the same cells that `fill_near` fills.

    Parameters
    ----------
    edge : (e, 4) float64, m
    reach, x, y, cell : float, m
    across, up : int
    out : (across * up + 1,) int64
    """
    for index in range(edge.shape[0]):
        low, high = min(edge[index, 1], edge[index, 3]) - reach, max(edge[index, 1], edge[index, 3]) + reach
        for row in range(max(0, int((low - y) / cell) - 1), min(up, int((high - y) / cell) + 2)):
            left, right = edge_span(edge[index], y + row * cell, y + (row + 1) * cell, reach + 1e-6 * cell)
            if left <= right:
                for column in range(max(0, int(np.floor((left - x) / cell))), min(across, int(np.floor((right - x) / cell)) + 1)):
                    out[row * across + column + 1] += 1


@kernel
def fill_near(edge, reach, x, y, cell, across, up, next_free, out):
    """Write the indices of the edges that come within `reach` of each cell, ascending.

    Parameters
    ----------
    edge, reach, x, y, cell, across, up
        As for `count_near`.
    next_free : (across * up + 1,) int64
        Where the list of each cell begins; used up.
    out : (k,) int32
    """
    for index in range(edge.shape[0]):
        low, high = min(edge[index, 1], edge[index, 3]) - reach, max(edge[index, 1], edge[index, 3]) + reach
        for row in range(max(0, int((low - y) / cell) - 1), min(up, int((high - y) / cell) + 2)):
            left, right = edge_span(edge[index], y + row * cell, y + (row + 1) * cell, reach + 1e-6 * cell)
            if left <= right:
                for column in range(max(0, int(np.floor((left - x) / cell))), min(across, int(np.floor((right - x) / cell)) + 1)):
                    out[next_free[row * across + column]] = index
                    next_free[row * across + column] += 1


@kernel
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


@kernel
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
                inside = _crossings_are_odd(areas, area, row, areas.x[area] + (column + 0.5) * cell, areas.y[area] + (row + 0.5) * cell)
                known, kind = True, INSIDE if inside else OUTSIDE
            areas.kind[base + column] = kind


@kernel
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
    Constant time where no edge is near, else the edges of one row of cells. Twin: `tests/reference/packing.py`.
    """
    column, row = np.floor((x - areas.x[area]) / areas.cell[area]), np.floor((y - areas.y[area]) / areas.cell[area])
    if not (column >= 0.0 and row >= 0.0 and column < areas.across[area] and row < areas.up[area]):
        return False
    kind = areas.kind[areas.first[area] + np.int64(row) * areas.across[area] + np.int64(column)]
    if kind != BOUNDARY:
        return kind == INSIDE
    return _crossings_are_odd(areas, area, np.int64(row), x, y)


@kernel
def _towards_wall(edge, x, y):
    """Return the vector from a point to the nearest point of a wall, and its length."""
    ex, ey = edge[2] - edge[0], edge[3] - edge[1]
    px, py = x - edge[0], y - edge[1]
    square = ex * ex + ey * ey
    along = (px * ex + py * ey) / square if square > 0.0 else 0.0
    along = min(max(along, 0.0), 1.0)
    dx, dy = along * ex - px, along * ey - py
    return dx, dy, np.sqrt(dx * dx + dy * dy)


@kernel
def wall_clearance(areas, walls, x, y):
    """Return the distance from a point in area 0 to the nearest wall, inf where none is in the lists of its cell, -1 outside the grid.

    Parameters
    ----------
    areas : Areas
    walls : NearWalls
    x, y : float, m

    Returns
    -------
    float, m
    """
    column, row = np.floor((x - areas.x[0]) / areas.cell[0]), np.floor((y - areas.y[0]) / areas.cell[0])
    if not (column >= 0.0 and row >= 0.0 and column < areas.across[0] and row < areas.up[0]):
        return -1.0
    at = np.int64(row) * areas.across[0] + np.int64(column)
    nearest = np.inf
    for place in range(walls.start[at], walls.start[at + 1]):
        nearest = min(nearest, _towards_wall(areas.edge[walls.wall[place]], x, y)[2])
    return nearest


@kernel
def _is_valid(areas, walls, area, x, y, clearance):
    return is_inside(areas, area, x, y) and is_inside(areas, 0, x, y) and wall_clearance(areas, walls, x, y) >= clearance


@kernel
def find_spots(areas, walls, area, clearance, out):
    """Write the cells of an area that may hold a centre which keeps `clearance` from walls; return their number.

    Parameters
    ----------
    areas : Areas
    walls : NearWalls
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
        if distance + half_diagonal >= clearance and (is_inside(areas, 0, x, y) or distance <= half_diagonal):
            out[count] = at
            count += 1
    return count


@kernel
def _grid_cell(discs, x, y):
    return np.int64((y - discs.grid[1]) / discs.grid[2]) * np.int64(discs.grid[3]) + np.int64((x - discs.grid[0]) / discs.grid[2])


@kernel
def _insert(discs, row):
    cell = _grid_cell(discs, discs.x[row], discs.y[row])
    discs.following[row] = discs.head[cell]
    discs.head[cell] = row


@kernel
def gap_to_others(discs, row, x, y, enough):
    """Return the least gap between disc `row`, if it were at (x, y), and another one; stops early below `enough`.

    Parameters
    ----------
    discs : Discs
    row : int
    x, y : float, m
    enough : float, m

    Returns
    -------
    float, m
        Negative where discs overlap; inf where no other disc is near.
    """
    across = np.int64(discs.grid[3])
    middle = _grid_cell(discs, x, y)
    least = np.inf
    for up in range(-1, 2):
        for aside in range(-1, 2):
            other = discs.head[middle + up * across + aside]
            while other >= 0:
                if other != row:
                    dx, dy = x - discs.x[other], y - discs.y[other]
                    least = min(least, np.sqrt(dx * dx + dy * dy) - discs.radius[row] - discs.radius[other])
                    if least < enough:
                        return least
                other = discs.following[other]
    return least


@kernel
def _drawn_spot(areas, spots, discs, row, seed, stream):
    """Return a random point in one of the cells that may hold the disc's centre."""
    area = discs.area[row]
    count = spots.start[area + 1] - spots.start[area]
    index = discs.drawn[row]
    discs.drawn[row] = index + 3
    which = min(np.int64(uniform01(seed, stream, discs.key[row], np.uint64(index)) * count), count - 1)
    at = spots.cell[spots.start[area] + which]
    x = (at % areas.across[area] + uniform01(seed, stream, discs.key[row], np.uint64(index + 1))) * areas.cell[area]
    y = (at // areas.across[area] + uniform01(seed, stream, discs.key[row], np.uint64(index + 2))) * areas.cell[area]
    return areas.x[area] + x, areas.y[area] + y


@kernel
def place_in_turn(areas, walls, spots, discs, seed, stream, margin, gap, valid_tries, all_tries):
    """Give each disc without a position a random one, in the order of rows: random sequential addition.

    Parameters
    ----------
    areas : Areas
    walls : NearWalls
    spots : Spots
    discs : Discs
        Fixed ones are inserted first. `x`, `y`, `drawn`, `status`, `head` and `following` are written.
    seed, stream : uint64
    margin : float, m
        Distance from walls beyond the radius.
    gap : float, m
        Distance between discs at which a spot is free.
    valid_tries, all_tries : int
        Spots that a disc tries: those that are inside and clear of walls, and in all. When none is free, it takes the one with the most room.

    Returns
    -------
    int
        Discs that are CROWDED or HOMELESS.

    Notes
    -----
    Feder, "Random sequential adsorption", 1980: equal discs jam at a coverage of 0.547; near it most tries fail, and `push_apart_in_area` goes on.
    """
    for row in range(discs.x.size):
        if discs.fixed[row]:
            _insert(discs, row)
    unlucky = 0
    for row in range(discs.x.size):
        if discs.fixed[row]:
            continue
        area = discs.area[row]
        discs.status[row] = HOMELESS
        if spots.start[area + 1] > spots.start[area]:
            best, valid = -np.inf, 0
            for _ in range(all_tries):
                x, y = _drawn_spot(areas, spots, discs, row, seed, stream)
                if not _is_valid(areas, walls, area, x, y, discs.radius[row] + margin):
                    continue
                room = gap_to_others(discs, row, x, y, best)
                if room > best or valid == 0:
                    best = room
                    discs.x[row], discs.y[row] = x, y
                    discs.status[row] = PLACED if room >= gap else CROWDED
                valid += 1
                if discs.status[row] == PLACED or valid >= valid_tries:
                    break
        if discs.status[row] != PLACED:
            unlucky += 1
        if discs.status[row] != HOMELESS:
            _insert(discs, row)
    return unlucky


@kernel
def _move(discs, row, x, y):
    """Put a disc at (x, y) and into the list of its new cell."""
    cell = _grid_cell(discs, discs.x[row], discs.y[row])
    if discs.head[cell] == row:
        discs.head[cell] = discs.following[row]
    else:
        other = discs.head[cell]
        while discs.following[other] != row:
            other = discs.following[other]
        discs.following[other] = discs.following[row]
    discs.x[row], discs.y[row] = x, y
    _insert(discs, row)


@kernel
def _enqueue(waiting, row):
    """Add a disc at the end of the queue, unless it is in it."""
    if waiting.queued[row] == 0:
        waiting.queued[row] = 1
        waiting.row[(waiting.ends[0] + waiting.ends[1]) % waiting.row.size] = row
        waiting.ends[1] += 1


@kernel
def _push(discs, row, target, waiting):
    """Return the push of all overlapping discs on one and the deepest overlap; the others join the queue."""
    across = np.int64(discs.grid[3])
    middle = _grid_cell(discs, discs.x[row], discs.y[row])
    push_x = push_y = deepest = 0.0
    for up in range(-1, 2):
        for aside in range(-1, 2):
            other = discs.head[middle + up * across + aside]
            while other >= 0:
                if other != row:
                    dx, dy = discs.x[row] - discs.x[other], discs.y[row] - discs.y[other]
                    distance = np.sqrt(dx * dx + dy * dy)
                    depth = discs.radius[row] + discs.radius[other] + target - distance
                    if depth > target - TOUCHING:  # one that is apart, if only just, does not push back: else jams would hold each other
                        deepest = max(deepest, depth)
                        share = 1.0 if discs.fixed[other] else 0.5
                        if not discs.fixed[other]:
                            _enqueue(waiting, other)
                        if distance > 0.0:
                            push_x += share * depth * dx / distance
                            push_y += share * depth * dy / distance
                        else:  # one on the other: they part along x
                            push_x += share * depth if row < other else -share * depth
                other = discs.following[other]
    return push_x, push_y, deepest


@kernel
def _off_walls(areas, walls, x, y, clearance):
    """Return a point pushed away from the walls that are nearer than `clearance`."""
    column, row = np.floor((x - areas.x[0]) / areas.cell[0]), np.floor((y - areas.y[0]) / areas.cell[0])
    if not (column >= 0.0 and row >= 0.0 and column < areas.across[0] and row < areas.up[0]):
        return x, y
    at = np.int64(row) * areas.across[0] + np.int64(column)
    for place in range(walls.start[at], walls.start[at + 1]):
        dx, dy, distance = _towards_wall(areas.edge[walls.wall[place]], x, y)
        if 0.0 < distance < clearance:
            x -= dx / distance * (clearance * 1.000001 - distance)
            y -= dy / distance * (clearance * 1.000001 - distance)
    return x, y


@kernel
def _to_freer_spot(areas, walls, spots, discs, row, seed, stream, clearance):
    """Move a disc to the best of some random spots, if that has more room than where it is."""
    room = gap_to_others(discs, row, discs.x[row], discs.y[row], -np.inf)
    best_x, best_y = discs.x[row], discs.y[row]
    for _ in range(SPOTS_TRIED):
        x, y = _drawn_spot(areas, spots, discs, row, seed, stream)
        if _is_valid(areas, walls, discs.area[row], x, y, clearance):
            there = gap_to_others(discs, row, x, y, room)
            if there > room:
                room, best_x, best_y = there, x, y
    _move(discs, row, best_x, best_y)


@kernel
def push_apart_in_area(areas, walls, spots, discs, seed, stream, margin, target, steps, waiting):
    """Push overlapping discs apart, one at a time, within their areas and clear of walls; one that has been pushed long moves to a freer spot.

    Parameters
    ----------
    areas, walls, spots, discs, seed, stream, margin
        As for `place_in_turn`. Fixed discs stay. Positions and `status` are written.
    target : float, m, > 0
        Gap that is aimed at, so that discs come apart in few steps; they rest as soon as they do not overlap.
    steps : int
        Most pushes in all.
    waiting : Waiting
        Scratch.

    Returns
    -------
    int
        Discs that still overlap; they are CROWDED, the others PLACED.

    Notes
    -----
    A disc moves by half of every overlap (by all of it where the other is fixed), at most by its radius, and joins the end of the queue again with all that
    it overlapped. When the queue is empty, no two discs overlap: each was looked at after its last move.
    """
    for row in range(discs.x.size):
        if discs.status[row] == CROWDED:
            _enqueue(waiting, row)
    for _ in range(steps):
        if waiting.ends[1] == 0:
            break
        row = waiting.row[waiting.ends[0]]
        waiting.ends[0] = (waiting.ends[0] + 1) % waiting.row.size
        waiting.ends[1] -= 1
        waiting.queued[row] = 0
        push_x, push_y, deepest = _push(discs, row, target, waiting)
        if deepest == 0.0:
            continue
        _enqueue(waiting, row)
        clearance, area = discs.radius[row] + margin, discs.area[row]
        waiting.pushes[row] += 1
        if waiting.pushes[row] % MOVE_EVERY == 0:
            _to_freer_spot(areas, walls, spots, discs, row, seed, stream, clearance)
            continue
        reach = np.sqrt(push_x * push_x + push_y * push_y)
        scale = min(1.0, discs.radius[row] / reach) if reach > 0.0 else 0.0
        for _ in range(3):
            x, y = _off_walls(areas, walls, discs.x[row] + scale * push_x, discs.y[row] + scale * push_y, clearance)
            if _is_valid(areas, walls, area, x, y, clearance):
                _move(discs, row, x, y)
                break
            scale *= 0.5
    left = 0
    for row in range(discs.x.size):
        if not discs.fixed[row] and discs.status[row] != HOMELESS:
            discs.status[row] = CROWDED if gap_to_others(discs, row, discs.x[row], discs.y[row], 0.0) < 0.0 else PLACED
            left += discs.status[row] == CROWDED
    return left
