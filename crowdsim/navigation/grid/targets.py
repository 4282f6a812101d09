"""Where ways over a grid lead: a point for each piece of a goal, and the piece that an agent goes to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.goals import GoalPieces

INSIDE_M = 0.1  # How far inside of a piece of a goal its target lies: farther than the 0.05 m within which a waypoint is reached.


def targets_of(goals: GoalPieces) -> NDArray[np.float64]:
    """Return the point of each piece of a goal that ways lead to, (np, 2), m: its pole, drawn a little into the piece, since the pole may lie on its rim."""
    corners = np.diff(goals.vertex_start)
    middle = np.add.reduceat(goals.vertex, goals.vertex_start[:-1]) / corners[:, None] if len(corners) else np.zeros((0, 2))
    inwards = middle - goals.pole
    away = np.maximum(np.hypot(inwards[:, 0], inwards[:, 1]), 1e-300)
    return goals.pole + inwards * np.minimum(0.5, INSIDE_M / away)[:, None]


def nearest_pieces(goals: GoalPieces, target: NDArray[np.float64], goal: NDArray[np.int32], position: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return for each of (k,) goals the piece whose target is nearest to a position, (k, 2) m, as the crow flies; -1 if the goal has none."""
    result = np.full(len(goal), -1, dtype=np.int32)
    for number in np.unique(goal).tolist():
        first, last = int(goals.goal_start[number]), int(goals.goal_start[number + 1])
        mine = np.flatnonzero(goal == number)
        if last > first:
            away = position[mine, None, :] - target[None, first:last, :]
            result[mine] = first + np.argmin(np.hypot(away[:, :, 0], away[:, :, 1]), axis=1)
    return result
