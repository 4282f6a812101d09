"""A team of threads that runs one kernel on ranges of rows.

Kernels release the interpreter lock and write only the rows of their own range, so that the number of threads
changes nothing but the time. Python threads are used instead of numba's parallel loops: the kernels are
compiled once instead of twice, each simulation has a team of its own, and a process that has run a team can
still be forked (no thread of a threading layer is left behind in a half-locked state).

A range is handed over by letting a lock go that its thread waits for. Futures of a pool do the same with a
queue and a condition, and take twice as long.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from numbers import Integral
from time import perf_counter_ns
from typing import Any

from crowdsim.errors import CrowdsimError

# What a range has to take to be given to a thread of its own, ns: handing it over takes 15 to 30 us. Smaller
# splits tiny scenes, larger idles cores.
WORTH_NS = 40_000
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
        self._row_ns: dict[Callable[..., Any], float] = {}  # what a row took lately, by kernel

    def run(
        self, kernel: Callable[..., Any], rows: int, *arguments: Any, at_least: int | None = None
    ) -> list[Any]:
        """Call ``kernel(start, stop, *arguments)`` on ranges that cover ``range(rows)``;
        return what the calls returned, in row order.

        Ranges have `at_least` so many rows; where that is not said, so many that handing them over is worth
        it, as the kernel was measured in its last calls.

        If calls raise, the exception of the first of them in row order is raised once all have ended: nothing
        goes on writing behind the caller's back.
        """
        if self.threads == 1:
            return [kernel(0, rows, *arguments)]
        if at_least is not None:
            parts = min(self.threads, rows // at_least)
        elif WORTH_NS:
            parts = min(self.threads, rows, int(rows * self._row_ns.get(kernel, 0.0) / WORTH_NS))
        else:
            parts = min(self.threads, rows)
        # a kernel that itself uses the team finds its helpers at work
        if parts < 2 or not self._is_out.acquire(blocking=False):
            began = perf_counter_ns()
            values = [kernel(0, rows, *arguments)]
            if at_least is None:
                self._note(kernel, rows, perf_counter_ns() - began)
            return values
        try:
            bounds = [rows * part // parts for part in range(parts + 1)]
            ranges = [_Range(kernel, bounds[part], bounds[part + 1], arguments) for part in range(1, parts)]
            own = _Range(kernel, bounds[0], bounds[1], arguments)
            for helper, given in zip(self._team_of(parts - 1), ranges, strict=True):
                helper.give(given)
            began = perf_counter_ns()
            own.do()
            if at_least is None:
                self._note(kernel, bounds[1], perf_counter_ns() - began)
            for given in ranges:
                given.do()  # what no thread has begun is done here: it may have no core
            interrupt = _wait(ranges)
        finally:
            self._is_out.release()
        for done in (own, *ranges):
            if done.error is not None:
                raise done.error
        if interrupt is not None:
            raise interrupt
        return [own.value, *(given.value for given in ranges)]

    def _note(self, kernel: Callable[..., Any], rows: int, taken_ns: int) -> None:
        """Learn what a row takes. A call that waited for a core counts a little."""
        if rows:
            before, now = self._row_ns.get(kernel, 0.0), taken_ns / rows
            self._row_ns[kernel] = 0.75 * before + 0.25 * min(now, 2.0 * before) if before else now

    def _team_of(self, count: int) -> list[_Helper]:
        """Return so many threads that wait for work."""
        if self._owner != os.getpid():  # a forked child has the objects but not their threads
            self._helpers, self._owner = [], os.getpid()
            self._finalizer = weakref.finalize(self, _dismiss, self._helpers, self._owner)
        while len(self._helpers) < count:
            self._helpers.append(_Helper())
        return self._helpers[:count]

    def close(self) -> None:
        """Stop the threads; the team can be used again and then starts new ones."""
        if self._helpers:
            self._finalizer()
        self._helpers, self._owner = [], 0


class _Range:
    """One call of a kernel, done by the first thread that comes to it.

    Attributes
    ----------
    value : any
        What the call returned.
    error : BaseException or None
        What it raised.
    """

    __slots__ = ("_call", "_free", "_open", "error", "value")

    def __init__(self, kernel: Callable[..., Any], start: int, stop: int, arguments: tuple[Any, ...]) -> None:
        self._call = kernel, start, stop, arguments
        self._free, self._open = threading.Lock(), threading.Lock()
        self._open.acquire()
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
                self._open.release()

    def wait(self) -> None:
        """Wait until it is done."""
        self._open.acquire()
        self._open.release()


def _wait(ranges: list[_Range]) -> KeyboardInterrupt | None:
    """Wait until all are done; return a Ctrl-C that came meanwhile."""
    interrupt = None
    for given in ranges:
        while True:
            try:
                given.wait()
                break
            except KeyboardInterrupt as pressed:
                interrupt = pressed
    return interrupt


class _Helper:
    """A thread that waits for ranges."""

    def __init__(self) -> None:
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
        try:
            self._bell.release()
        except RuntimeError:  # it has not heard the last one yet
            return

    def _work(self) -> None:
        while True:
            self._bell.acquire()
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
