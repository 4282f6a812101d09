"""Which agents walk, stand, or have a path: what many systems ask in each tick, in one pass over the rows.

numpy makes an array for every `==` and `&` of it; for few agents each costs more than this whole pass, for
many their memory does.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.codes import PathStatus
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.world.columns import AgentColumns, AgentState, Led

# kernels, and numpy, compare numbers of the columns' own type soonest
WALKING, STANDING, WAITING, ARRIVED, OBSTACLE, RIDING = (
    np.uint8(state)
    for state in (
        AgentState.WALKING,
        AgentState.STANDING,
        AgentState.WAITING,
        AgentState.ARRIVED,
        AgentState.OBSTACLE,
        AgentState.RIDING,
    )
)
HELD = np.uint8(Led.HELD)
NO_PATH, PENDING, FOUND, FOUND_THROUGH_AGENTS = (
    np.uint8(status)
    for status in (
        PathStatus.NONE,
        PathStatus.PENDING,
        PathStatus.FOUND,
        PathStatus.FOUND_THROUGH_AGENTS,
    )
)

NO_ONE: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)  # a mask without entries, where none is asked about


def has_path(status: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which agents, (n,), have a path to their goal, round stationary agents or through them."""
    found = np.empty(len(status), dtype=np.bool_)
    _find_paths(status, found)
    return found


@lean_kernel
def _find_paths(status, out):
    for row in range(out.size):
        out[row] = status[row] == FOUND or status[row] == FOUND_THROUGH_AGENTS


def standing(agents: AgentColumns) -> NDArray[np.bool_]:
    """Return (n,) bool: agents that stand, for want of a goal or a path, until their start, or while a
    program holds them; those that step aside do not.
    """
    found = np.empty(len(agents), dtype=np.bool_)
    _find_standing(agents.activity, agents.is_yielding, agents.is_driven, found)
    return found


@lean_kernel
def _find_standing(activity, is_yielding, is_driven, out):
    for row in range(out.size):
        stays = activity[row] == STANDING or activity[row] == WAITING
        out[row] = (stays and is_yielding[row] == 0 and is_driven[row] == 0) or is_driven[row] == HELD


def on_their_way(agents: AgentColumns) -> NDArray[np.bool_]:
    """Return (n,) bool: agents that walk, or step aside."""
    found = np.empty(len(agents), dtype=np.bool_)
    _find_on_their_way(agents.activity, agents.is_yielding, agents.is_driven, found)
    return found


@lean_kernel
def _find_on_their_way(activity, is_yielding, is_driven, out):
    for row in range(out.size):
        out[row] = (activity[row] == WALKING or is_yielding[row] != 0) and is_driven[row] != HELD
