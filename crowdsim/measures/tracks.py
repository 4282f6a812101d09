"""Where people were: the one thing that all measures take, whether a program recorded it or a camera."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crowdsim.errors import RecordingError
from crowdsim.printable import counted
from crowdsim.recording.header import Header

PEOPLE_COLUMNS = ("id", "group", "index", "radius_m", "desired_speed_m_s", "start_s")
EVENT_COLUMNS = ("time_s", "id", "kind", "value", "x_m", "y_m")
# Of so many numbers numpy sorts two-byte keys by their digits: 6 million rows in 0.1 s, of others in 0.8 s.
_NARROW = 1 << 16


@dataclass(frozen=True, eq=False)
class Tracks:
    """Where people were, frame by frame.

    Attributes
    ----------
    name : str
        For messages: the file.
    fps : float, 1/s
        Frames a second.
    person, frame : (n,) int64
        One row for each person in each frame in which it was seen; ascending by person, then frame.
    x, y, z : (n,) float64, m
        z is the height of the ground under the person; 0 where it is not known.
    layer : (n,) int32 or None
        Floor of each row, where it was recorded.
    frame_s : (f,) float64, s
        Time of each frame from `first_frame` on, ascending; frames in which nobody was there are among them.
    first_frame : int
    people : DataFrame
        One row for each person, ascending: id; group; index in it, -1 where not known; radius_m (m),
        desired_speed_m_s (m/s), start_s (s; when it may first move), NaN where not known.
    events : DataFrame
        What happened, of recorded runs: time_s (s), id, kind (name of `EventKind`), value, x_m, y_m (m).
        Measured people have none.
    ground : shapely Polygon or MultiPolygon, or None
        Walkable ground as seen from above, where it is known.
    header : Header or None
        Of recorded runs: the scenario, and what else is known of the run.
    """

    name: str
    fps: float
    person: NDArray[np.int64]
    frame: NDArray[np.int64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    z: NDArray[np.float64]
    frame_s: NDArray[np.float64]
    first_frame: int
    people: pd.DataFrame
    events: pd.DataFrame
    layer: NDArray[np.int32] | None = None
    ground: Any = None
    header: Header | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        people, frames = counted(len(self.people), "person", "people"), counted(len(self.frame_s), "frame")
        return f"<Tracks of {self.name}: {people}, {frames} at {self.fps:g} a second, {len(self):,} places>"

    def __len__(self) -> int:
        return len(self.person)

    @property
    def has_events(self) -> bool:
        """Whether it says which person arrived where: recorded runs do, measured people have no goals."""
        return self.header is not None

    @cached_property
    def time_s(self) -> NDArray[np.float64]:
        """Time of each row: (n,) float64, s."""
        return self.frame_s[self.frame - self.first_frame]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First row of each person that was seen, and last the number of rows: (p + 1,) int64."""
        return np.append(np.flatnonzero(np.diff(self.person, prepend=self.person[:1] - 1)), len(self.person))

    @cached_property
    def seen(self) -> NDArray[np.int64]:
        """Those that were seen at all: (p,) int64, ascending."""
        return self.person[self.starts[:-1]]

    @cached_property
    def follows(self) -> NDArray[np.bool_]:
        """Whether each row is the same person one frame after the row before it: (n,) bool."""
        follows = np.zeros(len(self.person), dtype=bool)
        follows[1:] = (self.person[1:] == self.person[:-1]) & (self.frame[1:] == self.frame[:-1] + 1)
        return follows

    def last_seen_s(self) -> dict[int, float]:
        """Return when each person that was seen at all was seen last (s)."""
        last = self.time_s[self.starts[1:] - 1]
        return dict(zip(self.seen.tolist(), last.tolist(), strict=True))

    def of_people(self, column: str) -> NDArray[Any]:
        """Return a column of `people` for each row: (n,)."""
        return np.repeat(self.of_seen(column), np.diff(self.starts))

    def of_seen(self, column: str) -> NDArray[Any]:
        """Return a column of `people` for each of those that were seen: (k,)."""
        place = np.searchsorted(self.people["id"].to_numpy(), self.seen)
        found: NDArray[Any] = self.people[column].to_numpy()[place]
        return found

    def radius_m(self, otherwise: float | None = None) -> NDArray[np.float64]:
        """Return the radius of each row's person at that time, (n,) float64, m.

        Parameters
        ----------
        otherwise : float, m, optional
            Of people whose radius is not known.

        Raises
        ------
        RecordingError
            If a person's radius is not known, and nothing stands in for it.
        """
        radius = self.of_people("radius_m").astype(np.float64)
        for change in (
            self.events[self.events["kind"] == "RADIUS_SET"]
            .sort_values("time_s", kind="stable")
            .to_dict("records")
        ):
            first, last = np.searchsorted(self.person, (change["id"], change["id"] + 1))
            # the event has millimetres
            radius[first + np.searchsorted(self.time_s[first:last], change["time_s"]) : last] = (
                change["value"] / 1000.0
            )
        if otherwise is not None:
            return np.where(np.isnan(radius), otherwise, radius)
        if np.isnan(radius).any():
            raise RecordingError(
                f"{self.name}: how wide people are is not known, as it is not of measured people. Give them "
                "a radius, for example 0.2 m."
            )
        return radius


