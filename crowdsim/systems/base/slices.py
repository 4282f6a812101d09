"""The time slicer: long work is cut into slices, and the task that is due and has waited longest gets the
next one.

The loop is that of [Norberg 2004], section 3.3: take the first task of a priority queue, let it do one slice,
put it back by the time at which it wants the next, and look at the limit after every slice. So the limit is
overrun by less than one slice, on average by half of one.

A task is in the queue from the tick on at which it is due. The queue is ordered by the tick since which a
task has waited, less its head start, then by which waited first. So among equals each has a slice in turn,
and a head start is a priority that starves no task: one that others with a head start of h ticks keep from
the processor has waited h ticks longer at some time, and then comes first.
"""

from __future__ import annotations

import heapq
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.saved import MOST, Arrays, Saved


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


# Expansions: 0.2 to 0.5 ms of a core on the mesh. Smaller overruns less and changes searches more often, see
# docs/learn/budget.md.
DEFAULT_SLICE = 1000
NOTHING = Spent(0, 0, 0, 0)


class WorkMeter:
    """Ends a tick when its tasks have done so much work: the same in every run.

    Every meter says before each slice whether there is none any more, and how much it may do, and takes in
    what it did.

    Parameters
    ----------
    work : int, >= 1
    """

    def __init__(self, work: int) -> None:
        self._left = work

    def is_spent(self) -> bool:
        """Return whether all work was done."""
        return self._left <= 0

    def grant(self, slice_size: int, is_alone: bool) -> int:
        """Return a slice; all that is left where no other task is due,
        since no clock has to be looked at in between.
        """
        return self._left if is_alone else min(slice_size, self._left)

    def note(self, used: int) -> None:
        """Count work; a slice that did none counts as one unit, so that a tick ends."""
        self._left -= max(1, used)


