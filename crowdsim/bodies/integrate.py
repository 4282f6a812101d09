"""From velocities to tentative positions."""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdsim.geometry.speed import limited
from crowdsim.kernels.decorator import kernel
from crowdsim.tunable import param


@dataclass(frozen=True)
class BodyParameters:
    """How agents may move."""

    top_speed: float = param(
        1.2,
        "",
        low=1.0,
        high=5.0,
        source="ours",
        why="maximum speed as a multiple of the highest desired speed: what an agent may add to get out of "
        "another's way; 1 lets it only slow down and "
        "turn, larger lets crowds rush",
    )


@kernel
def integrate(start, stop, position, velocity, maximum_speed, tick_length, out_velocity, out_position):
    """Write where agents would be after a tick, none faster than its maximum speed.

    Parameters
    ----------
    start, stop : int
        Range of rows.
    position, velocity : (n, 2) float64, m and m/s
    maximum_speed : (n,) float64, m/s, >= 0
    tick_length : float, s
    out_velocity : (n, 2) float64, m/s
        The velocity as walked: `velocity` itself, bit for bit, where it keeps the limit. May be `velocity`.
    out_position : (n, 2) float64, m
        Must not alias `position`.

    Notes
    -----
    Explicit Euler: the velocity was chosen for this tick as a whole. Twin: `tests/reference/speed.py`.
    """
    for row in range(np.uint64(start), np.uint64(stop)):
        x, y = limited(velocity[row, 0], velocity[row, 1], maximum_speed[row])
        out_velocity[row, 0], out_velocity[row, 1] = x, y
        out_position[row, 0] = position[row, 0] + x * tick_length
        out_position[row, 1] = position[row, 1] + y * tick_length
