"""A* over the tangents of the points-of-visibility graph, resumable and paid in expansions ([Norberg 2004],
sections 2.1, 3.3, 4.3).

A node of the search is a straight part of a path: an edge of the graph, or a temporary edge from the start to
a corner. From its end the path bends round the corner, along an arc that only turns as the corner does
(figure 7, pruning while searching), and goes on along another edge or to the goal. Costs are lengths, arcs
included, times what a metre costs there (`weights`).

Nothing is tested before it is needed: an edge enters the queue by its length alone; when it comes first, and
its widths do not decide, it is tested for the agent, gets what it costs more, and goes back if that is more.
So the number of tests follows what the search looks at, not what could be looked at.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import angle_between
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.corridor.funnel import tangent
from crowdsim.navigation.goals.goal_entry import TOUCH_M, next_clear_stretch
from crowdsim.navigation.goals.goals import GoalPieces, nearest_in_piece
from crowdsim.navigation.mesh.mesh import Flood, NavMesh, is_near_rim, wall_distance
from crowdsim.navigation.search.a_star import NOT_IN_HEAP, pop_first, sift_up
from crowdsim.navigation.search.slot_fields import FOUND, PENDING, TIE_SLACK, UNREACHABLE
from crowdsim.navigation.visibility.clear import IS_CORNER, IS_TERMINAL, is_arc_clear, is_straight_clear
from crowdsim.navigation.visibility.graph import VisibilityGraph, disc_of
from crowdsim.navigation.visibility.links import GoalLinks, distance_to_bounds
from crowdsim.navigation.visibility.sight import NOWHERE, trace_sight
from crowdsim.navigation.visibility.tangents import is_between_walls
from crowdsim.navigation.visibility.weights import Weights, extra_cost

# Whole numbers of a slot; the first four are where `crowdsim.navigation.search.a_star` has them, whose heap
# this one uses.
(
    STATUS,
    GENERATION,
    HEAP_SIZE,
    EXPANSIONS,
    GOAL,
    START_POLYGON,
    BEST_NODE,
    BEST_PIECE,
    TESTS,
    IS_TIGHT,
    TREE,
) = range(11)
HEADER_SIZE = 11
# Real numbers of a slot.
START_X, START_Y, RADIUS, BEST_TOTAL, WEIGHT, BEST_X, BEST_Y = range(7)
MEASURE_SIZE = 7

# BEST_NODE where no path is known, and where the path to the goal is straight.
NO_NODE, FROM_START = np.int64(-1), np.int64(-2)
UNTESTED, OPEN, CLOSED = 0, 1, 2
# Sine up to which a path that bends the wrong way goes straight on: rounding of unit vectors between corners
# in one line.
STRAIGHT_ON = 1e-9
ARC_CHORDS = 4  # Chords by which the extra cost of an arc is judged.


class VisibilitySlots(NamedTuple):
    """State of all searches; row s belongs to slot s.
    Nodes are the graph's edges, then one temporary edge for each of its nodes.

    Attributes
    ----------
    header : (s, 11) int64
        STATUS .. TREE above. TESTS counts lines of sight that were tried; IS_TIGHT is 1 if the start is
        nearer to a wall, or to where ground ends without one, than the radius; TREE is the row of
        `Terrain.to_go` that draws the search, or -1.
    measure : (s, 7) float64
        START_X .. BEST_Y above; the last two are where the best path ends.
    cost : (s, n) float64
        Cost up to the end of the straight part.
    bound : (s, n) float64
        Lower bound of the whole path.
    parent : (s, n) int32
        The part before; NO_NODE for temporary edges.
    stamp : (s, n) int64
        Generation in which a node was first reached.
    heap, place : (s, n) int32
        As in `crowdsim.navigation.search.a_star.SearchSlots`.
    state : (s, n) uint8
        UNTESTED, OPEN, or CLOSED: expanded, or too narrow.
    """

    header: NDArray[np.int64]
    measure: NDArray[np.float64]
    cost: NDArray[np.float64]
    bound: NDArray[np.float64]
    parent: NDArray[np.int32]
    stamp: NDArray[np.int64]
    heap: NDArray[np.int32]
    place: NDArray[np.int32]
    state: NDArray[np.uint8]


class Terrain(NamedTuple):
    """All that a search looks at and never changes.

    Attributes
    ----------
    mesh : NavMesh
    goals : GoalPieces
    graph : VisibilityGraph
    links : GoalLinks
    weights : Weights
    to_go : (t, n) float64, m
        How far it is at least from the end of each straight part to some goals; see
        `crowdsim.navigation.visibility.trees`.
    """

    mesh: NavMesh
    goals: GoalPieces
    graph: VisibilityGraph
    links: GoalLinks
    weights: Weights
    to_go: NDArray[np.float64]


class Scratch(NamedTuple):
    """Room to work in; never shared between threads.

    Attributes
    ----------
    flood : Flood
    crossed : (k,) int32
        For `trace_sight`.
    """

    flood: Flood
    crossed: NDArray[np.int32]


def make_visibility_slots(slots: int, graph: VisibilityGraph) -> VisibilitySlots:
    """Return idle slots: 37 bytes for each slot and edge or node of the graph."""
    nodes = graph.edge_count + len(graph.edge_start) - 1
    return VisibilitySlots(
        np.zeros((slots, HEADER_SIZE), dtype=np.int64),
        np.zeros((slots, MEASURE_SIZE)),
        np.zeros((slots, nodes)),
        np.zeros((slots, nodes)),
        np.zeros((slots, nodes), dtype=np.int32),
        np.zeros((slots, nodes), dtype=np.int64),
        np.zeros((slots, nodes), dtype=np.int32),
        np.zeros((slots, nodes), dtype=np.int32),
        np.zeros((slots, nodes), dtype=np.uint8),
    )


@inlined_kernel
def end_of(graph, node):
    """Return the graph's node at the end of a straight part."""
    edges = graph.edge_target.size
    return np.int64(graph.edge_target[node]) if node < edges else node - edges


