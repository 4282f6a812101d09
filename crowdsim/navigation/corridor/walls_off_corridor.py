"""Walls that belong to no polygon of a corridor, and yet keep an agent's string off.

Where all vertices of a mesh are ends of walls, every gap is an edge, and whatever wall an agent can touch
ends at a vertex of its corridor. Vertices in the middle of free ground change that: those on lines of tiles,
on borders of terrain, in meshes of surfaces. An edge between two of them is no gap, and a wall that stands
behind it has a vertex of no polygon on this side. So such walls are looked for along the string itself, by a
flood over portals.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.plane import (
    are_beyond,
    distance_to_segment,
    is_beyond,
    nearest_on_segment,
    orientation,
    segments_apart,
)
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.corridor.portal_vertices import (
    BRUSH,
    EITHER,
    FIRST,
    KERB_M,
    SEAM,
    VERTEX,
    bits_of,
    group_end,
    group_start,
    has_vertex,
    vertex_of,
)
from crowdsim.navigation.mesh.floor_seams import NO_SEAM, are_apart, is_before, part_before, seam_over
from crowdsim.navigation.mesh.mesh import KERB, flood_into, was_reached, width_between

# Of taking bends at free vertices out of a string. It is straight after two or three, or after one for each
# vertex along a line of tiles.
MOST_ROUNDS = 64
MOST_ROUND = 64  # Polygons round one vertex.
NO_FLOOR = -1


@lean_kernel
def straighten_corridor(mesh, corridor, vertices, bends, found, width, out, at):
    """Lead a corridor past free vertices on their other side where its string bends round them.

    Parameters
    ----------
    mesh : NavMesh
    corridor : Corridor
    vertices : (k,) int32
    bends : (k,) int32
        Bends of the string, from `pull_string`.
    found : int
        Number of bends.
    width : float, m
        Diameter of the agent; no corridor is led over portals that are narrower.
    out : (k,) int32
        Receives the new corridor from ``out[at]`` on.
    at : int

    Returns
    -------
    int
        Portals of the new corridor; -1 if none has changed, or `out` is too small.

    Notes
    -----
    The ground goes on all round a free vertex, so a path may pass it on either side, and the string that
    bends round it is longer than the one past its other side. Vertices at which the ground changes its slope
    or speed are left alone where the agent fits through: which side is better there, the search knows.
    """
    portals, start, length = corridor.portals, corridor.start, corridor.length
    portal, bend, end, has_changed, here = 0, 0, at, False, corridor.polygon
    while portal < length:
        edge = portals[start + length - 1 - portal]
        while bend < found and not _may_be_passed_otherwise(mesh, vertex_of(vertices[bends[bend]]), width):
            bend += 1
        if bend < found:
            is_left = vertices[bends[bend]] >= 0
            vertex = vertex_of(vertices[bends[bend]])
            is_alike = mesh.is_wall_vertex[vertex] == 0 and 2.0 * mesh.vertex_clearance[vertex] >= width
            if vertex == (mesh.edge_end[edge] if is_left else mesh.edge_vertex[edge]):
                bend += 1
                last = portal
                while last + 1 < length:
                    edge = portals[start + length - 2 - last]
                    if vertex != (mesh.edge_end[edge] if is_left else mesh.edge_vertex[edge]):
                        break
                    last += 1
                there = mesh.edge_polygon[mesh.edge_twin[portals[start + length - 1 - last]]]
                if _leads_round(mesh, here, there, vertex, not is_left, width, is_alike):
                    while here != there:
                        if end >= out.size:
                            return -1
                        edge = _edge_round(mesh, here, vertex, not is_left)
                        end = _put(mesh, out, at, end, edge)
                        here = mesh.edge_polygon[mesh.edge_twin[edge]]
                    has_changed, portal = True, last + 1
                    continue
                edge = portals[start + length - 1 - portal]
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
    """Write a portal behind those from `begin` to before `end`;
    going back through the last one takes both away. Return the new end.
    """
    if end > begin and mesh.edge_twin[edge] == out[end - 1]:
        return end - 1
    out[end] = edge
    return end + 1


@inlined_kernel
def _edge_round(mesh, polygon, vertex, is_left):
    """Return the half-edge over which one leaves a polygon with one of its vertices on the left,
    or on the right.
    """
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        if (mesh.edge_end[edge] if is_left else mesh.edge_vertex[edge]) == vertex:
            return edge
    return mesh.polygon_start[polygon]


@inlined_kernel
def _may_be_passed_otherwise(mesh, vertex, width):
    """Return whether a bend may go over to the other side of its vertex:
    in free ground, and on a kerb where walls leave no space for the agent.
    """
    if mesh.is_wall_vertex[vertex] == KERB:
        return mesh.vertex_clearance[vertex] < 0.5 * width + min(0.5 * width, KERB_M)
    return mesh.is_wall_vertex[vertex] == 0


@inlined_kernel
def _leads_round(mesh, here, there, vertex, is_left, width, is_alike):
    """Return whether an agent can go from polygon to polygon round a vertex;
    with `is_alike`, over ground that is everywhere like that of the first.

    Between walls it has to fit; edges to free vertices are too narrow for searches that would lead over a
    point of them, and a string that passes such a vertex on either side is the same.
    """
    current = here
    for _ in range(MOST_ROUND):
        if current == there:
            return True
        edge = _edge_round(mesh, current, vertex, is_left)
        is_gap = mesh.is_wall_vertex[mesh.edge_vertex[edge]] == 1 == mesh.is_wall_vertex[mesh.edge_end[edge]]
        if mesh.edge_twin[edge] < 0 or (is_gap and mesh.edge_width[edge] < width):
            return False
        current = mesh.edge_polygon[mesh.edge_twin[edge]]
        for k in range(2):
            is_other = (
                mesh.polygon_slope[current, k] != mesh.polygon_slope[here, k]
                or mesh.polygon_pace[current, k] != mesh.polygon_pace[here, k]
            )
            if is_alike and is_other:
                return False
    return False


@inlined_kernel
def _is_wide_enough(mesh, portals, begin, end, width):
    """Return whether an agent can go from each portal to the next one through the polygon between them."""
    for place in range(begin, end - 1):
        entry = mesh.edge_twin[portals[place]]
        if width_between(mesh, mesh.edge_polygon[entry], entry, portals[place + 1]) < width:
            return False
    return True


@lean_kernel
def add_vertices_along_string(mesh, corridor, string, found, within, parts, flood):
    """Add to the vertices of a corridor the wall vertices beside the string of a point that are none of them.

    Parameters
    ----------
    mesh : NavMesh
    corridor : Corridor
    string : String
        Vertices are put among those of the portals near which they stand, as far as there is room; none of
        them is met by a point. Bends move along with their vertices.
    found : int
        Number of bends.
    within : float, m
        How far from the string to look: the string of an agent is up to a radius aside of it, and keeps a
        radius from walls, so two radii are enough.
    parts : int
        How many straight parts of the string to look along, from the begin on.
    flood : Flood

    Returns
    -------
    int
        Number of vertices now.

    Notes
    -----
    A vertex is seen to where the string comes nearest to it, and stands on the side on which it is there.
    Vertices behind a wall may be added where the flood comes round its end: such a wall is nearer and keeps
    the string farther from them than a radius. A part of the string that leads to another floor is looked
    along leg by leg, on each floor by itself: what stands beside the line in plan may be above or below it.
    Twin: `tests/reference/funnel.py`.
    """
    vertices, bends, count = string.vertices, string.bends, string.vertex_count
    ox, oy, ax, ay = string.x, string.y, string.x, string.y
    for part in range(min(found + 1, parts)):
        bx, by = _bend_at(mesh, string, found, part)
        cx, cy = _bend_at(mesh, string, found, part + 1)
        polygon = (
            corridor.polygon if part == 0 else _polygon_behind(mesh, corridor, vertices, bends[part - 1])
        )
        first = _place_behind(vertices, bends[part - 1]) if part > 0 else 0
        floor_before, px, py = NO_FLOOR, ax, ay
        has_before = part > 0
        while True:
            last = bends[part] if part < found else count
            seam = next_seam(vertices, first, last)
            qx, qy = bx, by
            floor_beyond = NO_FLOOR
            if seam >= 0:
                qx, qy = crossing_of(mesh, vertices, seam, px, py, bx, by)
                floor_beyond = mesh.polygon_layer[_polygon_behind(mesh, corridor, vertices, seam - 1)]
            is_last = part < found and seam < 0
            if is_last:  # of the next part the leg that is on this floor
                behind = next_seam(
                    vertices, _place_behind(vertices, last), bends[part + 1] if part + 1 < found else count
                )
                if behind >= 0:
                    cx, cy = crossing_of(mesh, vertices, behind, bx, by, cx, cy)
            for place in range(_flood_along(mesh, polygon, px, py, qx, qy, within, flood)):
                current = flood.queue[place]
                layer = mesh.polygon_layer[current]
                if layer != mesh.polygon_layer[polygon] and (layer == floor_before or layer == floor_beyond):
                    continue
                for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
                    vertex = mesh.edge_vertex[edge]
                    if mesh.is_wall_vertex[vertex] != 1 or count >= vertices.size:
                        continue
                    x, y = mesh.vertex[vertex, 0], mesh.vertex[vertex, 1]
                    apart = distance_to_segment(x, y, px, py, qx, qy)
                    if apart >= within or (has_before and distance_to_segment(x, y, ox, oy, px, py) <= apart):
                        continue
                    if is_last and distance_to_segment(x, y, bx, by, cx, cy) < apart:
                        continue
                    if _is_out_of_reach(mesh, flood.seam[place], x, y, px, py, qx, qy):
                        continue
                    low, high = bends[part - 1] if part > 0 else 0, bends[part] if part < found else count - 1
                    if has_vertex(
                        vertices, group_start(vertices, low), group_end(vertices, high, count), vertex
                    ):
                        continue
                    is_left = _stands_left(mesh, polygon, ax, ay, bx, by, x, y)
                    if is_last and (x - bx) * (bx - ax) + (y - by) * (by - ay) >= 0.0:
                        # Nearest to the bend itself: outside of it, and the bend's vertex stands inside.
                        is_left = vertices[bends[part]] < 0
                    end = seam - 1 if seam >= 0 else high if part < found else count
                    at = _place_among(
                        mesh,
                        vertices,
                        low if floor_before == NO_FLOOR else first,
                        end,
                        x,
                        y,
                        px,
                        py,
                        qx,
                        qy,
                        is_last,
                    )
                    _insert(vertices, count, at, vertex, is_left)
                    count += 1
                    if seam >= 0:
                        seam += 1
                    for k in range(found):
                        if bends[k] >= at:
                            bends[k] += 1
            if seam < 0:
                break
            floor_before, polygon = (
                mesh.polygon_layer[polygon],
                _polygon_behind(mesh, corridor, vertices, seam - 1),
            )
            has_before, first, px, py = False, seam + 1, qx, qy
        ox, oy, ax, ay = px, py, bx, by
    return count


@lean_kernel
def add_vertices_off_corridor(mesh, polygon, ax, ay, bx, by, radius, vertices, first, last, count, flood):
    """Append the wall vertices that an agent brushes as it goes from a to b though they are beside the
    corridor; return the new count.

    A path is a radius away from such vertices by itself, except where it begins or ends nearer than that to
    the edge behind which they stand. The flood begins at `polygon`; vertices among ``vertices[first:last]``
    are known. The line is that of a point, and an agent passes within a radius of it.
    """
    known = count
    for place in range(1, _flood_along(mesh, polygon, ax, ay, bx, by, 2.0 * radius, flood)):
        current = flood.queue[place]
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            vertex = mesh.edge_vertex[edge]
            if mesh.is_wall_vertex[vertex] != 1 or count >= vertices.size:
                continue
            px, py = mesh.vertex[vertex, 0], mesh.vertex[vertex, 1]
            if (
                is_beyond(px, py, ax, ay, bx, by, 2.0 * radius)
                or distance_to_segment(px, py, ax, ay, bx, by) >= 2.0 * radius
                or _is_out_of_reach(mesh, flood.seam[place], px, py, ax, ay, bx, by)
            ):
                continue
            if not (has_vertex(vertices, first, last, vertex) or has_vertex(vertices, known, count, vertex)):
                vertices[count] = 8 * vertex + BRUSH + EITHER + (FIRST if count == known else 0)
                count += 1
    return count


@inlined_kernel
def _stands_left(mesh, polygon, ax, ay, bx, by, x, y):
    """Return whether a vertex is to the left of segment ab, which begins in a polygon.

    One that is on its line is at a wall along which the segment leads, and stands on the other side than the
    polygon, whichever side of the wall it was seen from.
    """
    turn = orientation(ax, ay, bx, by, x, y)
    if turn != 0.0:
        return turn > 0.0
    middle = 0.0
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        corner = mesh.edge_vertex[edge]
        middle += orientation(ax, ay, bx, by, mesh.vertex[corner, 0], mesh.vertex[corner, 1])
    return middle <= 0.0


@inlined_kernel
def _place_behind(vertices, bend):
    """Return the place behind the portal of the vertex at place `bend`."""
    return bend + 2 if vertices[bend] >= 0 else bend + 1


@inlined_kernel
def next_seam(vertices, first, last):
    """Return the place of the right vertex of the first portal to another floor among
    ``vertices[first:last]``; -1 if there is none.
    """
    for place in range(first, last):
        code = vertices[place]
        if code < 0 and bits_of(code) & (BRUSH | SEAM) == SEAM:
            return place
    return -1


@inlined_kernel
def crossing_of(mesh, vertices, seam, ax, ay, bx, by):
    """Return where the line from a to b crosses the portal whose right vertex is at place `seam`;
    its end that is nearer where it does not, by rounding.
    """
    right, left = vertex_of(vertices[seam]), vertex_of(vertices[seam - 1])
    rx, ry, lx, ly = mesh.vertex[right, 0], mesh.vertex[right, 1], mesh.vertex[left, 0], mesh.vertex[left, 1]
    before, beyond = orientation(rx, ry, lx, ly, ax, ay), orientation(rx, ry, lx, ly, bx, by)
    share = 0.0 if before <= 0.0 else 1.0 if beyond >= 0.0 else before / (before - beyond)
    return ax + share * (bx - ax), ay + share * (by - ay)


@inlined_kernel
def _is_out_of_reach(mesh, seam, px, py, ax, ay, bx, by):
    """Return whether p is above or below the place where segment ab comes nearest to it in plan."""
    if seam < 0:
        return False
    qx, qy = nearest_on_segment(px, py, ax, ay, bx, by)
    return are_apart(mesh, seam, px, py, qx, qy)


@inlined_kernel
def _bend_at(mesh, string, found, i):
    """Return where bend i of the string of a point is; its end where there are no more."""
    if i >= found:
        return string.tx, string.ty
    vertex = vertex_of(string.vertices[string.bends[i]])
    return mesh.vertex[vertex, 0], mesh.vertex[vertex, 1]


@inlined_kernel
def _polygon_behind(mesh, corridor, vertices, bend):
    """Return the polygon behind the portal of the vertex at place `bend`."""
    passed = 0
    for place in range(bend + 1):
        if vertices[place] >= 0 and vertices[place] & BRUSH == 0:
            passed += 1  # A left vertex stands before the right one of its portal.
    return mesh.edge_polygon[mesh.edge_twin[corridor.portals[corridor.start + corridor.length - passed]]]


@lean_kernel
def _flood_along(mesh, polygon, ax, ay, bx, by, within, flood):
    """Flood the mesh from a polygon over portals that come within a distance of segment ab, on another floor
    of the part of it that is before the seam; return how many polygons were reached.
    """
    reached, done = flood_into(polygon, 0, flood), 0
    flood.seam[0] = NO_SEAM
    while done < reached:
        current, seam = flood.queue[done], flood.seam[done]
        done += 1
        sx, sy, tx, ty, is_there = part_before(mesh, seam, ax, ay, bx, by)
        if not is_there:
            continue
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            twin = mesh.edge_twin[edge]
            if twin < 0 or was_reached(mesh.edge_polygon[twin], reached, flood):
                continue
            p, q = mesh.edge_vertex[edge], mesh.edge_end[edge]
            px, py, qx, qy = mesh.vertex[p, 0], mesh.vertex[p, 1], mesh.vertex[q, 0], mesh.vertex[q, 1]
            if are_beyond(sx, sy, tx, ty, px, py, qx, qy, within) or (
                is_before(mesh, seam, p) and is_before(mesh, seam, q)
            ):
                continue
            if segments_apart(sx, sy, tx, ty, px, py, qx, qy) < within:
                flood.seam[reached] = seam_over(mesh, edge, seam)
                reached = flood_into(mesh.edge_polygon[twin], reached, flood)
    return reached


@inlined_kernel
def _place_among(mesh, vertices, low, high, px, py, ax, ay, bx, by, ends_at_bend):
    """Return where a vertex at p goes among the vertices from `low` to before `high`:
    before the first portal that segment ab crosses farther on than p is.
    """
    dx, dy = bx - ax, by - ay
    along = (px - ax) * dx + (py - ay) * dy
    for place in range(low, high):
        code = vertices[place]
        if code < 0 or code & BRUSH:
            continue
        left, right = code >> VERTEX, ~vertices[place + 1] >> VERTEX
        lx, ly = mesh.vertex[left, 0], mesh.vertex[left, 1]
        wx, wy = mesh.vertex[right, 0] - lx, mesh.vertex[right, 1] - ly
        across = dx * wy - dy * wx
        if across != 0.0 and ((lx - ax) * wy - (ly - ay) * wx) / across * (dx * dx + dy * dy) >= along:
            return place
    return high - 1 if ends_at_bend and vertices[high] < 0 else high


@inlined_kernel
def _insert(vertices, count, at, vertex, is_left):
    """Put a vertex before the vertex at place `at`, into its group."""
    first = 0
    for place in range(count, at, -1):
        vertices[place] = vertices[place - 1]
    if at < count and bits_of(vertices[at + 1]) & FIRST:
        first = FIRST
        vertices[at + 1] = (
            vertices[at + 1] & ~FIRST if vertices[at + 1] >= 0 else ~(~vertices[at + 1] & ~FIRST)
        )
    bits = np.int32(8 * vertex + BRUSH + first)
    vertices[at] = bits if is_left else ~bits
