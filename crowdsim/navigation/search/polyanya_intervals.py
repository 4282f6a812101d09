"""Geometry of intervals: tangents at roots, limits at vertices,
and how long a path by an interval is at least.

An interval is a bundle of straight paths that begin at a common root (a corner round which the path has bent,
or the goal) and enter a polygon over one of its edges, between a left and a right limit. Roots and vertices
are discs of the agent's radius (points where no distance has to be kept), so a straight path is a common
tangent, and the path bends along arcs; see `crowdsim.navigation.corridor.funnel.tangent`. A wave, which
leaves a side of the goal at a right angle, has one direction, and its limits are measured by how far aside
they are, to the left of the side's first corner.

These functions take numbers, not the mesh: each array that a function is handed costs the compiler as much as
a line of it.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crowdsim.geometry.plane import angle_between, distance_to_segment, orientation
from crowdsim.kernels.decorator import inlined_kernel

LEAST_SLACK_M = 1e-9  # What rounding may add to a lower bound at map coordinates.
# Sine of the angle below which a wall is straight: rounding of a vertex by 1e-9 m, as at map coordinates,
# beside one 1 mm away.
STRAIGHT = 1e-6
# The root is the goal itself: a point of it, or one of its sides, from which all paths run at a right angle.
POINT_ROOT, WAVE_ROOT = -1, -2
NO_VERTEX = -1


class Root(NamedTuple):
    """Where the straight paths of an interval begin.

    Attributes
    ----------
    kind : int
        ``2 vertex + 1`` where the path has the vertex on its right, ``2 vertex`` on its left; POINT_ROOT or
        WAVE_ROOT at the goal.
    x, y : float, m
    side : float, m
        Signed radius of its disc.
    in_x, in_y : float
        Direction in which the path reaches it; of a wave, that of all its paths.
    """

    kind: int | np.int64
    x: float
    y: float
    side: float
    in_x: float
    in_y: float


class Limit(NamedTuple):
    """The first or the last of the straight paths of an interval.

    Attributes
    ----------
    x, y : float
        Its direction, (0, 0) where the root itself is that end of the edge; of a wave, x is how far aside it
        is (m).
    vertex : int
        The vertex that sets it; NO_VERTEX if none does.
    """

    x: float
    y: float
    vertex: int | np.int64


class Portal(NamedTuple):
    """A half-edge over which an interval enters a polygon.

    Attributes
    ----------
    ax, ay, bx, by : float, m
        Its ends, of which a is on the left of paths over it.
    a, b : int
        The vertices there.
    a_wall, b_wall : int
        `NavMesh.is_wall_vertex` of them.
    a_corner, b_corner : int
        1 where a path can bend there.
    """

    ax: float
    ay: float
    bx: float
    by: float
    a: int | np.int64
    b: int | np.int64
    a_wall: int | np.uint8
    b_wall: int | np.uint8
    a_corner: int | np.uint8
    b_corner: int | np.uint8


class Interval(NamedTuple):
    """A node of the search.

    Attributes
    ----------
    root : Root
    cost : float, m
        Length of the path from the goal to where it reaches the root.
    extra : float, m
        What portals have cost besides since the root.
    left, right : Limit
    """

    root: Root
    cost: float
    extra: float
    left: Limit
    right: Limit


@inlined_kernel
def signed_radius(is_wall, is_left, radius):
    """Return the signed radius of a vertex that is passed on its left or on its right."""
    if is_wall == 0:
        return 0.0
    return radius if is_left else -radius


@inlined_kernel
def limit_at(root, px, py, p_side, radius, vertex):
    """Return the limit that a vertex sets: the tangent from the root to it, (0, 0) if it is the root.
    A unit vector for agents, not for points.
    """
    dx, dy = px - root.x, py - root.y
    square = dx * dx + dy * dy
    if radius <= 0.0 or square <= 0.0:
        return Limit(dx, dy, vertex)
    # Where discs overlap there is no tangent: at a right angle to the line of centres, along the rim.
    distance = np.sqrt(square)
    across = min(1.0, max(-1.0, (p_side - root.side) / distance))
    along = np.sqrt(max(0.0, 1.0 - across * across))
    dx, dy = dx / distance, dy / distance
    return Limit(along * dx + across * dy, along * dy - across * dx, vertex)


@inlined_kernel
def aside(root, px, py, p_side):
    """Return how far aside (m) a wave passes a vertex that it touches, and whether it does:
    it begins clear of what is behind its begin.
    """
    dx, dy = px - root.x, py - root.y
    is_ahead = root.in_x * dx + root.in_y * dy > 0.0
    return root.in_x * dy - root.in_y * dx - (p_side if is_ahead else 0.0), is_ahead


@inlined_kernel
def path_to_disc(root, tx, ty, t_side):
    """Return the path (m) from where it reaches a root, round it, and straight to a disc,
    and the direction there as (length, ux, uy).
    """
    dx, dy = tx - root.x, ty - root.y
    if root.kind == WAVE_ROOT:
        return root.in_x * dx + root.in_y * dy, root.in_x, root.in_y
    distance = np.sqrt(dx * dx + dy * dy)
    if root.side == 0.0 and t_side == 0.0:
        return distance, dx, dy  # between points no arc needs a unit vector
    if distance <= 0.0:
        ux, uy, reach = 1.0, 0.0, 0.0
    else:
        across = min(1.0, max(-1.0, (t_side - root.side) / distance))
        along = np.sqrt(max(0.0, 1.0 - across * across))
        dx, dy = dx / distance, dy / distance
        ux, uy, reach = along * dx + across * dy, along * dy - across * dx, along * distance
    if root.side == 0.0:
        return reach, ux, uy
    return reach + abs(root.side) * angle_between(root.in_x, root.in_y, ux, uy), ux, uy


@inlined_kernel
def limit_on_edge(root, limit, ax, ay, bx, by, at_left, is_at_end, inset):
    """Return the point (x, y) of edge ab beyond which no path of an interval crosses it on one side.

    `is_at_end` says whether the vertex that sets the limit is the end of the edge on that side, `inset` (m)
    how far an agent keeps from that end.
    """
    dx, dy = bx - ax, by - ay
    share = 0.0 if at_left else 1.0
    if is_at_end or (root.kind != WAVE_ROOT and limit.x == 0.0 and limit.y == 0.0):
        if inset > 0.0:
            part = min(1.0, inset / np.sqrt(dx * dx + dy * dy))
            share = part if at_left else 1.0 - part
    else:
        if root.kind == WAVE_ROOT:
            across = root.in_x * dy - root.in_y * dx
            start = root.in_x * (ay - root.y) - root.in_y * (ax - root.x) - limit.x
        else:
            across = limit.x * dy - limit.y * dx
            start = limit.x * (ay - root.y + root.side * limit.x) - limit.y * (
                ax - root.x - root.side * limit.y
            )
        if across != 0.0:
            share = min(1.0, max(0.0, -start / across))
    return ax + share * dx, ay + share * dy


@inlined_kernel
def least_path_to_edge(root, qx, qy, sx, sy):
    """Return the least distance (m) from a root to the part q s of an edge, arcs not counted."""
    if root.kind == WAVE_ROOT:
        return max(
            0.0,
            min(
                root.in_x * (qx - root.x) + root.in_y * (qy - root.y),
                root.in_x * (sx - root.x) + root.in_y * (sy - root.y),
            ),
        )
    apart = distance_to_segment(root.x, root.y, qx, qy, sx, sy)
    return np.sqrt(max(0.0, apart * apart - root.side * root.side)) if root.side != 0.0 else apart


@inlined_kernel
def _apart(ax, ay, bx, by):
    """Return the distance (m) between two points."""
    return np.sqrt((bx - ax) * (bx - ax) + (by - ay) * (by - ay))


@inlined_kernel
def least_path_through(root, qx, qy, sx, sy, tx, ty):
    """Return the least path (m) from a root over the part q s (left,
    right) of an edge to a point on the far side of it.
    """
    x, y, in_x, in_y = root.x, root.y, root.in_x, root.in_y
    if root.kind == WAVE_ROOT:
        at = in_x * (ty - y) - in_y * (tx - x)
        if at > in_x * (qy - y) - in_y * (qx - x):
            return max(0.0, in_x * (qx - x) + in_y * (qy - y)) + _apart(qx, qy, tx, ty)
        if at < in_x * (sy - y) - in_y * (sx - x):
            return max(0.0, in_x * (sx - x) + in_y * (sy - y)) + _apart(sx, sy, tx, ty)
        return max(0.0, in_x * (tx - x) + in_y * (ty - y))
    if root.side == 0.0:
        if (qx - x) * (ty - y) - (qy - y) * (tx - x) > 0.0:
            return _apart(x, y, qx, qy) + _apart(qx, qy, tx, ty)
        if (sx - x) * (ty - y) - (sy - y) * (tx - x) < 0.0:
            return _apart(x, y, sx, sy) + _apart(sx, sy, tx, ty)
        return _apart(x, y, tx, ty)
    straight, ux, uy = path_to_disc(root, tx, ty, 0.0)
    # A path may cross the edge before it touches the disc of its root: an end of the part that lies behind
    # where it touches bounds nothing, unless the path goes back there, having turned round the root. Beyond
    # half a turn, what lies beyond one end seems to lie beyond the other: the lesser counts.
    least = np.inf
    for turn in range(2):
        px, py = (qx, qy) if turn == 0 else (sx, sy)
        there, vx, vy = path_to_disc(root, px, py, 0.0)
        beyond = vx * uy - vy * ux
        if not (beyond > 0.0 if turn == 0 else beyond < 0.0):
            continue
        if in_x * (px - x) + in_y * (py - y) >= 0.0 or (in_x * vy - in_y * vx) * root.side >= -STRAIGHT * abs(
            root.side
        ):
            least = min(least, there + _apart(px, py, tx, ty))
    return straight if least == np.inf else least


@inlined_kernel
def least_path_to(root, tx, ty):
    """Return the least path (m) from where paths reach a root to a point,
    and the direction of the tangent there as (length, ux, uy).

    A point that lies on the other side of straight on is not reached by bending round the root: to there it
    is at least the straight line.
    """
    length, ux, uy = path_to_disc(root, tx, ty, 0.0)
    if root.side != 0.0 and (root.in_x * uy - root.in_y * ux) * root.side < 0.0:
        length = _apart(root.x + root.side * root.in_y, root.y - root.side * root.in_x, tx, ty)
    return length, ux, uy


@inlined_kernel
def path_round_limit(root, px, py, p_side, tx, ty):
    """Return the path (m) from a root round the disc of a limit's vertex to a point beyond the limit;
    -1 if the point comes before the disc is touched.
    """
    length, ux, uy = path_to_disc(root, px, py, p_side)
    if ux * (tx - px) + uy * (ty - py) <= 0.0 and (ux * (ty - py) - uy * (tx - px)) * p_side < 0.0:
        return -1.0
    rest, _, _ = path_to_disc(Root(np.int64(0), px, py, p_side, ux, uy), tx, ty, 0.0)
    return length + rest


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
def is_facing(root, lx, ly, rx, ry):
    """Return whether a vertex on the left is on the left of one on the right, as seen from a root."""
    return (
        root.in_x * (ly - ry) - root.in_y * (lx - rx)
        if root.kind == WAVE_ROOT
        else orientation(root.x, root.y, rx, ry, lx, ly)
    ) > 0.0


@inlined_kernel
def leads_to(root, cx, cy, lx, ly, rx, ry):
    """Return whether the path of a point from a root to a corner c lies between the limits of an interval as
    they are for points.
    """
    dx, dy = cx - root.x, cy - root.y
    if root.kind == WAVE_ROOT:
        return rx - LEAST_SLACK_M <= root.in_x * dy - root.in_y * dx <= lx + LEAST_SLACK_M
    size = abs(dx) + abs(dy)
    return (
        rx * dy - ry * dx >= -STRAIGHT * (abs(rx) + abs(ry)) * size
        and dx * ly - dy * lx >= -STRAIGHT * (abs(lx) + abs(ly)) * size
    )


@inlined_kernel
def bends_before(root, cx, cy, c_side, ox, oy, clear, ux, uy, length):
    """Return whether an agent that goes straight from a root to disc c touches that before it is beside a
    vertex o on the other side of its interval.
    """
    qx, qy = cx + c_side * uy, cy - c_side * ux
    px, py = (
        (qx - length * ux, qy - length * uy)
        if root.kind == WAVE_ROOT
        else (root.x + root.side * uy, root.y - root.side * ux)
    )
    return distance_to_segment(ox, oy, px, py, qx, qy) >= clear - LEAST_SLACK_M
