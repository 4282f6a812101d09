"""Twins of steering: the whole path is laid instead of its first part, and a guess looks at every portal.

Kernels: next_corner, steer_many, guess_many.
"""

import math

import numpy as np
import shapely

from tests.reference.funnel import shortest_in_corridor


def next_corner(mesh, portals, start, goal):
    """Where a point steers: the first corner of the shortest way through its corridor."""
    return shortest_in_corridor(mesh, portals, start, goal)[1][1]


def guess(mesh, goals, polygon, start, width, passed=()):
    """Where an agent goes that guesses: of very many points of all portals that are left the one whose
    direction is most that of the nearest point of the goal; None if no portal is left. In a polygon in which
    some of the goal is, there, unless another piece is nearer and straight over a portal.
    """
    pieces = [_outline(goals, piece) for piece in range(len(goals.piece_polygon))]
    here = [each for each, there in zip(pieces, goals.piece_polygon) if there == polygon]
    nearest = _nearest(pieces, start)
    best, found = _best_of_portals(mesh, polygon, start, width, passed, np.subtract(nearest, start))
    if here:
        is_nearer = math.dist(nearest, start) < math.dist(_nearest(here, start), start)
        return found if is_nearer and best > 1 - 1e-6 else _nearest(here, start)
    return found


def _best_of_portals(mesh, polygon, start, width, passed, towards):
    """The greatest cosine of the angle to a direction, and the point of a portal that has it."""
    best, found = -math.inf, None
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        twin = mesh.edge_twin[edge]
        if twin < 0 or mesh.edge_width[edge] < width or mesh.edge_polygon[twin] in passed:
            continue
        ends = mesh.vertex[[mesh.edge_vertex[edge], mesh.edge_end[edge]], :2]
        along = (ends[1] - ends[0]) / math.dist(*ends)
        room = max(0.0, min(math.dist(*ends), mesh.edge_width[edge]) / 2 - width / 2)
        if along[1] * towards[0] - along[0] * towards[1] <= 0.0:
            room = 0.0  # the portal leads away from the goal: its middle
        points = mesh.portal_point[edge] + np.linspace(-room, room, 8001)[:, None] * along
        towards_points = points - start
        scores = towards_points @ towards / np.hypot(*towards_points.T) / math.hypot(*towards)
        if scores.max() > best:
            best, found = scores.max(), tuple(points[scores.argmax()])
    return best, found


def _nearest(pieces, start):
    """The point of pieces that is nearest as the crow flies."""
    return shapely.shortest_line(shapely.Point(start), shapely.union_all(pieces)).coords[1]


def _outline(goals, piece):
    """A piece of a goal: a point or a polygon."""
    corners = goals.vertex[goals.vertex_start[piece] : goals.vertex_start[piece + 1]]
    return shapely.Polygon(corners) if len(corners) > 1 else shapely.Point(corners[0])
