"""String pulling: of the cells of a path only those stay at which the string bends ([Pathfinding undated],
section 4).

From an anchor the string goes to the furthest cell of the path that is in sight, and that is the next anchor.
A line is in sight if all the cells it passes through are walkable; where it passes exactly between two cells
that touch at a corner, the two beside them have to be walkable as well, as for a diagonal step. Nor may a
wall stand between two cells that it passes through one after the other, and all have to be walked at one
speed: paths over ground of several speeds bend where cells do. On several floors and slopes a line goes over
seams as steps do, and the string is pulled straight where that takes no longer than the cells.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.grid.ground import (
    NOWHERE,
    beside,
    cell_at,
    cell_of,
    centre_of,
    home_at,
    is_flat,
    is_on_grid,
    metre_along,
    moved_to_floor,
    node_at,
    plan_cell_of,
    plan_of,
    step_cost,
)
from crowdsim.navigation.grid.lines import direction_of, next_node
from crowdsim.navigation.grid.moves import STEP_X, STEP_Y
from crowdsim.navigation.grid.search import (
    END_X,
    END_Y,
    SQRT2,
    START,
    START_X,
    START_Y,
    STEP_SHIFT,
    is_walkable,
)

# Cells. A line that touches a corner between two such points is taken to go diagonally past it.
WALL_STEP = 0.25
# Cells. A line this near to a cell passes through it: above the rounding of map coordinates, below what a
# floor plan means.
SLACK = 1e-6
# Cells. What a line costs more than the cells is rounding.
SAME_LINE = 1e-6
# In place of the node that blocks a line: none does; it is not one node.
CLEAR, NO_NODE = np.int64(-1), np.int64(-2)


@inlined_kernel
def _blocks_exactly(slots, slot, ground, ax, ay, bx, by, heeds_speed):
    """Return a node that a line on one floor passes through and that is not walkable, NO_NODE if the speed
    changes on it and that is heeded (1), or CLEAR.
    """
    px, py = (ax - ground.x) / ground.cell, (ay - ground.y) / ground.cell
    qx, qy = (bx - ground.x) / ground.cell, (by - ground.y) / ground.cell
    is_steep = abs(qy - py) > abs(qx - px)
    if is_steep:
        px, py, qx, qy = py, px, qy, qx
    # From a on: what is near to it blocks most other lines from there, too.
    is_turned = px > qx
    if is_turned:
        px, py, qx, qy = qx, qy, px, py
    slope = (qy - py) / (qx - px) if qx > px else 0.0
    slowness, first, last = 0.0, int(np.floor(px)), int(np.floor(qx))
    for k in range(last - first + 1):
        column = last - k if is_turned else first + k
        low, high = py + (max(px, float(column)) - px) * slope, py + (min(qx, column + 1.0) - px) * slope
        for row in range(int(np.floor(min(low, high) - SLACK)), int(np.floor(max(low, high) + SLACK)) + 1):
            node = node_at(ground, row, column) if is_steep else node_at(ground, column, row)
            if not is_walkable(slots, slot, ground, node):
                return np.int64(node)
            if heeds_speed == 1 and slowness > 0.0 and ground.slowness[node] != slowness:
                return NO_NODE
            slowness = ground.slowness[node]
    return CLEAR


@inlined_kernel
def _passes_exactly(ground, ax, ay, bx, by, cx, cy):
    """Return whether a cell is one of those that `_blocks_exactly` looks at."""
    px, py = (ax - ground.x) / ground.cell, (ay - ground.y) / ground.cell
    qx, qy = (bx - ground.x) / ground.cell, (by - ground.y) / ground.cell
    if abs(qy - py) > abs(qx - px):
        px, py, qx, qy, cx, cy = py, px, qy, qx, cy, cx
    if px > qx:
        px, py, qx, qy = qx, qy, px, py
    slope = (qy - py) / (qx - px) if qx > px else 0.0
    if cx < int(np.floor(px)) or cx > int(np.floor(qx)):
        return False
    low, high = py + (max(px, float(cx)) - px) * slope, py + (min(qx, cx + 1.0) - px) * slope
    return int(np.floor(min(low, high) - SLACK)) <= cy <= int(np.floor(max(low, high) + SLACK))


@lean_kernel
def is_line_walkable(slots, slot, ground, ax, ay, bx, by):
    """Return whether a slot's search can use every cell that a line on one floor passes through;
    walls between cells and speeds do not count.
    """
    return _blocks_exactly(slots, slot, ground, ax, ay, bx, by, 0) == CLEAR


@inlined_kernel
def _blocks_samples(slots, slot, ground, ax, ay, bx, by, step):
    """Return a node under a point of a line that is not walkable, NO_NODE if the speed changes on it,
    or CLEAR; `step` (cells) is the distance of the points.
    """
    slowness = 0.0
    count = max(1, int(np.ceil(hypot(bx - ax, by - ay) / (step * ground.cell))))
    for i in range(count + 1):
        t = i / count
        cx, cy = cell_at(ground, ax + (bx - ax) * t, ay + (by - ay) * t)
        node = node_at(ground, cx, cy)
        if not is_walkable(slots, slot, ground, node):
            return np.int64(node)
        if slowness > 0.0 and ground.slowness[node] != slowness:
            return NO_NODE
        slowness = ground.slowness[node]
    return CLEAR


@inlined_kernel
def _passes_samples(ground, ax, ay, bx, by, step, cx, cy):
    """Return whether a cell is one of those that `_blocks_samples` looks at."""
    dx, dy, length = bx - ax, by - ay, hypot(bx - ax, by - ay)
    count = max(1, int(np.ceil(length / (step * ground.cell))))
    first, last = 0, count
    if length > 0.0:  # those points that are near enough to the cell's centre
        mx, my = ground.x + (cx + 0.5) * ground.cell, ground.y + (cy + 0.5) * ground.cell
        at, reach = ((mx - ax) * dx + (my - ay) * dy) / (length * length), ground.cell / length
        first = max(first, int(np.floor((at - reach) * count)))
        last = min(last, int(np.ceil((at + reach) * count)))
    for i in range(first, last + 1):
        t = i / count
        x, y = cell_at(ground, ax + dx * t, ay + dy * t)
        if x == cx and y == cy:
            return True
    return False


@inlined_kernel
def _steps_over_wall(ground, ax, ay, bx, by):
    """Return whether a line leads from a cell to a neighbour from which a wall parts it;
    both are where it is at points a quarter of a cell apart.
    """
    count = max(1, int(np.ceil(hypot(bx - ax, by - ay) / (WALL_STEP * ground.cell))))
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
def _sees_over_floors(slots, slot, ground, ax, ay, bx, by):
    """Return what a line costs (cells of the fastest ground) of which every cell that it passes through is
    walkable, on the floors to which it leads; infinite if one is not, or it ends on another floor.
    """
    cell = ground.cell
    node, goal = np.int64(home_at(ground, ax, ay)), home_at(ground, bx, by)
    px, py = (ax - ground.x) / cell, (ay - ground.y) / cell
    qx, qy = (bx - ground.x) / cell, (moved_to_floor(ground, by, ay) - ground.y) / cell
    length = hypot(qx - px, qy - py)
    ux, uy = ((qx - px) / length, (qy - py) / length) if length > 0.0 else (1.0, 0.0)
    is_steep = abs(qy - py) > abs(qx - px)
    if is_steep:
        px, py, qx, qy = py, px, qy, qx
    on = 1 if qx >= px else -1
    ahead = (2 if on > 0 else 6) if is_steep else (0 if on > 0 else 4)
    up, down = (0, 4) if is_steep else (2, 6)
    slope = (qy - py) / (qx - px) if qx != px else 0.0
    last, dear, cost, column, end = np.int64(-1), 1.0, 0.0, int(np.floor(px)), int(np.floor(qx))
    row = int(np.floor(py))
    while True:
        if on > 0:
            begin, leave = max(px, float(column)), min(qx, column + 1.0)
        else:
            begin, leave = min(px, column + 1.0), max(qx, float(column))
        first, then = py + (begin - px) * slope, py + (leave - px) * slope
        low, high = min(first, then), max(first, then)
        least, most, out = int(np.floor(low - SLACK)), int(np.floor(high + SLACK)), int(np.floor(then))
        out_node = node
        for turn in range(2):  # from the cell over which it comes in to those above, then to those below
            here, there = row, node
            while least <= here <= most:
                if not is_walkable(slots, slot, ground, there):
                    return np.inf
                if here == out:
                    out_node = there
                if turn == 0 or here != row:
                    kind = np.int64(ground.floors.kind[there])
                    if kind != last:
                        _, dear = metre_along(ground.floors, kind, ux, uy)
                        last = kind
                    part = 1.0 if here == out else 0.0
                    if high > low:
                        part = max(0.0, min(high, here + 1.0) - max(low, float(here))) / (high - low)
                    cost += part * abs(leave - begin) * np.sqrt(1.0 + slope * slope) * dear
                here += 1 if turn == 0 else -1
                if least <= here <= most:
                    there = np.int64(beside(ground, there, up if turn == 0 else down))
        node, row = out_node, out
        if column == end:
            break
        node = np.int64(beside(ground, node, ahead))
        column += on
    return cost if node == goal else np.inf


@lean_kernel
def _sees_samples_over_floors(slots, slot, ground, ax, ay, bx, by, step):
    """Return the same for a line of which the cells under points are looked at;
    `step` (cells) is the distance of the points.
    """
    over_y = moved_to_floor(ground, by, ay)
    length = hypot(bx - ax, over_y - ay)
    ux, uy = ((bx - ax) / length, (over_y - ay) / length) if length > 0.0 else (1.0, 0.0)
    count = max(1, int(np.ceil(length / (step * ground.cell))))
    node, cost, before = np.int64(home_at(ground, ax, ay)), 0.0, 0.0
    last_x, last_y = cell_at(ground, ax, ay)
    for i in range(count + 1):
        cx, cy = cell_at(ground, ax + (bx - ax) * (i / count), ay + (over_y - ay) * (i / count))
        if cx != last_x or cy != last_y:
            d = direction_of(cx - last_x, cy - last_y)
            if d < 0:
                return np.inf
            node = np.int64(beside(ground, node, d))
            last_x, last_y = cx, cy
        if not is_walkable(slots, slot, ground, node):
            return np.inf
        _, dear = metre_along(ground.floors, np.int64(ground.floors.kind[node]), ux, uy)
        cost += 0.5 * (before + dear) if i > 0 else 0.0
        before = dear
    return cost * length / (count * ground.cell) if node == home_at(ground, bx, by) else np.inf


@inlined_kernel
def _steps_over_wall_on_floors(ground, ax, ay, bx, by):
    """Return whether a line over several floors leads from a cell to a neighbour from which a wall parts
    it; see `_steps_over_wall`.
    """
    over_y = moved_to_floor(ground, by, ay)
    count = max(1, int(np.ceil(hypot(bx - ax, over_y - ay) / (WALL_STEP * ground.cell))))
    node = np.int64(home_at(ground, ax, ay))
    last_x, last_y = cell_at(ground, ax, ay)
    for i in range(1, count + 1):
        cx, cy = cell_at(ground, ax + (bx - ax) * (i / count), ay + (over_y - ay) * (i / count))
        if cx != last_x or cy != last_y:
            node = next_node(ground, node, cx - last_x, cy - last_y)
            last_x, last_y = cx, cy
            if node == NOWHERE:
                return True
    return False


@lean_kernel
def line_cost(slots, slot, ground, ax, ay, bx, by, step):
    """Return what a straight line between two places costs, in cells of the fastest ground, infinite if it is
    not free; over several floors and slopes. See `is_in_sight`.
    """
    if step > 0.0:
        cost = _sees_samples_over_floors(slots, slot, ground, ax, ay, bx, by, step)
    else:
        cost = _sees_over_floors(slots, slot, ground, ax, ay, bx, by)
    return np.inf if cost == np.inf or _steps_over_wall_on_floors(ground, ax, ay, bx, by) else cost


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
    if not is_flat(ground):
        return line_cost(slots, slot, ground, ax, ay, bx, by, step) < np.inf
    return _what_blocks(slots, slot, ground, ax, ay, bx, by, step) == CLEAR


@lean_kernel
def _what_blocks(slots, slot, ground, ax, ay, bx, by, step):
    """Return a node that is not walkable and blocks a line on flat ground, NO_NODE if something else does, or
    CLEAR. See `is_in_sight`.
    """
    if step > 0.0:
        found = _blocks_samples(slots, slot, ground, ax, ay, bx, by, step)
    else:
        found = _blocks_exactly(slots, slot, ground, ax, ay, bx, by, 1)
    return NO_NODE if found == CLEAR and _steps_over_wall(ground, ax, ay, bx, by) else found


@inlined_kernel
def _is_blocked_by(ground, node, ax, ay, bx, by, step):
    """Return whether a node that is not walkable blocks a line on flat ground, too."""
    cx, cy = cell_of(ground, node)
    if step > 0.0:
        return _passes_samples(ground, ax, ay, bx, by, step, cx, cy)
    return _passes_exactly(ground, ax, ay, bx, by, cx, cy)


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
        Nodes of the path, in ``slots.heap_entry[slot]``.
    """
    start, mark, nodes = slots.header[slot, START], slots.mark[slot], slots.heap_entry[slot]
    count, node = 1, np.int64(last)
    while node != start:
        node = np.int64(beside(ground, node, (mark[node] >> STEP_SHIFT) + 4 & 7))
        count += 1
    node = np.int64(last)
    for place in range(count - 1, 0, -1):
        nodes[place] = node
        node = np.int64(beside(ground, node, (mark[node] >> STEP_SHIFT) + 4 & 7))
    nodes[0] = start
    return count


