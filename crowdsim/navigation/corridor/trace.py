"""Paths cut into the parts that lie in one polygon each:
for lengths over ground that is not even, and for pictures of floors.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.plane import arc_tangent, orientation
from crowdsim.kernels.decorator import kernel, lean_kernel
from crowdsim.navigation.corridor.corridors import Corridor
from crowdsim.navigation.corridor.funnel import find_bends, lay_string, pull_straight
from crowdsim.navigation.corridor.portal_vertices import (
    BRUSH,
    String,
    list_portal_vertices,
    vertex_disc,
    vertex_of,
)
from crowdsim.navigation.mesh.floor_seams import IN_LINE_M, NO_SEAM, seam_over
from crowdsim.navigation.mesh.mesh import Flood, make_flood

# Most chords of an arc: half a turn, or less, is halved until chords span at most 22.5 degrees. Their middles
# are 2 % of the radius off.
CHORDS = 8
_COSINE = 0.92387953251128674  # Of 22.5 degrees.


class Tracing(NamedTuple):
    """Scratch of `trace_path`, made by `make_tracing`; and what it finds.

    Attributes
    ----------
    vertices, bends, straight : (m,) int32
    points : (2 m + 2, 2) float64
    flood : Flood
    place : (k + 1, 2) float64, m
        Where the parts of the path begin, and where the last one ends.
    over : (k,) int64
        The polygon that each part leads over.
    stretch : (k,) float64
        How many times as long as its part, a chord, the path is.
    """

    vertices: NDArray[np.int32]
    bends: NDArray[np.int32]
    straight: NDArray[np.int32]
    points: NDArray[np.float64]
    flood: Flood
    place: NDArray[np.float64]
    over: NDArray[np.int64]
    stretch: NDArray[np.float64]


@kernel
def make_tracing(vertices, polygons):
    """Return scratch for `trace_path`.

    Parameters
    ----------
    vertices : int
        Most vertices of a corridor.
    polygons : int
        Of the mesh.
    """
    parts = 4 * vertices
    return Tracing(
        np.empty(vertices, dtype=np.int32),
        np.empty(vertices, dtype=np.int32),
        np.empty(vertices, dtype=np.int32),
        np.empty((2 * vertices + 2, 2)),
        make_flood(polygons),
        np.empty((parts + 1, 2)),
        np.empty(parts, dtype=np.int64),
        np.empty(parts),
    )


@lean_kernel
def trace_path(mesh, goals, corridor, x, y, radius, tracing):
    """Trace the shortest path through a corridor, corners rounded at the radius.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    corridor : Corridor
    x, y : float, m
        Where the path begins.
    radius : float, m
    tracing : Tracing
        Written.

    Returns
    -------
    int
        Number of parts; -1 if they are more than `tracing` takes.
    """
    vertices, bends, straight, flood = tracing.vertices, tracing.bends, tracing.straight, tracing.flood
    count, laid = list_portal_vertices(mesh, corridor, corridor.length + 1, vertices)
    if laid <= corridor.length:
        return -1
    if mesh.vertex_clearance.size > 0:
        begin, size = pull_straight(mesh, goals, corridor, vertices, count, x, y, radius, bends, flood)[4:]
        if begin >= 0:
            for k in range(size):
                straight[k] = bends[begin + k]
            corridor = Corridor(straight, np.int64(0), size, corridor.polygon, corridor.piece)
        count, _ = list_portal_vertices(mesh, corridor, corridor.length + 1, vertices)
    found, tx, ty = find_bends(mesh, goals, corridor, vertices, count, x, y, radius, bends, flood)
    string = String(vertices, count, bends, x, y, tx, ty)
    lay_string(mesh, string, found, radius, tracing.points)
    if corridor.length + 1 + (CHORDS + 1) * found > tracing.over.size:
        return -1
    return trace_string(mesh, corridor, string, found, radius, tracing)


@lean_kernel
def trace_string(mesh, corridor, string, found, radius, tracing):
    """Cut a string at the portals of its corridor.

    Parameters
    ----------
    mesh : NavMesh
    corridor : Corridor
    string : String
        Past the vertices of the whole corridor.
    found : int
        Number of its bends, see `find_bends`.
    radius : float, m
    tracing : Tracing
        Its points are those of `lay_string`; `place`, `over` and `stretch` are written.

    Returns
    -------
    int
        Number of parts, at most ``length + 1 + (CHORDS + 1) * found``.

    Notes
    -----
    The portals say which polygon comes next. The line itself could not: it touches walls, and where it goes
    back round the end of a wall, floors may lie above each other. Twin: `tests/reference/heights.py`.
    """
    vertices, bends, points, place = string.vertices, string.bends, tracing.points, tracing.place
    portals, start, length, polygon = corridor.portals, corridor.start, corridor.length, corridor.polygon
    place[0, 0], place[0, 1] = points[0, 0], points[0, 1]
    count, portal, known, passed, seam = 0, 0, 0, 0, NO_SEAM
    for number in range(length if mesh.vertex_clearance.size > 0 else 0):
        seam = seam_over(mesh, portals[start + number], seam)
    for line in range(2 * found + 1):
        chords, cosine, sine, longer, side = 1, 1.0, 0.0, 1.0, 0.0
        cx = cy = vx = vy = 0.0
        if line % 2 == 1:
            cx, cy, side = vertex_disc(mesh, vertices[bends[line // 2]], radius)
            vx, vy = points[line, 0] - cx, points[line, 1] - cy
            chords, cosine, sine, longer = _halve(vx, vy, points[line + 1, 0] - cx, points[line + 1, 1] - cy)
            sine = sine if side > 0.0 else -sine
        for chord in range(chords):
            tx, ty = points[line + 1, 0], points[line + 1, 1]
            if chord < chords - 1:
                vx, vy = cosine * vx - sine * vy, sine * vx + cosine * vy
                tx, ty = cx + vx, cy + vy
            while True:
                x, y = place[count, 0], place[count, 1]
                share, behind = 1.0, portal + 1
                if portal < length:
                    share = _share_before(mesh, portals[start + length - 1 - portal], x, y, tx, ty)
                    if mesh.vertex_clearance.size > 0:
                        share, behind = _share_before_vertex(
                            mesh, corridor, portal, x, y, tx, ty, share, seam >= 0
                        )
                if share > 0.0:
                    tracing.over[count], tracing.stretch[count] = polygon, longer
                    count += 1
                    place[count, 0], place[count, 1] = (
                        (x + share * (tx - x), y + share * (ty - y)) if share < 1.0 else (tx, ty)
                    )
                if share >= 1.0:
                    break
                polygon = mesh.edge_polygon[mesh.edge_twin[portals[start + length - behind]]]
                portal = behind
        if line % 2 == 1:
            while known <= bends[line // 2]:
                passed += vertices[known] >= 0 and vertices[known] & BRUSH == 0
                known += 1
            # Where a string touches the very corner it may go on along the lines of the portals that end
            # there; round a kerb it may pass beside them.
            is_wall = mesh.is_wall_vertex[vertex_of(vertices[bends[line // 2]])] == 1
            while (side == 0.0 or not is_wall) and portal < passed:
                polygon = mesh.edge_polygon[mesh.edge_twin[portals[start + length - 1 - portal]]]
                portal += 1
    return count


@lean_kernel
def _share_before(mesh, edge, x, y, tx, ty):
    """Return how much of a line lies before that through a portal (0..1)."""
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    px, py, qx, qy = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
    before, beyond = orientation(px, py, qx, qy, x, y), orientation(px, py, qx, qy, tx, ty)
    wx, wy = qx - px, qy - py
    rim = IN_LINE_M * np.hypot(wx, wy)
    if max(abs(before), abs(beyond)) <= rim:
        return _share_along(
            wx * (x - px) + wy * (y - py), wx * (tx - px) + wy * (ty - py), wx * wx + wy * wy, rim
        )
    if beyond >= 0.0:
        return 1.0
    return max(0.0, before) / (max(0.0, before) - beyond)


@lean_kernel
def _share_before_vertex(mesh, corridor, portal, x, y, tx, ty, share, leads_on):
    """Return how much of a line lies before it passes the portals of a corridor that it comes to next, from
    `portal` on, and which is the first behind these.

    That is how much lies before this one, `share`, unless the line passes an end of it on its other side:
    where that is no end of a wall, an agent does so. It has passed all portals that end there where it
    crosses the line of the last of them beyond that end; to another floor it goes over the line of the seam
    alone. It matters where the line does not come to this
    portal at all, and where the corridor leads on to another floor.
    """
    first = corridor.start + corridor.length - 1
    edge, behind, dx, dy = corridor.portals[first - portal], portal + 1, tx - x, ty - y
    if not (leads_on or share >= 1.0):
        return share, behind
    for is_left in (True, False):
        vertex = mesh.edge_end[edge] if is_left else mesh.edge_vertex[edge]
        vx, vy = mesh.vertex[vertex, 0], mesh.vertex[vertex, 1]
        aside = dx * (vy - y) - dy * (vx - x) if is_left else dy * (vx - x) - dx * (vy - y)
        if mesh.is_wall_vertex[vertex] == 1 or aside >= -IN_LINE_M * np.hypot(dx, dy):
            continue
        last = portal
        while last + 1 < corridor.length and seam_over(mesh, corridor.portals[first - last], NO_SEAM) < 0:
            other = corridor.portals[first - last - 1]
            if vertex != (mesh.edge_end[other] if is_left else mesh.edge_vertex[other]):
                break
            last += 1
        if last > portal and seam_over(mesh, corridor.portals[first - last], NO_SEAM) >= 0:
            last -= 1
        if last == portal:
            continue
        other = corridor.portals[first - last]
        before = _share_before(mesh, other, x, y, tx, ty)
        far = mesh.edge_vertex[other] if is_left else mesh.edge_end[other]
        wx, wy = vx - mesh.vertex[far, 0], vy - mesh.vertex[far, 1]
        if before < share and wx * (x + before * dx - vx) + wy * (y + before * dy - vy) >= 0.0:
            share, behind = before, last + 1
    return share, behind


@lean_kernel
def _share_along(here, there, whole, rim):
    """Return how much of a line along a portal lies before it comes to the end of the portal (0..1)."""
    if there > whole + rim:
        return min(1.0, max(0.0, whole - here) / (there - here)) if there > here else 1.0
    if there < -rim:
        return min(1.0, max(0.0, here) / (here - there)) if here > there else 1.0
    return 1.0


@lean_kernel
def _halve(ax, ay, bx, by):
    """Halve the angle between two vectors of one length until it is small.

    Returns into how many, the cosine and the sine of one, and its arc over its chord. Roots are rounded alike
    by all machines; cosines are not.
    """
    scale = np.hypot(ax, ay) * np.hypot(bx, by)
    if scale <= 0.0:
        return 1, 1.0, 0.0, 1.0
    cosine, sine, parts = (ax * bx + ay * by) / scale, abs(ax * by - ay * bx) / scale, 1
    while cosine < _COSINE and parts < CHORDS:
        cosine, sine, parts = (
            np.sqrt(0.5 * (1.0 + max(-1.0, cosine))),
            np.sqrt(0.5 * (1.0 - max(-1.0, cosine))),
            2 * parts,
        )
    tangent = sine / (1.0 + cosine)  # of half the angle, whose sine is half the chord
    return (
        parts,
        cosine,
        sine,
        arc_tangent(tangent) * np.sqrt(1.0 + tangent * tangent) / tangent if tangent > 1e-9 else 1.0,
    )
