"""Twins of `limited`, `limit_speed` and `integrate`."""

from fractions import Fraction
from math import hypot


def limited(vx, vy, speed):
    """The velocity shortened to `speed` where it is faster, to rounding."""
    if Fraction(vx) ** 2 + Fraction(vy) ** 2 <= Fraction(speed) ** 2:
        return vx, vy
    return vx / hypot(vx, vy) * speed, vy / hypot(vx, vy) * speed


def limit_speed(velocity, maximum_speed, active):
    """Limited velocities; 0 for those that are not active."""
    return [
        limited(*v, s) if a else (0.0, 0.0) for v, s, a in zip(velocity, maximum_speed, active, strict=True)
    ]


def integrate(position, velocity, maximum_speed, tick_length):
    """Velocities as walked and positions after the tick."""
    walked = [limited(*v, s) for v, s in zip(velocity, maximum_speed, strict=True)]
    return walked, [
        (x + vx * tick_length, y + vy * tick_length)
        for (x, y), (vx, vy) in zip(position, walked, strict=True)
    ]
