"""Patches of a grid: the cells of a square block that are joined within it.
Guesses over cells go from patch to patch.

They are the vertices of [Norberg 2004], section 3.1 here: one by one, cells would have an agent fill a dead
end row by row.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.grid.ground import LINKED, TOUCH_M, beside, cell_of
from crowdsim.navigation.grid.moves import NO_STEP, STEP_X, STEP_Y, STEPS

# Side of a block: about a small room. Larger looks at more cells for a choice, smaller leads through a dead
# end by more turns.
BLOCK_M = 4.0
MOST_SIDE = 40  # Cells of a block's side: where cells are small, a choice still looks at no more than 1,600.
# Patches of a side room, and blocks that would hold its cells: what leads on to no more, and not to the goal,
# is a dead end that one sees from its door. Larger looks at more cells.
SIDE_ROOM, SIDE_BLOCKS = 8, 4
# Of which a choice can list cells: side rooms are round the eight round its own; and that of what was chosen
# before.
BLOCKS = (2 * SIDE_ROOM + 5) ** 2 + 1
BESIDE, OUT = 1, 2


class Patches(NamedTuple):
    """Scratch for listing patches.

    Attributes
    ----------
    patch : (n,) int32
        Lowest node of each node's patch; -1, as between two uses, where it was not listed.
    came : (n,) int32
        The node before, on a path of fewest steps from where a listing began.
    queue : (BLOCKS * side * side,) int32
        The nodes that were listed; with room for all nodes where there are several floors.
    first, size : (n,) int32
        At the lowest node of each patch that is listed: where its cells begin in `queue`, and how many they
        are.
    flag : (n,) int32
        There, too: BESIDE for the neighbours of an agent's patch, with OUT if they are out of question.
    room : (SIDE_ROOM + 1,) int32
        The patches of a side room.
    """

    patch: NDArray[np.int32]
    came: NDArray[np.int32]
    queue: NDArray[np.int32]
    first: NDArray[np.int32]
    size: NDArray[np.int32]
    flag: NDArray[np.int32]
    room: NDArray[np.int32]


def block_side(cell: float) -> int:
    """Return how many cells of a size (m) the side of a block has."""
    return int(min(MOST_SIDE, max(1, round(BLOCK_M / cell))))


def make_patches(nodes: int, side: int, floors: int = 1) -> Patches:
    """Return scratch for a grid with so many nodes and floors, and blocks of so many cells a side."""
    came, first, size, flag = (np.zeros(nodes, dtype=np.int32) for _ in range(4))
    listed = BLOCKS * side * side if floors == 1 else nodes
    queue, room = np.zeros(listed, dtype=np.int32), np.zeros(SIDE_ROOM + 1, dtype=np.int32)
    return Patches(np.full(nodes, -1, dtype=np.int32), came, queue, first, size, flag, room)


@inlined_kernel
def open_steps(ground, need, node):
    """Return which steps an agent can take from a cell, as bits."""
    free = 0
    for d in range(8):
        free |= (ground.clearance[beside(ground, node, d)] > need + TOUCH_M) << d
    return np.int64(STEPS[NO_STEP, free & ~(np.int64(ground.bars[node]) & 255)])


@inlined_kernel
def steps_out(ground, need, side, node):
    """Return the steps from a cell that lead to another block, as bits."""
    x, y = cell_of(ground, node)
    x, y = x % side, y % side
    has_links = ground.bars[node] & LINKED != 0
    if 0 < x < side - 1 and 0 < y < side - 1 and not has_links:
        return np.int64(0)
    steps, out = open_steps(ground, need, node), np.int64(0)
    for d in range(8):
        is_plain = not has_links or beside(ground, node, d) == _over(ground, node, d)
        if steps >> d & 1 and not (is_plain and 0 <= x + STEP_X[d] < side and 0 <= y + STEP_Y[d] < side):
            out |= 1 << d
    return out


@inlined_kernel
def _over(ground, node, d):
    """Return the node in direction d on the sheet."""
    return node + STEP_Y[d] * (ground.width + 2) + STEP_X[d]


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
    patch, came, queue = patches.patch, patches.came, patches.queue
    begin, read, lowest = total, total, node
    x, y = cell_of(ground, node)
    left, low = x - x % side, y - y % side
    patch[node], came[node], queue[total] = node, node, node
    total += 1
    while read < total:
        here = np.int64(queue[read])
        read += 1
        lowest = min(lowest, here)
        steps = open_steps(ground, need, here)
        x, y = cell_of(ground, here)
        for k in range(8):
            d = 2 * k if k < 4 else 2 * k - 7  # the straight ones first
            if steps >> d & 1 == 0 or not (
                0 <= x + STEP_X[d] - left < side and 0 <= y + STEP_Y[d] - low < side
            ):
                continue
            there = np.int64(beside(ground, here, d))
            if there == _over(ground, here, d) and patch[there] < 0:
                patch[there], came[there], queue[total] = here, here, there
                total += 1
    for k in range(begin, total):
        patch[queue[k]] = lowest
    patches.first[lowest], patches.size[lowest], patches.flag[lowest] = begin, total - begin, 0
    return total


@inlined_kernel
def unlist(patches, total):
    """Forget what was listed."""
    for k in range(total):
        patches.patch[patches.queue[k]] = -1


@inlined_kernel
def list_steps(patches, leave, nodes, fill):
    """Write the cells from where a listing began to one of its cells to ``nodes[fill:]``;
    return how far that is filled.
    """
    node, count = leave, 1
    while patches.came[node] != node:
        node = np.int64(patches.came[node])
        count += 1
    node = leave
    for place in range(fill + count - 1, fill - 1, -1):
        nodes[place] = node
        node = np.int64(patches.came[node])
    return fill + count
