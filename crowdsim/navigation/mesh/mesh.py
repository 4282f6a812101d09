"""The navigation mesh: convex polygons that share whole edges, as half-edges in flat arrays.

A half-edge is one side of an edge as its polygon sees it. Polygon p owns the half-edges
``polygon_start[p] .. polygon_start[p + 1] - 1``, counter- clockwise. A half-edge with a twin is a *portal*;
one without is a wall or, in an exit, open boundary.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import distance_to_segment, is_beyond, orientation
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel

# A point this far outside every polygon still counts as on the mesh: rounding of a position on a wall, well
# below a millimetre.
LOCATE_TOLERANCE_M = 1e-6
# Polygons that one straight line may cross; one of that many is a loop by rounding at a vertex, which then
# ends there.
MOST_CROSSINGS = 4096

KERB = 2  # Mark of a vertex where kinds of ground meet.
# How far walls are looked for round vertices in free ground: agents have at most this radius.
MOST_CLEARANCE_M = 20.0


class NavMesh(NamedTuple):
    """A mesh as kernels see it. Built by `crowdsim.navigation.mesh.build.build_mesh`.

    Attributes
    ----------
    vertex : (nv, 3) float64, m
        x, y and z (up).
    is_wall_vertex : (nv,) uint8
        1 where a wall ends: an agent's centre keeps its radius from such a vertex. KERB inside of the ground
        where kinds of ground meet: paths pass a little aside of such a vertex, since one that led along the
        border would be on the slow side half of the time.
    polygon_start : (np + 1,) int32
        First half-edge of each polygon.
    polygon_layer : (np,) int32
        Floor of each polygon.
    edge_vertex, edge_end : (ne,) int32
        Vertices of a half-edge, counter-clockwise round its polygon.
    edge_polygon : (ne,) int32
    edge_twin : (ne,) int32
        The same edge seen from the neighbour; -1 at the boundary.
    edge_wall : (ne,) int32
        Index of the wall in `Walls` that this boundary edge is part of; -1 for portals and open boundary.
    edge_width : (ne,) float64, m
        Widest agent (diameter) that can cross the edge; 0 at the boundary.
    pair_start : (np + 1,) int64
    pair_width : (sum of k * k,) float64, m
        Widest agent that can go through polygon p from its edge i to its edge j:
        ``pair_width[pair_start[p] + i * k + j]``, the two edges not counted.
    portal_point : (ne, 2) float64, m
        Point that stands for a portal in path costs; the same for a half-edge and its twin.
    bin_origin : (2,) float64, m
    bin_size : float, m
    bin_shape : (2,) int64
    bin_start : (nb + 1,) int64
    bin_polygon : (m,) int32
        Polygons whose bounding box meets a cell of a uniform grid, ascending in each cell.
    polygon_height : (np,) float64, m
        Height of the polygon's plane at its first vertex: that of the vertex, except where polygons meet over
        a step.
    polygon_slope : (np, 2) float64
        Gradient of the polygon's plane: metres up for each metre in x and in y.
    polygon_pace : (np, 2) float64
        Speed upwards and downwards as a share of that on level ground; level directions take the greater.
    polygon_part : (np,) int32
        Number of the connected part of the mesh that the polygon belongs to, by the lowest polygon.
    step : float, m
        Ground that is this much higher or lower is other ground (docs/guides/floors.md).
    vertex_clearance : (nv,) or (0,) float64, m
        Distance from each vertex to the nearest wall, at most `MOST_CLEARANCE_M`; inf where the ground ends
        without a wall. Empty where walls end at all vertices.
    """

    vertex: NDArray[np.float64]
    is_wall_vertex: NDArray[np.uint8]
    polygon_start: NDArray[np.int32]
    polygon_layer: NDArray[np.int32]
    edge_vertex: NDArray[np.int32]
    edge_end: NDArray[np.int32]
    edge_polygon: NDArray[np.int32]
    edge_twin: NDArray[np.int32]
    edge_wall: NDArray[np.int32]
    edge_width: NDArray[np.float64]
    pair_start: NDArray[np.int64]
    pair_width: NDArray[np.float64]
    portal_point: NDArray[np.float64]
    bin_origin: NDArray[np.float64]
    bin_size: float
    bin_shape: NDArray[np.int64]
    bin_start: NDArray[np.int64]
    bin_polygon: NDArray[np.int32]
    polygon_height: NDArray[np.float64]
    polygon_slope: NDArray[np.float64]
    polygon_pace: NDArray[np.float64]
    polygon_part: NDArray[np.int32]
    step: float
    vertex_clearance: NDArray[np.float64]

    @property
    def is_level(self) -> bool:
        """Whether all of it lies at one height."""
        return bool(
            np.all(self.vertex[:, 2] == self.vertex[0, 2])
            and np.all(self.polygon_height == self.vertex[0, 2])
        )

    @property
    def is_even(self) -> bool:
        """Whether all of it lies at one height, and is walked at the agents' own speed."""
        return self.is_level and bool(np.all(self.polygon_pace == 1.0))

    @property
    def polygon_count(self) -> int:
        """Number of polygons."""
        return len(self.polygon_start) - 1

    @property
    def edge_count(self) -> int:
        """Number of half-edges."""
        return len(self.edge_vertex)


