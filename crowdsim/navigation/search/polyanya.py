"""Optimal any-angle ways on a convex mesh, from the goal back to the start, resumable and paid in expansions.

Polyanya ([Cui 2017]): a node of the search is not a portal but a *cone*,
all straight ways from one root over a part of a portal. An expansion carries a cone on through the polygon behind its portal. What can be seen from the
root goes on as cones of the same root; where a limit of the cone is a corner at the portal's end, ways bend there, and cones with the corner as their
root fan out behind it. A corner that was reached on a shorter way before begins no cones. For points the way found is the shortest of all.

Differences from the paper: the search goes from the goal to the start; a goal may be a region, whose corners are roots and whose sides send waves; and
roots and limits are discs of the body's radius, so that costs are those of tangents and arcs. Limits are kept as directions to the vertices that set
them, never as points where rays cross edges, so what is visible is decided by the vertices themselves. As in `crowdsim.navigation.search.a_star` one search
without a heuristic can serve all starts: cones are listed by the polygon that they enter, and a start asks those of its own.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import inlined_kernel
from crowdsim.navigation.mesh.mesh import is_cut_off
from crowdsim.navigation.search.goal_entries import choose_piece, flood_of
from crowdsim.navigation.search.polyanya_goal import can_arrive, is_in_front, next_stretch, stands_on, straight_to_goal, ways_from_stretch
from crowdsim.navigation.search.polyanya_intervals import (
    LEAST_SLACK_M,
    aim,
    aside,
    bends_before,
    is_facing,
    leads_to,
    least_way_through,
    least_way_to,
    least_way_to_edge,
    limit_on_edge,
    mirrored,
    post_side,
    way_round_limit,
    way_to_disc,
)
from crowdsim.navigation.search.polyanya_slots import (
    CONE_COUNT,
    COST,
    EDGE,
    EXTRA,
    IN_X,
    IN_Y,
    IS_FULL,
    LEFT_POST,
    LEFT_X,
    LEFT_Y,
    LOOKED_AT,
    MOST_CONES,
    NEXT,
    NEXT_PART,
    NEXT_UP,
    NO_POST,
    PARENT,
    PART_FROM,
    RADIUS,
    RIGHT_POST,
    RIGHT_X,
    RIGHT_Y,
    ROOT,
    ROOT_X,
    ROOT_Y,
    SIDE,
    STRAIGHT,
    WAVE_ROOT,
    is_reached_sooner,
    least_bound,
    note_bend,
    offer,
    take_next,
)
from crowdsim.navigation.search.portal_prices import price_of
from crowdsim.navigation.search.slot_fields import (
    BEST_NODE,
    BEST_TOTAL,
    EXPANSIONS,
    FOUND,
    GENERATION,
    GOAL,
    HEAP_SIZE,
    IS_SEEDED,
    IS_SHARED,
    NEXT_PIECE,
    NOBODY,
    OUT_OF_NODES,
    PENDING,
    PIECE_BOUND,
    START_POLYGON,
    START_X,
    START_Y,
    STATUS,
    TIE_SLACK,
    UNREACHABLE,
    WIDTH,
)

IN_LINE = 1e-10  # Sine of the angle within which a post further on sets the limit instead of one in line with it: ways bend at the last post of a wall.


@inlined_kernel
def disc_radius(mesh, width):
    """Return the radius (m) at which ways of a body of some width are rounded while they are looked for.

    Where there are vertices in free ground, not every wall that a body bends round is an end of a portal that its way crosses
    (`crowdsim.navigation.corridor.walls_off_corridor`). Ways are looked for there as those of a point through what the body can pass, and rounded by the
    funnel.
    """
    return 0.5 * width if mesh.vertex_room.size == 0 else 0.0


@inlined_kernel
def _parts_of_edge(mesh, edge, radius, left_post, right_post, root, x, y, side, in_x, in_y, lx, ly, rx, ry):
    """Return the ends a, b of a half-edge and the left and right ends q, s of the part over which ways of a cone go, as (ax, ay, bx, by, qx, qy, sx, sy)."""
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
    inset_a, inset_b = radius if mesh.is_wall_vertex[a] == 1 else 0.0, radius if mesh.is_wall_vertex[b] == 1 else 0.0
    qx, qy = limit_on_edge(ax, ay, bx, by, True, left_post == a, inset_a, root, x, y, side, in_x, in_y, lx, ly)
    sx, sy = limit_on_edge(ax, ay, bx, by, False, right_post == b, inset_b, root, x, y, side, in_x, in_y, rx, ry)
    return ax, ay, bx, by, qx, qy, sx, sy


@inlined_kernel
def _total(slots, slot, mesh, node):
    """Return the length (m) of the way from the goal by a cone that enters the start's polygon to the start."""
    real, whole, row, radius = slots.real, slots.whole, slots.first[slot] + node, slots.measure[slot, RADIUS]
    edge, root, left_post, right_post = whole[row, EDGE], whole[row, ROOT], whole[row, LEFT_POST], whole[row, RIGHT_POST]
    cost, x, y, side = real[row, COST] + real[row, EXTRA], real[row, ROOT_X], real[row, ROOT_Y], real[row, SIDE]
    in_x, in_y, lx, ly, rx, ry = real[row, IN_X], real[row, IN_Y], real[row, LEFT_X], real[row, LEFT_Y], real[row, RIGHT_X], real[row, RIGHT_Y]
    tx, ty = slots.measure[slot, START_X], slots.measure[slot, START_Y]
    ax, ay, bx, by, qx, qy, sx, sy = _parts_of_edge(mesh, edge, radius, left_post, right_post, root, x, y, side, in_x, in_y, lx, ly, rx, ry)
    if radius > 0.0:
        way, ux, uy = way_to_disc(root, x, y, side, in_x, in_y, tx, ty, 0.0)
        is_seen, shortest = True, np.inf
        for turn in range(2):
            if root == WAVE_ROOT:
                at = in_x * (ty - y) - in_y * (tx - x)
                is_outside = at > lx if turn == 0 else at < rx
            else:
                is_outside = lx * uy - ly * ux > 0.0 if turn == 0 else rx * uy - ry * ux < 0.0
            if not is_outside:
                continue
            end = np.int64(mesh.edge_vertex[edge] if turn == 0 else mesh.edge_end[edge])
            if end != (left_post if turn == 0 else right_post):
                is_seen = False
                continue
            # The way bends round the disc at the end of the edge, unless the start comes before the place where it would touch it.
            px, py = (ax, ay) if turn == 0 else (bx, by)
            p_side = post_side(mesh.is_wall_vertex[end], turn == 0, radius)
            bend, vx, vy = way_to_disc(root, x, y, side, in_x, in_y, px, py, p_side)
            beside = vx * (ty - py) - vy * (tx - px)
            if vx * (tx - px) + vy * (ty - py) <= 0.0 and (beside if turn == 0 else -beside) < 0.0:
                continue
            rest, _, _ = way_to_disc(2 * end + turn, px, py, p_side, vx, vy, tx, ty, 0.0)
            shortest = min(shortest, bend + rest)  # beyond half a turn, what lies beyond one limit seems to lie beyond the other
        if shortest < np.inf:
            return cost + shortest
        if is_seen:
            return cost + way
    # A point, or a start beside a limit that another part of the edge is beyond: as if the way could bend on the edge.
    return cost + least_way_through(root, x, y, side, in_x, in_y, qx, qy, sx, sy, tx, ty)


