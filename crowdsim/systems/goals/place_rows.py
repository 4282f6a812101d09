"""Which agents matter for the places of a region, each asked in one pass over all rows."""

# mypy: allow-untyped-defs

from __future__ import annotations

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.world.states import ARRIVED, WAITING, WALKING


@lean_kernel
def find_visitors(activity, goal, itinerary, leads, last, region, comes, stays):
    """Find the agents that head for a region, or will once they start, and those that stay there in the end.

    Parameters
    ----------
    activity : (n,) uint8
    goal, itinerary : (n,) int32
        -1 is none.
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

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    for row in range(activity.size):
        comes[row] = (activity[row] == WALKING or activity[row] == WAITING) and goal[row] >= 0
        if comes[row]:
            comes[row] = leads[goal[row]] if goal[row] < leads.size else goal[row] == region
        if leads.size == 0:
            stays[row] |= comes[row]
        elif itinerary[row] >= 0:
            stays[row] |= last[itinerary[row]]


@lean_kernel
def sum_stays(stays, goal, radius):
    """Return how many stay, how many of these have a goal, and the greatest radius of them, m; all arrays
    (n,). Twin: `tests/reference/places.py`.
    """
    count, waited_for, widest = 0, 0, 0.0
    for row in range(stays.size):
        if stays[row]:
            count += 1
            waited_for += goal[row] >= 0
            widest = max(widest, radius[row])
    return count, waited_for, widest


@lean_kernel
def list_coming(comes, activity, position, low, high, found):
    """List where agents are that come, or walk in a box: they are not to be shut in.

    Parameters
    ----------
    comes : (n,) bool
    activity : (n,) uint8
    position : (n, 2) float64, m
    low, high : (2,) float64, m
        The box, its rim included.
    found : (2, n) float64, m
        Receives x and y of each.

    Returns
    -------
    int
        How many they are.

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    count = 0
    for row in range(activity.size):
        x, y = position[row, 0], position[row, 1]
        walks_there = (
            activity[row] == WALKING and low[0] <= x and x <= high[0] and low[1] <= y and y <= high[1]
        )
        if comes[row] or walks_there:
            found[0, count], found[1, count] = x, y
            count += 1
    return count


@lean_kernel
def list_standing(
    activity, layer, layers, is_yielding, yield_target, position, radius, is_out, low, high, own, found
):
    """List where agents stand, or are about to, on some floors, in or near a box.

    Parameters
    ----------
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
        Receives x, y and the radius of each.

    Returns
    -------
    int
        How many they are.

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    count = 0
    for row in range(activity.size):
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
            found[0, count], found[1, count], found[2, count] = x, y, radius[row]
            count += 1
    return count
