"""A closer look at a scenario before it runs: who stands in a wall, who cannot get to a goal and at which gap, how large the recording will be.

The same mesh, the same radii and the same search as in the run are used, so that what is found here is what would happen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import Problem
from crowdsim.navigation.goals import GoalPieces
from crowdsim.navigation.mesh import NavMesh, make_flood, wall_distance
from crowdsim.navigation.planner import MeshPlanner
from crowdsim.navigation.search import FOUND
from crowdsim.recording.schema import STANDARD_COLUMNS, TRAJECTORY_DTYPE
from crowdsim.scenario.agents import agent_label, recorded_rows
from crowdsim.scenario.build import Built
from crowdsim.scenario.ways import lengths_of
from crowdsim.threads import Team

IN_WALL_M = 0.01  # A body may start this much nearer to a wall than its radius: what rounds off in a plan drawn by hand. More is a mistake.
COMPRESSED_SHARE = 0.45  # Of the raw bytes of a frame that are left on disk, seen on walking crowds (0.3 where many stand, 0.6 in traced runs).
MOST_PROBLEMS = 50
_ALL = 1 << 40


@dataclass(frozen=True)
class Facts:
    """What a scenario would be as a run.

    Attributes
    ----------
    agents, goals, ticks, frames : int
    area_m2 : float
    polygons, walls : int
    shortest_way_m, longest_way_m : float
        Of the ways that agents would take; 0 without ways.
    recording_bytes : int
        Estimate, if everybody stayed to the end.
    """

    agents: int
    goals: int
    ticks: int
    frames: int
    area_m2: float
    polygons: int
    walls: int
    shortest_way_m: float
    longest_way_m: float
    recording_bytes: int


def examine(built: Built) -> tuple[list[Problem], Facts]:
    """Look for what would go wrong in a run.

    Parameters
    ----------
    built : Built

    Returns
    -------
    problems : list of Problem
        Agents in walls, agents without a way to one of their goals.
    facts : Facts
    """
    problems = agents_in_walls(built)
    ways: list[float] = []
    problems += agents_without_way(built, ways)
    return problems, _facts(built, ways)


def agents_in_walls(built: Built) -> list[Problem]:
    """Return a problem for each agent that starts nearer to a wall than its radius (less 1 cm)."""
    mesh, agents = built.world.mesh, built.agents
    flood = make_flood(mesh.polygon_count)
    problems = []
    for row in range(len(agents)):
        radius = float(agents.radius[row])
        x, y = agents.position[row]
        distance = float(wall_distance(mesh, built.polygon[row], x, y, radius, flood))
        if distance < radius - IN_WALL_M:
            problems.append(
                _problem(
                    built, row, f"stands {distance:.3f} m from a wall at ({x:g}, {y:g}), but its radius is {radius:g} m",
                    f"Move it {radius - distance:.3f} m away from the wall, or make the radius at most {distance:.3f} m.",
                )
            )  # fmt: skip
        if len(problems) >= MOST_PROBLEMS:
            break
    return problems


def agents_without_way(built: Built, ways: list[float]) -> list[Problem]:
    """Return a problem for each agent that has no way to one of its goals; `ways` receives the lengths of the first ways (m)."""
    world, agents = built.world, built.agents
    problems: list[Problem] = []
    rows = np.arange(len(agents))
    stage = 0
    position, polygon = agents.position.copy(), built.polygon.copy()
    while len(rows) and len(problems) < MOST_PROBLEMS:
        goals = [world.itineraries[built.population.itinerary[row]].goals for row in rows.tolist()]
        rows = rows[np.array([len(each) > stage for each in goals], dtype=bool)]
        if not len(rows):
            break
        goal = np.array([each[stage] for each in goals if len(each) > stage], dtype=np.int32)
        status, length, piece = lengths_of(world, position[rows], polygon[rows], goal, agents.radius[rows])
        if stage == 0:
            ways += length[status == FOUND].tolist()
        for row in np.flatnonzero(status != FOUND).tolist():
            if len(problems) < MOST_PROBLEMS:
                problems.append(_no_way(built, int(rows[row]), int(goal[row]), position[rows[row]], int(polygon[rows[row]])))
        arrived = status == FOUND
        rows, piece = rows[arrived], piece[arrived]
        position[rows] = world.goals.pole[piece]
        polygon[rows] = world.goals.piece_polygon[piece]
        stage += 1
    return problems


def _no_way(built: Built, row: int, goal: int, position: NDArray[np.float64], polygon: int) -> Problem:
    world, radius = built.world, float(built.agents.radius[row])
    name = built.scenario.goals[goal].name
    if world.goals.goal_start[goal] == world.goals.goal_start[goal + 1]:
        return _problem(built, row, f'has no way to goal "{name}": the goal does not touch the walkable ground', "Move the goal onto the ground.")
    gap = widest_way(world.mesh, world.goals, position, polygon, goal, 2.0 * radius)
    if gap is None:
        return _problem(
            built, row, f'has no way to goal "{name}" from ({position[0]:g}, {position[1]:g}): the ground between is not connected',
            "Connect the two parts, or give it another goal.",
        )  # fmt: skip
    width, x, y = gap
    return _problem(
        built, row, f'has no way to goal "{name}" for its radius of {radius:g} m (needs {2.0 * radius:g} m): the widest way has a gap of {width:.3f} m at '
        f"({x:.2f}, {y:.2f})",
        f"Make the gap at least {2.0 * radius:g} m, or the radius at most {width / 2.0:.3f} m.",
    )  # fmt: skip


def widest_way(
    mesh: NavMesh, goals: GoalPieces, position: NDArray[np.float64], polygon: int, goal: int, too_wide: float
) -> tuple[float, float, float] | None:
    """Find the narrowest place of the widest way to a goal.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    position : (2,) float64, m
    polygon : int
    goal : int
    too_wide : float, m
        A width for which there is no way.

    Returns
    -------
    (width, x, y) or None
        Width (m) and middle of the gap; None if there is no way even for a point.
    """
    planner = MeshPlanner(mesh, goals)
    widths = planner.widths
    widths = widths[widths < too_wide]

    def ask(width: float) -> Any:
        planner.submit(0, np.array([1]), position.reshape(1, 2), np.array([polygon]), np.array([goal], dtype=np.int32), np.array([width / 2.0]))
        return planner.advance(_ALL, Team())[0]

    if ask(0.0).status[0] != FOUND:
        return None
    low, high = 0, len(widths)  # a body of widths[low - 1] fits, one of widths[high] does not
    while low < high:
        middle = (low + high) // 2
        if ask(float(widths[middle])).status[0] == FOUND:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return None
    width = float(widths[low - 1])
    x, y = _gap_of_width(mesh, width)
    return width, x, y


def _gap_of_width(mesh: NavMesh, width: float) -> tuple[float, float]:
    """Return the middle of an edge or diagonal of exactly this length between two wall vertices."""
    for polygon in range(mesh.polygon_count):
        corners = mesh.edge_vertex[mesh.polygon_start[polygon] : mesh.polygon_start[polygon + 1]]
        points = mesh.vertex[corners, :2]
        span = np.hypot(points[:, None, 0] - points[None, :, 0], points[:, None, 1] - points[None, :, 1])
        hits = np.argwhere(span == width)
        for i, j in hits:
            if mesh.is_wall_vertex[corners[i]] and mesh.is_wall_vertex[corners[j]]:
                middle = 0.5 * (points[i] + points[j])
                return float(middle[0]), float(middle[1])
    return float("nan"), float("nan")


def _problem(built: Built, row: int, message: str, way_out: str) -> Problem:
    scenario = built.scenario
    group = scenario.groups[built.agents.group[row]]
    place = group.place
    return Problem(agent_label(scenario, built.agents, row), message, way_out, *place)


def _facts(built: Built, ways: list[float]) -> Facts:
    scenario = built.scenario
    frames = scenario.stop.ticks // scenario.record.ticks_per_frame + 1
    recorded = int(recorded_rows(scenario, built.agents).sum())
    width = {column.name: column.stored_dtype(scenario.record.trace).itemsize * column.width for column in STANDARD_COLUMNS}
    row = TRAJECTORY_DTYPE.itemsize + sum(width[name] for name in scenario.record.columns)
    return Facts(
        agents=len(built.agents),
        goals=len(scenario.goals),
        ticks=scenario.stop.ticks,
        frames=frames,
        area_m2=float(scenario.geometry.walkable.area),
        polygons=built.world.mesh.polygon_count,
        walls=len(built.world.walls.start),
        shortest_way_m=min(ways, default=0.0),
        longest_way_m=max(ways, default=0.0),
        recording_bytes=int(frames * recorded * row * COMPRESSED_SHARE),
    )
