"""The funnel algorithm for bodies of any radius: the shortest way through a corridor, with corners rounded at the radius.

A corridor is laid out as the row of its *posts*: the vertices on the left and on the right of the way, in the order in which it passes them. Most are
ends of portals. The others, of the polygons between, are never met by a point, but a body may *brush* them.

First the simple stupid funnel (S1, March 2010; S3 section 4.2) pulls the string of a point taut between the portals; that settles on which side of
every post the way passes. Then the posts swell to discs of the body's radius: the string bends round those that press into it, along arcs, and leaves
those that others have pushed it off (`swell`). Tangents of discs alone, with the funnel's rule of crossing sides (Demyen and Buro 2006), are not enough:
they also cross where a line touches its disc farther on than the string goes, so that a goal close behind a corner is overshot.

A line with direction u and left normal n that touches a disc round c with the disc on its left has n . c = offset + radius; with the disc on its
right, offset - radius; a point is a disc of radius 0. So every kind of tangent is one formula, with the signed radius `side` (+r left, -r right, 0).
"""

from __future__ import annotations

import numpy as np

from crowdsim.geometry.plane import angle_between, distance_to_segment, orientation, segments_apart
from crowdsim.kernels import inlined_kernel, lean_kernel
from crowdsim.navigation.goals import target_in_piece

BRUSH, EITHER, FIRST = 1, 2, 4  # Flags of a post, see `lay_out_posts`.
FLAGS, VERTEX = 7, 3  # Mask of the flags, and how many bits of a post they take.
NO_POST = -(1 << 40)
BESIDE_M = 1e-6  # How much farther than a radius a portal may be from a part of the way for its posts to be looked at; they need not press.
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
def lay_out_posts(mesh, cells, start, length, polygon, first, last, posts, at):
    """Write the posts of a corridor from portal `first` to before portal `last`.

    Parameters
    ----------
    mesh : NavMesh
    cells : (m,) int32
        Corridor store: the corridor is ``cells[start:start + length]``, its next portal last.
    start, length : int
    polygon : int
        Where the way begins; only looked at if the corridor is empty.
    first, last : int
        Portals counted from the next one; `last` may be ``length + 1``, which adds the goal's polygon.
    posts : (k,) int32
        Receives for each vertex v on the left of the way ``8 v``, on the right ``~(8 v)``; plus, inside the brackets, BRUSH if it can only be brushed,
        EITHER if its side depends on the line that passes it, and FIRST if it begins the group of posts of one polygon and the portal that leads out of
        it: within a group the order along the way is not known. Written from ``posts[at]`` on, as far as there is room.
    at : int

    Returns
    -------
    int
        End of what was written; ``posts.size + 1`` if there was no room for all.
    """
    for portal in range(first, last):
        edge = cells[start + length - 1 - portal] if portal < length else -1
        entry = mesh.edge_twin[cells[start + length - portal]] if portal > 0 else -1
        current = polygon
        if edge >= 0:
            current = mesh.edge_polygon[edge]
        elif entry >= 0:
            current = mesh.edge_polygon[entry]
        low, high = mesh.polygon_start[current], mesh.polygon_start[current + 1]
        if at + (high - low) + 2 > posts.size:
            return posts.size + 1
        group = at
        if entry >= 0 and edge >= 0:
            side = edge + 1 if edge + 1 < high else low
            while side != entry:
                side = side + 1 if side + 1 < high else low
                if side != entry:
                    posts[at] = 8 * mesh.edge_vertex[side] + BRUSH
                    at += 1
            side = entry + 1 if entry + 1 < high else low
            while side != edge:
                side = side + 1 if side + 1 < high else low
                if side != edge:
                    posts[at] = ~(8 * mesh.edge_vertex[side] + BRUSH)
                    at += 1
        else:
            for side in range(low, high):
                v = mesh.edge_vertex[side]
                if edge >= 0 and (v == mesh.edge_vertex[edge] or v == mesh.edge_end[edge]):
                    continue
                if entry >= 0 and (v == mesh.edge_vertex[entry] or v == mesh.edge_end[entry]):
                    continue
                posts[at] = 8 * v + BRUSH + EITHER
                at += 1
        if edge >= 0:
            posts[at], posts[at + 1] = 8 * mesh.edge_end[edge], ~(8 * mesh.edge_vertex[edge])
            at += 2
        if at > group:
            posts[group] = posts[group] | FIRST if posts[group] >= 0 else ~(~posts[group] | FIRST)
    return at