@inlined_kernel
def depth_in_polygon(mesh, polygon, x, y):
    """Return how deep (m) a point lies in a polygon:
    least distance to the lines of its edges, negative outside.
    """
    depth = np.inf
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
        ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
        depth = min(depth, orientation(ax, ay, bx, by, x, y) / hypot(bx - ax, by - ay))
    return depth


@inlined_kernel
def _holds(mesh, polygon, x, y):
    """Return whether a point lies in a polygon or on its rim: its depth is not negative."""
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
        if (
            orientation(mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1], x, y)
            < 0.0
        ):
            return False
    return True


@inlined_kernel
def height_at(mesh, polygon, x, y):
    """Return the height (m) of the plane of a polygon over a point, which may lie beside the polygon."""
    first = mesh.edge_vertex[mesh.polygon_start[polygon]]
    return mesh.polygon_height[polygon] + (
        mesh.polygon_slope[polygon, 0] * (x - mesh.vertex[first, 0])
        + mesh.polygon_slope[polygon, 1] * (y - mesh.vertex[first, 1])
    )


@inlined_kernel
def _cell_at(mesh, x, y):
    """Return the cell in which the polygons under a point are listed; -1 if it is off the grid."""
    column = np.floor((x - mesh.bin_origin[0]) / mesh.bin_size)
    row = np.floor((y - mesh.bin_origin[1]) / mesh.bin_size)
    if not (-1.0 <= column <= mesh.bin_shape[0] and -1.0 <= row <= mesh.bin_shape[1]):
        return np.int64(-1)
    return np.int64(min(max(row, 0.0), mesh.bin_shape[1] - 1.0)) * mesh.bin_shape[0] + np.int64(
        min(max(column, 0.0), mesh.bin_shape[0] - 1.0)
    )


@inlined_kernel
def locate(mesh, x, y, layer):
    """Find the polygon under a point.

    Parameters
    ----------
    mesh : NavMesh
    x, y : float, m
    layer : int
        Floor to look on; -1 for any.

    Returns
    -------
    int
        The polygon that holds the point, on shared edges the lowest; else the one that it misses by at most a
        micrometre; else -1.
    """
    cell = _cell_at(mesh, x, y)
    if cell < 0:
        return -1
    first, last = mesh.bin_start[cell], mesh.bin_start[cell + 1]
    for slot in range(first, last):
        polygon = mesh.bin_polygon[slot]
        if (layer < 0 or mesh.polygon_layer[polygon] == layer) and _holds(mesh, polygon, x, y):
            return polygon
    best, best_depth = -1, -LOCATE_TOLERANCE_M  # seldom asked for, and dear
    for slot in range(first, last):
        polygon = mesh.bin_polygon[slot]
        if layer >= 0 and mesh.polygon_layer[polygon] != layer:
            continue
        depth = depth_in_polygon(mesh, polygon, x, y)
        if depth > best_depth:
            best, best_depth = polygon, depth
    return best


@lean_kernel
def locate_many(start, stop, mesh, position, layer, out):
    """Find the polygons under points of rows start..stop - 1; see `locate`.

    Parameters
    ----------
    start, stop : int
    mesh : NavMesh
    position : (n, 2) float64, m
    layer : (n,) int32
        -1 for any.
    out : (n,) int64
        Receives the polygons, -1 where there is none.
    """
    for row in range(start, stop):
        out[row] = locate(mesh, position[row, 0], position[row, 1], layer[row])


@lean_kernel
def locate_at_height(mesh, x, y, z):
    """Find the polygon under a point in space.

    Parameters
    ----------
    mesh : NavMesh
    x, y, z : float, m

    Returns
    -------
    int
        Of the polygons that `locate` could mean the one whose height there is nearest to z, of those equally
        near the lowest number; -1 where there is none. Twin: `tests/reference/heights.py`.
    """
    cell = _cell_at(mesh, x, y)
    if cell < 0:
        return -1
    best, best_miss = -1, np.inf
    for slot in range(mesh.bin_start[cell], mesh.bin_start[cell + 1]):
        polygon = mesh.bin_polygon[slot]
        depth = depth_in_polygon(mesh, polygon, x, y)
        if depth <= -LOCATE_TOLERANCE_M:
            continue
        miss = abs(height_at(mesh, polygon, x, y) - z)
        if miss < best_miss:
            best, best_miss = polygon, miss
    return best


