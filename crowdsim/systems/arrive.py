"""Arrive: an agent at its goal turns to the next, or has arrived."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies.places import PlaceParameters
from crowdsim.navigation.goals.goals import arrived_many
from crowdsim.saved import Arrays, Saved
from crowdsim.systems.base.system import Setup, Tick, TickSystem
from crowdsim.systems.goals.places import Places
from crowdsim.systems.goals.turnstiles import Turnstiles
from crowdsim.systems.paths.lost_paths import LOST, forget_path, lose_paths
from crowdsim.world.columns import AgentState, PathStatus, Wait
from crowdsim.world.events import EventKind
from crowdsim.world.riding import RideStep
from crowdsim.world.states import WALKING

_NONE: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


class Arrive(TickSystem):
    """Notice arrivals; the next goal of the agent's list becomes its goal. Agents that stay get places."""

    reads = (
        "entity", "activity", "goal", "stage", "position", "surface", "path_status", "radius", "layer",
        "itinerary", "is_yielding", "is_driven", "is_immovable", "is_stuck", "blocker", "desired_speed",
        "yield_target", "machine_state", "waits", "ride_step",
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
        "waits",
        "choice",
    )
    counts = ("arrivals",)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._places = Places(setup.world, setup.of_bodies(PlaceParameters), setup.scenario.seed)
        self._turnstiles = Turnstiles(setup.scenario.goals, setup.scenario.tick)

    def process(self, tick: Tick) -> None:
        """Test each agent that walks; structure changes (leaving the world) wait for Retire."""
        self._places.move_up(tick)
        world, agents = self.world, self.world.agents
        wants = (agents.activity == WALKING) & (agents.goal >= 0)
        if world.riding is not None:  # a gate is no goal
            wants &= agents.ride_step == RideStep.NONE
        piece = np.empty(len(agents), dtype=np.int32)
        polygon = world.polygons()
        found = tick.team.run(
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
        tick.counts["arrivals"] = 0.0
        there = (piece >= 0).nonzero()[0] if sum(found) else _NONE
        if self._turnstiles.has_any:
            there = self._admitted(tick.number, there, world.goals.piece_source[piece[there]])
        if not len(there):
            return
        waited = there[agents.path_status[there] == PathStatus.PENDING]
        if len(waited):  # the answer is not needed any more
            world.planning.forget(agents.entity[waited])
        lose_paths(agents, there)
        forget_path(agents, there)
        if world.has_choices:
            agents.choice[there] = -1
        reached = world.goals.piece_source[piece[there]]
        final = np.zeros(len(there), dtype=bool)
        led = self._stop_led(there)
        final[led] = agents.activity[there[led]] == AgentState.ARRIVED
        own, stages = agents.itinerary[there].tolist(), agents.stage[there].tolist()
        for i, row in enumerate(there.tolist()):
            if led[i]:
                continue
            itinerary, stage = world.itineraries[own[i]], stages[i] + 1
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
        self._places.take(tick, there[stays], reached[stays], polygon)
        if len(on):
            world.events.note(
                tick.number, EventKind.GOAL_REACHED, agents.entity[on], agents.position[on], reached[~final]
            )
        world.events.note(
            tick.number, EventKind.ARRIVAL, agents.entity[last], agents.position[last], reached[final]
        )

    def _admitted(self, tick: int, there: NDArray[np.int64], goal: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the rows of agents that get through their exits; the others wait there for their turn."""
        agents = self.world.agents
        before = self._turnstiles.held
        admitted = self._turnstiles.admit(tick, agents.entity[there], goal)
        row = np.minimum(np.searchsorted(agents.entity, before), max(0, len(agents) - 1))
        row = row[agents.entity[row] == before] if len(row) else row
        agents.waits[row[agents.waits[row] == Wait.QUEUE]] = Wait.NOTHING
        agents.waits[there[~admitted]] = Wait.QUEUE
        return there[admitted]

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

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what lives in exits with a greatest flow; all else stands in columns."""
        return self._turnstiles.state()

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave."""
        saved = Saved.of(state)
        self._turnstiles.restore(saved)
        saved.finish()
