"""What the models that choose outside velocity obstacles share beside their kernel:
how they are run, and the reasons of their choices.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.explain import Reason, half_plane_reasons, reasons
from crowdsim.avoidance.model import NOBODY, WALL, Choice, CrowdView
from crowdsim.avoidance.neighbour_model import ChooserArguments, NeighbourModel
from crowdsim.avoidance.neighbours import MOST_NEIGHBOURS, NEAREST_FLOATS, NEAREST_SLOTS
from crowdsim.avoidance.orca.linear_programs import LINE_FLOATS
from crowdsim.avoidance.orca.linear_programs import NORMAL_X as LINE_X
from crowdsim.avoidance.orca.linear_programs import NORMAL_Y as LINE_Y
from crowdsim.avoidance.orca.linear_programs import OFFSET as LINE_OFFSET
from crowdsim.avoidance.orca.wall_planes import MOST_WALLS
from crowdsim.avoidance.velocity_obstacles.boundary import (
    BOUNDARY_FLOATS,
    MOST_CANDIDATES,
    Candidates,
    best_permitted,
)
from crowdsim.avoidance.velocity_obstacles.kernel import (
    COUNTS,
    Counts,
    VelocityObstacleParameters,
    choose_by_velocity_obstacles,
    choose_with_workspaces,
    objective_of,
)
from crowdsim.avoidance.velocity_obstacles.obstacles import AREA, PLANE_FLOATS, PLANES
from crowdsim.geometry.lengths import dots, hypots
from crowdsim.geometry.speed import limited

# Sine of the angle between legs below which they have no crossing: those of an agent without size.
_PARALLEL = 1e-9


class VelocityObstacleModel(NeighbourModel):
    """A model that takes the best velocity outside a union of velocity obstacles;
    what is left to write is parameters and `kernel_parameters`.
    """

    chooser = staticmethod(choose_by_velocity_obstacles)

    @abstractmethod
    def kernel_parameters(self, tick_length: float) -> VelocityObstacleParameters:
        """Return the parameters of the kernel, for ticks of `tick_length` seconds."""

    def side_reference(self, view: CrowdView) -> NDArray[np.float64]:
        """Return the velocities by which sides are chosen, (n, 2) in m/s: the present ones."""
        return view.velocity

    def reason_rows(self) -> int:
        """Return how many reasons an agent has in a tick, some:
        three for each obstacle, and as many velocities that were looked at.
        """
        return 5 * super().reason_rows()

    def reasons_of(
        self, entity: int, row: int, arguments: ChooserArguments, choice: Choice, view: CrowdView
    ) -> list[NDArray[Any]]:
        """Return the obstacles of an agent, those of walls first, and the velocities that were looked at,
        or the half-planes where nothing was permitted.
        """
        planes, lines, slots = (
            np.zeros(PLANE_FLOATS, np.float32),
            np.zeros(LINE_FLOATS, np.float32),
            np.zeros(NEAREST_SLOTS, np.uint32),
        )
        owner, work = np.zeros(MOST_NEIGHBOURS + MOST_WALLS, np.int64), np.zeros(BOUNDARY_FLOATS, np.float32)
        counted = np.zeros(COUNTS, np.int64)
        choose_with_workspaces(
            *arguments,
            np.zeros(NEAREST_FLOATS, np.float32),
            slots,
            planes,
            owner,
            work,
            lines,
            np.zeros(MOST_WALLS),
            np.zeros(MOST_WALLS, np.int64),
            counted,
        )
        counts, parameters = Counts(*counted.tolist()), arguments.parameters
        places = owner[counts.walls : counts.obstacles]
        rows, near = arguments.rows(slots, places), arguments.entities(slots, places)
        others = np.concatenate([np.full(counts.walls, WALL, dtype=np.int64), near])
        _give_way(planes, counts, parameters)
        found_reasons = [
            _obstacles(
                entity,
                planes,
                others,
                _horizons(planes, counts, parameters, view.active[rows] == 1),
                counts,
            )
        ]
        if counts.steps < 0:
            found_reasons.append(_half_planes(entity, lines, others, counts, choice.velocity[row]))
        else:
            found_reasons.append(
                _candidates(entity, row, view, parameters, planes, work, others, counts, choice)
            )
        return found_reasons


def _gives_way(counts: Counts) -> int:
    """Return in how many steps obstacles gave way: where none helped, as often as they can."""
    return counts.halvings if counts.steps < 0 else counts.steps


def _give_way(planes: NDArray[np.float32], counts: Counts, parameters: VelocityObstacleParameters) -> None:
    """Write the offsets that the choice was made with:
    the search for the number of steps ends with those of another try.
    """
    if parameters.drops:
        return
    _, _, offset, base, cut = planes.reshape(5, PLANES, int(AREA))
    agents = slice(counts.walls, counts.obstacles)
    offset[:, agents] = base[:, agents] + cut[:, agents] * np.float32(1 << _gives_way(counts))


def _horizons(
    planes: NDArray[np.float32],
    counts: Counts,
    parameters: VelocityObstacleParameters,
    moves: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return for how long each obstacle forbids collisions, s."""
    with np.errstate(divide="ignore"):
        horizons = 1.0 / np.where(moves, parameters.per_horizon, parameters.per_stationary_horizon)
    if parameters.drops:
        horizons[len(horizons) - max(counts.steps, 0) :] = 0.0
    else:
        horizons /= 1 << _gives_way(counts)
    second = planes.reshape(5, PLANES, int(AREA))[2, 1, counts.walls : counts.obstacles]
    # agents that overlap are to be apart within a tick
    horizons[np.isinf(second) & (horizons > 0.0)] = 1.0 / parameters.per_tick
    return np.concatenate([np.full(counts.walls, 1.0 / parameters.per_wall_horizon), horizons])


