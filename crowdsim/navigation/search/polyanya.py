"""Shortest paths on a convex mesh in any direction, from the goal back to the start,
resumable and paid in expansions.

Polyanya ([Cui 2017]): a node of the search is not a portal but an *interval*, all straight paths from one
root over a part of a portal. An expansion carries an interval on through the polygon behind its portal. What
can be seen from the root goes on as intervals of the same root; where a limit of the interval is a corner at
the portal's end, paths bend there, and intervals with the corner as their root fan out behind it. A corner
that was reached on a shorter path before begins no intervals. For points the path found is the shortest of
all.

Differences from the paper: the search goes from the goal to the start; a goal may be a region, whose corners
are roots and whose sides send waves; and roots and limits are discs of the agent's radius, so that costs are
those of tangents and arcs. Limits are kept as directions to the vertices that set them, never as points where
rays cross edges, so what is visible is decided by the vertices themselves. As in
`crowdsim.navigation.search.a_star` one search without a heuristic can serve all starts: intervals are listed
by the polygon that they enter, and a start asks those of its own.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import inlined_kernel
from crowdsim.kernels.simd import prefetch
from crowdsim.navigation.mesh.mesh import is_cut_off
from crowdsim.navigation.mesh.slopes import PLAN_LENGTH
from crowdsim.navigation.search.dead_ends import mark_chains
from crowdsim.navigation.search.goal_entries import cheapest_piece_here, choose_piece, flood_of, set_up_slot
from crowdsim.navigation.search.landmarks import least_from_line, least_from_place, note_distances
from crowdsim.navigation.search.polyanya_goal import (
    can_arrive,
    interval_of_stretch,
    is_in_front,
    next_stretch,
    stands_on,
)
from crowdsim.navigation.search.polyanya_intervals import (
    NO_VERTEX,
    POINT_ROOT,
    STRAIGHT,
    WAVE_ROOT,
    Interval,
    Limit,
    Portal,
    Root,
    aside,
    bends_before,
    is_facing,
    leads_to,
    least_path_to_edge,
    limit_at,
    mirrored,
    path_to_disc,
    signed_radius,
)
from crowdsim.navigation.search.polyanya_lengths import (
    least_path_by,
    least_total_length,
    total_length,
)
from crowdsim.navigation.search.polyanya_slots import (
    EDGE,
    FRONTIER,
    INTERVAL_COUNT,
    IS_FULL,
    LOOKED_AT,
    MADE_AT,
    MOST_INTERVALS,
    NEXT,
    NEXT_BOUND,
    NEXT_PART,
    NEXT_UP,
    OUT,
    PARENT,
    PART_FROM,
    POLYGON,
    RADIUS,
    ROOM,
    ROOT,
    WALL,
    interval_at,
    is_reached_sooner,
    least_bound,
    note_bend,
    offer,
    portal_at,
    put_interval,
    side_after,
    take_next,
    turned_round,
)
from crowdsim.navigation.search.portal_prices import price_of
from crowdsim.navigation.search.slot_fields import (
    BEST_NODE,
    BEST_TOTAL,
    EXPANSIONS,
    FOUND,
    GENERATION,
    IS_SHARED,
    NEXT_PIECE,
    NONE,
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

# Sine of the angle within which a vertex further on sets the limit instead of one in line with it: paths bend
# at the last one of a wall.
IN_LINE = 1e-10
# In place of the portal over which paths have come, at the goal.
NO_PORTAL = Portal(
    0.0,
    0.0,
    0.0,
    0.0,
    np.int64(NO_VERTEX),
    np.int64(NO_VERTEX),
    np.uint8(0),
    np.uint8(0),
    np.uint8(0),
    np.uint8(0),
)


@inlined_kernel
def disc_radius(mesh, width):
    """Return the radius (m) at which paths of an agent of some width are rounded while they are searched for.

    Where there are vertices in free ground, not every wall that an agent bends round is an end of a portal
    that its path crosses (`crowdsim.navigation.corridor.walls_off_corridor`). The search there is for the
    path of a point through what the agent can pass, and the funnel rounds it.
    """
    return 0.5 * width if mesh.vertex_clearance.size == 0 else 0.0


@inlined_kernel
def _look(slots, slot, mesh):
    """Look at the intervals that have entered the start's polygon since the last look:
    the shortest path so far may end with one of them.

    In the order in which they were made, which is about that of the lengths of their paths: so most need no
    closer look, and of a tree that was grown for others, far beyond the start, most none at all. Of paths
    that are as long that by the older interval counts.
    """
    header, measure, real, whole, first = (
        slots.header,
        slots.measure,
        slots.real,
        slots.whole,
        slots.first[slot],
    )
    polygon, seen = header[slot, START_POLYGON], header[slot, LOOKED_AT]
    if polygon < 0:  # a tree that is grown for no start
        return
    if slots.newest_stamp[slot, polygon] != header[slot, GENERATION] or slots.newest[slot, polygon] == seen:
        return
    x, y = measure[slot, START_X], measure[slot, START_Y]
    node = np.int64(slots.oldest[slot, polygon] if seen == NONE else whole[first + seen, NEXT])
    while node != NONE and real[first + node, MADE_AT] <= measure[slot, BEST_TOTAL] * (1.0 + TIE_SLACK):
        is_wave = whole[first + node, ROOT] == WAVE_ROOT
        if least_total_length(real, first + node, is_wave, x, y) <= measure[slot, BEST_TOTAL]:
            total = total_length(slots, slot, node)
            is_better = total < measure[slot, BEST_TOTAL] or (
                total == measure[slot, BEST_TOTAL] and node < header[slot, BEST_NODE]
            )
            if is_better and not is_cut_off(
                mesh, polygon, whole[first + node, EDGE], x, y, measure[slot, WIDTH]
            ):
                measure[slot, BEST_TOTAL], header[slot, BEST_NODE] = total, node
        header[slot, LOOKED_AT] = node
        node = np.int64(whole[first + node, NEXT])


@inlined_kernel
def _add(slots, slot, edge, out, polygon, parent, interval):
    """Add an interval that enters a polygon over its half-edge `edge`, the twin of `out`."""
    header = slots.header
    corners = slot * slots.known.shape[1]
    prefetch(slots.sides, np.uint64(edge))  # what its expansion will ask for first
    prefetch(slots.known, np.uint64(corners + 2 * max(interval.left.vertex, 0)))
    prefetch(slots.known, np.uint64(corners + 2 * max(interval.right.vertex, 0)))
    node = header[slot, INTERVAL_COUNT]
    header[slot, INTERVAL_COUNT] = node + 1
    row = slots.first[slot] + node
    put_interval(slots.real, slots.whole, row, interval)
    slots.real[row, MADE_AT] = slots.measure[slot, FRONTIER]
    slots.whole[row, EDGE], slots.whole[row, PARENT], slots.whole[row, NEXT] = edge, parent, NONE
    slots.whole[row, POLYGON], slots.whole[row, OUT] = polygon, out
    if header[slot, IS_SHARED] == 1 or polygon == header[slot, START_POLYGON]:
        if slots.newest_stamp[slot, polygon] == header[slot, GENERATION]:
            slots.whole[slots.first[slot] + slots.newest[slot, polygon], NEXT] = node
        else:
            slots.oldest[slot, polygon], slots.newest_stamp[slot, polygon] = node, header[slot, GENERATION]
        slots.newest[slot, polygon] = node


@inlined_kernel
def _let_wait(slots, slot, mesh, first, may_go_on, known_root):
    """Let the intervals from number `first` on wait, which an expansion has made.

    The only one is carried on next, without a bound ([Cui 2017], intermediate pruning): one step, then it is
    asked again how long its paths are. To go on until it parts, as in the paper, follows each of several
    exits far beyond what can matter: in an office with two of them that took a quarter more expansions.
    `may_go_on` is also false beside a dead end, or leaving dead ends out would make searches longer. Nor that
    which has come to the start. Trees go by bounds alone, so that they know how far they have come.

    What landmarks say of the root `known_root` is in the bound of the interval that was carried on.
    """
    header, measure, base, count = (
        slots.header,
        slots.measure,
        slots.first[slot],
        slots.header[slot, INTERVAL_COUNT],
    )
    is_shared, is_only = header[slot, IS_SHARED] == 1, may_go_on and count == first + 1
    has_landmarks = not is_shared and slots.landmarks.each[0] > 0
    last_root, from_root = np.int64(NONE), 0.0
    for node in range(first, count):
        row = base + node
        polygon = np.int64(slots.whole[row, POLYGON])
        if is_only and not is_shared and polygon != header[slot, START_POLYGON]:
            header[slot, NEXT_UP], measure[slot, NEXT_BOUND] = node, measure[slot, FRONTIER]
            break
        if slots.is_blind[polygon] == 1:
            continue
        interval, portal = (
            interval_at(slots.real, slots.whole, row),
            turned_round(portal_at(slots.sides, np.int64(slots.whole[row, OUT]))),
        )
        ax, ay, bx, by = portal.ax, portal.ay, portal.bx, portal.by
        if is_shared:
            # of the whole edge, for the reason given in `least_path_by`
            bound = least_path_to_edge(interval.root, ax, ay, bx, by)
        else:
            tx, ty = mirrored(ax, ay, bx, by, measure[slot, START_X], measure[slot, START_Y])
            bound = least_path_by(mesh, interval, portal, measure[slot, RADIUS], tx, ty)
        bound += interval.cost + interval.extra
        if has_landmarks:
            span, root = slots.span[slot], interval.root
            length = np.sqrt((bx - ax) * (bx - ax) + (by - ay) * (by - ay))
            ahead = least_from_line(slots.landmarks, span, portal.a, portal.b, length)
            if ahead > 0.0:
                ahead += least_path_to_edge(root, ax, ay, bx, by)
            if root.kind >= 0 and root.kind != known_root:
                if root.kind != last_root:
                    last_root = root.kind
                    from_root = least_from_place(slots.landmarks, span, root.kind // 2) - abs(root.side)
                ahead = max(ahead, from_root)
            ahead += interval.cost + interval.extra
            # Paths by it are at least as long as those by the one that it comes from; so bounds of intervals
            # that are carried on never fall, as `_look` needs it.
            bound = max(bound, max(ahead, measure[slot, FRONTIER]))
        if is_shared or bound < measure[slot, BEST_TOTAL]:
            offer(header, measure, slots.heap, slots.bound, base, slot, node, bound)


@inlined_kernel
def _spread(slots, slot, mesh, polygon, entry, entering, parent, interval, mx, my):
    """Carry an interval through a polygon to all edges that it reaches, from right to left;
    return how many dead ends were left out. `entering` is the portal of half-edge `entry`; at the goal
    `entry` is -1, and (mx, my) where paths begin.
    """
    sides, root = slots.sides, interval.root
    width, radius, generation = (
        slots.measure[slot, WIDTH],
        slots.measure[slot, RADIUS],
        slots.header[slot, GENERATION],
    )
    has_prices, is_shared = slots.priced[slot, 0] >= 0, slots.header[slot, IS_SHARED] == 1
    # From portal to portal: round to where paths come in, or, at the goal, from the first to the first.
    out = end = entry if entry >= 0 else np.int64(mesh.polygon_start[polygon + 1]) - 1
    dead_ends, is_first = 0, entry < 0
    while True:
        out += sides[np.uint64(out)].portal
        if out == end and not is_first:
            break
        here = sides[np.uint64(out)]
        if is_first:
            end, is_first = out, False
        region = np.int64(here.region)
        if region == WALL:
            break  # ground without portals
        there = sides[np.uint64(out + here.after)]
        if region >= 0 and not is_shared and slots.is_open[slot, region] != generation:
            dead_ends += 1
            continue
        if width > 0.0 and (here.width < width or (entry >= 0 and _gap(mesh, polygon, entry, out) < width)):
            continue
        twin, a, b = np.int64(here.twin), np.int64(here.vertex), np.int64(there.vertex)
        ax, ay, bx, by = here.x, here.y, there.x, there.y
        if entry >= 0 and root.kind < 0 and root.kind != WAVE_ROOT:
            # Round a goal at a vertex there are polygons all round, each of which ends at it: once round.
            is_at_end = (ax == root.x and ay == root.y) or (bx == root.x and by == root.y)
            if is_at_end and here.beyond == _home(slots, slot, mesh, parent):
                continue
        a_side = b_side = 0.0
        if radius > 0.0:
            a_side = signed_radius(here.is_wall, False, radius)
            b_side = signed_radius(there.is_wall, True, radius)
        # Of two vertices in line with the root the one further on sets the limit: it is there that a path
        # along a wall bends.
        left, right = interval.left, interval.right
        if root.kind == WAVE_ROOT:
            at, is_ahead = aside(root, ax, ay, a_side)
            if at >= right.x:
                right = Limit(at, right.y, a if is_ahead else right.vertex)
            at, is_ahead = aside(root, bx, by, b_side)
            if at <= left.x:
                left = Limit(at, left.y, b if is_ahead else left.vertex)
            is_seen = right.x < left.x
        else:
            at_a = limit_at(root, ax, ay, a_side, radius, a)
            at_b = limit_at(root, bx, by, b_side, radius, b)
            if radius <= 0.0 and entry >= 0:
                # Most edges lie beside all paths of a point; behind the first on their left are no others.
                if _turn(right, at_b) < -IN_LINE * _size(right) * _size(at_b):
                    continue
                if _turn(at_a, left) < -IN_LINE * _size(left) * _size(at_a):
                    break
            if (at_a.x != 0.0 or at_a.y != 0.0) and _turn(right, at_a) >= -IN_LINE * _size(right) * _size(
                at_a
            ):
                right = at_a
            if (at_b.x != 0.0 or at_b.y != 0.0) and _turn(at_b, left) >= -IN_LINE * _size(left) * _size(at_b):
                left = at_b
            is_seen = (
                _turn(right, left) > 0.0
                or (left.x == 0.0 and left.y == 0.0)
                or (right.x == 0.0 and right.y == 0.0)
            )
            if is_seen and left.vertex != b and right.vertex != a:
                # Neither end of the edge cuts the interval: either it passes between them, or the edge is
                # behind its root.
                is_seen = is_in_front(
                    ax - root.x, ay - root.y, bx - root.x, by - root.y, right.x, right.y, left.x, left.y
                )
            elif entry < 0 and not is_seen and right.x * left.x + right.y * left.y < 0.0:
                is_seen = stands_on(ax, ay, bx, by, root.x, root.y)
        if not is_seen and (
            left.vertex != b and right.vertex != a if radius > 0.0 else left.vertex != b or right.vertex != a
        ):
            continue
        if entry < 0:
            faces = leads_to(
                root,
                0.5 * (ax + bx),
                0.5 * (ay + by),
                interval.left.x,
                interval.left.y,
                interval.right.x,
                interval.right.y,
            )
            if not (is_seen or faces) or is_cut_off(mesh, polygon, out, mx, my, width):
                continue
        behind = turned_round(portal_at(sides, out))
        carried = Interval(root, interval.cost, interval.extra, left, right)
        if not is_seen:
            # Where only one end limits the interval, the other limit is a vertex of an earlier portal; else
            # that of the goal, or straight on from a bend.
            corner, length, ux, uy = _squeeze(
                slots, slot, mesh, entering, behind, interval, left.vertex, right.vertex
            )
            if corner == NONE:
                continue
            is_right, both_limit = corner == a, left.vertex == b and right.vertex == a
            px, py, p_side = (ax, ay, a_side) if is_right else (bx, by, b_side)
            bend = Root(2 * corner + (1 if is_right else 0), px, py, p_side, ux, uy)
            # (0, 0) at the corner itself
            left = limit_at(bend, bx, by, b_side, radius, b if is_right else np.int64(NO_VERTEX))
            right = limit_at(bend, ax, ay, a_side, radius, np.int64(NO_VERTEX) if is_right else a)
            # Paths bend round the corner, so none leads on to the other side of straight ahead.
            ahead = Limit(ux, uy, np.int64(NO_VERTEX))
            if not both_limit and is_right and _turn(ahead, left) > 0.0:
                left = ahead
            elif not both_limit and not is_right and _turn(right, ahead) > 0.0:
                right = ahead
            carried = Interval(bend, interval.cost + interval.extra + length, 0.0, left, right)
        if has_prices:
            carried = Interval(
                carried.root,
                carried.cost,
                carried.extra + price_of(slots, slot, out, twin),
                carried.left,
                carried.right,
            )
        _add(slots, slot, twin, out, np.int64(here.beyond), parent, carried)
    return dead_ends


@inlined_kernel
def _gap(mesh, polygon, entry, out):
    """Return the width (m) of agents that can go through a polygon from one of its edges to another."""
    first = mesh.polygon_start[polygon]
    count = mesh.polygon_start[polygon + 1] - first
    return mesh.pair_width[mesh.pair_start[polygon] + (entry - first) + (out - first) * count]


@inlined_kernel
def _home(slots, slot, mesh, node):
    """Return the polygon of the piece of the goal at which the path of an interval begins."""
    row = slots.first[slot] + node
    while slots.whole[row, PARENT] >= 0:
        row = slots.first[slot] + slots.whole[row, PARENT]
    return mesh.edge_polygon[mesh.edge_twin[slots.whole[row, EDGE]]]


@inlined_kernel
def _turn(a, b):
    """Return the cross product of the directions of two limits: positive if b is on the left of a."""
    return a.x * b.y - a.y * b.x


@inlined_kernel
def _size(limit):
    """Return the size of a limit's direction, by its parts."""
    return abs(limit.x) + abs(limit.y)


