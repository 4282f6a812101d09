"""Guesses over cells while a path is searched for ([Norberg 2004], section 3.1); what was walked is joined with the path that is found in `guess_join`.

An agent commits to a cell beside its patch, in a patch that it has not come to on this guess and that is no dead end in view, and walks to it; in
the next patch it commits anew. Where none is left it goes back to the patch that it came from.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.grid.cascade import nearest_walkable
from crowdsim.navigation.grid.ground import TOUCH_M, cell_at, centre_of, is_on_grid
from crowdsim.navigation.grid.moves import STEP_X, STEP_Y
from crowdsim.navigation.grid.patches import BESIDE, OUT, SIDE_BLOCKS, SIDE_ROOM, list_patch, list_steps, open_steps, steps_out, unlist
from crowdsim.navigation.grid.search import END_X, END_Y, NEED, START_X, START_Y, new_generation
from crowdsim.navigation.grid.sight import copy_waypoints, is_in_sight, pull_taut

UNDECIDED, STAY, TO_GOAL = -1, -2, -3  # In place of a cell: nothing chosen yet, nowhere left to go, to the goal.
NOWHERE, GIVEN_UP = -1, -2  # In place of the patch before: none, as the guess began here; none, as it was given up from outside.


class CellGuess(NamedTuple):
    """What is known of guesses; row i belongs to guess i, nodes are those of `crowdsim.navigation.grid.ground`.

    Attributes
    ----------
    to : (k,) int64
        The cell beside its patch that an agent has committed to; UNDECIDED, STAY or TO_GOAL.
    at : (k,) int64
        Which of the patches that it has come to it is in; NOWHERE before the first look.
    cell, last : (k,) int64
        The cell where it was at the last look, and the last one in the patch `at`; NOWHERE before the first.
    since : (k,) int64
        The tick in which it came to `cell`.
    known : (k,) int64
        How many patches there are.
    patch : (k, m) int32
        Those that are out of question for another visit, each by its lowest node: come to, or given up.
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
    guess.patch[k, place], guess.parent[k, place], guess.entry[k, place], guess.origin[k, place] = patch, parent, entry, origin
    guess.known[k] = place + 1
    return place


@inlined_kernel
def _to_nearest(pole, first, last, x, y):
    """Return the distance (m) to the nearest of some poles."""
    least = np.inf
    for piece in range(first, last):
        least = min(least, np.hypot(pole[piece, 0] - x, pole[piece, 1] - y))
    return least


@lean_kernel
def is_dead_end(ground, need, side, pole, first, last, rings, guess, k, here, patch, total, slots, patches):
    """Return whether a patch leads on to no more than a side room without the goal, and how many cells are listed then.

    Parameters
    ----------
    ground : Ground
    need : float, m
    side : int, cells
    pole : (p, 2) float64, m
    first, last : int
    rings : int
    guess : CellGuess
    k : int
        See `choose_cell`.
    here : int
        The patch in which the body is. It is not gone through, nor are its other neighbours, which can be gone to at once, nor those that are known.
    patch : int
        One of its neighbours, which are all listed.
    total : int
    slots : GridSlots
    patches : Patches

    Notes
    -----
    Twin: `tests/reference/cell_guess.py`.
    """
    room, stride = patches.room, ground.width + 2
    room[0] = patch
    count, read, cells = 1, 0, 0
    while read < count:
        mine = np.int64(room[read])
        read += 1
        cells += patches.size[mine]
        if cells > SIDE_BLOCKS * side * side:
            return False, total
        for piece in range(first, last):
            node = nearest_walkable(slots, 0, ground, pole[piece, 0], pole[piece, 1], rings)
            if node >= 0 and patches.patch[node] == mine:
                return False, total
        for place in range(patches.first[mine], patches.first[mine] + patches.size[mine]):
            node = np.int64(patches.queue[place])
            steps = steps_out(ground, need, side, node)
            for d in range(8):
                if steps >> d & 1 == 0:
                    continue
                there = node + STEP_Y[d] * stride + STEP_X[d]
                if patches.patch[there] < 0:
                    total = list_patch(ground, need, side, there, patches, total)
                beyond = patches.patch[there]
                is_new = beyond != here and patches.ends[beyond] & BESIDE == 0 and _place_of(guess, k, beyond) < 0
                for other in range(count):
                    is_new = is_new and room[other] != beyond
                if is_new and count == SIDE_ROOM:
                    return False, total
                if is_new:
                    room[count] = beyond
                    count += 1
    return True, total


