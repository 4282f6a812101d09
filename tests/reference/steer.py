"""Twins of steering: the whole path is laid instead of its first part, and a guess looks at every portal.

Kernels: next_corner, steer_many, guess_many.
"""

import math

from tests.reference.funnel import shortest_in_corridor


def next_corner(mesh, portals, start, goal):
    """Where a point steers: the first corner of the shortest way through its corridor."""
    return shortest_in_corridor(mesh, portals, start, goal)[1][1]


def guess(mesh, poles, polygon, start, width, passed, goal_polygons=()):
    """The portal's point whose direction is most that of the nearest pole of the goal;
    None if none is left. Of a goal of points, in the polygons `goal_polygons`, the nearest in `polygon`.
    """
    here = [pole for pole, there in zip(poles, goal_polygons) if there == polygon]
    if here:
        return tuple(min(here, key=lambda p: math.dist(p, start)))
    pole = min(poles, key=lambda p: math.dist(p, start))
    best, found = -math.inf, None
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        twin = mesh.edge_twin[edge]
        if twin < 0 or mesh.edge_width[edge] < width or mesh.edge_polygon[twin] in passed:
            continue
        point = mesh.portal_point[edge].tolist()
        towards = [p - s for p, s in zip(point, start)]
        score = (towards[0] * (pole[0] - start[0]) + towards[1] * (pole[1] - start[1])) / math.hypot(*towards)
        if score > best:
            best, found = score, tuple(point)
    return found
