"""How much of a recording is whole: row counts until a tick, also where some rows cannot be read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import RecordingError
from crowdsim.recording.commit import Commit
from crowdsim.recording.datasets import list_datasets
from crowdsim.recording.digest import run_digest
from crowdsim.recording.interventions import Intervention
from crowdsim.recording.reader import Recording

NEVER = 2**62  # later than any tick


def committed_rows(recording: Recording) -> dict[str, int]:
    """Return the number of committed rows of every dataset but the verdict."""
    datasets = list_datasets(recording.layout, exact=recording.header.exact)
    return {
        name: int(getattr(recording.commit, spec.counter))
        for name, spec in datasets.items()
        if name != "verdict"
    }


def readable_rows(recording: Recording) -> tuple[dict[str, int], str]:
    """Read everything, and return how many rows of each dataset come before the first that cannot be read,
    and the first reason.

    Parameters
    ----------
    recording : Recording
    """
    datasets = list_datasets(recording.layout, exact=recording.header.exact)
    found, reason = committed_rows(recording), ""
    for name, rows in found.items():
        step = datasets[name].chunk_rows
        for start in range(0, rows, step):
            try:
                recording.table(name, start, min(start + step, rows))
            except RecordingError as error:
                found[name] = start + _readable(recording, name, start, min(step, rows - start))
                reason = reason or f"{name}: {error}"
                break
    try:
        size = 0
        for each in recording.interventions():
            size = each.end
    except RecordingError as error:
        found["interventions"], reason = size, reason or str(error)
    return found, reason


def _readable(recording: Recording, name: str, start: int, count: int) -> int:
    """Return how many of some rows, which cannot all be read, come before the first that cannot;
    of a chunk that cannot be unpacked, none.
    """
    good = 0
    while count - good > 1:
        middle = (good + count) // 2
        try:
            recording.table(name, start, start + middle)
            good = middle
        except RecordingError:
            count = middle
    return good


def last_whole_tick(recording: Recording, limits: Mapping[str, int]) -> int:
    """Return the last tick of which, and of all before which, every row lies within `limits`;
    -1 if there is none.

    Parameters
    ----------
    recording : Recording
    limits : mapping of str to int
        Readable rows of each dataset.
    """
    committed = committed_rows(recording)
    short = {name: rows for name, rows in limits.items() if rows < committed[name]}
    bounds = [recording.commit.last_tick]
    ticks, frame_ticks = (
        _ticks(recording, "ticks", "tick", limits),
        _ticks(recording, "frames/tick", None, limits),
    )
    starts = recording.table("frames/start", 0, limits["frames/start"])
    for name, rows in short.items():
        counter = list_datasets(recording.layout, exact=recording.header.exact)[name].counter
        if counter == "ticks":  # one row for each tick
            bounds.append(_at(ticks, rows - 1, -1))
        elif counter == "rows":
            # the frame that the first lost row is in is not whole, nor is any tick from its own on
            bounds.append(_at(frame_ticks, int(np.searchsorted(starts, rows, side="right")) - 1, 0) - 1)
        elif name == "frames/tick":  # the next frame shows a later tick than the last known one
            bounds.append(_at(frame_ticks, rows - 1, -1))
        elif name == "frames/start":  # nobody knows where the last frame ends
            bounds.append(_at(frame_ticks, rows - 1, 0) - 1)
        elif name == "trace/digests":
            index = recording.table("trace/index", 0, limits["trace/index"])
            whole = int(np.searchsorted(index["start"] + index["count"], rows, side="right"))
            bounds.append(_at(index["tick"], whole, NEVER) - 1)
        elif name == "interventions":  # the next call may have come right after the last known one
            bounds.append(max((each.tick for each in _whole_interventions(recording, rows)), default=0))
        else:  # several rows can have the same tick: the last known one may go on
            fields = {"events": "tick", "roster": "spawn_tick", "trace/index": "tick", "explanations": "tick"}
            bounds.append(_at(_ticks(recording, name, fields[name], limits), rows - 1, 0) - 1)
    return max(-1, min(bounds))


def counts_until(recording: Recording, last_tick: int, limits: Mapping[str, int] | None = None) -> Commit:
    """Return the row counts of everything until `last_tick`, with the run digest of these ticks.

    Parameters
    ----------
    recording : Recording
    last_tick : int
    limits : mapping of str to int, optional
        Readable rows of each dataset, if not all; everything until `last_tick` lies within them.
    """
    commit, rows = recording.commit, limits or committed_rows(recording)
    if last_tick >= commit.last_tick and limits is None:
        return commit

    def count(name: str, field: str | None) -> int:
        return int(np.searchsorted(_ticks(recording, name, field, rows), last_tick, side="right"))

    frames, ticks = count("frames/tick", None), count("ticks", "tick")
    starts = recording.table("frames/start", 0, rows["frames/start"])
    found = replace(
        commit,
        frames=frames,
        rows=_at(starts, frames, commit.rows),
        ticks=ticks,
        events=count("events", "tick"),
        agents=count("roster", "spawn_tick"),
        last_tick=min(last_tick, commit.last_tick),
    )
    if recording.layout.digests:
        found = replace(found, run_digest=run_digest(recording.table("digests", 0, ticks)))
    if recording.layout.explain:
        found = replace(found, explanations=count("explanations", "tick"))
    if recording.layout.trace:
        entries = count("trace/index", "tick")
        index = recording.table("trace/index", 0, entries)
        found = replace(
            found, trace=entries, trace_digests=int(index["start"][-1] + index["count"][-1]) if entries else 0
        )
    if recording.layout.interventions:
        within = (each.end for each in _whole_interventions(recording, rows["interventions"], last_tick))
        found = replace(found, interventions=max(within, default=0))
    return found


def _whole_interventions(recording: Recording, size: int, last_tick: int = NEVER) -> Iterator[Intervention]:
    """Yield the interventions until a tick that lie within the first bytes that count."""
    with contextlib.suppress(RecordingError):
        for each in recording.interventions():
            if each.end > size or each.tick > last_tick:
                return
            yield each


def _ticks(
    recording: Recording, name: str, field: str | None, limits: Mapping[str, int]
) -> NDArray[np.int64]:
    table = recording.table(name, 0, limits[name])
    return np.asarray(table[field] if field else table)


def _at(array: NDArray[np.int64], index: int, otherwise: int) -> int:
    return int(array[index]) if 0 <= index < len(array) else otherwise
