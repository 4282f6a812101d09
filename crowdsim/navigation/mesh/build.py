"""From walkable ground to a navigation mesh:
triangulate, merge to convex polygons, measure widths, collect walls.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.floor_plans import CLEARANCE_M, Terrain
from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.lengths import dots, hypots
from crowdsim.geometry.steps import Steps, at_once
from crowdsim.geometry.triangulation import is_open, triangulation_steps
from crowdsim.geometry.walls import Walls
from crowdsim.kernels.decorator import kernel
from crowdsim.navigation.mesh.mesh import KERB, LOCATE_TOLERANCE_M, NavMesh
from crowdsim.navigation.mesh.point_location import Cells, cells_over, list_bins
from crowdsim.navigation.mesh.terrain import convex_pieces, speeds_on
from crowdsim.navigation.mesh.vertex_clearance import measure_vertex_clearance
from crowdsim.navigation.mesh.wall_lists import make_walls, with_lists
from crowdsim.tunable import param

# Of `part_steps`: how often it rests for each part, and for the mesh.
STEPS_OF_A_PART, STEPS_OF_A_MESH = 5, 1
# Ground is other ground from this share of the clearance on: below 1, so that what lies a clearance above is
# certainly other.
STEP_OF_CLEARANCE = 0.9


@dataclass(frozen=True)
class MeshParameters:
    """How the mesh is made."""

    faces: str = param(
        "polygons",
        "",
        choices=("polygons", "triangles"),
        source="[Cui 2012], section 4",
        why=(
            "convex polygons merged from the triangles are about half as many, so searches are shorter; "
            "triangles are the plain form"
        ),
    )
    most_sides: int = param(
        6,
        "",
        low=3,
        high=12,
        source="[Cui 2012], section 4",
        why=(
            "3 to 6 sides are usual in practice; more sides cost memory (a width for each pair of edges) "
            "and time to cross a polygon"
        ),
    )
    widest_body: float = param(
        2.0,
        "m",
        above=0.0,
        high=20.0,
        why=(
            "largest agent radius that the mesh can answer for; larger adds vertices on walls of wide "
            "rooms; raised to the largest radius in the scenario"
        ),
    )
    terrain_cell: float = param(
        1.0,
        "m",
        above=0.0,
        high=1000.0,
        why=(
            "size of polygons where terrain has speeds of its own; smaller finds better paths over it and "
            "makes searches longer; plain ground has none"
        ),
    )
    tile_size: float = param(
        0.0,
        "m",
        low=0.0,
        high=1e5,
        source="[Mononen 2010], Save Games and All That",
        why=(
            "side of the tiles that can be taken out and put back during a run; smaller makes more polygons "
            "and cheaper changes; 0: the ground is one piece"
        ),
    )

    @property
    def sides(self) -> int:
        """Most sides of a polygon."""
        return 3 if self.faces == "triangles" else self.most_sides


@dataclass(frozen=True)
class MeshBuild:
    """A mesh with the walls that belong to it; `key` is a hash of what it was made of, empty where it is not
    in the disk cache.
    """

    mesh: NavMesh
    walls: Walls
    parameters: MeshParameters
    openings: Any
    key: bytes = field(default=b"", kw_only=True)


def build_mesh(
    ground: Any,
    *,
    openings: Any = None,
    parameters: MeshParameters | None = None,
    wall_reach: float = 5.0,
    terrain: Sequence[Terrain] = (),
) -> MeshBuild:
    """Build the navigation mesh of walkable ground.

    Parameters
    ----------
    ground : shapely Polygon or MultiPolygon
        Valid; m.
    openings : shapely geometry, optional
        Boundary inside it is an exit, not a wall.
    parameters : MeshParameters, optional
    wall_reach : float, m
        How far the wall lists of the polygons reach.
    terrain : sequence of Terrain
        Areas that are walked at speeds of their own and do not overlap.

    Raises
    ------
    NavigationError
        If no mesh can be made.
    """
    parameters = parameters or MeshParameters()
    return build_parts(
        [MeshPart(ground, openings)], parameters=parameters, wall_reach=wall_reach, terrain=terrain
    )


@dataclass(frozen=True, eq=False)
class MeshPart:
    """Ground that no agent leaves for other parts, even where their outlines touch:
    there is a wall between them, with a face on either side.

    Attributes
    ----------
    ground : shapely Polygon or MultiPolygon, m
    openings : shapely geometry, or None
        Boundary inside it is an exit, not a wall.
    """

    ground: Any
    openings: Any = None


def build_parts(
    parts: Sequence[MeshPart],
    *,
    parameters: MeshParameters | None = None,
    wall_reach: float = 5.0,
    terrain: Sequence[Terrain] = (),
) -> MeshBuild:
    """Build one mesh of several parts; the polygons of each follow those of the one before.

    Parameters
    ----------
    parts : sequence of MeshPart
        Without common inside.
    parameters : MeshParameters, optional
    wall_reach : float, m
    terrain : sequence of Terrain
        See `build_mesh`.

    Raises
    ------
    NavigationError
        If no mesh can be made.
    """
    return at_once(part_steps(parts, parameters=parameters, wall_reach=wall_reach, terrain=terrain))


def part_steps(
    parts: Sequence[MeshPart],
    *,
    parameters: MeshParameters | None = None,
    wall_reach: float = 5.0,
    terrain: Sequence[Terrain] = (),
) -> Steps[MeshBuild]:
    """Build one mesh of several parts as `build_parts` does, resting between steps:
    STEPS_OF_A_PART of each part, and STEPS_OF_A_MESH.
    """
    parameters = parameters or MeshParameters()
    vertices: list[NDArray[np.float64]] = []
    polygons: list[list[int]] = []
    whole: dict[tuple[int, int], tuple[int, int]] = {}
    base = 0
    for part in parts:
        ground = cut_at_openings(part.ground, part.openings)
        triangulation = yield from triangulation_steps(
            ground, openings=part.openings, widest_gap=2.0 * parameters.widest_body
        )
        yield "triangulation"
        pieces = convex_pieces(
            triangulation,
            terrain,
            most_sides=parameters.sides,
            cell=parameters.terrain_cell,
            widest=2.0 * parameters.widest_body,
        )
        polygons += [[base + corner for corner in polygon] for polygon in pieces.polygons]
        whole |= {(base + a, base + b): (base + c, base + d) for (a, b), (c, d) in pieces.whole.items()}
        vertices.append(pieces.vertices)
        base += len(pieces.vertices)
        yield "polygons"
    corners = np.concatenate(vertices)
    paces = np.repeat(speeds_on(terrain, corners, polygons)[:, None], 2, axis=1)
    opened = [part.openings for part in parts if part.openings is not None]
    openings = opened[0] if len(opened) == 1 else shapely.union_all(opened) if opened else None
    mesh, walls = mesh_without_lists(corners, polygons, openings=openings, paces=paces, whole=whole)
    yield "mesh"
    return MeshBuild(mesh, with_lists(mesh, walls, float(wall_reach)), parameters, openings)


def cut_at_openings(ground: Any, openings: Any) -> Any:
    """Return the ground with vertices where the outlines of openings, if there are any,
    cross its boundary.
    """
    if openings is None or openings.is_empty:
        return ground
    outline = openings.boundary
    shapely.prepare(outline)
    return with_rings(ground, lambda ring: with_crossings(ring, outline))


def with_rings(ground: Any, change: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Any:
    """Return a ground with other rings: `change` has the points of each, the first of them again as the
    last, (k, 2) m, and returns those that it is to have.
    """
    parts = []
    for part in shapely.get_parts(ground):
        rings = [change(np.asarray(ring.coords)) for ring in (part.exterior, *part.interiors)]
        parts.append(shapely.Polygon(rings[0], rings[1:]))
    return parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts)


def with_crossings(ring: NDArray[np.float64], outline: Any) -> NDArray[np.float64]:
    """Return a line, (n, 2) m, with a vertex wherever it crosses an outline."""
    points = []
    for a, b in itertools.pairwise(ring):
        points.append(a)
        segment = shapely.LineString([a, b])
        if not shapely.intersects(outline, segment):
            continue
        crossing = shapely.get_coordinates(shapely.intersection(outline, segment))
        d = b - a
        length2 = float(dots(d, d))
        along = np.unique(dots(crossing - a, d) / length2)
        spacing = 1e-6 / np.sqrt(length2)
        last = 0.0
        for t in along:
            if t - last > spacing and 1.0 - t > spacing:
                points.append(a + t * d)
                last = t
    points.append(ring[-1])
    return np.array(points)


def mesh_from_polygons(
    vertices: NDArray[np.float64],
    polygons: list[list[int]],
    *,
    layers: NDArray[np.int32] | None = None,
    openings: Any = None,
    wall_reach: float = 5.0,
    paces: NDArray[np.float64] | None = None,
    joined: Iterable[tuple[int, int]] | None = None,
    clearance: float = CLEARANCE_M,
    slopes: NDArray[np.float64] | None = None,
    heights: NDArray[np.float64] | None = None,
    whole: Mapping[tuple[int, int], tuple[int, int]] | None = None,
) -> tuple[NavMesh, Walls]:
    """Return a mesh of given convex polygons and its walls, with the lists of those near each polygon.

    Parameters
    ----------
    vertices : (nv, 2) or (nv, 3) float64, m
    polygons : list of lists of int
        Counter-clockwise, convex, sharing whole edges.
    layers : (np,) int32, optional
        Floor of each polygon; all 0 by default.
    openings : shapely geometry, or mapping of int to shapely geometry, optional
        Of all floors, or for each floor that has some.
    wall_reach : float, m
        See `build_mesh`.
    paces : (np, 2) float64, optional
        Speed up and down on each polygon, as a share of that on level ground; 1 by default.
    joined : pairs of layers, optional
        Floors that are joined where their polygons share an edge; by default all are, whatever their layers.
    clearance : float, m
        Free height above all ground.
    slopes : (np, 2) float64, optional
        Gradients of the polygons' planes, where corners that were rounded would give worse ones.
    heights : (np,) float64, m, optional
        Heights of the polygons' planes at their first corners, where polygons meet over steps.
    whole : mapping of (int, int) to (int, int), optional
        For edges that are parts of others: the ends of the whole edge, whose length is their width.

    Raises
    ------
    NavigationError
        If two polygons have the same side of an edge.

    Notes
    -----
    Widths are exact for every radius if all gaps are among the edges and diagonals of the polygons
    (`triangulate` sees to that); for polygons made otherwise they are upper bounds, and exact for points.
    """
    mesh, walls = mesh_without_lists(
        vertices,
        polygons,
        layers=layers,
        openings=openings,
        paces=paces,
        joined=joined,
        clearance=clearance,
        slopes=slopes,
        heights=heights,
        whole=whole,
    )
    return mesh, with_lists(mesh, walls, float(wall_reach))


def mesh_without_lists(
    vertices: NDArray[np.float64],
    polygons: list[list[int]],
    *,
    layers: NDArray[np.int32] | None = None,
    openings: Any = None,
    **more: Any,
) -> tuple[NavMesh, Walls]:
    """Return a mesh of given convex polygons, and its walls without lists;
    for the arguments see `mesh_from_polygons` and `mesh_of_arrays`.
    """
    points = np.zeros((len(vertices), 3))
    points[:, : vertices.shape[1]] = vertices
    sizes = np.array([len(corners) for corners in polygons], dtype=np.int64)
    polygon_start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    edge_vertex = np.array([v for corners in polygons for v in corners], dtype=np.int32)
    layer = np.zeros(len(polygons), dtype=np.int32) if layers is None else layers.astype(np.int32)

    def is_exit(
        start: NDArray[np.int32], end: NDArray[np.int32], edge: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        return _open_edges(points, start, end, np.repeat(layer, sizes)[edge], openings)

    return mesh_of_arrays(points, polygon_start, edge_vertex, layer, is_exit, **more)


def mesh_of_arrays(
    points: NDArray[np.float64],
    polygon_start: NDArray[np.int32],
    edge_vertex: NDArray[np.int32],
    layer: NDArray[np.int32],
    is_exit: Callable[[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]], NDArray[np.bool_]],
    *,
    paces: NDArray[np.float64] | None = None,
    joined: Iterable[tuple[int, int]] | None = None,
    clearance: float = CLEARANCE_M,
    slopes: NDArray[np.float64] | None = None,
    heights: NDArray[np.float64] | None = None,
    widest: NDArray[np.float64] | None = None,
    parted: NDArray[np.bool_] | None = None,
    lone: NDArray[np.bool_] | None = None,
    cells: Cells | None = None,
    apart: int = 0,
    whole: Mapping[tuple[int, int], tuple[int, int]] | None = None,
) -> tuple[NavMesh, Walls]:
    """Return a mesh of polygons that are given as arrays, and its walls without lists of those near each
    polygon.

    Parameters
    ----------
    points : (nv, 3) float64, m
    polygon_start : (np + 1,) int32
    edge_vertex : (ne,) int32
        See `NavMesh`.
    layer : (np,) int32
    is_exit : callable
        Called with begins, ends and numbers of the edges that have no twin; returns which of them are no
        walls.
    paces, joined, clearance, slopes, heights, whole : optional
        See `mesh_from_polygons`.
    widest : (ne,) float64, m, optional
        Agents that are wider than this cannot cross an edge, whatever its ends say; inf where there is no
        such bound.
    parted : (ne,) bool, optional
        No agent crosses edges one side of which is parted and the other is not; they are no walls.
    lone : (ne,) bool, optional
        Edges without a twin, even where another polygon has the same one: walls of two floors.
    cells : Cells, optional
        To locate points with; by default some of about the size of a polygon.
    apart : int
        So many polygons, the last ones, are not located.

    Raises
    ------
    NavigationError
        If two polygons have the same side of an edge.
    """
    sizes = np.diff(polygon_start).astype(np.int64)
    edge_end = next_in_polygon(polygon_start, edge_vertex)
    edge_polygon = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    edge_twin = twins_of(edge_vertex, edge_end, len(points), lone)
    if joined is not None:
        _part_floors(edge_twin, layer[edge_polygon], joined)
    boundary = np.flatnonzero(edge_twin < 0)
    if parted is not None:
        edge_twin[(edge_twin >= 0) & (parted != parted[edge_twin])] = -1
    wall_edges = boundary[~is_exit(edge_vertex[boundary], edge_end[boundary], boundary)]
    is_wall_vertex = np.zeros(len(points), dtype=np.uint8)
    is_wall_vertex[edge_vertex[wall_edges]] = 1
    is_wall_vertex[edge_end[wall_edges]] = 1
    edge_width = _edge_widths(points, is_wall_vertex, edge_vertex, edge_end, edge_twin, whole or {})
    edge_width = edge_width if widest is None else np.minimum(edge_width, widest)
    pair_start = np.concatenate([[0], np.cumsum(sizes * sizes)]).astype(np.int64)
    pair_width = np.empty(int(pair_start[-1]))
    measure_pairs(points, is_wall_vertex, polygon_start, edge_vertex, pair_start, pair_width)
    if whole is not None and paces is not None:
        _mark_kerbs(is_wall_vertex, edge_vertex, edge_end, edge_polygon, edge_twin, layer, paces)
    if cells is None:
        cells = cells_over(points[edge_vertex, :2], len(sizes))
    bin_start, bin_polygon = list_bins(
        points, polygon_start[: len(sizes) - apart + 1], edge_vertex, edge_end, *cells, LOCATE_TOLERANCE_M
    )
    edge_wall, walls = make_walls(
        points, polygon_start, edge_vertex, edge_end, edge_polygon, edge_twin, wall_edges, layer
    )
    mesh = NavMesh(
        points,
        is_wall_vertex,
        polygon_start,
        layer,
        edge_vertex,
        edge_end,
        edge_polygon,
        edge_twin,
        edge_wall,
        edge_width,
        pair_start,
        pair_width,
        0.5 * (points[edge_vertex, :2] + points[edge_end, :2]),
        *cells,
        bin_start,
        bin_polygon,
        points[edge_vertex[polygon_start[:-1]], 2]
        if heights is None
        else np.array(heights, dtype=np.float64),
        _slopes(points, polygon_start, edge_vertex) if slopes is None else np.array(slopes, dtype=np.float64),
        np.ones((len(sizes), 2)) if paces is None else np.array(paces, dtype=np.float64),
        parts_of(edge_polygon, edge_twin, len(sizes)),
        STEP_OF_CLEARANCE * clearance,
        np.zeros(0),
    )
    return mesh._replace(vertex_clearance=measure_vertex_clearance(mesh)), walls


def next_in_polygon(polygon_start: NDArray[np.int32], values: NDArray[Any]) -> NDArray[Any]:
    """Return for each edge the value of the next one of its polygon."""
    following = np.append(values[1:], values[:1], axis=0)
    following[polygon_start[1:] - 1] = values[polygon_start[:-1]]
    return following


def _open_edges(
    points: NDArray[np.float64],
    start: NDArray[np.int32],
    end: NDArray[np.int32],
    layer: NDArray[np.int32],
    openings: Any,
) -> NDArray[np.bool_]:
    """Return which of some boundary edges lie in an opening of their floor."""
    if not isinstance(openings, Mapping):
        return is_open(points[start, :2], points[end, :2], openings)
    found = np.zeros(len(start), dtype=np.bool_)
    for number, opening in openings.items():
        rows = np.flatnonzero(layer == number)
        found[rows] = is_open(points[start[rows], :2], points[end[rows], :2], opening)
    return found


def _edge_widths(
    points: NDArray[np.float64],
    is_wall_vertex: NDArray[np.uint8],
    edge_vertex: NDArray[np.int32],
    edge_end: NDArray[np.int32],
    edge_twin: NDArray[np.int32],
    whole: Mapping[tuple[int, int], tuple[int, int]],
) -> NDArray[np.float64]:
    """Return how wide agents may be (m) that cross each edge:
    as it is long between walls, inf where an end is free, 0 without a twin.
    """
    begin, end = edge_vertex.copy(), edge_end.copy()
    for edge, ends in enumerate(zip(edge_vertex.tolist(), edge_end.tolist(), strict=True) if whole else ()):
        begin[edge], end[edge] = whole.get(ends, ends)
    span = points[end, :2] - points[begin, :2]
    both_walls = (is_wall_vertex[begin] & is_wall_vertex[end]).astype(bool)
    return np.where(edge_twin < 0, 0.0, np.where(both_walls, hypots(span[:, 0], span[:, 1]), np.inf))


def _mark_kerbs(
    is_wall_vertex: NDArray[np.uint8],
    edge_vertex: NDArray[np.int32],
    edge_end: NDArray[np.int32],
    edge_polygon: NDArray[np.int32],
    edge_twin: NDArray[np.int32],
    layer: NDArray[np.int32],
    paces: NDArray[np.float64],
) -> None:
    """Mark the vertices that are no walls on portals between polygons of one floor that are walked at
    different speeds.
    """
    portal = np.flatnonzero(edge_twin >= 0)
    here, there = edge_polygon[portal], edge_polygon[edge_twin[portal]]
    border = portal[(layer[here] == layer[there]) & np.any(paces[here] != paces[there], axis=1)]
    ends = np.concatenate([edge_vertex[border], edge_end[border]])
    is_wall_vertex[ends[is_wall_vertex[ends] == 0]] = KERB


def _part_floors(
    edge_twin: NDArray[np.int32], edge_layer: NDArray[np.int32], joined: Iterable[tuple[int, int]]
) -> None:
    """Take the twins from edges that polygons of different floors share by accident,
    as those of two ramps side by side.
    """
    known = {*joined, *((b, a) for a, b in joined)}
    portals = np.flatnonzero(edge_twin >= 0)
    for edge in portals[edge_layer[portals] != edge_layer[edge_twin[portals]]].tolist():
        if (int(edge_layer[edge]), int(edge_layer[edge_twin[edge]])) not in known:
            edge_twin[[edge, edge_twin[edge]]] = -1


def _slopes(
    points: NDArray[np.float64], polygon_start: NDArray[np.int32], edge_vertex: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the gradient of each polygon's plane, by Newell's normal;
    exactly 0 where all corners are at one height.
    """
    first = np.repeat(polygon_start[:-1], np.diff(polygon_start))
    corner = points[edge_vertex] - points[edge_vertex[first]]
    after = next_in_polygon(polygon_start, corner)
    normal = np.add.reduceat(np.cross(corner, after), polygon_start[:-1], axis=0)
    return np.ascontiguousarray(-normal[:, :2] / normal[:, 2:]) + 0.0


