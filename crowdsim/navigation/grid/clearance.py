"""Paths over cells as agents can walk them where the ground ends at walls.

The cells of [Pathfinding undated] know of no walls: an area is walkable up to its edge, and half a cell
beyond it lies what a line of sight takes for ground. In a scenario edges are walls, which keep centres a
radius away. So waypoints are moved to where the agent fits, and where a wall is in the line from one to the
next, the cells under that line are gone over one by one.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.lengths import hypots
from crowdsim.geometry.plane import nearest_on_segment
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.navigation.corridor.clear_line import is_clear_line
from crowdsim.navigation.corridor.walk import walk_point
from crowdsim.navigation.grid.ground import Ground, cell_at, floor_at, moved_to_floor, plan_of
from crowdsim.navigation.grid.sheet import Sheet
from crowdsim.navigation.mesh.mesh import Flood, NavMesh, locate, make_flood, wall_distance

# Off walls in turn, each by a share of what is missing, at first half of it; more gets nearer to the middle
# of narrow gaps.
MOST_PUSHES = 40
# By how much the share falls each time: between two walls that are too near to each other it comes to rest in
# the middle.
DAMPING = 0.9
PUSH_M = 1e-3  # Besides: what is left to be missed in the end.
# A place this near to a wall is pushed along the wall's normal: its own direction from the wall is rounding.
ON_WALL_M = 1e-4
# What paths keep from walls beside the radius where there is room: no agent walks to the centimetre, and some
# models stop before a corner in their line. With none, one in ten lone agents under hrvo and toi was stuck
# for good at a door of 0.9 m; more bends paths that could be straight.
SPARE_M = 0.1
# Of a line with a wall in it: a corner between two places half a metre apart is then gone round in steps of
# 6 cm.
MOST_HALVINGS = 3
LEAST_STEP_M = 0.02  # Places nearer to each other are one.
# Of the points of a line under which cells are looked at, as in [Pathfinding undated], section 4.
STEP_CELLS = 0.5


class Floor(NamedTuple):
    """A mesh, and room to work in: `flood`, and for `walk_point` `state`, (3,), and `crossed`, (0,)."""

    mesh: NavMesh
    flood: Flood
    state: NDArray[np.int64]
    crossed: NDArray[np.int64]


@lean_kernel
def clear_place(floor, layer, x, y, radius):
    """Return the place near a point where an agent fits with some clearance to spare, as (x, y), its polygon,
    and its distance to the nearest wall.

    Parameters
    ----------
    floor : Floor
    layer : int
        Floor of the point.
    x, y, radius : float, m

    Returns
    -------
    float, float, int, float
        The point itself if the agent fits there, or it lies off the ground (then -1), or no place that it is
        pushed to has more. The distance is at most `radius` and `SPARE_M`.

    Notes
    -----
    It is pushed off the nearest wall again and again, along the mesh, so never through another. Twin:
    `tests/reference/grid_clearance.py`.
    """
    mesh, flood, state = floor.mesh, floor.flood, floor.state
    polygon = locate(mesh, x, y, layer)
    if polygon < 0:
        return x, y, polygon, 0.0
    needed = radius + SPARE_M
    clear = wall_distance(mesh, polygon, x, y, needed, flood)
    best_x, best_y, most = x, y, clear
    state[0] = polygon
    share = 0.5
    for _ in range(MOST_PUSHES):
        if clear >= needed:
            break
        a, b = mesh.edge_vertex[flood.nearest[0]], mesh.edge_end[flood.nearest[0]]
        ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
        cx, cy = nearest_on_segment(x, y, ax, ay, bx, by)
        nx, ny = x - cx, y - cy
        length = hypot(nx, ny)
        if length <= ON_WALL_M:
            nx, ny = ay - by, bx - ax  # the wall's own normal, into free ground
            length = hypot(nx, ny)
        step = share * (needed - clear) + PUSH_M
        share *= DAMPING
        x, y = walk_point(mesh, state, floor.crossed, x, y, x + nx / length * step, y + ny / length * step)
        clear = wall_distance(mesh, state[0], x, y, needed, flood)
        if clear > most:
            most, best_x, best_y, polygon = clear, x, y, state[0]
    return best_x, best_y, polygon, most


@lean_kernel
def _list_places(floor, ground, from_x, from_y, to_x, to_y, radius, place, under):
    """Write the clear places of the cells under a line on one floor of the sheet, without its first, to
    `place` (x, y in plan, clearance) and their polygons to `under`; return their number.
    """
    steps = int(np.ceil(hypot(to_x - from_x, to_y - from_y) / (STEP_CELLS * ground.cell)))
    last_x, last_y = cell_at(ground, from_x, from_y)
    count, layer = 0, floor_at(ground, to_y)
    for step in range(1, steps):
        cx, cy = cell_at(
            ground, from_x + (to_x - from_x) * (step / steps), from_y + (to_y - from_y) * (step / steps)
        )
        if cx == last_x and cy == last_y:
            continue
        last_x, last_y = cx, cy
        x, y = ground.x + (cx + 0.5) * ground.cell, plan_of(ground, ground.y + (cy + 0.5) * ground.cell)
        place[count, 0], place[count, 1], under[count], place[count, 2] = clear_place(
            floor, layer, x, y, radius
        )
        if under[count] >= 0:
            count += 1
    return count


@lean_kernel
def _is_clear(floor, polygon, x, y, clear, to_x, to_y, under, to_clear, radius):
    """Return whether an agent gets straight from one place to another, which lies on polygon `under`,
    with as much to spare as there is at both.
    """
    mesh, kept = floor.mesh, max(radius, min(min(clear, to_clear), radius + SPARE_M) - PUSH_M)
    is_clear = is_clear_line(mesh, polygon, x, y, to_x, to_y, kept, floor.flood, floor.state, floor.crossed)
    return is_clear and (under < 0 or mesh.polygon_layer[floor.state[0]] == mesh.polygon_layer[under])


@inlined_kernel
def _write(floor, ground, x, y, under, layer, out, fill):
    """Write a place to ``out[fill]``: on the floor of its polygon, off the ground on another."""
    on = np.int64(floor.mesh.polygon_layer[under]) if under >= 0 else layer
    out[fill, 0], out[fill, 1] = x, y
    if ground.floors.rise.size > 1:
        out[fill, 1] += ground.floors.rise[on]


@lean_kernel
def _go_to(floor, ground, x, y, polygon, clear, layer, radius, ahead, out, fill):
    """Write a path to the place in ``ahead[0]`` to ``out[fill:]``; return how far `out` is filled.

    Where a wall is in the line, it goes over a clear place near its middle, and so on for both halves,
    `MOST_HALVINGS` times. `ahead` is scratch for the places that are still ahead, the next one last: x, y,
    polygon, clearance, and how often the line to it was halved.
    """
    count = 1
    ahead[0, 4] = 0.0
    while count > 0:
        to_x, to_y, under, to_clear = (
            ahead[count - 1, 0],
            ahead[count - 1, 1],
            np.int64(ahead[count - 1, 2]),
            ahead[count - 1, 3],
        )
        if ahead[count - 1, 4] < MOST_HALVINGS and not _is_clear(
            floor, polygon, x, y, clear, to_x, to_y, under, to_clear, radius
        ):
            mx, my, middle, middle_clear = clear_place(
                floor, layer, 0.5 * (x + to_x), 0.5 * (y + to_y), radius
            )
            if middle >= 0 and min(hypot(mx - x, my - y), hypot(mx - to_x, my - to_y)) > LEAST_STEP_M:
                ahead[count, 0], ahead[count, 1], ahead[count, 2], ahead[count, 3] = (
                    mx,
                    my,
                    middle,
                    middle_clear,
                )
                ahead[count - 1, 4] += 1.0
                ahead[count, 4] = ahead[count - 1, 4]
                count += 1
                continue
        _write(floor, ground, to_x, to_y, under, layer, out, fill)
        fill += 1
        count -= 1
        x, y, clear = to_x, to_y, to_clear
        polygon = under if under >= 0 else polygon
    return fill


@kernel
def lead_past_walls(mesh, ground, waypoint, start, position, polygon, radius, longest, out, out_start):
    """Write the paths of agents as they can walk them; see the module.

    Parameters
    ----------
    mesh : NavMesh
    ground : Ground
    waypoint : (m, 2) float64, m
        On the sheet of the grid; the leg to each lies on its floor.
    start : (k + 1,) int64
        Those of agent i are ``waypoint[start[i]:start[i + 1]]``.
    position : (k, 2) float64, m
        On the sheet.
    polygon : (k,) int64
        Where the agents are.
    radius : (k,) float64, m
    longest : int
        More than the steps of the longest line.
    out : (n, 2) float64, m
        Receives the waypoints; room for 2 ** MOST_HALVINGS at each step of each line, and as many at its end.
    out_start : (k + 1,) int64
        Receives where those of each agent begin.

    Notes
    -----
    The last waypoint stays the last. Where no path past a wall is found, the line goes straight on: agents
    slide along walls. Twin: `tests/reference/grid_clearance.py`.
    """
    floor = Floor(
        mesh,
        make_flood(mesh.polygon_start.size - 1),
        np.zeros(3, dtype=np.int64),
        np.zeros(0, dtype=np.int64),
    )
    place, under, ahead = (
        np.empty((longest, 3)),
        np.empty(longest, dtype=np.int64),
        np.empty((MOST_HALVINGS + 1, 5)),
    )
    fill = 0
    for i in range(radius.size):
        out_start[i] = fill
        r = radius[i]
        x, y, here = position[i, 0], plan_of(ground, position[i, 1]), polygon[i]
        clear = wall_distance(mesh, here, x, y, r + SPARE_M, floor.flood)
        from_x, from_y = position[i, 0], position[i, 1]
        for k in range(start[i], start[i + 1]):
            to_x, to_y = waypoint[k, 0], waypoint[k, 1]
            from_y, layer = moved_to_floor(ground, from_y, to_y), floor_at(ground, to_y)
            end_x, end_y, end, end_clear = clear_place(floor, layer, to_x, plan_of(ground, to_y), r)
            count, at = 0, 0
            is_clear = _is_clear(floor, here, x, y, clear, end_x, end_y, end, end_clear, r)
            if not is_clear:
                count = _list_places(floor, ground, from_x, from_y, to_x, to_y, r, place, under)
            while at < count and not is_clear:
                while at + 1 < count and _is_clear(
                    floor,
                    here,
                    x,
                    y,
                    clear,
                    place[at + 1, 0],
                    place[at + 1, 1],
                    under[at + 1],
                    place[at + 1, 2],
                    r,
                ):
                    at += 1
                ahead[0, 0], ahead[0, 1], ahead[0, 2], ahead[0, 3] = (
                    place[at, 0],
                    place[at, 1],
                    under[at],
                    place[at, 2],
                )
                fill = _go_to(floor, ground, x, y, here, clear, layer, r, ahead, out, fill)
                x, y, here, clear = place[at, 0], place[at, 1], under[at], place[at, 2]
                is_clear = _is_clear(floor, here, x, y, clear, end_x, end_y, end, end_clear, r)
                at += 1
            ahead[0, 0], ahead[0, 1], ahead[0, 2], ahead[0, 3] = end_x, end_y, end, end_clear
            fill = _go_to(floor, ground, x, y, here, clear, layer, r, ahead, out, fill)
            x, y, here, clear = end_x, end_y, end if end >= 0 else here, end_clear
            from_x, from_y = to_x, to_y
    out_start[radius.size] = fill


def walked(
    mesh: NavMesh,
    ground: Ground,
    waypoint: NDArray[np.float64],
    start: NDArray[np.int64],
    position: NDArray[np.float64],
    polygon: NDArray[np.int64],
    radius: NDArray[np.float64],
    sheet: Sheet | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return paths as agents can walk them, as (waypoints, start); see `lead_past_walls`.

    Parameters
    ----------
    mesh : NavMesh
    ground : Ground
    waypoint : (m, 2) float64, m
    start : (k + 1,) int64
    position : (k, 2) float64, m
        Like waypoints on the sheet of the grid.
    polygon : (k,) int64
    radius : (k,) float64, m
    sheet : Sheet, optional
        Of a grid over several floors.
    """
    plan_of = (sheet or Sheet()).plan_of
    sizes, to = np.diff(start), plan_of(waypoint)
    first = np.zeros(len(waypoint), dtype=np.bool_)
    first[start[:-1][sizes > 0]] = True
    before = np.concatenate([to[:1], to[:-1]])
    before[first] = plan_of(position)[sizes > 0]
    steps = np.ceil(hypots(*(to - before).T) / (STEP_CELLS * ground.cell)).astype(np.int64)
    longest = int(steps.max(initial=0)) + 1
    out, out_start = (
        np.empty(((int(steps.sum()) + len(waypoint)) << MOST_HALVINGS, 2)),
        np.empty(len(start), dtype=np.int64),
    )
    lead_past_walls(mesh, ground, waypoint, start, position, polygon, radius, longest, out, out_start)
    return out[: out_start[-1]], out_start
