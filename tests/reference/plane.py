"""Twins of the kernels of `crowdsim.geometry.plane`, in exact rational numbers where these exist.

Kernels: orientation, turns_left_for_sure, in_circle_for_sure, nearest_on_segment, distance_to_segment,
segments_apart (which are_beyond is held to), arc_tangent, angle_between.
"""

import math
from fractions import Fraction


def orientation(ax, ay, bx, by, cx, cy):
    """Twice the signed area of abc, exact. (`turns_left_for_sure` may say yes only where this is above 0.)"""
    # in whole numbers of their common denominator: sums of fractions would be reduced one by one
    given = [
        (each if isinstance(each, int | float | Fraction) else float(each)).as_integer_ratio()
        for each in (ax, ay, bx, by, cx, cy)
    ]
    common = math.lcm(*(below for _, below in given))
    ax, ay, bx, by, cx, cy = (above * (common // below) for above, below in given)
    return Fraction((bx - ax) * (cy - ay) - (by - ay) * (cx - ax), common * common)


def in_circle(ax, ay, bx, by, cx, cy, dx, dy):
    """Positive if d is inside the circle through a, b, c (counter-clockwise), exact.
    (`in_circle_for_sure` may say yes only where this is above 0.)
    """
    ax, ay, bx, by, cx, cy, dx, dy = map(Fraction, (ax, ay, bx, by, cx, cy, dx, dy))
    rows = [(x - dx, y - dy, (x - dx) ** 2 + (y - dy) ** 2) for x, y in ((ax, ay), (bx, by), (cx, cy))]
    (a, b, c), (d, e, f), (g, h, i) = rows
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def nearest_on_segment(px, py, ax, ay, bx, by):
    """The point of segment ab that is nearest to p, exact."""
    px, py, ax, ay, bx, by = map(Fraction, (px, py, ax, ay, bx, by))
    dx, dy = bx - ax, by - ay
    if dx == 0 and dy == 0:
        return ax, ay
    t = min(Fraction(1), max(Fraction(0), ((px - ax) * dx + (py - ay) * dy) / (dx * dx + dy * dy)))
    return ax + t * dx, ay + t * dy


def distance_to_segment(px, py, ax, ay, bx, by):
    """The distance of p from segment ab, rounded once."""
    x, y = nearest_on_segment(px, py, ax, ay, bx, by)
    return math.sqrt((Fraction(px) - x) ** 2 + (Fraction(py) - y) ** 2)


def segments_apart(ax, ay, bx, by, cx, cy, dx, dy):
    """The distance of segments ab and cd: 0 if they cross, else the least of the four distances of an end
    from the other segment.
    """
    a, b, c, d = (ax, ay), (bx, by), (cx, cy), (dx, dy)
    if (
        orientation(*a, *b, *c) * orientation(*a, *b, *d) < 0
        and orientation(*c, *d, *a) * orientation(*c, *d, *b) < 0
    ):
        return 0.0
    return min(
        distance_to_segment(*a, *c, *d),
        distance_to_segment(*b, *c, *d),
        distance_to_segment(*c, *a, *b),
        distance_to_segment(*d, *a, *b),
    )


def arc_tangent(x):
    """The library's."""
    return math.atan(x)


def angle_between(ux, uy, vx, vy):
    """From cross and dot product."""
    return abs(math.atan2(ux * vy - uy * vx, ux * vx + uy * vy))
