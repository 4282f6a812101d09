"""Depart: premovement times run out."""

from __future__ import annotations

import numpy as np

from crowdsim.systems.base.system import Tick, TickSystem
from crowdsim.world.columns import AgentState, Wait
from crowdsim.world.states import WAITING


class Depart(TickSystem):
    """Let agents walk whose premovement time has passed."""

    reads = ("activity", "start_tick", "waits")
    writes = ("activity",)
    counts = ("waiting",)

    def process(self, tick: Tick) -> None:
        """Turn WAITING into WALKING from the start tick on, but for those that wait for something else."""
        agents = self.world.agents
        waiting = agents.activity == WAITING
        if not np.count_nonzero(waiting):  # as in most ticks of most runs
            tick.counts["waiting"] = 0.0
            return
        waiting &= agents.waits == Wait.NOTHING
        # tick n ends at n ticks: an agent that starts at n moves from then on
        starting = waiting & (agents.start_tick < tick.number)
        agents.activity[starting] = AgentState.WALKING
        tick.counts["waiting"] = self.count_of(waiting) - self.count_of(starting)
