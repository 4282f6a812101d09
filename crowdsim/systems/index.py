"""Index: agents are sorted into cells, once a tick, for all systems that look for neighbours."""

from __future__ import annotations

from crowdsim.geometry.cells import CellIndex
from crowdsim.systems.base.system import Setup, Tick, TickSystem

# About half the radius that holds ten neighbours at 1 a square metre; results do not depend on it.
CELL_M = 1.5


class Index(TickSystem):
    """Build the neighbour index of the positions at the begin of the tick."""

    reads = ("position", "layer", "surface", "activity")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.index = CellIndex(CELL_M)

    def process(self, tick: Tick) -> None:
        """Sort by cell."""
        position = self.world.agents.position
        part, heights = self.world.ground_of(position)
        tick.cells = self.index.build(position, part, heights=heights, team=tick.team)
