"""Tiles joined into one mesh: the arrays that kernels see are a function of the tiles that are there,
and of nothing that was before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.walls import Walls
from crowdsim.navigation.mesh.build import mesh_of_arrays
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.mesh.point_location import Cells
from crowdsim.navigation.tiles.build import WALL, TileMesh

# How far beyond the ground the polygon lies that stands for no ground at all: no goal, agent or wall comes
# near it.
NOWHERE_M = 1e5


class Joined(NamedTuple):
    """Tiles as one mesh.

    Attributes
    ----------
    mesh : NavMesh
        The polygons of all tiles in ascending number of the tile; after them one that stands for no ground,
        far from everything.
    walls : Walls
        Without lists of those near each polygon.
    first_polygon, first_edge : (tiles + 1,) int64
        Where the polygons and half-edges of each tile begin.
    """

    mesh: NavMesh
    walls: Walls
    first_polygon: NDArray[np.int64]
    first_edge: NDArray[np.int64]


def join_tiles(
    tiles: Mapping[int, TileMesh],
    count: int,
    cells: Cells,
    closed: Mapping[int, NDArray[np.bool_]] | None = None,
) -> Joined:
    """Join tiles into one mesh.

    Parameters
    ----------
    tiles : mapping of int to TileMesh
        Those that are there.
    count : int
        Numbers of tiles are below it.
    cells : Cells
    closed : mapping of int to (np,) bool, optional
        Polygons of tiles that no agent may enter or leave.

    Returns
    -------
    Joined
        Borders to tiles that are not there are open: no agent gets across, but there is no wall that agents
        would keep away from.
    """
    present = sorted(tiles)
    polygons, edges = np.zeros(count + 1, dtype=np.int64), np.zeros(count + 1, dtype=np.int64)
    for number in present:
        polygons[number + 1], edges[number + 1] = tiles[number].polygon_count, len(tiles[number].edge_vertex)
    first_polygon, first_edge = np.cumsum(polygons), np.cumsum(edges)
    nowhere = cells.origin - NOWHERE_M + np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    vertices = [tiles[number].vertex for number in present]
    xy, index = _welded(np.concatenate([*vertices, np.zeros((0, 2))]))
    base = np.cumsum([0, *(len(each) for each in vertices)])
    edge_vertex = [index[base[place] + tiles[number].edge_vertex] for place, number in enumerate(present)]
    points = np.zeros((len(xy) + 3, 3))
    points[:-3, :2], points[-3:, :2] = xy, nowhere
    starts = [tiles[number].polygon_start[:-1] + first_edge[number] for number in present]
    last = int(first_edge[-1])
    polygon_start = np.concatenate([*starts, [last, last + 3]]).astype(np.int32)
    corner = np.concatenate([*edge_vertex, len(xy) + np.arange(3)]).astype(np.int32)
    is_wall = np.concatenate(
        [*(tiles[number].edge_kind == WALL for number in present), np.zeros(3, dtype=np.bool_)]
    )
    paces = np.concatenate([*(tiles[number].polygon_pace for number in present), [1.0]])
    mesh, walls = mesh_of_arrays(
        points,
        polygon_start,
        corner,
        np.zeros(len(polygon_start) - 1, dtype=np.int32),
        lambda start, end, edge: ~is_wall[edge],
        paces=np.repeat(paces[:, None], 2, axis=1),
        whole={},  # parts of edges have the width of the whole among those of gaps
        widest=_gap_widths(tiles, first_edge),
        parted=_round_closed(tiles, closed or {}, first_edge),
        cells=cells,
        apart=1,
    )
    return Joined(mesh, walls, first_polygon, first_edge)


def _welded(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the different points, sorted by x and then y, and for each point which of them it is."""
    order = np.lexsort((points[:, 1], points[:, 0]))
    ordered = points[order]
    is_new = np.ones(len(points), dtype=np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    index = np.empty(len(points), dtype=np.int64)
    index[order] = np.cumsum(is_new) - 1
    return ordered[is_new], index


def _gap_widths(tiles: Mapping[int, TileMesh], first_edge: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the width of the gap that an edge is a part of;
    inf where it is none, or a tile that the gap needs is not there.
    """
    width = np.full(int(first_edge[-1]) + 3, np.inf)
    there = np.zeros(len(first_edge) - 1, dtype=np.bool_)
    there[list(tiles)] = True
    for number, tile in tiles.items():
        if len(tile.gap_edge):
            is_whole = np.logical_and.reduceat(there[tile.gap_tile], tile.gap_start[:-1])
            width[first_edge[number] + tile.gap_edge[is_whole]] = tile.gap_width[is_whole]
    return width


def _round_closed(
    tiles: Mapping[int, TileMesh], closed: Mapping[int, NDArray[np.bool_]], first_edge: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which half-edges are those of closed polygons."""
    found = np.zeros(int(first_edge[-1]) + 3, dtype=np.bool_)
    for number, polygons in closed.items():
        found[first_edge[number] : first_edge[number + 1]] = np.repeat(
            polygons, np.diff(tiles[number].polygon_start)
        )
    return found
