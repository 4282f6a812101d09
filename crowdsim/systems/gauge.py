"""Gauge: how far each agent has got along its path."""

from __future__ import annotations

import numpy as np

from crowdsim.navigation.corridor.progress import Measured, Progress, note_progress
from crowdsim.systems.base.system import Setup, Tick, TickSystem
from crowdsim.systems.paths.lost_paths import NOTED
from crowdsim.world.columns import AgentState, PathStatus

# Between two looks. Longer misses what an arc adds, shorter costs more than 1 % of the tick.
GAUGE_SECONDS = 0.2
_LEVEL = np.zeros((0, 2))


class Gauge(TickSystem):
    """Note by how much the least remaining length of each agent has fallen;
    DetectStuck finds out from it which are stuck.

    It stands after Follow, since then the direction of each agent belongs to its position. What a new path
    does to it stands in `crowdsim.systems.paths.lost_paths`.
    """

    reads = (
        "activity",
        "goal",
        "group",
        "path_status",
        "is_driven",
        "position",
        "surface",
        "next_corner",
        "preferred_velocity",
        *NOTED,
    )
    writes = NOTED

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        scenario = setup.scenario
        self.every, self._tick = max(1, int(GAUGE_SECONDS / scenario.tick + 1e-9)), 0
        # groups with agents that walk on guesses while they wait for their paths; others go on along the
        # paths that they had, or stand
        kinds = [scenario.navigation_of(group) for group in scenario.groups]
        self.guesses = np.array([each.values["while_waiting"] == "guess" for each in kinds], dtype=np.bool_)

    @property
    def is_idle(self) -> bool:
        """Whether the last tick had no look."""
        return self._tick % self.every != 0

    def process(self, tick: Tick) -> None:
        """Look at all agents if it is time."""
        self._tick = tick.number
        world, agents = self.world, self.world.agents
        if self.is_idle:
            return
        walks = (agents.activity == AgentState.WALKING) & (agents.goal >= 0)
        towards = np.where(walks, np.uint8(Measured.CORNER), np.uint8(Measured.NOT))
        waits = np.flatnonzero(walks & (agents.path_status <= PathStatus.PENDING))
        towards[waits[self.guesses[agents.group[waits]]]] = Measured.GOAL
        towards[walks & (agents.is_driven != 0)] = Measured.HEADING
        slope = _LEVEL if world.is_even else world.mesh.polygon_slope[world.polygons()]
        tick.team.run(
            note_progress,
            len(agents),
            towards,
            agents.next_corner,
            agents.preferred_velocity,
            agents.goal,
            world.goals.goal_start,
            world.goals.pole,
            slope,
            agents.position,
            Progress(
                agents.progress_place,
                agents.progress_direction,
                agents.remaining,
                agents.behind,
                agents.progress,
            ),
        )
