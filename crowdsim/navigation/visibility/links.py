"""Which corners may be linked to which goals:
temporary edges are only tried to corners that see some of a goal's polygons ([Norberg 2004], section 4.3).
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.navigation.goals.destinations import only, ranges
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.visibility.graph import VisibilityGraph


class GoalLinks(NamedTuple):
    """Corners from which a path may go straight to a piece of a goal.

    Attributes
    ----------
    start : (ng + 1,) int64
    corner : (k,) int32
        Ascending within a goal.
    piece : (k,) int32
    box : (ng, 4) float64, m
        Bounds of each goal: least x, least y, greatest x, greatest y; the distance to them is a lower bound
        of the path.
    """

    start: NDArray[np.int64]
    corner: NDArray[np.int32]
    piece: NDArray[np.int32]
    box: NDArray[np.float64]


def link_goals(graph: VisibilityGraph, goals: GoalPieces) -> GoalLinks:
    """Return the links of all goals, from the potentially visible sets of the polygons that they lie in."""
    corners, pieces, start = [], [], [0]
    box = np.tile([np.inf, np.inf, -np.inf, -np.inf], (len(goals.goal_start) - 1, 1))
    for goal, (first, last) in enumerate(zip(goals.goal_start[:-1], goals.goal_start[1:], strict=True)):
        own_corner = [np.zeros(0, dtype=np.int32)]
        own_piece = [np.zeros(0, dtype=np.int32)]
        for piece in range(first, last):
            polygon = goals.piece_polygon[piece]
            seen_by = graph.pvs[graph.pvs_start[polygon] : graph.pvs_start[polygon + 1]]
            own_corner.append(seen_by)
            own_piece.append(np.full(len(seen_by), piece, dtype=np.int32))
            vertices = goals.vertex[goals.vertex_start[piece] : goals.vertex_start[piece + 1]]
            box[goal] = (
                *np.minimum(box[goal, :2], vertices.min(axis=0)),
                *np.maximum(box[goal, 2:], vertices.max(axis=0)),
            )
        corner, piece_of = np.concatenate(own_corner), np.concatenate(own_piece)
        order = np.lexsort((piece_of, corner))
        corners.append(corner[order])
        pieces.append(piece_of[order])
        start.append(start[-1] + len(corner))
    none = np.zeros(0, dtype=np.int32)
    return GoalLinks(
        np.array(start, dtype=np.int64),
        np.concatenate([none, *corners]),
        np.concatenate([none, *pieces]),
        box,
    )


def with_links(
    links: GoalLinks, graph: VisibilityGraph, goals: GoalPieces, changed: NDArray[np.int64]
) -> GoalLinks:
    """Return the links of goals of which some have changed.

    Parameters
    ----------
    links : GoalLinks
        Of the goals before.
    graph : VisibilityGraph
    goals : GoalPieces
    changed : (k,) int64
        Goals that are new, or lie elsewhere than before, ascending.
    """
    own, count = link_goals(graph, only(goals, changed)), len(goals.goal_start) - 1
    piece_of = ranges(goals.goal_start, changed)
    size = np.concatenate([np.diff(links.start), np.zeros(count + 1 - len(links.start), dtype=np.int64)])
    is_kept = np.ones(count, dtype=np.bool_)
    is_kept[changed] = False
    kept = ranges(links.start, np.flatnonzero(is_kept[: len(links.start) - 1]))
    size[changed] = np.diff(own.start)
    start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    corner, piece = np.empty(start[-1], dtype=np.int32), np.empty(start[-1], dtype=np.int32)
    into = ranges(start, np.flatnonzero(is_kept))
    corner[into], piece[into] = links.corner[kept], links.piece[kept]
    into = ranges(start, changed)
    corner[into], piece[into] = own.corner, piece_of[own.piece]
    box = np.concatenate([links.box, np.zeros((count - len(links.box), 4))])
    box[changed] = own.box
    return GoalLinks(start, corner, piece, box)


@lean_kernel
def distance_to_bounds(links, goal, x, y):
    """Return the distance (m) from a point to the bounds of a goal."""
    dx = max(0.0, links.box[goal, 0] - x, x - links.box[goal, 2])
    dy = max(0.0, links.box[goal, 1] - y, y - links.box[goal, 3])
    return hypot(dx, dy)
