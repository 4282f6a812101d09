"""What runs have left in the making: whose writer is alive, what is in it,
and what of it nobody needs any more.

A file in the making is removed only if its writer is dead and it holds nothing, or all that it holds of its
run stands in another file as well. A process that removes one has the locks of all files that it decides by,
so that two that clear away at the same time lose nothing between them.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crowdsim.errors import RecordingError
from crowdsim.recording.commit import Commit
from crowdsim.recording.files import (
    is_same,
    is_stale_placeholder,
    lock_of,
    out_of,
    partial_id,
    partials_in,
    partials_of,
)
from crowdsim.recording.header import Header
from crowdsim.recording.locks import is_held, taken
from crowdsim.recording.reader import Recording
from crowdsim.recording.schema import RunState

# of a commit
_COUNTED = ("frames", "rows", "ticks", "events", "agents", "trace", "trace_digests", "explanations")


@dataclass(frozen=True)
class Found:
    """A recording that may be of use where a run was stopped: in the making, or finished.

    Attributes
    ----------
    path : Path
    run_id : str
    commit : Commit or None
        None where nothing can be read.
    header : Header or None
    is_whole : bool
    is_live : bool
        A process writes to it.
    writer : str
        Which process, as words; empty if none.
    problem : str
        Why nothing can be read.
    """

    path: Path
    run_id: str
    commit: Commit | None = None
    header: Header | None = None
    is_whole: bool = False
    is_live: bool = False
    writer: str = ""
    problem: str = ""

    @property
    def state(self) -> RunState:
        """How it ended, if it did."""
        return RunState(self.commit.state) if self.commit is not None else RunState.RUNNING

    @property
    def last_tick(self) -> int:
        """The newest tick of it; -1 where there is none."""
        return self.commit.last_tick if self.commit is not None and self.commit.number else -1

    @property
    def until_s(self) -> float:
        """The simulated time until which it goes, s."""
        return round(max(self.last_tick, 0) * self.header.tick_s, 9) if self.header is not None else 0.0


def look_at(path: Path) -> Found:
    """Return what is known of a recording, finished or in the making."""
    lock, run_id = lock_of(path), partial_id(path)
    is_live = bool(run_id) and is_held(lock)
    writer = _writer(lock) if is_live else ""
    try:
        with Recording(path) as recording:
            return Found(
                path,
                recording.header.run_id,
                recording.commit,
                recording.header,
                recording.is_whole,
                is_live,
                writer,
            )
    except RecordingError as error:
        return Found(path, run_id, is_live=is_live, writer=writer, problem=str(error))


def _writer(lock: Path) -> str:
    """Return which process holds a lock, as words."""
    try:
        number, _, host = lock.read_text(encoding="utf-8", errors="replace").strip().partition(" ")
    except OSError:
        return "another process"
    return (
        "another process"
        if not number.isdecimal()
        else f"process {number}" + (f" on {host}" if host != os.uname().nodename else "")
    )


def left_for(out: Path) -> list[Found]:
    """Return the files in the making of runs with the output path `out`, newest first."""
    return [look_at(path) for path in reversed(partials_of(out))]


def holds_all_of(one: Recording, other: Recording) -> bool:
    """Return whether all that a recording keeps of its run stands in another one as well,
    clock readings apart.

    Two runs of one scenario are the same bit for bit, so that it does not matter which of them has the rows:
    the digests of all ticks tell.

    Parameters
    ----------
    one : Recording
        The one that may hold it all.
    other : Recording
    """
    from crowdsim.recording.salvage import counts_until  # which needs the compiler

    last, mine, theirs = other.commit.last_tick, one.header, other.header
    same = all(
        getattr(mine, name) == getattr(theirs, name)
        for name in ("scenario", "seed", "tick_s", "ticks_per_frame", "exact", "first_tick", "stuck_by")
    )
    if not same or one.layout != other.layout or not one.layout.digests or one.commit.last_tick < last:
        return False
    until = counts_until(one, last)
    if one.commit.interventions < other.commit.interventions or any(
        getattr(until, name) != getattr(other.commit, name) for name in _COUNTED
    ):
        return False
    return all(
        np.array_equal(one.table(name, 0, rows), other.table(name, 0, rows))
        for name, rows in (
            ("digests", until.ticks),
            ("events", until.events),
            ("interventions", other.commit.interventions),
        )
        if rows
    )


def clear_left(folder: Path, name: str = "", keep: Path | None = None) -> None:
    """Remove the files in the making that nobody needs any more, in a folder.

    Parameters
    ----------
    folder : Path
    name : str
        Only those of runs with this output name.
    keep : Path, optional
        One that stays, since it was asked for.
    """
    for out in sorted(
        {out for path in partials_in(folder) if (out := out_of(path)) is not None and name in ("", out.name)}
    ):
        for path in partials_of(out):
            with contextlib.suppress(OSError, RecordingError):
                if path == keep:
                    continue
                _remove_if_idle(path, out)
        if is_stale_placeholder(out) and not partials_of(out):
            out.unlink(missing_ok=True)
    for lock in _locks_in(folder):
        with taken(lock) as is_left:
            if is_left and not lock.with_suffix(".h5").exists():
                lock.unlink(missing_ok=True)


def _locks_in(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if re.fullmatch(r"\..+\.[^\W_]{1,32}(-[0-9]{1,9})?\.partial\.lock", entry.name, re.DOTALL):
                yield folder / entry.name


def _remove_if_idle(path: Path, out: Path) -> None:
    """Remove a file in the making if its writer is dead and it holds nothing that is not elsewhere."""
    lock = lock_of(path)
    with taken(lock) as is_left:
        if not is_left and lock.exists():
            return  # a process writes, or clears away
        if (is_left and lock.stat().st_size == 0) or _is_elsewhere(path, out):
            path.unlink(missing_ok=True)
            if is_left:
                lock.unlink(missing_ok=True)


def _is_elsewhere(path: Path, out: Path) -> bool:
    """Return whether all that a dead writer's file holds stands in a whole recording of its name,
    or in another dead writer's file.
    """
    second = out.with_name(f"{out.stem}.{partial_id(path)}{out.suffix}")
    if any(is_same(path, name) for name in (out, second)):
        return True  # stopped between giving it its name and taking away this one
    with Recording(path) as recording:
        if recording.commit.number == 0:
            return lock_of(path).exists()  # without a lock nobody knows whether its writer is alive
        for name in (out, second):
            if name.exists() and _holds(name, recording, whole=True):
                return True
        for other in partials_of(out):
            with taken(lock_of(other)) as is_ours:
                if other != path and is_ours and _holds(other, recording, whole=False):
                    return True
    return False


def _holds(name: Path, recording: Recording, *, whole: bool) -> bool:
    try:
        with Recording(name) as other:
            return (other.is_whole or not whole) and holds_all_of(other, recording)
    except RecordingError:
        return False


def is_part_of(path: Path, other: Path) -> bool:
    """Return whether a recording has nothing that another of the same run has not,
    as far as both can be read.
    """
    try:
        with Recording(path) as one, Recording(other) as two:
            return one.header.run_id == two.header.run_id and holds_all_of(two, one)
    except RecordingError:
        return False
