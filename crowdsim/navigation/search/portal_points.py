"""Points of portals, over which paths are searched for:
near both ends, where paths bend, and between them, so that straight paths stay nearly straight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.tunable import param

WALL_INSET_M = 0.2  # How far from an end of a portal at a wall its outermost point is: an agent's radius.
# From an end in free ground, as at corners of kerbs and tiles. Points of two portals at one vertex must lie
# apart: steps cost something.
FREE_INSET_M = 0.05
# From an end of a portal to ground of another pace: strings are pulled over as much of it as the corridor
# has, not over a corner of it.
KERB_INSET_M = 0.5
# How far apart points are at most. Farther apart, paths near exits are judged wrongly; nearer, searches take
# longer.
APART_M = 1.0
# Of one portal: a path over a portal that is so long that its points are farther apart is long itself, or
# ends in sight.
MOST_POINTS = 24


@dataclass(frozen=True)
class PointParameters:
    """Where portals are crossed in the sums of a search over their points."""

    points_apart: float = param(
        APART_M,
        "m",
        low=0.1,
        high=1e6,
        is_later=True,
        source="[Cui 2012], section 2",
        why=(
            "how far apart points of a portal are at most; from some 10 on most have two, near their ends: "
            "searches take half to a twentieth of the time, and paths are 0 to 0.2 % longer on average, one "
            "in 200 a tenth and more"
        ),
    )


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


def place_points(mesh: NavMesh, apart_m: float = APART_M, most: int = MOST_POINTS) -> PortalPoints:
    """Return the points of the portals of a mesh, `apart_m` apart at most, or `most` of one portal."""
    begin, end = mesh.vertex[mesh.edge_vertex, :2], mesh.vertex[mesh.edge_end, :2]
    length = hypots(*(end - begin).T)
    is_kerb = np.any(
        mesh.polygon_pace[mesh.edge_polygon] != mesh.polygon_pace[mesh.edge_polygon[mesh.edge_twin]], axis=1
    )
    free = np.where(is_kerb, KERB_INSET_M, FREE_INSET_M)
    first, last = (
        np.where(mesh.is_wall_vertex[vertex] == 1, WALL_INSET_M, free)
        for vertex in (mesh.edge_vertex, mesh.edge_end)
    )
    between = length - (first + last)  # the same to the last bit from both sides
    apart = np.maximum(apart_m, between / (most - 1))
    count = 1 + np.ceil(np.maximum(0.0, between) / apart).astype(np.int64)
    # Short portals have one point, in the middle.
    count = np.where(between <= 0.25 * (first + last), 1, count)
    count[mesh.edge_twin < 0] = 0
    start = np.concatenate([[0], np.cumsum(count)])
    edge = np.repeat(np.arange(mesh.edge_count), count)
    which = np.arange(len(edge)) - start[edge]
    # From the half-edge with the lower number, so that both see the same points to the last bit.
    is_lower = edge < mesh.edge_twin[edge]
    lower, which = (
        np.where(is_lower, edge, mesh.edge_twin[edge]),
        np.where(is_lower, which, count[edge] - 1 - which),
    )
    single = count[edge] == 1
    inset = np.where(single, 0.5 * length[edge], first[lower])
    along = inset + which * between[edge] / np.maximum(1, count[edge] - 1) * ~single
    share = (along / length[edge])[:, None]
    return PortalPoints(
        start.astype(np.int32), edge.astype(np.int32), begin[lower] + share * (end[lower] - begin[lower])
    )


def points_beyond(mesh: NavMesh, points: PortalPoints) -> NDArray[np.int64]:
    """Return for each point the number that the same place has as a point of the other side of its portal,
    (n,).
    """
    edge = points.edge
    twin, which = mesh.edge_twin[edge], np.arange(len(edge)) - points.start[edge]
    count = points.start[edge + 1] - points.start[edge]
    return (points.start[twin] + count - 1 - which).astype(np.int64)
