"""How people moved: trajectories, speeds, and how far each walked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.measures import sources
from crowdsim.measures.sources import LongRun, Source, joined, of_each_person, of_each_place, run_of
from crowdsim.measures.tracks import Tracks, stable_order, with_units

# Steps sway a body at some 2 Hz; half a second is one step. Shorter measures the sway of measured heads,
# longer blurs stops.
SPEED_OVER_S = 0.5


def trajectories(source: Source) -> pd.DataFrame:
    """Return where each person was.

    Parameters
    ----------
    source : path, Recording, or Tracks
        See `tracks_of`.

    Returns
    -------
    DataFrame
        id, frame, time_s (s), x_m, y_m, z_m (m); ascending by id, then frame.

    Raises
    ------
    RecordingError
        If the table is larger than the memory; `by_people` has it in parts.
    """
    return of_each_place(source, _trajectories, row_bytes=48)


def _trajectories(tracks: Tracks) -> pd.DataFrame:
    columns = {
        "id": tracks.person,
        "frame": tracks.frame,
        "time_s": tracks.time_s,
        "x_m": tracks.x,
        "y_m": tracks.y,
        "z_m": tracks.z,
    }
    return with_units(pd.DataFrame(columns))


def speeds(source: Source, *, over_s: float = SPEED_OVER_S) -> pd.DataFrame:
    """Return how fast each person was: the displacement over a time around each frame, divided by it.

    Parameters
    ----------
    source : path, Recording, or Tracks
    over_s : float, s
        Of this time, half lies before the frame and half after it, in whole frames and at least one each; at
        the ends of a track only what there is.

    Returns
    -------
    DataFrame
        id, frame, time_s (s), velocity_x_m_s, velocity_y_m_s, speed_m_s (m/s); NaN where one was seen in one
        frame only. Speeds are along the surface, where heights are known.

    Raises
    ------
    RecordingError
        If the table is larger than the memory; `by_people` has it in parts.
    """
    half_window(1.0, over_s)  # what is no time is told first
    return of_each_place(source, lambda tracks: _speeds(tracks, over_s), row_bytes=48)


def _speeds(tracks: Tracks, over_s: float) -> pd.DataFrame:
    velocity_x, velocity_y, speed = row_speeds(tracks, over_s)
    columns = {
        "id": tracks.person,
        "frame": tracks.frame,
        "time_s": tracks.time_s,
        "velocity_x_m_s": velocity_x,
        "velocity_y_m_s": velocity_y,
        "speed_m_s": speed,
    }
    return with_units(pd.DataFrame(columns))


def row_speeds(
    tracks: Tracks, over_s: float = SPEED_OVER_S
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return velocity in x and y and speed of each row, three times (n,) float64, m/s; see `speeds`."""
    half = half_window(tracks.fps, over_s)
    rows = np.arange(len(tracks))
    begins = np.flatnonzero(~tracks.follows)
    sizes = np.diff(np.append(begins, len(rows)))
    earliest = np.repeat(begins, sizes)
    latest = np.repeat(begins + sizes - 1, sizes)
    before, after = np.maximum(rows - half, earliest), np.minimum(rows + half, latest)
    took = tracks.time_s[after] - tracks.time_s[before]
    took[took <= 0.0] = np.nan
    velocity_x = (tracks.x[after] - tracks.x[before]) / took
    velocity_y = (tracks.y[after] - tracks.y[before]) / took
    squares = velocity_x**2 + velocity_y**2
    if tracks.z.any():
        squares += ((tracks.z[after] - tracks.z[before]) / took) ** 2
    return velocity_x, velocity_y, np.sqrt(squares)


def half_window(fps: float, over_s: float) -> int:
    """Return how many frames before and after one `row_speeds` looks at."""
    if not (np.isfinite(over_s) and over_s > 0.0):
        raise CrowdsimError(f"Speeds are measured over a time above 0 s, not {over_s:g} s.")
    return max(1, round(0.5 * over_s * fps))


