"""No avoidance: each agent does what it would do alone."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from crowdsim.avoidance.model import FEASIBLE, NOBODY, NOT_ASKED, Choice, CrowdView, StatelessModel
from crowdsim.avoidance.registry import register
from crowdsim.geometry.speed import limit_speed
from crowdsim.kernels.threads import Team


@register
class NoAvoidance(StatelessModel):
    """Keep the preferred velocity, up to the maximum speed; contacts alone keep agents apart."""

    name: ClassVar[str] = "none"

    def choose(self, view: CrowdView, tick_length: float, team: Team, out: Choice) -> None:
        """Write the preferred velocities; see `AvoidanceModel`."""
        team.run(
            limit_speed,
            len(view.entity),
            view.preferred_velocity,
            view.maximum_speed,
            view.deciding(),
            out.velocity,
        )
        out.diagnosis[:] = np.where(view.deciding(), FEASIBLE, NOT_ASKED)
        out.blocker[:] = NOBODY
        out.neighbour_count[:] = 0

    def wall_reach(self, speed: float) -> float:
        """Return 0: no wall is heeded."""
        return 0.0