def parts_of(edge_polygon: NDArray[np.int32], edge_twin: NDArray[np.int32], count: int) -> NDArray[np.int32]:
    """Return for each polygon the lowest polygon that it is connected with."""
    edges = np.flatnonzero(edge_twin >= 0)
    here, there = edge_polygon[edges], edge_polygon[edge_twin[edges]]
    label = np.arange(count, dtype=np.int32)
    while True:
        lowest = label.copy()
        np.minimum.at(lowest, here, label[there])
        np.minimum.at(lowest, label[here], label[there])
        lowest = lowest[lowest]
        if np.array_equal(lowest, label):
            return label
        label = lowest


def twins_of(
    edge_vertex: NDArray[np.int32],
    edge_end: NDArray[np.int32],
    vertex_count: int,
    lone: NDArray[np.bool_] | None = None,
) -> NDArray[np.int32]:
    """Return for each edge the same one seen from the polygon on its other side, -1 where there is none,
    shape (ne,); `lone` edges have none.

    Raises
    ------
    NavigationError
        If two polygons have the same side of an edge.
    """
    forward = edge_vertex.astype(np.int64) * vertex_count + edge_end
    backward = edge_end.astype(np.int64) * vertex_count + edge_vertex
    if lone is not None:
        forward[lone] = backward[lone] = vertex_count * vertex_count + np.flatnonzero(lone)
        backward[lone] += len(forward)
    order = np.argsort(forward, kind="stable")
    repeated = np.flatnonzero(np.diff(forward[order]) == 0)
    if len(repeated):
        a, b = order[repeated[0]], order[repeated[0] + 1]
        raise NavigationError(
            f"edges {a} and {b} of the mesh are the same side of one edge: two polygons overlap there"
        )
    place = np.minimum(np.searchsorted(forward[order], backward), len(order) - 1)
    other = order[place]
    return np.where(forward[other] == backward, other, -1).astype(np.int32)


