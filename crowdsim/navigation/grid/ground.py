"""Cells as searches see them: a row of numbers, with a rim that is never walkable.

The rim of one cell around the grid saves searches the question whether they look over its edge. A cell is
named by its node: its place in the row.

Several floors lie side by side on one *sheet*, each moved up by a number of rows of its own: a place on a
floor is a place on the sheet, and a node belongs to one floor. What lies one above the other in plan is far
apart there, and meets where floors do: over their seams neighbours stand in a table.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.grid.moves import STEP_X, STEP_Y

NEAR_BARS = 256
# The neighbours of a cell stand in a table; its steps cost by their direction, or lead to such a cell.
LINKED, UNEVEN = 512, 1024
NO_GROUND = -1.0  # Clearance of a cell that no available area holds.
# "Within" a distance includes this much: a micrometre, far above the rounding of map coordinates (1e-9 m at
# 5,000 km), so that a centre at exactly the needed distance is blocked on every map. Larger would close gaps
# that a floor plan leaves open on purpose.
TOUCH_M = 1e-6
# A direction that climbs less for each metre in plan is level: planes are known up to rounding.
LEVEL_CLIMB = 1e-9
NOWHERE = 0  # A node on the rim: the neighbour where there is none.
HOME = 8  # Of a row of `Floors.beside`: the node of the floor that holds the cell's centre.


class Floors(NamedTuple):
    """How the floors of a grid lie on its sheet, where they meet, and how they slope.

    Attributes
    ----------
    of_row : (depth,) int32
        Floor of each row of the sheet.
    first, last : (f,) int64
        The rows of each floor.
    lift : (f,) int64
        By how many rows each floor was moved up from its place in plan.
    rise : (f,) float64, m
        The same as a distance.
    apart : (f, f) int64
        Over how many seams one comes from floor to floor at least; more than floors where one does not.
    node : (k,) int64
        The nodes of cells near seams, ascending.
    beside : (k, 9) int64
        Their neighbours in direction d, perhaps on another floor; NOWHERE where a wall is between. At HOME
        the node itself; of a cell whose centre lies on the floor beyond the seam, the node there.
    seam : (e, 4) float64, m
        Where floors meet, in plan: x, y of start, x, y of end.
    seam_floors : (e, 2) int64
        The two floors of each, the lower number first.
    kind : (n,) int32, or (1,) on level ground
        Row of `plane` and `metre` for each node.
    plane : (g, 4) float64
        Metres up for each metre in x and in y; how much longer a metre along the surface takes upwards and
        downwards than on the fastest ground.
    metre : (g, 8) float64, >= 1
        How much longer a metre in plan takes in each direction than one on the fastest ground.
    """

    of_row: NDArray[np.int32]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    lift: NDArray[np.int64]
    rise: NDArray[np.float64]
    apart: NDArray[np.int64]
    node: NDArray[np.int64]
    beside: NDArray[np.int64]
    seam: NDArray[np.float64]
    seam_floors: NDArray[np.int64]
    kind: NDArray[np.int32]
    plane: NDArray[np.float64]
    metre: NDArray[np.float64]


def one_floor(depth: int) -> Floors:
    """Return how one level floor lies, which is the sheet."""
    none = np.zeros(0, dtype=np.int64)
    return Floors(
        np.zeros(depth, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
        np.full(1, depth - 1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(1),
        np.zeros((1, 1), dtype=np.int64),
        none,
        np.zeros((0, 9), dtype=np.int64),
        np.zeros((0, 4)),
        np.zeros((0, 2), dtype=np.int64),
        np.zeros(1, dtype=np.int32),
        np.array([[0.0, 0.0, 1.0, 1.0]]),
        np.ones((1, 8)),
    )


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
        not all of these are walked at one speed. LINKED and UNEVEN, on several floors or slopes.
    slowness : ((depth + 2) * (width + 2),) float64, >= 1
        How much longer a metre takes on a cell than on the fastest ground; of cells that are not UNEVEN.
    floors : Floors
    """

    x: float
    y: float
    cell: float
    width: int
    depth: int
    clearance: NDArray[np.float64]
    bars: NDArray[np.uint16]
    slowness: NDArray[np.float64]
    floors: Floors