@inlined_kernel
def _least_way_by(mesh, root, x, y, side, in_x, in_y, lx, ly, left_post, rx, ry, right_post, qx, qy, sx, sy, radius, tx, ty):
    """Return how long (m) ways by a cone are at least from its root to a point behind its edge; q and s are the ends of the part of the edge."""
    if radius <= 0.0:
        return least_way_through(root, x, y, side, in_x, in_y, qx, qy, sx, sy, tx, ty)
    way, ux, uy = least_way_to(root, x, y, side, in_x, in_y, tx, ty)
    least = np.inf
    for turn in range(2):
        is_left = turn == 0
        fx, fy, post, px, py = (lx, ly, left_post, qx, qy) if is_left else (rx, ry, right_post, sx, sy)
        if root == WAVE_ROOT:
            beyond = in_x * (ty - y) - in_y * (tx - x) - fx
        else:
            # Beyond half a turn, what lies beyond one limit seems to lie beyond the other: then the straight way bounds it.
            beyond = fx * uy - fy * ux if fx * ux + fy * uy >= 0.0 else 0.0
        if not (beyond > 0.0 if is_left else beyond < 0.0):
            continue
        there = way  # on the other side of straight on from a bend
        if post != NO_POST:
            # Round the disc of the post, wherever that is: bodies may bend round what is behind the edge before they cross it, and so beside the part.
            p_side = post_side(mesh.is_wall_vertex[post], is_left, radius)
            there = max(way, way_round_limit(root, x, y, side, in_x, in_y, mesh.vertex[post, 0], mesh.vertex[post, 1], p_side, tx, ty))
        elif root < 0:
            there, _, _ = least_way_to(root, x, y, side, in_x, in_y, px, py)
            there += np.sqrt((tx - px) * (tx - px) + (ty - py) * (ty - py))
        least = min(least, there)
    return way if least == np.inf else least


