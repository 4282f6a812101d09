"""The best velocity outside a union of velocity obstacles, exactly.

The best of the permitted velocities is the preferred one itself, or it lies on the boundary of an obstacle.
So the lines that bound obstacles are looked at, that of the least cost first: an obstacle is convex and
therefore covers one interval of a line, and the best point of the line that no obstacle covers is the best
one of all, or the end of an interval next to it. A line whose least cost is above what was found already ends
the search. This finds what [Guy 2009], section 4, finds by classifying all crossings of all boundary
segments, without visiting most of them.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.velocity_obstacles.obstacles import AREA, NORMAL_X, NORMAL_Y, OFFSET, PLANES
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.kernels.simd import bits, choose, first_bit, greatest, least, load, numbers, root, spread, store

# How deep in an obstacle a velocity may be and still counts as outside, m/s: float32 resolves 2e-7 m/s at
# walking speed.
SHALLOW = np.float32(1e-6)

# Areas of the workspace: the least cost on each line, where on it, and the interval that each obstacle covers
# of one line.
_LINES = np.uint64(PLANES) * AREA
_LEAST_COST, _PLACE, _LOW, _HIGH = np.uint64(0), _LINES, _LINES + _LINES, _LINES + _LINES + AREA
BOUNDARY_FLOATS = int(_HIGH + AREA)
# the preferred velocity, that of no cost, and for each line its best point and the nearest free ones on both
# sides
MOST_CANDIDATES = 2 + 3 * int(_LINES)

_F0 = np.float32(0.0)
_F2 = np.float32(2.0)
_INFINITE = np.float32(np.inf)
_U0, _U15, _U16 = np.uint64(0), np.uint64(15), np.uint64(16)
_NONE = np.int64(-1)


class Candidates(NamedTuple):
    """Room for what `best_permitted` looks at, for a caller that asks for it.

    Attributes
    ----------
    place : (MOST_CANDIDATES, 3) float32
        Velocity x and y (m/s), and its cost.
    obstacle : (MOST_CANDIDATES,) int64
        The first obstacle that forbids it; -1 where it is permitted.
    filled : (1,) int64
        How many rows there are.
    """

    place: NDArray[np.float32]
    obstacle: NDArray[np.int64]
    filled: NDArray[np.int64]


@inlined_kernel
def _add_candidate(candidates, x, y, cost, obstacle):
    """Add a velocity to `candidates`."""
    place, obstacles, filled = candidates
    at = filled[0]
    place[at, 0], place[at, 1], place[at, 2], obstacles[at] = x, y, cost, obstacle
    filled[0] = at + 1


@inlined_kernel
def first_forbidding(planes, count, x, y):
    """Return the first obstacle that forbids a velocity, -1 if none does.

    Parameters
    ----------
    planes : (PLANE_FLOATS,) float32
    count : uint64
        Obstacles.
    x, y : float32, m/s

    Notes
    -----
    Twin: `tests/reference/clearpath.py`.
    """
    for first in range(_U0, count, _U16):
        inside = numbers() + spread(np.int32(first)) < spread(np.int32(count))
        for plane in range(PLANES):
            at = np.uint64(plane) * AREA + first
            along = load(planes, NORMAL_X + at) * spread(x) + load(planes, NORMAL_Y + at) * spread(y)
            inside = inside & (load(planes, OFFSET + at) - along > spread(SHALLOW))
        found = bits(inside)
        if found != _U0:
            return np.int64(first + first_bit(found))
    return _NONE


@inlined_kernel
def _least_costs(planes, count, stride, speed, objective, work):
    """Write for each line the least cost of its points in the disc,
    and the place of that point from the foot of the normal on, in m/s.
    """
    cx, cy, qxx, qxy, qyy = objective
    for plane in range(PLANES):
        for first in range(_U0, count, _U16):
            at = np.uint64(plane) * AREA + first
            nx, ny, offset = (
                load(planes, NORMAL_X + at),
                load(planes, NORMAL_Y + at),
                load(planes, OFFSET + at),
            )
            chord = spread(speed * speed) - offset * offset
            exists = (chord >= spread(_F0)) & (numbers() + spread(np.int32(first)) < spread(np.int32(count)))
            half = root(choose(exists, chord, spread(_F0)))
            ex, ey = offset * nx - spread(cx), offset * ny - spread(cy)
            # The line is walked along (ny, -nx).
            curve = (spread(qxx) * ny * ny + spread(qyy) * nx * nx) - spread(_F2 * qxy) * (nx * ny)
            slope = (spread(qxx) * ny * ex - spread(qyy) * nx * ey) + spread(qxy) * (ny * ey - nx * ex)
            place = (spread(_F0) - slope) / curve
            place = choose(place > half, half, choose(place < spread(_F0) - half, spread(_F0) - half, place))
            dx, dy = ex + place * ny, ey - place * nx
            cost = (spread(qxx) * dx * dx + spread(qyy) * dy * dy) + spread(_F2 * qxy) * (dx * dy)
            here = np.uint64(plane) * stride + first
            store(work, _LEAST_COST + here, choose(exists, cost, spread(_INFINITE)))
            store(work, _PLACE + here, place)


@inlined_kernel
def _cheapest_line(work, lines):
    """Return the line of least cost and that cost; the line is not returned again."""
    lowest = load(work, _LEAST_COST)
    for first in range(_U16, lines, _U16):
        others = load(work, _LEAST_COST + first)
        lowest = choose(others < lowest, others, lowest)
    cost = least(lowest)
    line = _U0
    for first in range(_U0, lines, _U16):
        same = bits(load(work, _LEAST_COST + first) == spread(cost))
        if same != _U0:
            line = first + first_bit(same)
            break
    work[_LEAST_COST + line] = _INFINITE
    return line, cost


@inlined_kernel
def _cover(planes, count, own, x, y, along_x, along_y, work):
    """Write the interval that each obstacle but `own` covers of the line through (x, y);
    empty ones begin at infinity.
    """
    zero = spread(_F0)
    for first in range(_U0, count, _U16):
        low, high = spread(-_INFINITE), spread(_INFINITE)
        index = numbers() + spread(np.int32(first))
        valid = (index < spread(np.int32(count))) & (index != spread(np.int32(own)))
        for plane in range(PLANES):
            at = np.uint64(plane) * AREA + first
            nx, ny = load(planes, NORMAL_X + at), load(planes, NORMAL_Y + at)
            rate = nx * spread(along_x) + ny * spread(along_y)
            depth = load(planes, OFFSET + at) - (nx * spread(x) + ny * spread(y)) - spread(SHALLOW)
            end = depth / rate
            high = choose((rate > zero) & (end < high), end, high)
            low = choose((rate < zero) & (end > low), end, low)
            low = choose((rate == zero) & (depth <= zero), spread(_INFINITE), low)
        store(work, _LOW + first, choose(valid, low, spread(_INFINITE)))
        store(work, _HIGH + first, high)


@inlined_kernel
def _first_covering(count, place, work):
    """Return the first obstacle whose interval covers a place, -1 if none does."""
    for obstacle in range(count):
        if work[_LOW + obstacle] < place < work[_HIGH + obstacle]:
            return np.int64(obstacle)
    return _NONE


@inlined_kernel
def _first_uncovered(count, place, forwards, work):
    """Return the first place from `place` on, forwards or backwards, that no interval covers."""
    moved = True
    while moved:
        moved = False
        for first in range(_U0, count, _U16):
            low, high = load(work, _LOW + first), load(work, _HIGH + first)
            covers = (low < spread(place)) & (spread(place) < high)
            if bits(covers) != _U0:
                place = (
                    greatest(choose(covers, high, spread(-_INFINITE)))
                    if forwards
                    else least(choose(covers, low, spread(_INFINITE)))
                )
                moved = True
    return place


@inlined_kernel
def _cost(objective, x, y):
    """Return the cost of a velocity."""
    cx, cy, qxx, qxy, qyy = objective
    dx, dy = x - cx, y - cy
    return (qxx * dx * dx + qyy * dy * dy) + (_F2 * qxy) * (dx * dy)


@lean_kernel
def best_permitted(planes, count, speed, preferred_x, preferred_y, objective, side, work, candidates):
    """Find the permitted velocity of least cost.

    Parameters
    ----------
    planes : (PLANE_FLOATS,) float32
        Obstacles, as `agent_obstacle` and `wall_obstacle` write them.
    count : uint64
        Their number.
    speed : float32, m/s
        Radius of the disc of velocities.
    preferred_x, preferred_y : float32, m/s
        In the disc; taken as it is where nothing forbids it.
    objective : tuple of float32
        The cost of a velocity where the preferred one is forbidden: the point of no cost x and y (m/s, in the
        disc), and the matrix xx, xy, yy, positive definite.
    side : float32
        Of two equally good velocities on both sides of the preferred one, the one on its right is taken (1),
        or on its left (-1).
    work : (BOUNDARY_FLOATS,) float32
        Workspace.
    candidates : Candidates or None
        Receives every velocity that was looked at, in that order. None costs nothing: the kernel is compiled
        without it.

    Returns
    -------
    exists : bool
    x, y : float32, m/s
    obstacle : int64
        The one on whose boundary it lies; -1 where nothing forbids the preferred velocity.

    Notes
    -----
    Where a velocity is permitted, one is found; it is at most `SHALLOW` and rounding deep in any obstacle.
    The time goes with the number of lines whose least cost is below that of what is found; see
    benchmarks/avoidance.py. Twin: `tests/reference/clearpath.py`.
    """
    obstacle = first_forbidding(planes, count, preferred_x, preferred_y)
    if candidates is not None:
        _add_candidate(
            candidates, preferred_x, preferred_y, _cost(objective, preferred_x, preferred_y), obstacle
        )
    if obstacle < 0:
        return True, preferred_x, preferred_y, _NONE
    if objective[0] != preferred_x or objective[1] != preferred_y:
        forbidding = first_forbidding(planes, count, objective[0], objective[1])
        if candidates is not None:
            _add_candidate(candidates, objective[0], objective[1], _F0, forbidding)
        if forbidding < 0:
            return True, objective[0], objective[1], obstacle
    stride = (count + _U15) & ~_U15
    lines = np.uint64(PLANES) * stride
    _least_costs(planes, count, stride, speed, objective, work)
    exists, best_x, best_y, best_cost, binding = False, _F0, _F0, _INFINITE, _NONE
    for _ in range(lines):
        line, cost = _cheapest_line(work, lines)
        if not cost < _INFINITE or cost > best_cost:
            break
        own = line % stride
        at = line // stride * AREA + own
        nx, ny, offset = planes[NORMAL_X + at], planes[NORMAL_Y + at], planes[OFFSET + at]
        foot_x, foot_y, half = offset * nx, offset * ny, np.sqrt(max(speed * speed - offset * offset, _F0))
        _cover(planes, count, own, foot_x, foot_y, ny, -nx, work)
        if candidates is not None:
            place = work[_PLACE + line]
            covering = _first_covering(count, place, work)
            if covering >= 0:
                _add_candidate(candidates, foot_x + place * ny, foot_y - place * nx, cost, covering)
        for forwards in (True, False):
            place = _first_uncovered(count, work[_PLACE + line], forwards, work)
            if not -half <= place <= half:
                continue
            x, y = foot_x + place * ny, foot_y - place * nx
            cost = _cost(objective, x, y)
            if candidates is not None:
                _add_candidate(candidates, x, y, cost, _NONE)
            tie = (
                exists
                and cost == best_cost
                and side * (preferred_y * x - preferred_x * y)
                > side * (preferred_y * best_x - preferred_x * best_y)
            )
            if cost < best_cost or tie:
                exists, best_x, best_y, best_cost, binding = True, x, y, cost, np.int64(own)
    return exists, best_x, best_y, binding
