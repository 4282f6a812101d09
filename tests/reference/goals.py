"""Twins of the kernels about goals.

Kernels: nearest_in_piece, arrived_piece, arrived_many; target_in_piece, which is checked by what it promises.
"""

import math

import shapely
import shapely.ops


def pieces_of(goals, goal):
    """The pieces of a goal."""
    return range(goals.goal_start[goal], goals.goal_start[goal + 1])


def shape_of(goals, piece):
    """A piece as a shapely point or polygon."""
    corners = goals.vertex[goals.vertex_start[piece] : goals.vertex_start[piece + 1]]
    return shapely.Point(corners[0]) if len(corners) == 1 else shapely.Polygon(corners)


def nearest_in_piece(goals, piece, x, y):
    """The point of a piece that is nearest to a point."""
    _, nearest = shapely.ops.nearest_points(shapely.Point(x, y), shape_of(goals, piece))
    return nearest.x, nearest.y


def arrived_pieces(ground, goals, goal, polygon, x, y):
    """All pieces at which a centre has arrived: points by their own goal's reach and in sight, regions by holding it, on their rims from next door too."""
    here, found = shapely.Point(x, y), []
    for piece in pieces_of(goals, goal):
        shape = shape_of(goals, piece)
        if shape.geom_type == "Point":
            is_near = math.dist((x, y), (shape.x, shape.y)) <= goals.reach[goals.piece_source[piece]]
            if is_near and ground.covers(shapely.LineString([(x, y), shape])):
                found.append(piece)
        elif goals.piece_polygon[piece] == polygon:
            if shape.covers(here):
                found.append(piece)
        elif shape.distance(here) <= 1e-7 and ground.covers(here):
            found.append(piece)
    return found
