"""What the sampling models share: they look round, weigh velocities by penalties, and differ in the velocities that they try."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.half_planes import OTHER_FLOATS, OTHER_RADIUS, OTHER_SHARE, OTHER_VX, OTHER_VY, OTHER_X, OTHER_Y
from crowdsim.avoidance.impacts import OBSTACLE_FLOATS, WISH_FLOATS, WISH_X, WISH_Y, first_impact, lay_out_neighbours, lay_out_walls
from crowdsim.avoidance.model import FEASIBLE, INFEASIBLE, NOBODY, NOT_ASKED, RELAXED, WALL, Choice, CrowdView
from crowdsim.avoidance.neighbours import CHOSEN, NEAR_X, NEAR_Y, NEAREST_FLOATS, NEAREST_SLOTS, find_nearest
from crowdsim.avoidance.samplers import ADAPTIVE, BATCH_FLOATS, GRID, TABLE, search_adaptively, search_circle, search_grid
from crowdsim.avoidance.seeds import SEED_FLOATS, SEED_SLOTS
from crowdsim.avoidance.wall_planes import MOST_WALLS, near_walls
from crowdsim.geometry.cells import plane_numbers
from crowdsim.geometry.speed import limited
from crowdsim.geometry.wall_frame import WallFrame, wall_frame
from crowdsim.geometry.walls import Walls
from crowdsim.kernels import inlined_kernel, kernel, lean_kernel
from crowdsim.threads import Team

# How much farther than last tick the last neighbour is looked for at first: a guess that costs time where it is wrong, never exactness.
MARGIN_TICKS = 1.0  # ticks of walking at the crowd's greatest speed
MARGIN_M = 1e-3
_IMPACT = np.float32(1.0001)  # An urgency up to this is none: velocities often lie at the horizon exactly, and rounding must not decide the diagnosis.
_FASTER = np.float32(1.0 + 1e-6)  # Squares of speeds are compared with this much room for the rounding of the preferred velocity.

_F0, _F1, _HALF = np.float32(0.0), np.float32(1.0), np.float32(0.5)
_U0, _U1 = np.uint64(0), np.uint64(1)
_SHOWN = np.uint64(6)  # numbers that an agent shows of itself


class SamplingView(NamedTuple):
    """The columns of `CrowdView` that `choose_by_sampling` reads; `reach` is also written."""

    entity: NDArray[np.int64]
    preferred_velocity: NDArray[np.float64]
    radius: NDArray[np.float64]
    maximum_speed: NDArray[np.float64]
    active: NDArray[np.uint8]
    zone: NDArray[np.int64]
    reach: NDArray[np.float32]


class Sampling(NamedTuple):
    """The numbers of a sampling model, as `choose_by_sampling` takes them: an array in this order."""

    neighbour_count: float
    neighbour_distance: float
    time_horizon: float
    time_horizon_walls: float
    tick: float
    weight_preferred: float
    weight_current: float
    weight_side: float
    weight_impact: float
    softening: float
    side: float
    sampler: float
    size: float
    behind: float


@lean_kernel
def gather_shown(start, stop, cells, velocity, preferred_velocity, radius, active, shown):
    """Copy what neighbours show of themselves into cell order.

    Parameters
    ----------
    start, stop : int
        Range of slots.
    cells : Cells
    velocity, preferred_velocity : (n, 2) float64, m/s
    radius : (n,) float64, m
    active : (n,) uint8
    shown : (6 n,) float32
        Receives for each slot velocity x and y, preferred velocity x and y, radius, and the share that the other one takes of avoiding it: 1/2, or 1
        of one that stands; velocities of one that stands are 0.

    Returns
    -------
    float32, m/s
        The greatest component of a velocity in this range.

    Notes
    -----
    Twin: `tests/reference/sampled.py`.
    """
    fastest, cells_row = _F0, cells.row
    for slot in range(np.uint64(start), np.uint64(stop)):
        row, place = np.uint64(cells_row[slot]), slot * _SHOWN
        moves = active[row] != 0
        vx, vy = np.float32(velocity[row, 0]) if moves else _F0, np.float32(velocity[row, 1]) if moves else _F0
        shown[place], shown[place + np.uint64(1)] = vx, vy
        shown[place + np.uint64(2)] = np.float32(preferred_velocity[row, 0]) if moves else _F0
        shown[place + np.uint64(3)] = np.float32(preferred_velocity[row, 1]) if moves else _F0
        shown[place + np.uint64(4)], shown[place + np.uint64(5)] = np.float32(radius[row]), _HALF if moves else _F1
        fastest = max(fastest, max(abs(vx), abs(vy)))
    return fastest


@inlined_kernel
def _meet_others(shown, count, floats, slots, others, wishes):
    """Lay out what is known of the neighbours found."""
    for place in range(count):
        other = np.uint64(slots[CHOSEN + place]) * _SHOWN
        others[OTHER_X + place], others[OTHER_Y + place] = floats[NEAR_X + place], floats[NEAR_Y + place]
        others[OTHER_VX + place], others[OTHER_VY + place] = shown[other], shown[other + np.uint64(1)]
        wishes[WISH_X + place], wishes[WISH_Y + place] = shown[other + np.uint64(2)], shown[other + np.uint64(3)]
        others[OTHER_RADIUS + place], others[OTHER_SHARE + place] = shown[other + np.uint64(4)], shown[other + np.uint64(5)]


@inlined_kernel
def _heading(wish_x, wish_y, vx, vy):
    """Return the direction of the preferred velocity, or of the present one, or of the x axis, as a unit vector."""
    length = np.sqrt(wish_x * wish_x + wish_y * wish_y)
    if length > _F0:
        return wish_x / length, wish_y / length
    length = np.sqrt(vx * vx + vy * vy)
    if length > _F0:
        return vx / length, vy / length
    return _F1, _F0


@inlined_kernel
def _search(numbers, obstacles, counts, aim, weights, heading, speed, seeds, slots, batch):
    """Let the sampler search; see `search_adaptively`."""
    side, size = np.float32(numbers[10]), np.uint64(numbers[12])
    if numbers[11] == ADAPTIVE:
        per_wall_horizon = np.float32(1.0 / numbers[3])
        return search_adaptively(obstacles, counts, aim, weights, heading, side, speed, per_wall_horizon, size, seeds, slots, batch)
    if numbers[11] == GRID:
        return search_grid(obstacles, counts, aim, weights, heading, side, speed, size, batch)
    return search_circle(obstacles, counts, aim, weights, heading, side, size, batch)


@inlined_kernel
def _judge(obstacles, counts, x, y, aim, is_wish, soonest_wall):
    """Return the diagnosis of a velocity, and the obstacle to blame: that which it runs into first within the horizon, else the preferred one."""
    urgency, which = first_impact(obstacles, counts[1], counts[2], x, y)
    if urgency > _IMPACT:
        hits_wall = np.uint64(which) >= counts[0]
        return INFEASIBLE if hits_wall and urgency > soonest_wall else RELAXED, which
    if not is_wish:
        urgency, which = first_impact(obstacles, counts[1], counts[2], aim[0], aim[1])
        if urgency > _IMPACT:
            return FEASIBLE, which
    return FEASIBLE, np.int64(-1)


@lean_kernel
def _choose_by_sampling(
    start, stop, cells, shown, view, frame, numbers, margin, out, table, floats, slots, others, wishes, obstacles, seeds, picks, batch, distances, found
):
    """Do what `choose_by_sampling` says, with workspaces."""
    wanted, farthest, side = np.uint64(numbers[0]), np.float32(numbers[1]), np.float32(numbers[10])
    behind = np.float32(numbers[13])
    horizon, soonest_wall = np.float32(numbers[2]), np.float32(numbers[3] / numbers[4])
    cells_x, cells_y, cells_row, cells_start, cells_plane, per_metre = cells.x, cells.y, cells.row, cells.start, cells.plane, cells.per_metre
    origin, shape = cells.origin, cells.shape
    z, slope_x, slope_y, step = cells.z, cells.slope_x, cells.slope_y, cells.step
    entity, preferred, radii, speeds, active, zones, reaches = view
    chosen, diagnoses, blockers, neighbour_counts, samples = out
    wall_shape, wall_link, zone_start, zone_wall = frame
    for entry in range(table.size):
        batch[TABLE + np.uint64(entry)] = table[entry]
    for slot in range(np.uint64(start), np.uint64(stop)):
        row = np.uint64(cells_row[slot])
        speed, radius = speeds[row], radii[row]
        chosen[row, 0], chosen[row, 1], blockers[row], neighbour_counts[row], samples[row] = 0.0, 0.0, NOBODY, 0, 0
        diagnoses[row] = NOT_ASKED if active[row] == 0 else FEASIBLE
        fast = np.float32(speed)
        if active[row] == 0 or not fast > _F0:
            continue
        wish_x, wish_y = limited(preferred[row, 0], preferred[row, 1], speed)
        count, walls = _U0, _U0
        if wanted > _U0:
            plane = plane_numbers(origin, shape, cells_plane[slot])
            reach = reaches[row] + margin
            if not _F0 < reach < farthest:
                reach = farthest
            count, square = find_nearest(
                cells_x, cells_y, cells_row, cells_start, z, slope_x, slope_y, step, plane, per_metre, slot, wanted, reach, floats, slots
            )
            while count < wanted and reach < farthest:  # someone left: look farther
                reach = min(reach + reach, farthest)
                count, square = find_nearest(
                    cells_x, cells_y, cells_row, cells_start, z, slope_x, slope_y, step, plane, per_metre, slot, wanted, reach, floats, slots
                )
            reaches[row] = np.sqrt(square)
            _meet_others(shown, count, floats, slots, others, wishes)
        place = slot * _SHOWN
        vx, vy = shown[place], shown[place + np.uint64(1)]
        wx, wy = np.float32(wish_x), np.float32(wish_y)
        lay_out_neighbours(others, wishes, count, vx, vy, wx, wy, shown[place + np.uint64(4)], fast, horizon, behind, side, obstacles)
        discs = count
        first_wall, end_wall = zone_start[zones[row]], zone_start[zones[row] + 1]
        if first_wall < end_wall:
            x, y = cells_x[slot], cells_y[slot]
            near = near_walls(wall_shape, zone_wall, first_wall, end_wall, x, y, speed * numbers[3] + radius, distances, found)
            walls = np.uint64(near)
            discs = lay_out_walls(wall_shape, wall_link, found, near, x, y, radius, numbers[3], np.float64(side), obstacles, count)
        counts = (count, discs, walls)
        aim = (wx, wy, vx, vy, np.float32(numbers[5]) / fast, np.float32(numbers[6]) / fast, fast * fast * _FASTER)
        weights = (np.float32(numbers[7]) / np.float32(max(count, _U1)), np.float32(numbers[8]), np.float32(numbers[9]))
        best_x, best_y, used, is_wish = _search(numbers, obstacles, counts, aim, weights, _heading(wx, wy, vx, vy), fast, seeds, picks, batch)
        diagnosis, which = _judge(obstacles, counts, best_x, best_y, aim, is_wish, soonest_wall)
        if which >= 0:
            blockers[row] = entity[cells_row[np.uint64(slots[CHOSEN + np.uint64(which)])]] if np.uint64(which) < count else WALL
        if not is_wish:
            wish_x, wish_y = limited(np.float64(best_x), np.float64(best_y), speed)
        chosen[row, 0], chosen[row, 1] = wish_x, wish_y  # the preferred velocity itself, unrounded, where it was the best
        diagnoses[row], neighbour_counts[row], samples[row] = diagnosis, count, used


@kernel
def choose_by_sampling(start, stop, cells, shown, view, frame, numbers, margin, out, table):
    """Choose the velocities of least penalty for the agents of the slots start..stop.

    Parameters
    ----------
    start, stop : int
        Range of slots.
    cells : Cells
    shown : (6 n,) float32
        As `gather_shown` wrote it.
    view : SamplingView
        Columns by row.
    frame : WallFrame
    numbers : (14,) float64
        As in `Sampling`.
    margin : float32, m
        How much farther than last time the last neighbour is looked for at first.
    out : Choice
        Rows of the agents in this range are written.
    table : float32
        Numbers of grid lines or directions, as the sampler wants them; empty for the adaptive one.

    Notes
    -----
    Twin: `tests/reference/sampled.py`.
    """
    floats, slots = np.zeros(NEAREST_FLOATS, np.float32), np.zeros(NEAREST_SLOTS, np.uint32)
    others, wishes, obstacles = np.zeros(OTHER_FLOATS, np.float32), np.zeros(WISH_FLOATS, np.float32), np.zeros(OBSTACLE_FLOATS, np.float32)
    seeds, picks, batch = np.zeros(SEED_FLOATS, np.float32), np.zeros(SEED_SLOTS, np.uint32), np.zeros(BATCH_FLOATS, np.float32)
    distances, found = np.zeros(MOST_WALLS), np.zeros(MOST_WALLS, np.int64)
    _choose_by_sampling(
        start, stop, cells, shown, view, frame, numbers, margin, out, table, floats, slots, others, wishes, obstacles, seeds, picks, batch, distances, found
    )


class SamplingModel:
    """What the sampling models have in common; a model adds its name, its parameters, and `sampling`."""

    parameters: Any
    sampling: Callable[[float], tuple[Sampling, NDArray[np.float32]]]  # of a tick's length (s): the numbers, and the table, that the kernel takes

    def __init__(self) -> None:
        self._shown = np.empty(0, dtype=np.float32)
        self._walls: Walls | None = None
        self._frame: WallFrame | None = None

    def prepare(self, capacity: int) -> None:
        """Make room for `capacity` agents."""
        if len(self._shown) < 6 * capacity:
            self._shown = np.empty(6 * capacity, dtype=np.float32)

    def choose(self, view: CrowdView, tick_length: float, team: Team, out: Choice) -> None:
        """Choose a velocity for everyone; see `AvoidanceModel`."""
        count = len(view.entity)
        if not count:
            return
        self.prepare(count)
        if view.walls is not self._walls:
            self._walls, self._frame = view.walls, wall_frame(view.walls)
        shown = (view.cells, view.velocity, view.preferred_velocity, view.radius, view.active, self._shown)
        fastest = max(team.run(gather_shown, count, *shown))
        columns = SamplingView(view.entity, view.preferred_velocity, view.radius, view.maximum_speed, view.deciding(), view.zone, view.reach)
        numbers, table = self.sampling(tick_length)
        margin = np.float32(MARGIN_TICKS * tick_length * float(fastest) + MARGIN_M)
        team.run(choose_by_sampling, count, view.cells, self._shown, columns, self._frame, np.array(numbers, dtype=np.float64), margin, out, table)

    def state(self) -> Mapping[str, NDArray[Any]]:
        """Return nothing: what guides the search is the column `reach`, which belongs to the caller."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take nothing back."""
