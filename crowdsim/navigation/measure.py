"""Lengths of ways through corridors: what an agent would walk alone, and how long it would take."""

from __future__ import annotations

import numpy as np

from crowdsim.kernels import kernel, lean_kernel
from crowdsim.navigation.funnel import find_bends, lay_string, pull_straight
from crowdsim.navigation.mesh import MOST_CROSSINGS, find_exit, make_flood
from crowdsim.navigation.posts import lay_out_posts
from crowdsim.navigation.slopes import SURFACE_LENGTH, TRAVEL_TIME, step_cost

MOST_POSTS = 1 << 16  # Posts of one corridor; ways over some 20,000 portals are measured as infinite.


@kernel
def measure_corridors(mesh, goals, cells, block, ahead, polygon, piece, position, radius, out):
    """Measure the shortest ways through corridors in plan, corners rounded at the radius.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    cells : (m,) int32
        Corridor store.
    block : (n,) int64
    ahead : (n,) int32
    polygon : (n,) int64
    piece : (n,) int32
        -1 for no way.
    position : (n, 2) float64, m
    radius : (n,) float64, m
    out : (n,) float64, m
        Receives the lengths; inf for no way.
    """
    _measure_rows(
        mesh, goals, cells, block, ahead, polygon, piece, position, radius, False, out, out, np.empty(MOST_POSTS, dtype=np.int32),
        np.empty(MOST_POSTS, dtype=np.int32), np.empty((2 * MOST_POSTS + 2, 2)), make_flood(mesh.polygon_start.size - 1),
    )


@kernel
def straighten_many(mesh, goals, cells, block, ahead, capacity, polygon, piece, position, radius, need):
    """Lead corridors past free vertices on the side on which their strings are straight.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    cells : (m,) int32
        Corridor store; written.
    block : (n,) int64
    ahead : (n,) int32
        Written.
    capacity : (n,) int32
    polygon : (n,) int64
    piece : (n,) int32
        -1 for no way.
    position : (n, 2) float64, m
    radius : (n,) float64, m
    need : (n,) int64
        Receives the portals of straight corridors that blocks have no room for, and that are left as they were; 0 elsewhere.

    Notes
    -----
    Who follows a corridor looks for its next corner only in it: see `straighten_corridor`, whose twin is `tests/reference/funnel.py`.
    """
    posts, bends, flood = np.empty(MOST_POSTS, dtype=np.int32), np.empty(MOST_POSTS, dtype=np.int32), make_flood(mesh.polygon_start.size - 1)
    for row in range(block.size):
        need[row] = 0
        if piece[row] < 0:
            continue
        count, laid = lay_out_posts(mesh, cells, block[row], ahead[row], polygon[row], 0, ahead[row] + 1, posts, 0)
        if laid <= ahead[row]:
            continue
        x, y = position[row, 0], position[row, 1]
        begin, size = pull_straight(
            mesh, goals, cells, block[row], ahead[row], posts, count, polygon[row], piece[row], x, y, radius[row], bends, flood
        )[4:]
        if begin >= 0 and size > capacity[row]:
            need[row] = size
        elif begin >= 0:
            cells[block[row] : block[row] + size] = bends[begin : begin + size]
            ahead[row] = size


@kernel
def measure_ways(mesh, goals, cells, block, ahead, polygon, piece, position, radius, out, effort):
    """Measure the ways of `measure_corridors` over ground that is not even.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    cells : (m,) int32
        Corridor store.
    block : (n,) int64
    ahead : (n,) int32
    polygon : (n,) int64
    piece : (n,) int32
        -1 for no way.
    position : (n, 2) float64, m
    radius : (n,) float64, m
    out : (n,) float64, m
        Receives the lengths along the surface; inf for no way.
    effort : (n,) float64, m
        Receives how far one would go in the same time on level ground; inf for no way.

    Notes
    -----
    The way is the shortest in its corridor in plan. Arcs have the slopes of their chords. Twin: `tests/reference/heights.py`.
    """
    _measure_rows(
        mesh, goals, cells, block, ahead, polygon, piece, position, radius, True, out, effort, np.empty(MOST_POSTS, dtype=np.int32),
        np.empty(MOST_POSTS, dtype=np.int32), np.empty((2 * MOST_POSTS + 2, 2)), make_flood(mesh.polygon_start.size - 1),
    )


@lean_kernel
def _measure_rows(mesh, goals, cells, block, ahead, polygon, piece, position, radius, is_uneven, out, effort, posts, bends, points, flood):
    for row in range(block.size):
        out[row] = effort[row] = np.inf
        if piece[row] < 0:
            continue
        count, laid = lay_out_posts(mesh, cells, block[row], ahead[row], polygon[row], 0, ahead[row] + 1, posts, 0)
        if laid <= ahead[row]:
            continue
        x, y = position[row, 0], position[row, 1]
        found, tx, ty = find_bends(mesh, goals, cells, block[row], ahead[row], posts, count, polygon[row], piece[row], x, y, radius[row], bends, flood)
        out[row] = lay_string(mesh, posts, bends, found, x, y, tx, ty, radius[row], points)
        if is_uneven:
            out[row], effort[row] = _follow_string(mesh, polygon[row], points, found, out[row])


@lean_kernel
def _follow_string(mesh, polygon, points, found, way):
    """Follow a string of `found` bends, `way` metres long in plan, over the ground; return its length along it and its effort (m)."""
    length = effort = straight = chords = rounded = tired = 0.0
    for part in range(2 * found + 1):
        plan = np.hypot(points[part + 1, 0] - points[part, 0], points[part + 1, 1] - points[part, 1])
        if not plan > 0.0:
            continue
        polygon, along, tiring = _follow_line(mesh, polygon, points[part, 0], points[part, 1], points[part + 1, 0], points[part + 1, 1])
        if part % 2 == 0:
            length, effort, straight = length + along, effort + tiring, straight + plan
        else:
            rounded, tired, chords = rounded + along, tired + tiring, chords + plan
    if chords > 0.0:
        arcs = max(chords, way - straight) / chords
        length, effort = length + arcs * rounded, effort + arcs * tired
    return length, effort


@lean_kernel
def _follow_line(mesh, polygon, ax, ay, bx, by):
    """Go straight over the mesh; return the polygon at the end, the length along the surface and the effort (m). Off the mesh the last polygon goes on."""
    length = effort = 0.0
    for _ in range(MOST_CROSSINGS):
        edge, share = find_exit(mesh, polygon, ax, ay, bx, by)
        if edge < 0 or mesh.edge_twin[edge] < 0:
            break
        dx, dy = share * (bx - ax), share * (by - ay)
        length += step_cost(mesh, SURFACE_LENGTH, 1.0, polygon, dx, dy)
        effort += step_cost(mesh, TRAVEL_TIME, 1.0, polygon, dx, dy)
        polygon, ax, ay = mesh.edge_polygon[mesh.edge_twin[edge]], ax + dx, ay + dy
    length += step_cost(mesh, SURFACE_LENGTH, 1.0, polygon, bx - ax, by - ay)
    return polygon, length, effort + step_cost(mesh, TRAVEL_TIME, 1.0, polygon, bx - ax, by - ay)
