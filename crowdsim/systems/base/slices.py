"""What a system has to know of the time slicer:
long work is done in slices, and the slicer says how many there are in a tick.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdsim.saved import Saved
from crowdsim.systems.base.tick import Tick
from crowdsim.world.columns import AgentState
from crowdsim.world.world import World


class Wish(Enum):
    """What a task wants after a slice."""

    GO_ON = "go on"  # in this tick, if there is time
    NEXT_TICK = "next tick"  # nothing more can be done in this one
    DONE = "done"  # a task that is done once leaves the slicer; a periodic one is due again after its period


class Progress(NamedTuple):
    """What a slice resulted in.

    Attributes
    ----------
    used : int
        Work done, in expansions of a search, or what takes as long.
    wish : Wish
    """

    used: int
    wish: Wish


Work = Callable[[int], Progress]  # does at most so much, and returns what it resulted in


class Spent(NamedTuple):
    """What the slices of one tick resulted in.

    Attributes
    ----------
    slices : int
    granted, used : int
        Work that the slices were allowed to do, and did.
    oldest_ticks : int
        How long the task that is due and has waited longest has had no slice.
    """

    slices: int
    granted: int
    used: int
    oldest_ticks: int


class Tasks(Protocol):
    """Where long work is registered; `crowdsim.simulation.slicer.Slicer` is one."""

    def add(self, name: str, work: Work, *, due: int, period: int = 0, head_start: int = 0) -> None:
        """Register a task that wants its first slice at tick `due`."""

    def remove(self, name: str) -> bool:
        """Take a task off; return whether it was there."""

    def __contains__(self, name: object) -> bool: ...


class Budget(Protocol):
    """Says how much long work a tick does; see `crowdsim.simulation.budget`."""

    @property
    def counts_answers(self) -> bool:
        """Return whether answers are work too, as where a clock decides:
        many can come out of one tree that has grown already.
        """

    @property
    def tasks(self) -> Tasks:
        """Return where long work is registered."""

    def hurry(self, tick: int, name: str) -> None:
        """Let a task have slices before planning begins, on its account:
        until it is done, is not the next any more, or the slices of the tick are over.

        This is for what changes the ground: it has to be done between two ticks, not in the middle of one.
        """

    def begin(self) -> None:
        """Note that planning begins: what it takes from now on is on its account."""

    def spend(self, tick: int) -> Spent:
        """Let the tasks have the slices of this tick."""


class SearchTask:
    """The searches of one planner as a task: it is there while requests wait ([Norberg 2004], section 3.3).

    Parameters
    ----------
    name : str
        Of the task; one for each planner of a world.
    planner : object
        With `advance(budget, team, counts_answers)`, which returns answers, with their `work`, and the
        expansions made, `waiting` and `oldest_tick`.
    take : callable
        Called with the tick and the answers of each slice that has some: what is done with them is on the
        account of the slice.
    tasks : Tasks
    counts_answers : bool
        Whether a slice is so much work, answers counted, or so many expansions.
    """

    counts = ("expansions", "expansions_granted", "slices", "requests_open", "oldest_request_ticks")

    def __init__(
        self,
        name: str,
        planner: Any,
        take: Callable[[Tick, Any], None],
        tasks: Tasks,
        counts_answers: bool = False,
    ) -> None:
        self.name, self.expansions, self.counts_answers = name, 0, counts_answers
        self._planner, self._take, self._tasks = planner, take, tasks
        self._tick: Tick | None = None

    @property
    def waiting(self) -> int:
        """Requests without an answer."""
        return int(self._planner.waiting)

    def take(self, planner: Any) -> None:
        """Search with another planner, which has no requests yet."""
        self._planner = planner
        self._tasks.remove(self.name)

    def register(self, tick: Tick) -> None:
        """Register the task if there is something to search for."""
        self._tick, self.expansions = tick, 0
        if self._planner.waiting and self.name not in self._tasks:
            self._tasks.add(self.name, self._slice, due=tick.number)

    def oldest_tick(self, now: int) -> int:
        """Return the tick of the oldest request without an answer; `now` if there is none."""
        return int(self._planner.oldest_tick(now))

    def _slice(self, most: int) -> Progress:
        tick, planner = self._tick, self._planner
        assert tick is not None
        answers, used = planner.advance(most, tick.team, counts_answers=self.counts_answers)
        self.expansions += used
        answered = len(answers.entity)
        if answered:
            self._take(tick, answers)
            if self.counts_answers:
                used += answers.work
        if not planner.waiting:
            return Progress(used, Wish.DONE)
        return Progress(used, Wish.GO_ON if used or answered else Wish.NEXT_TICK)

    def restored(self, tick: int) -> None:
        """Register the task, or take it off, as the requests of a planner that was restored want it."""
        self._tasks.remove(self.name)
        if self._planner.waiting:
            self._tasks.add(self.name, self._slice, due=tick)


def search(tick: Tick, budget: Budget, tasks: Sequence[SearchTask]) -> None:
    """Let all planners of a world search, with the slices of one tick for all of them, and count.

    Parameters
    ----------
    tick : Tick
    budget : Budget
    tasks : sequence of SearchTask
        All that there are: what is granted is granted once a tick.
    """
    for task in tasks:
        task.register(tick)
    spent = budget.spend(tick.number)
    tick.counts["expansions"] = sum(task.expansions for task in tasks)
    tick.counts["expansions_granted"] = spent.granted
    tick.counts["slices"] = spent.slices
    tick.counts["requests_open"] = sum(task.waiting for task in tasks)
    tick.counts["oldest_request_ticks"] = tick.number - min(task.oldest_tick(tick.number) for task in tasks)


def require_open(saved: Saved, world: World, entities: Sequence[int], mine: NDArray[np.bool_]) -> None:
    """Refuse requests of others than agents that are there and that the planner plans for, (n,) bool."""
    own = world.agents.entity[mine & (world.agents.activity != AgentState.OBSTACLE)]
    strangers = np.setdiff1d(np.array(entities, dtype=np.int64), own)
    saved.require(
        not len(strangers),
        "",
        f"has a request of {strangers[:1].tolist()}, which is no agent that it plans for",
    )
