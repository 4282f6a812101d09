"""The funnel algorithm for agents of any radius:
the shortest path through a corridor, with corners rounded at the radius.

A corridor is laid out as the row of its portal vertices (`crowdsim.navigation.corridor.portal_vertices`):
those that the path passes on their left or on their right.

First the simple stupid funnel ([Mononen 2010]; [Cui 2012], section 4.2) pulls the string of a point taut
between the portals; that decides on which side of every vertex the path passes. Then the vertices are
inflated to discs of the agent's radius: the string bends round those that press into it, along arcs, and
leaves those that others have pushed it off (`inflate`). Tangents of discs alone, with the funnel's rule of
crossing sides ([Demyen 2006]), are not enough: they also cross where a line touches its disc farther on than
the string goes, so that a goal close behind a corner is overshot.

A line with direction u and left normal n that touches a disc round c with the disc on its left has n .
c = offset + radius; with the disc on its right, offset - radius; a point is a disc of radius 0. So every kind
of tangent is one formula, with the signed radius `side` (+r left, -r right, 0).
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import angle_between, orientation
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.corridor.corridors import Corridor
from crowdsim.navigation.corridor.portal_vertices import (
    BESIDE_M,
    BRUSH,
    EITHER,
    KERB_M,
    String,
    bits_of,
    choose_first_sides,
    choose_sides,
    is_on_another_floor,
    list_portal_vertices,
    move_to_front,
    vertex_disc,
    vertex_of,
    vertices_beside,
)
from crowdsim.navigation.corridor.walls_off_corridor import (
    MOST_ROUNDS,
    add_vertices_along_string,
    add_vertices_off_corridor,
    straighten_corridor,
)
from crowdsim.navigation.goals.goals import RIM_M, target_in_piece
from crowdsim.navigation.mesh.mesh import KERB

NO_VERTEX = -(1 << 40)  # In place of a code.
# Times that a string is led to a nearer place in its region: where that is on a side of the region, once is
# enough.
MOST_TARGETS = 4
# How far a line may reach into a disc and still count as touching it: rounding at coordinates of 1e6 m.
TOUCH_M = 1e-9


@inlined_kernel
def tangent(ax, ay, a_side, bx, by, b_side):
    """Return the direction (unit vector x, y) and length (m) of the line that touches disc a and then disc b.

    Where no such line exists, since the discs overlap, the direction is at a right angle to the line of
    centres and the length 0: along the rim.
    """
    dx, dy = bx - ax, by - ay
    distance = hypot(dx, dy)
    if distance <= 0.0:
        return 1.0, 0.0, 0.0
    dx /= distance
    dy /= distance
    across = (b_side - a_side) / distance
    across = min(1.0, max(-1.0, across))
    along = np.sqrt(max(0.0, 1.0 - across * across))
    return along * dx + across * dy, along * dy - across * dx, along * distance


@inlined_kernel
def _is_passed_before(ax, ay, px, py, tx, ty, beyond):
    """Return whether the string from a to t bends round the vertex p;
    `beyond` is how far t lies behind the line through a and p, times their distance.

    If t lies on that line before p, it is behind it or not by rounding only: where a region begins along a
    portal, or the string comes upon a portal edge-on. The string does not go on to the vertex and back.
    """
    dx, dy = px - ax, py - ay
    return beyond > 0.0 and (
        beyond > RIM_M * np.sqrt(dx * dx + dy * dy) or dx * (tx - px) + dy * (ty - py) >= 0.0
    )


@inlined_kernel
def _nearer_end(ax, ay, left, lx, ly, right, rx, ry):
    """Return the place of the vertex nearer to a, of a left and a right one in line with it:
    a portal edge-on, to which the string has to go; else -1.
    """
    dx, dy, ex, ey = lx - ax, ly - ay, rx - ax, ry - ay
    along = dx * ex + dy * ey
    if along <= 0.0 or abs(dx * ey - dy * ex) > RIM_M * np.sqrt(along):
        return -1
    return left if dx * dx + dy * dy <= ex * ex + ey * ey else right


@inlined_kernel
def _goes_back(ax, ay, px, py, tx, ty):
    """Return whether t lies from p back towards a:
    the string goes back past the other side of what it came along. So one walks round the well of a stair.
    """
    dx, dy, ex, ey = px - ax, py - ay, tx - px, ty - py
    rim = RIM_M * np.sqrt(dx * dx + dy * dy)
    return dx * ex + dy * ey < -rim and abs(dx * ey - dy * ex) <= rim


@inlined_kernel
def pull_string(mesh, goals, piece, vertices, count, x, y, radius, bends, limit, flood):
    """Pull the string of a point taut past portal vertices: the simple stupid funnel.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    piece : int
        Piece of the goal at the end of the corridor; -1 if the vertices do not reach it: then only bends are
        looked for.
    vertices : (k,) int32
        See `list_portal_vertices`; those that can only be brushed are passed over.
    count : int
    x, y : float, m
        Where the path begins.
    radius : float, m
        How far the goal's end of the string stays away from walls.
    bends : (k,) int32
        Receives the places of the vertices that the string bends round.
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
        left = right = bend = near = -1
        lx = ly = rx = ry = nx = ny = 0.0
        for place in range(first, count):
            code = vertices[place]
            if bits_of(code) & BRUSH or vertex_of(code) == apex:
                continue
            px, py = mesh.vertex[vertex_of(code), 0], mesh.vertex[vertex_of(code), 1]
            if near >= 0 and _goes_back(ax, ay, nx, ny, px, py):
                bend = near
                break
            if code >= 0:
                if left < 0 or orientation(ax, ay, lx, ly, px, py) <= 0.0:
                    if right >= 0 and _is_passed_before(
                        ax, ay, rx, ry, px, py, -orientation(ax, ay, rx, ry, px, py)
                    ):
                        bend = right
                        break
                    left, lx, ly = place, px, py
                else:
                    continue
            elif right < 0 or orientation(ax, ay, rx, ry, px, py) >= 0.0:
                if left >= 0 and _is_passed_before(
                    ax, ay, lx, ly, px, py, orientation(ax, ay, lx, ly, px, py)
                ):
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
            elif left >= 0 and _is_passed_before(ax, ay, lx, ly, tx, ty, orientation(ax, ay, lx, ly, tx, ty)):
                bend = left
            elif right >= 0 and _is_passed_before(
                ax, ay, rx, ry, tx, ty, -orientation(ax, ay, rx, ry, tx, ty)
            ):
                bend = right
            else:
                return found, tx, ty
        bends[found] = bend
        found += 1
        # The string bends here ([Mononen 2010]): start again behind the portal of this vertex. A left one
        # stands before the right one of its portal.
        apex = vertex_of(vertices[bend])
        ax, ay = mesh.vertex[apex, 0], mesh.vertex[apex, 1]
        first = bend + 2 if vertices[bend] >= 0 else bend + 1
    return found, ax, ay


