"""What the models that choose outside velocity obstacles share beside their kernel: how they are run, and what they tell."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.explain import Reason, half_plane_reasons, reasons
from crowdsim.avoidance.model import NOBODY, WALL, Choice, CrowdView
from crowdsim.avoidance.neighbours import MOST_NEIGHBOURS, NEAREST_FLOATS, NEAREST_SLOTS
from crowdsim.avoidance.orca.linear_programs import LINE_FLOATS
from crowdsim.avoidance.orca.linear_programs import NORMAL_X as LINE_X
from crowdsim.avoidance.orca.linear_programs import NORMAL_Y as LINE_Y
from crowdsim.avoidance.orca.linear_programs import OFFSET as LINE_OFFSET
from crowdsim.avoidance.orca.wall_planes import MOST_WALLS
from crowdsim.avoidance.surroundings import Look, LookingModel
from crowdsim.avoidance.velocity_obstacles.boundary import MOST_CANDIDATES, OUTSIDE_FLOATS, Candidates, best_outside
from crowdsim.avoidance.velocity_obstacles.kernel import TALLY, Settings, Tally, aim_of, choose_outside, choose_outside_with
from crowdsim.avoidance.velocity_obstacles.obstacles import AREA, PLANE_FLOATS, PLANES
from crowdsim.geometry.speed import limited

_PARALLEL = 1e-9  # Sine of the angle between legs below which they have no crossing: those of a body without size.


class ConeModel(LookingModel):
    """A model that takes the best velocity outside a union of velocity obstacles; what is left to write is parameters and `numbers`."""

    chooser = staticmethod(choose_outside)

    @abstractmethod
    def numbers(self, tick_length: float) -> Settings:
        """Return what the kernel is told, for ticks of `tick_length` seconds."""

    def meant(self, view: CrowdView) -> NDArray[np.float64]:
        """Return the velocities by which sides are chosen, (n, 2) in m/s: the present ones."""
        return view.velocity

    def reason_rows(self) -> int:
        """Return how many reasons an agent has in a tick, some: three for each obstacle, and as many velocities that were looked at."""
        return 5 * super().reason_rows()

    def reasons_of(self, entity: int, row: int, look: Look, choice: Choice) -> list[NDArray[Any]]:
        """Return the obstacles of an agent, those of walls first, and the velocities that were looked at, or the half-planes where nothing was permitted."""
        planes, lines, slots = np.zeros(PLANE_FLOATS, np.float32), np.zeros(LINE_FLOATS, np.float32), np.zeros(NEAREST_SLOTS, np.uint32)
        owner, work = np.zeros(MOST_NEIGHBOURS + MOST_WALLS, np.int64), np.zeros(OUTSIDE_FLOATS, np.float32)
        tallied = np.zeros(TALLY, np.int64)
        choose_outside_with(
            *look, np.zeros(NEAREST_FLOATS, np.float32), slots, planes, owner, work, lines, np.zeros(MOST_WALLS), np.zeros(MOST_WALLS, np.int64), tallied
        )
        tally, settings = Tally(*tallied.tolist()), look.numbers
        rows = look.rows(slots, owner[tally.walls : tally.obstacles])
        others = np.concatenate([np.full(tally.walls, WALL, dtype=np.int64), look.columns.entity[rows]])
        _give_way(planes, tally, settings)
        told = [_obstacles(entity, planes, others, _horizons(planes, tally, settings, look.columns.active[rows] != 0), tally)]
        if tally.steps < 0:
            told.append(_half_planes(entity, lines, others, tally, choice.velocity[row]))
        else:
            told.append(_candidates(entity, row, look, planes, work, others, tally, choice))
        return told


def _gives_way(tally: Tally) -> int:
    """Return in how many steps obstacles gave way: where none helped, as often as they can."""
    return tally.halvings if tally.steps < 0 else tally.steps


def _give_way(planes: NDArray[np.float32], tally: Tally, settings: Settings) -> None:
    """Write the offsets that the choice was made with: the search for the number of steps ends with those of another try."""
    if settings.drops:
        return
    _, _, offset, base, cut = planes.reshape(5, PLANES, int(AREA))
    agents = slice(tally.walls, tally.obstacles)
    offset[:, agents] = base[:, agents] + cut[:, agents] * np.float32(1 << _gives_way(tally))


def _horizons(planes: NDArray[np.float32], tally: Tally, settings: Settings, moves: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return for how long each obstacle forbids collisions, s."""
    with np.errstate(divide="ignore"):
        horizons = 1.0 / np.where(moves, settings.per_horizon, settings.per_standing_horizon)
    if settings.drops:
        horizons[len(horizons) - max(tally.steps, 0) :] = 0.0
    else:
        horizons /= 1 << _gives_way(tally)
    second = planes.reshape(5, PLANES, int(AREA))[2, 1, tally.walls : tally.obstacles]
    horizons[np.isinf(second) & (horizons > 0.0)] = 1.0 / settings.per_tick  # those who overlap are to be apart within a tick
    return np.concatenate([np.full(tally.walls, 1.0 / settings.per_wall_horizon), horizons])


