"""For which radii a path can bend along the line between two corners:
least and greatest radius ([Norberg 2004], sections 4.1, 4.2).

An agent of radius r bends round a corner along a disc of radius r, so straight parts of its path are tangents
of two such discs: four for each pair of corners that see each other, by the side on which each corner is
passed. A tangent is part of a shortest path only if at both ends the agent, touching the corner, does not
stand in one of the corner's two walls: its direction as seen from the corner lies between the walls' normals.
That is the rule of [Norberg 2004] ("the other corner is on the outside of both wall planes", figure 8) with
the radius put in.

Both corners on one side: the tangent is parallel to the line between them, whatever the radius. So the rule
holds for all radii or for none, and the tangent can be left out for good. A corner on each side: the tangent
turns as r grows, by the angle whose sine is 2 r / L. The rule then holds for an interval of radii, the
*minimum width* of [Norberg 2004] (figure 10), and a greatest one. Nothing of this depends on how many radii
there are.

The line between the corners lies in the strip that the agent sweeps, so only corners that see each other have
tangents, for any radius.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import distance_to_segment, segments_apart
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.navigation.mesh.floor_seams import NO_SEAM, are_apart, seam_over
from crowdsim.navigation.mesh.mesh import flood_into, make_flood, was_reached

# Cosine up to which a wall still counts as at a right angle to the agent's direction: rounding of unit
# vectors, far above 1e-16.
ALONG = 1e-9
# Depth in front of a corner's walls below which other walls are taken as their continuation: rounding of
# collinear walls.
CLIP_M = 1e-7


@inlined_kernel
def is_between_walls(corners, corner, nx, ny):
    """Return whether an agent that touches a corner in direction n, as seen from the corner,
    stands clear of the corner's two walls.
    """
    first = nx * corners.wall[corner, 0] + ny * corners.wall[corner, 1]
    second = nx * corners.wall[corner, 2] + ny * corners.wall[corner, 3]
    return first <= ALONG and second <= ALONG


@inlined_kernel
def _narrow(a, b, low, high):
    """Narrow an interval of sines s to where ``a sqrt(1 - s s) + b s <= 0`` (s in 0..1)."""
    if a <= ALONG:
        if b > 0.0 and a < 0.0:
            high = min(high, -a / hypot(a, b))
        elif b > ALONG:
            high = min(high, 0.0)
    elif b < 0.0:
        low = max(low, a / hypot(a, b))
    else:
        high = -1.0
    return low, high


@inlined_kernel
def flood_over(polygon, join, reached, flood):
    """Put a polygon, reached over a line between floors or not, at the end of a flood's queue unless it is
    there; return how many there are.
    """
    after = flood_into(polygon, reached, flood)
    if after > reached:
        flood.seam[reached] = join
    return after


@lean_kernel
def bending_radii(corners, first, second, first_side, second_side):
    """Return for which radii a path can bend round two corners and go straight between them.

    Parameters
    ----------
    corners : Corners
    first, second : int
    first_side, second_side : int
        1 where the corner is on the left of the path, -1 on its right.

    Returns
    -------
    low, high : float, m
        The interval; empty (low > high) if there is no such radius. High is inf for corners on one side.

    Notes
    -----
    Twin: `tests/reference/visibility.py`.
    """
    dx, dy = (
        corners.position[second, 0] - corners.position[first, 0],
        corners.position[second, 1] - corners.position[first, 1],
    )
    length = hypot(dx, dy)
    dx, dy = dx / length, dy / length
    low, high = 0.0, 1.0
    for k in range(4):
        corner, side = (first, first_side) if k < 2 else (second, second_side)
        wx, wy = corners.wall[corner, 2 * (k % 2)], corners.wall[corner, 2 * (k % 2) + 1]
        # The line turns to the left if it passes from right to left, that is with the first corner on its
        # left; its normal turns with it.
        turn = 0.5 * (first_side - second_side)
        low, high = _narrow(-side * (dx * wy - dy * wx), side * turn * (dx * wx + dy * wy), low, high)
    if low > high:
        return 1.0, 0.0
    if first_side == second_side:
        return 0.0, np.inf
    return 0.5 * length * low, 0.5 * length * high


@lean_kernel
def _clipped_distance(px, py, ax, ay, bx, by, nx, ny):
    """Return the distance (m) from p to the part of segment ab that lies in front of p, in direction n;
    inf if none does.
    """
    a = (ax - px) * nx + (ay - py) * ny - CLIP_M
    b = (bx - px) * nx + (by - py) * ny - CLIP_M
    if a <= 0.0 and b <= 0.0:
        return np.inf
    if a < 0.0:
        share = a / (a - b)
        ax, ay = ax + share * (bx - ax), ay + share * (by - ay)
    elif b < 0.0:
        share = b / (b - a)
        bx, by = bx + share * (ax - bx), by + share * (ay - by)
    return distance_to_segment(px, py, ax, ay, bx, by)


@kernel
def measure_clearances(mesh, corners, most):
    """Measure for each corner the radius up to which an agent can bend round it on any path:
    nothing is near that it could touch.

    Parameters
    ----------
    mesh : NavMesh
    corners : Corners
    most : float, m
        Larger clearances are not looked for.

    Returns
    -------
    (nc,) float64, m
        Half the distance to the nearest wall in front of one of the corner's walls; at most `most`.

    Notes
    -----
    Twin: `tests/reference/visibility.py`.
    """
    clearance = np.empty(corners.vertex.size)
    flood = make_flood(mesh.polygon_start.size - 1)
    for corner in range(clearance.size):
        clearance[corner] = _clearance_of(mesh, corners, corner, most, flood)
    return clearance


@lean_kernel
def _clearance_of(mesh, corners, corner, most, flood):
    px, py = corners.position[corner, 0], corners.position[corner, 1]
    # Normals of the two walls, on the free side: the path comes along the first wall towards the corner and
    # leaves it along the second.
    n1x, n1y, n2x, n2y = (
        corners.wall[corner, 1],
        -corners.wall[corner, 0],
        -corners.wall[corner, 3],
        corners.wall[corner, 2],
    )
    best = 2.0 * most
    reached, done = 0, 0
    for fan in range(corners.fan_start[corner], corners.fan_start[corner + 1]):
        reached = flood_into(mesh.edge_polygon[corners.fan_edge[fan]], reached, flood)
    while done < reached:
        current = flood.queue[done]
        done += 1
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
            ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
            twin = mesh.edge_twin[edge]
            if twin < 0:
                if mesh.edge_wall[edge] >= 0:
                    best = min(
                        best,
                        _clipped_distance(px, py, ax, ay, bx, by, n1x, n1y),
                        _clipped_distance(px, py, ax, ay, bx, by, n2x, n2y),
                    )
            elif (
                not was_reached(mesh.edge_polygon[twin], reached, flood)
                and distance_to_segment(px, py, ax, ay, bx, by) < best
            ):
                reached = flood_into(mesh.edge_polygon[twin], reached, flood)
    return 0.5 * best


@lean_kernel
def strip_radius(mesh, ux, uy, vx, vy, first_side, second_side, crossed, count, polygon, most, flood):
    """Return the radius (m) up to which no wall ends in the strip that an agent sweeps along a tangent of two
    corners.

    Parameters
    ----------
    mesh : NavMesh
    ux, uy, vx, vy : float, m
        The corners.
    first_side, second_side : int
    crossed : (k,) int32
        Half-edges that the line between them crosses: ``crossed[:count]``, see `trace_sight`.
    count, polygon : int
        `polygon` is where that line begins.
    most : float, m
        Larger radii are not looked for.
    flood : Flood

    Returns
    -------
    float, m

    Notes
    -----
    The strip of a tangent with both corners on one side grows with r on the other; a vertex at height b above
    the line between them is met at r = b / 2. With a corner on each side one border of the strip turns about
    each corner; it meets a vertex at the angle under which the corner sees it off the line, if the vertex
    lies in the circle over the two corners (Thales), else it has passed the strip's end before. As long as
    nothing is in the way of the discs at both ends (`measure_clearances`), a wall can only come into the
    strip with a vertex first. So up to the lesser of these three radii the tangent is free.
    """
    dx, dy = vx - ux, vy - uy
    length = hypot(dx, dy)
    dx, dy = dx / length, dy / length
    best = most
    reached, done = flood_over(polygon, NO_SEAM, 0, flood), 0
    for k in range(count):
        reached = flood_over(mesh.edge_polygon[mesh.edge_twin[crossed[k]]], NO_SEAM, reached, flood)
    in_sight = reached
    while done < reached:
        current, join = flood.queue[done], flood.seam[done]
        done += 1
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
            px, py = mesh.vertex[a, 0], mesh.vertex[a, 1]
            if mesh.is_wall_vertex[a] == 1:
                along, aside = (px - ux) * dx + (py - uy) * dy, (py - uy) * dx - (px - ux) * dy
                if not are_apart(mesh, join, px, py, ux + along * dx, uy + along * dy):
                    best = min(best, _vertex_radius(along, aside, length, first_side, second_side))
            twin = mesh.edge_twin[edge]
            if twin < 0 and first_side == second_side and done <= in_sight:
                qx, qy = mesh.vertex[b, 0] - ux, mesh.vertex[b, 1] - uy
                if _rises_into(px - ux, py - uy, qx, qy, dx, dy, length, first_side) or _rises_into(
                    qx, qy, px - ux, py - uy, dx, dy, length, first_side
                ):
                    best = 0.0
            if twin < 0 or was_reached(mesh.edge_polygon[twin], reached, flood):
                continue
            if segments_apart(ux, uy, vx, vy, px, py, mesh.vertex[b, 0], mesh.vertex[b, 1]) < 2.0 * best:
                reached = flood_over(mesh.edge_polygon[twin], seam_over(mesh, edge, join), reached, flood)
    return best


@inlined_kernel
def _rises_into(ax, ay, bx, by, dx, dy, length, side):
    """Return whether a wall begins on the line between two corners, at a, and b is in the strip beside it:
    a point gets past it, and no agent does.
    """
    along, aside = ax * dx + ay * dy, ay * dx - ax * dy
    return abs(aside) <= CLIP_M < along < length - CLIP_M and -side * (by * dx - bx * dy) > CLIP_M


@inlined_kernel
def _vertex_radius(along, aside, length, first_side, second_side):
    """Return the radius at which a strip meets a vertex, given along and to the left of the line between the
    corners (m).
    """
    if along < 0.0 or along > length:
        return np.inf
    if first_side == second_side:
        height = -first_side * aside  # a corner on the left has the agent on its right
        return 0.5 * height if height > CLIP_M else np.inf
    if abs(aside) <= CLIP_M:
        return 0.0 if CLIP_M < along < length - CLIP_M else np.inf
    if aside * first_side < 0.0:
        along = length - along
    square = along * along + aside * aside
    if square > length * along:
        return np.inf
    return 0.5 * length * abs(aside) / np.sqrt(square)
