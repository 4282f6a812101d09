"""A* over the portals of a mesh, from the goal back to the start, resumable and paid in expansions.

A node of the search is a half-edge: "leave this polygon over this portal". Its cost is that of the way from the portal's point to the goal over the
points of the portals in between, in metres of the cheapest ground (`crowdsim.navigation.slopes.step_cost`), which is never below its length in plan.
Searching backwards makes the costs independent of the start, so that one search can serve all agents with the same
goal and the same passable edges; and since ties are broken by the lowest parent and a search goes on until nothing that could tie is left, a search
of one's own (aimed at the start by the straight-line heuristic) and a shared one (without) give the very same corridor.
Only where the heuristic is weighed with more than 1 can a search of one's own give a corridor that costs more, at most that many times as much.

All searches live in rows of the same arrays, called slots; what a slot visited is marked by its generation, so that nothing is cleared.
Sources: S0 section 2.1 (A*), S3 section 4.1 (on a mesh), S4 "Solving the Path" (slices).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels import inlined_kernel, lean_kernel
from crowdsim.navigation.goals import nearest_in_piece
from crowdsim.navigation.mesh import are_parted, is_cut_off
from crowdsim.navigation.slopes import PLAN_LENGTH, step_cost

TIE_SLACK = 1e-12  # A search goes on until its least bound exceeds the best total by this share, so that rounding cannot hide an equal parent.

# Statuses of a search; the same numbers as PathStatus in world/columns.py.
PENDING, FOUND, FOUND_THROUGH_AGENTS, UNREACHABLE, OUT_OF_NODES = 1, 2, 3, 6, 7

# Whole numbers of a slot.
STATUS, GENERATION, HEAP_SIZE, EXPANSIONS, GOAL, IS_SHARED, START_POLYGON, BEST_NODE, IS_SEEDED, COSTS = range(10)
HEADER_SIZE = 10
# Real numbers of a slot.
START_X, START_Y, WIDTH, BEST_TOTAL, FASTEST, PULL, PRICE = range(7)
MEASURE_SIZE = 7

MOST_PRICED = 4  # Portals on which a request can put a price: an agent that found one shut after the other remembers the last ones.

NOT_IN_HEAP = -1


class SearchSlots(NamedTuple):
    """State of all searches; row s belongs to slot s.

    Attributes
    ----------
    header : (s, 10) int64
        STATUS .. COSTS above. BEST_NODE is a half-edge of the start's polygon, or ``-2 - piece`` if the start is in a goal's polygon.
    measure : (s, 7) float64
        START_X .. PRICE above; PULL is the weight of the straight-line heuristic, 0 for none, and PRICE what each of the priced portals costs besides (m).
    cost : (s, ne) float64, m
    parent : (s, ne) int32
        Next portal towards the goal, or ``-2 - piece`` at the goal.
    stamp : (s, ne) int64
        Generation in which a node was first reached.
    heap : (s, ne) int32
        4-ary heap of open nodes.
    place : (s, ne) int32
        Where a node is in the heap; NOT_IN_HEAP once it was expanded.
    bound : (s, ne) float64, m
        Key of an open node.
    priced : (s, 4) int32
        Half-edges of portals with a price, on either side; -1 is none.
    """

    header: NDArray[np.int64]
    measure: NDArray[np.float64]
    cost: NDArray[np.float64]
    parent: NDArray[np.int32]
    stamp: NDArray[np.int64]
    heap: NDArray[np.int32]
    place: NDArray[np.int32]
    bound: NDArray[np.float64]
    priced: NDArray[np.int32]


def make_slots(slots: int, edges: int, costs: int = PLAN_LENGTH, fastest: float = 1.0) -> SearchSlots:
    """Return idle slots for a mesh with `edges` half-edges: 40 bytes a slot and half-edge; for `costs` and `fastest` see `step_cost`."""
    made = SearchSlots(
        np.zeros((slots, HEADER_SIZE), dtype=np.int64),
        np.zeros((slots, MEASURE_SIZE)),
        np.zeros((slots, edges)),
        np.zeros((slots, edges), dtype=np.int32),
        np.zeros((slots, edges), dtype=np.int64),
        np.zeros((slots, edges), dtype=np.int32),
        np.zeros((slots, edges), dtype=np.int32),
        np.zeros((slots, edges)),
        np.full((slots, MOST_PRICED), -1, dtype=np.int32),
    )
    made.header[:, COSTS], made.measure[:, FASTEST], made.measure[:, PULL] = costs, fastest, 1.0
    return made


@inlined_kernel
def _comes_before(slots, slot, a, b):
    """Return whether node a is expanded before b: lower bound first, then the larger cost (nearer to the start), then the lower index."""
    if slots.bound[slot, a] != slots.bound[slot, b]:
        return slots.bound[slot, a] < slots.bound[slot, b]
    if slots.cost[slot, a] != slots.cost[slot, b]:
        return slots.cost[slot, a] > slots.cost[slot, b]
    return a < b


@inlined_kernel
def sift_up(slots, slot, place):
    """Move a node whose bound fell up to its place in the heap."""
    node = slots.heap[slot, place]
    while place > 0:
        above = (place - 1) // 4
        other = slots.heap[slot, above]
        if not _comes_before(slots, slot, node, other):
            break
        slots.heap[slot, place] = other
        slots.place[slot, other] = place
        place = above
    slots.heap[slot, place] = node
    slots.place[slot, node] = place


@inlined_kernel
def pop_first(slots, slot):
    """Remove and return the first node of a heap that is not empty."""
    heap, place_of = slots.heap, slots.place
    top = heap[slot, 0]
    place_of[slot, top] = NOT_IN_HEAP
    size = slots.header[slot, HEAP_SIZE] - 1
    slots.header[slot, HEAP_SIZE] = size
    if size == 0:
        return top
    node = heap[slot, size]
    place = 0
    while True:
        child = 4 * place + 1
        if child >= size:
            break
        first = child
        for other in range(child + 1, min(child + 4, size)):
            if _comes_before(slots, slot, heap[slot, other], heap[slot, first]):
                first = other
        if not _comes_before(slots, slot, heap[slot, first], node):
            break
        heap[slot, place] = heap[slot, first]
        place_of[slot, heap[slot, place]] = place
        place = first
    heap[slot, place] = node
    place_of[slot, node] = place
    return top


@inlined_kernel
def _reach(slots, slot, mesh, node, cost, parent):
    """Note that a node, over the point of its portal, can be had at a cost through a parent."""
    reach(slots, slot, node, mesh.portal_point[node, 0], mesh.portal_point[node, 1], cost, parent)


@inlined_kernel
def reach(slots, slot, node, x, y, cost, parent):
    """Note that a node, over a point, can be had at a cost through a parent; of equal costs the lowest parent stays."""
    fresh = slots.stamp[slot, node] != slots.header[slot, GENERATION]
    if not fresh:
        if cost > slots.cost[slot, node]:
            return
        if cost == slots.cost[slot, node]:
            if parent < slots.parent[slot, node]:
                slots.parent[slot, node] = parent
            return
    slots.cost[slot, node] = cost
    slots.parent[slot, node] = parent
    bound = cost
    if slots.header[slot, IS_SHARED] == 0:
        dx, dy = x - slots.measure[slot, START_X], y - slots.measure[slot, START_Y]
        bound += slots.measure[slot, PULL] * np.hypot(dx, dy)
    slots.bound[slot, node] = bound
    if fresh or slots.place[slot, node] == NOT_IN_HEAP:
        slots.stamp[slot, node] = slots.header[slot, GENERATION]
        size = slots.header[slot, HEAP_SIZE]
        slots.heap[slot, size] = node
        slots.place[slot, node] = size
        slots.header[slot, HEAP_SIZE] = size + 1
    sift_up(slots, slot, slots.place[slot, node])


@inlined_kernel
def price_of(slots, slot, edge, twin):
    """Return what going over a portal costs besides its way (m)."""
    for place in range(MOST_PRICED):
        priced = slots.priced[slot, place]
        if priced >= 0 and (priced == edge or priced == twin):
            return slots.measure[slot, PRICE]
    return 0.0


@lean_kernel
def set_prices(slots, slot, request):
    """Put the prices of a request on portals, for the search that is about to begin in a slot; shared searches know of none."""
    slots.priced[slot, 0], slots.priced[slot, 1] = request["priced_0"], request["priced_1"]
    slots.priced[slot, 2], slots.priced[slot, 3] = request["priced_2"], request["priced_3"]
    slots.measure[slot, PRICE] = request["price"]


@inlined_kernel
def _seed(slots, slot, mesh, goals):
    """Start from all pieces of the goal in which the body fits."""
    goal, width = slots.header[slot, GOAL], slots.measure[slot, WIDTH]
    costs, fastest = slots.header[slot, COSTS], slots.measure[slot, FASTEST]
    has_prices = slots.priced[slot, 0] >= 0
    for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
        if 2.0 * goals.room[piece] < width and goals.vertex_start[piece + 1] - goals.vertex_start[piece] > 1:
            continue
        polygon = goals.piece_polygon[piece]
        px, py = goals.pole[piece, 0], goals.pole[piece, 1]
        for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
            twin = mesh.edge_twin[edge]
            if twin < 0 or mesh.edge_width[edge] < width or is_cut_off(mesh, polygon, edge, px, py, width):
                continue
            mx, my = mesh.portal_point[edge, 0], mesh.portal_point[edge, 1]
            tx, ty = nearest_in_piece(goals, piece, mx, my)
            cost = step_cost(mesh, costs, fastest, polygon, tx - mx, ty - my)
            _reach(slots, slot, mesh, twin, cost + price_of(slots, slot, edge, twin) if has_prices else cost, -2 - piece)


@lean_kernel
def best_piece_here(mesh, goals, goal, width, x, y, polygon):
    """Return how far (m) it is straight to the nearest piece of a goal in the start's own polygon, and that piece; (inf, -1) if there is none."""
    return _cheapest_piece_here(mesh, goals, goal, width, x, y, polygon, PLAN_LENGTH, 1.0)


