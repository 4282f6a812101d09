"""From a file that was cut off to a whole one: its committed rows, copied into a new file."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.commands import command
from crowdsim.errors import RecordingError
from crowdsim.recording.commit import Commit
from crowdsim.recording.datasets import list_datasets
from crowdsim.recording.files import (
    PARTIAL_SUFFIX,
    Kept,
    free_bytes,
    is_stale_placeholder,
    new_file,
    reason_of,
    recovered_name,
    require_place,
    room_text,
)
from crowdsim.recording.leftovers import clear_left, is_part_of, left_for
from crowdsim.recording.locks import scratch_folder
from crowdsim.recording.naming import take_name
from crowdsim.recording.opening import open_run
from crowdsim.recording.reader import Recording
from crowdsim.recording.salvage import counts_until, last_whole_tick, readable_rows
from crowdsim.recording.schema import RunState, digest_text
from crowdsim.recording.storage import METADATA_RESERVE_BYTES, Storage


@dataclass(frozen=True)
class Recovered:
    """What `recover` has made.

    Attributes
    ----------
    source, path : Path
        The file that was cut off, untouched; the whole one.
    frames, last_tick : int
        What it holds.
    lost : str
        What was committed but is damaged and left out, with the reason; empty if nothing is.
    """

    source: Path
    path: Path
    frames: int
    last_tick: int
    lost: str


def recover(path: Path, out: Path | None = None, *, force: bool = False) -> Recovered:
    """Make a whole recording of one that was cut off.

    The input is never changed. The new file is marked as recovered; or as what it is, if the run had ended
    and only its file was not closed. Should some committed rows be unreadable (a damaged disk), it ends
    before the first tick that is not whole, and `Recovered.lost` says so.

    Parameters
    ----------
    path : Path
        The file that was cut off; or the name that the run was to have, if one run with that name was cut
        off.
    out : Path, optional
        The new file; without it ``<name>.recovered.h5`` beside the input, which replaces what was recovered
        of the same run before.
    force : bool
        Replace an existing `out`.

    Returns
    -------
    Recovered

    Raises
    ------
    RecordingError
        If nothing was committed, the file is whole already, or `out` exists.
    """
    source = _find(path)
    target = out or recovered_name(source)
    clear_left(source.parent, keep=source)
    # what was recovered before, and more
    force = force or (out is None and target.exists() and is_part_of(target, source))
    with new_file(target, force=force) as copy:
        with open_run(source) as recording:
            if recording.is_whole and not source.name.endswith(PARTIAL_SUFFIX):
                raise RecordingError(
                    f"{source}: is whole already ({recording.state.name.lower()}); there is nothing to "
                    "recover."
                )
            if recording.commit.number == 0:
                raise RecordingError(
                    f"{source}: nothing was committed before its writer was stopped; there is nothing to "
                    "recover."
                )
            commit, lost = _what_is_whole(recording)
            # killed between its last commit and its final name
            has_ended = recording.state is not RunState.RUNNING and not lost
        verdict = {
            "state": RunState.RECOVERED.name.lower(),
            "reason": f"recovered from {source.name}",
            "result": {},
            "lost": lost,
        }
        if has_ended:
            copy_recording(source, copy)
        else:
            copy_recording(source, copy, state=RunState.RECOVERED, verdict=verdict, commit=commit)
    return Recovered(source, target, commit.frames, commit.last_tick, lost)


def complete(path: Path, out: Path, *, force: bool = False) -> tuple[Kept, dict[str, Any]]:
    """Do what is left of a run that came to its end, but was killed before its recording had its name.

    Parameters
    ----------
    path : Path
        The file in the making.
    out : Path
        The name; a recording that has it is replaced if it is an earlier part of the same run.
    force : bool
        Replace any other, too.

    Returns
    -------
    Kept, dict
        Where it is, and its verdict.

    Raises
    ------
    RecordingError
        If the run did not come to its end, the file is damaged, or it cannot be written.
    """
    with open_run(path) as recording:
        if recording.state is RunState.RUNNING:
            raise RecordingError(f"{path}: its run did not come to its end.")
        run_id, is_whole, verdict = recording.header.run_id, recording.is_whole, dict(recording.verdict or {})
    force = force or (out.exists() and is_part_of(out, path))
    require_place(out)
    try:
        with scratch_folder(out.parent) as folder:
            copy = path
            if not is_whole or out.parent.resolve() != path.parent.resolve():
                copy = folder / out.name
                copy_recording(path, copy)
            kept = take_name(copy, out, run_id, force=force)
            if copy != path:
                path.unlink()  # all of it stands in the other
    except OSError as error:
        raise RecordingError(
            f"{out}: could not be written ({reason_of(error)}). {room_text(out.parent)} The recording is "
            f"whole and kept as {path}."
        ) from error
    return kept, verdict


def copy_recording(
    source: Path,
    target: Path,
    *,
    state: RunState | None = None,
    verdict: Mapping[str, Any] | None = None,
    commit: Commit | None = None,
) -> None:
    """Copy the committed rows of a recording into a new, closed file.

    Parameters
    ----------
    source, target : Path
        `target` must not exist.
    state, verdict : RunState, mapping; optional
        What the copy says of itself; without them what the source says.
    commit : Commit, optional
        Copy only the rows that it counts.

    Raises
    ------
    RecordingError
        If the source is damaged or there is no room; `target` does not exist then.
    """
    with open_run(source) as recording:
        counts = commit or recording.commit
        _require_room(recording, target)
        content = dict(verdict or recording.verdict or {})
        if commit is not None or "run_digest" not in content:
            content["run_digest"] = digest_text(counts.run_digest)
        text = json.dumps(content, ensure_ascii=False).encode()
        storage = Storage(
            target, recording.header, recording.layout, agent_chunk_rows=recording.agent_chunk_rows
        )
        try:
            copy_rows(recording, storage, counts)
            storage.append("verdict", len(text), np.frombuffer(text, dtype=np.uint8))
            ending = int(recording.commit.state if state is None else state)
            storage.finish(replace(counts, number=1, state=ending, clock_ns=time.time_ns()))
        except BaseException:
            storage.remove()
            raise


def _require_room(recording: Recording, target: Path) -> None:
    stored = sum(size for _, _, size in recording.sizes().values())
    room = free_bytes(target.parent)
    if room < 1.1 * stored + 4 * METADATA_RESERVE_BYTES:
        raise RecordingError(
            f"{target}: the copy needs about {stored / 1e6:,.1f} MB, but {room / 1e6:,.1f} MB are free. "
            "Choose another disk for it."
        )


def copy_rows(
    recording: Recording,
    storage: Storage,
    counts: Commit,
    instead: Mapping[str, NDArray[Any]] | None = None,
) -> None:
    """Append the rows of a recording that `counts` counts, all but the verdict,
    to a file with the same datasets, a chunk at a time. Those of agents in frames, nearly all, are not packed
    anew where chunks are the same.

    Parameters
    ----------
    recording : Recording
    storage : Storage
    counts : Commit
    instead : mapping of str to array, optional
        Rows of some datasets, of which all are appended in the place of the recording's.
    """
    given = instead or {}
    for name, spec in list_datasets(recording.layout, exact=recording.header.exact).items():
        if name in given:
            storage.append(name, len(given[name]), given[name])
            continue
        rows = int(getattr(counts, spec.counter)) if name != "verdict" else 0
        target = storage.datasets[name]
        for start in range(0, rows, target.chunk_rows):
            stop = min(start + target.chunk_rows, rows)
            if spec.counter == "rows":
                packed = recording.chunk(name, start, stop, target.dataset)
                if packed is not None:
                    storage.append_chunk(name, packed)
                    continue
            table = recording.table(name, start, stop)
            storage.append(
                name,
                len(table),
                *([table[field] for field in table.dtype.names or ()] if name == "trajectory" else [table]),
            )


def _find(path: Path) -> Path:
    """Return the file that was cut off: `path`, or the one that reaches farthest of those that a run with
    this output path has left.
    """
    if path.exists() and not is_stale_placeholder(path):
        return path
    left = left_for(path)
    ids = dict.fromkeys(found.run_id for found in left if found.last_tick >= 0)
    if len(ids) > 1:
        notes = [f", {found.writer} writes to it" if found.writer else "" for found in left]
        names = "\n".join(
            f"    {command('recover', found.path)}: {found.until_s:g} s{note}"
            for found, note in zip(left, notes, strict=True)
        )
        raise RecordingError(
            f"{path}: {len(ids)} runs with this name were cut off or are still running. Name one of them:\n"
            f"{names}"
        )
    if not left:
        raise RecordingError(f"{path}: there is no such file, and no run with this name was cut off here.")
    return max(left, key=lambda found: (found.last_tick, found.state is RunState.FINISHED)).path


def _what_is_whole(recording: Recording) -> tuple[Commit, str]:
    """Return how far every dataset can be read, and what has to be given up."""
    limits, reason = readable_rows(recording)
    if not reason:
        return recording.commit, ""
    last_tick = last_whole_tick(recording, limits)
    if last_tick < 0:
        raise RecordingError(f"{recording.path}: nothing of it can be recovered ({reason}).")
    return counts_until(recording, last_tick, limits), f"ticks after {last_tick} ({reason})"
