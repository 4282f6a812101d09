"""Stationary agents in the way, as a search sees them ([Pathfinding undated], section 6).

They are stamped on what one search knows of the cells, never on the grid: the next search in the same slot
has forgotten them.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.navigation.grid.ground import TOUCH_M, cell_at, home_at, node_at
from crowdsim.navigation.grid.lines import node_along
from crowdsim.navigation.grid.search import GENERATION, GENERATION_SHIFT, STAMPED, TAKEN, is_walkable


class StationaryDiscs(NamedTuple):
    """Stationary agents in the way of one search.

    Attributes
    ----------
    disc : (k, 3) float64, m
        x, y and collision radius; those of this search are rows `first` to `last` - 1.
    first, last : int
    share : float
        Part of the collision radius that is blocked.
    """

    disc: NDArray[np.float64]
    first: int
    last: int
    share: float


@lean_kernel
def stamp_stationary(slots, slot, ground, stationary):
    """Block the cells on which stationary agents are, for the search that is about to begin in a slot.

    Parameters
    ----------
    slots : GridSlots
        After `new_generation`; marks and STAMPED are written.
    slot : int
    ground : Ground
    stationary : StationaryDiscs

    Notes
    -----
    Blocked are the cells whose centres lie in the circle, and in any case the one the agent stands on: a
    circle may be smaller than a cell. They are of the agent's floor; where the circle reaches over a seam,
    of the floor beyond it too. Source: [Pathfinding undated], section 6. Twin:
    `tests/reference/grid_obstacles.py`.
    """
    has_seams = ground.floors.node.size > 0
    taken = slots.header[slot, GENERATION] << GENERATION_SHIFT | TAKEN
    for row in range(stationary.first, stationary.last):
        x, y, radius = (
            stationary.disc[row, 0],
            stationary.disc[row, 1],
            stationary.share * stationary.disc[row, 2],
        )
        left, low = cell_at(ground, x - radius, y - radius)
        right, high = cell_at(ground, x + radius, y + radius)
        own_x, own_y = cell_at(ground, x, y)
        own = home_at(ground, x, y) if has_seams else node_at(ground, own_x, own_y)
        if has_seams and is_walkable(slots, slot, ground, own):
            slots.mark[slot, own] = taken
            slots.header[slot, STAMPED] += 1
        for cy in range(max(0, low), min(ground.depth - 1, high) + 1):
            for cx in range(max(0, left), min(ground.width - 1, right) + 1):
                px, py = ground.x + (cx + 0.5) * ground.cell, ground.y + (cy + 0.5) * ground.cell
                is_own = cx == own_x and cy == own_y
                if not is_own and hypot(px - x, py - y) > radius + TOUCH_M:
                    continue
                node = node_at(ground, cx, cy)
                if is_walkable(slots, slot, ground, node):
                    slots.mark[slot, node] = taken
                    slots.header[slot, STAMPED] += 1
                if has_seams:
                    node = node_along(ground, x, y, px, py)
                    if is_walkable(slots, slot, ground, node):
                        slots.mark[slot, node] = taken
                        slots.header[slot, STAMPED] += 1