@inlined_kernel
def _cheapest_piece_here(mesh, goals, goal, width, x, y, polygon, costs, fastest):
    """Return what it costs to go straight to the cheapest piece of a goal in the start's own polygon, and that piece; (inf, -1) if there is none."""
    best, found = np.inf, -1
    for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
        if goals.piece_polygon[piece] != polygon:
            continue
        if 2.0 * goals.room[piece] < width and goals.vertex_start[piece + 1] - goals.vertex_start[piece] > 1:
            continue
        if are_parted(mesh, polygon, x, y, goals.pole[piece, 0], goals.pole[piece, 1], width):
            continue
        tx, ty = nearest_in_piece(goals, piece, x, y)
        total = step_cost(mesh, costs, fastest, polygon, tx - x, ty - y)
        if total < best:
            best, found = total, piece
    return best, found


@lean_kernel
def begin_search(slots, slot, mesh, goals, goal, width, x, y, polygon, is_shared):
    """Set a slot up to look for a way to a goal from a point; a shared slot that already serves this goal keeps what it knows.

    Parameters
    ----------
    slots : SearchSlots
    slot : int
    mesh : NavMesh
    goals : GoalPieces
    goal : int
    width : float, m
        Diameter of the body.
    x, y : float, m
    polygon : int
        Where the start is.
    is_shared : int
        1: no heuristic, keep the tree for further starts. The caller keeps goal and width class apart by slot.
    """
    header, measure = slots.header, slots.measure
    keep = is_shared == 1 and header[slot, IS_SHARED] == 1 and header[slot, IS_SEEDED] == 1
    header[slot, STATUS] = PENDING
    header[slot, GOAL] = goal
    header[slot, IS_SHARED] = is_shared
    header[slot, START_POLYGON] = polygon
    measure[slot, START_X], measure[slot, START_Y] = x, y
    if not keep:
        measure[slot, WIDTH] = width
        header[slot, GENERATION] += 1
        header[slot, HEAP_SIZE] = 0
        header[slot, EXPANSIONS] = 0
        header[slot, IS_SEEDED] = 1
        _seed(slots, slot, mesh, goals)
    measure[slot, BEST_TOTAL], piece = _cheapest_piece_here(
        mesh, goals, goal, width, x, y, polygon, header[slot, COSTS], measure[slot, FASTEST]
    )  # fmt: skip
    header[slot, BEST_NODE] = -2 - piece
    if keep:
        for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
            if slots.stamp[slot, edge] == header[slot, GENERATION] and slots.place[slot, edge] == NOT_IN_HEAP:
                _consider(slots, slot, mesh, edge)


