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
from crowdsim.avoidance.neighbours import CHOSEN, MOST_NEIGHBOURS
from crowdsim.avoidance.orca.linear_programs import (
    LINE_FLOATS,
    NORMAL_X,
    NORMAL_Y,
    OFFSET,
    best_velocity,
    least_violation,
)
from crowdsim.avoidance.orca.side_by_side import (
    PLANES_FLOATS,
    best_velocities,
    lay_side_by_side,
    least_violations,
)
from crowdsim.geometry.speed import limited
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.kernels.simd import LANES, load, store

_SIDE = np.uint64(LANES)  # Rows that are solved at once.
_ROWS = 2 * LANES  # The second half is for agents without a permitted velocity.
_ROW = np.uint64(LINE_FLOATS)
_KEPT = np.uint64(MOST_NEIGHBOURS + LANES)  # Room for the neighbours of one agent, by whole sets of lanes.
# Areas of the workspaces, by row.
_SPEED, _PREFERRED_X, _PREFERRED_Y, _X, _Y = (np.uint64(_ROWS * area) for area in range(5))
_WALLS, _COUNT, _FAILED, _BINDING = (np.uint64(_ROWS * area) for area in range(4))

_U0, _U1, _U16 = np.uint64(0), np.uint64(1), np.uint64(16)


class Rows(NamedTuple):
    """Agents that wait, in rows.

    Attributes
    ----------
    lines : (32 * LINE_FLOATS,) float32
        Half-planes of each, those of walls first, as in `linear_programs`.
    slots : (32,) uint64
    kept : (32 * 80,) uint32
        Slots of the neighbours of each, in the order of their half-planes.
    speeds : (5 * 32,) float32, m/s
        Maximum speed, preferred velocity, and the velocity that was found.
    counts : (4 * 32,) int32
        Half-planes of walls, and of all; the one at which no velocity was left, and the one that binds.
    planes : (PLANES_FLOATS,) float32
        Half-planes of sixteen, side by side.
    """

    lines: NDArray[np.float32]
    slots: NDArray[np.uint64]
    kept: NDArray[np.uint32]
    speeds: NDArray[np.float32]
    counts: NDArray[np.int32]
    planes: NDArray[np.float32]


@kernel
def empty_rows():
    """Return rows in which nobody waits."""
    return Rows(
        np.empty(_ROWS * LINE_FLOATS, np.float32),
        np.zeros(_ROWS, np.uint64),
        np.empty(_ROWS * (MOST_NEIGHBOURS + LANES), np.uint32),
        np.zeros(5 * _ROWS, np.float32),
        np.zeros(4 * _ROWS, np.int32),
        np.empty(PLANES_FLOATS, np.float32),
    )


@inlined_kernel
def first_line(row):
    """Return where the half-planes of a row begin within `Rows.lines`."""
    return row * _ROW


def walls_of(rows: Rows) -> int:
    """Return how many half-planes of walls the agent of the first row has."""
    return int(rows.counts[int(_WALLS)])


@inlined_kernel
def wait(rows, row, slot, slots, walls, count, speed, preferred_x, preferred_y):
    """Have an agent wait; its half-planes are in its row already.

    Parameters
    ----------
    rows : Rows
    row, slot : uint64
    slots : (NEAREST_SLOTS,) uint32
        As `find_nearest` leaves it.
    walls, count : uint64
        Its half-planes of walls, and of neighbours.
    speed, preferred_x, preferred_y : float, m/s
    """
    rows.slots[row] = slot
    rows.speeds[_SPEED + row] = speed
    rows.speeds[_PREFERRED_X + row], rows.speeds[_PREFERRED_Y + row] = preferred_x, preferred_y
    rows.counts[_WALLS + row], rows.counts[_COUNT + row] = walls, walls + count
    for first in range(_U0, count, _U16):
        store(rows.kept, row * _KEPT + first, load(slots, CHOSEN + first))


@inlined_kernel
def _tell_found(rows, row, own, diagnosis):
    """Tell the agent of a row what was found for it."""
    numbers, ids = own
    slot, walls, binding = rows.slots[row], rows.counts[_WALLS + row], rows.counts[_BINDING + row]
    speed = numbers[slot, OWN_MAXIMUM]
    # where nothing binds, the preferred velocity itself, unrounded
    x, y, blocker = numbers[slot, OWN_PREFERRED_X], numbers[slot, OWN_PREFERRED_Y], np.int64(NOBODY)
    if binding >= 0:
        x, y = np.float64(rows.speeds[_X + row]), np.float64(rows.speeds[_Y + row])
        blocker = np.int64(WALL)
        if binding >= walls:
            blocker = ids[np.uint64(rows.kept[row * _KEPT + np.uint64(binding - walls)]), OWN_ENTITY]
    x, y = limited(x, y, speed)
    tell(numbers, slot, x, y, blocker, diagnosis, rows.counts[_COUNT + row] - walls, 0)


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
    """Find the best permitted velocities of those in the first rows, and tell all that have one.

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
    lay_side_by_side(rows.lines, _U0, rows.planes)
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
            _copy_row(rows, row, _SIDE + left)
            left += _U1
            if left == _SIDE:
                relax_waiting(rows, left, own)
                left = _U0
        else:
            _tell_found(rows, row, own, FEASIBLE)
    return left


@inlined_kernel
def _copy_row(rows, row, to):
    """Copy an agent to another row."""
    lines, count, walls = rows.lines, rows.counts[_COUNT + row], rows.counts[_WALLS + row]
    for area in (NORMAL_X, NORMAL_Y, OFFSET):
        for first in range(_U0, np.uint64(count), _U16):
            store(lines, to * _ROW + area + first, load(lines, row * _ROW + area + first))
    for first in range(_U0, np.uint64(count - walls), _U16):
        store(rows.kept, to * _KEPT + first, load(rows.kept, row * _KEPT + first))
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
    lay_side_by_side(rows.lines, _SIDE, rows.planes)
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
def solve_alone(rows, row, own):
    """Find the velocity of the agent of one row, which has too many half-planes for a group, and tell it."""
    base, speed = first_line(row), rows.speeds[_SPEED + row]
    walls, count = np.uint64(rows.counts[_WALLS + row]), np.uint64(rows.counts[_COUNT + row])
    wish_x, wish_y = rows.speeds[_PREFERRED_X + row], rows.speeds[_PREFERRED_Y + row]
    failed, x, y, binding = best_velocity(
        rows.lines, base, count, speed, wish_x, wish_y, wish_x, wish_y, False, wish_x, wish_y
    )
    diagnosis = FEASIBLE
    if failed < count:
        diagnosis = INFEASIBLE if failed < walls else RELAXED
        x, y, binding = least_violation(
            rows.lines, base, walls, count, failed, speed, x, y, binding, wish_x, wish_y
        )
    rows.speeds[_X + row], rows.speeds[_Y + row], rows.counts[_BINDING + row] = x, y, binding
    _tell_found(rows, row, own, diagnosis)
