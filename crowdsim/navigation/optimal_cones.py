"""Geometry of cones: tangents at roots, limits at posts, and how long a way by a cone is at least.

Roots and posts are discs of the body's radius (points where nobody has to keep clear), so a straight way is a common tangent, and the way bends along
arcs; see `crowdsim.navigation.funnel.tangent`. A wave, which leaves a side of the goal at a right angle, has one direction, and its limits are measured by
how far aside they are, to the left of the side's first corner.
"""

from __future__ import annotations

import numpy as np

from crowdsim.geometry.plane import angle_between, distance_to_segment, orientation
from crowdsim.kernels import inlined_kernel
from crowdsim.navigation.funnel import tangent
from crowdsim.navigation.optimal_slots import NO_POST, STRAIGHT, WAVE_ROOT

LEAST_SLACK_M = 1e-9  # What rounding may add to a lower bound at map coordinates.


@inlined_kernel
def disc_radius(mesh, width):
    """Return the radius (m) at which ways of a body of some width are rounded while they are looked for.

    Where there are vertices in free ground, not every wall that a body bends round is an end of a portal that its way crosses (`crowdsim.navigation.beside`).
    Ways are looked for there as those of a point through what the body can pass, and rounded by the funnel.
    """
    return 0.5 * width if mesh.vertex_room.size == 0 else 0.0


@inlined_kernel
def post_side(mesh, vertex, is_left, radius):
    """Return the signed radius of a vertex as a post on the left or on the right."""
    if mesh.is_wall_vertex[vertex] == 0:
        return 0.0
    return radius if is_left else -radius


@inlined_kernel
def aim(mesh, vertex, is_left, x, y, side, radius):
    """Return the direction from a root along the tangent to a post; (0, 0) if the post is the root. A unit vector for bodies, not for points."""
    px, py = mesh.vertex[vertex, 0], mesh.vertex[vertex, 1]
    if radius <= 0.0 or (px == x and py == y):
        return px - x, py - y
    ux, uy, _ = tangent(x, y, side, px, py, post_side(mesh, vertex, is_left, radius))
    return ux, uy


@inlined_kernel
def aside(mesh, vertex, is_left, x, y, nx, ny, radius):
    """Return how far aside (m) a wave passes a post that it touches, and whether it does: it begins where bodies can be, clear of what is behind its begin."""
    dx, dy = mesh.vertex[vertex, 0] - x, mesh.vertex[vertex, 1] - y
    is_ahead = nx * dx + ny * dy > 0.0
    return nx * dy - ny * dx - (post_side(mesh, vertex, is_left, radius) if is_ahead else 0.0), is_ahead


@inlined_kernel
def way_to_disc(root, x, y, side, in_x, in_y, tx, ty, t_side):
    """Return the way (m) from where it reaches a root, round it, and straight to a disc, and the direction there as (way, ux, uy)."""
    if root == WAVE_ROOT:
        return in_x * (tx - x) + in_y * (ty - y), in_x, in_y
    if side == 0.0 and t_side == 0.0:
        return np.hypot(tx - x, ty - y), tx - x, ty - y  # between points no arc asks for a unit vector
    ux, uy, reach = tangent(x, y, side, tx, ty, t_side)
    if side == 0.0:
        return reach, ux, uy
    return reach + abs(side) * angle_between(in_x, in_y, ux, uy), ux, uy


@inlined_kernel
def limit_on_edge(mesh, edge, post, at_left, root, x, y, side, in_x, in_y, lx, ly, radius):
    """Return the point (x, y) of an edge beyond which no way of a cone crosses it on one side."""
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    ax, ay = mesh.vertex[a, 0], mesh.vertex[a, 1]
    dx, dy = mesh.vertex[b, 0] - ax, mesh.vertex[b, 1] - ay
    end = a if at_left else b
    share = 0.0 if at_left else 1.0
    is_open = root != WAVE_ROOT and lx == 0.0 and ly == 0.0
    if is_open or post == end:
        if radius > 0.0 and mesh.is_wall_vertex[end] == 1:
            inset = min(1.0, radius / np.hypot(dx, dy))
            share = inset if at_left else 1.0 - inset
    else:
        if root == WAVE_ROOT:
            across = in_x * dy - in_y * dx
            start = in_x * (ay - y) - in_y * (ax - x) - lx
        else:
            fx, fy = x, y
            if side != 0.0:
                fx, fy = x + side * ly, y - side * lx
            across = lx * dy - ly * dx
            start = lx * (ay - fy) - ly * (ax - fx)
        if across != 0.0:
            share = min(1.0, max(0.0, -start / across))
    return ax + share * dx, ay + share * dy