@inlined_kernel
def _disc_at(mesh, string, found, i, radius):
    """Return disc i of a path as (x, y, side); -1 is its begin, `found` its end."""
    if i < 0:
        return string.x, string.y, 0.0
    if i >= found:
        return string.tx, string.ty, 0.0
    return vertex_disc(mesh, string.vertices[string.bends[i]], radius)


@inlined_kernel
def _may_pass_either_side(mesh, code, radius):
    """Return whether an agent may pass a vertex on either side:
    in free ground, and on a kerb where a wall is so near that the agent cannot be there.
    """
    vertex = vertex_of(code)
    if mesh.vertex_clearance.size == 0 or mesh.is_wall_vertex[vertex] == 1:
        return False
    return mesh.vertex_clearance[vertex] < (
        radius + min(radius, KERB_M) if mesh.is_wall_vertex[vertex] == KERB else np.inf
    )


@inlined_kernel
def _is_opposed(x, y, side, ox, oy, other_side):
    """Return whether two discs on either side of the path overlap:
    it cannot bend round both, which is so between kerbs of a narrow strip.
    """
    dx, dy, within = ox - x, oy - y, abs(side) + abs(other_side)
    return side * other_side < 0.0 and dx * dx + dy * dy < within * within


@inlined_kernel
def _deepest_vertex(mesh, string, found, i, radius, end):
    """Find the vertex that presses deepest into the straight line from disc i of a string to the next;
    return its place, -1 if none does.

    The vertices of the two discs do not count, on either side: a corridor that comes back over the line on
    which the path runs has one of them on its other side as well. `end` is the code of the vertex at the end
    of the string, or NO_VERTEX.
    """
    vertices, bends, count = string.vertices, string.bends, string.vertex_count
    ax, ay, a_side = _disc_at(mesh, string, found, i, radius)
    bx, by, b_side = _disc_at(mesh, string, found, i + 1, radius)
    begin, apex = (bends[i], vertices[bends[i]]) if i >= 0 else (0, NO_VERTEX)
    stop, goal = (bends[i + 1], vertices[bends[i + 1]]) if i + 1 < found else (count, end)
    ux, uy, reach = tangent(ax, ay, a_side, bx, by, b_side)
    sx, sy = ax + a_side * uy, ay - a_side * ux  # the rim on the right of a disc that is on the left
    first, last = vertices_beside(
        mesh, vertices, count, begin, stop, sx, sy, sx + reach * ux, sy + reach * uy, radius + BESIDE_M
    )
    deepest_place, deepest = -1, TOUCH_M
    for place in range(first, last):
        code = vertices[place]
        vertex = vertex_of(code)
        if vertex == vertex_of(apex) or vertex == vertex_of(goal) or (code >= 0 and code & EITHER):
            continue
        cx, cy, side = vertex_disc(mesh, code, radius)
        along = (cx - sx) * ux + (cy - sy) * uy
        if along < 0.0 or along > reach or _may_pass_either_side(mesh, code, radius):
            continue
        if mesh.is_wall_vertex[vertex] == KERB and (
            _is_opposed(cx, cy, side, ax, ay, a_side) or _is_opposed(cx, cy, side, bx, by, b_side)
        ):
            continue
        aside = ux * (cy - sy) - uy * (cx - sx)
        depth = side - aside if code >= 0 else aside - side
        # The line has left its place by a radius at most. What lies deeper is not beside this part of the
        # path: it is passed before or after.
        if not deepest < depth <= 2.0 * radius + TOUCH_M:
            continue
        if not is_on_another_floor(
            mesh, vertices, count, begin, stop, apex, goal, place, sx + along * ux, sy + along * uy
        ):
            deepest_place, deepest = place, depth
    return deepest_place


