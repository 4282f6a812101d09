"""The eight steps of a grid, and which of them a search takes from a cell.

A step to a diagonal neighbour needs both cells beside it ([Pathfinding undated], section 3: no cutting of
corners). Of the paths of equal length between two cells only one is searched, the one with its diagonal steps
first: a step is left out where the cell could be had from the cell before without a detour. So every cell is
still reached at its least cost, but not from eight sides. Source: [Harabor 2011] and [Sturtevant 2016], with
the corner rule of [Pathfinding undated].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Counter-clockwise from +x; even ones are straight, odd ones diagonal.
STEP_X = (1, 1, 0, -1, -1, -1, 0, 1)
STEP_Y = (0, 1, 1, 1, 0, -1, -1, -1)
NO_STEP = 8  # The cell a search starts from was reached by no step.


def steps_allowed(free: int) -> int:
    """Return the steps that the corner rule allows.

    Parameters
    ----------
    free : int
        Bit d is set where the neighbour in direction d is walkable.

    Returns
    -------
    int
        Bits of directions.
    """
    allowed = 0
    for d in range(8):
        sides = (1 << (d + 1) % 8) | (1 << (d + 7) % 8) if d % 2 else 0
        if free >> d & 1 and free & sides == sides:
            allowed |= 1 << d
    return allowed


def steps_worth_taking(arrived_by: int, free: int) -> int:
    """Return the steps that lead to cells which the cell before does not reach as cheaply by itself.

    Parameters
    ----------
    arrived_by : int
        Direction of the step that led here, NO_STEP at the start.
    free : int
        Bit d is set where the neighbour in direction d is walkable.

    Returns
    -------
    int
        Bits of directions.
    """
    d = arrived_by
    if d == NO_STEP:
        wanted = 0xFF
    elif d % 2:
        wanted = 1 << d | 1 << (d + 1) % 8 | 1 << (d + 7) % 8
    else:
        wanted = 1 << d
        for turn in (1, 7):  # to the left, to the right
            beside_the_cell_before = (d + 3 * turn) % 8
            # Nothing went past on that side: the corner is turned here.
            if not free >> beside_the_cell_before & 1:
                wanted |= 1 << (d + turn) % 8 | 1 << (d + 2 * turn) % 8
    return wanted & steps_allowed(free)


# Row d holds the steps worth taking after a step in direction d, by the bits of the free neighbours.
STEPS: NDArray[np.uint8] = np.array(
    [[steps_worth_taking(d, free) for free in range(256)] for d in range(9)], dtype=np.uint8
)
