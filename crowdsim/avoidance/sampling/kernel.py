"""The kernel of all models that try velocities and weigh them by penalties:
neighbours, walls, the search, and the diagnosis of what it found.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.model import FEASIBLE, INFEASIBLE, NOBODY, NOT_ASKED, RELAXED, WALL
from crowdsim.avoidance.neighbour_model import (
    FULL_STATE_FLOATS,
    NEIGHBOUR_FLOATS,
    OWN_DECIDES,
    OWN_ENTITY,
    OWN_MAXIMUM,
    OWN_PREFERRED_X,
    OWN_PREFERRED_Y,
    OWN_RADIUS,
    OWN_ZONE,
    STATE_RADIUS,
    STATE_REFERENCE_X,
    STATE_REFERENCE_Y,
    STATE_VX,
    STATE_VY,
    ChooserArguments,
    find_neighbours,
    gather_neighbours,
    tell,
)
from crowdsim.avoidance.neighbours import CHOSEN, NEAREST_FLOATS, NEAREST_SLOTS
from crowdsim.avoidance.orca.wall_planes import MOST_WALLS, near_walls
from crowdsim.avoidance.sampling.candidate_velocities import CANDIDATE_FLOATS, CANDIDATE_SLOTS
from crowdsim.avoidance.sampling.samplers import (
    ADAPTIVE,
    BATCH_FLOATS,
    GRID,
    TABLE,
    SampleTrace,
    empty_trace,
    search_adaptively,
    search_circle,
    search_grid,
)
from crowdsim.avoidance.sampling.time_to_collision import (
    COLLISION,
    OBSTACLE_FLOATS,
    PREFERRED_FLOATS,
    PREFERRED_X,
    PREFERRED_Y,
    first_collision,
    lay_out_neighbours,
    lay_out_walls,
)
from crowdsim.geometry.cells import plane_numbers
from crowdsim.geometry.speed import limited
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel

# Squares of speeds are compared with this much room for the rounding of the preferred velocity.
_FASTER = np.float32(1.0 + 1e-6)

_F0, _F1 = np.float32(0.0), np.float32(1.0)
_U0, _U1 = np.uint64(0), np.uint64(1)


class SamplingKernelParameters(NamedTuple):
    """Parameters of `choose_by_sampling`: those of a sampling model, and its sampler;
    all numbers are float64.

    Attributes
    ----------
    neighbour_count, neighbour_distance, time_horizon, time_horizon_walls, weight_preferred, weight_current,
        weight_side, weight_time_to_collision, softening, horizon_share_behind,
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
    weight_time_to_collision: float
    softening: float
    horizon_share_behind: float
    jam_distance: float
    tick: float
    side: float
    sampler: float
    size: float
    table: NDArray[np.float32]


@inlined_kernel
def _gather_preferred_velocities(states, count, slots, preferred_velocities):
    """Write the preferred velocities of the neighbours found, by area."""
    for place in range(count):
        other = np.uint64(slots[CHOSEN + place]) * FULL_STATE_FLOATS
        preferred_velocities[PREFERRED_X + place] = states[other + STATE_REFERENCE_X]
        preferred_velocities[PREFERRED_Y + place] = states[other + STATE_REFERENCE_Y]


@inlined_kernel
def _heading(preferred_x, preferred_y, vx, vy):
    """Return the direction of the preferred velocity, or of the present one, or of the x axis,
    as a unit vector.
    """
    length = np.sqrt(preferred_x * preferred_x + preferred_y * preferred_y)
    if length > _F0:
        return preferred_x / length, preferred_y / length
    length = np.sqrt(vx * vx + vy * vy)
    if length > _F0:
        return vx / length, vy / length
    return _F1, _F0


@inlined_kernel
def _search(
    parameters,
    obstacles,
    obstacle_counts,
    objective,
    weights,
    heading,
    speed,
    candidates,
    slots,
    batch,
    trace,
):
    """Let the sampler search; see `search_adaptively`."""
    side, size = np.float32(parameters.side), np.uint64(parameters.size)
    if parameters.sampler == ADAPTIVE:
        per_wall_horizon = np.float32(1.0 / parameters.time_horizon_walls)
        return search_adaptively(
            obstacles,
            obstacle_counts,
            objective,
            weights,
            heading,
            side,
            speed,
            per_wall_horizon,
            size,
            candidates,
            slots,
            batch,
            trace,
        )
    if parameters.sampler == GRID:
        return search_grid(
            obstacles, obstacle_counts, objective, weights, heading, side, speed, size, batch, trace
        )
    return search_circle(obstacles, obstacle_counts, objective, weights, heading, side, size, batch, trace)


