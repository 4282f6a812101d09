"""DetectBlocked: agents that a stationary agent blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdsim.bodies.nudge import BlockedParameters, NudgeParameters, count_blocked
from crowdsim.bodies.replan import ReplanParameters
from crowdsim.front_doors import renamed_in
from crowdsim.old_names import SYSTEMS
from crowdsim.systems.base.system import Setup, Tick, TickSystem
from crowdsim.world.states import on_their_way, standing

if not TYPE_CHECKING:
    __getattr__ = renamed_in(__name__, SYSTEMS)


class DetectBlocked(TickSystem):
    """Count for how long stationary agents have blocked walkers, for Replan and Nudge alone."""

    reads = (
        "entity",
        "activity",
        "is_driven",
        "is_yielding",
        "velocity",
        "preferred_velocity",
        "blocker",
        "blocked_ticks",
    )
    writes = ("blocked_ticks",)
    counts = ("blocked",)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.parameters = setup.of_bodies(BlockedParameters)
        steps_aside, replans = setup.of_bodies(NudgeParameters), setup.of_bodies(ReplanParameters)
        self._is_wanted = steps_aside.nudging or replans.replanning

    @property
    def is_idle(self) -> bool:
        """Whether the scenario goes without it."""
        return not self._is_wanted

    def process(self, tick: Tick) -> None:
        """Look at what the last tick resulted in."""
        agents = self.world.agents
        tick.counts["blocked"] = 0.0
        if self.is_idle:
            return
        stands = standing(agents)
        if not np.any(stands):
            agents.blocked_ticks[:] = 0
            return
        agents.blocked_ticks[:] = count_blocked(
            agents.entity,
            on_their_way(agents),
            stands,
            agents.velocity,
            agents.preferred_velocity,
            agents.blocker,
            self.parameters.blocked_share,
            agents.blocked_ticks,
        )
        tick.counts["blocked"] = self.count_of(agents.blocked_ticks > 0)
