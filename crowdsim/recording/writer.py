"""The writer: what the simulation calls while it runs."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdsim.errors import RecordingError
from crowdsim.recording.commit import Commit
from crowdsim.recording.datasets import AGENT_CHUNK_ROWS, chunk_rows_for
from crowdsim.recording.digest import block_digests, run_digest
from crowdsim.recording.encode import round_to_multiples
from crowdsim.recording.files import Kept, lock_of, partial_name, reason_of, require_place
from crowdsim.recording.header import Header, Layout, plain
from crowdsim.recording.leftovers import clear_left, is_part_of
from crowdsim.recording.locks import scratch_folder
from crowdsim.recording.naming import take_name
from crowdsim.recording.reader import Recording
from crowdsim.recording.recover import copy_recording, copy_rows
from crowdsim.recording.salvage import counts_until
from crowdsim.recording.schema import (
    EVENT_DTYPE,
    EXPLANATION_DTYPE,
    ROSTER_DTYPE,
    TRACE_BLOCK_ROWS,
    TRACE_DTYPE,
    RecordedColumn,
    RunState,
    digest_text,
)
from crowdsim.recording.storage import Storage

# Rows that are committed at once, before they are packed: two seconds of a very large or fast run. Larger
# loses more in a kill.
BLOCK_BYTES = 2**25
# Longest time between commits. A commit of few rows takes 0.1 ms, one of a large crowd some 5.
FLUSH_SECONDS = 2.0
TICK_BYTES = 4096  # Room that a tick without a frame may need.
VERDICT_BYTES = 2**20  # A verdict is a screen of text; a longer one belongs into a file of its own.


class RecordingWriter(AbstractContextManager["RecordingWriter"]):
    """Keep a run while it goes on.

    Within a tick call `roster`, `events`, `trace` and `frame` as needed, and `tick` last, in every tick.
    Everything is collected in memory and committed by `tick` once `BLOCK_BYTES` wait, or after
    `flush_seconds`: a kill at any moment loses the ticks after the last commit and nothing else. The file has
    a hidden name beside `out` until `close` or `abandon` finish it; what fills no chunk yet is in its
    journal.

    Parameters
    ----------
    out : Path
        Wanted name of the finished file.
    header : Header
    layout : Layout
        What `frame` and `tick` are given, and whether `trace` and `explanations` will be called.
    flush_seconds : float, s
        Longest time between commits, looked at in `tick`; 0 commits at every tick.
    agents : int, optional
        In a frame, at most: few need small buffers.
    force : bool
        The finished file replaces another of its name.
    goes_on : bool
        It replaces one of the same run that has its name, if it has all that is in that one; if that one has
        all that is in it, it is dropped.

    Raises
    ------
    RecordingError
        If the folder is missing, read-only or full.
    """

    def __init__(
        self,
        out: Path,
        header: Header,
        layout: Layout,
        *,
        flush_seconds: float = FLUSH_SECONDS,
        agents: int | None = None,
        force: bool = False,
        goes_on: bool = False,
    ) -> None:
        self.out = Path(out)
        self.header = header
        self.layout = layout
        self.force = force
        self.goes_on = goes_on
        self.flush_seconds = flush_seconds
        require_place(self.out)
        clear_left(self.out.parent)
        self.partial, self._storage = self._begun(agents)
        self.kept: Kept | None = None  # where the finished file is
        self.failure: RecordingError | None = None  # why nothing more can be written
        self._made = Commit()  # of the last commit, but for the rows of the datasets
        # of everything appended
        self._last_tick, self._run_digest = self._made.last_tick, self._made.run_digest
        self._committed_at = time.monotonic()
        self._waiting_bytes = 0  # appended since the last commit
        self._tick_bytes = 0  # appended in this tick
        self._largest_tick = 0
        self._is_closed = False  # let go, or thrown away
        self._tick_row = np.zeros(1, dtype=self._storage.datasets["ticks"].dtype)
        names = (self._tick_row.dtype.names or ())[1:]
        self._place_of_count = {name: place for place, name in enumerate(names, 1)}
        self._no_counts = [0] * len(names)
        self._scratch = np.empty(0)
        self._trace_number = {name: number for number, name in enumerate(self.layout.trace_columns)}
        self._traced: dict[int, NDArray[np.uint64]] = {}  # what the trace last saw of each column
        self._trace_entries: list[tuple[int, ...]] = []  # of this tick
        self._trace_parts: list[NDArray[np.uint64]] = []
        self._is_ended = False  # the file is finished but for its name
        # an exception between here and there (Ctrl-C, a wrong array) leaves columns of different lengths in
        # memory
        self._is_halfway = False

    def _begun(self, agents: int | None) -> tuple[Path, Storage]:
        """Return the hidden file, under a name that no other attempt at this run has."""
        rows = AGENT_CHUNK_ROWS if agents is None else chunk_rows_for(agents)
        for number in itertools.count(1):
            partial = partial_name(self.out, self.header.run_id, number)
            if not (partial.exists() or lock_of(partial).exists()):
                with contextlib.suppress(FileExistsError):
                    return partial, Storage(
                        partial, self.header, self.layout, agent_chunk_rows=rows, with_journal=True
                    )
        raise AssertionError("unreachable")

    @property
    def is_over(self) -> bool:
        """Whether nothing more is recorded: the file is finished, given up, or could not be written."""
        return (
            self._is_closed
            or self.kept is not None
            or self.failure is not None
            or self._storage.failure is not None
        )

    @property
    def committed(self) -> Commit:
        """What a kill at this moment would leave."""
        return self._storage.committed

    def begin_with(self, recording: Recording, last_tick: int, interventions: int = 0) -> None:
        """Put the ticks of an earlier recording first, for a run that goes on from a checkpoint of it.

        The finished file has the same rows and the same run digest as that of a run which was never stopped.

        Parameters
        ----------
        recording : Recording
            With the same columns, counts and systems.
        last_tick : int
            The newest tick that is taken over; the next one to be recorded is the one after it.
        interventions : int
            How many of what a program did until the checkpoint are taken over, the first ones.

        Raises
        ------
        RecordingError
            If the earlier recording has other columns, does not reach `last_tick`, or is damaged.
        """
        if any(self._storage.rows().values()):
            raise ValueError("begin_with comes before everything else")
        if (recording.layout, recording.header.exact) != (self.layout, self.header.exact):
            raise RecordingError(
                f"{recording.path}: keeps other columns, counts or systems than this run will, so the run "
                "cannot go on from it."
            )
        if recording.commit.last_tick < last_tick:
            raise RecordingError(
                f"{recording.path}: ends with tick {recording.commit.last_tick}, before the checkpoint at "
                f"tick {last_tick}."
            )
        done = [each.end for each in itertools.islice(recording.interventions(), interventions)]
        if len(done) < interventions:
            raise RecordingError(
                f"{recording.path}: has {len(done):,} interventions of a program, but the checkpoint at tick "
                f"{last_tick} comes after {interventions:,}."
            )
        counts = replace(counts_until(recording, last_tick), interventions=max(done, default=0))
        self._is_halfway = True
        copy_rows(recording, self._storage, counts)
        self._last_tick, self._run_digest = counts.last_tick, counts.run_digest
        if self.layout.trace:
            index = recording.table("trace/index", 0, counts.trace)
            for column, entry in {int(each["column"]): each for each in index}.items():  # the last of each
                self._traced[column] = recording.table(
                    "trace/digests", int(entry["start"]), int(entry["start"] + entry["count"])
                )
        self._is_halfway = False
        self.commit()

    def roster(self, agents: NDArray[Any]) -> None:
        """Keep facts about agents that do not change; called after each batch of spawns.

        Parameters
        ----------
        agents : (n,) ROSTER_DTYPE
            In ascending order of `entity`.
        """
        self._append_table("roster", agents, ROSTER_DTYPE)

    def events(self, events: NDArray[Any]) -> None:
        """Keep what happened to agents.

        Parameters
        ----------
        events : (n,) EVENT_DTYPE
            In the order in which they happened; ticks never fall.
        """
        self._append_table("events", events, EVENT_DTYPE)

    def frame(
        self,
        frame: int,
        tick: int,
        entity: NDArray[np.int64],
        x: ArrayLike,
        y: ArrayLike,
        z: ArrayLike,
        columns: Mapping[str, NDArray[Any]],
    ) -> None:
        """Keep where all agents are.

        Parameters
        ----------
        frame : int
            Number of the frame: 0, then one more each time.
        tick : int
            The tick that it shows; higher than that of the frame before.
        entity : (n,) int64
            The agents that are present, ascending.
        x, y : (n,) float64, m
        z : (n,) float64 or float, m
        columns : mapping of str to (n,) or (n, 2) arrays
            One for each recorded column, by name; more are ignored.

        Raises
        ------
        RecordingError
            If the disk is full. The frames before are in a whole file then, which the message names.
        ValueError
            If the frame is out of order, entities are not ascending, or arrays do not fit.
        """
        count = len(entity)
        arrays = [columns[column.name] for column in self.layout.columns]
        self._check_frame(frame, tick, np.asarray(entity), arrays)
        self._charge(count * self._storage.row_bytes)
        self._is_halfway = True
        append = self._storage.append
        append("frames/start", 1, self._storage.datasets["trajectory"].rows)
        append("frames/tick", 1, tick)
        append("trajectory", count, frame, entity, np.asarray(x), np.asarray(y), z)
        pairs = zip(self.layout.columns, arrays, strict=True)
        self._storage.append_columns(count, (self._rounded(column, array) for column, array in pairs))
        self._last_tick = max(self._last_tick, tick)
        self._is_halfway = False

    def tick(
        self,
        tick: int,
        counts: Mapping[str, int | float],
        timings_ns: Sequence[int] | NDArray[np.int64],
        digests: NDArray[np.uint64],
    ) -> None:
        """Keep the numbers of one tick.

        Parameters
        ----------
        tick : int
            Higher than the one before.
        counts : mapping of str to number
            The declared counts by name; one that is missing is 0.
        timings_ns : (systems,) int, ns
            Clock readings; no digest includes them.
        digests : (k,) uint64
            Of every declared column after this tick, see `digest.column_digests`.

        Raises
        ------
        RecordingError
            If the disk is full; see `frame`.
        ValueError
            If a count was not declared, or the arrays do not fit.
        """
        if self._trace_entries:
            self._keep_trace()
        self._charge(TICK_BYTES)
        self._is_halfway = True
        digest = self._run_digest
        values: list[int | float] = [tick, *self._no_counts]
        try:
            for name, value in counts.items():
                values[self._place_of_count[name]] = value
        except KeyError as error:
            raise ValueError(f"tick {tick}: no count {error} was declared") from None
        row = self._tick_row
        row[0] = tuple(values)  # a field by its name takes longer than all of them at once
        append = self._storage.append
        append("ticks", 1, row)
        if self.layout.systems:
            append("timings", 1, np.asarray(timings_ns, dtype=np.int64).reshape(1, -1))
        if self.layout.digests:
            given = np.asarray(digests, dtype=np.uint64).reshape(1, -1)
            append("digests", 1, given)
            digest = run_digest(given, digest)
        self._last_tick, self._run_digest = max(self._last_tick, tick), digest
        self._is_halfway = False
        self._largest_tick, self._tick_bytes = max(self._largest_tick, self._tick_bytes), 0
        if self._waiting_bytes >= BLOCK_BYTES or time.monotonic() - self._committed_at >= self.flush_seconds:
            self.commit()
        if not self._storage.has_room(2 * self._largest_tick):
            self._stop_for_lack_of_room()

    def trace(self, tick: int, system: int, columns: Mapping[str, NDArray[Any]]) -> None:
        """Keep the digests of what a system has written, for every block of 64 agents;
        a column that is as the trace last saw it gets no entry.

        Parameters
        ----------
        tick : int
        system : int
            Index of the system that has just run.
        columns : mapping of str to (n, ...) arrays
            The columns that it writes, among the `digests` and `traced` of the layout.
        """
        for name, array in columns.items():
            column, values = self._trace_number[name], block_digests(array, TRACE_BLOCK_ROWS)
            before = self._traced.get(column)
            if before is not None and len(before) == len(values) > 0 and (before == values).all():
                continue
            self._traced[column] = values
            self._trace_entries.append((tick, system, column, len(array), 0, len(values)))
            self._trace_parts.append(values)

    def _keep_trace(self) -> None:
        """Append what was traced in a tick, all at once."""
        entries, digests = np.array(self._trace_entries, dtype=TRACE_DTYPE), np.concatenate(self._trace_parts)
        self._trace_entries, self._trace_parts = [], []
        self._charge(digests.nbytes + entries.nbytes)
        first = self._storage.datasets["trace/digests"].rows
        entries["start"] = first + np.cumsum(entries["count"]) - entries["count"]
        self._is_halfway = True
        self._storage.append("trace/index", len(entries), entries)
        self._storage.append("trace/digests", len(digests), digests)
        self._is_halfway = False

    def explanations(self, tick: int, reasons: NDArray[Any]) -> None:
        """Keep what stood behind the velocities that some agents chose in a tick.

        Parameters
        ----------
        tick : int
        reasons : (n,) REASON_DTYPE
            See `crowdsim.avoidance.explain`.
        """
        rows = np.zeros(len(reasons), dtype=EXPLANATION_DTYPE)
        rows["tick"] = tick
        for name in reasons.dtype.names or ():
            rows[name] = reasons[name]
        self._append_table("explanations", rows, EXPLANATION_DTYPE)

    def intervention(self, line: bytes) -> None:
        """Keep what a program did to the run between two ticks.

        Parameters
        ----------
        line : bytes
            See `crowdsim.recording.interventions.Intervention.line`.
        """
        self._append_table("interventions", np.frombuffer(line, dtype=np.uint8), np.dtype(np.uint8))

    def commit(self) -> None:
        """Make everything so far safe from a kill."""
        self._refuse_if_over()
        self._is_halfway = True
        self._made = self._next_commit(RunState.RUNNING)
        self._storage.commit(self._made)
        self._committed_at, self._waiting_bytes = time.monotonic(), 0
        self._is_halfway = False

    def _next_commit(self, state: RunState) -> Commit:
        return Commit(
            number=self._made.number + 1,
            state=int(state),
            last_tick=self._last_tick,
            run_digest=self._run_digest,
            clock_ns=time.time_ns(),
        )

    def close(self, verdict: Mapping[str, Any]) -> Kept:
        """Finish the recording of a run that came to its end.

        Parameters
        ----------
        verdict : mapping
            What the run resulted in, as plain values; kept as JSON.

        Returns
        -------
        Kept
            The final path, and whether the wanted name was taken by another recording.

        Raises
        ------
        RecordingError
            If the file could not be finished; the message says what is safe and where.
        """
        return self._finish(RunState.FINISHED, "", verdict)

    def abandon(self, reason: str, verdict: Mapping[str, Any] | None = None) -> Kept:
        """Finish the recording of a run that was stopped:
        a whole file with all that was recorded, marked as interrupted.

        Parameters
        ----------
        reason : str
            Why, for example "stopped by Ctrl-C".
        verdict : mapping, optional
            What the run resulted in until then.
        """
        return self._finish(RunState.INTERRUPTED, reason, verdict or {})

    def let_go(self) -> None:
        """Commit what is there, and leave the file under its hidden name for `recover`:
        its run was neither finished nor stopped, only forgotten.
        """
        if not self.is_over:
            with contextlib.suppress(Exception):  # the caller has gone; what was committed before is safe
                if not self._is_halfway:
                    self.commit()
            self._is_closed = True
            self._storage.freeze()

    def discard(self) -> None:
        """Throw the file away, for a run that failed before it had anything to say."""
        if self.kept is None and not self._is_closed:
            self._is_closed = True
            self._storage.remove()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if not self.is_over:
            with contextlib.suppress(RecordingError):
                self.abandon(f"stopped by {kind.__name__}: {error}" if kind else "never closed")

    def _finish(self, state: RunState, reason: str, verdict: Mapping[str, Any]) -> Kept:
        """Finish the file and give it its name; what an exception (Ctrl-C) breaks off, another call ends."""
        self._refuse_if_over()
        if not self._is_ended:
            if not self._is_halfway:
                self.commit()  # what is broken off from here on loses nothing
            if self.committed.last_tick < self._last_tick:  # it was broken off before
                state, reason = RunState.INTERRUPTED, reason or "interrupted while its recording was finished"
            content = {"state": state.name.lower(), "reason": reason, "result": plain(verdict)}
            if not self._is_halfway:  # else the copy says that of what it holds
                content["run_digest"] = digest_text(self._run_digest)
            text = json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
            if len(text) > VERDICT_BYTES:
                text = json.dumps(
                    content
                    | {
                        "result": {},
                        "reason": f"{reason} (the verdict had {len(text)} bytes and is left out)".strip(),
                    }
                ).encode()
            if self._is_halfway:
                self._end_with_the_last_commit(state, content)
            else:
                self._is_halfway = True
                self._storage.append("verdict", len(text), np.frombuffer(text, dtype=np.uint8))
                self._made = self._next_commit(state)
                self._storage.finish(self._made)
            self._is_ended = True
        try:
            self.kept = self._named()
        except RecordingError as error:
            self.failure = error
            raise
        finally:
            self._storage.unlock()
        return self.kept

    def _named(self) -> Kept:
        """Give the finished file its name."""
        is_same_run = self.goes_on and not self.force and self.out.exists()
        if is_same_run and is_part_of(self.partial, self.out) and not is_part_of(self.out, self.partial):
            self.partial.unlink()
            return Kept(self.out, name_taken=False)
        replaces = self.force or (is_same_run and is_part_of(self.out, self.partial))
        kept = take_name(self.partial, self.out, self.header.run_id, force=replaces)
        clear_left(self.out.parent, self.out.name)
        return kept

    def _end_with_the_last_commit(self, state: RunState, content: Mapping[str, Any]) -> None:
        """Finish what is in the file, since what is in memory was left half-way by an exception."""
        self._storage.freeze(is_held=True)
        try:
            with scratch_folder(self.partial.parent) as folder:
                copy = folder / self.partial.name
                copy_recording(self.partial, copy, state=state, verdict=content)
                copy.replace(self.partial)
        except (OSError, RecordingError) as error:
            self._storage.freeze()
            reason = (
                error
                if isinstance(error, RecordingError)
                else f"{self.partial}: cannot be finished ({reason_of(error)})."
            )
            self.failure = RecordingError(f"{reason} {self._storage.safe_text()}".strip())
            raise self.failure from None

    def _append_table(self, name: str, rows: NDArray[Any], dtype: np.dtype[Any]) -> None:
        if rows.dtype != dtype:
            raise ValueError(f"{name}: the rows have type {rows.dtype}, but {dtype} is recorded")
        if len(rows):
            self._charge(rows.nbytes)
            self._is_halfway = True
            self._storage.append(name, len(rows), rows)
            self._is_halfway = False

    def _check_frame(
        self, frame: int, tick: int, entity: NDArray[np.int64], arrays: list[NDArray[Any]]
    ) -> None:
        frames = self._storage.datasets["frames/tick"].rows
        if frame != frames:
            raise ValueError(f"frame {frame} was given, but the next one is {frames}")
        if len(entity) > 1 and not (entity[1:] > entity[:-1]).all():
            raise ValueError(f"frame {frame}: entity ids are not ascending")
        for column, array in zip(self.layout.columns, arrays, strict=True):
            shape = (len(entity),) if column.width == 1 else (len(entity), column.width)
            if array.shape != shape:
                raise ValueError(
                    f"frame {frame}: column {column.name!r} has shape {array.shape}, but {shape} is recorded"
                )

    def _rounded(self, column: RecordedColumn, array: NDArray[Any]) -> NDArray[Any]:
        if not column.resolution or self.header.exact:
            return array
        values = np.ascontiguousarray(array, dtype=np.float64).reshape(-1)
        if len(self._scratch) < len(values):
            self._scratch = np.empty(2 * len(values))
        out = self._scratch[: len(values)]
        round_to_multiples(values, column.resolution, out)
        return out.reshape(array.shape)

    def _refuse_if_over(self) -> None:
        failure = self.failure or self._storage.failure
        if failure is not None:
            raise failure
        if self.is_over:
            raise RecordingError(f"{self.out}: the recording is closed already")

    def _charge(self, count: int) -> None:
        """Note that so many bytes are to be appended;
        before the first tick, refuse what there is no room for.
        """
        self._refuse_if_over()
        if self._storage.datasets["ticks"].rows == 0 and not self._storage.has_room(count):
            room = self._storage.free_bytes()
            self.failure = RecordingError(
                f"{self.out}: the disk is full: the first frame needs {count / 1e6:,.1f} MB beside the "
                f"{self._storage.reserve_bytes / 1e6:,.1f} MB that a "
                f"recording needs to be finished, but {room / 1e6:,.1f} MB are free. Nothing was recorded. "
                "Make room, or choose another disk."
            )
            raise self.failure
        self._waiting_bytes += count
        self._tick_bytes += count

    def _stop_for_lack_of_room(self) -> None:
        """Stop after a whole tick, while what is kept can still be finished,
        instead of when the disk says no.
        """
        free, written = self._storage.free_bytes(), self._storage.size()
        kept = self.abandon("the disk is full")
        self.failure = RecordingError(
            f"{kept.path}: the disk is full ({free / 1e6:,.1f} MB free, {written:,} bytes written), so the "
            f"run was stopped. The recording is whole until tick {self._last_tick} "
            f"({self.committed.frames} frames) and marked as interrupted. Make room, "
            "or record fewer frames a second (`record.rate`)."
        )
        raise self.failure