@inlined_kernel
def post_disc(mesh, post, radius):
    """Return the disc of a post as (x, y, side); a vertex in the middle of free ground has none, that is side 0."""
    vertex = (post if post >= 0 else ~post) >> VERTEX
    side = 0.0
    if mesh.is_wall_vertex[vertex] == 1:
        side = radius if post >= 0 else -radius
    return mesh.vertex[vertex, 0], mesh.vertex[vertex, 1], side


@inlined_kernel
def _group_start(posts, place):
    """Return where the group of a post begins."""
    while place > 0 and (posts[place] if posts[place] >= 0 else ~posts[place]) & FIRST == 0:
        place -= 1
    return place


@inlined_kernel
def _group_end(posts, place, count):
    """Return where the group of a post ends."""
    place += 1
    while place < count and (posts[place] if posts[place] >= 0 else ~posts[place]) & FIRST == 0:
        place += 1
    return place


@inlined_kernel
def _window(mesh, posts, count, begin, end, px, py, qx, qy, within):
    """Return the range of the groups whose posts may press into a straight part of the way, from (px, py) to (qx, qy).

    It touches the discs of the posts at `begin` and `end`. Their groups and those between belong to it, and on either side those that a disc on the part
    reaches into over their portals: a body comes past the posts in another order than their portals when it bends round one at the far end of a portal.
    """
    first, last = _group_start(posts, min(begin, end)), _group_end(posts, min(max(begin, end), count - 1), count)
    while first > 1 and _is_portal_beside(mesh, posts, first, px, py, qx, qy, within):
        first = _group_start(posts, first - 1)
    while last < count and _is_portal_beside(mesh, posts, last, px, py, qx, qy, within):
        last = _group_end(posts, last, count)
    return first, last


@inlined_kernel
def _is_portal_beside(mesh, posts, place, px, py, qx, qy, within):
    """Return whether the group that ends before `place` ends with a portal, and this comes within a distance of segment pq."""
    left, right = posts[place - 2], posts[place - 1]
    if left < 0 or left & BRUSH or right >= 0:
        return False
    a, b = left >> VERTEX, ~right >> VERTEX
    return segments_apart(px, py, qx, qy, mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]) <= within


@inlined_kernel
def pull_string(mesh, goals, posts, count, piece, x, y, radius, bends, limit, stack, nearest):
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
    stack, nearest
        Scratch of `wall_distance`.

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
        lx = ly = rx = ry = 0.0
        bend = -1
        for place in range(first, count):
            post = posts[place]
            bits = post if post >= 0 else ~post
            if bits & BRUSH or bits >> VERTEX == apex:
                continue
            px, py = mesh.vertex[bits >> VERTEX, 0], mesh.vertex[bits >> VERTEX, 1]
            if post >= 0:
                if left < 0 or orientation(ax, ay, lx, ly, px, py) <= 0.0:
                    if right >= 0 and orientation(ax, ay, rx, ry, px, py) < 0.0:
                        bend = right
                        break
                    left, lx, ly = place, px, py
            elif right < 0 or orientation(ax, ay, rx, ry, px, py) >= 0.0:
                if left >= 0 and orientation(ax, ay, lx, ly, px, py) > 0.0:
                    bend = left
                    break
                right, rx, ry = place, px, py
        if bend < 0:
            if piece < 0:
                return found, ax, ay
            tx, ty = target_in_piece(mesh, goals, piece, ax, ay, radius, stack, nearest)
            if left >= 0 and orientation(ax, ay, lx, ly, tx, ty) > 0.0:
                bend = left
            elif right >= 0 and orientation(ax, ay, rx, ry, tx, ty) < 0.0:
                bend = right
            else:
                return found, tx, ty
        bends[found] = bend
        found += 1
        # The string bends here (S1): start again behind the portal of this post. A left post stands before the right one of its portal.
        post = posts[bend]
        apex = (post if post >= 0 else ~post) >> VERTEX
        ax, ay = mesh.vertex[apex, 0], mesh.vertex[apex, 1]
        first = bend + 2 if post >= 0 else bend + 1
    return found, ax, ay


