"""Joining what an agent walked on a guess over cells with the path that is found ([Norberg 2004],
section 3.2).

The *trail* is the row of cells from where it is back to where its search began.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.navigation.grid.cascade import nearest_walkable
from crowdsim.navigation.grid.ground import cell_of, centre_of, home_at, moved_to_floor, plan_of
from crowdsim.navigation.grid.guess import is_line_free, pull_path
from crowdsim.navigation.grid.obstacles import stamp_stationary
from crowdsim.navigation.grid.patches import list_patch, list_steps, unlist
from crowdsim.navigation.grid.search import (
    EXPANSIONS,
    FOUND,
    NEED,
    STATUS,
    TREE,
    advance_astar,
    begin_astar,
    new_generation,
)
from crowdsim.navigation.grid.sight import list_cells

# Between two places of a trail from which a path is looked for, and between two of the path. Smaller joins a
# little sooner and looks more often.
VIEW_M = 1.0
# Expansions that are spent on a shorter path than a joined one that leads back. More delays others, less
# seldom leads round a block.
SHORT_CUT = 300


@lean_kernel
def _list_trail(grid, need, node, guess, k, patches, trail):
    """Write the cells from a node back to where a guess began to `trail`;
    return how many, or -1 if cells have changed so that it does not get there.
    """
    fill, place, here, ground, side = 0, guess.at[k], node, grid.ground, grid.side
    total = list_patch(ground, need, side, node, patches, 0)
    is_aside = patches.patch[node] != guess.patch[k, place]
    unlist(patches, total)
    if is_aside:  # on a line over a corner of another patch
        trail[0] = node
        fill, here = 1, guess.last[k]
    for _ in range(guess.known[k]):
        total = list_patch(ground, need, side, here, patches, 0)
        entry = np.int64(guess.entry[k, place])
        is_joined = patches.patch[entry] == patches.patch[here]
        if is_joined:
            fill = list_steps(patches, entry, trail, fill)
        unlist(patches, total)
        if not is_joined:
            return -1
        if guess.parent[k, place] < 0:
            return fill
        here, place = np.int64(guess.origin[k, place]), np.int64(guess.parent[k, place])
    return -1


@lean_kernel
def _find_in_sight(grid, position, begin, is_moved, path, slots, trail, count):
    """Return the first place of a trail that sees some of a path, and of all that it sees what is nearest to
    the path's end: its leg, and the share of that.

    Where none does: the last place, and -1 for the leg.
    """
    apart = max(1, int(VIEW_M / grid.ground.cell))
    view = 0
    while True:
        from_x, from_y = (
            (position[0], position[1]) if view == 0 and not is_moved else centre_of(grid.ground, trail[view])
        )
        for leg in range(path.shape[0] - 1, -1, -1):
            ax, ay = (begin[0], begin[1]) if leg == 0 else (path[leg - 1, 0], path[leg - 1, 1])
            ay = moved_to_floor(grid.ground, ay, path[leg, 1])
            dx, dy = path[leg, 0] - ax, path[leg, 1] - ay
            parts = max(1, int(np.ceil(hypot(dx, dy) / VIEW_M)))
            for part in range(parts, 0, -1):
                if is_line_free(
                    slots, grid, from_x, from_y, ax + dx * (part / parts), ay + dy * (part / parts)
                ):
                    return view, np.int64(leg), part / parts
        if view == count - 1:
            return view, np.int64(-1), 1.0
        view = min(view + apart, count - 1)


@lean_kernel
def join_over_cells(grid, need, position, begin, guess, k, path, stationary, slots, patches, trail, out):
    """Join what an agent walked while it waited with the path that was found.

    The trail is walked back from where the agent is. From the first place of it that sees some of the path,
    the agent goes there; of all that it sees, to what is nearest to the path's end. If it sees none, it goes
    back to where the search began. If that is farther than from there, a search from where it is looks for a
    shorter path to the same end, with SHORT_CUT expansions at most: ``slots.header[0, EXPANSIONS]`` says how
    many it took.

    Parameters
    ----------
    grid : GuessGrid
    need : float, m
    position, begin : (2,) float64, m
        Where the agent is, and where its search began.
    guess : CellGuess
    k : int
    path : (m, 2) float64, m
        The waypoints that were found; each leg lies on the floor of its end.
    stationary : StationaryDiscs
        Agents that the path leads round; none if it leads through them.
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
    Source: [Norberg 2004], section 3.2, steps 1 to 7. Twin: `tests/reference/cell_guess.py`.
    """
    ground, x, y = grid.ground, position[0], position[1]
    new_generation(slots, 0)
    slots.measure[0, NEED], slots.header[0, EXPANSIONS] = need, 0
    node = np.int64(nearest_walkable(slots, 0, ground, x, y, grid.rings))
    if node < 0 or guess.at[k] < 0:
        return -1
    count = _list_trail(grid, need, node, guess, k, patches, trail)
    if count < 0 or count > slots.heap_entry.shape[1]:
        return -1
    stamp_stationary(slots, 0, ground, stationary)
    is_moved = home_at(ground, x, y) != node
    view, place, share_of = _find_in_sight(grid, position, begin, is_moved, path, slots, trail, count)
    fill = 0
    if view > 0 or is_moved:
        for i in range(view + 1):
            slots.heap_entry[0, i] = trail[i]
        end_x, end_y = centre_of(ground, trail[view])
        fill = pull_path(slots, grid, view + 1, x, y, end_x, end_y, out, 0)
    if place < 0:
        place = np.int64(0)
    elif share_of < 1.0:
        ax, ay = (begin[0], begin[1]) if place == 0 else (path[place - 1, 0], path[place - 1, 1])
        ay = moved_to_floor(ground, ay, path[place, 1])
        out[fill, 0], out[fill, 1] = (
            ax + (path[place, 0] - ax) * share_of,
            ay + (path[place, 1] - ay) * share_of,
        )
        fill += 1
    for leg in range(place, path.shape[0]):
        out[fill, 0], out[fill, 1] = path[leg, 0], path[leg, 1]
        fill += 1
    if _length(ground, x, y, out, 0, fill) <= _length(ground, begin[0], begin[1], path, 0, path.shape[0]):
        return fill
    return _shorten(slots, grid, node, x, y, out, fill)


@lean_kernel
def _length(ground, x, y, out, first, last):
    """Return the length (m) in plan from a place over waypoints ``out[first:last]``."""
    length = 0.0
    for i in range(first, last):
        length += hypot(out[i, 0] - x, plan_of(ground, out[i, 1]) - plan_of(ground, y))
        x, y = out[i, 0], out[i, 1]
    return length


@lean_kernel
def _shorten(slots, grid, node, x, y, out, fill):
    """Put a shorter path to the end of ``out[:fill]`` in its place, if few expansions find one;
    return how many waypoints there are now.
    """
    ground, end_x, end_y = grid.ground, out[fill - 1, 0], out[fill - 1, 1]
    length = _length(ground, x, y, out, 0, fill)
    goal = np.int64(nearest_walkable(slots, 0, ground, end_x, end_y, grid.rings))
    if goal < 0 or fill == 1:
        return fill
    gx, gy = cell_of(ground, goal)
    slots.header[0, TREE] = -1
    begin_astar(slots, 0, ground, node, goal, gx, gy)
    advance_astar(slots, 0, ground, SHORT_CUT)
    if slots.header[0, STATUS] != FOUND:
        return fill
    after = pull_path(slots, grid, list_cells(slots, 0, ground, goal), x, y, end_x, end_y, out, fill)
    if _length(ground, x, y, out, fill, after) >= length:
        return fill
    for i in range(fill, after):
        out[i - fill, 0], out[i - fill, 1] = out[i, 0], out[i, 1]
    return after - fill