def make_tracks(
    name: str,
    fps: float,
    person: NDArray[Any],
    frame: NDArray[Any],
    x: NDArray[Any],
    y: NDArray[Any],
    z: NDArray[Any] | None = None,
    **more: Any,
) -> Tracks:
    """Return tracks made from rows in any order.

    Parameters
    ----------
    name : str
    fps : float, 1/s
    person, frame : (n,) int
    x, y, z : (n,) float, m
    **more
        Other attributes of `Tracks`. Without `frame_s`, frame 0 is at 0 s and frames go from the first to the
        last in which a person was seen; without `people`, nothing is known of any person; without `events`,
        nothing happened.

    Raises
    ------
    RecordingError
        If a person is in two places in one frame, a place is no number, or the frame rate is none.
    """
    if not (np.isfinite(fps) and fps > 0.0):
        raise RecordingError(f"{name}: has {fps:g} frames a second, but there have to be more than 0.")
    person, frame = np.asarray(person, dtype=np.int64), np.asarray(frame, dtype=np.int64)
    order = stable_order(person)
    if np.any((np.diff(frame[order]) < 0) & (np.diff(person[order]) == 0)):
        order = np.lexsort((frame, person))
    person, frame = person[order], frame[order]
    twice = np.flatnonzero((np.diff(person) == 0) & (np.diff(frame) == 0))
    if len(twice):
        raise RecordingError(
            f"{name}: person {person[twice[0]]} is twice in frame {frame[twice[0]]}; a person has one row "
            "in a frame."
        )
    places = [
        np.zeros(len(person)) if values is None else np.asarray(values, dtype=np.float64)[order]
        for values in (x, y, z)
    ]
    if not all(np.isfinite(values).all() for values in places):
        raise RecordingError(
            f"{name}: has places that are no numbers. Leave out rows in which a person was not seen."
        )
    if "frame_s" not in more:
        first, last = (int(frame.min()), int(frame.max())) if len(frame) else (0, -1)
        more |= {"first_frame": first, "frame_s": np.arange(first, last + 1) / fps}
    if "people" not in more:
        more["people"] = people_table(np.unique(person))
    if "events" not in more:
        more["events"] = pd.DataFrame({column: np.zeros(0) for column in EVENT_COLUMNS})
    if more.get("layer") is not None:
        more["layer"] = np.asarray(more["layer"], dtype=np.int32)[order]
    return Tracks(name, float(fps), person, frame, places[0], places[1], places[2], **more)


def people_table(ids: NDArray[np.int64], **columns: Any) -> pd.DataFrame:
    """Return what is known of people, as `Tracks.people` has it; columns that are not given are not known."""
    unknown: dict[str, Any] = {
        "group": "",
        "index": -1,
        "radius_m": np.nan,
        "desired_speed_m_s": np.nan,
        "start_s": np.nan,
    }
    table = pd.DataFrame({"id": ids}).assign(**{**unknown, **columns})
    return table[list(PEOPLE_COLUMNS)]


def with_units(table: pd.DataFrame, **units: str) -> pd.DataFrame:
    """Return a table whose ``attrs["units"]`` has the unit of every column; what is not named has none."""
    table.attrs = {
        "units": {str(column): units.get(str(column), _unit(str(column))) for column in table.columns}
    }
    return table


def _unit(column: str) -> str:
    """Return the unit that the end of a name says."""
    ends = {
        "_m_s": "m/s",
        "_per_s": "1/s",
        "_per_m_s": "1/(m s)",
        "_per_m2": "1/m2",
        "_m": "m",
        "_s": "s",
        "_deg": "degrees",
    }
    return next((ends[end] for end in sorted(ends, key=len, reverse=True) if column.endswith(end)), "")


def stable_order(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order by whole numbers that keeps the order of equal ones, (n,)."""
    if not len(keys):
        return np.zeros(0, dtype=np.int64)
    low = int(keys.min())
    narrow = (keys - low).astype(np.uint16) if int(keys.max()) - low < _NARROW else keys
    return np.argsort(narrow, kind="stable")