@lean_kernel
def choose_cell(ground, need, side, pole, first, last, x, y, rings, guess, k, here, total, slots, patches):
    """Choose where a body goes from its patch: to the cell beside it that brings it nearest to the goal for each metre there.

    Cells in patches that are known, or are dead ends, do not count.

    Parameters
    ----------
    ground : Ground
    need : float, m
    side : int, cells
    pole : (p, 2) float64, m
    first, last : int
        The middles of the pieces of the goal are ``pole[first:last]``.
    x, y : float, m
        Where the body is.
    rings : int
        See `nearest_walkable`.
    guess : CellGuess
    k : int
    here : int
        Its patch, which is listed.
    total : int
        How many cells are listed.
    slots : GridSlots
        For this body.
    patches : Patches

    Returns
    -------
    to, leave, piece, total : int
        The cell, and the cell of the patch beside it; TO_GOAL, the cell of the goal and its piece where that is in the patch; UNDECIDED if none is left.
        Of equals the lowest cell. And how many are listed now.

    Notes
    -----
    Twin: `tests/reference/cell_guess.py`.
    """
    stride = ground.width + 2
    for piece in range(first, last):
        node = nearest_walkable(slots, 0, ground, pole[piece, 0], pole[piece, 1], rings)
        if node >= 0 and patches.patch[node] == here:
            return np.int64(TO_GOAL), np.int64(node), np.int64(piece), total
    if first == last:
        return np.int64(UNDECIDED), np.int64(UNDECIDED), np.int64(-1), total
    for place in range(patches.first[here], patches.first[here] + patches.size[here]):
        node = np.int64(patches.queue[place])
        steps = steps_out(ground, need, side, node)
        for d in range(8):
            if steps >> d & 1:
                there = node + STEP_Y[d] * stride + STEP_X[d]
                if patches.patch[there] < 0:
                    total = list_patch(ground, need, side, there, patches, total)
                beyond = np.int64(patches.patch[there])
                if patches.ends[beyond] == 0:
                    patches.ends[beyond] = BESIDE | (OUT if _place_of(guess, k, beyond) >= 0 else 0)
    left = _to_nearest(pole, first, last, x, y)
    while True:
        to, leave, best = np.int64(UNDECIDED), np.int64(UNDECIDED), -np.inf
        for place in range(patches.first[here], patches.first[here] + patches.size[here]):
            node = np.int64(patches.queue[place])
            steps = steps_out(ground, need, side, node)
            for d in range(8):
                there = node + STEP_Y[d] * stride + STEP_X[d]
                if steps >> d & 1 == 0 or patches.ends[patches.patch[there]] & OUT:
                    continue
                px, py = centre_of(ground, there)
                score = (left - _to_nearest(pole, first, last, px, py)) / max(np.hypot(px - x, py - y), TOUCH_M)
                if score > best or (score == best and (there < to or (there == to and node < leave))):
                    to, leave, best = there, node, score
        if to < 0:
            return to, leave, np.int64(-1), total
        is_end, total = is_dead_end(
            ground, need, side, pole, first, last, rings, guess, k, here, np.int64(patches.patch[to]), total, slots, patches
        )  # fmt: skip
        if not is_end:
            return to, leave, np.int64(-1), total
        patches.ends[patches.patch[to]] |= OUT


@inlined_kernel
def is_line_free(slots, ground, x, y, to_x, to_y, step):
    """Return whether a line is free; none is that leaves the grid."""
    ax, ay = cell_at(ground, x, y)
    bx, by = cell_at(ground, to_x, to_y)
    return is_on_grid(ground, ax, ay) and is_on_grid(ground, bx, by) and is_in_sight(slots, 0, ground, x, y, to_x, to_y, step)


@inlined_kernel
def _beside(ground, need, to, here, patches):
    """Return the lowest cell of a listed patch from which a step leads to a cell; -1 if there is none."""
    steps = open_steps(ground, need, to)
    found = np.int64(-1)
    for d in range(8):
        node = to + STEP_Y[d] * (ground.width + 2) + STEP_X[d]
        if steps >> d & 1 and patches.patch[node] == here and (found < 0 or node < found):
            found = node
    return found


@inlined_kernel
def pull_path(slots, ground, count, x, y, end_x, end_y, step, trim, out, fill):
    """Write the waypoints of a path over cells, ``slots.heap_node[0, :count]``, from a place to an end to ``out[fill:]``; return how far that is filled."""
    slots.measure[0, START_X], slots.measure[0, START_Y] = x, y
    slots.measure[0, END_X], slots.measure[0, END_Y] = end_x, end_y
    kept = pull_taut(slots, 0, ground, count, step, trim)
    copy_waypoints(slots, 0, ground, kept, out, fill)
    return fill + kept


