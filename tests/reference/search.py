"""Twin of the search: Dijkstra's algorithm over points of portals,
written from the definition of what a path costs.

Kernels: begin_search, advance_search, corridor_size, copy_corridor, serve_slots.
"""

import heapq
import math

from crowdsim.navigation.goals.goals import target_in_piece
from crowdsim.navigation.mesh.mesh import make_flood
from tests.reference.goals import pieces_of
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


def points_of(mesh, edge):
    """The points of a portal, at most 1 m apart and at most 24: the outermost 0.2 m from ends at walls,
    5 cm from free ends, half a metre from those where the pace changes.
    """
    begin, end = (mesh.vertex[v, :2] for v in (mesh.edge_vertex[edge], mesh.edge_end[edge]))
    here, there = (mesh.polygon_pace[mesh.edge_polygon[e]].tolist() for e in (edge, mesh.edge_twin[edge]))
    length, free = math.dist(begin, end), 0.05 if here == there else 0.5
    first, last = (
        0.2 if mesh.is_wall_vertex[v] == 1 else free for v in (mesh.edge_vertex[edge], mesh.edge_end[edge])
    )
    between = length - first - last
    if between <= 0.25 * (first + last):
        return [tuple((0.5 * (begin + end)).tolist())]
    count = 1 + math.ceil(between / max(1.0, between / 23))
    return [
        tuple((begin + (first + k * between / (count - 1)) / length * (end - begin)).tolist())
        for k in range(count)
    ]


def entry_of(mesh, goals, piece, width, here):
    """Where an agent comes into a piece of a goal from a point."""
    return target_in_piece(mesh, goals, piece, *here, 0.5 * width, make_flood(mesh.polygon_count))


def costs_to_goal(mesh, goals, goal, width, price=in_plan):
    """For every point of every half-edge from which the goal can be had:
    the least cost (m) from there, by (half-edge, number of the point).

    `price` is what a straight step in a polygon costs, from here to there. Portals shorter than the agent is
    wide, and portals that a shorter diagonal parts, cannot be crossed one after the other.
    """
    best = {}
    queue = []
    points = {
        int(edge): points_of(mesh, edge) for edge in range(mesh.edge_count) if mesh.edge_twin[edge] >= 0
    }
    for piece in pieces_of(goals, goal):
        if is_too_narrow(goals, piece, width):
            continue
        polygon = int(goals.piece_polygon[piece])
        for edge in edges_of(mesh, polygon):
            twin = int(mesh.edge_twin[edge])
            if (
                twin >= 0
                and mesh.edge_width[edge] >= width
                and widest_from_edge(mesh, polygon, edge, *goals.pole[piece].tolist()) >= width
            ):
                for k, point in enumerate(points[twin]):
                    heapq.heappush(
                        queue,
                        (price(mesh, polygon, point, entry_of(mesh, goals, piece, width, point)), twin, k),
                    )
    while queue:
        cost, node, k = heapq.heappop(queue)
        if (node, k) in best:
            continue
        best[node, k] = cost
        polygon = int(mesh.edge_polygon[node])
        for edge in edges_of(mesh, polygon):
            twin = int(mesh.edge_twin[edge])
            if twin < 0 or edge == node or mesh.edge_width[edge] < width:
                continue
            if (
                pair_width(
                    mesh, polygon, edge - mesh.polygon_start[polygon], node - mesh.polygon_start[polygon]
                )
                >= width
            ):
                for other, point in enumerate(points[twin]):
                    if (twin, other) not in best:
                        heapq.heappush(
                            queue, (cost + price(mesh, polygon, point, points[node][k]), twin, other)
                        )
    return best


def is_too_narrow(goals, piece, width):
    """Whether an agent does not fit into a piece of a region; points are reached as they are."""
    return (
        2.0 * goals.clearance[piece] < width and goals.vertex_start[piece + 1] - goals.vertex_start[piece] > 1
    )


def least_total(mesh, goals, goal, width, x, y, polygon, price=in_plan, costs=None):
    """The cost of the best path from a point, inf if there is none; `costs` are those to the goal, if they
    are known.
    """
    totals = [math.inf]
    for piece in pieces_of(goals, goal):
        if goals.piece_polygon[piece] != polygon or is_too_narrow(goals, piece, width):
            continue
        corners = [mesh.vertex[mesh.edge_vertex[e], :2].tolist() for e in edges_of(mesh, polygon)]
        pole = goals.pole[piece].tolist()
        parted = any(
            length < width
            and (orientation(*corners[i], *corners[j], x, y) < 0)
            != (orientation(*corners[i], *corners[j], *pole) < 0)
            for i, j, length in diagonals(mesh, polygon)
        )
        if not parted:
            totals.append(price(mesh, polygon, (x, y), entry_of(mesh, goals, piece, width, (x, y))))
    costs = costs_to_goal(mesh, goals, goal, width, price) if costs is None else costs
    for (edge, k), cost in costs.items():
        if mesh.edge_polygon[edge] == polygon and widest_from_edge(mesh, polygon, edge, x, y) >= width:
            totals.append(cost + price(mesh, polygon, (x, y), points_of(mesh, edge)[k]))
    return min(totals)


def cost_of_corridor(mesh, goals, portals, piece, width, x, y):
    """What a corridor costs at least: from the start over one point of each of its portals to the piece of
    the goal.
    """
    here = {(x, y): 0.0}
    for edge in portals:
        here = {
            point: min(cost + math.dist(before, point) for before, cost in here.items())
            for point in points_of(mesh, edge)
        }
    return min(
        cost + math.dist(point, entry_of(mesh, goals, piece, width, point)) for point, cost in here.items()
    )


def is_connected(mesh, goals, portals, polygon, piece):
    """Whether the portals lead from a polygon to that of a piece of the goal,
    each out of the polygon that the last led into.
    """
    for edge in portals:
        if mesh.edge_polygon[edge] != polygon or mesh.edge_twin[edge] < 0:
            return False
        polygon = mesh.edge_polygon[mesh.edge_twin[edge]]
    return polygon == goals.piece_polygon[piece]
