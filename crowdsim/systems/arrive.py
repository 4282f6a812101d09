"""Arrive: an agent at its goal turns to the next, or has arrived."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies.places import PlaceParameters
from crowdsim.navigation.goals.goals import arrived_many
from crowdsim.systems.base.system import Setup, Tick, TickSystem
from crowdsim.systems.goals.places import Places
from crowdsim.systems.paths.lost_paths import LOST, forget_path, lose_paths
from crowdsim.world.columns import AgentState, PathStatus
from crowdsim.world.events import EventKind
from crowdsim.world.world import Itinerary


class Arrive(TickSystem):
    """Notice arrivals; the next goal of the agent's list becomes its goal. Agents that stay get places."""

    reads = (
        "entity", "activity", "goal", "stage", "position", "surface", "path_status", "radius", "layer",
        "itinerary", "is_yielding", "is_driven", "is_immovable", "is_stuck", "blocker", "desired_speed",
        "yield_target", "machine_state",
    )  # fmt: skip
    writes = (
        "activity",
        "goal",
        "stage",
        "desired_speed",
        *LOST,
        "remaining",
        "is_yielding",
        "yield_target",
        "yield_tick",
    )
    counts = ("arrivals",)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._places = Places(setup.world, setup.of_bodies(PlaceParameters), setup.scenario.seed)

    def process(self, tick: Tick) -> None:
        """Test each agent that walks; structure changes (leaving the world) wait for Retire."""
        self._places.move_up(tick)
        world, agents = self.world, self.world.agents
        wants = (agents.activity == AgentState.WALKING) & (agents.goal >= 0)
        piece = np.empty(len(agents), dtype=np.int32)
        polygon = world.polygons()
        tick.team.run(
            arrived_many,
            len(agents),
            world.mesh,
            world.goals,
            agents.goal,
            polygon,
            wants.view(np.uint8),
            agents.position,
            piece,
        )
        there = np.flatnonzero(piece >= 0)
        tick.counts["arrivals"] = 0.0
        if not len(there):
            return
        waited = there[agents.path_status[there] == PathStatus.PENDING]
        if len(waited):  # the answer is not needed any more
            world.planning.forget(agents.entity[waited])
        lose_paths(agents, there)
        forget_path(agents, there)
        reached = world.goals.piece_source[piece[there]]
        final = np.zeros(len(there), dtype=bool)
        led = self._stop_led(there)
        final[led] = agents.activity[there[led]] == AgentState.ARRIVED
        for i, row in enumerate(there.tolist()):
            if led[i]:
                continue
            itinerary = world.entities.component(int(agents.entity[row]), Itinerary)
            stage = int(agents.stage[row]) + 1
            agents.stage[row] = min(stage, len(itinerary.goals))  # a program sends it on beyond its list
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
        stays = (
            final & ~led & (agents.activity[there] == AgentState.STANDING) & (agents.is_driven[there] == 0)
        )
        self._places.take(tick, there[stays], reached[stays])
        world.events.note(
            tick.number, EventKind.GOAL_REACHED, agents.entity[on], agents.position[on], reached[~final]
        )
        world.events.note(
            tick.number, EventKind.ARRIVAL, agents.entity[last], agents.position[last], reached[final]
        )

    def _stop_led(self, there: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Let agents stand that have come to where their machine sent them, or leave the world if it says so;
        return which these are, (k,).
        """
        world, agents = self.world, self.world.agents
        if world.machines is None:
            return np.zeros(len(there), dtype=np.bool_)
        led: NDArray[np.bool_] = agents.machine_state[there] >= 0
        own = there[led]
        leaves = world.machines.leaving[agents.machine_state[own]]
        agents.goal[own] = -1
        agents.activity[own] = np.where(leaves, AgentState.ARRIVED, AgentState.STANDING)
        return led
