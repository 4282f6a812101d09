"""A* over points of the portals of a mesh, from the goal back to the start, resumable and paid in expansions.

A node of the search is a point of a half-edge: "leave this polygon over this portal, about here"
(`crowdsim.navigation.search.portal_points`). Its cost is that of the path from there to the goal over points
of the portals in between, in metres of the cheapest ground (`crowdsim.navigation.mesh.slopes.step_cost`),
which is never below its length in plan. No cost is below that of the string pulled taut through the same
portals, and none is much above it, so that what is cheapest is about the shortest, and of several exits the
nearest is found. One that is in sight of the start is tried itself, since points beside a short path there
would count for much.

Searching backwards makes the costs independent of the start, so that one search can serve all agents with the
same goal and the same passable edges; and since ties are broken by the lowest parent and a search goes on
until nothing that could tie is left, a search of one's own (with the straight-line heuristic) and a shared
one (without) give the very same corridor to agents of one radius. To a region a tree leads for the radius of
the agent that asked first: walls keep wider ones farther off its rim, and of two paths that differ by less
than that another may then be the cheapest. Only where the heuristic is weighed with more than 1 can a search
of one's own give a corridor that costs more, at most that many times as much.

All searches live in rows of the same arrays, called slots; what a slot visited is marked by its generation,
so that nothing is cleared. Sources: [Norberg 2004], section 2.1 (A*), [Cui 2012], section 4.1 (on a mesh),
[Smith 2002], "Solving the Path" (slices).
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.kernels.growing import lazy_zeros
from crowdsim.kernels.simd import choose, load, spread, store
from crowdsim.navigation.goals.goals import nearest_in_piece
from crowdsim.navigation.mesh.mesh import find_exit, is_cut_off
from crowdsim.navigation.mesh.slopes import PLAN_LENGTH, SURFACE_LENGTH, step_cost
from crowdsim.navigation.search.goal_entries import (
    cheapest_piece_here,
    choose_piece,
    flood_of,
    is_too_tight,
    list_stretches,
    nearest_entry,
    set_up_slot,
)
from crowdsim.navigation.search.heap import least_of_four
from crowdsim.navigation.search.landmarks import LANES, NO_LANDMARKS, Landmarks, least_from_place
from crowdsim.navigation.search.portal_prices import price_of
from crowdsim.navigation.search.slot_fields import (
    BEST_NODE,
    BEST_TOTAL,
    EXPANSIONS,
    FOUND,
    GENERATION,
    GOAL,
    HEAP_SIZE,
    HEURISTIC_WEIGHT,
    IS_SHARED,
    MOST_PRICED,
    NEXT_PIECE,
    PENDING,
    PIECE_BOUND,
    REAL_FIELDS,
    START_POLYGON,
    START_X,
    START_Y,
    STATUS,
    TIE_SLACK,
    UNREACHABLE,
    WHOLE_FIELDS,
    WIDTH,
)

# Whole numbers of a slot, after those that all searches have.
COSTS, STRAIGHT = range(WHOLE_FIELDS, WHOLE_FIELDS + 2)
HEADER_SIZE = WHOLE_FIELDS + 2
# Real numbers of a slot.
FASTEST, TARGET_X, TARGET_Y = range(REAL_FIELDS, REAL_FIELDS + 3)
MEASURE_SIZE = REAL_FIELDS + 3

NOT_IN_HEAP = -1
NOT_STRAIGHT = -1
# Pieces of the goal to which a straight path is tried, the nearest first: behind walls there may be many that
# are near.
MOST_LOOKS = 4
# Of a straight line, by its length: paths over points of portals are about so much longer than their strings,
# and compete with it.
STRAIGHT_COST = 1.01
# More than sums of lengths are rounded by.
ROUNDING_M = 1e-6
# Share of the line to a piece's pole by which a straight path goes on past its rim, so that it ends in its
# polygon.
INWARDS = 1e-6


class SearchSlots(NamedTuple):
    """State of all searches; row s belongs to slot s.

    Attributes
    ----------
    header : (s, 12) int64
        The fields of all searches, and COSTS and STRAIGHT. BEST_NODE is a point of a portal of the start's
        polygon, or ``-2 - piece`` if the path is straight: STRAIGHT is then the number of portals on it.
    measure : (s, 10) float64
        The fields of all searches, and FASTEST .. TARGET_Y. HEURISTIC_WEIGHT is that of the straight line, 0
        for none, PRICE what each of the priced portals costs besides (m), TARGET where a straight path leads.
    cost : (s, n) float64, m
        Nodes are the points of `crowdsim.navigation.search.portal_points.PortalPoints`.
    parent : (s, n) int32
        Next point towards the goal, or ``-2 - piece`` at the goal.
    stamp : (s, n) int64
        Generation in which a node was first reached.
    heap : (s, n) int32
        4-ary heap of open nodes.
    place : (s, n) int32
        Where a node is in the heap; NOT_IN_HEAP once it was expanded.
    bound : (s, n) float64, m
        Key of an open node.
    priced : (s, 4) int32
        Half-edges of portals with a price, on either side; -1 is none.
    span : (s, 2 k) float32, m
        Between what the costs from the start to each landmark lie; of searches that no tree is kept of.
    landmarks : Landmarks
        Of the points.
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
    span: NDArray[np.float32]
    landmarks: Landmarks


