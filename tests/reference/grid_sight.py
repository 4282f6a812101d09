"""Twin of string pulling: a line against every cell in exact fractions,
and the definition of [Pathfinding undated], section 4 word for word.

Kernels: is_in_sight, list_cells, pull_taut, copy_waypoints.
"""

import math
from fractions import Fraction


def touches(cell, a, b):
    """Whether a segment has a point in common with a closed cell; everything in cells, exactly."""
    first, last = Fraction(0), Fraction(1)
    for k in range(2):
        low, high = Fraction(int(cell[k])), Fraction(int(cell[k]) + 1)
        start, move = Fraction(float(a[k])), Fraction(float(b[k])) - Fraction(float(a[k]))
        if move == 0:
            if not low <= start <= high:
                return False
            continue
        enters, leaves = sorted(((low - start) / move, (high - start) / move))
        first, last = max(first, enters), min(last, leaves)
    return first <= last


def sees(walkable, a, b):
    """Whether all cells that a line touches are walkable; a, b in cells."""
    columns = range(math.floor(min(a[0], b[0])) - 1, math.floor(max(a[0], b[0])) + 2)
    rows = range(math.floor(min(a[1], b[1])) - 1, math.floor(max(a[1], b[1])) + 2)
    return all((x, y) in walkable for x in columns for y in rows if touches((x, y), a, b))


def sees_samples(walkable, a, b, step):
    """The same for the cells under points at most `step` apart."""
    count = max(1, math.ceil(math.dist(a, b) / step))
    points = [
        (a[0] + (b[0] - a[0]) * (i / count), a[1] + (b[1] - a[1]) * (i / count)) for i in range(count + 1)
    ]
    return all((math.floor(x), math.floor(y)) in walkable for x, y in points)


def pulled(points, in_sight):
    """From each anchor to the furthest point in sight; the first point is the first anchor."""
    result, anchor = [points[0]], 0
    while anchor < len(points) - 1:
        following = next(
            i
            for i in range(len(points) - 1, anchor, -1)
            if i == anchor + 1 or in_sight(points[anchor], points[i])
        )
        result.append(points[following])
        anchor = following
    return result
