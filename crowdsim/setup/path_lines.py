"""The paths of agents to their first goals as lines, for pictures: each found by the planner of its group."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.corridor.corridors import Corridor
from crowdsim.navigation.corridor.trace import make_tracing, trace_path
from crowdsim.navigation.search.slot_fields import FOUND
from crowdsim.scenario.parameters import Chosen
from crowdsim.setup.build import Built, agents_of, planner_of
from crowdsim.setup.paths import answers_of, answers_over_cells


@dataclass(frozen=True)
class Line:
    """A part of a path, on one floor.

    Attributes
    ----------
    row : int
        The agent, by place in the order of identity.
    layer : int
        Floor.
    points : (k, 2) float64, m
        Arcs round corners are chords of at most 22.5 degrees.
    """

    row: int
    layer: int
    points: NDArray[np.float64]


def lines_of(built: Built, most: int) -> list[Line]:
    """Return the paths of agents to their first goals.

    Parameters
    ----------
    built : Built
    most : int
        Of how many agents, evenly over all that have a goal; an agent without a path has no line.

    Raises
    ------
    ScenarioError
        If a planner cannot work on this ground.
    """
    goals = [built.world.itineraries[number].goals for number in built.agents.itinerary.tolist()]
    rows = np.flatnonzero([len(each) > 0 for each in goals])
    rows = rows[:: max(1, -(-len(rows) // most))]
    lines: list[Line] = []
    for chosen in built.scenario.navigations:
        mine = rows[agents_of(built, chosen)[rows]]
        goal = np.array([goals[row][0] for row in mine.tolist()], dtype=np.int32)
        if len(mine):
            lines += (_over_cells if chosen.over_cells else _over_mesh)(built, chosen, mine, goal)
    return lines


def _over_cells(built: Built, chosen: Chosen, rows: NDArray[np.int64], goal: NDArray[np.int32]) -> list[Line]:
    position = built.agents.position[rows]
    request = (position, built.polygon[rows], goal, built.agents.radius[rows])
    _, answers = answers_over_cells(built.world, planner_of(built, chosen), *request)
    place, waypoint = answers.entity - 1, np.split(answers.waypoint, answers.start[1:-1])
    return [
        Line(row, 0, np.vstack([begin, points]))
        for row, begin, points in zip(rows[place].tolist(), position[place], waypoint, strict=False)
    ]


def _over_mesh(built: Built, chosen: Chosen, rows: NDArray[np.int64], goal: NDArray[np.int32]) -> list[Line]:
    mesh, goals, agents = built.world.mesh, built.world.goals, built.agents
    request = (rows + 1, agents.position[rows], built.polygon[rows], goal, agents.radius[rows])
    answers = answers_of(planner_of(built, chosen), *request)
    most = (int(np.diff(answers.start).max(initial=0)) + 2) * (
        int(np.diff(mesh.polygon_start).max()) + 2
    ) + 4096
    tracing, lines = make_tracing(most, mesh.polygon_count), []
    for place, entity in enumerate(answers.entity.tolist()):
        if answers.status[place] != FOUND:
            continue
        row, first = entity - 1, int(answers.start[place])
        (x, y), radius = agents.position[row].tolist(), float(agents.radius[row])
        length, piece = int(answers.start[place + 1]) - first, int(answers.piece[place])
        parts = trace_path(
            mesh,
            goals,
            Corridor(answers.cells, first, length, int(built.polygon[row]), piece),
            x,
            y,
            radius,
            tracing,
        )
        assert parts >= 0, "there is room for the longest corridor"
        lines += _by_floor(row, mesh.polygon_layer[tracing.over[:parts]], tracing.place[: parts + 1])
    return lines


def _by_floor(row: int, layer: NDArray[np.int64], points: NDArray[np.float64]) -> list[Line]:
    """Part a path where it changes floors."""
    parts = [0, *(np.flatnonzero(np.diff(layer)) + 1).tolist(), len(layer)]
    return [
        Line(row, int(layer[first]), points[first : last + 1].copy())
        for first, last in itertools.pairwise(parts)
        if first < last
    ]
