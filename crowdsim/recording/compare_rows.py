"""What is said of two recordings that part, and where they keep other numbers:
agents in frames, counts of ticks, the roster, reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.recording.reader import Recording

# Agents named in a difference. More than a few say nothing new: what differs spreads to the neighbours.
SHOWN_VALUES = 5

Note = Callable[[str], None]  # gets what goes on, as words
Names = tuple[str, str]
NAMES: Names = ("recorded", "now")


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
        The column of the world that differs; empty if the runs differ in something else.
    what : str
        The difference in words.
    recorded, fresh : int
        The two digests; 0 where there are none.
    system : str
        The system after which the column differed first; empty if the recordings are not traced.
    rows : tuple of int
        Traced: first row of the world in the block of the first difference, and the row behind its last; (0,
        0) if unknown.
    rows_in_all : int
        Traced: rows of the world at that time; 0 if unknown.
    entities : tuple of int
        Traced: the agents in these rows, if the next frame has all agents that were in the world then.
    values : tuple of ValueDifference
        Recorded values that differ, in the frame of that tick or the next one that both recordings have:
        those of the column and of the block first.
    values_tick : int
        The tick of that frame; -1 if there is none.
    names : tuple of str
        What the two recordings are called.
    """

    tick: int
    column: str
    what: str
    recorded: int = 0
    fresh: int = 0
    system: str = ""
    rows: tuple[int, int] = (0, 0)
    rows_in_all: int = 0
    entities: tuple[int, ...] = ()
    values: tuple[ValueDifference, ...] = ()
    values_tick: int = -1
    names: Names = NAMES

    @property
    def agent(self) -> int:
        """Entity of the first agent that is known to differ; 0 if none is."""
        return self.values[0].entity if self.values else 0

    def __str__(self) -> str:
        lines = [f"tick {self.tick}: {self.what}"]
        if self.system:
            rows = f", in rows {self.rows[0]} to {self.rows[1] - 1}" if self.rows[1] else ""
            agents = f" (agents {self.entities[0]} to {self.entities[-1]})" if self.entities else ""
            lines.append(f"    first after system {self.system}{rows}{agents}")
        at, (one, other) = f"at tick {self.values_tick}", self.names
        lines += [
            (
                f"    agent {value.entity}, {value.column} {at}: {one} {value.recorded!r}, {other} "
                f"{value.fresh!r}"
            )
            for value in self.values
        ]
        return "\n".join(lines)


_BLOCK_ROWS = 65536  # Rows that are looked at together. Larger takes more memory and is no faster.
# columns of the world that recordings call otherwise
_WIDER = {"position": ("x", "y", "z"), "entity": ("id",)}
_AGREE = "the digests of that tick agree: the recording was changed, or keeps numbers in another way"


def first_row(
    recorded: Recording, fresh: Recording, last_tick: int, names: Names, note: Note = lambda _: None
) -> Difference | None:
    """Return the first recorded number that differs until a tick, in ticks whose digests agree, or None.

    Numbers that are stored as different types (an exact recording beside a rounded one) are not compared; of
    recordings of different scenarios, only the agents that both have.
    """
    found = [
        _first_of_frames(recorded, fresh, last_tick, names, note),
        _first_of_table("ticks", "tick", recorded, fresh, last_tick, names),
        _first_of_table("roster", "spawn_tick", recorded, fresh, last_tick, names),
    ]
    if recorded.layout.explain and fresh.layout.explain:
        found.append(_first_of_table("explanations", "tick", recorded, fresh, last_tick, names))
    return min((each for each in found if each is not None), key=lambda each: each.tick, default=None)


def _first_of_table(
    name: str, tick_field: str, recorded: Recording, fresh: Recording, last_tick: int, names: Names
) -> Difference | None:
    both = (recorded, fresh)
    counts = [recording.first_from(name, last_tick + 1, tick_field) for recording in both]
    count = min(counts)
    for start in range(0, count, _BLOCK_ROWS):
        tables = [recording.table(name, start, min(start + _BLOCK_ROWS, count)) for recording in both]
        fields = [field for field in tables[0].dtype.names or () if field in (tables[1].dtype.names or ())]
        rows = {field: _differing(tables[0][field], tables[1][field]) for field in fields}
        first = min((int(each[0]) for each in rows.values() if len(each)), default=-1)
        if first < 0:
            continue
        field = next(field for field, each in rows.items() if len(each) and each[0] == first)
        one, other = tables[0][field][first].item(), tables[1][field][first].item()
        tick = max(0, min(int(table[tick_field][first]) for table in tables))
        whose = f" (agent {int(tables[0]['entity'][first])})" if "entity" in fields else ""
        return Difference(
            tick,
            "",
            f"{field} in row {start + first} of {name}{whose}: {names[0]} {one!r}, {names[1]} {other!r}",
            names=names,
        )
    if counts[0] == counts[1] or not _is_same_scenario(recorded, fresh):
        return None
    longer = both[0] if counts[0] > count else both[1]
    tick = int(longer.table(name, count, count + 1)[tick_field][0])
    what = f"{name} has {counts[0]} rows ({names[0]}) and {counts[1]} ({names[1]}) until then"
    return Difference(tick, "", what, names=names)


