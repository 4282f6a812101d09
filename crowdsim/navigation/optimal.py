"""Optimal any-angle ways on a convex mesh, from the goal back to the start, resumable and paid in expansions (SYSTEMS M5).

Polyanya (Cui, Harabor and Grastien, "Compromise-free Pathfinding on a Navigation Mesh", IJCAI 2017): a node of the search is not a portal but a *cone*,
all straight ways from one root over a part of a portal. An expansion carries a cone on through the polygon behind its portal. What can be seen from the
root goes on as cones of the same root; where a limit of the cone is a corner at the portal's end, ways bend there, and cones with the corner as their
root fan out behind it. A corner that was reached on a shorter way before begins no cones. For points the way found is the shortest of all.

Differences from the paper: the search goes from the goal to the start; a goal may be a region, whose corners are roots and whose sides send waves; and
roots and limits are discs of the body's radius, so that costs are those of tangents and arcs. Limits are kept as directions to the vertices that set
them, never as points where rays cross edges, so what is visible is decided by the vertices themselves. As in `crowdsim.navigation.search` one search
without a heuristic can serve all starts: cones are listed by the polygon that they enter, and a start asks those of its own.
"""

from __future__ import annotations

import numpy as np

from crowdsim.kernels import inlined_kernel
from crowdsim.navigation.mesh import is_cut_off
from crowdsim.navigation.optimal_cones import (
    LEAST_SLACK_M,
    aim,
    are_swapped,
    aside,
    bends_before,
    disc_radius,
    is_facing,
    leads_to,
    least_way_through,
    least_way_to_edge,
    limit_on_edge,
    mirrored,
    post_side,
    runs_into_wall,
    way_to_disc,
)
from crowdsim.navigation.optimal_goal import can_arrive, choose_piece, faces, is_in_front, next_stretch, stands_on, straight_to_goal, ways_from_stretch
from crowdsim.navigation.optimal_slots import (
    BEST_NODE,
    BEST_TOTAL,
    CONE_COUNT,
    COST,
    EDGE,
    EXPANSIONS,
    EXTRA,
    GENERATION,
    GOAL,
    HEAP_SIZE,
    IN_X,
    IN_Y,
    IS_FULL,
    IS_SEEDED,
    IS_SHARED,
    LEFT_POST,
    LEFT_X,
    LEFT_Y,
    LOOKED_AT,
    MOST_CONES,
    NEXT,
    NEXT_PIECE,
    NEXT_UP,
    NO_POST,
    NOBODY,
    PARENT,
    PIECE_BOUND,
    RIGHT_POST,
    RIGHT_X,
    RIGHT_Y,
    ROOT,
    ROOT_X,
    ROOT_Y,
    SIDE,
    START_POLYGON,
    START_X,
    START_Y,
    STATUS,
    WAVE_ROOT,
    WIDTH,
    flood_of,
    is_reached_sooner,
    least_bound,
    note_bend,
    offer,
    take_next,
)
from crowdsim.navigation.search import FOUND, OUT_OF_NODES, PENDING, TIE_SLACK, UNREACHABLE, price_of

IN_LINE = 1e-10  # Sine of the angle within which a post further on sets the limit instead of one in line with it: ways bend at the last post of a wall.