@kernel
def measure_pairs(vertex, is_wall_vertex, polygon_start, edge_vertex, pair_start, out):
    """Measure for each polygon the widest agent that can go from one of its edges to another.

    Parameters
    ----------
    vertex : (nv, 3) float64, m
    is_wall_vertex : (nv,) uint8
    polygon_start : (np + 1,) int32
    edge_vertex : (ne,) int32
    pair_start : (np + 1,) int64
    out : (sum of k * k,) float64, m
        Least length of the diagonals between two wall vertices that part edge i from edge j; inf where there
        is none. The edges themselves are not counted. Twin: `tests/reference/mesh.py`.
    """
    for polygon in range(polygon_start.size - 1):
        first = polygon_start[polygon]
        count = polygon_start[polygon + 1] - first
        base = pair_start[polygon]
        for slot in range(count * count):
            out[base + slot] = np.inf
        for i in range(count):
            a = edge_vertex[first + i]
            for j in range(i + 2, count):
                b = edge_vertex[first + j]
                if (i == 0 and j == count - 1) or is_wall_vertex[a] == 0 or is_wall_vertex[b] == 0:
                    continue
                length = hypot(vertex[a, 0] - vertex[b, 0], vertex[a, 1] - vertex[b, 1])
                for inner in range(i, j):
                    for outer in range(count):
                        if outer < i or outer >= j:
                            out[base + inner * count + outer] = min(out[base + inner * count + outer], length)
                            out[base + outer * count + inner] = min(out[base + outer * count + inner], length)
