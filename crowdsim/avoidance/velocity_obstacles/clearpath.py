"""ClearPath: the best velocity outside the union of velocity obstacles, exactly.

[Guy 2009], with what [Mononen 2010] (Geometric vs. Sampling) adds: one side of each obstacle is enlarged, so
that agents make up their minds; the cone ends in a spike, which looks farther ahead where two head for each
other; standing agents and walls have horizons of their own; and the velocity that is taken where the
preferred one is forbidden need not be the nearest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crowdsim.avoidance.parameters import Horizons, Sides
from crowdsim.avoidance.registry import register
from crowdsim.avoidance.velocity_obstacles.kernel import VelocityObstacleParameters
from crowdsim.avoidance.velocity_obstacles.model import VelocityObstacleModel
from crowdsim.avoidance.velocity_obstacles.obstacles import HYBRID
from crowdsim.tunable import param


@register
class ClearPath(VelocityObstacleModel):
    """Velocity obstacles kept exactly; smooth, and ready to go through any gap that is really there."""

    name: ClassVar[str] = "clearpath"

    @dataclass(frozen=True)
    class Parameters(Sides, Horizons):
        """What can be tuned."""

        time_horizon_stationary: float = param(
            1.0,
            "s",
            above=0.0,
            high=60.0,
            source=(
                "[Mononen 2010], Geometric vs. Sampling: different horizons for static and moving obstacles"
            ),
            why=(
                "how long a velocity is to stay clear of agents that stand; larger keeps away from queues, "
                "smaller brakes late"
            ),
        )
        tip: str = param(
            "spike",
            "",
            choices=("spike", "butt"),
            source="[Mononen 2010], Geometric vs. Sampling; butt: [Guy 2009], section 3",
            why=(
                "how the cone ends: a spike makes agents that head for each other turn early and little, a "
                "butt end lets them walk on up to the horizon"
            ),
        )
        spike_reach: float = param(
            2.0,
            "",
            low=1.0,
            high=100.0,
            source="ours",
            why=(
                "how many horizons ahead the point of the spike looks (tip: spike); larger turns earlier "
                "and finds less room in crowds, 1 is a butt end"
            ),
        )
        side_bias: float = param(
            1.0,
            "",
            low=0.0,
            high=1.0,
            source="[Mononen 2010], Geometric vs. Sampling; [Snape 2011], section IV",
            why=(
                "how much the side on which not to pass is enlarged; 1 is the hybrid obstacle, 0 none, and "
                "then pairs change sides in turns"
            ),
        )
        side_sine: float = param(
            0.1,
            "",
            low=0.0,
            high=1.0,
            source="ours",
            why=(
                "sine of the angle to the other one below which velocities do not decide the side (0.1 is 6 "
                "degrees); larger sends agents round the far side"
            ),
        )
        boundary_choice: str = param(
            "weighted",
            "",
            choices=("nearest", "progress", "steady", "side", "weighted"),
            source="[Mononen 2010], Geometric vs. Sampling: nearest is not good enough",
            why="which velocity on the boundary is best: the nearest to the preferred one; or swerving "
            "costs less than falling behind (progress), changing"
            " velocity costs (steady), swerving to the preferred side is free (side); or all at once "
            "(weighted): measured in docs/learn/choosing-velocities.md",
        )
        sideways_cost: float = param(
            0.8,
            "",
            above=0.0,
            high=1.0,
            source="ours",
            why=(
                "what swerving costs for each (m/s)^2 where falling behind costs 1 (progress, weighted); "
                "smaller walks round, 1 is the nearest"
            ),
        )
        steadiness: float = param(
            0.2,
            "",
            low=0.0,
            high=100.0,
            source="ours",
            why=(
                "what changing velocity costs for each (m/s)^2 where falling behind costs 1 (steady, "
                "weighted); larger is smoother and lazier"
            ),
        )
        side_pull: float = param(
            0.25,
            "",
            low=0.0,
            high=1.0,
            source="ours",
            why=(
                "the swerve that costs nothing, in parts of the preferred speed, to the preferred side "
                "(side, weighted); larger turns away from gaps ahead"
            ),
        )

    def kernel_parameters(self, tick_length: float) -> VelocityObstacleParameters:
        """Return the parameters of the kernel, for ticks of `tick_length` seconds."""
        own = self.parameters
        weighs = own.boundary_choice
        return VelocityObstacleParameters(
            neighbour_count=float(own.neighbour_count),
            neighbour_distance=float(own.neighbour_distance),
            per_horizon=1.0 / own.time_horizon,
            per_stationary_horizon=1.0 / own.time_horizon_stationary,
            per_wall_horizon=1.0 / own.time_horizon_walls,
            per_tick=1.0 / tick_length,
            bias=float(HYBRID),
            bias_strength=float(own.side_bias),
            spike=float(own.spike_reach) if own.tip == "spike" else 1.0,
            side=own.side_sign,
            side_sine=float(own.side_sine),
            sideways=float(own.sideways_cost) if weighs in ("progress", "weighted") else 1.0,
            steadiness=float(own.steadiness) if weighs in ("steady", "weighted") else 0.0,
            pull=float(own.side_pull) if weighs in ("side", "weighted") else 0.0,
            drops=0.0,
        )