@inlined_kernel
def _total(slots, slot, mesh, node):
    """Return the length (m) of the way from the goal by a cone that enters the start's polygon to the start."""
    row = slots.first[slot] + node
    edge, root = slots.whole[row, EDGE], slots.whole[row, ROOT]
    x, y, side = slots.real[row, ROOT_X], slots.real[row, ROOT_Y], slots.real[row, SIDE]
    in_x, in_y = slots.real[row, IN_X], slots.real[row, IN_Y]
    tx, ty = slots.measure[slot, START_X], slots.measure[slot, START_Y]
    radius = disc_radius(mesh, slots.measure[slot, WIDTH])
    lx, ly, rx, ry = slots.real[row, LEFT_X], slots.real[row, LEFT_Y], slots.real[row, RIGHT_X], slots.real[row, RIGHT_Y]
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
            end = mesh.edge_vertex[edge] if turn == 0 else mesh.edge_end[edge]
            if slots.whole[row, LEFT_POST + turn] != end:
                is_seen = False
                continue
            # The way bends round the disc at the end of the edge, unless the start comes before the place where it would touch it.
            px, py = mesh.vertex[end, 0], mesh.vertex[end, 1]
            p_side = post_side(mesh, end, turn == 0, radius)
            bend, bx, by = way_to_disc(root, x, y, side, in_x, in_y, px, py, p_side)
            beside = bx * (ty - py) - by * (tx - px)
            if bx * (tx - px) + by * (ty - py) <= 0.0 and (beside if turn == 0 else -beside) < 0.0:
                continue
            rest, _, _ = way_to_disc(2 * end + turn, px, py, p_side, bx, by, tx, ty, 0.0)
            shortest = min(shortest, bend + rest)  # beyond half a turn, what lies beyond one limit seems to lie beyond the other
        if shortest < np.inf:
            return slots.real[row, COST] + shortest
        if is_seen:
            return slots.real[row, COST] + way
    # A point, or a start beside a limit that another part of the edge is beyond: as if the way could bend on the edge.
    qx, qy = limit_on_edge(mesh, edge, slots.whole[row, LEFT_POST], True, root, x, y, side, in_x, in_y, lx, ly, radius)
    sx, sy = limit_on_edge(mesh, edge, slots.whole[row, RIGHT_POST], False, root, x, y, side, in_x, in_y, rx, ry, radius)
    return slots.real[row, COST] + least_way_through(root, x, y, side, in_x, in_y, qx, qy, sx, sy, tx, ty)


@inlined_kernel
def _least_total(slots, slot, node):
    """Return a lower bound (m) of what `_total` returns that costs little: straight from the root, wherever the cone leads."""
    row = slots.first[slot] + node
    ux, uy = slots.measure[slot, START_X] - slots.real[row, ROOT_X], slots.measure[slot, START_Y] - slots.real[row, ROOT_Y]
    if slots.whole[row, ROOT] == WAVE_ROOT:
        return slots.real[row, COST] + slots.real[row, IN_X] * ux + slots.real[row, IN_Y] * uy - LEAST_SLACK_M
    return slots.real[row, COST] + np.sqrt(max(0.0, ux * ux + uy * uy - slots.real[row, SIDE] ** 2)) - LEAST_SLACK_M


@inlined_kernel
def _consider(slots, slot, mesh, node):
    """Take a cone that enters the start's polygon as the end of the way if that is the shortest so far."""
    header, measure = slots.header, slots.measure
    if _least_total(slots, slot, node) > measure[slot, BEST_TOTAL]:
        return
    total = _total(slots, slot, mesh, node)
    if total > measure[slot, BEST_TOTAL] or (total == measure[slot, BEST_TOTAL] and node >= header[slot, BEST_NODE]):
        return
    edge = slots.whole[slots.first[slot] + node, EDGE]
    if not is_cut_off(mesh, header[slot, START_POLYGON], edge, measure[slot, START_X], measure[slot, START_Y], measure[slot, WIDTH]):
        measure[slot, BEST_TOTAL] = total
        header[slot, BEST_NODE] = node


@inlined_kernel
def _look(slots, slot, mesh):
    """Look at the cones that have entered the start's polygon since the last look: the most promising first, so that most others need no closer look."""
    polygon, seen = slots.header[slot, START_POLYGON], slots.header[slot, LOOKED_AT]
    if slots.newest_stamp[slot, polygon] != slots.header[slot, GENERATION]:
        return
    newest = np.int64(slots.newest[slot, polygon])
    if newest == seen:
        return
    slots.header[slot, LOOKED_AT] = newest
    node, promising, least = newest, newest, np.inf
    while node != seen:
        total = _least_total(slots, slot, node)
        if total < least:
            promising, least = node, total
        node = np.int64(slots.whole[slots.first[slot] + node, NEXT])
    node, is_first = promising, True
    while node != seen:
        if is_first or node != promising:
            _consider(slots, slot, mesh, node)
        node = newest if is_first else np.int64(slots.whole[slots.first[slot] + node, NEXT])
        is_first = False


