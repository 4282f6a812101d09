"""Walkable ground of all sorts, and one planner for one question, as the tests of this folder need them."""

from __future__ import annotations

import itertools

import numpy as np
import shapely
from shapely import affinity

from crowdsim.navigation.corridor.corridors import Corridor
from crowdsim.navigation.corridor.funnel import find_bends, lay_string
from crowdsim.navigation.corridor.portal_vertices import VERTEX, String, list_portal_vertices
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import MeshParameters, build_mesh
from crowdsim.navigation.mesh.mesh import locate, locate_many, make_flood
from crowdsim.navigation.search.a_star import (
    advance_search,
    begin_search,
    copy_corridor,
    corridor_size,
    make_slots,
)
from crowdsim.navigation.search.goal_entries import make_scratch
from crowdsim.navigation.search.portal_points import place_points
from crowdsim.navigation.search.slot_fields import FOUND, START_POLYGON, STATUS

SIZE = 12.0
UTM = (400_000.0, 5_000_000.0)


def random_ground(seed: int):
    """Return a 12 m square less 3 to 39 random obstacles: irregular polygons, turned boxes, thin walls;
    islands and pinched corners occur.
    """
    rng = np.random.default_rng(seed)
    obstacles = []
    for _ in range(int(rng.integers(3, 40))):
        centre, kind = rng.uniform(0.0, SIZE, 2), rng.integers(3)
        if kind == 0:
            angle = np.sort(rng.uniform(0.0, 2.0 * np.pi, int(rng.integers(3, 8))))
            obstacles.append(
                shapely.Polygon(centre + rng.uniform(0.3, 1.8) * np.c_[np.cos(angle), np.sin(angle)])
            )
        elif kind == 1:
            box = shapely.box(*centre, *(centre + rng.uniform(0.05, 3.0, 2)))
            obstacles.append(affinity.rotate(box, rng.uniform(0.0, 180.0)) if rng.random() < 0.5 else box)
        else:
            obstacles.append(
                shapely.LineString([centre, centre + rng.uniform(-4.0, 4.0, 2)]).buffer(
                    0.03, cap_style="flat"
                )
            )
    ground = shapely.box(0.0, 0.0, SIZE, SIZE).difference(shapely.union_all(obstacles))
    return shapely.set_precision(ground, 2.0**-20)


def simple_polygon(seed: int):
    """Return ground without holes: rooms and crooked corridors, grown together;
    between any two points there is one way only, up to bending.
    """
    rng = np.random.default_rng(seed)
    line = [rng.uniform(0.0, SIZE, 2) for _ in range(int(rng.integers(5, 12)))]
    parts = [
        shapely.LineString([a, b]).buffer(rng.uniform(0.4, 1.0), cap_style="square", join_style="mitre")
        for a, b in itertools.pairwise(line)
    ]
    parts += [
        affinity.rotate(
            shapely.box(*(p - rng.uniform(0.5, 1.5, 2)), *(p + rng.uniform(0.5, 1.5, 2))),
            rng.uniform(0.0, 90.0),
        )
        for p in line
    ]
    return shapely.set_precision(shapely.Polygon(shapely.union_all(parts).exterior), 2.0**-20)


def pillar_hall(columns: int, gap: float = 1.0, pillar: float = 0.5):
    """Return a square hall with regular rows of square pillars: full of ties."""
    pitch = gap + pillar
    size = columns * pitch + gap
    starts = gap + pitch * np.arange(columns)
    boxes = [shapely.box(x, y, x + pillar, y + pillar) for x in starts for y in starts]
    return shapely.box(0.0, 0.0, size, size).difference(shapely.union_all(boxes))


def rooms(seed: int, count: int = 4, wall: float = 0.1):
    """Return `count` x `count` rooms of 4 m with doors of 0.3 to 1.5 m somewhere in their walls;
    a tenth of the walls have none.
    """
    rng = np.random.default_rng(seed)
    size = 4.0 * count
    walls = []
    for line in range(1, count):
        for cell in range(count):
            for is_upright in (True, False):
                at, low = 4.0 * line, 4.0 * cell
                width = rng.uniform(0.3, 1.5)
                door = rng.uniform(low + wall, low + 4.0 - wall - width)
                spans = [(low, low + 4.0)] if rng.random() < 0.1 else [(low, door), (door + width, low + 4.0)]
                for a, b in spans:
                    box = (
                        at - wall / 2,
                        a - wall / 2 * (a == low),
                        at + wall / 2,
                        b + wall / 2 * (b == low + 4.0),
                    )
                    walls.append(
                        shapely.box(*box) if is_upright else shapely.box(box[1], box[0], box[3], box[2])
                    )
    return shapely.set_precision(
        shapely.box(0.0, 0.0, size, size).difference(shapely.union_all(walls)), 2.0**-20
    )


def round_polygon(sides: int, radius: float, centre=(0.0, 0.0), wiggle: float = 0.0, seed: int = 0):
    """Return a regular polygon, or one whose vertices lie up to a share `wiggle` of the radius nearer or
    farther.
    """
    rng = np.random.default_rng(seed)
    angle = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    reach = radius * (1.0 + wiggle * rng.uniform(-1.0, 1.0, sides))
    return shapely.Polygon(np.c_[centre[0] + reach * np.cos(angle), centre[1] + reach * np.sin(angle)])


def outlines(mesh):
    """Return the polygons of a mesh as shapely polygons."""
    return [
        shapely.Polygon(mesh.vertex[mesh.edge_vertex[a:b], :2])
        for a, b in zip(mesh.polygon_start[:-1], mesh.polygon_start[1:], strict=True)
    ]