@lean_kernel
def _sum_costs(slots, slot, ground, count):
    """Write what the cells of a path cost up to each of them (cells) to its slot's heap, of which the nodes
    alone are needed.
    """
    nodes, costs = slots.heap_entry[slot], slots.heap_bound[slot]
    costs[0] = 0.0
    for i in range(1, count):
        ax, ay = plan_cell_of(ground, nodes[i - 1])
        bx, by = plan_cell_of(ground, nodes[i])
        d = direction_of(bx - ax, by - ay)
        costs[i] = costs[i - 1]
        if d >= 0:
            costs[i] += (SQRT2 if d & 1 else 1.0) * step_cost(ground, nodes[i - 1], nodes[i], d)


@inlined_kernel
def _aside(ground, node, x, y):
    """Return what it costs at most to come from a place in a cell to its centre (cells)."""
    cx, cy = centre_of(ground, node)
    kind, dear = np.int64(ground.floors.kind[node]), 1.0
    for d in range(8):
        dear = max(dear, ground.floors.metre[kind, d])
    return dear * hypot(x - cx, plan_of(ground, y) - plan_of(ground, cy)) / ground.cell


@lean_kernel
def pull_taut(slots, slot, ground, count, step, trim):
    """Leave of a path only the waypoints between which lines of sight are free.

    Parameters
    ----------
    slots : GridSlots
    slot : int
    ground : Ground
    count : int
        Nodes of the path in ``slots.heap_entry[slot]``, see `list_cells`; overwritten.
    step : float, cells
        See `is_in_sight`.
    trim : float, cells
        The centre of the first cell is left out if the start is no farther from it.

    Returns
    -------
    int
        Waypoints, in ``slots.heap_entry[slot]``; the last stands for the point asked for if that is in its
        cell (`waypoint`).

    Notes
    -----
    Lines are drawn from the start itself where the first waypoint is left out, and to the very point that was
    asked for: that is where the agent walks. Where a start off the ground was moved, lines begin at the cell
    that it was moved to.
    Source: [Pathfinding undated], sections 3 and 4. Twin: `tests/reference/grid_sight.py`.
    """
    nodes, costs, measure = slots.heap_entry[slot], slots.heap_bound[slot], slots.measure
    x, y = measure[slot, START_X], measure[slot, START_Y]
    first_x, first_y = centre_of(ground, nodes[0])
    cx, cy = cell_at(ground, x, y)
    away = hypot(first_x - x, plan_of(ground, first_y) - plan_of(ground, y))
    is_trimmed, has_floors = count > 1 and away <= trim * ground.cell, not is_flat(ground)
    kept = 0 if is_trimmed else 1
    own = home_at(ground, x, y) if has_floors else node_at(ground, cx, cy)
    if not is_trimmed or own != nodes[0]:
        x, y = first_x, first_y
    if has_floors:
        _sum_costs(slots, slot, ground, count)
    # What blocks one line blocks most of those to the cells before its end: it is looked at first.
    place, blocker = 0, NO_NODE
    while place < count - 1:
        following = count - 1
        while following > place + 1:
            px, py = waypoint(slots, slot, ground, nodes[following], following == count - 1)
            if has_floors:
                most = costs[following] - costs[place] + SAME_LINE
                most += _aside(ground, nodes[place], x, y) + _aside(ground, nodes[following], px, py)
                if line_cost(slots, slot, ground, x, y, px, py, step) <= most:
                    break
            elif blocker < 0 or not _is_blocked_by(ground, blocker, x, y, px, py, step):
                blocker = _what_blocks(slots, slot, ground, x, y, px, py, step)
                if blocker == CLEAR:
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
        if home_at(ground, x, y) == node:
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
        Length in plan of the path from its start over all waypoints.
    """
    x, y = slots.measure[slot, START_X], slots.measure[slot, START_Y]
    length = 0.0
    for i in range(count):
        px, py = waypoint(slots, slot, ground, slots.heap_entry[slot, i], i == count - 1)
        out[at + i, 0], out[at + i, 1] = px, py
        length += hypot(px - x, plan_of(ground, py) - plan_of(ground, y))
        x, y = px, py
    return length
