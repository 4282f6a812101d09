"""Random places for agents: apart from each other, clear of walls, inside their group's region,
and the same in whatever order groups are listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.setup import area_grid, packing
from crowdsim.setup.area_grid import Areas, NearWalls, Spots
from crowdsim.setup.packing import Discs, Waiting
from crowdsim.world.random import Stream

WALL_MARGIN_M = 0.01  # Beyond the radius: an agent that touches a wall exactly would start with a contact.
# Between agents that are placed one by one; larger makes crowds of 4 a square metre harder to place.
GAP_M = 0.01
PACKED_GAP_M = 0.002  # Aimed at when a dense crowd is pushed apart, so that rounding leaves no contact.
# Spots on free ground that an agent tries before it takes the best and waits to be pushed apart.
VALID_TRIES = 40
ALL_TRIES = 4_000  # Spots in all: a region of which a thousandth is wide enough for the agent is still found.
# Pushes in all. A plain room needs 2 an agent at 4 a square metre (radius 0.2 m), 10 at 5.
STEPS_PER_AGENT, LEAST_STEPS = 300, 300_000
_NOTHING = np.zeros(0, dtype=np.int32)
_MOST_CELLS = 4_000_000  # Cells of all grids of the areas together: some 20 MB.
_MOST_ENTRIES = 50_000_000  # Edges in all lists of one grid: 200 MB. Plans with more get larger cells.


@dataclass(frozen=True)
class Placed:
    """Where agents were placed.

    Attributes
    ----------
    position : (n, 2) float64, m
    status : (n,) uint8
        `packing.PLACED`, `CROWDED` (overlaps another) or `HOMELESS` (no spot in its region is wide enough;
        its position is nan).
    free_at_once : (n,) bool
        Found a free spot when its turn came, before any was pushed; tells how many fit where not all do.
    """

    position: NDArray[np.float64]
    status: NDArray[np.uint8]
    free_at_once: NDArray[np.bool_]


def place(
    ground: Any,
    regions: Sequence[Any],
    region: NDArray[np.int32],
    key: NDArray[np.uint64],
    radius: NDArray[np.float64],
    position: NDArray[np.float64],
    seed: int,
) -> Placed:
    """Place discs at random: one after the other, and where that does not succeed by pushing them apart.

    Parameters
    ----------
    ground : shapely Polygon or MultiPolygon, m
        Discs keep their radius and 1 cm from its boundary.
    regions : sequence of shapely Polygon or MultiPolygon
        Areas in which centres lie.
    region : (n,) int32
        Index of each disc's region.
    key : (n,) uint64
        Keys of the random numbers. Rows are in the order of identity; what is drawn depends on the key alone,
        which is placed first on the row.
    radius : (n,) float64, m, > 0
    position : (n, 2) float64, m
        Positions that stay as they are; nan where one is wanted.
    seed : int, >= 0

    Returns
    -------
    Placed

    Notes
    -----
    Some 2 us a disc at 1 a square metre (radius 0.2 m), 20 us at 4, 40 us at 5; in plain rooms up to 6
    succeed (discs cover 0.75 of the ground).
    """
    fixed = ~np.isnan(position[:, 0])
    if fixed.all():
        return Placed(position.copy(), np.zeros(len(position), np.uint8), fixed)
    widest = float(radius.max())
    areas = _grids([ground, *regions], widest + WALL_MARGIN_M)
    walls = _near_walls(areas, ring_edges(ground).shape[0], widest + WALL_MARGIN_M)
    spots = _spots(areas, walls, region, radius, fixed)
    discs = _discs(ground, region + 1, key, radius, position, fixed)
    stream, numbers = np.uint64(int(Stream.POSITION)), np.uint64(seed)
    left = packing.place_in_turn(
        areas, walls, spots, discs, numbers, stream, WALL_MARGIN_M, GAP_M, VALID_TRIES, ALL_TRIES
    )
    free_at_once = discs.status == packing.PLACED
    if left:
        count = len(key)
        waiting = Waiting(
            np.zeros(count, np.int64),
            np.zeros(2, np.int64),
            np.zeros(count, np.uint8),
            np.zeros(count, np.int64),
        )
        steps = STEPS_PER_AGENT * count + LEAST_STEPS
        packing.push_apart_in_area(
            areas, walls, spots, discs, numbers, stream, WALL_MARGIN_M, PACKED_GAP_M, steps, waiting
        )
    found = np.column_stack([discs.x, discs.y])
    found[discs.status == packing.HOMELESS] = np.nan
    return Placed(found, discs.status, free_at_once)


def ring_edges(area: Any) -> NDArray[np.float64]:
    """Return the edges of a polygon or multipolygon, (e, 4) float64 (x, y of start, x, y of end), m."""
    coordinates, ring = shapely.get_coordinates(shapely.get_rings(shapely.get_parts(area)), return_index=True)
    same = ring[1:] == ring[:-1]
    return np.ascontiguousarray(np.hstack([coordinates[:-1], coordinates[1:]])[same])


def _grids(shapes: Sequence[Any], reach: float) -> Areas:
    """Return all areas on grids; area 0 is the ground, whose cells serve the walls,
    the others are for drawing spots and therefore finer.
    """
    edges = [ring_edges(shape) for shape in shapes]
    most = max(64, min(250_000, _MOST_CELLS // (2 * max(1, len(shapes) - 1))))
    window = edges[0].reshape(-1, 2).min(axis=0), edges[0].reshape(-1, 2).max(axis=0)
    layouts = [
        _layout(edges[0], window, 2.0 * reach, _MOST_CELLS // 2, reach),
        *(_layout(own, window, 0.05, most, 0.0) for own in edges[1:]),
    ]
    x, y, cell = (np.array([layout[part] for layout in layouts], dtype=np.float64) for part in range(3))
    across, up = (np.array([layout[part] for layout in layouts], dtype=np.int64) for part in (3, 4))
    first = np.concatenate([[0], np.cumsum(across * up)[:-1]]).astype(np.int64)
    first_row = np.concatenate([[0], np.cumsum(up + 1)[:-1]]).astype(np.int64)
    kind = np.zeros(int((across * up).sum()), dtype=np.uint8)
    row_start, row_edge = [], []
    base_edge = base_entry = 0
    for index, own in enumerate(edges):
        touched = np.zeros(across[index] * up[index] + 1, dtype=np.int64)
        area_grid.list_near(
            own, 0.0, x[index], y[index], cell[index], across[index], up[index], touched, _NOTHING
        )
        kind[first[index] : first[index] + across[index] * up[index]][touched[1:] > 0] = area_grid.BOUNDARY
        starts, members = _edges_by_row(own, y[index], cell[index], int(up[index]))
        row_start.append(starts + base_entry)
        row_edge.append(members + base_edge)
        base_edge += len(own)
        base_entry += len(members)
    entries = np.concatenate(row_edge).astype(np.int32)
    areas = Areas(
        x,
        y,
        cell,
        across,
        up,
        first,
        kind,
        first_row,
        np.concatenate(row_start),
        entries,
        np.concatenate(edges),
    )
    for index in range(len(shapes)):
        area_grid.classify_cells(areas, index)
    return areas


def _layout(
    edges: NDArray[np.float64],
    window: tuple[NDArray[np.float64], NDArray[np.float64]],
    least_cell: float,
    most_cells: int,
    reach: float,
) -> tuple[float, float, float, int, int]:
    """Return corner, cell size and numbers of cells of a grid over the part of an area in a window,
    bounded in cells and in entries of its lists.
    """
    points = edges.reshape(-1, 2)
    low, high = np.maximum(points.min(axis=0), window[0]), np.minimum(points.max(axis=0), window[1])
    size = np.maximum(high - low, 0.0)
    cell = max(least_cell, float(np.sqrt(size[0] * size[1] / most_cells)), float(size.max()) / most_cells)
    spans = np.abs(edges[:, 2:] - edges[:, :2]).sum(axis=1)
    while (
        np.sum(spans / cell + 2.0) * (2.0 + 2.0 * np.ceil(reach / cell)) > _MOST_ENTRIES
        and cell < spans.max()
    ):
        cell *= 2.0
    across, up = (int(count) for count in np.floor(size / cell) + 3)
    return float(low[0]) - cell, float(low[1]) - cell, cell, across, up


def _edges_by_row(
    edges: NDArray[np.float64], y: float, cell: float, up: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return start and members of the lists of edges that reach into each row of cells;
    edges above and below the grid are in none.
    """
    low = np.clip(np.floor((np.minimum(edges[:, 1], edges[:, 3]) - y) / cell), 0, up).astype(np.int64)
    high = np.clip(np.floor((np.maximum(edges[:, 1], edges[:, 3]) - y) / cell), -1, up - 1).astype(np.int64)
    counts = np.maximum(high - low + 1, 0)
    edge = np.repeat(np.arange(len(edges)), counts)
    row = np.arange(len(edge)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(low, counts)
    order = np.argsort(row, kind="stable")
    return np.searchsorted(row[order], np.arange(up + 1)), edge[order]


def _near_walls(areas: Areas, count: int, reach: float) -> NearWalls:
    grid = (areas.x[0], areas.y[0], areas.cell[0], areas.across[0], areas.up[0])
    start = np.zeros(areas.across[0] * areas.up[0] + 1, dtype=np.int64)
    area_grid.list_near(areas.edge[:count], reach, *grid, start, _NOTHING)
    start = np.cumsum(start)
    wall = np.zeros(int(start[-1]), dtype=np.int32)
    if wall.size:
        area_grid.list_near(areas.edge[:count], reach, *grid, start.copy(), wall)
    return NearWalls(start, wall)


def _spots(
    areas: Areas,
    walls: NearWalls,
    region: NDArray[np.int32],
    radius: NDArray[np.float64],
    fixed: NDArray[np.bool_],
) -> Spots:
    start, cells = [0, 0], []
    for index in range(1, len(areas.x)):
        wanted = (region == index - 1) & ~fixed
        own = np.empty(areas.across[index] * areas.up[index] if wanted.any() else 0, dtype=np.int64)
        found = (
            area_grid.find_spots(areas, walls, index, float(radius[wanted].min()) + WALL_MARGIN_M, own)
            if wanted.any()
            else 0
        )
        cells.append(own[:found].copy())
        start.append(start[-1] + found)
    return Spots(
        np.array(start, dtype=np.int64), np.concatenate(cells) if cells else np.zeros(0, dtype=np.int64)
    )


def _discs(
    ground: Any,
    area: NDArray[np.int32],
    key: NDArray[np.uint64],
    radius: NDArray[np.float64],
    position: NDArray[np.float64],
    fixed: NDArray[np.bool_],
) -> Discs:
    left, bottom, right, top = ground.bounds
    cell = max(
        2.0 * float(radius.max()) + GAP_M,
        float(np.sqrt((right - left) * (top - bottom) / _MOST_CELLS)),
        max(right - left, top - bottom) / _MOST_CELLS,
    )
    cell *= 1.0 + 1e-6  # no rounding may put two discs that touch two cells apart
    across, up = (int(extent / cell) + 6 for extent in (right - left, top - bottom))
    return Discs(
        x=np.ascontiguousarray(position[:, 0]),
        y=np.ascontiguousarray(position[:, 1]),
        radius=np.ascontiguousarray(radius),
        area=area.astype(np.int32),
        fixed=fixed,
        key=key,
        drawn=np.zeros(len(key), dtype=np.int64),
        status=np.zeros(len(key), dtype=np.uint8),
        head=np.full(across * up, -1, dtype=np.int32),
        following=np.full(len(key), -1, dtype=np.int32),
        grid=np.array([left - 2.0 * cell, bottom - 2.0 * cell, cell, across]),
    )