def frames_with_speeds(
    run: Tracks | LongRun, over_s: float = SPEED_OVER_S, most_rows: int | None = None, least: int = 1
) -> Iterator[tuple[Tracks, NDArray[np.float64]]]:
    """Yield tracks of some frames after each other, and the speed of each row, (n,) float64, m/s; see
    `speeds`. Of what is no long run, all are in one.

    Parameters
    ----------
    run : Tracks or LongRun
    over_s : float, s
    most_rows : int, optional
        So many places at most where frames have no more; without it `sources.MOST_ROWS`.
    least : int
        So many frames at least, where there are as many.
    """
    if isinstance(run, Tracks):
        yield run, row_speeds(run, over_s)[2]
        return
    half, starts = half_window(run.facts.fps, over_s), run.recording.frame_starts()
    around = _Around(run, half)
    frames = around.read()
    for first, stop in run.recording.frame_spans(rows=most_rows or sources.MOST_ROWS, least=least):
        run.note(f"reading: {stop:,} of {run.recording.commit.frames:,} frames")
        rows: dict[str, NDArray[Any]] = {
            name: np.empty(int(starts[stop] - starts[first]), dtype=np.float64 if name in "xyz" else np.int64)
            for name in ("id", "frame", *run.columns)
        }
        speed = np.empty(len(rows["id"]))
        for frame in range(first, stop):
            # those until the last that counts
            while around.last < min(frame + half, run.recording.commit.frames - 1):
                next(frames)
            own = slice(int(starts[frame] - starts[first]), int(starts[frame + 1] - starts[first]))
            rows["frame"][own] = frame
            speed[own] = around.give(frame, {name: values[own] for name, values in rows.items()})
        order = stable_order(rows["id"])
        yield run.tracks_of(rows, first_frame=first, frame_s=run.facts.frame_s[first:stop]), speed[order]


