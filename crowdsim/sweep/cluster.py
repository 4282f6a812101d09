"""The workers of dask.distributed as those of a sweep:
however they were started, a run there is what it is here, in a process of its own with its limits.

What dask does by itself, and what it is kept from: a task whose worker is lost is given to another one, which
is wanted, but how often is up to the scheduler; each attempt leaves a mark in the sweep's folder, and the
third loss of a run is its last. A worker's memory limit looks at the worker alone and does not know of the
runs, which have their own. Every task has a key of its own, so that no result of another sweep is taken for
it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import time
import uuid
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

from crowdsim.errors import ClusterError, CrowdsimError, needed
from crowdsim.sweep.cluster_worker import end_sweep, execute, mark_of, plugin_digest, refusal
from crowdsim.sweep.code import code_version, package_versions
from crowdsim.sweep.folder import Folder, write_whole
from crowdsim.sweep.plan import Plan
from crowdsim.sweep.worker import lost

CONNECT_SECONDS = 10.0
SILENT_SECONDS = 30.0  # A scheduler that is asked how many workers there are answers in milliseconds.
_ASK_SECONDS = 2.0
# For all workers to say whether they can do the runs; one that does not answer is asked again at its first
# task.
_CHECK_SECONDS = 30.0
_END_SECONDS = 15.0  # For runs to end when the sweep does.
# Tasks handed out for each thread of the workers, and at least so many in all, so that a cluster that grows
# with its work has a reason to:
_WAITING = 2
_LEAST_PLACES = 32
# Of a task, by the scheduler, because workers were lost on which it lay. Marks count the attempts; this ends
# it where none begins.
_MOST_RETURNS = 20


class Cluster(AbstractContextManager["Cluster"]):
    """The workers of a scheduler that is there already.

    Parameters
    ----------
    where : str
        Its address, such as ``tcp://10.0.0.1:8786``, or its scheduler file.
    patience : float, s
        How long to wait where there is no worker, at the beginning and later.
    scratch : Path, optional
        A folder on the workers' own disks in which runs write until they have ended; default: the workers'
        local directories.

    Raises
    ------
    CrowdsimError
        If dask's package is missing, or `where` is neither.
    ClusterError
        If no scheduler answers there.
    """

    def __init__(self, where: str, *, patience: float, scratch: Path | None = None) -> None:
        distributed = needed(
            "distributed",
            "clusters need dask: pip install 'crowdsim[cluster]'. On this machine, --workers N needs "
            "nothing more.",
        )
        self.address = address_of(where)
        self._scratch, self._patience = scratch, patience
        self._sweep = f"crowdsim-{uuid.uuid4().hex}"
        self._about: dict[str, Any] = {}
        self._returns: dict[str, int] = {}
        self._given = 0
        self._threads: dict[str, int] = {}
        self._asked: Future[dict[str, int]] | None = None
        self._asked_at, self._had_workers_at = 0.0, time.monotonic()
        self._quiet = contextlib.ExitStack()
        self._quiet.enter_context(_quiet())
        try:
            asyncio.run(asyncio.wait_for(_greet(self.address), CONNECT_SECONDS))
            self._client = distributed.Client(self.address, timeout=CONNECT_SECONDS, set_as_default=False)
        except Exception as error:  # What there is at an address may be anything.
            self._quiet.close()
            reason = " ".join(str(error).split()) or type(error).__name__
            answers = (
                f"no scheduler of dask answers within {CONNECT_SECONDS:g} s ({reason}). Start one with: "
                "dask scheduler."
            )
            raise ClusterError(f"{self.address}: {answers}") from None
        self._executor = self._client.get_executor(pure=False, retries=0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._quiet, contextlib.suppress(Exception):
            self._client.close(timeout=5.0)

    @property
    def places(self) -> int:
        """Tasks that are handed out at a time."""
        return max(_LEAST_PLACES, _WAITING * sum(self._threads.values()))

    def ready(self) -> int:
        """Wait until there is a worker; return how many runs go on at once.

        Raises
        ------
        ClusterError
            If there is none in time.
        """
        self._had_workers_at = time.monotonic()
        while not self._threads:
            self.look()
            time.sleep(0.05)
        return sum(self._threads.values())

    def begin(self, plan: Plan, folder: Folder) -> None:
        """Wait for workers, and let all that are there say whether they can do the runs.

        Raises
        ------
        ClusterError
            If there are none, or one cannot.
        """
        self._about = {
            "sweep": self._sweep,
            "folder": str(folder.path.resolve()),
            "code": code_version(),
            "versions": package_versions(),
            "plugins": {str(path.resolve()): plugin_digest(path) for path in plan.source.plugins},
        }
        write_whole(mark_of(folder, self._sweep), b"")
        self.ready()
        with contextlib.suppress(OSError):  # Too slow, or lost meanwhile, which `look` will say.
            said = self._client.sync(
                self._client._run, refusal, self._about, on_error="return", callback_timeout=_CHECK_SECONDS
            )
            wrong = [f"{worker} {_complaint(answer)}" for worker, answer in sorted(said.items()) if answer]
            if wrong:
                raise ClusterError("\n".join(["workers cannot do the runs:", *wrong]))

    def submit(self, task: dict[str, Any]) -> Future[dict[str, Any]]:
        """Give a task to whichever worker is free."""
        if self._client.status != "running":
            raise self._lost("the connection was lost")
        self._given += 1
        text = json.dumps({**task, "about": self._about, "scratch_parent": str(self._scratch or "")})
        return self._executor.submit(execute, text, key=f"{self._sweep}-{self._given}")

    def settle(self, task: Mapping[str, Any], future: Future[dict[str, Any]]) -> dict[str, Any] | None:
        """Return the result of a task; None if it is to be given once more.

        Raises
        ------
        ClusterError
            If the worker cannot do runs, or the scheduler is lost.
        """
        from distributed import KilledWorker

        try:
            answer = future.result()
        except CancelledError:
            raise self._lost("the connection was lost") from None
        except KilledWorker:
            self._returns[task["id"]] = self._returns.get(task["id"], 0) + 1
            if self._returns[task["id"]] < _MOST_RETURNS:
                return None
            return lost(task["id"], f"workers were lost {_MOST_RETURNS} times before the run began")
        except Exception as error:  # whatever happened to a worker before our part of it began
            raise ClusterError(f"workers cannot do the runs: a worker {_complaint(error)}") from None
        if "refused" in answer:
            raise ClusterError(f"workers cannot do the runs:\n{answer['refused']}")
        return answer.get("result")

    def look(self) -> None:
        """Ask the scheduler for its workers, and see whether it is there at all.

        Raises
        ------
        ClusterError
            If the connection is lost, the scheduler is silent, or there has been no worker for too long.
        """
        now = time.monotonic()
        if self._client.status != "running":
            raise self._lost("the connection was lost")
        if self._asked is None:
            if now - self._asked_at >= _ASK_SECONDS:
                client: Any = self._client
                self._asked = asyncio.run_coroutine_threadsafe(
                    client.scheduler.ncores(), client.loop.asyncio_loop
                )
                self._asked_at = now
        elif self._asked.done():
            with contextlib.suppress(OSError, CancelledError):
                self._threads = self._asked.result()
            self._asked = None
        elif now - self._asked_at > SILENT_SECONDS:
            raise self._lost(f"it has not answered for {SILENT_SECONDS:g} s")
        if self._threads:
            self._had_workers_at = now
        elif now - self._had_workers_at > self._patience:
            raise ClusterError(
                f"{self.address}: there has been no worker for {self._patience:g} s. Start some with: dask "
                f"worker {self.address}. "
                "What has finished is kept, and the same command goes on."
            )

    def end(self) -> None:
        """Take back what waits, end what runs, and wait until it has."""
        self._executor.shutdown(wait=False)
        if self._client.status == "running" and self._about:
            # Workers end runs that nobody wants by themselves, only later.
            with contextlib.suppress(Exception):
                self._client.sync(
                    self._client._run,
                    end_sweep,
                    self._sweep,
                    on_error="ignore",
                    callback_timeout=_END_SECONDS,
                )
        if self._about:
            # A network's file system looks again when a folder is opened.
            for place in ("results", "recordings", "logs"):
                with contextlib.suppress(OSError):
                    next((Path(self._about["folder"]) / place).iterdir(), None)

    def _lost(self, how: str) -> ClusterError:
        return ClusterError(
            f"{self.address}: the scheduler is lost: {how}. What has finished is kept, and the same command "
            "goes on."
        )


def address_of(where: str) -> str:
    """Return the address of a scheduler that is named by it, by host and port, or by the file that it wrote.

    Raises
    ------
    CrowdsimError
        If it is none of them, or the file has none.
    """
    if "://" in where:
        return where
    path = Path(where)
    if not path.exists():
        host, colon, port = where.rpartition(":")
        if colon and host and port.isdigit() and "/" not in where:
            return f"tcp://{where}"
        raise CrowdsimError(
            f"--cluster {where}: there is no such scheduler file, and it is no address either, for example "
            "tcp://10.0.0.1:8786."
        )
    try:
        address = json.loads(path.read_bytes())["address"]
    except (OSError, ValueError, TypeError, KeyError):
        address = None
    if not isinstance(address, str):
        raise CrowdsimError(
            f"--cluster {where}: is no scheduler file. One is written by: dask scheduler --scheduler-file "
            f"{where}."
        )
    return address


def _complaint(answer: Any) -> str:
    """Return what a worker said against doing runs, or what happened when it was asked."""
    # dask wraps what it cannot send
    missing = re.search(r"No module named '[\w.]+'|cannot import name '\w+'", str(answer))
    if missing is not None:
        return f"does not have this crowdsim ({missing[0]}). Install the same there."
    return answer if isinstance(answer, str) else f"failed ({type(answer).__name__}: {answer})."


async def _greet(address: str) -> None:
    """Find out whether a scheduler is there.
    dask's client would wait for ever for something else that takes its call, and leave half of itself.
    """
    from distributed.core import rpc
    from distributed.security import Security

    async with rpc(
        address, connection_args=Security().get_connection_args("client"), timeout=CONNECT_SECONDS
    ) as server:
        kind = (await server.identity())["type"]
        if kind != "Scheduler":
            raise OSError(f"it is a {kind.lower()}")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep dask, and its threads, from printing: what matters is said by errors."""
    loggers = [
        logging.getLogger(name)
        for name in logging.root.manager.loggerDict
        if name.partition(".")[0] in ("distributed", "tornado")
    ]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)
