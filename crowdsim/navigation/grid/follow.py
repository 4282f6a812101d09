"""Walking along waypoints ([Pathfinding undated], section 7):
where an agent goes, whether it stands, and when it has arrived.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.grid.ground import floor_at, moved_to_floor, plan_of
from crowdsim.navigation.grid.lines import length_on_floor, seam_gap
from crowdsim.navigation.grid.search import GENERATION, GENERATION_SHIFT, NEED, TAKEN, GridSlots, make_slots
from crowdsim.navigation.grid.sight import is_line_walkable


class Walks(NamedTuple):
    """What walking agents know; row i belongs to agent i.

    All places are those on the sheet of the grid, which on one level floor is the plan. A leg, the line to a
    waypoint, lies on the floor of the waypoint.

    Attributes
    ----------
    waypoint : (m, 2) float64, m
        Paths of all agents, one after the other.
    start, total, current : (n,) int64
        The path of agent i is ``waypoint[start[i]:start[i] + total[i]]``; `current` of it are passed. Without
        a path, `total` is 0.
    leg : (n, 2) float64, m
        Where the line to the current waypoint begins: the waypoint before, or where the path began.
    target : (n, 2) float64, m
        Where the agent wants to stand once it has no waypoints.
    requested : (n, 2) float64, m
        The target of the last request; paths may end elsewhere. NaN if there was none.
    is_walking : (n,) uint8
        1 in the state WALK, 0 in the state STAND.
    """

    waypoint: NDArray[np.float64]
    start: NDArray[np.int64]
    total: NDArray[np.int64]
    current: NDArray[np.int64]
    leg: NDArray[np.float64]
    target: NDArray[np.float64]
    requested: NDArray[np.float64]
    is_walking: NDArray[np.uint8]


@inlined_kernel
def _is_passed(walks, row, place, ground, x, y, reached):
    """Return whether a waypoint is behind an agent:
    it is there, or it has crossed the plane through it that stands across the line to it.

    The plane does not count at the end of a path: the last waypoint is a place to be, not one to go past.
    Nor does it on another floor than that of the leg that follows; a waypoint at a seam is behind an agent
    that has come to the floor beyond.
    """
    to_x, to_y = walks.waypoint[place, 0], walks.waypoint[place, 1]
    is_last = place == walks.start[row] + walks.total[row] - 1
    begin_y = walks.leg[row, 1]
    if ground.floors.rise.size > 1:
        here, floor = floor_at(ground, y), floor_at(ground, to_y)
        beyond = floor if is_last else floor_at(ground, walks.waypoint[place + 1, 1])
        if here != floor and here != beyond:
            return False
        if floor != beyond and here == beyond:
            return True
        y, to_y, begin_y = plan_of(ground, y), plan_of(ground, to_y), plan_of(ground, begin_y)
        if here != beyond:
            return hypot(x - to_x, y - to_y) <= reached
    dx, dy = x - to_x, y - to_y
    if hypot(dx, dy) <= reached:
        return True
    lx, ly = to_x - walks.leg[row, 0], to_y - begin_y
    return not is_last and (lx != 0.0 or ly != 0.0) and dx * lx + dy * ly >= 0.0


@inlined_kernel
def _aim(walks, row, ground, x, y, radius):
    """Return the waypoint that an agent on the sheet walks to: the current one, or, where that only says at
    which point of a seam the path goes over it, the one behind, if the agent gets there over the seam.
    """
    place, floors = walks.start[row] + walks.current[row], ground.floors
    if floors.rise.size == 1 or walks.current[row] == walks.total[row] - 1:
        return place
    here, beyond = floor_at(ground, walks.waypoint[place, 1]), floor_at(ground, walks.waypoint[place + 1, 1])
    if here == beyond or floor_at(ground, y) != here:
        return place
    to_x, to_y = walks.waypoint[place + 1, 0], plan_of(ground, walks.waypoint[place + 1, 1])
    is_wide = seam_gap(ground, x, plan_of(ground, y), to_x, to_y, here, beyond) >= radius
    return place + 1 if is_wide else place


@lean_kernel
def follow_waypoints(
    start, stop, walks, ground, position, radius, speed, tick, reached, velocity, has_arrived, aim
):
    """Lead agents start..stop - 1 along their waypoints.

    Parameters
    ----------
    start, stop : int
    walks : Walks
        `total`, `current`, `leg` and `is_walking` of the agents are moved on.
    ground : Ground
    position : (n, 2) float64, m
        On the sheet.
    radius : (n,) float64, m
    speed : (n,) float64, m/s
        Walk speed.
    tick : float, s
    reached : float, m
        A waypoint, or a target, nearer than this is reached.
    velocity : (n, 2) float64, m/s
        Receives the velocity that each agent prefers: at walk speed to the current waypoint, slower only
        where it would go past the last.
    has_arrived : (n,) uint8
        Receives 1 for agents that reached the last waypoint in this tick.
    aim : (n, 2) float64, m
        Receives the waypoint or target that each walks to, on the sheet.

    Notes
    -----
    An agent without waypoints that was pushed off its target by more than `reached` walks back to it. Cost:
    about 20 ns an agent. Source: [Pathfinding undated], section 7. Twin: `tests/reference/grid_follow.py`.
    """
    for row in range(np.uint64(start), np.uint64(stop)):
        x, y = position[row, 0], position[row, 1]
        has_arrived[row] = 0
        while walks.current[row] < walks.total[row]:
            place = walks.start[row] + walks.current[row]
            if not _is_passed(walks, row, place, ground, x, y, reached):
                break
            walks.leg[row, 0], walks.leg[row, 1] = walks.waypoint[place, 0], walks.waypoint[place, 1]
            walks.current[row] += 1
            if walks.current[row] == walks.total[row]:
                walks.total[row] = walks.current[row] = 0
                has_arrived[row] = 1
        aim[row, 0], aim[row, 1] = walks.target[row, 0], walks.target[row, 1]
        if walks.total[row] > 0:
            place = _aim(walks, row, ground, x, y, radius[row])
            aim[row, 0], aim[row, 1] = walks.waypoint[place, 0], walks.waypoint[place, 1]
        dx, dy = aim[row, 0] - x, plan_of(ground, aim[row, 1]) - plan_of(ground, y)
        distance = hypot(dx, dy)
        if distance > reached:
            ux, uy = dx / distance, dy / distance
            is_last = walks.current[row] >= walks.total[row] - 1
            pace = min(speed[row], distance / tick) if is_last else speed[row]
            velocity[row, 0], velocity[row, 1] = ux * pace, uy * pace
            walks.is_walking[row] = 1
        else:
            velocity[row, 0] = velocity[row, 1] = 0.0
            walks.is_walking[row] = 0


@lean_kernel
def measure_paths(start, stop, rows, walks, ground, position, length):
    """Measure what is ahead of the agents of rows[start:stop], over their waypoints to where they want to
    stand, along the surface.

    Parameters
    ----------
    start, stop : int
    rows : (k,) int64
    walks : Walks
    ground : Ground
    position : (n, 2) float64, m
        On the sheet.
    length : (k,) float64, m
        Receives the lengths.

    Notes
    -----
    Twin: `tests/reference/grid_follow.py`.
    """
    for i in range(start, stop):
        row = rows[i]
        x, y = position[row, 0], position[row, 1]
        length[i] = 0.0
        for place in range(walks.start[row] + walks.current[row], walks.start[row] + walks.total[row]):
            to_x, to_y = walks.waypoint[place, 0], walks.waypoint[place, 1]
            length[i] += length_on_floor(ground, x, moved_to_floor(ground, y, to_y), to_x, to_y)
            x, y = to_x, to_y
        to_x, to_y = walks.target[row, 0], walks.target[row, 1]
        length[i] += length_on_floor(ground, x, moved_to_floor(ground, y, to_y), to_x, to_y)


@lean_kernel
def find_standing(start, stop, walks, position, reached, is_standing):
    """Say which agents start..stop - 1 stand: no waypoints left, and at their target.

    Parameters
    ----------
    start, stop : int
    walks : Walks
    position : (n, 2) float64, m
    reached : float, m
    is_standing : (n,) uint8
        Receives 1 or 0.

    Notes
    -----
    Only agents that stand are in the way of others ([Pathfinding undated], section 6). Twin:
    `tests/reference/grid_follow.py`.
    """
    for row in range(np.uint64(start), np.uint64(stop)):
        away = hypot(position[row, 0] - walks.target[row, 0], position[row, 1] - walks.target[row, 1])
        is_standing[row] = 1 if walks.total[row] == 0 and away <= reached else 0


@lean_kernel
def find_cut(start, stop, walks, position, ground, closed, is_cut):
    """Say which of the agents start..stop - 1 have a path over cells that were closed.

    Parameters
    ----------
    start, stop : int
    walks : Walks
    position : (n, 2) float64, m
        On the sheet.
    ground : Ground
    closed : GridSlots
        One slot on which the cells that were closed are taken, see `marked_cells`.
    is_cut : (n,) uint8
        Receives 1 or 0; what lies behind an agent does not count.

    Notes
    -----
    Source: [Pathfinding undated], section 2b: areas are toggled at run time. Twin:
    `tests/reference/grid_follow.py`.
    """
    for row in range(np.uint64(start), np.uint64(stop)):
        is_cut[row] = 0
        x, y = position[row, 0], position[row, 1]
        for place in range(walks.start[row] + walks.current[row], walks.start[row] + walks.total[row]):
            to_x, to_y = walks.waypoint[place, 0], walks.waypoint[place, 1]
            if not is_line_walkable(closed, 0, ground, x, moved_to_floor(ground, y, to_y), to_x, to_y):
                is_cut[row] = 1
                break
            x, y = to_x, to_y


def marked_cells(lost: NDArray[np.bool_]) -> GridSlots:
    """Return cells, (depth, width) bool, in the form that lines of sight look at:
    nothing but these is in the way.
    """
    slots = make_slots(1, (lost.shape[1] + 2) * (lost.shape[0] + 2))
    lost = np.pad(lost, 1).reshape(-1)
    slots.header[0, GENERATION] = 1
    slots.mark[0, lost] = 1 << GENERATION_SHIFT | TAKEN
    slots.measure[0, NEED] = -np.inf
    return slots
