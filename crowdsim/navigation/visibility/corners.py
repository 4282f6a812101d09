"""The concave corners of a mesh: the only places where a shortest path can bend ([Norberg 2004],
section 4.1).

A corner is where two boundary edges meet under more than 180 degrees of free ground. The polygons round it
are its *fan*: the half-edges that begin at the corner, clockwise from the wall that comes in to the wall that
goes out. A vertex at which obstacles touch has a corner on each side.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import orientation
from crowdsim.kernels.decorator import inlined_kernel, kernel


class Corners(NamedTuple):
    """The concave corners of a mesh.

    Attributes
    ----------
    vertex : (nc,) int32
        Vertex of the mesh.
    position : (nc, 2) float64, m
    wall : (nc, 4) float64
        Unit directions from the corner along its two walls: the one that comes in (x, y), the one that goes
        out (x, y).
    fan_start : (nc + 1,) int32
    fan_edge : (m,) int32
        Half-edges that begin at corner c: ``fan_edge[fan_start[c]:fan_start[c + 1]]``; the last is a boundary
        edge, the others are portals.
    at_edge : (ne,) int32
        Corner at which a half-edge begins, -1 if it begins elsewhere.
    """

    vertex: NDArray[np.int32]
    position: NDArray[np.float64]
    wall: NDArray[np.float64]
    fan_start: NDArray[np.int32]
    fan_edge: NDArray[np.int32]
    at_edge: NDArray[np.int32]


@inlined_kernel
def edge_after(mesh, edge):
    """Return the half-edge that follows in the same polygon."""
    polygon = mesh.edge_polygon[edge]
    return edge + 1 if edge + 1 < mesh.polygon_start[polygon + 1] else mesh.polygon_start[polygon]


@kernel
def find_corners(mesh):
    """Find the concave corners of a mesh.

    Parameters
    ----------
    mesh : NavMesh

    Returns
    -------
    Corners
        In the order of the half-edges of the walls that come in.

    Notes
    -----
    Open boundary counts like a wall here: where two open edges meet under more than 180 degrees, paths keep
    the radius away from the vertex. Twin: `tests/reference/visibility.py`.
    """
    edges = mesh.edge_vertex.size
    at_edge = np.full(edges, -1, dtype=np.int32)
    incoming = np.empty(edges, dtype=np.int32)
    fan_start = np.zeros(edges + 1, dtype=np.int32)
    fan_edge = np.empty(edges, dtype=np.int32)
    count, filled = 0, 0
    for edge in range(edges):
        if mesh.edge_twin[edge] >= 0:
            continue
        begin = filled
        side = edge_after(mesh, edge)
        while True:
            fan_edge[filled] = side
            filled += 1
            if mesh.edge_twin[side] < 0:
                break
            side = edge_after(mesh, mesh.edge_twin[side])
        a, b, c = mesh.edge_vertex[edge], mesh.edge_end[edge], mesh.edge_end[side]
        turn = orientation(
            mesh.vertex[a, 0],
            mesh.vertex[a, 1],
            mesh.vertex[b, 0],
            mesh.vertex[b, 1],
            mesh.vertex[c, 0],
            mesh.vertex[c, 1],
        )
        ahead = (mesh.vertex[b, 0] - mesh.vertex[a, 0]) * (mesh.vertex[c, 0] - mesh.vertex[b, 0])
        ahead += (mesh.vertex[b, 1] - mesh.vertex[a, 1]) * (mesh.vertex[c, 1] - mesh.vertex[b, 1])
        if turn > 0.0 or (turn == 0.0 and ahead > 0.0):
            filled = begin
            continue
        for place in range(begin, filled):
            at_edge[fan_edge[place]] = count
        incoming[count] = edge
        count += 1
        fan_start[count] = filled
    vertex = np.empty(count, dtype=np.int32)
    position, wall = np.empty((count, 2)), np.empty((count, 4))
    for corner in range(count):
        a, b = mesh.edge_vertex[incoming[corner]], mesh.edge_end[incoming[corner]]
        c = mesh.edge_end[fan_edge[fan_start[corner + 1] - 1]]
        vertex[corner] = b
        position[corner, 0], position[corner, 1] = mesh.vertex[b, 0], mesh.vertex[b, 1]
        for k, end in enumerate((a, c)):
            dx, dy = mesh.vertex[end, 0] - mesh.vertex[b, 0], mesh.vertex[end, 1] - mesh.vertex[b, 1]
            length = hypot(dx, dy)
            wall[corner, 2 * k], wall[corner, 2 * k + 1] = dx / length, dy / length
    return Corners(vertex, position, wall, fan_start[: count + 1].copy(), fan_edge[:filled].copy(), at_edge)
