"""The ground of a scenario with any of its areas closed:
meshes, walls and goals, built when they are first needed.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar

from crowdsim.errors import NavigationError, Problem, ScenarioError
from crowdsim.geometry.steps import Steps, at_once
from crowdsim.navigation.goals.goals import GoalPieces, cut_goals
from crowdsim.navigation.grid.layout import Shut
from crowdsim.navigation.mesh.build import MeshBuild
from crowdsim.navigation.tiles.build import TileMesh
from crowdsim.navigation.tiles.rebuild import TileRebuilder
from crowdsim.scenario.areas import closed_areas, closed_at_the_begin, ground_without
from crowdsim.scenario.geometry import Geometry, ToggledArea
from crowdsim.scenario.model import AreaChange, Event, Scenario
from crowdsim.scenario.obstacles import Obstacle, grounds_of_obstacles
from crowdsim.scenario.tree import listed
from crowdsim.setup.build import (
    Absent,
    Built,
    as_grounds_take,
    exits_by_floor,
    goal_shape,
    mesh_of,
    mesh_steps,
)
from crowdsim.setup.tiled_ground import of_layer, off_the_joins, plates_of

# Grounds at hand: a door that opens and closes again and again is built twice. Some 0.3 MB each for a floor
# plan of a thousand corners.
MOST_KNOWN = 64
# Ticks, of all obstacles together, that are looked through for grounds to build before the first tick: half a
# second.
MOST_LOOKED_AT = 40_000
C = TypeVar("C")  # what is closed: an area, or the number of a floor and an area
G = TypeVar("G")  # a ground


class BuiltGround(NamedTuple):
    """A ground as it is walked on.

    Attributes
    ----------
    build : MeshBuild
    goals : GoalPieces
    geometry : Geometry
        What it is made of; another one than the scenario's where parts of a soup have come or gone.
    """

    build: MeshBuild
    goals: GoalPieces
    geometry: Geometry


class AnyGrounds(ABC, Generic[C, G]):
    """Builds grounds and has the last ones at hand.

    What is built depends on what is closed alone, not on what was open before; so a run that goes on from a
    saved state stands on the same ground.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, G] = {}
        self._foreseen: dict[Hashable, G] = {}
        self._rests: dict[Hashable, int] = {}

    def foresee(self, closed: Sequence[C]) -> None:
        """Build a ground before it is needed, and have it at hand for good."""
        self._foreseen[self._key(closed)] = self.with_closed(closed)

    def is_foreseen(self, closed: Sequence[C]) -> bool:
        """Return whether a ground was built before the first tick:
        this depends on the scenario alone, not on what a run has done so far.
        """
        return self._key(closed) in self._foreseen

    def with_closed(self, closed: Sequence[C]) -> G:
        """Return the ground with some areas closed.

        Parameters
        ----------
        closed : sequence
            Areas as shapely polygons (m), on several floors each with the number of its floor. Where two
            overlap, the first has the common part.

        Raises
        ------
        ScenarioError, NavigationError
            If it cannot be meshed.
        """
        key = self._key(closed)
        if key in self._foreseen:
            return self._foreseen[key]
        if key not in self._known:
            self._known[key] = self._build_at_once(closed)
        found = self._known[key] = self._known.pop(key)  # the last one used is the last to go
        while len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return found

    def steps(self, closed: Sequence[C]) -> Steps[G]:
        """Build a ground as `with_closed` does, resting in between, as often if it is known already:
        what is known is no part of a run's state.
        """
        key = self._key(closed)
        if key not in self._known:
            self._rests.pop(key, None)
        if key in self._rests:
            yield from itertools.repeat("known", self._rests[key])
        else:
            self._known[key] = yield from self._counted(key, self._build_in_steps(closed))
        return self.with_closed(closed)

    def _counted(self, key: Hashable, steps: Steps[G]) -> Steps[G]:
        """Do steps, and remember how many there were."""
        count = 0
        while True:
            try:
                next(steps)
            except StopIteration as end:
                self._rests[key] = count
                return end.value
            count += 1
            yield "made"

    @staticmethod
    @abstractmethod
    def work_of(ground: G, before: G) -> int:
        """Return what building a ground counts as where work decides."""

    @abstractmethod
    def _build_in_steps(self, closed: Sequence[C]) -> Steps[G]:
        """Build a ground in steps."""

    def _build_at_once(self, closed: Sequence[C]) -> G:
        return at_once(self._build_in_steps(closed))

    def _key(self, closed: Sequence[Any]) -> Hashable:
        return _key(closed)


