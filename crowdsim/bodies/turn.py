"""In which direction an agent looks: it turns to where it goes, at a limited rate ([Pathfinding undated],
section 7).
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdsim.geometry.directions import turned
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.tunable import param

HALF_TURN_RAD = 3.141592653589793  # An agent that can turn so far in a tick looks in any direction at once.
# Slower steps, a hand's breadth in two seconds, are shuffling: where they go is chance, and no agent turns to
# it.
LEAST_SPEED_M_S = 0.05


@dataclass(frozen=True)
class TurnParameters:
    """How agents turn."""

    rotation_speed: float = param(
        6.283185307179586,
        "rad/s",
        low=0.0,
        source="[Pathfinding undated], section 7 (rotationSpeed, named there without a number)",
        why=(
            "how fast agents turn to where they go: one turn a second; larger looks there sooner, 0 never "
            "turns. It changes no steps, only headings"
        ),
    )


@lean_kernel
def turn_headings(start, stop, velocity, walks, heading, turn_x, turn_y, out):
    """Turn agents to where they go.

    Parameters
    ----------
    start, stop : int
        Range of agents.
    velocity : (n, 2) float64, m/s
        Of the last step.
    walks : (n,) uint8
        1 for agents that go by themselves; the others keep their headings.
    heading : (n, 2) float64
        Unit vectors.
    turn_x, turn_y : float
        Unit vector at the angle, up to half a turn, that an agent can turn in the tick (`direction_at`).
    out : (n, 2) float64
        Receives the new headings; may be `heading`.

    Notes
    -----
    An agent that goes straight back turns to the left. Source: [Pathfinding undated], section 7. Twin:
    `tests/reference/turn.py`.
    """
    for row in range(np.uint64(start), np.uint64(stop)):
        vx, vy = velocity[row, 0], velocity[row, 1]
        speed = np.sqrt(vx * vx + vy * vy)
        if walks[row] == 1 and speed >= LEAST_SPEED_M_S:
            out[row, 0], out[row, 1] = turned(
                heading[row, 0], heading[row, 1], vx / speed, vy / speed, turn_x, turn_y
            )
        else:
            out[row, 0], out[row, 1] = heading[row, 0], heading[row, 1]
