"""ORCA: optimal reciprocal collision avoidance, with walls.

[van den Berg 2011], and the facts of its library RVO2 ([RVO2 2008]), whose velocities this model reproduces
to 1e-4 m/s. Each neighbour forbids a half-plane of velocities, each wall too; the permitted velocity nearest
to the preferred one is taken, and where none is permitted, the one that breaks the half-planes of agents
least.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.explain import half_plane_reasons
from crowdsim.avoidance.model import (
    NOBODY,
    NOT_ASKED,
    WALL,
    Choice,
    CrowdView,
)
from crowdsim.avoidance.neighbour_model import (
    OWN_DECIDES,
    OWN_MAXIMUM,
    OWN_PREFERRED_X,
    OWN_PREFERRED_Y,
    OWN_RADIUS,
    OWN_VX,
    OWN_VY,
    OWN_ZONE,
    STATE_FLOATS,
    STATE_RADIUS,
    STATE_VX,
    STATE_VY,
    ChooserArguments,
    NeighbourModel,
    find_neighbours,
    tell,
)
from crowdsim.avoidance.neighbours import CHOSEN, NEAR_X, NEAR_Y, NEAREST_FLOATS, NEAREST_SLOTS
from crowdsim.avoidance.orca.groups import (
    empty_rows,
    relax_waiting,
    solve_alone,
    solve_waiting,
    wait,
)
from crowdsim.avoidance.orca.half_planes import SIDE_FLOATS, agent_half_planes
from crowdsim.avoidance.orca.linear_programs import (
    LINE_FLOATS,
    NORMAL_X,
    NORMAL_Y,
    OFFSET,
)
from crowdsim.avoidance.orca.side_by_side import MOST_TOGETHER
from crowdsim.avoidance.orca.wall_planes import MOST_WALLS, wall_half_planes
from crowdsim.avoidance.parameters import Horizons
from crowdsim.avoidance.registry import register
from crowdsim.geometry.cells import plane_numbers
from crowdsim.geometry.speed import limited
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.kernels.simd import LANES

_F0 = np.float32(0.0)
_WHOLE = np.float32(1.0)
_U0, _U1 = np.uint64(0), np.uint64(1)
_SIDE, _MOST_TOGETHER = np.uint64(LANES), np.uint64(MOST_TOGETHER)


@inlined_kernel
def _part_coinciding(cells_row, slot, count, floats, slots, sides):
    """Write the direction in which to part from neighbours, where the nearest stands at the agent's very
    centre.
    """
    if count > _U0 and floats[NEAR_X] == _F0 and floats[NEAR_Y] == _F0:
        for place in range(count):
            lower = cells_row[slot] < cells_row[np.uint64(slots[CHOSEN + place])]
            sides[place] = _WHOLE if lower else -_WHOLE


@lean_kernel
def _choose_velocities(
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
    sides,
    lines,
    distances,
    found,
    rows,
):
    """Do what `choose_velocities` says, with workspaces."""
    wanted, farthest = np.uint64(parameters[0]), np.float32(parameters[1])
    per_horizon, per_wall_horizon, per_tick = (
        np.float32(1.0 / parameters[2]),
        1.0 / parameters[3],
        np.float32(1.0 / parameters[4]),
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
    waiting, left = _U0, _U0
    wall_shape, wall_link, zone_start, zone_wall = frame
    for slot in range(np.uint64(start), np.uint64(stop)):
        if numbers[slot, OWN_DECIDES] == 0.0:
            tell(numbers, slot, 0.0, 0.0, NOBODY, NOT_ASKED, 0, 0)
            continue
        count, walls = _U0, _U0
        if wanted > _U0:
            plane = plane_numbers(origin, table, cells_plane[slot])
            count = find_neighbours(
                cells_x, cells_y, cells_row, cells_start, z, slope_x, slope_y, step, plane, per_metre, slot,
                wanted, farthest, margin, numbers, floats, slots,
            )  # fmt: skip
            _part_coinciding(cells_row, slot, count, floats, slots, sides)
        speed, radius, zone = numbers[slot, OWN_MAXIMUM], numbers[slot, OWN_RADIUS], ids[slot, OWN_ZONE]
        first_wall, end_wall = zone_start[zone], zone_start[zone + 1]
        if first_wall < end_wall:
            walls = wall_half_planes(
                wall_shape,
                wall_link,
                zone_wall,
                first_wall,
                end_wall,
                cells_x[slot],
                cells_y[slot],
                numbers[slot, OWN_VX],
                numbers[slot, OWN_VY],
                radius,
                speed * parameters[3] + radius,
                per_wall_horizon,
                distances,
                found,
                lines,
            )
        state = slot * STATE_FLOATS
        agent_half_planes(
            floats,
            slots,
            states,
            sides,
            count,
            states[state + STATE_VX],
            states[state + STATE_VY],
            states[state + STATE_RADIUS],
            per_horizon,
            per_tick,
            lines,
            walls,
        )
        preferred_x, preferred_y = limited(
            numbers[slot, OWN_PREFERRED_X], numbers[slot, OWN_PREFERRED_Y], speed
        )
        rows.last_walls[0] = walls
        if walls + count > _MOST_TOGETHER:
            solve_alone(slot, slots, lines, walls, count, speed, preferred_x, preferred_y, own)
            continue
        wait(rows, waiting, slot, slots, lines, walls, count, speed, preferred_x, preferred_y)
        waiting += _U1
        if waiting == _SIDE:
            left = solve_waiting(rows, waiting, left, own)
            waiting = _U0
    if waiting > _U0:
        left = solve_waiting(rows, waiting, left, own)
    if left > _U0:
        relax_waiting(rows, left, own)


@kernel
def choose_velocities(start, stop, cells, states, own, frame, parameters, margin):
    """Choose ORCA velocities for the agents of the slots start..stop.

    Parameters
    ----------
    start, stop : int
        Range of slots.
    cells : Cells
    states : (4 n,) float32
    own : Own
        As `pack_agents` wrote both. Receives what is chosen.
    frame : WallFrame
    parameters : (5,) float64
        Neighbours wanted, neighbour distance (m), time horizon for agents and for walls (s), tick length (s).
    margin : float32, m
        How much farther than last time the last neighbour is looked for at first.

    Notes
    -----
    At 1 agent a square metre half of the time is for neighbours, a quarter for half-planes, and a quarter for
    the linear programs; see benchmarks/orca_peer.py. Twin: `tests/reference/orca.py`.
    """
    floats, slots = np.zeros(NEAREST_FLOATS, np.float32), np.zeros(NEAREST_SLOTS, np.uint32)
    sides, lines = np.zeros(SIDE_FLOATS, np.float32), np.zeros(LINE_FLOATS, np.float32)
    distances, found = np.zeros(MOST_WALLS), np.zeros(MOST_WALLS, np.int64)
    _choose_velocities(
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
        sides,
        lines,
        distances,
        found,
        empty_rows(),
    )


def _half_planes(
    lines: NDArray[Any], walls: int, neighbours: NDArray[np.int64], entity: int, choice: Choice, row: int
) -> NDArray[Any]:
    """Return the half-planes of an agent as reasons."""
    count = walls + len(neighbours)
    normal_x, normal_y, offsets = (
        lines[int(area) : int(area) + count].astype(np.float64) for area in (NORMAL_X, NORMAL_Y, OFFSET)
    )
    imposers = np.concatenate([np.full(walls, WALL, dtype=np.int64), neighbours])
    planes = half_plane_reasons(
        entity, np.stack([normal_x, normal_y], axis=1), offsets, imposers, choice.velocity[row]
    )
    # of several walls, the one on whose boundary the velocity lies
    own = planes["other"] == choice.blocker[row]
    if choice.blocker[row] != NOBODY and own.any():
        planes["binds"][np.argmin(np.where(own, np.abs(planes["value"]), np.inf))] = 1
    return planes


@register
class Orca(NeighbourModel):
    """Half-planes and linear programs; the reference for speed and for guarantees."""

    name: ClassVar[str] = "orca"
    chooser = staticmethod(choose_velocities)

    @dataclass(frozen=True)
    class Parameters(Horizons):
        """What can be tuned: which neighbours agents heed, and how far ahead."""

    def kernel_parameters(self, tick_length: float) -> NDArray[np.float64]:
        """Return the parameters of `choose_velocities`."""
        own = self.parameters
        return np.array(
            [
                own.neighbour_count,
                own.neighbour_distance,
                own.time_horizon,
                own.time_horizon_walls,
                tick_length,
            ],
            dtype=np.float64,
        )

    def reasons_of(
        self, entity: int, row: int, arguments: ChooserArguments, choice: Choice, view: CrowdView
    ) -> list[NDArray[Any]]:
        """Return the half-planes of an agent, those of walls first, as the programs took them."""
        floats, slots = np.zeros(NEAREST_FLOATS, np.float32), np.zeros(NEAREST_SLOTS, np.uint32)
        sides, lines = np.zeros(SIDE_FLOATS, np.float32), np.zeros(LINE_FLOATS, np.float32)
        rows = empty_rows()
        distances, found = np.zeros(MOST_WALLS), np.zeros(MOST_WALLS, np.int64)
        _choose_velocities(*arguments, floats, slots, sides, lines, distances, found, rows)
        near = arguments.entities(slots, np.arange(choice.neighbour_count[row]))
        return [_half_planes(lines, int(rows.last_walls[0]), near, entity, choice, row)]