@inlined_kernel
def _add(slots, slot, mesh, edge, parent, root, cost, extra, x, y, side, in_x, in_y, lx, ly, left_post, rx, ry, right_post):
    """Add a cone that enters a polygon over its half-edge `edge`, and let it wait."""
    header, measure = slots.header, slots.measure
    radius = disc_radius(mesh, measure[slot, WIDTH])
    qx, qy = limit_on_edge(mesh, edge, left_post, True, root, x, y, side, in_x, in_y, lx, ly, radius)
    sx, sy = limit_on_edge(mesh, edge, right_post, False, root, x, y, side, in_x, in_y, rx, ry, radius)
    polygon = mesh.edge_polygon[edge]
    is_blind = slots.is_blind[polygon] == 1
    if header[slot, IS_SHARED] == 1:
        bound = cost + least_way_to_edge(root, x, y, side, in_x, in_y, qx, qy, sx, sy)
    else:
        tx, ty = mirrored(mesh, edge, measure[slot, START_X], measure[slot, START_Y])
        bound = cost + least_way_through(root, x, y, side, in_x, in_y, qx, qy, sx, sy, tx, ty)
        if bound >= measure[slot, BEST_TOTAL]:
            return
    node = header[slot, CONE_COUNT]
    header[slot, CONE_COUNT] = node + 1
    row = slots.first[slot] + node
    real, whole = slots.real, slots.whole
    real[row, COST], real[row, ROOT_X], real[row, ROOT_Y], real[row, SIDE] = cost, x, y, side
    real[row, IN_X], real[row, IN_Y] = in_x, in_y
    real[row, LEFT_X], real[row, LEFT_Y], real[row, RIGHT_X], real[row, RIGHT_Y], real[row, EXTRA] = lx, ly, rx, ry, extra
    whole[row, EDGE], whole[row, PARENT], whole[row, ROOT] = edge, parent, root
    whole[row, LEFT_POST], whole[row, RIGHT_POST] = left_post, right_post
    if header[slot, IS_SHARED] == 1 or polygon == header[slot, START_POLYGON]:
        fresh = slots.newest_stamp[slot, polygon] != header[slot, GENERATION]
        whole[row, NEXT] = NOBODY if fresh else slots.newest[slot, polygon]
        slots.newest[slot, polygon] = node
        slots.newest_stamp[slot, polygon] = header[slot, GENERATION]
    if not is_blind:
        offer(slots, slot, node, bound)


