"""ClearPath: the best velocity outside the union of velocity obstacles, exactly.

Guy, Chhugani, Kim, Satish, Lin, Manocha, Dubey, "ClearPath: highly parallel collision avoidance for multi-agent simulation", SCA 2009, with what S1
(Geometric vs. Sampling) adds: one side of each obstacle is enlarged, so that people make up their minds; the cone ends in a spike, which looks farther
ahead where two head for each other; standing agents and walls have horizons of their own; and the velocity that is taken where the wish is
forbidden need not be the nearest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from crowdsim.avoidance.cones import ConeStep, Settings
from crowdsim.avoidance.model import Choice, CrowdView
from crowdsim.avoidance.neighbours import MOST_NEIGHBOURS
from crowdsim.avoidance.obstacles import HYBRID
from crowdsim.avoidance.registry import register
from crowdsim.threads import Team
from crowdsim.tunable import param


@register
class ClearPath:
    """Velocity obstacles kept exactly; smooth, and ready to go through any gap that is really there."""

    name: ClassVar[str] = "clearpath"

    @dataclass(frozen=True)
    class Parameters:
        """What can be tuned."""

        neighbour_count: int = param(
            10, "", low=0, high=MOST_NEIGHBOURS, source="as for ORCA",
            why="the nearest ten surround a walker; more costs time and seldom binds, fewer lets crowds run into those behind the first rank",
        )
        neighbour_distance: float = param(
            5.0, "m", above=0.0, high=100.0, source="as for ORCA",
            why="3.7 s of walking at 1.34 m/s; in crowds the ten nearest are far closer, in the open larger reacts sooner and costs time",
        )
        time_horizon: float = param(
            2.0, "s", above=0.0, high=60.0, source="ours",
            why="how long a velocity is to stay clear of agents that move; larger plans ahead and leaves nothing in crowds, smaller dodges late",
        )
        time_horizon_standing: float = param(
            1.0, "s", above=0.0, high=60.0, source="S1, Geometric vs. Sampling: different horizons for static and moving obstacles",
            why="how long a velocity is to stay clear of agents that stand; larger keeps away from queues, smaller brakes late",
        )
        time_horizon_walls: float = param(
            0.5, "s", above=0.0, high=60.0, source="S1, Geometric vs. Sampling: agents can move close to the walls while avoiding each other",
            why="how long a velocity is to stay clear of walls; larger slows down far before a wall and cannot use narrow doors, smaller brakes late",
        )
        tip: str = param(
            "spike", "", choices=("spike", "butt"), source="S1, Geometric vs. Sampling; butt: Guy et al. (2009), section 3",
            why="how the cone ends: a spike makes those who head for each other turn early and little, a butt end lets them walk on up to the horizon",
        )
        spike_reach: float = param(
            2.0, "", low=1.0, high=100.0, source="ours",
            why="how many horizons ahead the point of the spike looks (tip: spike); larger turns earlier and finds less room in crowds, 1 is a butt end",
        )
        side_bias: float = param(
            1.0, "", low=0.0, high=1.0, source="S1, Geometric vs. Sampling; Snape et al. (2011), section IV",
            why="how much the side on which not to pass is enlarged; 1 is the hybrid obstacle, 0 none, and then pairs change sides in turns",
        )
        side: str = param(
            "right", "", choices=("right", "left"), source="S1, Custom hRVO: agents favour passing each other on the right",
            why="on which side people pass where their velocities do not decide",
        )
        side_sine: float = param(
            0.1, "", low=0.0, high=1.0, source="ours",
            why="sine of the angle to the other one below which velocities do not decide the side (0.1 is 6 degrees); larger sends people round the far side",
        )
        boundary_choice: str = param(
            "weighted", "", choices=("nearest", "progress", "steady", "side", "weighted"), source="S1, Geometric vs. Sampling: nearest is not good enough",
            why="which velocity on the boundary is best: the nearest to the preferred one; or swerving costs less than falling behind (progress), changing"
            " velocity costs (steady), swerving to the preferred side is free (side); or all at once (weighted): measured in docs/avoidance-clearpath.md",
        )
        sideways_cost: float = param(
            0.8, "", above=0.0, high=1.0, source="ours",
            why="what swerving costs for each (m/s)^2 where falling behind costs 1 (progress, weighted); smaller walks round, 1 is the nearest",
        )
        steadiness: float = param(
            0.2, "", low=0.0, high=100.0, source="ours",
            why="what changing velocity costs for each (m/s)^2 where falling behind costs 1 (steady, weighted); larger is smoother and lazier",
        )
        side_pull: float = param(
            0.25, "", low=0.0, high=1.0, source="ours",
            why="the swerve that costs nothing, in parts of the preferred speed, to the preferred side (side, weighted); larger turns away from gaps ahead",
        )

    def __init__(self, parameters: Parameters | None = None) -> None:
        self.parameters = parameters or self.Parameters()
        self._step = ConeStep()

    def prepare(self, capacity: int) -> None:
        """Make room for `capacity` agents."""
        self._step.prepare(capacity)

    def settings(self, tick_length: float) -> Settings:
        """Return what the kernel is told, for ticks of `tick_length` seconds."""
        own = self.parameters
        weighs = own.boundary_choice
        return Settings(
            neighbour_count=float(own.neighbour_count),
            neighbour_distance=float(own.neighbour_distance),
            per_horizon=1.0 / own.time_horizon,
            per_standing_horizon=1.0 / own.time_horizon_standing,
            per_wall_horizon=1.0 / own.time_horizon_walls,
            per_tick=1.0 / tick_length,
            bias=float(HYBRID),
            bias_strength=float(own.side_bias),
            spike=float(own.spike_reach) if own.tip == "spike" else 1.0,
            side=1.0 if own.side == "right" else -1.0,
            side_sine=float(own.side_sine),
            sideways=float(own.sideways_cost) if weighs in ("progress", "weighted") else 1.0,
            steadiness=float(own.steadiness) if weighs in ("steady", "weighted") else 0.0,
            pull=float(own.side_pull) if weighs in ("side", "weighted") else 0.0,
            drops=0.0,
        )

    def choose(self, view: CrowdView, tick_length: float, team: Team, out: Choice) -> None:
        """Choose a velocity for everyone; see `AvoidanceModel`."""
        self._step.choose(view, view.velocity, tick_length, self.settings(tick_length), team, out)

    def state(self) -> Mapping[str, NDArray[Any]]:
        """Return nothing: what guides the search is the column `reach`, which belongs to the caller."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take nothing back."""