@inlined_kernel
def _least_total(real, row, is_wave, tx, ty):
    """Return a lower bound (m) of what the way by a cone costs that costs little: straight from the root to the start t, wherever the cone leads."""
    ux, uy, cost = tx - real[row, ROOT_X], ty - real[row, ROOT_Y], real[row, COST] + real[row, EXTRA] - LEAST_SLACK_M
    if is_wave:
        return cost + real[row, IN_X] * ux + real[row, IN_Y] * uy
    return cost + np.sqrt(max(0.0, ux * ux + uy * uy - real[row, SIDE] * real[row, SIDE]))


@inlined_kernel
def _look(slots, slot, mesh):
    """Look at the cones that have entered the start's polygon since the last look: the shortest way so far may end with one of them.

    The most promising comes first, so that most others need no closer look. Of ways that are as long that by the older cone counts.
    """
    header, measure, real, whole, first = slots.header, slots.measure, slots.real, slots.whole, slots.first[slot]
    polygon, seen = header[slot, START_POLYGON], header[slot, LOOKED_AT]
    if slots.newest_stamp[slot, polygon] != header[slot, GENERATION] or slots.newest[slot, polygon] == seen:
        return
    x, y, newest = measure[slot, START_X], measure[slot, START_Y], np.int64(slots.newest[slot, polygon])
    header[slot, LOOKED_AT] = newest
    node, promising, shortest = newest, newest, np.inf
    while node != seen:
        least = _least_total(real, first + node, whole[first + node, ROOT] == WAVE_ROOT, x, y)
        if least < shortest:
            promising, shortest = node, least
        node = np.int64(whole[first + node, NEXT])
    node, is_first = promising, True
    while node != seen:
        if is_first or (node != promising and _least_total(real, first + node, whole[first + node, ROOT] == WAVE_ROOT, x, y) <= measure[slot, BEST_TOTAL]):
            total = _total(slots, slot, mesh, node)
            is_better = total < measure[slot, BEST_TOTAL] or (total == measure[slot, BEST_TOTAL] and node < header[slot, BEST_NODE])
            if is_better and not is_cut_off(mesh, polygon, whole[first + node, EDGE], x, y, measure[slot, WIDTH]):
                measure[slot, BEST_TOTAL], header[slot, BEST_NODE] = total, node
        node = newest if is_first else np.int64(whole[first + node, NEXT])
        is_first = False


