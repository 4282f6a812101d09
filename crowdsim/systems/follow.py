"""Follow: the velocity that each agent would like, along its path, or on a guess while it has none."""

from __future__ import annotations

from collections.abc import Sequence

from crowdsim.systems.base.setup import Setup
from crowdsim.systems.base.system import System, Tick
from crowdsim.systems.paths.paths import Paths
from crowdsim.systems.paths.progress import NOTED
from crowdsim.world.world import World


class Follow(System):
    """Set preferred velocities.

    Parameters
    ----------
    world : World
    paths : sequence of Paths
        Those of `crowdsim.systems.plan.Plan`.
    """

    reads = (
        "entity",
        "group",
        "activity",
        "path_status",
        "goal",
        "goal_piece",
        "position",
        "surface",
        "radius",
        "desired_speed",
        "is_driven",
        "guessed",
        "corridor_start",
        "corridor_capacity",
        "corridor_length",
        "preferred_velocity",
        "corner_vertex",
        "corner_line",
        "corner_offset",
        *NOTED,
    )
    writes = (
        "activity",
        "preferred_velocity",
        "next_corner",
        "guessed",
        "corridor_start",
        "corridor_capacity",
        "corridor_length",
        "corner_vertex",
        "corner_line",
        "corner_offset",
        *NOTED,
    )
    counts = ("guessing",)

    def __init__(self, world: World, paths: Sequence[Paths]) -> None:
        super().__init__(world)
        self.paths = tuple(paths)

    @classmethod
    def from_setup(cls, setup: Setup) -> Follow:
        """Make the system for the paths of all groups."""
        return cls(setup.world, setup.paths)

    def process(self, tick: Tick) -> None:
        """Lead the agents of each planner."""
        tick.counts["guessing"] = float(sum(each.follow(tick) for each in self.paths))