@inlined_kernel
def inflate(mesh, string, found, radius, end, parts):
    """Turn the string of a point into that of an agent:
    bend it round the discs that press into it, take it off those that it no longer touches.

    Parameters
    ----------
    mesh : NavMesh
    string : String
        Its bends, from `pull_string`, are changed in place.
    found : int
        Number of bends.
    radius : float, m
    end : int
        Code of the vertex at the end of the string if there is one; else NO_VERTEX.
    parts : int
        How many straight parts from the begin on have to be right; 1 where only the first corner is needed.

    Returns
    -------
    int
        Number of bends.
    """
    if radius <= 0.0:
        return found
    vertices, bends = string.vertices, string.bends
    for _ in range(4 * string.vertex_count + 8):
        is_done = (
            True  # unless the string is taken off a disc: only then parts are others than were looked at
        )
        i = -1
        while i < min(found, parts - 1):
            place = _deepest_vertex(mesh, string, found, i, radius, end)
            # Each vertex is a bend once; walls that cross each other would bend a string without end.
            if place >= 0 and found < min(bends.size, 2 * string.vertex_count):
                for k in range(found, i + 1, -1):
                    bends[k] = bends[k - 1]
                bends[i + 1] = place
                found += 1
            else:
                i += 1
        i = 0
        while i < min(found, parts):
            ax, ay, a_side = _disc_at(mesh, string, found, i - 1, radius)
            bx, by, b_side = _disc_at(mesh, string, found, i, radius)
            cx, cy, c_side = _disc_at(mesh, string, found, i + 1, radius)
            ux, uy, _ = tangent(ax, ay, a_side, bx, by, b_side)
            vx, vy, _ = tangent(bx, by, b_side, cx, cy, c_side)
            turn = ux * vy - uy * vx
            if vertices[bends[i]] < 0:
                turn = -turn
            is_slack = turn < -1e-12 and ux * vx + uy * vy > 0.0
            if not is_slack and _may_pass_either_side(mesh, vertices[bends[i]], radius):
                is_slack = hypot(bx - ax, by - ay) < abs(a_side) or hypot(bx - cx, by - cy) < abs(c_side)
            if is_slack:
                for k in range(i, found - 1):
                    bends[k] = bends[k + 1]
                found -= 1
                is_done = False
            else:
                i += 1
        if is_done:
            break
    return found


