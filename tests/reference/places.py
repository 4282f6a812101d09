"""Twins of which places are free, how far they are from walkers, all against all, and which are the best.
Kernels: find_free, rank_places, choose_places, survey_region, standing_places, settle, send_in,
in_strips.
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
    """Those that come, and those that walk in the box: near it, and far from it."""
    outside = np.maximum(low - position, position - high).max(axis=1)
    found = comes | ((outside <= 0.0) & (activity == AgentState.WALKING))
    return np.flatnonzero(found & (outside <= margin)), np.flatnonzero(found & (outside > margin))


def list_standing(
    activity, layer, layers, is_yielding, yield_target, position, radius, is_out, low, high, own
):
    stands = ~np.isin(activity, (AgentState.WALKING, AgentState.ARRIVED)) & np.isin(layer, layers) & ~is_out
    there = np.where((is_yielding != 0)[:, None], yield_target, position)
    near = np.maximum(low - there, there - high).max(axis=1) <= radius + own
    return np.flatnonzero(stands & near)


def listed(row, parts):
    """Rows of parts of a list, each from a first to before a last one."""
    return np.concatenate([row[slice(*part)] for part in parts])


def standing_places(agents, row, parts, sent, own):
    """Where those stand, or will, that were listed, and those that were sent; and how far from them places
    are taken.
    """
    rows = np.concatenate([listed(row, parts), sent[agents.is_yielding[sent] != 0]]).astype(int)
    place = np.where((agents.is_yielding != 0)[:, None], agents.yield_target, agents.position)[rows]
    return np.column_stack([place, agents.radius[rows] + own]).T


def ticks_to(place, position, speed, patience, tick_length):
    """For how many ticks an agent is on its way to a place: at half of its speed, and a while."""
    pace = max(0.05, 0.5 * speed)
    return math.ceil((math.dist(place, position) / pace + patience) / tick_length)


def in_strips(walking, axis, low, width, strips):
    """Walkers by strip, each as how far along and across the axis it is."""
    found = [[] for _ in range(strips)]
    for each in walking.tolist():
        found[min(strips - 1, max(0, math.floor((each[axis] - low) / width)))].append(
            (each[axis], each[1 - axis])
        )
    return found
