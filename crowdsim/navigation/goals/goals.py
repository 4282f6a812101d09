"""Goals as searches and followers see them: convex pieces of ground, each in one polygon of the mesh.

A point is a piece with one vertex. A region is cut along the polygons of the mesh. The nearest of several
goals is simply the union of their pieces.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import nearest_on_segment, orientation
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.navigation.goals.goal_entry import TOUCH_M, next_clear_stretch
from crowdsim.navigation.goals.pole_of_inaccessibility import find_pole
from crowdsim.navigation.mesh.mesh import NavMesh, are_parted, is_in_sight, locate, wall_distance

BESIDE_M = 1e-3  # How far round a goal agents are looked at closely: far more than rounding.
RIM_M = 1e-7  # How near a point is to a line to lie on it: rounding at map coordinates.

# Crumbs of a region along the edges of the mesh: on a hundredth of a millimetre squared no agent stands.
SMALLEST_PIECE_M2 = 1e-10


class GoalPieces(NamedTuple):
    """The pieces of all goals.

    Attributes
    ----------
    goal_start : (ng + 1,) int32
        First piece of each goal; the pieces of a goal are in ascending polygon.
    piece_polygon : (np,) int32
    piece_source : (np,) int32
        For a goal made of others (nearest of): the goal that the piece came from; else the goal itself.
    vertex_start : (np + 1,) int32
    vertex : (nv, 2) float64, m
        Corners of the pieces, counter-clockwise; one for a point.
    pole : (np, 2) float64, m
        Point of the piece that is about farthest from walls.
    clearance : (np,) float64, m
        Distance from the pole to the nearest wall: the largest radius that fits.
    reach : (ng,) float64, m
        Distance from the centre to the goal at which an agent has arrived; 0 means inside.
    """

    goal_start: NDArray[np.int32]
    piece_polygon: NDArray[np.int32]
    piece_source: NDArray[np.int32]
    vertex_start: NDArray[np.int32]
    vertex: NDArray[np.float64]
    pole: NDArray[np.float64]
    clearance: NDArray[np.float64]
    reach: NDArray[np.float64]


@dataclass(frozen=True)
class GoalShape:
    """One goal as a scenario describes it.

    Attributes
    ----------
    shape : shapely Point or Polygon, or None
    reach : float, m
        Arrival distance; 0 for regions.
    parts : tuple of int
        For the nearest of several goals: their indices; `shape` is then None.
    layer : int
        Floor; -1 for any.
    """

    shape: Any
    reach: float = 0.0
    parts: tuple[int, ...] = ()
    layer: int = -1


def cut_goals(mesh: NavMesh, shapes: Sequence[GoalShape]) -> GoalPieces:
    """Cut goals along the polygons of a mesh.

    Parameters
    ----------
    mesh : NavMesh
    shapes : sequence of GoalShape

    Returns
    -------
    GoalPieces
        A goal that nowhere meets the mesh has no pieces.
    """
    own: list[list[tuple[int, int, NDArray[np.float64]]]] = []
    for number, goal in enumerate(shapes):
        if goal.shape is None:
            own.append([])
        elif goal.shape.geom_type == "Point":
            polygon = locate(mesh, goal.shape.x, goal.shape.y, goal.layer)
            own.append(
                [(int(polygon), number, np.array([[goal.shape.x, goal.shape.y]]))] if polygon >= 0 else []
            )
        else:
            own.append(_cut_region(mesh, goal, number))
    for number, goal in enumerate(shapes):
        if goal.shape is None:
            own[number] = sorted(
                (piece for part in goal.parts for piece in own[part]), key=lambda piece: piece[0]
            )
    pieces = [piece for goal_pieces in own for piece in goal_pieces]
    vertices = [piece[2] for piece in pieces]
    pole = np.empty((len(pieces), 2))
    clearance = np.empty(len(pieces))
    for i, (polygon, _, corners) in enumerate(pieces):
        pole[i], clearance[i] = find_pole(mesh, polygon, corners)
    return GoalPieces(
        np.cumsum([0, *(len(goal_pieces) for goal_pieces in own)]).astype(np.int32),
        np.array([piece[0] for piece in pieces], dtype=np.int32),
        np.array([piece[1] for piece in pieces], dtype=np.int32),
        np.cumsum([0, *(len(corners) for corners in vertices)]).astype(np.int32),
        np.concatenate(vertices) if vertices else np.zeros((0, 2)),
        pole,
        clearance,
        np.array([goal.reach for goal in shapes], dtype=np.float64),
    )


def _near(mesh: NavMesh, shape: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the polygons of a mesh that meet a shape, ascending, and their outlines: only those in the cells
    under it are looked at.
    """
    if shape.is_empty:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=object)
    low_x, low_y, high_x, high_y = shapely.bounds(shape).tolist()
    columns, rows = mesh.bin_shape.tolist()
    cells = np.floor((np.array([[low_x, low_y], [high_x, high_y]]) - mesh.bin_origin) / mesh.bin_size)
    cells += np.array([[-1.0], [1.0]])  # one more to each side: cells of polygons are rounded, too
    (left, bottom), (right, top) = np.clip(cells, 0, [columns - 1, rows - 1]).astype(np.int64).tolist()
    parts = [
        mesh.bin_polygon[mesh.bin_start[row * columns + left] : mesh.bin_start[row * columns + right + 1]]
        for row in range(bottom, top + 1)
    ]
    polygon = np.unique(np.concatenate(parts)).astype(np.int64)
    sides = mesh.polygon_start[polygon + 1] - mesh.polygon_start[polygon]
    number = np.repeat(np.arange(len(polygon)), sides)
    place = np.arange(len(number)) - (np.cumsum(sides) - sides)[number]
    corner = mesh.edge_vertex[mesh.polygon_start[polygon][number] + place]
    outlines = shapely.polygons(shapely.linearrings(mesh.vertex[corner, :2], indices=number))
    meets = shapely.intersects(outlines, shape)
    return polygon[meets], outlines[meets]