@inlined_kernel
def find_exit(mesh, polygon, x, y, to_x, to_y):
    """Find where a straight line leaves a polygon.

    Parameters
    ----------
    mesh : NavMesh
    polygon : int
    x, y : float, m
        A point of the polygon.
    to_x, to_y : float, m

    Returns
    -------
    edge : int
        Half-edge over which it leaves; -1 if it ends inside.
    share : float, 0..1
        How much of the line is inside.
    """
    found, share, least_miss = -1, 0.0, np.inf
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
        ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
        beyond = orientation(ax, ay, bx, by, to_x, to_y)
        if beyond >= 0.0:
            continue
        # Of the edges whose lines lie between, the one that this meets within its ends: a wall and a portal
        # often lie on one line.
        before = max(0.0, orientation(ax, ay, bx, by, x, y))
        here = before / (before - beyond)
        wx, wy = bx - ax, by - ay
        along = ((x + here * (to_x - x) - ax) * wx + (y + here * (to_y - y) - ay) * wy) / (wx * wx + wy * wy)
        miss = max(0.0, max(-along, along - 1.0)) * (abs(wx) + abs(wy))
        if miss < least_miss or (miss == least_miss and here < share):
            found, share, least_miss = edge, here, miss
    return found, share


@lean_kernel
def is_in_sight(mesh, polygon, x, y, to_x, to_y, layer):
    """Return whether a straight line on the mesh leads from a point of a polygon to another point,
    and ends on that floor.
    """
    for _ in range(MOST_CROSSINGS):
        edge, _share = find_exit(mesh, polygon, x, y, to_x, to_y)
        if edge < 0:
            return mesh.polygon_layer[polygon] == layer
        if mesh.edge_twin[edge] < 0:
            return False
        polygon = mesh.edge_polygon[mesh.edge_twin[edge]]
    return False


@kernel
def see_many(rows, mesh, polygon, position, aim, layer, seen):
    """Note whether straight lines on the mesh lead to points; see `is_in_sight`.

    Parameters
    ----------
    rows : (k,) int64
        Of the points that are looked from.
    mesh : NavMesh
    polygon : (n,) int64
        Under those points.
    position : (n, 2) float64, m
    aim : (k, 2) float64, m
        What is looked at.
    layer : (k,) int32
        Its floors.
    seen : (k,) bool
        Receives the answers.
    """
    for i in range(len(rows)):
        row = rows[i]
        seen[i] = is_in_sight(
            mesh, polygon[row], position[row, 0], position[row, 1], aim[i, 0], aim[i, 1], layer[i]
        )


class Flood(NamedTuple):
    """Scratch of kernels that flood the mesh from polygon to polygon;
    made by `make_flood`, and never shared between threads.

    Attributes
    ----------
    queue : (np,) int32
        Polygons in the order in which they were reached.
    place : (np,) uint32
        Where in the queue a polygon is, if the flood has reached it: the queue says whether it has. So
        nothing has to be cleared, neither at the beginning nor between two floods ([Briggs 1993]).
    nearest : (1,) int64
        Boundary half-edge that `wall_distance` found; -1 if none.
    join : (np,) int32
        For floods along lines, the half-edge between two floors that each of the polygons was reached over
        last; -1 if none.
    """

    queue: NDArray[np.int32]
    place: NDArray[np.uint32]
    nearest: NDArray[np.int64]
    seam: NDArray[np.int32]


@kernel
def make_flood(polygons):
    """Return scratch for floods of a mesh with that many polygons."""
    return Flood(
        np.empty(polygons, dtype=np.int32),
        np.empty(polygons, dtype=np.uint32),
        np.full(1, -1, dtype=np.int64),
        np.empty(polygons, dtype=np.int32),
    )


@inlined_kernel
def was_reached(polygon, reached, flood):
    """Return whether a polygon is in a flood's queue, which has `reached`."""
    place = np.int64(flood.place[polygon])
    return place < reached and flood.queue[place] == polygon


@inlined_kernel
def flood_into(polygon, reached, flood):
    """Put a polygon at the end of a flood's queue, which has `reached`, unless it is there;
    return how many it has then.
    """
    if was_reached(polygon, reached, flood):
        return reached
    flood.queue[reached], flood.place[polygon] = polygon, reached
    return reached + 1


