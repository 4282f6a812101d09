"""A part of a recording as a recording of its own: some of its time, a region, some groups, some floors.

It is read and written a few frames at a time. What is kept in memory is a few numbers for each agent, and for
each frame and event a few bytes.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.commands import command
from crowdsim.errors import CrowdsimError, RecordingError
from crowdsim.printable import counted, visible
from crowdsim.recording.commit import Commit
from crowdsim.recording.files import new_file
from crowdsim.recording.header import Header, new_run_id
from crowdsim.recording.opening import open_run
from crowdsim.recording.reader import BLOCK_ROWS, Recording
from crowdsim.recording.schema import EventKind, RunState, digest_text
from crowdsim.recording.storage import Storage

# Of a tick, in times that are given in seconds: 12.3 s is tick 246, though 12.3 / 0.05 is a little less.
_ROUNDING_TICKS = 1e-6
# What these say goes on to hold: how the ground is, which place a number of a goal means, how wide an agent
# is. Those before the cut are needed to read its rows.
LASTING = (
    EventKind.AREA_OPENED, EventKind.AREA_CLOSED, EventKind.TILE_REMOVED, EventKind.TILE_ADDED,
    EventKind.OBSTACLE_APPEARED, EventKind.OBSTACLE_GONE, EventKind.OBSTACLE_STANDS, EventKind.OBSTACLE_MOVES,
    EventKind.OBSTACLE_SENT, EventKind.RADIUS_SET, EventKind.SENT, EventKind.PART_ADDED,
    EventKind.PART_REMOVED,
)  # fmt: skip


_NO_KEY = -(2**62)  # No agent in a frame has it.


@dataclass(frozen=True)
class Cut:
    """What `cut_run` has made.

    Attributes
    ----------
    path : Path
    frames, rows, agents, events : int
        What it holds; rows are places of agents in frames.
    from_s, until_s : float, s
        Time of its first and of its last frame.
    """

    path: Path
    frames: int
    rows: int
    agents: int
    events: int
    from_s: float
    until_s: float


def cut_run(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    from_s: float | None = None,
    until_s: float | None = None,
    region: Any = None,
    groups: Sequence[str] = (),
    floors: Sequence[str] = (),
    force: bool = False,
    note: Callable[[str], None] = lambda _: None,
) -> Cut:
    """Make a recording of a part of another one, which stays as it is.

    A place of an agent in a frame is kept if it meets all that is asked for; all numbers of it are, bit for
    bit. Frames that have nobody left stay, empty; times and entities stay what they were. Agents that are in
    no frame of the cut leave its roster, and their events go. Memory does not grow with the length of the
    recording, but by some bytes for a frame and an event.

    Parameters
    ----------
    source : path
        A whole recording; it may be a cut itself.
    out : path
        The new file; it is written under a hidden name and gets this one when it is whole.
    from_s, until_s : float, s, optional
        Keep frames and what happened from then until then, both included; default: the begin and the end.
    region : shapely Polygon or MultiPolygon, m, optional
        Keep where agents were in it, or on its rim, as seen from above; on all floors.
    groups : sequence of str, optional
        Keep agents of these groups.
    floors : sequence of str, optional
        Keep where agents were on these floors.
    force : bool
        Replace an existing `out`.
    note : callable, optional
        Gets what goes on, as words.

    Returns
    -------
    Cut

    Raises
    ------
    CrowdsimError
        If the bounds are none, or a name is not known; the message names what there is.
    RecordingError
        If the source is not whole or damaged, nothing of it is within the bounds, or `out` exists or cannot
        be written. `out` is not changed then.
    """
    path, target = Path(source), Path(out)
    with open_run(path) as recording, new_file(target, force=force) as copy:
        if target.exists() and target.samefile(path):
            raise CrowdsimError(f"{target}: is the file that is read, and is not written over.")
        if not recording.is_whole:
            raise RecordingError(
                f"{path}: is not whole: its run goes on, or was cut off. Cut it when it has ended, or what "
                f"`{command('recover', path)}` makes of it."
            )
        bounds = _bounds(recording, from_s, until_s, region, groups, floors)
        storage = Storage(
            copy,
            _header(recording, bounds),
            # digests are of the whole world, and of nothing that is kept here
            replace(recording.layout, digests=(), traced=(), trace=False),
            agent_chunk_rows=recording.agent_chunk_rows,
        )
        try:
            frame_s = _Cutter(recording, storage, bounds).write(note)
            commit = Commit(
                number=1,
                state=int(recording.state),
                last_tick=bounds.last_tick,
                clock_ns=time.time_ns(),
            )
            storage.finish(commit)
        except BaseException:
            storage.remove()
            raise
    made = storage.committed
    return Cut(target, made.frames, made.rows, made.agents, made.events, *frame_s)


def require_uncut(header: Header, path: Path, what: str) -> None:
    """Raise CrowdsimError if a recording is a cut: what a run did cannot be done again from a part of it.

    Parameters
    ----------
    header : Header
    path : Path
    what : str
        What cannot be done with a cut, for the message.
    """
    if header.cut:
        raise CrowdsimError(
            f"{path}: is a part that was cut out of the recording {visible(str(header.cut.get('source')))} "
            f"(run {visible(str(header.cut.get('run_id')))}), and cannot be {what}: the rest of the run is "
            "missing in it. Take that recording."
        )


@dataclass(frozen=True)
class _Bounds:
    """What is asked for, as numbers.

    Attributes
    ----------
    frames : (int, int)
        The first, and the one behind the last.
    first_tick, last_tick : int
        Of what happened; both included.
    groups, layers : (n,) int64 or None
        Indices; None are all.
    region : shapely geometry or None
    asked : mapping of str to object
        The same as the header keeps it.
    """

    frames: tuple[int, int]
    first_tick: int
    last_tick: int
    groups: NDArray[np.int64] | None
    layers: NDArray[np.int64] | None
    region: Any
    asked: Mapping[str, Any]

    @property
    def is_by_place(self) -> bool:
        """Whether agents can leave the cut and come back."""
        return self.region is not None or self.layers is not None


def _bounds(
    recording: Recording,
    from_s: float | None,
    until_s: float | None,
    region: Any,
    groups: Sequence[str],
    floors: Sequence[str],
) -> _Bounds:
    path, header = recording.path, recording.header
    end_s = recording.commit.last_tick * header.tick_s
    for name, seconds in (("from", from_s), ("until", until_s)):
        if seconds is not None and not (math.isfinite(seconds) and seconds >= 0.0):
            raise CrowdsimError(f"A cut {name} {seconds:g} s: must be a time from 0 s on.")
    if from_s is not None and from_s > min(end_s, math.inf if until_s is None else until_s):
        until = f"{until_s:g} s" if until_s is not None and until_s < end_s else f"its end, {end_s:g} s,"
        raise CrowdsimError(f"{path}: a cut from {from_s:g} s until {until} has no time in it.")
    first = 0 if from_s is None else math.ceil(from_s / header.tick_s - _ROUNDING_TICKS)
    last = recording.commit.last_tick
    if until_s is not None:
        last = min(last, math.floor(until_s / header.tick_s + _ROUNDING_TICKS))
    ticks = recording.table("frames/tick")
    frames = int(np.searchsorted(ticks, first)), int(np.searchsorted(ticks, last, side="right"))
    if frames[0] >= frames[1]:
        near = ticks[max(0, frames[0] - 1) : frames[0] + 1] * header.tick_s
        raise RecordingError(
            f"{path}: has no frame from {first * header.tick_s:g} s until {last * header.tick_s:g} s"
            + (f"; the nearest are at {' and '.join(f'{each:g} s' for each in near)}." if len(near) else ".")
        )
    if region is not None and (
        region.geom_type not in ("Polygon", "MultiPolygon") or not region.is_valid or region.area <= 0.0
    ):
        raise CrowdsimError(
            f"The region of a cut is no area ({visible(shapely.is_valid_reason(region))}): it takes a "
            "polygon whose corners are listed in order and whose edges do not cross."
        )
    layers = _numbers(path, "floor", floors, header.layers) if floors else None
    if layers is not None and len(header.ground) > 1:
        if not any(column.name == "layer" for column in recording.layout.columns):
            raise RecordingError(
                f"{path}: on which floor agents were is not recorded. Record the column layer (record: "
                "{columns: [layer, ...]})."
            )
    else:
        layers = None  # all are on the one that there is
    asked = {
        "source": visible(path.name),
        "run_id": header.run_id,
        "run_digest": digest_text(recording.run_digest) if recording.layout.digests else "",
        "from_s": from_s,
        "until_s": until_s,
        "region": None if region is None else region.wkt,
        "groups": [*groups],
        "floors": [*floors],
    }
    if header.cut:
        asked = {**asked, "run_digest": header.cut.get("run_digest", ""), "of": header.cut}
    return _Bounds(
        frames,
        first,
        last,
        _numbers(path, "group", groups, header.groups) if groups else None,
        layers,
        region,
        asked,
    )


def _numbers(path: Path, kind: str, names: Sequence[str], known: Sequence[str]) -> NDArray[np.int64]:
    """Return the indices of names."""
    for name in names:
        if name not in known:
            there = f"Known are {', '.join(known)}" if known else "It has none with a name"
            raise CrowdsimError(f'{path}: there is no {kind} "{visible(name)}". {visible(there)}.')
    return np.array([known.index(name) for name in names], dtype=np.int64)


def _header(recording: Recording, bounds: _Bounds) -> Header:
    # an id of its own: what is left of the run when it is killed is never taken for a part of this
    return replace(recording.header, cut=bounds.asked, run_id=new_run_id())


class _Cutter:
    """Goes through a recording once and writes what is kept.

    Attributes
    ----------
    known : (a,) int64
        The agents of the source, ascending; other arrays over agents are in this order.
    is_chosen, is_kept : (a,) bool
        Of a group that is asked for; in a frame that was written.
    marks : dict of str to (n,) bool
        By dataset, of cuts by place: rows of which the agent is in the cut in a frame beside them.
    """

    def __init__(self, recording: Recording, storage: Storage, bounds: _Bounds) -> None:
        self.recording, self.storage, self.bounds = recording, storage, bounds
        self.roster = recording.table("roster")
        self.order = np.argsort(self.roster["entity"], kind="stable")
        self.known = self.roster["entity"][self.order]
        groups = self.roster["group"][self.order]
        self.is_chosen = (
            np.ones(len(self.known), dtype=np.bool_)
            if bounds.groups is None
            else np.isin(groups, bounds.groups)
        )
        self.is_kept = np.zeros(len(self.known), dtype=np.bool_)
        happened = ["events", *(["explanations"] if recording.layout.explain else [])]
        self.marks = {
            name: np.zeros(recording.first_from(name, bounds.last_tick + 1), dtype=np.bool_)
            for name in happened
        }
        self.ticks = recording.table("frames/tick")
        self.columns = [column.name for column in recording.layout.columns]

    def write(self, note: Callable[[str], None]) -> tuple[float, float]:
        """Write all but the commit; return the time of the first and of the last frame, s."""
        first, stop = self.bounds.frames
        before = np.zeros(0, dtype=np.int64)
        for begin, end in self.recording.frame_spans(first, stop):
            before = self._write_frames(begin, end, before)
            note(f"cutting: {end - first:,} of {stop - first:,} frames")
        if not self.is_kept.any():
            raise RecordingError(
                f"{self.recording.path}: there is nobody within the bounds of the cut, in none of "
                f"{counted(stop - first, 'frame')} from {self._seconds(first):g} s until "
                f"{self._seconds(stop - 1):g} s. Give it a wider region, other groups, or more time."
            )
        if self.bounds.is_by_place:
            self._mark(int(self.ticks[stop - 1]) + 1, self.bounds.last_tick, before)
        for name in self.marks:
            self._write_happened(name)
        self._write_ticks()
        roster = self.roster[np.sort(self.order[self.is_kept])]
        self.storage.append("roster", len(roster), roster)
        self._write_calls()
        text = _verdict(self.recording)
        self.storage.append("verdict", len(text), np.frombuffer(text, dtype=np.uint8))
        return self._seconds(first), self._seconds(stop - 1)

    def _seconds(self, frame: int) -> float:
        return float(self.ticks[frame] * self.recording.header.tick_s)

    def _write_frames(self, begin: int, end: int, before: NDArray[np.int64]) -> NDArray[np.int64]:
        """Write some frames; `before` are keys (`_keys`) of the frame before them, and those of the last are
        returned.
        """
        starts = self.recording.frame_starts()
        low, high = int(starts[begin]), int(starts[end])
        rows = self.recording.rows(
            low, high, ["x", "y", "z", *(["layer"] if self.bounds.layers is not None else [])]
        )
        place = np.searchsorted(self.known, rows["id"])
        keep = self.is_chosen[place]
        if self.bounds.layers is not None:
            keep &= np.isin(rows["layer"], self.bounds.layers)
        if self.bounds.region is not None:
            here = np.flatnonzero(keep)
            shapely.prepare(self.bounds.region)
            keep[here] = shapely.intersects_xy(self.bounds.region, rows["x"][here], rows["y"][here])
        count = int(np.count_nonzero(keep))
        self._require_room(count)
        written = self.storage.rows()["rows"]
        kept_before = np.append(0, np.cumsum(keep))[starts[begin:end] - low]
        self.storage.append("frames/start", end - begin, written + kept_before)
        self.storage.append("frames/tick", end - begin, self.ticks[begin:end])
        frame = rows["frame"][keep]
        self.storage.append(
            "trajectory",
            count,
            frame - self.bounds.frames[0],
            *(rows[name][keep] for name in ("id", "x", "y", "z")),
        )
        for name in self.columns:
            values = self.recording.table(f"agents/{name}", low, high)
            self.storage.append(f"agents/{name}", count, values[keep])
        self.is_kept[place[keep]] = True
        if not self.bounds.is_by_place:
            return before
        keys = self._keys(frame, place[keep])
        since = int(self.ticks[begin - 1]) + 1 if begin > self.bounds.frames[0] else self.bounds.first_tick
        self._mark(since, int(self.ticks[end - 1]), np.append(before, keys))
        return keys[frame == end - 1]

    def _keys(self, frame: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return a number for each agent in each frame, ascending by frame, then agent."""
        return frame * len(self.known) + place

    def _mark(self, since: int, until: int, keys: NDArray[np.int64]) -> None:
        """Mark what happened to agents from one tick until another, if they are in the cut in the last frame
        until it, or in the first from it on.

        Parameters
        ----------
        since, until : int
        keys : (k,) int64, ascending
            Of the agents in the cut, in the frames of these ticks and in the one before.
        """
        for name, marks in self.marks.items():
            for start, table in self._blocks(name, since, until):
                place, is_known = self._places(table["entity"])
                sides = (
                    np.searchsorted(self.ticks, table["tick"], side="right") - 1,
                    np.searchsorted(self.ticks, table["tick"]),
                )
                for frame in sides:
                    key = self._keys(frame, place)
                    at = np.searchsorted(keys, key)
                    found = np.append(keys, _NO_KEY)[at] == key
                    marks[start : start + len(table)] |= found & is_known

    def _blocks(self, name: str, since: int, until: int) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the rows of a dataset from one tick until another in pieces, each with its first number."""
        first, stop = (self.recording.first_from(name, tick) for tick in (since, until + 1))
        for start in range(first, stop, BLOCK_ROWS):
            yield start, self.recording.table(name, start, min(start + BLOCK_ROWS, stop))

    def _places(self, entity: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return where entities are in `known`, and whether they are there at all."""
        if not len(self.known):
            return np.zeros(len(entity), dtype=np.int64), np.zeros(len(entity), dtype=np.bool_)
        place = np.minimum(np.searchsorted(self.known, entity), len(self.known) - 1)
        return place, self.known[place] == entity

    def _write_happened(self, name: str) -> None:
        """Write what happened to the ground, and to the agents that are kept."""
        for start, table in self._blocks(name, 0, self.bounds.last_tick):
            place, is_known = self._places(table["entity"])
            of_kept = is_known & self.is_kept[place]
            is_within = table["tick"] >= self.bounds.first_tick
            if self.bounds.is_by_place:
                is_within &= self.marks[name][start : start + len(table)] | ~is_known
            if name == "events":
                is_within |= np.isin(table["kind"], LASTING)
            kept = table[(of_kept | ~is_known) & is_within]
            self.storage.append(name, len(kept), kept)

    def _write_ticks(self) -> None:
        """Write what the whole run counted, and how long it took, in the ticks that are kept."""
        first, stop = (
            self.recording.first_from("ticks", tick)
            for tick in (self.bounds.first_tick, self.bounds.last_tick + 1)
        )
        for name in ("ticks", *(["timings"] if self.recording.layout.systems else [])):
            for start in range(first, stop, BLOCK_ROWS):
                table = self.recording.table(name, start, min(start + BLOCK_ROWS, stop))
                self.storage.append(name, len(table), table)

    def _write_calls(self) -> None:
        """Write what a program did until the end of the cut, from the begin: goals are named by it."""
        if not self.recording.layout.interventions:
            return
        until = itertools.takewhile(
            lambda each: each.tick <= self.bounds.last_tick, self.recording.interventions()
        )
        size = max((each.end for each in until), default=0)
        for start in range(0, size, BLOCK_ROWS):
            data = self.recording.table("interventions", start, min(start + BLOCK_ROWS, size))
            self.storage.append("interventions", len(data), data)

    def _require_room(self, rows: int) -> None:
        wanted = rows * self.storage.row_bytes
        if not self.storage.has_room(wanted):
            raise RecordingError(
                f"{self.storage.path.parent}: the cut needs {wanted / 1e6:,.1f} MB for the next rows, and "
                "some more for its end, which are not free. Make room, or choose another disk."
            )


def _verdict(recording: Recording) -> bytes:
    content = {
        "state": RunState(recording.state).name.lower(),
        "reason": f"cut out of {visible(recording.path.name)}",
        "result": {},
        "run_digest": digest_text(0),
    }
    return json.dumps(content, ensure_ascii=False).encode()
