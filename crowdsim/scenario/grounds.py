"""The ground of a scenario with any of its areas closed: meshes, walls and goals, built when they are first needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import shapely

from crowdsim.navigation.build import MeshBuild
from crowdsim.navigation.goals import GoalPieces, cut_goals
from crowdsim.navigation.tile_build import TileMesh
from crowdsim.navigation.tile_rebuild import TileRebuilder
from crowdsim.scenario.areas import ground_without
from crowdsim.scenario.build import Built, goal_shape, mesh_of
from crowdsim.scenario.floor import joins_of
from crowdsim.scenario.geometry import ToggledArea
from crowdsim.scenario.model import Event
from crowdsim.scenario.obstacles import Obstacle, grounds_of_obstacles

MOST_KEPT = 64  # Grounds that are kept: a door that opens and closes again and again is built twice. Some 0.3 MB each for a plan of a thousand corners.

JOIN_GAP_M = 0.01  # What comes nearer to the line along which two floors meet is not cut out of them.
MOST_LOOKED_AT = 40_000  # Ticks, of all obstacles together, that are looked through for grounds to build before the first tick: half a second.


class BuiltGround(NamedTuple):
    """A ground as it is walked on.

    Attributes
    ----------
    build : MeshBuild
    goals : GoalPieces
    """

    build: MeshBuild
    goals: GoalPieces


class Grounds:
    """Builds grounds and keeps the last ones.

    What is built depends on the closed areas alone, not on what was open before; so a run that goes on from a saved state stands on the same ground.

    Parameters
    ----------
    built : Built
        Its own ground is known already.
    closed : sequence of shapely geometry
        The areas that are closed on it.
    """

    def __init__(self, built: Built, closed: Sequence[Any] = ()) -> None:
        self._built = built
        self._goals = [goal_shape(goal) for goal in built.scenario.goals]
        self._kept: dict[tuple[bytes, ...], BuiltGround] = {_key(closed): BuiltGround(built.mesh_build, built.world.goals)}

    def with_closed(self, closed: Sequence[Any]) -> BuiltGround:
        """Return the ground with some areas closed.

        Parameters
        ----------
        closed : sequence of shapely Polygon or MultiPolygon, m
            Where two overlap, the first has the common part.

        Raises
        ------
        ScenarioError
            If it cannot be meshed.
        """
        key = _key(closed)
        if key not in self._kept:
            build = mesh_of(self._built.scenario, self._built.agents, closed)
            self._kept[key] = BuiltGround(build, cut_goals(build.mesh, self._goals))
        found = self._kept[key] = self._kept.pop(key)  # the last one used is the last to go
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return found


class FloorGrounds:
    """Builds grounds of several floors, from which something is cut out, and keeps the last ones.

    Parameters
    ----------
    built : Built

    Notes
    -----
    What is cut out has no ground inside. Where it touches the foot or the head of a stair, that floor stays as it is: people go round it on their own.
    """

    def __init__(self, built: Built) -> None:
        self._built = built
        self._goals = [goal_shape(goal) for goal in built.scenario.goals]
        self._lines = [(layer, shapely.LineString(join.line)) for join in joins_of(built.scenario.geometry.floors) for layer in join.floors]
        self._kept: dict[tuple[tuple[int, bytes], ...], BuiltGround] = {(): BuiltGround(built.mesh_build, built.world.goals)}

    def with_closed(self, closed: Sequence[tuple[int, Any]]) -> BuiltGround:
        """Return the ground without some places.

        Parameters
        ----------
        closed : sequence of (int, shapely Polygon or MultiPolygon)
            Number of the floor, and what is cut out of it (m).

        Raises
        ------
        ScenarioError
            If it cannot be meshed.
        """
        cut = [(layer, area) for layer, area in closed if all(each != layer or line.distance(area) > JOIN_GAP_M for each, line in self._lines)]
        key = tuple((layer, area.wkb) for layer, area in cut)
        if key not in self._kept:
            scenario = self._built.scenario
            left = []
            for number, floor in enumerate(scenario.geometry.floors):
                mine = [area for layer, area in cut if layer == number]
                left.append(replace(floor, ground=ground_without(floor.ground, mine, None)[0]) if mine else floor)
            build = mesh_of(replace(scenario, geometry=replace(scenario.geometry, floors=tuple(left))), self._built.agents)
            self._kept[key] = BuiltGround(build, cut_goals(build.mesh, self._goals))
        found = self._kept[key] = self._kept.pop(key)
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return found


class TiledGrounds:
    """Builds the tiles of grounds, each only where it is another than before, and keeps the last ones.

    Parameters
    ----------
    built : Built
        With tiles.
    """

    def __init__(self, built: Built) -> None:
        tiles, build = built.world.tiles, built.mesh_build
        assert tiles is not None
        self._walkable, self._exits = built.scenario.geometry.walkable, build.openings
        self._rebuilder = TileRebuilder(tiles.size, tiles.first, tiles.shape, build.parameters)
        self._kept: dict[tuple[bytes, ...], dict[int, TileMesh]] = {}

    def ground(self, closed: Sequence[Any]) -> Any:
        """Return the ground with some areas closed, as a shapely geometry in metres."""
        return ground_without(self._walkable, closed, None)[0]

    def with_closed(self, closed: Sequence[Any]) -> dict[int, TileMesh]:
        """Return the tiles of the ground with some areas closed, by number; in closed areas there is no ground.

        Parameters
        ----------
        closed : sequence of shapely Polygon or MultiPolygon, m

        Raises
        ------
        NavigationError
            If it cannot be meshed.
        """
        key = _key(closed)
        if key not in self._kept:
            self._kept[key] = self._rebuilder.tiles_of(*ground_without(self._walkable, closed, self._exits))
        found = self._kept[key] = self._kept.pop(key)
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return found


def _key(closed: Sequence[Any]) -> tuple[bytes, ...]:
    return tuple(area.wkb for area in closed)


def grounds_by_the_clock(areas: Sequence[ToggledArea], events: Sequence[Event], obstacles: Sequence[Obstacle] = (), most_ticks: int = 0) -> list[list[Any]]:
    """Return what is closed after each moment at which events happen by the clock, or obstacles begin or cease to stand, if nothing else happens.

    Parameters
    ----------
    areas : sequence of ToggledArea
    events : sequence of Event
    obstacles : sequence of Obstacle
    most_ticks : int
        How long the run may last.
    """
    available = [area.available for area in areas]
    standing: dict[int, Any] = {}
    found: list[list[Any]] = []
    changes: list[tuple[int, int, int, bool]] = [(event.tick, 0, event.area, event.opens) for event in events if event.tick >= 0]
    if obstacles:
        looked_at = min(most_ticks, MOST_LOOKED_AT // len(obstacles))
        changes += [(tick, 1, number, not closed) for tick, number, closed in grounds_of_obstacles(obstacles, looked_at)]
    changes.sort(key=lambda change: change[0])  # stable: of events in one tick the later ones have the last word
    for number, (tick, kind, which, opens) in enumerate(changes):
        if kind == 0:
            available[which] = opens
        elif opens:
            del standing[which]
        else:
            standing[which] = obstacles[which].outline(tick)
        if number + 1 == len(changes) or changes[number + 1][0] != tick:
            closed = [area.area for area, is_open in zip(areas, available, strict=True) if not is_open] + [standing[each] for each in sorted(standing)]
            if _key(closed) not in map(_key, found):
                found.append(closed)
        if len(found) == MOST_KEPT:
            break
    return found
