"""Golden recordings: small, traced, without a clock reading in them,
so that the same run gives the same bytes wherever it is blessed.

A golden recording is a recording as any other: `open_run`, `crowdsim info` and `crowdsim compare` read it. It
holds every column of every tick of a run's first seconds, digests per system and block of agents, and in its
verdict the run digests of some later ticks, which cost few bytes and show that a run changed after the
seconds of which everything is known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from crowdsim.errors import RecordingError
from crowdsim.recording.compare import aggregates, first_difference
from crowdsim.recording.datasets import LIBRARY_VERSIONS, create_dataset, list_datasets, write_facts
from crowdsim.recording.files import new_file
from crowdsim.recording.header import plain, to_json
from crowdsim.recording.opening import open_run
from crowdsim.recording.reader import Recording
from crowdsim.recording.schema import COMMIT_WORDS, RunState, digest_text

# of one golden recording. Larger fills a repository with files of which each change keeps a copy for ever.
MOST_BYTES = 2**20
# what an agent in a tick, a tick, and a file without ticks take, some; measured on scenarios/
ROW_BYTES, TICK_BYTES, BASE_BYTES = 50, 700, 16_000
BLESSED = "blessed"
_EPOCH = "1970-01-01T00:00:00+00:00"  # stands where a recording says when it was begun
_CLOCK = {"wall_s": 0.0, "worst_tick_ms": 0.0, "ms_per_tick": {}}  # of a verdict
_LEVEL = 9  # of deflate: written once, kept for ever


def is_golden(recording: Recording) -> bool:
    """Return whether a recording was blessed."""
    return (recording.verdict or {}).get("reason") == BLESSED


def expected_bytes(rows: float, ticks: int) -> int:
    """Return how large a golden recording will be, some.

    Parameters
    ----------
    rows : float
        Agents in all ticks.
    ticks : int
    """
    return int(BASE_BYTES + ROW_BYTES * rows + TICK_BYTES * ticks)


def later_digests(recording: Recording) -> dict[int, str]:
    """Return the run digests after some ticks that come after the recorded ones, by tick, ascending.

    Raises
    ------
    RecordingError
        If what stands there is no such thing.
    """
    kept = (recording.verdict or {}).get("later", {}) if is_golden(recording) else {}
    try:
        found = {int(tick): str(digest) for tick, digest in kept.items()}
    except (AttributeError, TypeError, ValueError):
        raise RecordingError(
            f"{recording.path}: is damaged (its digests of later ticks cannot be read)"
        ) from None
    if any(tick <= recording.commit.last_tick or tick > 2**40 for tick in found):
        raise RecordingError(f"{recording.path}: is damaged (its digests of later ticks are out of order)")
    return dict(sorted(found.items()))


def pack_golden(source: Path, target: Path, verdict: Mapping[str, Any], later: Mapping[int, str]) -> None:
    """Write a golden recording: the rows of another, without clock readings,
    packed as tightly as the filters can.

    Parameters
    ----------
    source : Path
        A traced recording.
    target : Path
        Must not exist.
    verdict : mapping
        What the run had resulted in at its last recorded tick, as plain values.
    later : mapping of int to str
        Run digests after later ticks.

    Raises
    ------
    RecordingError
        If the source is damaged.
    """
    with open_run(source) as recording:
        digest = digest_text(recording.run_digest)
        header = replace(recording.header, run_id=digest[:8], started=_EPOCH, threads=1, cpu="")
        content = {
            "state": RunState.INTERRUPTED.name.lower(),
            "reason": BLESSED,
            "result": plain({**verdict, **_CLOCK}),
            "run_digest": digest,
            "later": {str(tick): text for tick, text in later.items()},
        }
        verdict_text = np.frombuffer(
            json.dumps(content, ensure_ascii=False, allow_nan=False).encode(), dtype=np.uint8
        )
        commit = replace(
            recording.commit,
            number=1,
            state=int(RunState.INTERRUPTED),
            verdict_bytes=len(verdict_text),
            clock_ns=0,
        )
        text = np.frombuffer(to_json(header, recording.layout), dtype=np.uint8)
        with h5py.File(target, "x", libver=LIBRARY_VERSIONS) as file:
            write_facts(file, header)
            file.create_dataset(
                "header",
                data=text,
                chunks=text.shape,
                compression="gzip",
                compression_opts=_LEVEL,
                track_times=False,
            )
            for name, spec in list_datasets(recording.layout, exact=header.exact).items():
                rows = verdict_text if name == "verdict" else recording.table(name)
                create_dataset(
                    file, name, spec, np.zeros_like(rows) if name == "timings" else rows, level=_LEVEL
                )
            file["trajectory"].attrs["fps"] = header.fps
            slots = np.frombuffer(commit.pack() * 2, dtype="<u8").reshape(2, COMMIT_WORDS)
            file.create_dataset("commit", data=slots, chunks=(1, COMMIT_WORDS), track_times=False)


def keep_golden(made: Path, target: Path, *, force: bool) -> tuple[bool, str]:
    """Give a golden recording its place; one that is there is replaced if it differs and `force` is set.

    Returns
    -------
    bool
        There was none.
    str
        How it differs from the one that was there, in words; empty if it does not.
    """
    is_new = not target.exists()
    changed = "" if is_new else what_changed(target, made)
    if is_new or (changed and force):
        with new_file(target, force=force) as copy:
            copy.write_bytes(made.read_bytes())
    return is_new, changed


def what_changed(old: Path, new: Path) -> str:
    """Return in words how a golden recording differs from another that has its place, if that can be read;
    an empty string if it does not.

    Parameters
    ----------
    old, new : Path
    """
    try:
        open_run(old).close()
    except RecordingError as error:
        return f"the one before cannot be compared: {error}"
    with open_run(old) as before, open_run(new) as after:
        found = first_difference(before, after, ("before", "now"), scenarios=True)
        ends, later = (
            (before.commit.last_tick, after.commit.last_tick),
            (later_digests(before), later_digests(after)),
        )
        lines = [str(found)] if found is not None else []
        if ends[0] != ends[1]:
            lines.append(f"kept until tick {ends[0]:,} before, {ends[1]:,} now")
        if later[0] != later[1]:
            common = [tick for tick in later[0] if tick in later[1] and later[0][tick] != later[1][tick]]
            lines.append(
                (
                    f"the run digest after tick {common[0]:,} was {later[0][common[0]]} before, is "
                    f"{later[1][common[0]]} now"
                )
                if common
                else f"{len(later[0])} digests of later ticks before, {len(later[1])} now"
            )
        if not lines:
            return ""
        values = [aggregates(recording) for recording in (before, after)]
        others = [name for name in values[0] if repr(values[0][name]) != repr(values[1][name])]
        lines += [f"    {name}: {values[0][name]:.6g} before, {values[1][name]:.6g} now" for name in others]
        return "\n".join(lines)
