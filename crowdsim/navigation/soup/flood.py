"""Which levels does a body get to, step by step, from where it stands?

From each level four steps are tried: east, north, west, south ([Smith 2002], "simulate the unit taking a step
in each of the four cardinal directions"). A step leads to the highest level of the next column that is not
higher than a step up. It can be taken if that is not lower than the greatest drop, and if the body fits
over both columns at the height of the higher level: it is raised before it moves, and comes down after.

Blocks are looked at as they are reached, so ground that no body gets to costs nothing, and each block is
flooded until nothing changes in it, so what it needs is in the processor's cache. What is reached does not
depend on the order in which blocks are taken.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, kernel
from crowdsim.navigation.soup.levels import SAME_M, level_block
from crowdsim.navigation.soup.spans import BLOCK, COLUMNS, EAST, NORTH, WEST, span_block

# Of a block of the directory.
NOT_MADE, NO_GROUND = -1, -2
# What the flood says when it stops.
DONE, RESTS, NEEDS_SPANS, NEEDS_LEVELS, NEEDS_BLOCKS, TOO_MANY_LEVELS, TOO_MANY_CELLS = range(7)
NO_STEP = 255
# Marks of a level: sides 0 to 3 are shut by uprights; a body gets there; its steps are known.
REACHED, STEPPED = 16, 32
# What is counted: blocks, levels, blocks that wait, levels that are reached, the block that was too much.
BLOCKS, LEVELS, WAITING, CELLS, CULPRIT = range(5)


class Flooded(NamedTuple):
    """What is known of the ground so far.

    Attributes
    ----------
    made : (nb,) int32
        For each block of the directory its number in order of making, `NOT_MADE` or `NO_GROUND`.
    place : (blocks,) int64
        Of each block that was made, its place in the directory.
    start : (blocks, 1025) int32
        Column c of a block has the levels ``start[block, c] .. start[block, c + 1] - 1``, from below upwards.
    waiting : (blocks,) int32
        Blocks to be flooded, as a stack.
    waits : (blocks,) bool
        Which of them are on it.
    z, free : (levels,) float32, m
        Of each level, and up to where it is free above.
    surface : (levels,) uint8
    mark : (levels,) uint8
    step : (levels, 4) uint8
        To which of the levels of the next column a step leads, on each side; `NO_STEP` if none does.
    counted : (5,) int64
        See `BLOCKS` and those after it.
    """

    made: NDArray[np.int32]
    place: NDArray[np.int64]
    start: NDArray[np.int32]
    waiting: NDArray[np.int32]
    waits: NDArray[np.bool_]
    z: NDArray[np.float32]
    free: NDArray[np.float32]
    surface: NDArray[np.uint8]
    mark: NDArray[np.uint8]
    step: NDArray[np.uint8]
    counted: NDArray[np.int64]


@inlined_kernel
def block_beside(lattice, block, side):
    """Return the place of the next block of the directory on a side, -1 if it ends there."""
    x, y = block % lattice.wide, block // lattice.wide
    if side == EAST:
        return block + 1 if x + 1 < lattice.wide else np.int64(-1)
    if side == WEST:
        return block - 1 if x > 0 else np.int64(-1)
    if side == NORTH:
        return block + lattice.wide if y + 1 < lattice.deep else np.int64(-1)
    return block - lattice.wide if y > 0 else np.int64(-1)


@inlined_kernel
def column_beside(column, side):
    """Return the next column on a side, and whether it lies in the next block."""
    x, y = column % BLOCK, column // BLOCK
    if side == EAST:
        return (column + 1, False) if x + 1 < BLOCK else (column + 1 - BLOCK, True)
    if side == WEST:
        return (column - 1, False) if x > 0 else (column - 1 + BLOCK, True)
    if side == NORTH:
        return (column + BLOCK, False) if y + 1 < BLOCK else (column + BLOCK - COLUMNS, True)
    return (column - BLOCK, False) if y > 0 else (column - BLOCK + COLUMNS, True)


@kernel
def make_block(lattice, body, triangles, flooded, spans, levels, block):
    """Find the levels of a block of the directory, unless they are known; return `DONE` or what is needed."""
    if flooded.made[block] != NOT_MADE:
        return DONE
    if triangles.start[block] == triangles.start[block + 1]:
        flooded.made[block] = NO_GROUND
        return DONE
    count = flooded.counted
    if count[BLOCKS] == len(flooded.place):
        return NEEDS_BLOCKS
    used, uprights = span_block(lattice, triangles, block, spans)
    if used < 0:
        return NEEDS_SPANS
    found = level_block(body, spans, uprights, levels)
    if count[LEVELS] + found > len(flooded.z):
        return NEEDS_LEVELS
    if found == 0:
        flooded.made[block] = NO_GROUND
        return DONE
    number, first = count[BLOCKS], count[LEVELS]
    for column in range(COLUMNS):
        if levels.start[column + 1] - levels.start[column] >= NO_STEP:
            count[CULPRIT] = block
            return TOO_MANY_LEVELS
    flooded.made[block], flooded.place[number] = number, block
    for column in range(COLUMNS + 1):
        flooded.start[number, column] = first + levels.start[column]
    for level in range(found):
        row = first + level
        flooded.z[row], flooded.free[row] = levels.z[level], levels.free[level]
        flooded.surface[row], flooded.mark[row] = levels.surface[level], levels.shut[level]
    flooded.waits[number] = False
    count[BLOCKS], count[LEVELS] = number + 1, first + found
    return DONE


@inlined_kernel
def _step_from(flooded, body, level, side, block, column):
    """Return to which of the levels of the next column a step leads; `NO_STEP` if none does."""
    z = flooded.z[level]
    first, last = flooded.start[block, column], flooded.start[block, column + 1]
    other = last - 1
    while other >= first and flooded.z[other] > z + body.step_up + SAME_M:
        other -= 1
    if other < first or flooded.z[other] < z - body.drop - SAME_M:
        return NO_STEP
    is_up = flooded.z[other] > z
    higher = max(z, flooded.z[other])
    if min(flooded.free[level], flooded.free[other]) < higher + body.height - SAME_M:
        return NO_STEP
    # uprights are told by both of their sides; those count that the higher body meets
    if is_up:
        if flooded.mark[other] >> ((side + 2) & 3) & 1:
            return NO_STEP
    elif flooded.mark[level] >> side & 1:
        return NO_STEP
    return other - first


@kernel
def flood(lattice, body, triangles, flooded, spans, levels, stack, most_blocks, most_cells):
    """Flood blocks that wait.

    Parameters
    ----------
    lattice : Lattice
    body : Body
    triangles : Triangles
    flooded : Flooded
        What is known so far; changed.
    spans : Spans
    levels : Levels
    stack : (2, capacity) int32
        Scratch, for as many levels as `levels` holds.
    most_blocks : int
        It rests after so many.
    most_cells : int
        It gives up beyond.

    Returns
    -------
    int
        `DONE` if none waits any more; else why it stopped. It goes on from there.

    Notes
    -----
    Twin: `tests/reference/fill.py`.
    """
    count = flooded.counted
    beside = np.empty(4, dtype=np.int64)
    done = 0
    while count[WAITING] > 0:
        if done == most_blocks:
            return RESTS
        if count[CELLS] > most_cells:
            return TOO_MANY_CELLS
        number = flooded.waiting[count[WAITING] - 1]
        for side in range(4):
            place = block_beside(lattice, flooded.place[number], side)
            beside[side] = NO_GROUND
            if place >= 0:
                said = make_block(lattice, body, triangles, flooded, spans, levels, place)
                if said != DONE:
                    return said
                beside[side] = flooded.made[place]
        count[WAITING] -= 1
        flooded.waits[number] = False
        done += 1
        high = 0
        for column in range(COLUMNS):
            for level in range(flooded.start[number, column], flooded.start[number, column + 1]):
                if flooded.mark[level] & (REACHED | STEPPED) == REACHED:
                    stack[0, high], stack[1, high] = level, column
                    high += 1
        while high > 0:
            high -= 1
            level, column = stack[0, high], stack[1, high]
            flooded.mark[level] |= STEPPED
            for side in range(4):
                other_column, is_beside = column_beside(column, side)
                block = beside[side] if is_beside else np.int64(number)
                flooded.step[level, side] = NO_STEP
                if block < 0:
                    continue
                step = _step_from(flooded, body, level, side, block, other_column)
                if step == NO_STEP:
                    continue
                flooded.step[level, side] = step
                other = flooded.start[block, other_column] + step
                if flooded.mark[other] & REACHED:
                    continue
                flooded.mark[other] |= REACHED
                count[CELLS] += 1
                if not is_beside:
                    stack[0, high], stack[1, high] = other, other_column
                    high += 1
                elif not flooded.waits[block]:
                    flooded.waits[block] = True
                    flooded.waiting[count[WAITING]] = block
                    count[WAITING] += 1
    return DONE


@kernel
def keep_reached(lattice, flooded):
    """Leave out the levels that were not reached, and mark steps that lead there and back.

    Parameters
    ----------
    lattice : Lattice
    flooded : Flooded
        Its marks are then bits 0 to 3 for the sides on which a step leads to a level from which one leads
        back.

    Returns
    -------
    int
        How many levels are left.
    """
    count = flooded.counted
    for number in range(count[BLOCKS]):
        for column in range(COLUMNS):
            for level in range(flooded.start[number, column], flooded.start[number, column + 1]):
                if not flooded.mark[level] & REACHED:
                    continue
                both = 0
                for side in range(4):
                    step = flooded.step[level, side]
                    if step == NO_STEP:
                        continue
                    other_column, is_beside = column_beside(column, side)
                    block = np.int64(number)
                    if is_beside:
                        block = flooded.made[block_beside(lattice, flooded.place[number], side)]
                    other = flooded.start[block, other_column] + step
                    back = flooded.step[other, (side + 2) & 3]
                    if back != NO_STEP and flooded.start[number, column] + back == level:
                        both |= 1 << side
                flooded.mark[level] = (flooded.mark[level] & 0xF0) | both
    # steps by the levels that are left
    for number in range(count[BLOCKS]):
        for column in range(COLUMNS):
            for level in range(flooded.start[number, column], flooded.start[number, column + 1]):
                if not flooded.mark[level] & REACHED:
                    continue
                for side in range(4):
                    step = flooded.step[level, side]
                    if step == NO_STEP:
                        continue
                    other_column, is_beside = column_beside(column, side)
                    block = np.int64(number)
                    if is_beside:
                        block = flooded.made[block_beside(lattice, flooded.place[number], side)]
                    first, left = flooded.start[block, other_column], 0
                    for other in range(first, first + step):
                        if flooded.mark[other] & REACHED:
                            left += 1
                    flooded.step[level, side] = left
    kept = 0
    for number in range(count[BLOCKS]):
        begin = flooded.start[number, 0]
        for column in range(COLUMNS):
            end = flooded.start[number, column + 1]
            flooded.start[number, column] = kept
            for level in range(begin, end):
                if flooded.mark[level] & REACHED:
                    flooded.z[kept], flooded.surface[kept] = flooded.z[level], flooded.surface[level]
                    flooded.mark[kept] = flooded.mark[level] & 0x0F
                    for side in range(4):
                        flooded.step[kept, side] = flooded.step[level, side]
                    kept += 1
            begin = end
        flooded.start[number, COLUMNS] = kept
    count[LEVELS] = kept
    return kept


@inlined_kernel
def level_beside(lattice, flooded, block, column, level, side):
    """Return the level that a step leads to, -1 if none does; after `keep_reached`, or while it floods."""
    step = flooded.step[level, side]
    if step == NO_STEP:
        return np.int64(-1)
    other, is_beside = column_beside(column, side)
    if is_beside:
        block = flooded.made[block_beside(lattice, flooded.place[block], side)]
    return np.int64(flooded.start[block, other] + step)
