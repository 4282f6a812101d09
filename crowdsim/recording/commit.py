"""The commit record: how many rows of every dataset may be read."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from crowdsim.recording.schema import COMMIT_WORDS

# Of the first word of a record: one commit each two seconds for 17 years. The 36 bits above them count 64 GB.
NUMBER_BITS = 28


@dataclass(frozen=True)
class Commit:
    """One commit record. The order of its fields is part of the file format; the last shares a word with the
    first.

    Attributes
    ----------
    number : int
        Commits so far; 0 before the first.
    state : int
        RunState.
    frames, rows : int
        Frames, and rows of the trajectory in them.
    ticks, events, agents : int
        Rows of the datasets ``ticks``, ``events`` and ``roster``.
    trace, trace_digests : int
        Rows of ``trace/index`` and ``trace/digests``.
    verdict_bytes : int
        Length of the verdict; 0 while the run goes on.
    last_tick : int
        The newest tick of which anything is kept; -1 before the first.
    run_digest : int
        Fold of all digests so far.
    clock_ns : int, ns since 1970
        When the commit was made. A clock reading.
    explanations : int
        Rows of ``explanations``.
    journal : int
        The part of the journal that has the rows which fill no chunk yet: where it begins, times 2**32, plus
        where it ends. 0 where all rows are in the file.
    interventions : int
        Bytes of ``interventions``. They stand above the number of commits, in the same word.
    """

    number: int = 0
    state: int = 0
    frames: int = 0
    rows: int = 0
    ticks: int = 0
    events: int = 0
    agents: int = 0
    trace: int = 0
    trace_digests: int = 0
    verdict_bytes: int = 0
    last_tick: int = -1
    run_digest: int = 0
    clock_ns: int = 0
    explanations: int = 0
    journal: int = 0
    interventions: int = 0

    def pack(self) -> bytes:
        """Return the record as it stands in the file, 128 bytes, the last eight a checksum."""
        words = np.zeros(COMMIT_WORDS, dtype="<u8")
        number, *others, interventions = astuple(self)
        values = [number | interventions << NUMBER_BITS, *others]
        words[: len(values)] = [value & 0xFFFFFFFFFFFFFFFF for value in values]
        words[-1] = _checksum(words)
        return words.tobytes()


def _checksum(words: NDArray[np.uint64]) -> int:
    return zlib.crc32(words[:-1].tobytes()) | 1 << 32  # never 0, so that a record of zeros is none


def newest(slots: NDArray[np.uint64], *, is_closed: bool = False) -> Commit | None:
    """Return the newest whole record of a file, or None if there is none.

    Parameters
    ----------
    slots : (2, 16) uint64
        A record that a kill tore has a wrong checksum; then the one before counts.
    is_closed : bool
        The writer closed the file. No record is torn then: one with a wrong checksum is damage, and the one
        before would hide rows.
    """
    found: list[Sequence[int]] = [
        [int(word) for word in words] for words in slots.astype("<u8") if int(words[-1]) == _checksum(words)
    ]
    if not found or (is_closed and len(found) < len(slots)):
        return None
    words = max(found, key=lambda record: record[0])
    first, *others = words[: len(fields(Commit)) - 1]
    commit = Commit(*(first & ((1 << NUMBER_BITS) - 1), *others, first >> NUMBER_BITS))
    return replace(commit, last_tick=-1) if commit.last_tick >= 1 << 63 else commit
