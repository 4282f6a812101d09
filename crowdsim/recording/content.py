"""What rows of a recording have to be beyond their types, so that readers can rely on it: ticks rise, frames are counted, all agents are known.

A damaged file can be whole for HDF5 and for every checksum. Each look here is at the rows that were read, takes a small part of the time that reading them
took, and says with which row it begins to be wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.recording.gate import Damage

_MOST_METRES = 1e9  # of a radius or a speed: far beyond every world, far below what overflows when it is squared


def look_at_rows(name: str, rows: NDArray[Any], first: int, last_tick: int) -> None:
    """Look at rows of one dataset.

    Parameters
    ----------
    name : str
    rows : (n, ...) array
    first : int
        Number of the first of them, for the message.
    last_tick : int
        Of the commit.

    Raises
    ------
    Damage
        With the first row that cannot be.
    """
    if name in ("frames/tick", "ticks"):
        ticks = rows if rows.dtype.names is None else rows["tick"]
        _require(name, first, (ticks >= 0) & (ticks <= last_tick) & (np.diff(ticks, prepend=-1) > 0), "shows a tick out of order")
    elif name in ("events", "explanations"):
        ticks = rows["tick"]
        _require(name, first, (ticks >= 0) & (ticks <= last_tick) & (np.diff(ticks, prepend=0) >= 0), "has a tick out of order")
    elif name == "roster":
        _require(name, first, (rows["entity"] > 0) & (rows["spawn_tick"] <= last_tick), "is of no agent that can be")
        for field in ("radius", "desired_speed", "maximum_speed"):
            with np.errstate(invalid="ignore"):
                _require(name, first, (rows[field] >= 0.0) & (rows[field] <= _MOST_METRES), f"has a {field} that cannot be")


def look_at_agents(table: NDArray[Any], starts: NDArray[np.int64], known: NDArray[np.int64], first: int) -> None:
    """Look at rows of the trajectory.

    Parameters
    ----------
    table : (n,) TRAJECTORY_DTYPE
    starts : (frames + 1,) int64
        First row of each frame.
    known : (agents,) int64
        The agents in the roster, ascending.
    first : int
        Number of the first of the rows.

    Raises
    ------
    Damage
        With the first row that is in another frame than the index says, or of an agent that is not in the roster.
    """
    if not len(table):
        return
    low = int(np.searchsorted(starts, first, side="right")) - 1
    high = int(np.searchsorted(starts, first + len(table), side="left"))
    bounds = np.clip(starts[low : high + 1] - first, 0, len(table))
    _require("trajectory", first, table["frame"] == np.repeat(np.arange(low, high), np.diff(bounds)), "is in another frame than the index of frames says")
    ids = table["id"]
    if len(known) and known[-1] - known[0] + 1 == len(known):
        is_known = (ids >= known[0]) & (ids <= known[-1])
    else:
        is_known = np.zeros(len(ids), dtype=np.bool_)
        if len(known):
            is_known = known[np.minimum(np.searchsorted(known, ids), len(known) - 1)] == ids
    _require("trajectory", first, is_known, "is of an agent that is not in the roster")


def _require(name: str, first: int, is_right: NDArray[np.bool_], wrong: str) -> None:
    if not is_right.all():
        raise Damage(f"row {first + int(np.argmin(is_right)):,} of {name} {wrong}")
