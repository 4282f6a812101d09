"""At which heights can a body stand in a column?

A body is a box on the square of its column. It rests on the highest triangle that it can stand on and that
reaches under its square: a *level*. There it has to be free from its knees, a step above the level, to its
head; below its knees it steps over what is too steep to stand on. Where something to stand on rises higher
within the body's height, the body does not stand at this level but on that. And there has to be ground under
the cell itself, at most a step lower: a body that is wider than a cell does not stand beside an edge.

So levels follow from the triangles alone, not from where a body comes from, and two levels of a column are at
least a body's height apart.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import kernel
from crowdsim.navigation.soup.spans import COLUMNS, TOUCH_M

SAME_M = 1e-3  # What lies a millimetre above the ground is the ground.
_SORTED_BY_HAND = 24


class Body(NamedTuple):
    """What fills the ground: a box, and its steps.

    Attributes
    ----------
    height : float, m
    step_up, step_down : float, m
        How far it steps up and down from one cell to the next.
    drop : float, m
        How far it falls at most; not less than `step_down`.
    """

    height: float
    step_up: float
    step_down: float
    drop: float


class Levels(NamedTuple):
    """Levels of the columns of one block, from below upwards; scratch.

    Attributes
    ----------
    start : (1025,) int32
        Column c has the levels ``start[c] .. start[c + 1] - 1``.
    z : (capacity,) float64, m
    free : (capacity,) float64, m
        Height up to which the column is free above the level.
    surface : (capacity,) uint8
    shut : (capacity,) uint8
        Bit s is set if an upright is in the way on side s.
    sorted_low, sorted_top : (capacity,) float64
    sorted_surface : (capacity,) uint8
    """

    start: NDArray[np.int32]
    z: NDArray[np.float64]
    free: NDArray[np.float64]
    surface: NDArray[np.uint8]
    shut: NDArray[np.uint8]
    sorted_low: NDArray[np.float64]
    sorted_top: NDArray[np.float64]
    sorted_surface: NDArray[np.uint8]


def make_levels(capacity: int) -> Levels:
    """Return scratch for the levels of so many spans."""
    return Levels(
        np.empty(COLUMNS + 1, dtype=np.int32),
        np.empty(capacity),
        np.empty(capacity),
        np.empty(capacity, dtype=np.uint8),
        np.empty(capacity, dtype=np.uint8),
        np.empty(capacity),
        np.empty(capacity),
        np.empty(capacity, dtype=np.uint8),
    )


@kernel
def _sort_column(spans, column, levels):
    """Sort the spans of a column by their tops, and return how many there are.

    The lowest of equal tops may come in any order: what is made of them does not depend on it.
    """
    low, top, surface = levels.sorted_low, levels.sorted_top, levels.sorted_surface
    count, span = 0, spans.first[column]
    while span >= 0:
        low[count], top[count], surface[count] = spans.low[span], spans.top[span], spans.surface[span]
        count += 1
        span = spans.after[span]
    if count > _SORTED_BY_HAND:
        order = np.argsort(top[:count])
        low[:count], top[:count], surface[:count] = (
            low[:count][order],
            top[:count][order],
            surface[:count][order],
        )
        return count
    for k in range(1, count):
        its_low, its_top, its_surface = low[k], top[k], surface[k]
        place = k
        while place > 0 and top[place - 1] > its_top:
            low[place], top[place], surface[place] = low[place - 1], top[place - 1], surface[place - 1]
            place -= 1
        low[place], top[place], surface[place] = its_low, its_top, its_surface
    return count


@kernel
def _has_ground_under(spans, column, level, step):
    """Return whether something to stand on lies under the cell of a column, at most a step below a level."""
    span = spans.first[column]
    while span >= 0:
        under = spans.under_cell[span]
        if spans.surface[span] > 0 and level - step - SAME_M <= under <= level + SAME_M:
            return True
        span = spans.after[span]
    return False


@kernel
def level_block(body, spans, uprights, levels):
    """Find the levels of a block.

    Parameters
    ----------
    body : Body
    spans : Spans
    uprights : int
        How many of them there are.
    levels : Levels
        Receives them.

    Returns
    -------
    int
        How many there are.

    Notes
    -----
    Twin: `tests/reference/fill.py`.
    """
    used = 0
    for column in range(COLUMNS):
        levels.start[column] = used
        if spans.first[column] < 0:
            continue
        count = _sort_column(spans, column, levels)
        low, top, surface = levels.sorted_low, levels.sorted_top, levels.sorted_surface
        begin = used
        # downwards; of what ends higher than a level, and than its knees, the lowest point so far
        over_level, over_knees, above, higher = np.inf, np.inf, count - 1, count - 1
        k = count - 1
        while k >= 0:
            if surface[k] == 0:
                k -= 1
                continue
            level = top[k]
            its_surface = surface[k]
            while above >= 0 and top[above] > level + SAME_M:
                if surface[above] > 0:
                    over_level = min(over_level, low[above])
                above -= 1
            while higher >= 0 and top[higher] > level + body.step_up:
                over_knees = min(over_knees, low[higher])
                higher -= 1
            k -= 1
            while k >= 0 and top[k] >= level - SAME_M:  # the same level once more
                its_surface = max(its_surface, surface[k])
                k -= 1
            free = min(over_level, over_knees)
            if free >= level + body.height - TOUCH_M and _has_ground_under(
                spans, column, level, body.step_up
            ):
                levels.z[used], levels.free[used] = level, free
                levels.surface[used], levels.shut[used] = its_surface, 0
                used += 1
        for k in range((used - begin) // 2):
            a, b = begin + k, used - 1 - k
            levels.z[a], levels.z[b] = levels.z[b], levels.z[a]
            levels.free[a], levels.free[b] = levels.free[b], levels.free[a]
            levels.surface[a], levels.surface[b] = levels.surface[b], levels.surface[a]
    levels.start[COLUMNS] = used
    for k in range(uprights):
        column = spans.upright_column[k]
        for level in range(levels.start[column], levels.start[column + 1]):
            z = levels.z[level]
            if spans.upright_top[k] > z + body.step_up and spans.upright_low[k] < z + body.height - TOUCH_M:
                levels.shut[level] |= np.uint8(1) << spans.upright_side[k]
    return used
