"""Whether what agents wait for is so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.scenario.behaviours import Condition
from crowdsim.setup.build import Built
from crowdsim.setup.identity import Selection, selected
from crowdsim.setup.things import Door
from crowdsim.systems.base.sight import in_sight, pairs_within
from crowdsim.systems.base.system import ticks_of
from crowdsim.world.columns import AgentState

LOCAL = ("inside", "near", "hidden")  # differ from agent to agent, and are looked at now and then only


class Conditions:
    """Answers what agents ask.

    Parameters
    ----------
    built : Built
    """

    def __init__(self, built: Built) -> None:
        self._built, self.world = built, built.world
        self._tick_length = built.scenario.tick
        self._doors = {door.area.name: entity for entity, door in built.world.query(Door)}
        self._groups = [group.name for group in built.scenario.groups]
        self._areas = self._areas_of_conditions()
        self._selections: dict[tuple[int | str, ...], Selection] = {}
        self._known: dict[Any, float] = {}  # counts of this tick

    def begin(self) -> None:
        """Forget what was counted in the tick before."""
        self._known.clear()

    def selection(self, names: tuple[int | str, ...]) -> Selection:
        """Return the agents that are named by ids and groups."""
        if names not in self._selections:
            self._selections[names] = selected(self._built.scenario, self._built.all_agents, names)
        return self._selections[names]

    def ticks(self, seconds: float) -> int:
        """Return a time in ticks."""
        return ticks_of(seconds, self._tick_length)

    def is_local(self, condition: Condition) -> bool:
        """Return whether the answer differs from agent to agent, but for the time in a state."""
        return any(part.kind in LOCAL for part in condition.each())

    def may_hold(self, condition: Condition) -> bool:
        """Return whether something may be so for some agent now, without a look at each."""
        kind = condition.kind
        if kind in ("after", *LOCAL):
            return True
        if kind == "all_of":
            return all(self.may_hold(part) for part in condition.parts)
        if kind == "any_of":
            return any(self.may_hold(part) for part in condition.parts)
        if kind == "none_of":
            return not any(self._is_so(part) for part in condition.parts if self._is_common(part))
        return self._is_so(condition)

    def _is_common(self, condition: Condition) -> bool:
        """Return whether the answer is the same for all agents."""
        return not any(part.kind in ("after", *LOCAL) for part in condition.each())

    def holds(
        self, condition: Condition, tick: int, rows: NDArray[np.int64], level: int
    ) -> NDArray[np.bool_]:
        """Return for which agents, (k,) rows, something is so, (k,).

        Parameters
        ----------
        condition : Condition
        tick : int
        rows : (k,) int64
        level : int
            Since when they are in the state that asks: of those that they are in the one at this level.
        """
        agents, kind = self.world.agents, condition.kind
        if kind == "after":
            began: NDArray[np.int64] = agents.state_since[rows, level]
            return began + self.ticks(condition.seconds) <= tick
        if kind == "inside":
            area, layer = self._areas[condition.name]
            place, floor = agents.position[rows], agents.layer[rows]
            here: NDArray[np.bool_] = shapely.intersects_xy(area, *place.T) & ((floor == layer) | (layer < 0))
            return here
        if kind == "near":
            return self._near(condition, rows)
        if kind == "hidden":
            seen: NDArray[np.int64] = agents.seen_tick[rows]
            return seen + self.ticks(condition.seconds) <= tick
        if condition.parts:
            parts = [self.holds(part, tick, rows, level) for part in condition.parts]
            if kind == "all_of":
                return np.logical_and.reduce(parts)
            either: NDArray[np.bool_] = np.logical_or.reduce(parts)
            return either if kind == "any_of" else ~either
        return np.full(len(rows), self._is_so(condition, tick), dtype=np.bool_)

    def _is_so(self, condition: Condition, tick: int | None = None) -> bool:
        """Return whether something is so that is the same for all agents."""
        kind, name = condition.kind, condition.name
        if condition.parts:
            parts = [self._is_so(part, tick) for part in condition.parts]
            return all(parts) if kind == "all_of" else any(parts) if kind == "any_of" else not any(parts)
        if kind == "signal":
            return self.world.signals[name]
        if kind == "at":
            now = self.world.tick + 1 if tick is None else tick
            return now >= self.ticks(condition.seconds)
        if kind in ("opened", "closed"):
            door = self.world.entities.component(self._doors[name], Door)
            return door.is_open == (kind == "opened")
        count = self._count(name, condition.group)
        number = count if kind == "count" else count / max(1e-9, self._areas[name][0].area)
        return condition.least <= number <= condition.most

    def _count(self, name: str, group: str) -> float:
        """Return how many agents are in an area."""
        if (name, group) not in self._known:
            agents, (area, layer) = self.world.agents, self._areas[name]
            counts = agents.activity < AgentState.ARRIVED
            if layer >= 0:
                counts &= agents.layer == layer
            if group:
                counts &= agents.group == self._groups.index(group)
            rows = np.flatnonzero(counts)
            x, y = agents.position[rows].T
            self._known[name, group] = float(np.count_nonzero(shapely.intersects_xy(area, x, y)))
        return self._known[name, group]

    def _near(self, condition: Condition, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which agents, (k,) rows, are near to others."""
        found = np.zeros(len(rows), dtype=np.bool_)
        first, second = self.pairs(rows, condition.others, condition.distance)
        if condition.seen and len(first):
            seen = self.sees(rows[first], second)
            first = first[seen]
        found[first] = True
        return found

    def pairs(
        self, rows: NDArray[np.int64], others: Sequence[int | str], distance: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return pairs of agents on one floor within a distance (m) of each other: places in `rows`, and the
        rows of others; none with itself.
        """
        agents = self.world.agents
        there = np.flatnonzero(self.selection(tuple(others)).rows(agents))
        return pairs_within(agents, rows, there, distance)

    def sees(self, rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which pairs of agents see each other, (k,): no wall is between them."""
        return in_sight(self.world, rows, others)

    def _areas_of_conditions(self) -> dict[str, tuple[Any, int]]:
        """Return the areas in which agents are counted, on the ground, by name, with their floors."""
        scenario = self._built.scenario
        grounds = scenario.geometry.grounds
        found: dict[str, tuple[Any, int]] = {}
        measured = {each.name: each for each in scenario.measures}
        for condition in (each for state in scenario.behaviours.states for each in state.conditions()):
            if condition.kind in ("inside", "count", "density"):
                place: Any = (
                    scenario.goals[condition.goal] if condition.goal >= 0 else measured[condition.name]
                )
                ground = grounds[max(0, place.layer)]
                found[condition.name] = shapely.intersection(place.area, ground), place.layer
                shapely.prepare(found[condition.name][0])
        return found
