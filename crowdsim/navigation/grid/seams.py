"""From a mesh to cells on several floors: which polygon lies under a centre, how far walls are, and where a
step leads that goes over a seam.

A cell belongs to the floor under its centre. A step is the straight line between two centres, walked on the
mesh: so it ends on whatever floor one comes to, and no wall stands in it.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.plane import distance_to_segment, is_beyond
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.navigation.grid.ground import NOWHERE, link_of
from crowdsim.navigation.grid.moves import STEP_X, STEP_Y
from crowdsim.navigation.mesh.mesh import (
    LOCATE_TOLERANCE_M,
    MOST_CROSSINGS,
    find_exit,
    flood_into,
    locate,
    make_flood,
    was_reached,
)

# A centre this near to a seam is on both floors; it belongs to the one with the lower number.
ON_SEAM_M = 2.0 * LOCATE_TOLERANCE_M


@lean_kernel
def locate_cells(mesh, x, y, cell, first, lift, polygon):
    """Find the polygons under the centres of cells.

    Parameters
    ----------
    mesh : NavMesh
    x, y, cell : float, m
        Lower left corner of the grid in plan, and side of its cells.
    first, lift : (f,) int64
        First row of each floor on the sheet, and by how many rows it was moved up.
    polygon : (depth, width) int32
        Receives the polygon of the row's floor, -1 where there is none.
    """
    depth, width = polygon.shape
    floor = 0
    for row in range(depth):
        while floor + 1 < first.size and row >= first[floor + 1]:
            floor += 1
        py = y + (row - lift[floor] + 0.5) * cell
        for column in range(width):
            polygon[row, column] = locate(mesh, x + (column + 0.5) * cell, py, floor)


@lean_kernel
def share_out_seams(seam, seam_floors, x, y, cell, lift, polygon):
    """Give the centres on seams to one of their two floors: -1 in `polygon` of the other; see `locate_cells`.

    Parameters
    ----------
    seam : (e, 4) float64, m
    seam_floors : (e, 2) int64
        See `Floors`.
    x, y, cell : float, m
    lift : (f,) int64
    polygon : (depth, width) int32
    """
    depth, width = polygon.shape
    for e in range(seam.shape[0]):
        ax, ay, bx, by = seam[e, 0], seam[e, 1], seam[e, 2], seam[e, 3]
        lower, upper = lift[seam_floors[e, 0]], lift[seam_floors[e, 1]]
        for row in range(int(np.floor((min(ay, by) - y) / cell)) - 1, int((max(ay, by) - y) / cell) + 2):
            py = y + (row + 0.5) * cell
            for column in range(
                max(0, int((min(ax, bx) - x) / cell) - 1), min(width, int((max(ax, bx) - x) / cell) + 2)
            ):
                if not (0 <= row + lower < depth and 0 <= row + upper < depth):
                    continue
                px = x + (column + 0.5) * cell
                if polygon[row + lower, column] < 0 or polygon[row + upper, column] < 0:
                    continue
                if distance_to_segment(px, py, ax, ay, bx, by) <= ON_SEAM_M:
                    polygon[row + upper, column] = -1


@lean_kernel
def _flood(mesh, polygon, x, y, reach, flood):
    """List the polygons that one comes to from a point over edges within reach, in ``flood.queue``;
    return how many they are.
    """
    reached, done = flood_into(polygon, 0, flood), 0
    while done < reached:
        current = flood.queue[done]
        done += 1
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            twin = mesh.edge_twin[edge]
            if twin < 0 or was_reached(mesh.edge_polygon[twin], reached, flood):
                continue
            if _edge_distance(mesh, edge, x, y, reach) <= reach:
                reached = flood_into(mesh.edge_polygon[twin], reached, flood)
    return reached


@inlined_kernel
def _edge_distance(mesh, edge, x, y, reach):
    """Return how far a point is from an edge (m), infinity if that is surely more than `reach`."""
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
    return np.inf if is_beyond(x, y, ax, ay, bx, by, reach) else distance_to_segment(x, y, ax, ay, bx, by)


@kernel
def measure_walls(mesh, x, y, cell, first, lift, polygon, reach, is_obstacle, asks, to_obstacle, to_wall):
    """Measure how far the centres of cells are from walls, over seams too.

    Parameters
    ----------
    mesh : NavMesh
    x, y, cell : float, m
    first, lift : (f,) int64
    polygon : (depth, width) int32
        See `locate_cells`.
    reach : float, m
    is_obstacle : (ne,) bool
        Which edges of the mesh are walls of obstacles.
    asks : (depth, width) bool
        Cells that are measured, if they have ground.
    to_obstacle, to_wall : (depth, width) float64, m
        Infinity before; receive the distances to the nearest wall of an obstacle, and to the nearest of all,
        where these are within `reach`.

    Notes
    -----
    Walls are those that one comes to over edges of the mesh within reach: what stands above or below is not
    near. Twin: `tests/navigation/grid/test_floors.py` (shapely).
    """
    flood = make_flood(mesh.polygon_start.size - 1)
    floor = 0
    for row in range(polygon.shape[0]):
        while floor + 1 < first.size and row >= first[floor + 1]:
            floor += 1
        py = y + (row - lift[floor] + 0.5) * cell
        for column in range(polygon.shape[1]):
            if not asks[row, column] or polygon[row, column] < 0:
                continue
            px = x + (column + 0.5) * cell
            for place in range(_flood(mesh, np.int64(polygon[row, column]), px, py, reach, flood)):
                near = flood.queue[place]
                for edge in range(mesh.polygon_start[near], mesh.polygon_start[near + 1]):
                    if mesh.edge_wall[edge] < 0:
                        continue
                    away = _edge_distance(mesh, edge, px, py, reach)
                    if away <= reach:
                        to_wall[row, column] = min(to_wall[row, column], away)
                        if is_obstacle[edge]:
                            to_obstacle[row, column] = min(to_obstacle[row, column], away)


@lean_kernel
def _walk_straight(mesh, polygon, x, y, to_x, to_y):
    """Return the polygon at the end of a straight line on the mesh; -1 if a wall, or the end of the ground,
    is in it.
    """
    for _ in range(MOST_CROSSINGS):
        edge, _share = find_exit(mesh, polygon, x, y, to_x, to_y)
        if edge < 0:
            return polygon
        if mesh.edge_twin[edge] < 0:
            return -1
        polygon = np.int64(mesh.edge_polygon[mesh.edge_twin[edge]])
    return -1


@inlined_kernel
def _node_on(first, lift, polygon, floor, column, plan_row):
    """Return the node of a cell with ground on a floor; NOWHERE if it has none."""
    row = plan_row + lift[floor]
    last = first[floor + 1] if floor + 1 < first.size else polygon.shape[0]
    if not (first[floor] <= row < last and 0 <= column < polygon.shape[1]) or polygon[row, column] < 0:
        return NOWHERE
    return (row + 1) * (polygon.shape[1] + 2) + column + 1


@lean_kernel
def link_cells(mesh, x, y, cell, first, lift, polygon, node, beside):
    """Find the neighbours of cells near seams, on whatever floor they are.

    Parameters
    ----------
    mesh : NavMesh
    x, y, cell : float, m
    first, lift : (f,) int64
    polygon : (depth, width) int32
        See `locate_cells`.
    node : (k,) int64
        Cells with ground.
    beside : (k, 9) int64
        Receives the neighbours in the eight directions, NOWHERE where none has ground that a straight line
        leads to; behind a wall on the cell's own floor the neighbour is there, and the step is barred.

    Notes
    -----
    Twin: `tests/reference/grid_floors.py`.
    """
    stride = polygon.shape[1] + 2
    for k in range(node.size):
        row = node[k] // stride - 1
        column = node[k] - (row + 1) * stride - 1
        own = np.int64(mesh.polygon_layer[polygon[row, column]])
        plan_row = row - lift[own]
        px, py = x + (column + 0.5) * cell, y + (plan_row + 0.5) * cell
        beside[k, 8] = node[k]
        for d in range(8):
            cx, cy = column + STEP_X[d], plan_row + STEP_Y[d]
            to_x, to_y = x + (cx + 0.5) * cell, y + (cy + 0.5) * cell
            end = _walk_straight(mesh, np.int64(polygon[row, column]), px, py, to_x, to_y)
            floor = own if end < 0 else np.int64(mesh.polygon_layer[end])
            found = _node_on(first, lift, polygon, floor, cx, cy)
            if end >= 0 and found == NOWHERE:  # on a seam, so on the floor beyond it
                for edge in range(mesh.polygon_start[end], mesh.polygon_start[end + 1]):
                    twin = mesh.edge_twin[edge]
                    if twin < 0 or found != NOWHERE:
                        continue
                    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
                    ax, ay, bx, by = (
                        mesh.vertex[a, 0],
                        mesh.vertex[a, 1],
                        mesh.vertex[b, 0],
                        mesh.vertex[b, 1],
                    )
                    if distance_to_segment(to_x, to_y, ax, ay, bx, by) <= ON_SEAM_M:
                        beyond = np.int64(mesh.polygon_layer[mesh.edge_polygon[twin]])
                        found = _node_on(first, lift, polygon, beyond, cx, cy)
            beside[k, d] = found


@inlined_kernel
def _step(node, beside, stride, here, d):
    """Return the neighbour of a cell in direction d."""
    place = link_of(node, here)
    return beside[place, d] if place >= 0 else here + STEP_Y[d] * stride + STEP_X[d]


@lean_kernel
def find_wrong_links(node, beside, stride, wrong):
    """Note the steps near seams that are none: a step leads back to where it began, and a diagonal one ends
    where the two straight ones beside it lead, so that no corner is cut at the end of a seam.

    Parameters
    ----------
    node : (k,) int64
    beside : (k, 9) int64
        See `Floors`.
    stride : int
        Nodes from row to row.
    wrong : (k, 8) bool
        Receives.

    Returns
    -------
    int
        How many there are.
    """
    count = 0
    for k in range(node.size):
        for d in range(8):
            there = beside[k, d]
            wrong[k, d] = False
            if there == NOWHERE or link_of(node, there) < 0:
                continue
            is_wrong = _step(node, beside, stride, there, (d + 4) & 7) != node[k]
            if d & 1 and not is_wrong:
                for turn in (1, 7):
                    side = beside[k, (d + turn) & 7]
                    if side == NOWHERE or _step(node, beside, stride, side, (d - turn) & 7) != there:
                        is_wrong = True
            wrong[k, d] = is_wrong
            count += is_wrong
    return count


@kernel
def find_zones(mesh, x, y, cell, lift, polygon, reach, node, heeds):
    """Find which other floors cells heed: those whose ground is within reach over seams.

    Parameters
    ----------
    mesh : NavMesh
    x, y, cell : float, m
    lift : (f,) int64
    polygon : (depth, width) int32
        See `locate_cells`.
    reach : float, m
    node : (k,) int64
        Cells with ground.
    heeds : (k, f) bool
        Receives.
    """
    flood = make_flood(mesh.polygon_start.size - 1)
    stride = polygon.shape[1] + 2
    for k in range(node.size):
        row = node[k] // stride - 1
        column = node[k] - (row + 1) * stride - 1
        here = np.int64(polygon[row, column])
        own = mesh.polygon_layer[here]
        px, py = x + (column + 0.5) * cell, y + (row - lift[own] + 0.5) * cell
        for place in range(_flood(mesh, here, px, py, reach, flood)):
            heeds[k, mesh.polygon_layer[flood.queue[place]]] = True
        heeds[k, own] = False
