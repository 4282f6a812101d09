"""Separate: bodies that would overlap are pushed apart, nobody into a wall."""

from __future__ import annotations

import numpy as np

from crowdsim.bodies.separate import SeparationParameters, Separator
from crowdsim.systems.base import System, Tick
from crowdsim.world.world import World


class Separate(System):
    """Push overlapping bodies apart on their tentative positions (SYSTEMS C1, C2).

    A standing agent that is pushed stays where it was pushed: it has no place of its own that it would walk back to.

    Parameters
    ----------
    world : World
    parameters : SeparationParameters
    """

    reads = ("position", "tentative_position", "radius", "layer", "surface", "wall_distance")
    writes = ("tentative_position",)
    counts = ("overlaps_before", "overlaps", "deepest_overlap_m")

    def __init__(self, world: World, parameters: SeparationParameters) -> None:
        super().__init__(world)
        self._separator = Separator(parameters)

    def process(self, tick: Tick) -> None:
        """A few Jacobi passes over all contacts."""
        agents = self.world.agents
        count = len(agents)
        tentative = agents.tentative_position.copy()
        step = tentative - agents.position
        # No wall is nearer to a tentative position than the known distance less the step.
        clear = np.maximum(agents.wall_distance - np.hypot(step[:, 0], step[:, 1]), 0.0).astype(np.float32) * np.float32(0.999999)
        part, heights = self.world.ground_of(tentative)
        parted = self._separator.separate(
            tentative, agents.radius, np.ones(count, dtype=np.uint8), part, self.world.polygons(), clear, self.world.walls, tick.team,
            agents.tentative_position, heights,
        )  # fmt: skip
        tick.counts["overlaps_before"] = parted.before.count
        tick.counts["overlaps"] = parted.after.count
        tick.counts["deepest_overlap_m"] = parted.after.deepest if parted.after.count else 0.0
