"""Twins of the kernels about goals.

Kernels: nearest_in_piece, arrived_piece, arrived_many, farthest_on_rim, find_rims; target_in_piece and
farthest_on_lattice, which are checked by what they promise.
"""

import math

import numpy as np
import shapely
import shapely.ops


def pieces_of(goals, goal):
    """The pieces of a goal."""
    return range(goals.goal_start[goal], goals.goal_start[goal + 1])


def shape_of(goals, piece):
    """A piece as a shapely point or polygon."""
    corners = goals.vertex[goals.vertex_start[piece] : goals.vertex_start[piece + 1]]
    return shapely.Point(corners[0]) if len(corners) == 1 else shapely.Polygon(corners)


def room_on_rim(ground, shape, rounds=12, count=400):
    """The greatest distance to the boundary of the ground on the rim of a piece:
    sampled, and again round the best sample.
    """
    best = 0.0
    line = shape.exterior
    low, high = 0.0, line.length
    for _ in range(rounds):
        at = np.linspace(low, high, count)
        room = shapely.distance(ground.boundary, shapely.line_interpolate_point(line, at))
        k, step = int(room.argmax()), (high - low) / (count - 1)
        best = max(best, float(room[k]))
        low, high = max(0.0, at[k] - 2.0 * step), min(line.length, at[k] + 2.0 * step)
    return best


def nearest_in_piece(goals, piece, x, y):
    """The point of a piece that is nearest to a point."""
    _, nearest = shapely.ops.nearest_points(shapely.Point(x, y), shape_of(goals, piece))
    return nearest.x, nearest.y


def arrived_pieces(ground, goals, goal, polygon, x, y):
    """All pieces at which a centre has arrived:
    points by their own goal's reach and in sight, regions by holding it, on their rims from next door too.
    """
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


def rim_of(ground, goals, goal, piece, known=0.5, tolerance=2e-7):
    """The parts of the sides of a piece over which paths come in, as (corner, from, to,
    distance to the nearest wall, at most `known`).

    What lies on the boundary of the ground or of another piece of the goal is left out. Walls count that one
    gets to without going farther away than they are.
    """
    corners = goals.vertex[goals.vertex_start[piece] : goals.vertex_start[piece + 1]]
    first = int(goals.vertex_start[piece])
    if len(corners) == 1:
        return [(first, 0.0, 0.0, _clear_beside(ground, shapely.Point(corners[0]), known))]
    others = [shape_of(goals, other) for other in pieces_of(goals, goal) if other != piece]
    shut = shapely.union_all(
        [ground.boundary, *(shape.exterior for shape in others if shape.geom_type == "Polygon")]
    ).buffer(tolerance, cap_style="flat")
    parts = []
    for i, (a, b) in enumerate(zip(corners, np.roll(corners, -1, axis=0), strict=True)):
        for line in shapely.get_parts(shapely.LineString([a, b]) - shut):
            if line.length > 1e-6:
                low, high = sorted(math.dist(a, end) for end in (line.coords[0], line.coords[-1]))
                parts.append((first + i, low, high, _clear_beside(ground, line, known)))
    return sorted(parts)


def _clear_beside(ground, shape, known):
    """The distance from a shape on the ground to the walls of the part of the ground round it,
    at most `known`.
    """
    near = ground & shape.buffer(known, quad_segs=32)
    around = shapely.union_all([part for part in shapely.get_parts(near) if part.distance(shape) < 1e-7])
    return min(known, shape.distance(around.boundary & ground.boundary.buffer(1e-6)))
