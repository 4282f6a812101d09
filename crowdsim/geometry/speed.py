"""Keeping velocities within a maximum speed."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import inlined_kernel, kernel

_A_LITTLE_LESS = 1.0 - 2.0**-52


@inlined_kernel
def limited(vx, vy, speed):
    """Return the velocity (vx, vy), shortened to `speed` where it is faster.

    Parameters
    ----------
    vx, vy, speed : float, m/s
        `speed` is not negative.

    Returns
    -------
    vx, vy : float, m/s
        Exactly what was given unless that was too fast; the rounded sum of squares never exceeds
        ``speed * speed``.

    Notes
    -----
    Twin: `tests/reference/speed.py`.
    """
    square = vx * vx + vy * vy
    if square <= speed * speed:
        return vx, vy
    if not square < np.inf:  # the square of a huge velocity overflows: bring it down first
        largest = max(abs(vx), abs(vy))
        vx, vy = vx / largest, vy / largest
        square = vx * vx + vy * vy
    scale = speed / np.sqrt(square)
    x, y = vx * scale, vy * scale
    while x * x + y * y > speed * speed:  # rounding may leave a last unit too much
        x, y = x * _A_LITTLE_LESS, y * _A_LITTLE_LESS
    return x, y


@kernel
def limit_speed(start, stop, velocity, maximum_speed, active, out):
    """Write velocities that keep the speed limit; 0 for those that are not active.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    velocity : (n, 2) float64, m/s
    maximum_speed : (n,) float64, m/s
    active : (n,) uint8
    out : (n, 2) float64, m/s

    Notes
    -----
    Twin: `tests/reference/speed.py`.
    """
    for row in range(np.uint64(start), np.uint64(stop)):
        if active[row]:
            out[row, 0], out[row, 1] = limited(velocity[row, 0], velocity[row, 1], maximum_speed[row])
        else:
            out[row, 0], out[row, 1] = 0.0, 0.0
