"""Ground that is walked at other speeds: triangles are cut along its borders,
so that every polygon of the mesh lies on one kind of ground.

Gaps stay exact. A gap is an edge of the triangulation (`crowdsim.geometry.triangulation`); where an edge is
cut into parts, each of them keeps the width of the whole, and what is cut across a triangle has none, unless
it leads from wall to wall. So an agent can pass exactly where it could before.

Search costs go over points of portals. Where ground differs they would be poor estimates if portals were as
long as a hall: so triangles that meet such ground are also cut into cells of a few metres.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.floor_plans import Terrain
from crowdsim.geometry.lengths import hypots
from crowdsim.geometry.triangulation import Triangulation
from crowdsim.navigation.mesh.merge import is_convex_at, joined, merge_to_convex, sorted_polygons

# A corner this near to a border lies on it. Finer would make polygons thinner than a hair where a border runs
# along a wall.
BORDER_M = 1e-4
# Of a cell: corners so near to its lines are taken for points of them, so that no cell is much thinner than
# others.
CELL_SHARE = 0.05
AROUND_M = 1.0  # So far round a part of the ground its terrain is looked at: more than rounding.
MOST_CELLS = 20_000  # Cells of one floor; larger ground has larger ones.
_Edge = tuple[int, int]


@dataclass(frozen=True)
class Pieces:
    """Convex polygons, each on one kind of ground.

    Attributes
    ----------
    vertices : (nv, 2) float64, m
        Those of the triangulation first.
    polygons : list of lists of int
        Counter-clockwise, sharing whole edges.
    whole : dict of (int, int) to (int, int)
        For parts of edges that were cut: the edge that they are part of. Its length is the width of each.
    """

    vertices: NDArray[np.float64]
    polygons: list[list[int]]
    whole: dict[_Edge, _Edge]


def convex_pieces(
    triangulation: Triangulation,
    terrain: Sequence[Terrain],
    *,
    most_sides: int,
    cell: float,
    widest: float,
    kept: Iterable[_Edge] = (),
    gaps: Collection[frozenset[int]] | None = None,
) -> Pieces:
    """Merge triangles to convex polygons, and cut those that meet terrain along its borders.

    Parameters
    ----------
    triangulation : Triangulation
    terrain : sequence of Terrain
        Areas that do not overlap.
    most_sides : int
        Of merged polygons; cut ones may have more.
    cell : float, m
        How large the pieces of triangles that meet terrain may be, about.
    widest : float, m
        Diameter of the widest agent that will ask: over edges of triangles that are longer, pieces on one
        terrain are put together again.
    kept : pairs of vertices
        Edges that are not cut, since another floor, or tile, has them too: borders and lines of cells end at
        the nearer of their ends.
    gaps : collection of frozensets of two vertices, optional
        All edges that stop some agent, where that is known: pieces are put together again over all others.
    """
    vertices, triangles, neighbours = (
        triangulation.vertices,
        triangulation.triangles,
        triangulation.neighbours,
    )
    region, borders = region_of(terrain)
    met = np.zeros(len(triangles), dtype=np.bool_)
    if region is not None:
        shapes = shapely.polygons(vertices[triangles])
        met[shapely.STRtree(shapes).query(region, predicate="intersects")] = True
    if not met.any():
        return Pieces(vertices, merge_to_convex(vertices, triangles, neighbours, most_sides), {})
    number = np.where(met, -1, np.cumsum(~met) - 1)
    others = neighbours[~met]
    merged = (
        merge_to_convex(
            vertices, triangles[~met], np.where(others >= 0, number[others], -1).astype(np.int32), most_sides
        )
        if not met.all()
        else []
    )
    cutter = _Cutter(vertices, [*triangles[met].tolist(), *merged], {frozenset(edge) for edge in kept})
    count = int(met.sum())
    parts = [[place] for place in range(count)]
    _cut_cells(cutter, parts, vertices[triangles[met]], cell)
    tree = shapely.STRtree(shapely.polygons(vertices[triangles[met]]))
    for a, b in borders:
        for place in np.sort(tree.query(shapely.LineString([a, b]))).tolist():
            parts[place] = [part for each in parts[place] for part in cutter.cut_along(each, a, b)]
    sides = {(int(a), int(b)) for corners in triangles[met].tolist() for a, b in _edges(corners)}
    if gaps is None:
        free = {(a, b) for a, b in sides if math.dist(vertices[a], vertices[b]) > widest}
    else:
        free = {side for side in sides if frozenset(side) not in gaps}
    cutter.rejoin(terrain, most_sides, free)
    return cutter.pieces()


_PLAIN = (1.0, "")


def _like(terrain: Terrain) -> tuple[float, str]:
    """Return what ground has in common that is not cut apart."""
    return terrain.speed, terrain.kind


def cell_over(terrain: Iterable[Terrain], cell: float) -> float:
    """Return how large polygons may be on terrain, of all floors (m): `cell`, or any size where a metre costs
    what it does elsewhere.
    """
    terrain = list(terrain)
    return cell if not terrain or any(each.is_weighed for each in terrain) else math.inf


def terrain_on(
    terrain: Sequence[Terrain], vertices: NDArray[np.float64], polygons: Sequence[Sequence[int]]
) -> NDArray[np.int64]:
    """Return for each polygon the place in the list of the terrain that it lies on; -1 elsewhere,
    shape (np,).
    """
    found = np.full(len(polygons), -1, dtype=np.int64)
    if terrain:
        middle = shapely.points(
            np.array([vertices[corners, :2].mean(axis=0) for corners in map(list, polygons)])
        )
        for place, each in enumerate(terrain):
            shapely.prepare(each.area)
            found[shapely.contains(each.area, middle)] = place
    return found


def speeds_on(
    terrain: Sequence[Terrain], vertices: NDArray[np.float64], polygons: Sequence[Sequence[int]]
) -> NDArray[np.float64]:
    """Return for each polygon the speed on the terrain that it lies on, as a share of that on plain ground;
    1 elsewhere, shape (np,).
    """
    speeds = np.array([*(each.speed for each in terrain), 1.0])  # the last is that of what has no terrain
    return speeds[terrain_on(terrain, vertices, polygons)]


def terrain_near(
    terrain: Sequence[Terrain], low: NDArray[np.float64], high: NDArray[np.float64]
) -> list[Terrain]:
    """Return the terrain in a box, between two corners (m), and a little round it,
    so that what is cut off has no border inside.
    """
    found = []
    around = shapely.box(*(low - AROUND_M), *(high + AROUND_M)) if terrain else None
    for each in terrain:
        parts = shapely.get_parts(shapely.intersection(each.area, around))
        areas = parts[shapely.get_dimensions(parts) == 2]
        if len(areas):
            found.append(replace(each, area=shapely.multipolygons(areas)))
    return found


def region_of(
    terrain: Sequence[Terrain],
) -> tuple[Any, list[tuple[NDArray[np.float64], NDArray[np.float64]]]]:
    """Return the ground that is not plain, by its speed or its kind, None where there is none,
    and the segments of the borders between grounds.
    """
    areas = {
        like: shapely.union_all([each.area for each in terrain if _like(each) == like])
        for like in sorted({_like(each) for each in terrain} - {_PLAIN})
    }
    if not areas:
        return None, []
    lines = shapely.union_all([area.boundary for area in areas.values()])
    segments = []
    for line in shapely.get_parts(
        shapely.line_merge(lines) if lines.geom_type == "MultiLineString" else lines
    ):
        segments += list(itertools.pairwise(np.asarray(line.coords)))
    segments.sort(key=lambda pair: (*pair[0], *pair[1]))
    return shapely.union_all(list(areas.values())), segments


def _cut_cells(cutter: _Cutter, parts: list[list[int]], corners: NDArray[np.float64], cell: float) -> None:
    """Cut triangles, (n, 3, 2), by the lines of a square grid over them;
    `parts` holds what became of each.
    """
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    edges = corners[:, 1:] - corners[:, :1]
    area = 0.5 * float(np.abs(edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0]).sum())
    cell = max(cell, math.sqrt(area / MOST_CELLS))
    for axis in range(2):
        count = max(1, int(np.ceil((high[axis] - low[axis]) / cell)))
        normal = np.array([1.0, 0.0]) if axis == 0 else np.array([0.0, 1.0])
        step = (high[axis] - low[axis]) / count
        for place, triangle in enumerate(corners):
            first, last = (
                int(np.floor((bound - low[axis]) / step))
                for bound in (triangle[:, axis].min(), triangle[:, axis].max())
            )
            for line in range(max(1, first), min(count - 1, last + 1) + 1):
                point = low + line * step * normal
                parts[place] = [
                    part
                    for each in parts[place]
                    for part in cutter.cut(each, point, normal, CELL_SHARE * step)
                ]


class _Cutter:
    """Polygons that share whole edges, and stay so while they are cut."""

    def __init__(
        self, vertices: NDArray[np.float64], polygons: list[list[int]], kept: set[frozenset[int]]
    ) -> None:
        self.points: list[tuple[float, float]] = [(x, y) for x, y in vertices.tolist()]
        self.polygons = {place: list(corners) for place, corners in enumerate(polygons)}
        self.owner = {edge: place for place, corners in self.polygons.items() for edge in _edges(corners)}
        self.whole: dict[_Edge, _Edge] = {}
        self.kept = kept
        self.spokes: set[_Edge] = set()

    def cut_along(self, place: int, a: NDArray[np.float64], b: NDArray[np.float64]) -> list[int]:
        """Cut a polygon along the line through a and b if the segment between them leads through its inside;
        return its parts.
        """
        length = float(hypots(*(b - a)))
        if length <= BORDER_M:
            return [place]
        low, high = 0.0, 1.0
        corners = self.polygons[place]
        for u, v in _edges(corners):
            (ux, uy), (vx, vy) = self.points[u], self.points[v]
            size = math.sqrt((vx - ux) ** 2 + (vy - uy) ** 2)
            da, db = (
                ((vx - ux) * (p[1] - uy) - (vy - uy) * (p[0] - ux)) / size - 0.5 * BORDER_M for p in (a, b)
            )
            if da < 0.0 and db < 0.0:
                return [place]
            if da < 0.0:
                low = max(low, da / (da - db))
            elif db < 0.0:
                high = min(high, da / (da - db))
        if (high - low) * length <= BORDER_M:
            return [place]
        for end, is_inside, onward in ((a, low == 0.0, a - b), (b, high == 1.0, b - a)):
            # A line from here would end beside the border, at an end of an edge that has to stay whole.
            if is_inside and self._meets_kept(place, end, onward) and (star := self._star(place, end)):
                return [part for each in star for part in self.cut_along(each, a, b)]
        return self.cut(place, a, np.array([-(b - a)[1], (b - a)[0]]) / length, BORDER_M)

    def cut(
        self, place: int, point: NDArray[np.float64], normal: NDArray[np.float64], slack: float
    ) -> list[int]:
        """Cut a polygon along a line; corners within `slack` (m) of it count as on it. Return its parts."""
        corners = self.polygons[place]
        side = [self._side(corner, point, normal, slack) for corner in corners]
        if min(side) >= 0.0 or max(side) <= 0.0:
            return [place]
        ends = []
        for (u, v), (du, dv) in zip(
            list(_edges(corners)), list(zip(side, [*side[1:], side[0]], strict=True)), strict=True
        ):
            if du == 0.0:
                ends.append(u)
            elif du * dv < 0.0:
                ends.append(self._vertex_on(u, v, du, dv))
        pairs = [(u, v) for k, u in enumerate(ends) for v in ends[k + 1 :] if u != v]
        if not pairs:
            return [place]
        # More than two corners can count as on the line: it leads from one side of the polygon to the other.
        return self._part(
            place, *max(pairs, key=lambda pair: math.dist(self.points[pair[0]], self.points[pair[1]]))
        )

    def _meets_kept(self, place: int, point: NDArray[np.float64], onward: NDArray[np.float64]) -> bool:
        """Return whether a ray from inside a polygon leaves it through the inside of an edge that is kept."""
        for u, v in _edges(self.polygons[place]):
            if frozenset((u, v)) not in self.kept:
                continue
            begin, end = np.array(self.points[u]), np.array(self.points[v])
            edge, to = end - begin, begin - point
            across = float(onward[0] * edge[1] - onward[1] * edge[0])
            if across <= 0.0:
                continue  # it comes in over this one, or runs along it
            size = float(hypots(*edge))
            along = float(onward[1] * to[0] - onward[0] * to[1]) / across * size
            if BORDER_M < along < size - BORDER_M:
                return True
        return False

    def _star(self, place: int, point: NDArray[np.float64]) -> list[int]:
        """Cut a polygon into the triangles between a point in it and its edges; return these,
        nothing where one would be flat.
        """
        new, edges = len(self.points), _edges(self.polygons[place])
        self.points.append((float(point[0]), float(point[1])))
        if any(self._is_flat([new, u, v]) for u, v in edges):
            self.points.pop()
            return []
        places = [place, *range(len(self.polygons), len(self.polygons) + len(edges) - 1)]
        for each, (u, v) in zip(places, edges, strict=True):
            self.polygons[each] = [new, u, v]
            for edge in _edges(self.polygons[each]):
                self.owner[edge] = each
            self.spokes |= {(new, u), (u, new)}
        return places

    def _side(
        self, corner: int, point: NDArray[np.float64], normal: NDArray[np.float64], slack: float
    ) -> float:
        x, y = self.points[corner]
        distance = float((x - point[0]) * normal[0] + (y - point[1]) * normal[1])
        return 0.0 if abs(distance) <= slack else distance

    def _vertex_on(self, u: int, v: int, du: float, dv: float) -> int:
        """Return the vertex where a line crosses an edge, made if need be;
        the nearer end of one that is kept whole.
        """
        if frozenset((u, v)) in self.kept:
            return u if abs(du) <= abs(dv) else v
        a, b, da, db = (u, v, du, dv) if u < v else (v, u, dv, du)
        share = da / (da - db)
        (ax, ay), (bx, by) = self.points[a], self.points[b]
        new = len(self.points)
        self.points.append((ax + share * (bx - ax), ay + share * (by - ay)))
        for start, end in ((u, v), (v, u)):
            owner = self.owner.pop((start, end), None)
            if owner is None:
                continue
            corners = self.polygons[owner]
            corners.insert(corners.index(start) + 1, new)
            self.owner[start, new] = self.owner[new, end] = owner
            self.whole[start, new] = self.whole[new, end] = self.whole.pop((start, end), (start, end))
        return new

    def _part(self, place: int, u: int, v: int) -> list[int]:
        """Part a polygon by the line between two of its corners, unless one part would be flat."""
        corners = self.polygons[place]
        i, j = sorted((corners.index(u), corners.index(v)))
        parts = corners[i : j + 1], corners[j:] + corners[: i + 1]
        if any(len(part) < 3 or self._is_flat(part) for part in parts):
            return [place]
        other = len(self.polygons)
        for each, part in zip((place, other), parts, strict=True):
            self.polygons[each] = part
            for edge in _edges(part):
                self.owner[edge] = each
        return [place, other]

    def rejoin(self, terrain: Sequence[Terrain], most_sides: int, free: Collection[_Edge]) -> None:
        """Put pieces of different triangles together where they are on one terrain and the result is convex,
        over parts of the sides in `free`, and of what `_star` has cut.
        """
        free = {*free, *self.spokes}
        places = sorted(self.polygons)
        likes = [*(_like(each) for each in terrain), _PLAIN]  # the last is that of what has no terrain
        on = terrain_on(terrain, np.array(self.points), [self.polygons[place] for place in places])
        like = {place: likes[number] for place, number in zip(places, on.tolist(), strict=True)}
        edges = [edge for edge in self.owner if edge[0] < edge[1] and self.whole.get(edge, edge) in free]
        for a, b in sorted(
            edges, key=lambda edge: (-math.dist(self.points[edge[0]], self.points[edge[1]]), edge)
        ):
            left, right = self.owner.get((a, b)), self.owner.get((b, a))
            if left is None or right is None or left == right or like[left] != like[right]:
                continue
            merged = joined(self.polygons[left], self.polygons[right], a, b)
            if (
                len(merged) > most_sides
                or len(set(merged)) < len(merged)
                or not all(is_convex_at(self.points, merged, corner) for corner in (a, b))
            ):
                continue
            for edge in _edges(self.polygons.pop(right)):
                self.owner[edge] = left
            del self.owner[a, b], self.owner[b, a]
            self.polygons[left] = merged

    def _is_flat(self, corners: list[int]) -> bool:
        points = np.array([self.points[corner] for corner in corners])
        offset = points - points[0]
        area = 0.5 * float(np.sum(offset[:-1, 0] * offset[1:, 1] - offset[:-1, 1] * offset[1:, 0]))
        return area <= BORDER_M * float(hypots(*(points.max(axis=0) - points.min(axis=0))))

    def pieces(self) -> Pieces:
        """Return what the polygons have become, each from its lowest vertex on, sorted."""
        return Pieces(np.array(self.points), sorted_polygons(self.polygons.values()), self.whole)


def _edges(corners: Sequence[int]) -> list[_Edge]:
    return list(zip(corners, [*corners[1:], corners[0]], strict=True))