def make_slots(
    slots: int,
    nodes: int,
    costs: int = PLAN_LENGTH,
    fastest: float = 1.0,
    landmarks: Landmarks = NO_LANDMARKS,
) -> SearchSlots:
    """Return idle slots for so many nodes: 40 bytes a slot and node;
    for `costs` and `fastest` see `step_cost`.
    """
    made = SearchSlots(
        np.zeros((slots, HEADER_SIZE), dtype=np.int64),
        np.zeros((slots, MEASURE_SIZE)),
        lazy_zeros((slots, nodes), np.float64),
        lazy_zeros((slots, nodes), np.int32),
        lazy_zeros((slots, nodes)),
        lazy_zeros((slots, nodes), np.int32),
        lazy_zeros((slots, nodes), np.int32),
        lazy_zeros((slots, nodes), np.float64),
        np.full((slots, MOST_PRICED), -1, dtype=np.int32),
        np.zeros((slots, 2 * int(landmarks.each[0])), dtype=np.float32),
        landmarks,
    )
    made.header[:, COSTS], made.measure[:, FASTEST], made.measure[:, HEURISTIC_WEIGHT] = costs, fastest, 1.0
    return made


@inlined_kernel
def _comes_before(slots, slot, a, b):
    """Return whether node a is expanded before b:
    lower bound first, then the larger cost (nearer to the start), then the lower index.
    """
    if slots.bound[slot, a] != slots.bound[slot, b]:
        return slots.bound[slot, a] < slots.bound[slot, b]
    if slots.cost[slot, a] != slots.cost[slot, b]:
        return slots.cost[slot, a] > slots.cost[slot, b]
    return a < b


@inlined_kernel
def sift_up(slots, slot, place):
    """Move a node whose bound fell up to its place in the heap."""
    node = slots.heap[slot, place]
    bound = slots.bound[slot, node]
    while place > 0:
        above = (place - 1) // 4
        other = slots.heap[slot, above]
        its = slots.bound[slot, other]
        if its < bound or (its == bound and not _comes_before(slots, slot, node, other)):
            break
        slots.heap[slot, place] = other
        slots.place[slot, other] = place
        place = above
    slots.heap[slot, place] = node
    slots.place[slot, node] = place


@inlined_kernel
def pop_first(slots, slot):
    """Remove and return the first node of a heap that is not empty."""
    heap, place_of, bound = slots.heap, slots.place, slots.bound
    top = heap[slot, 0]
    place_of[slot, top] = NOT_IN_HEAP
    size = slots.header[slot, HEAP_SIZE] - 1
    slots.header[slot, HEAP_SIZE] = size
    if size == 0:
        return top
    node = heap[slot, size]
    own, place = bound[slot, node], 0
    while True:
        child = 4 * place + 1
        if child >= size:
            break
        first, least, ties = child, bound[slot, heap[slot, child]], 2
        if child + 4 <= size:
            which, least, ties = least_of_four(
                least,
                bound[slot, heap[slot, child + 1]],
                bound[slot, heap[slot, child + 2]],
                bound[slot, heap[slot, child + 3]],
            )
            first = child + which
        if ties > 1:
            for other in range(child, min(child + 4, size)):
                if _comes_before(slots, slot, heap[slot, other], heap[slot, first]):
                    first = other
            least = bound[slot, heap[slot, first]]
        if own < least or (own == least and not _comes_before(slots, slot, heap[slot, first], node)):
            break
        heap[slot, place] = heap[slot, first]
        place_of[slot, heap[slot, place]] = place
        place = first
    heap[slot, place] = node
    place_of[slot, node] = place
    return top


