"""The reader: what was committed of a recording, as DataFrames.

It opens finished files, files that another process is writing, and files that were cut off, and shows the
same thing in all three: every row of the last commit. Files from strangers are looked at before they are
read: their shapes, types, filters and links are checked against what a recording has, so that a small file
cannot make the reader fill the memory, follow a link to another file, or wait for ever.
"""

from __future__ import annotations

import json
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import h5py
import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.explain import Reason
from crowdsim.commands import command
from crowdsim.errors import RecordingError
from crowdsim.old_names import COLUMNS, name_today
from crowdsim.printable import counted
from crowdsim.recording import gate
from crowdsim.recording.commit import Commit, newest
from crowdsim.recording.datasets import AGENT_CHUNK_ROWS, list_datasets
from crowdsim.recording.files import lock_of
from crowdsim.recording.gate import Damage, Packed, first_line, look_at_agents, look_at_rows
from crowdsim.recording.header import (
    MAXIMUM_HEADER_BYTES,
    MOST_TICKS,
    Header,
    Layout,
    OtherVersion,
    from_json,
)
from crowdsim.recording.interventions import Intervention, read_interventions
from crowdsim.recording.journal import Kept
from crowdsim.recording.locks import is_held
from crowdsim.recording.renamed import verdict_of_today
from crowdsim.recording.schema import (
    COMMIT_WORDS,
    EVENT_UNITS,
    EXPLANATION_DTYPE,
    EXPLANATION_UNITS,
    FORMAT_VERSION,
    ROSTER_DTYPE,
    ROSTER_UNITS,
    TRAJECTORY_DTYPE,
    TRAJECTORY_UNITS,
    EventKind,
    RunState,
)
from crowdsim.recording.snapshot import Snapshot

if TYPE_CHECKING:
    import pandas as pd

_T = TypeVar("_T")
_MAXIMUM_VERDICT_BYTES = 2**24
# Rows of the trajectory that are read at a time: two chunks. Larger takes more memory and is no faster.
BLOCK_ROWS = 65536
_BLOCK_BYTES = 2**20  # of interventions, read at a time
# A file that is being written can change under a read; the next attempt sees the new state. Fewer gives up on
# slow disks.
_ATTEMPTS = 20
_PAUSE_S = 0.02


