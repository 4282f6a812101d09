"""How far it is from every cell to a goal: one backward search over a grid, for all agents that go there.

Where many go to one cell, a search from it over all cells, once, is what draws their searches instead of the
straight line: A* then goes down the path and expands little else. It is grown for the thinnest agent that
shares it and without the stationary agents, so for all others it is at most too short, and paths are the
shortest as before; of paths that are equally long another one may be taken.

Where no path leads to the goal, agents go to the cell that is nearest to it of all that they can reach. Each
of them would look at all of these. So a tree knows of every part of the ground that is cut off from its goal
which of its cells that is, and how far it is there; of cells that are equally near the nearest on foot.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.navigation.grid.cascade import nearest_walkable
from crowdsim.navigation.grid.grid import Grid
from crowdsim.navigation.grid.ground import TOUCH_M, cell_of, node_at, plan_cell_of
from crowdsim.navigation.grid.points import PointLists
from crowdsim.navigation.grid.search import (
    APART_SHIFT,
    BEST,
    BEST_SQUARE,
    CLEARS,
    CLOSED,
    CURSOR,
    FLOODS,
    GENERATION,
    GENERATION_SHIFT,
    GOALS,
    GROWS,
    IS_TREE,
    LEADS,
    LOOKS,
    NEED,
    OCTILE_WEIGHT,
    PENDING,
    PHASE,
    ROW,
    START,
    STATUS,
    TREE,
    WEIGHT,
    GridSlots,
    add_start,
    advance_astar,
    begin_astar,
    least_square,
    new_generation,
)
from crowdsim.navigation.search.sharing import SharedTrees
from crowdsim.saved import WIDEST_M, Saved

# Agents whose clearances lie within the same step share a tree; smaller gives closer distances for wide ones,
# and more trees.
CLEARANCE_STEP_M = 0.1
MEMORY_BYTES = 256 << 20  # Of all trees, 8 bytes for each cell; one at least.
MOST_TREES = 256
# Requests share from so many on as the grid has times as many cells: a tree looks at all of them, a search at
# some.
CELLS_A_REQUEST = 16384
LEAST_TO_SHARE = 4
LOOKS_AT = 64  # Nodes that are cleared, or looked at, for one expansion.


def trees_that_fit(nodes: int) -> int:
    """Return how many trees there is room for on a grid with so many nodes."""
    return int(min(MOST_TREES, max(1, MEMORY_BYTES // (8 * nodes))))


@lean_kernel
def begin_tree(slots, slot, tree, ground, choice, root_need, need, rings):
    """Set a slot up to find how far it is to a goal, or to the nearest of several, from everywhere.

    Parameters
    ----------
    slots : GridSlots
    slot : int
        Kept for trees.
    tree : int
        Row of ``slots.to_go``.
    ground : Ground
    choice : (c, 2) float64, m
        The goals.
    root_need : float, m
        Clearance with which the cells of the goals are chosen, see `nearest_walkable`.
    need : float, m
        Clearance that cells have to exceed; not above `root_need`.
    rings : int
        See `nearest_walkable`.
    """
    slots.root[tree], slots.root_count[tree] = -1, 0
    slots.header[slot, TREE], slots.header[slot, ROW] = -1, tree
    slots.header[slot, PHASE], slots.header[slot, CURSOR] = CLEARS, 0
    slots.measure[slot, WEIGHT] = slots.measure[slot, OCTILE_WEIGHT] = 0.0
    slots.measure[slot, NEED] = root_need
    new_generation(slots, slot)
    first = np.int64(-1)
    for place in range(choice.shape[0]):
        slots.roots[tree, place] = nearest_walkable(
            slots, slot, ground, choice[place, 0], choice[place, 1], rings
        )
        first = slots.roots[tree, place] if first < 0 else first
    slots.measure[slot, NEED] = need
    cx, cy = cell_of(ground, first) if first >= 0 else (0, 0)
    begin_astar(slots, slot, ground, first, -1, cx, cy)
    slots.header[slot, IS_TREE] = 1
    for place in range(choice.shape[0]):
        if slots.roots[tree, place] >= 0:
            add_start(slots, slot, ground, slots.roots[tree, place])


@lean_kernel
def advance_tree(slots, slot, tree, ground, roots, grant):
    """Go on with a tree for at most `grant` expansions.

    Parameters
    ----------
    slots : GridSlots
    slot, tree : int
    ground : Ground
    roots : int
        How many goals it has.
    grant : int

    Returns
    -------
    used : int
        Expansions made, and what looking at nodes counts as.
    is_grown : bool
        The row of ``slots.to_go`` and its root are then there.

    Notes
    -----
    Twin: `tests/reference/grid_search.py`.
    """
    header, to_go, used = slots.header, slots.to_go[tree], 0
    while True:
        phase = header[slot, PHASE]
        if phase == CLEARS or phase == LOOKS:
            if header[slot, CURSOR] >= to_go.size:
                if phase == LOOKS:
                    slots.root[tree], slots.root_count[tree] = _first_root(slots, tree, roots), roots
                    return used, True
                header[slot, PHASE] = GROWS
                continue
            if used >= grant:
                return used, False
            used += 1
            if phase == CLEARS:
                first = header[slot, CURSOR]
                header[slot, CURSOR] = min(first + LOOKS_AT, to_go.size)
                to_go[first : header[slot, CURSOR]] = np.inf
                continue
            node = _look_on(slots, slot, ground, to_go)
            if node >= 0:
                _begin_flood(slots, slot, tree, ground, roots, node)
                header[slot, PHASE] = FLOODS
            continue
        used += advance_astar(slots, slot, ground, grant - used)
        if header[slot, STATUS] == PENDING:
            return used, False
        if phase == GROWS:
            # without a root nothing is near, and no search is drawn
            header[slot, PHASE], header[slot, CURSOR] = LOOKS, 0 if header[slot, START] >= 0 else to_go.size
        elif phase == FLOODS:
            count = _list_nearest(slots, slot, tree, ground, roots)
            _begin_flood(slots, slot, tree, ground, roots, header[slot, BEST])
            for place in range(1, count + 1):
                add_start(slots, slot, ground, slots.heap_entry[slot, -place])
            header[slot, PHASE] = LEADS
        else:
            header[slot, PHASE] = LOOKS


@lean_kernel
def _first_root(slots, tree, roots):
    """Return the first root of a tree that has a cell; -1 if there is none."""
    for place in range(roots):
        if slots.roots[tree, place] >= 0:
            return slots.roots[tree, place]
    return np.int64(-1)


@lean_kernel
def _look_on(slots, slot, ground, to_go):
    """Look at the next nodes for one of which a tree knows nothing yet; return it, or -1 if there is none
    among them.
    """
    header, need = slots.header, slots.measure[slot, NEED] + TOUCH_M
    first = header[slot, CURSOR]
    last = min(first + LOOKS_AT, to_go.size)
    for node in range(first, last):
        if ground.clearance[node] > need and to_go[node] == np.inf:
            header[slot, CURSOR] = node + 1
            return np.int64(node)
    header[slot, CURSOR] = last
    return np.int64(-1)


@lean_kernel
def _list_nearest(slots, slot, tree, ground, roots):
    """Write all nodes that a flood has reached and that are as near to the roots as its BEST, to the end of
    its heap, which it needs no more; return how many. They lie on circles round the roots.
    """
    header, queue, floors, count = slots.header, slots.heap_entry[slot], ground.floors, 0
    square = header[slot, BEST_SQUARE]
    in_plan = square & ((1 << APART_SHIFT) - 1)
    reach = int(np.sqrt(in_plan))
    for place in range(roots):
        if slots.roots[tree, place] < 0:
            continue
        gx, gy = plan_cell_of(ground, slots.roots[tree, place])
        for dx in range(max(-reach, -gx), min(reach, ground.width - 1 - gx) + 1):
            dy = int(np.sqrt(in_plan - dx * dx))
            if dx * dx + dy * dy != in_plan:
                continue
            for y in (gy - dy, gy + dy):
                for floor in range(floors.lift.size):
                    row = y + floors.lift[floor]
                    if row < floors.first[floor] or row > floors.last[floor]:
                        continue
                    node = node_at(ground, gx + dx, row)
                    mark = slots.mark[slot, node]
                    is_reached = mark >> GENERATION_SHIFT == header[slot, GENERATION] and mark & CLOSED != 0
                    if is_reached and least_square(slots, slot, ground, node) == square:
                        count += 1
                        queue[-count] = node
    return count


@lean_kernel
def _begin_flood(slots, slot, tree, ground, roots, node):
    """Set a slot up to expand all that can be reached from a node; BEST is then the nearest to the roots."""
    new_generation(slots, slot)
    x, y = cell_of(ground, _first_root(slots, tree, roots))
    begin_astar(slots, slot, ground, node, -1, x, y)
    slots.header[slot, IS_TREE], slots.header[slot, GOALS] = 1, roots
    for place in range(roots):
        slots.goal[slot, place] = slots.roots[tree, place]


class CellTrees(SharedTrees):
    """The trees of a planner on a grid; requests share one by the list of their goals and `clearance_class`.

    Parameters
    ----------
    grid : Grid
    slots : GridSlots
        With one slot more than searches have, the last, in which trees grow.
    rings : callable
        Returns how many rings of cells round a goal are looked at.
    lists : PointLists
        Of goals.
    """

    def __init__(self, grid: Grid, slots: GridSlots, rings: Callable[[], int], lists: PointLists) -> None:
        super().__init__(len(slots.root), max(LEAST_TO_SHARE, slots.to_go.shape[1] // CELLS_A_REQUEST))
        self._grid, self._rings, self._lists, self.slots = grid, rings, lists, slots

    @staticmethod
    def clearance_class(need: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each clearance (m) the number of whole steps in it."""
        return np.floor(np.asarray(need, dtype=np.float64) / CLEARANCE_STEP_M)

    def _check(self, saved: Saved, wanted: NDArray[np.float64]) -> None:
        saved.require(wanted.shape[1] == 2, "wanted", "are not lists of goals with steps of clearances")
        number, steps = wanted.T
        is_list = (number >= 0) & (number < self._lists.count) & (number == np.floor(number))
        is_list[is_list] = self._lists.is_list(number[is_list].astype(np.int64))
        saved.require(
            np.column_stack([is_list, (steps >= 0) & (steps <= WIDEST_M)]),
            "wanted",
            "there is no such list, or class of clearances",
        )

    def _begin(self, row: int, wanted: tuple[float, ...], detail: float) -> None:
        number, steps = wanted
        choice, need = self._lists.points(int(number)), min(detail, steps * CLEARANCE_STEP_M)
        begin_tree(
            self.slots,
            len(self.slots.header) - 1,
            row,
            self._grid.ground,
            choice,
            detail,
            need,
            self._rings(),
        )

    def _advance(self, row: int, wanted: tuple[float, ...], grant: int) -> tuple[int, bool]:
        roots = len(self._lists.points(int(wanted[0])))
        used, is_grown = advance_tree(
            self.slots, len(self.slots.header) - 1, row, self._grid.ground, roots, grant
        )
        return int(used), bool(is_grown)
