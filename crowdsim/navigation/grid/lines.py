"""Straight lines over the cells of several floors: to which floor they lead, where they cross seams, and how
long they are along the surface.

A line is straight in plan. It begins on the floor of its first place, and from cell to cell it goes on as a
step does: over a seam onto the floor beyond.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import distance_to_segment, nearest_on_segment
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.grid.ground import (
    NOWHERE,
    beside,
    cell_at,
    floor_at,
    floor_of_row,
    home_at,
    is_flat,
    is_on_grid,
    metre_along,
    moved_to_floor,
    node_at,
    plan_of,
)
from crowdsim.navigation.grid.moves import STEP_X, STEP_Y

# Cells between two points at which it is looked where a line is. One that touches a corner between two of
# them is taken to go diagonally past it.
LINE_STEP = 0.25
AT_SEAM_M = 1e-6  # A leg that begins or ends this near to a seam does not cross it.


@inlined_kernel
def direction_of(dx, dy):
    """Return the direction of a step over (dx, dy) cells; -1 if it is none."""
    for d in range(8):
        if STEP_X[d] == dx and STEP_Y[d] == dy:
            return d
    return -1


@inlined_kernel
def next_node(ground, node, dx, dy):
    """Return the node over (dx, dy) cells from one, at most one in each; NOWHERE over a wall."""
    d = direction_of(dx, dy)
    if node == NOWHERE or d < 0 or ground.bars[node] >> d & 1:
        return np.int64(NOWHERE)
    return np.int64(beside(ground, node, d))


@inlined_kernel
def parts_of(ground, ax, ay, bx, by):
    """Return into how many parts a line is cut to see where it is."""
    return max(1, int(np.ceil(hypot(bx - ax, by - ay) / (LINE_STEP * ground.cell))))


@lean_kernel
def node_along(ground, ax, ay, bx, by):
    """Return the node of the cell under the end of a line.

    Parameters
    ----------
    ground : Ground
    ax, ay : float, m
        A place on the sheet.
    bx, by : float, m
        Where the line ends, as if that were on the same floor.

    Returns
    -------
    int
        On the floor to which the line leads; NOWHERE if a wall or the end of the ground is between.
    """
    node = np.int64(home_at(ground, ax, ay))
    count = parts_of(ground, ax, ay, bx, by)
    last_x, last_y = cell_at(ground, ax, ay)
    for i in range(1, count + 1):
        cx, cy = cell_at(ground, ax + (bx - ax) * (i / count), ay + (by - ay) * (i / count))
        if cx != last_x or cy != last_y:
            node = next_node(ground, node, cx - last_x, cy - last_y)
            last_x, last_y = cx, cy
    return node


@lean_kernel
def length_on_floor(ground, ax, ay, bx, by):
    """Return how long a line is along the surface (m), between two places of the sheet on one floor."""
    length = hypot(bx - ax, by - ay)
    if is_flat(ground) or length == 0.0:
        return length
    ux, uy, total = (bx - ax) / length, (by - ay) / length, 0.0
    count, last, along = parts_of(ground, ax, ay, bx, by), np.int64(-1), 1.0
    for i in range(count):
        t = (i + 0.5) / count
        cx, cy = cell_at(ground, ax + (bx - ax) * t, ay + (by - ay) * t)
        if is_on_grid(ground, cx, cy):
            kind = np.int64(ground.floors.kind[node_at(ground, cx, cy)])
            if kind != last:
                along, _ = metre_along(ground.floors, kind, ux, uy)
                last = kind
        total += along
    return length * (total / count)


@inlined_kernel
def _beyond(floors, e, here):
    """Return the floor that one comes to over a seam from another; -1 if it is no seam of that."""
    if floors.seam_floors[e, 0] == here:
        return floors.seam_floors[e, 1]
    return floors.seam_floors[e, 0] if floors.seam_floors[e, 1] == here else np.int64(-1)


@lean_kernel
def seam_point(ground, ax, ay, bx, by, here, beyond, at, hint, crosses):
    """Return where a line in plan goes over a seam.

    Parameters
    ----------
    ground : Ground
    ax, ay, bx, by : float, m
        The line, in plan.
    here : int
        The floor on which it comes to the seam.
    beyond : int
        The one to which it goes; -1 for any.
    at, hint : float, 0..1
        The share of the line after which that is, and about where.
    crosses : int
        1 if only a point that the line crosses will do; else the nearest of a seam is one too.

    Returns
    -------
    x, y, share : float
        Of several points the one nearest to the hint, and the share of the line up to there; -1 if there is
        none.
    floor : int
        The floor beyond.
    """
    floors, found_x, found_y, found, floor, least = ground.floors, ax, ay, -1.0, here, np.inf
    dx, dy = bx - ax, by - ay
    square = dx * dx + dy * dy
    slack = AT_SEAM_M / max(np.sqrt(square), AT_SEAM_M)  # a line that begins or ends at a seam crosses it
    hint_x, hint_y = ax + hint * dx, ay + hint * dy
    for e in range(floors.seam.shape[0]):
        other = _beyond(floors, e, here)
        if other < 0 or (beyond >= 0 and other != beyond):
            continue
        sx, sy, ex, ey = floors.seam[e, 0], floors.seam[e, 1], floors.seam[e, 2], floors.seam[e, 3]
        wx, wy = ex - sx, ey - sy
        turn = dx * wy - dy * wx
        along = ((sx - ax) * dy - (sy - ay) * dx) / turn if turn != 0.0 else -1.0
        share = ((sx - ax) * wy - (sy - ay) * wx) / turn if turn != 0.0 else -1.0
        is_crossed = 0.0 <= along <= 1.0 and at - slack <= share <= 1.0 + slack
        if is_crossed:
            x, y = sx + along * wx, sy + along * wy
        elif crosses == 1:
            continue
        else:
            x, y = nearest_on_segment(hint_x, hint_y, sx, sy, ex, ey)
            share = ((x - ax) * dx + (y - ay) * dy) / square if square > 0.0 else hint
        miss = hypot(x - hint_x, y - hint_y)
        if miss < least:
            least, found_x, found_y, found, floor = miss, x, y, min(1.0, max(at, share)), other
    return found_x, found_y, found, floor


@lean_kernel
def seam_gap(ground, ax, ay, bx, by, here, beyond):
    """Return how far from the ends of a seam between two floors a line in plan goes over it (m);
    -1 if it does not.
    """
    floors = ground.floors
    x, y, share, _ = seam_point(ground, ax, ay, bx, by, here, beyond, 0.0, 0.0, 1)
    gap = -1.0
    for e in range(floors.seam.shape[0] if share >= 0.0 else 0):
        if _beyond(floors, e, here) == beyond:
            sx, sy, ex, ey = floors.seam[e, 0], floors.seam[e, 1], floors.seam[e, 2], floors.seam[e, 3]
            if distance_to_segment(x, y, sx, sy, ex, ey) <= AT_SEAM_M:
                gap = max(gap, min(hypot(x - sx, y - sy), hypot(x - ex, y - ey)))
    return gap


@lean_kernel
def _next_seam(ground, ax, ay, bx, by, here, at):
    """Return where the next seam is on a leg between two places of the sheet.

    Parameters
    ----------
    ground : Ground
    ax, ay, bx, by : float, m
    here : int
        Floor on which the leg is, after a share `at` of it.

    Returns
    -------
    x, y : float, m
        In plan.
    share : float
        -1 where there is none before the end.
    beyond : int
        The floor beyond.
    """
    end, y, to_y = floor_at(ground, by), plan_of(ground, ay), plan_of(ground, by)
    over_y = moved_to_floor(ground, by, ay)
    count, node = parts_of(ground, ax, ay, bx, over_y), home_at(ground, ax, ay)
    last_x, last_y = cell_at(ground, ax, ay)
    missed = -1.0
    for i in range(count + 1):
        cx, cy = cell_at(ground, ax + (bx - ax) * (i / count), ay + (over_y - ay) * (i / count))
        if cx != last_x or cy != last_y:
            node = next_node(ground, node, cx - last_x, cy - last_y)
            last_x, last_y = cx, cy
        if node == NOWHERE or i / count < at:
            continue
        beyond = floor_of_row(ground, node // (ground.width + 2) - 1)
        if beyond == here:
            continue
        x, over, share, floor = seam_point(ground, ax, y, bx, to_y, here, beyond, at, i / count, 1)
        if share < 0.0:  # over a floor between that is too narrow for a cell
            x, over, share, floor = seam_point(ground, ax, y, bx, to_y, here, -1, at, i / count, 1)
        if share >= 0.0 and (here != end or hypot(bx - x, to_y - over) > AT_SEAM_M):
            return x, over, share, floor
        missed = i / count if missed < 0.0 else missed
    if here == end:
        return bx, to_y, -1.0, end
    x, over, share, floor = seam_point(ground, ax, y, bx, to_y, here, end, at, max(missed, at), 0)
    return x, over, share, floor


@lean_kernel
def lay_on_floors(ground, place, start, out, out_start, length):
    """Write paths with a waypoint at each seam that they cross, so that each leg lies on one floor.

    Parameters
    ----------
    ground : Ground
    place : (m, 2) float64, m
        Places on the sheet: where a path begins, and its waypoints.
    start : (k + 1,) int64
        Those of path i are ``place[start[i]:start[i + 1]]``; a path of one is none.
    out : (n, 2) float64, m
        Receives the waypoints; those at seams on the floor that is left there. The leg to a waypoint lies on
        its floor, and begins where the leg before ended, in plan.
    out_start : (k + 1,) int64
        Receives where those of each path begin.
    length : (k,) float64, m
        Receives the lengths of the paths along the surface.

    Returns
    -------
    int
        How many waypoints there are; those for which there is no room in `out` are only counted.

    Notes
    -----
    Twin: `tests/reference/grid_floors.py`.
    """
    rise, fill = ground.floors.rise, 0
    out_start[0] = 0
    for path in range(length.size):
        length[path] = 0.0
        for k in range(start[path] + 1, start[path + 1]):
            ax, ay, bx, by = place[k - 1, 0], place[k - 1, 1], place[k, 0], place[k, 1]
            here, end, at = floor_at(ground, ay), floor_at(ground, by), 0.0
            x, y = ax, plan_of(ground, ay)
            leg = max(hypot(bx - x, plan_of(ground, by) - y), AT_SEAM_M)
            for _ in range(2 * rise.size + 2):
                to_x, to_y, share, beyond = _next_seam(ground, ax, ay, bx, by, here, at)
                if share < 0.0:
                    break
                if hypot(to_x - ax, to_y - plan_of(ground, ay)) > AT_SEAM_M:
                    length[path] += length_on_floor(ground, x, y + rise[here], to_x, to_y + rise[here])
                    if fill < out.shape[0]:
                        out[fill, 0], out[fill, 1] = to_x, to_y + rise[here]
                    x, y = to_x, to_y
                    fill += 1
                here, at = beyond, share + 3.0 * AT_SEAM_M / leg
            length[path] += length_on_floor(ground, x, y + rise[end], bx, by)
            if fill < out.shape[0]:
                out[fill, 0], out[fill, 1] = bx, by
            fill += 1
        out_start[path + 1] = fill
    return fill
