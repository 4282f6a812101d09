"""Points of portals, over which ways are searched for: near both ends, where ways bend, and between them, so that straight ways stay nearly straight."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.mesh import NavMesh

INSET_M = 0.2  # How far from the ends of a portal its outermost points are: a body's radius. Shorter portals have one point, in the middle.
APART_M = 1.0  # How far apart points are at most. Farther apart, ways near exits are judged wrongly; nearer, searches take longer.
MOST_POINTS = 24  # Of one portal: a way over a portal that is so long that its points are farther apart is long itself, or ends in sight.


class PortalPoints(NamedTuple):
    """Points of the portals of a mesh; those of a half-edge and of its twin are the same.

    Attributes
    ----------
    start : (ne + 1,) int32
        First point of each half-edge; walls have none.
    edge : (n,) int32
        Half-edge of each point.
    point : (n, 2) float64, m
    """

    start: NDArray[np.int32]
    edge: NDArray[np.int32]
    point: NDArray[np.float64]


def place_points(mesh: NavMesh) -> PortalPoints:
    """Return the points of the portals of a mesh."""
    begin, end = mesh.vertex[mesh.edge_vertex, :2], mesh.vertex[mesh.edge_end, :2]
    length = np.hypot(*(end - begin).T)
    apart = np.maximum(APART_M, (length - 2.0 * INSET_M) / (MOST_POINTS - 1))
    count = 1 + np.ceil(np.maximum(0.0, length - 2.0 * INSET_M) / apart).astype(np.int64)
    count = np.where(length <= 2.5 * INSET_M, 1, count)
    count[mesh.edge_twin < 0] = 0
    start = np.concatenate([[0], np.cumsum(count)])
    edge = np.repeat(np.arange(mesh.edge_count), count)
    which = np.arange(len(edge)) - start[edge]
    # From the half-edge with the lower number, so that both see the same points to the last bit.
    is_lower = edge < mesh.edge_twin[edge]
    lower, which = np.where(is_lower, edge, mesh.edge_twin[edge]), np.where(is_lower, which, count[edge] - 1 - which)
    single = count[edge] == 1
    inset = np.where(single, 0.5 * length[edge], INSET_M)
    along = inset + which * (length[edge] - 2.0 * INSET_M) / np.maximum(1, count[edge] - 1) * ~single
    share = (along / length[edge])[:, None]
    return PortalPoints(start.astype(np.int32), edge.astype(np.int32), begin[lower] + share * (end[lower] - begin[lower]))
