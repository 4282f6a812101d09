"""Naive twins of the kernels below `crowdsim.systems.behaviour`: keys_of_draws, shares_drawn, find_ground,
see_places; and see_many of the mesh.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

from crowdsim.world.random import philox, uniform01


def keys_of_draws(stream: int, keys: list[int], draws: list[int]) -> list[int]:
    """Return a key for each draw: the random bits of the agent's key at this place of the stream."""
    return [
        int(philox(np.uint64(0), np.uint64(stream), np.uint64(key), np.uint64(draw)))
        for key, draw in zip(keys, draws, strict=True)
    ]


def shares_drawn(seed: int, stream: int, keys: list[int]) -> list[float]:
    """Return a number in (0, 1) for each key."""
    return [
        float(uniform01(np.uint64(seed), np.uint64(stream), np.uint64(key), np.uint64(0))) for key in keys
    ]


def find_ground(ground: Any, place: Any, clear: float) -> list[bool]:
    """Return which places are on the ground and at least so far from its walls, m."""
    return [
        bool(ground.contains(point) and ground.boundary.distance(point) >= clear)
        for point in shapely.points(place)
    ]


def see_many(ground: Any, place: Any, aim: Any) -> list[bool]:
    """Return which pairs of places see each other, as `see_places` has it."""
    return [see_places(ground, [a], [b])[0][0] for a, b in zip(place, aim, strict=True)]


def see_places(ground: Any, place: Any, to: Any) -> list[list[bool]]:
    """Return which places are seen from others: the straight line between them is on the ground."""
    return [[bool(ground.covers(shapely.LineString([a, b]))) for b in to] for a in place]
