"""A team of threads that runs one kernel on ranges of rows.

Kernels release the interpreter lock and write only the rows of their own range, so that the number of threads
changes nothing but the time. Python threads are used instead of numba's parallel loops: the kernels are
compiled once instead of twice, each simulation has a team of its own, and a process that has run a team can
still be forked (no thread of a threading layer is left behind in a half-locked state).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from numbers import Integral
from typing import Any

from crowdsim.errors import CrowdsimError

# Handing a range to a thread costs some 30 us, the time of about 100 agents' avoidance. Smaller splits tiny
# scenes, larger idles cores.
MINIMUM_ROWS_PER_THREAD = 512
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
        self._pool: ThreadPoolExecutor | None = None
        self._owner: int = 0

    def run(
        self, kernel: Callable[..., Any], rows: int, *arguments: Any, at_least: int = MINIMUM_ROWS_PER_THREAD
    ) -> list[Any]:
        """Call ``kernel(start, stop, *arguments)`` on ranges that cover ``range(rows)``;
        return what the calls returned, in row order.

        If calls raise, the exception of the first of them in row order is raised once all have ended: nothing
        goes on writing behind the caller's back.
        """
        parts = min(self.threads, rows // at_least) if self.threads > 1 else 1
        if parts < 2:
            return [kernel(0, rows, *arguments)]
        bounds = [rows * part // parts for part in range(parts + 1)]
        pool = self._workers()
        futures = [
            pool.submit(kernel, bounds[part], bounds[part + 1], *arguments) for part in range(1, parts)
        ]
        outcomes = [_outcome(kernel, bounds[0], bounds[1], arguments)]
        for part, future in enumerate(futures, 1):
            # A range that no thread has begun is done here. So no caller waits for work that no thread does,
            # even where a kernel uses the team again.
            own = future.cancel()
            outcomes.append(
                _outcome(kernel, bounds[part], bounds[part + 1], arguments) if own else _outcome_of(future)
            )
        for _, error in outcomes:
            if error is not None:
                raise error
        return [value for value, _ in outcomes]

    def _workers(self) -> ThreadPoolExecutor:
        # a forked child has the object but not its threads
        if self._pool is None or self._owner != os.getpid():
            self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="crowdsim")
            self._owner = os.getpid()
        return self._pool

    def close(self) -> None:
        """Stop the threads; the team can be used again and then starts new ones."""
        if self._pool is not None and self._owner == os.getpid():
            self._pool.shutdown()
        self._pool = None


_Outcome = tuple[Any, BaseException | None]


def _outcome(kernel: Callable[..., Any], start: int, stop: int, arguments: tuple[Any, ...]) -> _Outcome:
    """Return what a call returned, or the exception that it raised."""
    try:
        return kernel(start, stop, *arguments), None
    except BaseException as error:  # Ctrl-C too waits for the others
        return None, error


def _outcome_of(future: Future[Any]) -> _Outcome:
    """Return the same of a call that another thread has begun; Ctrl-C is kept until that has ended."""
    interrupt: BaseException | None = None
    while True:
        try:
            error = future.exception() or interrupt
            return (None, error) if error is not None else (future.result(), None)
        except KeyboardInterrupt as pressed:
            interrupt = pressed
