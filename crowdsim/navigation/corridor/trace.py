"""Paths cut into the parts that lie in one polygon each:
for lengths over ground that is not even, and for pictures of floors.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import arc_tangent, orientation
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
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
from crowdsim.navigation.mesh.mesh import MOST_CROSSINGS, Flood, find_exit, make_flood

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
    if radius > 0.0 and mesh.vertex_clearance.size > 0 and _leads_to_another_floor(mesh, corridor):
        floor = mesh.polygon_layer[goals.piece_polygon[corridor.piece]]
        parts = walk_string(mesh, corridor.polygon, floor, string, found, radius, tracing)
        if parts > 0:
            return parts
    return trace_string(mesh, corridor, string, found, radius, tracing)


@inlined_kernel
def _leads_to_another_floor(mesh, corridor):
    """Return whether a corridor leads over a seam."""
    seam = NO_SEAM
    for number in range(corridor.length):
        seam = seam_over(mesh, corridor.portals[corridor.start + number], seam)
    return seam >= 0


@lean_kernel
def walk_string(mesh, polygon, floor, string, found, radius, tracing):
    """Cut a string where it goes from polygon to polygon.

    Parameters
    ----------
    mesh : NavMesh
    polygon : int
        Where it begins.
    floor : int
        Where it has to end.
    string : String
    found : int
    radius : float, m
        Above 0.
    tracing : Tracing
        See `trace_string`.

    Returns
    -------
    int
        Number of parts; -1 if it goes into a wall, ends on another floor, or has more parts than `tracing`
        takes.

    Notes
    -----
    The string of an agent passes the ends of portals in free ground on their other side, so the portals of
    its corridor cannot say when it comes to another floor. It is off the walls, so the line itself can.
    """
    points, place = tracing.points, tracing.place
    place[0, 0], place[0, 1] = points[0, 0], points[0, 1]
    count, current = 0, np.int64(polygon)
    for line in range(2 * found + 1):
        chords, cosine, sine, longer, _, cx, cy, vx, vy = _arc_of(mesh, string, line, radius, points)
        for chord in range(chords):
            tx, ty = points[line + 1, 0], points[line + 1, 1]
            if chord < chords - 1:
                vx, vy = cosine * vx - sine * vy, sine * vx + cosine * vy
                tx, ty = cx + vx, cy + vy
            is_there = False
            for _ in range(MOST_CROSSINGS):
                edge, share = find_exit(mesh, current, place[count, 0], place[count, 1], tx, ty)
                if edge < 0:
                    share = 1.0
                if share > 0.0:
                    if count + 1 >= tracing.over.size:
                        return -1
                    x, y = place[count, 0], place[count, 1]
                    tracing.over[count], tracing.stretch[count] = current, longer
                    count += 1
                    place[count, 0], place[count, 1] = (
                        (x + share * (tx - x), y + share * (ty - y)) if share < 1.0 else (tx, ty)
                    )
                if share >= 1.0:
                    is_there = True
                    break
                if mesh.edge_twin[edge] < 0:
                    return -1
                current = np.int64(mesh.edge_polygon[mesh.edge_twin[edge]])
            if not is_there:
                return -1
    return count if mesh.polygon_layer[current] == floor else -1


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
    back round the end of a wall, floors may lie above each other. See `walk_string` for those that can.
    Twin: `tests/reference/heights.py`.
    """
    vertices, bends, points, place = string.vertices, string.bends, tracing.points, tracing.place
    portals, start, length, polygon = corridor.portals, corridor.start, corridor.length, corridor.polygon
    place[0, 0], place[0, 1] = points[0, 0], points[0, 1]
    count, portal, known, passed = 0, 0, 0, 0
    for line in range(2 * found + 1):
        chords, cosine, sine, longer, side, cx, cy, vx, vy = _arc_of(mesh, string, line, radius, points)
        for chord in range(chords):
            tx, ty = points[line + 1, 0], points[line + 1, 1]
            if chord < chords - 1:
                vx, vy = cosine * vx - sine * vy, sine * vx + cosine * vy
                tx, ty = cx + vx, cy + vy
            while True:
                x, y = place[count, 0], place[count, 1]
                share = 1.0
                if portal < length:
                    share = _share_before(mesh, portals[start + length - 1 - portal], x, y, tx, ty)
                if share > 0.0:
                    tracing.over[count], tracing.stretch[count] = polygon, longer
                    count += 1
                    place[count, 0], place[count, 1] = (
                        (x + share * (tx - x), y + share * (ty - y)) if share < 1.0 else (tx, ty)
                    )
                if share >= 1.0:
                    break
                polygon = mesh.edge_polygon[mesh.edge_twin[portals[start + length - 1 - portal]]]
                portal += 1
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


@inlined_kernel
def _arc_of(mesh, string, line, radius, points):
    """Return what line of a string is: into how many chords it is cut, cosine and sine of one, its arc over
    its chord, the side of its disc, the middle of that, and the way from there to its begin.

    Every other one is the arc round a bend; the others are straight, one chord without a disc.
    """
    if line % 2 == 0:
        return 1, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0
    cx, cy, side = vertex_disc(mesh, string.vertices[string.bends[line // 2]], radius)
    vx, vy = points[line, 0] - cx, points[line, 1] - cy
    chords, cosine, sine, longer = _halve(vx, vy, points[line + 1, 0] - cx, points[line + 1, 1] - cy)
    return chords, cosine, sine if side > 0.0 else -sine, longer, side, cx, cy, vx, vy


@lean_kernel
def _share_before(mesh, edge, x, y, tx, ty):
    """Return how much of a line lies before that through a portal (0..1)."""
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    px, py, qx, qy = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
    before, beyond = orientation(px, py, qx, qy, x, y), orientation(px, py, qx, qy, tx, ty)
    wx, wy = qx - px, qy - py
    rim = IN_LINE_M * hypot(wx, wy)
    if max(abs(before), abs(beyond)) <= rim:
        return _share_along(
            wx * (x - px) + wy * (y - py), wx * (tx - px) + wy * (ty - py), wx * wx + wy * wy, rim
        )
    if beyond >= 0.0:
        return 1.0
    return max(0.0, before) / (max(0.0, before) - beyond)


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
    scale = hypot(ax, ay) * hypot(bx, by)
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
