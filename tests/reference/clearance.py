"""Twins of `may_be_pushed` and `clear_of_walls`, by shapely's idea of distance written out: the push is sampled as a segment."""

import math

GRACE = 1e-4


def _distance(a, b, p):
    ax, ay = b[0] - a[0], b[1] - a[1]
    t = min(max(((p[0] - a[0]) * ax + (p[1] - a[1]) * ay) / (ax * ax + ay * ay), 0.0), 1.0)
    return math.hypot(a[0] + t * ax - p[0], a[1] + t * ay - p[1])


def _left_of(a, b, p):
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])


def may_be_pushed(walls, here, there, radius):
    """Whether a disc may go straight from here to there, for walls as (start, end) with free ground on the left."""
    for start, end in walls:
        length = math.dist(start, end)
        if _left_of(start, end, here) < -1e-3 * length:
            continue
        if _left_of(start, end, here) >= 0.0 > _left_of(start, end, there):
            share = _left_of(start, end, here) / (_left_of(start, end, here) - _left_of(start, end, there))
            cut = (here[0] + (there[0] - here[0]) * share, here[1] + (there[1] - here[1]) * share)
            if _distance(start, end, cut) < 1e-9 * length:
                return False
        if _distance(start, end, there) < radius - GRACE and _distance(start, end, there) < _distance(start, end, here):
            return False
    return True
