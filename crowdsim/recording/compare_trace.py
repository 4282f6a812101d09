"""Where two traced recordings part within a tick: the system, the column, and the block of agents."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import RecordingError
from crowdsim.recording.compare_rows import Difference, Names, entities_at
from crowdsim.recording.reader import BLOCK_ROWS, Recording
from crowdsim.recording.schema import TRACE_BLOCK_ROWS


@dataclass(frozen=True)
class _Traced:
    """What the trace has of a column after a system."""

    rows: int
    digests: NDArray[np.uint64]


_State = dict[str, _Traced]  # what the trace last saw of each column


class _Trace:
    """The trace of a recording. Its index is in memory, some kilobytes a tick; digests are read as they are
    asked for.

    Raises
    ------
    RecordingError
        If it is not as a writer leaves it: ticks and systems ascending, one digest for each block, one after
        the other.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording, self.index = recording, recording.table("trace/index")
        self.count = recording.commit.trace_digests
        self.systems, self.columns = recording.layout.systems, recording.layout.trace_columns
        index = self.index
        blocks = -(-index["rows"] // TRACE_BLOCK_ROWS)
        step = np.diff(index["tick"])
        is_whole = (
            np.all(
                (index["system"] >= 0)
                & (index["system"] < len(self.systems))
                & (index["column"] >= 0)
                & (index["column"] < len(self.columns))
            )
            and np.all((index["rows"] >= 0) & (index["count"] == blocks))
            and np.array_equal(index["start"], np.cumsum(blocks) - blocks)
            and int(blocks.sum()) == self.count
            and np.all((step > 0) | ((step == 0) & (np.diff(index["system"]) >= 0)))
        )
        if not is_whole:
            raise RecordingError(f"{recording.path}: is damaged (the index of its trace is out of order)")

    def of(self, tick: int) -> dict[tuple[str, str], _Traced]:
        """Return what is traced in a tick, in the order of the tick, by system and column."""
        start, stop = (
            int(np.searchsorted(self.index["tick"], tick, side=side)) for side in ("left", "right")
        )
        entries = self.index[start:stop]
        if not len(entries):
            return {}
        # they stand one after the other
        first, last = int(entries["start"][0]), int(entries["start"][-1] + entries["count"][-1])
        digests = self.recording.table("trace/digests", first, last)
        return {
            (self.systems[int(entry["system"])], self.columns[int(entry["column"])]): _Traced(
                int(entry["rows"]), digests[entry["start"] - first : entry["start"] - first + entry["count"]]
            )
            for entry in entries
        }

    def before(self, tick: int) -> _State:
        """Return what the trace last saw of each column before a tick."""
        rows = {
            int(entry["column"]): entry for entry in self.index[: np.searchsorted(self.index["tick"], tick)]
        }
        return {
            self.columns[column]: _Traced(
                int(entry["rows"]),
                self.recording.table(
                    "trace/digests", int(entry["start"]), int(entry["start"] + entry["count"])
                ),
            )
            for column, entry in rows.items()
        }

    def is_as(self, other: _Trace) -> bool:
        """Return whether all of it is as in another one."""
        return (
            (self.systems, self.columns) == (other.systems, other.columns)
            and np.array_equal(self.index, other.index)
            and all(
                np.array_equal(
                    self.recording.table("trace/digests", start, start + BLOCK_ROWS),
                    other.recording.table("trace/digests", start, start + BLOCK_ROWS),
                )
                for start in range(0, self.count, BLOCK_ROWS)
            )
        )


def with_trace(recorded: Recording, fresh: Recording, found: Difference) -> Difference:
    """Add the system and the agents to a difference of digests, where both recordings are traced."""
    if not (recorded.layout.trace and fresh.layout.trace):
        return found
    traces = _Trace(recorded), _Trace(fresh)
    inside = _difference_in(
        traces, (traces[0].before(found.tick), traces[1].before(found.tick)), found.tick, found.names
    )
    if inside is None:
        return found
    inside = _with_agents(inside, recorded)
    what = found.what if inside.column == found.column else f"{inside.what}, then {found.what}"
    return replace(
        found,
        what=what,
        system=inside.system,
        rows=inside.rows,
        entities=inside.entities,
        column=inside.column,
    )


def first_trace_difference(
    recorded: Recording, fresh: Recording, last_tick: int, names: Names
) -> Difference | None:
    """Return the first difference in what systems have written until a tick, or None.

    Systems and columns that one of the recordings does not know are left out: that of another version.
    """
    if not (recorded.layout.trace and fresh.layout.trace):
        return None
    traces = _Trace(recorded), _Trace(fresh)
    if traces[0].is_as(traces[1]):
        return None
    states: tuple[_State, _State] = {}, {}
    for tick in np.union1d(traces[0].index["tick"], traces[1].index["tick"]).tolist():
        if tick > last_tick:
            break
        found = _difference_in(traces, states, tick, names)
        if found is not None:
            return _with_agents(found, recorded)
    return None


def _difference_in(
    traces: tuple[_Trace, _Trace], states: tuple[_State, _State], tick: int, names: Names
) -> Difference | None:
    """Return the first difference within a tick, in the order of its systems,
    and take the tick into the states.

    A column without an entry after a system is as it was last seen; not, if agents have come or gone since,
    for a version that does not look at idle systems.
    """
    entries = traces[0].of(tick), traces[1].of(tick)
    places = {name: place for place, name in enumerate(traces[0].systems)}
    keys = [*entries[0], *(key for key in entries[1] if key not in entries[0])]
    # stable: columns stay in their order
    for system, column in sorted(keys, key=lambda key: places.get(key[0], len(places))):
        given = [entry.get((system, column)) for entry in entries]
        for state, each in zip(states, given, strict=True):
            if each is not None:
                state[column] = each
        one, other = states[0].get(column), states[1].get(column)
        are_known = all(system in trace.systems and column in trace.columns for trace in traces)
        if one is None or other is None or not are_known or (not all(given) and one.rows != other.rows):
            continue
        what = f"{column} differ after {system}"
        if one.rows != other.rows:
            return Difference(
                tick,
                column,
                f"{what} (of {one.rows} agents {names[0]}, of {other.rows} {names[1]})",
                system=system,
                names=names,
            )
        blocks = np.flatnonzero(one.digests != other.digests)
        if len(blocks):
            first = int(blocks[0]) * TRACE_BLOCK_ROWS
            return Difference(
                tick,
                column,
                what,
                system=system,
                rows=(first, min(first + TRACE_BLOCK_ROWS, one.rows)),
                rows_in_all=one.rows,
                names=names,
            )
    return None


def _with_agents(found: Difference, recorded: Recording) -> Difference:
    """Add which agents are in the rows of a difference, if a frame knows."""
    return (
        replace(found, entities=entities_at(recorded, found.tick, found.rows_in_all)[slice(*found.rows)])
        if found.rows[1]
        else found
    )
