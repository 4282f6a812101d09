"""When the agents of a group are due that come in while the run lasts.

Which agent comes when is a function of the scenario, of its seed, and of the group's name and the agent's
index: what happens in the run changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.saved import MOST, Saved
from crowdsim.scenario.arrivals import NO_LIMIT, Arrivals
from crowdsim.scenario.distributions import Distribution
from crowdsim.scenario.model import Group
from crowdsim.scenario.timetable import ticks_in
from crowdsim.setup.draws import draw_distribution
from crowdsim.setup.newcomers import first_index
from crowdsim.world.random import Stream, agent_key

_AT_ONCE = 256  # Gaps that are drawn together; a call of a kernel for each would cost more than the draw.
_LATEST_S = 1e12  # Beyond all times of a run.


class Due:
    """The agents of one group that become due, one after the other.

    Parameters
    ----------
    group : Group
        With `arrive`.
    seed : int
    tick : float, s
    """

    def __init__(self, group: Group, seed: int, tick: float) -> None:
        assert group.arrive is not None
        self._own: Arrivals = group.arrive
        self._name, self._seed, self._tick, self._first = group.name, seed, tick, first_index(group)
        self._made = 0  # how many have become due
        self._time = self._own.after  # when the last one was due, where gaps are drawn
        self._batch = self._used = 0  # entry of the schedule, or train, and how many of it have become due
        self._gaps, self._gaps_from = np.zeros(0), 0

    @property
    def is_over(self) -> bool:
        """Whether no agent will become due any more."""
        return self._when() >= self._own.until

    @property
    def next_index(self) -> int:
        """The index of the next agent that becomes due."""
        return self._first + self._made

    def take(self, tick: int) -> list[tuple[int, int]]:
        """Return the agents that become due by the end of a tick, as (index, tick at which they are due)."""
        found: list[tuple[int, int]] = []
        limit = (tick + 1) * self._tick
        while (when := self._when()) < self._own.until and when <= limit:
            due = int(ticks_in(when, self._tick))
            if due > tick:
                break
            found.append((self.next_index, due))
            self._go_on(when)
        return found

    def _when(self) -> float:
        """Return when the next agent is due (s); infinite if none is."""
        own, number = self._own, self._made
        if number >= own.at_most:
            return NO_LIMIT
        if own.gap is not None:
            if own.gap.kind == "number":
                return own.after + number * own.gap.low
            return self._time + self._gap(own.gap, number)
        if own.trains is not None:
            return self._in_train()
        while self._batch < len(own.schedule) and (
            self._used >= own.schedule[self._batch][1] or own.schedule[self._batch][0] < own.after
        ):
            self._batch, self._used = self._batch + 1, 0
        return own.schedule[self._batch][0] if self._batch < len(own.schedule) else NO_LIMIT

    def _go_on(self, when: float) -> None:
        self._made, self._time, self._used = self._made + 1, when, self._used + 1

    def _gap(self, gap: Distribution, number: int) -> float:
        """Return the time between an agent and the one before."""
        if not self._gaps_from <= number < self._gaps_from + len(self._gaps):
            self._gaps_from = number
            keys = [agent_key(self._name, self._first + number + each) for each in range(_AT_ONCE)]
            self._gaps = draw_distribution(gap, self._seed, int(Stream.GAP), np.array(keys, dtype=np.uint64))
        return float(self._gaps[number - self._gaps_from])

    def _in_train(self) -> float:
        """Return when the next agent gets out of a train."""
        own, trains = self._own, self._own.trains
        assert trains is not None
        while True:
            if trains.at and self._batch >= len(trains.at):
                return NO_LIMIT
            begins = trains.at[self._batch] if trains.at else own.after + self._batch * trains.every
            if begins >= own.until:
                return NO_LIMIT
            people = self._people(trains.people)
            if begins >= own.after and self._used < people:
                return begins + self._used * trains.within / people
            self._batch, self._used = self._batch + 1, 0

    def _people(self, people: Distribution) -> int:
        """Return how many get out of the train that is next."""
        if people.kind == "number":
            return int(people.low)
        key = np.array([agent_key(f"{self._name} train", self._batch)], dtype=np.uint64)
        return int(draw_distribution(people, self._seed, int(Stream.TRAIN), key)[0])

    def state(self) -> dict[str, NDArray[Any]]:
        """Return how far they have come."""
        return {
            "made": np.array([self._made, self._batch, self._used], dtype=np.int64),
            "time": np.array([self._time]),
        }

    def restore(self, saved: Saved) -> None:
        """Take back what `state()` gave."""
        made = saved.take("made", "i8", (3,), low=0, high=[min(MOST, self._own.at_most), MOST, MOST])
        time = saved.take("time", "f8", (1,), low=0.0, high=_LATEST_S)
        self._made, self._batch, self._used = made.tolist()
        self._time = float(time[0])