class _Sizes:
    """How large slices are where no other task is due: what a slice takes besides its work is the same for
    large ones.

    Each is twice as large as the most that one of this tick has done, in powers of two times the slice size,
    until that is more than there may be; then the largest power of two that there may be, each smaller than
    the one before. So what was granted in a tick, and what was done, says which slices there were.
    """

    def __init__(self) -> None:
        self._size, self._next, self._did = 1, 1, 0  # `_did`: times the size, 0 before the first

    def take(self, slice_size: int, times: int) -> int:
        """Return the work of a slice that is so many times the slice size."""
        self._size = slice_size
        return times * slice_size

    def note(self, used: int) -> None:
        """Note what a slice did."""
        self._did = next(_powers_up_to(max(1, used // self._size)))
        self._next = max(self._next, 2 * self._did if used >= self._size else 1)


class ClockMeter(_Sizes):
    """Ends a tick before its time is up, after one slice at least: another is begun only if it fits in what
    is left, should it take as long as the longest of this tick that was no larger, and as much longer as it
    is larger than all of them; see `_Sizes`.

    Parameters
    ----------
    limit_ns : int, ns
    began_ns : int, ns
        Reading of the clock at which the time began.
    clock : callable
        Returns nanoseconds that never go back.
    """

    def __init__(self, limit_ns: int, began_ns: int, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        super().__init__()
        self._clock, self._longest = clock, dict[int, int]()  # ns, by how many times the slice size
        self._most = -1  # so many times the size is what may follow; -1 is no limit
        self.end(limit_ns, began_ns)

    def end(self, limit_ns: int, began_ns: int) -> None:
        """Let time end at another reading, between two slices."""
        self._end, self._now = began_ns + limit_ns, -1

    def is_spent(self) -> bool:
        """Look at the clock."""
        now, began = self._clock(), self._now
        if began >= 0 and self._did:
            self._longest[self._did] = max(now - began, self._longest.get(self._did, 0))
        self._now, self._did = now, 0
        return bool(self._longest) and (now >= self._end or self._most == 0 or not self._fits(1))

    def _fits(self, times: int) -> bool:
        known = {size: longest for size, longest in self._longest.items() if size <= times}
        largest = max(known, default=1)
        expected = max([times * known.get(largest, 0) // largest, *known.values()])
        return self._now + expected <= self._end

    def grant(self, slice_size: int, is_alone: bool) -> int:
        """Return a slice."""
        times = self._next if is_alone else 1
        if self._most >= 0 or not (times == 1 or self._fits(times)):
            most = times - 1 if self._most < 0 else self._most
            sizes = _powers_up_to(most if is_alone else 1)
            times = next(size for size in sizes if size == 1 or self._fits(size))
            self._most = (times if is_alone else most) - 1
        return self.take(slice_size, times)


class GrantMeter(_Sizes):
    """Ends a tick when the tasks were granted as much work as in a run that was recorded:
    the same slices again.

    Parameters
    ----------
    work : int
    """

    def __init__(self, work: int) -> None:
        super().__init__()
        self._left = work

    def is_spent(self) -> bool:
        """Return whether all was granted."""
        return self._left <= 0

    def grant(self, slice_size: int, is_alone: bool) -> int:
        """Return the slice that a `ClockMeter` has given."""
        times = self._next if is_alone else 1
        if times * slice_size > self._left:
            times = next(_powers_up_to(max(1, self._left // slice_size)))
        granted = self.take(slice_size, times)
        self._left -= granted
        return granted


def _powers_up_to(most: int) -> Iterator[int]:
    """Yield the powers of two up to a number, which is at least 1, the largest first."""
    return (1 << bit for bit in reversed(range(most.bit_length())))


Meter = WorkMeter | ClockMeter | GrantMeter


@dataclass
class _Task:
    name: str
    work: Work
    period: int
    head_start: int
    due: int
    since: int  # tick of its last slice, or at which it was due
    turn: int  # when it was put into the queue, among all

    @property
    def rank(self) -> tuple[int, int]:
        return self.since - self.head_start, self.turn


class Slicer:
    """Tasks, and the queue in which they wait for slices.

    Parameters
    ----------
    slice_size : int, >= 1
        Work of a slice, in expansions of a search.
    """

    def __init__(self, slice_size: int = DEFAULT_SLICE) -> None:
        self.slice_size = slice_size
        self._tasks: dict[str, _Task] = {}
        self._ready: list[tuple[int, int, _Task]] = []  # by rank and turn
        # by due and turn; turns differ, so tasks are never compared
        self._later: list[tuple[int, int, _Task]] = []
        self._turns = 0
        self._is_running = False
        self.expected: frozenset[str] = frozenset()  # names of tasks in a state that is being taken back

    def add(self, name: str, work: Work, *, due: int, period: int = 0, head_start: int = 0) -> None:
        """Register a task; a task may do so too, while it has its slice.

        Parameters
        ----------
        name : str
        work : callable
            Does one slice: takes how much it may do, and returns what it did and what it wants next.
        due : int
            Tick at which it wants its first slice.
        period : int, ticks
            0: the task leaves when it is done. Else it is due again so many ticks after it was; rounds that
            it missed are not made up for.
        head_start : int, ticks
            Priority: it goes before tasks that have waited up to so many ticks longer.

        Raises
        ------
        ValueError
            If the name is taken, or a number is negative.
        """
        if name in self._tasks:
            raise ValueError(f"there is a task {name!r} already")
        if period < 0 or head_start < 0:
            raise ValueError(
                f"the period of {name!r} is {period} and its head start {head_start}, but neither may be "
                "negative"
            )
        task = _Task(name, work, period, head_start, due, due, 0)
        self._tasks[name] = task
        self._put(task)

    def remove(self, name: str) -> bool:
        """Take a task off, also from within a slice, its own or another's; return whether it was there."""
        return self._tasks.pop(name, None) is not None

    def __contains__(self, name: object) -> bool:
        return name in self._tasks

    def __len__(self) -> int:
        return len(self._tasks)

    def run(self, now: int, meter: Meter, only: str | None = None) -> Spent:
        """Run slices until no task is due or the meter ends the tick.

        Parameters
        ----------
        now : int
            The tick; it never falls.
        meter : Meter
        only : str, optional
            Name of a task: slices end when another one is the next.

        Returns
        -------
        Spent
        """
        if self._is_running:
            raise RuntimeError("a task cannot run the slicer that is running it")
        self._is_running = True
        slices = granted = used = 0
        task: _Task | None = None  # that goes on, since no other is due: it need not queue
        is_alone = True
        is_spent, grant, note, size = meter.is_spent, meter.grant, meter.note, self.slice_size
        try:
            while not is_spent():
                if task is None:
                    task, is_alone = self._next(now, only)
                    if task is None:
                        break
                most = grant(size, is_alone)
                did, task = self._slice(task, most, now)
                note(did)
                slices += 1
                granted += most
                used += did
        finally:
            if task is not None:
                self._put(task)
            self._is_running = False
        return Spent(slices, granted, used, max(self.ages(now).values(), default=0))

    def ages(self, now: int) -> dict[str, int]:
        """Return for each task that is due how many ticks it has had no slice, by name."""
        return {task.name: now - task.since for task in self._tasks.values() if task.due <= now}

    def _slice(self, task: _Task, most: int, now: int) -> tuple[int, _Task | None]:
        """Let a task that was taken out of the queue do a slice, and put it back where it belongs,
        unless it is the next again: then it is returned.
        """
        try:
            used, wish = task.work(most)
        except BaseException:
            self._put(task)  # nothing is lost: a caller that catches this can go on
            raise
        task.since = now
        if wish is Wish.NEXT_TICK:
            task.due = now + 1
        elif wish is Wish.DONE:
            if not task.period:
                if self._tasks.get(task.name) is task:
                    del self._tasks[task.name]
                return used, None
            task.due = task.since = max(task.due + task.period, now + 1)
        elif (
            not self._ready
            and (not self._later or self._later[0][0] > now)
            and self._tasks.get(task.name) is task
        ):
            return used, task  # alone as before: what was added meanwhile is due later
        self._put(task)  # if it was taken off during its slice, `_first` drops it
        return used, None

    def _put(self, task: _Task) -> None:
        self._turns += 1
        task.turn = self._turns
        heapq.heappush(self._later, (task.due, task.turn, task))

    def _wake(self, now: int) -> None:
        """Move tasks that are due by now to those that wait for a slice."""
        while self._later and self._later[0][0] <= now:
            _, turn, task = heapq.heappop(self._later)
            if self._tasks.get(task.name) is task and task.turn == turn:
                heapq.heappush(self._ready, (*task.rank, task))

    def _first(self) -> _Task | None:
        """Return the task that is next; entries of tasks that were taken off are dropped on the way."""
        while self._ready:
            rank, turn, task = self._ready[0]
            if self._tasks.get(task.name) is task and (rank, turn) == task.rank:
                return task
            heapq.heappop(self._ready)
        return None

    def _next(self, now: int, only: str | None) -> tuple[_Task | None, bool]:
        """Return the task that is next, taken out of the queue, and whether no other is due;
        None where there is none, or another than `only` is the next.
        """
        # as in most ticks: nothing has to be put in order, and at the beginning of a tick every line costs
        if len(self._tasks) == 1:
            (task,) = self._tasks.values()
            if task.due > now or (only is not None and task.name != only):
                return None, True
            self._ready.clear()
            self._later.clear()
            return task, True
        self._wake(now)
        first = self._first()
        if first is None or (only is not None and first.name != only):
            return None, True
        heapq.heappop(self._ready)
        return first, self._first() is None

    def state(self) -> dict[str, NDArray[Any]]:
        """Return where each task is in the queue, as named arrays;
        what the tasks do is saved by their owners.
        """
        tasks = {
            f"task/{name}": np.array([task.due, task.since, task.turn], dtype=np.int64)
            for name, task in sorted(self._tasks.items())
        }
        return {**tasks, "turns": np.array([self._turns], dtype=np.int64)}

    def expect(self, state: Arrays | Saved) -> None:
        """Say which tasks there were in a state, before their owners take back theirs: one that had nothing
        left to do is a task until its next slice.
        """
        self.expected = frozenset(Saved.of(state).below("task/").names())

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave, once the owners have registered the same tasks again.

        Raises
        ------
        SavedError
            If other tasks are registered than were then, or a number cannot be.
        """
        saved = Saved.of(state)
        places, turns = saved.below("task/"), saved.whole("turns", 0, MOST)
        wanted = set(places.names())
        is_same = wanted == self._tasks.keys()
        places.require(
            is_same, "", f"has {_listed(wanted)}, but what is to be done is {_listed(self._tasks)}"
        )
        numbers = {
            name: places.take(name, "i8", (3,), low=0, high=[MOST, MOST, turns]) for name in self._tasks
        }
        is_one = len({int(number[2]) for number in numbers.values()}) == len(numbers)
        places.require(is_one, "", "has two tasks with one turn")
        self._ready, self._later = [], []
        for name, task in self._tasks.items():
            task.due, task.since, task.turn = numbers[name].tolist()
            heapq.heappush(self._later, (task.due, task.turn, task))
        self._turns = turns


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


class Budget(ABC):
    """Says how much long work a tick does, and on whose account it is done before planning begins;
    see `crowdsim.simulation.budget`.

    Parameters
    ----------
    tasks : Slicer
    planning, ground : int
        Places of the planning system, and of the one that changes the ground, in the readings of a tick.
    clock : callable
        Returns nanoseconds.

    Attributes
    ----------
    counts_answers : bool
        Whether requests and answers are work too, which they are unless nobody has said how much there may
        be: many answers can come out of one tree that has grown already.
    is_timed : bool
        Whether a clock decides, or has.
    """

    counts_answers: bool
    is_timed: ClassVar[bool] = False

    def __init__(
        self, tasks: Slicer, planning: int, ground: int, clock: Callable[[], int] = time.perf_counter_ns
    ) -> None:
        self.tasks = tasks
        self._planning, self._ground, self._clock = planning, ground, clock
        self._meter: Meter | None = None  # of a tick with slices before planning began
        self._early, self._early_ns, self._began = NOTHING, 0, 0

    @abstractmethod
    def _meter_of(self, tick: int) -> Meter:
        """Return what says when the slices of a tick are over."""

    def hurry(self, tick: int, name: str) -> None:
        """Let a task have slices before planning begins, on its account:
        until it is done, is not the next any more, or the slices of the tick are over.

        This is for what changes the ground: it has to be done between two ticks, not in the middle of one.
        """
        began = self._clock()
        if self._meter is None:
            self._meter = self._meter_of(tick)
        spent = self.tasks.run(tick, self._meter, name)
        self._early = _both(self._early, spent)
        self._early_ns += self._clock() - began

    def begin(self) -> None:
        """Note that planning begins: what it takes from now on is on its account."""
        self._began = self._clock()

    def spend(self, tick: int) -> Spent:
        """Let the tasks have the slices of this tick that are left; return all of them."""
        meter, early = self._meter, self._early
        if meter is None:
            return self.tasks.run(tick, self._meter_of(tick))
        self._meter, self._early = None, NOTHING
        return _both(early, self.tasks.run(tick, meter))

    def note(self, readings: NDArray[np.int64]) -> None:
        """Take the clock readings of a tick that is over, ns, shape (systems,),
        and put those of what hurried on the account of planning.
        """
        if self._early_ns:
            readings[self._planning] += self._early_ns
            readings[self._ground] -= self._early_ns
            self._early_ns = 0


def _both(early: Spent, late: Spent) -> Spent:
    """Return the sum of two parts of a tick."""
    return Spent(
        early.slices + late.slices, early.granted + late.granted, early.used + late.used, late.oldest_ticks
    )