class Recording(AbstractContextManager["Recording"]):
    """What was committed of a recording.

    Parameters
    ----------
    path : Path
    version : int
        Version of the format; older ones are read by `crowdsim migrate` only.

    Attributes
    ----------
    path : Path
    header : Header
        Scenario, seed, parameters, versions.
    layout : Layout
        Which columns, counts and systems there are.
    commit : Commit
        Row counts; everything that the methods return lies within them.
    is_closed : bool
        The file was closed when it was opened here. A writer that was killed in its last moment leaves a
        finished run in a file that was not.
    verdict : dict or None
        What the run resulted in: ``state``, ``reason``, ``result``, ``run_digest``; None while it goes on or
        if it was cut off.
    """

    def __init__(self, path: Path, version: int = FORMAT_VERSION) -> None:
        self.path = path
        self._version = version
        self._file: Any = None
        self._snapshot: Snapshot | None = None
        self._checked: dict[str, Packed] = {}
        self._stored: dict[str, int] = {}  # committed rows in the file itself
        self._rests: dict[str, NDArray[Any]] = {}  # the others
        self._journal: Kept | None = None
        self._journal_damage = ""  # why there is none, though the commit record speaks of one
        self._commit_seen = -1
        self._starts: NDArray[np.int64] | None = None
        self._known: NDArray[np.int64] | None = None  # the agents in the roster
        try:
            self.commit, self.header, self.layout = self._attempt(self._read_head)
            self._datasets = list_datasets(self.layout, exact=self.header.exact)
            self.is_closed = self._snapshot is not None and not self._snapshot.was_open
            self.verdict = self._attempt(self._read_verdict)
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        end_s = max(0, self.commit.last_tick) * self.header.tick_s
        return (
            f"<Recording {self.path}: {self.state.name.lower()}, {counted(self.commit.agents, 'agent')}, "
            f"{counted(self.commit.frames, 'frame')}, {end_s:g} s>"
        )

    # What it is
    # --------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> RunState:
        """How it ended; RUNNING if it is being written or was cut off."""
        return RunState(self.commit.state)

    @property
    def is_whole(self) -> bool:
        """Whether its writer, or `recover`, finished it:
        all of the run is there, and any HDF5 reader opens the file.
        """
        return self.state is not RunState.RUNNING and self.is_closed

    @property
    def fps(self) -> float:
        """Frames per second of simulated time."""
        return self.header.fps

    @property
    def run_digest(self) -> int:
        """The one number of the run until the last commit."""
        return self.commit.run_digest

    def sizes(self) -> dict[str, tuple[int, int, int]]:
        """Return (rows, bytes before compression, bytes on the disk) of every dataset that has rows."""
        found = {}
        for name, spec in self._datasets.items():
            rows = self._committed_rows(name)
            if rows:
                found[name] = (rows, rows * spec.row_bytes, self._attempt(partial(self._size, name)))
        return found

    def _size(self, name: str) -> int:
        return (
            self._dataset(name).stored_bytes
            + (self._committed_rows(name) - self._stored[name]) * self._datasets[name].row_bytes
        )

    @property
    def agent_chunk_rows(self) -> int:
        """Rows in a chunk of the trajectory, of those that a writer makes."""
        return min(AGENT_CHUNK_ROWS, self._attempt(lambda: self._dataset("trajectory").chunk_rows))

    def floors(self) -> list[Any]:
        """Return the walkable ground of each layer as a shapely geometry.

        Raises
        ------
        RecordingError
            If a text of the header is no polygon.
        """
        import shapely

        found = [shapely.from_wkt(text, on_invalid="ignore") for text in self.header.ground]
        for number, floor in enumerate(found):
            if floor is None or floor.geom_type not in ("Polygon", "MultiPolygon") or not floor.is_valid:
                raise RecordingError(
                    f"{self.path}: is damaged (the ground of layer {number} in its header is no polygon)"
                )
        return found

    # DataFrames
    # --------------------------------------------------------------------------------------------------------

    def trajectories(self, frames: slice | None = None, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Return where all agents were, one row for each agent in each frame.

        Parameters
        ----------
        frames : slice, optional
            Frames to read, as in ``slice(100, 200)`` or ``slice(None, None, 10)``; all of them without it.
        columns : sequence of str, optional
            Which of x, y, z and the recorded columns to read; all without it, frame and id always. A vector
            is asked for by its name and comes as two columns, ``velocity_x`` and ``velocity_y``.

        Returns
        -------
        DataFrame
            In order of frame, then id. ``attrs["units"]`` has the unit of every column, ``attrs["fps"]`` the
            frames per second.

        Raises
        ------
        RecordingError
            If a column is unknown, the file is damaged, or the rows would not fit into the memory.
        """
        wanted = self._columns(columns)
        spans = self._spans(frames)
        count = sum(stop - start for start, stop in spans)
        kinds = {name: values.dtype for name, values in self.rows(0, 0, wanted).items()}
        self._require_memory(
            count * sum(kind.itemsize for kind in kinds.values()), f"a table of {count:,} rows"
        )
        # filled block by block: nothing but the table itself takes memory
        arrays = {name: np.empty(count, dtype=kind) for name, kind in kinds.items()}
        at = 0
        for begin, end in spans:
            for start in range(begin, end, BLOCK_ROWS):
                part = self.rows(start, min(start + BLOCK_ROWS, end), wanted)
                for name, values in part.items():
                    arrays[name][at : at + len(values)] = values
                at += len(part["id"])
        units = dict(TRAJECTORY_UNITS) | {
            field: column.unit for column in self.layout.columns for field in column.field_names()
        }
        return self._frame(arrays, {name: units[name] for name in arrays}, copy=False)

    def frames(self) -> pd.DataFrame:
        """Return one row for each frame: its number, tick, time in seconds, and number of agents."""
        starts, ticks = self.frame_starts(), self._read("frames/tick", 0, self.commit.frames)
        arrays = {
            "frame": np.arange(self.commit.frames),
            "tick": ticks,
            "time_s": ticks * self.header.tick_s,
            "agents": np.diff(starts),
        }
        return self._frame(arrays, {"frame": "", "tick": "tick", "time_s": "s", "agents": ""})

    def events(self) -> pd.DataFrame:
        """Return what happened: tick, entity, kind (name of `EventKind`), value, x, y;
        see there for what they mean.
        """
        return self._of_kinds(self._read("events", 0, self.commit.events), EVENT_UNITS, EventKind)

    def explanations(self) -> pd.DataFrame:
        """Return what stood behind the velocities of the agents that `record.explain` names,
        one row for each reason in each tick.

        Columns: tick, entity, kind (name of `Reason`, which says what the numbers mean), other, binds, x, y,
        a_x, a_y, b_x, b_y, value; empty where nothing was asked for. The reasons of tick n led from the
        places of tick n - 1 to those of tick n.
        """
        explained = (
            self._read("explanations", 0, self.commit.explanations)
            if self.layout.explain
            else np.zeros(0, dtype=EXPLANATION_DTYPE)
        )
        data = self._of_kinds(explained, EXPLANATION_UNITS, Reason)
        data["binds"] = data["binds"].astype(bool)
        return data

    def roster(self) -> pd.DataFrame:
        """Return the facts about agents that do not change, with the name of the group beside its index."""
        self._known_agents()
        table = self._read("roster", 0, self.commit.agents)
        data = self._frame({name: table[name] for name in ROSTER_DTYPE.fields or ()}, dict(ROSTER_UNITS))
        groups = self.header.groups
        data["group_name"] = [groups[index] if 0 <= index < len(groups) else "" for index in data["group"]]
        return data

    def labels(self) -> dict[int, str]:
        """Return what a user calls each agent, by entity: ``#7`` by its id, else ``crowd[3]``."""
        roster = self.roster()
        rows = roster[["entity", "scenario_id", "group_name", "index"]].itertuples(index=False)
        return {entity: f"#{own}" if own >= 0 else f"{group}[{index}]" for entity, own, group, index in rows}

    def ticks(self) -> pd.DataFrame:
        """Return the declared counts of every tick, with the time in seconds."""
        table = self._read("ticks", 0, self.commit.ticks)
        names = table.dtype.names or ()
        units = {"tick": "tick", **{count.name: count.unit for count in self.layout.counts}, "time_s": "s"}
        return self._frame(
            {name: table[name] for name in names} | {"time_s": table["tick"] * self.header.tick_s}, units
        )

    def timings(self) -> pd.DataFrame:
        """Return how long each system took in every tick, in nanoseconds:
        clock readings, different in every run.
        """
        return self._per_tick("timings", self.layout.systems, "ns")

    def interventions(self) -> Iterator[Intervention]:
        """Yield what a program did to the run, in order; nothing where none did, or none was kept.

        Raises
        ------
        RecordingError
            At the first that cannot be, while they are read.
        """
        size = self.commit.interventions if self.layout.interventions else 0
        blocks = (
            self._read("interventions", start, min(start + _BLOCK_BYTES, size))
            for start in range(0, size, _BLOCK_BYTES)
        )
        try:
            yield from read_interventions(blocks, self.commit.last_tick)
        except Damage as damage:
            raise RecordingError(f"{self.path}: is damaged ({damage})") from None

    def digests(self) -> pd.DataFrame:
        """Return the digest of every digested column of the world after every tick."""
        return self._per_tick("digests", self.layout.digests, "")

    # Arrays
    # --------------------------------------------------------------------------------------------------------

    def rows(self, start: int, stop: int, columns: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
        """Return rows of the trajectory as arrays by DataFrame column;
        `frame_starts` says which rows belong to which frame.
        """
        wanted = self._columns(columns)
        table = self._read("trajectory", start, stop)
        self._look(lambda: look_at_agents(table, self.frame_starts(), self._known_agents(), start))
        found = {
            name: np.ascontiguousarray(table[name])
            for name in TRAJECTORY_DTYPE.names or ()
            if name in ("frame", "id") or name in wanted
        }
        for column in self.layout.columns:
            if column.name in wanted:
                array = self._read(f"agents/{column.name}", start, stop)
                fields = column.field_names()
                found |= (
                    {fields[0]: array}
                    if len(fields) == 1
                    else {field: np.ascontiguousarray(array[:, k]) for k, field in enumerate(fields)}
                )
        return found

    def frame_rows(self, frame: int, columns: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
        """Return the rows of one frame; see `rows`."""
        starts = self.frame_starts()
        return self.rows(int(starts[frame]), int(starts[frame + 1]), columns)

    def frame_starts(self) -> NDArray[np.int64]:
        """Return the first row of every frame and, last, the number of rows:
        shape (frames + 1,), never falling.
        """
        if self._starts is None:
            starts = np.append(self._read("frames/start", 0, self.commit.frames), self.commit.rows)
            if starts[0] != 0 or np.any(np.diff(starts) < 0):
                raise RecordingError(f"{self.path}: is damaged (the index of its frames is out of order)")
            self._starts = starts
        return self._starts

    def table(self, name: str, start: int = 0, stop: int | None = None) -> NDArray[Any]:
        """Return committed rows of the dataset `name` as they are in the file."""
        rows = self._committed_rows(name)
        return self._read(name, start, rows if stop is None else min(stop, rows))

    def chunk(self, name: str, start: int, stop: int, like: h5py.Dataset) -> bytes | None:
        """Return committed rows as they are packed in the file, once they have turned out to unpack; None
        where they are no whole chunk of a dataset that is packed like another one.
        """
        found = self._attempt(lambda: self._dataset(name))
        if start % found.chunk_rows or stop != start + found.chunk_rows or stop > self._stored[name]:
            return None
        return self._attempt(lambda: self._dataset(name).chunk(start // found.chunk_rows, like))

    def packed(self, name: str, start: int, stop: int) -> tuple[Any, ...] | None:
        """Return what holds committed rows of a dataset in the file; None where that holds others as well.
        Where two recordings have the same, they have the same rows: to see that takes an eighth of unpacking.
        """
        self._attempt(lambda: self._dataset(name))
        if stop > self._stored[name]:
            return None
        return self._attempt(lambda: self._dataset(name).packed(start, stop))

    def blocks(
        self, columns: Sequence[str] | None = None, rows: int = BLOCK_ROWS
    ) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield the trajectory in pieces of at most `rows` rows, in order; see `rows`."""
        for start in range(0, self.commit.rows, rows):
            yield self.rows(start, min(start + rows, self.commit.rows), columns)

    def frame_spans(
        self, first: int = 0, stop: int | None = None, rows: int = BLOCK_ROWS, least: int = 1
    ) -> Iterator[tuple[int, int]]:
        """Yield the frames from `first` to before `stop` in spans, each the number of its first frame and of
        the one behind its last: as many frames as have at most `rows` rows together, and `least` or more,
        where there are so many.
        """
        starts = self.frame_starts()
        last = self.commit.frames if stop is None else stop
        while first < last:
            until = int(np.searchsorted(starts, starts[first] + rows, side="right")) - 1
            until = min(max(until, first + least), last)
            until = last if last - until < least else until
            yield first, until
            first = until

    def first_from(self, name: str, tick: int, field: str = "tick") -> int:
        """Return the first row of ``ticks``, ``events``, ``explanations`` or another dataset in the order of
        a field that is of `tick` or a later one, looking at few rows; the number of rows if there is none.
        """
        return bisect_left(
            range(self._committed_rows(name)),
            tick,
            key=lambda row: int(self.table(name, row, row + 1)[field][0]),
        )

    def close(self) -> None:
        """Close the file."""
        file, snapshot = self._file, self._snapshot
        self._file = self._snapshot = None
        self._checked = {}
        if file is not None:
            file.close()
        if snapshot is not None:
            snapshot.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    # Inside
    # --------------------------------------------------------------------------------------------------------

    def _attempt(self, read: Callable[[], _T]) -> _T:
        """Call `read`; of a file that is being written, open the present state
        and call it again if it fails.
        """
        for attempt in range(_ATTEMPTS):
            try:
                if self._file is None:
                    self._snapshot = Snapshot(self.path)
                    self._file = h5py.File(self._snapshot, "r", rdcc_nbytes=gate.CHUNK_CACHE_BYTES)
                return read()
            except RecordingError:
                raise
            except Exception as error:
                # whatever a damaged or hostile file makes the library say is one thing to the user
                was_open = self._snapshot is not None and self._snapshot.was_open
                size = self._snapshot.size if self._snapshot is not None else 0
                self.close()
                if not was_open or attempt + 1 == _ATTEMPTS or (attempt and not self._may_change(size)):
                    raise RecordingError(
                        f"{self.path}: is damaged or no recording ({first_line(error)})"
                    ) from error
                time.sleep(_PAUSE_S)
        raise AssertionError("unreachable")

    def _may_change(self, size: int) -> bool:
        """Return whether a file has a writer, or had one until a moment ago."""
        try:
            return is_held(lock_of(self.path)) or self.path.stat().st_size > size
        except OSError:
            return False

    def _read_head(self) -> tuple[Commit, Header, Layout]:
        commits = self._checked_dataset("commit", np.dtype("<u8"), (COMMIT_WORDS,))
        if commits.shape[0] != 2:
            raise Damage(f"commit has {commits.shape[0]:,} rows")
        slots = commits.rows(0, 2)
        commit = newest(slots, is_closed=self._snapshot is not None and not self._snapshot.was_open)
        if commit is None or commit.state not in set(RunState) or not -1 <= commit.last_tick < MOST_TICKS:
            raise ValueError("its commit record is damaged")
        content = self._checked_dataset("header", np.dtype("u1"), ())
        if content.shape[0] > MAXIMUM_HEADER_BYTES:
            raise ValueError(f"its header claims {content.shape[0]} bytes")
        try:
            header, layout = from_json(content.rows(0, content.shape[0]).tobytes(), self._version)
        except OtherVersion as other:
            raise RecordingError(_other_version(self.path, other.version)) from None
        if commit.journal:
            self._open_journal(commit)
        return commit, header, layout

    def _open_journal(self, commit: Commit) -> None:
        """Read the rows that fill no chunk yet.
        Where they are not what they should be, a writer may have gone on meanwhile: it is looked once more.
        """
        try:
            self._journal = Kept(Packed(gate.dataset(self._file, "journal")), commit.journal)
        except Damage as damage:
            if commit.number != self._commit_seen:
                self._commit_seen = commit.number
                raise
            self._journal_damage = str(damage)

    def _read_verdict(self) -> dict[str, Any] | None:
        size = self.commit.verdict_bytes
        if not size:
            return None
        if size > _MAXIMUM_VERDICT_BYTES:
            raise ValueError(f"its verdict claims {size} bytes")
        verdict = json.loads(self._span("verdict", 0, size).tobytes())
        if not isinstance(verdict, dict) or not isinstance(verdict.get("result", {}), dict):
            raise ValueError("its verdict is no table")
        return verdict_of_today(verdict)

    def _committed_rows(self, name: str) -> int:
        return int(getattr(self.commit, self._datasets[name].counter))

    def _dataset(self, name: str) -> Packed:
        """Return a dataset once it has turned out to be what the layout says."""
        if name not in self._checked:
            spec, rows = self._datasets[name], self._committed_rows(name)
            found = self._checked_dataset(self._in_file(name), spec.dtype, spec.shape)
            # the others are in the journal
            stored = rows // found.chunk_rows * found.chunk_rows if self.commit.journal else rows
            if not 0 <= stored <= found.shape[0]:
                raise Damage(f"{name} has {found.shape[0]} rows, but {rows} were committed")
            self._stored[name] = stored
            self._checked[name] = found
        return self._checked[name]

    def _rest(self, name: str) -> NDArray[Any]:
        """Return the committed rows of a dataset that are in the journal."""
        if name not in self._rests:
            spec, stored, rows = self._datasets[name], self._stored[name], self._committed_rows(name)
            if stored == rows:
                self._rests[name] = np.zeros((0, *spec.shape), dtype=spec.dtype)
            elif self._journal is None:
                raise RecordingError(
                    f"{self.path}: {self._journal_damage}. `{command('recover', self.path)}` makes a whole "
                    "file of the rest."
                )
            else:
                number = [*self._datasets].index(name)
                self._rests[name] = self._journal.rows(
                    number, spec.dtype, spec.width, stored, rows, fields=name == "trajectory"
                )
        return self._rests[name]

    def _checked_dataset(self, name: str, dtype: np.dtype[Any], width: tuple[int, ...]) -> Packed:
        """Return the dataset `name` if it comes through the gate and is of this type and shape.

        Raises
        ------
        Damage
            With what is wrong.
        """
        found = gate.dataset(self._file, name)
        if found.dtype != self._type_in_file(dtype):
            raise Damage(f"{name} has type {str(found.dtype)[:80]}, but {dtype} was expected")
        if found.shape[1:] != width or len(found.shape) != 1 + len(width):
            raise Damage(f"{name} has shape {found.shape}")
        return Packed(found, dtype)

    def _in_file(self, name: str) -> str:
        """Return what the file calls a dataset."""
        folder, _, last = name.rpartition("/")
        return f"{folder}/{self.layout.renamed.get(last, last)}" if folder == "agents" else name

    def _type_in_file(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """Return a type with the names that the file has for its fields."""
        if dtype.names is None:
            return dtype
        return np.dtype([(self.layout.renamed.get(name, name), dtype[name]) for name in dtype.names])

    def _read(self, name: str, start: int, stop: int) -> NDArray[Any]:
        if not 0 <= start <= stop <= self._committed_rows(name):
            raise IndexError(
                f"{name}: rows {start} to {stop} are not among the {self._committed_rows(name)} committed"
            )
        self._require_memory(
            (stop - start) * self._datasets[name].row_bytes, f"{stop - start:,} rows of {name}"
        )
        rows = np.asarray(self._attempt(lambda: self._span(name, start, stop)))
        self._look(lambda: look_at_rows(name, rows, start, self.commit.last_tick))
        return rows

    def _look(self, look: Callable[[], None]) -> None:
        try:
            look()
        except Damage as damage:
            raise RecordingError(f"{self.path}: is damaged ({damage})") from None

    def _known_agents(self) -> NDArray[np.int64]:
        """Return the agents in the roster, ascending."""
        if self._known is None:
            known = np.sort(self._read("roster", 0, self.commit.agents)["entity"])
            if np.any(known[1:] == known[:-1]):
                raise RecordingError(f"{self.path}: is damaged (an agent is twice in the roster)")
            self._known = known
        return self._known

    def _span(self, name: str, start: int, stop: int) -> NDArray[Any]:
        found, stored = self._dataset(name), self._stored[name]
        if stop <= stored:
            return found.rows(start, stop)
        rest = self._rest(name)[max(start - stored, 0) : stop - stored]
        return rest if start >= stored else np.concatenate((found.rows(start, stored), rest))

    def _of_kinds(self, table: NDArray[Any], units: Mapping[str, str], kinds: type[IntEnum]) -> pd.DataFrame:
        """Return rows as a DataFrame, with the names of kinds in the place of their numbers."""
        data = self._frame({name: table[name] for name in units}, units)
        names = {int(kind): kind.name for kind in kinds}
        data["kind"] = (
            data["kind"].map(lambda number: names.get(number, f"UNKNOWN_{number}")).astype("category")
        )
        return data

    def _per_tick(self, name: str, columns: Sequence[str], unit: str) -> pd.DataFrame:
        arrays: dict[str, NDArray[Any]] = {"tick": self._read("ticks", 0, self.commit.ticks)["tick"]}
        if columns:
            table = self._read(name, 0, self.commit.ticks)
            arrays |= {column: table[:, k] for k, column in enumerate(columns)}
        return self._frame(arrays, {"tick": "tick", **dict.fromkeys(columns, unit)})

    def _columns(self, columns: Sequence[str] | None) -> list[str]:
        known = [*(TRAJECTORY_DTYPE.names or ()), *(column.name for column in self.layout.columns)]
        if columns is None:
            return known
        names = [name if name in known else name_today("the column", name, COLUMNS, 3) for name in columns]
        for name in names:
            if name not in known:
                raise RecordingError(
                    f"{self.path}: there is no column {name!r}. Recorded are {', '.join(known)}."
                )
        return names

    def _spans(self, frames: slice | None) -> list[tuple[int, int]]:
        """Return the row ranges of the chosen frames, neighbouring frames as one range."""
        starts = self.frame_starts()
        chosen = range(*(frames or slice(None)).indices(self.commit.frames))
        if len(chosen) == 0:
            return []
        if chosen.step == 1:
            return [(int(starts[chosen.start]), int(starts[chosen.stop]))]
        return [(int(starts[frame]), int(starts[frame + 1])) for frame in chosen]

    def _require_memory(self, wanted: int, what: str) -> None:
        try:
            gate.require_memory(wanted, what)
        except Damage as large:
            raise RecordingError(
                f"{self.path}: {large}. Choose frames=slice(...) or fewer columns, go through blocks(), or "
                "make a recording of a part of it: crowdsim cut."
            ) from None

    def _frame(
        self, arrays: Mapping[str, NDArray[Any]], units: Mapping[str, str], *, copy: bool = True
    ) -> pd.DataFrame:
        import pandas as pd

        data = pd.DataFrame(dict(arrays), copy=copy)
        data.attrs["units"] = dict(units)
        data.attrs["fps"] = self.fps
        return data


def _other_version(path: Path, version: int) -> str:
    """Return the message about a recording of another version of the format."""
    if version > FORMAT_VERSION:
        return (
            f"{path}: was written by a newer crowdsim, in version {version:,} of the format; this one knows "
            f"version {FORMAT_VERSION}. Read it with that one."
        )
    return (
        f"{path}: is of version {version} of the format; this crowdsim reads version {FORMAT_VERSION}. "
        f"Bring it up to date: {command('migrate', path)}"
    )
