"""Where two recordings of one run part: the first tick, column, and if traced the system and the agents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import RecordingError
from crowdsim.recording.reader import Recording
from crowdsim.recording.schema import TRACE_BLOCK_ROWS, RunState, digest_text

SHOWN_VALUES = 5  # Agents named in a difference. More than a few say nothing new: what differs spreads to the neighbours.


@dataclass(frozen=True)
class ValueDifference:
    """A number that two recordings keep differently.

    Attributes
    ----------
    entity : int
    column : str
        Name of the DataFrame column.
    recorded, fresh : float or int
    """

    entity: int
    column: str
    recorded: float | int
    fresh: float | int


@dataclass(frozen=True)
class Difference:
    """The first difference of two recordings.

    Attributes
    ----------
    tick : int
    column : str
        The column of the world whose digest differs; empty if the runs differ in something else.
    what : str
        The difference in words.
    recorded, fresh : int
        The two digests; 0 where there are none.
    system : str
        The system after which the column differed first; empty if the recordings are not traced.
    rows : tuple of int
        Traced: first row of the world in the block of the first difference, and the row behind its last; (0, 0) if unknown.
    entities : tuple of int
        Traced: the agents in these rows, if the next frame has everybody who was in the world then.
    values : tuple of ValueDifference
        Recorded values that differ, in the frame of that tick or the next one that both recordings have.
    values_tick : int
        The tick of that frame; -1 if there is none.
    """

    tick: int
    column: str
    what: str
    recorded: int = 0
    fresh: int = 0
    system: str = ""
    rows: tuple[int, int] = (0, 0)
    entities: tuple[int, ...] = ()
    values: tuple[ValueDifference, ...] = ()
    values_tick: int = -1

    def __str__(self) -> str:
        lines = [f"tick {self.tick}: {self.what}"]
        if self.system:
            rows = f", in rows {self.rows[0]} to {self.rows[1] - 1}" if self.rows[1] else ""
            agents = f" (agents {self.entities[0]} to {self.entities[-1]})" if self.entities else ""
            lines.append(f"    first after system {self.system}{rows}{agents}")
        at = f"at tick {self.values_tick}"
        lines += [f"    agent {value.entity}, {value.column} {at}: recorded {value.recorded!r}, now {value.fresh!r}" for value in self.values]
        return "\n".join(lines)


def compare_digests(recorded: Recording, fresh: Recording) -> Difference | None:
    """Return the first tick and column whose digests differ, or None if all ticks that both recordings have are equal.

    Raises
    ------
    RecordingError
        If the recordings have no digests of the same columns.
    """
    columns = [name for name in recorded.layout.digests if name in fresh.layout.digests]
    if not columns:
        raise RecordingError(f"{recorded.path} and {fresh.path} have no digests of the same columns, so there is nothing to compare.")
    count = min(recorded.commit.ticks, fresh.commit.ticks)
    ticks = [recording.table("ticks", 0, count)["tick"] for recording in (recorded, fresh)]
    tables = []
    for recording in (recorded, fresh):
        order = [recording.layout.digests.index(name) for name in columns]
        tables.append(recording.table("digests", 0, count)[:, order])
    differs = tables[0] != tables[1]
    rows = np.flatnonzero(differs.any(axis=1) | (ticks[0] != ticks[1]))
    if len(rows) == 0:
        return None
    row = int(rows[0])
    tick = int(ticks[0][row])
    if tick != ticks[1][row]:
        return Difference(tick, "", f"row {row} of one recording is tick {tick}, of the other tick {int(ticks[1][row])}")
    at = int(np.flatnonzero(differs[row])[0])
    one, other = int(tables[0][row, at]), int(tables[1][row, at])
    names = ", ".join(name for name, differ in zip(columns, differs[row], strict=True) if differ)
    return Difference(tick, columns[at], f"{names} differ (digest of {columns[at]}: recorded {digest_text(one)}, now {digest_text(other)})", one, other)


def first_difference(recorded: Recording, fresh: Recording) -> Difference | None:
    """Return where a run parts from its recording, or None if they are the same.

    Clock readings are not compared. Of two runs that both came to their end the lengths must be equal; one that was interrupted or cut off is
    compared as far as it goes.

    Parameters
    ----------
    recorded, fresh : Recording
        Both opened from files.

    Returns
    -------
    Difference or None

    Raises
    ------
    RecordingError
        If they have nothing in common that could be compared, or one is damaged.
    """
    found = compare_digests(recorded, fresh)
    if found is not None:
        found = _with_values(recorded, fresh, _with_trace(recorded, fresh, found)) if found.column else found
    of_events = _first_event(recorded, fresh)
    if found is None or (of_events is not None and of_events.tick < found.tick):
        found = of_events or found
    if found is None and recorded.state is RunState.FINISHED and fresh.state is RunState.FINISHED and recorded.commit.ticks != fresh.commit.ticks:
        shorter = min(recorded.commit.last_tick, fresh.commit.last_tick)
        found = Difference(shorter + 1, "", f"the recorded run ends with tick {recorded.commit.last_tick}, this one with tick {fresh.commit.last_tick}")
    return found


def _with_trace(recorded: Recording, fresh: Recording, found: Difference) -> Difference:
    """Add the system and the agents, where both recordings are traced."""
    if not (recorded.layout.trace and fresh.layout.trace):
        return found
    entries = [_trace_of(recording, found.tick) for recording in (recorded, fresh)]
    for one, other in zip(*entries, strict=False):
        if (one.system, one.column, one.rows) != (other.system, other.column, other.rows):
            what = f"{found.what}; system {one.system} wrote {one.column} of {one.rows} agents, now {other.system} {other.column} of {other.rows}"
            return replace(found, what=what, system=one.system)
        blocks = np.flatnonzero(one.digests != other.digests)
        if len(blocks):
            first = int(blocks[0]) * TRACE_BLOCK_ROWS
            last = min(first + TRACE_BLOCK_ROWS, one.rows)
            agents = _entities_at(recorded, found.tick, one.rows)[first:last]
            what = found.what if one.column == found.column else f"{one.column}, then {found.what}"
            return replace(found, what=what, system=one.system, rows=(first, last), entities=agents)
    return found


@dataclass(frozen=True)
class _Traced:
    system: str
    column: str
    rows: int
    digests: NDArray[np.uint64]


def _trace_of(recording: Recording, tick: int) -> list[_Traced]:
    """Return the digests of everything traced in a tick, in the order of the tick."""
    index = recording.table("trace/index")
    systems, columns = recording.layout.systems, recording.layout.digests
    found = []
    for entry in index[np.searchsorted(index["tick"], tick) : np.searchsorted(index["tick"], tick, side="right")]:
        system, column, rows, start, count = (int(entry[field]) for field in ("system", "column", "rows", "start", "count"))
        if not (0 <= system < len(systems) and 0 <= column < len(columns) and 0 <= start <= start + count <= recording.commit.trace_digests):
            raise RecordingError(f"{recording.path}: is damaged (the trace of tick {tick} names system {system}, column {column})")
        found.append(_Traced(systems[system], columns[column], rows, recording.table("trace/digests", start, start + count)))
    return found


def _frame_from(recording: Recording, tick: int) -> int:
    """Return the first frame that shows `tick` or a later one; the number of frames if there is none."""
    return int(np.searchsorted(recording.table("frames/tick"), tick))


def _entities_at(recording: Recording, tick: int, rows: int) -> tuple[int, ...]:
    """Return who is in the first frame that shows `tick` or a later one, if these are as many as `rows`: a recording can keep some agents only."""
    frame = _frame_from(recording, tick)
    if frame == recording.commit.frames:
        return ()
    starts = recording.frame_starts()
    found = recording.rows(int(starts[frame]), int(starts[frame + 1]), [])["id"]
    return tuple(found.tolist()) if len(found) == rows else ()


def _with_values(recorded: Recording, fresh: Recording, found: Difference) -> Difference:
    """Add recorded values that differ, from the first frame at or after the tick that both recordings have."""
    frames = [_frame_from(recording, found.tick) for recording in (recorded, fresh)]
    if any(frame == recording.commit.frames for frame, recording in zip(frames, (recorded, fresh), strict=True)):
        return found
    ticks = [int(recording.table("frames/tick", frame, frame + 1)[0]) for frame, recording in zip(frames, (recorded, fresh), strict=True)]
    if ticks[0] != ticks[1]:
        return found
    rows = []
    for frame, recording in zip(frames, (recorded, fresh), strict=True):
        starts = recording.frame_starts()
        rows.append(recording.rows(int(starts[frame]), int(starts[frame + 1])))
    values = _differing_values(rows[0], rows[1])
    return replace(found, values=values, values_tick=ticks[0] if values else -1)


def _differing_values(recorded: dict[str, NDArray[Any]], fresh: dict[str, NDArray[Any]]) -> tuple[ValueDifference, ...]:
    common, one, other = np.intersect1d(recorded["id"], fresh["id"], assume_unique=True, return_indices=True)
    found: list[ValueDifference] = []
    for column in recorded:
        if column in ("frame", "id") or column not in fresh or recorded[column].dtype != fresh[column].dtype:
            continue
        left, right = np.ascontiguousarray(recorded[column][one]), np.ascontiguousarray(fresh[column][other])
        bits = f"u{left.dtype.itemsize}"
        differing = np.flatnonzero(left.view(bits) != right.view(bits))[:SHOWN_VALUES]
        found += [ValueDifference(int(common[row]), column, left[row].item(), right[row].item()) for row in differing]
    found.sort(key=lambda value: value.entity)  # stable: columns of one agent stay together and in order
    return tuple(found[:SHOWN_VALUES])


def _first_event(recorded: Recording, fresh: Recording) -> Difference | None:
    """Return the first event in which two recordings differ within the ticks that both have."""
    last = min(recorded.commit.last_tick, fresh.commit.last_tick)
    tables = [recording.table("events") for recording in (recorded, fresh)]
    tables = [table[: np.searchsorted(table["tick"], last, side="right")] for table in tables]
    count = min(len(table) for table in tables)
    differing = np.flatnonzero(tables[0][:count].view("V48") != tables[1][:count].view("V48"))
    if len(differing) == 0 and len(tables[0]) == len(tables[1]):
        return None
    row = int(differing[0]) if len(differing) else count
    texts = [str(table[row]) if row < len(table) else "none" for table in tables]
    tick = min(int(table["tick"][row]) for table in tables if row < len(table))
    return Difference(tick, "", f"event {row} is {texts[0]} in the recording, {texts[1]} now (tick, entity, kind, value, x, y)")
