"""The search over areas, and that of the ground which the areas of its path have.

It runs from the goal back to the start, as `crowdsim.navigation.search.a_star` does, whose costs are its own:

1. From the goal over the ground of its areas, up to their nodes. Then the tree of the search over areas has
   begun; where requests share it, the first of them does so. What is shared is for the width of the graph.
2. To pieces of the goal in the area of the start, if there are any, within it.
3. From the start over the ground of its area, up to its nodes.
4. From node to node, until no path could be shorter than the shortest that is known. What lies between two
   nodes is not searched: it was measured when the graph was made.
5. Over the ground of the areas through which that path leads, back from the goal to the start, a few areas at
   a time: from where the path is known to where the straight path over areas crosses into them. The last of
   them, in which the path heads for that point only, is searched again with those before it. Where what is
   found so costs more than the path over areas promised, all of its areas are searched at once.

Where the graph knows of no path all ground is searched: its costs are those of agents that may be a little
wider than the one that asks.

Sources: [Botea 2004] (entrances, costs within a cluster, refinement), [Mononen 2010] (contiguous areas of
tiles, nodes at portals).
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.goals.goals import GoalPieces, nearest_in_piece
from crowdsim.navigation.hierarchy.flood import (
    BACKWARDS,
    FORWARDS,
    begin_at_point,
    begin_at_start,
    begin_flood,
    flood_on,
    search_on,
)
from crowdsim.navigation.hierarchy.nodes import AreaNodes
from crowdsim.navigation.hierarchy.straight import cross_straight
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.search.a_star import (
    NOT_IN_HEAP,
    SearchSlots,
    begin_search,
    pop_first,
    reach,
)
from crowdsim.navigation.search.goal_entries import Scratch, choose_piece
from crowdsim.navigation.search.portal_points import PortalPoints
from crowdsim.navigation.search.slot_fields import (
    BEST_NODE,
    BEST_TOTAL,
    EXPANSIONS,
    FOUND,
    GENERATION,
    GOAL,
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
    TIE_SLACK,
    WIDTH,
)

# What a slot is doing: see above.
FROM_GOAL, IN_AREA, FROM_START, OVER_AREAS, ON_GROUND, ENDED = range(6)
# Whole numbers of a slot: what it does, the area of the start, the mark of the areas that are searched, the
# layer of the graph, expansions of the request in hand, and those of its tree before it; how many areas the
# path leads through, how many are searched at a time, the first and the last of those that are (of the path,
# the start's is 0), the piece of the goal if the path is known from there on, how many portals are known, and
# expansions since the slot gave the memory of its ground back.
(
    PHASE, START_AREA, MARK, LAYER, MADE, TREE_BEFORE, AREAS, AT_A_TIME, FIRST, LAST, PIECE, KNOWN, SINCE,
) = range(13)  # fmt: skip
STATE_SIZE = 13
AT_GOAL = -2  # In place of the next node: the goal is in the area to which the node leads.
NO_NODE = -1  # No path over areas is known.
NO_LAYER = -1
# What a path may cost of what that over areas does. Smaller searches all ground of a path again more often.
MOST_COST = 1.01


class AreaSearch(NamedTuple):
    """What searches over areas work on; slots from `own` on are shared.

    Attributes
    ----------
    ground : SearchSlots
        Over points of portals.
    tree : SearchSlots
        Over nodes.
    state : (s, 13) int64
        PHASE .. SINCE.
    marks : (s, areas) int64
    gate : (s, n) int32
        Half-edges over which the path leaves one area after the other, from the start on.
    crossing : (s, n, 2) float64, m
        Where the straight path over areas crosses these.
    path : (s, ne) int32
        Portals that are known, the goal's end first.
    known_cost : (s,) float64, m
        What the path over these costs.
    mesh : NavMesh
    goals : GoalPieces
    points : PortalPoints
    scratch : Scratch
    nodes : AreaNodes
    cost_start : (areas + 1,) int64
    cost : (layers, m) float64, m
        See `crowdsim.navigation.hierarchy.graph.AreaCosts`.
    widths : (k,) float64, m
        Those for which layers can be made, see `crowdsim.navigation.hierarchy.widths`.
    layer_of : (k,) int64
        Layer for each of them; NO_LAYER where there is none.
    workspace : int
        Areas that are searched at a time.
    own : int
    most_since : int
        Expansions from which on a slot begins no request before it has given memory back.
    """

    ground: SearchSlots
    tree: SearchSlots
    state: NDArray[np.int64]
    marks: NDArray[np.int64]
    gate: NDArray[np.int32]
    crossing: NDArray[np.float64]
    path: NDArray[np.int32]
    known_cost: NDArray[np.float64]
    mesh: NavMesh
    goals: GoalPieces
    points: PortalPoints
    scratch: Scratch
    nodes: AreaNodes
    cost_start: NDArray[np.int64]
    cost: NDArray[np.float64]
    widths: NDArray[np.float64]
    layer_of: NDArray[np.int64]
    workspace: int
    own: int
    most_since: int


@lean_kernel
def begin_area_search(search, slot, goal, width, x, y, polygon, is_shared):
    """Set a slot up to search for a path to a goal from a point;
    a shared slot that already serves this goal keeps its tree.

    Parameters
    ----------
    search : AreaSearch
    slot : int
    goal : int
    width : float, m
        Diameter of the agent.
    x, y : float, m
    polygon : int
        Where the start is; below 0 the tree is grown for no start.
    is_shared : int
    """
    state, tree, ground = search.state, search.tree, search.ground
    header, measure = tree.header, tree.measure
    keeps_tree = is_shared == 1 and header[slot, IS_SEEDED] == 1
    which = np.searchsorted(search.widths, width)
    state[slot, LAYER] = search.layer_of[which] if which < search.widths.size else NO_LAYER
    state[slot, START_AREA] = search.nodes.area[polygon] if polygon >= 0 else NONE
    state[slot, MADE], state[slot, TREE_BEFORE] = 0, 0
    header[slot, STATUS], header[slot, GOAL], header[slot, START_POLYGON] = PENDING, goal, polygon
    header[slot, IS_SHARED], header[slot, BEST_NODE] = is_shared, NO_NODE
    measure[slot, START_X], measure[slot, START_Y], measure[slot, BEST_TOTAL] = x, y, np.inf
    measure[slot, WIDTH] = width
    ground.header[slot, STATUS] = PENDING
    if state[slot, LAYER] == NO_LAYER:
        _begin_on_ground(search, slot)
    elif keeps_tree:
        state[slot, TREE_BEFORE] = header[slot, EXPANSIONS]
        _begin_in_area(search, slot)
    else:
        header[slot, GENERATION] += 1
        header[slot, HEAP_SIZE], header[slot, EXPANSIONS], header[slot, IS_SEEDED] = 0, 0, 0
        begin_flood(ground, slot, search.widths[which])  # for all that share the tree
        ground.header[slot, GOAL] = goal
        ground.measure[slot, PIECE_BOUND] = -1.0
        choose_piece(ground.header, ground.measure, slot, search.goals)
        state[slot, PHASE] = FROM_GOAL


@lean_kernel
def _seed_tree(search, slot):
    """Begin the tree at the nodes that lead into areas of the goal; what is reached twice changes nothing."""
    nodes, goals, ground, tree = search.nodes, search.goals, search.ground, search.tree
    goal = tree.header[slot, GOAL]
    before = NONE
    for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
        area = nodes.area[goals.piece_polygon[piece]]
        if area == before:
            continue
        before = area
        for node in range(nodes.start[area], nodes.start[area + 1]):
            entry = nodes.twin[node]
            point = nodes.point[entry]
            if ground.stamp[slot, point] == ground.header[slot, GENERATION]:
                reach(
                    tree, slot, entry, nodes.place[entry, 0], nodes.place[entry, 1],
                    ground.cost[slot, point], AT_GOAL,
                )  # fmt: skip
    tree.header[slot, IS_SEEDED] = 1


@lean_kernel
def _search_ground(search, slot, x, y, polygon):
    """Begin a search over ground from the goal to a point (m)."""
    header, width = search.tree.header, search.tree.measure[slot, WIDTH]
    begin_search(
        search.ground, slot, search.mesh, search.goals, search.points, search.scratch, header[slot, GOAL],
        width, x, y, polygon, 0,
    )  # fmt: skip


@lean_kernel
def _begin_in_area(search, slot):
    """Go on with what is to be done once the tree has begun."""
    nodes, goals, goal = search.nodes, search.goals, search.tree.header[slot, GOAL]
    if search.tree.header[slot, START_POLYGON] < 0:
        search.state[slot, PHASE] = OVER_AREAS
        return
    for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
        if nodes.area[goals.piece_polygon[piece]] == search.state[slot, START_AREA]:
            search.state[slot, MARK] += 1
            search.marks[slot, search.state[slot, START_AREA]] = search.state[slot, MARK]
            _search_ground(
                search, slot, search.tree.measure[slot, START_X], search.tree.measure[slot, START_Y],
                search.tree.header[slot, START_POLYGON],
            )  # fmt: skip
            search.state[slot, PHASE] = IN_AREA
            return
    _begin_from_start(search, slot)


@lean_kernel
def _begin_from_start(search, slot):
    measure, ground = search.tree.measure, search.ground
    begin_flood(ground, slot, measure[slot, WIDTH])
    begin_at_start(
        ground, slot, search.mesh, search.points, search.nodes, measure[slot, START_X],
        measure[slot, START_Y], search.tree.header[slot, START_POLYGON], FORWARDS,
    )  # fmt: skip
    search.state[slot, PHASE] = FROM_START


@inlined_kernel
def _consider(search, slot, node):
    """Take a node that leaves the area of the start as the first of the path if that is the best so far."""
    tree, ground, point = search.tree, search.ground, search.nodes.point[node]
    if ground.stamp[slot, point] != ground.header[slot, GENERATION]:
        return
    total, best = tree.cost[slot, node] + ground.cost[slot, point], tree.measure[slot, BEST_TOTAL]
    first = tree.header[slot, BEST_NODE]
    if total < best or (total == best and (first == NO_NODE or node < first)):
        tree.measure[slot, BEST_TOTAL], tree.header[slot, BEST_NODE] = total, node


@lean_kernel
def _begin_over_areas(search, slot):
    """Look at what the tree knows already of the nodes that leave the area of the start."""
    nodes, tree, area = search.nodes, search.tree, search.state[slot, START_AREA]
    for node in range(nodes.start[area], nodes.start[area + 1]):
        if tree.stamp[slot, node] == tree.header[slot, GENERATION] and tree.place[slot, node] == NOT_IN_HEAP:
            _consider(search, slot, node)
    search.state[slot, PHASE] = OVER_AREAS


@lean_kernel
def _over_areas(search, slot, grant):
    """Go on from node to node; return the expansions made."""
    nodes, tree, state = search.nodes, search.tree, search.state
    header, area, used = tree.header, state[slot, START_AREA], 0
    cost = search.cost[state[slot, LAYER]]
    while used < grant:
        if header[slot, HEAP_SIZE] == 0 or tree.bound[slot, tree.heap[slot, 0]] > tree.measure[
            slot, BEST_TOTAL
        ] * (1.0 + TIE_SLACK):
            state[slot, PHASE] = ENDED
            break
        node = pop_first(tree, slot)
        used += 1
        leaves = nodes.leaves[node]
        if leaves == area:
            _consider(search, slot, node)
        first, last = nodes.start[leaves], nodes.start[leaves + 1]
        at = search.cost_start[leaves] + (node - first) * (last - first)
        so_far = tree.cost[slot, node]
        for place in range(last - first):
            through = cost[at + place]
            if through < np.inf:
                before = nodes.twin[first + place]
                reach(
                    tree, slot, before, nodes.place[before, 0], nodes.place[before, 1], so_far + through, node
                )
    header[slot, EXPANSIONS] += used
    return used


@lean_kernel
def _begin_on_ground(search, slot):
    """Begin the search of the ground of the areas that the path leads through; of all, if there is none."""
    state, nodes, tree, mesh, goals = search.state, search.nodes, search.tree, search.mesh, search.goals
    node, count = np.int64(tree.header[slot, BEST_NODE]), 0
    area = state[slot, START_AREA]
    while node >= 0:
        search.gate[slot, count] = search.points.edge[nodes.point[node]]
        count += 1
        area = nodes.enters[node]
        if tree.parent[slot, node] == AT_GOAL:
            break
        node = np.int64(tree.parent[slot, node])
    state[slot, AREAS], state[slot, LAST] = count + 1, count
    state[slot, AT_A_TIME] = search.workspace
    if tree.measure[slot, BEST_TOTAL] == np.inf:
        state[slot, AREAS] = 0
    elif count > 0:
        x, y, goal = nodes.place[node, 0], nodes.place[node, 1], tree.header[slot, GOAL]
        least, to_x, to_y = np.inf, x, y
        for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
            if nodes.area[goals.piece_polygon[piece]] == area:
                px, py = nearest_in_piece(goals, piece, x, y)
                apart = (px - x) * (px - x) + (py - y) * (py - y)
                if apart < least:
                    least, to_x, to_y = apart, px, py
        measure = tree.measure
        cross_straight(
            mesh, search.gate[slot], count, 0.5 * measure[slot, WIDTH], measure[slot, START_X],
            measure[slot, START_Y], to_x, to_y, search.crossing[slot],
        )  # fmt: skip
    _search_from_goal(search, slot)


@lean_kernel
def _search_from_goal(search, slot):
    """Search the last areas of the path, with the goal, first."""
    search.state[slot, LAST], search.state[slot, KNOWN] = search.state[slot, AREAS] - 1, 0
    search.known_cost[slot], search.state[slot, PIECE] = 0.0, NONE
    x, y, polygon = _where_to(search, slot)
    _search_ground(search, slot, x, y, polygon)
    search.state[slot, PHASE] = ON_GROUND


@lean_kernel
def _where_to(search, slot):
    """Mark the next areas; return the point where the path comes into the first of them, and its polygon:
    the start, or where the straight path crosses into it.
    """
    state, mesh, measure = search.state, search.mesh, search.tree.measure
    state[slot, MARK] += 1
    state[slot, FIRST] = max(0, state[slot, LAST] - state[slot, AT_A_TIME] + 1)
    for number in range(state[slot, FIRST], state[slot, LAST] + 1):
        area = state[slot, START_AREA]
        if number > 0:
            area = search.nodes.area[mesh.edge_polygon[mesh.edge_twin[search.gate[slot, number - 1]]]]
        search.marks[slot, area] = state[slot, MARK]
    if state[slot, FIRST] == 0:
        polygon = np.int64(search.tree.header[slot, START_POLYGON])
        return measure[slot, START_X], measure[slot, START_Y], polygon
    before = state[slot, FIRST] - 1
    polygon = np.int64(mesh.edge_polygon[mesh.edge_twin[search.gate[slot, before]]])
    return search.crossing[slot, before, 0], search.crossing[slot, before, 1], polygon


@lean_kernel
def _keep_found(search, slot):
    """Keep what was found of the path up to the first of the areas that were searched, and go on from there;
    return False where it does not come out of that.
    """
    state, ground, points, mesh = search.state, search.ground, search.points, search.mesh
    first = state[slot, FIRST]
    area = search.nodes.area[mesh.edge_polygon[mesh.edge_twin[search.gate[slot, first - 1]]]]
    node, leaves, kept = np.int64(ground.header[slot, BEST_NODE]), np.int64(-1), 0
    while node >= 0:
        kept += 1
        if search.nodes.area[mesh.edge_polygon[points.edge[node]]] == area:
            leaves, kept = node, 0
        node = np.int64(ground.parent[slot, node])
    if leaves < 0:
        return False
    if state[slot, PIECE] == NONE:
        state[slot, PIECE] = -2 - node
    search.known_cost[slot] += ground.cost[slot, leaves]
    place, node = state[slot, KNOWN] + kept, np.int64(ground.parent[slot, leaves])
    state[slot, KNOWN] = place
    while node >= 0:
        place -= 1
        search.path[slot, place] = points.edge[node]
        node = np.int64(ground.parent[slot, node])
    state[slot, LAST] = first
    x, y, polygon = _where_to(search, slot)
    begin_at_point(ground, slot, points, leaves, x, y, polygon)
    return True


@inlined_kernel
def _is_as_promised(search, slot):
    """Return whether the path costs about what that over areas does; over all of its areas it does."""
    if search.state[slot, AT_A_TIME] >= search.state[slot, AREAS]:
        return True
    total = search.known_cost[slot] + search.ground.measure[slot, BEST_TOTAL]
    return total <= MOST_COST * search.tree.measure[slot, BEST_TOTAL]


@lean_kernel
def advance_area_search(search, slot, grant):
    """Go on with a search for at most `grant` expansions.

    Parameters
    ----------
    search : AreaSearch
    slot : int
    grant : int

    Returns
    -------
    int
        Expansions made, of points and of nodes. The slot's PHASE says whether the search has ended; STATUS of
        its `ground` how.

    Notes
    -----
    Twin: `tests/reference/hierarchy.py`.
    """
    state, ground, tree, used = search.state, search.ground, search.tree, 0
    while used < grant and state[slot, PHASE] != ENDED:
        phase = state[slot, PHASE]
        if phase == FROM_GOAL or phase == FROM_START:
            made = flood_on(
                ground, slot, search.mesh, search.goals, search.points, search.nodes, search.scratch,
                BACKWARDS if phase == FROM_GOAL else FORWARDS, grant - used,
            )  # fmt: skip
            if phase == FROM_GOAL:
                tree.header[slot, EXPANSIONS] += made
            if ground.header[slot, HEAP_SIZE] == 0 and ground.header[slot, NEXT_PIECE] == NONE:
                if phase == FROM_GOAL:
                    _seed_tree(search, slot)
                    _begin_in_area(search, slot)
                else:
                    _begin_over_areas(search, slot)
            used += made
        elif phase == OVER_AREAS:
            used += _over_areas(search, slot, grant - used)
            if state[slot, PHASE] == ENDED and tree.header[slot, START_POLYGON] >= 0:
                _begin_on_ground(search, slot)
        else:
            is_anywhere = phase == ON_GROUND and state[slot, AREAS] == 0
            is_last = phase == IN_AREA or state[slot, FIRST] == 0
            used += search_on(
                ground, slot, search.mesh, search.goals, search.points, search.nodes, search.scratch,
                search.marks[slot], 0 if is_anywhere else state[slot, MARK],
                is_last and (phase == IN_AREA or state[slot, PIECE] == NONE), grant - used,
            )  # fmt: skip
            status = ground.header[slot, STATUS]
            if status == PENDING:
                continue
            if phase == IN_AREA:
                if status == FOUND:
                    tree.measure[slot, BEST_TOTAL] = ground.measure[slot, BEST_TOTAL]
                _begin_from_start(search, slot)
            elif is_anywhere or (status == FOUND and is_last and _is_as_promised(search, slot)):
                state[slot, PHASE] = ENDED
            elif status != FOUND or is_last or not _keep_found(search, slot):
                # Gaps beside a crossing, or detours: all areas of the path at once; if that is none, all
                # ground.
                if state[slot, AT_A_TIME] < state[slot, AREAS]:
                    state[slot, AT_A_TIME] = state[slot, AREAS]
                else:
                    state[slot, AREAS] = 0
                _search_from_goal(search, slot)
    state[slot, MADE] += used
    state[slot, SINCE] += used
    return used
