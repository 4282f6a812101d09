"""Follow: the velocity that each agent would like, along its path, or on a guess while it has none."""

from __future__ import annotations

import numpy as np

from crowdsim.systems.base.system import Setup, Tick, TickSystem
from crowdsim.systems.paths.lost_paths import NOTED


class Follow(TickSystem):
    """Set preferred velocities along the paths that `Plan` keeps, too."""

    reads = (
        "entity",
        "group",
        "activity",
        "path_status",
        "goal",
        "goal_piece",
        "position",
        "velocity",
        "surface",
        "layer",
        "radius",
        "desired_speed",
        "is_driven",
        "guessed",
        "corridor_start",
        "corridor_capacity",
        "corridor_length",
        "preferred_velocity",
        "next_corner",
        "corner_vertex",
        "corner_line",
        "corner_offset",
        "waypath_pace",
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

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.paths = setup.paths

    def process(self, tick: Tick) -> None:
        """Lead the agents of each planner."""
        tick.counts["guessing"] = float(sum(each.follow(tick) for each in self.paths))
        riding = self.world.riding
        if riding is not None and riding.has_waypaths:
            agents = self.world.agents
            rows = np.flatnonzero(agents.waypath_pace != 1.0)
            agents.preferred_velocity[rows] *= agents.waypath_pace[rows, None]
