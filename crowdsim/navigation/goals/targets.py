"""Where straight lines to goals lead: a point for each piece of a goal, and the piece that an agent goes to;
and when another target is the same.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.goals.destinations import only, ranges
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.tunable import param


@dataclass(frozen=True)
class TargetParameters:
    """Which targets are taken for the same."""

    same_target: float = param(
        0.25,
        "m",
        low=0.0,
        source="[Pathfinding undated], section 10 (TARGET_REPLAN_THRESHOLD)",
        why=(
            "a new target this near to the last one requested is no new request; larger saves searches and "
            "stops farther off"
        ),
    )


# How far inside of a piece of a goal its target lies: farther than the 0.05 m within which a waypoint is
# reached.
INSIDE_M = 0.1
# Between points along the rims of pieces: paths to them are longer than to the piece by half of it at most,
# beside INSIDE_M.
RIM_SPACING_M = 0.5
# Of a goal: longer rims have theirs farther apart. Each is measured to at every cell that a search reaches.
MOST_RIM_POINTS = 64


def targets_of(goals: GoalPieces) -> NDArray[np.float64]:
    """Return the point of each piece of a goal that paths lead to, (np, 2), m:
    its pole, drawn a little into the piece, since the pole may lie on its rim.
    """
    return targets_at(goals, np.arange(len(goals.pole)))


def targets_at(goals: GoalPieces, piece: NDArray[Any]) -> NDArray[np.float64]:
    """Return that point of some pieces alone, (k, 2), m."""
    if not len(piece):
        return np.zeros((0, 2))
    first, pole = goals.vertex_start[piece], goals.pole[piece]
    corners = (goals.vertex_start[piece + 1] - first).astype(np.int64)
    begin = np.cumsum(corners) - corners
    vertex = np.repeat(first - begin, corners) + np.arange(int(corners.sum()))
    inwards = np.add.reduceat(goals.vertex[vertex], begin) / corners[:, None] - pole
    away = np.maximum(hypots(inwards[:, 0], inwards[:, 1]), 1e-300)
    found: NDArray[np.float64] = pole + inwards * np.minimum(0.5, INSIDE_M / away)[:, None]
    return found


class GoalPoints(NamedTuple):
    """Points of goals that paths over cells can lead to.

    Attributes
    ----------
    point : (m, 2) float64, m
        First that of each piece, see `targets_of`; then those along the rims of pieces of goals that have
        several.
    piece : (m,) int32
    middles : int
        How many pieces there are.
    """

    point: NDArray[np.float64]
    piece: NDArray[np.int32]
    middles: int


def points_of(goals: GoalPieces) -> GoalPoints:
    """Return the points of all goals. Where pieces are wide, their middles alone do not say which is nearest
    on foot.
    """
    middle = targets_of(goals)
    points, pieces = [middle], [np.arange(len(middle), dtype=np.int32)]
    for first, last in itertools.pairwise(goals.goal_start.tolist()):
        if last - first < 2:
            continue
        rings = [
            goals.vertex[a:b] for a, b in itertools.pairwise(goals.vertex_start[first : last + 1].tolist())
        ]
        around = sum(float(_edge_ends(ring)[-1]) for ring in rings)
        spacing = max(RIM_SPACING_M, around / MOST_RIM_POINTS)
        for piece, ring in enumerate(rings, start=first):
            on_rim = _rim_points(ring, spacing)
            points.append(on_rim)
            pieces.append(np.full(len(on_rim), piece, dtype=np.int32))
    return GoalPoints(np.concatenate(points), np.concatenate(pieces), len(middle))


def points_after(before: GoalPoints, goals: GoalPieces, changed: NDArray[np.int64]) -> GoalPoints:
    """Return the points of all goals where only some are others than before.

    Parameters
    ----------
    before : GoalPoints
    goals : GoalPieces
        Those before, with their numbers, and perhaps more behind them.
    changed : (k,) int64
        Those that are new, or are points that lie elsewhere now.

    Returns
    -------
    GoalPoints
        The same as `points_of`, to the last bit; all points keep their order.
    """
    own, piece = points_of(only(goals, changed)), ranges(goals.goal_start, changed)
    count, known = len(goals.piece_polygon), before.middles
    middle = np.empty((count, 2))
    middle[:known] = before.point[:known]
    middle[piece] = own.point[: own.middles]
    return GoalPoints(
        np.concatenate([middle, before.point[known:], own.point[own.middles :]]),
        np.concatenate(
            [
                np.arange(count, dtype=np.int32),
                before.piece[known:],
                piece[own.piece[own.middles :]].astype(np.int32),
            ]
        ),
        count,
    )


def _edge_ends(ring: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far along a ring each of its edges ends, (e,), m."""
    along = np.roll(ring, -1, axis=0) - ring
    return np.cumsum(hypots(along[:, 0], along[:, 1]))


def _rim_points(ring: NDArray[np.float64], spacing: float) -> NDArray[np.float64]:
    """Return points a little inside the rim of a convex piece, evenly spaced along it;
    none where it is too thin.
    """
    end = _edge_ends(ring)
    count = int(end[-1] / spacing)
    if len(ring) < 3 or count == 0:
        return np.zeros((0, 2))
    begin = np.concatenate([[0.0], end[:-1]])
    length = np.maximum(end - begin, 1e-300)
    unit = (np.roll(ring, -1, axis=0) - ring) / length[:, None]
    at = (np.arange(count) + 0.5) * (end[-1] / count)
    edge = np.searchsorted(end, at, side="right")
    inwards = np.column_stack([-unit[:, 1], unit[:, 0]])
    point = ring[edge] + unit[edge] * (at - begin[edge])[:, None] + inwards[edge] * INSIDE_M
    away = point[:, None, :] - ring[None, :, :]
    depth = away[:, :, 0] * inwards[:, 0] + away[:, :, 1] * inwards[:, 1]
    found: NDArray[np.float64] = point[depth.min(axis=1) >= INSIDE_M - 1e-9]
    return found


def nearest_pieces(
    goals: GoalPieces,
    target: NDArray[np.float64],
    goal: NDArray[np.int32],
    position: NDArray[np.float64],
    part: NDArray[np.int32],
    part_of_piece: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Return the piece of each goal whose target is nearest to a position as the crow flies,
    of those on its part of the ground if there are any.

    Parameters
    ----------
    goals : GoalPieces
    target : (np, 2) float64, m
        See `targets_of`.
    goal : (k,) int32
    position : (k, 2) float64, m
    part : (k,) int32
        Part of the ground that each position is on; no path leads from one part to another.
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
            distance = hypots(away[:, :, 0], away[:, :, 1])
            joined = part[mine, None] == part_of_piece[None, first:last]
            result[mine] = first + np.argmin(
                np.where(joined | ~joined.any(axis=1)[:, None], distance, np.inf), axis=1
            )
    return result