@inlined_kernel
def settle_first_sides(mesh, posts, count, x, y, bx, by):
    """Settle on which side of the string, which begins as the line from (x, y) to b, the posts of the first polygon stand."""
    if count > 0:
        _choose_sides(mesh, posts, 0, _group_end(posts, 0, count), x, y, bx, by)


@inlined_kernel
def settle_last_sides(mesh, posts, count, ax, ay, tx, ty):
    """Settle on which side of the string, which ends as the line from a to (tx, ty), the posts of the last polygon stand."""
    _choose_sides(mesh, posts, 0, count, ax, ay, tx, ty)


@inlined_kernel
def _choose_sides(mesh, posts, first, last, ax, ay, bx, by):
    """Settle for the posts that may be on either side of the straight line from a to b."""
    for place in range(first, last):
        post = posts[place]
        if post >= 0 and post & EITHER:
            vertex = post >> VERTEX
            post &= ~EITHER
            posts[place] = post if orientation(ax, ay, bx, by, mesh.vertex[vertex, 0], mesh.vertex[vertex, 1]) >= 0.0 else ~post


@inlined_kernel
def _disc_at(mesh, posts, i, bends, found, x, y, tx, ty, radius):
    """Return disc i of a way as (x, y, side); -1 is its begin, `found` its end."""
    if i < 0:
        return x, y, 0.0
    if i >= found:
        return tx, ty, 0.0
    return post_disc(mesh, posts[bends[i]], radius)


@inlined_kernel
def _deepest_post(mesh, posts, count, begin, end, ax, ay, a_side, bx, by, b_side, apex, stop, radius):
    """Find the post that presses deepest into the straight line from disc a to disc b; -1 if none does.

    `begin` and `end` are the places of their posts, 0 and `count` at the ends of the way; `apex` and `stop` the posts themselves, which do not count.
    """
    ux, uy, reach = tangent(ax, ay, a_side, bx, by, b_side)
    sx, sy = ax + a_side * uy, ay - a_side * ux  # the rim on the right of a disc that is on the left
    first, last = _window(mesh, posts, count, begin, end, sx, sy, sx + reach * ux, sy + reach * uy, radius + BESIDE_M)
    found, deepest = -1, TOUCH_M
    for place in range(first, last):
        post = posts[place]
        if post | FLAGS == apex | FLAGS or post | FLAGS == stop | FLAGS or (post >= 0 and post & EITHER):
            continue
        cx, cy, side = post_disc(mesh, post, radius)
        along = (cx - sx) * ux + (cy - sy) * uy
        if along < 0.0 or along > reach:
            continue
        aside = ux * (cy - sy) - uy * (cx - sx)
        depth = side - aside if post >= 0 else aside - side
        # The line has left its place by a radius at most. What lies deeper is not beside this part of the way: it is passed before or after.
        if deepest < depth <= 2.0 * radius + TOUCH_M:
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
            if turn < -1e-12 and ux * vx + uy * vy > 0.0:
                for k in range(i, found - 1):
                    bends[k] = bends[k + 1]
                found -= 1
                changed = True
            else:
                i += 1
        if not changed:
            break
    return found


@inlined_kernel
def _holds(posts, first, last, vertex):
    for place in range(first, last):
        if (posts[place] if posts[place] >= 0 else ~posts[place]) >> VERTEX == vertex:
            return True
    return False


