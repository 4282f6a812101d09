"""Directions as unit vectors, where an angle is given: by own arithmetic, the same on every processor."""

# mypy: allow-untyped-defs

from __future__ import annotations

from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import inlined_kernel, kernel


@kernel
def direction_at(angle):
    """Return the unit vector at an angle from +x, by own arithmetic: the same on every processor.

    Parameters
    ----------
    angle : float, rad, 0..pi

    Returns
    -------
    x, y : float
        To 1e-15.

    Notes
    -----
    Twin: `tests/reference/directions.py`.
    """
    # The series of sine and cosine at an eighth of the angle, below 0.4, are cut off at 1e-18; three
    # doublings lead back.
    part = angle / 8.0
    square = part * part
    sine = cosine = 0.0
    for k in range(8, -1, -1):
        sine = 1.0 - square / ((2.0 * k + 2.0) * (2.0 * k + 3.0)) * sine
        cosine = 1.0 - square / ((2.0 * k + 1.0) * (2.0 * k + 2.0)) * cosine
    sine *= part
    for _ in range(3):
        sine, cosine = 2.0 * sine * cosine, cosine * cosine - sine * sine
    return cosine, sine


@inlined_kernel
def turned(hx, hy, ux, uy, cosine, sine):
    """Return a heading turned towards a direction, by at most the angle that cosine and sine are of;
    to the left if the direction is behind.
    """
    along, aside = hx * ux + hy * uy, hx * uy - hy * ux
    if along >= cosine:
        return ux, uy
    if aside < 0.0:
        sine = -sine
    x, y = hx * cosine - hy * sine, hx * sine + hy * cosine
    length = hypot(x, y)
    return x / length, y / length
