"""The ground of a scenario with any of its areas closed: meshes, walls and goals, built when they are first needed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import shapely

from crowdsim.geometry.steps import Steps, at_once
from crowdsim.navigation.goals.goals import GoalPieces, cut_goals
from crowdsim.navigation.mesh.build import MeshBuild
from crowdsim.navigation.tiles.build import TileMesh
from crowdsim.navigation.tiles.rebuild import TileRebuilder
from crowdsim.scenario.areas import closed_areas, ground_without
from crowdsim.scenario.geometry import ToggledArea, joins_of
from crowdsim.scenario.model import Event
from crowdsim.scenario.obstacles import Obstacle, grounds_of_obstacles
from crowdsim.setup.build import Built, goal_shape, mesh_of, mesh_steps

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
        self._foreseen: dict[tuple[bytes, ...], BuiltGround] = dict(self._kept)
        self._rests: dict[tuple[bytes, ...], int] = {}

    def foresee(self, closed: Sequence[Any]) -> None:
        """Build a ground before it is needed, and keep it for good."""
        self._foreseen[_key(closed)] = self.with_closed(closed)

    def is_foreseen(self, closed: Sequence[Any]) -> bool:
        """Return whether a ground was built before the first tick: this depends on the scenario alone, not on what a run has done so far."""
        return _key(closed) in self._foreseen

    def steps(self, closed: Sequence[Any]) -> Steps[BuiltGround]:
        """Build a ground as `with_closed` does, resting in between, as often if it is known already: what is known is no part of a run's state."""
        yield from _resting(self._kept, self._rests, _key(closed), self._made(closed))
        return self.with_closed(closed)

    def _made(self, closed: Sequence[Any]) -> Steps[BuiltGround]:
        build = yield from mesh_steps(self._built.scenario, self._built.mesh_build, closed)
        yield "mesh"
        return BuiltGround(build, cut_goals(build.mesh, self._goals))

    @staticmethod
    def work_of(ground: BuiltGround, before: BuiltGround) -> int:
        """Return what building a ground counts as where work decides: one for each polygon that is cut."""
        return ground.build.mesh.polygon_count

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
        if key in self._foreseen:
            return self._foreseen[key]
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
        self._own = BuiltGround(built.mesh_build, built.world.goals)
        self._kept: dict[tuple[tuple[int, bytes], ...], BuiltGround] = {}
        self._rests: dict[tuple[tuple[int, bytes], ...], int] = {}

    def is_foreseen(self, closed: Sequence[tuple[int, Any]]) -> bool:
        """Return whether a ground was built before the first tick: only the scenario's own is."""
        return not self._cut(closed)

    def steps(self, closed: Sequence[tuple[int, Any]]) -> Steps[BuiltGround]:
        """Build a ground as `with_closed` does, resting in between."""
        cut = self._cut(closed)
        if cut:
            yield from _resting(self._kept, self._rests, _key_on_floors(cut), self._made(cut))
        return self.with_closed(closed)

    work_of = staticmethod(Grounds.work_of)

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
        cut = self._cut(closed)
        if not cut:
            return self._own
        key = _key_on_floors(cut)
        if key not in self._kept:
            self._kept[key] = at_once(self._made(cut))
        found = self._kept[key] = self._kept.pop(key)
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return found

    def _cut(self, closed: Sequence[tuple[int, Any]]) -> list[tuple[int, Any]]:
        """Return what is cut out of which floor: all but what touches a line along which two floors meet."""
        return [(layer, area) for layer, area in closed if all(each != layer or line.distance(area) > JOIN_GAP_M for each, line in self._lines)]

    def _made(self, cut: Sequence[tuple[int, Any]]) -> Steps[BuiltGround]:
        scenario, left = self._built.scenario, []
        for number, floor in enumerate(scenario.geometry.floors):
            mine = [area for layer, area in cut if layer == number]
            left.append(replace(floor, ground=ground_without(floor.ground, mine, None)[0]) if mine else floor)
        yield "ground"
        build = mesh_of(replace(scenario, geometry=replace(scenario.geometry, floors=tuple(left))), self._built.agents)
        yield "mesh"
        return BuiltGround(build, cut_goals(build.mesh, self._goals))


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
        self._foreseen: set[tuple[bytes, ...]] = set()
        self._rests: dict[tuple[bytes, ...], int] = {}

    def foresee(self, closed: Sequence[Any]) -> None:
        """Build a ground before it is needed."""
        self.with_closed(closed)
        self._foreseen.add(_key(closed))

    def is_foreseen(self, closed: Sequence[Any]) -> bool:
        """Return whether a ground was built before the first tick; see `Grounds.is_foreseen`."""
        return _key(closed) in self._foreseen

    def steps(self, closed: Sequence[Any]) -> Steps[dict[int, TileMesh]]:
        """Build tiles as `with_closed` does, resting in between."""
        yield from _resting(self._kept, self._rests, _key(closed), self._made(closed))
        return self.with_closed(closed)

    def _made(self, closed: Sequence[Any]) -> Steps[dict[int, TileMesh]]:
        left, openings = ground_without(self._walkable, closed, self._exits)
        yield "ground"
        return (yield from self._rebuilder.steps(left, openings))

    @staticmethod
    def work_of(ground: dict[int, TileMesh], before: dict[int, TileMesh]) -> int:
        """Return what building tiles counts as where work decides: one for each polygon of those that are others than before."""
        return sum(tile.polygon_count for number, tile in ground.items() if number not in before or not tile.same_as(before[number]))

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


def _resting(kept: dict[Any, Any], rests: dict[Any, int], key: Hashable, steps: Steps[Any]) -> Steps[None]:
    """Keep under a key what steps come to; where that is known, rest as often as it was done, and do nothing."""
    if key not in kept:
        rests.pop(key, None)
    if key in rests:
        for _ in range(rests[key]):
            yield "known"
        return
    count = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            kept[key], rests[key] = end.value, count
            return
        count += 1
        yield "made"


def _key_on_floors(cut: Sequence[tuple[int, Any]]) -> tuple[tuple[int, bytes], ...]:
    return tuple((layer, area.wkb) for layer, area in cut)


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
            closed = [each.polygon for each in closed_areas(areas, available)] + [standing[each] for each in sorted(standing)]
            if _key(closed) not in map(_key, found):
                found.append(closed)
        if len(found) == MOST_KEPT:
            break
    return found
