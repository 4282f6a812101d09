"""The next corner, every tick: where a body steers that goes through a corridor, and where it goes while it has none.

[Mononen 2010], "Simple Stupid Funnel Algorithm": the funnel is so fast that one can compute the next corner just before steering. It is done from where the
agent is, so a push changes the corner at once; only as much of the corridor is looked at as it takes to find two bends, and only once the corner may have
changed (`crowdsim.navigation.corridor.corner_cache`).
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.navigation.corridor.corner_cache import BACK_M, GOAL_HELD, NOTHING_HELD, REACH, SLACK, UX, UY, VX, VY, distance_aside, hold, slack_of
from crowdsim.navigation.corridor.funnel import NO_POST, pull_string, swell, tangent
from crowdsim.navigation.corridor.portal_vertices import BESIDE_M, FLAGS, lay_out_posts, post_disc, settle_first_sides, settle_last_sides
from crowdsim.navigation.corridor.walls_off_corridor import add_posts_beside
from crowdsim.navigation.goals.goals import target_in_piece
from crowdsim.navigation.mesh.mesh import make_flood

LOOKAHEAD = 8  # Portals that are laid out at first; doubled until two bends are found. Most corners are nearer, and each portal costs some 10 ns.
MOST_POSTS = 4096  # Posts that a corner can depend on; a straight stretch over more than some 1,500 portals is followed piece by piece.

MOST_SWING = 0.9  # Cosine of how far the line may turn while its corner is held; nearer to the corner it has to be looked for again.


@inlined_kernel
def next_corner(mesh, goals, cells, block, ahead, polygon, piece, x, y, radius, held, row, posts, bends, flood):
    """Find where a body in a corridor steers, and remember for how long.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    cells : (m,) int32
        Corridor store.
    block, ahead : int
        The agent's block and the portals ahead.
    polygon : int
        Where the body is.
    piece : int
        Piece of the goal at the end of the corridor.
    x, y : float, m
    radius : float, m
    held : Held
    row : int
        Row of the body in it.
    posts, bends : (k,) int32
        Scratch.
    flood : Flood

    Returns
    -------
    cx, cy : float, m
        The point to steer at: where the straight line from the body touches the next corner's disc, or the goal.
    ux, uy : float
        Unit direction to it; 0, 0 if the body is there.
    is_goal : bool
        Whether the point is the goal.
    """
    count, laid, is_whole, found, tx, ty = _look_ahead(mesh, goals, cells, block, ahead, polygon, piece, x, y, radius, posts, bends, flood)
    held.post[row] = NOTHING_HELD
    pulled = found
    ends_at_goal = is_whole and pulled < 2
    is_known = True
    if not ends_at_goal and pulled < 2:
        # Too long a straight stretch to see its end: steer at the middle of the last portal that was laid out.
        edge = cells[block + ahead - laid]
        tx, ty = mesh.portal_point[edge, 0], mesh.portal_point[edge, 1]
        is_known = False
    if radius > 0.0:
        bx, by = tx, ty
        if found > 0:
            bx, by, _ = post_disc(mesh, posts[bends[0]], 0.0)
        settle_first_sides(mesh, posts, count, polygon, x, y, bx, by)
        if ends_at_goal:
            settle_last_sides(mesh, posts, count, goals.piece_polygon[piece], bx if found > 0 else x, by if found > 0 else y, tx, ty)
        if mesh.vertex_room.size > 0:
            within = 3.0 * radius + BESIDE_M  # as far as the body may stray while it holds the corner, see `slack_of`
            count = add_posts_beside(mesh, cells, block, ahead, polygon, posts, count, x, y, tx, ty, within, bends, pulled, 1, flood)
        second = bends[1]
        # With two bends, the second is the end of the string: what is behind it does not move the first.
        found = swell(mesh, posts, count, x, y, tx, ty, radius, bends, min(pulled, 1), NO_POST if pulled < 2 else posts[second], 2)
        if found == 0 and pulled == 2:
            bends[0], found, is_known = second, 1, False
    is_goal = ends_at_goal and found == 0
    if found == 0:
        dx, dy = tx - x, ty - y
        distance = np.hypot(dx, dy)
        if distance <= 0.0:
            return tx, ty, 0.0, 0.0, is_goal
        ux, uy = dx / distance, dy / distance
        if is_goal:
            _hold_goal(mesh, posts, count, radius, x, y, ux, uy, distance, held, row)
        return tx, ty, ux, uy, is_goal
    cx, cy, side = post_disc(mesh, posts[bends[0]], radius)
    ux, uy, reach = tangent(x, y, 0.0, cx, cy, side)
    if is_known and reach > 0.0:
        if found > 1:
            qx, qy, q_side = post_disc(mesh, posts[bends[1]], radius)
            vx, vy, _ = tangent(cx, cy, side, qx, qy, q_side)
        elif ends_at_goal:
            vx, vy = _way_to_goal(mesh, goals, piece, cx, cy, side, radius, flood)
        else:
            vx, vy, _ = tangent(cx, cy, side, tx, ty, 0.0)
        _hold_bend(mesh, posts, count, bends[0], radius, x, y, ux, uy, reach, vx, vy, held, row)
    return x + reach * ux, y + reach * uy, ux, uy, False


@inlined_kernel
def _look_ahead(mesh, goals, cells, block, ahead, polygon, piece, x, y, radius, posts, bends, flood):
    """Lay out as much of a corridor as it takes to find two bends of the string, or the goal.

    Returns
    -------
    count, laid : int
        Posts and portals that were laid out.
    is_whole : bool
        Whether that is the whole corridor.
    found, tx, ty
        See `pull_string`.
    """
    look = min(ahead, LOOKAHEAD)
    while True:
        is_whole = look == ahead
        last = look + 1 if is_whole else look
        count, laid = lay_out_posts(mesh, cells, block, ahead, polygon, 0, last, posts, 0)
        if laid < last:
            is_whole, look = False, ahead
        found, tx, ty = pull_string(mesh, goals, posts, count, piece if is_whole else -1, x, y, radius, bends, 2, flood)
        if found == 2 or is_whole or look == ahead:
            return count, laid, is_whole, found, tx, ty
        look = min(ahead, 2 * look)


@inlined_kernel
def _hold_goal(mesh, posts, count, radius, x, y, ux, uy, reach, held, row):
    """Remember that the way from (x, y) to the goal is straight."""
    slack = slack_of(mesh, posts, count, count, NO_POST, x, y, ux, uy, reach, radius)
    hold(held, row, GOAL_HELD, x, y, ux, uy, 0.0, 0.0, slack, reach)


@inlined_kernel
def _hold_bend(mesh, posts, count, bend, radius, x, y, ux, uy, reach, vx, vy, held, row):
    """Remember the corner of the post at `bend`, towards which the way from (x, y) has direction u, and v behind it."""
    post = posts[bend]
    slack = slack_of(mesh, posts, count, bend, post, x, y, ux, uy, reach, radius)
    hold(held, row, post & ~FLAGS if post >= 0 else ~(~post & ~FLAGS), x, y, ux, uy, vx, vy, slack, reach)


@inlined_kernel
def _way_to_goal(mesh, goals, piece, cx, cy, side, radius, flood):
    """Return the direction in which the shortest way leaves a disc for a piece of a goal.

    To an edge of the piece it goes at a right angle, as from the disc's centre; to a corner of the piece along the tangent.
    """
    tx, ty = target_in_piece(mesh, goals, piece, cx, cy, radius, flood)
    distance = np.hypot(tx - cx, ty - cy)
    if distance > 0.0:
        dx, dy = (tx - cx) / distance, (ty - cy) / distance
        tx, ty = target_in_piece(mesh, goals, piece, cx + side * dy, cy - side * dx, radius, flood)
    vx, vy, _ = tangent(cx, cy, side, tx, ty, 0.0)
    return vx, vy


@inlined_kernel
def held_corner(mesh, goals, piece, x, y, radius, held, row, flood):
    """Return where a body steers by what it remembers: whether it still holds, and then what `next_corner` returns."""
    post = held.post[row]
    slack, most = held.line[row, SLACK], held.line[row, REACH] + BACK_M
    if post == NOTHING_HELD or distance_aside(held, row, x, y) > slack:
        return False, 0.0, 0.0, 0.0, 0.0, False
    if post == GOAL_HELD:
        tx, ty = target_in_piece(mesh, goals, piece, x, y, radius, flood)
        dx, dy = tx - x, ty - y
        distance = np.hypot(dx, dy)
        if distance <= 0.0 or distance > most or distance_aside(held, row, tx, ty) > slack:
            return False, 0.0, 0.0, 0.0, 0.0, False
        return True, tx, ty, dx / distance, dy / distance, True
    cx, cy, side = post_disc(mesh, post, radius)
    ux, uy, reach = tangent(x, y, 0.0, cx, cy, side)
    turn = ux * held.line[row, VY] - uy * held.line[row, VX]
    is_ahead = ux * held.line[row, UX] + uy * held.line[row, UY] > MOST_SWING and reach <= most
    if not is_ahead or (turn if post >= 0 else -turn) <= 0.0:
        return False, 0.0, 0.0, 0.0, 0.0, False
    return True, x + reach * ux, y + reach * uy, ux, uy, False


@kernel
def steer_many(
    start, stop, mesh, goals, cells, block, ahead, polygon, piece, wants, position, radius, speed, tick_length, held,
    out_velocity, out_corner,
):
    """Set the preferred velocities of the bodies of rows start..stop - 1 that follow a corridor.

    Parameters
    ----------
    start, stop : int
    mesh : NavMesh
    goals : GoalPieces
    cells : (m,) int32
    block : (n,) int64
    ahead : (n,) int32
    polygon : (n,) int64
    piece : (n,) int32
    wants : (n,) uint8
        1 for those that follow; the others are left alone.
    position : (n, 2) float64, m
    radius : (n,) float64, m
    speed : (n,) float64, m/s
    tick_length : float, s
    held : Held
        In and out.
    out_velocity : (n, 2) float64, m/s
        Towards the next corner at `speed`; slower on the last step to a point, so that it is not overshot.
    out_corner : (n, 2) float64, m
    """
    _steer_rows(
        start, stop, mesh, goals, cells, block, ahead, polygon, piece, wants, position, radius, speed, tick_length, held,
        out_velocity, out_corner, np.empty(MOST_POSTS, dtype=np.int32), np.empty(MOST_POSTS, dtype=np.int32), make_flood(mesh.polygon_start.size - 1),
    )


@lean_kernel
def _steer_rows(
    start, stop, mesh, goals, cells, block, ahead, polygon, piece, wants, position, radius, speed, tick_length, held,
    out_velocity, out_corner, posts, bends, flood,
):
    for row in range(start, stop):
        if wants[row] == 0:
            continue
        x, y = position[row, 0], position[row, 1]
        holds, cx, cy, ux, uy, is_goal = held_corner(mesh, goals, piece[row], x, y, radius[row], held, row, flood)
        if not holds:
            cx, cy, ux, uy, is_goal = next_corner(
                mesh, goals, cells, block[row], ahead[row], polygon[row], piece[row], x, y, radius[row], held, row, posts, bends, flood
            )
        pace = speed[row]
        if is_goal and goals.vertex_start[piece[row] + 1] - goals.vertex_start[piece[row]] == 1:
            pace = min(pace, np.hypot(cx - x, cy - y) / tick_length)
        out_velocity[row, 0], out_velocity[row, 1] = pace * ux, pace * uy
        out_corner[row, 0], out_corner[row, 1] = cx, cy


@lean_kernel
def guess_many(start, stop, mesh, goals, cells, block, ahead, goal, polygon, guessed, wants, position, radius, speed, out_velocity, out_corner):
    """Set the preferred velocities of the bodies of rows start..stop - 1 whose path is not there yet ([Norberg 2004], section 3.1).

    The guess is the portal whose unit direction has the greatest dot product with the direction to the goal, chosen once in each polygon. A portal to a
    polygon that the trail passes, or that the body does not fit through, does not count; with none left it stays. Ties go to the lower half-edge.

    Parameters
    ----------
    start, stop : int
    mesh : NavMesh
    goals : GoalPieces
    cells : (m,) int32
        Corridor store.
    block : (n,) int64
    ahead : (n,) int32
        The trails: ``cells[block:block + ahead]`` are the portals of the way back to where the search began.
    goal : (n,) int32
    polygon : (n,) int64
    guessed : (n, 2) int32
        In and out: the polygon in which the body chose, and the one that it chose to go to; -1 is none.
    wants : (n,) uint8
    position : (n, 2) float64, m
    radius, speed : (n,) float64
    out_velocity, out_corner : (n, 2) float64
    """
    for row in range(start, stop):
        if wants[row] == 0:
            continue
        x, y = position[row, 0], position[row, 1]
        first, last = goals.goal_start[goal[row]], goals.goal_start[goal[row] + 1]
        out_velocity[row, 0], out_velocity[row, 1] = 0.0, 0.0
        out_corner[row, 0], out_corner[row, 1] = x, y
        if first == last:
            continue
        gx, gy, least = 0.0, 0.0, np.inf
        for piece in range(first, last):
            d = np.hypot(goals.pole[piece, 0] - x, goals.pole[piece, 1] - y)
            if d < least:
                least, gx, gy = d, goals.pole[piece, 0] - x, goals.pole[piece, 1] - y
        here = polygon[row]
        chosen = np.int64(guessed[row, 1]) if guessed[row, 0] == here else np.int64(-1)
        best, to = -np.inf, np.int64(-1)
        for edge in range(mesh.polygon_start[here], mesh.polygon_start[here + 1]):
            twin = mesh.edge_twin[edge]
            if twin < 0 or mesh.edge_width[edge] < 2.0 * radius[row]:
                continue
            beyond = np.int64(mesh.edge_polygon[twin])
            if chosen >= 0 and beyond != chosen:
                continue
            if chosen < 0 and _was_passed(mesh, cells, block[row], ahead[row], beyond):
                continue
            dx, dy = mesh.portal_point[edge, 0] - x, mesh.portal_point[edge, 1] - y
            length = np.hypot(dx, dy)
            if length <= 0.0:  # on the portal: straight over it
                a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
                dx, dy = mesh.vertex[b, 1] - mesh.vertex[a, 1], mesh.vertex[a, 0] - mesh.vertex[b, 0]
                length = np.hypot(dx, dy)
            score = (dx * gx + dy * gy) / length
            if score > best:
                best, to = score, beyond
                out_velocity[row, 0], out_velocity[row, 1] = speed[row] * dx / length, speed[row] * dy / length
                out_corner[row, 0], out_corner[row, 1] = mesh.portal_point[edge, 0], mesh.portal_point[edge, 1]
        guessed[row, 0], guessed[row, 1] = here, to


@inlined_kernel
def _was_passed(mesh, cells, block, ahead, polygon):
    """Return whether a trail of so many portals passes a polygon before it comes to where it is now."""
    for place in range(block, block + ahead):
        if mesh.edge_polygon[mesh.edge_twin[cells[place]]] == polygon:
            return True
    return False
