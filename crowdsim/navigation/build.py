"""From walkable ground to a navigation mesh: triangulate, merge to convex polygons, measure widths, collect walls."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.plane import segments_apart
from crowdsim.geometry.triangulation import is_open, triangulate
from crowdsim.geometry.walls import Walls
from crowdsim.kernels import kernel
from crowdsim.navigation.mesh import NavMesh
from crowdsim.tunable import param

FLAT_SINE = 1e-9  # Sine of the turn up to which a polygon's corner counts as flat rather than as a dent: wall feet are rounded to some 1e-10 m.


@dataclass(frozen=True)
class MeshParameters:
    """How the mesh is made."""

    cells: str = param(
        "polygons", "", choices=("polygons", "triangles"), source="S3 section 4",
        why="convex polygons merged from the triangles are about half as many, so searches are shorter; triangles are the plain form",
    )
    most_sides: int = param(
        6, "", low=3, high=12, source="S3 section 4",
        why="S3 reports 3 to 6 sides in practice; more sides cost memory (a width for each pair of edges) and time to cross a polygon",
    )
    widest_body: float = param(
        2.0, "m", above=0.0, high=20.0,
        why="largest body radius that the mesh can answer for; larger adds vertices on walls of wide rooms; raised to the largest radius in the scenario",
    )


@dataclass(frozen=True)
class MeshBuild:
    """A mesh with the walls that belong to it."""

    mesh: NavMesh
    walls: Walls
    parameters: MeshParameters
    openings: Any


def build_mesh(ground: Any, *, openings: Any = None, parameters: MeshParameters | None = None, wall_reach: float = 5.0) -> MeshBuild:
    """Build the navigation mesh of walkable ground (SYSTEMS M1).

    Parameters
    ----------
    ground : shapely Polygon or MultiPolygon
        Valid; m.
    openings : shapely geometry, optional
        Boundary inside it is an exit, not a wall.
    parameters : MeshParameters, optional
    wall_reach : float, m
        How far the wall lists of the polygons reach.

    Raises
    ------
    NavigationError
        If no mesh can be made.
    """
    parameters = parameters or MeshParameters()
    if openings is not None and not openings.is_empty:
        ground = _cut_at_openings(ground, openings)
    triangulation = triangulate(ground, openings=openings, widest_gap=2.0 * parameters.widest_body)
    sides = 3 if parameters.cells == "triangles" else parameters.most_sides
    polygons = merge_to_convex(triangulation.vertices, triangulation.triangles, triangulation.neighbours, sides)
    mesh, walls = mesh_from_polygons(triangulation.vertices, polygons, openings=openings, wall_reach=wall_reach)
    return MeshBuild(mesh, walls, parameters, openings)


def _cut_at_openings(ground: Any, openings: Any) -> Any:
    """Return the ground with vertices where the outlines of openings cross its boundary."""
    outline = openings.boundary
    shapely.prepare(outline)
    parts = []
    for part in shapely.get_parts(ground):
        rings = [_with_crossings(np.asarray(ring.coords), outline) for ring in (part.exterior, *part.interiors)]
        parts.append(shapely.Polygon(rings[0], rings[1:]))
    return parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts)


def _with_crossings(ring: NDArray[np.float64], outline: Any) -> NDArray[np.float64]:
    points = []
    for a, b in zip(ring[:-1], ring[1:], strict=True):
        points.append(a)
        segment = shapely.LineString([a, b])
        if not shapely.intersects(outline, segment):
            continue
        crossing = shapely.get_coordinates(shapely.intersection(outline, segment))
        d = b - a
        length2 = float(d @ d)
        along = np.unique(((crossing - a) @ d) / length2)
        spacing = 1e-6 / np.sqrt(length2)
        last = 0.0
        for t in along:
            if t - last > spacing and 1.0 - t > spacing:
                points.append(a + t * d)
                last = t
    points.append(ring[-1])
    return np.array(points)


def merge_to_convex(
    vertices: NDArray[np.float64], triangles: NDArray[np.int32], neighbours: NDArray[np.int32], most_sides: int
) -> list[list[int]]:
    """Merge triangles over shared edges, longest first, as long as the result is convex and has at most `most_sides` sides.

    Parameters
    ----------
    vertices : (nv, 2) float64, m
    triangles, neighbours : (nt, 3) int32
    most_sides : int

    Returns
    -------
    list of lists of int
        Vertices of each polygon, counter-clockwise from its lowest vertex, sorted. Every edge is shared whole.
    """
    polygon: dict[int, list[int]] = {i: list(corners) for i, corners in enumerate(triangles.tolist())}
    owner = {}
    queue = []
    point = vertices.tolist()
    for i, corners in polygon.items():
        for k in range(3):
            a, b = corners[k], corners[(k + 1) % 3]
            owner[a, b] = i
            if neighbours[i, k] > i:
                queue.append((-((point[a][0] - point[b][0]) ** 2 + (point[a][1] - point[b][1]) ** 2), min(a, b), max(a, b)))
    if most_sides > 3:
        heapq.heapify(queue)
        while queue:
            _, a, b = heapq.heappop(queue)
            left, right = owner.get((a, b)), owner.get((b, a))
            if left is None or right is None or left == right:
                continue
            merged = _joined(polygon[left], polygon[right], a, b)
            if len(merged) > most_sides or not _is_convex_at(point, merged, a) or not _is_convex_at(point, merged, b) or len(set(merged)) < len(merged):
                continue
            for k, start in enumerate(polygon[right]):
                owner[start, polygon[right][(k + 1) % len(polygon[right])]] = left
            del owner[a, b], owner[b, a], polygon[right]
            polygon[left] = merged
    rotated = [corners[(k := corners.index(min(corners))) :] + corners[:k] for corners in polygon.values()]
    return sorted(rotated)


def _joined(left: list[int], right: list[int], a: int, b: int) -> list[int]:
    """Return the outline of two polygons without their shared edge a -> b (in the left one)."""
    i, j = left.index(b), right.index(a)
    return left[i:] + left[:i] + (right[j:] + right[:j])[1:-1]


def _is_convex_at(point: list[list[float]], polygon: list[int], vertex: int) -> bool:
    i = polygon.index(vertex)
    (ax, ay), (bx, by), (cx, cy) = point[polygon[i - 1]], point[vertex], point[polygon[(i + 1) % len(polygon)]]
    ux, uy, vx, vy = bx - ax, by - ay, cx - bx, cy - by
    return ux * vy - uy * vx >= -FLAT_SINE * ((ux * ux + uy * uy) * (vx * vx + vy * vy)) ** 0.5


def mesh_from_polygons(
    vertices: NDArray[np.float64],
    polygons: list[list[int]],
    *,
    layers: NDArray[np.int32] | None = None,
    openings: Any = None,
    wall_reach: float = 5.0,
) -> tuple[NavMesh, Walls]:
    """Return a mesh of given convex polygons and its walls.

    Parameters
    ----------
    vertices : (nv, 2) or (nv, 3) float64, m
    polygons : list of lists of int
        Counter-clockwise, convex, sharing whole edges.
    layers : (np,) int32, optional
        Floor of each polygon; all 0 by default.
    openings, wall_reach
        See `build_mesh`.

    Raises
    ------
    NavigationError
        If two polygons have the same side of an edge.

    Notes
    -----
    Widths are exact for every radius if all gaps are among the edges and diagonals of the polygons (`triangulate` sees to that); for polygons made
    otherwise they are upper bounds, and exact for points.
    """
    points = np.zeros((len(vertices), 3))
    points[:, : vertices.shape[1]] = vertices
    sizes = np.array([len(corners) for corners in polygons], dtype=np.int64)
    polygon_start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    edge_vertex = np.array([v for corners in polygons for v in corners], dtype=np.int32)
    edge_end = np.array([v for corners in polygons for v in corners[1:] + corners[:1]], dtype=np.int32)
    edge_polygon = np.repeat(np.arange(len(polygons), dtype=np.int32), sizes)
    edge_twin = _twins(edge_vertex, edge_end, len(points))
    boundary = np.flatnonzero(edge_twin < 0)
    open_edge = is_open(points[edge_vertex[boundary], :2], points[edge_end[boundary], :2], openings)
    wall_edges = boundary[~open_edge]
    is_wall_vertex = np.zeros(len(points), dtype=np.uint8)
    is_wall_vertex[edge_vertex[wall_edges]] = 1
    is_wall_vertex[edge_end[wall_edges]] = 1
    span = points[edge_end, :2] - points[edge_vertex, :2]
    both_walls = (is_wall_vertex[edge_vertex] & is_wall_vertex[edge_end]).astype(bool)
    edge_width = np.where(edge_twin < 0, 0.0, np.where(both_walls, np.hypot(span[:, 0], span[:, 1]), np.inf))
    pair_start = np.concatenate([[0], np.cumsum(sizes * sizes)]).astype(np.int64)
    pair_width = np.empty(int(pair_start[-1]))
    measure_pairs(points, is_wall_vertex, polygon_start, edge_vertex, pair_start, pair_width)
    origin, size, shape, bin_start, bin_polygon = _bins(points, polygon_start, edge_vertex)
    layer = np.zeros(len(polygons), dtype=np.int32) if layers is None else layers.astype(np.int32)
    edge_wall, walls = _walls(points, polygon_start, edge_vertex, edge_end, edge_polygon, edge_twin, wall_edges, layer)
    mesh = NavMesh(
        points, is_wall_vertex, polygon_start, layer, edge_vertex, edge_end, edge_polygon, edge_twin, edge_wall, edge_width,
        pair_start, pair_width, 0.5 * (points[edge_vertex, :2] + points[edge_end, :2]), origin, size, shape, bin_start, bin_polygon,
    )
    zone_start, zone_wall = _wall_lists(mesh, walls, wall_reach)
    return mesh, walls._replace(zone_start=zone_start, zone_wall=zone_wall, reach=float(wall_reach))


def _twins(edge_vertex: NDArray[np.int32], edge_end: NDArray[np.int32], vertex_count: int) -> NDArray[np.int32]:
    forward = edge_vertex.astype(np.int64) * vertex_count + edge_end
    backward = edge_end.astype(np.int64) * vertex_count + edge_vertex
    order = np.argsort(forward, kind="stable")
    repeated = np.flatnonzero(np.diff(forward[order]) == 0)
    if len(repeated):
        a, b = order[repeated[0]], order[repeated[0] + 1]
        raise NavigationError(f"edges {a} and {b} of the mesh are the same side of one edge: two polygons overlap there")
    place = np.minimum(np.searchsorted(forward[order], backward), len(order) - 1)
    other = order[place]
    return np.where(forward[other] == backward, other, -1).astype(np.int32)


@kernel
def measure_pairs(vertex, is_wall_vertex, polygon_start, edge_vertex, pair_start, out):
    """Measure for each polygon the widest body that can go from one of its edges to another.

    Parameters
    ----------
    vertex : (nv, 3) float64, m
    is_wall_vertex : (nv,) uint8
    polygon_start : (np + 1,) int32
    edge_vertex : (ne,) int32
    pair_start : (np + 1,) int64
    out : (sum of k * k,) float64, m
        Least length of the diagonals between two wall vertices that part edge i from edge j; inf where there is none. The edges themselves are
        not counted. Twin: `tests/reference/mesh.py`.
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
                length = np.hypot(vertex[a, 0] - vertex[b, 0], vertex[a, 1] - vertex[b, 1])
                for inner in range(i, j):
                    for outer in range(count):
                        if outer < i or outer >= j:
                            out[base + inner * count + outer] = min(out[base + inner * count + outer], length)
                            out[base + outer * count + inner] = min(out[base + outer * count + inner], length)


