"""Where straight lines to goals lead: a point for each piece of a goal, and the piece that an agent goes to; and when another target is the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.goals import GoalPieces
from crowdsim.tunable import param


@dataclass(frozen=True)
class TargetParameters:
    """Which targets are taken for the same."""

    same_target: float = param(
        0.25, "m", low=0.0, source="S2 section 10 (TARGET_REPLAN_THRESHOLD)",
        why="a new target this near to the last one asked for is no new request; larger saves searches and stops farther off",
    )


INSIDE_M = 0.1  # How far inside of a piece of a goal its target lies: farther than the 0.05 m within which a waypoint is reached.


def targets_of(goals: GoalPieces) -> NDArray[np.float64]:
    """Return the point of each piece of a goal that ways lead to, (np, 2), m: its pole, drawn a little into the piece, since the pole may lie on its rim."""
    corners = np.diff(goals.vertex_start)
    middle = np.add.reduceat(goals.vertex, goals.vertex_start[:-1]) / corners[:, None] if len(corners) else np.zeros((0, 2))
    inwards = middle - goals.pole
    away = np.maximum(np.hypot(inwards[:, 0], inwards[:, 1]), 1e-300)
    return goals.pole + inwards * np.minimum(0.5, INSIDE_M / away)[:, None]


def nearest_pieces(
    goals: GoalPieces,
    target: NDArray[np.float64],
    goal: NDArray[np.int32],
    position: NDArray[np.float64],
    part: NDArray[np.int32],
    part_of_piece: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Return the piece of each goal whose target is nearest to a position as the crow flies, of those on its part of the ground if there are any.

    Parameters
    ----------
    goals : GoalPieces
    target : (np, 2) float64, m
        See `targets_of`.
    goal : (k,) int32
    position : (k, 2) float64, m
    part : (k,) int32
        Part of the ground that each position is on; nobody can walk from one part to another.
    part_of_piece : (np,) int32

    Returns
    -------
    (k,) int32
        -1 if the goal has no piece.
    """
    result = np.full(len(goal), -1, dtype=np.int32)
    for number in np.unique(goal).tolist():
        first, last = int(goals.goal_start[number]), int(goals.goal_start[number + 1])
        mine = np.flatnonzero(goal == number)
        if last > first:
            away = position[mine, None, :] - target[None, first:last, :]
            distance = np.hypot(away[:, :, 0], away[:, :, 1])
            joined = part[mine, None] == part_of_piece[None, first:last]
            result[mine] = first + np.argmin(np.where(joined | ~joined.any(axis=1)[:, None], distance, np.inf), axis=1)
    return result
