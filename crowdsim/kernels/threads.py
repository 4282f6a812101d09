"""A team of threads that runs one kernel on ranges of rows.

Kernels release the interpreter lock and write only the rows of their own range, so that the number of threads
changes nothing but the time. Python threads are used instead of numba's parallel loops: the kernels are
compiled once instead of twice, each simulation has a team of its own, and a process that has run a team can
still be forked (no thread of a threading layer is left behind in a half-locked state).

A range is handed over by a number that its thread looks at again and again, in compiled code and without
the interpreter lock, for a while after its last range: the kernels of a tick follow each other closely. A
thread that sleeps has to be woken by the system, which takes 20 to 60 us and may put it on the core of the
thread that waits for it. After that while it sleeps all the same, and is woken by letting a lock go.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable
from numbers import Integral
from time import perf_counter_ns
from types import FunctionType
from typing import Any

import numpy as np

from crowdsim.errors import CrowdsimError
from crowdsim.kernels.waiting import looks_in, watch

# What a range has to take to be given to a thread of its own, ns: handing it over takes 5 to 15 us. Smaller
# splits tiny scenes, larger idles cores.
WORTH_NS = 30_000
# How long a thread looks for its next range before it sleeps, ns. Larger takes processor time while nothing
# can be split, smaller has the system wake it more often.
AWAKE_NS = 50_000
# And how long one looks for the end of the others' ranges: it has nothing else to do.
WAIT_NS = 200_000
# Of so many calls of a kernel that could be split, the last two are made in the manner that was slower.
# Smaller costs time, larger takes longer to see that something has changed.
TRIED_EVERY = 100
# Far above the cores of any machine we know; more is a slip of the finger, and would ask the system for as
# many stacks.
MOST_THREADS = 1024


def available_cores() -> int:
    """Return how many cores this process may use:
    what a batch system or `taskset` leaves it, not what the machine has.
    """
    return len(os.sched_getaffinity(0))


class Team:
    """Run kernels on row ranges with a fixed number of threads.

    Parameters
    ----------
    threads : int, >= 0
        Threads that work at once, the calling one included; 0 is one for each core that this process may use.

    Raises
    ------
    CrowdsimError
        If the number makes no sense.
    """

    def __init__(self, threads: int = 1) -> None:
        if isinstance(threads, bool) or not isinstance(threads, Integral) or not 0 <= threads <= MOST_THREADS:
            raise CrowdsimError(
                f"threads is {threads!r}, but must be a whole number from 1 to {MOST_THREADS:,}, or 0 for "
                "one for each core."
            )
        self.threads: int = int(threads) or available_cores()
        self._helpers: list[_Helper] = []
        self._owner: int = 0
        self._finalizer: Callable[[], Any] = self._helpers.clear
        self._is_out: Any = threading.Lock()  # held while ranges are with the helpers
        self._paces: defaultdict[object, _Pace] = defaultdict(_Pace)  # by kernel

    def run(
        self, kernel: Callable[..., Any], rows: int, *arguments: Any, at_least: int | None = None
    ) -> list[Any]:
        """Call ``kernel(start, stop, *arguments)`` on ranges that cover ``range(rows)``;
        return what the calls returned, in row order.

        Ranges have `at_least` so many rows. Where that is not said, rows are split where that was faster in
        the last calls of the kernel.

        If calls raise, the exception of the first of them in row order is raised once all have ended: nothing
        goes on writing behind the caller's back.
        """
        if self.threads == 1:
            return [kernel(0, rows, *arguments)]
        # of functions that are made anew for each call, by their code
        pace = None if at_least is not None or not WORTH_NS else self._paces[_code_of(kernel)]
        parts = min(self.threads, rows if at_least is None else rows // at_least)
        if pace is not None:
            parts = pace.parts(rows, parts)
        began = perf_counter_ns()
        # a kernel that itself uses the team finds its helpers at work
        if parts < 2 or not self._is_out.acquire(blocking=False):
            values = [kernel(0, rows, *arguments)]
            if pace is not None:
                pace.note(rows, perf_counter_ns() - began, is_split=False)
            return values
        try:
            bounds = [rows * part // parts for part in range(parts + 1)]
            ranges = [_Range(kernel, bounds[part], bounds[part + 1], arguments) for part in range(1, parts)]
            own = _Range(kernel, bounds[0], bounds[1], arguments)
            for helper, given in zip(self._team_of(parts - 1), ranges, strict=True):
                helper.give(given)
            own.do()
            for given in ranges:
                given.do()  # what no thread has begun is done here: it may have no core
            interrupt = _wait(ranges, looks_in(WAIT_NS) if self._helpers[0].looks else 0)
            if pace is not None:
                pace.note(rows, perf_counter_ns() - began, is_split=True)
        finally:
            self._is_out.release()
        for done in (own, *ranges):
            if done.error is not None:
                raise done.error
        if interrupt is not None:
            raise interrupt
        return [own.value, *(given.value for given in ranges)]

    def _team_of(self, count: int) -> list[_Helper]:
        """Return so many threads that wait for work."""
        if self._owner != os.getpid():  # a forked child has the objects but not their threads
            self._helpers, self._owner = [], os.getpid()
            self._finalizer = weakref.finalize(self, _dismiss, self._helpers, self._owner)
        while len(self._helpers) < count:
            # with fewer cores than threads, one that looks takes the core of one that works
            self._helpers.append(_Helper(looks_in(AWAKE_NS) if self.threads <= available_cores() else 0))
        return self._helpers[:count]

    def close(self) -> None:
        """Stop the threads; the team can be used again and then starts new ones."""
        if self._helpers:
            self._finalizer()
        self._helpers, self._owner = [], 0


def _code_of(kernel: Callable[..., Any]) -> object:
    return kernel.__code__ if isinstance(kernel, FunctionType) else kernel


class _Pace:
    """What a row took in the last calls of a kernel: by the calling thread alone, and split.

    Which is faster depends on the kernel and the machine: on what else runs there, and on whose caches hold
    the rows. A thousand agents fit into those of one core.
    """

    __slots__ = ("_alone_ns", "_calls", "_split_ns")

    def __init__(self) -> None:
        self._alone_ns = self._split_ns = 0.0  # 0 is not known
        self._calls = 0

    def parts(self, rows: int, most: int) -> int:
        """Return in how many ranges to split rows, `most` at most."""
        parts = min(most, int(rows * self._alone_ns / WORTH_NS))
        if parts < 2 or not self._split_ns:
            return parts
        self._calls = (self._calls + 1) % TRIED_EVERY
        is_trial = self._calls >= TRIED_EVERY - 2
        return parts if (self._split_ns <= self._alone_ns) != is_trial else 1

    def note(self, rows: int, taken_ns: int, *, is_split: bool) -> None:
        """Learn from a call. One that waited for a core counts a little."""
        if rows:
            before, now = self._split_ns if is_split else self._alone_ns, taken_ns / rows
            mean = 0.75 * before + 0.25 * min(now, 2.0 * before) if before else now
            if is_split:
                self._split_ns = mean
            else:
                self._alone_ns = mean


class _Range:
    """One call of a kernel, done by the first thread that comes to it.

    Attributes
    ----------
    value : any
        What the call returned.
    error : BaseException or None
        What it raised.
    """

    __slots__ = ("_call", "_free", "_is_done", "_open", "error", "value")

    def __init__(self, kernel: Callable[..., Any], start: int, stop: int, arguments: tuple[Any, ...]) -> None:
        self._call = kernel, start, stop, arguments
        self._free, self._open = threading.Lock(), threading.Lock()
        self._open.acquire()
        self._is_done = np.zeros(1, dtype=np.int64)
        self.value: Any = None
        self.error: BaseException | None = None

    def do(self) -> None:
        """Do it, unless another thread has begun."""
        if self._free.acquire(blocking=False):
            kernel, start, stop, arguments = self._call
            try:
                self.value = kernel(start, stop, *arguments)
            except BaseException as error:  # Ctrl-C too waits for the others
                self.error = error
            finally:
                self._is_done[0] = 1
                self._open.release()

    def wait(self, looks: int) -> None:
        """Wait until it is done, and look so many times before sleeping."""
        if looks and not self._is_done[0]:
            watch(self._is_done, 0, looks)
        self._open.acquire()
        self._open.release()


def _wait(ranges: list[_Range], looks: int) -> KeyboardInterrupt | None:
    """Wait until all are done; return a Ctrl-C that came meanwhile."""
    interrupt = None
    for given in ranges:
        while True:
            try:
                given.wait(looks)
                break
            except KeyboardInterrupt as pressed:
                interrupt = pressed
    return interrupt


class _Helper:
    """A thread that waits for ranges.

    Parameters
    ----------
    looks : int
        How many times it looks for the next one before it sleeps; 0 sleeps at once.
    """

    def __init__(self, looks: int) -> None:
        self.looks = looks
        self._number = np.zeros(1, dtype=np.int64)  # of ranges given so far
        self._sleeps = False
        self._bell = threading.Lock()  # let go: there is something to do
        self._bell.acquire()
        self._given: _Range | None = None
        self._thread = threading.Thread(target=self._work, name="crowdsim", daemon=True)
        self._thread.start()

    def give(self, given: _Range) -> None:
        """Have it do a range. One that it has not come to is done by then, or never needed."""
        self._given = given
        self._ring()

    def stop(self) -> None:
        """End the thread."""
        self._given = None
        self._ring()
        if self._thread is not threading.current_thread():  # which may be the one that drops a team
            self._thread.join()

    def _ring(self) -> None:
        self._number[0] += 1
        if self._sleeps:
            try:
                self._bell.release()
            except RuntimeError:  # it has not heard the last one yet
                return

    def _work(self) -> None:
        known = 0
        while True:
            if self.looks:
                watch(self._number, known, self.looks)
            self._sleeps = True  # before it looks once more: else a range that comes now would wake nobody
            while self._number[0] == known:
                self._bell.acquire()
            self._sleeps = False
            known = int(self._number[0])
            given = self._given
            if given is None:
                return
            given.do()


def _dismiss(helpers: list[_Helper], owner: int) -> None:
    """End the threads of a team; those of the process that this one was forked from are not here."""
    if owner == os.getpid():
        for helper in helpers:
            helper.stop()
    helpers.clear()


ALONE = Team(1)  # the calling thread and no other
