"""Twin of the search over areas: Dijkstra's algorithm over nodes and points, written from the definitions.

Kernels: measure_areas, measure_over_centres, begin_area_search, advance_area_search, serve_area_slots.
"""

import heapq
import math

from crowdsim.navigation.search.portal_points import place_points
from tests.reference.mesh import pair_width, widest_from_edge
from tests.reference.search import edges_of, entry_of, is_too_narrow


def squares_of(mesh, size):
    """The square and floor of each polygon, by the mean of its corners."""
    found = []
    for polygon in range(mesh.polygon_count):
        corners = [mesh.vertex[mesh.edge_vertex[edge]] for edge in edges_of(mesh, polygon)]
        place = tuple(
            math.floor(sum(corner[axis] for corner in corners) / len(corners) / size) for axis in (0, 1)
        )
        found.append((*place, int(mesh.polygon_layer[polygon])))
    return found


def areas_of(mesh, size):
    """The area of each polygon: the set of polygons of its square that one gets to without leaving it."""
    square, found = squares_of(mesh, size), {}
    for first in range(mesh.polygon_count):
        if first in found:
            continue
        reached, ahead = {first}, [first]
        while ahead:
            polygon = ahead.pop()
            for edge in edges_of(mesh, polygon):
                twin = int(mesh.edge_twin[edge])
                beyond = int(mesh.edge_polygon[twin]) if twin >= 0 else polygon
                if square[beyond] == square[first] and beyond not in reached:
                    reached.add(beyond)
                    ahead.append(beyond)
        found |= dict.fromkeys(reached, first)
    return [found[polygon] for polygon in range(mesh.polygon_count)]


class Twin:
    """The graph of a mesh for one width, and paths over it to one goal."""

    def __init__(self, mesh, goals, goal, width, size, apart, most, node_apart):
        self.mesh, self.goals, self.goal, self.width = mesh, goals, goal, width
        self.area = areas_of(mesh, size)
        self.points = place_points(mesh, apart, most)
        self.node_points = self._node_points(node_apart)

    def area_of(self, edge):
        """The area of the polygon of a half-edge."""
        return self.area[self.mesh.edge_polygon[edge]]

    def is_border(self, edge):
        """Whether a portal lies between two areas."""
        return self.area_of(edge) != self.area_of(self.mesh.edge_twin[edge])

    def _node_points(self, apart):
        """The points of nodes: of each portal between areas those in the middles of equal parts of it."""
        mesh, found = self.mesh, set()
        for edge in range(mesh.edge_count):
            twin = int(mesh.edge_twin[edge])
            if not edge < twin or not self.is_border(edge):
                continue
            first, last = self.points.start[edge], self.points.start[edge + 1]
            begin, end = mesh.vertex[mesh.edge_vertex[edge], :2], mesh.vertex[mesh.edge_end[edge], :2]
            parts = min(max(1, round(math.dist(begin, end) / apart)), last - first)
            for part in range(parts):
                chosen = first + (2 * part + 1) * (last - first) // (2 * parts)
                same = [
                    other
                    for other in range(self.points.start[twin], self.points.start[twin + 1])
                    if tuple(self.points.point[other]) == tuple(self.points.point[chosen])
                ]
                found |= {int(chosen), *same}
        return found

    def before(self, point):
        """The points from which one comes straight to a point, with what that costs."""
        mesh, points = self.mesh, self.points
        out = int(points.edge[point])
        polygon = int(mesh.edge_polygon[out])
        first = int(mesh.polygon_start[polygon])
        for edge in edges_of(mesh, polygon):
            twin = int(mesh.edge_twin[edge])
            if twin < 0 or edge == out or mesh.edge_width[edge] < self.width:
                continue
            if pair_width(mesh, polygon, edge - first, out - first) >= self.width:
                for other in range(points.start[twin], points.start[twin + 1]):
                    yield other, math.dist(points.point[other], points.point[point])

    def from_goal(self, areas):
        """Costs at points on portals beside pieces of the goal that lie in some areas."""
        mesh, goals, found = self.mesh, self.goals, {}
        for piece in range(goals.goal_start[self.goal], goals.goal_start[self.goal + 1]):
            polygon = int(goals.piece_polygon[piece])
            if is_too_narrow(goals, piece, self.width) or self.area[polygon] not in areas:
                continue
            for edge in edges_of(mesh, polygon):
                twin = int(mesh.edge_twin[edge])
                pole = goals.pole[piece].tolist()
                if (
                    twin < 0
                    or mesh.edge_width[edge] < self.width
                    or widest_from_edge(mesh, polygon, edge, *pole) < self.width
                ):
                    continue
                for point in range(self.points.start[twin], self.points.start[twin + 1]):
                    here = tuple(self.points.point[point].tolist())
                    cost = math.dist(here, entry_of(mesh, goals, piece, self.width, here))
                    found[point] = min(found.get(point, math.inf), cost)
        return found

    def spread(self, costs, goes_on):
        """Costs at all points that are reached backwards from some, on from those for which `goes_on`."""
        queue, best = [(cost, point) for point, cost in costs.items()], {}
        heapq.heapify(queue)
        while queue:
            cost, point = heapq.heappop(queue)
            if point in best:
                continue
            best[point] = cost
            if goes_on(point):
                for other, step in self.before(point):
                    heapq.heappush(queue, (cost + step, other))
        return best

    def _within(self, costs):
        """Costs as far as one gets without crossing from area to area."""
        return self.spread(costs, lambda point: not self.is_border(self.points.edge[point]))

    def within_goal(self):
        """Costs at all points from which the goal is had without crossing from area to area."""
        return self._within(self.from_goal(set(self.area)))

    def to_nodes(self):
        """What a path over areas costs from each node to the goal."""
        is_node = self.node_points.__contains__
        goal_areas = {
            self.area[polygon]
            for polygon in self.goals.piece_polygon[
                self.goals.goal_start[self.goal] : self.goals.goal_start[self.goal + 1]
            ]
        }
        begun = {
            point: cost for point, cost in self._within(self.from_goal(goal_areas)).items() if is_node(point)
        }
        ahead, best = [(cost, point) for point, cost in begun.items()], {}
        heapq.heapify(ahead)
        while ahead:
            cost, node = heapq.heappop(ahead)
            if node in best:
                continue
            best[node] = cost
            if self.mesh.edge_width[self.points.edge[node]] < self.width:
                continue
            near = self._within(dict(self.before(node)))
            for other, through in near.items():
                if is_node(other) and self.is_border(self.points.edge[other]):
                    heapq.heappush(ahead, (cost + through, other))
        return best

    def total(self, x, y, polygon):
        """What the best path over areas from a point costs that leaves its area; inf if there is none."""
        mesh, points, best = self.mesh, self.points, math.inf
        for node, cost in self.to_nodes().items():
            if self.area_of(points.edge[node]) != self.area[polygon]:
                continue
            known = self.spread({node: 0.0}, lambda point, end=node: (
                point == end or not self.is_border(points.edge[point])
            ))  # fmt: skip
            for point, through in known.items():
                edge = int(points.edge[point])
                if (
                    mesh.edge_polygon[edge] == polygon
                    and widest_from_edge(mesh, polygon, edge, x, y) >= self.width
                ):
                    best = min(best, cost + through + math.dist((x, y), points.point[point]))
        return best
