"""Where a program sends agents: to goals of the scenario by name, to points, and to regions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.navigation.goals.destinations import MOST_POINTS, MOST_REGIONS, Points
from crowdsim.navigation.mesh.mesh import locate_at_height, locate_many
from crowdsim.scenario.load import goal_described
from crowdsim.scenario.model import Goal
from crowdsim.scenario.schema import DEFAULT_ARRIVE_WITHIN_M
from crowdsim.scenario.tree import listed, suggestion
from crowdsim.setup.build import Built
from crowdsim.simulation.given import finite_numbers, floor_of

_FORMS = 'a point [x, y] or {"point": [x, y], "arrive_within": 0.3}, or {"region": area}'


def goals_for(
    built: Built, rows: NDArray[np.intp], goal: Any, storey: str | None, height: float | None
) -> NDArray[np.int32]:
    """Return the numbers of the goals that a program sends agents to, one for each of `rows`, (k,).

    Parameters
    ----------
    built : Built
    rows : (k,) int
    goal : str, (2,) or (k, 2) float in m, or mapping
    storey : str or None
    height : float, m, or None
        See `Interventions.set_goal`.

    Raises
    ------
    CrowdsimError
        If there is no such goal, or none of it is on the ground.
    """
    if isinstance(goal, str):
        if storey is not None or height is not None:
            raise CrowdsimError(f"{goal!r} is a goal of the scenario, which says on which floor it lies.")
        return np.full(len(rows), _number_of(built, goal), dtype=np.int32)
    for paths in built.world.planning.paths:
        if not hasattr(paths.planner, "take_goals"):
            raise CrowdsimError(
                f"the planner {type(paths.planner).__name__} takes no goals while a run goes on. Give it "
                "take_goals(goals, changed), as crowdsim.navigation.planning.plain_planner.PlainPlanner has "
                "it, or list the places under the scenario's key goals."
            )
    if isinstance(goal, Mapping):
        said = dict(goal)
        storey, height = said.pop("storey", storey), said.pop("height", height)
        return np.full(len(rows), _number_for(built, _goal_of(built, said), storey, height), dtype=np.int32)
    place = finite_numbers(goal)
    if place.shape not in ((2,), (len(rows), 2)):
        count = f", {len(rows):,} of them for as many agents," if len(rows) != 1 else ""
        raise CrowdsimError(
            f"agents are sent to a goal by its name, to {_FORMS}{count} in metres, or to None to stand, not "
            f"to {' '.join(repr(goal).split()):.60}."
        )
    place = np.array(np.broadcast_to(place, (len(rows), 2)))
    floors = built.scenario.geometry.floors
    if floors and storey is None and height is None:  # each on its own
        layer = built.world.agents.layer[rows]
    else:
        layer = np.array([layer_at(built, each, storey, height) for each in place.tolist()], dtype=np.int32)
    return _numbers_of(built, Points(place, layer, np.full(len(rows), DEFAULT_ARRIVE_WITHIN_M)))


def _number_of(built: Built, name: str) -> int:
    names = built.world.goal_names
    if name in names:
        return names.index(name)
    known = (
        f"Known are {listed(names)}, and None to stand."
        if names
        else f"The scenario has none; list places under its key goals, or give {_FORMS}."
    )
    raise CrowdsimError(f"there is no goal {name!r}. {suggestion(name, names)} {known}".replace("  ", " "))


def _goal_of(built: Built, said: dict[str, Any]) -> Goal:
    """Return a goal that is described with the keys of a scenario file, on ground without floors."""
    try:
        return goal_described(said, built.geometry.walkable.bounds)
    except ScenarioError as error:
        told = "; ".join(f"{each.item}: {each.message}" for each in error.problems)
        raise CrowdsimError(f"{told}. While a run goes on agents are sent to {_FORMS}.") from None


def _number_for(built: Built, goal: Goal, storey: str | None, height: float | None) -> int:
    """Return the number of a goal that a program describes."""
    world = built.world
    if goal.point is not None:
        layer = layer_at(built, list(goal.point), storey, height)
        points = Points(
            np.array([goal.point]), np.array([layer], dtype=np.int32), np.array([goal.arrive_within])
        )
        return int(_numbers_of(built, points)[0])
    middle = goal.area.representative_point()
    layer = layer_at(built, [middle.x, middle.y], storey, height)
    ground = built.geometry.grounds[max(0, layer)]
    if shapely.area(shapely.intersection(ground, goal.area)) <= 0.0:
        raise CrowdsimError(
            f"the region at ({middle.x:.6g}, {middle.y:.6g}) is off the walkable ground. Choose one on it."
        )
    if len(world.destinations.regions) >= MOST_REGIONS:
        raise CrowdsimError(
            f"the run has been given {MOST_REGIONS:,} regions, and each is kept. List regions under the "
            "scenario's key goals, or send agents to points."
        )
    return world.set_region(goal.area, layer)


def _numbers_of(built: Built, points: Points) -> NDArray[np.int32]:
    """Return the numbers of points on the ground as it is now."""
    world = built.world
    polygon = np.empty(len(points.place), dtype=np.int64)
    locate_many(0, len(polygon), world.mesh, points.place, points.layer, polygon)
    for row in np.flatnonzero(polygon < 0)[:1].tolist():
        x, y = points.place[row].tolist()
        floor = int(points.layer[row])
        where = f' of "{built.scenario.geometry.floor_names[floor]}"' if floor >= 0 else ""
        raise CrowdsimError(
            f"the place ({x:g}, {y:g}) is off the walkable ground{where} as it is now. Choose a place on it."
        )
    if len(polygon) > MOST_POINTS:
        raise CrowdsimError(f"{len(polygon):,} points are too many; at most {MOST_POINTS:,} are taken.")
    return world.set_points(points)


def layer_at(built: Built, place: list[float], storey: str | None, height: float | None) -> int:
    """Return the floor that a program means at a place (m); -1 where there is one level floor."""
    layer, mesh = floor_of(built.scenario.geometry, storey, height, "the goal"), built.world.mesh
    if layer is not None:
        return layer
    assert height is not None
    polygon = int(locate_at_height(mesh, float(place[0]), float(place[1]), float(height)))
    if polygon < 0:
        raise CrowdsimError(
            f"the place ({place[0]:g}, {place[1]:g}) is off the walkable ground. Choose a place on it."
        )
    return int(mesh.polygon_layer[polygon])
