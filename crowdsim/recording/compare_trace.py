"""Where two traced recordings part within a tick: the system, the column, and the block of agents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import RecordingError
from crowdsim.recording.compare_rows import entities_at
from crowdsim.recording.difference import Difference, Names
from crowdsim.recording.reader import Recording
from crowdsim.recording.schema import TRACE_BLOCK_ROWS


@dataclass(frozen=True)
class _Traced:
    """What the trace has of a system's column in a tick."""

    system: str
    column: str
    rows: int
    digests: NDArray[np.uint64]


class _Trace:
    """The trace of a recording until a tick."""

    def __init__(self, recording: Recording, last_tick: int) -> None:
        index = recording.table("trace/index")
        self.index = index[index["tick"] <= last_tick]
        self.digests = recording.table("trace/digests")
        self.recording = recording
        ticks = self.index["tick"].tolist()
        self._stops = {tick: row + 1 for row, tick in enumerate(ticks)}
        self._starts = {tick: len(ticks) - 1 - row for row, tick in enumerate(reversed(ticks))}
        self._systems, self._columns = recording.layout.systems, recording.layout.trace_columns

    def of(self, tick: int) -> dict[tuple[str, str], _Traced]:
        """Return what is traced in a tick, in the order of the tick."""
        found = {}
        for entry in self.index[self._starts.get(tick, 0) : self._stops.get(tick, 0)]:
            system, column, rows, start, count = (int(entry[field]) for field in ("system", "column", "rows", "start", "count"))
            is_known = 0 <= system < len(self._systems) and 0 <= column < len(self._columns)
            if not (is_known and 0 <= start <= start + count <= len(self.digests)):
                raise RecordingError(f"{self.recording.path}: is damaged (the trace of tick {tick} names system {system}, column {column})")
            traced = _Traced(self._systems[system], self._columns[column], rows, self.digests[start : start + count])
            found[traced.system, traced.column] = traced
        return found


def with_trace(recorded: Recording, fresh: Recording, found: Difference) -> Difference:
    """Add the system and the agents to a difference of digests, where both recordings are traced."""
    if not (recorded.layout.trace and fresh.layout.trace):
        return found
    inside = _difference_in(_Trace(recorded, found.tick), _Trace(fresh, found.tick), found.tick, found.names)
    if inside is None:
        return found
    what = found.what if inside.column == found.column else f"{inside.what}, then {found.what}"
    return replace(found, what=what, system=inside.system, rows=inside.rows, entities=inside.entities, column=inside.column)


def first_trace_difference(recorded: Recording, fresh: Recording, last_tick: int, names: Names) -> Difference | None:
    """Return the first difference in what systems have written until a tick, or None.

    Systems and columns that one of the recordings does not know are left out: that of another version.
    """
    if not (recorded.layout.trace and fresh.layout.trace):
        return None
    traces = _Trace(recorded, last_tick), _Trace(fresh, last_tick)
    if _are_equal(*traces):
        return None
    for tick in np.union1d(traces[0].index["tick"], traces[1].index["tick"]).tolist():
        found = _difference_in(*traces, tick, names)
        if found is not None:
            return found
    return _other_entry(*traces, names) if _mean_the_same(*traces) else None


def _mean_the_same(one: _Trace, other: _Trace) -> bool:
    """Return whether two traces mean the same systems and columns by their numbers."""
    layouts = [(trace.recording.layout.systems, trace.recording.layout.trace_columns) for trace in (one, other)]
    return layouts[0] == layouts[1]


def _other_entry(one: _Trace, other: _Trace, names: Names) -> Difference | None:
    """Return the first entry that differs though what it leads to does not: such as no run writes."""
    count = min(len(one.index), len(other.index))
    row = next((row for row in range(count) if one.index[row] != other.index[row]), count)
    entries = [trace.index[row] if row < len(trace.index) else None for trace in (one, other)]
    ticks = [max(0, int(entry["tick"])) for entry in entries if entry is not None]
    return Difference(min(ticks), "", f"row {row} of trace/index: {names[0]} {entries[0]}, {names[1]} {entries[1]}", names=names) if ticks else None


def _are_equal(one: _Trace, other: _Trace) -> bool:
    """Return whether two traces are the same, if that can be seen without looking at each entry."""
    if not _mean_the_same(one, other) or not np.array_equal(one.index, other.index):
        return False
    reach = int(one.index["start"][-1] + one.index["count"][-1]) if len(one.index) else 0
    return np.array_equal(one.digests[:reach], other.digests[:reach])


def _difference_in(one: _Trace, other: _Trace, tick: int, names: Names) -> Difference | None:
    """Return the first difference within a tick, in the order of its systems."""
    entries = one.of(tick), other.of(tick)
    common = [set(trace.recording.layout.systems) for trace in (one, other)]
    columns = [set(trace.recording.layout.trace_columns) for trace in (one, other)]
    order = list(entries[0]) + [key for key in entries[1] if key not in entries[0]]
    places = {name: place for place, name in enumerate(one.recording.layout.systems)}
    for system, column in sorted(order, key=lambda key: places.get(key[0], len(places))):  # stable: columns stay in their order
        if system not in common[0] & common[1] or column not in columns[0] & columns[1]:
            continue
        found = [entry.get((system, column)) for entry in entries]
        difference = _parted(found[0], found[1], names)
        if difference is not None:
            what, rows = difference
            agents = entities_at(one.recording, tick, found[0].rows)[rows[0] : rows[1]] if found[0] is not None and rows[1] else ()
            return Difference(tick, column, f"{column} differ after {system}{what}", system=system, rows=rows, entities=agents, names=names)
    return None


def _parted(one: Any, other: Any, names: Names) -> tuple[str, tuple[int, int]] | None:
    """Return how what a system wrote of a column differs, and the rows of the first block; None if it does not."""
    if one is None or other is None:
        return f" (it changed only {names[0] if other is None else names[1]})", (0, 0)
    if one.rows != other.rows or len(one.digests) != len(other.digests):
        return f" (of {one.rows} agents {names[0]}, of {other.rows} {names[1]})", (0, 0)
    blocks = np.flatnonzero(one.digests != other.digests)
    if not len(blocks):
        return None
    first = int(blocks[0]) * TRACE_BLOCK_ROWS
    return "", (first, min(first + TRACE_BLOCK_ROWS, one.rows))
