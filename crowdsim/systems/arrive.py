"""Arrive: who is at its goal turns to the next, or has arrived."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.goals.goals import arrived_many
from crowdsim.systems.base.system import System, Tick
from crowdsim.systems.goals.places import Places
from crowdsim.systems.paths.lost_paths import LOST, lose_paths
from crowdsim.systems.paths.progress import forget_path
from crowdsim.world.columns import AgentState, PathStatus
from crowdsim.world.events import EventKind
from crowdsim.world.world import World


class Arrive(System):
    """Notice arrivals; the next goal of the agent's list becomes its goal.

    Parameters
    ----------
    world : World
    forget : callable
        Called with the entities of those who arrived before the answer to their request for a way did: nobody waits for it any more.
    places : Places
        For those who stay.
    """

    reads = (
        "entity", "activity", "goal", "stage", "position", "surface", "path_status", "radius", "layer", "itinerary", "is_yielding", "is_driven",
        "is_immovable", "is_stuck", "blocker",
    )  # fmt: skip
    writes = ("activity", "goal", "stage", "desired_speed", *LOST, "remaining", "is_yielding", "yield_target", "yield_tick")
    counts = ("arrivals",)

    def __init__(self, world: World, forget: Callable[[NDArray[np.int64]], None], places: Places) -> None:
        super().__init__(world)
        self._forget, self._places = forget, places

    def process(self, tick: Tick) -> None:
        """Test everyone who walks; structure changes (leaving the world) wait for Retire."""
        self._places.move_up(tick)
        world, agents = self.world, self.world.agents
        wants = (agents.activity == AgentState.WALKING) & (agents.goal >= 0)
        piece = np.empty(len(agents), dtype=np.int32)
        polygon = world.polygons()
        tick.team.run(arrived_many, len(agents), world.mesh, world.goals, agents.goal, polygon, wants.view(np.uint8), agents.position, piece)
        there = np.flatnonzero(piece >= 0)
        tick.counts["arrivals"] = 0.0
        if not len(there):
            return
        waited = there[agents.path_status[there] == PathStatus.PENDING]
        if len(waited):
            self._forget(agents.entity[waited])
        lose_paths(agents, there)
        forget_path(agents, there)
        reached = world.goals.piece_source[piece[there]]
        final = np.zeros(len(there), dtype=bool)
        for i, row in enumerate(there.tolist()):
            itinerary = world.itinerary_of(int(agents.entity[row]))
            stage = int(agents.stage[row]) + 1
            agents.stage[row] = stage
            if stage < len(itinerary.goals):
                agents.goal[row] = itinerary.goals[stage]
                if not np.isnan(itinerary.speeds[stage]):
                    agents.desired_speed[row] = itinerary.speeds[stage]
                continue
            final[i] = True
            agents.goal[row] = -1
            agents.activity[row] = AgentState.ARRIVED if itinerary.leaves else AgentState.STANDING
        tick.counts["arrivals"] = self.count_of(final)
        on, last = there[~final], there[final]
        stays = final & (agents.activity[there] == AgentState.STANDING) & (agents.is_driven[there] == 0)
        self._places.take(tick, there[stays], reached[stays])
        world.events.note(tick.number, EventKind.GOAL_REACHED, agents.entity[on], agents.position[on], reached[~final])
        world.events.note(tick.number, EventKind.ARRIVAL, agents.entity[last], agents.position[last], reached[final])