@inlined_kernel
def _spread(slots, slot, mesh, polygon, entry, parent, root, cost, extra, x, y, side, in_x, in_y, lx, ly, left_post, rx, ry, right_post, mx, my):
    """Carry a cone through a polygon to all edges that it reaches, from right to left; `entry` is -1, and (mx, my) where ways begin, at the goal."""
    width = slots.measure[slot, WIDTH]
    radius = disc_radius(mesh, width)
    first, last = np.int64(mesh.polygon_start[polygon]), np.int64(mesh.polygon_start[polygon + 1])
    has_prices = slots.priced[slot, 0] >= 0
    steps = last - first
    edge, pairs = first, 0
    if entry >= 0:
        steps -= 1
        edge = entry + 1 if entry + 1 < last else first
        pairs = mesh.pair_start[polygon] + (entry - first)
    for _ in range(steps):
        a, b = np.int64(mesh.edge_vertex[edge]), np.int64(mesh.edge_end[edge])
        exit_edge = edge
        edge = edge + 1 if edge + 1 < last else first
        twin = np.int64(mesh.edge_twin[exit_edge])
        if twin < 0 or mesh.edge_width[exit_edge] < width:
            continue
        if entry >= 0 and mesh.pair_width[pairs + (exit_edge - first) * (last - first)] < width:
            continue
        behind = mesh.edge_polygon[twin]
        if slots.is_blind[behind] == 1 and slots.header[slot, IS_SHARED] == 0 and behind != slots.header[slot, START_POLYGON]:
            continue
        # Of two posts in line with the root the one further on sets the limit: it is there that a way along a wall bends.
        vx, vy, l_post, wx, wy, r_post = lx, ly, left_post, rx, ry, right_post
        if root == WAVE_ROOT:
            at, is_ahead = aside(mesh, a, False, x, y, in_x, in_y, radius)
            if at >= wx:
                wx, r_post = at, a if is_ahead else r_post
            at, is_ahead = aside(mesh, b, True, x, y, in_x, in_y, radius)
            if at <= vx:
                vx, l_post = at, b if is_ahead else l_post
            is_seen = wx < vx
        else:
            ux, uy = aim(mesh, a, False, x, y, side, radius)
            if (ux != 0.0 or uy != 0.0) and wx * uy - wy * ux >= -IN_LINE * (abs(wx) + abs(wy)) * (abs(ux) + abs(uy)):
                wx, wy, r_post = ux, uy, a
            ux, uy = aim(mesh, b, True, x, y, side, radius)
            if (ux != 0.0 or uy != 0.0) and ux * vy - uy * vx >= -IN_LINE * (abs(vx) + abs(vy)) * (abs(ux) + abs(uy)):
                vx, vy, l_post = ux, uy, b
            is_seen = wx * vy - wy * vx > 0.0 or (vx == 0.0 and vy == 0.0) or (wx == 0.0 and wy == 0.0)
            if is_seen and l_post != b and r_post != a:
                # Neither end of the edge cuts the cone: either the cone passes between them, or the edge is behind its root.
                is_seen = is_in_front(mesh, a, b, x, y, wx, wy, vx, vy)
            elif entry < 0 and not is_seen and wx * vx + wy * vy < 0.0:
                is_seen = stands_on(mesh, a, b, x, y)
        if not is_seen and (l_post != b and r_post != a if radius > 0.0 else l_post != b or r_post != a):
            continue
        if entry < 0 and (is_cut_off(mesh, polygon, exit_edge, mx, my, width) or not (is_seen or faces(mesh, a, b, root, x, y, in_x, in_y, lx, ly, rx, ry))):
            continue
        new_root, new_cost, px, py, p_side, ux, uy, new_extra = root, cost, x, y, side, in_x, in_y, extra
        if not is_seen:
            is_seen, new_root, new_cost, px, py, p_side, ux, uy, vx, vy, l_post, wx, wy, r_post = _squeeze(
                slots, slot, mesh, entry, twin, root, cost, x, y, side, in_x, in_y, lx, ly, left_post, l_post, rx, ry, right_post, r_post
            )
            new_extra = 0.0
            if not is_seen:
                continue
        if has_prices:
            price = price_of(slots, slot, exit_edge, twin)
            new_cost, new_extra = new_cost + price, new_extra + price
        _add(slots, slot, mesh, twin, parent, new_root, new_cost, new_extra, px, py, p_side, ux, uy, vx, vy, l_post, wx, wy, r_post)


