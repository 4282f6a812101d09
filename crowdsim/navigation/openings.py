"""Openings: the gaps between walls and the open rims of regions, where a crowd that goes through has to share the width.

A gap is a place where two bits of wall are nearest to each other: no wall is nearer to its middle than its ends. Every gap between walls is an edge of the
mesh, or a diagonal of a polygon that was merged (docs/navigation.md, section 2). The rim of a region is a row of straight stretches along which no wall runs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.kernels import lean_kernel
from crowdsim.navigation.goals import GoalPieces
from crowdsim.navigation.mesh import NavMesh, make_flood, wall_distance

WIDEST_M = 5.0  # Wider ones are open ground: those who come from several sides do not meet there.
NARROWEST_M = 0.1  # Narrower rims are crumbs along walls.
ROUNDING = 1e-6  # Share of its half width by which walls may be nearer to the middle of a gap than its ends: in a straight corridor all are equally near.
SNAP_M = 1e-4  # How far from its corners the outline of a region may be after its pieces were put together.


class Openings(NamedTuple):
    """The openings of a mesh and its goals; gaps first, then the rims of each goal.

    Attributes
    ----------
    end : (no, 4) float64, m
        The ends a and b as x, y, x, y. Whoever is about to enter a region has b on the left.
    width : (no,) float64, m
    polygon_start : (np + 1,) int32
    gap : (m,) int32
        Those in polygon p, or on its edges, are ``gap[polygon_start[p]:polygon_start[p + 1]]``.
    first, second : (m,) int32
        Between which vertices of the polygon each lies, counted from its first, first < second.
    is_turned : (m,) uint8
        1 where the first of them is the end b.
    goal_start : (ng + 1,) int32
        First opening that is a rim of each goal.
    """

    end: NDArray[np.float64]
    width: NDArray[np.float64]
    polygon_start: NDArray[np.int32]
    gap: NDArray[np.int32]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    is_turned: NDArray[np.uint8]
    goal_start: NDArray[np.int32]

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.width)


def find_openings(mesh: NavMesh, goals: GoalPieces) -> Openings:
    """Return the openings of a mesh and its goals."""
    polygon, first, second, is_edge = _pairs(mesh)
    begin = mesh.polygon_start[polygon]
    a, b = mesh.vertex[mesh.edge_vertex[begin + first], :2], mesh.vertex[mesh.edge_vertex[begin + second], :2]
    # Both sides of a portal are one opening, named by the lower half-edge and seen from there.
    edge = np.where(second == first + 1, begin + first, begin + second)
    twin = np.where(is_edge, mesh.edge_twin[edge], -1)
    is_other_side = is_edge & (twin < edge)
    own = np.flatnonzero(~is_other_side)
    is_gap = np.zeros(len(polygon), dtype=np.uint8)
    tested = np.zeros(len(own), dtype=np.uint8)
    _test_gaps(mesh, polygon[own], a[own], b[own], make_flood(mesh.polygon_count), tested)
    is_gap[own] = tested
    number = np.cumsum(is_gap, dtype=np.int64) - 1
    number[is_gap == 0] = -1
    by_edge = np.full(mesh.edge_count, -1)
    by_edge[edge[is_edge]] = np.flatnonzero(is_edge)
    other = np.flatnonzero(is_other_side)
    number[other] = number[by_edge[twin[other]]]
    gaps = np.flatnonzero(is_gap)
    kept = np.flatnonzero(number >= 0)
    kept = kept[np.argsort(polygon[kept], kind="stable")]
    from_end = a[kept] if len(kept) else np.zeros((0, 2))
    is_turned = np.any(from_end != a[gaps][number[kept]], axis=1)
    rims, goal_start = _rims(mesh, goals)
    end = np.concatenate([np.concatenate([a[gaps], b[gaps]], axis=1), rims])
    return Openings(
        end, np.hypot(end[:, 2] - end[:, 0], end[:, 3] - end[:, 1]),
        np.searchsorted(polygon[kept], np.arange(mesh.polygon_count + 1)).astype(np.int32), number[kept].astype(np.int32),
        first[kept].astype(np.int32), second[kept].astype(np.int32), is_turned.astype(np.uint8), (goal_start + len(gaps)).astype(np.int32),
    )  # fmt: skip


def _pairs(mesh: NavMesh) -> tuple[NDArray[Any], ...]:
    """Return what may be a gap: portals and diagonals between ends of walls, as polygon, first and second vertex, and whether it is a portal."""
    found: list[tuple[NDArray[Any], ...]] = []
    is_end = np.zeros(len(mesh.vertex), dtype=np.bool_)  # where the ground ends without a wall, as in an exit, there is nothing to fit between
    walls = (mesh.edge_twin < 0) & (mesh.edge_wall >= 0)
    is_end[mesh.edge_vertex[walls]] = is_end[mesh.edge_end[walls]] = True
    sides = np.diff(mesh.polygon_start)
    for count in np.unique(sides).tolist():
        polygon = np.flatnonzero(sides == count)
        begin = mesh.polygon_start[polygon]
        for i in range(count):
            for j in range(i + 1, count):
                is_edge = j == i + 1 or (i == 0 and j == count - 1)
                u, v = mesh.edge_vertex[begin + i], mesh.edge_vertex[begin + j]
                width = np.hypot(*(mesh.vertex[v, :2] - mesh.vertex[u, :2]).T)
                fits = is_end[u] & is_end[v] & (width <= WIDEST_M)
                if is_edge:
                    fits &= mesh.edge_twin[begin + (i if j == i + 1 else j)] >= 0
                of = polygon[fits]
                found.append((of, np.full(len(of), i), np.full(len(of), j), np.full(len(of), is_edge)))
    return tuple(np.concatenate([each[k] for each in found]) for k in range(4))


@lean_kernel
def _test_gaps(mesh, polygon, a, b, flood, out):
    """Write 1 for each pair of ends a and b, (k, 2), in a polygon that is a gap: no wall is nearer to its middle."""
    for k in range(polygon.size):
        half = 0.5 * np.hypot(b[k, 0] - a[k, 0], b[k, 1] - a[k, 1]) * (1.0 - ROUNDING)
        x, y = 0.5 * (a[k, 0] + b[k, 0]), 0.5 * (a[k, 1] + b[k, 1])
        out[k] = 1 if wall_distance(mesh, np.int64(polygon[k]), x, y, half, flood) >= half else 0


def _rims(mesh: NavMesh, goals: GoalPieces) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the straight stretches of the rims of all regions along which no wall runs, (k, 4), m, and the first of each goal."""
    rims: list[list[float]] = []
    goal_start = [0]
    corners = np.diff(goals.vertex_start)
    for goal in range(len(goals.goal_start) - 1):
        pieces = np.arange(goals.goal_start[goal], goals.goal_start[goal + 1])
        pieces = pieces[(goals.piece_source[pieces] == goal) & (corners[pieces] > 2)]
        for layer in np.unique(mesh.polygon_layer[goals.piece_polygon[pieces]]).tolist():
            rims += _rims_of(mesh, goals, pieces[mesh.polygon_layer[goals.piece_polygon[pieces]] == layer])
        goal_start.append(len(rims))
    return np.array(rims, dtype=np.float64).reshape(-1, 4), np.array(goal_start)


