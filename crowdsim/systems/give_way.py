"""GiveWay: where agents are in each other's way, those that have waited longer go first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies.nudge import BlockedParameters
from crowdsim.bodies.priority import PriorityParameters, count_waiting, find_right_of_way, make_room
from crowdsim.saved import MOST, Arrays, Saved
from crowdsim.systems.base.system import Setup, Tick, TickSystem, ticks_of
from crowdsim.world.columns import AgentState
from crowdsim.world.events import EventKind


class GiveWay(TickSystem):
    """Let agents that have waited less make room for those that come towards them and have waited longer,
    where the scenario says so.
    """

    reads = (
        "entity",
        "activity",
        "is_driven",
        "position",
        "radius",
        "velocity",
        "preferred_velocity",
        "desired_speed",
        "surface",
        "layer",
        "waited_ticks",
    )
    writes = ("preferred_velocity", "waited_ticks")
    counts = ("giving_way",)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.parameters = setup.of_bodies(PriorityParameters)
        # of its preferred speed, in that direction, below which an agent waits
        self.held_share = setup.of_bodies(BlockedParameters).held_share
        # agents that made room in the last tick: an event is noted when that begins
        self._last: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    @property
    def is_idle(self) -> bool:
        """Whether the scenario goes without it."""
        return self.parameters.priority != "waiting"

    def process(self, tick: Tick) -> None:
        """Count how long agents have waited, and let the others make room."""
        tick.counts["giving_way"] = 0.0
        if self.parameters.priority != "waiting":
            return
        agents, own = self.world.agents, self.parameters
        walks = (agents.activity == AgentState.WALKING) & (agents.is_driven == 0)
        agents.waited_ticks[:] = count_waiting(
            agents.preferred_velocity, agents.velocity, walks, self.held_share, agents.waited_ticks
        )
        part, _ = self.world.ground_of(agents.position)
        to = find_right_of_way(
            agents.position,
            agents.radius,
            agents.preferred_velocity,
            part,
            agents.waited_ticks,
            agents.entity,
            walks,
            ticks_of(own.priority_after, tick.length),
            ticks_of(own.priority_margin, tick.length),
            own.priority_reach,
        )
        rows = np.flatnonzero(to >= 0)
        agents.preferred_velocity[rows] = make_room(
            agents.position, agents.preferred_velocity.copy(), agents.desired_speed, rows, to[rows]
        )
        begins = rows[~np.isin(agents.entity[rows], self._last)]
        self.world.events.note(
            tick.number,
            EventKind.GAVE_WAY,
            agents.entity[begins],
            agents.position[begins],
            agents.entity[to[begins]],
        )
        self._last = agents.entity[rows].copy()
        tick.counts["giving_way"] = float(len(rows))

    def state(self) -> dict[str, NDArray[Any]]:
        """Return which agents made room in the last tick."""
        return {"last": self._last.copy()}

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave."""
        self._last = Saved.of(state).take("last", "i8", low=1, high=MOST)
