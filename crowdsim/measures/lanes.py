"""Lanes in a corridor along x: do people in a row walk the same way?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def lane_order(trajectories: pd.DataFrame, heading: pd.Series, *, x_range: tuple[float, float], row_width: float = 0.3) -> pd.DataFrame:
    """Return how far the people in each frame walk in lanes.

    Parameters
    ----------
    trajectories : DataFrame
        Columns frame, id, x, y (m).
    heading : Series of +1 and -1
        Which way along x everybody walks, by id.
    x_range : (float, float), m
        Only people in between are counted.
    row_width : float, m
        Width of the rows along x that are looked at one by one.

    Returns
    -------
    DataFrame
        frame, people (counted), order: the sum over rows of (n+ - n-)^2 / (n+ + n-), divided by the number of people. 1 where everybody in a row walks
        the same way, some 0.4 by chance in a corridor of 3 m with 50 people; nan where nobody is counted.
    """
    import pandas as pd

    inside = trajectories[(trajectories["x"] > x_range[0]) & (trajectories["x"] < x_range[1])]
    rows = pd.DataFrame({"frame": inside["frame"], "row": np.floor(inside["y"] / row_width), "sign": heading.reindex(inside["id"]).to_numpy()})
    each = rows.groupby(["frame", "row"])["sign"].agg(["sum", "size"])
    each["square"] = each["sum"] ** 2 / each["size"]
    frames = each.groupby("frame").agg(people=("size", "sum"), square=("square", "sum")).reindex(np.unique(trajectories["frame"]))
    people = frames["people"].fillna(0).astype(int)
    order = (frames["square"] / people).where(people > 0)
    return pd.DataFrame({"frame": frames.index, "people": people.to_numpy(), "order": order.to_numpy()})