@inlined_kernel
def reach(slots, slot, node, x, y, cost, parent):
    """Note that a node, over a point, can be had at a cost through a parent;
    of equal costs the lowest parent stays.
    """
    fresh = slots.stamp[slot, node] != slots.header[slot, GENERATION]
    if not fresh:
        if cost > slots.cost[slot, node]:
            return
        if cost == slots.cost[slot, node]:
            if parent < slots.parent[slot, node]:
                slots.parent[slot, node] = parent
            return
        if (
            slots.place[slot, node] == NOT_IN_HEAP
            and slots.header[slot, IS_SHARED] == 0
            and slots.measure[slot, HEURISTIC_WEIGHT] > 1.0
        ):
            # Where the heuristic is weighed the promise holds without opening nodes again
            # (`crowdsim.navigation.search.heuristic_weight`), and that saves most.
            return
    slots.cost[slot, node] = cost
    slots.parent[slot, node] = parent
    bound = cost
    if slots.header[slot, IS_SHARED] == 0:
        dx, dy = x - slots.measure[slot, START_X], y - slots.measure[slot, START_Y]
        ahead = np.sqrt(dx * dx + dy * dy)
        if slots.landmarks.each[0] > 0:
            ahead = max(ahead, least_from_place(slots.landmarks, slots.span[slot], np.int64(node)))
        bound += slots.measure[slot, HEURISTIC_WEIGHT] * ahead
    slots.bound[slot, node] = bound
    if fresh or slots.place[slot, node] == NOT_IN_HEAP:
        slots.stamp[slot, node] = slots.header[slot, GENERATION]
        size = slots.header[slot, HEAP_SIZE]
        slots.heap[slot, size] = node
        slots.place[slot, node] = size
        slots.header[slot, HEAP_SIZE] = size + 1
    sift_up(slots, slot, slots.place[slot, node])


@inlined_kernel
def is_cheaper_already(slots, slot, generation, node, cost, dx, dy):
    """Return whether a node can be had for less than by a step (dx, dy), m, from one that has a cost.

    Most can, and it takes no root to tell, since no step costs less than its length; False says nothing.
    """
    if slots.stamp[slot, node] != generation:
        return False
    left = slots.cost[slot, node] - cost
    return left < 0.0 or dx * dx + dy * dy > (left + ROUNDING_M) * (left + ROUNDING_M)


@inlined_kernel
def begin_at_piece(slots, slot, mesh, goals, points, flood, stretch):
    """Start from the piece of the goal that has its turn, and choose the next."""
    header, width = slots.header, slots.measure[slot, WIDTH]
    costs, fastest, piece = header[slot, COSTS], slots.measure[slot, FASTEST], header[slot, NEXT_PIECE]
    polygon, px, py = goals.piece_polygon[piece], goals.pole[piece, 0], goals.pole[piece, 1]
    count = list_stretches(mesh, goals, piece, 0.5 * width, flood, stretch)
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        twin = mesh.edge_twin[edge]
        if (
            twin < 0
            or count == 0
            or mesh.edge_width[edge] < width
            or is_cut_off(mesh, polygon, edge, px, py, width)
        ):
            continue
        price = price_of(slots, slot, edge, twin)
        for node in range(points.start[twin], points.start[twin + 1]):
            mx, my = points.point[node, 0], points.point[node, 1]
            tx, ty = nearest_entry(stretch, count, mx, my)
            reach(
                slots,
                slot,
                node,
                mx,
                my,
                step_cost(mesh, costs, fastest, polygon, tx - mx, ty - my) + price,
                -2 - piece,
            )
    choose_piece(header, slots.measure, slot, goals)


