"""When tiles are taken out or put in: where each agent is, which keep their paths,
and which ask for another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.steps import Steps
from crowdsim.navigation.corridor.corner_cache import NOT_CACHED
from crowdsim.navigation.goals.goals import GoalPieces, cut_goals
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.navigation.tiles.build import TileMesh
from crowdsim.navigation.tiles.rebuild import differences
from crowdsim.navigation.tiles.renumber import Renumbered, pieces_that_stay, places_in
from crowdsim.navigation.tiles.tiled_mesh import NewTiles, TiledMesh
from crowdsim.systems.ground.ground_change import nearest_free, put_out
from crowdsim.systems.paths.lost_paths import ask_anew, lose_paths, lose_shut_paths
from crowdsim.world.columns import AgentState, PathStatus
from crowdsim.world.events import EventKind
from crowdsim.world.states import has_path
from crowdsim.world.world import World

HOPELESS = (
    PathStatus.UNREACHABLE,
    PathStatus.OUT_OF_NODES,
    PathStatus.STALE,
    PathStatus.ENCLOSED,
    PathStatus.NEAREST_REACHABLE,
)


class NewGround(NamedTuple):
    """Ground of other tiles, ready to be stood on.

    Attributes
    ----------
    tiles : NewTiles
    goals : GoalPieces
        Cut on its mesh.
    """

    tiles: NewTiles
    goals: GoalPieces


class NoRoom(NamedTuple):
    """Where agents have no room any more on a floor.

    Attributes
    ----------
    layer : int
    ground : shapely geometry, m
        The floor as it was: a straight line over it leads to the place on which an agent is put.
    closed : shapely geometry, m
        What has just been closed on it. Agents in it are put beside it.
    """

    layer: int
    ground: Any
    closed: Any


def change_steps(
    world: World, remove: list[int], add: Mapping[int, TileMesh | None] | list[int]
) -> Steps[NewGround]:
    """Make the ground of other tiles, with as many rests whatever they are;
    no agent stands on it before `change_tiles`.
    """
    assert world.tiles is not None
    tiles = yield from world.tiles.steps(remove=remove, add=add)
    yield "tiles"
    goals = cut_goals(tiles.joined.mesh, world.goal_shapes)
    yield from world.planning.foresee(tiles.joined.mesh)
    return NewGround(tiles, goals)


def ground_steps(
    world: World, before: Mapping[int, TileMesh], wanted: Mapping[int, TileMesh]
) -> Steps[NewGround | None]:
    """Make the ground of which only some tiles are others than before, in steps;
    None where all tiles that are there stay.

    Parameters
    ----------
    world : World
        With tiles.
    before, wanted : mapping of int to TileMesh
        The tiles of the ground as it was and as it will be. One that is not there although the ground was had
        been taken out by a program: it stays out.
    """
    assert world.tiles is not None
    remove, add = differences(world.tiles, wanted)
    for tile in set(before) - set(world.tiles.tiles()):
        add.pop(tile, None)
    return (yield from change_steps(world, remove, add)) if remove or add else None


def change_ground_of_tiles(
    world: World,
    tick: int,
    before: Mapping[int, TileMesh],
    wanted: Mapping[int, TileMesh],
    new: NewGround | None,
    room: Sequence[NoRoom] = (),
) -> None:
    """Put the world on other ground, of which only some tiles are others than before.

    Parameters
    ----------
    world : World
        With tiles.
    tick : int
    before, wanted : mapping of int to TileMesh
        See `ground_steps`.
    new : NewGround or None
        The result of `ground_steps`.
    room : sequence of NoRoom
        At most one for each floor.
    """
    agents, tiles = world.agents, world.tiles
    assert tiles is not None
    for layer, ground, closed in room:
        on_floor = np.flatnonzero(agents.layer[: world.agent_count] == layer)
        rows = on_floor[
            shapely.distance(shapely.points(agents.position[on_floor]), closed) < agents.radius[on_floor]
        ]
        if len(rows):
            put_out(
                world, tick, rows, nearest_free(ground, closed, agents.position[rows], agents.radius[rows])
            )
    out = sorted(set(before) - set(tiles.tiles()))
    changed = differences(tiles, wanted)[1]
    if new is not None:
        change_tiles(world, tick, new)
    for tile in out:
        if tile in changed:
            tiles.keep(tile, changed[tile])


def change_tiles(world: World, tick: int, new: NewGround) -> None:
    """Take tiles out and put tiles in between two ticks.

    Agents ask anew for paths that lead over tiles that changed, or through gaps that became narrower; all
    other paths stay. An agent where a tile was taken out stands still with the status STALE until there is
    ground again. Where something was added, agents that had given up ask again.

    Parameters
    ----------
    world : World
        With tiles.
    tick : int
        At which it happens.
    new : NewGround
        The planner has to hear of it afterwards.

    Raises
    ------
    NavigationError
        If the tiles cannot be changed like that; nothing is changed then.
    """
    assert world.tiles is not None
    agents, tiles, under, old_goals = world.agents, world.tiles, world.polygons(), world.goals
    had_ground = world.has_ground()
    remove, add = new.tiles.remove, new.tiles.add
    now = tiles.take(new.tiles)
    world.take_tiles(new.goals if tiles.mesh is new.tiles.joined.mesh else None)
    for kind, numbers in ((EventKind.TILE_REMOVED, remove), (EventKind.TILE_ADDED, sorted(add))):
        middles = (
            np.array([tiles.name_of(tile) for tile in numbers], dtype=np.float64).reshape(-1, 2) + 0.5
        ) * tiles.size
        world.events.note(
            tick, kind, np.zeros(len(numbers), dtype=np.int64), middles, np.array(numbers, dtype=np.int64)
        )
    _stand(world, tick, tiles, had_ground)
    _carry_corridors(world, tick, now, pieces_that_stay(old_goals, world.goals, now.polygon), under)
    came_from = agents.guessed >= 0
    agents.guessed[came_from] = now.polygon[agents.guessed[came_from]]
    agents.corner_vertex[:] = NOT_CACHED
    agents.priced_portal[:] = -1
    agents.wall_distance[:] = 0.0
    if add:
        hopes = (
            np.isin(agents.path_status, HOPELESS)
            & (agents.goal >= 0)
            & (agents.activity == AgentState.STANDING)
            & world.has_ground()
        )
        agents.activity[hopes] = AgentState.WALKING
        ask_anew(agents, hopes)


def _carry_corridors(
    world: World, tick: int, now: Renumbered, piece: NDArray[np.int32], under: NDArray[np.int64]
) -> None:
    """Give corridors the numbers of the new mesh; agents lose those that lead over other ground now, and
    those that they keep only until they have another, for which they ask (again).
    """
    agents, cells, mesh = world.agents, world.corridors.portals, world.mesh
    on_corridors = world.on_corridors()
    lose_paths(agents, on_corridors & np.isin(agents.path_status, (PathStatus.NONE, PathStatus.PENDING)))
    rows = np.flatnonzero(on_corridors & has_path(agents.path_status))
    length, target = agents.corridor_length[rows], agents.goal_piece[rows]
    places = places_in(agents.corridor_start[rows], length)
    portals = now.edge[cells[places]]
    twins = mesh.edge_twin[portals]
    is_shut = (portals < 0) | (twins < 0)
    is_shut |= _new_or_narrower(now, mesh.polygon_count)[mesh.edge_polygon[twins]]
    shut = np.bincount(np.repeat(np.arange(len(rows)), length)[is_shut], minlength=len(rows))
    pieces = np.append(piece, -1)[target]  # an agent without a piece, -1, has none again
    here = under[rows]
    stays = (pieces >= 0) & (now.polygon[here] >= 0) & ~now.is_narrower[here] & (shut == 0)
    kept, lost = rows[stays], rows[~stays]
    of_kept = np.repeat(stays, length)
    cells[places[of_kept]] = portals[of_kept]
    agents.goal_piece[kept] = pieces[stays]
    lose_shut_paths(world, tick, lost, agents.corridor_length[lost])


def _new_or_narrower(now: Renumbered, count: int) -> NDArray[np.bool_]:
    """Return which polygons of the new mesh were not there before, or stop an agent that they let through."""
    found = np.ones(count, dtype=np.bool_)
    kept = now.polygon >= 0
    found[now.polygon[kept]] = now.is_narrower[kept]
    return found


def _stand(world: World, tick: int, tiles: TiledMesh, had_ground: NDArray[np.bool_]) -> None:
    """Find the ground under agents with stale handles; those without ground stand still."""
    agents = world.agents
    stale = np.flatnonzero(~world.has_ground())
    polygon = np.empty(len(stale), dtype=np.int64)
    locate_many(0, len(stale), world.mesh, agents.position[stale], agents.layer[stale], polygon)
    found = stale[polygon >= 0]
    agents.surface[found] = tiles.handles_of(polygon[polygon >= 0])
    # an obstacle that stands is where it took the ground away
    is_agent = agents.activity < AgentState.OBSTACLE
    back = found[~had_ground[found] & is_agent[found]]
    lost = stale[(polygon < 0) & had_ground[stale] & is_agent[stale]]
    for kind, rows in ((EventKind.GROUND_BACK, back), (EventKind.GROUND_LOST, lost)):
        where = [
            tiles.tile_at(x, y, layer)
            for (x, y), layer in zip(agents.position[rows].tolist(), agents.layer[rows].tolist(), strict=True)
        ]
        world.events.note(
            tick, kind, agents.entity[rows], agents.position[rows], np.array(where, dtype=np.int64)
        )
    walking = lost[(agents.activity[lost] == AgentState.WALKING)]
    agents.activity[walking] = AgentState.STANDING
    waits = agents.activity[lost] == AgentState.WAITING  # they ask when they start
    lose_paths(agents, lost[waits])
    lose_paths(agents, lost[~waits], PathStatus.STALE)
    for column in ("velocity", "preferred_velocity", "chosen_velocity"):
        getattr(agents, column)[lost] = 0.0
