"""How people moved: trajectories, speeds, and how far each walked."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.measures.sources import Source, of_each_frame, of_each_person, of_each_place
from crowdsim.measures.tracks import Tracks, with_units

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
    return of_each_frame(
        source, lambda tracks: _speed_over_time(tracks, over_s), lambda fps: half_window(fps, over_s)
    )


def _speed_over_time(tracks: Tracks, over_s: float) -> pd.DataFrame:
    speed = row_speeds(tracks, over_s)[2]
    groups = pd.DataFrame({"frame": tracks.frame, "speed": speed}).groupby("frame")["speed"]
    table = pd.DataFrame({"people": groups.size(), "mean_m_s": groups.mean()})
    for name, share in (("slowest_tenth_m_s", 0.1), ("median_m_s", 0.5), ("fastest_tenth_m_s", 0.9)):
        table[name] = groups.quantile(share)
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
    return of_each_person(source, _path_lengths)


def _path_lengths(tracks: Tracks) -> pd.DataFrame:
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