@inlined_kernel
def _point_limit(mesh, root, limit):
    """Return a limit of an interval as it is for points: that which its vertex sets, if it has one."""
    if limit.vertex == NO_VERTEX:
        return limit.x, limit.y
    px, py = mesh.vertex[limit.vertex, 0], mesh.vertex[limit.vertex, 1]
    return (aside(root, px, py, 0.0)[0], 0.0) if root.kind == WAVE_ROOT else (px - root.x, py - root.y)


@inlined_kernel
def _squeeze(slots, slot, mesh, entry, portal, interval, left_limit, right_limit):
    """Let an agent through a portal that it cannot cross straight:
    it bends round the disc at an end before it is through.

    Returns at which end, how long the path to there is, and its direction, as (vertex, length, ux, uy); NONE
    if it cannot.

    That is the nearer end if both limit the interval, and the interval leads there. If only one does, the
    other limit is a vertex of an earlier portal, beside which the path comes after the bend: it is one of the
    paths on from there. For points only where the portal lies in one line with the root, and the path bends
    behind its nearer end. Not where that end is one of the entry as well: the path has bent there already, as
    a limit of the interval.
    """
    vertex, is_wall, radius = mesh.vertex, mesh.is_wall_vertex, slots.measure[slot, RADIUS]
    root, left, right = interval.root, portal.a, portal.b
    none, cost = (np.int64(NONE), 0.0, 0.0, 0.0), interval.cost + interval.extra
    both_limit = left_limit == left and right_limit == right
    is_right = right_limit == right
    corner, other = (right, left_limit) if is_right else (left, right_limit)
    if other == NO_VERTEX:
        # The other limit is that of paths from the goal, or straight on from a bend: paths beyond it belong
        # to the interval beside this one.
        return none
    cx, cy, c_side = (
        vertex[corner, 0],
        vertex[corner, 1],
        signed_radius(is_wall[corner], not is_right, radius),
    )
    ox, oy, o_side = vertex[other, 0], vertex[other, 1], signed_radius(is_wall[other], is_right, radius)
    faces = is_facing(root, ox, oy, cx, cy) if is_right else is_facing(root, cx, cy, ox, oy)
    if not both_limit and (
        not faces or (ox - cx) * (ox - cx) + (oy - cy) * (oy - cy) < 4.0 * radius * radius
    ):
        return none  # Not even a point gets between them, or there is no room.
    length, ux, uy = path_to_disc(root, cx, cy, c_side)
    if both_limit:
        to_other, vx, vy = path_to_disc(root, ox, oy, o_side)
        is_other = to_other <= length
        if not faces:
            plx, ply = _point_limit(mesh, root, interval.left)
            prx, pry = _point_limit(mesh, root, interval.right)
            leads_here = leads_to(root, cx, cy, plx, ply, prx, pry)
            leads_there = leads_to(root, ox, oy, plx, ply, prx, pry)
            is_other = is_other if leads_there == leads_here else leads_there
        if is_other:
            corner, length, ux, uy, c_side, is_right = other, to_other, vx, vy, o_side, False
    elif not bends_before(root, cx, cy, c_side, ox, oy, abs(o_side), ux, uy, length):
        return none
    shares_left, shares_right = left == entry.a, right == entry.b
    is_corner = portal.b_corner if corner == right else portal.a_corner
    if radius <= 0.0 and (shares_left or shares_right or is_corner == 0):
        return none
    if (shares_left and corner == left) or (shares_right and corner == right):
        return none
    bend = Root(2 * corner + (1 if is_right else 0), vertex[corner, 0], vertex[corner, 1], c_side, ux, uy)
    # Where one end limits the interval, the path bends only while it crosses this portal: intervals that fan
    # out from there in full are still to come.
    if both_limit:
        if not note_bend(slots, slot, bend, cost + length):
            return none
    elif is_reached_sooner(slots, slot, bend, cost + length):
        return none
    return corner, length, ux, uy


