"""A* over the gaps that stationary agents leave of the portals of a mesh, from the goal back to the start.

It is the search of `crowdsim.navigation.search.a_star` on another graph: a node is "leave this polygon
through this gap", and a step leads from gap to gap that no barrier parts. Costs are the same, over the point
of the portal where that is in the gap, and over the middle of the gap where it is not.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.goals.goals import nearest_in_piece
from crowdsim.navigation.mesh.mesh import are_parted, is_cut_off
from crowdsim.navigation.mesh.slopes import step_cost
from crowdsim.navigation.search.a_star import COSTS, FASTEST, chain_size, is_over, pop_first, reach
from crowdsim.navigation.search.goal_entries import is_too_tight
from crowdsim.navigation.search.portal_prices import price_of
from crowdsim.navigation.search.slot_fields import (
    BEST_NODE,
    BEST_TOTAL,
    EXPANSIONS,
    GENERATION,
    GOAL,
    HEAP_SIZE,
    PENDING,
    PIECE_BOUND,
    START_POLYGON,
    START_X,
    START_Y,
    STATUS,
    WIDTH,
)
from crowdsim.navigation.stationary.passage import are_parted_by_barriers, gap_count, gap_point, portal_place


@inlined_kernel
def _edge_of(slots, slot, mesh, node):
    """Return the half-edge of a node."""
    edges = mesh.edge_vertex.size
    if node < edges:
        return node
    edge = slots.gap_portal[slot, (node - edges) // 2]
    return edge if (node - edges) % 2 == 0 else mesh.edge_twin[edge]


@inlined_kernel
def _node_of(slots, slot, mesh, edge, place, number):
    """Return the node of a gap of the portal of a half-edge, by the row of the portal and the number of the
    gap.
    """
    if number == 0:
        return np.int64(edge)
    side = 0 if edge < mesh.edge_twin[edge] else 1
    return np.int64(mesh.edge_vertex.size + 2 * (slots.portal_first[slot, place] + number) + side)


@inlined_kernel
def _point_of(slots, slot, mesh, node):
    """Return the free point of a node's gap."""
    edges = mesh.edge_vertex.size
    if node < edges:
        return gap_point(slots, slot, mesh, node, portal_place(slots, slot, mesh, node), 0)
    gap = (node - edges) // 2
    return slots.gap[slot, gap, 0], slots.gap[slot, gap, 1]


@lean_kernel
def _seed(slots, slot, mesh, goals):
    """Start from all pieces of the goal in which the agent fits, through the
    gaps of their polygons' portals.
    """
    search = slots.search
    goal, width = search.header[slot, GOAL], search.measure[slot, WIDTH]
    costs, fastest = search.header[slot, COSTS], search.measure[slot, FASTEST]
    for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
        if is_too_tight(goals, piece, width):
            continue
        polygon = goals.piece_polygon[piece]
        for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
            twin = mesh.edge_twin[edge]
            if (
                twin < 0
                or mesh.edge_width[edge] < width
                or is_cut_off(mesh, polygon, edge, goals.pole[piece, 0], goals.pole[piece, 1], width)
            ):
                continue
            place = portal_place(slots, slot, mesh, edge)
            for gap in range(gap_count(slots, slot, place)):
                x, y = gap_point(slots, slot, mesh, edge, place, gap)
                tx, ty = nearest_in_piece(goals, piece, x, y)
                if not are_parted_by_barriers(slots, slot, polygon, x, y, tx, ty):
                    cost = step_cost(mesh, costs, fastest, polygon, tx - x, ty - y) + price_of(
                        search, slot, edge, twin
                    )
                    reach(search, slot, _node_of(slots, slot, mesh, twin, place, gap), x, y, cost, -2 - piece)


@lean_kernel
def _cheapest_piece_here(slots, slot, mesh, goals):
    """Return what it costs to go straight to the cheapest piece of the goal in the start's own polygon,
    and that piece; (inf, -1) if there is none.
    """
    search = slots.search
    x, y, width = search.measure[slot, START_X], search.measure[slot, START_Y], search.measure[slot, WIDTH]
    goal, polygon = search.header[slot, GOAL], search.header[slot, START_POLYGON]
    best, found = np.inf, -1
    for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
        if goals.piece_polygon[piece] != polygon:
            continue
        if is_too_tight(goals, piece, width):
            continue
        tx, ty = nearest_in_piece(goals, piece, x, y)
        if are_parted(
            mesh, polygon, x, y, goals.pole[piece, 0], goals.pole[piece, 1], width
        ) or are_parted_by_barriers(slots, slot, polygon, x, y, tx, ty):
            continue
        total = step_cost(
            mesh, search.header[slot, COSTS], search.measure[slot, FASTEST], polygon, tx - x, ty - y
        )
        if total < best:
            best, found = total, piece
    return best, found


