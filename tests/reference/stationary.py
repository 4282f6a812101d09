"""Twin of paths round stationary agents ([Pathfinding undated], section 6, on a mesh):
by areas, cut out and looked at.

Kernels: draw_barriers, are_parted_by_barriers, is_corridor_open, begin_round, advance_round.
"""

import heapq
import itertools
import math

import shapely

from crowdsim.navigation.goals.goals import nearest_in_piece
from crowdsim.navigation.mesh.mesh import are_parted, is_cut_off

ROUND = 128  # Segments of a quarter of a circle.


def outline(mesh, polygon):
    """Return a polygon of a mesh."""
    first, last = mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]
    return shapely.Polygon(mesh.vertex[mesh.edge_vertex[first:last], :2])


def ends(mesh, edge):
    """Return the ends of an edge."""
    return tuple(mesh.vertex[mesh.edge_vertex[edge], :2]), tuple(mesh.vertex[mesh.edge_end[edge], :2])


def taken_by_walls(mesh, polygon, radius):
    """Return where no centre of an agent can be for the walls of a polygon."""
    parts = []
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        a, b = ends(mesh, edge)
        if mesh.edge_twin[edge] < 0 and mesh.edge_wall[edge] >= 0:
            parts.append(shapely.LineString([a, b]).buffer(radius, quad_segs=ROUND))
        if mesh.is_wall_vertex[mesh.edge_vertex[edge]] == 1:
            parts.append(shapely.Point(a).buffer(radius, quad_segs=ROUND))
    return shapely.union_all(parts) if parts else shapely.Polygon()


def reached(mesh, disc, radius):
    """Return the polygons that a disc, (x, y, radius, polygon), and an agent beside it reach from where it
    stands: not those behind walls.
    """
    found, new = set(), {int(disc[3])}
    while new:
        polygon = new.pop()
        found.add(polygon)
        for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
            near = shapely.LineString(ends(mesh, edge)).distance(shapely.Point(disc[:2])) < disc[2] + radius
            if (
                mesh.edge_twin[edge] >= 0
                and near
                and int(mesh.edge_polygon[mesh.edge_twin[edge]]) not in found
            ):
                new.add(int(mesh.edge_polygon[mesh.edge_twin[edge]]))
    return found


class Crowd:
    """Stationary agents, (x, y, radius of the disc, polygon) each, and which of them reach a polygon."""

    def __init__(self, mesh, discs, radius):
        self._of = {}
        for disc in discs:
            for polygon in reached(mesh, disc, radius):
                self._of.setdefault(polygon, []).append(disc)

    def of(self, polygon):
        """Return those that reach a polygon."""
        return self._of.get(int(polygon), [])


def taken_by_agents(discs):
    """Return where no centre can be for stationary agents."""
    return shapely.union_all(
        [shapely.Point(x, y).buffer(radius, quad_segs=ROUND) for x, y, radius, _ in discs]
    )


def parts_of(area):
    """Return the parts of an area that have any size."""
    return [part for part in shapely.get_parts(area) if part.area > 0.0]


def part_with(parts, point):
    """Return the number of the part that a point is in or nearest to."""
    return min(range(len(parts)), key=lambda i: parts[i].distance(shapely.Point(point)), default=-1)


def together(area, p, q):
    """Return whether two points are in one part of an area."""
    parts = parts_of(area)
    return bool(parts) and part_with(parts, p) == part_with(parts, q)


def gaps_of(mesh, edge, radius, crowd):
    """Return the free points of what is left of a portal, from its end with the lower half-edge on."""
    discs = crowd.of(mesh.edge_polygon[edge])
    edge = min(edge, mesh.edge_twin[edge])
    a, b = ends(mesh, edge)
    length = math.dist(a, b)
    low, high = (
        radius if mesh.is_wall_vertex[vertex] == 1 else 0.0
        for vertex in (mesh.edge_vertex[edge], mesh.edge_end[edge])
    )
    high = length - high
    along = [(b[i] - a[i]) / length for i in (0, 1)]
    cutting = [
        each for each in discs if shapely.LineString([a, b]).distance(shapely.Point(each[:2])) < each[2]
    ]
    point = tuple(mesh.portal_point[edge])
    if not cutting:
        return [point]
    cuts = []
    for x, y, disc, _ in cutting:
        t, off = (x - a[0]) * along[0] + (y - a[1]) * along[1], (x - a[0]) * along[1] - (y - a[1]) * along[0]
        half = math.sqrt(disc * disc - off * off)
        cuts.append((t - half, t + half))
    free, found, middle = low, [], (point[0] - a[0]) * along[0] + (point[1] - a[1]) * along[1]
    for begin, end in [*sorted(cuts), (high, high)]:
        if min(begin, high) - free > 1e-6:
            at = 0.5 * (free + min(begin, high))
            found.append(
                point if free < middle < min(begin, high) else (a[0] + at * along[0], a[1] + at * along[1])
            )
        free = max(free, end)
    return found