@lean_kernel
def _begin_of(slots, slot, graph, node):
    """Return where a straight part begins as a disc (x, y, side): the start, or the corner before."""
    if node >= graph.edge_target.size:
        return slots.measure[slot, START_X], slots.measure[slot, START_Y], 0.0
    return disc_of(graph, end_of(graph, np.int64(slots.parent[slot, node])), slots.measure[slot, RADIUS])


@lean_kernel
def _left_to_go(slots, slot, terrain, node, ex, ey):
    """Return how far it is at least to the goal from a straight part's end (ex, ey);
    infinite if no path leads there.
    """
    left, tree = distance_to_bounds(terrain.links, slots.header[slot, GOAL], ex, ey), slots.header[slot, TREE]
    return max(left, terrain.to_go[tree, node]) if tree >= 0 else left


@lean_kernel
def _reach(slots, slot, terrain, node, cost, ex, ey, parent):
    """Note that a straight part, which ends at (ex, ey), can be had at a cost after a parent."""
    header = slots.header
    left = _left_to_go(slots, slot, terrain, node, ex, ey)
    if left == np.inf:
        return
    if slots.stamp[slot, node] == header[slot, GENERATION]:
        if slots.state[slot, node] != UNTESTED or cost > slots.cost[slot, node]:
            return
        if cost == slots.cost[slot, node] and parent >= slots.parent[slot, node]:
            return
    else:
        slots.stamp[slot, node] = header[slot, GENERATION]
        slots.state[slot, node] = UNTESTED
        slots.place[slot, node] = NOT_IN_HEAP
    slots.cost[slot, node] = cost
    slots.parent[slot, node] = parent
    slots.bound[slot, node] = cost + slots.measure[slot, WEIGHT] * left
    queue_node(slots, slot, node)


@lean_kernel
def queue_node(slots, slot, node):
    """Put a node where it belongs in the heap, after its bound fell or while it is not in it."""
    if slots.place[slot, node] == NOT_IN_HEAP:
        size = slots.header[slot, HEAP_SIZE]
        slots.heap[slot, size] = node
        slots.place[slot, node] = size
        slots.header[slot, HEAP_SIZE] = size + 1
    sift_up(slots, slot, slots.place[slot, node])


