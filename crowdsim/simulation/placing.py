"""Agents that a program puts somewhere: whether they have room there, and what follows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.geometry.lengths import dots, hypots
from crowdsim.geometry.walls import Walls
from crowdsim.navigation.corridor.corner_cache import NOT_CACHED
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.setup.build import Built
from crowdsim.setup.identity import AgentNames
from crowdsim.systems.paths.lost_paths import forget_path, lose_paths
from crowdsim.systems.plan import Plan
from crowdsim.world.columns import AgentState, PathStatus, Stepping
from crowdsim.world.events import EventKind

TOUCH_M = 1e-9  # Rounding: agents that touch are not inside each other. A millionth of what a picture shows.


def places_for(built: Built, entity: NDArray[np.int64], position: ArrayLike) -> NDArray[np.float64]:
    """Return where agents are to be, (k, 2) m.

    Raises
    ------
    CrowdsimError
        If these are not so many pairs of finite numbers, or an agent is named twice.
    """
    try:
        given = np.asarray(position, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.ndim == 1 and len(entity) == 1:
        given = given.reshape(1, -1)
    if given.shape != (len(entity), 2) or not np.all(np.isfinite(given)):
        raise CrowdsimError(
            f"{len(entity):,} agents need {len(entity):,} places [x, y] in metres, but "
            f"{' '.join(str(position).split()):.60} was given."
        )
    distinct, count = np.unique(entity, return_counts=True)
    if len(distinct) < len(entity):
        twice = int(distinct[count > 1][0])
        raise CrowdsimError(f"{built.names.of(twice)} is named twice, and can be in one place only.")
    return given


def polygons_under(
    built: Built,
    entity: NDArray[np.int64],
    place: NDArray[np.float64],
    radius: NDArray[np.float64],
    layer: NDArray[np.int32],
) -> NDArray[np.int64]:
    """Return the polygons of the mesh under agents that are to be put somewhere, (k,), where all have room.

    Parameters
    ----------
    built : Built
    entity : (k,) int64
        The agents; where those of them are that are in the world takes no room.
    place : (k, 2) float64, m
    radius : (k,) float64, m
    layer : (k,) int32
        Their floors.

    Raises
    ------
    CrowdsimError
        If one would be off the ground, in a wall, or in another, with the numbers.
    """
    world, agents, names = built.world, built.world.agents, built.names
    polygon = np.empty(len(place), dtype=np.int64)
    locate_many(0, len(place), world.mesh, place, layer, polygon)
    for row in np.flatnonzero(polygon < 0)[:1].tolist():
        raise CrowdsimError(
            f"{_named(names, entity, place, row)} is off the walkable ground. Choose a place on it."
        )
    for row in range(len(place)):
        distance = _wall_distance(world.walls, int(polygon[row]), place[row])
        if distance < radius[row] - TOUCH_M:
            raise CrowdsimError(
                f"{_named(names, entity, place, row)} is {distance:.3g} m from a wall, but the agent has a "
                f"radius of {radius[row]:.3g} m. Choose a place that is farther from it."
            )
    stays = ~np.isin(agents.entity, entity)
    others = (
        np.concatenate([agents.position[stays], place]),
        np.concatenate([agents.radius[stays], radius]),
        np.concatenate([agents.layer[stays], layer]),
        np.concatenate([agents.entity[stays], entity]),
    )
    for row in range(len(place)):
        away = hypots(*(others[0] - place[row]).T)
        inside = away < others[1] + radius[row] - TOUCH_M
        inside &= (others[2] == layer[row]) & (others[3] != entity[row])
        if inside.any():
            one = int(np.flatnonzero(inside)[np.argmin(away[inside] - others[1][inside])])
            other = int(others[3][one])
            name = names.of(other) if other <= world.last_agent else "an obstacle"
            raise CrowdsimError(
                f"{_named(names, entity, place, row)} is {away[one]:.3g} m from {name}, but they need "
                f"{others[1][one] + radius[row]:.3g} m. Choose a place that is free."
            )
    return polygon


def _named(names: AgentNames, entity: NDArray[np.int64], place: NDArray[np.float64], row: int) -> str:
    return f"{names.of(int(entity[row]))}: the place ({place[row, 0]:g}, {place[row, 1]:g})"


def _wall_distance(walls: Walls, polygon: int, place: NDArray[np.float64]) -> float:
    """Return the distance (m) of a place to the nearest wall that its polygon lists; inf where none is."""
    near = walls.zone_wall[walls.zone_start[polygon] : walls.zone_start[polygon + 1]]
    if not len(near):
        return np.inf
    start, along = walls.start[near], walls.end[near] - walls.start[near]
    share = dots(place - start, along) / np.maximum(dots(along, along), 1e-300)
    rest = start + np.clip(share, 0.0, 1.0)[:, None] * along - place
    return float(hypots(rest[:, 0], rest[:, 1]).min())


def put_elsewhere(
    built: Built, plan: Plan, rows: NDArray[np.intp], place: NDArray[np.float64], polygon: NDArray[np.int64]
) -> None:
    """Put agents elsewhere, standing still; those that go somewhere ask for a path from there.

    Parameters
    ----------
    built : Built
    plan : Plan
    rows : (k,) int
    place : (k, 2) float64, m
    polygon : (k,) int64
        From `polygons_under`.
    """
    world, agents = built.world, built.world.agents
    moved = hypots(*(place - agents.position[rows]).T)
    for column in (
        agents.position, agents.tentative_position, agents.next_corner, agents.counted_position,
        agents.progress_place,
    ):  # fmt: skip
        column[rows] = place
    for column in (agents.velocity, agents.chosen_velocity, agents.walked_velocity):
        column[rows] = 0.0
    agents.surface[rows], agents.layer[rows] = world.handles_of(polygon), world.mesh.polygon_layer[polygon]
    agents.wall_distance[rows], agents.corner_vertex[rows], agents.guessed[rows] = 0.0, NOT_CACHED, -1
    agents.neighbour_reach[rows] = np.inf
    agents.is_yielding[rows] = Stepping.NOWHERE
    gave_up = (agents.activity[rows] == AgentState.STANDING) & (agents.goal[rows] >= 0)
    agents.activity[rows[gave_up & (agents.path_status[rows] != PathStatus.NONE)]] = AgentState.WALKING
    lose_paths(agents, rows)
    forget_path(agents, rows)
    plan.forget(agents.entity[rows])
    for paths in plan.paths:
        paths.put_elsewhere(rows)
    world.events.note(
        world.tick + 1, EventKind.MOVED, agents.entity[rows], place, np.rint(1e3 * moved).astype(np.int64)
    )
