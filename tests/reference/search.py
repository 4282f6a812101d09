"""Twin of the search: Dijkstra's algorithm over the portals, written from the definition of what a way costs.

Kernels: begin_search, advance_search, corridor_size, copy_corridor, serve_slots.
"""

import heapq
import itertools
import math

from tests.reference.goals import nearest_in_piece, pieces_of
from tests.reference.heights import step_time
from tests.reference.mesh import diagonals, pair_width, widest_from_edge
from tests.reference.plane import orientation


def edges_of(mesh, polygon):
    """The half-edges of a polygon."""
    return range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1])


def in_plan(mesh, polygon, here, there):
    """What a straight step costs that is as dear as it is long in plan."""
    return math.dist(here, there)


def in_time(mesh, polygon, here, there):
    """What a straight step costs in time, in metres of the fastest ground."""
    step = (there[0] - here[0], there[1] - here[1])
    return float(mesh.polygon_pace.max()) * step_time(mesh, polygon, *step) if step != (0.0, 0.0) else 0.0


def costs_to_goal(mesh, goals, goal, width, price=in_plan):
    """For every half-edge from which the goal can be had: the least cost (m) from its portal's point.

    `price` is what a straight step in a polygon costs, from here to there. Portals shorter than the body is wide, and portals that a shorter diagonal parts, cannot be crossed one after the other.
    """
    best = {}
    queue = []
    for piece in pieces_of(goals, goal):
        if is_too_narrow(goals, piece, width):
            continue
        polygon = int(goals.piece_polygon[piece])
        for edge in edges_of(mesh, polygon):
            if mesh.edge_twin[edge] >= 0 and mesh.edge_width[edge] >= width and widest_from_edge(mesh, polygon, edge, *goals.pole[piece].tolist()) >= width:
                point = mesh.portal_point[edge].tolist()
                heapq.heappush(queue, (price(mesh, polygon, point, nearest_in_piece(goals, piece, *point)), int(mesh.edge_twin[edge])))
    while queue:
        cost, node = heapq.heappop(queue)
        if node in best:
            continue
        best[node] = cost
        polygon = int(mesh.edge_polygon[node])
        for edge in edges_of(mesh, polygon):
            if mesh.edge_twin[edge] < 0 or edge == node or mesh.edge_width[edge] < width:
                continue
            if pair_width(mesh, polygon, edge - mesh.polygon_start[polygon], node - mesh.polygon_start[polygon]) >= width:
                step = price(mesh, polygon, mesh.portal_point[edge].tolist(), mesh.portal_point[node].tolist())
                heapq.heappush(queue, (cost + step, int(mesh.edge_twin[edge])))
    return best


def is_too_narrow(goals, piece, width):
    """Whether a body does not fit into a piece of a region; points are reached as they are."""
    return 2.0 * goals.room[piece] < width and goals.vertex_start[piece + 1] - goals.vertex_start[piece] > 1


def least_total(mesh, goals, goal, width, x, y, polygon, price=in_plan):
    """The cost of the best way from a point, inf if there is none."""
    totals = [math.inf]
    for piece in pieces_of(goals, goal):
        if goals.piece_polygon[piece] != polygon or is_too_narrow(goals, piece, width):
            continue
        corners = [mesh.vertex[mesh.edge_vertex[e], :2].tolist() for e in edges_of(mesh, polygon)]
        pole = goals.pole[piece].tolist()
        parted = any(
            length < width and (orientation(*corners[i], *corners[j], x, y) < 0) != (orientation(*corners[i], *corners[j], *pole) < 0)
            for i, j, length in diagonals(mesh, polygon)
        )
        if not parted:
            totals.append(price(mesh, polygon, (x, y), nearest_in_piece(goals, piece, x, y)))
    costs = costs_to_goal(mesh, goals, goal, width, price)
    for edge in edges_of(mesh, polygon):
        if edge in costs and widest_from_edge(mesh, polygon, edge, x, y) >= width:
            totals.append(costs[edge] + price(mesh, polygon, (x, y), mesh.portal_point[edge].tolist()))
    return min(totals)


def cost_of_corridor(mesh, goals, portals, piece, x, y):
    """What a corridor costs: from the start over the points of its portals to the piece of the goal."""
    points = [(x, y), *(mesh.portal_point[edge].tolist() for edge in portals)]
    points.append(nearest_in_piece(goals, piece, *points[-1]))
    return sum(math.dist(a, b) for a, b in itertools.pairwise(points))


def is_connected(mesh, goals, portals, polygon, piece):
    """Whether the portals lead from a polygon to that of a piece of the goal, each out of the polygon that the last led into."""
    for edge in portals:
        if mesh.edge_polygon[edge] != polygon or mesh.edge_twin[edge] < 0:
            return False
        polygon = mesh.edge_polygon[mesh.edge_twin[edge]]
    return polygon == goals.piece_polygon[piece]
