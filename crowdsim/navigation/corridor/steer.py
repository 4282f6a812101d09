"""The next corner, every tick: where an agent steers that goes through a corridor,
and where it goes while it has none.

[Mononen 2010], "Simple Stupid Funnel Algorithm": the funnel is so fast that one can compute the next corner
just before steering. It is done from where the agent is, so a push changes the corner at once; only as much
of the corridor is looked at as it takes to find two bends, and only once the corner may have changed
(`crowdsim.navigation.corridor.corner_cache`).
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.navigation.corridor.corner_cache import (
    BACK_M,
    NOT_CACHED,
    REACH,
    SLACK,
    STRAIGHT_TO_GOAL,
    UX,
    UY,
    VX,
    VY,
    distance_aside,
    slack_of,
    store_corner,
)
from crowdsim.navigation.corridor.corridors import corridor_of
from crowdsim.navigation.corridor.funnel import NO_VERTEX, inflate, pull_string, tangent
from crowdsim.navigation.corridor.portal_vertices import (
    BESIDE_M,
    FLAGS,
    String,
    choose_first_sides,
    choose_sides,
    list_portal_vertices,
    vertex_disc,
)
from crowdsim.navigation.corridor.walls_off_corridor import add_vertices_along_string
from crowdsim.navigation.goals.goals import nearest_in_piece, target_in_piece
from crowdsim.navigation.mesh.mesh import Flood, make_flood

# Portals that are laid out at first; doubled until two bends are found. Most corners are nearer, and each
# portal costs some 10 ns.
LOOKAHEAD = 8
# That a corner can depend on; a straight stretch over more than some 1,500 portals is followed piece by
# piece.
MOST_VERTICES = 4096

# Cosine of the angle below which a guess leads straight to where it is wanted: rounding apart, 1.
STRAIGHT = 1.0 - 1e-9

# Cosine of how far the line may turn while its corner is cached; nearer to the corner it has to be searched
# for again.
MOST_SWING = 0.9


class Workspace(NamedTuple):
    """Scratch of steering: vertices and bends of a string, (MOST_VERTICES,) int32, and a flood."""

    vertices: NDArray[np.int32]
    bends: NDArray[np.int32]
    flood: Flood


@inlined_kernel
def next_corner(mesh, goals, corridor, x, y, radius, cache, row, work):
    """Find where an agent in a corridor steers, and remember for how long.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    corridor : Corridor
        From the polygon in which the agent is.
    x, y : float, m
    radius : float, m
    cache : CornerCache
    row : int
        Row of the agent in it.
    work : Workspace

    Returns
    -------
    cx, cy : float, m
        The point to steer at: where the straight line from the agent touches the next corner's disc, or the
        goal.
    ux, uy : float
        Unit direction to it; 0, 0 if the agent is there.
    is_goal : bool
        Whether the point is the goal.
    """
    vertices, bends, flood = work.vertices, work.bends, work.flood
    count, laid, is_whole, pulled, tx, ty = _look_ahead(
        mesh, goals, corridor, x, y, radius, vertices, bends, flood
    )
    cache.code[row] = NOT_CACHED
    found, piece, ends_at_goal, is_known = pulled, corridor.piece, is_whole and pulled < 2, True
    if not ends_at_goal and pulled < 2:
        # Too long a straight stretch to see its end: steer at the middle of the last portal that was laid
        # out.
        edge = corridor.portals[corridor.start + corridor.length - laid]
        tx, ty = mesh.portal_point[edge, 0], mesh.portal_point[edge, 1]
        is_known = False
    if radius > 0.0:
        bx, by = tx, ty
        if found > 0:
            bx, by, _ = vertex_disc(mesh, vertices[bends[0]], 0.0)
        choose_first_sides(mesh, vertices, count, corridor.polygon, x, y, bx, by)
        if ends_at_goal:
            ax, ay = (bx, by) if found > 0 else (x, y)
            choose_sides(mesh, vertices, 0, count, np.int64(goals.piece_polygon[piece]), ax, ay, tx, ty)
        if mesh.vertex_clearance.size > 0:
            # as far as the agent may stray while its corner is cached, see `slack_of`
            within = 3.0 * radius + BESIDE_M
            count = add_vertices_along_string(
                mesh, corridor, String(vertices, count, bends, x, y, tx, ty), pulled, within, 1, flood
            )
        second = bends[1]
        # With two bends, the second is the end of the string: what is behind it does not move the first.
        end = NO_VERTEX if pulled < 2 else vertices[second]
        found = inflate(mesh, String(vertices, count, bends, x, y, tx, ty), min(pulled, 1), radius, end, 2)
        if found == 0 and pulled == 2:
            bends[0], found, is_known = second, 1, False
    is_goal = ends_at_goal and found == 0
    if found == 0:
        dx, dy = tx - x, ty - y
        distance = hypot(dx, dy)
        if distance <= 0.0:
            return tx, ty, 0.0, 0.0, is_goal
        ux, uy = dx / distance, dy / distance
        if is_goal:
            slack = slack_of(mesh, vertices, count, count, NO_VERTEX, x, y, ux, uy, distance, radius)
            store_corner(cache, row, STRAIGHT_TO_GOAL, x, y, ux, uy, 0.0, 0.0, slack, distance)
        return tx, ty, ux, uy, is_goal
    code = vertices[bends[0]]
    cx, cy, side = vertex_disc(mesh, code, radius)
    ux, uy, reach = tangent(x, y, 0.0, cx, cy, side)
    if is_known and reach > 0.0:
        if found > 1:
            qx, qy, q_side = vertex_disc(mesh, vertices[bends[1]], radius)
            vx, vy, _ = tangent(cx, cy, side, qx, qy, q_side)
        elif ends_at_goal:
            vx, vy = _direction_to_goal(mesh, goals, piece, cx, cy, side, radius, flood)
        else:
            vx, vy, _ = tangent(cx, cy, side, tx, ty, 0.0)
        slack = slack_of(mesh, vertices, count, bends[0], code, x, y, ux, uy, reach, radius)
        store_corner(
            cache, row, code & ~FLAGS if code >= 0 else ~(~code & ~FLAGS), x, y, ux, uy, vx, vy, slack, reach
        )
    return x + reach * ux, y + reach * uy, ux, uy, False


@inlined_kernel
def _look_ahead(mesh, goals, corridor, x, y, radius, vertices, bends, flood):
    """List the vertices of as much of a corridor as it takes to find two bends of the string, or the goal.

    Returns
    -------
    count, laid : int
        Vertices, and portals of which they are.
    is_whole : bool
        Whether that is the whole corridor.
    found, tx, ty
        See `pull_string`.
    """
    ahead = corridor.length
    look = min(ahead, LOOKAHEAD)
    while True:
        is_whole = look == ahead
        last = look + 1 if is_whole else look
        count, laid = list_portal_vertices(mesh, corridor, last, vertices)
        if laid < last:
            is_whole, look = False, ahead
        found, tx, ty = pull_string(
            mesh, goals, corridor.piece if is_whole else -1, vertices, count, x, y, radius, bends, 2, flood
        )
        if found == 2 or is_whole or look == ahead:
            return count, laid, is_whole, found, tx, ty
        look = min(ahead, 2 * look)


@inlined_kernel
def _direction_to_goal(mesh, goals, piece, cx, cy, side, radius, flood):
    """Return the direction in which the shortest path leaves a disc for a piece of a goal.

    To an edge of the piece it goes at a right angle, as from the disc's centre; to a corner of the piece
    along the tangent.
    """
    tx, ty = target_in_piece(mesh, goals, piece, cx, cy, radius, flood)
    distance = hypot(tx - cx, ty - cy)
    if distance > 0.0:
        dx, dy = (tx - cx) / distance, (ty - cy) / distance
        tx, ty = target_in_piece(mesh, goals, piece, cx + side * dy, cy - side * dx, radius, flood)
    vx, vy, _ = tangent(cx, cy, side, tx, ty, 0.0)
    return vx, vy


@inlined_kernel
def cached_corner(mesh, goals, piece, x, y, radius, cache, row, flood):
    """Return where an agent steers by its cached corner:
    whether that still is its corner, and then what `next_corner` returns.
    """
    code = cache.code[row]
    slack, most = cache.line[row, SLACK], cache.line[row, REACH] + BACK_M
    if code == NOT_CACHED or distance_aside(cache, row, x, y) > slack:
        return False, 0.0, 0.0, 0.0, 0.0, False
    if code == STRAIGHT_TO_GOAL:
        tx, ty = target_in_piece(mesh, goals, piece, x, y, radius, flood)
        dx, dy = tx - x, ty - y
        distance = hypot(dx, dy)
        if distance <= 0.0 or distance > most or distance_aside(cache, row, tx, ty) > slack:
            return False, 0.0, 0.0, 0.0, 0.0, False
        return True, tx, ty, dx / distance, dy / distance, True
    cx, cy, side = vertex_disc(mesh, code, radius)
    ux, uy, reach = tangent(x, y, 0.0, cx, cy, side)
    turn = ux * cache.line[row, VY] - uy * cache.line[row, VX]
    is_ahead = ux * cache.line[row, UX] + uy * cache.line[row, UY] > MOST_SWING and reach <= most
    if not is_ahead or (turn if code >= 0 else -turn) <= 0.0:
        return False, 0.0, 0.0, 0.0, 0.0, False
    return True, x + reach * ux, y + reach * uy, ux, uy, False


@kernel
def steer_many(
    start, stop, mesh, goals, corridors, wants, speed, tick_length, cache, out_velocity, out_corner
):
    """Set the preferred velocities of the agents of rows start..stop - 1 that follow a corridor.

    Parameters
    ----------
    start, stop : int
    mesh : NavMesh
    goals : GoalPieces
    corridors : Corridors
    wants : (n,) uint8
        1 for those that follow; the others are left alone.
    speed : (n,) float64, m/s
    tick_length : float, s
    cache : CornerCache
        In and out.
    out_velocity : (n, 2) float64, m/s
        Towards the next corner at `speed`; slower on the last step to a point, so that it is not overshot.
    out_corner : (n, 2) float64, m
    """
    work = Workspace(
        np.empty(MOST_VERTICES, dtype=np.int32),
        np.empty(MOST_VERTICES, dtype=np.int32),
        make_flood(mesh.polygon_start.size - 1),
    )
    _steer_rows(
        start, stop, mesh, goals, corridors, wants, speed, tick_length, cache, out_velocity, out_corner, work
    )


@lean_kernel
def _steer_rows(
    start, stop, mesh, goals, corridors, wants, speed, tick_length, cache, out_velocity, out_corner, work
):
    for row in range(np.uint64(start), np.uint64(stop)):
        if wants[row] == 0:
            continue
        x, y, radius = corridors.position[row, 0], corridors.position[row, 1], corridors.radius[row]
        corridor = corridor_of(corridors, row)
        piece = corridor.piece
        is_cached, cx, cy, ux, uy, is_goal = cached_corner(
            mesh, goals, piece, x, y, radius, cache, row, work.flood
        )
        if not is_cached:
            cx, cy, ux, uy, is_goal = next_corner(mesh, goals, corridor, x, y, radius, cache, row, work)
        pace = speed[row]
        if is_goal and goals.vertex_start[piece + 1] - goals.vertex_start[piece] == 1:
            pace = min(pace, hypot(cx - x, cy - y) / tick_length)
        out_velocity[row, 0], out_velocity[row, 1] = pace * ux, pace * uy
        out_corner[row, 0], out_corner[row, 1] = cx, cy


@lean_kernel
def guess_many(
    start, stop, mesh, goals, corridors, goal, guessed, wants, speed, tick_length, out_velocity, out_corner
):
    """Set the preferred velocities of the agents of rows start..stop - 1 whose path is not there yet
    ([Norberg 2004], section 3.1).

    The guess is the portal whose unit direction has the greatest dot product with the direction to the goal,
    chosen once in each polygon. A portal's direction is that of its point that is most towards the goal: so
    an agent goes straight on where the line to the goal leads over a portal. A portal to a polygon that the
    trail passes, or that the agent does not fit through, does not count; with none left it stays. Ties go to
    the lower half-edge. In the polygon in which its goal is it goes straight there: a polygon is convex.
    Of a goal of several pieces another one may be nearer: it goes there if that is straight over a portal.

    Parameters
    ----------
    start, stop : int
    mesh : NavMesh
    goals : GoalPieces
    corridors : Corridors
        The trails: the portals of the path back to where each search began.
    goal : (n,) int32
    guessed : (n, 2) int32
        In and out: the polygon in which the agent chose, and the one that it chose to go to; -1 is none.
    wants : (n,) uint8
    speed : (n,) float64, m/s
    tick_length : float, s
    out_velocity, out_corner : (n, 2) float64
    """
    for row in range(np.uint64(start), np.uint64(stop)):
        if wants[row] == 0:
            continue
        x, y, width = corridors.position[row, 0], corridors.position[row, 1], 2.0 * corridors.radius[row]
        first, last = goals.goal_start[goal[row]], goals.goal_start[goal[row] + 1]
        out_velocity[row, 0], out_velocity[row, 1] = 0.0, 0.0
        out_corner[row, 0], out_corner[row, 1] = x, y
        if first == last:
            continue
        trail = corridor_of(corridors, row)
        here = trail.polygon
        chosen = np.int64(guessed[row, 1]) if guessed[row, 0] == here else np.int64(-1)
        gx, gy = _towards_goal(goals, first, last, x, y)
        edge, px, py, score = _best_portal(mesh, trail, chosen, width, x, y, gx, gy)
        is_here, is_point, tx, ty = _goal_here(goals, first, last, here, x, y)
        away = hypot(tx - x, ty - y)
        nearest = hypot(gx, gy)
        is_straight_elsewhere = edge >= 0 and nearest < away and score >= STRAIGHT * nearest
        if is_here and chosen < 0 and not is_straight_elsewhere:
            pace = min(speed[row], away / tick_length) if is_point else speed[row]
            if away > 0.0:
                out_velocity[row, 0], out_velocity[row, 1] = pace * (tx - x) / away, pace * (ty - y) / away
                out_corner[row, 0], out_corner[row, 1] = tx, ty
            continue
        guessed[row, 0], guessed[row, 1] = here, -1
        if edge >= 0:
            dx, dy = _towards_aim(mesh, edge, px, py, x, y)
            out_velocity[row, 0], out_velocity[row, 1] = speed[row] * dx, speed[row] * dy
            out_corner[row, 0], out_corner[row, 1] = px, py
            guessed[row, 1] = mesh.edge_polygon[mesh.edge_twin[edge]]


@lean_kernel
def _goal_here(goals, first, last, polygon, x, y):
    """Return whether some of a goal, its pieces first..last - 1, is in a polygon; whether the nearest piece
    there to (x, y) is a point, and the nearest point of it.
    """
    found, tx, ty, least = np.int64(-1), x, y, np.inf
    for piece in range(first, last):
        if goals.piece_polygon[piece] == polygon:
            px, py = nearest_in_piece(goals, piece, x, y)
            away = hypot(px - x, py - y)
            if away < least:
                found, tx, ty, least = np.int64(piece), px, py, away
    is_point = found >= 0 and goals.vertex_start[found + 1] - goals.vertex_start[found] == 1
    return found >= 0, is_point, tx, ty


@lean_kernel
def _towards_goal(goals, first, last, x, y):
    """Return the vector to the nearest point of a goal, its pieces first..last - 1, as the crow flies; where
    that is right above or below, on another floor, to the middle of the piece.
    """
    gx, gy, least = 0.0, 0.0, np.inf
    for piece in range(first, last):
        px, py = nearest_in_piece(goals, piece, x, y)
        away = hypot(px - x, py - y)
        if away < least:
            gx, gy, least = px - x, py - y, away
            if away == 0.0:
                gx, gy = goals.pole[piece, 0] - x, goals.pole[piece, 1] - y
    return gx, gy


@lean_kernel
def _best_portal(mesh, trail, chosen, width, x, y, gx, gy):
    """Return the half-edge that `guess_many` takes, of the portals to the polygon `chosen`, or of all where
    that is -1, the point of it to aim at, and its dot product; -1 if none is left. The goal is in the
    direction (gx, gy).
    """
    here, best, found, aim_x, aim_y = trail.polygon, -np.inf, np.int64(-1), x, y
    for edge in range(mesh.polygon_start[here], mesh.polygon_start[here + 1]):
        twin = mesh.edge_twin[edge]
        if twin < 0 or mesh.edge_width[edge] < width:
            continue
        beyond = np.int64(mesh.edge_polygon[twin])
        if chosen >= 0 and beyond != chosen:
            continue
        if chosen < 0 and _was_passed(mesh, trail, beyond):
            continue
        px, py = _aim_in_portal(mesh, edge, width, x, y, gx, gy)
        dx, dy = _towards_aim(mesh, edge, px, py, x, y)
        score = dx * gx + dy * gy
        if score > best:
            best, found, aim_x, aim_y = score, np.int64(edge), px, py
    return found, aim_x, aim_y, best


@inlined_kernel
def _aim_in_portal(mesh, edge, width, x, y, gx, gy):
    """Return the point of a portal that is most in the direction (gx, gy) of all about its middle at which
    an agent has as much room as it needs: where that direction leads over it, the goal is straight ahead. Its
    middle where that direction leads away from it.
    """
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    ux, uy = mesh.vertex[b, 0] - mesh.vertex[a, 0], mesh.vertex[b, 1] - mesh.vertex[a, 1]
    long = hypot(ux, uy)
    ux, uy = ux / long, uy / long
    room = max(0.0, 0.5 * (min(long, mesh.edge_width[edge]) - width))
    mx, my = mesh.portal_point[edge, 0], mesh.portal_point[edge, 1]
    before = max(0.0, uy * (mx - x) - ux * (my - y))  # the portal is so far ahead,
    aside = ux * (x - mx) + uy * (y - my)  # and the agent so far along it from its middle
    ahead, along = uy * gx - ux * gy, ux * gx + uy * gy
    if ahead <= 0.0:
        return mx, my  # of the ends now one and now the other would be more towards a goal that is behind
    at = min(room, max(-room, aside + before * along / ahead))
    return mx + at * ux, my + at * uy


@inlined_kernel
def _towards_aim(mesh, edge, px, py, x, y):
    """Return the unit direction to a point of a portal; straight over the portal for an agent that is
    there.
    """
    dx, dy = px - x, py - y
    length = hypot(dx, dy)
    if length <= 0.0:
        a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
        dx, dy = mesh.vertex[b, 1] - mesh.vertex[a, 1], mesh.vertex[a, 0] - mesh.vertex[b, 0]
        length = hypot(dx, dy)
    return dx / length, dy / length


@inlined_kernel
def _was_passed(mesh, trail, polygon):
    """Return whether a trail passes a polygon before it comes to where it is now."""
    for place in range(trail.start, trail.start + trail.length):
        if mesh.edge_polygon[mesh.edge_twin[trail.portals[place]]] == polygon:
            return True
    return False
