"""SlowDown: in a crowd agents prefer to walk slower, where the scenario has a law of speed and density."""

from __future__ import annotations

import numpy as np

from crowdsim.geometry.cells import CellIndex
from crowdsim.setup.build import speed_law
from crowdsim.systems.base.system import Setup, Tick, TickSystem
from crowdsim.systems.index import CELL_M
from crowdsim.world.columns import AgentState


class SlowDown(TickSystem):
    """Lower preferred speeds by the density ahead; without a law, do nothing."""

    reads = ("position", "preferred_velocity", "activity", "is_driven", "surface", "layer")
    writes = ("preferred_velocity",)
    counts = ("slowed",)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.law = speed_law(setup.scenario)
        self._crowd = CellIndex(CELL_M)

    @property
    def is_idle(self) -> bool:
        """Whether the scenario goes without it."""
        return self.law is None

    def process(self, tick: Tick) -> None:
        """Slow down agents that walk by themselves; count those that lose more than half of their speed."""
        tick.counts["slowed"] = 0.0
        if self.law is None or not len(self.world.agents):
            return
        world, agents = self.world, self.world.agents
        assert tick.cells is not None, "Index runs before SlowDown"
        walking = (agents.activity == AgentState.WALKING) & (agents.is_driven == 0)
        wanted, density = agents.preferred_velocity.copy(), np.empty(len(agents))
        count, cells = world.agent_count, tick.cells
        if count < len(agents):  # a cart is no crowd
            part, heights = world.ground_of(agents.position)
            cells = self._crowd.build(agents.position[:count], part[:count], heights=heights)
        self.law.apply(
            cells,
            world.walls,
            world.polygons()[:count],
            wanted[:count],
            walking[:count].view(np.uint8),
            tick.team,
            agents.preferred_velocity[:count],
            density[:count],
        )
        squares = np.sum(agents.preferred_velocity * agents.preferred_velocity, axis=1)
        tick.counts["slowed"] = self.count_of(4.0 * squares < np.sum(wanted * wanted, axis=1))
