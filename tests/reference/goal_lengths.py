"""Lengths to goals from points along portals, as slow obvious code: see crowdsim.navigation.goals.lengths."""

import heapq
import math

from tests.reference.goals import nearest_in_piece


def cost(mesh, polygon, dx, dy):
    """Return the time of a straight step in a polygon, over that of a metre on level ground."""
    climb = float(mesh.polygon_slope[polygon] @ (dx, dy))
    up, down = mesh.polygon_pace[polygon].tolist()
    pace = up if climb > 0 else down if climb < 0 else max(up, down)
    return math.hypot(math.hypot(dx, dy), climb) / pace


def points_of(mesh, edge, radius):
    """Return the points along a portal: at most a metre apart, a radius from walls; eight at most."""
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    begin, end = mesh.vertex[a, :2], mesh.vertex[b, :2]
    length = math.dist(begin, end)
    low = radius if mesh.is_wall_vertex[a] == 1 else 0.0
    high = length - (radius if mesh.is_wall_vertex[b] == 1 else 0.0)
    if high <= low:
        places = [(low + high) / 2]
    else:
        count = min(8, 2 + int(high - low))
        places = [low + (high - low) * i / (count - 1) for i in range(count)]
    return [tuple((begin + (end - begin) * place / length).tolist()) for place in places]


def lay(mesh, radius):
    """Return the points of each portal that is wide enough, by the lower half-edge."""
    return {
        edge: points_of(mesh, edge, radius)
        for edge in range(mesh.edge_count)
        if mesh.edge_twin[edge] > edge and mesh.edge_width[edge] >= 2 * radius
    }


def spread(mesh, goals, goal, laid, radius):
    """Return the lengths to a goal by (half-edge, number of the point): Dijkstra's search."""
    least, heap = {}, []

    def tell(node, length):
        if length < least.get(node, math.inf):
            least[node] = length
            heapq.heappush(heap, (length, node))

    def around(polygon):
        for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
            own = min(edge, int(mesh.edge_twin[edge]))
            if own in laid:
                yield edge, own

    for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
        polygon = int(goals.piece_polygon[piece])
        for _, own in around(polygon):
            for number, (x, y) in enumerate(laid[own]):
                tx, ty = nearest_in_piece(goals, piece, x, y)
                tell((own, number), cost(mesh, polygon, tx - x, ty - y))
    while heap:
        length, node = heapq.heappop(heap)
        if length > least[node]:
            continue
        x, y = laid[node[0]][node[1]]
        for side in (node[0], int(mesh.edge_twin[node[0]])):
            polygon = int(mesh.edge_polygon[side])
            first, sides = (
                mesh.polygon_start[polygon],
                int(mesh.polygon_start[polygon + 1] - mesh.polygon_start[polygon]),
            )
            for edge, own in around(polygon):
                gap = mesh.pair_width[mesh.pair_start[polygon] + (side - first) * sides + edge - first]
                if own == node[0] or gap < 2 * radius:
                    continue
                for number, (fx, fy) in enumerate(laid[own]):
                    tell((own, number), length + cost(mesh, polygon, x - fx, y - fy))
    return least


def length_from(mesh, goals, goal, laid, least, polygon, x, y):
    """Return how far it is to a goal from a place in a polygon."""
    found = [math.inf]
    for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
        if goals.piece_polygon[piece] == polygon:
            tx, ty = nearest_in_piece(goals, piece, x, y)
            found.append(cost(mesh, polygon, tx - x, ty - y))
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        own = min(edge, int(mesh.edge_twin[edge]))
        for number, (px, py) in enumerate(laid.get(own, ())):
            found.append(cost(mesh, polygon, px - x, py - y) + least.get((own, number), math.inf))
    return min(found)