@inlined_kernel
def _squeeze(
    slots, slot, mesh, entry, twin, root, cost, x, y, side, in_x, in_y, cone_lx, cone_ly, cone_left, left_limit, cone_rx, cone_ry, cone_right,
    right_limit,
):
    """Let a body through a portal that it cannot cross on a straight way: it bends round the disc at an end before it is through.

    Returns whether it may, and the cone behind the bend as (root, cost, x, y, side, in_x, in_y, lx, ly, left_post, rx, ry, right_post).

    That is the nearer end if both limit the cone, and the cone leads there. If only one does, the other limit is a post of an earlier portal, beside which the
    way comes after the bend: it is one of the ways on from there. For points only where the portal lies in one line with the root, and the way bends behind
    its nearer end. Not where that end is one of the entry as well: the way has bent there already, as a limit of the cone.
    """
    no_way = False, root, cost, x, y, side, in_x, in_y, cone_lx, cone_ly, left_limit, cone_rx, cone_ry, right_limit
    radius = disc_radius(mesh, slots.measure[slot, WIDTH])
    left, right = np.int64(mesh.edge_vertex[twin]), np.int64(mesh.edge_end[twin])
    both_limit = left_limit == left and right_limit == right
    is_right = right_limit == right
    corner, other = (right, left_limit) if is_right else (left, right_limit)
    if not both_limit and (root >= 0 if other == NO_POST else are_swapped(mesh, left_limit, right_limit, radius, root, x, y, in_x, in_y)):
        return no_way  # Without a post a limit is that of the goal, or straight on from a bend.
    px, py, p_side = mesh.vertex[corner, 0], mesh.vertex[corner, 1], post_side(mesh, corner, not is_right, radius)
    way, ux, uy = way_to_disc(root, x, y, side, in_x, in_y, px, py, p_side)
    if both_limit:
        lx, ly, l_side = mesh.vertex[left, 0], mesh.vertex[left, 1], post_side(mesh, left, True, radius)
        to_left, vx, vy = way_to_disc(root, x, y, side, in_x, in_y, lx, ly, l_side)
        is_left_first = to_left <= way
        if not is_facing(mesh, left, right, root, x, y, in_x, in_y):
            leads_right = leads_to(mesh, right, root, x, y, in_x, in_y, cone_lx, cone_ly, cone_left, cone_rx, cone_ry, cone_right)
            leads_left = leads_to(mesh, left, root, x, y, in_x, in_y, cone_lx, cone_ly, cone_left, cone_rx, cone_ry, cone_right)
            is_left_first = is_left_first if leads_left == leads_right else leads_left
        if is_left_first:
            is_right, corner, other, way, ux, uy, px, py, p_side = False, left, right, to_left, vx, vy, lx, ly, l_side
    elif other != NO_POST:
        if not bends_before(mesh, px, py, p_side, other, radius, root, x, y, side, ux, uy, way):
            return no_way
    elif not leads_to(mesh, corner, root, x, y, in_x, in_y, cone_lx, cone_ly, cone_left, cone_rx, cone_ry, cone_right):
        return no_way
    shares_left, shares_right = entry >= 0 and left == mesh.edge_vertex[entry], entry >= 0 and right == mesh.edge_end[entry]
    if radius <= 0.0 and (shares_left or shares_right or slots.is_corner[corner] == 0):
        return no_way
    if (shares_left and corner == left) or (shares_right and corner == right):
        return no_way
    new_root = 2 * corner + (1 if is_right else 0)
    # Where one end limits the cone, the way bends only on its way through this portal: cones that fan out from there in full are still to come.
    if both_limit:
        if not note_bend(slots, slot, new_root, cost + way, p_side, ux, uy):
            return no_way
    elif is_reached_sooner(slots, slot, new_root, cost + way, p_side, ux, uy):
        return no_way
    lx, ly = aim(mesh, left, True, px, py, p_side, radius)  # (0, 0) at the corner itself
    rx, ry = aim(mesh, right, False, px, py, p_side, radius)
    left_post, right_post = (left, np.int64(NO_POST)) if is_right else (np.int64(NO_POST), right)
    # Ways bend round the corner, so none leads on to the other side of straight ahead.
    if not both_limit and is_right and ux * ly - uy * lx > 0.0:
        lx, ly, left_post = ux, uy, np.int64(NO_POST)
    elif not both_limit and not is_right and rx * uy - ry * ux > 0.0:
        rx, ry, right_post = ux, uy, np.int64(NO_POST)
    return True, new_root, cost + way, px, py, p_side, ux, uy, lx, ly, left_post, rx, ry, right_post


