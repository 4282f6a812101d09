"""A grid over several floors, or over slopes: cells are laid over each floor of a mesh, with columns and rows
that line up over floors, and joined over the seams where floors meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.floor_plans import MEETS_M
from crowdsim.navigation.grid.cells import stamp_distances
from crowdsim.navigation.grid.drawn import Zone
from crowdsim.navigation.grid.grid import MOST_CELLS, Grid, UnderCells, refuse_numbers
from crowdsim.navigation.grid.ground import (
    HOME,
    LEVEL_CLIMB,
    LINKED,
    NEAR_BARS,
    NOWHERE,
    TOUCH_M,
    UNEVEN,
    Floors,
)
from crowdsim.navigation.grid.moves import STEP_X, STEP_Y
from crowdsim.navigation.grid.parameters import GridParameters
from crowdsim.navigation.grid.seams import (
    find_wrong_links,
    find_zones,
    link_cells,
    locate_cells,
    measure_walls,
    share_out_seams,
)
from crowdsim.navigation.grid.search import MOST_APART
from crowdsim.navigation.grid.sheet import Sheet
from crowdsim.navigation.mesh.mesh import NavMesh

# Cells this near to a seam have their neighbours in a table: steps over it, and the corners beside them, lie
# within two.
LINKED_CELLS = 3.0
STRAIGHT_M = 1e-7  # How far the corners of a seam lie off it that are none.
CUT_CELLS = 0.75  # Half the diagonal of a cell, and some: a seam farther from the centre does not cut it.


class _Lay(NamedTuple):
    """How floors are laid on the sheet: where the grid begins in plan, its width and the side of its cells,
    and the first row of each floor, how many it has, and by how many it was moved up.
    """

    x: float
    y: float
    cell: float
    width: int
    first: NDArray[np.int64]
    rows: NDArray[np.int64]
    lift: NDArray[np.int64]

    @property
    def depth(self) -> int:
        """Rows of the sheet."""
        return int(self.rows.sum())

    @property
    def rise(self) -> NDArray[np.float64]:
        """By how much each floor was moved up (m)."""
        return self.lift.astype(np.float64) * self.cell

    @property
    def of_row(self) -> NDArray[np.int32]:
        """Floor of each row."""
        return np.repeat(np.arange(len(self.rows), dtype=np.int32), self.rows)


def build_floor_grid(
    mesh: NavMesh,
    grounds: Sequence[Any],
    obstacles: Sequence[tuple[int, Any]] = (),
    parameters: GridParameters | None = None,
    *,
    keeps_off: bool = True,
) -> Grid:
    """Build the grid of several floors, or of one with slopes.

    Parameters
    ----------
    mesh : NavMesh
        With everything open that can be opened.
    grounds : sequence of shapely Polygon or MultiPolygon, m
        Floor by floor, in plan, as the mesh numbers them.
    obstacles : sequence of (int, shapely Polygon or MultiPolygon), m
        Floors and what stands on them for good.
    parameters : GridParameters, optional
        `boundary_padding` is kept from the edges of a floor, and not from the seams where it meets another.
    keeps_off : bool
        Whether agents keep their radius from walls.

    Raises
    ------
    NavigationError
        If there is no ground, or the grid would be too large.
    """
    parameters = parameters or GridParameters()
    refuse_numbers(parameters, GridParameters)
    lay = _laid_out(grounds, parameters)
    grid = Grid(parameters, lay.x, lay.y, lay.width, lay.depth)
    seam, seam_floors = _seams_of(mesh)
    polygon = np.empty((lay.depth, lay.width), dtype=np.int32)
    locate_cells(mesh, lay.x, lay.y, lay.cell, lay.first, lay.lift, polygon)
    share_out_seams(seam, seam_floors, lay.x, lay.y, lay.cell, lay.lift, polygon)
    has_ground = polygon >= 0
    wall, floor_of_wall = _edges_of(mesh, mesh.edge_wall >= 0)
    to_seam = _near_lines(lay, np.concatenate([seam, seam]), seam_floors.T.reshape(-1), grid.reach)
    held = has_ground
    if parameters.boundary_padding > 0.0:
        rim, floor_of_rim = _edges_of(mesh, mesh.edge_twin < 0)
        away = _near_lines(lay, rim, floor_of_rim, parameters.boundary_padding)
        held = has_ground & (away >= parameters.boundary_padding - TOUCH_M)
    is_obstacle = _of_obstacles(mesh, obstacles)
    asks = (_near_lines(lay, wall, floor_of_wall, grid.reach) < np.inf) | (to_seam <= grid.reach)
    to_obstacle, to_wall = (np.full(polygon.shape, np.inf) for _ in range(2))
    place = lay.x, lay.y, lay.cell, lay.first, lay.lift
    measure_walls(mesh, *place, polygon, grid.reach, is_obstacle, asks, to_obstacle, to_wall)
    if keeps_off:
        np.minimum(to_obstacle, to_wall + parameters.object_padding, out=to_obstacle)
    grid.lay_floors(
        _sheet_of(lay), grounds, held, to_obstacle, _on_sheet(lay, wall, floor_of_wall), keeps_off=keeps_off
    )
    node, beside = _links(mesh, lay, polygon, to_seam, grid.bars)
    kind, plane, metre = _kinds(mesh, polygon, lay.of_row)
    apart = _apart(len(grounds), seam_floors)
    floors = Floors(
        lay.of_row,
        lay.first,
        lay.first + lay.rows - 1,
        lay.lift,
        lay.rise,
        apart,
        node,
        beside,
        seam,
        seam_floors,
        kind.reshape(-1),
        plane,
        metre,
    )
    fastest, zones = float(mesh.polygon_pace.max()), _zones(mesh, lay, polygon, to_seam, grid.reach)
    grid.join_floors(floors, _marks(floors, kind), fastest, zones)
    grid.under = UnderCells(mesh, polygon)
    return grid


def weigh_floors(grid: Grid, mesh: NavMesh) -> None:
    """Let metres cost what they do on a mesh of the same polygons as that which the grid was made from."""
    assert grid.under is not None
    floors = grid.ground.floors
    kind, plane, metre = _kinds(mesh, grid.under.polygon, floors.of_row)
    floors = floors._replace(kind=kind.reshape(-1), plane=plane, metre=metre)
    grid.join_floors(floors, _marks(floors, kind), float(mesh.polygon_pace.max()))
    grid.version += 1


def _laid_out(grounds: Sequence[Any], parameters: GridParameters) -> _Lay:
    """Return how floors are laid on the sheet, each as high as its bounds and a margin."""
    boxes = np.array([each.bounds for each in grounds if not each.is_empty])
    if not len(boxes):
        raise NavigationError("A grid needs ground that can be walked on, and there is none.")
    cell = parameters.cell_size
    margin = 2.0 * cell + parameters.agent_radius + parameters.object_padding
    x, y = (float(low) - margin for low in boxes[:, :2].min(axis=0))
    low = np.array([y if each.is_empty else each.bounds[1] for each in grounds]) - margin
    high = np.array([y if each.is_empty else each.bounds[3] for each in grounds]) + margin
    width, begin, end = (
        np.ceil((boxes[:, 2].max() + margin - x) / cell),
        np.floor((low - y) / cell),
        np.ceil((high - y) / cell),
    )
    count = width * float(np.maximum(end - begin, 1.0).sum())
    if not count <= MOST_CELLS:
        raise NavigationError(
            f"The grid of {len(grounds)} floors would have {count:,.0f} cells of {cell:g} m in all; at most "
            f"{MOST_CELLS:,} are made. Make cell_size larger."
        )
    rows, begin = np.maximum(end - begin, 1.0).astype(np.int64), np.maximum(begin, 0.0).astype(np.int64)
    first = np.cumsum(rows) - rows
    return _Lay(x, y, cell, int(width), first, rows, first - begin)


def _sheet_of(lay: _Lay) -> Sheet:
    return Sheet(lay.y + lay.first.astype(np.float64) * lay.cell, lay.rise)


def _seams_of(mesh: NavMesh) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the lines along which two floors meet, (e, 4) m, and their floors, (e, 2), the lower number
    first; edges of the mesh in one line are one.
    """
    twin = np.maximum(mesh.edge_twin, 0)
    floor, other = mesh.polygon_layer[mesh.edge_polygon], mesh.polygon_layer[mesh.edge_polygon[twin]]
    edges = np.flatnonzero((mesh.edge_twin >= 0) & (floor < other))
    line = np.stack([mesh.vertex[mesh.edge_vertex[edges], :2], mesh.vertex[mesh.edge_end[edges], :2]], axis=1)
    pairs, of_edge = np.unique(np.column_stack([floor[edges], other[edges]]), axis=0, return_inverse=True)
    found, number = [np.zeros((0, 4))], list[int]()
    for pair in range(len(pairs)):
        merged = shapely.line_merge(shapely.multilinestrings(line[of_edge.reshape(-1) == pair]))
        for each in shapely.get_parts(shapely.simplify(merged, STRAIGHT_M)):
            points = shapely.get_coordinates(each)
            found.append(np.hstack([points[:-1], points[1:]]))
            number += [pair] * (len(points) - 1)
    return np.concatenate(found), pairs.reshape(-1, 2)[number].astype(np.int64)


