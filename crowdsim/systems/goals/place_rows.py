"""Which agents matter for the places of a region, each asked in one pass over rows, and what is made of the
lists of them.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.bodies.places import find_free
from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import kernel, lean_kernel
from crowdsim.world.columns import Stepping
from crowdsim.world.states import ARRIVED, WAITING, WALKING

LEAST_SPEED = 0.05  # That is the least, in m/s: a slower agent does not keep a run from its end.
SLOWEST = 0.5  # Share of its speed that an agent is expected to reach on the way to its place.
_IN = np.uint8(Stepping.IN)


@lean_kernel
def find_visitors(start, stop, activity, goal, itinerary, radius, leads, last, region, comes, stays):
    """Find the agents that head for a region, or will once they start, and those that stay there in the end.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    activity : (n,) uint8
    goal, itinerary : (n,) int32
        -1 is none.
    radius : (n,) float64, m
    leads : (goals,) bool
        Which goals are the region, or may be. Without entries only the region itself is, and those stay that
        head for it.
    last : (itineraries,) bool
        Which itineraries end there, for agents that stay.
    region : int
    comes : (n,) bool
        Receives which come.
    stays : (n,) bool
        In and out: more that stay.

    Returns
    -------
    count : int
        How many stay.
    waited_for : int
        How many of these have a goal.
    widest : float, m
        The greatest radius of those that stay.

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    count, waited_for, widest = 0, 0, 0.0
    for row in range(np.uint64(start), np.uint64(stop)):
        comes[row] = (activity[row] == WALKING or activity[row] == WAITING) and goal[row] >= 0
        if comes[row]:
            comes[row] = leads[goal[row]] if goal[row] < leads.size else goal[row] == region
        if leads.size == 0:
            stays[row] |= comes[row]
        elif itinerary[row] >= 0:
            stays[row] |= last[itinerary[row]]
        count += stays[row]
        waited_for += stays[row] & (goal[row] >= 0)
        widest = max(widest, radius[row] if stays[row] else 0.0)
    return count, waited_for, widest


@lean_kernel
def list_coming(start, stop, comes, activity, position, low, high, margin, found):
    """List where agents are that come, or walk in a box: they are not to be shut in.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    comes : (n,) bool
    activity : (n,) uint8
    position : (n, 2) float64, m
    low, high : (2,) float64, m
        The box, its rim included.
    margin : float, m
    found : (2, n) float64, m
        Receives x and y of those that are at most so far outside the box, from `start` on, and of the others,
        before `stop`.

    Returns
    -------
    first_near, last_near, first_far, last_far : int
        They are ``found[:, first_near:last_near]`` and ``found[:, first_far:last_far]``.

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    near, far = 0, 0
    for row in range(np.uint64(start), np.uint64(stop)):
        if not comes[row] and activity[row] != WALKING:
            continue
        x, y = position[row, 0], position[row, 1]
        outside = max(max(low[0] - x, x - high[0]), max(low[1] - y, y - high[1]))
        if outside <= (margin if comes[row] else 0.0):
            found[0, start + near], found[1, start + near] = x, y
            near += 1
        elif comes[row]:
            far += 1
            found[0, stop - far], found[1, stop - far] = x, y
    return start, start + near, stop - far, stop


@lean_kernel
def list_standing(
    start,
    stop,
    activity,
    layer,
    layers,
    is_yielding,
    yield_target,
    position,
    radius,
    is_out,
    low,
    high,
    own,
    found,
):
    """List where agents stand, or are about to, on some floors, in or near a box.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    activity : (n,) uint8
    layer : (n,) int32
    layers : (k,) int32
        The floors.
    is_yielding : (n,) uint8
        Not 0: is about to stand at its target instead of where it is.
    yield_target, position : (n, 2) float64, m
    radius : (n,) float64, m
    is_out : (n,) bool
        Agents that do not count.
    low, high : (2,) float64, m
        The box.
    own : float, m
        How much farther from it than their radius they are at most, in x and y.
    found : (3, n) float64, m
        Receives x, y and the radius of each, from `start` on.

    Returns
    -------
    first, last : int
        They are ``found[:, first:last]``.

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    count = 0
    for row in range(np.uint64(start), np.uint64(stop)):
        if activity[row] == WALKING or activity[row] == ARRIVED or is_out[row]:
            continue
        is_there = False
        for floor in layers:
            is_there |= layer[row] == floor
        if not is_there:
            continue
        place = yield_target if is_yielding[row] != 0 else position
        x, y, near = place[row, 0], place[row, 1], radius[row] + own
        if low[0] - x <= near and x - high[0] <= near and low[1] - y <= near and y - high[1] <= near:
            at = start + count
            found[0, at], found[1, at], found[2, at] = x, y, radius[row]
            count += 1
    return start, start + count


