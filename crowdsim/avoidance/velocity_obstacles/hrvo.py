"""HRVO, exactly: hybrid reciprocal velocity obstacles without a horizon.

[Snape 2011], with candidates as in ClearPath:
of all velocities that are in no obstacle, the one nearest to the preferred velocity; where there is none, the
farthest neighbours are left out, one after the other. Walls, of which the paper has none, are kept as in
ClearPath.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.model import CrowdView
from crowdsim.avoidance.neighbours import MOST_NEIGHBOURS
from crowdsim.avoidance.parameters import Sides, Sight, wall_horizon
from crowdsim.avoidance.registry import register
from crowdsim.avoidance.velocity_obstacles.kernel import VelocityObstacleParameters
from crowdsim.avoidance.velocity_obstacles.model import VelocityObstacleModel
from crowdsim.avoidance.velocity_obstacles.obstacles import HYBRID, LIBRARY
from crowdsim.tunable import param


@register
class Hrvo(VelocityObstacleModel):
    """Hybrid cones without end: all agents pass each other on an agreed side, long before they meet."""

    name: ClassVar[str] = "hrvo"

    @dataclass(frozen=True)
    class Parameters(Sides, Sight):
        """What can be tuned."""

        neighbour_count: int = param(
            10,
            "",
            low=0,
            high=MOST_NEIGHBOURS,
            source="[HRVO 2009], examples",
            why=(
                "the nearest ten surround a walker; more leaves no velocity in crowds, since every cone is "
                "endless"
            ),
        )
        neighbour_distance: float = param(
            5.0,
            "m",
            above=0.0,
            high=100.0,
            source="ours",
            why=(
                "takes the place of a time horizon: farther neighbours are not heeded; larger leaves no "
                "velocity in crowds, smaller reacts late"
            ),
        )
        # With 0.5 s more are walked back through the whole corridor of the lane scene, with 0.3 s crowds
        # press deeper into each other at doors.
        time_horizon_walls: float = wall_horizon(0.4)
        side_pull: float = param(
            0.8,
            "",
            low=0.0,
            high=1.0,
            source="ours; 0: [Snape 2011]",
            why="where the preferred velocity is forbidden, the best one is the nearest to one that swerves "
            "to the preferred side by this part of the speed;"
            " 0 is the paper's nearest, with which streams that meet head-on clog; with 0.3 some walk back "
            "before a stream for as long as it lasts",
        )
        apex: str = param(
            "paper",
            "",
            choices=("paper", "library"),
            source="[Snape 2011], section IV; [HRVO 2009]",
            why="library repeats a slip of the library, whose cones of those that pass with the other one "
            "on their left are moved the wrong way round:"
            " for comparisons with it, since mirrored scenes then no longer go mirrored",
        )

    def side_reference(self, view: CrowdView) -> NDArray[np.float64]:
        """Return the preferred velocities: by them the library chooses sides."""
        return view.preferred_velocity

    def kernel_parameters(self, tick_length: float) -> VelocityObstacleParameters:
        """Return the parameters of the kernel, for ticks of `tick_length` seconds."""
        own = self.parameters
        return VelocityObstacleParameters(
            neighbour_count=float(own.neighbour_count),
            neighbour_distance=float(own.neighbour_distance),
            per_horizon=0.0,
            per_stationary_horizon=0.0,
            per_wall_horizon=1.0 / own.time_horizon_walls,
            per_tick=1.0 / tick_length,
            bias=float(HYBRID if own.apex == "paper" else LIBRARY),
            bias_strength=1.0,
            spike=1.0,
            side=own.side_sign,
            side_sine=0.0,
            sideways=1.0,
            steadiness=0.0,
            pull=float(own.side_pull),
            drops=1.0,
        )
