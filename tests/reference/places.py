"""Twins of how far places are from walkers, all against all, and of which are the best.
Kernels: measure_distances, rank_places, find_visitors, sum_stays, list_coming, list_standing.
"""

import math

import numpy as np

from crowdsim.world.columns import AgentState


def measure_distances(place, standing, reach, walking):
    """For each place the distance to the nearest walker, inf without one;
    -1 where somebody who stands is within its reach.
    """
    result = []
    for x, y in place:
        is_taken = any(
            math.sqrt((a - x) * (a - x) + (b - y) * (b - y)) <= r
            for (a, b), r in zip(standing, reach, strict=True)
        )
        away = [math.sqrt((a - x) * (a - x) + (b - y) * (b - y)) for a, b in walking]
        result.append(-1.0 if is_taken else min(away, default=math.inf))
    return result


def rank_places(place, room, x, y, waited_for, count):
    """The best free places: of the nearest by their room, the others after them; see the kernel."""
    free = [i for i in range(len(place)) if room[i] != -1.0]
    away = {i: math.hypot(place[i][0] - x, place[i][1] - y) for i in free}
    near = sorted(free, key=lambda i: (away[i], i))[:waited_for]
    worth = {i: room[i] if i in near else 0.0 for i in free}
    return sorted(free, key=lambda i: (-worth[i], away[i], i))[:count]


def find_visitors(activity, goal, itinerary, leads, last, region):
    """Which agents come, and which stay."""
    active = np.isin(activity, (AgentState.WALKING, AgentState.WAITING)) & (goal >= 0)
    if not len(leads):
        comes = active & (goal == region)
        return comes, comes
    comes = active & np.append(leads, False)[np.minimum(goal, len(leads))]
    return comes, (itinerary >= 0) & np.append(last, False)[itinerary]


def sum_stays(stays, goal, radius):
    return np.count_nonzero(stays), np.count_nonzero(stays & (goal >= 0)), radius[stays].max(initial=0.0)


def list_coming(comes, activity, position, low, high):
    among = ((position >= low) & (position <= high)).all(axis=1)
    return position[comes | (among & (activity == AgentState.WALKING))].T


def list_standing(
    activity, layer, layers, is_yielding, yield_target, position, radius, is_out, low, high, own
):
    stands = ~np.isin(activity, (AgentState.WALKING, AgentState.ARRIVED)) & np.isin(layer, layers) & ~is_out
    there = np.where((is_yielding != 0)[:, None], yield_target, position)
    near = np.maximum(low - there, there - high).max(axis=1) <= radius + own
    return np.column_stack([there, radius])[stands & near].T
