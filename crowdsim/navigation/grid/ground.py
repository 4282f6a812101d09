"""Cells as searches see them: a row of numbers, with a rim that is never walkable.

The rim of one cell around the grid saves searches the question whether they look over its edge. A cell is
named by its node: its place in the row.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel

NEAR_BARS = 256
NO_GROUND = -1.0  # Clearance of a cell that no available area holds.
# "Within" a distance includes this much: a micrometre, far above the rounding of map coordinates (1e-9 m at
# 5,000 km), so that a centre at exactly the needed distance is blocked on every map. Larger would close gaps
# that a floor plan leaves open on purpose.
TOUCH_M = 1e-6


class Ground(NamedTuple):
    """A uniform grid of cells ([Pathfinding undated], section 1).

    Attributes
    ----------
    x, y : float, m
        Lower left corner of the grid, without its rim.
    cell : float, m
        Side of a cell.
    width, depth : int
        Cells in x and in y, without the rim.
    clearance : ((depth + 2) * (width + 2),) float64, m
        Distance from a cell's centre to the nearest obstacle; NO_GROUND where no available area holds the
        centre, and on the rim.
    bars : ((depth + 2) * (width + 2),) uint16
        Bit d is set where a wall stands between a cell's centre and that of its neighbour in direction d
        (`crowdsim.navigation.grid.moves`), NEAR_BARS where that is so for the cell or a neighbour, or where
        not all of these are walked at one speed.
    slowness : ((depth + 2) * (width + 2),) float64, >= 1
        How much longer a metre takes on a cell than on the fastest ground.
    """

    x: float
    y: float
    cell: float
    width: int
    depth: int
    clearance: NDArray[np.float64]
    bars: NDArray[np.uint16]
    slowness: NDArray[np.float64]


@inlined_kernel
def node_at(ground, cx, cy):
    """Return the node of the cell in column cx and row cy; both may lie on the rim."""
    return (cy + 1) * (ground.width + 2) + cx + 1


@inlined_kernel
def cell_of(ground, node):
    """Return column and row of a node."""
    stride = ground.width + 2
    row = node // stride
    return node - row * stride - 1, row - 1


@inlined_kernel
def cell_at(ground, x, y):
    """Return column and row of the cell that holds a point (m); outside of the grid where the point is."""
    far = 1 << 30  # Keeps points a million kilometres away, and infinity, in range of whole numbers.
    cx = np.floor((x - ground.x) / ground.cell)
    cy = np.floor((y - ground.y) / ground.cell)
    return int(min(max(cx, -far), far)), int(min(max(cy, -far), far))


@inlined_kernel
def centre_of(ground, node):
    """Return the centre of a node's cell (m)."""
    cx, cy = cell_of(ground, node)
    return ground.x + (cx + 0.5) * ground.cell, ground.y + (cy + 0.5) * ground.cell


@inlined_kernel
def is_on_grid(ground, cx, cy):
    """Return whether there is a cell in column cx and row cy."""
    return 0 <= cx < ground.width and 0 <= cy < ground.depth
