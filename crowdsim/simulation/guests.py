"""What the verdict needs of agents that come in while the run lasts: of those that have left only sums are
kept, so that a run may last as long as it will.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.saved import MOST, MOST_TICKS, Saved, ascends
from crowdsim.world.events import Cause, EventKind
from crowdsim.world.world import World

MOST_TIMES = 2**15  # That arrivals at a goal are told apart by: an hour's to 0.2 s, at ticks of 0.05 s.
_MOST_FRESH = 4096


def _coarsened(passages: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return rows of (goal, tick, count) with ticks so coarse that no goal has more than `MOST_TIMES`.

    They are multiples of a power of two that follows from the last tick, so it does not matter how often, and
    when, this was done before.
    """
    step = 1
    while len(passages) and passages[-1, 1] // step >= MOST_TIMES:
        step *= 2
    if step == 1:
        return passages
    tick = passages[:, 1] // step * step
    key, first, place = np.unique(
        np.column_stack([tick, passages[:, 0]]), axis=0, return_index=True, return_inverse=True
    )
    count = np.bincount(place.ravel(), weights=passages[:, 2], minlength=len(first)).astype(np.int64)
    return np.column_stack([key[:, 1], key[:, 0], count])


class Guests:
    """Counts agents that come in while the run lasts.

    Parameters
    ----------
    world : World

    Attributes
    ----------
    came : int
    deadlocked : (causes,) int64
        How many were ever stuck for long, by the cause that was found.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.came = 0
        self.deadlocked = np.zeros(len(Cause), dtype=np.int64)
        self._gone = 0  # how many have arrived and left
        self._arrived = np.zeros(0, dtype=np.int64)  # entities that have arrived and are still there
        # of those that are still there: entity and cause of each that was stuck for long
        self._stuck = np.zeros((0, 2), dtype=np.int64)
        # goals at which they have arrived, when, and how many then
        self._passages = np.zeros((0, 3), dtype=np.int64)
        self._fresh: list[NDArray[np.int64]] = []

    @property
    def arrived(self) -> int:
        """How many have arrived, and were not sent on since."""
        return self._gone + len(self._arrived)

    def note(self, tick: int, events: NDArray[Any]) -> None:
        """Take in what happened to them in a tick."""
        kind, entity = events["kind"], events["entity"]
        self.came += len(self._world.came.entity) if self._world.came.tick == tick else 0
        arrivals = events[kind == EventKind.ARRIVAL]
        if len(arrivals):
            goal, count = np.unique(arrivals["value"], return_counts=True)
            self._fresh.append(np.column_stack([goal, np.full(len(goal), tick), count]).astype(np.int64))
            if len(self._fresh) > _MOST_FRESH:
                self._table()
            self._arrived = np.union1d(self._arrived, arrivals["entity"])
        long = events[kind == EventKind.DEADLOCKED]
        for one, cause in zip(long["entity"].tolist(), long["value"].tolist(), strict=True):
            if not np.any((self._stuck[:, 0] == one) & (self._stuck[:, 1] == cause)):
                self._stuck = np.vstack([self._stuck, [one, cause]])
                self.deadlocked[cause] += 1
        if len(arrivals) or np.any(kind == EventKind.RETIRED):
            self._forget_the_gone(entity)

    def _forget_the_gone(self, entity: NDArray[np.int64]) -> None:
        """Keep only sums of those among some entities that have left for good."""
        gone = np.unique(entity[~np.isin(entity, self._world.agents.entity)])
        gone = gone[~np.isin(gone, self._world.outside["entity"])]
        had_arrived = np.isin(self._arrived, gone)
        self._gone += int(np.count_nonzero(had_arrived))
        self._arrived = self._arrived[~had_arrived]
        if len(self._stuck):
            self._stuck = self._stuck[~np.isin(self._stuck[:, 0], gone)]

    def send_on(self, entity: NDArray[np.int64]) -> None:
        """Take in that agents are sent to a goal: those have not arrived."""
        self._arrived = self._arrived[~np.isin(self._arrived, entity)]

    def arrival_ticks(self, goal: int) -> NDArray[np.int64]:
        """Return when they arrived at a goal, (k,) int64: to the tick, and in long runs to a few ticks."""
        table = self._table()
        rows = table[table[:, 0] == goal]
        return np.repeat(rows[:, 1], rows[:, 2])

    def _table(self) -> NDArray[np.int64]:
        if self._fresh:
            self._passages, self._fresh = _coarsened(np.concatenate([self._passages, *self._fresh])), []
        return self._passages

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the counts as named arrays."""
        return {
            "numbers": np.array([self.came, self._gone], dtype=np.int64),
            "by_cause": self.deadlocked.copy(),
            "arrived": self._arrived.copy(),
            "stuck": self._stuck.copy(),
            "passages": self._table().copy(),
        }

    def restore(self, saved: Saved, goals: int) -> None:
        """Take back what `state()` gave; `goals` is how many the scenario has."""
        numbers = saved.take("numbers", "i8", (2,), low=0, high=MOST)
        self.deadlocked = saved.take("by_cause", "i8", (len(Cause),), low=0, high=MOST)
        self._arrived = saved.take("arrived", "i8", low=1, high=MOST)
        saved.require(ascends(self._arrived), "arrived", "entity ids have to ascend")
        self._stuck = saved.take("stuck", "i8", (None, 2), low=[1, 0], high=[MOST, len(Cause) - 1])
        self._passages = saved.take("passages", "i8", (None, 3), low=0, high=[MOST, MOST_TICKS, MOST])
        self._fresh = []
        self.came, self._gone = numbers.tolist()
