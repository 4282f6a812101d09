"""Naive twins of the kernels that find places for agents that come in."""

from __future__ import annotations

import math

import shapely

from tests.reference.random import uniform


def draw_spots(seed, stream, key, first, triangles, shares, count):
    """Return so many places for each agent, as nested lists."""
    found = []
    for each in key:
        own = []
        for spot in range(count):
            chosen, u, v = (
                uniform(seed, stream, int(each), first + 3 * spot + draw, 0.0, 1.0) for draw in range(3)
            )
            place = next((number for number, share in enumerate(shares) if share >= chosen), len(shares) - 1)
            a, b, c = triangles[place].tolist()
            if u + v > 1.0:
                u, v = 1.0 - u, 1.0 - v
            own.append([a[axis] + u * (b[axis] - a[axis]) + v * (c[axis] - a[axis]) for axis in range(2)])
        found.append(own)
    return found


def find_room(ground, spots, radius, margin, gap, others):
    """Return where each agent finds room, up to the first that finds none; `others` are (x, y, radius)."""
    there, found = list(others), []
    for own, size in zip(spots, radius, strict=True):
        for x, y in own:
            is_on = ground.covers(shapely.Point(x, y))
            clear = ground.boundary.distance(shapely.Point(x, y)) >= size + margin
            if is_on and clear and all(math.hypot(x - a, y - b) >= size + r + gap for a, b, r in there):
                there.append((x, y, size))
                found.append((x, y))
                break
        else:
            break
    return found