@lean_kernel
def wall_distance(mesh, polygon, x, y, limit, flood):
    """Find the nearest wall that a disc reaches from a point without crossing another.

    The mesh is flooded from the point's polygon over portals nearer than the nearest wall so far, so that
    walls behind others or of the next floor do not count.

    Parameters
    ----------
    mesh : NavMesh
    polygon : int
        Where the point is.
    x, y : float, m
    limit : float, m
        Walls farther than this are not looked for.
    flood : Flood
        ``flood.nearest[0]`` receives the boundary half-edge that is nearest, -1 if none is within `limit`.

    Returns
    -------
    float, m
        Distance to the nearest wall; `limit` if none is nearer.

    Notes
    -----
    Twin: `tests/reference/mesh.py`.
    """
    reached, done = flood_into(polygon, 0, flood), 0
    best = limit
    flood.nearest[0] = -1
    while done < reached:
        current = flood.queue[done]
        done += 1
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            twin = mesh.edge_twin[edge]
            if twin < 0:
                if mesh.edge_wall[edge] < 0:
                    continue
            elif was_reached(mesh.edge_polygon[twin], reached, flood):
                continue
            a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
            ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
            if is_beyond(x, y, ax, ay, bx, by, best):
                continue
            d = distance_to_segment(x, y, ax, ay, bx, by)
            if d >= best:
                continue
            if twin < 0:
                best = d
                flood.nearest[0] = edge
            else:
                reached = flood_into(mesh.edge_polygon[twin], reached, flood)
    return best


@lean_kernel
def is_near_rim(mesh, polygon, x, y, reach, flood):
    """Return whether ground ends without a wall, as at an exit or where paths are kept off what is beyond,
    nearer to a point than `reach` (m), not counting what lies behind walls; see `wall_distance`.
    """
    reached, done = flood_into(polygon, 0, flood), 0
    while done < reached:
        current = flood.queue[done]
        done += 1
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            twin = mesh.edge_twin[edge]
            if (twin < 0 and mesh.edge_wall[edge] >= 0) or (
                twin >= 0 and was_reached(mesh.edge_polygon[twin], reached, flood)
            ):
                continue
            a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
            ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
            if distance_to_segment(x, y, ax, ay, bx, by) >= reach:
                continue
            if twin < 0:
                return True
            reached = flood_into(mesh.edge_polygon[twin], reached, flood)
    return False


@inlined_kernel
def width_between(mesh, polygon, a, b):
    """Return the widest agent that can go from one edge of a polygon to another (m),
    the two edges not counted.
    """
    first = mesh.polygon_start[polygon]
    return mesh.pair_width[
        mesh.pair_start[polygon] + (a - first) * (mesh.polygon_start[polygon + 1] - first) + b - first
    ]


@inlined_kernel
def is_cut_off(mesh, polygon, edge, x, y, width):
    """Return whether a gap that is narrower than an agent lies between an edge of a polygon and a point
    inside it, the edge itself not counted.
    """
    return _is_gap_between(mesh, polygon, edge - mesh.polygon_start[polygon], 0.0, 0.0, x, y, width)


@inlined_kernel
def are_parted(mesh, polygon, ax, ay, bx, by, width):
    """Return whether a gap that is narrower than an agent lies between two points inside a polygon."""
    return _is_gap_between(mesh, polygon, -1, ax, ay, bx, by, width)


@lean_kernel
def _is_gap_between(mesh, polygon, side, ax, ay, bx, by, width):
    """Return whether a gap lies between a side of a polygon, or a if that is -1, and b.

    A gap is a diagonal between two wall vertices that has the one on its left and the other on its right; see
    `triangulation`.
    """
    first = mesh.polygon_start[polygon]
    count = mesh.polygon_start[polygon + 1] - first
    if count == 3 or width <= 0.0:
        return False
    for i in range(count - 2):
        u = mesh.edge_vertex[first + i]
        if mesh.is_wall_vertex[u] != 1:
            continue
        for j in range(i + 2, count if i > 0 else count - 1):
            v = mesh.edge_vertex[first + j]
            if mesh.is_wall_vertex[v] != 1 or not _is_narrower(mesh, u, v, width):
                continue
            # Sides i .. j - 1 lie on the right of the diagonal from vertex i to vertex j.
            is_on_right = i <= side < j if side >= 0 else _has_on_right(mesh, u, v, ax, ay)
            if is_on_right != _has_on_right(mesh, u, v, bx, by):
                return True
    return False


@inlined_kernel
def _is_narrower(mesh, a, b, width):
    """Return whether two vertices are less than a width apart; most are much farther, and need no root."""
    dx, dy = mesh.vertex[b, 0] - mesh.vertex[a, 0], mesh.vertex[b, 1] - mesh.vertex[a, 1]
    return abs(dx) < width and abs(dy) < width and hypot(dx, dy) < width


@inlined_kernel
def _has_on_right(mesh, a, b, x, y):
    """Return whether a point is on the right of the line from one vertex to another."""
    return orientation(mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1], x, y) < 0.0