class _Around:
    """Where people were in the frames around one: those in a ring that their speeds there need.

    Parameters
    ----------
    run : LongRun
    half : int
        So many frames before and after.
    """

    def __init__(self, run: LongRun, half: int) -> None:
        self._run, self._half = run, half
        size, people = 2 * half + 1, len(run.facts.people)
        self.last = -1  # frame that is in the ring
        self._frame = np.full((size, people), -size, dtype=np.int32)  # in which one was there last
        self._rows = {name: np.zeros((size, people)) for name in run.columns}

    def read(self) -> Iterator[None]:
        """Take the frames after each other, each when it is asked for."""
        recording = self._run.recording
        starts = recording.frame_starts()
        for first, stop in recording.frame_spans():
            rows = recording.rows(int(starts[first]), int(starts[stop]), self._run.columns)
            place = self._run.place_of(rows["id"])
            for frame in range(first, stop):
                own = slice(int(starts[frame] - starts[first]), int(starts[frame + 1] - starts[first]))
                slot = frame % len(self._frame)
                self._frame[slot, place[own]] = frame
                for name, values in self._rows.items():
                    values[slot, place[own]] = rows[name][own]
                if np.count_nonzero(self._frame[slot] == frame) < own.stop - own.start:
                    # says which person is twice in it
                    self._run.tracks_of({name: values[own] for name, values in rows.items()})
                self.last = frame
                yield

    def give(self, frame: int, rows: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """Write the rows of a frame, ascending by person, and return the speeds, (n,) float64, m/s."""
        size, time_s = len(self._frame), self._run.facts.frame_s
        place = np.flatnonzero(self._frame[frame % size] == frame)
        rows["id"][:] = self._run.facts.people["id"].to_numpy()[place]
        for name, values in self._rows.items():
            rows[name][:] = values[frame % size, place]
        ends = []
        for step in (-1, 1):
            end = np.full(len(place), frame)
            for then in range(frame + step, frame + step * (self._half + 1), step):
                # the track goes on until here, and here too
                end += step * ((end == then - step) & (self._frame[then % size, place] == then))
            ends.append(end)
        before, after = ends
        took = time_s[after] - time_s[before]
        took[took <= 0.0] = np.nan
        squares = np.zeros(len(place))
        for axis in "xyz":
            values = self._rows[axis]
            squares += ((values[after % size, place] - values[before % size, place]) / took) ** 2
        return np.sqrt(squares)


def of_frames_with_speeds(
    source: Source, measure: Callable[[Tracks, NDArray[np.float64]], pd.DataFrame], over_s: float
) -> pd.DataFrame:
    """Return a measure that has a row for each frame, from the places and speeds in it; of long runs it is
    taken part by part.

    Parameters
    ----------
    source : path, Recording, Tracks, or LongRun
    measure : callable
        Gets what `frames_with_speeds` yields.
    over_s : float, s
    """
    with run_of(source) as run:
        return joined(measure(*part) for part in frames_with_speeds(run, over_s))


def speed_over_time(source: Source, *, over_s: float = SPEED_OVER_S) -> pd.DataFrame:
    """Return how fast people were in each frame.

    Parameters
    ----------
    source : path, Recording, or Tracks
    over_s : float, s
        As in `speeds`.

    Returns
    -------
    DataFrame
        frame, time_s (s), people, mean_m_s, slowest_tenth_m_s, median_m_s, fastest_tenth_m_s (m/s; NaN where
        nobody was there).
    """
    return of_frames_with_speeds(source, speeds_in, over_s)


def speeds_in(tracks: Tracks, speed: NDArray[np.float64]) -> pd.DataFrame:
    """Return `speed_over_time` of tracks whose speeds are known."""
    # A row of no frame at both ends: where the rows of each frame follow each other, as in a part of one,
    # pandas adds up in another way, and the last digit would depend on how many frames are read at once.
    none = tracks.first_frame - 1
    rows = pd.DataFrame({"frame": np.r_[none, tracks.frame, none], "speed": np.r_[0.0, speed, 0.0]})
    groups = rows.groupby("frame")["speed"]
    table = pd.DataFrame({"people": groups.size(), "mean_m_s": groups.mean()})
    tenths = groups.quantile(np.array([0.1, 0.5, 0.9])).unstack()
    for name, share in (("slowest_tenth_m_s", 0.1), ("median_m_s", 0.5), ("fastest_tenth_m_s", 0.9)):
        table[name] = tenths[share]
    frames = pd.RangeIndex(tracks.first_frame, tracks.first_frame + len(tracks.frame_s), name="frame")
    table = table.reindex(frames)
    table["people"] = table["people"].fillna(0).astype(np.int64)
    table.insert(0, "time_s", tracks.frame_s)
    return with_units(table.reset_index())


def path_lengths(source: Source) -> pd.DataFrame:
    """Return how far and how long each person walked, from where it was first seen to where it arrived,
    or was last seen.

    Parameters
    ----------
    source : path, Recording, or Tracks

    Returns
    -------
    DataFrame
        One row for each person that was seen: id, group; begin_s: when it was first seen and might move,
        end_s: when it arrived, or was last seen (s); duration_s (s); has_arrived; length_m: of the line
        through its places in the frames, along the surface; displacement_m: from begin to end as the crow
        flies (m); mean_speed_m_s, desired_speed_m_s (m/s). A line through places ten times a second is
        shorter than the path by some 2 mm in a quarter turn with a radius of 0.5 m at 1.34 m/s, since it cuts
        the arc; what was not recorded is a straight line.
    """
    return of_each_person(source, path_lengths_in)


def path_lengths_in(tracks: Tracks) -> pd.DataFrame:
    """Return `path_lengths` of tracks."""
    ends = last_arrivals(tracks)
    arrival_s = ends["time_s"].reindex(tracks.seen).to_numpy()
    counted = tracks.time_s <= np.repeat(
        np.where(np.isnan(arrival_s), np.inf, arrival_s), np.diff(tracks.starts)
    )
    steps = np.zeros(len(tracks))
    same = np.flatnonzero((tracks.person[1:] == tracks.person[:-1]) & counted[1:]) + 1
    steps[same] = np.sqrt(
        sum(
            ((values[same] - values[same - 1]) ** 2 for values in (tracks.x, tracks.y, tracks.z)),
            np.zeros(len(same)),
        )
    )
    length = np.add.reduceat(steps, tracks.starts[:-1]) if len(tracks) else np.zeros(0)
    first = tracks.starts[:-1]
    last = (
        np.maximum(first, first + np.add.reduceat(counted.astype(np.int64), first) - 1)
        if len(tracks)
        else first
    )
    has_arrived = ~np.isnan(arrival_s)
    end_x, end_y = tracks.x[last].copy(), tracks.y[last].copy()
    end_x[has_arrived] = ends["x_m"].reindex(tracks.seen).to_numpy()[has_arrived]
    end_y[has_arrived] = ends["y_m"].reindex(tracks.seen).to_numpy()[has_arrived]
    # between the last frame and the arrival; 0 for the others
    length += np.hypot(end_x - tracks.x[last], end_y - tracks.y[last])
    people = tracks.people.set_index("id").loc[tracks.seen]
    begin = np.fmax(tracks.time_s[first], people["start_s"].to_numpy())
    end = np.where(has_arrived, arrival_s, tracks.time_s[last])
    duration = np.maximum(0.0, end - begin)
    table = pd.DataFrame({
        "id": tracks.seen, "group": people["group"].to_numpy(), "begin_s": np.minimum(begin, end),
        "end_s": end, "duration_s": duration, "has_arrived": has_arrived, "length_m": length,
        "displacement_m": np.hypot(end_x - tracks.x[first], end_y - tracks.y[first]),
        "mean_speed_m_s": np.divide(length, duration, out=np.full(len(length), np.nan), where=duration > 0.0),
        "desired_speed_m_s": people["desired_speed_m_s"].to_numpy(),
    })  # fmt: skip
    return with_units(table)


def last_arrivals(tracks: Tracks) -> pd.DataFrame:
    """Return when and where each person reached its last goal, by id:
    time_s, value (index of the goal), x_m, y_m; those that did not are missing.
    """
    arrivals = tracks.events[tracks.events["kind"] == "ARRIVAL"].sort_values(["time_s"], kind="stable")
    return arrivals.drop_duplicates("id", keep="last").set_index("id")[["time_s", "value", "x_m", "y_m"]]
