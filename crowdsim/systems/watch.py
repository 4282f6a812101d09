"""Watch: who wants to walk and does not get anywhere is stuck."""

from __future__ import annotations

import numpy as np

from crowdsim.systems.base import System, Tick
from crowdsim.world.columns import AgentState
from crowdsim.world.events import EventKind
from crowdsim.world.world import World

STUCK_DISPLACEMENT_M = 0.2  # Net displacement below which an agent that wants to walk counts as stuck after STUCK_SECONDS: half a body.
STUCK_SECONDS = 10


class Watch(System):
    """Once a second, compare each agent's place with that of ten seconds ago.

    Parameters
    ----------
    world : World
    tick_length : float, s
    """

    reads = ("entity", "activity", "position", "trail", "is_stuck", "stuck_tick", "blocker", "start_tick")
    writes = ("trail", "is_stuck", "stuck_tick")
    counts = ("stuck",)

    def __init__(self, world: World, tick_length: float) -> None:
        super().__init__(world)
        self.ticks_per_second = max(1, round(1.0 / tick_length))

    def process(self, tick: Tick) -> None:
        """Note places; tell who got stuck and who got free."""
        agents = self.world.agents
        if tick.number % self.ticks_per_second == 0 and len(agents):
            self._compare(tick)
        tick.counts["stuck"] = self.count_of(agents.is_stuck == 1)

    def _compare(self, tick: Tick) -> None:
        agents = self.world.agents
        slot = (tick.number // self.ticks_per_second) % STUCK_SECONDS
        then = agents.trail[:, 2 * slot : 2 * slot + 2]
        # nan, where nothing was noted ten seconds ago, compares as false.
        near = np.hypot(agents.position[:, 0] - then[:, 0], agents.position[:, 1] - then[:, 1]) < STUCK_DISPLACEMENT_M
        walking = agents.activity == AgentState.WALKING
        stuck = walking & near
        begins, ends = stuck & (agents.is_stuck == 0), ~stuck & (agents.is_stuck == 1)
        log = self.world.events
        log.note(tick.number, EventKind.STUCK, agents.entity[begins], agents.position[begins], agents.blocker[begins])
        log.note(tick.number, EventKind.UNSTUCK, agents.entity[ends], agents.position[ends], tick.number - agents.stuck_tick[ends])
        agents.stuck_tick[begins] = tick.number
        agents.is_stuck[:] = stuck
        then[:] = np.where(walking[:, None], agents.position, np.nan)
