"""When the ground changes: where each agent is on the new mesh, which keep their paths,
and which ask for another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.corridor.corner_cache import NOT_CACHED
from crowdsim.navigation.grid.layout import Shut
from crowdsim.navigation.mesh.mesh import NavMesh, depth_in_polygon, locate_many
from crowdsim.navigation.mesh.slopes import heights_at
from crowdsim.navigation.soup.landing import land
from crowdsim.navigation.tiles import handles
from crowdsim.navigation.tiles.relocate import RAYS, STEP_OF_RADIUS, relocate
from crowdsim.navigation.tiles.renumber import Unchanged, corridors_that_stay, find_unchanged, places_in
from crowdsim.scenario.shapes import circle_corners
from crowdsim.setup.grounds import BuiltGround
from crowdsim.systems.paths.lost_paths import (
    WALKS,
    drop_corridors,
    lose_paths,
    lose_shut_paths,
    wish_to_replan,
)
from crowdsim.world.columns import AgentState, PathStatus, ReplanCause
from crowdsim.world.events import EventKind
from crowdsim.world.states import has_path
from crowdsim.world.world import FIRST_SALT, ONE_TILE, World

# Beyond the far side of what appears. An agent without a free place so near stays, and contacts push as far
# as they can.
_FARTHEST_M = 4.0
LEAST_FALL_M = 0.01  # Less is rounding of the planes that cells are put into.
_TOUCHING_M = 1e-6  # Closer to a wall by this is rounding.


def change_ground(world: World, tick: int, ground: BuiltGround) -> None:
    """Put the world on another ground.

    Positions stay, except of agents that have no room any more where they are. Corridors on the mesh that
    stay are kept, with new numbers; an agent that loses its corridor asks again.

    Parameters
    ----------
    world : World
    tick : int
    ground : BuiltGround
        Of the same scenario.
    """
    agents, old, old_goals, under = world.agents, world.mesh, world.goals, world.polygons()
    stand(world, ground)
    carried = find_unchanged(old, old_goals, world.mesh, world.goals)
    polygon = carried.polygon[under].astype(np.int64)
    fallen = _locate_the_lost(world, old, under, polygon, ground.geometry.triangles())
    place, new_polygon = agents.position.copy(), polygon.copy()
    relocate(
        old,
        world.mesh,
        under,
        polygon,
        agents.position,
        agents.radius,
        circle_corners((0.0, 0.0), 1.0, RAYS),
        place,
        new_polygon,
    )
    is_obstacle = agents.activity >= AgentState.OBSTACLE  # and those that ride
    # it goes where it goes
    place[is_obstacle], new_polygon[is_obstacle] = agents.position[is_obstacle], polygon[is_obstacle]
    moved = hypots(place[:, 0] - agents.position[:, 0], place[:, 1] - agents.position[:, 1])
    is_put = moved > 0.0
    _carry_corridors(world, tick, old, carried, under, is_put)
    agents.position[is_put] = agents.tentative_position[is_put] = agents.next_corner[is_put] = place[is_put]
    agents.velocity[is_put] = agents.chosen_velocity[is_put] = 0.0
    agents.surface[:] = handles.pack(FIRST_SALT, ONE_TILE, new_polygon)
    agents.layer[:] = world.mesh.polygon_layer[new_polygon]
    agents.wall_distance[:] = 0.0
    agents.corner_vertex[:] = NOT_CACHED
    agents.guessed[:] = -1
    agents.priced_portal[:] = -1
    is_noted = (is_put | (fallen > LEAST_FALL_M)) & ~is_obstacle
    world.events.note(
        tick,
        EventKind.PUT_OUT,
        agents.entity[is_noted],
        agents.position[is_noted],
        np.round(1e3 * hypots(moved, fallen)[is_noted]).astype(np.int64),
    )


def put_out(world: World, tick: int, rows: NDArray[np.int64], place: NDArray[np.float64]) -> None:
    """Put agents elsewhere on the same ground, where something appears that they have to make room for;
    they ask for a path from there.

    Parameters
    ----------
    world : World
    tick : int
    rows : (k,) int64
    place : (k, 2) float64, m
        Those that are where they were stay as they are.
    """
    agents = world.agents
    moved = hypots(place[:, 0] - agents.position[rows, 0], place[:, 1] - agents.position[rows, 1])
    polygon = np.empty(len(rows), dtype=np.int64)
    locate_many(0, len(rows), world.mesh, place, agents.layer[rows], polygon)
    is_put = (moved > 0.0) & (polygon >= 0)
    rows, place, moved, polygon = rows[is_put], place[is_put], moved[is_put], polygon[is_put]
    agents.position[rows] = agents.tentative_position[rows] = agents.next_corner[rows] = place
    agents.velocity[rows] = agents.chosen_velocity[rows] = 0.0
    agents.surface[rows], agents.layer[rows] = world.handles_of(polygon), world.mesh.polygon_layer[polygon]
    agents.wall_distance[rows], agents.corner_vertex[rows], agents.guessed[rows] = 0.0, NOT_CACHED, -1
    had_path = rows[
        np.isin(agents.path_status[rows], (*WALKS, PathStatus.PENDING))
        & (agents.activity[rows] == AgentState.WALKING)
    ]
    wish_to_replan(agents, had_path, ReplanCause.PATH_CLOSED)
    lose_paths(agents, had_path)
    world.events.note(
        tick, EventKind.PUT_OUT, agents.entity[rows], place, np.round(1e3 * moved).astype(np.int64)
    )


def nearest_free(
    ground: Any, outline: Any, position: NDArray[np.float64], radius: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return for agents the nearest places on the ground that are clear of an outline.

    Parameters
    ----------
    ground : shapely Polygon or MultiPolygon, m
    outline : shapely Polygon, m
        Of what appears.
    position : (n, 2) float64, m
    radius : (n,) float64, m

    Returns
    -------
    (n, 2) float64, m
        Where nothing is found, the position itself. To each place a straight line leads on the ground,
        through what appears, but through no wall. Agents do not heed each other: those that are put on the
        same place are pushed apart later.
    """
    rays = circle_corners((0.0, 0.0), 1.0, RAYS)
    left, bottom, right, top = outline.bounds
    size = float(hypots(right - left, top - bottom))
    walls, found = ground.boundary, position.copy()
    for row, (here, own) in enumerate(zip(position, radius.tolist(), strict=True)):
        away = STEP_OF_RADIUS * own * np.arange(1, int((size + _FARTHEST_M) / (STEP_OF_RADIUS * own)) + 1)
        # nearest first, then in the order of the rays
        places = (here + away[:, None, None] * rays).reshape(-1, 2)
        points = shapely.points(places)
        is_free = (shapely.distance(points, outline) >= own) & (
            shapely.distance(points, walls) >= own - _TOUCHING_M
        )
        for place in places[is_free]:
            if shapely.covers(ground, shapely.LineString([here, place])):
                found[row] = place
                break
    return found


