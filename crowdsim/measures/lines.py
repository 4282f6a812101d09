"""Measurement lines: which people go over them when, in which direction, and the flow that this makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError, RecordingError
from crowdsim.measures.motion import last_arrivals
from crowdsim.measures.sources import Source, of_each_person
from crowdsim.measures.tracks import Tracks, with_units


@dataclass(frozen=True)
class Line:
    """A line on the ground: two points, or more for one with bends.

    Attributes
    ----------
    points : tuple of (x, y), m
    name : str
    layer : int
        Number of the floor that it is on; -1 is all of them, as seen from above.
    """

    points: tuple[tuple[float, float], ...]
    name: str = "line"
    layer: int = -1

    def __post_init__(self) -> None:
        places = np.asarray(self.points, dtype=np.float64)
        if places.ndim != 2 or places.shape[1] != 2 or len(places) < 2 or not np.isfinite(places).all():
            raise CrowdsimError(
                f'The line "{self.name}" has to have two points or more, each with an x and a y in metres.'
            )
        if not np.hypot(*np.diff(places, axis=0).T).all():
            raise CrowdsimError(
                f'The line "{self.name}" has the same point twice in a row, ({places[0, 0]:g}, '
                f"{places[0, 1]:g}) or a later one."
            )

    @property
    def length_m(self) -> float:
        """Length of the line (m)."""
        return float(np.hypot(*np.diff(np.asarray(self.points), axis=0).T).sum())


def line_crossings(source: Source, line: Line | Sequence[tuple[float, float]]) -> pd.DataFrame:
    """Return every time that a person reached the other side of a line.

    Parameters
    ----------
    source : path, Recording, or Tracks
    line : Line, or its points, m

    Returns
    -------
    DataFrame
        id; time_s: when, between two frames (s); frame: the first on the other side; direction: +1 to the
        right of a walker along the line from its first point to its last, -1 to the left; along_m: where,
        from the first point (m); count: which crossing of this person it is, from 1. Ascending by time, then
        id. To come as far as the line and go back is no crossing; the step to the place where a person
        arrived and left, which no frame shows, counts, with the number of the next frame.
    """
    line = line if isinstance(line, Line) else Line(tuple((float(x), float(y)) for x, y in line))
    return of_each_person(source, lambda tracks: line_crossings_in(tracks, line), "time_s", "id")


def line_crossings_in(tracks: Tracks, line: Line) -> pd.DataFrame:
    """Return `line_crossings` of tracks."""
    steps, layer = _steps(tracks), layers_of(tracks, line)
    found = [np.zeros((5, 0))]
    begun = 0.0
    for number, (a, b) in enumerate(zip(line.points[:-1], line.points[1:], strict=True)):
        length = float(np.hypot(b[0] - a[0], b[1] - a[1]))
        over = _over(steps, a, b, is_last=number == len(line.points) - 2)
        # what is between two frames is on the floor of the first
        here = slice(None) if layer is None else layer[steps.row[over[0] - 1]] == line.layer
        rows, share, along, direction = (each[here] for each in over)
        time = steps.time_s[rows - 1] + share * (steps.time_s[rows] - steps.time_s[rows - 1])
        found.append(
            np.stack([steps.person[rows], time, steps.frame[rows], direction, begun + along * length])
        )
        begun += length
    person, time, frame, direction, along = np.concatenate(found, axis=1)
    table = pd.DataFrame(
        {
            "id": person.astype(np.int64),
            "time_s": time,
            "frame": frame.astype(np.int64),
            "direction": direction.astype(np.int64),
        }
    )
    table = table.assign(along_m=along).sort_values(["time_s", "id"], ignore_index=True)
    table["count"] = table.groupby("id").cumcount() + 1
    return with_units(table)


def first_crossings(crossed: pd.DataFrame, direction: int | None = None) -> pd.DataFrame:
    """Return the first crossing of each person, in one direction (+1 or -1) or in any.

    Parameters
    ----------
    crossed : DataFrame
        As `line_crossings` returns it.
    direction : int, optional

    Returns
    -------
    DataFrame
        Rows of `crossed`.
    """
    wanted = crossed if direction is None else crossed[crossed["direction"] == direction]
    return with_units(wanted.drop_duplicates("id", keep="first").reset_index(drop=True))


def mean_flow(
    crossed: pd.DataFrame, *, width_m: float | None = None, from_s: float = -np.inf, until_s: float = np.inf
) -> pd.Series:
    """Return the flow over a line: those that come after the first, over the time from the first to the last.

    Parameters
    ----------
    crossed : DataFrame
        As `line_crossings` or `first_crossings` returns it.
    width_m : float, m, optional
        Width of the passage.
    from_s, until_s : float, s
        Only crossings from then until then.

    Returns
    -------
    Series
        people; first_s, last_s (s); flow_per_s (1/s): (people - 1) / (last - first), NaN for fewer than two;
        specific_flow_per_m_s (1/(m s)): for one metre of width, NaN without a width.
    """
    times = np.sort(crossed["time_s"].to_numpy())
    times = times[(times >= from_s) & (times <= until_s)]
    span = float(times[-1] - times[0]) if len(times) > 1 else 0.0
    flow = (len(times) - 1) / span if span > 0.0 else np.nan
    first, last = (float(times[0]), float(times[-1])) if len(times) else (np.nan, np.nan)
    values = {"people": float(len(times)), "first_s": first, "last_s": last, "flow_per_s": flow}
    return pd.Series({**values, "specific_flow_per_m_s": flow / width_m if width_m else np.nan}, name="flow")


def flow_over_time(
    crossed: pd.DataFrame, *, every_s: float = 5.0, width_m: float | None = None
) -> pd.DataFrame:
    """Return how many went over a line in each part of the time from 0 s on.

    Parameters
    ----------
    crossed : DataFrame
        As `line_crossings` returns it.
    every_s : float, s
        Length of a part.
    width_m : float, m, optional

    Returns
    -------
    DataFrame
        begin_s, end_s (s); forwards, backwards: crossings in direction +1 and -1; net_per_s (1/s): their
        difference over the part's length; specific_flow_per_m_s (1/(m s)): the same for one metre of width,
        NaN without one; total: net crossings until the end of the part.
    """
    if not (np.isfinite(every_s) and every_s > 0.0):
        raise CrowdsimError(f"Parts of a time are longer than 0 s, not {every_s:g} s.")
    parts = int(np.floor(crossed["time_s"].max() / every_s)) + 1 if len(crossed) else 0
    part = np.floor(crossed["time_s"].to_numpy() / every_s).astype(np.int64)
    ahead = crossed["direction"].to_numpy() > 0
    counts = [np.bincount(part[rows], minlength=parts) for rows in (ahead, ~ahead)]
    net = counts[0] - counts[1]
    begin = every_s * np.arange(parts)
    table = pd.DataFrame(
        {
            "begin_s": begin,
            "end_s": begin + every_s,
            "forwards": counts[0],
            "backwards": counts[1],
            "net_per_s": net / every_s,
        }
    )
    table["specific_flow_per_m_s"] = table["net_per_s"] / width_m if width_m else np.nan
    return with_units(table.assign(total=np.cumsum(net)))


class _Steps(NamedTuple):
    """Rows of tracks as in `Tracks`, and behind them for those that arrived and left the place where that
    was.
    """

    person: NDArray[np.int64]
    frame: NDArray[np.int64]
    time_s: NDArray[np.float64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    follows: NDArray[np.bool_]
    row: NDArray[np.int64]  # of the tracks; that of an arrival is the last one before it


def layers_of(tracks: Tracks, place: Any) -> NDArray[np.int32] | None:
    """Return the floor of each row, (n,) int32; None where a line or area is on all floors, or there is one.

    Raises
    ------
    RecordingError
        If there are several, and the recording does not say on which the agents were.
    """
    if place.layer < 0 or tracks.header is None or len(tracks.header.ground) < 2:
        return None
    if tracks.layer is None:
        raise RecordingError(
            f'{tracks.name}: "{place.name}" is on one of {len(tracks.header.ground)} floors, but on which '
            "floor agents were is not recorded. Record the column layer (record: {columns: [layer, ...]})."
        )
    return tracks.layer


def _steps(tracks: Tracks) -> _Steps:
    rows = _Steps(
        tracks.person, tracks.frame, tracks.time_s, tracks.x, tracks.y, tracks.follows, np.arange(len(tracks))
    )
    last = tracks.starts[1:] - 1
    ends = last_arrivals(tracks).reindex(tracks.seen)
    # between two frames, or they would be in the later one
    gone = np.flatnonzero(ends["time_s"].to_numpy() > tracks.time_s[last])
    if not len(gone):
        return rows
    ends, last = ends.iloc[gone], last[gone]
    places = [ends[name].to_numpy(dtype=np.float64) for name in ("time_s", "x_m", "y_m")]
    added: tuple[NDArray[Any], ...] = (
        tracks.seen[gone],
        tracks.frame[last] + 1,
        *places,
        np.ones(len(gone), dtype=bool),
        last,
    )
    return _Steps(*(np.insert(values, last + 1, more) for values, more in zip(rows, added, strict=True)))


_Over = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def _over(steps: _Steps, a: tuple[float, float], b: tuple[float, float], *, is_last: bool) -> _Over:
    """Return the rows that end on the other side of the segment a b, the share of the step until it,
    of the segment until there, and the direction.
    """
    dx, dy = b[0] - a[0], b[1] - a[1]
    side = dx * (steps.y - a[1]) - dy * (steps.x - a[0])  # positive on the left
    # A person on the line is still where it came from: the last row off the line says where, unless the track
    # begins anew in between.
    rows = np.arange(len(steps.person))
    came_from = np.maximum.accumulate(np.where((side != 0.0) | ~steps.follows, rows, 0))
    sign = np.sign(side[came_from])
    flips = np.flatnonzero(steps.follows[1:] & (sign[1:] * sign[:-1] < 0.0)) + 1
    share = side[flips - 1] / (side[flips - 1] - side[flips])
    x = steps.x[flips - 1] + share * (steps.x[flips] - steps.x[flips - 1])
    y = steps.y[flips - 1] + share * (steps.y[flips] - steps.y[flips - 1])
    along = ((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy)
    on = (along >= 0.0) & ((along <= 1.0) if is_last else (along < 1.0))
    return flips[on], share[on], along[on], -sign[flips[on]]
