"""Tracks of whatever says where people were: recordings of ours, measured people, or tracks.

A recording that is too long to be had in memory is a `LongRun`, which is read in parts: by people for
measures `of_each_person`, by frames for those `of_each_frame`. What comes out is the same, bit for bit.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import shapely
from numpy.typing import NDArray

from crowdsim.errors import RecordingError
from crowdsim.measures.measured import is_measured, read_measured
from crowdsim.measures.tracks import EVENT_COLUMNS, Tracks, make_tracks, people_table
from crowdsim.recording import gate
from crowdsim.recording.files import free_bytes, reason_of
from crowdsim.recording.locks import scratch_folder
from crowdsim.recording.opening import open_run
from crowdsim.recording.reader import Recording

# Places that are in memory at a time: with all that is made of them some 400 MB. Larger takes more, smaller
# reads more often; the results are the same.
MOST_ROWS = 2**21
MOST_PARTS = 512  # By people; each is an open file while they are written. Parts are larger beyond that.
TRACK_BYTES = 110  # A place of tracks, while they are read and sorted by person; 56 of these stay.
Note: TypeAlias = Callable[[str], None]  # gets what goes on, as words
Tables: TypeAlias = dict[str, pd.DataFrame]


class _Part(NamedTuple):
    """Places of some people in a file, and the rows of `people` and of `events` that are theirs."""

    path: Path
    people: NDArray[np.int64]
    events: NDArray[np.int64]


class LongRun(contextlib.AbstractContextManager["LongRun"]):
    """A recorded run of which only a part is in memory at a time; each part is a `Tracks`.

    Parts by frames are read as they are. For those by people all places are written once into a hidden
    folder beside the recording, or into that for temporary files where nothing can be written there: a
    recording has them frame by frame. It takes some 36 bytes a place, and goes when the run is closed.

    Parameters
    ----------
    recording : Recording
        Stays open as long as this is used.
    note : callable
        Gets what goes on, as words.

    Attributes
    ----------
    facts : Tracks
        What is known beside the places: tracks without rows.
    columns : list of str
        Columns of the recording that make a place.
    """

    def __init__(self, recording: Recording, note: Note = lambda _: None) -> None:
        self.recording = recording
        self.note = note
        self.facts = _facts(recording)
        self.columns = ["x", "y", "z", *(["layer"] if _has_layers(recording) else [])]
        self._open = contextlib.ExitStack()
        self._parts: dict[bytes, list[_Part]] = {}

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def by_frames(self) -> Iterator[Tracks]:
        """Yield tracks of some frames after each other."""
        starts, frames = self.recording.frame_starts(), self.recording.commit.frames
        for first, stop in self.recording.frame_spans(rows=MOST_ROWS):
            self.note(f"reading: {stop:,} of {frames:,} frames")
            rows = self.recording.rows(int(starts[first]), int(starts[stop]), self.columns)
            yield self.tracks_of(rows, first_frame=first, frame_s=self.facts.frame_s[first:stop])

    def tracks_of(self, rows: Mapping[str, NDArray[Any]], **more: Any) -> Tracks:
        """Return tracks of some rows; `more` are attributes that are not those of `facts`."""
        facts = self.facts
        known = {name: getattr(facts, name) for name in ("people", "events", "ground", "header", "frame_s")}
        return make_tracks(
            facts.name, facts.fps, rows["id"], rows["frame"], rows["x"], rows["y"], rows["z"],
            layer=rows.get("layer"), **{**known, "first_frame": 0, **more},
        )  # fmt: skip

    def by_people(self, together: NDArray[np.int64] | None = None) -> Iterator[Tracks]:
        """Yield tracks of some people after each other, ascending; `people` and `events` are theirs alone.

        Parameters
        ----------
        together : (p,) int64, optional
            A number for each of `facts.people`: those with the same one are in the same part. Without it
            parts ascend by id.

        Raises
        ------
        RecordingError
            If there is no room to sort the places.
        """
        number = np.arange(len(self.facts.people)) if together is None else together
        key = number.tobytes()
        if key not in self._parts:
            self._parts[key] = self._sorted_into_parts(number)
        for done, (path, own, happened) in enumerate(self._parts[key]):
            self.note(f"reading: {done + 1:,} of {len(self._parts[key]):,} parts by people")
            rows = np.fromfile(path, dtype=self._row)
            yield self.tracks_of(
                {name: rows[name] for name in self._row.names or ()},
                people=self.facts.people.iloc[own],
                events=self.facts.events.iloc[happened],
            )

    def last_seen_s(self) -> dict[int, float]:
        """Return when each person that was seen at all was seen last (s); see `Tracks.last_seen_s`."""
        count, last = self._seen
        ids, time_s = self.facts.people["id"].to_numpy(), self.facts.frame_s
        return dict(zip(ids[count > 0].tolist(), time_s[last[count > 0]].tolist(), strict=True))

    @functools.cached_property
    def place_of(self) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
        """What returns the rows of `facts.people` of some of their ids, (n,)."""
        known = self.facts.people["id"].to_numpy()
        if len(known) and known[-1] - known[0] + 1 == len(known):  # nothing to look for
            return lambda ids: ids - known[0]
        return lambda ids: np.searchsorted(known, ids)

    @functools.cached_property
    def _seen(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """In how many frames each of the people was, and the last of these."""
        people = len(self.facts.people)
        count, last = np.zeros(people, dtype=np.int64), np.zeros(people, dtype=np.int64)
        for rows in self.recording.blocks([]):
            place = self.place_of(rows["id"])
            np.add.at(count, place, 1)
            last[place] = rows["frame"]  # ascending: the last one stays
        return count, last

    @property
    def _row(self) -> np.dtype[Any]:
        fields = [("frame", "<i4"), ("id", "<i8"), ("x", "<f8"), ("y", "<f8"), ("z", "<f8")]
        return np.dtype([*fields, *([("layer", "<i4")] if "layer" in self.columns else [])])

    def _sorted_into_parts(self, number: NDArray[np.int64]) -> list[_Part]:
        """Write all places into files, one for each part."""
        count = self._seen[0]
        most = max(MOST_ROWS, -(-int(count.sum()) // MOST_PARTS))
        units, unit = np.unique(number, return_inverse=True)
        until = np.cumsum(np.bincount(unit, weights=count, minlength=len(units)))
        _, part = np.unique(np.maximum(until - 1, 0) // most, return_inverse=True)  # none is empty
        part_of = part[unit].astype(np.uint16)  # numpy sorts these by their digits
        folder = self._scratch(int(count.sum()) * self._row.itemsize)
        paths = [folder / f"{len(self._parts)}-{each}" for each in range(int(part.max(initial=-1)) + 1)]
        try:
            with contextlib.ExitStack() as stack:
                files = [stack.enter_context(path.open("xb")) for path in paths]
                for rows in self.recording.blocks(self.columns):
                    self.note(
                        f"sorting by people: {rows['frame'][-1] + 1:,} of {self.recording.commit.frames:,} "
                        "frames"
                    )
                    own = part_of[self.place_of(rows["id"])]
                    order, bounds = _in_parts(own, len(files))
                    table = np.empty(len(own), dtype=self._row)
                    for name in self._row.names or ():
                        table[name] = rows[name][order]
                    for each in np.flatnonzero(np.diff(bounds)).tolist():
                        files[each].write(table[bounds[each] : bounds[each + 1]].data)
        except OSError as error:
            raise RecordingError(
                f"{folder}: the places of {self.facts.name} could not be sorted there ({reason_of(error)})."
            ) from error
        ids, of_event = self.facts.people["id"].to_numpy(), self.facts.events["id"].to_numpy()
        known = np.flatnonzero(np.isin(of_event, ids))
        members, people = _in_parts(part_of, len(paths))
        happened, events = _in_parts(part_of[self.place_of(of_event[known])], len(paths))
        return [
            _Part(path, members[people[k] : people[k + 1]], known[happened[events[k] : events[k + 1]]])
            for k, path in enumerate(paths)
        ]

    def _scratch(self, wanted: int) -> Path:
        """Return a folder with room for so many bytes, that goes with this run."""
        beside = self.recording.path.absolute().parent
        folder = self._open.enter_context(scratch_folder(beside if os.access(beside, os.W_OK) else None))
        room = free_bytes(folder)
        if room < wanted:
            raise RecordingError(
                f"{self.facts.name}: is too long to be measured in memory, and sorting it by people takes "
                f"{wanted / 1e6:,.0f} MB on the disk of {folder.parent}, of which {room / 1e6:,.0f} MB are "
                "free. Make room, move the recording to another disk, or measure a part of it (crowdsim cut)."
            )
        return folder


Source: TypeAlias = "str | os.PathLike[str] | Recording | Tracks | LongRun"


def tracks_of(source: Source) -> Tracks:
    """Return where people were.

    Parameters
    ----------
    source : path, Recording, or Tracks
        A recording of ours, open or as a file; or measured people: a text file that says how many frames a
        second it has, or an HDF5 file as archives of experiments have them (`read_measured` reads text files
        that say less). Tracks are returned as they are.

    Returns
    -------
    Tracks

    Raises
    ------
    RecordingError
        If it cannot be read, holds nobody, or has more places than fit into the memory.
    """
    if isinstance(source, Tracks):
        return source
    if isinstance(source, LongRun):
        return _recorded(source.recording)
    if isinstance(source, Recording):
        return _recorded(source)
    if is_measured(Path(source)):
        return read_measured(source)
    with open_run(source) as recording:
        return _recorded(recording)


def facts_of(source: Source) -> Tracks:
    """Return what is known beside where people were: of a recorded run tracks without rows, for which no
    place is read; of measured people all of it.

    Parameters
    ----------
    source : path, Recording, Tracks, or LongRun

    Raises
    ------
    RecordingError
        As in `tracks_of`.
    """
    if isinstance(source, Tracks):
        return source
    if isinstance(source, LongRun):
        return source.facts
    if isinstance(source, Recording):
        return _facts(source)
    if is_measured(Path(source)):
        return read_measured(source)
    with open_run(source) as recording:
        return _facts(recording)


def facts_of_run(source: Source, lacking: str) -> Tracks:
    """Return the same, of a recorded run.

    Parameters
    ----------
    source : path, Recording, Tracks, or LongRun
    lacking : str
        What measured people have not, for the error.

    Raises
    ------
    RecordingError
        If it is of measured people, or cannot be read.
    """
    facts = facts_of(source)
    if not facts.has_events:
        raise RecordingError(f"{facts.name}: measured people have no {lacking}")
    return facts


@contextlib.contextmanager
def run_of(
    source: Source, *, most_rows: int | None = None, note: Note = lambda _: None
) -> Iterator[Tracks | LongRun]:
    """Give what all measures take: tracks; of a recorded run with more than `MOST_ROWS` places, a `LongRun`,
    which reads it in parts until the block ends.

    Parameters
    ----------
    source : path, Recording, Tracks, or LongRun
    most_rows : int, optional
        In the place of `MOST_ROWS`.
    note : callable
        Gets what goes on while a long run is read, as words.

    Returns
    -------
    context manager of Tracks or LongRun

    Raises
    ------
    RecordingError
        As in `tracks_of`.
    """
    if isinstance(source, (Tracks, LongRun)):
        yield source
    elif isinstance(source, Recording):
        if source.commit.rows <= (MOST_ROWS if most_rows is None else most_rows):
            yield _recorded(source)
        else:
            with LongRun(source, note) as run:
                yield run
    elif is_measured(Path(source)):
        yield read_measured(source)
    else:
        with open_run(source) as recording, run_of(recording, most_rows=most_rows, note=note) as run:
            yield run


def by_people(source: Source) -> Iterator[Tracks]:
    """Yield tracks of some people after each other, ascending by id: for measures with a row for each place,
    which are larger than the memory. Of what is no long run, all are in one.

    Parameters
    ----------
    source : path, Recording, Tracks, or LongRun

    Returns
    -------
    iterator of Tracks

    Raises
    ------
    RecordingError
        As in `tracks_of`, or if there is no room to sort the places.
    """
    with run_of(source) as run:
        if isinstance(run, Tracks):
            yield run
        else:
            yield from run.by_people()


def of_each_person(source: Source, measure: Callable[[Tracks], pd.DataFrame], *order: str) -> pd.DataFrame:
    """Return a measure of which each row is of one person and depends on no other; of long runs it is taken
    part by part.

    Parameters
    ----------
    source : path, Recording, Tracks, or LongRun
    measure : callable
    *order : str
        Columns by which its rows ascend; without them by person.
    """
    return tables_by_people(source, lambda tracks: {"": measure(tracks)}, {"": order})[""]


def tables_by_people(
    source: Source,
    measure: Callable[[Tracks], Tables],
    order: Mapping[str, Sequence[str]],
    together: NDArray[np.int64] | None = None,
) -> Tables:
    """Return several such measures, by their names, for which a long run is read once.

    Parameters
    ----------
    source : path, Recording, Tracks, or LongRun
    measure : callable
    order : mapping of str to sequence of str
        Columns by which their rows ascend; those of the others come as the people do.
    together : (p,) int64, optional
        As in `LongRun.by_people`; a row may be of people that are together.
    """
    with run_of(source) as run:
        if isinstance(run, Tracks):
            return measure(run)
        return joined_tables(map(measure, run.by_people(together)), order)


def of_each_place(
    source: Source,
    measure: Callable[[Tracks], pd.DataFrame],
    *,
    row_bytes: int,
    rows_in: Callable[[Recording], int] = lambda recording: recording.commit.rows,
) -> pd.DataFrame:
    """Return a measure with a row for each place, or for some, of one person and of no other, ascending by
    person; of long runs part by part into a table that is made once.

    Parameters
    ----------
    source : path, Recording, Tracks, or LongRun
    measure : callable
    row_bytes : int
        A row of the measure.
    rows_in : callable
        Returns how many rows the measure has of a recording.

    Raises
    ------
    RecordingError
        If the table is larger than the memory.
    """
    with run_of(source) as run:
        if isinstance(run, Tracks):
            return measure(run)
        rows = rows_in(run.recording)
        require_memory(run.facts.name, rows * row_bytes, f"a table of {rows:,} rows")
        columns: dict[str, NDArray[Any]] = {}
        attrs: dict[Any, Any] = {}
        at = 0
        for part in run.by_people():
            table = measure(part)
            arrays = {str(name): values.to_numpy() for name, values in table.items()}
            columns = columns or {name: np.empty(rows, dtype=own.dtype) for name, own in arrays.items()}
            attrs = table.attrs
            for name, own in arrays.items():
                columns[name][at : at + len(own)] = own
            at += len(table)
    found = pd.DataFrame(columns, copy=False)
    found.attrs = attrs
    return found


def require_memory(name: str, wanted: int, what: str) -> None:
    """Raise RecordingError if something made of a recording is larger than the memory.

    Parameters
    ----------
    name : str
        Of the recording.
    wanted : int
        Bytes.
    what : str
    """
    try:
        gate.require_memory(wanted, what)
    except gate.Damage as large:
        raise RecordingError(
            f"{name}: {large}. Make a recording of a part of it (crowdsim cut), or take it in parts "
            "(crowdsim.measures.by_people)."
        ) from None


def of_each_frame(source: Source, measure: Callable[[Tracks], pd.DataFrame]) -> pd.DataFrame:
    """Return a measure that has a row for each frame, from the places in it; of long runs it is taken part by
    part.

    Parameters
    ----------
    source : path, Recording, Tracks, or LongRun
    measure : callable
    """
    with run_of(source) as run:
        if isinstance(run, Tracks):
            return measure(run)
        return joined(map(measure, run.by_frames()))


def joined_tables(parts: Iterable[Tables], order: Mapping[str, Sequence[str]]) -> Tables:
    """Return the tables of parts as one of each name; see `joined`."""
    found: dict[str, list[pd.DataFrame]] = {}
    for part in parts:
        for name, table in part.items():
            found.setdefault(name, []).append(table)
    return {name: joined(tables, *order.get(name, ())) for name, tables in found.items()}


def joined(parts: Iterable[pd.DataFrame], *order: str) -> pd.DataFrame:
    """Return tables of the same columns as one, ascending by some of these, or as they come."""
    found = list(parts)
    # an empty table does not know the types of its columns
    table = pd.concat([each for each in found if len(each)] or found[:1], ignore_index=True)
    if order:
        table = table.sort_values([*order], kind="stable", ignore_index=True)
    table.attrs = found[0].attrs
    return table


def _has_layers(recording: Recording) -> bool:
    return len(recording.header.ground) > 1 and any(
        column.name == "layer" for column in recording.layout.columns
    )


def _recorded(recording: Recording) -> Tracks:
    run, places = LongRun(recording), recording.commit.rows
    require_memory(str(recording.path), places * TRACK_BYTES, f"having {places:,} places at once")
    rows = recording.trajectories(columns=run.columns)
    return run.tracks_of({name: rows[name].to_numpy() for name in ("id", "frame", *run.columns)})


def _in_parts(part: NDArray[np.uint16], parts: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order by parts that keeps that of each one's rows, (n,), and where in it each part begins,
    (parts + 1,).
    """
    order = np.argsort(part, kind="stable")
    return order, np.searchsorted(part[order], np.arange(parts + 1))


def _facts(recording: Recording) -> Tracks:
    header = recording.header
    roster, events, frames = recording.roster(), recording.events(), recording.frames()
    people = people_table(
        roster["entity"].to_numpy(),
        group=roster["group_name"].to_numpy(),
        index=roster["index"].to_numpy(),
        radius_m=roster["radius"].to_numpy(),
        desired_speed_m_s=roster["desired_speed"].to_numpy(),
        start_s=roster["start_tick"].to_numpy() * header.tick_s,
    ).sort_values("id", ignore_index=True)
    happened = events.rename(columns={"entity": "id", "x": "x_m", "y": "y_m"}).assign(
        time_s=events["tick"] * header.tick_s
    )[list(EVENT_COLUMNS)]
    floors = recording.floors()
    nobody = np.zeros(0)
    return make_tracks(
        str(recording.path), recording.fps, nobody, nobody, nobody, nobody, nobody,
        layer=nobody if _has_layers(recording) else None, frame_s=frames["time_s"].to_numpy(), first_frame=0,
        people=people, events=happened, ground=shapely.union_all(floors) if floors else None, header=header,
    )  # fmt: skip
