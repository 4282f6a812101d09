"""Twins of how far places are from walkers, all against all, and of which are the best.
Kernels: measure_distances, rank_places.
"""

import math


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