@lean_kernel
def _add_bystanders(mesh, polygon, ax, ay, bx, by, radius, posts, first, last, count, stack):
    """Append the wall vertices that a body brushes on its way from a to b though they are beside the corridor; return the new count.

    A way is a radius away from such vertices by itself, except where it begins or ends nearer than that to the edge behind which they stand. The flood
    begins at `polygon`; vertices among ``posts[first:last]`` are known. The line is that of a point, and a body passes within a radius of it.
    """
    known = count
    stack[0] = polygon
    visited, done = 1, 0
    while done < visited:
        current = stack[done]
        done += 1
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
            px, py = mesh.vertex[a, 0], mesh.vertex[a, 1]
            is_free = current != polygon and mesh.is_wall_vertex[a] == 1 and count < posts.size
            if is_free and distance_to_segment(px, py, ax, ay, bx, by) < 2.0 * radius:
                if not (_holds(posts, first, last, a) or _holds(posts, known, count, a)):
                    posts[count] = 8 * a + BRUSH + EITHER + (FIRST if count == known else 0)
                    count += 1
            twin = mesh.edge_twin[edge]
            if twin < 0 or visited == stack.size:
                continue
            if segments_apart(ax, ay, bx, by, px, py, mesh.vertex[b, 0], mesh.vertex[b, 1]) >= 2.0 * radius:
                continue
            other = mesh.edge_polygon[twin]
            is_new = True
            for slot in range(visited):
                if stack[slot] == other:
                    is_new = False
                    break
            if is_new:
                stack[visited] = other
                visited += 1
    return count


@lean_kernel
def _move_to_front(posts, first, count):
    """Move ``posts[first:count]`` before the others; return how many they are."""
    moved = count - first
    for _ in range(moved):
        last = posts[count - 1]
        for place in range(count - 1, 0, -1):
            posts[place] = posts[place - 1]
        posts[0] = last
    return moved


@lean_kernel
def find_bends(mesh, goals, posts, count, polygon, piece, x, y, radius, bends, stack, nearest):
    """Find all bends of the shortest way past a row of posts.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
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
    stack, nearest
        Scratch of `wall_distance`.

    Returns
    -------
    found : int
        Number of bends.
    tx, ty : float, m
        Where the way ends.
    """
    found, tx, ty = pull_string(mesh, goals, posts, count, piece, x, y, radius, bends, bends.size, stack, nearest)
    if radius <= 0.0:
        return found, tx, ty
    ax, ay = x, y
    if found > 0:
        ax, ay, _ = post_disc(mesh, posts[bends[found - 1]], 0.0)
    bx, by = tx, ty
    if found > 0:
        bx, by, _ = post_disc(mesh, posts[bends[0]], 0.0)
    settle_first_sides(mesh, posts, count, x, y, bx, by)
    settle_last_sides(mesh, posts, count, ax, ay, tx, ty)
    beside = 2.0 * radius + BESIDE_M
    known, first, last = count, 0, count
    if count > 0 and found > 0:
        first, _ = _window(mesh, posts, count, bends[found - 1], count, ax, ay, tx, ty, beside)
        _, last = _window(mesh, posts, count, 0, bends[0], x, y, bx, by, beside)
    total = _add_bystanders(mesh, goals.piece_polygon[piece], ax, ay, tx, ty, radius, posts, first, count, count, stack)
    _choose_sides(mesh, posts, known, total, ax, ay, tx, ty)
    known = total
    count = _add_bystanders(mesh, polygon, x, y, bx, by, radius, posts, 0, last, total, stack)
    _choose_sides(mesh, posts, known, count, x, y, bx, by)
    moved = _move_to_front(posts, known, count)
    for i in range(found):
        bends[i] += moved
    return swell(mesh, posts, count, x, y, tx, ty, radius, bends, found, NO_POST, bends.size), tx, ty


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
