"""Retire: agents that have arrived leave the world, after their last positions were recorded."""

from __future__ import annotations

from crowdsim.systems.base.system import Tick, TickSystem
from crowdsim.world.states import ARRIVED


class Retire(TickSystem):
    """Remove arrived agents in one batch: the one place in a tick where rows go."""

    reads = ("activity", "entity", "position", "corridor_start", "corridor_capacity")
    writes = ()
    counts = ("retired",)

    def process(self, tick: Tick) -> None:
        """Take them out of the columns, the corridor store and esper."""
        leaving = (self.world.agents.activity == ARRIVED).nonzero()[0]
        tick.counts["retired"] = float(len(leaving))
        if len(leaving):
            self.world.retire(leaving, tick.team)