def _cut_region(mesh: NavMesh, goal: GoalShape, number: int) -> list[tuple[int, int, NDArray[np.float64]]]:
    pieces = []
    for polygon, outline in zip(*_near(mesh, goal.shape), strict=True):
        if goal.layer >= 0 and mesh.polygon_layer[polygon] != goal.layer:
            continue
        common = shapely.intersection(outline, goal.shape)
        for part in shapely.get_parts(common):
            if part.geom_type != "Polygon" or part.area < SMALLEST_PIECE_M2:
                continue
            convex = [part]
            if part.interiors or part.area < part.convex_hull.area * (1.0 - 1e-9):
                convex = list(shapely.get_parts(shapely.constrained_delaunay_triangles(part)))
            corners = [
                np.asarray(shapely.orient_polygons(shape).exterior.coords)[:-1]
                for shape in convex
                if shape.area >= SMALLEST_PIECE_M2
            ]
            pieces += [(int(polygon), number, c) for c in sorted(corners, key=lambda c: c.tolist())]
    return pieces


@inlined_kernel
def nearest_in_piece(goals, piece, x, y):
    """Return the point of a piece that is nearest to (x, y), as (x, y); the point itself if it is inside."""
    first, last = goals.vertex_start[piece], goals.vertex_start[piece + 1]
    if last - first == 1:
        return goals.vertex[first, 0], goals.vertex[first, 1]
    inside = True
    best, bx, by = np.inf, x, y
    for i in range(first, last):
        j = i + 1 if i + 1 < last else first
        ax, ay, cx, cy = goals.vertex[i, 0], goals.vertex[i, 1], goals.vertex[j, 0], goals.vertex[j, 1]
        if orientation(ax, ay, cx, cy, x, y) < 0.0:
            inside = False
        px, py = nearest_on_segment(x, y, ax, ay, cx, cy)
        d = (px - x) * (px - x) + (py - y) * (py - y)
        if d < best:
            best, bx, by = d, px, py
    if inside:
        return x, y
    return bx, by


