"""Whether an agent of one radius can go along a straight part or an arc of a path:
the exact test, where the widths in the graph do not decide.

Walls are met by flooding the mesh from the polygons in sight, so that walls of the next room and of other
floors do not count.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.plane import distance_to_segment, segments_apart
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.navigation.corridor.funnel import tangent
from crowdsim.navigation.goals.goal_entry import TOUCH_M
from crowdsim.navigation.mesh.floor_seams import NO_SEAM, is_before, part_before, seam_over
from crowdsim.navigation.mesh.mesh import was_reached
from crowdsim.navigation.visibility.graph import disc_of
from crowdsim.navigation.visibility.sight import NOWHERE, trace_sight
from crowdsim.navigation.visibility.tangents import CLIP_M, flood_over

# What an end of a straight part is; plain False and True would be types of their own to numba.
IS_CORNER, IS_TERMINAL = np.bool_(False), np.bool_(True)


@lean_kernel
def is_straight_clear(
    mesh, crossed, count, polygon, ax, ay, bx, by, radius, a_is_terminal, b_is_terminal, flood
):
    """Return whether an agent can go straight from a to b.

    Parameters
    ----------
    mesh : NavMesh
    crossed : (k,) int32
        Half-edges crossed by a line of sight that lies in what the agent sweeps: ``crossed[:count]``.
    count, polygon : int
        `polygon` is where that line begins.
    ax, ay, bx, by : float, m
        Where the agent's centre goes.
    radius : float, m
    a_is_terminal, b_is_terminal : bool
        Whether the end is a start or a goal. Such a point may be nearer to a wall than the radius; the path
        then must not come nearer still.
    flood : Flood
        ``flood.queue`` then holds the polygons that the agent reaches into.

    Returns
    -------
    is_clear : bool
    reached : int
        Polygons in the queue.

    Notes
    -----
    Twin: `tests/reference/visibility.py` (shapely distances).
    """
    reached = flood_over(np.int64(polygon), NO_SEAM, np.int64(0), flood)
    for k in range(count):
        reached = flood_over(np.int64(mesh.edge_polygon[mesh.edge_twin[crossed[k]]]), NO_SEAM, reached, flood)
    done = 0
    while done < reached:
        current, join = flood.queue[done], flood.seam[done]
        done += 1
        sx, sy, ex, ey, is_near = part_before(mesh, join, ax, ay, bx, by)
        if not is_near:
            continue
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            p, q = mesh.edge_vertex[edge], mesh.edge_end[edge]
            px, py, qx, qy = mesh.vertex[p, 0], mesh.vertex[p, 1], mesh.vertex[q, 0], mesh.vertex[q, 1]
            twin = mesh.edge_twin[edge]
            if twin < 0:
                if mesh.edge_wall[edge] < 0:
                    continue
                apart = segments_apart(sx, sy, ex, ey, px, py, qx, qy)
                if apart >= radius - TOUCH_M or (is_before(mesh, join, p) and is_before(mesh, join, q)):
                    continue
                need = radius
                if a_is_terminal:
                    need = min(need, distance_to_segment(ax, ay, px, py, qx, qy))
                if b_is_terminal:
                    need = min(need, distance_to_segment(bx, by, px, py, qx, qy))
                if apart < need - TOUCH_M:
                    return False, reached
            elif (
                not was_reached(mesh.edge_polygon[twin], reached, flood)
                and segments_apart(sx, sy, ex, ey, px, py, qx, qy) <= radius + TOUCH_M
            ):
                reached = flood_over(
                    np.int64(mesh.edge_polygon[twin]), seam_over(mesh, edge, join), reached, flood
                )
    return True, reached


@lean_kernel
def is_arc_clear(mesh, corners, corner, mx, my, nx, ny, radius, flood):
    """Return whether an agent can bend round a corner, its centre going from direction m to direction n as
    seen from the corner, apart from both ends.

    Parameters
    ----------
    mesh : NavMesh
    corners : Corners
    corner : int
    mx, my, nx, ny : float
        Unit vectors less than half a turn apart; the ends of the arc are tested as ends of straight parts.
    radius : float, m
    flood : Flood
        ``flood.queue`` then holds the polygons within a diameter of the corner, if the arc is clear.

    Returns
    -------
    is_clear : bool
    reached : int
        Polygons in the queue.

    Notes
    -----
    In the sector between m and n no wall may come nearer to the corner than the agent's diameter.
    """
    px, py = corners.position[corner, 0], corners.position[corner, 1]
    is_left_turn = mx * ny - my * nx > 0.0
    reached, done = np.int64(0), np.int64(0)
    for fan in range(corners.fan_start[corner], corners.fan_start[corner + 1]):
        reached = flood_over(np.int64(mesh.edge_polygon[corners.fan_edge[fan]]), NO_SEAM, reached, flood)
    while done < reached:
        current = flood.queue[done]
        done += 1
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
            ax, ay, bx, by = (
                mesh.vertex[a, 0] - px,
                mesh.vertex[a, 1] - py,
                mesh.vertex[b, 0] - px,
                mesh.vertex[b, 1] - py,
            )
            twin = mesh.edge_twin[edge]
            if twin >= 0:
                if (
                    not was_reached(mesh.edge_polygon[twin], reached, flood)
                    and distance_to_segment(0.0, 0.0, ax, ay, bx, by) <= 2.0 * radius
                ):
                    reached = flood_over(np.int64(mesh.edge_polygon[twin]), NO_SEAM, reached, flood)
                continue
            if mesh.edge_wall[edge] < 0:
                continue
            near = (
                _distance_in_sector(ax, ay, bx, by, mx, my, nx, ny)
                if is_left_turn
                else _distance_in_sector(ax, ay, bx, by, nx, ny, mx, my)
            )
            if near < 2.0 * radius - TOUCH_M:
                return False, reached
    return True, reached


@lean_kernel
def _distance_in_sector(ax, ay, bx, by, mx, my, nx, ny):
    """Return how near to the origin segment ab comes in the sector from m counter-clockwise to n;
    inf if it is outside or at its tip.
    """
    low, high = 0.0, 1.0
    for k in range(2):
        # On the left of m, on the right of n.
        a, b = (mx * ay - my * ax, mx * by - my * bx) if k == 0 else (ny * ax - nx * ay, ny * bx - nx * by)
        a, b = a - CLIP_M, b - CLIP_M
        if a < 0.0 and b < 0.0:
            return np.inf
        if a < 0.0:
            low = max(low, a / (a - b))
        elif b < 0.0:
            high = min(high, a / (a - b))
    if low > high:
        return np.inf
    return distance_to_segment(
        0.0, 0.0, ax + low * (bx - ax), ay + low * (by - ay), ax + high * (bx - ax), ay + high * (by - ay)
    )


@lean_kernel
def is_edge_clear(mesh, graph, edge, source, radius, scratch):
    """Return whether an agent fits along an edge of the graph from the node that it leaves;
    `scratch` as `crowdsim.navigation.visibility.search.Scratch`.
    """
    if radius <= graph.edge_clear[edge]:
        return True
    node = np.int64(graph.edge_target[edge])
    ax, ay, a_side = disc_of(graph, source, radius)
    bx, by, b_side = disc_of(graph, node, radius)
    count, first, _last = trace_sight(
        mesh, graph.corners, source // 2, NOWHERE, ax, ay, node // 2, NOWHERE, bx, by, scratch.crossed
    )
    if count < 0:
        return False
    ux, uy, _ = tangent(ax, ay, a_side, bx, by, b_side)
    fx, fy, tx, ty = ax + a_side * uy, ay - a_side * ux, bx + b_side * uy, by - b_side * ux
    is_clear, _ = is_straight_clear(
        mesh, scratch.crossed, count, first, fx, fy, tx, ty, radius, IS_CORNER, IS_CORNER, scratch.flood
    )
    return is_clear