def _bins(
    points: NDArray[np.float64], polygon_start: NDArray[np.int32], edge_vertex: NDArray[np.int32]
) -> tuple[NDArray[np.float64], float, NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Return a uniform grid of cells with the polygons whose bounding boxes meet them; some two cells a polygon, whatever the extent."""
    corner = points[edge_vertex, :2]
    low = np.minimum.reduceat(corner, polygon_start[:-1])
    high = np.maximum.reduceat(corner, polygon_start[:-1])
    origin, extent = low.min(axis=0), np.ptp(corner, axis=0)
    count = len(polygon_start) - 1
    size = float(max(np.sqrt(extent[0] * extent[1] / (2.0 * count)), extent.max() / 2000.0, 1e-3))
    shape = np.maximum(np.ceil(extent / size), 1.0).astype(np.int64)
    first = np.clip(((low - origin) / size).astype(np.int64), 0, shape - 1)
    last = np.clip(((high - origin) / size).astype(np.int64), 0, shape - 1)
    cells, members = [], []
    for polygon in range(count):
        columns = np.arange(first[polygon, 0], last[polygon, 0] + 1)
        rows = np.arange(first[polygon, 1], last[polygon, 1] + 1)
        cell = (rows[:, None] * shape[0] + columns[None, :]).ravel()
        cells.append(cell)
        members.append(np.full(len(cell), polygon, dtype=np.int32))
    cell, member = np.concatenate(cells), np.concatenate(members)
    order = np.argsort(cell, kind="stable")
    start = np.zeros(int(shape[0] * shape[1]) + 1, dtype=np.int64)
    np.cumsum(np.bincount(cell, minlength=len(start) - 1), out=start[1:])
    return origin.astype(np.float64), size, shape, start, member[order]


def _walls(
    points: NDArray[np.float64],
    polygon_start: NDArray[np.int32],
    edge_vertex: NDArray[np.int32],
    edge_end: NDArray[np.int32],
    edge_polygon: NDArray[np.int32],
    edge_twin: NDArray[np.int32],
    wall_edges: NDArray[np.int64],
    layer: NDArray[np.int32],
) -> tuple[NDArray[np.int32], Walls]:
    """Join boundary edges that run on straight into walls; return the wall of each half-edge, and the walls without lists."""
    following = np.where(np.arange(len(edge_vertex)) + 1 == polygon_start[edge_polygon + 1], polygon_start[edge_polygon], np.arange(len(edge_vertex)) + 1)
    is_wall = np.zeros(len(edge_vertex), dtype=bool)
    is_wall[wall_edges] = True
    after: dict[int, int] = {}
    before: dict[int, int] = {}
    for e in wall_edges.tolist():
        other = int(following[e])
        while edge_twin[other] >= 0:  # turn round the end vertex, through the polygons that meet there
            other = int(following[edge_twin[other]])
        if is_wall[other]:
            after[e], before[other] = other, e
    xy = points[:, :2]

    def goes_straight(e: int, other: int) -> bool:
        a, b, c = xy[edge_vertex[e]], xy[edge_end[e]], xy[edge_end[other]]
        d, u, v = c - a, b - a, c - b
        length = np.hypot(*d)
        return float(u @ v) > 0.0 and abs(float(d[0] * u[1] - d[1] * u[0])) <= 1e-7 * length

    edge_wall = np.full(len(edge_vertex), -1, dtype=np.int32)
    chains: list[list[int]] = []
    for e in wall_edges.tolist():
        if e in before and goes_straight(before[e], e):
            continue
        chain = [e]
        while chain[-1] in after and goes_straight(chain[-1], after[chain[-1]]) and after[chain[-1]] != e:
            chain.append(after[chain[-1]])
        edge_wall[chain] = len(chains)
        chains.append(chain)
    start = xy[[edge_vertex[chain[0]] for chain in chains]].reshape(-1, 2)
    end = xy[[edge_end[chain[-1]] for chain in chains]].reshape(-1, 2)
    following_wall = np.array([edge_wall[after[chain[-1]]] if chain[-1] in after else -1 for chain in chains], dtype=np.int32)
    previous_wall = np.array([edge_wall[before[chain[0]]] if chain[0] in before else -1 for chain in chains], dtype=np.int32)
    into = start - start[previous_wall] if len(chains) else start
    out = end - start
    corner = (previous_wall < 0) | (into[:, 0] * out[:, 1] - into[:, 1] * out[:, 0] <= 0.0)
    wall_layer = layer[[edge_polygon[chain[0]] for chain in chains]].astype(np.int32)
    none = np.zeros(0, dtype=np.int32)
    walls = Walls(
        np.ascontiguousarray(start), np.ascontiguousarray(end), previous_wall, following_wall, corner, wall_layer, np.zeros(1, dtype=np.int64), none, 0.0
    )
    return edge_wall, walls


def _wall_lists(mesh: NavMesh, walls: Walls, reach: float) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    count = mesh.polygon_count
    zone_start = np.zeros(count + 1, dtype=np.int64)
    buffer = np.empty(max(64, 8 * count), dtype=np.int32)
    while True:
        used = flood_wall_lists(mesh, len(walls.start), float(reach), zone_start, buffer)
        if used <= len(buffer):
            return zone_start, buffer[:used].copy()
        buffer = np.empty(used, dtype=np.int32)


@kernel
def _edge_to_polygon(mesh, edge, polygon):
    """Return the distance (m) between an edge and a polygon's outline."""
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    best = np.inf
    for other in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        c, d = mesh.edge_vertex[other], mesh.edge_end[other]
        if a == c or a == d or b == c or b == d:
            return 0.0
        best = min(
            best,
            segments_apart(
                mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1],
                mesh.vertex[c, 0], mesh.vertex[c, 1], mesh.vertex[d, 0], mesh.vertex[d, 1],
            ),
        )
    return best


