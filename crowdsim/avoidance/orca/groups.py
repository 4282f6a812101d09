"""Agents with known half-planes wait until there are sixteen, which are then solved side by side.

An agent takes a row. When sixteen rows are taken, the best permitted velocities of all are found at once;
agents without a permitted velocity go on waiting, in rows of their own, until there are sixteen of these, for
the program that costs more. What an agent gets does not depend on which agents wait beside it.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.model import FEASIBLE, INFEASIBLE, NOBODY, RELAXED, WALL
from crowdsim.avoidance.neighbour_model import (
    OWN_ENTITY,
    OWN_MAXIMUM,
    OWN_PREFERRED_X,
    OWN_PREFERRED_Y,
    tell,
)
from crowdsim.avoidance.neighbours import CHOSEN
from crowdsim.avoidance.orca.linear_programs import best_or_least_violation
from crowdsim.avoidance.orca.side_by_side import (
    MOST_TOGETHER,
    PLANES_FLOATS,
    ROW_FLOATS,
    best_velocities,
    copy_row,
    lay_side_by_side,
    least_violations,
)
from crowdsim.geometry.speed import limited
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.kernels.simd import LANES, load, store

_SIDE = np.uint64(LANES)  # Rows that are solved at once.
_ROWS = 2 * LANES  # The second half is for agents without a permitted velocity.
_ROW, _KEPT = np.uint64(ROW_FLOATS), np.uint64(MOST_TOGETHER)
# Areas of the workspaces, by row.
_SPEED, _PREFERRED_X, _PREFERRED_Y, _X, _Y = (np.uint64(_ROWS * area) for area in range(5))
_WALLS, _COUNT, _FAILED, _BINDING = (np.uint64(_ROWS * area) for area in range(4))

_U0, _U1, _U16 = np.uint64(0), np.uint64(1), np.uint64(16)


class Rows(NamedTuple):
    """Agents that wait, in rows.

    Attributes
    ----------
    table : (32 * ROW_FLOATS,) float32
        Half-planes of each, those of walls first.
    slots : (32,) uint64
    kept : (32 * MOST_TOGETHER,) uint32
        Slots of the neighbours of each, in the order of their half-planes.
    speeds : (5 * 32,) float32, m/s
        Maximum speed, preferred velocity, and the velocity that was found.
    counts : (4 * 32,) int32
        Half-planes of walls, and of all; the one at which no velocity was left, and the one that binds.
    planes : (PLANES_FLOATS,) float32
        Half-planes of sixteen, side by side.
    last_walls : (1,) int64
        How many half-planes of walls the last agent had, whether it waited or not.
    """

    table: NDArray[np.float32]
    slots: NDArray[np.uint64]
    kept: NDArray[np.uint32]
    speeds: NDArray[np.float32]
    counts: NDArray[np.int32]
    planes: NDArray[np.float32]
    last_walls: NDArray[np.int64]


@kernel
def empty_rows():
    """Return rows in which nobody waits."""
    return Rows(
        np.empty(_ROWS * ROW_FLOATS, np.float32),
        np.empty(_ROWS, np.uint64),
        np.empty(_ROWS * MOST_TOGETHER, np.uint32),
        np.zeros(5 * _ROWS, np.float32),
        np.zeros(4 * _ROWS, np.int32),
        np.empty(PLANES_FLOATS, np.float32),
        np.zeros(1, np.int64),
    )


@inlined_kernel
def tell_best(own, slot, x, y, binding, neighbour, walls, count, diagnosis):
    """Tell an agent the velocity that was found for it.

    Parameters
    ----------
    own : Own
    slot : uint64
    x, y : float32, m/s
    binding : int
        The half-plane that binds; -1 is none, and the velocity the preferred one, unrounded.
    neighbour : uint64
        Slot of the neighbour that this is of, if it is of one.
    walls, count : int
        Half-planes of walls, and of neighbours.
    diagnosis : int
    """
    numbers, ids = own
    speed = numbers[slot, OWN_MAXIMUM]
    vx, vy, blocker = numbers[slot, OWN_PREFERRED_X], numbers[slot, OWN_PREFERRED_Y], np.int64(NOBODY)
    if binding >= 0:
        vx, vy = np.float64(x), np.float64(y)
        blocker = np.int64(WALL) if binding < walls else ids[neighbour, OWN_ENTITY]
    vx, vy = limited(vx, vy, speed)
    tell(numbers, slot, vx, vy, blocker, diagnosis, count, 0)


@inlined_kernel
def wait(rows, row, slot, slots, lines, walls, count, speed, preferred_x, preferred_y):
    """Have an agent wait in a row.

    Parameters
    ----------
    rows : Rows
    row, slot : uint64
    slots : (NEAREST_SLOTS,) uint32
        As `find_nearest` leaves it.
    lines : (LINE_FLOATS,) float32
        Half-planes of walls and neighbours, as in `linear_programs`.
    walls, count : uint64
        How many there are of each, at most MOST_TOGETHER in all.
    speed, preferred_x, preferred_y : float, m/s
    """
    copy_row(lines, rows.table, row)
    store(rows.kept, row * _KEPT, load(slots, CHOSEN))
    rows.slots[row] = slot
    rows.speeds[_SPEED + row] = speed
    rows.speeds[_PREFERRED_X + row], rows.speeds[_PREFERRED_Y + row] = preferred_x, preferred_y
    rows.counts[_WALLS + row], rows.counts[_COUNT + row] = walls, walls + count


@inlined_kernel
def _tell_found(rows, row, own, diagnosis):
    """Tell the agent of a row what was found for it."""
    walls, binding = rows.counts[_WALLS + row], rows.counts[_BINDING + row]
    neighbour = np.uint64(rows.kept[row * _KEPT + np.uint64(max(binding - walls, np.int32(0)))])
    count = rows.counts[_COUNT + row] - walls
    x, y = rows.speeds[_X + row], rows.speeds[_Y + row]
    tell_best(own, rows.slots[row], x, y, binding, neighbour, walls, count, diagnosis)


@inlined_kernel
def _most(rows, area, first, end):
    """Return the greatest of the counts of rows, and make those of the other rows of the sixteen 0, so that
    nothing is done for what waited there before.
    """
    most = np.int32(0)
    for row in range(first, end):
        most = max(most, rows.counts[area + row])
    for row in range(end, (first | (_SIDE - _U1)) + _U1):
        rows.counts[area + row] = 0
    return np.uint64(most)


@lean_kernel
def solve_waiting(rows, waiting, left, own):
    """Find the best velocities of those in the first rows, and tell all that have a permitted one.

    Parameters
    ----------
    rows : Rows
    waiting : uint64
        How many wait in the first sixteen rows.
    left : uint64
        How many wait in the other rows, without a permitted velocity; at most fifteen.
    own : Own

    Returns
    -------
    uint64
        How many wait in the other rows now; at most fifteen.
    """
    counts, speeds = rows.counts, rows.speeds
    most = _most(rows, _COUNT, _U0, waiting)
    lay_side_by_side(rows.table, _U0, rows.planes)
    x, y = load(speeds, _PREFERRED_X), load(speeds, _PREFERRED_Y)
    failed, found_x, found_y, binding = best_velocities(
        rows.planes, _U0, load(counts, _COUNT), most, load(speeds, _SPEED), x, y, x, y, False, x, y
    )
    store(counts, _FAILED, failed)
    store(counts, _BINDING, binding)
    store(speeds, _X, found_x)
    store(speeds, _Y, found_y)
    for row in range(waiting):
        if counts[_FAILED + row] < counts[_COUNT + row]:
            _move(rows, row, _SIDE + left)
            left += _U1
            if left == _SIDE:
                relax_waiting(rows, left, own)
                left = _U0
        else:
            _tell_found(rows, row, own, FEASIBLE)
    return left


@inlined_kernel
def _move(rows, row, to):
    """Copy an agent to another row."""
    for first in range(_U0, _ROW, _U16):
        store(rows.table, to * _ROW + first, load(rows.table, row * _ROW + first))
    store(rows.kept, to * _KEPT, load(rows.kept, row * _KEPT))
    rows.slots[to] = rows.slots[row]
    for area in (_SPEED, _PREFERRED_X, _PREFERRED_Y, _X, _Y):
        rows.speeds[area + to] = rows.speeds[area + row]
    for area in (_WALLS, _COUNT, _FAILED, _BINDING):
        rows.counts[area + to] = rows.counts[area + row]


@lean_kernel
def relax_waiting(rows, left, own):
    """Find the velocities that break the half-planes of agents least, of those without a permitted one,
    and tell them.

    Parameters
    ----------
    rows : Rows
    left : uint64, 1..16
        How many wait for that.
    own : Own
    """
    counts, speeds, end = rows.counts, rows.speeds, _SIDE + left
    most, most_walls = _most(rows, _COUNT, _SIDE, end), _most(rows, _WALLS, _SIDE, end)
    lay_side_by_side(rows.table, _SIDE, rows.planes)
    x, y, binding = least_violations(
        rows.planes,
        load(counts, _WALLS + _SIDE),
        most_walls,
        load(counts, _COUNT + _SIDE),
        most,
        load(counts, _FAILED + _SIDE),
        load(speeds, _SPEED + _SIDE),
        load(speeds, _X + _SIDE),
        load(speeds, _Y + _SIDE),
        load(counts, _BINDING + _SIDE),
        load(speeds, _PREFERRED_X + _SIDE),
        load(speeds, _PREFERRED_Y + _SIDE),
    )
    store(counts, _BINDING + _SIDE, binding)
    store(speeds, _X + _SIDE, x)
    store(speeds, _Y + _SIDE, y)
    for row in range(_SIDE, end):
        _tell_found(rows, row, own, INFEASIBLE if counts[_FAILED + row] < counts[_WALLS + row] else RELAXED)


@lean_kernel
def solve_alone(slot, slots, lines, walls, count, speed, preferred_x, preferred_y, own):
    """Find the velocity of an agent that does not wait, and tell it: it has more than MOST_TOGETHER
    half-planes.

    Parameters
    ----------
    slot, slots, lines, walls, count, speed, preferred_x, preferred_y : as for `wait`
    own : Own
    """
    failed, x, y, binding = best_or_least_violation(
        lines, walls, walls + count, np.float32(speed), np.float32(preferred_x), np.float32(preferred_y)
    )
    diagnosis = FEASIBLE
    if failed < walls + count:
        diagnosis = INFEASIBLE if failed < walls else RELAXED
    neighbour = np.uint64(slots[CHOSEN + np.uint64(max(binding - np.int64(walls), 0))])
    tell_best(own, slot, x, y, binding, neighbour, np.int64(walls), count, diagnosis)