class _WholeGrounds(AnyGrounds[C, BuiltGround]):
    """Grounds whose mesh is built as a whole."""

    def __init__(self, built: Built, closed: Sequence[C] = ()) -> None:
        super().__init__()
        self._built = built
        self._goals = [goal_shape(goal) for goal in built.scenario.goals]
        self._foreseen[self._key(closed)] = BuiltGround(
            built.mesh_build, built.world.goals, built.scenario.geometry
        )

    @staticmethod
    def work_of(ground: BuiltGround, before: BuiltGround) -> int:
        """Return what building a ground counts as where work decides: one for each polygon that is cut."""
        return ground.build.mesh.polygon_count

    def _with_goals(self, build: MeshBuild, geometry: Geometry | None = None) -> BuiltGround:
        return BuiltGround(
            build, cut_goals(build.mesh, self._goals), geometry or self._built.scenario.geometry
        )


class Grounds(_WholeGrounds[Any]):
    """Grounds of one floor.

    Parameters
    ----------
    built : Built
        Its own ground is known already.
    closed : sequence of shapely geometry
        The areas that are closed on it.
    """

    def _build_in_steps(self, closed: Sequence[Any]) -> Steps[BuiltGround]:
        build = yield from mesh_steps(self._built.scenario, self._built.mesh_build, closed)
        yield "mesh"
        return self._with_goals(build)

    def _build_at_once(self, closed: Sequence[Any]) -> BuiltGround:
        return self._with_goals(mesh_of(self._built.scenario, self._built.agents, closed))


class FloorGrounds(_WholeGrounds[tuple[int, Any]]):
    """Grounds of several floors; what is closed is cut out of them.

    Parameters
    ----------
    built : Built
        Its own ground is known already.
    closed : sequence of (int, shapely geometry)
        What is closed on it.

    Notes
    -----
    What is cut out has no ground inside. Where it touches the foot or the head of a stair, that floor stays
    as it is: agents go round it on their own.
    """

    def steps(self, closed: Sequence[tuple[int, Any]]) -> Steps[BuiltGround]:
        """Build a ground as `with_closed` does, resting in between; the scenario's own is there."""
        if not self.is_foreseen(closed):
            yield from super().steps(closed)
        return self.with_closed(closed)

    def _build_in_steps(self, closed: Sequence[tuple[int, Any]]) -> Steps[BuiltGround]:
        yield "ground"
        build = mesh_of(self._built.scenario, self._built.agents, self._cut(closed))
        yield "mesh"
        return self._with_goals(build)

    def _cut(self, closed: Sequence[tuple[int, Any]]) -> list[tuple[int, Any]]:
        return off_the_joins(self._built.scenario.geometry, closed)

    def _key(self, closed: Sequence[tuple[int, Any]]) -> Hashable:
        return tuple((layer, area.wkb) for layer, area in self._cut(closed))