@inlined_kernel
def _add(slots, slot, mesh, edge, parent, root, cost, extra, x, y, side, in_x, in_y, lx, ly, left_post, rx, ry, right_post):
    """Add a cone that enters a polygon over its half-edge `edge`, and let it wait."""
    header, measure = slots.header, slots.measure
    polygon, is_shared, radius = mesh.edge_polygon[edge], header[slot, IS_SHARED] == 1, measure[slot, RADIUS]
    ax, ay, bx, by, qx, qy, sx, sy = _parts_of_edge(mesh, edge, radius, left_post, right_post, root, x, y, side, in_x, in_y, lx, ly, rx, ry)
    if is_shared:
        bound = least_way_to_edge(root, x, y, side, in_x, in_y, ax, ay, bx, by)  # of the whole edge, for the reason told in `_least_way_by`
    else:
        tx, ty = mirrored(ax, ay, bx, by, measure[slot, START_X], measure[slot, START_Y])
        bound = _least_way_by(mesh, root, x, y, side, in_x, in_y, lx, ly, left_post, rx, ry, right_post, qx, qy, sx, sy, radius, tx, ty)
        if cost + extra + bound >= measure[slot, BEST_TOTAL]:
            return
    bound += cost + extra
    node, generation = header[slot, CONE_COUNT], header[slot, GENERATION]
    header[slot, CONE_COUNT] = node + 1
    real, whole, row = slots.real, slots.whole, slots.first[slot] + node
    real[row, COST], real[row, EXTRA], real[row, ROOT_X], real[row, ROOT_Y], real[row, SIDE] = cost, extra, x, y, side
    real[row, IN_X], real[row, IN_Y] = in_x, in_y
    real[row, LEFT_X], real[row, LEFT_Y], real[row, RIGHT_X], real[row, RIGHT_Y] = lx, ly, rx, ry
    whole[row, EDGE], whole[row, PARENT], whole[row, ROOT] = edge, parent, root
    whole[row, LEFT_POST], whole[row, RIGHT_POST] = left_post, right_post
    if is_shared or polygon == header[slot, START_POLYGON]:
        newest, stamp = slots.newest, slots.newest_stamp
        whole[row, NEXT] = newest[slot, polygon] if stamp[slot, polygon] == generation else NOBODY
        newest[slot, polygon], stamp[slot, polygon] = node, generation
    if slots.is_blind[polygon] == 0:
        offer(header, measure, slots.heap, slots.bound, slots.first[slot], slot, node, bound)


