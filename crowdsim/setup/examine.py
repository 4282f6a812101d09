"""A closer look at a scenario before it runs:
agents in walls, agents that cannot get to a goal and at which gap, how many come in, how large the recording
will be.

The mesh or grid, the radii and the search are those of the run, so that what is found here is what would
happen.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import Problem
from crowdsim.navigation.mesh.mesh import make_flood, wall_distance
from crowdsim.scenario.check import NEAR_WALL, cut_off_message
from crowdsim.scenario.model import Scenario
from crowdsim.setup.build import Built, agents_of, kept_off
from crowdsim.setup.first_arrivals import with_first_arrivals
from crowdsim.setup.gaps import problem_of, shut_out, widest_path
from crowdsim.setup.locked import Locks
from crowdsim.setup.paths import Legs, PathFinder
from crowdsim.setup.recording_size import agents_to_come, recording_bytes
from crowdsim.setup.routes import Routes, Walkers

# An agent may start this much nearer to a wall than its radius: what rounds off in a floor plan drawn by
# hand. More is a mistake.
IN_WALL_M = 0.01
MOST_NAMED = 3  # Agents of a group that stand in walls and are reported one by one; each has its own place.
# Polygons from which the widest path to a goal is searched for; each costs some twenty searches.
MOST_GAPS = 50


@dataclass(frozen=True)
class Facts:
    """What a scenario would be as a run.

    Attributes
    ----------
    agents : int
        At first.
    coming : int
        That come in while the run lasts; no more are counted than `MOST_COUNTED`, or those of a second more.
    goals, ticks, frames : int
    area_m2 : float
    polygons, walls : int
    shortest_path_m, longest_path_m : float
        Length of the paths that agents would take; 0 without paths.
    recording_bytes : int
        Estimate, if all agents stayed to the end, but for those that come in and leave: they stay for as long
        as their paths take.
    """

    agents: int
    coming: int
    goals: int
    ticks: int
    frames: int
    area_m2: float
    polygons: int
    walls: int
    shortest_path_m: float
    longest_path_m: float
    recording_bytes: int


def examine(built: Built) -> tuple[list[Problem], Facts]:
    """Look for what would go wrong in a run.

    Parameters
    ----------
    built : Built

    Returns
    -------
    problems : list of Problem
        Agents in walls, entrances without room, agents without a path to one of their goals.
    facts : Facts

    Raises
    ------
    ScenarioError
        If a planner cannot work on this ground.
    """
    problems = agents_in_walls(built)
    with_first, no_room = with_first_arrivals(built)
    problems += no_room
    walks = Walks([], np.zeros(len(with_first.agents)))
    problems += agents_without_path(with_first, walks)
    return problems, _facts(built, walks, _stays_s(with_first, walks.seconds, len(built.agents)))


def agents_in_walls(built: Built) -> list[Problem]:
    """Return problems for the agents that start nearer to a wall than their radius (less 1 cm),
    the first three of each group one by one.
    """
    mesh, agents = built.world.mesh, built.agents
    flood = make_flood(mesh.polygon_count)
    distance = np.empty(len(agents))
    for row in range(len(agents)):
        distance[row] = wall_distance(
            mesh, built.polygon[row], *agents.position[row], float(agents.radius[row]), flood
        )
    inside = np.flatnonzero(distance < agents.radius - IN_WALL_M)
    problems = []
    for group in np.unique(agents.group[inside]):
        rows = inside[agents.group[inside] == group]
        for number, row in enumerate(rows[:MOST_NAMED].tolist(), 1):
            (x, y), radius, left = agents.position[row], float(agents.radius[row]), len(rows) - number
            more = f", and {left:,} more of the group stand in walls" if number == MOST_NAMED and left else ""
            problems.append(
                problem_of(
                    built,
                    [row],
                    (
                        f"stands {distance[row]:.3f} m from a wall at ({x:g}, {y:g}), but its radius is "
                        f"{radius:g} m{more}"
                    ),
                    (
                        f"Move it {radius - distance[row]:.3f} m away from the wall, or make the radius at "
                        f"most {distance[row]:.3f} m."
                    ),
                )
            )
    return problems


class Walks(NamedTuple):
    """How far agents walk, and how long.

    Attributes
    ----------
    first_m : list of float, m
        To their first goals, of those that have a path there.
    seconds : (n,) float64, s
        Past all of their goals, as far as there are paths.
    """

    first_m: list[float]
    seconds: NDArray[np.float64]


def agents_without_path(built: Built, walks: Walks) -> list[Problem]:
    """Return a problem for each gap behind which agents never have a path to one of their goals;
    `walks` receives how far they walk.

    An agent that has none at the beginning and gets one when something opens waits for that.
    """
    finder, locks, legs = PathFinder(built), Locks(built), Legs(built)
    position, polygon = legs.position, legs.polygon
    problems: list[Problem] = []
    while len(rows := legs.rows):
        goal = legs.goal
        found = finder.find(rows, position[rows], polygon[rows], goal)
        is_found, length = found.piece >= 0, found.lengths()
        if legs.number == 0:
            walks.first_m.extend(length[is_found].tolist())
        walks.seconds[rows[is_found]] += length[is_found] / legs.speed[is_found]
        never = np.flatnonzero(found.piece < 0)
        never = never[~locks.ever_has_path(rows[never], position[rows[never]], goal[never])]
        piece = found.piece.copy()
        if built.world.riding is not None:
            own = rows[never], position[rows[never]], polygon[rows[never]], goal[never]
            rides = never[_has_route(built, *own)]
            piece[rides] = built.world.goals.goal_start[goal[rides]]
            never = np.setdiff1d(never, rides)
        for wanted in np.unique(goal[never]).tolist():
            without = rows[never[goal[never] == wanted]]
            on_mesh = shut_out(built, wanted, without, position, polygon, problems)
            problems += _no_path(built, wanted, without[~on_mesh], position, polygon)
        legs.go_on(piece)
    return problems


def _has_route(
    built: Built,
    rows: NDArray[np.int64],
    place: NDArray[np.float64],
    polygon: NDArray[np.int64],
    goal: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Return which agents, (k,), get to their goals over connections, with the keys that they have."""
    agents, riding = built.agents, built.world.riding
    if riding is None or not len(rows):
        return np.zeros(len(rows), dtype=np.bool_)
    found = np.zeros(len(rows), dtype=np.bool_)
    for chosen in built.scenario.navigations:
        mine = np.flatnonzero(agents_of(built, chosen)[rows])
        if len(mine):
            routes = Routes(built.world, partial(kept_off, built, chosen))
            may = riding.may_use[agents.group[rows[mine]]][:, routes.connection] & ~routes.closed()
            own = rows[mine]
            walkers = Walkers(place[mine], polygon[mine], agents.radius[own], agents.desired_speed[own])
            legs = routes.measure(walkers, goal[mine])
            found[mine] = np.isfinite(routes.choose(legs, np.ones(len(routes.connection)), may).seconds)
    return found