@lean_kernel
def begin_visibility_search(slots, slot, terrain, goal, radius, x, y, polygon, weight, tree, scratch):
    """Set a slot up to look for a path to a goal, and link the start ([Norberg 2004], section 4.3).

    Parameters
    ----------
    slots : VisibilitySlots
    slot : int
    terrain : Terrain
    goal : int
    radius : float, m
    x, y : float, m
    polygon : int
        Where the start is.
    weight : float
        Of the heuristic: 1 finds cheapest paths, 0 looks everywhere, a larger one looks at less and paths
        cost at most that many times as much.
    tree : int
        Row of `Terrain.to_go` for this goal and a radius that is no less, or -1: the straight line alone
        draws the search.
    scratch : Scratch
    """
    header, measure, graph = slots.header, slots.measure, terrain.graph
    header[slot, STATUS] = PENDING
    header[slot, GENERATION] += 1
    header[slot, HEAP_SIZE], header[slot, EXPANSIONS], header[slot, TESTS] = 0, 0, 0
    header[slot, GOAL], header[slot, START_POLYGON], header[slot, TREE] = goal, polygon, tree
    header[slot, BEST_NODE], header[slot, BEST_PIECE] = NO_NODE, -1
    measure[slot, START_X], measure[slot, START_Y], measure[slot, RADIUS] = x, y, radius
    measure[slot, BEST_TOTAL], measure[slot, WEIGHT] = np.inf, weight
    header[slot, IS_TIGHT] = 0
    is_at_wall = wall_distance(terrain.mesh, polygon, x, y, radius, scratch.flood) < radius - TOUCH_M
    if is_at_wall or is_near_rim(terrain.mesh, polygon, x, y, radius, scratch.flood):
        header[slot, IS_TIGHT] = 1
    for piece in range(terrain.goals.goal_start[goal], terrain.goals.goal_start[goal + 1]):
        _try_goal(slots, slot, terrain, FROM_START, np.int64(piece), 0.0, 0.0, scratch)
    for place in range(graph.pvs_start[polygon], graph.pvs_start[polygon + 1]):
        corner = np.int64(graph.pvs[place])
        for end in range(2 * corner, 2 * corner + 2):
            cx, cy, side = disc_of(graph, end, radius)
            if cx == x and cy == y:
                _reach(slots, slot, terrain, graph.edge_target.size + end, 0.0, cx, cy, NO_NODE)
                continue
            ux, uy, reach = tangent(x, y, 0.0, cx, cy, side)
            sign = 1.0 if side > 0.0 or (side == 0.0 and end % 2 == 0) else -1.0
            if header[slot, IS_TIGHT] == 0 and not is_between_walls(
                graph.corners, corner, sign * uy, -sign * ux
            ):
                continue
            _reach(
                slots,
                slot,
                terrain,
                graph.edge_target.size + end,
                reach,
                cx + side * uy,
                cy - side * ux,
                NO_NODE,
            )


@lean_kernel
def _direction_at_end(slots, slot, graph, node):
    """Return the direction in which a straight part ends;
    0, 0 if it has none, since it begins on its corner.
    """
    ax, ay, a_side = _begin_of(slots, slot, graph, node)
    bx, by, b_side = disc_of(graph, end_of(graph, node), slots.measure[slot, RADIUS])
    if ax == bx and ay == by:
        return 0.0, 0.0
    ux, uy, _ = tangent(ax, ay, a_side, bx, by, b_side)
    return ux, uy


@lean_kernel
def _bend(end, radius, ux, uy, vx, vy):
    """Return the length of the arc from direction u to direction v round a corner;
    -1 if the path would bend the wrong way ([Norberg 2004], figure 7).
    """
    if ux == 0.0 and uy == 0.0:
        return 0.0
    turn = ux * vy - uy * vx
    if end % 2 == 1:
        turn = -turn
    if turn < -STRAIGHT_ON:
        return -1.0
    return radius * angle_between(ux, uy, vx, vy) if radius > 0.0 else 0.0