@lean_kernel
def begin_round(slots, slot, mesh, goals, goal, width, x, y, polygon):
    """Set a slot up to look for a path round stationary agents;
    its barriers are drawn, and prices set (`set_prices`).

    Parameters
    ----------
    slots : StationarySlots
    slot : int
    mesh : NavMesh
    goals : GoalPieces
    goal : int
    width : float, m
        Diameter of the agent.
    x, y : float, m
    polygon : int
        Where the start is.
    """
    header, measure = slots.search.header, slots.search.measure
    header[slot, STATUS], header[slot, GOAL], header[slot, START_POLYGON] = PENDING, goal, polygon
    measure[slot, START_X], measure[slot, START_Y], measure[slot, WIDTH] = x, y, width
    header[slot, GENERATION] += 1
    header[slot, HEAP_SIZE] = header[slot, EXPANSIONS] = 0
    measure[slot, PIECE_BOUND] = np.inf  # all pieces are begun at here
    _seed(slots, slot, mesh, goals)
    measure[slot, BEST_TOTAL], piece = _cheapest_piece_here(slots, slot, mesh, goals)
    header[slot, BEST_NODE] = -2 - piece


@lean_kernel
def _consider(slots, slot, mesh, node, x, y):
    """Take a node of the start's polygon as the first gap if that is the best so far."""
    header, measure = slots.search.header, slots.search.measure
    polygon, from_x, from_y = header[slot, START_POLYGON], measure[slot, START_X], measure[slot, START_Y]
    total = slots.search.cost[slot, node] + step_cost(
        mesh, header[slot, COSTS], measure[slot, FASTEST], polygon, x - from_x, y - from_y
    )
    if total > measure[slot, BEST_TOTAL] or (
        total == measure[slot, BEST_TOTAL] and node >= header[slot, BEST_NODE]
    ):
        return
    if is_cut_off(mesh, polygon, _edge_of(slots, slot, mesh, node), from_x, from_y, measure[slot, WIDTH]):
        return
    if not are_parted_by_barriers(slots, slot, polygon, from_x, from_y, x, y):
        measure[slot, BEST_TOTAL], header[slot, BEST_NODE] = total, node


@lean_kernel
def advance_round(slots, slot, mesh, grant):
    """Go on with a pending search for at most `grant` expansions.

    Parameters
    ----------
    slots : StationarySlots
    slot : int
    mesh : NavMesh
    grant : int

    Returns
    -------
    int
        Expansions made; the STATUS of the slot's search says whether it has ended.

    Notes
    -----
    Twin: `tests/reference/stationary.py` (Dijkstra over gaps, parted by areas).
    """
    search = slots.search
    header, measure = search.header, search.measure
    width, costs, fastest = measure[slot, WIDTH], header[slot, COSTS], measure[slot, FASTEST]
    used = 0
    while not is_over(search, slot) and used < grant:
        node = np.int64(pop_first(search, slot))
        used += 1
        out = _edge_of(slots, slot, mesh, node)
        polygon = mesh.edge_polygon[out]
        first, last = mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]
        pairs = mesh.pair_start[polygon] + (out - first)
        mx, my = _point_of(slots, slot, mesh, node)
        for edge in range(first, last):
            twin = mesh.edge_twin[edge]
            if (
                twin < 0
                or edge == out
                or mesh.edge_width[edge] < width
                or mesh.pair_width[pairs + (edge - first) * (last - first)] < width
            ):
                continue
            place = portal_place(slots, slot, mesh, edge)
            for gap in range(gap_count(slots, slot, place)):
                x, y = gap_point(slots, slot, mesh, edge, place, gap)
                if not are_parted_by_barriers(slots, slot, polygon, mx, my, x, y):
                    step = step_cost(mesh, costs, fastest, polygon, mx - x, my - y) + price_of(
                        search, slot, edge, twin
                    )
                    reach(
                        search,
                        slot,
                        _node_of(slots, slot, mesh, twin, place, gap),
                        x,
                        y,
                        search.cost[slot, node] + step,
                        node,
                    )
        if polygon == header[slot, START_POLYGON]:
            _consider(slots, slot, mesh, node, mx, my)
    header[slot, EXPANSIONS] += used
    return used


@inlined_kernel
def copy_round(slots, slot, mesh, out, at):
    """Write the portals of a found search to ``out[at:]``, the one at the goal first;
    return the piece of the goal.
    """
    place, node = at + chain_size(slots.search, slot), slots.search.header[slot, BEST_NODE]
    while node >= 0:
        place -= 1
        out[place] = _edge_of(slots, slot, mesh, node)
        node = slots.search.parent[slot, node]
    return -2 - node