@inlined_kernel
def _expand(slots, slot, mesh, goals, rims, node):
    """Carry a cone on through the polygon that it enters, and let ways bend at its limits; node NOBODY begins at the next stretch of the goal's rim."""
    radius = disc_radius(mesh, slots.measure[slot, WIDTH])
    edge, root, left_post, right_post = np.int64(-1), np.int64(NOBODY), np.int64(NO_POST), np.int64(NO_POST)
    cost, extra, x, y, side, in_x, in_y, lx, ly, rx, ry = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    part, low, high, piece = np.int64(-1), 0.0, 0.0, slots.header[slot, NEXT_PIECE]
    if node == NOBODY:
        part, low, high = next_stretch(slots, slot, mesh, goals, rims, flood_of(slots, slot))
        if part < 0:
            choose_piece(slots, slot, goals)
            return
        polygon, parent = np.int64(goals.piece_polygon[piece]), -2 - piece
    else:
        row, parent = slots.first[slot] + node, node
        edge, root = np.int64(slots.whole[row, EDGE]), np.int64(slots.whole[row, ROOT])
        left_post, right_post = np.int64(slots.whole[row, LEFT_POST]), np.int64(slots.whole[row, RIGHT_POST])
        cost, extra, x, y, side = slots.real[row, COST], slots.real[row, EXTRA], slots.real[row, ROOT_X], slots.real[row, ROOT_Y], slots.real[row, SIDE]
        in_x, in_y = slots.real[row, IN_X], slots.real[row, IN_Y]
        lx, ly, rx, ry = slots.real[row, LEFT_X], slots.real[row, LEFT_Y], slots.real[row, RIGHT_X], slots.real[row, RIGHT_Y]
        if root >= 0 and is_reached_sooner(slots, slot, root, cost - extra, side, in_x, in_y):
            return
        polygon = np.int64(mesh.edge_polygon[edge])
    # The cone itself first, then what bends round the left end of the edge, then what bends round the right one.
    part_root, part_cost, part_extra, px, py, p_side, ux, uy, mx, my = root, cost, extra, x, y, side, in_x, in_y, 0.0, 0.0
    for turn in range(3):
        l_post, r_post = (left_post, right_post) if turn == 0 else (np.int64(NO_POST), np.int64(NO_POST))
        if part >= 0:
            are_any, part_root, px, py, ux, uy, lx, ly, rx, ry = ways_from_stretch(goals, rims, piece, part, low, high, turn)
            if not are_any:
                continue
            mx, my = px, py
            if turn == 1:
                mx, my = px - 0.5 * (low + high) * uy, py + 0.5 * (low + high) * ux
        elif turn > 0:
            corner = np.int64(mesh.edge_vertex[edge] if turn == 1 else mesh.edge_end[edge])
            if corner != (left_post if turn == 1 else right_post) or slots.is_corner[corner] == 0:
                continue
            px, py = mesh.vertex[corner, 0], mesh.vertex[corner, 1]
            p_side = post_side(mesh, corner, turn == 1, radius)
            way, ux, uy = way_to_disc(root, x, y, side, in_x, in_y, px, py, p_side)
            part_root, part_cost, part_extra = 2 * corner + turn - 1, cost + way, 0.0
            if runs_into_wall(mesh, edge, turn == 1, ux, uy):
                continue
            if not note_bend(slots, slot, part_root, part_cost, p_side, ux, uy):
                continue
            # Everything between the way on straight ahead and the wall behind the corner.
            lx, ly, rx, ry = (0.0, 0.0, ux, uy) if turn == 1 else (ux, uy, 0.0, 0.0)
        _spread(
            slots, slot, mesh, polygon, edge, parent, part_root, part_cost, part_extra, px, py, p_side, ux, uy, lx, ly, l_post, rx, ry, r_post, mx, my
        )


@inlined_kernel
def begin_optimal(slots, slot, mesh, goals, goal, width, x, y, polygon, is_shared):
    """Set a slot up to look for the shortest way to a goal from a point; a shared slot that already serves this goal keeps what it knows.

    Parameters
    ----------
    slots : IntervalSlots
    slot : int
    mesh : NavMesh
    goals : GoalPieces
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
        choose_piece(slots, slot, goals)
    total, piece = straight_to_goal(mesh, goals, goal, measure[slot, WIDTH], x, y, polygon, flood_of(slots, slot))
    measure[slot, BEST_TOTAL] = total
    header[slot, BEST_NODE] = -2 - piece
    if piece < 0 and not can_arrive(mesh, goals, slots.passages, goal, measure[slot, WIDTH], x, y, polygon):
        header[slot, STATUS] = UNREACHABLE


@inlined_kernel
def advance_optimal(slots, slot, mesh, goals, rims, grant):
    """Go on with a pending search for at most `grant` expansions.

    Parameters
    ----------
    slots : IntervalSlots
    slot : int
    mesh : NavMesh
    goals : GoalPieces
    rims : Rims
        Of the goals.
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
        best, waiting, at_goal = measure[slot, BEST_TOTAL], least_bound(slots, slot), measure[slot, PIECE_BOUND]
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
        _expand(slots, slot, mesh, goals, rims, np.int64(NOBODY) if at_goal <= waiting else take_next(slots, slot))
        used += 1
    header[slot, EXPANSIONS] += used
    return used