@lean_kernel
def _note_start(slots, slot, mesh, points):
    """Note between what the costs from the start of a search to all landmarks lie.

    They are taken over points of the start's polygon, as its path is: so no path to another point costs less
    than the two differ, wherever the landmark is. Where paths cost more in one direction than in the other
    only those to landmarks are known, and nothing of how much more it is from them.
    """
    landmarks, measure, polygon = slots.landmarks, slots.measure, slots.header[slot, START_POLYGON]
    each, x, y = landmarks.each[0], measure[slot, START_X], measure[slot, START_Y]
    for first in range(0, each, LANES):
        least = spread(np.float32(np.inf))
        for node in range(
            points.start[mesh.polygon_start[polygon]], points.start[mesh.polygon_start[polygon + 1]]
        ):
            step = step_cost(
                mesh, slots.header[slot, COSTS], measure[slot, FASTEST], polygon,
                points.point[node, 0] - x, points.point[node, 1] - y,
            )  # fmt: skip
            cost = load(landmarks.distance, np.uint64(node * each + first)) + spread(np.float32(step))
            least = choose(cost < least, cost, least)  # nan is not less
        nothing = spread(np.float32(np.inf))
        most = least if landmarks.is_symmetric[0] == 1 else nothing
        store(slots.span[slot], np.uint64(first), choose(least < nothing, least, spread(np.float32(0.0))))
        store(slots.span[slot], np.uint64(each + first), most)


@lean_kernel
def begin_search(slots, slot, mesh, goals, points, scratch, goal, width, x, y, polygon, is_shared):
    """Set a slot up to search for a path to a goal from a point;
    a shared slot that already serves this goal keeps what it knows.

    Parameters
    ----------
    slots : SearchSlots
    slot : int
    mesh : NavMesh
    goals : GoalPieces
    points : PortalPoints
    scratch : Scratch
    goal : int
    width : float, m
        Diameter of the agent.
    x, y : float, m
    polygon : int
        Where the start is.
    is_shared : int
        1: no heuristic, keep the tree for further starts. The caller keeps goal and width class apart by
        slot.
    """
    header, measure = slots.header, slots.measure
    keeps_tree = set_up_slot(header, measure, slot, goals, goal, width, x, y, polygon, is_shared)
    measure[slot, BEST_TOTAL], piece = cheapest_piece_here(
        mesh, goals, goal, width, x, y, polygon, header[slot, COSTS], measure[slot, FASTEST],
        flood_of(scratch, slot)
    )  # fmt: skip
    header[slot, BEST_NODE], header[slot, STRAIGHT] = -2 - piece, 0
    if is_shared == 0:
        _note_start(slots, slot, mesh, points)
    if keeps_tree:
        for node in range(
            points.start[mesh.polygon_start[polygon]], points.start[mesh.polygon_start[polygon + 1]]
        ):
            if slots.stamp[slot, node] == header[slot, GENERATION] and slots.place[slot, node] == NOT_IN_HEAP:
                consider_start(slots, slot, mesh, points, node)


@inlined_kernel
def consider_start(slots, slot, mesh, points, node):
    """Take a node of the start's polygon as the first portal if that is the best so far."""
    header, measure = slots.header, slots.measure
    x, y, polygon = measure[slot, START_X], measure[slot, START_Y], header[slot, START_POLYGON]
    step = step_cost(
        mesh,
        header[slot, COSTS],
        measure[slot, FASTEST],
        polygon,
        points.point[node, 0] - x,
        points.point[node, 1] - y,
    )
    total = slots.cost[slot, node] + step
    if total > measure[slot, BEST_TOTAL] or (
        total == measure[slot, BEST_TOTAL] and node >= header[slot, BEST_NODE]
    ):
        return
    if not is_cut_off(mesh, polygon, points.edge[node], x, y, measure[slot, WIDTH]):
        measure[slot, BEST_TOTAL] = total
        header[slot, BEST_NODE] = node


@inlined_kernel
def is_over(slots, slot):
    """Return whether a search has ended, and note how:
    nothing that is open could tie with the best path, or nothing is open.
    """
    header = slots.header
    if header[slot, STATUS] == PENDING:
        best, least = slots.measure[slot, BEST_TOTAL], slots.measure[slot, PIECE_BOUND]
        if header[slot, HEAP_SIZE] > 0:
            least = min(least, slots.bound[slot, slots.heap[slot, 0]])
        if least == np.inf or least > best * (1.0 + TIE_SLACK):
            header[slot, STATUS] = FOUND if best < np.inf else UNREACHABLE
    return header[slot, STATUS] != PENDING