def _differing(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.int64]:
    """Return the rows whose bits differ; none where the types do."""
    if one.dtype != other.dtype:
        return np.zeros(0, dtype=np.int64)
    left, right = np.ascontiguousarray(one), np.ascontiguousarray(other)
    bits = f"u{left.dtype.itemsize}"
    return np.flatnonzero(left.view(bits) != right.view(bits))


def _is_same_scenario(recorded: Recording, fresh: Recording) -> bool:
    return recorded.header.scenario == fresh.header.scenario


def _first_of_frames(
    recorded: Recording, fresh: Recording, last_tick: int, names: Names, note: Note
) -> Difference | None:
    ticks = [recording.table("frames/tick") for recording in (recorded, fresh)]
    ticks = [each[: np.searchsorted(each, last_tick, side="right")] for each in ticks]
    starts = [
        recording.frame_starts()[: len(each) + 1]
        for recording, each in zip((recorded, fresh), ticks, strict=True)
    ]
    if np.array_equal(ticks[0], ticks[1]) and np.array_equal(starts[0], starts[1]):
        return _first_in_blocks(recorded, fresh, ticks[0], starts[0], names, note)
    if _is_same_scenario(recorded, fresh) and (wrong := _first_of_index(ticks, starts, names)) is not None:
        return wrong
    common, *frames = np.intersect1d(ticks[0], ticks[1], return_indices=True)
    for tick, one, other in zip(common.tolist(), *(index.tolist() for index in frames), strict=True):
        note(f"comparing: tick {tick:,} of {common[-1]:,}")
        rows = recorded.frame_rows(one), fresh.frame_rows(other)
        found = _differing_values(*rows, first=(), agents=())
        if found:
            return Difference(tick, "", _AGREE, values=found, values_tick=tick, names=names)
    return None


def _first_of_index(
    ticks: list[NDArray[np.int64]], starts: list[NDArray[np.int64]], names: Names
) -> Difference | None:
    """Return the first frame that two recordings of one scenario have at another tick or with another number
    of agents.
    """
    for kind, tables in (("shows tick", ticks), ("has agents", [np.diff(each) for each in starts])):
        count = min(len(table) for table in tables)
        differing = np.flatnonzero(tables[0][:count] != tables[1][:count])
        if len(differing):
            frame = int(differing[0])
            one, other = (int(table[frame]) for table in tables)
            return Difference(
                int(min(ticks[0][frame], ticks[1][frame])),
                "",
                f"frame {frame} {kind}: {names[0]} {one}, {names[1]} {other}",
                names=names,
            )
    one, other = (len(table) for table in ticks)
    if one == other:
        return None
    longer = ticks[0] if one > other else ticks[1]
    return Difference(
        int(longer[min(one, other)]),
        "",
        f"{names[0]} {one} frames until then, {names[1]} {other} frames",
        names=names,
    )


def _first_in_blocks(
    recorded: Recording,
    fresh: Recording,
    ticks: NDArray[np.int64],
    starts: NDArray[np.int64],
    names: Names,
    note: Note,
) -> Difference | None:
    """Return the first difference where both recordings have the same frames, with as many agents in each."""
    end = int(starts[-1]) if len(ticks) else 0
    for start, stop in _unlike_blocks(recorded, fresh, end, note):
        rows = [recording.rows(start, stop) for recording in (recorded, fresh)]
        differing = [
            found
            for name in rows[0]
            if name in rows[1] and len(found := _differing(rows[0][name], rows[1][name]))
        ]
        if not differing:
            continue
        first = start + min(int(found[0]) for found in differing)
        frame = int(np.searchsorted(starts, first, side="right")) - 1
        tick, one = int(ticks[frame]), first - int(starts[frame])
        left, right = recorded.frame_rows(frame), fresh.frame_rows(frame)
        for name in ("frame", "id"):
            if left[name][one] != right[name][one]:
                what = (
                    f"{name} in row {first} of trajectory: {names[0]} {left[name][one].item()}, {names[1]} "
                    f"{right[name][one].item()}"
                )
                return Difference(tick, "", what, names=names)
        return Difference(
            tick,
            "",
            _AGREE,
            values=_differing_values(left, right, first=(), agents=()),
            values_tick=tick,
            names=names,
        )
    return None