@inlined_kernel
def _runs_into_wall(sides, edge, is_left, ux, uy):
    """Return whether a path past an end of an edge, in direction u, meets the wall behind the end for sure:
    then nothing is to be found beside it.
    """
    here, after = sides[edge], side_after(sides, edge)
    if is_left:
        side = edge + here.before
        corner, other = here, sides[side]
    else:
        side = after
        corner, other = sides[after], sides[side_after(sides, after)]
    if sides[side].region != WALL:
        return False
    vx, vy = other.x - corner.x, other.y - corner.y
    turn = ux * vy - uy * vx if is_left else uy * vx - ux * vy
    return turn < 0.0 and turn * turn > STRAIGHT * STRAIGHT * ((ux * ux + uy * uy) * (vx * vx + vy * vy))


@inlined_kernel
def _expand(slots, slot, mesh, goals, rims, scratch, node, has_bound):
    """Carry an interval on through the polygon that it enters, and let paths bend at its limits;
    node NONE begins at the next stretch of the goal's rim.
    """
    header, radius = slots.header, slots.measure[slot, RADIUS]
    row, edge, part, low, high = slots.first[slot], np.int64(-1), np.int64(-1), 0.0, 0.0
    if node == NONE:
        piece = header[slot, NEXT_PIECE]
        part, low, high = next_stretch(
            header, slots.measure, slot, mesh, goals, rims, flood_of(scratch, slot)
        )
        if header[slot, NEXT_PART] >= rims.start[piece + 1]:
            choose_piece(header, slots.measure, slot, goals)
            header[slot, NEXT_PART] = NONE
        if part < 0:
            return
        polygon, parent = np.int64(goals.piece_polygon[piece]), -2 - piece
    else:
        row, parent = slots.first[slot] + node, node
        edge = np.int64(slots.whole[row, EDGE])
        polygon, piece = np.int64(slots.whole[row, POLYGON]), np.int64(0)
    portal = portal_at(slots.sides, edge) if edge >= 0 else NO_PORTAL
    whole = interval_at(slots.real, slots.whole, row)
    if node != NONE and whole.root.kind >= 0 and is_reached_sooner(slots, slot, whole.root, whole.cost):
        return
    first_new, dead_ends = header[slot, INTERVAL_COUNT], 0
    # The interval itself first, then what bends round the left end of the edge, then what bends round the
    # right one. The path of a point may lead over a goal in which its agent could not stand.
    for turn in range(5 if part >= 0 and radius <= 0.0 else 3):
        interval, mx, my = whole, 0.0, 0.0
        if part >= 0:
            interval, are_any = interval_of_stretch(goals, rims, piece, part, low, high, turn)
            if not are_any:
                continue
            # along the side, which is on the left of its waves
            along = 0.5 * (low + high) if turn == 1 else 0.0
            mx, my = (
                interval.root.x - along * interval.root.in_y,
                interval.root.y + along * interval.root.in_x,
            )
        elif turn > 0:
            if turn == 1:
                corner, px, py, is_corner, is_wall = (
                    portal.a,
                    portal.ax,
                    portal.ay,
                    portal.a_corner,
                    portal.a_wall,
                )
            else:
                corner, px, py, is_corner, is_wall = (
                    portal.b,
                    portal.bx,
                    portal.by,
                    portal.b_corner,
                    portal.b_wall,
                )
            if corner != (whole.left.vertex if turn == 1 else whole.right.vertex) or is_corner == 0:
                continue
            p_side = signed_radius(is_wall, turn == 1, radius)
            length, ux, uy = path_to_disc(whole.root, px, py, p_side)
            bend, cost = (
                Root(2 * corner + turn - 1, px, py, p_side, ux, uy),
                whole.cost + whole.extra + length,
            )
            if _runs_into_wall(slots.sides, edge, turn == 1, ux, uy):
                continue
            if not note_bend(slots, slot, bend, cost):
                continue
            # Everything between the path on straight ahead and the wall behind the corner.
            ahead, wall = Limit(ux, uy, np.int64(NO_VERTEX)), Limit(0.0, 0.0, np.int64(NO_VERTEX))
            interval = Interval(bend, cost, 0.0, wall if turn == 1 else ahead, ahead if turn == 1 else wall)
        dead_ends += _spread(slots, slot, mesh, polygon, edge, portal, parent, interval, mx, my)
    known_root = whole.root.kind if has_bound and node != NONE else np.int64(POINT_ROOT)
    _let_wait(slots, slot, mesh, first_new, has_bound and node != NONE and dead_ends == 0, known_root)