def _edges_of(mesh: NavMesh, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return some edges of the mesh, (e, 4) m, and their floors, (e,)."""
    edges = np.flatnonzero(chosen)
    line = np.hstack([mesh.vertex[mesh.edge_vertex[edges], :2], mesh.vertex[mesh.edge_end[edges], :2]])
    return line, mesh.polygon_layer[mesh.edge_polygon[edges]].astype(np.int64)


def _of_obstacles(mesh: NavMesh, obstacles: Sequence[tuple[int, Any]]) -> NDArray[np.bool_]:
    """Return which edges of the mesh are walls that lie on the outlines of obstacles of their floors."""
    found, edges = np.zeros(mesh.edge_count, dtype=np.bool_), np.flatnonzero(mesh.edge_wall >= 0)
    layer = mesh.polygon_layer[mesh.edge_polygon[edges]]
    middle = 0.5 * (mesh.vertex[mesh.edge_vertex[edges], :2] + mesh.vertex[mesh.edge_end[edges], :2])
    for floor in dict.fromkeys(floor for floor, _ in obstacles):
        outline = shapely.union_all([each.boundary for number, each in obstacles if number == floor])
        own = edges[layer == floor]
        found[own] = shapely.dwithin(outline, shapely.points(middle[layer == floor]), MEETS_M)
    return found


def _on_sheet(lay: _Lay, line: NDArray[np.float64], floor: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return lines of floors in plan, (e, 4) m, where they are on the sheet."""
    moved = line.copy()
    moved[:, 1::2] += lay.rise[floor][:, None]
    return moved


def _near_lines(
    lay: _Lay, line: NDArray[np.float64], floor: NDArray[np.int64], reach: float
) -> NDArray[np.float64]:
    """Return how far centres are from lines of their own floors, (depth, width) m: infinity beyond `reach`,
    and beyond what is linked.
    """
    away = np.full((lay.depth, lay.width), np.inf)
    reach = max(reach, LINKED_CELLS * lay.cell)
    stamp_distances(_on_sheet(lay, line, floor), lay.x, lay.y, lay.cell, 0, 0, reach, away)
    return away


def _links(
    mesh: NavMesh,
    lay: _Lay,
    polygon: NDArray[np.int32],
    to_seam: NDArray[np.float64],
    bars: NDArray[np.uint8],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return `node` and `beside` of `Floors`."""
    stride = lay.width + 2
    row, column = np.nonzero((to_seam <= LINKED_CELLS * lay.cell) & (polygon >= 0))
    node = (row + 1) * stride + column + 1
    beside = np.full((len(node), HOME + 1), NOWHERE, dtype=np.int64)
    link_cells(mesh, lay.x, lay.y, lay.cell, lay.first, lay.lift, polygon, node, beside)
    steps = np.array(STEP_Y) * stride + np.array(STEP_X)
    is_linked = beside[:, :HOME] != node[:, None] + steps
    # What a wall of one of the two floors bars is no step from the other either.
    barred = bars[row, column][:, None] >> np.arange(8) & 1 == 1
    beside[:, :HOME][is_linked & barred] = NOWHERE
    wrong = np.zeros((len(node), HOME), dtype=np.bool_)
    while find_wrong_links(node, beside, stride, wrong):
        beside[:, :HOME][wrong] = NOWHERE
    return _with_cut_cells(lay, polygon, to_seam, node, beside)


def _with_cut_cells(
    lay: _Lay,
    polygon: NDArray[np.int32],
    to_seam: NDArray[np.float64],
    node: NDArray[np.int64],
    beside: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the table with the cells that a seam cuts, and whose centres lie beyond it: they have no
    neighbours, and a home there.
    """
    stride = lay.width + 2
    is_cut = np.pad((polygon < 0) & (to_seam <= CUT_CELLS * lay.cell), 1).reshape(-1)
    home: dict[int, int] = {}
    for d in (0, 2, 4, 6, 1, 3, 5, 7):
        there = beside[:, d]
        own = node + STEP_Y[d] * stride + STEP_X[d]
        for cut, centre in zip(
            *(each[(there != NOWHERE) & is_cut[own]].tolist() for each in (own, there)), strict=True
        ):
            home.setdefault(cut, centre)
    cut = np.array(sorted(home), dtype=np.int64)
    more = np.full((len(cut), HOME + 1), NOWHERE, dtype=np.int64)
    more[:, HOME] = [home[each] for each in cut.tolist()]
    order = np.argsort(np.concatenate([node, cut]), kind="stable")
    return np.concatenate([node, cut])[order], np.ascontiguousarray(np.concatenate([beside, more])[order])


def _kinds(
    mesh: NavMesh, polygon: NDArray[np.int32], of_row: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """Return the kind of each node, (depth + 2, width + 2), and `plane` and `metre` of `Floors`; what has no
    ground is of the kind beside it, else of what its floor has most of.
    """
    slowness = float(mesh.polygon_pace.max()) / mesh.polygon_pace
    plane, of_polygon = np.unique(np.hstack([mesh.polygon_slope, slowness]), axis=0, return_inverse=True)
    of_polygon = of_polygon.reshape(-1).astype(np.int32)
    kind = np.where(polygon >= 0, of_polygon[polygon], np.int32(-1))
    padded = np.pad(kind, 1, constant_values=-1)
    for _ in range(2):
        known = padded.copy()
        for dx, dy in zip(STEP_X, STEP_Y, strict=True):
            beside = np.roll(known, (dy, dx), axis=(0, 1))
            padded = np.where((padded < 0) & (beside >= 0), beside, padded)
    inner = padded[1:-1, 1:-1]
    for floor in range(int(of_row[-1]) + 1):
        own = inner[of_row == floor]
        usual = np.bincount(own[own >= 0], minlength=1).argmax()
        inner[of_row == floor] = np.where(own >= 0, own, usual)
    padded = np.maximum(padded, 0)
    root = 1.0 / np.sqrt(2.0)
    metre = np.empty((len(plane), 8))
    for d in range(8):
        share = root if d % 2 else 1.0
        climb = plane[:, 0] * (STEP_X[d] * share) + plane[:, 1] * (STEP_Y[d] * share)
        slowness = np.where(climb > 0.0, plane[:, 2], plane[:, 3])
        slowness = np.where(np.abs(climb) <= LEVEL_CLIMB, np.minimum(plane[:, 2], plane[:, 3]), slowness)
        metre[:, d] = np.sqrt(1.0 + climb * climb) * slowness
    return padded.astype(np.int32), np.ascontiguousarray(plane), metre


def _marks(floors: Floors, kind: NDArray[np.int32]) -> NDArray[np.uint16]:
    """Return LINKED, UNEVEN and NEAR_BARS of each node, (depth + 2, width + 2)."""
    marks = np.zeros(kind.shape, dtype=np.uint16)
    slopes = np.any(floors.plane[:, :2] != 0.0, axis=1)[kind]
    around = [np.roll(kind, (dy, dx), axis=(0, 1)) for dx, dy in zip(STEP_X, STEP_Y, strict=True)]
    is_mixed = np.any([each != kind for each in around], axis=0)
    beside_slope = np.any(
        [np.roll(slopes, (dy, dx), axis=(0, 1)) for dx, dy in zip(STEP_X, STEP_Y, strict=True)], axis=0
    )
    marks[is_mixed] |= NEAR_BARS
    marks[slopes | beside_slope] |= UNEVEN | NEAR_BARS
    marks.reshape(-1)[floors.node] |= LINKED | UNEVEN | NEAR_BARS
    return marks


def _apart(count: int, seam_floors: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return over how many seams one comes from floor to floor at least, (count, count)."""
    meets = np.zeros((count, count), dtype=np.bool_)
    meets[seam_floors[:, 0], seam_floors[:, 1]] = meets[seam_floors[:, 1], seam_floors[:, 0]] = True
    apart = np.where(np.eye(count, dtype=np.bool_), 0, MOST_APART)
    reached = np.eye(count, dtype=np.bool_)
    for steps in range(1, min(count, MOST_APART)):
        more = (reached.astype(np.int64) @ meets.astype(np.int64) > 0) & (apart == MOST_APART)
        if not more.any():
            break
        apart[more] = steps
        reached = more
    return apart.astype(np.int64)


def _zones(
    mesh: NavMesh, lay: _Lay, polygon: NDArray[np.int32], to_seam: NDArray[np.float64], reach: float
) -> list[Zone]:
    """Return which cells heed what stands on other floors than their own."""
    row, column = np.nonzero((to_seam <= reach) & (polygon >= 0))
    node = (row + 1) * (lay.width + 2) + column + 1
    heeds = np.zeros((len(node), len(lay.rows)), dtype=np.bool_)
    find_zones(mesh, lay.x, lay.y, lay.cell, lay.lift, polygon, reach, node, heeds)
    own = lay.of_row[row]
    found = []
    for floor in range(len(lay.rows)):
        for other in np.unique(own[heeds[:, floor]]).tolist():
            mine = heeds[:, floor] & (own == other)
            low, left = int(row[mine].min()), int(column[mine].min())
            held = np.zeros(
                (int(row[mine].max()) - low + 1, int(column[mine].max()) - left + 1), dtype=np.bool_
            )
            held[row[mine] - low, column[mine] - left] = True
            found.append(Zone(floor, other, low, left, held))
    return found
