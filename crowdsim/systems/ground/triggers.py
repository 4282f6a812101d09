"""What agents have to do for an event to happen: so many go over a line, or come near to others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.saved import FARTHEST_M, MOST, Arrays, Saved, ascends
from crowdsim.scenario.model import Event
from crowdsim.setup.build import Built
from crowdsim.setup.identity import Selection, selected
from crowdsim.world.columns import AgentState, Wait


class Triggers:
    """Counts the agents that have done what events without a time wait for, each once for each event.

    Parameters
    ----------
    built : Built
        The world, and the scenario with the events.
    """

    def __init__(self, built: Built) -> None:
        self.world, self.events = built.world, built.scenario.events
        # for events that wait for that: agents that come near, and those that they come near to
        self._meetings = {
            number: [selected(built.scenario, built.all_agents, (each,)) for each in event.met]
            for number, event in enumerate(self.events)
            if event.met is not None
        }
        self._waits = [number for number, event in enumerate(self.events) if event.tick < 0]
        self._done: dict[int, NDArray[np.int64]] = {
            number: np.zeros(0, dtype=np.int64) for number in self._waits
        }
        for event in self.events:
            if event.inside is not None:
                shapely.prepare(event.inside.area)
        self._entity = np.zeros(0, dtype=np.int64)
        self._place = np.zeros((0, 2))

    def is_due(self, number: int) -> bool:
        """Return whether enough agents have done what an event without a time waits for."""
        if self.events[number].inside is not None:
            return self._inside(self.events[number]) >= self.events[number].count
        return len(self._done[number]) >= self.events[number].count

    def _inside(self, event: Event) -> int:
        """Return how many agents are in the area of an event now."""
        agents, inside = self.world.agents, event.inside
        assert inside is not None
        counts = agents.activity < AgentState.ARRIVED
        if event.layer >= 0:
            counts &= agents.layer == event.layer
        if inside.waiting:
            counts &= agents.waits != Wait.NOTHING
        rows = np.flatnonzero(counts)
        return int(np.count_nonzero(shapely.intersects_xy(inside.area, *agents.position[rows].T)))

    def look(self, is_over: NDArray[np.bool_]) -> None:
        """Note which agents have gone over lines since the last tick, and which are near to others,
        for events that have not happened yet.
        """
        waits = [number for number in self._waits if not is_over[number]]
        if any(self.events[number].line is not None for number in waits):
            self._count_crossings([number for number in waits if self.events[number].line is not None])
        for number in waits:
            if number in self._meetings:
                comers, others = self._meetings[number]
                near = self._near(comers, others, self.events[number].within)
                self._done[number] = np.union1d(self._done[number], near)

    def _count_crossings(self, waits: Sequence[int]) -> None:
        agents = self.world.agents
        before = np.searchsorted(self._entity, agents.entity)
        known = np.flatnonzero(np.isin(agents.entity, self._entity))
        old, new = self._place[before[known]], agents.position[known]
        for number in waits:
            crosses = crosses_line(old, new, np.array(self.events[number].line))
            if self.events[number].layer >= 0:
                crosses &= agents.layer[known] == self.events[number].layer
            over = agents.entity[known[crosses]]
            self._done[number] = np.union1d(self._done[number], over)

    def _near(self, comers: Selection, others: Selection, within: float) -> NDArray[np.int64]:
        """Return the entities of agents within a distance (m) of one of the others, on the same floor."""
        agents = self.world.agents
        comes, stays = (np.flatnonzero(each.rows(agents)) for each in (comers, others))
        if not len(comes) or not len(stays):
            return np.zeros(0, dtype=np.int64)
        tree = shapely.STRtree(shapely.points(agents.position[stays]))
        first, second = tree.query(
            shapely.points(agents.position[comes]), predicate="dwithin", distance=within
        )
        a, b = comes[first], stays[second]
        meets = (a != b) & (agents.layer[a] == agents.layer[b])
        found: NDArray[np.int64] = np.unique(agents.entity[a[meets]])
        return found

    def remember(self, is_over: NDArray[np.bool_]) -> None:
        """Remember where all agents are, as long as lines are looked at."""
        if any(self.events[number].line is not None and not is_over[number] for number in self._waits):
            self._entity, self._place = self.world.agents.entity.copy(), self.world.agents.position.copy()

    def state(self) -> dict[str, NDArray[Any]]:
        """Return which agents have done what, and where all were."""
        lengths = np.array([len(self._done[number]) for number in self._waits], dtype=np.int64)
        done = np.concatenate([np.zeros(0, dtype=np.int64), *(self._done[number] for number in self._waits)])
        return {
            "entity": self._entity.copy(),
            "place": self._place.copy(),
            "done_lengths": lengths,
            "done": done,
        }

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave."""
        saved = Saved.of(state)
        entity = saved.take("entity", "i8", low=1, high=MOST)
        saved.require(ascends(entity), "entity", "entity ids have to ascend")
        place = saved.take("place", "f8", (len(entity), 2), low=-FARTHEST_M, high=FARTHEST_M)
        done = saved.take("done", "i8", low=1, high=MOST)
        lengths = saved.parts("done_lengths", len(self._waits), len(done))
        parts = np.split(done, np.cumsum(lengths)[:-1]) if len(lengths) else []
        self._entity, self._place = entity, place
        self._done = {number: part.copy() for number, part in zip(self._waits, parts, strict=True)}


def crosses_line(
    before: NDArray[np.float64], now: NDArray[np.float64], line: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return which steps lead over a line, in either direction.

    Parameters
    ----------
    before, now : (n, 2) float64, m
    line : (2, 2) float64, m
        Its ends.

    Returns
    -------
    (n,) bool
        A step that begins on the line leads over it only if it ends on the line's right: so one that stops on
        it, and goes on or back, is counted at most once.
    """
    begin, end = line
    is_left_before = _side(begin, end, before) >= 0.0
    is_left_now = _side(begin, end, now) >= 0.0
    parts = _turn(before, now, begin) * _turn(before, now, end) <= 0.0
    return (is_left_before != is_left_now) & parts


def _side(a: NDArray[np.float64], b: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    return (b[0] - a[0]) * (p[:, 1] - a[1]) - (b[1] - a[1]) * (p[:, 0] - a[0])


def _turn(a: NDArray[np.float64], b: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    return (b[:, 0] - a[:, 0]) * (p[1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (p[0] - a[:, 0])
