"""Separate: agents that would overlap are pushed apart, none into a wall; and Measure:
how deep they overlap in the end.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies.contacts import DRIVEN
from crowdsim.bodies.separate import SeparationParameters, Separator
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.systems.base.system import Setup, Tick, TickSystem
from crowdsim.world.columns import AgentColumns
from crowdsim.world.states import OBSTACLE


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
        movable, others = _movable(agents, tick)
        if others:
            walls_are_none = agents.activity >= OBSTACLE  # and those that ride
            free[walls_are_none] = tentative[walls_are_none]
        part, heights = self.world.ground_of(free)
        parted = self._separator.separate(
            agents.position, free, agents.radius, movable, part, polygon, clear, walls, tick.length,
            tick.team, pushed, heights, open_edges,
        )  # fmt: skip
        # An agent that no other pushed goes where it wanted: what walls take of its step is for Walk to say.
        tick.team.run(take_pushes, count, free, pushed, tentative)
        tick.counts["overlaps_before"], tick.separator = parted.before.count, self._separator


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
        self._separator = Separator()  # where nothing has parted bodies

    def process(self, tick: Tick) -> None:
        """Count the pairs that overlap, and find the deepest."""
        agents = self.world.agents
        part, heights = self.world.ground_of(agents.position)
        movable, _ = _movable(agents, tick)
        separator = tick.separator or self._separator
        found = separator.measure(agents.position, agents.radius, movable, part, tick.team, heights)
        tick.counts["overlaps"] = found.count
        tick.counts["deepest_overlap_m"] = found.deepest if found.count else 0.0


def _movable(agents: AgentColumns, tick: Tick) -> tuple[NDArray[np.uint8], int]:
    """Return (n,) uint8: how pushes treat each, as `Separator.separate` takes it; and how many are discs of
    obstacles, or ride.
    """
    movable = np.empty(len(agents), dtype=np.uint8)
    found = tick.team.run(find_movable, len(agents), agents.activity, agents.is_immovable, movable)
    return movable, sum(found)


@lean_kernel
def find_movable(start, stop, activity, is_immovable, out):
    """Write FIXED, MOVABLE or DRIVEN for each of a range, (n,) uint8; return how many are discs of obstacles,
    or ride.

    Both others are columns of agents. Twin: `tests/reference/rows.py`.
    """
    others = 0
    for row in range(np.uint64(start), np.uint64(stop)):
        out[row] = DRIVEN if activity[row] == OBSTACLE else np.uint8(1) - is_immovable[row]
        others += activity[row] >= OBSTACLE
    return others


@lean_kernel
def take_pushes(start, stop, before, after, out):
    """Write where pushes have put agents, (n, 2) float64, m, for those of a range that they have moved.
    Twin: `tests/reference/rows.py`.
    """
    for row in range(np.uint64(start), np.uint64(stop)):
        if after[row, 0] != before[row, 0] or after[row, 1] != before[row, 1]:
            out[row, 0], out[row, 1] = after[row, 0], after[row, 1]
