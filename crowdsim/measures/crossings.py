"""When people cross a line x = const, and the flow that this makes."""

from __future__ import annotations

import numpy as np
import pandas as pd


def crossings(trajectories: pd.DataFrame, *, x: float, fps: float) -> pd.DataFrame:
    """Return when each person is first beyond a line, in the direction of x.

    Parameters
    ----------
    trajectories : DataFrame
        Columns frame, id, x (m).
    x : float, m
    fps : float, 1/s
        Frames a second.

    Returns
    -------
    DataFrame
        id, time_s; ascending by time, then id. Persons that never cross are missing.
    """
    first = trajectories[trajectories["x"] > x].groupby("id")["frame"].min()
    return pd.DataFrame({"id": first.index, "time_s": first.to_numpy() / fps}).sort_values(["time_s", "id"], ignore_index=True)


def specific_flow(crossed: pd.DataFrame, *, width: float, skip: float = 0.1) -> float:
    """Return the flow through a door in its steady part, for one metre of width.

    Parameters
    ----------
    crossed : DataFrame
        As `crossings` returns it.
    width : float, m
    skip : float, 0..0.5
        Share of the people at the begin and at the end that is left out: no crowd stands at the door then.

    Returns
    -------
    float, 1/(m s)
        nan where fewer than two people are left.
    """
    times = crossed["time_s"].to_numpy()
    first, last = int(np.floor(skip * len(times))), int(np.ceil((1.0 - skip) * len(times))) - 1
    if last <= first or times[last] <= times[first]:
        return float("nan")
    return float((last - first) / (times[last] - times[first]) / width)
