"""Lanes in a corridor along x: do people in a row walk in the same direction?"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.measures.areas import Area, rows_inside
from crowdsim.measures.sources import LongRun, Source, facts_of, of_each_frame, run_of
from crowdsim.measures.tracks import Tracks, with_units

# A person that gets less far along the corridor stands, or came in from its side: it has no direction that
# counts.
LEAST_DISTANCE_M = 1.0


def lane_order(
    trajectories: pd.DataFrame, heading: pd.Series, *, x_range: tuple[float, float], row_width: float = 0.3
) -> pd.DataFrame:
    """Return how far the people in each frame walk in lanes.

    Parameters
    ----------
    trajectories : DataFrame
        Columns frame, id, x, y (m).
    heading : Series of +1 and -1
        The direction along x in which each walks, by id.
    x_range : (float, float), m
        Only people in between are counted.
    row_width : float, m
        Width of the rows along x that are looked at one by one.

    Returns
    -------
    DataFrame
        frame, people (counted), order: the sum over rows of (n+ - n-)^2 / (n+ + n-), divided by the number of
        people. 1 where all in a row walk in one direction, some 0.4 by chance in a corridor of 3 m with 50
        people; nan where nobody is counted.
    """
    inside = trajectories[(trajectories["x"] > x_range[0]) & (trajectories["x"] < x_range[1])]
    rows = pd.DataFrame(
        {
            "frame": inside["frame"],
            "row": np.floor(inside["y"] / row_width),
            "sign": heading.reindex(inside["id"]).to_numpy(),
        }
    )
    each = rows.groupby(["frame", "row"])["sign"].agg(["sum", "size"])
    each["square"] = each["sum"] ** 2 / each["size"]
    frames = (
        each.groupby("frame")
        .agg(people=("size", "sum"), square=("square", "sum"))
        .reindex(np.unique(trajectories["frame"]))
    )
    people = frames["people"].fillna(0).astype(int)
    order = (frames["square"] / people).where(people > 0)
    return pd.DataFrame({"frame": frames.index, "people": people.to_numpy(), "order": order.to_numpy()})


def lane_order_of(
    source: Source,
    *,
    along: tuple[float, float] = (1.0, 0.0),
    area: Area | None = None,
    row_width: float = 0.3,
) -> pd.DataFrame:
    """Return how far people walk in lanes, each counted for the direction in which it goes on the whole.

    Parameters
    ----------
    source : path, Recording, or Tracks
    along : (float, float)
        Direction of the corridor; its length does not matter. Those that come no farther than 1 m along it
        are not counted.
    area : Area, optional
        Only people inside are counted.
    row_width : float, m
        As in `lane_order`.

    Returns
    -------
    DataFrame
        frame, time_s (s), people, order: as in `lane_order`; nan where nobody is counted.

    Raises
    ------
    CrowdsimError
        If the direction is none.
    """
    length = float(np.hypot(*along))
    if not (np.isfinite(length) and length > 0.0):
        raise CrowdsimError(
            f"The direction of lanes is ({along[0]:g}, {along[1]:g}), but it takes two numbers that are not "
            "both 0, for example 1, 0."
        )
    direction = along[0] / length, along[1] / length
    with run_of(source) as run:
        heading = _headings(run, direction)
        return of_each_frame(run, lambda tracks: _lane_order(tracks, heading, direction, area, row_width))


def _ahead(tracks: Tracks, direction: tuple[float, float]) -> NDArray[np.float64]:
    """Return how far along a direction each place is, (n,) m."""
    found: NDArray[np.float64] = direction[0] * tracks.x + direction[1] * tracks.y
    return found


def _headings(run: Tracks | LongRun, direction: tuple[float, float]) -> pd.Series:
    """Return in which direction each of those goes on the whole that get far enough, +1 or -1, by id."""
    ids = facts_of(run).people["id"].to_numpy()
    first, last = np.full(len(ids), np.nan), np.full(len(ids), np.nan)
    for tracks in run.by_frames() if isinstance(run, LongRun) else (run,):
        ahead, place = _ahead(tracks, direction), np.searchsorted(ids, tracks.seen)
        is_new = np.isnan(first[place])
        first[place[is_new]] = ahead[tracks.starts[:-1]][is_new]
        last[place] = ahead[tracks.starts[1:] - 1]
    moved = last - first  # nan of those that were not seen
    return pd.Series(np.sign(moved), index=ids)[np.abs(moved) > LEAST_DISTANCE_M]


def _lane_order(
    tracks: Tracks,
    heading: pd.Series,
    direction: tuple[float, float],
    area: Area | None,
    row_width: float,
) -> pd.DataFrame:
    aside = direction[0] * tracks.y - direction[1] * tracks.x
    rows = np.arange(len(tracks)) if area is None else rows_inside(tracks, area)
    rows = rows[np.isin(tracks.person[rows], heading.index)]
    columns = {
        "frame": tracks.frame[rows],
        "id": tracks.person[rows],
        "x": _ahead(tracks, direction)[rows],
        "y": aside[rows],
    }
    frames = tracks.first_frame + np.arange(len(tracks.frame_s))
    order = (
        lane_order(pd.DataFrame(columns), heading, x_range=(-np.inf, np.inf), row_width=row_width)
        .set_index("frame")
        .reindex(frames)
    )
    order["people"] = order["people"].fillna(0).astype(np.int64)
    order.insert(0, "time_s", tracks.frame_s)
    return with_units(order.rename_axis("frame").reset_index())