def _obstacles(entity: int, planes: NDArray[np.float32], others: NDArray[np.int64], horizons: NDArray[np.float64], tally: Tally) -> NDArray[Any]:
    """Return obstacles and, behind each, its tips."""
    nx, ny, offset, _, _ = planes.reshape(5, PLANES, int(AREA))[:, :, : tally.obstacles].astype(np.float64)
    parts = [reasons(entity, Reason.OBSTACLE, 0)]
    for number in range(tally.obstacles):
        normals, offsets = np.stack([nx[:, number], ny[:, number]], axis=1), offset[:, number]
        is_half_plane = np.isinf(offsets[1])
        left, right = 0, 0 if is_half_plane else 1
        cone = reasons(entity, Reason.OBSTACLE, 1)
        cone["a_x"], cone["a_y"] = normals[left, 1], -normals[left, 0]
        cone["b_x"], cone["b_y"] = -normals[right, 1], normals[right, 0]
        apex = _crossing(normals[left], offsets[left], normals[right], offsets[right])
        cone["x"], cone["y"] = apex
        cone["other"], cone["value"], cone["binds"] = others[number], horizons[number], tally.steps >= 0 and number == tally.binding
        parts.append(cone)
        tips = [plane for plane in range(2, PLANES) if np.isfinite(offsets[plane])]
        if len(tips) == 2 and np.array_equal(normals[2], normals[3]) and offsets[2] == offsets[3]:  # a butt end
            tips.pop()
        cut = reasons(entity, Reason.TIP, len(tips))
        cut["other"] = others[number]
        cut["a_x"], cut["a_y"] = normals[tips].T
        cut["x"], cut["y"] = (normals[tips] * offsets[tips, None]).T
        cut["value"] = normals[tips] @ apex - offsets[tips]
        parts.append(cut)
    return np.concatenate(parts)


def _crossing(one: NDArray[np.float64], offset: float, other: NDArray[np.float64], other_offset: float) -> NDArray[np.float64]:
    """Return where the lines ``one . v = offset`` and ``other . v = other_offset`` cross; of parallel ones the point of the first nearest to 0."""
    sine = one[0] * other[1] - one[1] * other[0]
    if abs(sine) < _PARALLEL:
        return one * offset
    return np.array([offset * other[1] - other_offset * one[1], one[0] * other_offset - other[0] * offset]) / sine


def _half_planes(entity: int, lines: NDArray[np.float32], others: NDArray[np.int64], tally: Tally, velocity: NDArray[np.float64]) -> NDArray[Any]:
    """Return the half-planes of which the velocity breaks those of agents least."""
    nx, ny, offsets = (lines[int(area) : int(area) + tally.obstacles].astype(np.float64) for area in (LINE_X, LINE_Y, LINE_OFFSET))
    told = half_plane_reasons(entity, np.stack([nx, ny], axis=1), offsets, others, velocity)
    if tally.binding >= 0:
        told["binds"][tally.binding] = 1
    return told


def _candidates(
    entity: int, row: int, look: Look, planes: NDArray[np.float32], work: NDArray[np.float32], others: NDArray[np.int64], tally: Tally, choice: Choice
) -> NDArray[Any]:
    """Return the velocities that were looked at: the last search is made once more by the same kernel, which now tells."""
    settings, columns = look.numbers, look.columns
    speed = float(columns.maximum_speed[row])
    wish_x, wish_y = limited(*columns.preferred_velocity[row].tolist(), speed)
    aim = aim_of(wish_x, wish_y, *columns.velocity[row].tolist(), speed, settings)
    heeded = tally.obstacles - (tally.steps if settings.drops else 0)
    found = Candidates(np.zeros((MOST_CANDIDATES, 3), np.float32), np.zeros(MOST_CANDIDATES, np.int64), np.zeros(1, np.int64))
    best_outside(
        planes, np.uint64(heeded), np.float32(speed), np.float32(wish_x), np.float32(wish_y), tuple(np.float32(number) for number in aim),
        np.float32(settings.side), work, found,
    )  # fmt: skip
    count = int(found.filled[0])
    place, around = found.place[:count].astype(np.float64), found.around[:count]
    again = np.zeros(count, dtype=np.bool_)  # both ways out of a free place lead to it
    again[1:] = (place[1:] == place[:-1]).all(axis=1) & (around[1:] == around[:-1])
    place, around = place[~again], around[~again]
    told = reasons(entity, Reason.CANDIDATE, len(place))
    told["x"], told["y"], told["value"] = place.T
    told["other"] = np.where(around < 0, NOBODY, others[around]) if len(others) else NOBODY
    apart = np.where(around < 0, np.hypot(*(place[:, :2] - choice.velocity[row]).T), np.inf)
    told["binds"][np.argmin(apart)] = 1
    return told