class RefilledGrounds(_WholeGrounds[Absent | tuple[int, Any]]):
    """Grounds of a soup parts of which come and go: filled anew without those that are not there, and with
    what is closed cut out of them.

    Parameters
    ----------
    built : Built
        Its own ground is known already.
    closed : sequence of Absent or (int, shapely geometry)
        What is not there, or closed, on it.
    """

    @staticmethod
    def work_of(ground: BuiltGround, before: BuiltGround) -> int:
        """Return what building a ground counts as where work decides: one for each polygon that is cut, and
        one for each sector.
        """
        filled = ground.geometry.filled
        assert filled is not None
        return ground.build.mesh.polygon_count + len(filled.layers)

    def _build_in_steps(self, closed: Sequence[Absent | tuple[int, Any]]) -> Steps[BuiltGround]:
        own, present = self._built.scenario.geometry, self._there(closed)
        assert own.refill is not None
        with self._telling(present):
            filled = yield from own.refill.steps(present)
        yield "filled"
        scenario, areas = self._with(own.refilled(filled, present), closed)
        build = yield from mesh_steps(scenario, self._built.mesh_build, areas)
        yield "mesh"
        return self._with_goals(build, scenario.geometry)

    def _build_at_once(self, closed: Sequence[Absent | tuple[int, Any]]) -> BuiltGround:
        own, present = self._built.scenario.geometry, self._there(closed)
        assert own.refill is not None
        with self._telling(present):
            filled = own.refill.ground(present)
        scenario, areas = self._with(own.refilled(filled, present), closed)
        return self._with_goals(mesh_of(scenario, self._built.agents, areas), scenario.geometry)

    @contextmanager
    def _telling(self, present: frozenset[str]) -> Iterator[None]:
        """Say with which parts ground cannot be filled."""
        try:
            yield
        except NavigationError as error:
            there = f"with {listed(sorted(present))} and no other" if present else "with none of them"
            raise ScenarioError(
                Problem("geometry.soup.parts", f"{there}: {error}", file=self._built.scenario.file)
            ) from None

    def _with(
        self, geometry: Geometry, closed: Sequence[Absent | tuple[int, Any]]
    ) -> tuple[Scenario, list[tuple[int, Any]]]:
        """Return the scenario on other ground, and what is closed on that."""
        areas = [each for each in closed if not isinstance(each, Absent)]
        return replace(self._built.scenario, geometry=geometry), areas

    def _there(self, closed: Sequence[Absent | tuple[int, Any]]) -> frozenset[str]:
        absent = {each.part for each in closed if isinstance(each, Absent)}
        areas = self._built.scenario.geometry.areas
        return frozenset(
            area.name for number, area in enumerate(areas) if area.is_part and number not in absent
        )

    def _key(self, closed: Sequence[Absent | tuple[int, Any]]) -> Hashable:
        return tuple(each if isinstance(each, Absent) else (each[0], each[1].wkb) for each in closed)


class TiledGrounds(AnyGrounds[Any, dict[int, TileMesh]]):
    """Grounds of tiles, by number: each tile is built only where it is another than before.
    In closed areas there is no ground.

    Parameters
    ----------
    built : Built
        With tiles.

    Notes
    -----
    What is closed on one of several floors is cut out as `FloorGrounds` does.
    """

    def __init__(self, built: Built) -> None:
        super().__init__()
        tiles = built.world.tiles
        assert tiles is not None
        self._geometry, self._exits = built.scenario.geometry, exits_by_floor(built.scenario)
        self._parameters = built.mesh_build.parameters
        self._rebuilder = TileRebuilder(tiles.numbers, self._parameters)

    @staticmethod
    def work_of(ground: dict[int, TileMesh], before: dict[int, TileMesh]) -> int:
        """Return what building tiles counts as where work decides:
        one for each polygon of those that are others than before.
        """
        return sum(
            tile.polygon_count
            for number, tile in ground.items()
            if number not in before or not tile.same_as(before[number])
        )

    def by_floor(self, closed: Sequence[Any]) -> dict[int, list[Any]]:
        """Return what is cut out of which floor."""
        if not self._geometry.floors:
            return {0: list(closed)} if closed else {}
        cut = self._cut(closed)
        return {layer: of_layer(cut, layer) for layer in sorted({layer for layer, _ in cut})}

    def ground(self, layer: int, closed: Sequence[Any]) -> Any:
        """Return the ground of a floor with some areas closed, as a shapely geometry in metres."""
        own = self.by_floor(closed).get(layer, [])
        return ground_without(self._geometry.grounds[layer], own, None)[0]

    def _build_in_steps(self, closed: Sequence[Any]) -> Steps[dict[int, TileMesh]]:
        left = plates_of(self._geometry, self._exits, self._parameters, self._cut(closed))
        yield "ground"
        return (yield from self._rebuilder.steps(left))

    def _cut(self, closed: Sequence[Any]) -> Sequence[Any]:
        return off_the_joins(self._geometry, closed) if self._geometry.floors else closed

    def _key(self, closed: Sequence[Any]) -> Hashable:
        return tuple(
            (each[0], each[1].wkb) if self._geometry.floors else each.wkb for each in self._cut(closed)
        )