@inlined_kernel
def _consider(slots, slot, mesh, node):
    """Take a node of the start's polygon as the first portal if that is the best so far."""
    header, measure = slots.header, slots.measure
    x, y = measure[slot, START_X], measure[slot, START_Y]
    first = step_cost(
        mesh, header[slot, COSTS], measure[slot, FASTEST], header[slot, START_POLYGON], mesh.portal_point[node, 0] - x, mesh.portal_point[node, 1] - y
    )  # fmt: skip
    total = slots.cost[slot, node] + first
    if total > measure[slot, BEST_TOTAL] or (total == measure[slot, BEST_TOTAL] and node >= header[slot, BEST_NODE]):
        return
    if not is_cut_off(mesh, header[slot, START_POLYGON], node, x, y, measure[slot, WIDTH]):
        measure[slot, BEST_TOTAL] = total
        header[slot, BEST_NODE] = node


@inlined_kernel
def is_over(slots, slot):
    """Return whether a search has ended, and note how: nothing that is open could tie with the best way, or nothing is open."""
    header = slots.header
    if header[slot, STATUS] == PENDING:
        best = slots.measure[slot, BEST_TOTAL]
        if header[slot, HEAP_SIZE] == 0:
            header[slot, STATUS] = FOUND if best < np.inf else UNREACHABLE
        elif slots.bound[slot, slots.heap[slot, 0]] > best * (1.0 + TIE_SLACK):
            header[slot, STATUS] = FOUND
    return header[slot, STATUS] != PENDING


