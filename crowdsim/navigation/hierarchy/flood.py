"""Searches over points of portals that keep to some of the ground: within an area, or in the areas of a path.

They are those of `crowdsim.navigation.search.a_star`, whose slots they use, but go on only where they may.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.mesh.mesh import is_cut_off
from crowdsim.navigation.mesh.slopes import step_cost
from crowdsim.navigation.search.a_star import (
    COSTS,
    FASTEST,
    begin_at_piece,
    consider_start,
    is_cheaper_already,
    is_over,
    look_straight,
    pop_first,
    reach,
)
from crowdsim.navigation.search.goal_entries import choose_piece, flood_of
from crowdsim.navigation.search.portal_prices import price_of
from crowdsim.navigation.search.slot_fields import (
    BEST_NODE,
    BEST_TOTAL,
    EXPANSIONS,
    FOUND,
    GENERATION,
    HEAP_SIZE,
    IS_SEEDED,
    IS_SHARED,
    NEXT_PIECE,
    NONE,
    PENDING,
    PIECE_BOUND,
    START_POLYGON,
    START_X,
    START_Y,
    STATUS,
    WIDTH,
)

BACKWARDS, FORWARDS = range(2)  # Whether costs are those of paths to where it begins, or from there.


@inlined_kernel
def expand(slots, slot, mesh, points, nodes, node, to_nodes, direction):
    """Reach all points that are next to one, over the polygon between.

    Parameters
    ----------
    slots : SearchSlots
    slot : int
    mesh : NavMesh
    points : PortalPoints
    nodes : AreaNodes
    node : int
        The point that was expanded.
    to_nodes : bool
        Leave out points between areas that are no nodes, in floods, which do not go on from them.
    direction : int
        BACKWARDS over the polygon that the half-edge of the point leaves, FORWARDS over the one that it leads
        to.
    """
    header, measure = slots.header, slots.measure
    width, costs, fastest = measure[slot, WIDTH], header[slot, COSTS], measure[slot, FASTEST]
    has_prices, generation = slots.priced[slot, 0] >= 0, header[slot, GENERATION]
    out, cost = points.edge[node], slots.cost[slot, node]
    gate = out if direction == BACKWARDS else mesh.edge_twin[out]
    polygon = mesh.edge_polygon[gate]
    first, last = mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]
    pairs, sides = mesh.pair_start[polygon], last - first
    mx, my = points.point[node, 0], points.point[node, 1]
    for edge in range(first, last):
        twin = mesh.edge_twin[edge]
        if twin < 0 or edge == gate or mesh.edge_width[edge] < width:
            continue
        pair = (
            (edge - first) * sides + (gate - first)
            if direction == BACKWARDS
            else (gate - first) * sides + (edge - first)
        )
        if mesh.pair_width[pairs + pair] < width:
            continue
        price = price_of(slots, slot, edge, twin) if has_prices else 0.0
        next_edge = twin if direction == BACKWARDS else edge
        for other in range(points.start[next_edge], points.start[next_edge + 1]):
            if to_nodes and nodes.is_border[next_edge] == 1 and nodes.of_point[other] < 0:
                continue
            x, y = points.point[other, 0], points.point[other, 1]
            dx, dy = (mx - x, my - y) if direction == BACKWARDS else (x - mx, y - my)
            if is_cheaper_already(slots, slot, generation, other, cost, dx, dy):
                continue
            reach(
                slots, slot, other, x, y,
                cost + step_cost(mesh, costs, fastest, polygon, dx, dy) + price, node,
            )  # fmt: skip


@lean_kernel
def begin_flood(slots, slot, width):
    """Set a slot up for a flood from points that are reached next: nothing is known, nothing drawn to."""
    header = slots.header
    header[slot, GENERATION] += 1
    header[slot, HEAP_SIZE], header[slot, EXPANSIONS], header[slot, IS_SEEDED] = 0, 0, 0
    header[slot, IS_SHARED], header[slot, NEXT_PIECE] = 1, NONE
    slots.measure[slot, WIDTH], slots.measure[slot, PIECE_BOUND] = width, np.inf
    slots.priced[slot, 0] = -1


@lean_kernel
def begin_at_start(slots, slot, mesh, points, nodes, x, y, polygon, direction):
    """Begin a flood at a point (m) in a polygon."""
    width, costs, fastest = (
        slots.measure[slot, WIDTH],
        slots.header[slot, COSTS],
        slots.measure[slot, FASTEST],
    )
    for side in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        if (
            mesh.edge_twin[side] < 0
            or mesh.edge_width[side] < width
            or is_cut_off(mesh, polygon, side, x, y, width)
        ):
            continue
        edge = side if direction == FORWARDS else mesh.edge_twin[side]
        for node in range(points.start[edge], points.start[edge + 1]):
            if nodes.is_border[edge] == 1 and nodes.of_point[node] < 0:
                continue
            px, py = points.point[node, 0], points.point[node, 1]
            dx, dy = (px - x, py - y) if direction == FORWARDS else (x - px, y - py)
            reach(slots, slot, node, px, py, step_cost(mesh, costs, fastest, polygon, dx, dy), -2)


@lean_kernel
def begin_at_point(slots, slot, points, node, x, y, polygon):
    """Begin a search from one point of a portal back to a point (m) in a polygon; the width stays."""
    header, measure, width = slots.header, slots.measure, slots.measure[slot, WIDTH]
    begin_flood(slots, slot, width)
    header[slot, IS_SHARED], header[slot, STATUS], header[slot, BEST_NODE] = 0, PENDING, NONE
    header[slot, START_POLYGON], measure[slot, BEST_TOTAL] = polygon, np.inf
    measure[slot, START_X], measure[slot, START_Y] = x, y
    reach(slots, slot, node, points.point[node, 0], points.point[node, 1], 0.0, -2)


@lean_kernel
def flood_on(slots, slot, mesh, goals, points, nodes, scratch, direction, grant):
    """Go on with a flood within the areas in which it began.

    Parameters
    ----------
    slots : SearchSlots
    slot : int
    mesh : NavMesh
    goals : GoalPieces
    points : PortalPoints
    nodes : AreaNodes
    scratch : Scratch
    direction : int
    grant : int
        Expansions at most.

    Returns
    -------
    int
        Expansions made. Once all is reached there is nothing in the heap, and no piece left.
    """
    header, used = slots.header, 0
    while header[slot, NEXT_PIECE] != NONE or header[slot, HEAP_SIZE] > 0:
        is_piece = header[slot, NEXT_PIECE] != NONE
        # what lies between areas is only taken off the heap: a flood that is over is so at once
        if not is_piece and nodes.is_border[points.edge[slots.heap[slot, 0]]] == 1:
            pop_first(slots, slot)
            continue
        if used == grant:
            break
        used += 1
        if is_piece:
            begin_at_piece(slots, slot, mesh, goals, points, flood_of(scratch, slot), scratch.stretch[slot])
        else:
            expand(slots, slot, mesh, points, nodes, pop_first(slots, slot), True, direction)
    header[slot, EXPANSIONS] += used
    return used


@lean_kernel
def search_on(slots, slot, mesh, goals, points, nodes, scratch, marks, mark, looks, grant):
    """Go on with a search that `begin_search` has begun, in marked areas.

    Parameters
    ----------
    slots : SearchSlots
    slot : int
    mesh : NavMesh
    goals : GoalPieces
    points : PortalPoints
    nodes : AreaNodes
    scratch : Scratch
    marks : (areas,) int64
    mark : int
        Areas with this mark are searched; 0: all are.
    looks : bool
        Whether a straight path from the start to the goal is tried when it has ended.
    grant : int
        Expansions at most.

    Returns
    -------
    int
        Expansions made; the slot's STATUS says whether the search has ended.
    """
    header, measure = slots.header, slots.measure
    flood, stretch, used = flood_of(scratch, slot), scratch.stretch[slot], 0
    while not is_over(slots, slot) and used < grant:
        if (
            header[slot, HEAP_SIZE] == 0
            or measure[slot, PIECE_BOUND] <= slots.bound[slot, slots.heap[slot, 0]]
        ):
            area = nodes.area[goals.piece_polygon[header[slot, NEXT_PIECE]]]
            if mark > 0 and marks[area] != mark:
                choose_piece(header, measure, slot, goals)
                continue
            used += 1
            begin_at_piece(slots, slot, mesh, goals, points, flood, stretch)
            continue
        node = pop_first(slots, slot)
        polygon = mesh.edge_polygon[points.edge[node]]
        if mark > 0 and marks[nodes.area[polygon]] != mark:
            continue
        used += 1
        expand(slots, slot, mesh, points, nodes, node, False, BACKWARDS)
        if polygon == header[slot, START_POLYGON]:
            consider_start(slots, slot, mesh, points, node)
    header[slot, EXPANSIONS] += used
    if header[slot, STATUS] == FOUND and looks:
        look_straight(slots, slot, mesh, goals, flood, stretch)
    return used
