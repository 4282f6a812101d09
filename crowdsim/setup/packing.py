"""Kernels that find room for discs: random places one after the other, then overlapping discs pushed apart.

Everything is decided by ``+ - * / sqrt`` and comparisons, in one thread and in the order of rows: the result
depends on the input alone. Twins: `tests/reference/packing.py`.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.setup.area_grid import may_stand, off_walls
from crowdsim.world.random import uniform01

# what became of a disc: free of others; overlaps others; no valid spot was found at all
PLACED, CROWDED, HOMELESS = 0, 1, 2
# Pushes after which a disc tries to move to a freer spot: a crowd that has room comes apart with fewer.
MOVE_EVERY = 64
SPOTS_TRIED = 12  # Spots that it looks at then.
# m; gaps below it count as overlaps while discs are pushed: far above rounding at coordinates of 1e7 m.
TOUCHING = 1e-6


class Discs(NamedTuple):
    """Discs that are placed, and a grid of lists that finds them.

    Attributes
    ----------
    x, y, radius : (n,) float64, m
    area : (n,) int32
        Area that the centre has to stay in, beside area 0.
    fixed : (n,) bool
        Had a position before and keeps it.
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
        x, y of the grid's corner, cell size, cells across. A cell is at least as large as the widest pair of
        discs.
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


@lean_kernel
def _grid_cell(discs, x, y):
    return np.int64((y - discs.grid[1]) / discs.grid[2]) * np.int64(discs.grid[3]) + np.int64(
        (x - discs.grid[0]) / discs.grid[2]
    )


@lean_kernel
def _insert(discs, row):
    cell = _grid_cell(discs, discs.x[row], discs.y[row])
    discs.following[row] = discs.head[cell]
    discs.head[cell] = row


@lean_kernel
def gap_to_others(discs, row, x, y, enough):
    """Return the least gap between disc `row`, if it were at (x, y), and another one;
    stops early below `enough`.

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


@lean_kernel
def _drawn_spot(areas, spots, discs, row, seed, stream):
    """Return a random point in one of the cells that may hold the disc's centre."""
    area = discs.area[row]
    count = spots.start[area + 1] - spots.start[area]
    index = discs.drawn[row]
    discs.drawn[row] = index + 3
    which = min(np.int64(uniform01(seed, stream, discs.key[row], np.uint64(index)) * count), count - 1)
    at = spots.cell[spots.start[area] + which]
    x = (
        at % areas.across[area] + uniform01(seed, stream, discs.key[row], np.uint64(index + 1))
    ) * areas.cell[area]
    y = (
        at // areas.across[area] + uniform01(seed, stream, discs.key[row], np.uint64(index + 2))
    ) * areas.cell[area]
    return areas.x[area] + x, areas.y[area] + y


@lean_kernel
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
        Spots that a disc tries: those that are inside and clear of walls, and in all. When none is free, it
        takes the one with the most room.

    Returns
    -------
    int
        Discs that are CROWDED or HOMELESS.

    Notes
    -----
    [Feder 1980]: equal discs jam at a coverage of 0.547; near it most tries fail, and `push_apart_in_area`
    goes on.
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
                if not may_stand(areas, walls, area, x, y, discs.radius[row] + margin):
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


@lean_kernel
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


@lean_kernel
def _enqueue(waiting, row):
    """Add a disc at the end of the queue, unless it is in it."""
    if waiting.queued[row] == 0:
        waiting.queued[row] = 1
        waiting.row[(waiting.ends[0] + waiting.ends[1]) % waiting.row.size] = row
        waiting.ends[1] += 1


@lean_kernel
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
                    # one that is apart, if only just, does not push back: else jams would hold each other
                    if depth > target - TOUCHING:
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


@lean_kernel
def _to_freer_spot(areas, walls, spots, discs, row, seed, stream, clearance):
    """Move a disc to the best of some random spots, if that has more room than where it is."""
    room = gap_to_others(discs, row, discs.x[row], discs.y[row], -np.inf)
    best_x, best_y = discs.x[row], discs.y[row]
    for _ in range(SPOTS_TRIED):
        x, y = _drawn_spot(areas, spots, discs, row, seed, stream)
        if may_stand(areas, walls, discs.area[row], x, y, clearance):
            there = gap_to_others(discs, row, x, y, room)
            if there > room:
                room, best_x, best_y = there, x, y
    _move(discs, row, best_x, best_y)


@lean_kernel
def push_apart_in_area(areas, walls, spots, discs, seed, stream, margin, target, steps, waiting):
    """Push overlapping discs apart, one at a time, within their areas and clear of walls;
    one that has been pushed long moves to a freer spot.

    Parameters
    ----------
    areas, walls, spots, discs, seed, stream, margin : as for `place_in_turn`
        Fixed discs stay. Positions and `status` are written.
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
    A disc moves by half of every overlap (by all of it where the other is fixed), at most by its radius, and
    joins the end of the queue again with all that it overlapped. When the queue is empty, no two discs
    overlap: each was looked at after its last move.
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
            x, y = off_walls(
                areas, walls, discs.x[row] + scale * push_x, discs.y[row] + scale * push_y, clearance
            )
            if may_stand(areas, walls, area, x, y, clearance):
                _move(discs, row, x, y)
                break
            scale *= 0.5
    left = 0
    for row in range(discs.x.size):
        if not discs.fixed[row] and discs.status[row] != HOMELESS:
            discs.status[row] = (
                CROWDED if gap_to_others(discs, row, discs.x[row], discs.y[row], 0.0) < 0.0 else PLACED
            )
            left += discs.status[row] == CROWDED
    return left