@inlined_kernel
def _spread(slots, slot, mesh, polygon, entry, parent, root, cost, extra, x, y, side, in_x, in_y, lx, ly, left_post, rx, ry, right_post, mx, my):
    """Carry a cone through a polygon to all edges that it reaches, from right to left; `entry` is -1, and (mx, my) where ways begin, at the goal."""
    vertex, edge_vertex, edge_end, is_wall = mesh.vertex, mesh.edge_vertex, mesh.edge_end, mesh.is_wall_vertex
    width, radius, is_shared = slots.measure[slot, WIDTH], slots.measure[slot, RADIUS], slots.header[slot, IS_SHARED] == 1
    first, last = np.int64(mesh.polygon_start[polygon]), np.int64(mesh.polygon_start[polygon + 1])
    has_prices, start_polygon = slots.priced[slot, 0] >= 0, slots.header[slot, START_POLYGON]
    steps = last - first
    edge, pairs = first, 0
    if entry >= 0:
        steps -= 1
        edge = entry + 1 if entry + 1 < last else first
        pairs = mesh.pair_start[polygon] + (entry - first)
    for _ in range(steps):
        out = edge
        edge = edge + 1 if edge + 1 < last else first
        twin = np.int64(mesh.edge_twin[out])
        if twin < 0 or mesh.edge_width[out] < width or (entry >= 0 and mesh.pair_width[pairs + (out - first) * (last - first)] < width):
            continue
        behind = mesh.edge_polygon[twin]
        if slots.is_blind[behind] == 1 and not is_shared and behind != start_polygon:
            continue
        a, b = np.int64(edge_vertex[out]), np.int64(edge_end[out])
        ax, ay, bx, by = vertex[a, 0], vertex[a, 1], vertex[b, 0], vertex[b, 1]
        a_side, b_side = post_side(is_wall[a], False, radius), post_side(is_wall[b], True, radius)
        # Of two posts in line with the root the one further on sets the limit: it is there that a way along a wall bends.
        vx, vy, l_post, wx, wy, r_post = lx, ly, left_post, rx, ry, right_post
        if root == WAVE_ROOT:
            at, is_ahead = aside(ax, ay, a_side, x, y, in_x, in_y)
            if at >= wx:
                wx, r_post = at, a if is_ahead else r_post
            at, is_ahead = aside(bx, by, b_side, x, y, in_x, in_y)
            if at <= vx:
                vx, l_post = at, b if is_ahead else l_post
            is_seen = wx < vx
        else:
            ux, uy = aim(ax, ay, a_side, x, y, side, radius)
            if (ux != 0.0 or uy != 0.0) and wx * uy - wy * ux >= -IN_LINE * (abs(wx) + abs(wy)) * (abs(ux) + abs(uy)):
                wx, wy, r_post = ux, uy, a
            ux, uy = aim(bx, by, b_side, x, y, side, radius)
            if (ux != 0.0 or uy != 0.0) and ux * vy - uy * vx >= -IN_LINE * (abs(vx) + abs(vy)) * (abs(ux) + abs(uy)):
                vx, vy, l_post = ux, uy, b
            is_seen = wx * vy - wy * vx > 0.0 or (vx == 0.0 and vy == 0.0) or (wx == 0.0 and wy == 0.0)
            if is_seen and l_post != b and r_post != a:
                # Neither end of the edge cuts the cone: either the cone passes between them, or the edge is behind its root.
                is_seen = is_in_front(ax - x, ay - y, bx - x, by - y, wx, wy, vx, vy)
            elif entry < 0 and not is_seen and wx * vx + wy * vy < 0.0:
                is_seen = stands_on(ax, ay, bx, by, x, y)
        if not is_seen and (l_post != b and r_post != a if radius > 0.0 else l_post != b or r_post != a):
            continue
        if entry < 0:
            faces = leads_to(0.5 * (ax + bx), 0.5 * (ay + by), root, x, y, in_x, in_y, lx, ly, rx, ry)
            if not (is_seen or faces) or is_cut_off(mesh, polygon, out, mx, my, width):
                continue
        new_root, new_cost, new_extra, px, py, p_side, ux, uy = root, cost, extra, x, y, side, in_x, in_y
        if not is_seen:
            # Where only one end limits the cone, the other limit is a post of an earlier portal; without a post, that of the goal, or straight on from a bend.
            corner, way, ux, uy = _squeeze(
                slots, slot, mesh, entry, b, a, root, cost + extra, x, y, side, in_x, in_y, lx, ly, left_post, l_post, rx, ry, right_post, r_post
            )
            if corner == NOBODY:
                continue
            is_right, both_limit = corner == a, l_post == b and r_post == a
            new_root, new_cost, new_extra = 2 * corner + (1 if is_right else 0), cost + extra + way, 0.0
            px, py, p_side = (ax, ay, a_side) if is_right else (bx, by, b_side)
            vx, vy = aim(bx, by, b_side, px, py, p_side, radius)  # (0, 0) at the corner itself
            wx, wy = aim(ax, ay, a_side, px, py, p_side, radius)
            l_post, r_post = (b, np.int64(NO_POST)) if is_right else (np.int64(NO_POST), a)
            # Ways bend round the corner, so none leads on to the other side of straight ahead.
            if not both_limit and is_right and ux * vy - uy * vx > 0.0:
                vx, vy, l_post = ux, uy, np.int64(NO_POST)
            elif not both_limit and not is_right and wx * uy - wy * ux > 0.0:
                wx, wy, r_post = ux, uy, np.int64(NO_POST)
        if has_prices:
            new_extra += price_of(slots, slot, out, twin)
        _add(slots, slot, mesh, twin, parent, new_root, new_cost, new_extra, px, py, p_side, ux, uy, vx, vy, l_post, wx, wy, r_post)


@inlined_kernel
def _point_limit(mesh, post, root, x, y, in_x, in_y, lx, ly):
    """Return a limit of a cone as it is for points: that which its post sets, if it has one."""
    if post == NO_POST:
        return lx, ly
    px, py = mesh.vertex[post, 0], mesh.vertex[post, 1]
    return (aside(px, py, 0.0, x, y, in_x, in_y)[0], 0.0) if root == WAVE_ROOT else (px - x, py - y)