@lean_kernel
def guess_over_cells(
    begin, ground, side, pole, goal_start, place, leads, goal, need, position, aim, is_done, tick, patience, rings, step, trim, guess, slots, patches,
    laid, out,
):  # fmt: skip
    """Look where agents have come to, and let those that have come to another patch choose.

    Parameters
    ----------
    begin : int
        The first agent to look at.
    ground : Ground
    side : int, cells
        Of a block.
    pole : (p, 2) float64, m
    goal_start : (g + 1,) int
        Goal i has the pieces ``goal_start[i]:goal_start[i + 1]``, whose middles are `pole`.
    place : (r,) int64
        The guess of each agent.
    leads : (r,) uint8
        0 for agents that keep to the path that they had: their trail is noted, and nothing chosen.
    goal : (r,) int32
    need : (r,) float64, m
    position, aim : (r, 2) float64, m
        Where they are, and what they walk to.
    is_done : (r,) uint8
        1 for agents that have come to their last waypoint.
    tick, patience : int
        Now, and ticks in one cell after which a choice is given up.
    rings : int
    step, trim : float, cells
        See `nearest_walkable`, `is_in_sight`, `pull_taut`.
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
    Cost: some 0.1 us an agent in the cell where it was, 5 us for another cell, 50 us for a choice. Source: [Norberg 2004], section 3.1.
    Twin: `tests/reference/cell_guess.py`.
    """
    new_generation(slots, 0)
    fill = 0
    for row in range(begin, place.size):
        if fill + side * side + 2 > out.shape[0]:
            return row
        k, x, y, laid[row] = place[row], position[row, 0], position[row, 1], -1
        slots.measure[0, NEED] = need[row]
        node = np.int64(nearest_walkable(slots, 0, ground, x, y, rings))
        has_moved = node != guess.cell[k]
        if has_moved:
            guess.since[k] = tick
        gives_up = leads[row] == 1 and guess.to[k] >= 0 and (is_done[row] == 1 or tick - guess.since[k] >= patience)
        if node < 0 or not (has_moved or gives_up or (leads[row] == 1 and guess.to[k] == UNDECIDED)):
            continue
        total = list_patch(ground, need[row], side, node, patches, 0)
        here = np.int64(patches.patch[node])
        if guess.to[k] >= 0 and patches.patch[guess.to[k]] < 0:
            total = list_patch(ground, need[row], side, guess.to[k], patches, total)
        sees = guess.to[k] != UNDECIDED and guess.to[k] != STAY and is_line_free(slots, ground, x, y, aim[row, 0], aim[row, 1], step)
        if guess.at[k] < 0:
            guess.at[k] = _note(guess, k, here, NOWHERE, node, node)
        elif guess.patch[k, guess.at[k]] != here:
            # A line to what was chosen may lead over a corner of another patch, with the patch that it left in sight.
            last_x, last_y = centre_of(ground, guess.last[k])
            is_there = guess.to[k] >= 0 and patches.patch[guess.to[k]] == here
            if is_there or gives_up or not sees or leads[row] == 0 or not is_line_free(slots, ground, x, y, last_x, last_y, step):
                found = _place_of(guess, k, here)
                if found < 0:
                    found = _note(guess, k, here, guess.at[k], node, guess.last[k])
                elif guess.parent[k, found] == GIVEN_UP:
                    guess.parent[k, found], guess.entry[k, found], guess.origin[k, found] = guess.at[k], node, guess.last[k]
                guess.at[k] = found
                guess.to[k] = UNDECIDED
        if guess.patch[k, guess.at[k]] == here:
            guess.last[k] = node
        guess.cell[k] = node
        if gives_up:
            if guess.to[k] >= 0 and _place_of(guess, k, patches.patch[guess.to[k]]) < 0:
                _note(guess, k, patches.patch[guess.to[k]], GIVEN_UP, guess.to[k], guess.to[k])
            guess.to[k], guess.since[k] = UNDECIDED, tick
        if leads[row] == 1 and (guess.to[k] == UNDECIDED or (guess.to[k] != STAY and not sees)):
            first, last = goal_start[goal[row]], goal_start[goal[row] + 1]
            to, leave, piece = guess.to[k], np.int64(-1), np.int64(-1)
            if to >= 0:  # pushed off its path there
                leave = _beside(ground, need[row], to, here, patches)
                if leave < 0 and guess.origin[k, guess.at[k]] == to and patches.patch[guess.entry[k, guess.at[k]]] == here:
                    leave = np.int64(guess.entry[k, guess.at[k]])
            if leave < 0:
                to, leave, piece, total = choose_cell(
                    ground, need[row], side, pole, first, last, x, y, rings, guess, k, here, total, slots, patches
                )  # fmt: skip
            if to == UNDECIDED and guess.parent[k, guess.at[k]] >= 0 and patches.patch[guess.entry[k, guess.at[k]]] == here:
                to, leave = np.int64(guess.origin[k, guess.at[k]]), np.int64(guess.entry[k, guess.at[k]])
            if to == UNDECIDED:
                guess.to[k], laid[row] = STAY, 0
            else:
                count = list_steps(patches, leave, slots.heap_node[0], 0)
                end_x, end_y = centre_of(ground, leave)
                if to == TO_GOAL:
                    end_x, end_y = pole[piece, 0], pole[piece, 1]
                elif to != leave:
                    slots.heap_node[0, count] = to
                    count += 1
                    end_x, end_y = centre_of(ground, to)
                guess.to[k] = to
                laid[row] = pull_path(slots, ground, count, x, y, end_x, end_y, step, trim, out, fill) - fill
                fill += laid[row]
        unlist(patches, total)
    return place.size
