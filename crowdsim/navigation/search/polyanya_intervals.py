"""Geometry of cones: tangents at roots, limits at posts, and how long a way by a cone is at least.

Roots and posts are discs of the body's radius (points where nobody has to keep clear), so a straight way is a common tangent, and the way bends along
arcs; see `crowdsim.navigation.corridor.funnel.tangent`. A wave, which leaves a side of the goal at a right angle, has one direction, and its limits are
measured by how far aside they are, to the left of the side's first corner.

These functions take numbers, not the mesh: each array that a function is handed costs the compiler as much as a line of it.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.plane import angle_between, distance_to_segment, orientation
from crowdsim.kernels.decorator import inlined_kernel
from crowdsim.navigation.search.polyanya_slots import STRAIGHT, WAVE_ROOT

LEAST_SLACK_M = 1e-9  # What rounding may add to a lower bound at map coordinates.


@inlined_kernel
def post_side(is_wall, is_left, radius):
    """Return the signed radius of a vertex as a post on the left or on the right."""
    if is_wall == 0:
        return 0.0
    return radius if is_left else -radius


@inlined_kernel
def aim(px, py, p_side, x, y, side, radius):
    """Return the direction from a root along the tangent to a post; (0, 0) if the post is the root. A unit vector for bodies, not for points."""
    dx, dy = px - x, py - y
    square = dx * dx + dy * dy
    if radius <= 0.0 or square <= 0.0:
        return dx, dy
    # Where discs overlap there is no tangent: at a right angle to the line of centres, along the rim.
    distance = np.sqrt(square)
    across = min(1.0, max(-1.0, (p_side - side) / distance))
    along = np.sqrt(max(0.0, 1.0 - across * across))
    dx, dy = dx / distance, dy / distance
    return along * dx + across * dy, along * dy - across * dx


@inlined_kernel
def aside(px, py, p_side, x, y, nx, ny):
    """Return how far aside (m) a wave passes a post that it touches, and whether it does: it begins where bodies can be, clear of what is behind its begin."""
    dx, dy = px - x, py - y
    is_ahead = nx * dx + ny * dy > 0.0
    return nx * dy - ny * dx - (p_side if is_ahead else 0.0), is_ahead


@inlined_kernel
def way_to_disc(root, x, y, side, in_x, in_y, tx, ty, t_side):
    """Return the way (m) from where it reaches a root, round it, and straight to a disc, and the direction there as (way, ux, uy)."""
    dx, dy = tx - x, ty - y
    if root == WAVE_ROOT:
        return in_x * dx + in_y * dy, in_x, in_y
    distance = np.sqrt(dx * dx + dy * dy)
    if side == 0.0 and t_side == 0.0:
        return distance, dx, dy  # between points no arc asks for a unit vector
    if distance <= 0.0:
        ux, uy, reach = 1.0, 0.0, 0.0
    else:
        across = min(1.0, max(-1.0, (t_side - side) / distance))
        along = np.sqrt(max(0.0, 1.0 - across * across))
        dx, dy = dx / distance, dy / distance
        ux, uy, reach = along * dx + across * dy, along * dy - across * dx, along * distance
    if side == 0.0:
        return reach, ux, uy
    return reach + abs(side) * angle_between(in_x, in_y, ux, uy), ux, uy


@inlined_kernel
def limit_on_edge(ax, ay, bx, by, at_left, is_at_end, inset, root, x, y, side, in_x, in_y, lx, ly):
    """Return the point (x, y) of edge ab beyond which no way of a cone crosses it on one side.

    `is_at_end` says whether the post that sets the limit is the end of the edge on that side, `inset` (m) how far a body keeps from that end.
    """
    dx, dy = bx - ax, by - ay
    share = 0.0 if at_left else 1.0
    if is_at_end or (root != WAVE_ROOT and lx == 0.0 and ly == 0.0):
        if inset > 0.0:
            part = min(1.0, inset / np.sqrt(dx * dx + dy * dy))
            share = part if at_left else 1.0 - part
    else:
        if root == WAVE_ROOT:
            across = in_x * dy - in_y * dx
            start = in_x * (ay - y) - in_y * (ax - x) - lx
        else:
            across = lx * dy - ly * dx
            start = lx * (ay - y + side * lx) - ly * (ax - x - side * ly)
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
def _apart(ax, ay, bx, by):
    """Return the distance (m) between two points."""
    return np.sqrt((bx - ax) * (bx - ax) + (by - ay) * (by - ay))


@inlined_kernel
def least_way_through(root, x, y, side, in_x, in_y, qx, qy, sx, sy, tx, ty):
    """Return the least way (m) from a root over the part q s (left, right) of an edge to a point on the far side of it."""
    if root == WAVE_ROOT:
        at = in_x * (ty - y) - in_y * (tx - x)
        if at > in_x * (qy - y) - in_y * (qx - x):
            return max(0.0, in_x * (qx - x) + in_y * (qy - y)) + _apart(qx, qy, tx, ty)
        if at < in_x * (sy - y) - in_y * (sx - x):
            return max(0.0, in_x * (sx - x) + in_y * (sy - y)) + _apart(sx, sy, tx, ty)
        return max(0.0, in_x * (tx - x) + in_y * (ty - y))
    if side == 0.0:
        if (qx - x) * (ty - y) - (qy - y) * (tx - x) > 0.0:
            return _apart(x, y, qx, qy) + _apart(qx, qy, tx, ty)
        if (sx - x) * (ty - y) - (sy - y) * (tx - x) < 0.0:
            return _apart(x, y, sx, sy) + _apart(sx, sy, tx, ty)
        return _apart(x, y, tx, ty)
    way, ux, uy = way_to_disc(root, x, y, side, in_x, in_y, tx, ty, 0.0)
    # A way may cross the edge before it touches the disc of its root: an end of the part that lies behind where it touches bounds nothing, unless the way goes
    # back there, having turned round the root. Beyond half a turn, what lies beyond one end seems to lie beyond the other: the lesser counts.
    least = np.inf
    for turn in range(2):
        px, py = (qx, qy) if turn == 0 else (sx, sy)
        there, vx, vy = way_to_disc(root, x, y, side, in_x, in_y, px, py, 0.0)
        beyond = vx * uy - vy * ux
        if not (beyond > 0.0 if turn == 0 else beyond < 0.0):
            continue
        if in_x * (px - x) + in_y * (py - y) >= 0.0 or (in_x * vy - in_y * vx) * side >= -STRAIGHT * abs(side):
            least = min(least, there + _apart(px, py, tx, ty))
    return way if least == np.inf else least


@inlined_kernel
def least_way_to(root, x, y, side, in_x, in_y, tx, ty):
    """Return the least way (m) from where ways reach a root to a point, and the direction of the tangent there as (way, ux, uy).

    A point that lies on the other side of straight on is not reached by bending round the root: to there it is at least the straight line.
    """
    way, ux, uy = way_to_disc(root, x, y, side, in_x, in_y, tx, ty, 0.0)
    if side != 0.0 and (in_x * uy - in_y * ux) * side < 0.0:
        way = _apart(x + side * in_y, y - side * in_x, tx, ty)
    return way, ux, uy


@inlined_kernel
def way_round_limit(root, x, y, side, in_x, in_y, px, py, p_side, tx, ty):
    """Return the way (m) from a root round the disc of a limit's post to a point beyond the limit; -1 if the point comes before the disc is touched."""
    way, ux, uy = way_to_disc(root, x, y, side, in_x, in_y, px, py, p_side)
    if ux * (tx - px) + uy * (ty - py) <= 0.0 and (ux * (ty - py) - uy * (tx - px)) * p_side < 0.0:
        return -1.0
    rest, _, _ = way_to_disc(0, px, py, p_side, ux, uy, tx, ty, 0.0)
    return way + rest


