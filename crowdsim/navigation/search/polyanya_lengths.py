"""How long paths by an interval are: all of one that has come to the start,
and the least that one costs on its way there.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import inlined_kernel
from crowdsim.navigation.search.polyanya_intervals import (
    LEAST_SLACK_M,
    NO_VERTEX,
    WAVE_ROOT,
    Root,
    least_path_through,
    least_path_to,
    limit_on_edge,
    path_round_limit,
    path_to_disc,
    signed_radius,
)
from crowdsim.navigation.search.polyanya_slots import (
    COST,
    EDGE,
    EXTRA,
    IN_X,
    IN_Y,
    RADIUS,
    ROOT_X,
    ROOT_Y,
    SIDE,
    interval_at,
    portal_at,
)
from crowdsim.navigation.search.slot_fields import START_X, START_Y


@inlined_kernel
def part_of_portal(portal, radius, interval):
    """Return the left and right ends q, s of the part of a portal that an interval crosses,
    as (qx, qy, sx, sy).
    """
    ax, ay, bx, by = portal.ax, portal.ay, portal.bx, portal.by
    inset_a = inset_b = 0.0
    if radius > 0.0:
        inset_a = radius if portal.a_wall == 1 else 0.0
        inset_b = radius if portal.b_wall == 1 else 0.0
    qx, qy = limit_on_edge(
        interval.root, interval.left, ax, ay, bx, by, True, interval.left.vertex == portal.a, inset_a
    )
    sx, sy = limit_on_edge(
        interval.root, interval.right, ax, ay, bx, by, False, interval.right.vertex == portal.b, inset_b
    )
    return qx, qy, sx, sy


@inlined_kernel
def total_length(slots, slot, node):
    """Return the length (m) of the path from the goal by an interval that enters the start's polygon to the
    start.
    """
    row, radius = slots.first[slot] + node, slots.measure[slot, RADIUS]
    interval, edge = interval_at(slots.real, slots.whole, row), slots.whole[row, EDGE]
    root, left, right, cost = interval.root, interval.left, interval.right, interval.cost + interval.extra
    tx, ty = slots.measure[slot, START_X], slots.measure[slot, START_Y]
    portal = portal_at(slots.sides, np.int64(edge))
    if radius > 0.0:
        straight, ux, uy = path_to_disc(root, tx, ty, 0.0)
        is_seen, shortest = True, np.inf
        for turn in range(2):
            if root.kind == WAVE_ROOT:
                at = root.in_x * (ty - root.y) - root.in_y * (tx - root.x)
                is_outside = at > left.x if turn == 0 else at < right.x
            else:
                is_outside = (
                    left.x * uy - left.y * ux > 0.0 if turn == 0 else right.x * uy - right.y * ux < 0.0
                )
            if not is_outside:
                continue
            end = portal.a if turn == 0 else portal.b
            if end != (left.vertex if turn == 0 else right.vertex):
                is_seen = False
                continue
            # The path bends round the disc at the end of the edge, unless the start comes before the place
            # where it would touch it.
            px, py = (portal.ax, portal.ay) if turn == 0 else (portal.bx, portal.by)
            p_side = signed_radius(portal.a_wall if turn == 0 else portal.b_wall, turn == 0, radius)
            bend, vx, vy = path_to_disc(root, px, py, p_side)
            beside = vx * (ty - py) - vy * (tx - px)
            if vx * (tx - px) + vy * (ty - py) <= 0.0 and (beside if turn == 0 else -beside) < 0.0:
                continue
            rest, _, _ = path_to_disc(Root(2 * end + turn, px, py, p_side, vx, vy), tx, ty, 0.0)
            # beyond half a turn, what lies beyond one limit seems to lie beyond the other
            shortest = min(shortest, bend + rest)
        if shortest < np.inf:
            return cost + shortest
        if is_seen:
            return cost + straight
    # A point, or a start beside a limit that another part of the edge is beyond: as if the path could bend on
    # the edge.
    qx, qy, sx, sy = part_of_portal(portal, radius, interval)
    return cost + least_path_through(root, qx, qy, sx, sy, tx, ty)


@inlined_kernel
def least_path_by(mesh, interval, portal, radius, tx, ty):
    """Return how long (m) paths by an interval are at least from its root to a point behind its portal."""
    root, left, right = interval.root, interval.left, interval.right
    if radius <= 0.0:
        dx, dy = tx - root.x, ty - root.y
        if (
            root.side == 0.0
            and root.kind != WAVE_ROOT
            and left.x * dy - left.y * dx <= 0.0 <= right.x * dy - right.y * dx
        ):
            return np.sqrt(dx * dx + dy * dy)  # Straight ahead: no need to know where it crosses the portal.
        qx, qy, sx, sy = part_of_portal(portal, radius, interval)
        return least_path_through(root, qx, qy, sx, sy, tx, ty)
    straight, ux, uy = least_path_to(root, tx, ty)
    least = np.inf
    for turn in range(2):
        is_left = turn == 0
        limit = left if is_left else right
        if root.kind == WAVE_ROOT:
            beyond = root.in_x * (ty - root.y) - root.in_y * (tx - root.x) - limit.x
        else:
            # Beyond half a turn, what lies beyond one limit seems to lie beyond the other: then the straight
            # path bounds it.
            beyond = limit.x * uy - limit.y * ux if limit.x * ux + limit.y * uy >= 0.0 else 0.0
        if not (beyond > 0.0 if is_left else beyond < 0.0):
            continue
        there = straight  # on the other side of straight on from a bend
        if limit.vertex != NO_VERTEX:
            # Round the disc of the vertex, wherever that is: agents may bend round what is behind the edge
            # before they cross it, and so beside the part.
            p_side = signed_radius(mesh.is_wall_vertex[limit.vertex], is_left, radius)
            there = max(
                straight,
                path_round_limit(
                    root, mesh.vertex[limit.vertex, 0], mesh.vertex[limit.vertex, 1], p_side, tx, ty
                ),
            )
        elif root.kind < 0:
            qx, qy, sx, sy = part_of_portal(portal, radius, interval)
            px, py = (qx, qy) if is_left else (sx, sy)
            there, _, _ = least_path_to(root, px, py)
            there += np.sqrt((tx - px) * (tx - px) + (ty - py) * (ty - py))
        least = min(least, there)
    return straight if least == np.inf else least


@inlined_kernel
def least_total_length(real, row, is_wave, tx, ty):
    """Return a cheap lower bound (m) of what the path by an interval costs:
    straight from the root to the start t, wherever the interval leads.
    """
    ux, uy, cost = (
        tx - real[row, ROOT_X],
        ty - real[row, ROOT_Y],
        real[row, COST] + real[row, EXTRA] - LEAST_SLACK_M,
    )
    if is_wave:
        return cost + real[row, IN_X] * ux + real[row, IN_Y] * uy
    return cost + np.sqrt(max(0.0, ux * ux + uy * uy - real[row, SIDE] * real[row, SIDE]))
