"""A* over the cells of a grid, resumable and paid in expansions.

Eight neighbours, steps of 1 and sqrt 2 cells, no cutting of corners ([Pathfinding undated], section 3), and
as the bound what is left over free cells, or the straight line. Of nodes with equal bounds the one with the
larger cost goes first, and of those the one with the lower number: the order is total, so a search is the
same in any slices.

A search may have several goals: it ends at the one that is nearest on foot, and is bounded by the nearest as
the crow flies.

All searches live in rows of the same arrays, called slots. What a slot knows of a cell is one number: the
generation of the search that wrote it, the step by which the cell was reached, whether agents stand on it,
and whether it was expanded. A new search counts the generation up and clears nothing.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.codes import PathStatus
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.kernels.growing import lazy_zeros
from crowdsim.navigation.grid.ground import (
    NEAR_BARS,
    TOUCH_M,
    UNEVEN,
    beside,
    floor_of_row,
    plan_cell_of,
    step_cost,
)
from crowdsim.navigation.grid.moves import NO_STEP, STEP_X, STEP_Y, STEPS

SQRT2 = math.sqrt(2.0)
# Cells. Costs of one path added up in another order differ by 1e-13; true costs, a + b sqrt 2, by 1e-7 on
# paths of a million steps.
SAME_COST = 1e-9
# Bounds are rounded to 2 ** -30 cells by adding and subtracting this: bounds that only rounding tells apart
# are then equal, and ties are ties. Below SAME_COST, so that no dearer path is found by it.
ROUND_OFF = 2.0**22

PENDING, FOUND, FOUND_THROUGH_AGENTS, NEAREST_REACHABLE, ENCLOSED, UNREACHABLE = map(
    int, list(PathStatus)[1:7]
)

# Whole numbers of a slot.
(
    STATUS,
    GENERATION,
    HEAP_SIZE,
    EXPANSIONS,
    START,
    GOAL,
    TARGET_X,
    TARGET_Y,
    BEST,
    BEST_SQUARE,
    STAMPED,
    STEP,
    TREE,
    DRAWN_BY,
    CHOICES,
    GOALS,
    CHOSEN,
    TARGET_FLOOR,
    IS_TREE,
    PHASE,
    CURSOR,
    ROW,
) = range(22)
HEADER_SIZE = 22
# What a tree does: clears what is left to go; grows from its roots; looks for a node from which they cannot
# be reached; floods all that can be reached from there, for the nearest to the roots; grows from that.
# Searches that are no trees do none of this.
NO_TREE, CLEARS, GROWS, LOOKS, FLOODS, LEADS = range(6)
# Real numbers of a slot.
NEED, START_X, START_Y, END_X, END_Y, WEIGHT, OCTILE_WEIGHT = range(7)
MEASURE_SIZE = 7

# An entry of a heap: what is left to go in steps of 2 ** -16 cells, as far as there is room, and the node.
NODE_BITS = 31
LEFT_STEPS, MOST_LEFT = 2.0**16, 2.0**32 - 1.0

# What a slot knows of a cell: generation * 64 + step * 4 + TAKEN + CLOSED.
CLOSED, TAKEN, STEP_SHIFT, GENERATION_SHIFT = 1, 2, 2, 6
# In squares of distances (cells): a seam more counts for more than any grid is wide. Beyond so many seams all
# floors are as far.
APART_SHIFT, MOST_APART = 50, 4095
LAST_GENERATION = (1 << 25) - 1  # so that a mark fits into 31 bits; then the marks are cleared once


class GridSlots(NamedTuple):
    """State of all searches; row s belongs to slot s, `n` is the number of nodes.

    Attributes
    ----------
    header : (s, 22) int64
        STATUS .. ROW above. TARGET_X, TARGET_Y are the cell in plan that bounds are measured to, of
        several goals the first one's, TARGET_FLOOR its floor; BEST is the expanded node nearest to a goal,
        BEST_SQUARE the square of its distance, see `distance_square`.
        CHOICES says how many points were asked for, GOALS how many the search heeds (one, or all), CHOSEN
        which of them the path leads to, or as near to as can be. STAMPED counts the cells on which agents
        stand. STEP is the step of the cascade. TREE is the row of `to_go` that may draw the search, DRAWN_BY
        the one that does, or -1: see `crowdsim.navigation.grid.trees`. IS_TREE is 1 where costs are those of
        the paths back; PHASE and CURSOR say how far a tree is, ROW which row of `to_go` it writes.
    measure : (s, 7) float64
        NEED .. END_Y above, m: the clearance that a cell has to exceed, and the points asked for; WEIGHT and
        OCTILE_WEIGHT, those of the straight line and of the path over free cells as heuristics.
    cost : (s, n) float64, cells
        Of the fastest ground: a step costs by the mean slowness of the two cells.
    mark : (s, n) int32
    heap_bound : (s, n + 8) float64, cells
        4-ary heap of open nodes: cost plus what is left to go. A node that got cheaper is in it twice; the
        dearer entry finds it closed.
    heap_entry : (s, n + 8) int64
        What is left to go and the node, see `_entry`; nodes alone once a path was listed
        (`crowdsim.navigation.grid.sight.list_cells`).
    to_go : (t, n) float64, cells
        How far it is from each node to the root of a tree. Where no path leads there: -1 less how far it is
        to the nearest to it of all nodes that can be reached, or infinite.
    root : (t,) int64
        Nodes; -1 for trees that are not grown. Of a tree with several roots the first one.
    goal : (s, c) int64
        Nodes of the goals of each search; -1 for one that has no cell.
    choice : (s, c, 2) float64, m
        The points asked for.
    roots : (t, c) int64
        All roots of each tree, as many as `root_count` says.
    root_count : (t,) int64
    """

    header: NDArray[np.int64]
    measure: NDArray[np.float64]
    cost: NDArray[np.float64]
    mark: NDArray[np.int32]
    heap_bound: NDArray[np.float64]
    heap_entry: NDArray[np.int32]
    to_go: NDArray[np.float64]
    root: NDArray[np.int64]
    goal: NDArray[np.int64]
    choice: NDArray[np.float64]
    roots: NDArray[np.int64]
    root_count: NDArray[np.int64]


BYTES_A_NODE = 28
# From so many nodes on what a slot knows of cells is taken from the system in small pages: the first searches
# of a slot touch pages all over it, and 80 huge ones take 60 ms. Below, huge pages make searches a tenth
# faster.
MOST_IN_HUGE_PAGES = 1 << 20


def make_slots(slots: int, nodes: int, trees: int = 1, choices: int = 1) -> GridSlots:
    """Return idle slots for a grid with `nodes` nodes:
    BYTES_A_NODE for each of them and slot, taken from the system as they are touched.

    Their searches are drawn by what is left over free cells, and have up to `choices` goals. Of trees there
    is room for one at least.
    """
    zeros: Callable[..., NDArray[Any]] = np.zeros if nodes <= MOST_IN_HUGE_PAGES else lazy_zeros
    made = GridSlots(
        np.zeros((slots, HEADER_SIZE), dtype=np.int64),
        np.zeros((slots, MEASURE_SIZE)),
        zeros((slots, nodes), dtype=np.float64),
        zeros((slots, nodes), dtype=np.int32),
        np.zeros((slots, nodes + 8)),
        np.zeros((slots, nodes + 8), dtype=np.int64),
        np.zeros((trees, nodes)),
        np.full(trees, -1, dtype=np.int64),
        np.full((slots, choices), -1, dtype=np.int64),
        np.zeros((slots, choices, 2)),
        np.full((trees, choices), -1, dtype=np.int64),
        np.zeros(trees, dtype=np.int64),
    )
    made.measure[:, OCTILE_WEIGHT] = 1.0
    return made


@inlined_kernel
def _left_to_go(dx, dy, weight, octile_weight):
    """Return the weighed heuristic for a cell that is (dx, dy) cells from the target."""
    ax, ay = abs(dx), abs(dy)
    left = octile_weight * (max(ax, ay) + (SQRT2 - 1.0) * min(ax, ay))
    return left + weight * np.sqrt(dx * dx + dy * dy) if weight > 0.0 else left


@lean_kernel
def _least_left(slots, slot, ground, x, y, weight, octile_weight):
    """Return the weighed heuristic for a cell in plan as far as the nearest of several goals."""
    least = np.inf
    for place in range(slots.header[slot, GOALS]):
        if slots.goal[slot, place] >= 0:
            gx, gy = plan_cell_of(ground, slots.goal[slot, place])
            least = min(least, _left_to_go(float(x - gx), float(y - gy), weight, octile_weight))
    return least


@inlined_kernel
def distance_square(ground, node, target_x, target_y, target_floor):
    """Return the square of the distance in plan from a node to a cell in plan on some floor (cells);
    whatever is on a floor that is more seams away is farther.
    """
    x, y = plan_cell_of(ground, node)
    square = (x - target_x) * (x - target_x) + (y - target_y) * (y - target_y)
    if ground.floors.lift.size > 1:
        floor = floor_of_row(ground, node // (ground.width + 2) - 1)
        square += ground.floors.apart[floor, target_floor] << APART_SHIFT
    return square


@lean_kernel
def least_square(slots, slot, ground, node):
    """Return the least `distance_square` from a node to any of several goals."""
    least = np.iinfo(np.int64).max
    for place in range(slots.header[slot, GOALS]):
        goal = slots.goal[slot, place]
        if goal >= 0:
            gx, gy = plan_cell_of(ground, goal)
            floor = floor_of_row(ground, goal // (ground.width + 2) - 1)
            least = min(least, distance_square(ground, node, gx, gy, floor))
    return least


@inlined_kernel
def _which_goal(slots, slot, node):
    """Return which of several goals a node is; -1 if none."""
    for place in range(slots.header[slot, GOALS]):
        if slots.goal[slot, place] == node:
            return place
    return -1


@inlined_kernel
def _entry(left, node):
    """Return what a node is in a heap: of equal bounds the lesser entry is expanded first, so the node that
    has less left to go, and with it the larger cost, then the lower number.
    """
    return np.int64(min(left * LEFT_STEPS, MOST_LEFT)) << NODE_BITS | node


@inlined_kernel
def _node_of(entry):
    """Return the node of an entry."""
    return entry & ((1 << NODE_BITS) - 1)


@inlined_kernel
def _push(heap_bound, heap_entry, size, bound, entry):
    """Put an entry into a heap of `size`."""
    place = size
    while place > 0:
        above = (place - 1) >> 2
        other = heap_bound[above]
        if other < bound or (other == bound and heap_entry[above] <= entry):
            break
        heap_bound[place] = other
        heap_entry[place] = heap_entry[above]
        place = above
    heap_bound[place] = bound
    heap_entry[place] = entry


@inlined_kernel
def _sink(heap_bound, heap_entry, size, bound, entry):
    """Let an entry sink from the free top of a heap of `size` to where it belongs."""
    place = 0
    while True:
        first = 4 * place + 1
        if first >= size:
            break
        least = heap_bound[first]
        for other in range(first + 1, min(4 * place + 5, size)):
            key = heap_bound[other]
            if key < least or (key == least and heap_entry[other] < heap_entry[first]):
                first, least = other, key
        if bound < least or (bound == least and entry <= heap_entry[first]):
            break
        heap_bound[place] = least
        heap_entry[place] = heap_entry[first]
        place = first
    heap_bound[place] = bound
    heap_entry[place] = entry


@inlined_kernel
def _drop_stale(mark, heap_bound, heap_entry, size):
    """Take the entries of expanded nodes out of a full heap; return its new size.
    What is expanded next does not change, as the order is total.
    """
    kept = 0
    for place in range(size):
        if mark[_node_of(heap_entry[place])] & CLOSED == 0:
            _push(heap_bound, heap_entry, kept, heap_bound[place], heap_entry[place])
            kept += 1
    return kept


@inlined_kernel
def _comes_first(a_cost, a, b_cost, b):
    """Return whether of two cells that are as near to the goal the first one is meant: the cheaper one, of
    equal costs that with the lower number.
    """
    return a_cost < b_cost - SAME_COST or (a_cost < b_cost + SAME_COST and a < b)


@inlined_kernel
def new_generation(slots, slot):
    """Forget all that a slot knows of cells."""
    header = slots.header
    if header[slot, GENERATION] >= LAST_GENERATION:
        slots.mark[slot, :] = 0
        header[slot, GENERATION] = 0
    header[slot, GENERATION] += 1
    header[slot, HEAP_SIZE] = 0
    header[slot, STAMPED] = 0


@inlined_kernel
def is_walkable(slots, slot, ground, node):
    """Return whether a slot's search can use a cell:
    clear of obstacles, and of the agents that it stamped.
    """
    if ground.clearance[node] <= slots.measure[slot, NEED] + TOUCH_M:
        return False
    mark = slots.mark[slot, node]
    return mark >> GENERATION_SHIFT != slots.header[slot, GENERATION] or mark & TAKEN == 0


@inlined_kernel
def is_cut_off(slots, slot):
    """Return whether the tree that draws a search says that no path leads to its goal: it then ends, as
    UNREACHABLE, at the nearest node that can be reached.
    """
    tree = slots.header[slot, DRAWN_BY]
    return tree >= 0 and slots.to_go[tree, slots.header[slot, START]] < 0.0


@lean_kernel
def begin_astar(slots, slot, ground, start, goal, target_x, target_y):
    """Set a slot up for a search; `new_generation` and the stamps of agents come before.

    Parameters
    ----------
    slots : GridSlots
    slot : int
    ground : Ground
    start : int
        A node that is walkable, or -1: the search then ends at once.
    goal : int
        Node to be reached, or -1 for none: the search then expands all it can reach.
    target_x, target_y : int
        Cell of the sheet that the search aims at; the goal's, where there is one.
    """
    header = slots.header
    header[slot, STATUS] = PENDING
    header[slot, START], header[slot, GOAL] = start, goal
    header[slot, TARGET_FLOOR] = floor_of_row(ground, target_y)
    target_y -= ground.floors.lift[header[slot, TARGET_FLOOR]]
    header[slot, TARGET_X], header[slot, TARGET_Y] = target_x, target_y
    header[slot, BEST], header[slot, BEST_SQUARE] = -1, np.iinfo(np.int64).max
    header[slot, HEAP_SIZE] = 0
    header[slot, DRAWN_BY], header[slot, IS_TREE] = -1, 0
    header[slot, GOALS], header[slot, CHOSEN], slots.goal[slot, 0] = 1, 0, goal
    if start < 0:
        return
    tree = header[slot, TREE]
    # Distances to another root would lengthen no path, as they differ by no more than a step costs; but they
    # would draw the search past the goal.
    if (
        tree >= 0
        and goal >= 0
        and slots.root_count[tree] == 1
        and slots.root[tree] == goal
        and slots.to_go[tree, start] < np.inf
    ):
        header[slot, DRAWN_BY] = tree
    x, y = plan_cell_of(ground, start)
    dx, dy = float(x - target_x), float(y - target_y)
    slots.cost[slot, start] = 0.0
    slots.mark[slot, start] = header[slot, GENERATION] << GENERATION_SHIFT | NO_STEP << STEP_SHIFT
    left = _left_to_go(dx, dy, slots.measure[slot, WEIGHT], slots.measure[slot, OCTILE_WEIGHT])
    slots.heap_bound[slot, 0], slots.heap_entry[slot, 0] = left, _entry(left, start)
    header[slot, HEAP_SIZE] = 1


@lean_kernel
def add_start(slots, slot, ground, node):
    """Let the search that `begin_astar` has set up start from another node as well;
    it is not drawn by anything. One it has already is not taken twice.
    """
    header, generation = slots.header, slots.header[slot, GENERATION]
    if slots.mark[slot, node] >> GENERATION_SHIFT == generation:
        return
    slots.cost[slot, node] = 0.0
    slots.mark[slot, node] = generation << GENERATION_SHIFT | NO_STEP << STEP_SHIFT
    size = header[slot, HEAP_SIZE]
    _push(slots.heap_bound[slot], slots.heap_entry[slot], size, 0.0, _entry(0.0, node))
    header[slot, HEAP_SIZE] = size + 1


@lean_kernel
def take_goals(slots, slot, count):
    """Give the search that `begin_astar` has set up the goals that stand in ``slots.goal[slot, :count]``,
    in place of its one.

    Parameters
    ----------
    slots : GridSlots
    slot : int
    count : int
        Two or more. The one given to `begin_astar` was the first that has a cell.
    """
    header = slots.header
    header[slot, GOALS], header[slot, CHOSEN], header[slot, DRAWN_BY] = count, -1, -1
    tree, start = header[slot, TREE], header[slot, START]
    if tree >= 0 and start >= 0 and slots.root_count[tree] == count and slots.to_go[tree, start] < np.inf:
        is_same = True
        for place in range(count):
            is_same = is_same and slots.roots[tree, place] == slots.goal[slot, place]
        if is_same:
            header[slot, DRAWN_BY] = tree


@inlined_kernel
def _steps_from(ground, mark, node, known, generation, stamped, need, takes_all):
    """Return the steps that a search takes from a cell, as bits.

    Steps that another path makes as cheaply are left out, unless a wall between cells may bar that path, or
    `takes_all`: beside the goal, where the path with its diagonal steps first may end in a long straight line
    with many ties, and where a weight above 1 lets cells be reached over dearer paths.
    """
    stride, barred = ground.width + 2, np.int64(ground.bars[node])
    free = 0
    for d in range(8):
        free |= (ground.clearance[node + STEP_Y[d] * stride + STEP_X[d]] > need) << d
    if stamped:
        for d in range(8):
            there = mark[node + STEP_Y[d] * stride + STEP_X[d]]
            if there >> GENERATION_SHIFT == generation and there & TAKEN:
                free &= ~(1 << d)
    is_open = takes_all or barred & NEAR_BARS
    return STEPS[NO_STEP if is_open else known >> STEP_SHIFT & 15, free & ~(barred & 255)]


@lean_kernel
def _expand_uneven(slots, slot, ground, node, size):
    """Take the steps from a cell that lead over seams, or cost by their direction, see `advance_astar`;
    return the size of the heap.
    """
    header, measure = slots.header, slots.measure
    cost, mark, heap_bound, heap_entry = (
        slots.cost[slot],
        slots.mark[slot],
        slots.heap_bound[slot],
        slots.heap_entry[slot],
    )
    generation, need, drawn_by = (
        header[slot, GENERATION],
        measure[slot, NEED] + TOUCH_M,
        header[slot, DRAWN_BY],
    )
    weight, octile_weight = measure[slot, WEIGHT], measure[slot, OCTILE_WEIGHT]
    target_x, target_y = header[slot, TARGET_X], header[slot, TARGET_Y]
    turn = 4 * header[slot, IS_TREE]  # of paths back the steps count in their own direction
    free, x, y = 0, np.int64(0), np.int64(0)
    for d in range(8):
        there = np.int64(beside(ground, node, d))
        is_taken = mark[there] >> GENERATION_SHIFT == generation and mark[there] & TAKEN != 0
        free |= (ground.clearance[there] > need and not is_taken) << d
    steps = STEPS[NO_STEP, free & ~(np.int64(ground.bars[node]) & 255)]
    x, y = plan_cell_of(ground, node)
    for d in range(8):
        if steps >> d & 1 == 0:
            continue
        there = np.int64(beside(ground, node, d))
        total = cost[node] + (SQRT2 if d & 1 else 1.0) * step_cost(ground, node, there, (d + turn) & 7)
        seen = mark[there]
        if seen >> GENERATION_SHIFT == generation and (seen & CLOSED or total >= cost[there] - SAME_COST):
            continue
        cost[there] = total
        mark[there] = generation << GENERATION_SHIFT | d << STEP_SHIFT
        if drawn_by >= 0:
            shift = 1.0 if slots.to_go[drawn_by, node] < 0.0 else 0.0
            left = (weight + octile_weight) * (abs(slots.to_go[drawn_by, there]) - shift)
        elif header[slot, GOALS] > 1:
            left = _least_left(slots, slot, ground, x + STEP_X[d], y + STEP_Y[d], weight, octile_weight)
        else:
            left = _left_to_go(
                float(x + STEP_X[d] - target_x), float(y + STEP_Y[d] - target_y), weight, octile_weight
            )
        bound = (total + left + ROUND_OFF) - ROUND_OFF
        _push(heap_bound, heap_entry, size, bound, _entry(left, there))
        size += 1
    return size


@lean_kernel
def advance_astar(slots, slot, ground, grant):
    """Go on with a pending search for at most `grant` expansions.

    Parameters
    ----------
    slots : GridSlots
    slot : int
    ground : Ground
    grant : int

    Returns
    -------
    int
        Expansions made. The slot's STATUS is then FOUND, UNREACHABLE if all that can be reached was expanded,
        or BEST is known to be the nearest of it, or still PENDING.

    Notes
    -----
    Cost: 0.07 to 0.13 us an expansion. Source: [Pathfinding undated], sections 3 and 5 (the nearest expanded
    cell is kept in BEST). Twin: `tests/reference/grid_search.py`.
    """
    header = slots.header
    cost, mark, heap_bound, heap_entry = (
        slots.cost[slot],
        slots.mark[slot],
        slots.heap_bound[slot],
        slots.heap_entry[slot],
    )
    stride, need = ground.width + 2, slots.measure[slot, NEED] + TOUCH_M
    weight, octile_weight = slots.measure[slot, WEIGHT], slots.measure[slot, OCTILE_WEIGHT]
    goal, target_x, target_y = header[slot, GOAL], header[slot, TARGET_X], header[slot, TARGET_Y]
    generation, stamped, best, best_square = (
        header[slot, GENERATION],
        header[slot, STAMPED] > 0,
        header[slot, BEST],
        header[slot, BEST_SQUARE],
    )
    size, used, status = header[slot, HEAP_SIZE], 0, header[slot, STATUS]
    drawn_by, all_weight, goals = header[slot, DRAWN_BY], weight + octile_weight, header[slot, GOALS]
    to_go, target_floor = slots.to_go[max(drawn_by, 0)], header[slot, TARGET_FLOOR]
    cut_off = is_cut_off(slots, slot)
    shift = 1.0 if cut_off else 0.0
    phase = header[slot, PHASE]
    if phase != NO_TREE:
        to_go = slots.to_go[header[slot, ROW]]
    while status == PENDING:
        if size == 0:
            status = UNREACHABLE
            break
        node = _node_of(heap_entry[0])
        known = mark[node]
        if known & CLOSED == 0 and used >= grant:
            break
        size -= 1
        if size > 0:
            _sink(heap_bound, heap_entry, size, heap_bound[size], heap_entry[size])
        if known & CLOSED:
            continue
        used += 1
        mark[node] = known | CLOSED
        if phase == GROWS:
            to_go[node] = cost[node]
        elif phase == LEADS:
            to_go[node] = -1.0 - cost[node]
        x, y = plan_cell_of(ground, node)
        if goals > 1:
            square = least_square(slots, slot, ground, node)
        else:
            square = distance_square(ground, node, target_x, target_y, target_floor)
        if square < best_square or (
            square == best_square and _comes_first(cost[node], node, cost[best], best)
        ):
            best, best_square = node, square
        if node == goal or (goals > 1 and square == 0):
            status, header[slot, GOAL], header[slot, CHOSEN] = FOUND, node, _which_goal(slots, slot, node)
            break
        if cut_off and to_go[node] == -1.0:
            status = UNREACHABLE
            break
        if size + 8 > heap_bound.size:
            size = _drop_stale(mark, heap_bound, heap_entry, size)
        if ground.bars[node] & UNEVEN:
            size = _expand_uneven(slots, slot, ground, node, size)
            continue
        steps = _steps_from(
            ground, mark, node, known, generation, stamped, need, square <= 2 or all_weight > 1.0
        )
        here, slowness = cost[node], ground.slowness[node]
        is_mixed = ground.bars[node] & NEAR_BARS != 0  # else all around it are as slow
        for d in range(8):
            if steps >> d & 1 == 0:
                continue
            there = node + STEP_Y[d] * stride + STEP_X[d]
            mean = 0.5 * (slowness + ground.slowness[there]) if is_mixed else slowness
            total = here + (SQRT2 if d & 1 else 1.0) * mean
            seen = mark[there]
            if seen >> GENERATION_SHIFT == generation and (seen & CLOSED or total >= cost[there] - SAME_COST):
                continue
            cost[there] = total
            mark[there] = generation << GENERATION_SHIFT | d << STEP_SHIFT
            if drawn_by >= 0:
                left = all_weight * (abs(to_go[there]) - shift)
            elif goals > 1:
                left = _least_left(slots, slot, ground, x + STEP_X[d], y + STEP_Y[d], weight, octile_weight)
            else:
                left = _left_to_go(
                    float(x + STEP_X[d] - target_x), float(y + STEP_Y[d] - target_y), weight, octile_weight
                )
            bound = (total + left + ROUND_OFF) - ROUND_OFF
            _push(heap_bound, heap_entry, size, bound, _entry(left, there))
            size += 1
    header[slot, HEAP_SIZE], header[slot, STATUS] = size, status
    header[slot, BEST], header[slot, BEST_SQUARE] = best, best_square
    header[slot, EXPANSIONS] += used
    return used