def _no_path(
    built: Built,
    goal: int,
    rows: NDArray[np.int64],
    position: NDArray[np.float64],
    polygon: NDArray[np.int64],
) -> list[Problem]:
    """Return one problem for each group and each gap that keeps agents from a goal."""
    world, agents = built.world, built.agents
    name = built.scenario.goals[goal].name
    is_off = world.goals.goal_start[goal] == world.goals.goal_start[goal + 1]
    gaps: dict[int, tuple[float, float, float] | None] = {}
    blocked: dict[tuple[int, Any], list[int]] = {}
    for row in rows.tolist():
        place = int(polygon[row])
        if not is_off and place not in gaps and len(gaps) < MOST_GAPS:
            narrowest = 2.0 * float(agents.radius[rows[polygon[rows] == place]].min())
            gaps[place] = widest_path(world.mesh, world.goals, position[row], place, goal, narrowest)
        # one of the known gaps stands for those that were not looked for
        gap = gaps[place] if place in gaps else next(iter(gaps.values()), None)
        blocked.setdefault((int(agents.group[row]), gap), []).append(row)
    return [_blocked_by(gap, built, name, is_off, own, position[own[0]]) for (_, gap), own in blocked.items()]


def _blocked_by(
    gap: tuple[float, float, float] | None,
    built: Built,
    goal: str,
    is_off: bool,
    rows: list[int],
    start: NDArray[np.float64],
) -> Problem:
    has, needs, its, it = (
        ("has", "needs", "its", "it") if len(rows) == 1 else ("have", "need", "their", "them")
    )
    if is_off:
        return problem_of(
            built,
            rows,
            f'{has} no path to goal "{goal}": the goal does not touch the walkable ground',
            "Move the goal onto the ground.",
        )
    if gap is None:
        return problem_of(
            built,
            rows,
            (
                f'{has} no path to goal "{goal}" from ({start[0]:g}, {start[1]:g}): the ground between is '
                "not connected"
            ),
            f"Connect the two parts, or give {it} another goal.",
        )
    width, x, y = gap
    radii = built.agents.radius[rows]
    least, most = float(radii.min()), float(radii.max())
    sizes = f"radius of {most:.3g} m" if least == most else f"radii of {least:.3g} to {most:.3g} m"
    return problem_of(
        built,
        rows,
        f'{has} no path to goal "{goal}" for {its} {sizes} ({needs} {2.0 * most:.3g} m): the widest path '
        "has a gap of "
        f"{width:.3f} m at ({x:.2f}, {y:.2f})",
        f"Make the gap at least {2.0 * most:.3g} m, or the radius at most {width / 2.0:.3f} m.",
    )


def notes_left(scenario: Scenario) -> list[Problem]:
    """Return the loader's notes without those that `examine` looks into exactly,
    with the mesh and the drawn radii: it reports what is true of them.
    """
    guesses = {cut_off_message(goal.name, group.name) for goal in scenario.goals for group in scenario.groups}
    return [
        note
        for note in scenario.notes
        if not note.message.endswith(NEAR_WALL) and note.message not in guesses
    ]


def _stays_s(built: Built, seconds: NDArray[np.float64], first: int) -> NDArray[np.float64]:
    """Return how long those of each group stay that come in, s, (groups,), by the walks of some of them, the
    agents from `first` on; infinite where they do not leave, or a machine says when.
    """
    stays_s, group = np.full(len(built.scenario.groups), np.inf), built.agents.group[first:]
    for number, each in enumerate(built.scenario.groups):
        walked = seconds[first:][group == number]
        if each.leave_on_arrival and not each.behaviour and len(walked):
            stays_s[number] = float(walked.mean())
    return stays_s


def _facts(built: Built, walks: Walks, stays_s: NDArray[np.float64]) -> Facts:
    scenario, to_come = built.scenario, agents_to_come(built.scenario)
    return Facts(
        agents=len(built.agents),
        coming=len(to_come.tick),
        goals=len(scenario.goals),
        ticks=scenario.stop.ticks,
        frames=scenario.stop.ticks // scenario.record.ticks_per_frame + 1,
        area_m2=float(sum(ground.area for ground in scenario.geometry.grounds)),
        polygons=built.world.mesh.polygon_count,
        walls=len(built.world.walls.start),
        shortest_path_m=min(walks.first_m, default=0.0),
        longest_path_m=max(walks.first_m, default=0.0),
        recording_bytes=recording_bytes(scenario, built.agents, to_come, stays_s),
    )
