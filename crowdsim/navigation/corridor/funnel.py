"""The funnel algorithm for bodies of any radius: the shortest way through a corridor, with corners rounded at the radius.

A corridor is laid out as the row of its posts (`crowdsim.navigation.corridor.portal_vertices`): the vertices that the way passes on their left or on their
right.

First the simple stupid funnel ([Mononen 2010]; [Cui 2012], section 4.2) pulls the string of a point taut between the portals; that settles on which side of
every post the way passes. Then the posts swell to discs of the body's radius: the string bends round those that press into it, along arcs, and leaves
those that others have pushed it off (`swell`). Tangents of discs alone, with the funnel's rule of crossing sides ([Demyen 2006]), are not enough:
they also cross where a line touches its disc farther on than the string goes, so that a goal close behind a corner is overshot.

A line with direction u and left normal n that touches a disc round c with the disc on its left has n . c = offset + radius; with the disc on its
right, offset - radius; a point is a disc of radius 0. So every kind of tangent is one formula, with the signed radius `side` (+r left, -r right, 0).
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.plane import angle_between, orientation
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.corridor.portal_vertices import (
    BESIDE_M,
    BRUSH,
    EITHER,
    KERB_M,
    VERTEX,
    add_bystanders,
    bits_of,
    choose_sides,
    is_on_another_floor,
    lay_out_posts,
    move_to_front,
    post_disc,
    posts_beside,
    settle_first_sides,
    settle_last_sides,
)
from crowdsim.navigation.corridor.walls_off_corridor import MOST_ROUNDS, add_posts_beside, straighten_corridor
from crowdsim.navigation.goals.goals import RIM_M, target_in_piece
from crowdsim.navigation.mesh.mesh import KERB

NO_POST = -(1 << 40)
MOST_AIMS = 4  # Times that a string is led to a nearer place in its region: to the side of one it is there after the first.
TOUCH_M = 1e-9  # How far a line may reach into a disc and still count as touching it: rounding at coordinates of 1e6 m.


@inlined_kernel
def tangent(ax, ay, a_side, bx, by, b_side):
    """Return the direction (unit vector x, y) and length (m) of the line that touches disc a and then disc b.

    Where no such line exists, since the discs overlap, the direction is at a right angle to the line of centres and the length 0: along the rim.
    """
    dx, dy = bx - ax, by - ay
    distance = np.hypot(dx, dy)
    if distance <= 0.0:
        return 1.0, 0.0, 0.0
    dx /= distance
    dy /= distance
    across = (b_side - a_side) / distance
    across = min(1.0, max(-1.0, across))
    along = np.sqrt(max(0.0, 1.0 - across * across))
    return along * dx + across * dy, along * dy - across * dx, along * distance


@inlined_kernel
def _is_passed_on_the_way(ax, ay, px, py, tx, ty, beyond):
    """Return whether the string from a to t bends round the post p; `beyond` is how far t lies behind the line through a and p, times their distance.

    If t lies on that line before p, it is behind it or not by rounding only: where a region begins along a portal, or the string comes upon a portal edge-on.
    The string does not go on to the post and back.
    """
    dx, dy = px - ax, py - ay
    return beyond > 0.0 and (beyond > RIM_M * np.sqrt(dx * dx + dy * dy) or dx * (tx - px) + dy * (ty - py) >= 0.0)


@inlined_kernel
def _nearer_end(ax, ay, left, lx, ly, right, rx, ry):
    """Return the place of the post that is nearer to a, of a left and a right one in line with it: a portal edge-on, to which the string has to go; else -1."""
    dx, dy, ex, ey = lx - ax, ly - ay, rx - ax, ry - ay
    along = dx * ex + dy * ey
    if along <= 0.0 or abs(dx * ey - dy * ex) > RIM_M * np.sqrt(along):
        return -1
    return left if dx * dx + dy * dy <= ex * ex + ey * ey else right


@inlined_kernel
def _goes_back(ax, ay, px, py, tx, ty):
    """Return whether t lies from p back towards a: the string goes back past the other side of what it came along. So one walks round the well of a stair."""
    dx, dy, ex, ey = px - ax, py - ay, tx - px, ty - py
    rim = RIM_M * np.sqrt(dx * dx + dy * dy)
    return dx * ex + dy * ey < -rim and abs(dx * ey - dy * ex) <= rim


@inlined_kernel
def pull_string(mesh, goals, posts, count, piece, x, y, radius, bends, limit, flood):
    """Pull the string of a point taut past a row of posts: the simple stupid funnel.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    posts : (k,) int32
        See `lay_out_posts`; posts that can only be brushed are passed over.
    count : int
    piece : int
        Piece of the goal at the end of the corridor; -1 if the posts do not reach it: then only bends are looked for.
    x, y : float, m
        Where the way begins.
    radius : float, m
        How far the goal's end of the string stays away from walls.
    bends : (k,) int32
        Receives the places of the posts that the string bends round.
    limit : int
        Stop after that many bends.
    flood : Flood

    Returns
    -------
    found : int
        Number of bends; fewer than `limit` if the string was pulled to the goal.
    tx, ty : float, m
        Where the string ends; the last bend if it was not pulled to the goal.
    """
    found, first = 0, 0
    ax, ay, apex = x, y, -1
    while found < limit:
        left = right = -1
        lx = ly = rx = ry = nx = ny = 0.0
        bend = near = -1
        for place in range(first, count):
            post = posts[place]
            bits = bits_of(post)
            if bits & BRUSH or bits >> VERTEX == apex:
                continue
            px, py = mesh.vertex[bits >> VERTEX, 0], mesh.vertex[bits >> VERTEX, 1]
            if near >= 0 and _goes_back(ax, ay, nx, ny, px, py):
                bend = near
                break
            if post >= 0:
                if left < 0 or orientation(ax, ay, lx, ly, px, py) <= 0.0:
                    if right >= 0 and _is_passed_on_the_way(ax, ay, rx, ry, px, py, -orientation(ax, ay, rx, ry, px, py)):
                        bend = right
                        break
                    left, lx, ly = place, px, py
                else:
                    continue
            elif right < 0 or orientation(ax, ay, rx, ry, px, py) >= 0.0:
                if left >= 0 and _is_passed_on_the_way(ax, ay, lx, ly, px, py, orientation(ax, ay, lx, ly, px, py)):
                    bend = left
                    break
                right, rx, ry = place, px, py
            else:
                continue
            near = _nearer_end(ax, ay, left, lx, ly, right, rx, ry) if left >= 0 and right >= 0 else -1
            nx, ny = (lx, ly) if near == left else (rx, ry)
        if bend < 0:
            if piece < 0:
                return found, ax, ay
            tx, ty = target_in_piece(mesh, goals, piece, ax, ay, radius, flood)
            if near >= 0 and _goes_back(ax, ay, nx, ny, tx, ty):
                bend = near
            elif left >= 0 and _is_passed_on_the_way(ax, ay, lx, ly, tx, ty, orientation(ax, ay, lx, ly, tx, ty)):
                bend = left
            elif right >= 0 and _is_passed_on_the_way(ax, ay, rx, ry, tx, ty, -orientation(ax, ay, rx, ry, tx, ty)):
                bend = right
            else:
                return found, tx, ty
        bends[found] = bend
        found += 1
        # The string bends here ([Mononen 2010]): start again behind the portal of this post. A left post stands before the right one of its portal.
        post = posts[bend]
        apex = bits_of(post) >> VERTEX
        ax, ay = mesh.vertex[apex, 0], mesh.vertex[apex, 1]
        first = bend + 2 if post >= 0 else bend + 1
    return found, ax, ay


@inlined_kernel
def _disc_at(mesh, posts, i, bends, found, x, y, tx, ty, radius):
    """Return disc i of a way as (x, y, side); -1 is its begin, `found` its end."""
    if i < 0:
        return x, y, 0.0
    if i >= found:
        return tx, ty, 0.0
    return post_disc(mesh, posts[bends[i]], radius)


@inlined_kernel
def _gives_way(mesh, post, radius):
    """Return whether a body may pass a post on either side: in free ground, and on a kerb where a wall is so near that the body cannot be there."""
    vertex = bits_of(post) >> VERTEX
    if mesh.vertex_room.size == 0 or mesh.is_wall_vertex[vertex] == 1:
        return False
    return mesh.vertex_room[vertex] < (radius + min(radius, KERB_M) if mesh.is_wall_vertex[vertex] == KERB else np.inf)


@inlined_kernel
def _is_opposed(x, y, side, ox, oy, other_side):
    """Return whether two discs on either side of the way overlap: it cannot bend round both, which is so between kerbs of a narrow strip."""
    dx, dy, within = ox - x, oy - y, abs(side) + abs(other_side)
    return side * other_side < 0.0 and dx * dx + dy * dy < within * within


@inlined_kernel
def _deepest_post(mesh, posts, count, begin, end, ax, ay, a_side, bx, by, b_side, apex, stop, radius):
    """Find the post that presses deepest into the straight line from disc a to disc b; -1 if none does.

    `begin` and `end` are the places of their posts, 0 and `count` at the ends of the way; `apex` and `stop` the posts themselves. Their vertices do not count,
    on either side: a corridor that comes back over the line on which the way runs has one of them on its other side as well.
    """
    ux, uy, reach = tangent(ax, ay, a_side, bx, by, b_side)
    sx, sy = ax + a_side * uy, ay - a_side * ux  # the rim on the right of a disc that is on the left
    first, last = posts_beside(mesh, posts, count, begin, end, sx, sy, sx + reach * ux, sy + reach * uy, radius + BESIDE_M)
    found, deepest = -1, TOUCH_M
    for place in range(first, last):
        post = posts[place]
        vertex = bits_of(post) >> VERTEX
        if vertex == bits_of(apex) >> VERTEX or vertex == bits_of(stop) >> VERTEX or (post >= 0 and post & EITHER):
            continue
        cx, cy, side = post_disc(mesh, post, radius)
        along = (cx - sx) * ux + (cy - sy) * uy
        if along < 0.0 or along > reach or _gives_way(mesh, post, radius):
            continue
        if mesh.is_wall_vertex[vertex] == KERB and (_is_opposed(cx, cy, side, ax, ay, a_side) or _is_opposed(cx, cy, side, bx, by, b_side)):
            continue
        aside = ux * (cy - sy) - uy * (cx - sx)
        depth = side - aside if post >= 0 else aside - side
        # The line has left its place by a radius at most. What lies deeper is not beside this part of the way: it is passed before or after.
        if not deepest < depth <= 2.0 * radius + TOUCH_M:
            continue
        if not is_on_another_floor(mesh, posts, count, begin, end, apex, stop, place, sx + along * ux, sy + along * uy):
            found, deepest = place, depth
    return found


@inlined_kernel
def swell(mesh, posts, count, x, y, tx, ty, radius, bends, found, end, parts):
    """Turn the string of a point into that of a body: bend it round the discs that press into it, take it off those that it no longer touches.

    Parameters
    ----------
    mesh : NavMesh
    posts : (k,) int32
    count : int
    x, y, tx, ty : float, m
        Where the way begins and ends.
    radius : float, m
    bends : (k,) int32
        The bends, from `pull_string`; changed in place.
    found : int
        Number of bends.
    end : int
        The post at (tx, ty) if the way ends at the vertex of one; else NO_POST.
    parts : int
        How many straight parts from the begin on have to be right; 1 where only the first corner is asked for.

    Returns
    -------
    int
        Number of bends.
    """
    if radius <= 0.0:
        return found
    for _ in range(4 * count + 8):
        changed = False
        i = -1
        while i < min(found, parts - 1):
            ax, ay, a_side = _disc_at(mesh, posts, i, bends, found, x, y, tx, ty, radius)
            bx, by, b_side = _disc_at(mesh, posts, i + 1, bends, found, x, y, tx, ty, radius)
            begin, apex = (bends[i], posts[bends[i]]) if i >= 0 else (0, NO_POST)
            stop, last = (bends[i + 1], posts[bends[i + 1]]) if i + 1 < found else (count, end)
            place = _deepest_post(mesh, posts, count, begin, stop, ax, ay, a_side, bx, by, b_side, apex, last, radius)
            if place >= 0 and found < bends.size:
                for k in range(found, i + 1, -1):
                    bends[k] = bends[k - 1]
                bends[i + 1] = place
                found += 1
                changed = True
            else:
                i += 1
        i = 0
        while i < min(found, parts):
            ax, ay, a_side = _disc_at(mesh, posts, i - 1, bends, found, x, y, tx, ty, radius)
            bx, by, b_side = _disc_at(mesh, posts, i, bends, found, x, y, tx, ty, radius)
            cx, cy, c_side = _disc_at(mesh, posts, i + 1, bends, found, x, y, tx, ty, radius)
            ux, uy, _ = tangent(ax, ay, a_side, bx, by, b_side)
            vx, vy, _ = tangent(bx, by, b_side, cx, cy, c_side)
            turn = ux * vy - uy * vx
            if posts[bends[i]] < 0:
                turn = -turn
            is_slack = turn < -1e-12 and ux * vx + uy * vy > 0.0
            if not is_slack and _gives_way(mesh, posts[bends[i]], radius):
                is_slack = np.hypot(bx - ax, by - ay) < abs(a_side) or np.hypot(bx - cx, by - cy) < abs(c_side)
            if is_slack:
                for k in range(i, found - 1):
                    bends[k] = bends[k + 1]
                found -= 1
                changed = True
            else:
                i += 1
        if not changed:
            break
    return found


@lean_kernel
def pull_straight(mesh, goals, cells, start, length, posts, count, polygon, piece, x, y, radius, bends, flood):
    """Pull the string of a point, and lead its corridor round free vertices until the string bends at none of them; see `straighten_corridor`.

    Takes what `find_bends` takes; the posts are those of the straightened corridor afterwards.

    Returns
    -------
    found, tx, ty
        See `pull_string`.
    count : int
        Number of posts.
    begin, size : int
        The new corridor is ``bends[begin:begin + size]``; begin is -1 if it is the old one.
    """
    found, tx, ty = pull_string(mesh, goals, posts, count, piece, x, y, radius, bends, bends.size, flood)
    begin, size = -1, 0
    room = bends.size // 3
    if mesh.vertex_room.size == 0 or found > room:
        return found, tx, ty, count, begin, size
    for turn in range(MOST_ROUNDS):
        at = room * (1 + turn % 2)  # the other two thirds of the bends take turns in holding the corridor
        portals = straighten_corridor(mesh, cells, start, length, polygon, posts, bends, found, 2.0 * radius, bends[: at + room], at)
        if portals < 0:
            break
        begin, size = at, portals
        cells, start, length = bends, begin, size
        count, _ = lay_out_posts(mesh, cells, start, length, polygon, 0, length + 1, posts, 0)
        found, tx, ty = pull_string(mesh, goals, posts, count, piece, x, y, radius, bends, room, flood)
    return found, tx, ty, count, begin, size


@lean_kernel
def find_bends(mesh, goals, cells, start, length, posts, count, polygon, piece, x, y, radius, bends, flood):
    """Find all bends of the shortest way past a row of posts.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    cells : (m,) int32
    start, length : int
        The corridor, see `lay_out_posts`.
    posts : (k,) int32
        See `lay_out_posts`; the whole corridor. Those beside the corridor that matter where the way begins and ends are added, as far as there is room.
    count : int
        Number of posts.
    polygon : int
        Where the way begins.
    piece : int
        Piece of the goal at the end of the corridor.
    x, y : float, m
        Where the way begins.
    radius : float, m
    bends : (k,) int32
        Receives the places of the posts that the way bends round.
    flood : Flood

    Returns
    -------
    found : int
        Number of bends.
    tx, ty : float, m
        Where the way ends.
    """
    found, tx, ty, count, begin, size = pull_straight(mesh, goals, cells, start, length, posts, count, polygon, piece, x, y, radius, bends, flood)
    if begin >= 0:
        cells, start, length = bends, begin, size
    if radius <= 0.0:
        return found, tx, ty
    ax, ay = x, y
    if found > 0:
        ax, ay, _ = post_disc(mesh, posts[bends[found - 1]], 0.0)
    bx, by = tx, ty
    if found > 0:
        bx, by, _ = post_disc(mesh, posts[bends[0]], 0.0)
    settle_first_sides(mesh, posts, count, polygon, x, y, bx, by)
    settle_last_sides(mesh, posts, count, goals.piece_polygon[piece], ax, ay, tx, ty)
    if mesh.vertex_room.size > 0:
        count = add_posts_beside(mesh, cells, start, length, polygon, posts, count, x, y, tx, ty, 2.0 * radius + BESIDE_M, bends, found, found + 1, flood)
        return _swell_to_goal(mesh, goals, posts, count, piece, x, y, tx, ty, radius, bends, found, flood)
    beside = 2.0 * radius + BESIDE_M
    known, first, last = count, 0, count
    if count > 0 and found > 0:
        first, _ = posts_beside(mesh, posts, count, bends[found - 1], count, ax, ay, tx, ty, beside)
        _, last = posts_beside(mesh, posts, count, 0, bends[0], x, y, bx, by, beside)
    total = add_bystanders(mesh, goals.piece_polygon[piece], ax, ay, tx, ty, radius, posts, first, count, count, flood)
    choose_sides(mesh, posts, known, total, -1, ax, ay, tx, ty)
    known = total
    count = add_bystanders(mesh, polygon, x, y, bx, by, radius, posts, 0, last, total, flood)
    choose_sides(mesh, posts, known, count, -1, x, y, bx, by)
    moved = move_to_front(posts, known, count)
    for i in range(found):
        bends[i] += moved
    return _swell_to_goal(mesh, goals, posts, count, piece, x, y, tx, ty, radius, bends, found, flood)


@lean_kernel
def _swell_to_goal(mesh, goals, posts, count, piece, x, y, tx, ty, radius, bends, found, flood):
    """Turn the string of a point into that of a body, and let it end in a region where that is nearest from where it leaves its last bend.

    Returns what `find_bends` returns.
    """
    found = swell(mesh, posts, count, x, y, tx, ty, radius, bends, found, NO_POST, bends.size)
    if goals.vertex_start[piece + 1] - goals.vertex_start[piece] == 1:
        return found, tx, ty
    for _ in range(MOST_AIMS):
        ax, ay, side = _disc_at(mesh, posts, found - 1, bends, found, x, y, tx, ty, radius)
        ux, uy, reach = tangent(ax, ay, side, tx, ty, 0.0)
        if reach <= 0.0:
            break
        nx, ny = target_in_piece(mesh, goals, piece, ax + side * uy, ay - side * ux, radius, flood)
        if np.hypot(nx - tx, ny - ty) <= TOUCH_M:
            break
        tx, ty = nx, ny
        found = swell(mesh, posts, count, x, y, tx, ty, radius, bends, found, NO_POST, bends.size)
    return found, tx, ty


@lean_kernel
def lay_string(mesh, posts, bends, found, x, y, tx, ty, radius, points):
    """Turn bends into points and measure the way.

    Parameters
    ----------
    mesh : NavMesh
    posts : (k,) int32
    bends : (found,) int32
        See `find_bends`.
    found : int
    x, y, tx, ty : float, m
        Begin and end.
    radius : float, m
    points : (2 found + 2, 2) float64, m
        Receives the begin, for each bend where its arc begins and ends, and the end.

    Returns
    -------
    float, m
        Length of the way, arcs included.

    Notes
    -----
    Twin: `tests/reference/funnel.py`.
    """
    points[0, 0], points[0, 1] = x, y
    ax, ay, a_side = x, y, 0.0
    way, px, py = 0.0, 0.0, 0.0
    for i in range(found + 1):
        bx, by, b_side = tx, ty, 0.0
        if i < found:
            bx, by, b_side = post_disc(mesh, posts[bends[i]], radius)
        ux, uy, reach = tangent(ax, ay, a_side, bx, by, b_side)
        if i > 0:
            way += abs(a_side) * angle_between(px, py, ux, uy)
            points[2 * i, 0], points[2 * i, 1] = ax + a_side * uy, ay - a_side * ux
        way += reach
        points[2 * i + 1, 0], points[2 * i + 1, 1] = bx + b_side * uy, by - b_side * ux
        ax, ay, a_side, px, py = bx, by, b_side, ux, uy
    return way