@inlined_kernel
def begin_polyanya(slots, slot, mesh, goals, scratch, goal, width, x, y, polygon, is_shared):
    """Set a slot up to search for the shortest path to a goal from a point;
    a shared slot that already serves this goal keeps what it knows.

    Parameters
    ----------
    slots : IntervalSlots
    slot : int
    mesh : NavMesh
    goals : GoalPieces
    scratch : Scratch
    goal : int
    width : float, m
        Diameter of the agent.
    x, y : float, m
    polygon : int
        Where the start is.
    is_shared : int
        1: no heuristic, keep the intervals for further starts. The caller keeps goal and width class apart by
        slot.
    """
    header, measure = slots.header, slots.measure
    if not set_up_slot(header, measure, slot, goals, goal, width, x, y, polygon, is_shared):
        (
            header[slot, INTERVAL_COUNT],
            header[slot, NEXT_UP],
            header[slot, IS_FULL],
            header[slot, NEXT_PART],
        ) = 0, NONE, 0, NONE
        measure[slot, RADIUS], measure[slot, PART_FROM] = disc_radius(mesh, width), 0.0
        measure[slot, FRONTIER] = -1.0
    header[slot, LOOKED_AT] = NONE
    if is_shared == 0:
        note_distances(slots.landmarks, slots.span[slot], mesh, polygon, x, y)
    width = measure[slot, WIDTH]
    measure[slot, BEST_TOTAL], piece = cheapest_piece_here(
        mesh, goals, goal, width, x, y, polygon, PLAN_LENGTH, 1.0, flood_of(scratch, slot)
    )
    header[slot, BEST_NODE] = -2 - piece
    if piece < 0 and not can_arrive(mesh, goals, slots.forest, goal, width, x, y, polygon):
        header[slot, STATUS] = UNREACHABLE
    elif is_shared == 0:
        mark_chains(slots.regions, slots.is_open, header[slot, GENERATION], slot, polygon, goals, goal)