@inlined_kernel
def _squeeze(
    slots, slot, mesh, entry, left, right, root, cost, x, y, side, in_x, in_y, lx, ly, left_post, left_limit, rx, ry, right_post, right_limit
):
    """Let a body through a portal that it cannot cross on a straight way: it bends round the disc at an end before it is through.

    Returns at which end, and the way to there and its direction, as (vertex, way, ux, uy); NOBODY if it cannot.

    That is the nearer end if both limit the cone, and the cone leads there. If only one does, the other limit is a post of an earlier portal, beside which the
    way comes after the bend: it is one of the ways on from there. For points only where the portal lies in one line with the root, and the way bends behind
    its nearer end. Not where that end is one of the entry as well: the way has bent there already, as a limit of the cone.
    """
    vertex, is_wall, radius = mesh.vertex, mesh.is_wall_vertex, slots.measure[slot, RADIUS]
    nobody = np.int64(NOBODY), 0.0, 0.0, 0.0
    both_limit = left_limit == left and right_limit == right
    is_right = right_limit == right
    corner, other = (right, left_limit) if is_right else (left, right_limit)
    if other == NO_POST:
        return nobody  # The other limit is that of ways from the goal, or straight on from a bend: ways beyond it belong to the cone beside this one.
    cx, cy, c_side = vertex[corner, 0], vertex[corner, 1], post_side(is_wall[corner], not is_right, radius)
    ox, oy, o_side = vertex[other, 0], vertex[other, 1], post_side(is_wall[other], is_right, radius)
    faces = is_facing(ox, oy, cx, cy, root, x, y, in_x, in_y) if is_right else is_facing(cx, cy, ox, oy, root, x, y, in_x, in_y)
    if not both_limit and (not faces or (ox - cx) * (ox - cx) + (oy - cy) * (oy - cy) < 4.0 * radius * radius):
        return nobody  # Not even a point gets between them, or there is no room.
    way, ux, uy = way_to_disc(root, x, y, side, in_x, in_y, cx, cy, c_side)
    if both_limit:
        to_other, vx, vy = way_to_disc(root, x, y, side, in_x, in_y, ox, oy, o_side)
        is_other = to_other <= way
        if not faces:
            plx, ply = _point_limit(mesh, left_post, root, x, y, in_x, in_y, lx, ly)
            prx, pry = _point_limit(mesh, right_post, root, x, y, in_x, in_y, rx, ry)
            leads_here = leads_to(cx, cy, root, x, y, in_x, in_y, plx, ply, prx, pry)
            leads_there = leads_to(ox, oy, root, x, y, in_x, in_y, plx, ply, prx, pry)
            is_other = is_other if leads_there == leads_here else leads_there
        if is_other:
            corner, way, ux, uy, c_side, is_right = other, to_other, vx, vy, o_side, False
    elif not bends_before(cx, cy, c_side, ox, oy, abs(o_side), root, x, y, side, ux, uy, way):
        return nobody
    shares_left, shares_right = entry >= 0 and left == mesh.edge_vertex[entry], entry >= 0 and right == mesh.edge_end[entry]
    if radius <= 0.0 and (shares_left or shares_right or slots.is_corner[corner] == 0):
        return nobody
    if (shares_left and corner == left) or (shares_right and corner == right):
        return nobody
    new_root = 2 * corner + (1 if is_right else 0)
    # Where one end limits the cone, the way bends only on its way through this portal: cones that fan out from there in full are still to come.
    if both_limit:
        if not note_bend(slots.root_stamp, slots.root_cost, slots.root_in, slots.header[slot, GENERATION], slot, new_root, cost + way, c_side, ux, uy):
            return nobody
    elif is_reached_sooner(slots.root_stamp, slots.root_cost, slots.root_in, slots.header[slot, GENERATION], slot, new_root, cost + way, c_side, ux, uy):
        return nobody
    return corner, way, ux, uy