def _key(closed: Sequence[Any]) -> tuple[bytes, ...]:
    return tuple(area.wkb for area in closed)


def changes_by_the_clock(
    events: Sequence[Event], obstacles: Sequence[Obstacle], most_ticks: int
) -> list[tuple[int, int | None, int | None, bool]]:
    """Return which areas and obstacles open and close by the clock, if nothing else happens:
    tick, index of the event or of the obstacle, and whether it opens.

    Parameters
    ----------
    events : sequence of Event
    obstacles : sequence of Obstacle
    most_ticks : int
        How long the run may last. Obstacles are looked through for half a second at most.
    """
    changes: list[tuple[int, int | None, int | None, bool]] = []
    changes += [
        (event.tick, number, None, event.change.opens)
        for number, event in enumerate(events)
        if event.tick >= 0 and isinstance(event.change, AreaChange)
    ]
    looked_at = min(most_ticks, MOST_LOOKED_AT // max(1, len(obstacles)))
    changes += [
        (tick, None, number, not closed)
        for tick, number, closed in grounds_of_obstacles(obstacles, looked_at)
    ]
    # stable: of events in one tick the later ones have the last word
    return sorted(changes, key=lambda change: change[0])


def grounds_by_the_clock(
    areas: Sequence[ToggledArea],
    events: Sequence[Event],
    obstacles: Sequence[Obstacle] = (),
    most_ticks: int = 0,
) -> list[list[Shut]]:
    """Return what is closed after each moment at which events happen by the clock,
    or obstacles begin or cease to stand, if nothing else happens.

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
    found: list[list[Shut]] = []
    keys = set[Hashable]()
    changes = changes_by_the_clock(events, obstacles, most_ticks)
    for number, (tick, event, obstacle, opens) in enumerate(changes):
        if event is not None:
            change = events[event].change
            assert isinstance(change, AreaChange)
            available[change.area] = opens
        elif obstacle is not None:
            standing.pop(obstacle, None)
            if not opens:
                standing[obstacle] = obstacles[obstacle].outline(tick)
        if number + 1 == len(changes) or changes[number + 1][0] != tick:
            closed = [
                *closed_areas(areas, available),
                *(
                    Shut(obstacles[each].name, standing[each], layer=obstacles[each].layer)
                    for each in sorted(standing)
                ),
            ]
            key = tuple((each.part, each.layer, each.polygon.wkb) for each in closed)
            if key not in keys:
                keys.add(key)
                found.append(closed)
        if len(found) == MOST_KNOWN:
            break
    return found


def foreseen_grounds(built: Built) -> Grounds | FloorGrounds | RefilledGrounds | TiledGrounds:
    """Return the grounds of a scenario; those that the clock demands are built already,
    on several floors in one piece where there are areas.
    """
    scenario, areas = built.scenario, built.scenario.geometry.areas
    at_first = as_grounds_take(scenario, closed_at_the_begin(areas))
    grounds: Grounds | FloorGrounds | RefilledGrounds | TiledGrounds
    if built.world.tiles is not None:
        grounds = TiledGrounds(built)
    elif scenario.geometry.refill is not None:
        grounds = RefilledGrounds(built, at_first)
    elif scenario.geometry.floors:
        grounds = FloorGrounds(built, at_first)
        if not areas:
            return grounds
    else:
        grounds = Grounds(built, at_first)
    for closed in grounds_by_the_clock(areas, scenario.events, scenario.obstacles, scenario.stop.ticks):
        grounds.foresee(as_grounds_take(scenario, closed))
    return grounds
