"""Tiles joined into one mesh: the arrays that kernels see are a function of the tiles that are there,
and of nothing that was before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.floor_plans import CLEARANCE_M
from crowdsim.geometry.walls import Walls
from crowdsim.navigation.mesh.build import mesh_of_arrays, next_in_polygon, parts_of, twins_of
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.mesh.point_location import Cells
from crowdsim.navigation.tiles.build import OPEN, WALL, TileMesh, can_be_crossed
from crowdsim.navigation.tiles.numbers import TileNumbers

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
    numbers: TileNumbers,
    cells: Cells,
    closed: Mapping[int, NDArray[np.bool_]] | None = None,
    clearance: float = CLEARANCE_M,
) -> Joined:
    """Join tiles into one mesh.

    Parameters
    ----------
    tiles : mapping of int to TileMesh
        Those that are there.
    numbers : TileNumbers
    cells : Cells
    closed : mapping of int to (np,) bool, optional
        Polygons of tiles that no agent may enter or leave.
    clearance : float, m
        Free height above all ground.

    Returns
    -------
    Joined
        Borders to tiles that are not there, and seams to them, are open: no agent gets across, but there is
        no wall that agents would keep away from.
    """
    present = sorted(tiles)
    polygons, edges = np.zeros(numbers.count + 1, dtype=np.int64), np.zeros(numbers.count + 1, dtype=np.int64)
    for number in present:
        polygons[number + 1], edges[number + 1] = tiles[number].polygon_count, len(tiles[number].edge_vertex)
    first_polygon, first_edge = np.cumsum(polygons), np.cumsum(edges)

    def all_of(field: str, *last: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([*(getattr(tiles[number], field) for number in present), *last])

    vertex, edge_vertex = _welded(tiles, present)
    count = len(vertex)
    height = float(vertex[0, 2]) if count else 0.0
    nowhere = np.zeros((3, 3))
    nowhere[:, :2] = cells.origin - NOWHERE_M + np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    nowhere[:, 2] = height
    starts = [tiles[number].polygon_start[:-1] + first_edge[number] for number in present]
    last = int(first_edge[-1])
    kind = all_of("edge_kind", np.full(3, OPEN, dtype=np.uint8))
    layer = np.append(np.repeat(numbers.layers(np.array(present, dtype=np.int64)), polygons[1:][present]), 0)
    mesh, walls = mesh_of_arrays(
        np.concatenate([vertex, nowhere]),
        np.concatenate([*starts, [last, last + 3]]).astype(np.int32),
        np.append(edge_vertex, count + np.arange(3, dtype=np.int32)).astype(np.int32),
        layer.astype(np.int32),
        lambda start, end, edge: kind[edge] != WALL,
        paces=all_of("polygon_pace", np.ones((1, 2))),
        clearance=clearance,
        slopes=all_of("polygon_slope", np.zeros((1, 2))),
        heights=all_of("polygon_height", np.array([height])),
        whole={},  # parts of edges have the width of the whole among those of gaps
        widest=_gap_widths(tiles, first_edge),
        parted=_round_closed(tiles, closed or {}, first_edge),
        lone=~can_be_crossed(kind),
        cells=cells,
        apart=1,
    )
    return Joined(mesh, walls, first_polygon, first_edge)


def connected_parts(tiles: Mapping[int, TileMesh], numbers: TileNumbers) -> dict[int, NDArray[np.int32]]:
    """Return for each tile in which connected part of all tiles together each of its polygons is; parts are
    told apart by numbers that mean nothing else.
    """
    present = sorted(tiles)
    vertex, edge_vertex = _welded(tiles, present)
    sizes = [tiles[number].polygon_count for number in present]
    first_edge = np.cumsum([0, *(len(tiles[number].edge_vertex) for number in present)])
    starts = [tiles[number].polygon_start[:-1] + first_edge[place] for place, number in enumerate(present)]
    polygon_start = np.concatenate([*starts, first_edge[-1:]])
    corner = edge_vertex.astype(np.int32)
    lone = ~can_be_crossed(np.concatenate([tiles[number].edge_kind for number in present]))
    twin = twins_of(corner, next_in_polygon(polygon_start, corner), len(vertex), lone)
    polygon = np.repeat(np.arange(sum(sizes), dtype=np.int32), np.diff(polygon_start))
    parts = np.split(parts_of(polygon, twin, sum(sizes)), np.cumsum(sizes)[:-1])
    return dict(zip(present, parts, strict=True))


def _welded(
    tiles: Mapping[int, TileMesh], present: list[int]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the different vertices of tiles, (nv, 3) m, sorted by x, then y, then sheet, and for each edge
    of the tiles which of them it begins at.
    """
    points = np.concatenate([np.zeros((0, 2)), *(tiles[number].vertex for number in present)])
    sheet = np.concatenate([np.zeros(0, dtype=np.int32), *(tiles[number].vertex_sheet for number in present)])
    height = np.concatenate([np.zeros(0), *(tiles[number].vertex_height for number in present)])
    order = np.lexsort((sheet, points[:, 1], points[:, 0]))
    ordered, sheets = points[order], sheet[order]
    is_new = np.ones(len(points), dtype=np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1) | (sheets[1:] != sheets[:-1])
    index = np.empty(len(points), dtype=np.int64)
    index[order] = np.cumsum(is_new) - 1
    base = np.cumsum([0, *(len(tiles[number].vertex) for number in present)])
    edge_vertex = [index[base[place] + tiles[number].edge_vertex] for place, number in enumerate(present)]
    return (
        np.column_stack([ordered, height[order]])[is_new],
        np.concatenate([np.zeros(0, dtype=np.int64), *edge_vertex]),
    )


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
