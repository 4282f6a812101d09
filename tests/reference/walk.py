"""Twins of walking: the wall that a step meets is looked for among all walls,
and an agent is pushed out of whatever wall is nearest.

Kernels: walk_point, walk_disc, walk_many.
"""

import math

from tests.reference.mesh import edge_ends
from tests.reference.plane import nearest_on_segment


def boundary_of(mesh):
    """All boundary edges of a mesh as (ax, ay, bx, by), free ground on the left."""
    return [edge_ends(mesh, edge) for edge in range(mesh.edge_count) if mesh.edge_twin[edge] < 0]


def _first_wall(boundary, x, y, to_x, to_y):
    """The boundary edge that the path from (x, y) crosses first, from inside to outside,
    and after which share of it.
    """
    best, share = None, math.inf
    for wall in boundary:
        ax, ay, bx, by = wall
        dx, dy, wx, wy = to_x - x, to_y - y, bx - ax, by - ay
        beyond = wx * (to_y - ay) - wy * (to_x - ax)
        before = wx * (y - ay) - wy * (x - ax)
        if beyond >= -1e-13 or before < -1e-9 * math.hypot(wx, wy):
            continue
        here = max(0.0, before) / (max(0.0, before) - beyond)
        along = ((x + here * dx - ax) * wx + (y + here * dy - ay) * wy) / (wx * wx + wy * wy)
        if -1e-9 <= along <= 1.0 + 1e-9 and here < share:
            best, share = wall, here
    return best, share


def walk_point(boundary, x, y, to_x, to_y):
    """Straight on to the first wall, then along it with the part of the rest that is along it, and so on;
    at the ninth wall it stays.
    """
    for slide in range(9):
        wall, share = _first_wall(boundary, x, y, to_x, to_y)
        if wall is None:
            return to_x, to_y
        x, y = x + share * (to_x - x), y + share * (to_y - y)
        if slide == 8:
            break
        ax, ay, bx, by = wall
        wx, wy = bx - ax, by - ay
        along = ((to_x - x) * wx + (to_y - y) * wy) / (wx * wx + wy * wy)
        x, y = x - 1e-12 * wy, y + 1e-12 * wx
        to_x, to_y = x + along * wx, y + along * wy
    return x, y


def nearest_wall(boundary, x, y):
    """The distance of the nearest wall and its point that is nearest."""
    best, at = math.inf, (x, y)
    for wall in boundary:
        px, py = map(float, nearest_on_segment(x, y, *wall))
        if math.hypot(px - x, py - y) < best:
            best, at = math.hypot(px - x, py - y), (px, py)
    return best, at


def walk_disc(boundary, x, y, to_x, to_y, radius):
    """In equal steps of at most half a radius; after each, pushed out of the nearest wall until it is clear.
    None where it finds no place in six pushes.
    """
    steps = max(1, math.ceil(math.hypot(to_x - x, to_y - y) / (0.5 * radius)))
    dx, dy = (to_x - x) / steps, (to_y - y) / steps
    for _ in range(steps):
        x, y = walk_point(boundary, x, y, x + dx, y + dy)
        for _ in range(7):
            clear, (cx, cy) = nearest_wall(boundary, x, y)
            if clear >= radius - 1e-7:
                break
            assert clear > 1e-6
            x, y = walk_point(boundary, x, y, cx + (x - cx) / clear * radius, cy + (y - cy) / clear * radius)
        else:
            return None
    return x, y