@lean_kernel
def _arc_cost(slots, slot, terrain, end, ux, uy, vx, vy, scratch):
    """Return what bending round a corner costs beyond its length; -1 if the agent cannot."""
    graph, radius = terrain.graph, slots.measure[slot, RADIUS]
    corner = end // 2
    is_plain = terrain.weights.exposure <= 0.0 and terrain.weights.shunned.shape[0] == 0
    if radius <= 0.0 or (ux == 0.0 and uy == 0.0) or (is_plain and radius <= graph.clearance[corner]):
        return 0.0
    sign = 1.0 if end % 2 == 0 else -1.0
    mx, my, nx, ny = sign * uy, -sign * ux, sign * vy, -sign * vx
    is_clear, reached = is_arc_clear(
        terrain.mesh, graph.corners, corner, mx, my, nx, ny, radius, scratch.flood
    )
    if not is_clear and radius > graph.clearance[corner]:
        return -1.0
    if is_plain:
        return 0.0
    cx, cy = graph.corners.position[corner, 0], graph.corners.position[corner, 1]
    cost, px, py = 0.0, mx, my
    for k in range(1, ARC_CHORDS + 1):
        # Halving twice: the middle of the arc, then the middles of its halves.
        hx, hy = _middle(mx, my, nx, ny)
        if k == ARC_CHORDS:
            qx, qy = nx, ny
        elif k == 2:
            qx, qy = hx, hy
        elif k == 1:
            qx, qy = _middle(mx, my, hx, hy)
        else:
            qx, qy = _middle(hx, hy, nx, ny)
        cost += extra_cost(
            terrain.mesh,
            terrain.weights,
            scratch.flood.queue,
            reached,
            cx + radius * px,
            cy + radius * py,
            cx + radius * qx,
            cy + radius * qy,
        )
        px, py = qx, qy
    return cost


@inlined_kernel
def _middle(mx, my, nx, ny):
    """Return the unit vector halfway between two that are not opposite."""
    length = hypot(mx + nx, my + ny)
    return (mx + nx) / length, (my + ny) / length


@lean_kernel
def _try_goal(slots, slot, terrain, node, piece, ux, uy, scratch):
    """Take a path that ends with a straight part to a piece of the goal, after `node` with direction u,
    if it is the best so far and the agent fits.
    """
    measure, graph, mesh, goals = slots.measure, terrain.graph, terrain.mesh, terrain.goals
    radius = measure[slot, RADIUS]
    low, high = goals.vertex_start[piece], goals.vertex_start[piece + 1]
    cost, ax, ay, side = 0.0, measure[slot, START_X], measure[slot, START_Y], 0.0
    if node >= 0:
        cost = slots.cost[slot, node]
        ax, ay, side = disc_of(graph, end_of(graph, node), radius)
    tx, ty = nearest_in_piece(goals, piece, ax, ay)
    apart = hypot(tx - ax, ty - ay)
    if cost + np.sqrt(max(0.0, (apart - abs(side)) * (apart + abs(side)))) >= measure[slot, BEST_TOTAL]:
        return
    if high - low == 1 or (apart == 0.0 and (node < 0 or radius == 0.0)):
        _try_end(slots, slot, terrain, node, piece, ux, uy, tx, ty, scratch)
        return
    polygon = np.int64(goals.piece_polygon[piece])
    for i in range(low, high):
        j = i + 1 if i + 1 < high else low
        px, py, qx, qy = goals.vertex[i, 0], goals.vertex[i, 1], goals.vertex[j, 0], goals.vertex[j, 1]
        length = hypot(qx - px, qy - py)
        dx, dy = (qx - px) / length, (qy - py) / length
        if dx * (ay - py) - dy * (ax - px) > abs(side):
            continue  # The path would come from inside.
        # Of a stretch the cheapest point is where the path, having left the corner's disc, meets it at a
        # right angle, or as near to that as walls allow; but the end at which the disc itself cuts the side
        # if that comes first, while the path still bends.
        foot = dx * (ax + side * dx - px) + dy * (ay + side * dy - py)
        at = 0.0
        while at < length:
            first, last = next_clear_stretch(mesh, polygon, px, py, qx, qy, at, radius, scratch.flood)
            if first > length:
                break
            to = min(last, max(first, foot))
            _try_end(slots, slot, terrain, node, piece, ux, uy, px + to * dx, py + to * dy, scratch)
            if node >= 0 and to != first:
                _try_end(slots, slot, terrain, node, piece, ux, uy, px + first * dx, py + first * dy, scratch)
            if node >= 0 and to != last:
                _try_end(slots, slot, terrain, node, piece, ux, uy, px + last * dx, py + last * dy, scratch)
            at = last


