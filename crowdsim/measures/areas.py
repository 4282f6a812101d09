"""Measurement areas: how many people are in them, how densely and how fast, and how long each stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import shapely
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.measures.lines import layers_of
from crowdsim.measures.motion import SPEED_OVER_S, of_frames_with_speeds
from crowdsim.measures.sources import Source, of_each_person
from crowdsim.measures.tracks import Tracks, with_units


@dataclass(frozen=True)
class Area:
    """A part of the ground.

    Attributes
    ----------
    polygon : shapely Polygon or MultiPolygon, m
    name : str
    layer : int
        Number of the floor that it is on; -1 is all of them, as seen from above.
    """

    polygon: Any
    name: str = "area"
    layer: int = -1

    def __post_init__(self) -> None:
        if (
            self.polygon.geom_type not in ("Polygon", "MultiPolygon")
            or not self.polygon.is_valid
            or self.polygon.area <= 0.0
        ):
            raise CrowdsimError(
                f'The area "{self.name}" is no polygon with an inside; its corners are listed in order, and '
                "its edges do not cross."
            )


def box_area(x_min: float, y_min: float, x_max: float, y_max: float, name: str = "area") -> Area:
    """Return the area between two corners (m).

    Raises
    ------
    CrowdsimError
        If the corners are not in ascending order.
    """
    if not (x_min < x_max and y_min < y_max):
        raise CrowdsimError(
            f'The area "{name}" is x_min,y_min,x_max,y_max: ({x_min:g}, {y_min:g}) has to lie left of and '
            f"below ({x_max:g}, {y_max:g})."
        )
    return Area(shapely.box(x_min, y_min, x_max, y_max), name)


def area_states(source: Source, area: Area, *, over_s: float = SPEED_OVER_S) -> pd.DataFrame:
    """Return how full an area was in each frame, and how fast people went in it.

    Parameters
    ----------
    source : path, Recording, or Tracks
    area : Area
    over_s : float, s
        See `speeds`.

    Returns
    -------
    DataFrame
        frame, time_s (s), people; density_per_m2 (1/m2): people over the size of the area, or of the part of
        it that is ground where that is known; speed_m_s: their mean (m/s), NaN where nobody is there;
        flow_per_m_s (1/(m s)): density times speed, 0 where nobody is there.

    Raises
    ------
    CrowdsimError
        If none of the area is walkable.
    """
    return of_frames_with_speeds(source, lambda tracks, speed: area_states_in(tracks, area, speed), over_s)


def area_states_in(tracks: Tracks, area: Area, speed: NDArray[np.float64]) -> pd.DataFrame:
    """Return `area_states` of tracks whose speeds are known."""
    size = _walkable_m2(tracks, area)
    rows = rows_inside(tracks, area)
    frame = tracks.frame[rows] - tracks.first_frame
    speed = speed[rows]
    known = ~np.isnan(speed)
    frames = len(tracks.frame_s)
    people = np.bincount(frame, minlength=frames)
    with_speed = np.bincount(frame[known], minlength=frames)
    total = np.bincount(frame[known], weights=speed[known], minlength=frames)
    mean = np.divide(total, with_speed, out=np.full(frames, np.nan), where=with_speed > 0)
    table = pd.DataFrame(
        {
            "frame": tracks.first_frame + np.arange(frames),
            "time_s": tracks.frame_s,
            "people": people,
            "density_per_m2": people / size,
            "speed_m_s": mean,
            "flow_per_m_s": np.where(people > 0, people / size * mean, 0.0),
        }
    )
    return with_units(table)


def area_stays(source: Source, area: Area) -> pd.DataFrame:
    """Return each stay in an area, from when until when.

    Parameters
    ----------
    source : path, Recording, or Tracks
    area : Area

    Returns
    -------
    DataFrame
        One row for each stay: id, enter_s, leave_s: first and last frame inside (s), stay_s: until the frame
        after the last (s); entered, left: whether the person was seen outside before and after. Ascending by
        begin, then id.
    """
    return of_each_person(source, lambda tracks: area_stays_in(tracks, area), "enter_s", "id")


def area_stays_in(tracks: Tracks, area: Area) -> pd.DataFrame:
    """Return `area_stays` of tracks."""
    inside = np.zeros(len(tracks), dtype=bool)
    inside[rows_inside(tracks, area)] = True
    before = np.append(False, inside[:-1]) & tracks.follows
    begins = np.flatnonzero(inside & ~before)
    goes_on = np.append(tracks.follows[1:] & inside[1:], False)
    ends = np.flatnonzero(inside & ~goes_on)
    left = np.append(tracks.follows[1:], False)[ends]
    table = pd.DataFrame(
        {"id": tracks.person[begins], "enter_s": tracks.time_s[begins], "leave_s": tracks.time_s[ends]}
    )
    table = table.assign(
        stay_s=table["leave_s"] - table["enter_s"] + 1.0 / tracks.fps,
        entered=tracks.follows[begins],
        left=left,
    )
    return with_units(table.sort_values(["enter_s", "id"], ignore_index=True))


def steady_state(states: pd.DataFrame, *, skip_begin_s: float, skip_end_s: float) -> pd.Series:
    """Return means over the middle part of what `area_states` returned.

    Parameters
    ----------
    states : DataFrame
    skip_begin_s, skip_end_s : float, s
        What is left out after the first frame and before the last.

    Returns
    -------
    Series
        frames; density_per_m2, density_sd_per_m2 (1/m2) over all frames; speed_m_s, speed_sd_m_s (m/s) over
        frames with people inside; from_s, until_s (s).

    Raises
    ------
    CrowdsimError
        If nothing is left.
    """
    time = states["time_s"]
    begin, end = float(time.min()) + skip_begin_s, float(time.max()) - skip_end_s
    part = states[(time >= begin) & (time <= end)]
    if not len(part):
        raise CrowdsimError(f"Between {begin:g} s and {end:g} s there is no frame: leave out less.")
    density, speed = part["density_per_m2"], part["speed_m_s"]
    values = {
        "frames": float(len(part)),
        "density_per_m2": density.mean(),
        "density_sd_per_m2": density.std(),
        "speed_m_s": speed.mean(),
        "speed_sd_m_s": speed.std(),
        "from_s": begin,
        "until_s": end,
    }
    return pd.Series(values, name="steady state")


def rows_inside(tracks: Tracks, area: Area) -> NDArray[np.int64]:
    """Return the rows of people inside an area, (k,) int64; its outline does not belong to it."""
    x_min, y_min, x_max, y_max = area.polygon.bounds
    near = np.flatnonzero((tracks.x > x_min) & (tracks.x < x_max) & (tracks.y > y_min) & (tracks.y < y_max))
    layer = layers_of(tracks, area)
    if layer is not None:
        near = near[layer[near] == area.layer]
    shapely.prepare(area.polygon)
    return near[shapely.contains_xy(area.polygon, tracks.x[near], tracks.y[near])]


def _walkable_m2(tracks: Tracks, area: Area) -> float:
    """Return the size of the part of an area that is ground (m2)."""
    size = float(
        area.polygon.area if tracks.ground is None else shapely.intersection(area.polygon, tracks.ground).area
    )
    if size <= 0.0:
        bounds = ", ".join(f"{value:g}" for value in tracks.ground.bounds)
        raise CrowdsimError(
            f'{tracks.name}: none of the area "{area.name}" is walkable; the ground lies within ({bounds}).'
        )
    return size
