"""Guesses over cells while a path is searched for, and joining them with the path that is found (S0 sections 3.1 and 3.2).

The vertices of S0 are *patches* here: the cells of a square block of the grid that are joined within it. One by one, cells would have an agent fill a dead end
row by row. An agent commits to a cell beside its patch, in a patch that it has not come to on this guess and that is no dead end in view, and walks to it; in
the next patch it commits anew. Where none is left it goes back to the patch that it came from. The *trail* is the row of cells from where it is back to where
its search began.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.grid.cascade import nearest_walkable
from crowdsim.navigation.grid.ground import TOUCH_M, cell_at, cell_of, centre_of, is_on_grid, node_at
from crowdsim.navigation.grid.moves import NO_STEP, STEP_X, STEP_Y, STEPS
from crowdsim.navigation.grid.obstacles import stamp_standers
from crowdsim.navigation.grid.search import END_X, END_Y, EXPANSIONS, FOUND, NEED, START_X, START_Y, STATUS, TREE, advance_astar, begin_astar, new_generation
from crowdsim.navigation.grid.sight import copy_waypoints, is_in_sight, list_cells, pull_taut

BLOCK_M = 4.0  # Side of a block: about a small room. Larger looks at more cells for a choice, smaller leads through a dead end by more turns.
MOST_SIDE = 40  # Cells of a block's side: where cells are small, a choice still looks at no more than 1,600.
SIDE_ROOM, SIDE_BLOCKS = 8, 4  # Patches of a side room, and blocks that would hold its cells: what leads on to no more, and not to the goal, is a dead end
# that one sees from its door. Larger looks at more cells.
BLOCKS = (2 * SIDE_ROOM + 5) ** 2 + 1  # Of which a choice can list cells: side rooms are round the eight round its own; and that of what was chosen before.
VIEW_M = 1.0  # Between two places of a trail from which a path is looked for, and between two of the path. Smaller joins a little sooner and looks more often.
SHORT_CUT = 300  # Expansions that are spent on a shorter path than a joined one that leads back. More delays others, less seldom leads round a block.
BESIDE, OUT = 1, 2
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


class Patches(NamedTuple):
    """Scratch for listing patches.

    Attributes
    ----------
    patch : (n,) int32
        Lowest node of each node's patch; -1, as between two uses, where it was not listed.
    came : (n,) int32
        The node before, on a path of fewest steps from where a listing began.
    queue : (BLOCKS * side * side,) int32
        The nodes that were listed.
    first, size : (n,) int32
        At the lowest node of each patch that is listed: where its cells begin in `queue`, and how many they are.
    ends : (n,) int32
        There, too: BESIDE for the neighbours of a body's patch, with OUT if they are out of question.
    room : (SIDE_ROOM + 1,) int32
        The patches of a side room.
    """

    patch: NDArray[np.int32]
    came: NDArray[np.int32]
    queue: NDArray[np.int32]
    first: NDArray[np.int32]
    size: NDArray[np.int32]
    ends: NDArray[np.int32]
    room: NDArray[np.int32]


def block_side(cell: float) -> int:
    """Return how many cells of a size (m) the side of a block has."""
    return int(min(MOST_SIDE, max(1, round(BLOCK_M / cell))))


def make_patches(nodes: int, side: int) -> Patches:
    """Return scratch for a grid with so many nodes and blocks of so many cells a side."""
    came, first, size, ends = (np.zeros(nodes, dtype=np.int32) for _ in range(4))
    queue, room = np.zeros(BLOCKS * side * side, dtype=np.int32), np.zeros(SIDE_ROOM + 1, dtype=np.int32)
    return Patches(np.full(nodes, -1, dtype=np.int32), came, queue, first, size, ends, room)


@inlined_kernel
def _open_steps(ground, need, node):
    """Return which steps a body can take from a cell, as bits."""
    stride = ground.width + 2
    free = 0
    for d in range(8):
        free |= (ground.clearance[node + STEP_Y[d] * stride + STEP_X[d]] > need + TOUCH_M) << d
    return np.int64(STEPS[NO_STEP, free & ~(np.int64(ground.bars[node]) & 255)])


@lean_kernel
def list_patch(ground, need, side, node, patches, total):
    """List the cells of a node's patch after those that are listed already.

    Parameters
    ----------
    ground : Ground
    need : float, m
        Clearance that a cell has to exceed, see `Grid.need`.
    side : int, cells
        Of a block.
    node : int
        Not listed yet; it need not be walkable.
    patches : Patches
    total : int
        How many are listed.

    Returns
    -------
    int
        How many are listed now; the node is the first of the new ones.

    Notes
    -----
    Cost: some 20 ns a cell. Twin: `tests/reference/cell_guess.py`.
    """
    patch, came, queue, stride = patches.patch, patches.came, patches.queue, ground.width + 2
    begin, read, lowest = total, total, node
    x, y = cell_of(ground, node)
    left, low = x - x % side, y - y % side
    patch[node], came[node], queue[total] = node, node, node
    total += 1
    while read < total:
        here = np.int64(queue[read])
        read += 1
        lowest = min(lowest, here)
        steps = _open_steps(ground, need, here)
        x, y = cell_of(ground, here)
        for k in range(8):
            d = 2 * k if k < 4 else 2 * k - 7  # the straight ones first
            if steps >> d & 1 == 0 or not (0 <= x + STEP_X[d] - left < side and 0 <= y + STEP_Y[d] - low < side):
                continue
            there = here + STEP_Y[d] * stride + STEP_X[d]
            if patch[there] < 0:
                patch[there], came[there], queue[total] = here, here, there
                total += 1
    for k in range(begin, total):
        patch[queue[k]] = lowest
    patches.first[lowest], patches.size[lowest], patches.ends[lowest] = begin, total - begin, 0
    return total


@inlined_kernel
def _unlist(patches, total):
    """Forget what was listed."""
    for k in range(total):
        patches.patch[patches.queue[k]] = -1


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


@inlined_kernel
def _steps_out(ground, need, side, node):
    """Return the steps from a cell that lead to another block, as bits."""
    x, y = cell_of(ground, node)
    x, y = x % side, y % side
    if 0 < x < side - 1 and 0 < y < side - 1:
        return np.int64(0)
    steps, out = _open_steps(ground, need, node), np.int64(0)
    for d in range(8):
        if steps >> d & 1 and not (0 <= x + STEP_X[d] < side and 0 <= y + STEP_Y[d] < side):
            out |= 1 << d
    return out


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
            steps = _steps_out(ground, need, side, node)
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
        steps = _steps_out(ground, need, side, node)
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
            steps = _steps_out(ground, need, side, node)
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
def _sees(slots, ground, x, y, to_x, to_y, step):
    """Return whether a line is free; none is that leaves the grid."""
    ax, ay = cell_at(ground, x, y)
    bx, by = cell_at(ground, to_x, to_y)
    return is_on_grid(ground, ax, ay) and is_on_grid(ground, bx, by) and is_in_sight(slots, 0, ground, x, y, to_x, to_y, step)


@inlined_kernel
def _beside(ground, need, to, here, patches):
    """Return the lowest cell of a listed patch from which a step leads to a cell; -1 if there is none."""
    steps = _open_steps(ground, need, to)
    found = np.int64(-1)
    for d in range(8):
        node = to + STEP_Y[d] * (ground.width + 2) + STEP_X[d]
        if steps >> d & 1 and patches.patch[node] == here and (found < 0 or node < found):
            found = node
    return found


@inlined_kernel
def _list_steps(patches, leave, nodes, fill):
    """Write the cells from where a listing began to one of its cells to ``nodes[fill:]``; return how far that is filled."""
    node, count = leave, 1
    while patches.came[node] != node:
        node = np.int64(patches.came[node])
        count += 1
    node = leave
    for place in range(fill + count - 1, fill - 1, -1):
        nodes[place] = node
        node = np.int64(patches.came[node])
    return fill + count


@inlined_kernel
def _pull(slots, ground, count, x, y, end_x, end_y, step, trim, out, fill):
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
    Cost: some 0.1 us an agent in the cell where it was, 5 us for another cell, 50 us for a choice. Source: S0 section 3.1.
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
        sees = guess.to[k] != UNDECIDED and guess.to[k] != STAY and _sees(slots, ground, x, y, aim[row, 0], aim[row, 1], step)
        if guess.at[k] < 0:
            guess.at[k] = _note(guess, k, here, NOWHERE, node, node)
        elif guess.patch[k, guess.at[k]] != here:
            # A line to what was chosen may lead over a corner of another patch, with the patch that it left in sight.
            last_x, last_y = centre_of(ground, guess.last[k])
            is_there = guess.to[k] >= 0 and patches.patch[guess.to[k]] == here
            if is_there or gives_up or not sees or leads[row] == 0 or not _sees(slots, ground, x, y, last_x, last_y, step):
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
                count = _list_steps(patches, leave, slots.heap_node[0], 0)
                end_x, end_y = centre_of(ground, leave)
                if to == TO_GOAL:
                    end_x, end_y = pole[piece, 0], pole[piece, 1]
                elif to != leave:
                    slots.heap_node[0, count] = to
                    count += 1
                    end_x, end_y = centre_of(ground, to)
                guess.to[k] = to
                laid[row] = _pull(slots, ground, count, x, y, end_x, end_y, step, trim, out, fill) - fill
                fill += laid[row]
        _unlist(patches, total)
    return place.size


@lean_kernel
def _list_trail(ground, need, side, node, guess, k, patches, trail):
    """Write the cells from a node back to where a guess began to `trail`; return how many, or -1 if cells have changed so that it does not get there."""
    fill, place, here = 0, guess.at[k], node
    total = list_patch(ground, need, side, node, patches, 0)
    is_aside = patches.patch[node] != guess.patch[k, place]
    _unlist(patches, total)
    if is_aside:  # on a line over a corner of another patch
        trail[0] = node
        fill, here = 1, guess.last[k]
    for _ in range(guess.known[k]):
        total = list_patch(ground, need, side, here, patches, 0)
        entry = np.int64(guess.entry[k, place])
        is_joined = patches.patch[entry] == patches.patch[here]
        if is_joined:
            fill = _list_steps(patches, entry, trail, fill)
        _unlist(patches, total)
        if not is_joined:
            return -1
        if guess.parent[k, place] < 0:
            return fill
        here, place = np.int64(guess.origin[k, place]), np.int64(guess.parent[k, place])
    return -1


@lean_kernel
def join_over_cells(
    ground, side, need, x, y, begin_x, begin_y, guess, k, waypoint, first, last, stander, share, rings, step, trim, slots, patches, trail, out
):  # fmt: skip
    """Join what an agent walked while it waited with the path that was found.

    The trail is walked back from where the agent is. From the first place of it that sees some of the path, the agent goes there; of all that it sees, to
    what is nearest to the path's end. If it sees none, it goes back to where the search began. If that is farther than from there, a search from where it is
    looks for a shorter path to the same end, with SHORT_CUT expansions at most: ``slots.header[0, EXPANSIONS]`` says how many it took.

    Parameters
    ----------
    ground : Ground
    side : int, cells
    need : float, m
    x, y : float, m
        Where it is.
    begin_x, begin_y : float, m
        Where its search began.
    guess : CellGuess
    k : int
    waypoint : (m, 2) float64, m
    first, last : int
        The path that was found is ``waypoint[first:last]``.
    stander : (s, 3) float64, m
    share : float
        Agents that the path leads round, see `stamp_standers`; none of them if it leads through them.
    rings : int
    step, trim : float, cells
    slots : GridSlots
        One, scratch.
    patches : Patches
    trail : (t,) int32
        Scratch, with room for the cells of a block for each patch that is known, and one.
    out : (w, 2) float64, m
        Receives the waypoints of the joined path; room for the trail, the path, SHORT_CUT and three more.

    Returns
    -------
    int
        How many they are; -1 if the agent does not get back to where its search began.

    Notes
    -----
    Source: S0, section 3.2, steps 1 to 7. Twin: `tests/reference/cell_guess.py`.
    """
    new_generation(slots, 0)
    slots.measure[0, NEED], slots.header[0, EXPANSIONS] = need, 0
    node = np.int64(nearest_walkable(slots, 0, ground, x, y, rings))
    if node < 0 or guess.at[k] < 0:
        return -1
    count = _list_trail(ground, need, side, node, guess, k, patches, trail)
    if count < 0 or count > slots.heap_node.shape[1]:
        return -1
    stamp_standers(slots, 0, ground, stander, 0, stander.shape[0], share)
    cx, cy = cell_at(ground, x, y)
    is_moved = not (is_on_grid(ground, cx, cy) and node_at(ground, cx, cy) == node)
    apart = max(1, int(VIEW_M / ground.cell))
    view, place, share_of = 0, np.int64(-1), 1.0
    while True:
        from_x, from_y = (x, y) if view == 0 and not is_moved else centre_of(ground, trail[view])
        for leg in range(last - 1, first - 1, -1):
            ax, ay = (begin_x, begin_y) if leg == first else (waypoint[leg - 1, 0], waypoint[leg - 1, 1])
            dx, dy = waypoint[leg, 0] - ax, waypoint[leg, 1] - ay
            parts = max(1, int(np.ceil(np.hypot(dx, dy) / VIEW_M)))
            for part in range(parts, 0, -1):
                if _sees(slots, ground, from_x, from_y, ax + dx * (part / parts), ay + dy * (part / parts), step):
                    place, share_of = np.int64(leg), part / parts
                    break
            if place >= 0:
                break
        if place >= 0 or view == count - 1:
            break
        view = min(view + apart, count - 1)
    fill = 0
    if view > 0 or is_moved:
        for i in range(view + 1):
            slots.heap_node[0, i] = trail[i]
        end_x, end_y = centre_of(ground, trail[view])
        fill = _pull(slots, ground, view + 1, x, y, end_x, end_y, step, trim, out, 0)
    if place < 0:
        place = np.int64(first)
    elif share_of < 1.0:
        ax, ay = (begin_x, begin_y) if place == first else (waypoint[place - 1, 0], waypoint[place - 1, 1])
        out[fill, 0], out[fill, 1] = ax + (waypoint[place, 0] - ax) * share_of, ay + (waypoint[place, 1] - ay) * share_of
        fill += 1
    for leg in range(place, last):
        out[fill, 0], out[fill, 1] = waypoint[leg, 0], waypoint[leg, 1]
        fill += 1
    if _length(x, y, out, 0, fill) <= _length(begin_x, begin_y, waypoint, first, last):
        return fill
    return _shorten(slots, ground, node, x, y, rings, step, trim, out, fill)


@lean_kernel
def _length(x, y, out, first, last):
    """Return the length (m) from a place over waypoints ``out[first:last]``."""
    length = 0.0
    for i in range(first, last):
        length += np.hypot(out[i, 0] - x, out[i, 1] - y)
        x, y = out[i, 0], out[i, 1]
    return length


@lean_kernel
def _shorten(slots, ground, node, x, y, rings, step, trim, out, fill):
    """Put a shorter path to the end of ``out[:fill]`` in its place, if few expansions find one; return how many waypoints there are now."""
    end_x, end_y = out[fill - 1, 0], out[fill - 1, 1]
    length = _length(x, y, out, 0, fill)
    goal = np.int64(nearest_walkable(slots, 0, ground, end_x, end_y, rings))
    if goal < 0 or fill == 1:
        return fill
    gx, gy = cell_of(ground, goal)
    slots.header[0, TREE] = -1
    begin_astar(slots, 0, ground, node, goal, gx, gy)
    advance_astar(slots, 0, ground, SHORT_CUT)
    if slots.header[0, STATUS] != FOUND:
        return fill
    after = _pull(slots, ground, list_cells(slots, 0, ground, goal), x, y, end_x, end_y, step, trim, out, fill)
    if _length(x, y, out, fill, after) >= length:
        return fill
    for i in range(fill, after):
        out[i - fill, 0], out[i - fill, 1] = out[i, 0], out[i, 1]
    return after - fill
