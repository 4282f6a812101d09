"""The next corner, every tick: where a body steers that goes through a corridor, and where it goes while it has none.

S1 (March 2010): the funnel is so fast that one can compute the next corner just before steering. It is done from where the agent is, so a push changes
the corner at once; only as much of the corridor is looked at as it takes to find two bends.
"""

from __future__ import annotations

import numpy as np

from crowdsim.kernels import inlined_kernel, kernel, lean_kernel
from crowdsim.navigation.funnel import NO_POST, pull_string, swell, tangent
from crowdsim.navigation.mesh import make_flood
from crowdsim.navigation.posts import lay_out_posts, post_disc, settle_first_sides, settle_last_sides

LOOKAHEAD = 6  # Portals that are laid out at first; doubled until two bends are found. Most corners are nearer, and each portal costs some 10 ns.
MOST_POSTS = 4096  # Posts that a corner can depend on; a straight stretch over more than some 1,500 portals is followed piece by piece.


@inlined_kernel
def next_corner(mesh, goals, cells, block, ahead, polygon, piece, x, y, radius, posts, bends, flood):
    """Find where a body in a corridor steers.

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
    look = min(ahead, LOOKAHEAD)
    while True:
        is_whole = look == ahead
        count = lay_out_posts(mesh, cells, block, ahead, polygon, 0, look + 1 if is_whole else look, posts, 0)
        if count > posts.size:
            count, is_whole = posts.size, False
            look = ahead
        found, tx, ty = pull_string(mesh, goals, posts, count, piece if is_whole else -1, x, y, radius, bends, 2, flood)
        if found == 2 or is_whole or look == ahead:
            break
        look = min(ahead, 2 * look)
    is_goal = found == 0
    if found < 2 and not is_whole:
        # Too long a straight stretch to see its end: steer at the middle of the last portal that was laid out.
        edge = cells[block + ahead - min(ahead, look)]
        tx, ty = mesh.portal_point[edge, 0], mesh.portal_point[edge, 1]
        is_goal = False
    if radius > 0.0:
        bx, by = tx, ty
        if found > 0:
            bx, by, _ = post_disc(mesh, posts[bends[0]], 0.0)
        settle_first_sides(mesh, posts, count, x, y, bx, by)
        if found < 2 and is_whole:
            settle_last_sides(mesh, posts, count, bx if found > 0 else x, by if found > 0 else y, tx, ty)
        # With two bends, the second is the end of the string: what is behind it does not move the first.
        found = swell(mesh, posts, count, x, y, tx, ty, radius, bends, min(found, 1), NO_POST if found < 2 else posts[bends[1]], 1)
    if found == 0:
        dx, dy = tx - x, ty - y
        distance = np.hypot(dx, dy)
        if distance <= 0.0:
            return tx, ty, 0.0, 0.0, is_goal
        return tx, ty, dx / distance, dy / distance, is_goal
    cx, cy, side = post_disc(mesh, posts[bends[0]], radius)
    ux, uy, reach = tangent(x, y, 0.0, cx, cy, side)
    return x + reach * ux, y + reach * uy, ux, uy, False


@kernel
def steer_many(
    start, stop, mesh, goals, cells, block, ahead, polygon, piece, wants, position, radius, speed, tick_length, out_velocity, out_corner,
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
    out_velocity : (n, 2) float64, m/s
        Towards the next corner at `speed`; slower on the last step to a point, so that it is not overshot.
    out_corner : (n, 2) float64, m
    """
    _steer_rows(
        start, stop, mesh, goals, cells, block, ahead, polygon, piece, wants, position, radius, speed, tick_length, out_velocity, out_corner,
        np.empty(MOST_POSTS, dtype=np.int32), np.empty(MOST_POSTS, dtype=np.int32), make_flood(mesh.polygon_start.size - 1),
    )


@lean_kernel
def _steer_rows(
    start, stop, mesh, goals, cells, block, ahead, polygon, piece, wants, position, radius, speed, tick_length, out_velocity, out_corner,
    posts, bends, flood,
):
    for row in range(start, stop):
        if wants[row] == 0:
            continue
        x, y = position[row, 0], position[row, 1]
        cx, cy, ux, uy, is_goal = next_corner(
            mesh, goals, cells, block[row], ahead[row], polygon[row], piece[row], x, y, radius[row], posts, bends, flood
        )
        pace = speed[row]
        if is_goal and goals.vertex_start[piece[row] + 1] - goals.vertex_start[piece[row]] == 1:
            pace = min(pace, np.hypot(cx - x, cy - y) / tick_length)
        out_velocity[row, 0], out_velocity[row, 1] = pace * ux, pace * uy
        out_corner[row, 0], out_corner[row, 1] = cx, cy


@lean_kernel
def guess_many(start, stop, mesh, goals, goal, polygon, came_from, wants, position, radius, speed, out_velocity, out_corner):
    """Set the preferred velocities of the bodies of rows start..stop - 1 whose path is not there yet (S0 section 3.1).

    The guess is the portal whose unit direction has the greatest dot product with the direction to the goal. A portal that the body came through, or
    does not fit through, does not count; with none left it stays. Ties go to the lower half-edge.

    Parameters
    ----------
    start, stop : int
    mesh : NavMesh
    goals : GoalPieces
    goal : (n,) int32
    polygon : (n,) int64
    came_from : (n, k) int64
        The polygons that the body visited while guessing, -1 where none; they are ignored.
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
        best = -np.inf
        here = polygon[row]
        for edge in range(mesh.polygon_start[here], mesh.polygon_start[here + 1]):
            twin = mesh.edge_twin[edge]
            if twin < 0 or mesh.edge_width[edge] < 2.0 * radius[row]:
                continue
            visited = False
            for k in range(came_from.shape[1]):
                if came_from[row, k] == mesh.edge_polygon[twin]:
                    visited = True
                    break
            if visited:
                continue
            dx, dy = mesh.portal_point[edge, 0] - x, mesh.portal_point[edge, 1] - y
            length = np.hypot(dx, dy)
            if length <= 0.0:
                continue
            score = (dx * gx + dy * gy) / length
            if score > best:
                best = score
                out_velocity[row, 0], out_velocity[row, 1] = speed[row] * dx / length, speed[row] * dy / length
                out_corner[row, 0], out_corner[row, 1] = mesh.portal_point[edge, 0], mesh.portal_point[edge, 1]
