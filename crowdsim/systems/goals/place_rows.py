"""Which agents matter for the places of a region, found in one pass over rows, and what is made of the lists
of them.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies.places import find_free
from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import kernel, lean_kernel
from crowdsim.world.columns import Stepping
from crowdsim.world.states import ARRIVED, WAITING, WALKING

LEAST_SPEED = 0.05  # That is the least, in m/s: a slower agent does not keep a run from its end.
SLOWEST = 0.5  # Share of its speed that an agent is expected to reach on the way to its place.
_IN = np.uint8(Stepping.IN)
STAYS, OUT = np.uint8(1), np.uint8(2)


class Crowd(NamedTuple):
    """Columns of agents that a survey reads."""

    activity: NDArray[np.uint8]
    goal: NDArray[np.int32]
    itinerary: NDArray[np.int32]
    layer: NDArray[np.int32]
    radius: NDArray[np.float64]
    position: NDArray[np.float64]
    is_yielding: NDArray[np.uint8]
    yield_target: NDArray[np.float64]


class Ends(NamedTuple):
    """What leads to a region.

    Attributes
    ----------
    region : int
    leads : (goals,) bool
        Which goals are the region, or may be. Without entries only the region itself is, and those stay that
        head for it.
    last : (itineraries,) bool
        Which itineraries end there, for agents that stay.
    """

    region: int
    leads: NDArray[np.bool_]
    last: NDArray[np.bool_]


class Box(NamedTuple):
    """Where the places of a region are.

    Attributes
    ----------
    low, high : (2,) float64, m
        The box, its rim included.
    layers : (k,) int32
        The floors.
    margin : float, m
        So far outside the box those that come are near.
    own : float, m
        How much farther from it than their radius those that stand are at most, in x and y.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    layers: NDArray[np.int32]
    margin: float
    own: float


NOWHERE = Box(np.full(2, np.inf), np.full(2, -np.inf), np.zeros(0, dtype=np.int32), 0.0, 0.0)


@lean_kernel
def survey_region(start, stop, agents, ends, box, stays, found):
    """Find the agents that matter for the places of a region, in one pass: those that head for it, or will
    once they start, or walk in a box, which are not to be shut in; those that stay there in the end; and
    those that stand in or near the box, or are about to.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    agents : Crowd
        -1 is no goal and no itinerary. One that is yielding is about to stand at its target instead of where
        it is.
    ends : Ends
    box : Box
    stays : (n,) uint8
        In: STAYS for more that stay, OUT for those that do and do not count as standing, else 0. Out: not 0
        for all that stay.
    found : (5, n) float64, m
        Receives x and y of those that come, or walk in the box: from `start` on of those at most `margin`
        outside the box, before `stop` of the others; and below, from `start` on, x, y and the radius of those
        that stand.

    Returns
    -------
    count, waited_for : int
        How many stay, and how many of these have a goal.
    widest : float, m
        The greatest radius of those that stay.
    first_near, last_near, first_far, last_far, first, last : int
        They are ``found[:2, first_near:last_near]``, ``found[:2, first_far:last_far]`` and
        ``found[2:, first:last]``.

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    count, waited_for, widest, near, far, standing = 0, 0, 0.0, 0, 0, 0
    low, high = box.low, box.high
    for row in range(np.uint64(start), np.uint64(stop)):
        activity, goal = agents.activity[row], agents.goal[row]
        walks = activity == WALKING
        comes = (walks or activity == WAITING) and goal >= 0
        if comes:
            comes = ends.leads[goal] if goal < ends.leads.size else goal == ends.region
        known = stays[row]
        if ends.leads.size == 0:
            is_staying = comes
        else:
            is_staying = agents.itinerary[row] >= 0 and ends.last[agents.itinerary[row]]
        if known != 0 or is_staying:
            stays[row] = max(known, STAYS)
            count += 1
            waited_for += goal >= 0
            widest = max(widest, agents.radius[row])
        if comes or walks:
            x, y = agents.position[row, 0], agents.position[row, 1]
            outside = max(max(low[0] - x, x - high[0]), max(low[1] - y, y - high[1]))
            if outside <= (box.margin if comes else 0.0):
                found[0, start + near], found[1, start + near] = x, y
                near += 1
            elif comes:
                far += 1
                found[0, stop - far], found[1, stop - far] = x, y
        if walks or activity == ARRIVED or known == OUT:
            continue
        is_there = False
        for floor in box.layers:
            is_there |= agents.layer[row] == floor
        if not is_there:
            continue
        place = agents.yield_target if agents.is_yielding[row] != 0 else agents.position
        x, y, reach = place[row, 0], place[row, 1], agents.radius[row] + box.own
        if low[0] - x <= reach and x - high[0] <= reach and low[1] - y <= reach and y - high[1] <= reach:
            at = start + standing
            found[2, at], found[3, at], found[4, at] = x, y, agents.radius[row]
            standing += 1
    return (
        count, waited_for, widest, start, start + near, stop - far, stop, start, start + standing,
    )  # fmt: skip


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
    """Return what `survey_region` has listed in `parts`, (p, 6): where those are that come near, sorted along
    an axis, and where the others are; (2, k) m. Twin: `tests/reference/places.py`.
    """
    return sorted_along(axis, joined(found, parts, 0)), joined(found, parts, 2)


@kernel
def distances_of_free(point, axis, order, found, parts, own):
    """Return inf for the places, (n, 2) m, that those leave free that `survey_region` has listed in `parts`,
    (p, 6), and `TAKEN` for the others, (n,).

    Parameters
    ----------
    point, axis, order : as for `find_free`
    found : (3, n) float64, m
        Of those that stand.
    parts : (p, 6) int64
    own : float, m
        The radius of the agent that the place is for.

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    standing, distance = joined(found, parts, 4), np.empty(point.shape[0])
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