@inlined_kernel
def _judge(obstacles, obstacle_counts, x, y, objective, is_preferred, soonest_wall):
    """Return the diagnosis of a velocity, and the obstacle to blame:
    that which it runs into first within the horizon, else the preferred one.
    """
    urgency, which = first_collision(obstacles, obstacle_counts[1], obstacle_counts[2], x, y)
    if urgency > COLLISION:
        hits_wall = np.uint64(which) >= obstacle_counts[0]
        return INFEASIBLE if hits_wall and urgency > soonest_wall else RELAXED, which
    if not is_preferred:
        urgency, which = first_collision(
            obstacles, obstacle_counts[1], obstacle_counts[2], objective[0], objective[1]
        )
        if urgency > COLLISION:
            return FEASIBLE, which
    return FEASIBLE, np.int64(-1)


@lean_kernel
def _choose_by_sampling(
    start, stop, cells, states, own, frame, parameters, margin, floats, slots, neighbours,
    preferred_velocities, obstacles, candidates, picks, batch, distances, found, counts, trace,
):  # fmt: skip
    """Do what `choose_by_sampling` says, with workspaces;
    `counts` (1,) receives the number of neighbours of the last agent, `trace` what was tried.
    """
    wanted, farthest, side = (
        np.uint64(parameters.neighbour_count),
        np.float32(parameters.neighbour_distance),
        np.float32(parameters.side),
    )
    behind, horizon, wall_horizon = (
        np.float32(parameters.horizon_share_behind),
        np.float32(parameters.time_horizon),
        parameters.time_horizon_walls,
    )
    jam = np.float32(parameters.jam_distance * parameters.jam_distance - 1.0)
    soonest_wall, table = np.float32(wall_horizon / parameters.tick), parameters.table
    cells_x, cells_y, cells_row, cells_start, cells_plane, per_metre = (
        cells.x,
        cells.y,
        cells.row,
        cells.start,
        cells.plane,
        cells.per_metre,
    )
    origin, shape = cells.origin, cells.shape
    z, slope_x, slope_y, step = cells.z, cells.slope_x, cells.slope_y, cells.step
    numbers, ids = own
    wall_shape, wall_link, zone_start, zone_wall = frame
    for entry in range(table.size):
        batch[TABLE + np.uint64(entry)] = table[entry]
    for slot in range(np.uint64(start), np.uint64(stop)):
        speed, radius = numbers[slot, OWN_MAXIMUM], numbers[slot, OWN_RADIUS]
        decides, fast = numbers[slot, OWN_DECIDES] != 0.0, np.float32(speed)
        if not decides or not fast > _F0:
            tell(numbers, slot, 0.0, 0.0, NOBODY, FEASIBLE if decides else NOT_ASKED, 0, 0)
            continue
        preferred_x, preferred_y = limited(
            numbers[slot, OWN_PREFERRED_X], numbers[slot, OWN_PREFERRED_Y], speed
        )
        chosen_x, chosen_y = preferred_x, preferred_y
        count, walls = _U0, _U0
        if wanted > _U0:
            plane = plane_numbers(origin, shape, cells_plane[slot])
            count = find_neighbours(
                cells_x, cells_y, cells_row, cells_start, z, slope_x, slope_y, step, plane, per_metre, slot,
                wanted, farthest, margin, numbers, floats, slots,
            )  # fmt: skip
            gather_neighbours(states, FULL_STATE_FLOATS, count, floats, slots, neighbours)
            _gather_preferred_velocities(states, count, slots, preferred_velocities)
        state = slot * FULL_STATE_FLOATS
        vx, vy = states[state + STATE_VX], states[state + STATE_VY]
        wx, wy = np.float32(preferred_x), np.float32(preferred_y)
        lay_out_neighbours(
            neighbours,
            preferred_velocities,
            count,
            vx,
            vy,
            wx,
            wy,
            states[state + STATE_RADIUS],
            fast,
            horizon,
            behind,
            jam,
            side,
            obstacles,
        )
        discs = count
        zone = ids[slot, OWN_ZONE]
        first_wall, end_wall = zone_start[zone], zone_start[zone + 1]
        if first_wall < end_wall:
            x, y = cells_x[slot], cells_y[slot]
            near = near_walls(
                wall_shape,
                zone_wall,
                first_wall,
                end_wall,
                x,
                y,
                speed * wall_horizon + radius,
                distances,
                found,
            )
            walls = np.uint64(near)
            discs = lay_out_walls(
                wall_shape,
                wall_link,
                found,
                near,
                x,
                y,
                radius,
                wall_horizon,
                np.float64(side),
                obstacles,
                count,
            )
        obstacle_counts = (count, discs, walls)
        counts[0] = count
        per_preferred, per_current = (
            np.float32(parameters.weight_preferred) / fast,
            np.float32(parameters.weight_current) / fast,
        )
        objective = (wx, wy, vx, vy, per_preferred, per_current, fast * fast * _FASTER)
        weights = (
            np.float32(parameters.weight_side) / np.float32(max(count, _U1)),
            np.float32(parameters.weight_time_to_collision),
            np.float32(parameters.softening),
        )
        best_x, best_y, used, is_preferred = _search(
            parameters,
            obstacles,
            obstacle_counts,
            objective,
            weights,
            _heading(wx, wy, vx, vy),
            fast,
            candidates,
            picks,
            batch,
            trace,
        )
        diagnosis, which = _judge(
            obstacles, obstacle_counts, best_x, best_y, objective, is_preferred, soonest_wall
        )
        blocker = np.int64(NOBODY)
        if which >= 0:
            blocker = np.int64(WALL)
            if np.uint64(which) < count:
                blocker = ids[np.uint64(slots[CHOSEN + np.uint64(which)]), OWN_ENTITY]
        if not is_preferred:
            chosen_x, chosen_y = limited(np.float64(best_x), np.float64(best_y), speed)
        # the preferred velocity itself, unrounded, where it was the best
        tell(numbers, slot, chosen_x, chosen_y, blocker, diagnosis, count, used)