@kernel
def joined(found, parts, first):
    """Return columns of `found`, (k, n), together: of each of the `parts`, (p, 2) or more, those from what
    stands in its column `first` to before what stands in the next. Twin: `tests/reference/places.py`.
    """
    count, at = 0, 0
    for part in range(parts.shape[0]):
        count += parts[part, first + 1] - parts[part, first]
    out = np.empty((found.shape[0], count))
    for part in range(parts.shape[0]):
        for column in range(parts[part, first], parts[part, first + 1]):
            for line in range(found.shape[0]):
                out[line, at] = found[line, column]
            at += 1
    return out


@kernel
def sorted_along(axis, found):
    """Return columns, (k, n), ascending by the coordinate that the axis (0 x, 1 y) names, which becomes the
    first row; the other one becomes the second. Twin: `tests/reference/places.py`.
    """
    out, order = np.empty(found.shape), np.argsort(found[axis])
    for column in range(order.size):
        out[0, column], out[1, column] = found[axis, order[column]], found[1 - axis, order[column]]
        for line in range(2, found.shape[0]):
            out[line, column] = found[line, order[column]]
    return out


@kernel
def split_coming(found, parts, axis):
    """Return what `list_coming` has listed in `parts`, (p, 4): where those are that come near, sorted along
    an axis, and where the others are; (2, k) m. Twin: `tests/reference/places.py`.
    """
    return sorted_along(axis, joined(found, parts, 0)), joined(found, parts, 2)


@kernel
def distances_of_free(point, axis, order, found, parts, own):
    """Return inf for the places, (n, 2) m, that those leave free that `list_standing` has listed in `parts`,
    (p, 2), and `TAKEN` for the others, (n,).

    Parameters
    ----------
    point, axis, order : as for `find_free`
    found, parts : as `list_standing` leaves them
    own : float, m
        The radius of the agent that the place is for.

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    standing, distance = joined(found, parts, 0), np.empty(point.shape[0])
    for each in range(standing.shape[1]):
        standing[2, each] += own
    find_free(point, axis, order, standing, distance)
    return distance


@lean_kernel
def send_in(
    rows, chosen, point, position, desired_speed, patience, tick, tick_length, is_yielding, yield_target,
    yield_tick,
):  # fmt: skip
    """Let agents go to places for a while.

    Parameters
    ----------
    rows, chosen : (k,) int64
        Of the agents, and of their places.
    point : (p, 2) float64, m
    position, desired_speed, is_yielding, yield_target, yield_tick : (n, ...)
        Columns of agents; the last three are written to.
    patience : float, s
        What they have beyond the time that they need at half of their speed.
    tick : int
    tick_length : float, s

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    for k in range(rows.size):
        row, x, y = rows[k], point[chosen[k], 0], point[chosen[k], 1]
        pace = max(LEAST_SPEED, SLOWEST * desired_speed[row])
        needed = hypot(x - position[row, 0], y - position[row, 1]) / pace + patience
        is_yielding[row], yield_target[row, 0], yield_target[row, 1] = _IN, x, y
        yield_tick[row] = tick + np.int64(np.ceil(needed / tick_length))
