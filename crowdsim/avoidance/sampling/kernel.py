"""The kernel of all models that try velocities and weigh them by penalties: neighbours, walls, the search, and the diagnosis of what it found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.model import FEASIBLE, INFEASIBLE, NOBODY, NOT_ASKED, RELAXED, WALL
from crowdsim.avoidance.neighbours import CHOSEN, NEAREST_FLOATS, NEAREST_SLOTS
from crowdsim.avoidance.orca.wall_planes import MOST_WALLS, near_walls
from crowdsim.avoidance.sampling.candidate_velocities import SEED_FLOATS, SEED_SLOTS
from crowdsim.avoidance.sampling.samplers import ADAPTIVE, BATCH_FLOATS, GRID, TABLE, Tried, room_for_tried, search_adaptively, search_circle, search_grid
from crowdsim.avoidance.sampling.time_to_collision import IMPACT, OBSTACLE_FLOATS, WISH_FLOATS, WISH_X, WISH_Y, first_impact, lay_out_neighbours, lay_out_walls
from crowdsim.avoidance.surroundings import (
    OTHER_FLOATS,
    SHOWN_MEANT_X,
    SHOWN_MEANT_Y,
    SHOWN_RADIUS,
    SHOWN_VX,
    SHOWN_VY,
    SHOWN_WITH_MEANT,
    Look,
    look_round,
    meet_others,
)
from crowdsim.geometry.cells import plane_numbers
from crowdsim.geometry.speed import limited
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel

_FASTER = np.float32(1.0 + 1e-6)  # Squares of speeds are compared with this much room for the rounding of the preferred velocity.

_F0, _F1 = np.float32(0.0), np.float32(1.0)
_U0, _U1 = np.uint64(0), np.uint64(1)


class Sampling(NamedTuple):
    """What `choose_by_sampling` is told: the parameters of a sampling model, and its sampler; all numbers are float64.

    Attributes
    ----------
    neighbour_count, neighbour_distance, time_horizon, time_horizon_walls, weight_preferred, weight_current, weight_side, weight_impact, softening, behind,
    jam_distance
        As in `SamplingParameters`.
    tick : float, s
    side : float
        1: right, -1: left.
    sampler : float
        ADAPTIVE, GRID or CIRCLE.
    size : float
        Samples, lines of the grid, or directions.
    table : float32
        Numbers of grid lines or directions, as the sampler wants them; empty for the adaptive one.
    """

    neighbour_count: float
    neighbour_distance: float
    time_horizon: float
    time_horizon_walls: float
    weight_preferred: float
    weight_current: float
    weight_side: float
    weight_impact: float
    softening: float
    behind: float
    jam_distance: float
    tick: float
    side: float
    sampler: float
    size: float
    table: NDArray[np.float32]


@inlined_kernel
def _meet_wishes(shown, count, slots, wishes):
    """Lay out what the neighbours found want."""
    for place in range(count):
        other = np.uint64(slots[CHOSEN + place]) * SHOWN_WITH_MEANT
        wishes[WISH_X + place], wishes[WISH_Y + place] = shown[other + SHOWN_MEANT_X], shown[other + SHOWN_MEANT_Y]


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
def _search(numbers, obstacles, counts, aim, weights, heading, speed, seeds, slots, batch, told):
    """Let the sampler search; see `search_adaptively`."""
    side, size = np.float32(numbers.side), np.uint64(numbers.size)
    if numbers.sampler == ADAPTIVE:
        per_wall_horizon = np.float32(1.0 / numbers.time_horizon_walls)
        return search_adaptively(obstacles, counts, aim, weights, heading, side, speed, per_wall_horizon, size, seeds, slots, batch, told)
    if numbers.sampler == GRID:
        return search_grid(obstacles, counts, aim, weights, heading, side, speed, size, batch, told)
    return search_circle(obstacles, counts, aim, weights, heading, side, size, batch, told)


@inlined_kernel
def _judge(obstacles, counts, x, y, aim, is_wish, soonest_wall):
    """Return the diagnosis of a velocity, and the obstacle to blame: that which it runs into first within the horizon, else the preferred one."""
    urgency, which = first_impact(obstacles, counts[1], counts[2], x, y)
    if urgency > IMPACT:
        hits_wall = np.uint64(which) >= counts[0]
        return INFEASIBLE if hits_wall and urgency > soonest_wall else RELAXED, which
    if not is_wish:
        urgency, which = first_impact(obstacles, counts[1], counts[2], aim[0], aim[1])
        if urgency > IMPACT:
            return FEASIBLE, which
    return FEASIBLE, np.int64(-1)


@lean_kernel
def _choose_by_sampling(
    start, stop, cells, shown, columns, frame, numbers, margin, out,
    floats, slots, others, wishes, obstacles, seeds, picks, batch, distances, found, tally, told,
):  # fmt: skip
    """Do what `choose_by_sampling` says, with workspaces; `tally` (1,) receives the number of neighbours of the last agent, `told` what was tried."""
    wanted, farthest, side = np.uint64(numbers.neighbour_count), np.float32(numbers.neighbour_distance), np.float32(numbers.side)
    behind, horizon, wall_horizon = np.float32(numbers.behind), np.float32(numbers.time_horizon), numbers.time_horizon_walls
    jam = np.float32(numbers.jam_distance * numbers.jam_distance - 1.0)
    soonest_wall, table = np.float32(wall_horizon / numbers.tick), numbers.table
    cells_x, cells_y, cells_row, cells_start, cells_plane, per_metre = cells.x, cells.y, cells.row, cells.start, cells.plane, cells.per_metre
    origin, shape = cells.origin, cells.shape
    z, slope_x, slope_y, step = cells.z, cells.slope_x, cells.slope_y, cells.step
    entity, _, preferred, radii, speeds, active, zones, reaches = columns
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
            count = look_round(
                cells_x, cells_y, cells_row, cells_start, z, slope_x, slope_y, step, plane, per_metre, slot, wanted, farthest, margin, row, reaches,
                floats, slots,
            )  # fmt: skip
            meet_others(shown, SHOWN_WITH_MEANT, count, floats, slots, others)
            _meet_wishes(shown, count, slots, wishes)
        own = slot * SHOWN_WITH_MEANT
        vx, vy = shown[own + SHOWN_VX], shown[own + SHOWN_VY]
        wx, wy = np.float32(wish_x), np.float32(wish_y)
        lay_out_neighbours(others, wishes, count, vx, vy, wx, wy, shown[own + SHOWN_RADIUS], fast, horizon, behind, jam, side, obstacles)
        discs = count
        first_wall, end_wall = zone_start[zones[row]], zone_start[zones[row] + 1]
        if first_wall < end_wall:
            x, y = cells_x[slot], cells_y[slot]
            near = near_walls(wall_shape, zone_wall, first_wall, end_wall, x, y, speed * wall_horizon + radius, distances, found)
            walls = np.uint64(near)
            discs = lay_out_walls(wall_shape, wall_link, found, near, x, y, radius, wall_horizon, np.float64(side), obstacles, count)
        counts = (count, discs, walls)
        tally[0] = count
        per_preferred, per_current = np.float32(numbers.weight_preferred) / fast, np.float32(numbers.weight_current) / fast
        aim = (wx, wy, vx, vy, per_preferred, per_current, fast * fast * _FASTER)
        weights = (np.float32(numbers.weight_side) / np.float32(max(count, _U1)), np.float32(numbers.weight_impact), np.float32(numbers.softening))
        best_x, best_y, used, is_wish = _search(numbers, obstacles, counts, aim, weights, _heading(wx, wy, vx, vy), fast, seeds, picks, batch, told)
        diagnosis, which = _judge(obstacles, counts, best_x, best_y, aim, is_wish, soonest_wall)
        if which >= 0:
            blockers[row] = entity[cells_row[np.uint64(slots[CHOSEN + np.uint64(which)])]] if np.uint64(which) < count else WALL
        if not is_wish:
            wish_x, wish_y = limited(np.float64(best_x), np.float64(best_y), speed)
        chosen[row, 0], chosen[row, 1] = wish_x, wish_y  # the preferred velocity itself, unrounded, where it was the best
        diagnoses[row], neighbour_counts[row], samples[row] = diagnosis, count, used


@kernel
def _workspaces():
    """Return new workspaces of `_choose_by_sampling`, in the order of its arguments."""
    floats, slots = np.zeros(NEAREST_FLOATS, np.float32), np.zeros(NEAREST_SLOTS, np.uint32)
    others, wishes, obstacles = np.zeros(OTHER_FLOATS, np.float32), np.zeros(WISH_FLOATS, np.float32), np.zeros(OBSTACLE_FLOATS, np.float32)
    seeds, picks, batch = np.zeros(SEED_FLOATS, np.float32), np.zeros(SEED_SLOTS, np.uint32), np.zeros(BATCH_FLOATS, np.float32)
    distances, found, tally = np.zeros(MOST_WALLS), np.zeros(MOST_WALLS, np.int64), np.zeros(1, np.int64)
    return floats, slots, others, wishes, obstacles, seeds, picks, batch, distances, found, tally


@kernel
def choose_by_sampling(start, stop, cells, shown, columns, frame, numbers, margin, out):
    """Choose the velocities of least penalty for the agents of the slots start..stop.

    Parameters
    ----------
    start, stop : int
        Range of slots.
    cells : Cells
    shown : (6 n,) float32
        As `gather_shown` wrote it, with preferred velocities.
    columns : Columns
        By row.
    frame : WallFrame
    numbers : Sampling
    margin : float32, m
        How much farther than last time the last neighbour is looked for at first.
    out : Choice
        Rows of the agents in this range are written.

    Notes
    -----
    Twin: `tests/reference/sampled.py`.
    """
    floats, slots, others, wishes, obstacles, seeds, picks, batch, distances, found, tally = _workspaces()
    _choose_by_sampling(
        start, stop, cells, shown, columns, frame, numbers, margin, out,
        floats, slots, others, wishes, obstacles, seeds, picks, batch, distances, found, tally, None,
    )  # fmt: skip


def choose_telling(look: Look, most: int) -> tuple[Tried, NDArray[np.uint32], int]:
    """Let one agent choose once more, and tell what it tries.

    Parameters
    ----------
    look : Look
        The arguments of `choose_by_sampling` for its slot alone.
    most : int
        How many velocities it tries.

    Returns
    -------
    Tried
    slots : uint32
        Workspace in which neighbours stand, see `Look.rows`.
    int
        How many neighbours it has.
    """
    told, work = room_for_tried(most), _workspaces()
    _choose_by_sampling(*look, *work, told)
    return told, work[1], int(work[-1][0])