def free_points(ground, radius: float, count: int, rng: np.random.Generator):
    """Return up to `count` points that keep `radius` (and 0.1 mm) from walls,
    and the part of the eroded ground that each is in.
    """
    eroded = ground.buffer(-radius, quad_segs=512) if radius > 0.0 else ground
    parts = [part for part in shapely.get_parts(eroded) if part.area > 1e-9]
    candidates = rng.uniform(ground.bounds[:2], ground.bounds[2:], (200 * count, 2))
    points = shapely.points(candidates)
    walls = ground.boundary
    shapely.prepare(walls)
    clear = ~shapely.dwithin(walls, points, radius + 1e-4)
    part_of = np.full(len(candidates), -1)
    for number, part in enumerate(parts):
        shapely.prepare(part)
        part_of[shapely.contains(part, points)] = number
    chosen = np.flatnonzero(clear & (part_of >= 0))[:count]
    return candidates[chosen], part_of[chosen]


def located(mesh, points, layer: int = -1):
    """Return the polygons under points."""
    out = np.empty(len(points), dtype=np.int64)
    locate_many(
        0, len(points), mesh, np.ascontiguousarray(points), np.full(len(points), layer, dtype=np.int32), out
    )
    return out


def point_goals(mesh, points, reach: float = 0.0):
    """Return goals that are points."""
    return cut_goals(mesh, [GoalShape(shapely.Point(point), reach=reach) for point in points])


class OnePlanner:
    """A mesh with one search slot; asks one path at a time."""

    def __init__(self, mesh) -> None:
        self.mesh = mesh
        self.points, self.scratch, self.goals = place_points(mesh), make_scratch(1, mesh.polygon_count), None
        self.slots = make_slots(1, len(self.points.edge))
        self.flood = make_flood(mesh.polygon_count)

    @classmethod
    def on(cls, ground, **parameters):
        """Return a planner on the mesh of some ground."""
        return cls(build_mesh(ground, parameters=MeshParameters(**parameters)).mesh)

    def search(
        self,
        start,
        goals,
        radius: float,
        slice_size: int = 1 << 40,
        polygon: int = -1,
        goal: int = 0,
        is_shared: int = 0,
    ) -> int:
        """Run a search in slices; return its status."""
        x, y = float(start[0]), float(start[1])
        polygon = polygon if polygon >= 0 else locate(self.mesh, x, y, -1)
        self.goals = goals
        begin_search(
            self.slots,
            0,
            self.mesh,
            goals,
            self.points,
            self.scratch,
            int(goal),  # whatever numbers they are given as, it is one kernel
            2.0 * float(radius),
            x,
            y,
            int(polygon),
            int(is_shared),
        )
        while self.slots.header[0, STATUS] == 1:
            advance_search(self.slots, 0, self.mesh, goals, self.points, self.scratch, slice_size)
        return int(self.slots.header[0, STATUS])

    def corridor(self):
        """Return the found corridor (goal's end first) and the piece of the goal."""
        cells = np.zeros(max(1, corridor_size(self.slots, 0)), dtype=np.int32)
        count, piece = copy_corridor(self.slots, 0, self.mesh, self.goals, self.points, cells, 0)
        return cells[:count], piece

    def path(self, start, goal, radius: float, slice_size: int = 1 << 40):
        """Return (status, points, vertex of the bend at each point or -1, length);
        points is None unless found.
        """
        goals = point_goals(self.mesh, [goal])
        status = self.search(start, goals, radius, slice_size)
        if status != FOUND:
            return status, None, None, np.inf
        return status, *self.string(start, goals, radius)

    def string(self, start, goals, radius: float):
        """Pull the string through the found corridor; return points, bend vertices, length."""
        cells, piece = self.corridor()
        return pull_through(
            self.mesh,
            goals,
            cells,
            piece,
            int(self.slots.header[0, START_POLYGON]),
            start,
            radius,
            self.flood,
        )


def pull_through(mesh, goals, cells, piece, polygon, start, radius: float, flood):
    """Pull a string through any planner's corridor (goal's end first);
    return points, the vertex of the bend at each or -1, and its length.
    """
    x, y = float(start[0]), float(start[1])
    vertices = np.zeros(64 * (len(cells) + 2), dtype=np.int32)
    corridor = Corridor(cells, 0, len(cells), polygon, piece)
    count, _ = list_portal_vertices(mesh, corridor, len(cells) + 1, vertices)
    bends = np.zeros(len(vertices), dtype=np.int32)
    found, tx, ty = find_bends(mesh, goals, corridor, vertices, count, x, y, radius, bends, flood)
    points = np.zeros((2 * found + 2, 2))
    length = lay_string(mesh, String(vertices, count, bends, x, y, tx, ty), found, radius, points)
    vertex = vertices[bends[:found]]
    corner = np.full(2 * found + 2, -1)
    corner[1:-1] = np.repeat(np.where(vertex < 0, ~vertex, vertex) >> VERTEX, 2)
    return points, corner, length


def with_arcs(points, corner, mesh, steps: int = 120):
    """Return a path with its arcs as a line of many points."""
    line = [points[0]]
    for i in range(1, len(points)):
        line.append(points[i])
        if i % 2 == 1 and i + 1 < len(points):
            centre = mesh.vertex[corner[i], :2]
            a, b = points[i] - centre, points[i + 1] - centre
            angle = np.arctan2(a[0] * b[1] - a[1] * b[0], a @ b)
            for t in np.linspace(0.0, angle, steps)[1:-1]:
                turned = np.array([a[0] * np.cos(t) - a[1] * np.sin(t), a[0] * np.sin(t) + a[1] * np.cos(t)])
                line.append(centre + turned)
    return np.array(line)