@inlined_kernel
def advance_polyanya(slots, slot, mesh, goals, rims, scratch, grant):
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
        Expansions made; the slot's STATUS says whether the search has ended. If it has not, and IS_FULL is 1,
        the slot needs more room (`with_more_room`). Beginning at a stretch of the goal's rim is an
        expansion too.

    Notes
    -----
    Twin: `tests/reference/polyanya.py` (the visibility graph).
    """
    header, measure = slots.header, slots.measure
    slack = 1.0 + TIE_SLACK if header[slot, IS_SHARED] == 1 else 1.0 - TIE_SLACK
    used = 0
    while header[slot, STATUS] == PENDING:
        _look(slots, slot, mesh)
        best, waiting, at_goal = (
            measure[slot, BEST_TOTAL],
            least_bound(header, measure, slots.bound, slots.first[slot], slot),
            measure[slot, PIECE_BOUND],
        )
        least = min(waiting, at_goal)
        if least == np.inf or least > best * slack:
            header[slot, STATUS] = FOUND if best < np.inf else UNREACHABLE
            break
        if used >= grant:
            break
        if header[slot, INTERVAL_COUNT] + slots.most_new[0] > MOST_INTERVALS:
            header[slot, STATUS] = OUT_OF_NODES
            break
        if header[slot, INTERVAL_COUNT] + slots.most_new[0] > header[slot, ROOM]:
            header[slot, IS_FULL] = 1
            break
        node = np.int64(NONE)
        if waiting < at_goal:
            node = take_next(header, measure, slots.heap, slots.bound, slots.first[slot], slot)
        # one that was carried on without a bound waits with that of the one before it
        has_bound, measure[slot, FRONTIER] = least != measure[slot, FRONTIER], least
        _expand(slots, slot, mesh, goals, rims, scratch, node, has_bound)
        used += 1
    header[slot, EXPANSIONS] += used
    return used
