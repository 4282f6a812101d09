"""Twins of which places are free, how far they are from walkers, all against all, and which are the best.
Kernels: find_free, rank_places, choose_places, survey_region, joined, sorted_along, split_coming,
distances_of_free, send_in.
"""

import math

import numpy as np

from crowdsim.world.columns import AgentState


def find_free(place, standing, reach):
    """For each place whether all that stand are farther off than their reach."""
    return [
        all(
            math.sqrt((a - x) * (a - x) + (b - y) * (b - y)) > r
            for (a, b), r in zip(standing, reach, strict=True)
        )
        for x, y in place
    ]


def measure_distances(place, walking):
    """For each place the distance to the nearest walker, inf without one."""
    return [
        min((math.sqrt((a - x) * (a - x) + (b - y) * (b - y)) for a, b in walking), default=math.inf)
        for x, y in place
    ]


def rank_places(place, is_free, walking, x, y, waited_for, count):
    """The best free places: of the nearest by how far walkers are, the others after them; see the kernel."""
    free = [i for i in range(len(place)) if is_free[i]]
    away = {i: math.hypot(place[i][0] - x, place[i][1] - y) for i in free}
    near = sorted(free, key=lambda i: (away[i], i))[:waited_for]
    off = measure_distances(place, walking)
    worth = {i: off[i] if i in near else 0.0 for i in free}
    return sorted(free, key=lambda i: (-worth[i], away[i], i))[:count]


def choose_places(agents, place, is_free, walking, waited_for, gets_to):
    """The place that each agent in turn takes, until one gets to none: the best of those that it gets to."""
    is_free, chosen = list(is_free), []
    for turn, (x, y) in enumerate(agents):
        best = rank_places(place, is_free, walking, x, y, waited_for - turn, len(place))
        best = [i for i in best if gets_to[turn][i]]
        if not best:
            break
        chosen.append(best[0])
        is_free[best[0]] = False
    return chosen


def find_visitors(activity, goal, itinerary, leads, last, region):
    """Which agents come, and which stay."""
    active = np.isin(activity, (AgentState.WALKING, AgentState.WAITING)) & (goal >= 0)
    if not len(leads):
        comes = active & (goal == region)
        return comes, comes
    comes = active & np.append(leads, False)[np.minimum(goal, len(leads))]
    return comes, (itinerary >= 0) & np.append(last, False)[itinerary]


def sum_stays(stays, goal, radius):
    """How many stay, how many of these have a goal, and their greatest radius."""
    return np.count_nonzero(stays), np.count_nonzero(stays & (goal >= 0)), radius[stays].max(initial=0.0)


def list_coming(comes, activity, position, low, high, margin):
    """Where those are that come, and those that walk in the box: near it, and far from it."""
    outside = np.maximum(low - position, position - high).max(axis=1)
    found = comes | ((outside <= 0.0) & (activity == AgentState.WALKING))
    return position[found & (outside <= margin)].T, position[found & (outside > margin)].T


def list_standing(
    activity, layer, layers, is_yielding, yield_target, position, radius, is_out, low, high, own
):
    stands = ~np.isin(activity, (AgentState.WALKING, AgentState.ARRIVED)) & np.isin(layer, layers) & ~is_out
    there = np.where((is_yielding != 0)[:, None], yield_target, position)
    near = np.maximum(low - there, there - high).max(axis=1) <= radius + own
    return np.column_stack([there, radius])[stands & near].T


def joined(found, parts):
    """Columns of parts, each from a first to before a last one, together."""
    return np.concatenate([found[:, slice(*part)] for part in parts], axis=1)


def sorted_along(axis, found):
    """Columns, ascending by the coordinate that the axis names, which comes first, the other one next."""
    ordered = found[:, np.argsort(found[axis], kind="stable")]
    return np.concatenate([ordered[[axis, 1 - axis]], ordered[2:]])


def split_coming(found, parts, axis):
    """Those near, sorted along an axis, and the others."""
    near, far = (joined(found, [each[at : at + 2] for each in parts]) for at in (0, 2))
    return sorted_along(axis, near), far


def distances_of_free(point, found, parts, own):
    """Infinite for places that are farther from all that stand than both radii, -1 for the others."""
    x, y, radius = joined(found, parts)
    is_free = find_free(point.tolist(), list(zip(x, y, strict=True)), radius + own)
    return np.where(is_free, np.inf, -1.0)


def ticks_to(place, position, speed, patience, tick_length):
    """For how many ticks an agent is on its way to a place: at half of its speed, and a while."""
    pace = max(0.05, 0.5 * speed)
    return math.ceil((math.dist(place, position) / pace + patience) / tick_length)
