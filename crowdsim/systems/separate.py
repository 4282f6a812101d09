"""Separate: agents that would overlap are pushed apart, none into a wall; and Measure:
how deep they overlap in the end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies.contacts import DRIVEN
from crowdsim.bodies.separate import SeparationParameters, Separator
from crowdsim.systems.base.system import Setup, Tick, TickSystem
from crowdsim.world.columns import AgentColumns, AgentState


class Separate(TickSystem):
    """Push overlapping bodies apart on their tentative positions.

    A standing agent that is pushed stays where it was pushed: it has no place of its own that it would walk
    back to.
    """

    reads = (
        "position",
        "tentative_position",
        "radius",
        "layer",
        "surface",
        "wall_distance",
        "is_immovable",
        "activity",
    )
    writes = ("tentative_position",)
    counts = ("overlaps_before",)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._separator = Separator(setup.of_bodies(SeparationParameters))

    def process(self, tick: Tick) -> None:
        """A few Jacobi passes over all contacts, taken where walls leave the bodies;
        where something is deep more, or knots take their step back.
        """
        agents = self.world.agents
        count = len(agents)
        tentative, polygon, walls = agents.tentative_position, self.world.polygons(), self.world.walls
        open_edges = self.world.open_edges()
        free, clear, pushed = (
            np.empty_like(tentative),
            np.empty(count, dtype=np.float32),
            np.empty_like(tentative),
        )
        self._separator.move_off_walls(
            agents.position,
            tentative,
            agents.radius,
            polygon,
            agents.wall_distance,
            walls,
            tick.team,
            free,
            clear,
            open_edges,
        )
        is_obstacle = agents.activity >= AgentState.OBSTACLE  # and those that ride
        free[is_obstacle] = tentative[is_obstacle]  # walls are none to it
        part, heights = self.world.ground_of(free)
        parted = self._separator.separate(
            agents.position, free, agents.radius, _movable(agents), part, polygon, clear, walls, tick.length,
            tick.team, pushed, heights, open_edges,
        )  # fmt: skip
        # An agent that no other pushed goes where it wanted: what walls take of its step is for Walk to say.
        is_pushed = (pushed[:, 0] != free[:, 0]) | (pushed[:, 1] != free[:, 1])
        tentative[is_pushed] = pushed[is_pushed]
        tick.counts["overlaps_before"] = parted.before.count


class Measure(TickSystem):
    """Say how bodies overlap where walking has put them:
    where walls hold an agent up, that is not where pushes would have had it.

    Parameters
    ----------
    world : World
    """

    reads = ("position", "radius", "layer", "surface", "is_immovable", "activity")
    counts = ("overlaps", "deepest_overlap_m")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._separator = Separator()

    def process(self, tick: Tick) -> None:
        """Count the pairs that overlap, and find the deepest."""
        agents = self.world.agents
        part, heights = self.world.ground_of(agents.position)
        found = self._separator.measure(
            agents.position, agents.radius, _movable(agents), part, tick.team, heights
        )
        tick.counts["overlaps"] = found.count
        tick.counts["deepest_overlap_m"] = found.deepest if found.count else 0.0


def _movable(agents: AgentColumns) -> NDArray[np.uint8]:
    """Return (n,) uint8: how pushes treat each, as `Separator.separate` takes it."""
    return np.where(agents.activity == AgentState.OBSTACLE, DRIVEN, 1 - agents.is_immovable)
