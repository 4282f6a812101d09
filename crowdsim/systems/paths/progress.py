"""What a new path does to the progress of an agent along it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.measures.deadlock_stuck import MOST_SETBACKS, PROGRESS_M
from crowdsim.world.columns import AgentColumns

# what `take_length` reads and writes, and `Gauge`
NOTED = ("remaining", "behind", "progress", "progress_place", "progress_direction")
TAKEN = (*NOTED, "setbacks", "nearest_remaining")  # what `take_path` reads and writes


def take_path(agents: AgentColumns, rows: NDArray[np.int64], length_m: NDArray[np.float64]) -> None:
    """Note the lengths of paths that agents have just been set on.

    Parameters
    ----------
    agents : AgentColumns
    rows : (k,) int64
    length_m : (k,) float64, m
        From where the agents are.

    Notes
    -----
    A path is no progress, however short: only walking is. An agent without a remaining length (it had no
    path, or lost it through no choice of its own, see `forget_path`) begins with the new one. Else, a longer
    path moves the least so far by as much as it is longer, if the agent may begin again (see
    `MOST_SETBACKS`); if not, what it is longer has to be walked first. So a detour counts from its beginning,
    and an agent that goes to and fro between two paths does not get on by that. Twin:
    `tests/reference/progress.py`.
    """
    _count_steps(agents, rows)
    before, behind = agents.remaining[rows], agents.behind[rows]
    length = np.where(np.isfinite(length_m), length_m, np.nan)
    is_new = np.isnan(before) | np.isnan(length)
    longer = np.where(is_new, 0.0, length - before)
    begins_again = (longer > PROGRESS_M) & (agents.setbacks[rows] < MOST_SETBACKS)
    agents.behind[rows] = np.where(
        is_new, 0.0, np.where(begins_again, behind, np.maximum(0.0, behind + longer))
    )
    agents.setbacks[rows] = np.where(is_new, 0, agents.setbacks[rows] + begins_again)
    agents.nearest_remaining[rows] = np.where(is_new, length, agents.nearest_remaining[rows])
    agents.remaining[rows] = length


def take_length(agents: AgentColumns, rows: NDArray[np.int64], length_m: NDArray[np.float64]) -> None:
    """Note how long the paths still are on which agents, (k,) rows, are already, from where they are (m)."""
    _count_steps(agents, rows)
    agents.remaining[rows] = length_m


def forget_path(agents: AgentColumns, rows: NDArray[np.int64] | NDArray[np.bool_]) -> None:
    """Let the next paths of agents be new ones:
    they were sent elsewhere, or the ground has changed under the paths that they had.
    """
    agents.remaining[rows] = np.nan


def _count_steps(agents: AgentColumns, rows: NDArray[np.int64]) -> None:
    """Count what agents have gone since `Gauge` has looked at them last, along the paths that they had;
    it looks at them anew from here.
    """
    gone = np.sum(
        (agents.position[rows] - agents.progress_place[rows]) * agents.progress_direction[rows], axis=1
    )
    left = agents.behind[rows] - gone
    agents.remaining[rows] -= gone
    agents.progress[rows] += np.maximum(0.0, -left)
    agents.behind[rows] = np.maximum(0.0, left)
    agents.progress_place[rows] = agents.position[rows]
    agents.progress_direction[rows] = 0.0
