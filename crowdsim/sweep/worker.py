"""Asks a fork server for runs, one from each thread that calls, and says how each ended:
in a result that is kept, whatever happened to the run.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from crowdsim.errors import CrowdsimError, RecordingError
from crowdsim.kernels.cache_folder import cache_directory
from crowdsim.recording.locks import clear_scratch, scratch_folder
from crowdsim.sweep.folder import FINISHED, Folder, write_json, write_whole

# Servers that may be lost during one run. The first may have gone for reasons of its own; a run that ends
# three is not to be tried for ever.
ATTEMPTS = 3
_LOG_BYTES = 64 * 1024  # of the end of what a failed run printed


@contextlib.contextmanager
def room_for_runs(parent: Path) -> Iterator[Path]:
    """Make a folder for runs that go on, in another one on a disk of this machine;
    what killed processes left there goes first.

    Parameters
    ----------
    parent : Path
        Made where it is not there.

    Raises
    ------
    RecordingError
        If nothing can be made there.
    """
    with contextlib.ExitStack() as held:
        try:
            parent.mkdir(parents=True, exist_ok=True)
            clear_scratch(parent)
            made = held.enter_context(scratch_folder(parent))
        except OSError as error:
            raise RecordingError(
                f"{parent}: cannot hold runs that go on ({error.strerror}). Choose another place with "
                "--scratch DIR."
            ) from None
        yield made


class Stopped(Exception):
    """The worker was closed while a run went on; nothing is kept of that run."""


class RunServer:
    """A warm process that forks for each run; started at the first run, and again where it is lost.
    Threads may share one.

    Parameters
    ----------
    scratch : Path, optional
        A folder on a disk of this machine in which runs write until they have ended; default: in the folder
        of the sweep.
    """

    def __init__(self, scratch: Path | None = None) -> None:
        self._scratch = scratch
        self._asking: dict[str, socket.socket] = {}
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._is_closed = False
        self._has_answered = False

    def execute(self, task: Mapping[str, Any], name: str = "") -> dict[str, Any]:
        """Do one run in a process of its own, and keep and return its result.

        Parameters
        ----------
        task : mapping
            As `crowdsim.sweep.supervise.task_of` makes it.
        name : str
            By which `stop` knows it.

        Returns
        -------
        dict
            ``id``, ``status``, ``error``, ``measures``, ``timings``.

        Raises
        ------
        Stopped
            If the worker was closed meanwhile, or the run was stopped.
        CrowdsimError
            If the server cannot even be started, or nothing can be written.
        """
        folder = Folder(Path(task["folder"]))
        # Of a name that nobody else has: a worker that lost its connection may still be at the same run
        # elsewhere.
        scratch = (self._scratch or folder.scratch) / f"{task['id']}.{uuid.uuid4().hex}"
        try:
            return self._do({**task, "scratch": str(scratch)}, folder, scratch, name or scratch.name)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _do(self, task: Mapping[str, Any], folder: Folder, scratch: Path, name: str) -> dict[str, Any]:
        answer = None
        for _ in range(ATTEMPTS):
            shutil.rmtree(scratch, ignore_errors=True)
            try:
                scratch.mkdir(parents=True)
            except OSError as error:
                raise RecordingError(
                    f"{scratch.parent}: cannot hold runs that go on ({error.strerror})."
                ) from None
            answer = self._ask(task, name)
            if answer is not None:
                self._has_answered = True
                break
        if not self._has_answered:
            raise CrowdsimError(
                f"the process that starts runs has ended {ATTEMPTS} times before it began one; what it said "
                "stands above."
            )
        result = folder.read_result(task["id"]) if answer is not None and answer.get("code") == 0 else None
        if result is None or result["status"] != FINISHED:
            result = _failed(task, scratch, answer)
        if result["status"] != FINISHED:
            _keep_log(folder.log(task["id"]), scratch)
        else:
            folder.log(task["id"]).unlink(missing_ok=True)
            result["timings"] |= answer["clocks"] if answer is not None else {}
        write_json(folder.result(task["id"]), result)
        return result

    def stop(self, name: str) -> None:
        """End the run that was begun by a name; what waits for it gets `Stopped`."""
        with self._lock:
            asking = self._asking.pop(name, None)
            if asking is not None:
                asking.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the server and whatever runs in it; calls that wait raise `Stopped`."""
        with self._lock:
            self._is_closed = True
            self._end()

    def _end(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            try:
                self._process.wait(timeout=5.0)
            except subprocess.TimeoutExpired:  # it is compiling
                self._process.kill()
                self._process.wait()
            self._process = None

    def _ask(self, task: Mapping[str, Any], name: str) -> dict[str, Any] | None:
        """Return how a run ended; None if the server ended before it."""
        mine, theirs = socket.socketpair()
        with mine:
            # a file in memory: a task may hold a map, and a datagram may not
            task_file = os.fdopen(os.memfd_create("crowdsim-task"), "r+b")
            with self._lock, theirs, task_file as file:
                if self._is_closed:
                    raise Stopped
                file.write(json.dumps(task).encode())
                file.flush()
                try:
                    socket.send_fds(self._started(), [b"run"], [file.fileno(), theirs.fileno()])
                except OSError:
                    self._end()
                    return None
                self._asking[name] = mine
            text = b""
            with contextlib.suppress(ConnectionResetError):
                while part := mine.recv(65536):
                    text += part
            with self._lock:
                was_stopped = self._asking.get(name) is not mine
                if not was_stopped:
                    del self._asking[name]
        if self._is_closed or was_stopped:
            raise Stopped
        return json.loads(text) if text else None

    def _started(self) -> socket.socket:
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._socket is None:
            mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                # A session of its own: Ctrl-C is for the sweep, which ends the server. The runs have threads
                # of ours, numpy needs none.
                path = os.pathsep.join(
                    [str(Path(__file__).resolve().parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
                )
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "crowdsim.sweep.fork_server", str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                    env={
                        **os.environ,
                        "PYTHONPATH": path,
                        "CROWDSIM_CACHE_DIR": str(cache_directory()),
                        "OPENBLAS_NUM_THREADS": "1",
                        "OMP_NUM_THREADS": "1",
                    },
                )
            self._socket = mine
        return self._socket


def lost(identity: str, error: str) -> dict[str, Any]:
    """Return the result of a run that was tried as often as may be."""
    return {"id": identity, "status": "lost", "error": error, "measures": {}, "timings": {}}


def _failed(task: Mapping[str, Any], scratch: Path, answer: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the result of a run that did not come to its end.
    It says nothing that differs from time to time.
    """
    if answer is None:
        return lost(task["id"], f"the process that starts runs ended {ATTEMPTS} times during this run")
    if answer["status"] != "ended":
        status, error = answer["status"], answer["error"]
    elif answer["is_late"]:
        status, error = "timeout", f"took longer than {task['timeout']:g} s"
    elif answer["code"] < 0:
        number = -answer["code"]
        names = {each.value: each.name for each in signal.Signals}
        status, error = "killed", f"ended by {names.get(number, f'signal {number}')}"
    else:
        status, error = "error", f"ended with code {answer['code']} and without a word"
        with contextlib.suppress(OSError, ValueError):
            failure = json.loads((scratch / "error.json").read_bytes())
            status, error = failure["status"], failure["error"].replace(str(scratch), "the run's scratch")
    if status == "memory":
        error = (
            f"asked for more than {task['memory'] / 2**20:,.0f} MiB of memory"
            if task["memory"]
            else "asked for more memory than there is"
        )
    return {"id": task["id"], "status": status, "error": error, "measures": {}, "timings": {}}


def _keep_log(log: Path, scratch: Path) -> None:
    with contextlib.suppress(OSError):
        content = (scratch / "output.txt").read_bytes()[-_LOG_BYTES:]
        if content:
            write_whole(log, content)
