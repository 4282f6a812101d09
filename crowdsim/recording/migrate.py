"""Recordings and checkpoints of older versions of the formats, brought to today's.

For each version there is one step to the next; a sample of every version is kept under ``tests/samples``.
Nothing else reads old versions, so that the rest of the package knows one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import RecordingError
from crowdsim.recording.checkpoint import MAGIC, read_checkpoint
from crowdsim.recording.files import new_file
from crowdsim.recording.reader import Recording
from crowdsim.recording.recover import copy_rows
from crowdsim.recording.schema import FORMAT_VERSION
from crowdsim.recording.storage import Storage

CHECKPOINT_VERSION = int(MAGIC[-2:])
SUFFIX = ".migrated.h5"


@dataclass(frozen=True)
class Migrated:
    """What `migrate` found and made.

    Attributes
    ----------
    path : Path or None
        The new file; None if the old one is of today's version already.
    kind : str
        ``recording`` or ``checkpoint``.
    version, today : int
    """

    path: Path | None
    kind: str
    version: int
    today: int


def migrate(path: Path, out: Path | None = None, *, force: bool = False) -> Migrated:
    """Bring a recording or a checkpoint to today's version of its format. The old file stays as it is.

    Parameters
    ----------
    path : Path
    out : Path, optional
        The new file; without it ``<name>.migrated.h5`` beside the old one.
    force : bool
        Replace an existing `out`.

    Raises
    ------
    RecordingError
        If it is neither, is damaged, is of a newer version than this program knows, or the new file cannot be
        written.
    """
    if _begins_like_a_checkpoint(path):
        read_checkpoint(path)  # says what is wrong with it, and of which version it is
        return Migrated(None, "checkpoint", CHECKPOINT_VERSION, CHECKPOINT_VERSION)
    version = _version_of(path)
    if version == FORMAT_VERSION:
        return Migrated(None, "recording", version, version)
    target = out or path.with_name(f"{path.stem}{SUFFIX}")
    with new_file(target, force=force) as last:
        source = path
        for step in range(version, FORMAT_VERSION):
            made = last if step + 1 == FORMAT_VERSION else last.with_name(f".{step + 1}.step")
            STEPS[step](source, made)
            source = made
    return Migrated(target, "recording", version, FORMAT_VERSION)


def _begins_like_a_checkpoint(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return path.is_file() and file.read(len(MAGIC) - 2) == MAGIC[:-2]
    except OSError:
        return False  # the reader of recordings says what is wrong


def _version_of(path: Path) -> int:
    """Return the version of a recording that can be opened: today's, or one that there is a step from."""
    errors: list[RecordingError] = []
    for version in (FORMAT_VERSION, *STEPS):
        try:
            Recording(path, version).close()
        except RecordingError as error:
            errors.append(error)
        else:
            return version
    raise errors[0]


def _thinned(recording: Recording) -> dict[str, NDArray[Any]]:
    """Return the trace of a recording of version 1 with what changed alone."""
    index, digests = recording.table("trace/index"), recording.table("trace/digests")
    last: dict[int, NDArray[np.uint64]] = {}
    kept, parts, start = [], [digests[:0]], 0
    for entry in index:
        values = digests[int(entry["start"]) : int(entry["start"] + entry["count"])]
        column = int(entry["column"])
        if len(values) and column in last and np.array_equal(last[column], values):
            continue
        last[column] = values
        entry["start"] = start
        kept.append(entry)
        parts.append(values)
        start += len(values)
    return {"trace/index": np.array(kept, dtype=index.dtype), "trace/digests": np.concatenate(parts)}


def _from_1(source: Path, target: Path) -> None:
    """Leave out what the trace of version 1 repeats; nothing else has changed since."""
    with Recording(source, 1) as old:
        changed = _thinned(old) if old.layout.trace else {}
        storage = Storage(target, old.header, old.layout)
        try:
            copy_rows(old, storage, old.commit, {**changed, "verdict": old.table("verdict")})
            storage.finish(replace(old.commit, number=1))
        except BaseException:
            storage.freeze()
            raise


STEPS: dict[int, Callable[[Path, Path], None]] = {1: _from_1}