@kernel
def _workspaces():
    """Return new workspaces of `_choose_by_sampling`, in the order of its arguments."""
    floats, slots = np.zeros(NEAREST_FLOATS, np.float32), np.zeros(NEAREST_SLOTS, np.uint32)
    neighbours, preferred_velocities = (
        np.zeros(NEIGHBOUR_FLOATS, np.float32),
        np.zeros(PREFERRED_FLOATS, np.float32),
    )
    obstacles = np.zeros(OBSTACLE_FLOATS, np.float32)
    candidates, picks, batch = (
        np.zeros(CANDIDATE_FLOATS, np.float32),
        np.zeros(CANDIDATE_SLOTS, np.uint32),
        np.zeros(BATCH_FLOATS, np.float32),
    )
    distances, found, counts = np.zeros(MOST_WALLS), np.zeros(MOST_WALLS, np.int64), np.zeros(1, np.int64)
    return (
        floats,
        slots,
        neighbours,
        preferred_velocities,
        obstacles,
        candidates,
        picks,
        batch,
        distances,
        found,
        counts,
    )


@kernel
def choose_by_sampling(start, stop, cells, states, own, frame, parameters, margin):
    """Choose the velocities of least penalty for the agents of the slots start..stop.

    Parameters
    ----------
    start, stop : int
        Range of slots.
    cells : Cells
    states : (6 n,) float32
    own : Own
        As `pack_agents` wrote both, with preferred velocities. Receives what is chosen.
    frame : WallFrame
    parameters : SamplingKernelParameters
    margin : float32, m
        How much farther than last time the last neighbour is looked for at first.

    Notes
    -----
    Twin: `tests/reference/sampled.py`.
    """
    (
        floats,
        slots,
        neighbours,
        preferred_velocities,
        obstacles,
        candidates,
        picks,
        batch,
        distances,
        found,
        counts,
    ) = _workspaces()
    _choose_by_sampling(
        start, stop, cells, states, own, frame, parameters, margin, floats, slots, neighbours,
        preferred_velocities, obstacles, candidates, picks, batch, distances, found, counts, None,
    )  # fmt: skip


def choose_with_trace(arguments: ChooserArguments, most: int) -> tuple[SampleTrace, NDArray[np.uint32], int]:
    """Let one agent choose once more, and return what it tries.

    Parameters
    ----------
    arguments : ChooserArguments
        The arguments of `choose_by_sampling` for its slot alone.
    most : int
        How many velocities it tries.

    Returns
    -------
    SampleTrace
    slots : uint32
        Workspace in which neighbours stand, see `ChooserArguments.rows`.
    int
        How many neighbours it has.
    """
    trace, work = empty_trace(most), _workspaces()
    _choose_by_sampling(*arguments, *work, trace)
    return trace, work[1], int(work[-1][0])
