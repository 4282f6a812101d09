"""The points-of-visibility graph: tangents between concave corners,
each with the radii for which it can be used ([Norberg 2004], section 4).

A node of the graph is a corner with the side on which a path passes it, so that paths bend at it in one
direction only; edges are directed. The graph serves agents of every radius: each edge has three widths, found
when it is built, and what they leave open is tested while searching (`clear`).
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.navigation.mesh.mesh import NavMesh, make_flood
from crowdsim.navigation.visibility.corners import Corners, find_corners
from crowdsim.navigation.visibility.sight import NOWHERE, see_all, trace_sight
from crowdsim.navigation.visibility.tangents import bending_radii, measure_clearances, strip_radius

# Widths are found up to this radius; wider agents are tested while searching. Larger makes the build slower
# in wide halls.
MOST_RADIUS_M = 1.0
# 16 bytes each, 37 more in every search slot, 64 while building: up to 0.9 GB. Plans beyond are better
# searched on the mesh.
MOST_EDGES = 8_000_000
MOST_PORTALS = 4096  # Portals that a line of sight may cross; longer ones are not followed.


class VisibilityGraph(NamedTuple):
    """The graph as kernels see it. Node n is corner ``n // 2``, passed on the left of the path (n even) or on
    its right (n odd).

    Attributes
    ----------
    corners : Corners
    clearance : (nc,) float64, m
        Up to this radius nothing hinders an agent that bends round the corner.
    edge_start : (2 nc + 1,) int64
        Edges that leave a node, in ascending target.
    edge_target : (ne,) int32
        Node at the other end.
    edge_low, edge_high, edge_clear : (ne,) float32, m
        No path uses the edge below `low` (minimum width) or above `high` (maximum width); up to `clear` it is
        free for sure. Rounded outwards, `clear` inwards; between `clear` and `high` the exact test decides.
    pvs_start : (np + 1,) int64
    pvs : (k,) int32
        Corners that see some of a polygon.
    """

    corners: Corners
    clearance: NDArray[np.float64]
    edge_start: NDArray[np.int64]
    edge_target: NDArray[np.int32]
    edge_low: NDArray[np.float32]
    edge_high: NDArray[np.float32]
    edge_clear: NDArray[np.float32]
    pvs_start: NDArray[np.int64]
    pvs: NDArray[np.int32]

    @property
    def edge_count(self) -> int:
        """Number of directed edges."""
        return len(self.edge_target)


@dataclass(frozen=True)
class GraphSize:
    """What building took and gave.

    Attributes
    ----------
    corners : int
    pairs : int
        Pairs of corners that see each other.
    tangents : int
        Tangents of these pairs, four each: edges without pruning, in one direction.
    edges : int
        Tangents that are left, in one direction.
    visits : int
        Polygons looked into to find which corners see each other.
    bytes : int
        Memory of the graph.
    """

    corners: int
    pairs: int
    tangents: int
    edges: int
    visits: int
    bytes: int


def build_graph(mesh: NavMesh, *, most_edges: int = MOST_EDGES) -> tuple[VisibilityGraph, GraphSize]:
    """Build the points-of-visibility graph of a mesh.

    Parameters
    ----------
    mesh : NavMesh
    most_edges : int
        Directed edges that may be made, and the longest list of corners that see each other.

    Raises
    ------
    NavigationError
        If the ground has too many corners that see each other.
    """
    corners = find_corners(mesh)
    seen = see_all(mesh, corners, most_edges)
    if not seen.fits:
        raise NavigationError(
            f"the visibility graph of this ground has more than {most_edges:,} lines of sight between its "
            f"{len(corners.vertex):,} concave corners; "
            "use navigation: mesh, or simplify the outlines of obstacles"
        )
    clearance = measure_clearances(mesh, corners, MOST_RADIUS_M)
    ends, radii = find_tangents(
        mesh, corners, clearance, seen.pair_start, seen.pair, MOST_RADIUS_M, most_edges // 2
    )
    pairs = (len(seen.pair) + 1) // 2
    if 2 * len(ends) > most_edges:
        raise NavigationError(
            f"the visibility graph of this ground has more than {most_edges:,} edges between its "
            f"{len(corners.vertex):,} concave corners; "
            "use navigation: mesh, or simplify the outlines of obstacles"
        )
    source = np.concatenate([ends[:, 0], ends[:, 1] ^ 1])
    target = np.concatenate([ends[:, 1], ends[:, 0] ^ 1])
    order = np.lexsort((target, source))
    start = np.searchsorted(source[order], np.arange(2 * len(corners.vertex) + 1))
    low, high, clear = (np.concatenate([radii[:, k], radii[:, k]])[order] for k in range(3))
    graph = VisibilityGraph(
        corners,
        clearance,
        start.astype(np.int64),
        target[order],
        _outwards(low, -np.inf),
        _outwards(high, np.inf),
        _outwards(clear, -np.inf),
        seen.pvs_start,
        seen.pvs,
    )
    size = sum(array.nbytes for array in (*corners, *graph[1:]) if isinstance(array, np.ndarray))
    return graph, GraphSize(len(corners.vertex), pairs, 4 * pairs, len(ends), int(seen.visits), size)


def _outwards(values: NDArray[np.float64], towards: float) -> NDArray[np.float32]:
    """Return values in single precision, rounded towards an infinity; zero stays zero."""
    rounded = values.astype(np.float32)
    wrong = rounded > values if towards < 0.0 else rounded < values
    return np.where(wrong, np.nextafter(rounded, np.float32(towards)), rounded)


@inlined_kernel
def disc_of(graph, node, radius):
    """Return a node as the disc that an agent bends round, (x, y, side):
    the side is the radius, negative where the disc is on the right.
    """
    position = graph.corners.position
    return position[node // 2, 0], position[node // 2, 1], radius if node % 2 == 0 else -radius


@kernel
def find_tangents(mesh, corners, clearance, pair_start, pair, most, most_tangents):
    """Find the tangents of all pairs of corners that some path can bend along, with their widths.

    Parameters
    ----------
    mesh : NavMesh
    corners : Corners
    clearance : (nc,) float64, m
    pair_start : (nc + 1,) int64
    pair : (k,) int32
    most : float, m
        Widths are found up to this radius.
    most_tangents : int
        Once there are more, no further ones are looked for.

    Returns
    -------
    ends : (m, 2) int32
        Nodes at which a tangent begins and ends; the corner with the lower index first. In the other
        direction sides are exchanged.
    radii : (m, 3) float64, m
        Least radius, greatest radius, radius up to which it is free for sure.

    Notes
    -----
    Twin: `tests/reference/visibility.py`.
    """
    flood = make_flood(mesh.polygon_start.size - 1)
    crossed = np.empty(MOST_PORTALS + 1, dtype=np.int32)
    ends, radii, count = np.empty((256, 2), dtype=np.int32), np.empty((256, 3)), np.int64(0)
    for first in range(corners.vertex.size):
        for place in range(pair_start[first], pair_start[first + 1]):
            if pair[place] <= first or count > most_tangents:
                continue
            if count + 4 > ends.shape[0]:
                more_ends, more_radii = (
                    np.empty((2 * ends.shape[0], 2), dtype=np.int32),
                    np.empty((2 * ends.shape[0], 3)),
                )
                more_ends[:count], more_radii[:count] = ends[:count], radii[:count]
                ends, radii = more_ends, more_radii
            count = _tangents_of(
                mesh,
                corners,
                clearance,
                first,
                np.int64(pair[place]),
                most,
                crossed,
                flood,
                ends,
                radii,
                count,
            )
    return ends[:count].copy(), radii[:count].copy()


@lean_kernel
def _tangents_of(mesh, corners, clearance, first, second, most, crossed, flood, ends, radii, count):
    """Add the tangents of one pair; return how many there are then."""
    ux, uy = corners.position[first, 0], corners.position[first, 1]
    vx, vy = corners.position[second, 0], corners.position[second, 1]
    if ux == vx and uy == vy:
        return count
    portals = -2
    polygon = -1
    for kind in range(4):
        first_side, second_side = 1 - 2 * (kind // 2), 1 - 2 * (kind % 2)
        low, high = bending_radii(corners, first, second, first_side, second_side)
        if low > high:
            continue
        if portals == -2:
            portals, polygon, _ = trace_sight(
                mesh, corners, first, NOWHERE, ux, uy, second, NOWHERE, vx, vy, crossed
            )
        if portals < 0:
            return count
        strip = strip_radius(
            mesh, ux, uy, vx, vy, first_side, second_side, crossed, portals, polygon, most, flood
        )
        if first_side == second_side and strip < most:
            high = strip
        ends[count, 0], ends[count, 1] = 2 * first + kind // 2, 2 * second + kind % 2
        radii[count, 0], radii[count, 1], radii[count, 2] = (
            low,
            high,
            min(strip, high, clearance[first], clearance[second]),
        )
        count += 1
    return count
