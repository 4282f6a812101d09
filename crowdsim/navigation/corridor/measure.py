"""Lengths of paths through corridors: what an agent would walk alone, and how long it would take."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import kernel
from crowdsim.navigation.corridor.corridors import Corridor
from crowdsim.navigation.corridor.funnel import find_bends, lay_string, pull_straight
from crowdsim.navigation.corridor.portal_vertices import String, list_portal_vertices
from crowdsim.navigation.corridor.trace import make_tracing, trace_path
from crowdsim.navigation.mesh.mesh import make_flood
from crowdsim.navigation.mesh.slopes import SURFACE_LENGTH, TRAVEL_TIME, step_cost

MOST_VERTICES = 1 << 16  # Vertices of one corridor; paths over some 20,000 portals are measured as infinite.


@kernel
def measure_corridors(mesh, goals, portals, block, ahead, polygon, piece, position, radius, out):
    """Measure the shortest paths through corridors in plan, corners rounded at the radius.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    portals : (m,) int32
        Corridor store.
    block : (n,) int64
    ahead : (n,) int32
    polygon : (n,) int64
    piece : (n,) int32
        -1 for no path.
    position : (n, 2) float64, m
    radius : (n,) float64, m
    out : (n,) float64, m
        Receives the lengths; inf for no path.
    """
    measure_corridor_rows(
        np.int64(0),
        np.int64(block.size),
        mesh,
        goals,
        portals,
        block,
        ahead,
        polygon,
        piece,
        position,
        radius,
        out,
    )


@kernel
def measure_corridor_rows(
    start, stop, mesh, goals, portals, block, ahead, polygon, piece, position, radius, out
):
    """Do what `measure_corridors` says for a range of rows."""
    vertices, bends, points = (
        np.empty(MOST_VERTICES, dtype=np.int32),
        np.empty(MOST_VERTICES, dtype=np.int32),
        np.empty((2 * MOST_VERTICES + 2, 2)),
    )
    flood = make_flood(mesh.polygon_start.size - 1)
    for row in range(start, stop):
        out[row] = np.inf
        if piece[row] < 0:
            continue
        corridor = Corridor(
            portals, np.int64(block[row]), np.int64(ahead[row]), np.int64(polygon[row]), np.int64(piece[row])
        )
        count, laid = list_portal_vertices(mesh, corridor, corridor.length + 1, vertices)
        if laid <= ahead[row]:
            continue
        x, y = position[row, 0], position[row, 1]
        found, tx, ty = find_bends(mesh, goals, corridor, vertices, count, x, y, radius[row], bends, flood)
        out[row] = lay_string(mesh, String(vertices, count, bends, x, y, tx, ty), found, radius[row], points)


@kernel
def straighten_many(mesh, goals, portals, block, ahead, capacity, polygon, piece, position, radius, need):
    """Lead corridors past free vertices on the side on which their strings are straight.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    portals : (m,) int32
        Corridor store; written.
    block : (n,) int64
    ahead : (n,) int32
        Written.
    capacity : (n,) int32
    polygon : (n,) int64
    piece : (n,) int32
        -1 for no path.
    position : (n, 2) float64, m
    radius : (n,) float64, m
    need : (n,) int64
        Receives the portals of straight corridors that are longer than their blocks, and are left as they
        were; 0 elsewhere.

    Notes
    -----
    An agent that follows a corridor looks for its next corner only in it: see `straighten_corridor`, whose
    twin is `tests/reference/funnel.py`.
    """
    vertices, bends, flood = (
        np.empty(MOST_VERTICES, dtype=np.int32),
        np.empty(MOST_VERTICES, dtype=np.int32),
        make_flood(mesh.polygon_start.size - 1),
    )
    for row in range(block.size):
        need[row] = 0
        if piece[row] < 0:
            continue
        corridor = Corridor(
            portals, np.int64(block[row]), np.int64(ahead[row]), np.int64(polygon[row]), np.int64(piece[row])
        )
        count, laid = list_portal_vertices(mesh, corridor, corridor.length + 1, vertices)
        if laid <= ahead[row]:
            continue
        x, y = position[row, 0], position[row, 1]
        begin, size = pull_straight(mesh, goals, corridor, vertices, count, x, y, radius[row], bends, flood)[
            4:
        ]
        if begin >= 0 and size > capacity[row]:
            need[row] = size
        elif begin >= 0:
            for k in range(size):  # numba compiles text and errors into what copies slices, for seconds
                portals[block[row] + k] = bends[begin + k]
            ahead[row] = size


@kernel
def measure_path_rows(
    start, stop, mesh, goals, portals, block, ahead, polygon, piece, position, radius, out, effort
):
    """Measure the paths of `measure_corridors` over ground that is not even, for a range of rows.

    Parameters
    ----------
    start, stop : int
        The first row, and the one after the last.
    mesh : NavMesh
    goals : GoalPieces
    portals : (m,) int32
        Corridor store.
    block : (n,) int64
    ahead : (n,) int32
    polygon : (n,) int64
    piece : (n,) int32
        -1 for no path.
    position : (n, 2) float64, m
    radius : (n,) float64, m
    out : (n,) float64, m
        Receives the lengths along the surface; inf for no path.
    effort : (n,) float64, m
        Receives how far one would go in the same time on level ground; inf for no path.

    Notes
    -----
    The path is the shortest in its corridor in plan. Arcs are as steep as chords of them that span at most
    22.5 degrees. Twin: `tests/reference/heights.py`.
    """
    tracing = make_tracing(MOST_VERTICES, mesh.polygon_start.size - 1)
    place, over, stretch = tracing.place, tracing.over, tracing.stretch
    for row in range(start, stop):
        out[row] = effort[row] = np.inf
        if piece[row] < 0:
            continue
        x, y = position[row, 0], position[row, 1]
        corridor = Corridor(
            portals, np.int64(block[row]), np.int64(ahead[row]), np.int64(polygon[row]), np.int64(piece[row])
        )
        parts = trace_path(mesh, goals, corridor, x, y, radius[row], tracing)
        if parts < 0:
            continue
        out[row] = effort[row] = 0.0
        for part in range(parts):
            dx, dy = place[part + 1, 0] - place[part, 0], place[part + 1, 1] - place[part, 1]
            out[row] += stretch[part] * step_cost(mesh, SURFACE_LENGTH, 1.0, over[part], dx, dy)
            effort[row] += stretch[part] * step_cost(mesh, TRAVEL_TIME, 1.0, over[part], dx, dy)