class Rounds:
    """Dijkstra over gaps that areas join, for one walker and stationary agents."""

    def __init__(self, mesh, goals, goal, radius, discs):
        self.mesh, self.goals, self.goal, self.radius = mesh, goals, goal, radius
        self.crowd = Crowd(mesh, discs, radius)
        self._free = {}

    def joined(self, polygon, p, q):
        """Return whether stationary agents leave room within a polygon; walls are for widths to say."""
        if polygon not in self._free:
            area = outline(self.mesh, polygon)
            near = self.crowd.of(polygon)
            self._free[polygon] = (
                area.difference(taken_by_walls(self.mesh, polygon, self.radius).union(taken_by_agents(near)))
                if near
                else None
            )
        free = self._free[polygon]
        return free is None or together(free, p, q)

    def search(self, x, y, start):
        """Return what the cheapest path from a point costs; inf if there is none."""
        mesh, goals, width = self.mesh, self.goals, 2.0 * self.radius
        cost, heap = {}, []

        def reach(node, point, value):
            if value < cost.get((node, point), math.inf):
                cost[(node, point)] = value
                heapq.heappush(heap, (value, node, point))

        pieces = range(goals.goal_start[self.goal], goals.goal_start[self.goal + 1])
        pieces = [
            p
            for p in pieces
            if 2.0 * goals.clearance[p] >= width or goals.vertex_start[p + 1] - goals.vertex_start[p] == 1
        ]
        best = math.inf
        for piece in pieces:
            polygon, pole = goals.piece_polygon[piece], goals.pole[piece]
            for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
                if (
                    mesh.edge_twin[edge] < 0
                    or mesh.edge_width[edge] < width
                    or is_cut_off(mesh, polygon, edge, *pole, width)
                ):
                    continue
                for point in gaps_of(mesh, edge, self.radius, self.crowd):
                    target = nearest_in_piece(goals, piece, *point)
                    if self.joined(polygon, point, target):
                        reach(int(mesh.edge_twin[edge]), point, math.dist(point, target))
            target = nearest_in_piece(goals, piece, x, y)
            if (
                polygon == start
                and not are_parted(mesh, polygon, x, y, *pole, width)
                and self.joined(polygon, (x, y), target)
            ):
                best = min(best, math.dist((x, y), target))
        done = set()
        while heap:
            value, node, point = heapq.heappop(heap)
            if (node, point) in done:
                continue
            done.add((node, point))
            polygon = int(mesh.edge_polygon[node])
            first, last = int(mesh.polygon_start[polygon]), int(mesh.polygon_start[polygon + 1])
            if (
                polygon == start
                and not is_cut_off(mesh, polygon, node, x, y, width)
                and self.joined(polygon, (x, y), point)
            ):
                best = min(best, value + math.dist((x, y), point))
            for edge in range(first, last):
                twin = int(mesh.edge_twin[edge])
                narrow = twin < 0 or edge == node or mesh.edge_width[edge] < width
                if (
                    narrow
                    or mesh.pair_width[
                        mesh.pair_start[polygon] + (node - first) * (last - first) + edge - first
                    ]
                    < width
                ):
                    continue
                for other in gaps_of(mesh, edge, self.radius, self.crowd):
                    if self.joined(polygon, point, other):
                        reach(twin, other, value + math.dist(point, other))
        return best

    def is_open(self, cells, piece, x, y, start):
        """Return whether a corridor, goal's end first, can be walked through."""
        here, polygon = {(x, y)}, start
        for edge in reversed(cells):
            points = gaps_of(self.mesh, edge, self.radius, self.crowd)
            here = {q for p, q in itertools.product(here, points) if self.joined(polygon, p, q)}
            polygon = self.mesh.edge_polygon[self.mesh.edge_twin[edge]]
        return any(self.joined(polygon, p, nearest_in_piece(self.goals, piece, *p)) for p in here)