@lean_kernel
def pull_straight(mesh, goals, corridor, vertices, count, x, y, radius, bends, flood):
    """Pull the string of a point, and lead its corridor round free vertices until the string bends at none of
    them; see `straighten_corridor`.

    Takes what `find_bends` takes; the vertices are those of the straightened corridor afterwards.

    Returns
    -------
    found, tx, ty
        See `pull_string`.
    count : int
        Number of vertices.
    begin, size : int
        The new corridor is ``bends[begin:begin + size]``; begin is -1 if it is the old one.
    """
    piece = corridor.piece
    found, tx, ty = pull_string(mesh, goals, piece, vertices, count, x, y, radius, bends, bends.size, flood)
    begin, size = -1, 0
    most = bends.size // 3
    if mesh.vertex_clearance.size == 0 or found > most:
        return found, tx, ty, count, begin, size
    for turn in range(MOST_ROUNDS):
        at = most * (1 + turn % 2)  # the other two thirds of the bends take turns in keeping the corridor
        portals = straighten_corridor(
            mesh, corridor, vertices, bends, found, 2.0 * radius, bends[: at + most], at
        )
        if portals < 0:
            break
        begin, size = at, portals
        corridor = Corridor(bends, begin, size, corridor.polygon, piece)
        count, _ = list_portal_vertices(mesh, corridor, size + 1, vertices)
        found, tx, ty = pull_string(mesh, goals, piece, vertices, count, x, y, radius, bends, most, flood)
    return found, tx, ty, count, begin, size