@inlined_kernel
def least_way_to_edge(root, x, y, side, in_x, in_y, qx, qy, sx, sy):
    """Return the least distance (m) from a root to the part q s of an edge, arcs not counted."""
    if root == WAVE_ROOT:
        return max(0.0, min(in_x * (qx - x) + in_y * (qy - y), in_x * (sx - x) + in_y * (sy - y)))
    apart = distance_to_segment(x, y, qx, qy, sx, sy)
    return np.sqrt(max(0.0, apart * apart - side * side)) if side != 0.0 else apart


@inlined_kernel
def least_way_through(root, x, y, side, in_x, in_y, qx, qy, sx, sy, tx, ty):
    """Return the least way (m) from a root over the part q s (left, right) of an edge to a point on the far side of it."""
    if root == WAVE_ROOT:
        at = in_x * (ty - y) - in_y * (tx - x)
        if at > in_x * (qy - y) - in_y * (qx - x):
            return max(0.0, in_x * (qx - x) + in_y * (qy - y)) + np.hypot(tx - qx, ty - qy)
        if at < in_x * (sy - y) - in_y * (sx - x):
            return max(0.0, in_x * (sx - x) + in_y * (sy - y)) + np.hypot(tx - sx, ty - sy)
        return max(0.0, in_x * (tx - x) + in_y * (ty - y))
    if side == 0.0:
        if (qx - x) * (ty - y) - (qy - y) * (tx - x) > 0.0:
            return np.hypot(qx - x, qy - y) + np.hypot(tx - qx, ty - qy)
        if (sx - x) * (ty - y) - (sy - y) * (tx - x) < 0.0:
            return np.hypot(sx - x, sy - y) + np.hypot(tx - sx, ty - sy)
        return np.hypot(tx - x, ty - y)
    way, ux, uy = way_to_disc(root, x, y, side, in_x, in_y, tx, ty, 0.0)
    # A way may cross the edge before it touches the disc of its root: an end of the part that lies behind where it touches bounds nothing, unless the way goes
    # back there, having turned round the root. Beyond half a turn, what lies beyond one end seems to lie beyond the other: the lesser counts.
    least = np.inf
    left, lx, ly = way_to_disc(root, x, y, side, in_x, in_y, qx, qy, 0.0)
    if lx * uy - ly * ux > 0.0 and (in_x * (qx - x) + in_y * (qy - y) >= 0.0 or (in_x * ly - in_y * lx) * side >= -STRAIGHT * abs(side)):
        least = left + np.hypot(tx - qx, ty - qy)
    right, rx, ry = way_to_disc(root, x, y, side, in_x, in_y, sx, sy, 0.0)
    if rx * uy - ry * ux < 0.0 and (in_x * (sx - x) + in_y * (sy - y) >= 0.0 or (in_x * ry - in_y * rx) * side >= -STRAIGHT * abs(side)):
        least = min(least, right + np.hypot(tx - sx, ty - sy))
    return way if least == np.inf else least


@inlined_kernel
def mirrored(mesh, edge, x, y):
    """Return a point, on the near side of an edge reflected to the far side, the left one."""
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    ax, ay = mesh.vertex[a, 0], mesh.vertex[a, 1]
    dx, dy = mesh.vertex[b, 0] - ax, mesh.vertex[b, 1] - ay
    area = dx * (y - ay) - dy * (x - ax)
    if area >= 0.0:
        return x, y
    factor = 2.0 * area / (dx * dx + dy * dy)
    return x + factor * dy, y - factor * dx


