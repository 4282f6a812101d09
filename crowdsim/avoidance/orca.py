"""ORCA: optimal reciprocal collision avoidance, with walls.

van den Berg, Guy, Lin, Manocha, "Reciprocal n-body collision avoidance", ISRR 2009 (Springer 2011), and the facts of its library RVO2, whose
velocities this model reproduces to 1e-4 m/s. Each neighbour forbids a half-plane of velocities, each wall too; the permitted velocity nearest to
the preferred one is taken, and where none is permitted, the one that breaks the half-planes of agents least.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.explain import REASON_DTYPE, Reason, reasons
from crowdsim.avoidance.half_planes import (
    OTHER_FLOATS,
    OTHER_RADIUS,
    OTHER_SHARE,
    OTHER_SIDE,
    OTHER_VX,
    OTHER_VY,
    OTHER_X,
    OTHER_Y,
    agent_half_planes,
)
from crowdsim.avoidance.model import FEASIBLE, INFEASIBLE, NOBODY, NOT_ASKED, RELAXED, WALL, Choice, CrowdView, empty_choice
from crowdsim.avoidance.neighbours import CHOSEN, MOST_NEIGHBOURS, NEAR_X, NEAR_Y, NEAREST_FLOATS, NEAREST_SLOTS, find_nearest
from crowdsim.avoidance.programs import LINE_FLOATS, NORMAL_X, NORMAL_Y, OFFSET, best_velocity, least_violation
from crowdsim.avoidance.registry import register
from crowdsim.avoidance.wall_planes import MOST_WALLS, wall_half_planes
from crowdsim.geometry.cells import plane_numbers
from crowdsim.geometry.speed import limited
from crowdsim.geometry.wall_frame import WallFrame, wall_frame
from crowdsim.geometry.walls import Walls
from crowdsim.kernels import inlined_kernel, kernel, lean_kernel
from crowdsim.lanes import prefetch
from crowdsim.threads import Team
from crowdsim.tunable import param

# How much farther than last tick the last neighbour is looked for at first: a guess that costs time where it is wrong, never exactness.
MARGIN_TICKS = 1.0  # ticks of walking at the crowd's greatest speed
MARGIN_M = 1e-3

_F0 = np.float32(0.0)
_HALF, _WHOLE = np.float32(0.5), np.float32(1.0)
_INFINITE = np.float32(np.inf)
_AHEAD = np.uint64(8)  # Slots ahead whose rows are fetched: rows lie anywhere in memory, and in large crowds not in the nearest cache.
_U0, _U1, _U2, _U3 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
class OrcaView(NamedTuple):
    """The columns of `CrowdView` that `choose_velocities` reads; `reach` is also written."""

    entity: NDArray[np.int64]
    velocity: NDArray[np.float64]
    preferred_velocity: NDArray[np.float64]
    radius: NDArray[np.float64]
    maximum_speed: NDArray[np.float64]
    active: NDArray[np.uint8]
    zone: NDArray[np.int64]
    reach: NDArray[np.float32]


@lean_kernel
def gather_by_slot(start, stop, cells, velocity, radius, active, hot):
    """Copy what neighbours show of themselves into cell order.

    Parameters
    ----------
    start, stop : int
        Range of slots.
    cells : Cells
    velocity : (n, 2) float64, m/s
    radius : (n,) float64, m
    active : (n,) uint8
    hot : (4 n,) float32
        Receives for each slot velocity x and y, radius, and the share that the other one takes of avoiding it: 1/2, or 1 of one that stands.

    Returns
    -------
    float32, m/s
        The greatest component of a velocity in this range.

    Notes
    -----
    Neighbours lie close together in cell order, while their rows lie anywhere: 1 to 5 ns an agent spent here save several times that later.
    Twin: `tests/reference/orca.py`.
    """
    fastest, cells_row = _F0, cells.row
    for slot in range(np.uint64(start), np.uint64(stop)):
        row, place = np.uint64(cells_row[slot]), slot * np.uint64(4)
        moves = active[row] != 0
        vx, vy = np.float32(velocity[row, 0]) if moves else _F0, np.float32(velocity[row, 1]) if moves else _F0
        hot[place], hot[place + _U1], hot[place + _U2], hot[place + _U3] = vx, vy, np.float32(radius[row]), _HALF if moves else _WHOLE
        fastest = max(fastest, max(abs(vx), abs(vy)))
    return fastest


@inlined_kernel
def _meet_others(cells_row, slot, count, hot, floats, slots, others):
    """Lay out what is known of the neighbours found."""
    for place in range(count):
        other = np.uint64(slots[CHOSEN + place]) * np.uint64(4)
        others[OTHER_X + place], others[OTHER_Y + place] = floats[NEAR_X + place], floats[NEAR_Y + place]
        others[OTHER_VX + place], others[OTHER_VY + place] = hot[other], hot[other + _U1]
        others[OTHER_RADIUS + place], others[OTHER_SHARE + place] = hot[other + _U2], hot[other + _U3]
    if count > _U0 and floats[NEAR_X] == _F0 and floats[NEAR_Y] == _F0:
        for place in range(count):
            lower = cells_row[slot] < cells_row[np.uint64(slots[CHOSEN + place])]
            others[OTHER_SIDE + place] = _WHOLE if lower else -_WHOLE


@lean_kernel
def _choose_velocities(start, stop, cells, hot, view, frame, numbers, margin, out, floats, slots, others, lines, distances, found):
    """Do what `choose_velocities` says, with workspaces."""
    wanted, farthest = np.uint64(numbers[0]), np.float32(numbers[1])
    per_horizon, per_wall_horizon, per_tick = np.float32(1.0 / numbers[2]), 1.0 / numbers[3], np.float32(1.0 / numbers[4])
    cells_x, cells_y, cells_row, cells_start, cells_plane, per_metre = cells.x, cells.y, cells.row, cells.start, cells.plane, cells.per_metre
    origin, table = cells.origin, cells.shape
    z, slope_x, slope_y, step = cells.z, cells.slope_x, cells.slope_y, cells.step
    entity, velocity, preferred, radii, speeds, active, zones, reaches = view
    chosen, diagnoses, blockers, counts = out
    wall_shape, wall_link, zone_start, zone_wall = frame
    last = np.uint64(cells_row.size - 1)
    for slot in range(np.uint64(start), np.uint64(stop)):
        row = np.uint64(cells_row[slot])
        ahead = np.uint64(cells_row[min(slot + _AHEAD, last)])
        for pairs in (velocity, preferred):
            prefetch(pairs, ahead + ahead)
        for singles in (radii, speeds):
            prefetch(singles, ahead)
        prefetch(zones, ahead)
        prefetch(reaches, ahead)
        if active[row] == 0:
            chosen[row, 0], chosen[row, 1], diagnoses[row], blockers[row], counts[row] = 0.0, 0.0, NOT_ASKED, NOBODY, 0
            continue
        count, walls = _U0, _U0
        if wanted > _U0:
            plane = plane_numbers(origin, table, cells_plane[slot])
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
            _meet_others(cells_row, slot, count, hot, floats, slots, others)
        speed, radius = speeds[row], radii[row]
        first_wall, end_wall = zone_start[zones[row]], zone_start[zones[row] + 1]
        if first_wall < end_wall:
            walls = wall_half_planes(
                wall_shape, wall_link, zone_wall, first_wall, end_wall, cells_x[slot], cells_y[slot], velocity[row, 0], velocity[row, 1],
                radius, speed * numbers[3] + radius, per_wall_horizon, distances, found, lines,
            )
        place = slot * np.uint64(4)
        agent_half_planes(others, count, hot[place], hot[place + _U1], hot[place + _U2], per_horizon, per_tick, lines, walls)
        wish_x, wish_y = limited(preferred[row, 0], preferred[row, 1], speed)
        best_x, best_y, binding, diagnosis = _solve(lines, walls, walls + count, np.float32(speed), np.float32(wish_x), np.float32(wish_y))
        blocker = np.int64(NOBODY)
        if binding >= 0:
            wish_x, wish_y = limited(np.float64(best_x), np.float64(best_y), speed)
            blocker = np.int64(WALL)
            if np.uint64(binding) >= walls:
                blocker = entity[cells_row[np.uint64(slots[CHOSEN + np.uint64(binding) - walls])]]
        chosen[row, 0], chosen[row, 1] = wish_x, wish_y  # where nothing binds, the wish itself, unrounded
        diagnoses[row], blockers[row], counts[row] = diagnosis, blocker, count


@inlined_kernel
def _solve(lines, walls, count, speed, wish_x, wish_y):
    """Return the best velocity, the half-plane that binds it, and the diagnosis."""
    failed, x, y, binding = best_velocity(lines, _U0, count, speed, wish_x, wish_y, wish_x, wish_y, False, wish_x, wish_y)
    diagnosis = FEASIBLE
    if failed < count:
        diagnosis = INFEASIBLE if failed < walls else RELAXED
        x, y, binding = least_violation(lines, walls, count, failed, speed, x, y, binding, wish_x, wish_y)
    return x, y, binding, diagnosis


@kernel
def choose_velocities(start, stop, cells, hot, view, frame, numbers, margin, out):
    """Choose ORCA velocities for the agents of the slots start..stop.

    Parameters
    ----------
    start, stop : int
        Range of slots.
    cells : Cells
    hot : (4 n,) float32
        As `gather_by_slot` wrote it.
    view : OrcaView
        Columns by row.
    frame : WallFrame
    numbers : (5,) float64
        Neighbours wanted, neighbour distance (m), time horizon for agents and for walls (s), tick length (s).
    margin : float32, m
        How much farther than last time the last neighbour is looked for at first.
    out : tuple
        The first four parts of a `Choice`; rows of the agents in this range are written.

    Notes
    -----
    About 110 ns for neighbours, 15 for half-planes and 60 for the linear programs an agent at 1 a square metre; see
    benchmarks/avoidance.py. Twin: `tests/reference/orca.py`.
    """
    floats, slots = np.zeros(NEAREST_FLOATS, np.float32), np.zeros(NEAREST_SLOTS, np.uint32)
    others, lines = np.zeros(OTHER_FLOATS, np.float32), np.zeros(LINE_FLOATS, np.float32)
    distances, found = np.zeros(MOST_WALLS), np.zeros(MOST_WALLS, np.int64)
    _choose_velocities(start, stop, cells, hot, view, frame, numbers, margin, out, floats, slots, others, lines, distances, found)


def _half_planes(lines: NDArray[Any], walls: int, others: NDArray[np.int64], entity: int, choice: Choice, row: int) -> NDArray[Any]:
    """Return the half-planes of an agent as reasons."""
    count = walls + len(others)
    told = reasons(entity, Reason.HALF_PLANE, count)
    normal_x, normal_y, offset = (lines[int(area) : int(area) + count].astype(np.float64) for area in (NORMAL_X, NORMAL_Y, OFFSET))
    told["other"][:walls], told["other"][walls:] = WALL, others
    told["x"], told["y"], told["a_x"], told["a_y"] = offset * normal_x, offset * normal_y, normal_x, normal_y
    told["value"] = normal_x * choice.velocity[row, 0] + normal_y * choice.velocity[row, 1] - offset
    own = told["other"] == choice.blocker[row]  # of several walls, the one on whose boundary the velocity lies
    if choice.blocker[row] != NOBODY and own.any():
        told["binds"][np.argmin(np.where(own, np.abs(told["value"]), np.inf))] = 1
    return told


@register
class Orca:
    """Half-planes and linear programs; the reference for speed and for guarantees."""

    name: ClassVar[str] = "orca"

    @dataclass(frozen=True)
    class Parameters:
        """What can be tuned."""

        neighbour_count: int = param(
            10, "", low=0, high=MOST_NEIGHBOURS, source="RVO2's examples",
            why="the nearest ten surround a walker; more costs time and seldom binds, fewer lets crowds run into those behind the first rank",
        )
        neighbour_distance: float = param(
            5.0, "m", above=0.0, high=100.0, source="ours",
            why="3.7 s of walking at 1.34 m/s; in crowds the ten nearest are far closer, in the open larger reacts sooner and costs time",
        )
        time_horizon: float = param(
            2.0, "s", above=0.0, high=60.0, source="ours",
            why="how long a velocity is to stay clear of other agents; larger plans ahead and hesitates in crowds, smaller dodges late",
        )
        time_horizon_walls: float = param(
            0.5, "s", above=0.0, high=60.0, source="ours",
            why="how long a velocity is to stay clear of walls; larger slows down far before a wall and cannot use narrow doors, smaller brakes late",
        )

    def __init__(self, parameters: Parameters | None = None) -> None:
        self.parameters = parameters or self.Parameters()
        self._hot = np.empty(0, dtype=np.float32)
        self._walls: Walls | None = None
        self._frame: WallFrame | None = None

    def prepare(self, capacity: int) -> None:
        """Make room for `capacity` agents."""
        if len(self._hot) < 4 * capacity:
            self._hot = np.empty(4 * capacity, dtype=np.float32)

    def choose(self, view: CrowdView, tick_length: float, team: Team, out: Choice) -> None:
        """Choose a velocity for everyone; see `AvoidanceModel`."""
        count = len(view.entity)
        if not count:
            return
        self.prepare(count)
        if view.walls is not self._walls:
            self._walls, self._frame = view.walls, wall_frame(view.walls)
        fastest = max(team.run(gather_by_slot, count, view.cells, view.velocity, view.radius, view.active, self._hot))
        margin = np.float32(MARGIN_TICKS * tick_length * float(fastest) + MARGIN_M)
        columns, numbers = self._columns(view), self._numbers(tick_length)
        team.run(choose_velocities, count, view.cells, self._hot, columns, self._frame, numbers, margin, out[:4])

    @staticmethod
    def _columns(view: CrowdView) -> OrcaView:
        return OrcaView(
            view.entity, view.velocity, view.preferred_velocity, view.radius, view.maximum_speed, view.deciding(), view.zone, view.reach
        )

    def _numbers(self, tick_length: float) -> NDArray[np.float64]:
        own = self.parameters
        return np.array([own.neighbour_count, own.neighbour_distance, own.time_horizon, own.time_horizon_walls, tick_length], dtype=np.float64)

    def explain(self, view: CrowdView, tick_length: float, rows: NDArray[np.int64], choice: Choice) -> NDArray[Any]:
        """Return the half-planes of some agents, those of walls first, as the programs took them; see `crowdsim.avoidance.explain`.

        The choice is made once more for each of them, by the same kernel, whose workspace then holds the half-planes.
        """
        floats, slots = np.zeros(NEAREST_FLOATS, np.float32), np.zeros(NEAREST_SLOTS, np.uint32)
        others, lines, other_lines = np.zeros(OTHER_FLOATS, np.float32), np.zeros(LINE_FLOATS, np.float32), np.zeros(LINE_FLOATS, np.float32)
        distances, found = np.zeros(MOST_WALLS), np.zeros(MOST_WALLS, np.int64)
        again = empty_choice(len(view.entity))[:4]
        columns, numbers = self._columns(view)._replace(reach=view.reach.copy()), self._numbers(tick_length)
        parts = [np.zeros(0, dtype=REASON_DTYPE)]
        for row in rows.tolist():
            slot = int(view.cells.slot[row])
            _choose_velocities(
                slot, slot + 1, view.cells, self._hot, columns, self._frame, numbers, np.float32(MARGIN_M), again, floats, slots, others, lines,
                distances, found,
            )
            walls = self._wall_count(view, row, distances, found, other_lines)
            near = slots[int(CHOSEN) : int(CHOSEN) + int(choice.neighbour_count[row])].astype(np.int64)
            parts.append(_half_planes(lines, walls, view.entity[view.cells.row[near]], int(view.entity[row]), choice, row))
        return np.concatenate(parts)

    def _wall_count(self, view: CrowdView, row: int, distances: NDArray[Any], found: NDArray[Any], lines: NDArray[Any]) -> int:
        """Return how many half-planes walls impose on an agent."""
        assert self._frame is not None, "choose comes first"
        frame, zone, own = self._frame, int(view.zone[row]), self.parameters
        begin, end = int(frame.zone_start[zone]), int(frame.zone_start[zone + 1])
        if begin == end:
            return 0
        radius = float(view.radius[row])
        reach = float(view.maximum_speed[row]) * own.time_horizon_walls + radius
        (x, y), (vx, vy) = view.position[row].tolist(), view.velocity[row].tolist()
        per_horizon = 1.0 / own.time_horizon_walls
        shape, link, zone_wall = frame.shape, frame.link, frame.zone_wall
        return int(wall_half_planes(shape, link, zone_wall, begin, end, x, y, vx, vy, radius, reach, per_horizon, distances, found, lines))

    def state(self) -> Mapping[str, NDArray[Any]]:
        """Return nothing: what guides the search is the column `reach`, which belongs to the caller."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take nothing back."""