@lean_kernel
def find_bends(mesh, goals, corridor, vertices, count, x, y, radius, bends, flood):
    """Find all bends of the shortest path through a corridor.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    corridor : Corridor
    vertices : (k,) int32
        See `list_portal_vertices`; of the whole corridor. Those off the corridor that matter where the path
        begins and ends are added, as far as there is room.
    count : int
        Number of vertices.
    x, y : float, m
        Where the path begins.
    radius : float, m
    bends : (k,) int32
        Receives the places of the vertices that the path bends round.
    flood : Flood

    Returns
    -------
    found : int
        Number of bends.
    tx, ty : float, m
        Where the path ends.
    """
    found, tx, ty, count, begin, size = pull_straight(
        mesh, goals, corridor, vertices, count, x, y, radius, bends, flood
    )
    if begin >= 0:
        corridor = Corridor(bends, begin, size, corridor.polygon, corridor.piece)
    if radius <= 0.0:
        return found, tx, ty
    ax, ay, bx, by = x, y, tx, ty
    if found > 0:
        ax, ay, _ = vertex_disc(mesh, vertices[bends[found - 1]], 0.0)
        bx, by, _ = vertex_disc(mesh, vertices[bends[0]], 0.0)
    polygon, goal_polygon, beside = (
        corridor.polygon,
        np.int64(goals.piece_polygon[corridor.piece]),
        2.0 * radius + BESIDE_M,
    )
    choose_first_sides(mesh, vertices, count, polygon, x, y, bx, by)
    choose_sides(mesh, vertices, 0, count, goal_polygon, ax, ay, tx, ty)
    if mesh.vertex_clearance.size > 0:
        count = add_vertices_along_string(
            mesh, corridor, String(vertices, count, bends, x, y, tx, ty), found, beside, found + 1, flood
        )
        return _inflate_to_goal(
            mesh, goals, corridor.piece, String(vertices, count, bends, x, y, tx, ty), found, radius, flood
        )
    known, first, last = count, 0, count
    if count > 0 and found > 0:
        first, _ = vertices_beside(mesh, vertices, count, bends[found - 1], count, ax, ay, tx, ty, beside)
        _, last = vertices_beside(mesh, vertices, count, 0, bends[0], x, y, bx, by, beside)
    total = add_vertices_off_corridor(
        mesh, goal_polygon, ax, ay, tx, ty, radius, vertices, first, count, count, flood
    )
    choose_sides(mesh, vertices, known, total, -1, ax, ay, tx, ty)
    known = total
    count = add_vertices_off_corridor(mesh, polygon, x, y, bx, by, radius, vertices, 0, last, total, flood)
    choose_sides(mesh, vertices, known, count, -1, x, y, bx, by)
    moved = move_to_front(vertices, known, count)
    for i in range(found):
        bends[i] += moved
    return _inflate_to_goal(
        mesh, goals, corridor.piece, String(vertices, count, bends, x, y, tx, ty), found, radius, flood
    )


@lean_kernel
def _inflate_to_goal(mesh, goals, piece, string, found, radius, flood):
    """Turn the string of a point into that of an agent, and let it end in a region where that is nearest from
    where it leaves its last bend.

    Returns what `find_bends` returns.
    """
    found = inflate(mesh, string, found, radius, NO_VERTEX, string.bends.size)
    if goals.vertex_start[piece + 1] - goals.vertex_start[piece] == 1:
        return found, string.tx, string.ty
    for _ in range(MOST_TARGETS):
        ax, ay, side = _disc_at(mesh, string, found, found - 1, radius)
        ux, uy, reach = tangent(ax, ay, side, string.tx, string.ty, 0.0)
        if reach <= 0.0:
            break
        tx, ty = target_in_piece(mesh, goals, piece, ax + side * uy, ay - side * ux, radius, flood)
        if hypot(tx - string.tx, ty - string.ty) <= TOUCH_M:
            break
        string = String(string.vertices, string.vertex_count, string.bends, string.x, string.y, tx, ty)
        found = inflate(mesh, string, found, radius, NO_VERTEX, string.bends.size)
    return found, string.tx, string.ty


@lean_kernel
def lay_string(mesh, string, found, radius, points):
    """Turn bends into points and measure the path.

    Parameters
    ----------
    mesh : NavMesh
    string : String
    found : int
        Number of its bends, see `find_bends`.
    radius : float, m
    points : (2 found + 2, 2) float64, m
        Receives the begin, for each bend where its arc begins and ends, and the end.

    Returns
    -------
    float, m
        Length of the path, arcs included.

    Notes
    -----
    Twin: `tests/reference/funnel.py`.
    """
    points[0, 0], points[0, 1] = string.x, string.y
    ax, ay, a_side = string.x, string.y, 0.0
    length, px, py = 0.0, 0.0, 0.0
    for i in range(found + 1):
        bx, by, b_side = _disc_at(mesh, string, found, i, radius)
        ux, uy, reach = tangent(ax, ay, a_side, bx, by, b_side)
        if i > 0:
            if a_side != 0.0:
                length += abs(a_side) * angle_between(px, py, ux, uy)
            points[2 * i, 0], points[2 * i, 1] = ax + a_side * uy, ay - a_side * ux
        length += reach
        points[2 * i + 1, 0], points[2 * i + 1, 1] = bx + b_side * uy, by - b_side * ux
        ax, ay, a_side, px, py = bx, by, b_side, ux, uy
    return length