@inlined_kernel
def runs_into_wall(mesh, edge, is_left, ux, uy):
    """Return whether a way past an end of an edge, in direction u, meets the wall behind the end for sure: then nothing is to be found beside it."""
    polygon = mesh.edge_polygon[edge]
    first, last = mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]
    if is_left:
        side = edge - 1 if edge > first else last - 1
        corner, other = mesh.edge_vertex[edge], mesh.edge_vertex[side]
    else:
        side = edge + 1 if edge + 1 < last else first
        corner, other = mesh.edge_end[edge], mesh.edge_end[side]
    if mesh.edge_twin[side] >= 0:
        return False
    vx, vy = mesh.vertex[other, 0] - mesh.vertex[corner, 0], mesh.vertex[other, 1] - mesh.vertex[corner, 1]
    turn = ux * vy - uy * vx
    return (turn if is_left else -turn) < -STRAIGHT * np.hypot(ux, uy) * np.hypot(vx, vy)


@inlined_kernel
def is_facing(mesh, left, right, root, x, y, in_x, in_y):
    """Return whether a left post is on the left of a right one, as seen from a root."""
    lx, ly, rx, ry = mesh.vertex[left, 0], mesh.vertex[left, 1], mesh.vertex[right, 0], mesh.vertex[right, 1]
    return (in_x * (ly - ry) - in_y * (lx - rx) if root == WAVE_ROOT else orientation(x, y, rx, ry, lx, ly)) > 0.0


@inlined_kernel
def are_swapped(mesh, left, right, radius, root, x, y, in_x, in_y):
    """Return whether no way leads between two posts, as seen from a root: not even that of a point, or there is no room."""
    lx, ly, rx, ry = mesh.vertex[left, 0], mesh.vertex[left, 1], mesh.vertex[right, 0], mesh.vertex[right, 1]
    return not is_facing(mesh, left, right, root, x, y, in_x, in_y) or (lx - rx) * (lx - rx) + (ly - ry) * (ly - ry) < 4.0 * radius * radius


@inlined_kernel
def leads_to(mesh, corner, root, x, y, in_x, in_y, lx, ly, left_post, rx, ry, right_post):
    """Return whether the way of a point from a root to a corner lies between the limits of a cone; a body may bend there before it comes to their posts."""
    cx, cy = mesh.vertex[corner, 0] - x, mesh.vertex[corner, 1] - y
    if root == WAVE_ROOT:
        at = in_x * cy - in_y * cx
        left = aside(mesh, left_post, True, x, y, in_x, in_y, 0.0)[0] if left_post != NO_POST else lx
        right = aside(mesh, right_post, False, x, y, in_x, in_y, 0.0)[0] if right_post != NO_POST else rx
        return right - LEAST_SLACK_M <= at <= left + LEAST_SLACK_M
    if left_post != NO_POST:
        lx, ly = mesh.vertex[left_post, 0] - x, mesh.vertex[left_post, 1] - y
    if right_post != NO_POST:
        rx, ry = mesh.vertex[right_post, 0] - x, mesh.vertex[right_post, 1] - y
    size = abs(cx) + abs(cy)
    is_left_of_right = rx * cy - ry * cx >= -STRAIGHT * (abs(rx) + abs(ry)) * size
    return is_left_of_right and cx * ly - cy * lx >= -STRAIGHT * (abs(lx) + abs(ly)) * size


@inlined_kernel
def bends_before(mesh, cx, cy, c_side, other, radius, root, x, y, side, ux, uy, way):
    """Return whether a body that goes straight from a root to disc c touches that before it is beside a post on the other side of its cone."""
    ox, oy = mesh.vertex[other, 0], mesh.vertex[other, 1]
    qx, qy = cx + c_side * uy, cy - c_side * ux
    px, py = (qx - way * ux, qy - way * uy) if root == WAVE_ROOT else (x + side * uy, y - side * ux)
    return distance_to_segment(ox, oy, px, py, qx, qy) >= abs(post_side(mesh, other, True, radius)) - LEAST_SLACK_M
