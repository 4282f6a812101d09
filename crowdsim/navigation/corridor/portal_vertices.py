"""The portal vertices of a corridor: those that a path passes, each on its left or on its right,
in the order of the portals.

Most are ends of portals. The others, of the polygons between, are never met by a point, but an agent may
*brush* them. Each is a number, its *code*: the vertex, the side on which it is, and flags.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import are_beyond, orientation, segments_apart
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.mesh.floor_seams import IN_LINE_M

BRUSH, EITHER, FIRST = 1, 2, 4  # Flags of a code, see `list_portal_vertices`.
# The flag of the right vertex of a portal between two floors; which side a portal's vertices are on is never
# open.
SEAM = EITHER
FLAGS, VERTEX = 7, 3  # Mask of the flags, and how many bits of a code they take.
# Agents keep so far inside of fast ground where they walk along slow ground; a lone walker strays by less,
# the path gets longer by little.
KERB_M = 0.05
# How much farther than a radius a portal may be from a part of the path for its vertices to be looked at;
# they need not press.
BESIDE_M = 1e-6


class String(NamedTuple):
    """A path through a corridor, from (x, y) to (tx, ty), taut past portal vertices.

    Attributes
    ----------
    vertices : (k,) int32
        See `list_portal_vertices`.
    vertex_count : int
    bends : (m,) int32
        Places of the vertices that it bends round, in order.
    x, y, tx, ty : float, m
    """

    vertices: NDArray[np.int32]
    vertex_count: int
    bends: NDArray[np.int32]
    x: float
    y: float
    tx: float
    ty: float


@inlined_kernel
def list_portal_vertices(mesh, corridor, last, vertices):
    """Write the vertices of a corridor up to before its portal `last`.

    Parameters
    ----------
    mesh : NavMesh
    corridor : Corridor
    last : int
        Counted from the next portal; ``length + 1`` adds the goal's polygon.
    vertices : (k,) int32
        Receives for each vertex v on the left of the path ``8 v``, on the right ``~(8 v)``; plus, inside the
        brackets, BRUSH if it can only be brushed, EITHER if its side depends on the line that passes it, and
        FIRST if it begins the group of vertices of one polygon and the portal that leads out of it: within a
        group the order along the path is not known. The right vertex of a portal to another floor has SEAM.

    Returns
    -------
    count : int
        Codes that were written.
    portal : int
        The portal before which they end: `last`, or an earlier one if there was no room for more.
    """
    portals, start, length, at = corridor.portals, corridor.start, corridor.length, 0
    for portal in range(last):
        edge = portals[start + length - 1 - portal] if portal < length else -1
        entry = mesh.edge_twin[portals[start + length - portal]] if portal > 0 else -1
        current = corridor.polygon
        if edge >= 0:
            current = mesh.edge_polygon[edge]
        elif entry >= 0:
            current = mesh.edge_polygon[entry]
        low, high = mesh.polygon_start[current], mesh.polygon_start[current + 1]
        if at + (high - low) + 2 > vertices.size:
            return at, portal
        group = at
        if entry >= 0 and edge >= 0:
            side = edge + 1 if edge + 1 < high else low
            while side != entry:
                side = side + 1 if side + 1 < high else low
                if side != entry:
                    vertices[at] = 8 * mesh.edge_vertex[side] + BRUSH
                    at += 1
            side = entry + 1 if entry + 1 < high else low
            while side != edge:
                side = side + 1 if side + 1 < high else low
                if side != edge:
                    vertices[at] = ~(8 * mesh.edge_vertex[side] + BRUSH)
                    at += 1
        else:
            for side in range(low, high):
                v = mesh.edge_vertex[side]
                if edge >= 0 and (v == mesh.edge_vertex[edge] or v == mesh.edge_end[edge]):
                    continue
                if entry >= 0 and (v == mesh.edge_vertex[entry] or v == mesh.edge_end[entry]):
                    continue
                vertices[at] = 8 * v + BRUSH + EITHER
                at += 1
        if edge >= 0:
            leaves = (
                mesh.polygon_layer[current] != mesh.polygon_layer[mesh.edge_polygon[mesh.edge_twin[edge]]]
            )
            vertices[at], vertices[at + 1] = (
                8 * mesh.edge_end[edge],
                ~(8 * mesh.edge_vertex[edge] + (SEAM if leaves else 0)),
            )
            at += 2
        if at > group:
            vertices[group] = vertices[group] | FIRST if vertices[group] >= 0 else ~(~vertices[group] | FIRST)
    return at, last


@inlined_kernel
def bits_of(code):
    """Return the vertex and the flags of a code, whatever its side."""
    return code if code >= 0 else ~code


@inlined_kernel
def vertex_of(code):
    """Return the vertex of a code."""
    return bits_of(code) >> VERTEX


@inlined_kernel
def vertex_disc(mesh, code, radius):
    """Return the disc of a portal vertex as (x, y, side);
    one in the middle of free ground has none, that is side 0, and one on a kerb a small one.
    """
    vertex = vertex_of(code)
    side = 0.0
    if mesh.is_wall_vertex[vertex] != 0:
        side = radius if mesh.is_wall_vertex[vertex] == 1 else min(radius, KERB_M)
        side = side if code >= 0 else -side
    return mesh.vertex[vertex, 0], mesh.vertex[vertex, 1], side


@inlined_kernel
def group_start(vertices, place):
    """Return where the group of a vertex begins."""
    while place > 0 and bits_of(vertices[place]) & FIRST == 0:
        place -= 1
    return place


@inlined_kernel
def group_end(vertices, place, count):
    """Return where the group of a vertex ends."""
    place += 1
    while place < count and bits_of(vertices[place]) & FIRST == 0:
        place += 1
    return place


@inlined_kernel
def vertices_beside(mesh, vertices, count, begin, end, px, py, qx, qy, within):
    """Return the range of the groups whose vertices may press into a straight part of the path, from (px,
    py) to (qx, qy).

    It touches the discs of the vertices at `begin` and `end`. Their groups and those between belong to it,
    and on either side those that a disc on the part reaches into over their portals: an agent comes past the
    vertices in another order than their portals when it bends round one at the far end of a portal.
    """
    first, last = (
        group_start(vertices, min(begin, end)),
        group_end(vertices, min(max(begin, end), count - 1), count),
    )
    while first > 1 and _is_portal_beside(mesh, vertices, first, px, py, qx, qy, within):
        first = group_start(vertices, first - 1)
    while last < count and _is_portal_beside(mesh, vertices, last, px, py, qx, qy, within):
        last = group_end(vertices, last, count)
    return first, last


@inlined_kernel
def _is_portal_beside(mesh, vertices, place, px, py, qx, qy, within):
    """Return whether the group that ends before `place` ends with a portal,
    and this comes within a distance of segment pq.
    """
    left, right = vertices[place - 2], vertices[place - 1]
    if left < 0 or left & BRUSH or right >= 0:
        return False
    a, b = left >> VERTEX, ~right >> VERTEX
    ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
    return (
        not are_beyond(px, py, qx, qy, ax, ay, bx, by, within)
        and segments_apart(px, py, qx, qy, ax, ay, bx, by) <= within
    )


@inlined_kernel
def is_on_another_floor(mesh, vertices, count, begin, end, apex, stop, place, x, y):
    """Return whether a vertex stands above or below (x, y), where the part of the path between the vertices
    at `begin` and `end` comes nearest to it in plan.

    `apex` and `stop` are the codes there. The line on which two floors meet is all that they share: of a
    vertex before it and a place behind it, or the other way round, each has to be on its side.
    """
    low, high = min(begin, end), max(begin, end)
    vertex = vertex_of(vertices[place])
    px, py = mesh.vertex[vertex, 0], mesh.vertex[vertex, 1]
    for seam in range(min(place, low), min(max(place, high), count)):
        right = vertices[seam]
        if right >= 0 or bits_of(right) & (BRUSH | SEAM) != SEAM:
            continue
        a, b = vertex_of(right), vertices[seam - 1] >> VERTEX
        ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
        there, here, within = (
            orientation(ax, ay, bx, by, px, py),
            orientation(ax, ay, bx, by, x, y),
            IN_LINE_M * hypot(bx - ax, by - ay),
        )
        is_behind = seam < low or (seam <= high and here < 0.0)
        if vertex_of(apex) == a or vertex_of(apex) == b:
            is_behind = True
        elif vertex_of(stop) == a or vertex_of(stop) == b:
            is_behind = False
        if seam < place and not is_behind and (there > within or here < -within):
            return True
        if place < seam and is_behind and (there < -within or here > within):
            return True
    return False


@inlined_kernel
def choose_first_sides(mesh, vertices, count, polygon, x, y, bx, by):
    """Choose on which side of the string, which begins as the line from (x, y) to b,
    the vertices of the first polygon stand.
    """
    if count > 0:
        choose_sides(mesh, vertices, 0, group_end(vertices, 0, count), polygon, x, y, bx, by)


@inlined_kernel
def choose_sides(mesh, vertices, first, last, polygon, ax, ay, bx, by):
    """Choose the side of the vertices that may be on either side of the straight line from a to b;
    they are vertices of `polygon`, or of any if it is -1.
    """
    for place in range(first, last):
        code = vertices[place]
        if code >= 0 and code & EITHER:
            code &= ~EITHER
            vertices[place] = code if _is_on_left(mesh, code >> VERTEX, polygon, ax, ay, bx, by) else ~code


@inlined_kernel
def _is_on_left(mesh, vertex, polygon, ax, ay, bx, by):
    """Return whether a vertex of a polygon stands on the left of the line from a to b.

    The line runs along an edge of the polygon if the vertex is in line with it, as where a region begins
    flush with a wall; the ground is on the other side.
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
def has_vertex(vertices, first, last, vertex):
    """Return whether a vertex is among ``vertices[first:last]``."""
    for place in range(first, last):
        if vertex_of(vertices[place]) == vertex:
            return True
    return False


@lean_kernel
def move_to_front(vertices, first, count):
    """Move ``vertices[first:count]`` before the others; return how many they are."""
    moved = count - first
    for _ in range(moved):
        last = vertices[count - 1]
        for place in range(count - 1, 0, -1):
            vertices[place] = vertices[place - 1]
        vertices[0] = last
    return moved
