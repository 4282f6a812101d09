"""Nodes of the search over areas: points of the portals between two areas, on either side.

A node is a point of a half-edge, as in `crowdsim.navigation.search.a_star`: "leave this area over this
portal, here". The same point of the twin leads back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.search.portal_points import PortalPoints


class AreaNodes(NamedTuple):
    """Areas and the nodes between them.

    Attributes
    ----------
    area : (np,) int32
        Area of each polygon.
    start : (areas + 1,) int64
        The nodes that leave area a are ``start[a] .. start[a + 1] - 1``.
    point : (n,) int32
        Of the portal points, that of each node.
    twin : (n,) int32
        The node at the same place that leads back.
    leaves, enters : (n,) int32
        Areas.
    place : (n, 2) float64, m
    of_point : (points,) int32
        Node at a portal point; -1 if there is none.
    is_border : (ne,) uint8
        1 for the half-edges between two areas.
    """

    area: NDArray[np.int32]
    start: NDArray[np.int64]
    point: NDArray[np.int32]
    twin: NDArray[np.int32]
    leaves: NDArray[np.int32]
    enters: NDArray[np.int32]
    place: NDArray[np.float64]
    of_point: NDArray[np.int32]
    is_border: NDArray[np.uint8]

    @property
    def area_count(self) -> int:
        """How many areas there are."""
        return len(self.start) - 1


def place_nodes(
    mesh: NavMesh,
    points: PortalPoints,
    area: NDArray[np.int32],
    apart_m: float,
    *,
    is_sparse: bool = False,
) -> AreaNodes:
    """Return the nodes between the areas of polygons, (np,).

    Parameters
    ----------
    mesh : NavMesh
    points : PortalPoints
    area : (np,) int32
    apart_m : float
        About how far apart the points of one portal are of which nodes are made. Nearer, the search over
        areas judges paths better and takes longer.
    is_sparse : bool
        One node for each two areas, on either side, in the middle of their longest portal.
    """
    own, twin = area[mesh.edge_polygon], mesh.edge_twin
    other = np.where(twin >= 0, own[twin], own)
    is_border = other != own
    edge = np.flatnonzero(is_border & (np.arange(mesh.edge_count) < twin))  # once for both sides
    first, size = points.start[edge].astype(np.int64), np.diff(points.start)[edge].astype(np.int64)
    length = hypots(*(mesh.vertex[mesh.edge_end[edge], :2] - mesh.vertex[mesh.edge_vertex[edge], :2]).T)
    count = np.clip(np.round(length / apart_m).astype(np.int64), 1, size)
    if is_sparse:
        pair = np.sort(np.column_stack([own[edge], other[edge]]), axis=1)
        longest = np.lexsort((edge, -length, pair[:, 1], pair[:, 0]))
        is_first = np.any(np.diff(pair[longest], axis=0, prepend=-1), axis=1)
        count = np.zeros(len(edge), dtype=np.int64)
        count[longest[is_first]] = 1
    of = np.repeat(np.arange(len(edge)), count)
    number = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
    # those in the middles of equal parts of the portal
    chosen = ((2 * number + 1) * size[of]) // (2 * count[of])
    here = first[of] + chosen
    # the points of a twin stand in the opposite order
    back = points.start[twin[edge]].astype(np.int64)[of] + size[of] - 1 - chosen
    assert np.array_equal(points.point[here], points.point[back])
    both, opposite = np.concatenate([here, back]), np.concatenate([back, here])
    leaves = own[points.edge[both]]
    order = np.lexsort((both, leaves))
    point, leaves = both[order], leaves[order]
    of_point = np.full(len(points.edge), -1, dtype=np.int32)
    of_point[point] = np.arange(len(point))
    areas = int(area.max(initial=-1)) + 1
    return AreaNodes(
        area,
        np.searchsorted(leaves, np.arange(areas + 1)).astype(np.int64),
        point.astype(np.int32),
        of_point[opposite[order]],
        leaves.astype(np.int32),
        other[points.edge[point]].astype(np.int32),
        points.point[point],
        of_point,
        is_border.astype(np.uint8),
    )