@lean_kernel
def _nearest_clear(mesh, goals, piece, x, y, radius, flood):
    """Return whether an agent from outside can have its centre on the rim of a piece,
    and the nearest such point, as (whether, x, y).
    """
    first, last = goals.vertex_start[piece], goals.vertex_start[piece + 1]
    polygon = np.int64(goals.piece_polygon[piece])
    px, py = goals.pole[piece, 0], goals.pole[piece, 1]
    least, bx, by = np.inf, x, y
    for i in range(first, last):
        j = i + 1 if i + 1 < last else first
        ax, ay, cx, cy = goals.vertex[i, 0], goals.vertex[i, 1], goals.vertex[j, 0], goals.vertex[j, 1]
        if orientation(ax, ay, cx, cy, x, y) >= 0.0:
            continue  # The path would come from inside.
        length = hypot(cx - ax, cy - ay)
        dx, dy = (cx - ax) / length, (cy - ay) / length
        foot, at = dx * (x - ax) + dy * (y - ay), 0.0
        while at < length:
            low, high = next_clear_stretch(mesh, polygon, ax, ay, cx, cy, at, radius + TOUCH_M, flood)
            if low > length:
                break
            to = min(high, max(low, foot))
            qx, qy = ax + to * dx, ay + to * dy
            apart = hypot(qx - x, qy - y)
            if apart < least and not are_parted(mesh, polygon, qx, qy, px, py, 2.0 * radius):
                least, bx, by = apart, qx, qy
            at = high
    return least < np.inf, bx, by


@inlined_kernel
def target_in_piece(mesh, goals, piece, x, y, radius, flood):
    """Return the point of a piece that an agent at (x, y) heads for, as (x, y).

    The nearest point of the piece where the agent's centre can be: the nearest at all, or else the nearest of
    its rim that walls are `radius` away from, on the side of the pole of each gap that is too narrow. Where
    there is none, or the agent is inside already: from the nearest point along the line to the pole until
    walls are `radius` away (found by halving; the pole itself if that is not enough).
    """
    tx, ty = nearest_in_piece(goals, piece, x, y)
    px, py = goals.pole[piece, 0], goals.pole[piece, 1]
    if goals.vertex_start[piece + 1] - goals.vertex_start[piece] == 1:
        return tx, ty
    polygon = goals.piece_polygon[piece]
    is_parted = are_parted(mesh, polygon, tx, ty, px, py, 2.0 * radius)
    if not is_parted and wall_distance(mesh, polygon, tx, ty, radius, flood) >= radius:
        return tx, ty
    if tx != x or ty != y:
        has_place, rx, ry = _nearest_clear(mesh, goals, piece, x, y, radius, flood)
        if has_place:
            return rx, ry
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = 0.5 * (low + high)
        if (
            wall_distance(mesh, polygon, tx + middle * (px - tx), ty + middle * (py - ty), radius, flood)
            >= radius
        ):
            high = middle
        else:
            low = middle
    return tx + high * (px - tx), ty + high * (py - ty)


