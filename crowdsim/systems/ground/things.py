"""The doors and obstacles of a world as others than their systems see them:
what is closed, what goes on, and what a program orders.
"""

from __future__ import annotations

import numpy as np
import shapely

from crowdsim.navigation.grid.layout import Shut
from crowdsim.scenario.areas import closed_areas
from crowdsim.scenario.obstacles import Obstacle
from crowdsim.setup.things import Door, MovingObstacle
from crowdsim.world.events import EventKind
from crowdsim.world.world import World


def closed_areas_of(world: World, are_open: list[bool] | None = None) -> tuple[Shut, ...]:
    """Return the areas that are closed now, or where others are open."""
    doors = [door for _, door in world.query(Door)]
    open_now = are_open if are_open is not None else [door.is_open for door in doors]
    return tuple(closed_areas([door.area for door in doors], open_now))


def standing_obstacles(world: World, tick: int) -> tuple[Shut, ...]:
    """Return the obstacles that stand and are closed ground in a tick, where they do."""
    return tuple(
        Shut(each.obstacle.name, each.obstacle.outline(tick), layer=each.obstacle.layer)
        for _, each in world.query(MovingObstacle)
        if each.is_closed
    )


def tiles_out(world: World) -> tuple[Shut, ...]:
    """Return the tiles that are not there, as cells have to know of them: a mesh has no polygons there."""
    tiles = world.tiles
    if tiles is None:
        return ()
    out = [tile for tile in tiles.known() if not tiles.is_there[tile]]
    corners = np.array([tiles.name_of(tile) for tile in out], dtype=np.float64).reshape(-1, 2) * tiles.size
    boxes = shapely.box(*corners.T, *(corners + tiles.size).T)
    has_floors = len(tiles.numbers.shape) > 1
    return tuple(
        # names of areas and obstacles begin with no bracket
        Shut(
            f"(tile {tile})",
            box,
            is_ground=True,
            layer=tiles.numbers.layer_of(tile) if has_floors else -1,
            has_wall=False,
        )
        for tile, box in zip(out, boxes, strict=True)
    )


def discs_going_on(world: World) -> list[int]:
    """Return the entities of the discs of all obstacles that are there and will yet go on, turn on,
    or vanish.
    """
    found = list[int]()
    for _, each in world.query(MovingObstacle):
        if each.is_there and each.obstacle.will_go_on(world.tick):
            found += range(each.first_disc, each.first_disc + len(each.obstacle.radius))
    return found


def will_any_open(world: World) -> bool:
    """Return whether an obstacle that stands will go on or vanish."""
    return any(
        each.obstacle.will_open(world.tick) for _, each in world.query(MovingObstacle) if each.is_closed
    )


def obstacle_named(world: World, name: str) -> MovingObstacle | None:
    """Return the obstacle of a name, whether it is there now or not; None if there has never been one."""
    return next((each for _, each in world.query(MovingObstacle) if each.obstacle.name == name), None)


def send_obstacle(world: World, obstacle: Obstacle) -> None:
    """Take an obstacle in place of the one of its name, or as another one, from the next tick on."""
    names = [each.obstacle.name for _, each in world.query(MovingObstacle)]
    if obstacle.name not in names:
        names.append(obstacle.name)
        world.create(MovingObstacle(obstacle, is_sent=True))
    else:
        sent = obstacle_named(world, obstacle.name)
        assert sent is not None
        sent.obstacle, sent.is_sent = obstacle, True
    target = obstacle.timetable.points[-1].reshape(1, 2)
    number = np.array([names.index(obstacle.name)])
    world.events.note(world.tick + 1, EventKind.OBSTACLE_SENT, np.zeros(1, dtype=np.int64), target, number)
