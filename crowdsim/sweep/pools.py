"""What does the runs of a sweep on this machine: threads that ask one run server.
It takes tasks and gives futures, as executors do, and so does a `crowdsim.sweep.cluster.Cluster`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

from crowdsim.sweep.folder import Folder
from crowdsim.sweep.plan import Plan
from crowdsim.sweep.worker import RunServer, room_for_runs

# Tasks handed out for each worker: one that it does, and one that it finds when that has ended. More would
# only fill memory.
_WAITING = 2


class LocalPool(AbstractContextManager["LocalPool"]):
    """As many runs at once as there are workers, on this machine.

    Parameters
    ----------
    workers : int
    scratch : Path, optional
        As for `RunServer`.

    Attributes
    ----------
    places : int
        Tasks that may be handed out at a time; may change.
    """

    def __init__(self, workers: int, scratch: Path | None = None) -> None:
        self.places = _WAITING * workers
        self._workers = workers
        self._parent = scratch
        self._held = contextlib.ExitStack()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def ready(self) -> int:
        """Wait until there are workers; return how many runs go on at once."""
        return self._workers

    def begin(self, plan: Plan, folder: Folder) -> None:
        """Make sure that the workers can do the runs: make the scratch folder. The server is started at the
        first run.
        """
        scratch = self._held.enter_context(room_for_runs(self._parent)) if self._parent is not None else None
        self._threads = ThreadPoolExecutor(self._workers, thread_name_prefix="crowdsim-sweep")
        self._held.callback(self._threads.shutdown, cancel_futures=True)
        # Closed first: threads wait for it.
        self._server = self._held.enter_context(contextlib.closing(RunServer(scratch)))

    def submit(self, task: dict[str, Any]) -> Future[dict[str, Any]]:
        """Give a task to a thread."""
        return self._threads.submit(self._server.execute, task)

    def settle(self, task: Mapping[str, Any], future: Future[dict[str, Any]]) -> dict[str, Any] | None:
        """Return the result of a task that has ended; None if it is to be done again."""
        return future.result()

    def look(self) -> None:
        """Raise `ClusterError` if the workers are lost; called some five times a second.
        A server that is lost is started again by the next task.
        """

    def end(self) -> None:
        """End whatever goes on, and wait until it has."""
        self._held.close()