@inlined_kernel
def _runs_into_wall(mesh, edge, is_left, ux, uy):
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
def _expand(slots, slot, mesh, goals, rims, scratch, node):
    """Carry a cone on through the polygon that it enters, and let ways bend at its limits; node NOBODY begins at the next stretch of the goal's rim."""
    header, real, whole, radius, generation = slots.header, slots.real, slots.whole, slots.measure[slot, RADIUS], slots.header[slot, GENERATION]
    edge, root, left_post, right_post = np.int64(-1), np.int64(NOBODY), np.int64(NO_POST), np.int64(NO_POST)
    cost, extra, x, y, side, in_x, in_y, lx, ly, rx, ry = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    part, low, high, piece = np.int64(-1), 0.0, 0.0, header[slot, NEXT_PIECE]
    if node == NOBODY:
        part, low, high = next_stretch(header, slots.measure, slot, mesh, goals, rims, flood_of(scratch, slot))
        if header[slot, NEXT_PART] >= rims.start[piece + 1]:
            choose_piece(header, slots.measure, slot, goals)
            header[slot, NEXT_PART] = NOBODY
        if part < 0:
            return
        polygon, parent = np.int64(goals.piece_polygon[piece]), -2 - piece
    else:
        row, parent = slots.first[slot] + node, node
        edge, root = np.int64(whole[row, EDGE]), np.int64(whole[row, ROOT])
        left_post, right_post = np.int64(whole[row, LEFT_POST]), np.int64(whole[row, RIGHT_POST])
        cost, extra, x, y, side = real[row, COST], real[row, EXTRA], real[row, ROOT_X], real[row, ROOT_Y], real[row, SIDE]
        in_x, in_y = real[row, IN_X], real[row, IN_Y]
        lx, ly, rx, ry = real[row, LEFT_X], real[row, LEFT_Y], real[row, RIGHT_X], real[row, RIGHT_Y]
        if root >= 0 and is_reached_sooner(slots.root_stamp, slots.root_cost, slots.root_in, generation, slot, root, cost, side, in_x, in_y):
            return
        polygon = np.int64(mesh.edge_polygon[edge])
    # The cone itself first, then what bends round the left end of the edge, then what bends round the right one.
    new_root, new_cost, new_extra, px, py, p_side, ux, uy, mx, my = root, cost, extra, x, y, side, in_x, in_y, 0.0, 0.0
    for turn in range(3):
        l_post, r_post = (left_post, right_post) if turn == 0 else (np.int64(NO_POST), np.int64(NO_POST))
        if part >= 0:
            are_any, new_root, px, py, ux, uy, lx, ly, rx, ry = ways_from_stretch(goals, rims, piece, part, low, high, turn)
            if not are_any:
                continue
            along = 0.5 * (low + high) if turn == 1 else 0.0  # along the side, which is on the left of its waves
            mx, my = px - along * uy, py + along * ux
        elif turn > 0:
            corner = np.int64(mesh.edge_vertex[edge] if turn == 1 else mesh.edge_end[edge])
            if corner != (left_post if turn == 1 else right_post) or slots.is_corner[corner] == 0:
                continue
            px, py, p_side = mesh.vertex[corner, 0], mesh.vertex[corner, 1], post_side(mesh.is_wall_vertex[corner], turn == 1, radius)
            way, ux, uy = way_to_disc(root, x, y, side, in_x, in_y, px, py, p_side)
            new_root, new_cost, new_extra = 2 * corner + turn - 1, cost + extra + way, 0.0
            if _runs_into_wall(mesh, edge, turn == 1, ux, uy):
                continue
            if not note_bend(slots.root_stamp, slots.root_cost, slots.root_in, generation, slot, new_root, new_cost, p_side, ux, uy):
                continue
            # Everything between the way on straight ahead and the wall behind the corner.
            lx, ly, rx, ry = (0.0, 0.0, ux, uy) if turn == 1 else (ux, uy, 0.0, 0.0)
        _spread(slots, slot, mesh, polygon, edge, parent, new_root, new_cost, new_extra, px, py, p_side, ux, uy, lx, ly, l_post, rx, ry, r_post, mx, my)


