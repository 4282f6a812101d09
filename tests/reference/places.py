"""Twin of how much room there is at places, all against all. Kernel: measure_room."""

import math


def measure_room(place, standing, reach, walking):
    """For each place the distance to the nearest walker, inf without one; -1 where somebody who stands is within its reach."""
    result = []
    for x, y in place:
        is_taken = any(math.sqrt((a - x) * (a - x) + (b - y) * (b - y)) <= r for (a, b), r in zip(standing, reach, strict=True))
        away = [math.sqrt((a - x) * (a - x) + (b - y) * (b - y)) for a, b in walking]
        result.append(-1.0 if is_taken else min(away, default=math.inf))
    return result
