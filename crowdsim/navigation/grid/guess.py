"""Guesses over cells while a path is searched for ([Norberg 2004], section 3.1);
what was walked is joined with the path that is found in `guess_join`.

An agent commits to a cell beside its patch, in a patch that it has not visited on this guess and that is no
dead end in view, and walks to it; in the next patch it commits anew. Where none is left it goes back to the
patch before.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.grid.cascade import nearest_walkable
from crowdsim.navigation.grid.ground import (
    TOUCH_M,
    Ground,
    beside,
    cell_at,
    centre_of,
    is_on_grid,
    plan_of,
)
from crowdsim.navigation.grid.patches import (
    BESIDE,
    OUT,
    SIDE_BLOCKS,
    SIDE_ROOM,
    list_patch,
    list_steps,
    open_steps,
    steps_out,
    unlist,
)
from crowdsim.navigation.grid.search import END_X, END_Y, NEED, START_X, START_Y, new_generation
from crowdsim.navigation.grid.sight import copy_waypoints, is_in_sight, pull_taut

# In place of a cell: nothing chosen yet, nowhere left to go, to the goal.
UNDECIDED, STAY, TO_GOAL = -1, -2, -3
# In place of the patch before: none, as the guess began here; none, as it was given up from outside.
NOWHERE, GIVEN_UP = -1, -2


class GuessGrid(NamedTuple):
    """What all guesses are made on.

    Attributes
    ----------
    ground : Ground
    side : int, cells
        Of a block.
    rings : int
    step, trim : float, cells
        See `nearest_walkable`, `is_in_sight`, `pull_taut`.
    pole : (p, 2) float64, m
        On the sheet, as all places are.
    goal_start : (g + 1,) int32
        Goal i has the pieces ``goal_start[i]:goal_start[i + 1]``, whose middles are `pole`.
    """

    ground: Ground
    side: int
    rings: int
    step: float
    trim: float
    pole: NDArray[np.float64]
    goal_start: NDArray[np.int32]


class Guessing(NamedTuple):
    """Agents on guesses.

    Attributes
    ----------
    place : (r,) int64
        The guess of each agent.
    leads : (r,) uint8
        0 for agents that keep to the path that they had: their trail is noted, and nothing chosen.
    goal : (r,) int32
    need : (r,) float64, m
        Clearance that cells have to exceed, see `Grid.need`.
    position, toward : (r, 2) float64, m
        Where they are, and the point that they walk to.
    is_done : (r,) uint8
        1 for agents that are at their last waypoint.
    """

    place: NDArray[np.int64]
    leads: NDArray[np.uint8]
    goal: NDArray[np.int32]
    need: NDArray[np.float64]
    position: NDArray[np.float64]
    toward: NDArray[np.float64]
    is_done: NDArray[np.uint8]


class CellGuess(NamedTuple):
    """What is known of guesses; row i belongs to guess i, nodes are those of
    `crowdsim.navigation.grid.ground`.

    Attributes
    ----------
    to : (k,) int64
        The cell beside its patch that an agent has committed to; UNDECIDED, STAY or TO_GOAL.
    at : (k,) int64
        Which of the patches that it has visited it is in; NOWHERE before the first look.
    cell, last : (k,) int64
        The cell where it was at the last look, and the last one in the patch `at`; NOWHERE before the first.
    since : (k,) int64
        The tick in which it entered `cell`.
    known : (k,) int64
        How many patches there are.
    patch : (k, m) int32
        Those that are out of question for another visit, each by its lowest node: visited, or given up.
    parent : (k, m) int32
        From which of them the agent came there first; NOWHERE, or GIVEN_UP.
    entry, origin : (k, m) int32
        The first cell there, and the last one in the patch before.
    """

    to: NDArray[np.int64]
    at: NDArray[np.int64]
    cell: NDArray[np.int64]
    last: NDArray[np.int64]
    since: NDArray[np.int64]
    known: NDArray[np.int64]
    patch: NDArray[np.int32]
    parent: NDArray[np.int32]
    entry: NDArray[np.int32]
    origin: NDArray[np.int32]


@inlined_kernel
def _place_of(guess, k, patch):
    """Return which of the known patches of a guess one is; -1 if none."""
    for place in range(guess.known[k]):
        if guess.patch[k, place] == patch:
            return place
    return -1


@inlined_kernel
def _note(guess, k, patch, parent, entry, origin):
    """Note a patch; return its place."""
    place = guess.known[k]
    guess.patch[k, place], guess.parent[k, place], guess.entry[k, place], guess.origin[k, place] = (
        patch,
        parent,
        entry,
        origin,
    )
    guess.known[k] = place + 1
    return place


@inlined_kernel
def _to_nearest(grid, goal, x, y):
    """Return the distance (m) in plan to the nearest of the poles of a goal."""
    least, y = np.inf, plan_of(grid.ground, y)
    for piece in range(grid.goal_start[goal], grid.goal_start[goal + 1]):
        least = min(least, hypot(grid.pole[piece, 0] - x, plan_of(grid.ground, grid.pole[piece, 1]) - y))
    return least


@inlined_kernel
def _piece_in(grid, goal, patch, slots, patches):
    """Return the first piece of a goal whose cell is in a listed patch, and that cell; -1, -1 if none is."""
    for piece in range(grid.goal_start[goal], grid.goal_start[goal + 1]):
        node = nearest_walkable(slots, 0, grid.ground, grid.pole[piece, 0], grid.pole[piece, 1], grid.rings)
        if node >= 0 and patches.patch[node] == patch:
            return np.int64(piece), np.int64(node)
    return np.int64(-1), np.int64(-1)


@lean_kernel
def is_dead_end(grid, need, goal, guess, k, here, patch, total, slots, patches):
    """Return whether a patch leads on to no more than a side room without the goal,
    and how many cells are listed then.

    Parameters
    ----------
    grid : GuessGrid
    need : float, m
    goal : int
    guess : CellGuess
    k : int
        See `choose_cell`.
    here : int
        The patch in which the agent is. It is not gone through, nor are its other neighbours, which can be
        gone to at once, nor those that are known.
    patch : int
        One of its neighbours, which are all listed.
    total : int
    slots : GridSlots
    patches : Patches

    Notes
    -----
    Twin: `tests/reference/cell_guess.py`.
    """
    ground, side, room = grid.ground, grid.side, patches.room
    room[0] = patch
    count, read, cells = 1, 0, 0
    while read < count:
        mine = np.int64(room[read])
        read += 1
        cells += patches.size[mine]
        if cells > SIDE_BLOCKS * side * side or _piece_in(grid, goal, mine, slots, patches)[0] >= 0:
            return False, total
        for place in range(patches.first[mine], patches.first[mine] + patches.size[mine]):
            node = np.int64(patches.queue[place])
            steps = steps_out(ground, need, side, node)
            for d in range(8):
                if steps >> d & 1 == 0:
                    continue
                there = np.int64(beside(ground, node, d))
                if patches.patch[there] < 0:
                    total = list_patch(ground, need, side, there, patches, total)
                beyond = patches.patch[there]
                is_new = (
                    beyond != here and patches.flag[beyond] & BESIDE == 0 and _place_of(guess, k, beyond) < 0
                )
                for other in range(count):
                    is_new = is_new and room[other] != beyond
                if is_new and count == SIDE_ROOM:
                    return False, total
                if is_new:
                    room[count] = beyond
                    count += 1
    return True, total


@lean_kernel
def choose_cell(grid, need, goal, x, y, guess, k, here, total, slots, patches):
    """Choose where an agent goes from its patch:
    to the cell beside it that brings it nearest to the goal for each metre there.

    Cells in patches that are known, or are dead ends, do not count.

    Parameters
    ----------
    grid : GuessGrid
    need : float, m
    goal : int
    x, y : float, m
        Where the agent is.
    guess : CellGuess
    k : int
    here : int
        Its patch, which is listed.
    total : int
        How many cells are listed.
    slots : GridSlots
        For this agent.
    patches : Patches

    Returns
    -------
    to, leave, piece, total : int
        The cell, and the cell of the patch beside it; TO_GOAL, the cell of the goal and its piece where that
        is in the patch; UNDECIDED if none is left. Of equals the lowest cell. And how many are listed now.

    Notes
    -----
    Twin: `tests/reference/cell_guess.py`.
    """
    ground, side = grid.ground, grid.side
    piece, node = _piece_in(grid, goal, here, slots, patches)
    if piece >= 0:
        return np.int64(TO_GOAL), node, piece, total
    if grid.goal_start[goal] == grid.goal_start[goal + 1]:
        return np.int64(UNDECIDED), np.int64(UNDECIDED), np.int64(-1), total
    for place in range(patches.first[here], patches.first[here] + patches.size[here]):
        node = np.int64(patches.queue[place])
        steps = steps_out(ground, need, side, node)
        for d in range(8):
            if steps >> d & 1:
                there = np.int64(beside(ground, node, d))
                if patches.patch[there] < 0:
                    total = list_patch(ground, need, side, there, patches, total)
                beyond = np.int64(patches.patch[there])
                if patches.flag[beyond] == 0:
                    patches.flag[beyond] = BESIDE | (OUT if _place_of(guess, k, beyond) >= 0 else 0)
    left = _to_nearest(grid, goal, x, y)
    while True:
        to, leave, best = np.int64(UNDECIDED), np.int64(UNDECIDED), -np.inf
        for place in range(patches.first[here], patches.first[here] + patches.size[here]):
            node = np.int64(patches.queue[place])
            steps = steps_out(ground, need, side, node)
            for d in range(8):
                if steps >> d & 1 == 0:
                    continue
                there = np.int64(beside(ground, node, d))
                if patches.flag[patches.patch[there]] & OUT:
                    continue
                px, py = centre_of(ground, there)
                away = hypot(px - x, plan_of(ground, py) - plan_of(ground, y))
                score = (left - _to_nearest(grid, goal, px, py)) / max(away, TOUCH_M)
                if score > best or (score == best and (there < to or (there == to and node < leave))):
                    to, leave, best = there, node, score
        if to < 0:
            return to, leave, np.int64(-1), total
        is_end, total = is_dead_end(
            grid, need, goal, guess, k, here, np.int64(patches.patch[to]), total, slots, patches
        )
        if not is_end:
            return to, leave, np.int64(-1), total
        patches.flag[patches.patch[to]] |= OUT


@inlined_kernel
def is_line_free(slots, grid, x, y, to_x, to_y):
    """Return whether a line is free; none is that leaves the grid."""
    ax, ay = cell_at(grid.ground, x, y)
    bx, by = cell_at(grid.ground, to_x, to_y)
    return (
        is_on_grid(grid.ground, ax, ay)
        and is_on_grid(grid.ground, bx, by)
        and is_in_sight(slots, 0, grid.ground, x, y, to_x, to_y, grid.step)
    )


@inlined_kernel
def _beside(ground, need, to, here, patches):
    """Return the lowest cell of a listed patch from which a step leads to a cell; -1 if there is none."""
    steps = open_steps(ground, need, to)
    found = np.int64(-1)
    for d in range(8):
        node = np.int64(beside(ground, to, d))
        if steps >> d & 1 and patches.patch[node] == here and (found < 0 or node < found):
            found = node
    return found


@inlined_kernel
def pull_path(slots, grid, count, x, y, end_x, end_y, out, fill):
    """Write the waypoints of a path over cells, ``slots.heap_entry[0, :count]``,
    from a place to an end to ``out[fill:]``; return how far that is filled.
    """
    slots.measure[0, START_X], slots.measure[0, START_Y] = x, y
    slots.measure[0, END_X], slots.measure[0, END_Y] = end_x, end_y
    kept = pull_taut(slots, 0, grid.ground, count, grid.step, grid.trim)
    copy_waypoints(slots, 0, grid.ground, kept, out, fill)
    return fill + kept


@inlined_kernel
def _enter_patch(guess, k, here, node):
    """Note that an agent is in another patch than at the last look."""
    found = _place_of(guess, k, here)
    if found < 0:
        found = _note(guess, k, here, guess.at[k], node, guess.last[k])
    elif guess.parent[k, found] == GIVEN_UP:
        guess.parent[k, found], guess.entry[k, found], guess.origin[k, found] = (
            guess.at[k],
            node,
            guess.last[k],
        )
    guess.at[k] = found
    guess.to[k] = UNDECIDED


@lean_kernel
def _lay_waypoints(grid, agents, row, guess, here, total, slots, patches, out, fill):
    """Choose where an agent goes, or keep to what it chose; write the waypoints there to ``out[fill:]``.

    Returns
    -------
    laid, total : int
        How many waypoints; how many cells are listed now.
    """
    ground, k, need, x, y = (
        grid.ground,
        agents.place[row],
        agents.need[row],
        agents.position[row, 0],
        agents.position[row, 1],
    )
    to, leave, piece, at = guess.to[k], np.int64(-1), np.int64(-1), guess.at[k]
    is_entered_here = patches.patch[guess.entry[k, at]] == here
    if to >= 0:  # pushed off its path there
        leave = _beside(ground, need, to, here, patches)
        if leave < 0 and guess.origin[k, at] == to and is_entered_here:
            leave = np.int64(guess.entry[k, at])
    if leave < 0:
        to, leave, piece, total = choose_cell(
            grid, need, agents.goal[row], x, y, guess, k, here, total, slots, patches
        )
    if to == UNDECIDED and guess.parent[k, at] >= 0 and is_entered_here:
        to, leave = np.int64(guess.origin[k, at]), np.int64(guess.entry[k, at])
    guess.to[k] = STAY if to == UNDECIDED else to
    if to == UNDECIDED:
        return np.int64(0), total
    count = list_steps(patches, leave, slots.heap_entry[0], 0)
    end_x, end_y = centre_of(ground, leave)
    if to == TO_GOAL:
        end_x, end_y = grid.pole[piece, 0], grid.pole[piece, 1]
    elif to != leave:
        slots.heap_entry[0, count] = to
        count += 1
        end_x, end_y = centre_of(ground, to)
    return np.int64(pull_path(slots, grid, count, x, y, end_x, end_y, out, fill) - fill), total


@lean_kernel
def guess_over_cells(begin, grid, agents, tick, patience, guess, slots, patches, laid, out):
    """Look where agents are, and let those that are in another patch choose.

    Parameters
    ----------
    begin : int
        The first agent to look at.
    grid : GuessGrid
    agents : Guessing
    tick, patience : int
        Now, and ticks in one cell after which a choice is given up.
    guess : CellGuess
        In and out; there has to be room for two patches more for each.
    slots : GridSlots
        One, scratch.
    patches : Patches
    laid : (r,) int64
        Receives how many waypoints each is to walk along now, 0 to stay, or -1 where it goes on as it does.
    out : (w, 2) float64, m
        Receives them, one agent's after the other's.

    Returns
    -------
    int
        The agent to go on with: all of them, or the first for which there was no room in `out`.

    Notes
    -----
    Cost: some 0.1 us an agent in the cell where it was, 5 us for another cell, 50 us for a choice. Source:
    [Norberg 2004], section 3.1. Twin: `tests/reference/cell_guess.py`.
    """
    ground, side = grid.ground, grid.side
    new_generation(slots, 0)
    fill = 0
    for row in range(begin, agents.place.size):
        if fill + side * side + 2 > out.shape[0]:
            return row
        k, x, y, need, leads = (
            agents.place[row],
            agents.position[row, 0],
            agents.position[row, 1],
            agents.need[row],
            agents.leads[row] == 1,
        )
        laid[row] = -1
        slots.measure[0, NEED] = need
        node = np.int64(nearest_walkable(slots, 0, ground, x, y, grid.rings))
        has_moved = node != guess.cell[k]
        if has_moved:
            guess.since[k] = tick
        gives_up = (
            leads and guess.to[k] >= 0 and (agents.is_done[row] == 1 or tick - guess.since[k] >= patience)
        )
        if node < 0 or not (has_moved or gives_up or (leads and guess.to[k] == UNDECIDED)):
            continue
        total = list_patch(ground, need, side, node, patches, 0)
        here = np.int64(patches.patch[node])
        if guess.to[k] >= 0 and patches.patch[guess.to[k]] < 0:
            total = list_patch(ground, need, side, guess.to[k], patches, total)
        sees = (
            guess.to[k] != UNDECIDED
            and guess.to[k] != STAY
            and is_line_free(slots, grid, x, y, agents.toward[row, 0], agents.toward[row, 1])
        )
        if guess.at[k] < 0:
            guess.at[k] = _note(guess, k, here, NOWHERE, node, node)
        elif guess.patch[k, guess.at[k]] != here:
            # A line to what was chosen may lead over a corner of another patch, with the patch that it left
            # in sight.
            last_x, last_y = centre_of(ground, guess.last[k])
            is_there = guess.to[k] >= 0 and patches.patch[guess.to[k]] == here
            if (
                is_there
                or gives_up
                or not sees
                or not leads
                or not is_line_free(slots, grid, x, y, last_x, last_y)
            ):
                _enter_patch(guess, k, here, node)
        if guess.patch[k, guess.at[k]] == here:
            guess.last[k] = node
        guess.cell[k] = node
        if gives_up:
            if guess.to[k] >= 0 and _place_of(guess, k, patches.patch[guess.to[k]]) < 0:
                _note(guess, k, patches.patch[guess.to[k]], GIVEN_UP, guess.to[k], guess.to[k])
            guess.to[k], guess.since[k] = UNDECIDED, tick
        if leads and (guess.to[k] == UNDECIDED or (guess.to[k] != STAY and not sees)):
            laid[row], total = _lay_waypoints(
                grid, agents, row, guess, here, total, slots, patches, out, fill
            )
            fill += laid[row]
        unlist(patches, total)
    return agents.place.size