@inlined_kernel
def arrived_piece(mesh, goals, goal, polygon, x, y):
    """Return the piece of a goal at which a centre in `polygon` at (x, y) has arrived, -1 if none.

    Regions count from inside and from their rim, points from the goal's reach if they are in sight: not
    through a wall, nor from the floor above.
    """
    reach = goals.reach[goal]
    beyond = _polygon_touched(mesh, polygon, x, y)
    for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
        first, last = goals.vertex_start[piece], goals.vertex_start[piece + 1]
        if last - first == 1:
            within = reach if goals.piece_source[piece] == goal else goals.reach[goals.piece_source[piece]]
            px, py = goals.vertex[first, 0], goals.vertex[first, 1]
            if hypot(px - x, py - y) <= within and is_in_sight(
                mesh, polygon, x, y, px, py, mesh.polygon_layer[goals.piece_polygon[piece]]
            ):
                return piece
            continue
        there = goals.piece_polygon[piece]
        if there == beyond:
            tx, ty = nearest_in_piece(goals, piece, x, y)
            if abs(tx - x) <= RIM_M and abs(ty - y) <= RIM_M:
                return piece
        if there != polygon:
            continue
        inside = True
        for i in range(first, last):
            j = i + 1 if i + 1 < last else first
            if (
                orientation(
                    goals.vertex[i, 0], goals.vertex[i, 1], goals.vertex[j, 0], goals.vertex[j, 1], x, y
                )
                < 0.0
            ):
                inside = False
                break
        if inside:
            return piece
    return -1


@inlined_kernel
def _polygon_touched(mesh, polygon, x, y):
    """Return the polygon behind the portal on which a point of `polygon` lies, -1 if it lies on none:
    a path to a region ends on its rim, before the portal.
    """
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        twin = mesh.edge_twin[edge]
        if twin < 0:
            continue
        a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
        ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
        if orientation(ax, ay, bx, by, x, y) <= RIM_M * (abs(bx - ax) + abs(by - ay)):
            return mesh.edge_polygon[twin]
    return -1


@kernel
def arrived_many(start, stop, mesh, goals, goal, polygon, wants, position, out):
    """Find the pieces of their goals at which the agents of rows start..stop - 1 have arrived;
    see `arrived_piece`.

    Parameters
    ----------
    start, stop : int
    mesh : NavMesh
    goals : GoalPieces
    goal : (n,) int32
    polygon : (n,) int64
    wants : (n,) uint8
        1 for the rows that are looked at.
    position : (n, 2) float64, m
    out : (n,) int32
        Receives the pieces, -1 for those that have not arrived or are not looked at.

    Returns
    -------
    int
        How many have arrived.

    Notes
    -----
    Most agents are far from their goals: those outside the box round all of its pieces are looked at no
    closer, unless there are so many pieces that the boxes take longer.
    """
    has_boxes = goals.vertex.shape[0] <= stop - start
    box = np.empty((goals.reach.size if has_boxes else 0, 4))
    return _arrived_rows(start, stop, mesh, goals, goal, polygon, wants, position, box, out)


@lean_kernel
def _arrived_rows(start, stop, mesh, goals, goal, polygon, wants, position, box, out):
    """Do what `arrived_many` says; `box` (ng, 4) receives the boxes, if it has room for them."""
    arrived, has_boxes = 0, box.shape[0] > 0
    _box_goals(goals, box)
    for row in range(np.uint64(start), np.uint64(stop)):
        out[row] = -1
        if wants[row] == 1:
            g, x, y = goal[row], position[row, 0], position[row, 1]
            if has_boxes and (x < box[g, 0] or y < box[g, 1] or x > box[g, 2] or y > box[g, 3]):
                continue
            out[row] = arrived_piece(mesh, goals, g, polygon[row], x, y)
            arrived += out[row] >= 0
    return arrived


@lean_kernel
def _box_goals(goals, box):
    """Write the box in which agents arrive at each goal: lower x, y, upper x, y, (ng, 4), m."""
    for goal in range(box.shape[0]):
        box[goal, 0], box[goal, 1], box[goal, 2], box[goal, 3] = np.inf, np.inf, -np.inf, -np.inf
        for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
            beside = max(goals.reach[goal], goals.reach[goals.piece_source[piece]]) + BESIDE_M
            for i in range(goals.vertex_start[piece], goals.vertex_start[piece + 1]):
                x, y = goals.vertex[i, 0], goals.vertex[i, 1]
                box[goal, 0], box[goal, 1] = min(box[goal, 0], x - beside), min(box[goal, 1], y - beside)
                box[goal, 2], box[goal, 3] = max(box[goal, 2], x + beside), max(box[goal, 3], y + beside)