@lean_kernel
def walk_straight(slots, slot, mesh, goals, piece, tx, ty, out, at):
    """Walk straight from the start of a search to a point inside a piece of its goal.

    Parameters
    ----------
    slots : SearchSlots
    slot : int
    mesh : NavMesh
    goals : GoalPieces
    piece : int
    tx, ty : float, m
    out : (k,) int32
        Receives the portals, the first of them at ``out[at]`` and the others before it; nothing if `at` is
        below 0.
    at : int

    Returns
    -------
    portals : int
        NOT_STRAIGHT if a wall or a gap narrower than the agent lies between.
    cost : float, m
    """
    header, measure = slots.header, slots.measure
    x, y, polygon = measure[slot, START_X], measure[slot, START_Y], header[slot, START_POLYGON]
    width, costs, fastest = measure[slot, WIDTH], header[slot, COSTS], measure[slot, FASTEST]
    portals, cost, share, entry = 0, 0.0, 0.0, -1
    while True:
        edge, here = find_exit(mesh, polygon, x, y, tx, ty)
        share_to = here if edge >= 0 else 1.0
        cost += step_cost(
            mesh, costs, fastest, polygon, (share_to - share) * (tx - x), (share_to - share) * (ty - y)
        )
        share = share_to
        first, count = (
            mesh.polygon_start[polygon],
            mesh.polygon_start[polygon + 1] - mesh.polygon_start[polygon],
        )
        if edge < 0:
            is_there = polygon == goals.piece_polygon[piece]
            if is_there and entry >= 0:
                is_there = not is_cut_off(
                    mesh, polygon, entry, goals.pole[piece, 0], goals.pole[piece, 1], width
                )
            return (portals if is_there else NOT_STRAIGHT), cost
        if mesh.edge_twin[edge] < 0 or mesh.edge_width[edge] < width or portals >= mesh.edge_vertex.size:
            return NOT_STRAIGHT, cost
        if entry < 0:
            is_shut = is_cut_off(mesh, polygon, edge, x, y, width)
        else:
            is_shut = (
                mesh.pair_width[mesh.pair_start[polygon] + (entry - first) * count + edge - first] < width
            )
        if is_shut:
            return NOT_STRAIGHT, cost
        if at >= 0:
            out[at - portals] = edge
        portals += 1
        entry = mesh.edge_twin[edge]
        polygon = mesh.edge_polygon[entry]


@inlined_kernel
def look_straight(slots, slot, mesh, goals, flood, stretch):
    """Take the straight path to a piece of the goal that is in sight if that is better than the best path
    over points of portals.
    """
    header, measure = slots.header, slots.measure
    goal, width = header[slot, GOAL], measure[slot, WIDTH]
    x, y, polygon = measure[slot, START_X], measure[slot, START_Y], header[slot, START_POLYGON]
    first, last = goals.goal_start[goal], goals.goal_start[goal + 1]
    done, before = -1, -1.0
    for _ in range(MOST_LOOKS):
        found, least, tx, ty = -1, measure[slot, BEST_TOTAL] / STRAIGHT_COST, 0.0, 0.0
        for piece in range(first, last):
            qx, qy = nearest_in_piece(goals, piece, x, y)
            apart = np.sqrt((qx - x) * (qx - x) + (qy - y) * (qy - y))
            if (
                apart < least
                and (apart > before or (apart == before and piece > done))
                and not is_too_tight(goals, piece, width)
            ):
                found, least, tx, ty = piece, apart, qx, qy
        if found < 0:
            break
        done, before = found, least
        if goals.piece_polygon[found] == polygon:
            continue
        px, py = goals.pole[found, 0], goals.pole[found, 1]
        ax, ay = tx + INWARDS * (px - tx), ty + INWARDS * (py - ty)
        portals, cost = walk_straight(slots, slot, mesh, goals, found, ax, ay, slots.parent[slot], -1)
        if portals < 0:
            continue
        count = list_stretches(mesh, goals, found, 0.5 * width, flood, stretch)
        if count == 0:
            continue
        qx, qy = nearest_entry(stretch, count, x, y)
        if qx != tx or qy != ty:
            ax, ay = qx + INWARDS * (px - qx), qy + INWARDS * (py - qy)
            portals, cost = walk_straight(slots, slot, mesh, goals, found, ax, ay, slots.parent[slot], -1)
        if portals >= 0 and STRAIGHT_COST * cost < measure[slot, BEST_TOTAL]:
            measure[slot, BEST_TOTAL], measure[slot, TARGET_X], measure[slot, TARGET_Y] = (
                STRAIGHT_COST * cost,
                ax,
                ay,
            )
            header[slot, BEST_NODE], header[slot, STRAIGHT] = -2 - found, portals


