"""The kernel of all models that choose a velocity outside a union of velocity obstacles:
neighbours, obstacles, the best velocity, and what gives way.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crowdsim.avoidance.model import FEASIBLE, INFEASIBLE, NOBODY, NOT_ASKED, RELAXED, WALL
from crowdsim.avoidance.neighbour_model import (
    FULL_STATE_FLOATS,
    OWN_DECIDES,
    OWN_ENTITY,
    OWN_MAXIMUM,
    OWN_PREFERRED_X,
    OWN_PREFERRED_Y,
    OWN_RADIUS,
    OWN_VX,
    OWN_VY,
    OWN_ZONE,
    STATE_RADIUS,
    STATE_REFERENCE_X,
    STATE_REFERENCE_Y,
    STATE_SHARE,
    STATE_VX,
    STATE_VY,
    find_neighbours,
    tell,
)
from crowdsim.avoidance.neighbours import CHOSEN, MOST_NEIGHBOURS, NEAREST_FLOATS, NEAREST_SLOTS
from crowdsim.avoidance.orca.linear_programs import LINE_FLOATS, best_or_least_violation
from crowdsim.avoidance.orca.linear_programs import NORMAL_X as LINE_X
from crowdsim.avoidance.orca.linear_programs import NORMAL_Y as LINE_Y
from crowdsim.avoidance.orca.linear_programs import OFFSET as LINE_OFFSET
from crowdsim.avoidance.orca.wall_planes import MOST_WALLS, near_walls
from crowdsim.avoidance.velocity_obstacles.boundary import BOUNDARY_FLOATS, SHALLOW, best_permitted
from crowdsim.avoidance.velocity_obstacles.obstacles import (
    AREA,
    BASE,
    CUT,
    NORMAL_X,
    NORMAL_Y,
    OFFSET,
    PLANE_FLOATS,
    PLANES,
    agent_obstacle,
    wall_obstacle,
)
from crowdsim.geometry.cells import plane_numbers
from crowdsim.geometry.speed import limited
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.kernels.simd import load, spread, store

_F0, _F1 = np.float32(0.0), np.float32(1.0)
_U0, _U1, _U16 = np.uint64(0), np.uint64(1), np.uint64(16)


class VelocityObstacleParameters(NamedTuple):
    """Parameters of `choose_by_velocity_obstacles`; all are float64.

    Attributes
    ----------
    neighbour_count, neighbour_distance : float, m
    per_horizon, per_stationary_horizon, per_wall_horizon, per_tick : float, 1/s
        Reciprocals of the horizons towards agents that move, agents that stand, and walls, and of the tick;
        0: endless.
    bias, bias_strength, spike : float
        The `shape` of `agent_obstacle`.
    side : float
        1: right, -1: left; on which side to pass where nothing else decides.
    side_sine : float
        Sine of the angle between the direction to a neighbour and the relative velocity; below it nothing
        else decides.
    sideways, steadiness, pull : float
        The cost of a velocity where the preferred one is forbidden: that of swerving, for each m/s squared,
        where falling behind costs 1; that of changing velocity; and what part of the preferred speed the
        cheapest swerve has, to the preferred side.
    drops : float
        Not 0: where nothing is permitted, the farthest neighbours are no longer heeded; else the horizon is
        shortened.
    """

    neighbour_count: float
    neighbour_distance: float
    per_horizon: float
    per_stationary_horizon: float
    per_wall_horizon: float
    per_tick: float
    bias: float
    bias_strength: float
    spike: float
    side: float
    side_sine: float
    sideways: float
    steadiness: float
    pull: float
    drops: float


class Counts(NamedTuple):
    """What the choice of one agent resulted in, as `choose_with_workspaces` counts it.

    Attributes
    ----------
    walls, obstacles : int
        Obstacles of walls, which come first; all obstacles.
    steps : int
        Steps in which obstacles of agents gave way, see `_best_possible`; -1 where none helped.
    binding : int
        The obstacle that binds the velocity; -1 for none.
    halvings : int
        How often a horizon can be halved at most.
    """

    walls: int
    obstacles: int
    steps: int
    binding: int
    halvings: int


COUNTS = len(Counts._fields)


@lean_kernel
def objective_of(preferred_x, preferred_y, vx, vy, speed, parameters):
    """Return the objective by which velocities are judged where the preferred one is forbidden,
    as `best_permitted` takes it.

    The cost is ``ahead^2 + sideways * (aside - pull * |p|)^2 + steadiness * |v - velocity|^2``, with v less
    the preferred velocity p in parts along and square to p.
    """
    sideways, steadiness = parameters.sideways, parameters.steadiness
    length = np.sqrt(preferred_x * preferred_x + preferred_y * preferred_y)
    ux, uy = (preferred_x / length, preferred_y / length) if length > 0.0 else (0.0, 0.0)
    round_x, round_y = (
        sideways * parameters.pull * parameters.side * preferred_y,
        -(sideways * parameters.pull * parameters.side * preferred_x),
    )
    bx, by = preferred_x + round_x + steadiness * vx, preferred_y + round_y + steadiness * vy
    more = (1.0 - sideways) / (1.0 + steadiness) * (ux * bx + uy * by)
    cx, cy = limited(
        (bx - more * ux) / (sideways + steadiness), (by - more * uy) / (sideways + steadiness), speed
    )
    qxx, qyy = (
        sideways + steadiness + (1.0 - sideways) * (ux * ux),
        sideways + steadiness + (1.0 - sideways) * (uy * uy),
    )
    qxy = (1.0 - sideways) * (ux * uy)
    return np.float32(cx), np.float32(cy), np.float32(qxx), np.float32(qxy), np.float32(qyy)


@lean_kernel
def _shorten(planes, begin, count, factor):
    """Let the obstacles from `begin` on end at a horizon shorter by `factor`."""
    for plane in range(PLANES):
        for first in range(begin, count, _U16):
            at = np.uint64(plane) * AREA + first
            store(planes, OFFSET + at, load(planes, BASE + at) + load(planes, CUT + at) * spread(factor))


@lean_kernel
def _best_possible(
    planes, walls, count, speed, preferred_x, preferred_y, objective, side, drops, halvings, work
):
    """Find the best velocity outside the obstacles;
    where there is none, let agents give way as little as leaves one.

    One step of giving way leaves out the farthest neighbour that is still heeded (`drops`), all but one at
    most, or halves the horizon, `halvings` times at most. A velocity that some steps leave is left by more of
    them, so the number of steps is found by bisection.

    Returns
    -------
    steps : int
        -1 where nothing helps; then the obstacles are left with the shortest horizon.
    x, y, obstacle
        As of `best_permitted`.
    """
    most = halvings
    if drops:
        most = np.int64(count - walls) - 1 if count > walls else 0
    unfit, fit, steps = -1, most + 1, 0
    best_x, best_y, binding = _F0, _F0, np.int64(-1)
    while unfit < steps < fit:
        heeded = count
        if drops:
            heeded = count - np.uint64(steps)
        elif steps > 0:
            _shorten(planes, walls, count, np.float32(1 << steps))
        exists, x, y, obstacle = best_permitted(
            planes, heeded, speed, preferred_x, preferred_y, objective, side, work, None
        )
        if exists:
            fit, best_x, best_y, binding = steps, x, y, obstacle
        else:
            unfit = steps
        steps = (unfit + fit) >> 1
    return (fit if fit <= most else -1), best_x, best_y, binding


@lean_kernel
def _least_deep(planes, walls, count, speed, preferred_x, preferred_y, vx, vy, lines):
    """Find the velocity that is least deep in the obstacles of agents:
    each is kept out of by the plane that is nearest to the present velocity.

    Returns
    -------
    x, y : float32, m/s
    obstacle : int64
    diagnosis : int
    """
    for obstacle in range(count):
        nearest, best = _U0, np.float32(np.inf)
        for plane in range(PLANES):
            at = np.uint64(plane) * AREA + obstacle
            depth = planes[OFFSET + at] - (planes[NORMAL_X + at] * vx + planes[NORMAL_Y + at] * vy)
            if depth < best:
                nearest, best = at, depth
        lines[LINE_X + obstacle], lines[LINE_Y + obstacle] = (
            planes[NORMAL_X + nearest],
            planes[NORMAL_Y + nearest],
        )
        # Touched walls may leave standing still alone, which rounding would take away from the linear
        # programs.
        lines[LINE_OFFSET + obstacle] = planes[OFFSET + nearest] - (SHALLOW if obstacle < walls else _F0)
    failed, x, y, binding = best_or_least_violation(lines, walls, count, speed, preferred_x, preferred_y)
    return x, y, binding, INFEASIBLE if failed < walls else RELAXED


@inlined_kernel
def _agent_obstacles(
    cells_x, cells_y, cells_row, states, slot, count, slots, parameters, speed, planes, walls, owner
):
    """Write the obstacles of neighbours that matter, after those of walls;
    return how many there are in all.
    """
    shape = (parameters.bias, parameters.bias_strength, parameters.spike)
    own, made = slot * FULL_STATE_FLOATS, walls
    vx, vy, radius = (
        np.float64(states[own + STATE_VX]),
        np.float64(states[own + STATE_VY]),
        np.float64(states[own + STATE_RADIUS]),
    )
    reference_x, reference_y = (
        np.float64(states[own + STATE_REFERENCE_X]),
        np.float64(states[own + STATE_REFERENCE_Y]),
    )
    for place in range(count):
        other = np.uint64(slots[CHOSEN + place])
        px, py, theirs = (
            cells_x[other] - cells_x[slot],
            cells_y[other] - cells_y[slot],
            other * FULL_STATE_FLOATS,
        )
        wx, wy = (
            reference_x - np.float64(states[theirs + STATE_REFERENCE_X]),
            reference_y - np.float64(states[theirs + STATE_REFERENCE_Y]),
        )
        turn = px * wy - py * wx
        if turn * turn <= parameters.side_sine * parameters.side_sine * (
            (px * px + py * py) * (wx * wx + wy * wy)
        ):
            turn = -parameters.side
        # what is left to the other one: nothing where it stands
        share = 1.0 - np.float64(states[theirs + STATE_SHARE])
        if agent_obstacle(
            planes,
            made,
            px,
            py,
            vx,
            vy,
            np.float64(states[theirs + STATE_VX]),
            np.float64(states[theirs + STATE_VY]),
            radius + np.float64(states[theirs + STATE_RADIUS]),
            share,
            turn,
            parameters.per_horizon if share > 0.0 else parameters.per_stationary_horizon,
            parameters.per_tick,
            cells_row[slot] < cells_row[other],
            shape,
            speed,
        ):
            owner[made] = np.int64(place)
            made += _U1
    return made


@lean_kernel
def choose_with_workspaces(
    start, stop, cells, states, own, frame, parameters, margin,
    floats, slots, planes, owner, work, lines, distances, found, counts,
):  # fmt: skip
    """Do what `choose_by_velocity_obstacles` says, with workspaces;
    `counts` (5,) receives what the choice of the last agent resulted in, see `Counts`.
    """
    wanted, farthest, side = (
        np.uint64(parameters.neighbour_count),
        np.float32(parameters.neighbour_distance),
        np.float32(parameters.side),
    )
    cells_x, cells_y, cells_row, cells_start, cells_plane, per_metre = (
        cells.x,
        cells.y,
        cells.row,
        cells.start,
        cells.plane,
        cells.per_metre,
    )
    origin, table = cells.origin, cells.shape
    z, slope_x, slope_y, step = cells.z, cells.slope_x, cells.slope_y, cells.step
    numbers, ids = own
    wall_shape, wall_link, zone_start, zone_wall = frame
    halvings, longest = (
        0,
        parameters.per_tick / max(min(parameters.per_horizon, parameters.per_stationary_horizon), 1e-9),
    )
    while (1 << halvings) < longest and halvings < 30:
        halvings += 1
    for slot in range(np.uint64(start), np.uint64(stop)):
        if numbers[slot, OWN_DECIDES] == 0.0:
            tell(numbers, slot, 0.0, 0.0, NOBODY, NOT_ASKED, 0, 0)
            continue
        count = _U0
        if wanted > _U0:
            plane = plane_numbers(origin, table, cells_plane[slot])
            count = find_neighbours(
                cells_x, cells_y, cells_row, cells_start, z, slope_x, slope_y, step, plane, per_metre, slot,
                wanted, farthest, margin, numbers, floats, slots,
            )  # fmt: skip
        speed, radius, zone = numbers[slot, OWN_MAXIMUM], numbers[slot, OWN_RADIUS], ids[slot, OWN_ZONE]
        fast = np.float32(speed)
        walls, first_wall, end_wall = _U0, zone_start[zone], zone_start[zone + 1]
        if first_wall < end_wall:
            x, y, sight = cells_x[slot], cells_y[slot], speed / parameters.per_wall_horizon + radius
            for nth in range(
                near_walls(wall_shape, zone_wall, first_wall, end_wall, x, y, sight, distances, found)
            ):
                if wall_obstacle(
                    planes,
                    walls,
                    wall_shape,
                    wall_link,
                    found[nth],
                    x,
                    y,
                    radius,
                    parameters.per_wall_horizon,
                    fast,
                ):
                    walls += _U1
        made = _agent_obstacles(
            cells_x, cells_y, cells_row, states, slot, count, slots, parameters, fast, planes, walls, owner
        )
        preferred_x, preferred_y = limited(
            numbers[slot, OWN_PREFERRED_X], numbers[slot, OWN_PREFERRED_Y], speed
        )
        chosen_x, chosen_y = preferred_x, preferred_y
        own_x, own_y = numbers[slot, OWN_VX], numbers[slot, OWN_VY]
        objective = objective_of(preferred_x, preferred_y, own_x, own_y, speed, parameters)
        near_x, near_y = np.float32(preferred_x), np.float32(preferred_y)
        steps, x, y, binding = _best_possible(
            planes,
            walls,
            made,
            fast,
            near_x,
            near_y,
            objective,
            side,
            parameters.drops != 0.0,
            halvings,
            work,
        )
        diagnosis = FEASIBLE if steps == 0 else RELAXED
        if steps < 0:
            vx, vy = np.float32(own_x), np.float32(own_y)
            x, y, binding, diagnosis = _least_deep(planes, walls, made, fast, near_x, near_y, vx, vy, lines)
        counts[0], counts[1], counts[2], counts[3], counts[4] = walls, made, steps, binding, halvings
        blocker = np.int64(NOBODY)
        if binding >= 0:
            chosen_x, chosen_y = limited(np.float64(x), np.float64(y), speed)
            blocker = np.int64(WALL)
            if np.uint64(binding) >= walls:
                blocker = ids[np.uint64(slots[CHOSEN + np.uint64(owner[np.uint64(binding)])]), OWN_ENTITY]
        # where nothing binds, the preferred velocity itself, unrounded
        tell(numbers, slot, chosen_x, chosen_y, blocker, diagnosis, count, 0)


@kernel
def choose_by_velocity_obstacles(start, stop, cells, states, own, frame, parameters, margin):
    """Choose velocities outside velocity obstacles for the agents of the slots start..stop.

    Parameters
    ----------
    start, stop : int
        Range of slots.
    cells : Cells
    states : (6 n,) float32
    own : Own
        As `pack_agents` wrote both, with the velocities by which sides are chosen. Receives what is chosen.
    frame : WallFrame
    parameters : VelocityObstacleParameters
    margin : float32, m
        How much farther than last time the last neighbour is looked for at first.

    Notes
    -----
    Where nothing is permitted, walls are kept, and of the rest the farthest neighbours give way (`drops`), or
    the latest collisions: the horizon is halved until a velocity is left, down to a tick. What overlaps on
    all sides leaves nothing even so; then the velocity that is least deep in any obstacle is taken. Twins:
    `tests/reference/clearpath.py`, `tests/reference/hrvo.py`.
    """
    floats, slots = np.zeros(NEAREST_FLOATS, np.float32), np.zeros(NEAREST_SLOTS, np.uint32)
    planes, owner, work = (
        np.zeros(PLANE_FLOATS, np.float32),
        np.zeros(MOST_NEIGHBOURS + MOST_WALLS, np.int64),
        np.zeros(BOUNDARY_FLOATS, np.float32),
    )
    lines, distances, found = (
        np.zeros(LINE_FLOATS, np.float32),
        np.zeros(MOST_WALLS),
        np.zeros(MOST_WALLS, np.int64),
    )
    counts = np.zeros(COUNTS, np.int64)
    choose_with_workspaces(
        start,
        stop,
        cells,
        states,
        own,
        frame,
        parameters,
        margin,
        floats,
        slots,
        planes,
        owner,
        work,
        lines,
        distances,
        found,
        counts,
    )
