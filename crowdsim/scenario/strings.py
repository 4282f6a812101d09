"""The ways of agents to their first goals as lines, for pictures: each found by the planner of its group."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.funnel import find_bends, lay_string
from crowdsim.navigation.grid.parameters import WayParameters
from crowdsim.navigation.grid.planner import GridPlanner
from crowdsim.navigation.mesh import MOST_CROSSINGS, find_exit, make_flood
from crowdsim.navigation.posts import lay_out_posts
from crowdsim.navigation.search import FOUND
from crowdsim.navigation.targets import nearest_pieces, targets_of
from crowdsim.scenario.build import Built, agents_of, grid_of, make_planner
from crowdsim.scenario.parameters import Chosen
from crowdsim.threads import Team

_ALL = 1 << 40


@dataclass(frozen=True)
class Line:
    """A part of a way, on one floor.

    Attributes
    ----------
    row : int
        The agent, by place in the order of identity.
    layer : int
        Floor.
    points : (k, 2) float64, m
        Arcs round corners are their chords.
    """

    row: int
    layer: int
    points: NDArray[np.float64]


def lines_of(built: Built, most: int) -> list[Line]:
    """Return the ways of agents to their first goals.

    Parameters
    ----------
    built : Built
    most : int
        Of how many agents, evenly over all that have a goal; who has no way has no line.

    Raises
    ------
    ScenarioError
        If a planner cannot work on this ground.
    """
    world, population = built.world, built.population
    goals = [world.itineraries[number].goals for number in population.itinerary.tolist()]
    rows = np.flatnonzero([len(each) > 0 for each in goals])
    rows = rows[:: max(1, -(-len(rows) // most))]
    lines: list[Line] = []
    for chosen in built.scenario.navigations:
        mine = rows[agents_of(built, chosen)[rows]]
        goal = np.array([goals[row][0] for row in mine.tolist()], dtype=np.int32)
        if len(mine):
            lines += (_over_cells if chosen.is_grid else _over_mesh)(built, chosen, mine, goal)
    return lines


def _over_cells(built: Built, chosen: Chosen, rows: NDArray[np.int64], goal: NDArray[np.int32]) -> list[Line]:
    goals, position = built.world.goals, built.agents.position[rows]
    planner = GridPlanner(grid_of(built, chosen), targets_of(goals), chosen.parameters(WayParameters))
    part = built.world.mesh.polygon_part
    piece = nearest_pieces(goals, planner.target, goal, position, part[built.polygon[rows]], part[goals.piece_polygon])
    rows, position, piece = rows[piece >= 0], position[piece >= 0], piece[piece >= 0]
    planner.submit(0, rows + 1, position, np.zeros(len(rows), dtype=np.int64), piece, built.agents.radius[rows])
    answers, _ = planner.advance(_ALL, Team())
    lines = []
    for entity, first, last in zip(answers.entity.tolist(), answers.start[:-1].tolist(), answers.start[1:].tolist(), strict=True):
        lines.append(Line(entity - 1, 0, np.vstack([built.agents.position[entity - 1], answers.waypoint[first:last]])))
    return lines


def _over_mesh(built: Built, chosen: Chosen, rows: NDArray[np.int64], goal: NDArray[np.int32]) -> list[Line]:
    mesh, goals, agents = built.world.mesh, built.world.goals, built.agents
    planner = make_planner(built.scenario, built.world, chosen)
    planner.submit(0, rows + 1, agents.position[rows], built.polygon[rows], goal, agents.radius[rows])
    answers, _ = planner.advance(_ALL, Team())
    flood, lines = make_flood(mesh.polygon_count), []
    for place, entity in enumerate(answers.entity.tolist()):
        if answers.status[place] != FOUND:
            continue
        row, first = entity - 1, int(answers.start[place])
        length, polygon = int(answers.start[place + 1]) - first, int(built.polygon[row])
        (x, y), radius = agents.position[row].tolist(), float(agents.radius[row])
        posts = np.zeros((length + 2) * (int(np.diff(mesh.polygon_start).max()) + 2) + 4096, dtype=np.int32)
        count, _ = lay_out_posts(mesh, answers.cells, first, length, polygon, 0, length + 1, posts, 0)
        bends = np.zeros(len(posts), dtype=np.int32)
        found, tx, ty = find_bends(mesh, goals, answers.cells, first, length, posts, count, polygon, int(answers.piece[place]), x, y, radius, bends, flood)
        points = np.zeros((2 * len(posts) + 2, 2))
        lay_string(mesh, posts, bends, found, x, y, tx, ty, radius, points)
        lines += _by_floor(built, row, points[: 2 * found + 2])
    return lines


def _by_floor(built: Built, row: int, points: NDArray[np.float64]) -> list[Line]:
    """Part a way where it changes floors."""
    mesh, polygon = built.world.mesh, int(built.polygon[row])
    parts: list[tuple[int, list[NDArray[np.float64]]]] = [(int(mesh.polygon_layer[polygon]), [points[0]])]
    for a, b in itertools.pairwise(points):
        here = a
        for _ in range(MOST_CROSSINGS):
            edge, share = find_exit(mesh, polygon, *here.tolist(), *b.tolist())
            if edge < 0 or mesh.edge_twin[edge] < 0:
                break
            here = here + share * (b - here)
            polygon = int(mesh.edge_polygon[mesh.edge_twin[edge]])
            if mesh.polygon_layer[polygon] != parts[-1][0]:
                parts[-1][1].append(here)
                parts.append((int(mesh.polygon_layer[polygon]), [here]))
        parts[-1][1].append(b)
    return [Line(row, layer, np.array(part)) for layer, part in parts]