@kernel
def flood_wall_lists(mesh, wall_count, reach, zone_start, out):
    """List for each polygon the walls within `reach` that can be got at without going through a wall.

    Parameters
    ----------
    mesh : NavMesh
    wall_count : int
    reach : float, m
    zone_start : (np + 1,) int64
        Receives where each polygon's list begins.
    out : (capacity,) int32
        Receives the lists, ascending; entries beyond the capacity are counted but not written.

    Returns
    -------
    int
        Entries that are needed in all.
    """
    count = mesh.polygon_start.size - 1
    seen = np.full(count, -1, dtype=np.int64)
    listed = np.full(wall_count, -1, dtype=np.int64)
    stack = np.empty(count, dtype=np.int64)
    found = np.empty(wall_count, dtype=np.int32)
    used = 0
    for zone in range(count):
        zone_start[zone] = used
        stack[0] = zone
        seen[zone] = zone
        done, visited, walls = 0, 1, 0
        while done < visited:
            current = stack[done]
            done += 1
            for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
                twin, wall = mesh.edge_twin[edge], mesh.edge_wall[edge]
                if twin < 0:
                    if wall >= 0 and listed[wall] != zone and (current == zone or _edge_to_polygon(mesh, edge, zone) <= reach):
                        listed[wall] = zone
                        found[walls] = wall
                        walls += 1
                    continue
                other = mesh.edge_polygon[twin]
                if seen[other] != zone and (current == zone or _edge_to_polygon(mesh, edge, zone) <= reach):
                    seen[other] = zone
                    stack[visited] = other
                    visited += 1
        ordered = np.sort(found[:walls])
        for k in range(walls):
            if used < out.size:
                out[used] = ordered[k]
            used += 1
    zone_start[count] = used
    return used
