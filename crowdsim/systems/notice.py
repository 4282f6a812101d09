"""Notice: agents that a stationary agent blocks."""

from __future__ import annotations

import numpy as np

from crowdsim.bodies.nudge import BlockedParameters, NudgeParameters, count_blocked
from crowdsim.bodies.replan import ReplanParameters
from crowdsim.systems.base.system import Setup, Tick, TickSystem, on_their_way, standing


class Notice(TickSystem):
    """Count for how long stationary agents have blocked walkers, for Replan and Nudge alone."""

    reads = (
        "entity",
        "activity",
        "is_driven",
        "is_yielding",
        "velocity",
        "preferred_velocity",
        "blocker",
        "held_ticks",
    )
    writes = ("held_ticks",)
    counts = ("held_up",)

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
        tick.counts["held_up"] = 0.0
        if self.is_idle:
            return
        stands = standing(agents)
        if not np.any(stands):
            agents.held_ticks[:] = 0
            return
        agents.held_ticks[:] = count_blocked(
            agents.entity,
            on_their_way(agents),
            stands,
            agents.velocity,
            agents.preferred_velocity,
            agents.blocker,
            self.parameters.held_share,
            agents.held_ticks,
        )
        tick.counts["held_up"] = self.count_of(agents.held_ticks > 0)