def _rims_of(mesh: NavMesh, goals: GoalPieces, pieces: NDArray[Any]) -> list[list[float]]:
    """Return the stretches of the rim of a region on one floor, with the region on the right of each."""
    shapes = [goals.vertex[goals.vertex_start[piece] : goals.vertex_start[piece + 1]] for piece in pieces.tolist()]
    known = np.concatenate(shapes)
    region = shapely.union_all([shapely.Polygon(shape) for shape in shapes], grid_size=0.01 * SNAP_M)
    begin, size = mesh.polygon_start[:-1], np.diff(mesh.polygon_start)
    polygon = np.unique(goals.piece_polygon[pieces])
    edges = np.concatenate([np.arange(begin[p], begin[p] + size[p]) for p in polygon.tolist()])
    edges = edges[mesh.edge_twin[edges] < 0]
    ends = mesh.vertex[np.column_stack([mesh.edge_vertex[edges], mesh.edge_end[edges]]), :2]
    open_rim = shapely.difference(region.boundary, shapely.buffer(shapely.union_all(shapely.linestrings(ends)), 0.1 * SNAP_M))
    shapely.prepare(region)
    found = []
    for line in shapely.get_parts(shapely.line_merge(shapely.get_parts(shapely.multilinestrings(shapely.get_parts(open_rim))))):
        points = shapely.get_coordinates(line)
        away = np.hypot(known[None, :, 0] - points[:, None, 0], known[None, :, 1] - points[:, None, 1])
        points = np.where((away.min(axis=1) <= SNAP_M)[:, None], known[np.argmin(away, axis=1)], points)
        turns = [0, *(k for k in range(1, len(points) - 1) if not _is_straight(points[k - 1], points[k], points[k + 1])), len(points) - 1]
        for i, j in zip(turns[:-1], turns[1:], strict=True):
            a, b = points[i], points[j]
            width = float(np.hypot(*(b - a)))
            if NARROWEST_M <= width <= WIDEST_M:
                aside = np.array([a[1] - b[1], b[0] - a[0]]) / width * 10.0 * SNAP_M
                is_left = shapely.contains_xy(region, *(0.5 * (a + b) + aside))
                found.append([*b, *a] if is_left else [*a, *b])
    return sorted(found)


def _is_straight(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]) -> bool:
    """Return whether b lies on the line from a to c, within what snapping moves it."""
    d = c - a
    return bool(abs(d[0] * (b - a)[1] - d[1] * (b - a)[0]) <= SNAP_M * np.hypot(*d))
