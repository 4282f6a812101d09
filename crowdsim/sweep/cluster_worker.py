"""What happens on a worker of a cluster: its first task starts a run server, as a sweep on one machine does,
and all its threads ask that.

A worker hears nothing when a task of its is cancelled, so one thread looks: it ends runs that are no longer
wanted, everything when the worker closes, and run servers that have had nothing to do for a while, whose
sweep may have been killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import threading
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crowdsim.errors import CrowdsimError
from crowdsim.sweep.code import code_version, package_versions
from crowdsim.sweep.folder import Folder
from crowdsim.sweep.worker import ATTEMPTS, RunServer, Stopped, lost, room_for_runs

_LOOK_SECONDS = 0.25
_IDLE_SECONDS = 60.0  # A warm process holds some 160 MB; to start it again takes 3 s.
_GOES_ON = ("executing", "long-running")  # States of a task of dask that is wanted and has begun.


class _Post:
    """What a worker keeps for one sweep: the run server, and which runs go on for which tasks of dask."""

    def __init__(self, worker: Any, scratch: str) -> None:
        self._worker = worker
        self._held = contextlib.ExitStack()
        self._server = RunServer(
            self._held.enter_context(room_for_runs(Path(scratch or worker.local_directory)))
        )
        self._running: set[str] = set()
        self.is_open = True
        self.used = time.monotonic()

    def execute(self, key: str, task: Mapping[str, Any]) -> dict[str, Any]:
        self._running.add(key)
        try:
            return self._server.execute(task, key)
        finally:
            self._running.discard(key)
            self.used = time.monotonic()

    def look(self) -> None:
        """End what is not wanted any more."""
        for key in tuple(self._running):
            task = self._worker.state.tasks.get(key)
            if task is None or task.state not in _GOES_ON:
                self._server.stop(key)
        is_idle = not self._running and time.monotonic() - self.used > _IDLE_SECONDS
        if is_idle or self._worker.status.name not in ("running", "paused", "closing_gracefully"):
            self.close()

    def close(self) -> None:
        self.is_open = False
        self._server.close()
        self._held.close()


_lock = threading.Lock()
_posts: dict[str, _Post] = {}  # by sweep
_refusals: dict[str, str] = {}
_ended: set[str] = set()


def refusal(about: Mapping[str, Any]) -> str:
    """Return why runs of a sweep cannot be done here; an empty string if they can.

    Parameters
    ----------
    about : mapping
        ``sweep`` (a name of this call), ``code`` and ``versions`` (those of the asking process), ``plugins``
        (path to hash), ``folder``.
    """
    if about["code"] != code_version():
        here = package_versions()
        other = [
            f"{name} {here[name]} instead of {version}"
            for name, version in about["versions"].items()
            if here[name] != version
        ]
        return (
            f"has {' and '.join(other) if other else 'other sources of crowdsim'}, which would give other "
            "results. Install the same there."
        )
    for plugin, digest in about["plugins"].items():
        try:
            has = plugin_digest(Path(plugin))
        except OSError as error:
            return f"cannot read the plug-in {plugin} ({error.strerror}). Put it where all machines see it."
        if has != digest:
            return f"has another plug-in at {plugin}. Put it where all machines see the same."
    folder = Folder(Path(about["folder"]))
    way_out = (
        "All machines must see the folder of a sweep under the same path, and write there: choose one that "
        "they share with --out DIR."
    )
    if not mark_of(folder, about["sweep"]).is_file():
        return f"does not see the folder {folder.path}. {way_out}"
    for place in (
        folder.scratch,
        folder.result("0").parent,
        folder.recording("0").parent,
        folder.log("0").parent,
    ):
        trial = place / f".{uuid.uuid4().hex}.tmp"
        try:
            trial.touch()
            trial.unlink()
        except OSError as error:
            return f"cannot write in {place} ({error.strerror}). {way_out}"
    return ""


def execute(text: str) -> dict[str, Any]:
    """Do one run; called by a thread of a worker of dask.

    Parameters
    ----------
    text : str
        As JSON: a task as `crowdsim.sweep.supervise.task_of` makes it, and ``about`` as for `refusal`, and
        ``scratch``. As one text: dask looks into containers, and replaces what it takes for names of its
        tasks.

    Returns
    -------
    dict
        ``result``, or ``refused`` with the reason, or ``stopped``.
    """
    from distributed import get_worker

    task = json.loads(text)
    about = task.pop("about")
    worker = get_worker()
    key = str(worker.get_current_task())
    try:
        if about["sweep"] not in _refusals:
            _refusals[about["sweep"]] = refusal(about)
        if _refusals[about["sweep"]]:
            return {"refused": f"{worker.address} {_refusals[about['sweep']]}"}
        mark = _attempt(Folder(Path(task["folder"])), task["id"])
        if mark is None:
            return {"result": lost(task["id"], f"the worker was lost {ATTEMPTS} times during this run")}
        try:
            result = _post_of(about["sweep"], worker, task.pop("scratch_parent")).execute(key, task)
        finally:
            mark.unlink(missing_ok=True)
    except Stopped:
        return {"stopped": True}
    except (CrowdsimError, OSError) as error:
        return {"refused": f"{worker.address}: {str(error).replace('stands above', 'stands in its log')}"}
    return {"result": result}


def _attempt(folder: Folder, identity: str) -> Path | None:
    """Return the mark of this attempt, which stays only if the worker is lost;
    None if as many as may be are there.

    A file that must not be there before is one that no two machines make, on network file systems too. dask
    counts losses as well, but also of tasks that only waited on a worker, and how many it allows is set where
    the scheduler runs.
    """
    for number in range(ATTEMPTS):
        mark = folder.scratch / f"{identity}.attempt-{number}"
        with contextlib.suppress(FileExistsError):
            mark.touch(exist_ok=False)
            return mark
    return None


def _post_of(sweep: str, worker: Any, scratch: str) -> _Post:
    with _lock:
        if sweep in _ended:
            raise Stopped
        post = _posts.get(sweep)
        if post is None or not post.is_open:
            if not _posts:
                threading.Thread(target=_look_after, name="crowdsim-sweep", daemon=True).start()
            post = _posts[sweep] = _Post(worker, scratch)
        post.used = time.monotonic()
        return post


def _look_after() -> None:
    while True:
        time.sleep(_LOOK_SECONDS)
        with _lock:
            for sweep, post in tuple(_posts.items()):
                post.look()
                if not post.is_open:
                    del _posts[sweep]
            if not _posts:
                return


async def end_sweep(sweep: str) -> None:
    """End all runs of a sweep on this worker; return when they have ended."""
    await asyncio.get_running_loop().run_in_executor(None, _end, sweep)


def _end(sweep: str) -> None:
    with _lock:
        _ended.add(sweep)
        _refusals.pop(sweep, None)
        post = _posts.pop(sweep, None)
        if post is not None:
            post.close()


def mark_of(folder: Folder, sweep: str) -> Path:
    """Return the file by which a worker knows that it sees the folder of a sweep,
    and not another one of that name.
    """
    return folder.scratch / f"{sweep}.here"


def plugin_digest(path: Path) -> str:
    """Return a hash of a plug-in's source."""
    return hashlib.blake2b(path.read_bytes(), digest_size=10).hexdigest()
