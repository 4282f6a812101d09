"""Walls beside a corridor that belong to none of its polygons, and yet hold a body's string off.

Where all vertices of a mesh are ends of walls, every gap is an edge, and whatever wall a body can touch is one of the posts of its corridor. Vertices in the
middle of free ground change that: those on lines of tiles, on borders of terrain, in meshes of surfaces. An edge between two of them is no gap, and a wall
that stands behind it is a post of no polygon on this side. So such walls are looked for along the string itself, by a flood over portals.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.plane import distance_to_segment, nearest_on_segment, orientation, segments_apart
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.corridor.portal_vertices import BRUSH, FIRST, KERB_M, VERTEX, bits_of, group_end, group_start, holds
from crowdsim.navigation.mesh.floor_seams import NO_JOIN, are_apart, is_before, join_over
from crowdsim.navigation.mesh.mesh import KERB

MOST_ROUNDS = 64  # Of taking bends at free vertices out of a string. It is straight after two or three, or after one for each vertex along a line of tiles.
MOST_ROUND = 64  # Polygons round one vertex.


@lean_kernel
def straighten_corridor(mesh, cells, start, length, polygon, posts, bends, found, width, out, at):
    """Lead a corridor past free vertices on their other side where its string bends round them.

    Parameters
    ----------
    mesh : NavMesh
    cells : (m,) int32
    start, length : int
        The corridor, see `lay_out_posts`.
    polygon : int
        Where the way begins.
    posts : (k,) int32
    bends : (k,) int32
        Bends of the string, from `pull_string`.
    found : int
        Number of bends.
    width : float, m
        Diameter of the body; no corridor is led over portals that are narrower.
    out : (k,) int32
        Receives the new corridor from ``out[at]`` on.
    at : int

    Returns
    -------
    int
        Portals of the new corridor; -1 if none has changed, or there is no room for it.

    Notes
    -----
    The ground goes on all round a free vertex, so a way may pass it on either side, and the string that bends round it is longer than the one past its other
    side. Vertices at which the ground changes its slope or speed are left alone where the body has room: which side is better there, the search knows.
    """
    portal, bend, end, has_changed, here = 0, 0, at, False, polygon
    while portal < length:
        edge = cells[start + length - 1 - portal]
        while bend < found and not _may_be_passed_otherwise(mesh, bits_of(posts[bends[bend]]) >> VERTEX, width):
            bend += 1
        if bend < found:
            is_left = posts[bends[bend]] >= 0
            vertex = bits_of(posts[bends[bend]]) >> VERTEX
            is_alike = mesh.is_wall_vertex[vertex] == 0 and 2.0 * mesh.vertex_room[vertex] >= width
            if vertex == (mesh.edge_end[edge] if is_left else mesh.edge_vertex[edge]):
                bend += 1
                last = portal
                while last + 1 < length:
                    edge = cells[start + length - 2 - last]
                    if vertex != (mesh.edge_end[edge] if is_left else mesh.edge_vertex[edge]):
                        break
                    last += 1
                there = mesh.edge_polygon[mesh.edge_twin[cells[start + length - 1 - last]]]
                if _leads_round(mesh, here, there, vertex, not is_left, width, is_alike):
                    while here != there:
                        if end >= out.size:
                            return -1
                        edge = _edge_round(mesh, here, vertex, not is_left)
                        end = _put(mesh, out, at, end, edge)
                        here = mesh.edge_polygon[mesh.edge_twin[edge]]
                    has_changed, portal = True, last + 1
                    continue
                edge = cells[start + length - 1 - portal]
        if end >= out.size:
            return -1
        end = _put(mesh, out, at, end, edge)
        here = mesh.edge_polygon[mesh.edge_twin[edge]]
        portal += 1
    if not has_changed or not _is_wide_enough(mesh, out, at, end, width):
        return -1
    size = end - at
    for k in range(size // 2):
        edge = out[at + k]
        out[at + k] = out[end - 1 - k]
        out[end - 1 - k] = edge
    return size


@inlined_kernel
def _put(mesh, out, begin, end, edge):
    """Write a portal behind those from `begin` to before `end`; going back through the last one takes both away. Return the new end."""
    if end > begin and mesh.edge_twin[edge] == out[end - 1]:
        return end - 1
    out[end] = edge
    return end + 1


@inlined_kernel
def _edge_round(mesh, polygon, vertex, is_left):
    """Return the half-edge over which one leaves a polygon with one of its vertices on the left, or on the right."""
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        if (mesh.edge_end[edge] if is_left else mesh.edge_vertex[edge]) == vertex:
            return edge
    return mesh.polygon_start[polygon]


@inlined_kernel
def _may_be_passed_otherwise(mesh, vertex, width):
    """Return whether a bend may go over to the other side of its vertex: in free ground, and on a kerb where walls leave the body no room."""
    if mesh.is_wall_vertex[vertex] == KERB:
        return mesh.vertex_room[vertex] < 0.5 * width + min(0.5 * width, KERB_M)
    return mesh.is_wall_vertex[vertex] == 0


@inlined_kernel
def _leads_round(mesh, here, there, vertex, is_left, width, is_alike):
    """Return whether a body can go from polygon to polygon round a vertex; with `is_alike`, over ground that is everywhere like that of the first."""
    current = here
    for _ in range(MOST_ROUND):
        if current == there:
            return True
        edge = _edge_round(mesh, current, vertex, is_left)
        if mesh.edge_twin[edge] < 0 or mesh.edge_width[edge] < width:
            return False
        current = mesh.edge_polygon[mesh.edge_twin[edge]]
        for k in range(2):
            is_other = mesh.polygon_slope[current, k] != mesh.polygon_slope[here, k] or mesh.polygon_pace[current, k] != mesh.polygon_pace[here, k]
            if is_alike and is_other:
                return False
    return False


@inlined_kernel
def _is_wide_enough(mesh, portals, begin, end, width):
    """Return whether a body can go from each portal to the next one through the polygon between them."""
    for place in range(begin, end - 1):
        entry, leave = mesh.edge_twin[portals[place]], portals[place + 1]
        polygon = mesh.edge_polygon[entry]
        first = mesh.polygon_start[polygon]
        sides = mesh.polygon_start[polygon + 1] - first
        if mesh.pair_width[mesh.pair_start[polygon] + (entry - first) * sides + leave - first] < width:
            return False
    return True


@lean_kernel
def add_posts_beside(mesh, cells, start, length, polygon, posts, count, x, y, tx, ty, within, bends, found, parts, flood):
    """Add to the posts of a corridor the wall vertices beside the string of a point that are none of them.

    Parameters
    ----------
    mesh : NavMesh
    cells : (m,) int32
    start, length : int
        The corridor, see `lay_out_posts`.
    polygon : int
        Where the way begins.
    posts : (k,) int32
        Posts are put among those of the portals near which they stand, as far as there is room; none of them is met by a point.
    count : int
        Number of posts.
    x, y, tx, ty : float, m
        Begin and end of the string.
    within : float, m
        How far from the string to look: the string of a body is up to a radius aside of it, and keeps a radius from walls, so two radii are enough.
    bends : (k,) int32
        Bends of the string, from `pull_string`; moved along with their posts.
    found : int
        Number of bends.
    parts : int
        How many straight parts of the string to look along, from the begin on.
    flood : Flood

    Returns
    -------
    int
        Number of posts now.

    Notes
    -----
    A vertex is seen to where the string comes nearest to it, and stands on the side on which it is there. Vertices of other rooms may be added where the
    flood comes round the end of a wall: such a wall is nearer and keeps the string farther from them than a radius. Twin: `tests/reference/funnel.py`.
    """
    ox, oy, ax, ay = x, y, x, y
    for part in range(min(found + 1, parts)):
        bx, by = _bend_at(mesh, posts, bends, found, part, tx, ty)
        cx, cy = _bend_at(mesh, posts, bends, found, part + 1, tx, ty)
        flood.queue[0] = polygon if part == 0 else _polygon_behind(mesh, cells, start, length, posts, bends[part - 1])
        reached = _flood_along(mesh, ax, ay, bx, by, within, flood)
        for place in range(reached):
            current = flood.queue[place]
            for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
                vertex = mesh.edge_vertex[edge]
                if mesh.is_wall_vertex[vertex] != 1 or count >= posts.size:
                    continue
                px, py = mesh.vertex[vertex, 0], mesh.vertex[vertex, 1]
                apart = distance_to_segment(px, py, ax, ay, bx, by)
                if apart >= within or (part > 0 and distance_to_segment(px, py, ox, oy, ax, ay) <= apart):
                    continue
                if part < found and distance_to_segment(px, py, bx, by, cx, cy) < apart:
                    continue
                if flood.join[place] >= 0:
                    qx, qy = nearest_on_segment(px, py, ax, ay, bx, by)
                    if are_apart(mesh, flood.join[place], px, py, qx, qy):
                        continue
                low, high = bends[part - 1] if part > 0 else 0, bends[part] if part < found else count - 1
                if holds(posts, group_start(posts, low), group_end(posts, high, count), vertex):
                    continue
                is_left = orientation(ax, ay, bx, by, px, py) >= 0.0
                if part < found and (px - bx) * (bx - ax) + (py - by) * (by - ay) >= 0.0:
                    is_left = posts[bends[part]] < 0  # Nearest to the bend itself: outside of it, and the bend's post stands inside.
                at = _place_among(mesh, posts, low, high if part < found else count, px, py, ax, ay, bx, by, part < found)
                _insert(posts, count, at, vertex, is_left)
                count += 1
                for k in range(found):
                    if bends[k] >= at:
                        bends[k] += 1
        ox, oy, ax, ay = ax, ay, bx, by
    return count


@inlined_kernel
def _bend_at(mesh, posts, bends, found, i, tx, ty):
    """Return where bend i of the string of a point is; its end where there are no more."""
    if i >= found:
        return tx, ty
    vertex = bits_of(posts[bends[i]]) >> VERTEX
    return mesh.vertex[vertex, 0], mesh.vertex[vertex, 1]


@inlined_kernel
def _polygon_behind(mesh, cells, start, length, posts, bend):
    """Return the polygon behind the portal of the post at place `bend`."""
    portals = 0
    for place in range(bend + 1):
        if posts[place] >= 0 and posts[place] & BRUSH == 0:
            portals += 1  # A left post stands before the right one of its portal.
    return mesh.edge_polygon[mesh.edge_twin[cells[start + length - portals]]]


@lean_kernel
def _flood_along(mesh, ax, ay, bx, by, within, flood):
    """Flood the mesh from ``flood.queue[0]`` over portals that come within a distance of segment ab; return how many polygons were reached."""
    flood.serial[0] += 1
    serial = flood.serial[0]
    flood.stamp[flood.queue[0]] = serial
    flood.join[0] = NO_JOIN
    reached, done = 1, 0
    while done < reached:
        current, join = flood.queue[done], flood.join[done]
        done += 1
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            twin = mesh.edge_twin[edge]
            if twin < 0 or flood.stamp[mesh.edge_polygon[twin]] == serial:
                continue
            p, q = mesh.edge_vertex[edge], mesh.edge_end[edge]
            if is_before(mesh, join, p) and is_before(mesh, join, q):
                continue
            if segments_apart(ax, ay, bx, by, mesh.vertex[p, 0], mesh.vertex[p, 1], mesh.vertex[q, 0], mesh.vertex[q, 1]) < within:
                flood.stamp[mesh.edge_polygon[twin]] = serial
                flood.queue[reached], flood.join[reached] = mesh.edge_polygon[twin], join_over(mesh, edge, join)
                reached += 1
    return reached


@inlined_kernel
def _place_among(mesh, posts, low, high, px, py, ax, ay, bx, by, ends_at_bend):
    """Return where a vertex at p goes among the posts from `low` to before `high`: before the first portal that segment ab crosses farther on than p is."""
    dx, dy = bx - ax, by - ay
    along = (px - ax) * dx + (py - ay) * dy
    for place in range(low, high):
        post = posts[place]
        if post < 0 or post & BRUSH:
            continue
        left, right = post >> VERTEX, ~posts[place + 1] >> VERTEX
        lx, ly = mesh.vertex[left, 0], mesh.vertex[left, 1]
        wx, wy = mesh.vertex[right, 0] - lx, mesh.vertex[right, 1] - ly
        across = dx * wy - dy * wx
        if across != 0.0 and ((lx - ax) * wy - (ly - ay) * wx) / across * (dx * dx + dy * dy) >= along:
            return place
    return high - 1 if ends_at_bend and posts[high] < 0 else high


@inlined_kernel
def _insert(posts, count, at, vertex, is_left):
    """Put a vertex before the post at place `at`, into its group."""
    first = 0
    for place in range(count, at, -1):
        posts[place] = posts[place - 1]
    if at < count and bits_of(posts[at + 1]) & FIRST:
        first = FIRST
        posts[at + 1] = posts[at + 1] & ~FIRST if posts[at + 1] >= 0 else ~(~posts[at + 1] & ~FIRST)
    bits = np.int32(8 * vertex + BRUSH + first)
    posts[at] = bits if is_left else ~bits