@lean_kernel
def _try_end(slots, slot, terrain, node, piece, ux, uy, tx, ty, scratch):
    """Take a path that ends with a straight part to a point of a piece of the goal; see `_try_goal`."""
    header, measure, graph, mesh, radius = (
        slots.header,
        slots.measure,
        terrain.graph,
        terrain.mesh,
        slots.measure[slot, RADIUS],
    )
    end, cost = NOWHERE, 0.0
    ax, ay, side = measure[slot, START_X], measure[slot, START_Y], 0.0
    if node >= 0:
        end, cost = end_of(graph, node), slots.cost[slot, node]
        ax, ay, side = disc_of(graph, end, radius)
    vx, vy, reach = ux, uy, 0.0
    if tx != ax or ty != ay:
        vx, vy, reach = tangent(ax, ay, side, tx, ty, 0.0)
    corner = NOWHERE
    if node >= 0:
        corner = end // 2
        arc = _bend(end, radius, ux, uy, vx, vy)
        if arc < 0.0:
            return
        cost += arc
    if cost + reach >= measure[slot, BEST_TOTAL]:
        return
    header[slot, TESTS] += 1
    crossed = scratch.crossed
    polygon = np.int64(terrain.goals.piece_polygon[piece])
    count, first, _last = trace_sight(
        mesh, graph.corners, corner, header[slot, START_POLYGON], ax, ay, NOWHERE, polygon, tx, ty, crossed
    )
    if count < 0:
        return
    fx, fy = ax + side * vy, ay - side * vx
    is_clear, reached = is_straight_clear(
        mesh, crossed, count, first, fx, fy, tx, ty, radius, node == FROM_START, IS_TERMINAL, scratch.flood
    )
    if not is_clear:
        return
    cost += reach + extra_cost(mesh, terrain.weights, scratch.flood.queue, reached, fx, fy, tx, ty)
    if node >= 0:
        more = _arc_cost(slots, slot, terrain, end, ux, uy, vx, vy, scratch)
        if more < 0.0:
            return
        cost += more
    if cost < measure[slot, BEST_TOTAL]:
        measure[slot, BEST_TOTAL], measure[slot, BEST_X], measure[slot, BEST_Y] = cost, tx, ty
        header[slot, BEST_NODE], header[slot, BEST_PIECE] = node, piece


@lean_kernel
def _test(slots, slot, terrain, node, scratch):
    """Test the straight part that comes first:
    close it if the agent does not fit, else note what it costs more; return whether it goes on at once.
    """
    graph, mesh, radius = terrain.graph, terrain.mesh, slots.measure[slot, RADIUS]
    is_link = node >= graph.edge_target.size
    is_plain = terrain.weights.exposure <= 0.0 and terrain.weights.shunned.shape[0] == 0
    if is_plain and not is_link and radius <= graph.edge_clear[node]:
        slots.state[slot, node] = OPEN
        return True
    end = end_of(graph, node)
    before = NOWHERE if is_link else end_of(graph, np.int64(slots.parent[slot, node])) // 2
    ax, ay, a_side = _begin_of(slots, slot, graph, node)
    bx, by, b_side = disc_of(graph, end, radius)
    slots.header[slot, TESTS] += 1
    crossed = scratch.crossed
    count, first, _last = trace_sight(
        mesh,
        graph.corners,
        before,
        slots.header[slot, START_POLYGON],
        ax,
        ay,
        end // 2,
        NOWHERE,
        bx,
        by,
        crossed,
    )
    slots.state[slot, node] = CLOSED
    if count < 0:
        return False
    ux, uy, _ = tangent(ax, ay, a_side, bx, by, b_side)
    fx, fy, tx, ty = ax + a_side * uy, ay - a_side * ux, bx + b_side * uy, by - b_side * ux
    is_clear, reached = is_straight_clear(
        mesh, crossed, count, first, fx, fy, tx, ty, radius, is_link, IS_CORNER, scratch.flood
    )
    if not is_clear and (is_link or radius > graph.edge_clear[node]):
        return False
    slots.state[slot, node] = OPEN
    more = (
        0.0 if is_plain else extra_cost(mesh, terrain.weights, scratch.flood.queue, reached, fx, fy, tx, ty)
    )
    if more <= 0.0:
        return True
    slots.cost[slot, node] += more
    slots.bound[slot, node] += more
    queue_node(slots, slot, node)
    return False