@inlined_kernel
def mirrored(ax, ay, bx, by, x, y):
    """Return a point, on the near side of edge ab reflected to the far side, the left one."""
    dx, dy = bx - ax, by - ay
    area = dx * (y - ay) - dy * (x - ax)
    if area >= 0.0:
        return x, y
    factor = 2.0 * area / (dx * dx + dy * dy)
    return x + factor * dy, y - factor * dx


@inlined_kernel
def is_facing(lx, ly, rx, ry, root, x, y, in_x, in_y):
    """Return whether a left post is on the left of a right one, as seen from a root."""
    return (in_x * (ly - ry) - in_y * (lx - rx) if root == WAVE_ROOT else orientation(x, y, rx, ry, lx, ly)) > 0.0


@inlined_kernel
def leads_to(cx, cy, root, x, y, in_x, in_y, lx, ly, rx, ry):
    """Return whether the way of a point from a root to a corner c lies between the limits of a cone as they are for points."""
    dx, dy = cx - x, cy - y
    if root == WAVE_ROOT:
        return rx - LEAST_SLACK_M <= in_x * dy - in_y * dx <= lx + LEAST_SLACK_M
    size = abs(dx) + abs(dy)
    return rx * dy - ry * dx >= -STRAIGHT * (abs(rx) + abs(ry)) * size and dx * ly - dy * lx >= -STRAIGHT * (abs(lx) + abs(ly)) * size


@inlined_kernel
def bends_before(cx, cy, c_side, ox, oy, clear, root, x, y, side, ux, uy, way):
    """Return whether a body that goes straight from a root to disc c touches that before it is beside a post o on the other side of its cone."""
    qx, qy = cx + c_side * uy, cy - c_side * ux
    px, py = (qx - way * ux, qy - way * uy) if root == WAVE_ROOT else (x + side * uy, y - side * ux)
    return distance_to_segment(ox, oy, px, py, qx, qy) >= clear - LEAST_SLACK_M