@inlined_kernel
def _step(mesh, costs, fastest, polygon, dx, dy):
    """Return `step_cost` up to rounding, with one root and no hypot: most of a search is this."""
    square = dx * dx + dy * dy
    if costs == PLAN_LENGTH:
        return np.sqrt(square)
    climb = mesh.polygon_slope[polygon, 0] * dx + mesh.polygon_slope[polygon, 1] * dy
    along = np.sqrt(square + climb * climb)
    if costs == SURFACE_LENGTH:
        return along
    up, down = mesh.polygon_pace[polygon, 0], mesh.polygon_pace[polygon, 1]
    return along * (fastest / (up if climb > 0.0 else (down if climb < 0.0 else max(up, down))))


@lean_kernel
def advance_search(slots, slot, mesh, goals, points, scratch, grant):
    """Go on with a pending search for at most `grant` expansions.

    Parameters
    ----------
    slots : SearchSlots
    slot : int
    mesh : NavMesh
    goals : GoalPieces
    points : PortalPoints
    scratch : Scratch
    grant : int

    Returns
    -------
    int
        Expansions made; the slot's STATUS says whether the search has ended. Beginning at a piece of the goal
        is an expansion too.

    Notes
    -----
    Cost: about 0.3 us an expansion. Twin: `tests/reference/search.py` (Dijkstra on the points of portals).
    """
    header, measure = slots.header, slots.measure
    width, costs, fastest = measure[slot, WIDTH], header[slot, COSTS], measure[slot, FASTEST]
    has_prices, generation = slots.priced[slot, 0] >= 0, header[slot, GENERATION]
    flood, stretch = flood_of(scratch, slot), scratch.stretch[slot]
    used = 0
    while not is_over(slots, slot) and used < grant:
        used += 1
        if (
            header[slot, HEAP_SIZE] == 0
            or measure[slot, PIECE_BOUND] <= slots.bound[slot, slots.heap[slot, 0]]
        ):
            begin_at_piece(slots, slot, mesh, goals, points, flood, stretch)
            continue
        node = pop_first(slots, slot)
        out, cost = points.edge[node], slots.cost[slot, node]
        polygon = mesh.edge_polygon[out]
        first, last = mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]
        pairs = mesh.pair_start[polygon] + (out - first)
        mx, my = points.point[node, 0], points.point[node, 1]
        for edge in range(first, last):
            twin = mesh.edge_twin[edge]
            if (
                twin < 0
                or edge == out
                or mesh.edge_width[edge] < width
                or mesh.pair_width[pairs + (edge - first) * (last - first)] < width
            ):
                continue
            price = price_of(slots, slot, edge, twin) if has_prices else 0.0
            for other in range(points.start[twin], points.start[twin + 1]):
                x, y = points.point[other, 0], points.point[other, 1]
                if is_cheaper_already(slots, slot, generation, other, cost, mx - x, my - y):
                    continue
                step = _step(mesh, costs, fastest, polygon, mx - x, my - y)
                reach(slots, slot, other, x, y, cost + step + price, node)
        if polygon == header[slot, START_POLYGON]:
            consider_start(slots, slot, mesh, points, node)
    header[slot, EXPANSIONS] += used
    if header[slot, STATUS] == FOUND and not has_prices:
        look_straight(slots, slot, mesh, goals, flood, stretch)
    return used


@inlined_kernel
def chain_size(slots, slot):
    """Return how many nodes there are from the best one on to the goal."""
    count = 0
    node = slots.header[slot, BEST_NODE]
    while node >= 0:
        count += 1
        node = slots.parent[slot, node]
    return count


@inlined_kernel
def corridor_size(slots, slot):
    """Return how many portals the corridor of a found search has."""
    return chain_size(slots, slot) if slots.header[slot, BEST_NODE] >= 0 else slots.header[slot, STRAIGHT]


@inlined_kernel
def copy_corridor(slots, slot, mesh, goals, points, out, at):
    """Write the portals of a found search to ``out[at:]``, the one at the goal first;
    return (portals, piece of the goal).
    """
    header, measure = slots.header, slots.measure
    count, node = corridor_size(slots, slot), header[slot, BEST_NODE]
    if node < 0 and count > 0:
        walk_straight(
            slots,
            slot,
            mesh,
            goals,
            -2 - node,
            measure[slot, TARGET_X],
            measure[slot, TARGET_Y],
            out,
            at + count - 1,
        )
    place = at + count
    while node >= 0:
        place -= 1
        out[place] = points.edge[node]
        node = slots.parent[slot, node]
    return count, -2 - node