def level_ground() -> Ground:
    """Return a cell of level ground, for what looks at no cells of one floor."""
    nodes = np.zeros(9)
    return Ground(0.0, 0.0, 1.0, 1, 1, nodes, nodes.astype(np.uint16), nodes + 1.0, one_floor(1))


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


@inlined_kernel
def is_flat(ground):
    """Return whether the grid is of one level floor."""
    return ground.floors.kind.size == 1


@inlined_kernel
def floor_of_row(ground, row):
    """Return the floor of a row of the sheet; off the sheet that of the nearest."""
    return np.int64(ground.floors.of_row[min(max(row, 0), ground.depth - 1)])


@inlined_kernel
def floor_at(ground, y):
    """Return the floor on which a place of the sheet lies."""
    _, row = cell_at(ground, ground.x, y)
    return floor_of_row(ground, row)


@inlined_kernel
def plan_cell_of(ground, node):
    """Return column and row in plan of a node."""
    cx, cy = cell_of(ground, node)
    if ground.floors.lift.size > 1:
        cy -= ground.floors.lift[ground.floors.of_row[cy]]
    return cx, cy


@inlined_kernel
def plan_of(ground, y):
    """Return y in plan of a place on the sheet (m)."""
    if ground.floors.rise.size > 1:
        return y - ground.floors.rise[floor_at(ground, y)]
    return y


@inlined_kernel
def moved_to_floor(ground, y, of):
    """Return y of a place on the sheet, moved in plan onto the floor of another place, y `of` (m)."""
    if ground.floors.rise.size > 1:
        rise = ground.floors.rise
        return y - rise[floor_at(ground, y)] + rise[floor_at(ground, of)]
    return y


@lean_kernel
def link_of(nodes, node):
    """Return the place of a node among ascending ones, `Floors.node`; -1 if it is not among them."""
    low, high = 0, nodes.size
    while low < high:
        middle = (low + high) // 2
        if nodes[middle] < node:
            low = middle + 1
        else:
            high = middle
    return low if low < nodes.size and nodes[low] == node else -1


@inlined_kernel
def beside(ground, node, d):
    """Return the neighbour of a cell in direction d, on whatever floor; NOWHERE where there is none."""
    if ground.bars[node] & LINKED:
        return ground.floors.beside[link_of(ground.floors.node, node), d]
    return node + STEP_Y[d] * (ground.width + 2) + STEP_X[d]


@inlined_kernel
def home_of(ground, node):
    """Return the node of the floor that holds the centre of a cell that seams cut: mostly the cell's own."""
    if ground.bars[node] & LINKED:
        return ground.floors.beside[link_of(ground.floors.node, node), HOME]
    return node


@inlined_kernel
def home_at(ground, x, y):
    """Return the node of the cell that holds a place on the sheet (m), see `home_of`; NOWHERE off the
    grid.
    """
    cx, cy = cell_at(ground, x, y)
    return home_of(ground, node_at(ground, cx, cy)) if is_on_grid(ground, cx, cy) else np.int64(NOWHERE)


@inlined_kernel
def step_cost(ground, node, there, d):
    """Return what a metre of a step in direction d from a cell to its neighbour costs, in metres of the
    fastest ground, where it may depend on the direction.
    """
    kind, metre = ground.floors.kind, ground.floors.metre
    return 0.5 * (metre[kind[node], d] + metre[kind[there], d])


@inlined_kernel
def metre_along(floors, kind, ux, uy):
    """Return how long a metre in plan is along the surface, in the direction of a unit vector in plan, and
    what it costs in metres of the fastest ground.
    """
    climb = floors.plane[kind, 0] * ux + floors.plane[kind, 1] * uy
    along = np.sqrt(1.0 + climb * climb)
    up, down = floors.plane[kind, 2], floors.plane[kind, 3]
    if abs(climb) <= LEVEL_CLIMB:
        return along, along * min(up, down)
    return along, along * (up if climb > 0.0 else down)