def _unlike_blocks(recorded: Recording, fresh: Recording, end: int, note: Note) -> Iterator[tuple[int, int]]:
    """Yield blocks of rows, but for those that are packed in the same bytes in both recordings."""
    columns = {column.name for column in fresh.layout.columns}
    names = [
        "trajectory",
        *(f"agents/{each.name}" for each in recorded.layout.columns if each.name in columns),
    ]
    chunk = recorded.agent_chunk_rows
    step = max(1, _BLOCK_ROWS // chunk) * chunk
    for first in range(0, end, step):
        note(f"comparing: {first:,} of {end:,} places")
        last = min(first + step, end)
        packed = ([each.packed(name, first, last) for each in (recorded, fresh)] for name in names)
        if all(one is not None and one == other for one, other in packed):
            continue
        for start in range(first, last, _BLOCK_ROWS):
            yield start, min(start + _BLOCK_ROWS, last)


def frame_from(recording: Recording, tick: int) -> int:
    """Return the first frame that shows `tick` or a later one; the number of frames if there is none."""
    return int(np.searchsorted(recording.table("frames/tick"), tick))


def entities_at(recording: Recording, tick: int, rows: int) -> tuple[int, ...]:
    """Return which agents are in the first frame that shows `tick` or a later one,
    if these are as many as `rows`: a recording can keep some agents only.
    """
    frame = frame_from(recording, tick)
    if frame == recording.commit.frames:
        return ()
    found = recording.frame_rows(frame, [])["id"]
    return tuple(found.tolist()) if len(found) == rows else ()


def with_values(recorded: Recording, fresh: Recording, found: Difference) -> Difference:
    """Add recorded values that differ, from the first frame at or after the
    tick that both recordings have.
    """
    frames = [frame_from(recording, found.tick) for recording in (recorded, fresh)]
    if any(
        frame == recording.commit.frames for frame, recording in zip(frames, (recorded, fresh), strict=True)
    ):
        return found
    ticks = [
        int(recording.table("frames/tick", frame, frame + 1)[0])
        for frame, recording in zip(frames, (recorded, fresh), strict=True)
    ]
    if ticks[0] != ticks[1]:
        return found
    first = _WIDER.get(found.column, (found.column, f"{found.column}_x", f"{found.column}_y"))
    rows = recorded.frame_rows(frames[0]), fresh.frame_rows(frames[1])
    values = _differing_values(*rows, first=first, agents=found.entities)
    return replace(found, values=values, values_tick=ticks[0] if values else -1)


def _differing_values(
    recorded: dict[str, NDArray[Any]],
    fresh: dict[str, NDArray[Any]],
    *,
    first: Sequence[str],
    agents: Sequence[int],
) -> tuple[ValueDifference, ...]:
    """Return the first values of a frame that differ:
    those of some agents and columns before the others, then by agent.
    """
    common, one, other = np.intersect1d(recorded["id"], fresh["id"], return_indices=True)
    suspects = set(agents)
    found: list[tuple[tuple[bool, bool, int, int], ValueDifference]] = []
    for place, column in enumerate(recorded):
        if column in ("frame", "id") or column not in fresh:
            continue
        left, right = recorded[column][one], fresh[column][other]
        rows = _differing(left, right)
        if suspects and len(rows) > SHOWN_VALUES:
            rows = rows[np.argsort(~np.isin(common[rows], list(suspects)), kind="stable")]
        for row in rows[:SHOWN_VALUES].tolist():
            entity = int(common[row])
            order = (bool(suspects) and entity not in suspects, column not in first, entity, place)
            found.append((order, ValueDifference(entity, column, left[row].item(), right[row].item())))
    return tuple(value for _, value in sorted(found, key=lambda pair: pair[0])[:SHOWN_VALUES])
