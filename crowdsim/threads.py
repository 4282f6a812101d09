"""A team of threads that runs one kernel on ranges of rows.

Kernels release the interpreter lock and write only the rows of their own range, so that the number of threads changes nothing but the time.
Python threads are used instead of numba's parallel loops: the kernels are compiled once instead of twice, each simulation has a team of its
own, and a process that has run a team can still be forked (no thread of a threading layer is left behind in a half-locked state).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

# Handing a range to a thread costs some 30 us, the time of about 100 agents' avoidance. Smaller splits tiny scenes, larger idles cores.
MINIMUM_ROWS_PER_THREAD = 512


class Team:
    """Run kernels on row ranges with a fixed number of threads.

    Parameters
    ----------
    threads : int, >= 1
        Threads that work at once, the calling one included.
    """

    def __init__(self, threads: int = 1) -> None:
        if threads < 1:
            raise ValueError(f"threads is {threads}, but at least one is needed")
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._owner = 0

    def run(self, kernel: Callable[..., Any], rows: int, *arguments: Any, at_least: int = MINIMUM_ROWS_PER_THREAD) -> list[Any]:
        """Call ``kernel(start, stop, *arguments)`` on ranges that cover ``range(rows)``; return what the calls returned, in row order."""
        parts = max(1, min(self.threads, rows // at_least))
        if parts == 1:
            return [kernel(0, rows, *arguments)]
        bounds = [rows * part // parts for part in range(parts + 1)]
        pool = self._workers()
        futures = [pool.submit(kernel, bounds[part], bounds[part + 1], *arguments) for part in range(1, parts)]
        first = kernel(bounds[0], bounds[1], *arguments)
        return [first, *(future.result() for future in futures)]

    def _workers(self) -> ThreadPoolExecutor:
        if self._pool is None or self._owner != os.getpid():  # a forked child has the object but not its threads
            self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="crowdsim")
            self._owner = os.getpid()
        return self._pool

    def close(self) -> None:
        """Stop the threads; the team can be used again and then starts new ones."""
        if self._pool is not None and self._owner == os.getpid():
            self._pool.shutdown()
        self._pool = None