def stand(world: World, ground: BuiltGround) -> None:
    """Exchange mesh, walls and goals of a world;
    walls are known as far off as before, for agents that have become wider.
    """
    reach = world.walls.reach
    world.geometry = ground.geometry
    world.stand_on(ground.build.mesh, ground.build.walls, ground.goals)
    world.reach_walls(reach)


def _carry_corridors(
    world: World,
    tick: int,
    old: NavMesh,
    carried: Unchanged,
    under: NDArray[np.int64],
    is_put: NDArray[np.bool_],
) -> None:
    """Give corridors the numbers of the new mesh; agents lose those that lead over other ground now."""
    agents, cells = world.agents, world.corridors.portals
    on_corridors = world.on_corridors()
    rows = np.flatnonzero(on_corridors & has_path(agents.path_status) & (agents.goal_piece >= 0))
    block, length, piece = agents.corridor_start[rows], agents.corridor_length[rows], agents.goal_piece[rows]
    stays = corridors_that_stay(old, carried, cells, block, length, under[rows], piece) & ~is_put[rows]
    kept, lost = rows[stays], rows[~stays]
    places = places_in(block[stays], length[stays])
    cells[places] = carried.edge[cells[places]]
    agents.goal_piece[kept] = carried.piece[piece[stays]]
    lose_shut_paths(world, tick, lost, agents.corridor_length[lost])
    others = on_corridors.copy()  # trails of agents that wait lead over the old ground
    others[kept] = False
    drop_corridors(agents, others)


def _locate_the_lost(
    world: World,
    old: NavMesh,
    under: NDArray[np.int64],
    polygon: NDArray[np.int64],
    corners: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Locate agents on polygons that did not stay; rounding at an outline is forgiven.

    Parameters
    ----------
    world : World
        On the new mesh.
    old : NavMesh
    under : (n,) int64
        Polygon under each agent on the old one.
    polygon : (n,) int64
        On the new one, -1 for those that are lost: they get theirs.
    corners : (nt, 3, 3) float64, m, or None
        The triangles that the ground was filled from, where some may have come or gone.

    Returns
    -------
    (n,) float64, m
        How far each has fallen.
    """
    agents, mesh = world.agents, world.mesh
    lost, fallen = np.flatnonzero(polygon < 0), np.zeros(len(polygon))
    place, found = agents.position[lost], np.empty(len(lost), dtype=np.int64)
    if corners is not None:
        was, deep = np.empty(len(lost)), np.empty(len(lost))
        heights_at(0, len(lost), old, under[lost], place, was)
        land(mesh, corners, place, was, found, deep)
        fallen[lost] = deep
    else:
        locate_many(0, len(lost), mesh, place, agents.layer[lost], found)
    for i in np.flatnonzero(found < 0).tolist():
        x, y = place[i].tolist()
        found[i] = nearest_polygon(mesh, int(agents.layer[lost[i]]), x, y)
    polygon[lost] = found
    return fallen


def nearest_polygon(mesh: NavMesh, layer: int, x: float, y: float) -> int:
    """Return the polygon of a floor that is nearest to a point (m), one that is off it too."""
    own = np.flatnonzero(mesh.polygon_layer == layer)
    return int(own[np.argmax([depth_in_polygon(mesh, each, x, y) for each in own.tolist()])])


def polygons_of(closed: Sequence[Shut]) -> list[Any]:
    """Return the polygons of what is closed."""
    return [each.polygon for each in closed]
