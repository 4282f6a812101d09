"""Paths that bring an agent as near to its goal as possible, in three steps ([Pathfinding undated],
section 5).

First a path round the stationary agents; where there is none, a path through them; where there is none
either, a path to the cell nearest to the goal among all that can be reached. The outcome is one of: found,
found through agents, nearest reachable, or enclosed, where that cell is the one the agent is on. The second
and the third step are one search, which has seen all that can be reached once it has failed.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.grid.ground import cell_at, cell_of, floor_of_row, home_at, node_at, plan_cell_of
from crowdsim.navigation.grid.obstacles import stamp_stationary
from crowdsim.navigation.grid.search import (
    BEST,
    CHOICES,
    CHOSEN,
    ENCLOSED,
    END_X,
    END_Y,
    EXPANSIONS,
    FOUND,
    FOUND_THROUGH_AGENTS,
    GOAL,
    NEAREST_REACHABLE,
    NEED,
    PENDING,
    STAMPED,
    START,
    START_X,
    START_Y,
    STATUS,
    STEP,
    TREE,
    UNREACHABLE,
    advance_astar,
    begin_astar,
    distance_square,
    is_cut_off,
    is_walkable,
    new_generation,
    take_goals,
)

# Steps of the cascade.
ROUND_AGENTS, THROUGH_AGENTS, NONE_NEAR = 0, 1, 2


@lean_kernel
def nearest_walkable(slots, slot, ground, x, y, rings):
    """Return the walkable cell that a point is moved to ([Pathfinding undated], section 3).

    Parameters
    ----------
    slots : GridSlots
    slot : int
        Says the clearance that the agent needs, and which agents are in the way.
    ground : Ground
    x, y : float, m
    rings : int
        How many square rings of cells round the point's own are looked at.

    Returns
    -------
    int
        Node of the point's own cell if that is walkable; else in the smallest ring with a walkable cell the
        one nearest to the own cell, and of those the one with the lowest number; -1 if there is none.

    Notes
    -----
    Cells of the point's own floor are looked at, and where none of them is walkable, those of floors that
    meet it, in plan. Twin: `tests/reference/grid_cascade.py`.
    """
    floors = ground.floors
    if floors.lift.size > 1:
        node = home_at(ground, x, y)
        if is_walkable(slots, slot, ground, node):
            return node
    cx, cy = cell_at(ground, x, y)
    floor = floor_of_row(ground, cy)
    found = _nearest_in_rows(slots, slot, ground, cx, cy, floors.first[floor], floors.last[floor], rings)
    other, row = 0, cy - floors.lift[floor]
    while found < 0 and other < floors.lift.size:
        if floors.apart[floor, other] == 1:
            first, last, moved = floors.first[other], floors.last[other], row + floors.lift[other]
            found = _nearest_in_rows(slots, slot, ground, cx, moved, first, last, rings)
        other += 1
    return found


@lean_kernel
def _nearest_in_rows(slots, slot, ground, cx, cy, bottom, top, rings):
    """Return the node that `nearest_walkable` finds for a cell among those in rows bottom..top."""
    # Rings that miss them are left out: the first one touches them, the last one holds all of them.
    first = max(0, max(max(-cx, cx - ground.width + 1), max(bottom - cy, cy - top)))
    last = min(rings, max(max(abs(cx), abs(cx - ground.width + 1)), max(abs(cy - bottom), abs(cy - top))))
    for ring in range(first, last + 1):
        best, best_square = -1, 0
        for row in range(max(bottom, cy - ring), min(top, cy + ring) + 1):
            stride = 1 if abs(row - cy) == ring or ring == 0 else 2 * ring
            column = cx - ring
            if column < 0 and stride == 1:
                column = 0
            while column <= min(ground.width - 1, cx + ring):
                square = (column - cx) * (column - cx) + (row - cy) * (row - cy)
                if (
                    column >= 0
                    and (best < 0 or square < best_square)
                    and is_walkable(slots, slot, ground, node_at(ground, column, row))
                ):
                    best, best_square = node_at(ground, column, row), square
                column += stride
        if best >= 0:
            return best
    return -1


@inlined_kernel
def _begin_step(slots, slot, ground, rings):
    """Begin the search of a step of the cascade; one without a start or a goal ends at its first advance."""
    measure, count = slots.measure, slots.header[slot, CHOICES]
    start = nearest_walkable(slots, slot, ground, measure[slot, START_X], measure[slot, START_Y], rings)
    first, goal = 0, np.int64(-1)
    for place in range(count):
        slots.goal[slot, place] = nearest_walkable(
            slots, slot, ground, slots.choice[slot, place, 0], slots.choice[slot, place, 1], rings
        )
        if goal < 0 and slots.goal[slot, place] >= 0:
            first, goal = place, slots.goal[slot, place]
    to_x, to_y, only = slots.choice[slot, first, 0], slots.choice[slot, first, 1], slots.goal[slot, 0]
    x, y = cell_of(ground, goal) if goal >= 0 else cell_at(ground, to_x, to_y)
    if goal < 0 and slots.header[slot, STEP] == ROUND_AGENTS:
        start = -1
    begin_astar(slots, slot, ground, start, goal, x, y)
    if count > 1 and goal >= 0:
        slots.goal[slot, 0] = only
        take_goals(slots, slot, count)


@lean_kernel
def begin_path(slots, slot, ground, need, from_x, from_y, choices, stationary, rings, tree):
    """Set a slot up to look for a path to the nearest on foot of the points in
    ``slots.choice[slot, :choices]``.

    Of those in one cell the first is meant. Where none can be reached, the path ends at the cell nearest to
    any as the crow flies.

    Parameters
    ----------
    slots : GridSlots
    slot : int
    ground : Ground
    need : float, m
        Clearance that a cell has to exceed, see `Grid.need`.
    from_x, from_y : float, m
        Where the agent is; like the points, that may lie off the ground.
    choices : int
    stationary : StationaryDiscs
        Agents in the way, see `stamp_stationary`.
    rings : int
        See `nearest_walkable`.
    tree : int
        Row of ``slots.to_go`` that draws the search if its root is the cell of the goal, grown for this agent
        or a thinner one; -1 for none.
    """
    header, measure = slots.header, slots.measure
    measure[slot, NEED] = need
    measure[slot, START_X], measure[slot, START_Y] = from_x, from_y
    measure[slot, END_X], measure[slot, END_Y] = slots.choice[slot, 0, 0], slots.choice[slot, 0, 1]
    header[slot, CHOICES] = choices
    header[slot, EXPANSIONS], header[slot, TREE] = 0, tree
    new_generation(slots, slot)
    stamp_stationary(slots, slot, ground, stationary)
    header[slot, STEP] = ROUND_AGENTS if header[slot, STAMPED] else NONE_NEAR
    _begin_step(slots, slot, ground, rings)
    if header[slot, STEP] == ROUND_AGENTS and is_cut_off(slots, slot):
        header[slot, STEP] = THROUGH_AGENTS  # no path leads through them, so none leads round them
        new_generation(slots, slot)
        _begin_step(slots, slot, ground, rings)


@lean_kernel
def advance_path(slots, slot, ground, rings, grant):
    """Go on with a pending search for at most `grant` expansions.

    Parameters
    ----------
    slots : GridSlots
    slot : int
    ground : Ground
    rings : int
        As when it began.
    grant : int

    Returns
    -------
    int
        Expansions made. The slot's STATUS is then FOUND, FOUND_THROUGH_AGENTS, NEAREST_REACHABLE, ENCLOSED,
        or still PENDING.

    Notes
    -----
    Source: [Pathfinding undated], section 5. Twin: `tests/reference/grid_cascade.py`.
    """
    header = slots.header
    used = advance_astar(slots, slot, ground, grant)
    if header[slot, STATUS] == UNREACHABLE and header[slot, STEP] == ROUND_AGENTS:
        header[slot, STEP] = THROUGH_AGENTS
        new_generation(slots, slot)
        _begin_step(slots, slot, ground, rings)
        used += advance_astar(slots, slot, ground, grant - used)
    if header[slot, STATUS] == FOUND and header[slot, STEP] == THROUGH_AGENTS:
        header[slot, STATUS] = FOUND_THROUGH_AGENTS
    if header[slot, STATUS] == UNREACHABLE:
        best = header[slot, BEST]
        header[slot, STATUS] = NEAREST_REACHABLE if best >= 0 and best != header[slot, START] else ENCLOSED
    if header[slot, STATUS] != PENDING:
        _note_end(slots, slot, ground)
    return used


@inlined_kernel
def _note_end(slots, slot, ground):
    """Note which of several points a path leads to, or ends nearest to."""
    header = slots.header
    if header[slot, STATUS] == NEAREST_REACHABLE and header[slot, CHOICES] > 1:
        least = np.iinfo(np.int64).max
        for place in range(header[slot, CHOICES]):
            goal = slots.goal[slot, place]
            if goal >= 0:
                gx, gy = plan_cell_of(ground, goal)
                floor = floor_of_row(ground, goal // (ground.width + 2) - 1)
                away = distance_square(ground, header[slot, BEST], gx, gy, floor)
                if away < least:
                    least, header[slot, CHOSEN] = away, place
    chosen = max(header[slot, CHOSEN], 0)
    slots.measure[slot, END_X], slots.measure[slot, END_Y] = (
        slots.choice[slot, chosen, 0],
        slots.choice[slot, chosen, 1],
    )


@inlined_kernel
def last_node(slots, slot):
    """Return the node at the end of the path that a search ended with; -1 if there is no path."""
    status = slots.header[slot, STATUS]
    if status == NEAREST_REACHABLE:
        return slots.header[slot, BEST]
    return slots.header[slot, GOAL] if status == FOUND or status == FOUND_THROUGH_AGENTS else -1
