"""Hybrid-state A* [Dolgov 2010]: over places that are not bound to cells, directions, and the gear.

A state is where the middle of the rear axle is, the direction of the vehicle and the gear in which it came.
From each lead arcs of the least radius to both sides and a line, forwards and, if the vehicle can, backwards:
as shortest curves are made of [Dubins 1957], [Reeds 1990]. So what needs too sharp a turn is never entered,
from whatever direction one comes. Each step is checked with the whole rectangle of the vehicle against all
walls.
States in one cell, with one direction and gear, are one.

In [Smith 2002] the state is a portal and the direction in which it is entered. Portals of triangulated ground
are arbitrary, and a long vehicle swings out within a polygon: this needs places between them.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, kernel

DIRECTIONS = 36  # Of a state: arcs turn by ten degrees.
CHECKS = 8  # Places on each step at which the rectangle is held against walls.
FINE = DIRECTIONS * CHECKS
CELL_M = 0.5  # States nearer to each other than this are one.
MARGIN_M = 0.1  # By which the rectangle is larger: more than it moves aside between two checks.
MOST_STATES = 60_000_000  # Cells times directions times gears: a byte each.
# What counts beside the length: backwards metres count so much, and a change of gear or of the steering so
# many metres.
BACKWARDS, GEAR_CHANGE_M, STEERING_M = 2.0, 4.0, 0.3
HEADS = (
    0.9  # Of the length over free ground, as a bound: it is counted in steps over cells, up to a tenth long.
)
NO_CURVE, TOO_LARGE = -1, -2


class Walls(NamedTuple):
    """Walls in squares.

    Attributes
    ----------
    line : (m, 4) float64, m
        Their ends.
    origin : (2,) float64, m
    size : float, m
        Side of a square.
    across, up : int
    start : (across * up + 1,) int64
    inside : (k,) int64
        Those that touch square s are ``inside[start[s]:start[s + 1]]``.
    """

    line: NDArray[np.float64]
    origin: NDArray[np.float64]
    size: float
    across: int
    up: int
    start: NDArray[np.int64]
    inside: NDArray[np.int64]


class Room(NamedTuple):
    """Where the search looks.

    Attributes
    ----------
    origin : (2,) float64, m
    across, up : int
        Cells of `CELL_M`.
    to_go : (across * up,) float64, m
        How far it is from each cell to the goal for a disc as wide as the vehicle; inf: it gets not there.
    is_goal : (across * up,) bool
        Whether the middle of a cell lies in the goal.
    """

    origin: NDArray[np.float64]
    across: int
    up: int
    to_go: NDArray[np.float64]
    is_goal: NDArray[np.bool_]


@inlined_kernel
def _meets(line, x, y, ux, uy, front, back, half):
    """Return whether a segment reaches into a rectangle: clipped to it [Liang 1984], something is left."""
    ax, ay = line[0] - x, line[1] - y
    bx, by = line[2] - x, line[3] - y
    p, q = ax * ux + ay * uy, ay * ux - ax * uy
    dp, dq = bx * ux + by * uy - p, by * ux - bx * uy - q
    first, last = 0.0, 1.0
    for side in range(4):
        if side == 0:
            rate, room = -dp, p + back
        elif side == 1:
            rate, room = dp, front - p
        elif side == 2:
            rate, room = -dq, q + half
        else:
            rate, room = dq, half - q
        if rate == 0.0:
            if room < 0.0:
                return False
        elif rate < 0.0:
            first = max(first, room / rate)
        else:
            last = min(last, room / rate)
    return first <= last


@kernel
def is_free(walls, x, y, ux, uy, front, back, half):
    """Return whether a rectangle meets no wall: from `back` behind a place to `front` before it in a
    direction, and `half` to both sides (m).

    Notes
    -----
    Twin: `tests/reference/vehicles.py`.
    """
    reach_x = abs(ux) * max(front, back) + abs(uy) * half
    reach_y = abs(uy) * max(front, back) + abs(ux) * half
    west = int(np.floor((x - reach_x - walls.origin[0]) / walls.size))
    east = int(np.floor((x + reach_x - walls.origin[0]) / walls.size))
    south = int(np.floor((y - reach_y - walls.origin[1]) / walls.size))
    north = int(np.floor((y + reach_y - walls.origin[1]) / walls.size))
    for row in range(max(south, 0), min(north, walls.up - 1) + 1):
        for column in range(max(west, 0), min(east, walls.across - 1) + 1):
            square = row * walls.across + column
            for place in range(walls.start[square], walls.start[square + 1]):
                if _meets(walls.line[walls.inside[place]], x, y, ux, uy, front, back, half):
                    return False
    return True


@inlined_kernel
def _cell_of(room, x, y):
    column = int(np.floor((x - room.origin[0]) / CELL_M))
    row = int(np.floor((y - room.origin[1]) / CELL_M))
    if column < 0 or row < 0 or column >= room.across or row >= room.up:
        return -1
    return row * room.across + column


@inlined_kernel
def _left(room, cell, front):
    """Return how far it is from a cell at least until the front of the vehicle is in the goal: as from the
    best of the cells around it.
    """
    best = np.inf
    row, column = cell // room.across, cell % room.across
    for r in range(max(0, row - 1), min(room.up, row + 2)):
        for c in range(max(0, column - 1), min(room.across, column + 2)):
            best = min(best, room.to_go[r * room.across + c])
    return HEADS * max(0.0, best - 2.0 * CELL_M - front)


@kernel
def spread(free, across, to_go):
    """Write how far it is from each free cell to the goal, over cells, m; goal cells have 0 before.

    Parameters
    ----------
    free : (across * up,) bool
    across : int
    to_go : (across * up,) float64, m
        In and out: 0 in the goal, inf elsewhere.
    """
    heap = [(0.0, cell) for cell in range(len(to_go)) if to_go[cell] == 0.0]
    while len(heap) > 0:
        bound, cell = heapq.heappop(heap)
        if bound > to_go[cell]:
            continue
        row, column = cell // across, cell % across
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                r, c = row + dy, column + dx
                if (dx == 0 and dy == 0) or r < 0 or c < 0 or c >= across or r * across + c >= len(to_go):
                    continue
                other = r * across + c
                cost = bound + CELL_M * np.sqrt(float(dx * dx + dy * dy))
                if free[other] and cost < to_go[other]:
                    to_go[other] = cost
                    heapq.heappush(heap, (cost, other))


@kernel
def find_states(start, fine, radius, body, reverses, walls, room, closed, state, came):
    """Search for a curve.

    Parameters
    ----------
    start : (2,) float64, m
        Where the middle of the rear axle is.
    fine : (`FINE`, 2) float64
        Directions, all round, the first of them that of the vehicle at the start.
    radius : float, m
    body : (3,) float64, m
        From the rear axle to the front, to the rear end, and half the width.
    reverses : bool
    walls : Walls
    room : Room
    closed : (cells * `DIRECTIONS` * 2,) bool
        False.
    state : (n, 4) float64
        Receives of each state x, y (m), its cost (m), and how it is steered: -1, 0 or 1, plus 4 backwards.
    came : (n, 2) int64
        Receives the state before, -1 at the start, and the direction.

    Returns
    -------
    int
        The state in which its front is in the goal; `NO_CURVE` where there is none, `TOO_LARGE` where the
        arrays are full.

    Notes
    -----
    Twin: `tests/reference/vehicles.py`.
    """
    front, back, half = body[0] + MARGIN_M, body[1] + MARGIN_M, body[2] + MARGIN_M
    step = radius * (2.0 * 3.141592653589793 / DIRECTIONS)
    state[0, 0], state[0, 1], state[0, 2], state[0, 3] = start[0], start[1], 0.0, 0.0
    came[0, 0], came[0, 1] = -1, 0
    count = 1
    heap = [(0.0, 0)]
    while len(heap) > 0:
        node = heapq.heappop(heap)[1]
        x, y, cost, how = state[node, 0], state[node, 1], state[node, 2], state[node, 3]
        towards = came[node, 1]
        gear = 1 if how >= 3.0 else 0  # backwards
        cell = _cell_of(room, x, y)
        key = (cell * DIRECTIONS + towards) * 2 + gear
        if closed[key]:
            continue
        closed[key] = True
        tip = _cell_of(room, x + body[0] * fine[towards * CHECKS, 0], y + body[0] * fine[towards * CHECKS, 1])
        if tip >= 0 and room.is_goal[tip]:
            return node
        for backwards in range(2 if reverses else 1):
            sign = -1.0 if backwards else 1.0
            for turn in range(-1, 2):
                ok = True
                nx, ny, to = x, y, towards
                for check in range(1, CHECKS + 1):
                    if turn == 0:
                        ux, uy = fine[towards * CHECKS, 0], fine[towards * CHECKS, 1]
                        gone = sign * step * check / CHECKS
                        nx, ny = x + gone * ux, y + gone * uy
                    else:
                        bx, by = fine[towards * CHECKS, 0], fine[towards * CHECKS, 1]
                        side = 1 if (turn > 0) == (backwards == 0) else -1
                        now = (towards * CHECKS + side * check) % FINE
                        ux, uy = fine[now, 0], fine[now, 1]
                        r = radius * turn
                        nx, ny = x + r * (uy - by), y - r * (ux - bx)
                        to = (towards + side) % DIRECTIONS
                    if not is_free(walls, nx, ny, ux, uy, front, back, half):
                        ok = False
                        break
                if not ok:
                    continue
                other = _cell_of(room, nx, ny)
                if other < 0 or closed[(other * DIRECTIONS + to) * 2 + backwards]:
                    continue
                left = _left(room, other, body[0])
                if left == np.inf:
                    continue
                total = cost + step * (BACKWARDS if backwards else 1.0)
                if backwards != gear and node > 0:
                    total += GEAR_CHANGE_M
                if turn != int(how) - 4 * gear:
                    total += STEERING_M
                if count == len(state):
                    return TOO_LARGE
                state[count, 0], state[count, 1], state[count, 2] = nx, ny, total
                state[count, 3] = turn + 4.0 * backwards
                came[count, 0], came[count, 1] = node, to
                heapq.heappush(heap, (total + left, count))
                count += 1
    return NO_CURVE
