"""Going from place to place: patrols, and wandering about."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.mesh.mesh import make_flood
from crowdsim.saved import Saved
from crowdsim.scenario.behaviours import State
from crowdsim.setup.entrances import draw_spots, find_room, shares_of, triangles_of
from crowdsim.setup.placement import WALL_MARGIN_M
from crowdsim.systems.base.system import Tick
from crowdsim.systems.behaviour.actions import Action, Crew
from crowdsim.world.columns import Errand, Wait
from crowdsim.world.random import Stream

TRIES = 24  # Places that one that wanders tries before it rests for a while.
RESTS_S = 1.0
NEAR_M = 0.3


class Patrol(Action):
    """Go from place to place, over and over.

    The step of an agent says how many places it has reached, its partner at which one it began: the nearest.
    """

    def begin(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Send them to the nearest place."""
        agents, state = self.crew.agents, self.states[number]
        middles = self._middles(state)
        apart = hypots(*(agents.position[rows][:, None] - middles[None]).transpose(2, 0, 1))
        agents.step[rows], agents.partner[rows] = 0, np.argmin(apart, axis=1)
        self._go_on(tick, number, rows)

    def arrived(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Let them pause, or go on."""
        agents, state = self.crew.agents, self.states[number]
        agents.step[rows] += 1
        agents.errand[rows] = Errand.NONE
        is_done = (state.rounds > 0) & (agents.step[rows] >= state.rounds * len(state.goals))
        agents.errand[rows[is_done]] = Errand.DONE
        self.crew.errands.stop(rows[is_done], Wait.NOTHING)
        rows = rows[~is_done]
        if state.time is None:
            self._go_on(tick, number, rows)
        elif len(rows):
            self.crew.errands.stop(rows, Wait.TIME)
            self.crew.pause(rows, self.crew.draws.of(state.time, rows), tick.number)

    def rested(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Let them go on."""
        self._go_on(tick, number, rows)

    def check(self, saved: Saved, number: int, rows: NDArray[np.int64]) -> None:
        """Require that they are on their way to one of the places."""
        agents, count = self.crew.agents, len(self.states[number].goals)
        saved.require(agents.step[rows] >= 0, "step", "a patrol has a step")
        right = (agents.partner[rows] >= 0) & (agents.partner[rows] < count)
        saved.require(right, "partner", "the patrol has no such place")

    def _go_on(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        if len(rows):
            goals = np.array(self.states[number].goals, dtype=np.int32)
            self.crew.errands.go(rows, goals[self._places(number, rows)])

    def _places(self, number: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which place is next for each."""
        agents, state = self.crew.agents, self.states[number]
        step, first, count = agents.step[rows].astype(np.int64), agents.partner[rows], len(state.goals)
        if state.order == "round" or count == 1:
            return (first + step) % count
        if state.order == "to_and_fro":
            turn = 2 * (count - 1)
            along = (first + step) % turn
            return np.where(along < count, along, turn - along)
        # any but where it is, which its partner says here
        drawn = np.minimum((self.crew.draws.shares(rows) * (count - 1)).astype(np.int64), count - 2)
        found = np.where(step == 0, first, drawn + (drawn >= first))
        agents.partner[rows] = found
        return found

    def _middles(self, state: State) -> NDArray[np.float64]:
        """Return a point of each place, (p, 2), m."""
        found = []
        for goal in (self.crew.setup.scenario.goals[each] for each in state.goals):
            own = goal if not goal.parts else self.crew.setup.scenario.goals[goal.parts[0]]
            middle = own.point or own.area.representative_point().coords[0]
            found.append(middle)
        return np.array(found, dtype=np.float64)


class Wander(Action):
    """Go to one place of a region after the other, each drawn at random."""

    def __init__(self, crew: Crew, states: dict[int, State]) -> None:
        super().__init__(crew, states)
        self._triangles = {}
        for number, state in states.items():
            goal = crew.setup.scenario.goals[state.goals[0]]
            ground = crew.setup.scenario.geometry.grounds[max(0, goal.layer)]
            self._triangles[number] = triangles_of(goal.area, ground)

    def begin(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Send each to a place of its own."""
        self._go_on(tick, number, rows)

    def arrived(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Let them pause, or go on."""
        self.crew.agents.errand[rows] = Errand.NONE
        time = self.states[number].time
        if time is None:
            self._go_on(tick, number, rows)
        else:
            self.crew.errands.stop(rows, Wait.STAY)
            self.crew.pause(rows, self.crew.draws.of(time, rows), tick.number)

    def rested(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Let them go on."""
        self._go_on(tick, number, rows)

    def _go_on(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        place, found = self._drawn(number, rows)
        layer = self.crew.setup.scenario.goals[self.states[number].goals[0]].layer
        there = rows[found]
        layers = np.full(len(there), max(0, layer), dtype=np.int32)
        self.crew.errands.go_to(there, place[found], layers, NEAR_M)
        nowhere = rows[~found]
        if len(nowhere):
            self.crew.errands.stop(nowhere, Wait.STAY)
            self.crew.pause(nowhere, np.full(len(nowhere), RESTS_S), tick.number)

    def _drawn(self, number: int, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return a place in the region for each, (k, 2) m, clear of walls, and which have found one."""
        agents, mesh, triangles = self.crew.agents, self.crew.world.mesh, self._triangles[number]
        place, polygon = np.empty((len(rows), 2)), np.full(len(rows), -1, dtype=np.int64)
        if not len(triangles) or not len(rows):
            return place, polygon >= 0
        spots = np.empty((len(rows), TRIES, 2))
        keys, shares = self.crew.draws.keys(rows), shares_of(triangles)
        draw_spots(self.crew.setup.scenario.seed, int(Stream.STATE), keys, 0, triangles, shares, spots)
        layer = self.crew.setup.scenario.goals[self.states[number].goals[0]].layer
        flood = make_flood(mesh.polygon_count)
        for row in range(len(rows)):
            one = slice(row, row + 1)
            find_room(
                mesh, spots[one], layer, agents.radius[rows[one]], WALL_MARGIN_M, 0.0, np.empty((1, 2)),
                np.empty(1), 0, flood, place[one], polygon[one],
            )  # fmt: skip
        return place, polygon >= 0
