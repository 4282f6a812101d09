"""How near walls come to the vertices in the middle of free ground, which are ends of no wall."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.navigation.mesh.mesh import MOST_ROOM_M, NavMesh, make_flood, wall_distance


def vertex_rooms(mesh: NavMesh) -> NDArray[np.float64]:
    """Return what `NavMesh.vertex_room` is."""
    if bool(np.all(mesh.is_wall_vertex[mesh.edge_vertex] == 1)):
        return np.zeros(0)
    vertex, edge = np.unique(mesh.edge_vertex, return_index=True)
    room = np.zeros(len(mesh.vertex))
    free = mesh.is_wall_vertex[vertex] != 1
    _measure_rooms(mesh, vertex[free], mesh.edge_polygon[edge[free]], room, make_flood(mesh.polygon_count))
    ends = (mesh.edge_twin < 0) & (mesh.edge_wall < 0)
    for end in (mesh.edge_vertex[ends], mesh.edge_end[ends]):
        room[end] = np.where(mesh.is_wall_vertex[end] == 1, 0.0, np.inf)
    return room


@lean_kernel
def _measure_rooms(mesh, vertex, polygon, room, flood):
    for i in range(vertex.size):
        room[vertex[i]] = wall_distance(mesh, np.int64(polygon[i]), mesh.vertex[vertex[i], 0], mesh.vertex[vertex[i], 1], MOST_ROOM_M, flood)
