"""A team of threads that runs one kernel on ranges of rows.

Kernels release the interpreter lock and write only the rows of their own range, so that the number of threads
changes nothing but the time. Python threads are used instead of numba's parallel loops: the kernels are
compiled once instead of twice, each simulation has a team of its own, and a process that has run a team can
still be forked (no thread of a threading layer is left behind in a half-locked state).

Ranges are taken in compiled code, without the interpreter lock (`crowdsim.kernels.ranges`), by threads that
look for the next one for a while after the last: the kernels of a tick follow each other closely. After that
while a thread sleeps, and is woken by the system, which takes 20 to 60 us.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable
from math import ceil
from numbers import Integral
from time import perf_counter_ns, thread_time_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.kernels import ranges
from crowdsim.kernels.compiling import KernelDispatcher
from crowdsim.kernels.waiting import look_ns, looks_in, serve

# What a range has to take to be given to a thread of its own, ns: that takes 3 to 7 us, or far more where the
# thread sleeps. Smaller wakes threads for tiny scenes, larger idles cores.
WORTH_NS = 10_000
# Where ranges take longer than this, ns, there are more than one for each thread, up to so many, and as many
# for one as for the other: some rows take longer than others, and cores are taken away for a while. A thread
# that is done early takes what is left. Shorter ranges cost what a kernel sets up for each, 1 to 2 us.
LONG_NS, RANGES_OF_A_THREAD = 50_000, 8
# How long a thread looks for its next range before it sleeps, ns. Larger takes processor time while nothing
# can be split, smaller has the system wake it more often. A thread that has worked for `BUSY` of the last
# `JUDGED_NS` looks for longer: with 3,000 agents a tick takes a tenth less time then, for a fifteenth more
# processor time. With 1,000 it would take a third more of that, and gain nothing. Nor does one look for long
# that was on a core for less than `ITS_CORE` of the time that it was awake: others are waiting for that.
AWAKE_NS, LONG_AWAKE_NS, BUSY, ITS_CORE, JUDGED_NS = 200_000, 1_000_000, 0.25, 0.75, 20_000_000
RESTS = 16  # It asks the clocks after so many times that it has slept.
# Of so many calls of a kernel that could be split, the last two are made in the manner that was slower.
# Smaller costs time, larger takes longer to see that something has changed. At first they are fewer: the
# first ticks of a run, in which agents get their paths, are like none of the later ones. Where the calling
# thread alone takes `CLEARLY` times as long, it is tried seldom: the last two calls of a hundred would cost
# 2 % of all of them, and were threads to get slower, that is seen without.
TRIED_EVERY, TRIED_FIRST, TRIED_SELDOM, CLEARLY = 100, 10, 1000, 1.4
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
        self._control: NDArray[np.int64] = np.zeros(ranges.WORDS, dtype=np.int64)
        self._address: int = 0
        self._is_out: Any = threading.Lock()  # held while ranges are in the control block
        self._paces: defaultdict[object, _Paces] = defaultdict(_Paces)  # by kernel

    def run(
        self,
        kernel: Callable[..., Any],
        rows: int,
        *arguments: Any,
        at_least: int | None = None,
        work: int | None = None,
    ) -> list[Any]:
        """Call ``kernel(start, stop, *arguments)`` on ranges that cover ``range(rows)``;
        return what the calls returned, in row order.

        Ranges have `at_least` so many rows. Where that is not said, rows are split where that was faster in
        the last calls of the kernel with about as much to do: `work`, where that is not the number of rows.
        There may be several ranges for each thread: one that is done early takes another. What is no kernel
        is called once, with all rows.

        If calls raise, the exception of the first of them in row order is raised once all have ended: nothing
        goes on writing behind the caller's back.
        """
        if self.threads == 1 or not isinstance(kernel, KernelDispatcher):
            return [kernel(0, rows, *arguments)]
        pace, work = None, rows if work is None else work
        if at_least is None and WORTH_NS:
            pace = self._paces[kernel].of(work)
            parts = pace.parts(rows, work, self.threads)
        elif at_least is not None:
            parts = min(RANGES_OF_A_THREAD * self.threads, rows // at_least)
        else:
            parts = min(self.threads, rows)
        began = perf_counter_ns()
        # another thread may be at work with the same team
        if parts < 2 or not self._is_out.acquire(blocking=False):
            values = [kernel(0, rows, *arguments)]
            if pace is not None:
                pace.note(work, perf_counter_ns() - began, is_split=False)
            return values
        try:
            control = self._control_for(parts)
            values = kernel.on_team(control, rows, *arguments)
            if pace is not None:
                pace.note(work, perf_counter_ns() - began, is_split=True)
        finally:
            self._is_out.release()
        return values

    def _control_for(self, parts: int) -> int:
        """Have threads awake for so many ranges, and return where the control block is."""
        if self._owner != os.getpid():  # a forked child has the objects but not their threads
            self._owner, self._helpers = os.getpid(), []
            self._control = np.zeros(ranges.WORDS, dtype=np.int64)
            self._address = int(self._control.ctypes.data)
            self._finalizer = weakref.finalize(self, _dismiss, self._helpers, self._control, self._owner)
        helpers = min(parts, self.threads) - 1
        while len(self._helpers) < helpers:
            # with fewer cores than threads, one that looks takes the core of one that works
            self._helpers.append(_Helper(self._control, may_look=self.threads <= available_cores()))
        self._control[ranges.PARTS] = parts
        for helper in self._helpers[:helpers]:
            helper.wake()
        return self._address

    def close(self) -> None:
        """Stop the threads; the team can be used again and then starts new ones."""
        if self._helpers:
            self._finalizer()
        self._helpers, self._owner = [], 0


class _Paces:
    """What is known of a kernel, by how much there was to do, in powers of two.

    A call of two rows says nothing about one of two thousand: what a kernel sets up is most of it, and
    handing rows over costs more than it gives.
    """

    __slots__ = ("_by_size",)

    def __init__(self) -> None:
        self._by_size: dict[int, _Pace] = {}

    def of(self, work: int) -> _Pace:
        """Return what is known of calls with about so much to do."""
        size = work.bit_length()
        pace = self._by_size.get(size)
        if pace is None:
            # so that the first long call is not made alone, to find out that it is long
            nearest = min(self._by_size, key=lambda other: abs(other - size), default=size)
            known = self._by_size.get(nearest)
            pace = self._by_size[size] = _Pace(known.alone_ns if known is not None else 0.0)
        return pace


class _Pace:
    """What a row, or a piece of work, took in the last calls of a kernel: by the calling thread alone, and
    split.

    Which is faster depends on the kernel and the machine: on what else runs there, and on whose caches hold
    the rows. A thousand agents fit into those of one core.

    Parameters
    ----------
    alone_ns : float, ns
        What it takes the calling thread, as far as is known; 0 is not known.
    """

    __slots__ = ("_calls", "_every", "_in_turn", "_split_ns", "_was_split", "alone_ns")

    def __init__(self, alone_ns: float = 0.0) -> None:
        self.alone_ns, self._split_ns = alone_ns, 0.0
        self._every = TRIED_FIRST
        # Both are tried once more soon: the first calls load the kernel, where nothing is known of it.
        self._calls = 0 if alone_ns else TRIED_FIRST - 4
        self._was_split, self._in_turn = False, 0  # the last calls were made in one manner, so many of them

    def parts(self, rows: int, work: int, threads: int) -> int:
        """Return in how many ranges to split rows with so much work in them: one for each thread, where that
        is worth it, and more where ranges would be long.
        """
        taken_ns = work * self.alone_ns
        parts = min(threads, rows, int(taken_ns / WORTH_NS))
        if parts == threads:  # of three ranges, one of two threads would do two
            of_a_thread = min(RANGES_OF_A_THREAD, ceil(taken_ns / (LONG_NS * threads)))
            parts = min(rows, of_a_thread * threads)
        if parts < 2 or not self._split_ns:
            return parts
        self._calls += 1
        if self._calls == self._every:
            is_clear = self.alone_ns > CLEARLY * self._split_ns
            self._calls, self._every = 0, min(2 * self._every, TRIED_SELDOM if is_clear else TRIED_EVERY)
        is_trial = self._calls >= self._every - 2
        return parts if (self._split_ns <= self.alone_ns) != is_trial else 1

    def note(self, work: int, taken_ns: int, *, is_split: bool) -> None:
        """Learn from a call. One that waited for a core counts a little.

        What a piece of work takes changes while a run goes on, so that what was found about the other manner
        hundreds of calls ago says little: the first two calls in a manner stand for themselves.
        """
        if not work:
            return
        before, now = self._split_ns if is_split else self.alone_ns, taken_ns / work
        self._in_turn = self._in_turn + 1 if is_split == self._was_split else 1
        self._was_split = is_split
        mean = now if not before else min(now, 2.0 * before)
        if before and self._in_turn == 2:
            mean = min(before, now)
        elif before and self._in_turn > 2:
            mean = 0.875 * before + 0.125 * mean
        if is_split:
            self._split_ns = mean
        else:
            self.alone_ns = mean


class _Patience:
    """How often a thread looks for its next range before it sleeps: oftener where it has had much to do.

    Parameters
    ----------
    now_ns, spent_ns : int, ns
        The clock, and the processor time of the thread, which is without what it waits for a core.

    Attributes
    ----------
    looks : int
    """

    def __init__(self, now_ns: int, spent_ns: int) -> None:
        self.looks = looks_in(AWAKE_NS)
        self._since_ns, self._spent_ns = now_ns, spent_ns

    def judge(self, vain: int, awake_ns: int, now_ns: int, spent_ns: int) -> bool:
        """Learn that so many looks were in vain since this last said something, and how long the thread was
        awake; return whether it says something now, after `JUDGED_NS`. What the thread has done on a core
        besides was work.
        """
        passed_ns = now_ns - self._since_ns
        if passed_ns < JUDGED_NS:
            return False
        on_core_ns = spent_ns - self._spent_ns
        is_busy = on_core_ns - vain * look_ns() >= BUSY * passed_ns and on_core_ns >= ITS_CORE * awake_ns
        self.looks = looks_in(LONG_AWAKE_NS if is_busy else AWAKE_NS)
        self._since_ns, self._spent_ns = now_ns, spent_ns
        return True


class _Helper:
    """A thread that takes ranges.

    Parameters
    ----------
    control : (WORDS,) int64
        Of its team.
    may_look : bool
        Whether it looks for the next range for a while, before it sleeps.
    """

    def __init__(self, control: NDArray[np.int64], *, may_look: bool) -> None:
        self._control, self._may_look = control, may_look
        self._sleeps = False
        self._bell = threading.Lock()  # let go: there is something to do
        self._bell.acquire()
        self._thread = threading.Thread(target=self._work, name="crowdsim", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """See that it looks for ranges. One that it does not come to is done by others."""
        if self._sleeps:
            self._sleeps = False
            with contextlib.suppress(RuntimeError):  # it has not heard the last one yet
                self._bell.release()

    def join(self) -> None:
        """Wait until it has ended."""
        if self._thread is not threading.current_thread():  # which may be the one that drops a team
            self._thread.join()

    def _work(self) -> None:
        control, vain, awake_ns, rests = self._control, 0, 0, 0
        patience, looks, most = None, 1, 2
        if self._may_look:
            patience, most = _Patience(perf_counter_ns(), thread_time_ns()), looks_in(JUDGED_NS)
            looks = patience.looks
        while not control[ranges.STOP]:
            began = perf_counter_ns()
            in_turn = serve(control, looks, most)
            now = perf_counter_ns()
            vain, awake_ns, rests = vain + in_turn, awake_ns + now - began, rests + 1
            # now and then: it holds the interpreter lock meanwhile
            if patience is not None and (rests == RESTS or in_turn >= most):
                rests = 0
                if patience.judge(vain, awake_ns, now, thread_time_ns()):
                    vain, awake_ns, looks = 0, 0, patience.looks
            if in_turn >= most:
                continue
            self._sleeps = True
            # A call that came since `serve` looked last saw a thread that was awake. Later ones wake it: its
            # caller needs the interpreter lock to look, and holds it until the call is in the control block.
            if control[ranges.STOP] or control[ranges.TICKET] & _LEFT:
                self._sleeps = False
                continue
            self._bell.acquire()


_LEFT = (1 << ranges.LEFT_BITS) - 1


def _dismiss(helpers: list[_Helper], control: NDArray[np.int64], owner: int) -> None:
    """End the threads of a team; those of the process that this one was forked from are not here."""
    if owner == os.getpid():
        control[ranges.STOP] = 1
        for helper in helpers:
            helper.wake()
        for helper in helpers:
            helper.join()
    helpers.clear()


ALONE = Team(1)  # the calling thread and no other
