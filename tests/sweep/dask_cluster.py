"""A real scheduler of dask and its workers, as processes of their own on this machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.cli.command import environment


class DaskCluster:
    """A scheduler and workers of one thread each, until `close`.

    Parameters
    ----------
    place : Path
        For the scheduler file, the logs and the workers' local directories.
    protocol : str
        tcp or tls.
    """

    def __init__(self, place: Path, protocol: str = "tcp", **variables: str) -> None:
        self.file = place / "scheduler.json"
        self._place = place
        self._variables = {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False", **variables}
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            "scheduler",
            "--port",
            "0",
            "--host",
            "127.0.0.1",
            "--protocol",
            protocol,
            "--scheduler-file",
            str(self.file),
        )
        self._wait_for(self.file)

    def add_worker(self, *options: str, **variables: str) -> subprocess.Popen[bytes]:
        """Start a worker; return at once."""
        name = f"worker-{len(self.workers)}"
        words = [
            "--scheduler-file",
            str(self.file),
            "--nthreads",
            "1",
            "--name",
            name,
            "--local-directory",
            str(self._place / name),
            *options,
        ]
        self.workers.append(self._start("worker", *words, log=name, **variables))
        return self.workers[-1]

    def _start(self, kind: str, *words: str, log: str = "", **variables: str) -> subprocess.Popen[bytes]:
        with (self._place / f"{log or kind}.log").open("wb") as output:
            command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--no-dashboard", *words]
            return subprocess.Popen(
                command,
                cwd=self._place,
                env={**environment(**self._variables), **variables},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def _wait_for(self, file: Path) -> None:
        end = time.monotonic() + 60.0
        while not file.is_file():
            assert self.scheduler.poll() is None and time.monotonic() < end, (
                self._place / "scheduler.log"
            ).read_text()
            time.sleep(0.02)

    def close(self) -> None:
        """End all of them."""
        for process in (*self.workers, self.scheduler):
            for number in (signal.SIGCONT, signal.SIGTERM):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, number)
        for process in (*self.workers, self.scheduler):
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def dask_cluster(
    place: Path, workers: int = 0, *options: str, protocol: str = "tcp", **variables: str
) -> Iterator[DaskCluster]:
    """Give a scheduler and its first workers; variables are of the environment of all."""
    place.mkdir(exist_ok=True)
    cluster = DaskCluster(place, protocol, **variables)
    try:
        for _ in range(workers):
            cluster.add_worker(*options)
        yield cluster
    finally:
        cluster.close()
