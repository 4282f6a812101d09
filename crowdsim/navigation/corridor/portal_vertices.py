"""The posts of a corridor: the vertices that a way passes, each on its left or on its right, in the order of the portals.

Most posts are ends of portals. The others, of the polygons between, are never met by a point, but a body may *brush* them.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.plane import distance_to_segment, nearest_on_segment, orientation, segments_apart
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.mesh.floor_seams import IN_LINE_M, NO_JOIN, are_apart, is_before, join_over

BRUSH, EITHER, FIRST = 1, 2, 4  # Flags of a post, see `lay_out_posts`.
JOIN = EITHER  # The flag of the right post of a portal between two floors; which side a portal's posts are on is never open.
FLAGS, VERTEX = 7, 3  # Mask of the flags, and how many bits of a post they take.
KERB_M = 0.05  # Bodies keep so far inside of fast ground where they walk along slow ground; a lone walker strays by less, the way gets longer by little.
BESIDE_M = 1e-6  # How much farther than a radius a portal may be from a part of the way for its posts to be looked at; they need not press.


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
        it: within a group the order along the way is not known. The right post of a portal to another floor has JOIN. Written from ``posts[at]`` on, as far as
        there is room.
    at : int

    Returns
    -------
    end : int
        End of what was written.
    portal : int
        The portal before which it ends: `last`, or an earlier one if there was no room for more.
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
            return at, portal
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
            leaves = mesh.polygon_layer[current] != mesh.polygon_layer[mesh.edge_polygon[mesh.edge_twin[edge]]]
            posts[at], posts[at + 1] = 8 * mesh.edge_end[edge], ~(8 * mesh.edge_vertex[edge] + (JOIN if leaves else 0))
            at += 2
        if at > group:
            posts[group] = posts[group] | FIRST if posts[group] >= 0 else ~(~posts[group] | FIRST)
    return at, last


@inlined_kernel
def bits_of(post):
    """Return the vertex and the flags of a post, whatever its side."""
    return post if post >= 0 else ~post


@inlined_kernel
def post_disc(mesh, post, radius):
    """Return the disc of a post as (x, y, side); a vertex in the middle of free ground has none, that is side 0, and one on a kerb a small one."""
    vertex = bits_of(post) >> VERTEX
    side = 0.0
    if mesh.is_wall_vertex[vertex] != 0:
        side = radius if mesh.is_wall_vertex[vertex] == 1 else min(radius, KERB_M)
        side = side if post >= 0 else -side
    return mesh.vertex[vertex, 0], mesh.vertex[vertex, 1], side


@inlined_kernel
def group_start(posts, place):
    """Return where the group of a post begins."""
    while place > 0 and bits_of(posts[place]) & FIRST == 0:
        place -= 1
    return place


@inlined_kernel
def group_end(posts, place, count):
    """Return where the group of a post ends."""
    place += 1
    while place < count and bits_of(posts[place]) & FIRST == 0:
        place += 1
    return place


@inlined_kernel
def posts_beside(mesh, posts, count, begin, end, px, py, qx, qy, within):
    """Return the range of the groups whose posts may press into a straight part of the way, from (px, py) to (qx, qy).

    It touches the discs of the posts at `begin` and `end`. Their groups and those between belong to it, and on either side those that a disc on the part
    reaches into over their portals: a body comes past the posts in another order than their portals when it bends round one at the far end of a portal.
    """
    first, last = group_start(posts, min(begin, end)), group_end(posts, min(max(begin, end), count - 1), count)
    while first > 1 and _is_portal_beside(mesh, posts, first, px, py, qx, qy, within):
        first = group_start(posts, first - 1)
    while last < count and _is_portal_beside(mesh, posts, last, px, py, qx, qy, within):
        last = group_end(posts, last, count)
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
def is_on_another_floor(mesh, posts, count, begin, end, apex, stop, place, x, y):
    """Return whether a post stands above or below (x, y), where the part of the way between the posts at `begin` and `end` comes nearest to it in plan.

    `apex` and `stop` are the posts there. The line on which two floors meet is all that they share: of a post before it and a place behind it, or the other
    way round, each has to be on its side.
    """
    low, high = min(begin, end), max(begin, end)
    vertex = bits_of(posts[place]) >> VERTEX
    px, py = mesh.vertex[vertex, 0], mesh.vertex[vertex, 1]
    for join in range(min(place, low), min(max(place, high), count)):
        right = posts[join]
        if right >= 0 or bits_of(right) & (BRUSH | JOIN) != JOIN:
            continue
        a, b = bits_of(right) >> VERTEX, posts[join - 1] >> VERTEX
        ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
        post, here, within = orientation(ax, ay, bx, by, px, py), orientation(ax, ay, bx, by, x, y), IN_LINE_M * np.hypot(bx - ax, by - ay)
        is_behind = join < low or (join <= high and here < 0.0)
        if bits_of(apex) >> VERTEX == a or bits_of(apex) >> VERTEX == b:
            is_behind = True
        elif bits_of(stop) >> VERTEX == a or bits_of(stop) >> VERTEX == b:
            is_behind = False
        if join < place and not is_behind and (post > within or here < -within):
            return True
        if place < join and is_behind and (post < -within or here > within):
            return True
    return False


@inlined_kernel
def settle_first_sides(mesh, posts, count, polygon, x, y, bx, by):
    """Settle on which side of the string, which begins as the line from (x, y) to b, the posts of the first polygon stand."""
    if count > 0:
        choose_sides(mesh, posts, 0, group_end(posts, 0, count), polygon, x, y, bx, by)


@inlined_kernel
def settle_last_sides(mesh, posts, count, polygon, ax, ay, tx, ty):
    """Settle on which side of the string, which ends as the line from a to (tx, ty), the posts of the last polygon stand."""
    choose_sides(mesh, posts, 0, count, polygon, ax, ay, tx, ty)


@inlined_kernel
def choose_sides(mesh, posts, first, last, polygon, ax, ay, bx, by):
    """Settle for the posts that may be on either side of the straight line from a to b; they are vertices of `polygon`, or of any if it is -1."""
    for place in range(first, last):
        post = posts[place]
        if post >= 0 and post & EITHER:
            post &= ~EITHER
            posts[place] = post if _is_on_left(mesh, post >> VERTEX, polygon, ax, ay, bx, by) else ~post


@inlined_kernel
def _is_on_left(mesh, vertex, polygon, ax, ay, bx, by):
    """Return whether a vertex of a polygon stands on the left of the line from a to b.

    The line runs along an edge of the polygon if the vertex is in line with it, as where a region begins flush with a wall; the ground is on the other side.
    """
    beside = orientation(ax, ay, bx, by, mesh.vertex[vertex, 0], mesh.vertex[vertex, 1])
    dx, dy = bx - ax, by - ay
    if polygon < 0 or abs(beside) > IN_LINE_M * np.sqrt(dx * dx + dy * dy):
        return beside >= 0.0
    deepest = 0.0
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        other = mesh.edge_vertex[edge]
        inside = orientation(ax, ay, bx, by, mesh.vertex[other, 0], mesh.vertex[other, 1])
        if abs(inside) > abs(deepest):
            deepest = inside
    return deepest <= 0.0


@inlined_kernel
def holds(posts, first, last, vertex):
    """Return whether ``posts[first:last]`` has a vertex."""
    for place in range(first, last):
        if bits_of(posts[place]) >> VERTEX == vertex:
            return True
    return False


@lean_kernel
def add_bystanders(mesh, polygon, ax, ay, bx, by, radius, posts, first, last, count, flood):
    """Append the wall vertices that a body brushes on its way from a to b though they are beside the corridor; return the new count.

    A way is a radius away from such vertices by itself, except where it begins or ends nearer than that to the edge behind which they stand. The flood
    begins at `polygon`; vertices among ``posts[first:last]`` are known. The line is that of a point, and a body passes within a radius of it.
    """
    known = count
    flood.serial[0] += 1
    serial = flood.serial[0]
    flood.queue[0], flood.join[0] = polygon, NO_JOIN
    flood.stamp[polygon] = serial
    reached, done = 1, 0
    while done < reached:
        current, join = flood.queue[done], flood.join[done]
        done += 1
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
            px, py = mesh.vertex[a, 0], mesh.vertex[a, 1]
            is_free = current != polygon and mesh.is_wall_vertex[a] == 1 and count < posts.size
            is_free = is_free and distance_to_segment(px, py, ax, ay, bx, by) < 2.0 * radius
            if is_free and join >= 0:
                qx, qy = nearest_on_segment(px, py, ax, ay, bx, by)
                is_free = not are_apart(mesh, join, px, py, qx, qy)
            if is_free and not (holds(posts, first, last, a) or holds(posts, known, count, a)):
                posts[count] = 8 * a + BRUSH + EITHER + (FIRST if count == known else 0)
                count += 1
            twin = mesh.edge_twin[edge]
            if twin < 0 or flood.stamp[mesh.edge_polygon[twin]] == serial:
                continue
            if is_before(mesh, join, a) and is_before(mesh, join, b):
                continue
            if segments_apart(ax, ay, bx, by, px, py, mesh.vertex[b, 0], mesh.vertex[b, 1]) < 2.0 * radius:
                flood.stamp[mesh.edge_polygon[twin]] = serial
                flood.queue[reached], flood.join[reached] = mesh.edge_polygon[twin], join_over(mesh, edge, join)
                reached += 1
    return count


@lean_kernel
def move_to_front(posts, first, count):
    """Move ``posts[first:count]`` before the others; return how many they are."""
    moved = count - first
    for _ in range(moved):
        last = posts[count - 1]
        for place in range(count - 1, 0, -1):
            posts[place] = posts[place - 1]
        posts[0] = last
    return moved