def _obstacles(
    entity: int,
    planes: NDArray[np.float32],
    others: NDArray[np.int64],
    horizons: NDArray[np.float64],
    counts: Counts,
) -> NDArray[Any]:
    """Return obstacles and, behind each, its tips."""
    nx, ny, offset, _, _ = planes.reshape(5, PLANES, int(AREA))[:, :, : counts.obstacles].astype(np.float64)
    parts = [reasons(entity, Reason.OBSTACLE, 0)]
    for number in range(counts.obstacles):
        normals, offsets = np.stack([nx[:, number], ny[:, number]], axis=1), offset[:, number]
        is_half_plane = np.isinf(offsets[1])
        left, right = 0, 0 if is_half_plane else 1
        cone = reasons(entity, Reason.OBSTACLE, 1)
        cone["a_x"], cone["a_y"] = normals[left, 1], -normals[left, 0]
        cone["b_x"], cone["b_y"] = -normals[right, 1], normals[right, 0]
        apex = _crossing(normals[left], offsets[left], normals[right], offsets[right])
        cone["x"], cone["y"] = apex
        cone["other"], cone["value"], cone["binds"] = (
            others[number],
            horizons[number],
            counts.steps >= 0 and number == counts.binding,
        )
        parts.append(cone)
        tips = [plane for plane in range(2, PLANES) if np.isfinite(offsets[plane])]
        # a butt end
        if len(tips) == 2 and np.array_equal(normals[2], normals[3]) and offsets[2] == offsets[3]:
            tips.pop()
        cut = reasons(entity, Reason.TIP, len(tips))
        cut["other"] = others[number]
        cut["a_x"], cut["a_y"] = normals[tips].T
        cut["x"], cut["y"] = (normals[tips] * offsets[tips, None]).T
        cut["value"] = dots(normals[tips], apex) - offsets[tips]
        parts.append(cut)
    return np.concatenate(parts)


def _crossing(
    one: NDArray[np.float64], offset: float, other: NDArray[np.float64], other_offset: float
) -> NDArray[np.float64]:
    """Return where the lines ``one . v = offset`` and ``other . v = other_offset`` cross;
    of parallel ones the point of the first nearest to 0.
    """
    sine = one[0] * other[1] - one[1] * other[0]
    if abs(sine) < _PARALLEL:
        return one * offset
    return (
        np.array([offset * other[1] - other_offset * one[1], one[0] * other_offset - other[0] * offset])
        / sine
    )


def _half_planes(
    entity: int,
    lines: NDArray[np.float32],
    others: NDArray[np.int64],
    counts: Counts,
    velocity: NDArray[np.float64],
) -> NDArray[Any]:
    """Return the half-planes of which the velocity breaks those of agents least."""
    nx, ny, offsets = (
        lines[int(area) : int(area) + counts.obstacles].astype(np.float64)
        for area in (LINE_X, LINE_Y, LINE_OFFSET)
    )
    found_reasons = half_plane_reasons(entity, np.stack([nx, ny], axis=1), offsets, others, velocity)
    if counts.binding >= 0:
        found_reasons["binds"][counts.binding] = 1
    return found_reasons


def _candidates(
    entity: int,
    row: int,
    view: CrowdView,
    parameters: VelocityObstacleParameters,
    planes: NDArray[np.float32],
    work: NDArray[np.float32],
    others: NDArray[np.int64],
    counts: Counts,
    choice: Choice,
) -> NDArray[Any]:
    """Return the velocities that were looked at:
    the last search is made once more by the same kernel, which now writes them down.
    """
    speed = float(view.maximum_speed[row])
    preferred_x, preferred_y = limited(*view.preferred_velocity[row].tolist(), speed)
    objective = objective_of(preferred_x, preferred_y, *view.velocity[row].tolist(), speed, parameters)
    heeded = counts.obstacles - (counts.steps if parameters.drops else 0)
    found = Candidates(
        np.zeros((MOST_CANDIDATES, 3), np.float32), np.zeros(MOST_CANDIDATES, np.int64), np.zeros(1, np.int64)
    )
    best_permitted(
        planes,
        np.uint64(heeded),
        np.float32(speed),
        np.float32(preferred_x),
        np.float32(preferred_y),
        tuple(np.float32(number) for number in objective),
        np.float32(parameters.side),
        work,
        found,
    )
    count = int(found.filled[0])
    place, obstacle = found.place[:count].astype(np.float64), found.obstacle[:count]
    again = np.zeros(count, dtype=np.bool_)  # a free place is the nearest free one on both sides
    again[1:] = (place[1:] == place[:-1]).all(axis=1) & (obstacle[1:] == obstacle[:-1])
    place, obstacle = place[~again], obstacle[~again]
    found_reasons = reasons(entity, Reason.CANDIDATE, len(place))
    found_reasons["x"], found_reasons["y"], found_reasons["value"] = place.T
    found_reasons["other"] = np.where(obstacle < 0, NOBODY, others[obstacle]) if len(others) else NOBODY
    apart = np.where(obstacle < 0, hypots(*(place[:, :2] - choice.velocity[row]).T), np.inf)
    found_reasons["binds"][np.argmin(apart)] = 1
    return found_reasons
