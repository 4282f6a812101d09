"""From a path over corners to the corridor of polygons that steering follows.

The line over the corners themselves lies in what the agent sweeps, and nothing stands there: so it goes
through the same gaps, between the same walls.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.visibility.search import (
    BEST_NODE,
    BEST_PIECE,
    BEST_X,
    BEST_Y,
    START_POLYGON,
    START_X,
    START_Y,
    end_of,
)
from crowdsim.navigation.visibility.sight import NOWHERE, trace_sight


@inlined_kernel
def _put(mesh, out, at, begin, edge):
    """Write a portal before those that are written, the goal's end first;
    going back through the one before takes both away.
    """
    if at > begin and mesh.edge_twin[edge] == out[at - 1]:
        return at - 1
    out[at] = edge
    return at + 1


@lean_kernel
def _turn_in_fan(mesh, corners, corner, first, last, out, at, begin):
    """Write the portals that a path crosses as it turns round a corner from polygon `first` to polygon
    `last`, goal's end first.
    """
    i = j = corners.fan_start[corner]
    for fan in range(corners.fan_start[corner], corners.fan_start[corner + 1]):
        polygon = mesh.edge_polygon[corners.fan_edge[fan]]
        if polygon == first:
            i = fan
        if polygon == last:
            j = fan
    while j > i:
        j -= 1
        at = _put(mesh, out, at, begin, np.int64(corners.fan_edge[j]))
    while j < i:
        at = _put(mesh, out, at, begin, np.int64(mesh.edge_twin[corners.fan_edge[j]]))
        j += 1
    return at


@lean_kernel
def corridor_over(terrain, chain, count, sx, sy, polygon, tx, ty, piece, out, at, scratch):
    """Write the corridor of a given path over corners to ``out[at:]``, the portal at the goal first.

    Parameters
    ----------
    terrain : Terrain
    chain : (k,) int32
        The corners that the path goes by, ``chain[:count]``, the one next to the goal first.
    count : int
    sx, sy : float, m
    polygon : int
        Where the path begins.
    tx, ty : float, m
    piece : int
        Where it ends, in this piece of the goal.
    out : (k,) int32
    at : int
    scratch : Scratch

    Returns
    -------
    int
        Portals; -1 if there is no room for them, or one of the straight parts leaves the ground.
    """
    mesh, corners, crossed, begin = terrain.mesh, terrain.graph.corners, scratch.crossed, at
    bx, by, behind, following = tx, ty, NOWHERE, NOWHERE
    for place in range(count + 1):
        corner = np.int64(chain[place]) if place < count else NOWHERE
        ax, ay = (corners.position[corner, 0], corners.position[corner, 1]) if place < count else (sx, sy)
        end = np.int64(terrain.goals.piece_polygon[piece]) if place == 0 else NOWHERE
        portals, first, last = trace_sight(
            mesh, corners, corner, polygon, ax, ay, behind, end, bx, by, crossed
        )
        if portals < 0 or at + portals > out.size:
            return -1
        if place > 0:
            if at + corners.fan_start[behind + 1] - corners.fan_start[behind] + portals > out.size:
                return -1
            at = _turn_in_fan(mesh, corners, behind, last, following, out, at, begin)
        for k in range(portals - 1, -1, -1):
            at = _put(mesh, out, at, begin, np.int64(crossed[k]))
        bx, by, behind, following = ax, ay, corner, first
    return at - begin


@lean_kernel
def copy_visibility_corridor(slots, slot, terrain, out, at, scratch):
    """Write the corridor of a found search to ``out[at:]``, the portal at the goal first.

    Parameters
    ----------
    slots : VisibilitySlots
    slot : int
    terrain : Terrain
    out : (k,) int32
    at : int
    scratch : Scratch

    Returns
    -------
    int
        Portals; -1 if there is no room for them.
    """
    # a search that is over needs its heap no more
    header, measure, chain = slots.header, slots.measure, slots.heap[slot]
    node, count = header[slot, BEST_NODE], 0
    while node >= 0:
        chain[count] = end_of(terrain.graph, node) // 2
        count += 1
        node = NOWHERE if node >= terrain.graph.edge_target.size else np.int64(slots.parent[slot, node])
    return corridor_over(
        terrain, chain, count, measure[slot, START_X], measure[slot, START_Y], header[slot, START_POLYGON],
        measure[slot, BEST_X], measure[slot, BEST_Y], header[slot, BEST_PIECE], out, at, scratch,
    )  # fmt: skip
