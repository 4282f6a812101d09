"""How near walls come to the vertices in the middle of free ground, which are ends of no wall."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.navigation.mesh.mesh import MOST_CLEARANCE_M, NavMesh, make_flood, wall_distance


def measure_vertex_clearance(mesh: NavMesh) -> NDArray[np.float64]:
    """Return what `NavMesh.vertex_clearance` is."""
    if bool(np.all(mesh.is_wall_vertex[mesh.edge_vertex] == 1)):
        return np.zeros(0)
    vertex, edge = np.unique(mesh.edge_vertex, return_index=True)
    clearance = np.zeros(len(mesh.vertex))
    free = mesh.is_wall_vertex[vertex] != 1
    _measure_clearances(
        mesh, vertex[free], mesh.edge_polygon[edge[free]], clearance, make_flood(mesh.polygon_count)
    )
    ends = (mesh.edge_twin < 0) & (mesh.edge_wall < 0)
    for end in (mesh.edge_vertex[ends], mesh.edge_end[ends]):
        clearance[end] = np.where(mesh.is_wall_vertex[end] == 1, 0.0, np.inf)
    return clearance


@lean_kernel
def _measure_clearances(mesh, vertex, polygon, clearance, flood):
    for i in range(vertex.size):
        clearance[vertex[i]] = wall_distance(
            mesh,
            np.int64(polygon[i]),
            mesh.vertex[vertex[i], 0],
            mesh.vertex[vertex[i], 1],
            MOST_CLEARANCE_M,
            flood,
        )