@lean_kernel
def _expand(slots, slot, terrain, node, scratch):
    """Go on from the end of a straight part: to the goal, and along the edges
    that bend as the corner does.
    """
    graph, links, radius, goal = (
        terrain.graph,
        terrain.links,
        slots.measure[slot, RADIUS],
        slots.header[slot, GOAL],
    )
    end = end_of(graph, node)
    ux, uy = _direction_at_end(slots, slot, graph, node)
    ax, ay, a_side = disc_of(graph, end, radius)
    low, high = links.start[goal], links.start[goal + 1]
    while low < high:
        middle = (low + high) // 2
        if links.corner[middle] < end // 2:
            low = middle + 1
        else:
            high = middle
    while low < links.start[goal + 1] and links.corner[low] == end // 2:
        _try_goal(slots, slot, terrain, node, np.int64(links.piece[low]), ux, uy, scratch)
        low += 1
    for edge in range(graph.edge_start[end], graph.edge_start[end + 1]):
        if radius < graph.edge_low[edge] or radius > graph.edge_high[edge]:
            continue
        if slots.stamp[slot, edge] == slots.header[slot, GENERATION] and slots.state[slot, edge] != UNTESTED:
            continue
        bx, by, b_side = disc_of(graph, np.int64(graph.edge_target[edge]), radius)
        vx, vy, reach = tangent(ax, ay, a_side, bx, by, b_side)
        arc = _bend(end, radius, ux, uy, vx, vy)
        if arc < 0.0:
            continue
        more = _arc_cost(slots, slot, terrain, end, ux, uy, vx, vy, scratch)
        if more >= 0.0:
            cost = slots.cost[slot, node] + arc + more + reach
            _reach(slots, slot, terrain, edge, cost, bx + b_side * vy, by - b_side * vx, node)


@lean_kernel
def advance_visibility_search(slots, slot, terrain, grant, scratch):
    """Go on with a pending search for at most `grant` expansions.

    Parameters
    ----------
    slots : VisibilitySlots
    slot : int
    terrain : Terrain
    grant : int
    scratch : Scratch

    Returns
    -------
    int
        Expansions made; the slot's STATUS says whether the search has ended, BEST_TOTAL then what the path
        costs.

    Notes
    -----
    The same steps in the same order however they are sliced. Twin: `tests/reference/visibility.py` (all
    pairs, tested by shapely, and Dijkstra).
    """
    header = slots.header
    used = 0
    while header[slot, STATUS] == PENDING:
        best = slots.measure[slot, BEST_TOTAL]
        if header[slot, HEAP_SIZE] == 0:
            header[slot, STATUS] = FOUND if best < np.inf else UNREACHABLE
            break
        if slots.bound[slot, slots.heap[slot, 0]] > best * (1.0 + TIE_SLACK):
            header[slot, STATUS] = FOUND
            break
        if used >= grant:
            break
        node = np.int64(pop_first(slots, slot))
        used += 1
        if slots.state[slot, node] == UNTESTED and not _test(slots, slot, terrain, node, scratch):
            continue
        slots.state[slot, node] = CLOSED
        _expand(slots, slot, terrain, node, scratch)
    header[slot, EXPANSIONS] += used
    return used
