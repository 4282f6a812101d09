"""String pulling: of the cells of a path only those stay at which the string bends ([Pathfinding undated],
section 4).

From an anchor the string goes to the furthest cell of the path that is in sight, and that is the next anchor.
A line is in sight if all the cells it passes through are walkable; where it passes exactly between two cells
that touch at a corner, the two beside them have to be walkable as well, as for a diagonal step. Nor may a
wall stand between two cells that it passes through one after the other, and all have to be walked at one
speed: paths over ground of several speeds bend where cells do.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.grid.ground import cell_at, cell_of, centre_of, is_on_grid, node_at
from crowdsim.navigation.grid.moves import STEP_X, STEP_Y
from crowdsim.navigation.grid.search import END_X, END_Y, START, START_X, START_Y, STEP_SHIFT, is_walkable

# Cells. A line that touches a corner between two such points is taken to go diagonally past it.
WALL_STEP = 0.25
# Cells. A line this near to a cell passes through it: above the rounding of map coordinates, below what a
# floor plan means.
SLACK = 1e-6


@inlined_kernel
def _sees_exactly(slots, slot, ground, ax, ay, bx, by):
    """Return whether every cell that a line passes through is walkable, all at one speed."""
    px, py = (ax - ground.x) / ground.cell, (ay - ground.y) / ground.cell
    qx, qy = (bx - ground.x) / ground.cell, (by - ground.y) / ground.cell
    is_steep = abs(qy - py) > abs(qx - px)
    if is_steep:
        px, py, qx, qy = py, px, qy, qx
    if px > qx:
        px, py, qx, qy = qx, qy, px, py
    slope = (qy - py) / (qx - px) if qx > px else 0.0
    slowness = 0.0
    for column in range(int(np.floor(px)), int(np.floor(qx)) + 1):
        low, high = py + (max(px, float(column)) - px) * slope, py + (min(qx, column + 1.0) - px) * slope
        for row in range(int(np.floor(min(low, high) - SLACK)), int(np.floor(max(low, high) + SLACK)) + 1):
            node = node_at(ground, row, column) if is_steep else node_at(ground, column, row)
            if not is_walkable(slots, slot, ground, node):
                return False
            if slowness > 0.0 and ground.slowness[node] != slowness:
                return False
            slowness = ground.slowness[node]
    return True


@inlined_kernel
def _sees_by_samples(slots, slot, ground, ax, ay, bx, by, step):
    """Return whether the cells under points of a line are walkable, all at one speed;
    `step` (cells) is the distance of the points.
    """
    slowness = 0.0
    count = max(1, int(np.ceil(np.hypot(bx - ax, by - ay) / (step * ground.cell))))
    for i in range(count + 1):
        t = i / count
        cx, cy = cell_at(ground, ax + (bx - ax) * t, ay + (by - ay) * t)
        node = node_at(ground, cx, cy)
        if not is_walkable(slots, slot, ground, node):
            return False
        if slowness > 0.0 and ground.slowness[node] != slowness:
            return False
        slowness = ground.slowness[node]
    return True


@inlined_kernel
def _steps_over_wall(ground, ax, ay, bx, by):
    """Return whether a line leads from a cell to a neighbour from which a wall parts it;
    both are where it is at points a quarter of a cell apart.
    """
    count = max(1, int(np.ceil(np.hypot(bx - ax, by - ay) / (WALL_STEP * ground.cell))))
    last_x, last_y = cell_at(ground, ax, ay)
    for i in range(1, count + 1):
        t = i / count
        cx, cy = cell_at(ground, ax + (bx - ax) * t, ay + (by - ay) * t)
        if cx == last_x and cy == last_y:
            continue
        barred = ground.bars[node_at(ground, last_x, last_y)] if is_on_grid(ground, last_x, last_y) else 0
        if barred & 255:
            for d in range(8):
                if STEP_X[d] == cx - last_x and STEP_Y[d] == cy - last_y and barred >> d & 1:
                    return True
        last_x, last_y = cx, cy
    return False


@lean_kernel
def is_in_sight(slots, slot, ground, ax, ay, bx, by, step):
    """Return whether a straight line between two points on the grid is free for a slot's search:
    of obstacles, and of the agents that it stamped.

    Parameters
    ----------
    slots : GridSlots
    slot : int
    ground : Ground
    ax, ay, bx, by : float, m
        Both on cells of the grid.
    step : float, cells
        0 looks at every cell that the line passes through; else only at those under points so far from each
        other.

    Returns
    -------
    bool

    Notes
    -----
    Source: [Pathfinding undated], section 4 (samples at half a cell). Twin: `tests/reference/grid_sight.py`.
    """
    if step > 0.0:
        if not _sees_by_samples(slots, slot, ground, ax, ay, bx, by, step):
            return False
    elif not _sees_exactly(slots, slot, ground, ax, ay, bx, by):
        return False
    return not _steps_over_wall(ground, ax, ay, bx, by)


@lean_kernel
def list_cells(slots, slot, ground, last):
    """Write the path to a node that a search reached to its heap, which it needs no more: the start first.

    Parameters
    ----------
    slots : GridSlots
    slot : int
    ground : Ground
    last : int
        A node that was reached.

    Returns
    -------
    int
        Nodes of the path, in ``slots.heap_node[slot]``.
    """
    stride = ground.width + 2
    start, mark, nodes = slots.header[slot, START], slots.mark[slot], slots.heap_node[slot]
    count, node = 1, last
    while node != start:
        d = mark[node] >> STEP_SHIFT & 15
        node -= STEP_Y[d] * stride + STEP_X[d]
        count += 1
    node = last
    for place in range(count - 1, 0, -1):
        nodes[place] = node
        d = mark[node] >> STEP_SHIFT & 15
        node -= STEP_Y[d] * stride + STEP_X[d]
    nodes[0] = start
    return count


@lean_kernel
def pull_taut(slots, slot, ground, count, step, trim):
    """Leave of a path only the waypoints between which lines of sight are free.

    Parameters
    ----------
    slots : GridSlots
    slot : int
    ground : Ground
    count : int
        Nodes of the path in ``slots.heap_node[slot]``, see `list_cells`; overwritten.
    step : float, cells
        See `is_in_sight`.
    trim : float, cells
        The centre of the first cell is left out if the start is no farther from it.

    Returns
    -------
    int
        Waypoints, in ``slots.heap_node[slot]``; the last stands for the point asked for if that is in its
        cell (`waypoint`).

    Notes
    -----
    Lines are drawn from the start itself where the first waypoint is left out, and to the very point that was
    asked for: that is where the agent walks. Where a start off the ground was moved, lines begin at the cell
    that it was moved to.
    Source: [Pathfinding undated], sections 3 and 4. Twin: `tests/reference/grid_sight.py`.
    """
    nodes, measure = slots.heap_node[slot], slots.measure
    x, y = measure[slot, START_X], measure[slot, START_Y]
    first_x, first_y = centre_of(ground, nodes[0])
    cx, cy = cell_at(ground, x, y)
    is_trimmed = count > 1 and np.hypot(first_x - x, first_y - y) <= trim * ground.cell
    kept = 0 if is_trimmed else 1
    if not is_trimmed or node_at(ground, cx, cy) != nodes[0]:
        x, y = first_x, first_y
    place = 0
    while place < count - 1:
        following = count - 1
        while following > place + 1:
            px, py = waypoint(slots, slot, ground, nodes[following], following == count - 1)
            if is_in_sight(slots, slot, ground, x, y, px, py, step):
                break
            following -= 1
        place = following
        x, y = centre_of(ground, nodes[place])
        nodes[kept] = nodes[place]
        kept += 1
    return kept


@inlined_kernel
def waypoint(slots, slot, ground, node, is_last):
    """Return the point (m) that stands for a node of a path:
    the point asked for if it is the last and holds it, else the centre.
    """
    if is_last:
        x, y = slots.measure[slot, END_X], slots.measure[slot, END_Y]
        cx, cy = cell_at(ground, x, y)
        nx, ny = cell_of(ground, node)
        if cx == nx and cy == ny:
            return x, y
    return centre_of(ground, node)


@lean_kernel
def copy_waypoints(slots, slot, ground, count, out, at):
    """Write the waypoints that `pull_taut` left to ``out[at:at + count]``.

    Parameters
    ----------
    slots : GridSlots
    slot : int
    ground : Ground
    count : int
    out : (k, 2) float64, m
    at : int

    Returns
    -------
    float, m
        Length of the path from its start over all waypoints.
    """
    x, y = slots.measure[slot, START_X], slots.measure[slot, START_Y]
    length = 0.0
    for i in range(count):
        px, py = waypoint(slots, slot, ground, slots.heap_node[slot, i], i == count - 1)
        out[at + i, 0], out[at + i, 1] = px, py
        length += np.hypot(px - x, py - y)
        x, y = px, py
    return length
