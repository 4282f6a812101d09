"""Lengths of ways through corridors: what an agent would walk alone, and how long it would take."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import kernel
from crowdsim.navigation.corridor.funnel import find_bends, lay_string, pull_straight
from crowdsim.navigation.corridor.portal_vertices import lay_out_posts
from crowdsim.navigation.corridor.trace import make_tracing, trace_way
from crowdsim.navigation.mesh.mesh import make_flood
from crowdsim.navigation.mesh.slopes import SURFACE_LENGTH, TRAVEL_TIME, step_cost

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
    posts, bends, points = np.empty(MOST_POSTS, dtype=np.int32), np.empty(MOST_POSTS, dtype=np.int32), np.empty((2 * MOST_POSTS + 2, 2))
    flood = make_flood(mesh.polygon_start.size - 1)
    for row in range(block.size):
        out[row] = np.inf
        if piece[row] < 0:
            continue
        count, laid = lay_out_posts(mesh, cells, block[row], ahead[row], polygon[row], 0, ahead[row] + 1, posts, 0)
        if laid <= ahead[row]:
            continue
        x, y = position[row, 0], position[row, 1]
        found, tx, ty = find_bends(mesh, goals, cells, block[row], ahead[row], posts, count, polygon[row], piece[row], x, y, radius[row], bends, flood)
        out[row] = lay_string(mesh, posts, bends, found, x, y, tx, ty, radius[row], points)


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
            for k in range(size):  # numba compiles text and errors into what copies slices, for seconds
                cells[block[row] + k] = bends[begin + k]
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
    The way is the shortest in its corridor in plan. Arcs are as steep as chords of them that span at most 22.5 degrees. Twin: `tests/reference/heights.py`.
    """
    tracing = make_tracing(MOST_POSTS, mesh.polygon_start.size - 1)
    place, over, stretch = tracing.place, tracing.over, tracing.stretch
    for row in range(block.size):
        out[row] = effort[row] = np.inf
        if piece[row] < 0:
            continue
        x, y = position[row, 0], position[row, 1]
        parts = trace_way(mesh, goals, cells, block[row], ahead[row], polygon[row], piece[row], x, y, radius[row], tracing)
        if parts < 0:
            continue
        out[row] = effort[row] = 0.0
        for part in range(parts):
            dx, dy = place[part + 1, 0] - place[part, 0], place[part + 1, 1] - place[part, 1]
            out[row] += stretch[part] * step_cost(mesh, SURFACE_LENGTH, 1.0, over[part], dx, dy)
            effort[row] += stretch[part] * step_cost(mesh, TRAVEL_TIME, 1.0, over[part], dx, dy)