@lean_kernel
def advance_search(slots, slot, mesh, grant):
    """Go on with a pending search for at most `grant` expansions.

    Parameters
    ----------
    slots : SearchSlots
    slot : int
    mesh : NavMesh
    grant : int

    Returns
    -------
    int
        Expansions made; the slot's STATUS says whether the search has ended.

    Notes
    -----
    Cost: about 0.1 to 0.2 us an expansion. Twin: `tests/reference/search.py` (Dijkstra on the portal graph).
    """
    header, measure = slots.header, slots.measure
    width, costs, fastest = measure[slot, WIDTH], header[slot, COSTS], measure[slot, FASTEST]
    has_prices = slots.priced[slot, 0] >= 0
    used = 0
    while not is_over(slots, slot) and used < grant:
        node = pop_first(slots, slot)
        used += 1
        polygon = mesh.edge_polygon[node]
        first, last = mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]
        pairs = mesh.pair_start[polygon] + (node - first)
        mx, my = mesh.portal_point[node, 0], mesh.portal_point[node, 1]
        for edge in range(first, last):
            twin = mesh.edge_twin[edge]
            if twin < 0 or edge == node or mesh.edge_width[edge] < width or mesh.pair_width[pairs + (edge - first) * (last - first)] < width:
                continue
            step = step_cost(mesh, costs, fastest, polygon, mx - mesh.portal_point[edge, 0], my - mesh.portal_point[edge, 1])
            if has_prices:
                step += price_of(slots, slot, edge, twin)
            _reach(slots, slot, mesh, twin, slots.cost[slot, node] + step, node)
        if polygon == header[slot, START_POLYGON]:
            _consider(slots, slot, mesh, node)
    header[slot, EXPANSIONS] += used
    return used


@inlined_kernel
def corridor_size(slots, slot):
    """Return how many portals the corridor of a found search has."""
    count = 0
    node = slots.header[slot, BEST_NODE]
    while node >= 0:
        count += 1
        node = slots.parent[slot, node]
    return count


@inlined_kernel
def copy_corridor(slots, slot, out, at):
    """Write the portals of a found search to ``out[at:]``, the one at the goal first; return (portals, piece of the goal)."""
    count = corridor_size(slots, slot)
    node = slots.header[slot, BEST_NODE]
    place = at + count
    while node >= 0:
        place -= 1
        out[place] = node
        node = slots.parent[slot, node]
    return count, -2 - node
