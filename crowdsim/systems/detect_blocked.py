"""DetectBlocked: agents that a stationary agent blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies.nudge import BlockedParameters, NudgeParameters, count_blocked
from crowdsim.bodies.replan import ReplanParameters
from crowdsim.front_doors import renamed_in
from crowdsim.old_names import SYSTEMS
from crowdsim.systems.base.setup import Setup
from crowdsim.systems.base.standing import standing
from crowdsim.systems.base.system import System, Tick
from crowdsim.world.columns import AgentColumns, AgentState
from crowdsim.world.world import World

if not TYPE_CHECKING:
    __getattr__ = renamed_in(__name__, SYSTEMS)


def on_their_way(agents: AgentColumns) -> NDArray[np.bool_]:
    """Return (n,) bool: agents that walk, or step aside."""
    return (agents.activity == AgentState.WALKING) | (agents.is_yielding != 0)


def ticks_of(seconds: float, tick_length: float) -> int:
    """Return a time in ticks, rounded up; what is a millionth of a tick more is rounding."""
    return max(0, int(np.ceil(seconds / tick_length - 1e-6)))


class DetectBlocked(System):
    """Count for how long stationary agents have blocked walkers, for Replan and Nudge alone.

    Parameters
    ----------
    world : World
    parameters : BlockedParameters
    is_wanted : bool
        Whether one of these two is at work.
    """

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

    def __init__(self, world: World, parameters: BlockedParameters, is_wanted: bool) -> None:
        super().__init__(world)
        self.parameters, self.is_wanted = parameters, is_wanted

    @classmethod
    def from_setup(cls, setup: Setup) -> DetectBlocked:
        """Make the system; it is wanted where agents step aside or ask for new paths."""
        wanted = setup.of_bodies(NudgeParameters).nudging or setup.of_bodies(ReplanParameters).replanning
        return cls(setup.world, setup.of_bodies(BlockedParameters), wanted)

    @property
    def is_idle(self) -> bool:
        """Whether the scenario goes without it."""
        return not self.is_wanted

    def process(self, tick: Tick) -> None:
        """Look at what the last tick resulted in."""
        agents = self.world.agents
        tick.counts["blocked"] = 0.0
        if not self.is_wanted:
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
