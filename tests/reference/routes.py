"""Routes over walks and rides, slow and obvious: every chain of rides up to some length is tried."""

from __future__ import annotations

import math
from itertools import pairwise, product
from typing import Any


def quickest(
    walk: float, to_gate: Any, to_goal: Any, between: Any, rides: list[tuple[int, int, float]], most: int
) -> tuple[float, int]:
    """Return how long the quickest route takes, and the gate to which it leads first, -1 for the walk."""
    best, first = walk, -1
    for length in range(1, most + 1):
        for chain in product(rides, repeat=length):
            time = to_gate[chain[0][0]] + to_goal[chain[-1][1]] + sum(each[2] for each in chain)
            for one, other in pairwise(chain):
                time += between[one[1]][other[0]]
            if time < best - 1e-9:
                best, first = time, chain[0][0]
    return (best, first) if math.isfinite(best) else (math.inf, -1)
