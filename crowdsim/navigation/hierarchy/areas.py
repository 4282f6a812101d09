"""Areas: the polygons in one square of the plan, on one floor, that one gets to from each other without
leaving it.

Where the mesh has tiles of that size, its polygons end at the sides of the squares, and areas are what
[Mononen 2010] calls contiguous areas of a tile. In other meshes a polygon belongs to the square of its
middle.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.navigation.mesh.mesh import NavMesh

NONE = -1  # No area yet.


def find_areas(mesh: NavMesh, size: float) -> NDArray[np.int32]:
    """Return the area of each polygon, (np,); areas are numbered by their lowest polygon.

    Parameters
    ----------
    mesh : NavMesh
    size : float, m
        Side of a square.
    """
    square = np.floor(_middles(mesh) / size).astype(np.int64)
    area = np.full(mesh.polygon_count, NONE, dtype=np.int32)
    _label(mesh, square, area, np.empty(mesh.polygon_count, dtype=np.int32))
    return area


def _middles(mesh: NavMesh) -> NDArray[np.float64]:
    """Return the means of the corners of polygons, (np, 2) m."""
    corners = np.diff(mesh.polygon_start)
    return np.column_stack([
        np.add.reduceat(mesh.vertex[mesh.edge_vertex, axis], mesh.polygon_start[:-1]) / corners
        for axis in (0, 1)
    ])  # fmt: skip


def find_centres(mesh: NavMesh, area: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the centres of areas: of the middles of its polygons that which is nearest to their mean.

    Parameters
    ----------
    mesh : NavMesh
    area : (np,) int32
        Of each polygon.

    Returns
    -------
    point : (areas, 2) float64, m
    polygon : (areas,) int64
    """
    middle = _middles(mesh)
    count = np.bincount(area)
    mean = np.column_stack([np.bincount(area, middle[:, axis]) / count for axis in (0, 1)])
    away = hypots(*(middle - mean[area]).T)
    order = np.lexsort((np.arange(len(area)), away, area))
    polygon = order[np.searchsorted(area[order], np.arange(len(count)))]
    return middle[polygon], polygon.astype(np.int64)


@lean_kernel
def _label(mesh, square, area, queue):
    """Flood from polygon to polygon of one square and floor.

    Parameters
    ----------
    mesh : NavMesh
    square : (np, 2) int64
    area : (np,) int32
        Receives them; all NONE before.
    queue : (np,) int32
        Scratch.
    """
    count = 0
    for first in range(mesh.polygon_start.size - 1):
        if area[first] != NONE:
            continue
        area[first] = count
        queue[0], done, reached = first, 0, 1
        while done < reached:
            polygon = queue[done]
            done += 1
            for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
                twin = mesh.edge_twin[edge]
                if twin < 0:
                    continue
                beyond = mesh.edge_polygon[twin]
                if (
                    area[beyond] == NONE
                    and square[beyond, 0] == square[first, 0]
                    and square[beyond, 1] == square[first, 1]
                    and mesh.polygon_layer[beyond] == mesh.polygon_layer[first]
                ):
                    area[beyond] = count
                    queue[reached] = beyond
                    reached += 1
        count += 1