@inlined_kernel
def begin_optimal(slots, slot, mesh, goals, scratch, goal, width, x, y, polygon, is_shared):
    """Set a slot up to look for the shortest way to a goal from a point; a shared slot that already serves this goal keeps what it knows.

    Parameters
    ----------
    slots : IntervalSlots
    slot : int
    mesh : NavMesh
    goals : GoalPieces
    scratch : Scratch
    goal : int
    width : float, m
        Diameter of the body.
    x, y : float, m
    polygon : int
        Where the start is.
    is_shared : int
        1: no heuristic, keep the cones for further starts. The caller keeps goal and width class apart by slot.
    """
    header, measure = slots.header, slots.measure
    keep = is_shared == 1 and header[slot, IS_SHARED] == 1 and header[slot, IS_SEEDED] == 1
    header[slot, STATUS] = PENDING
    header[slot, GOAL] = goal
    header[slot, IS_SHARED] = is_shared
    header[slot, START_POLYGON] = polygon
    header[slot, LOOKED_AT] = NOBODY
    measure[slot, START_X], measure[slot, START_Y] = x, y
    if not keep:
        measure[slot, WIDTH] = width
        header[slot, GENERATION] += 1
        header[slot, HEAP_SIZE] = 0
        header[slot, CONE_COUNT] = 0
        header[slot, NEXT_UP] = NOBODY
        header[slot, EXPANSIONS] = 0
        header[slot, IS_FULL] = 0
        header[slot, IS_SEEDED] = 1
        header[slot, NEXT_PIECE], measure[slot, PIECE_BOUND] = NOBODY, -1.0
        measure[slot, RADIUS] = disc_radius(mesh, width)
        header[slot, NEXT_PART], measure[slot, PART_FROM] = NOBODY, 0.0
        choose_piece(header, measure, slot, goals)
    total, piece = straight_to_goal(mesh, goals, goal, measure[slot, WIDTH], x, y, polygon, flood_of(scratch, slot))
    measure[slot, BEST_TOTAL] = total
    header[slot, BEST_NODE] = -2 - piece
    if piece < 0 and not can_arrive(mesh, goals, slots.passages, goal, measure[slot, WIDTH], x, y, polygon):
        header[slot, STATUS] = UNREACHABLE


@inlined_kernel
def advance_optimal(slots, slot, mesh, goals, rims, scratch, grant):
    """Go on with a pending search for at most `grant` expansions.

    Parameters
    ----------
    slots : IntervalSlots
    slot : int
    mesh : NavMesh
    goals : GoalPieces
    rims : Rims
        Of the goals.
    scratch : Scratch
    grant : int

    Returns
    -------
    int
        Expansions made; the slot's STATUS says whether the search has ended. If it has not, and IS_FULL is 1, the slot needs more room (`with_room`).
        Beginning at a stretch of the goal's rim is an expansion too.

    Notes
    -----
    Twin: `tests/reference/optimal.py` (the visibility graph).
    """
    header, measure = slots.header, slots.measure
    capacity = slots.first[slot + 1] - slots.first[slot]
    slack = 1.0 + TIE_SLACK if header[slot, IS_SHARED] == 1 else 1.0 - TIE_SLACK
    used = 0
    while header[slot, STATUS] == PENDING:
        _look(slots, slot, mesh)
        best, waiting, at_goal = measure[slot, BEST_TOTAL], least_bound(header, measure, slots.bound, slots.first[slot], slot), measure[slot, PIECE_BOUND]
        least = min(waiting, at_goal)
        if least == np.inf or least > best * slack:
            header[slot, STATUS] = FOUND if best < np.inf else UNREACHABLE
            break
        if used >= grant:
            break
        if header[slot, CONE_COUNT] + slots.most_new[0] > MOST_CONES:
            header[slot, STATUS] = OUT_OF_NODES
            break
        if header[slot, CONE_COUNT] + slots.most_new[0] > capacity:
            header[slot, IS_FULL] = 1
            break
        node = np.int64(NOBODY)
        if waiting < at_goal:
            node = take_next(header, measure, slots.heap, slots.bound, slots.first[slot], slot)
        _expand(slots, slot, mesh, goals, rims, scratch, node)
        used += 1
    header[slot, EXPANSIONS] += used
    return used
