"""What does the runs of a sweep: what takes tasks and gives futures, as executors do.
On this machine, threads that ask one run server.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from crowdsim.sweep.folder import Folder
from crowdsim.sweep.plan import Plan
from crowdsim.sweep.worker import RunServer, room_for_runs

# Tasks handed out for each worker: one that it does, and one that it finds when that has ended. More would
# only fill memory.
_WAITING = 2


class Pool(Protocol):
    """What `crowdsim.sweep.supervise.supervise` needs of workers."""

    def __enter__(self) -> Pool: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @property
    def places(self) -> int:
        """Tasks that may be handed out at a time; may change."""

    def ready(self) -> int:
        """Wait until there are workers; return how many runs go on at once."""

    def begin(self, plan: Plan, folder: Folder) -> None:
        """Make sure that the workers can do the runs; raise `ClusterError` where they cannot."""

    def submit(self, task: dict[str, Any]) -> Future[dict[str, Any]]:
        """Give a task to a worker."""

    def settle(self, task: Mapping[str, Any], future: Future[dict[str, Any]]) -> dict[str, Any] | None:
        """Return the result of a task that has ended; None if it is to be done again."""

    def look(self) -> None:
        """Raise `ClusterError` if the workers are lost; called some five times a second."""

    def end(self) -> None:
        """End whatever goes on, and wait until it has."""


class LocalPool(AbstractContextManager["LocalPool"]):
    """As many runs at once as there are workers, on this machine.

    Parameters
    ----------
    workers : int
    scratch : Path, optional
        As for `RunServer`.
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
        """Return the number of workers."""
        return self._workers

    def begin(self, plan: Plan, folder: Folder) -> None:
        """Make the scratch folder; the server is started at the first run."""
        scratch = self._held.enter_context(room_for_runs(self._parent)) if self._parent is not None else None
        self._threads = ThreadPoolExecutor(self._workers, thread_name_prefix="crowdsim-sweep")
        self._held.callback(self._threads.shutdown, cancel_futures=True)
        # Closed first: threads wait for it.
        self._server = self._held.enter_context(contextlib.closing(RunServer(scratch)))

    def submit(self, task: dict[str, Any]) -> Future[dict[str, Any]]:
        """Give a task to a thread."""
        return self._threads.submit(self._server.execute, task)

    def settle(self, task: Mapping[str, Any], future: Future[dict[str, Any]]) -> dict[str, Any] | None:
        """Return the result of a task."""
        return future.result()

    def look(self) -> None:
        """Do nothing: a server that is lost is started again by the next task."""

    def end(self) -> None:
        """End the server, and whatever runs in it."""
        self._held.close()
