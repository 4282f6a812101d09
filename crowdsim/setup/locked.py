"""Agents that are locked in by what happens while a scenario runs:
the grounds that there will be, and which agents have no path on the last of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import Problem
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.grid.layout import Shut
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.planning.portals import FoundCorridors
from crowdsim.navigation.planning.protocol import Asked
from crowdsim.scenario.geometry import ToggledArea
from crowdsim.scenario.model import AreaChange, Scenario
from crowdsim.setup.build import Absent, Built, goal_shape
from crowdsim.setup.gaps import problem_of
from crowdsim.setup.grounds import (
    BuiltGround,
    FloorGrounds,
    Grounds,
    RefilledGrounds,
    changes_by_the_clock,
)
from crowdsim.setup.paths import Legs, PathFinder
from crowdsim.world.world import World

# Of a group, up to which the agents that cannot be through in time are counted; agents with places of their
# own each cost a search.
MOST_GOALS = 16
# Different grounds that are searched, the last ones and the first; each costs a mesh and a search for the
# agents that have no path yet.
MOST_GROUNDS = 32
_PART_IS_THERE = -2  # In place of the tick of an obstacle.


@dataclass(frozen=True)
class Era:
    """What is closed from some time on until something else happens.

    Attributes
    ----------
    tick : int
        0 is the beginning; -1 is no time that is known before.
    areas : tuple of bool
        Which areas are available.
    obstacles : tuple of (int, int)
        Which obstacles stand as closed ground, each with the first tick in which it stands at that place.
    parts : tuple of int
        Which of the areas are parts of a soup.
    by : str
        What began it, for messages; empty for the beginning.
    way_out : str
        What to do where that locks agents in.
    """

    tick: int
    areas: tuple[bool, ...]
    obstacles: tuple[tuple[int, int], ...] = ()
    parts: tuple[int, ...] = ()
    by: str = field(default="", compare=False)
    way_out: str = field(default="", compare=False)

    @property
    def closed(self) -> frozenset[tuple[int, int]]:
        """What is closed: each area as (its number, -1), each obstacle with its tick; of a part of a soup
        whether it is there or not, since it may be a bridge or a wall. An agent that has a path has one where
        less is closed, too.
        """
        return frozenset(
            [(number, -1) for number, is_open in enumerate(self.areas) if not is_open]
            + [(number, _PART_IS_THERE) for number in self.parts if self.areas[number]]
            + list(self.obstacles)
        )


def eras_of(scenario: Scenario) -> list[Era]:
    """Return what is closed when, until the run ends at the latest.

    What happens by the clock is known. Of what waits for agents, it is not known when it happens: an area
    that may be opened so counts as open once the clock is done, and one that is closed so, and that nothing
    ever opens, as closed at the very end.
    """
    areas, last = scenario.geometry.areas, scenario.stop.ticks
    available, standing, places = (
        [area.available for area in areas],
        dict[int, int](),
        dict[tuple[int, bytes], int](),
    )
    parts = tuple(number for number, area in enumerate(areas) if area.is_part)
    found = [Era(0, tuple(available), (), parts)]
    for tick, number, obstacle, opens in changes_by_the_clock(scenario.events, scenario.obstacles, last):
        if tick > last:
            break
        if number is not None:
            event = scenario.events[number]
            assert isinstance(event.change, AreaChange)
            area = event.change.area
            available[area], name = opens, areas[area].name
            by = f'"{name}" {_happens(areas[area], opens)} at {event.at:g} s (events[{number}])'
            way_out = (
                f"{_undone(areas[area], opens)}, {'let it happen' if area in parts else 'close it'} when all "
                "agents are through, or leave them another path."
            )
        elif obstacle is not None:
            standing.pop(obstacle, None)
            if not opens:
                standing[obstacle] = places.setdefault(
                    (obstacle, shapely.to_wkb(scenario.obstacles[obstacle].outline(tick))), tick
                )
            name = scenario.obstacles[obstacle].name
            by = (
                f'"{name}" {"is out of the way" if opens else "stands in the way"} from '
                f"{tick * scenario.tick:g} s on (obstacles)"
            )
            way_out = f'Let "{name}" go on or vanish, or leave them another path.'
        found.append(Era(tick, tuple(available), tuple(sorted(standing.items())), parts, by, way_out))
    doors = [
        (number, event, event.change)
        for number, event in enumerate(scenario.events)
        if isinstance(event.change, AreaChange)
    ]
    opened = {change.area for _, event, change in doors if event.tick < 0 and change.opens}
    if opened:
        available = [is_open or number in opened for number, is_open in enumerate(available)]
        found.append(Era(-1, tuple(available), tuple(sorted(standing.items())), parts))
    ever_opened = {change.area for _, _, change in doors if change.opens}
    for number, event, change in doors:
        if event.tick < 0 and not change.opens and change.area not in ever_opened:
            available[change.area] = False
            name = areas[change.area].name
            way_out = f"{_undone(areas[change.area], is_there=False)}, or leave them another path."
            found.append(
                Era(
                    -1,
                    tuple(available),
                    tuple(sorted(standing.items())),
                    parts,
                    f'"{name}" {_happens(areas[change.area], is_there=False)} (events[{number}])',
                    way_out,
                )
            )
    return found


def _happens(area: ToggledArea, is_there: bool) -> str:
    """Return in words what happens to an area."""
    if area.is_part:
        return "comes" if is_there else "goes"
    return "opens" if is_there else "closes"


def _undone(area: ToggledArea, is_there: bool) -> str:
    """Return how to undo that in an event."""
    if area.is_part:
        verb = "remove_part" if is_there else "add_part"
        return f"Let it {'go' if is_there else 'come'} again (events: [{{at: ..., {verb}: {area.name}}}])"
    return f"Let it open again (events: [{{at: ..., open: {area.name}}}])"


class Locks:
    """Searches for paths on the grounds of a scenario, one after the other.

    Parameters
    ----------
    built : Built
    """

    def __init__(self, built: Built) -> None:
        self._built, self._eras = built, eras_of(built.scenario)
        geometry = built.scenario.geometry
        first = self._closed(Era(0, tuple(area.available for area in geometry.areas)))
        self._grounds: Grounds | FloorGrounds | RefilledGrounds = (
            RefilledGrounds(built, first)
            if geometry.refill is not None
            else FloorGrounds(built, first)
            if geometry.floors
            else Grounds(built, first)
        )

    def ever_has_path(
        self, rows: NDArray[np.int64], position: NDArray[np.float64], goal: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        """Return (k,) bool: which agents have a path to their goals, (k,), from where they are, (k, 2) m,
        on one of the grounds that there will be.
        """
        has_path = np.zeros(len(rows), dtype=np.bool_)
        closed = {era.closed: era for era in self._eras}
        most_open = [era for own, era in closed.items() if not any(other < own for other in closed)]
        for era in most_open[-MOST_GROUNDS:]:
            asks = np.flatnonzero(~has_path)
            if len(asks):
                has_path[asks] = self._has_path(era, rows[asks], position[asks], goal[asks])
        return has_path

    def notes(self) -> list[Problem]:
        """Return a note for each group whose last path to a goal is closed for
        good while the scenario runs.
        """
        if len(self._eras) < 2:
            return []
        start, legs = self._built.world.goals.goal_start, Legs(self._built)
        notes: list[Problem] = []
        while len(legs.rows):
            notes += self._closed_for_good(legs.rows, legs.position[legs.rows], legs.goal)
            first = start[legs.goal]
            legs.go_on(np.where(first < start[legs.goal + 1], first, -1))
        return notes

    def _closed_for_good(
        self, rows: NDArray[np.int64], position: NDArray[np.float64], goal: NDArray[np.int32]
    ) -> list[Problem]:
        """Return notes of agents that have no path in the end, and had one before:
        by group and what closed it.
        """
        eras = self._eras
        lost = np.flatnonzero(~self._has_path(eras[-1], rows, position, goal))
        since = np.zeros(len(rows), dtype=np.int64)
        # On these grounds none of the lost has a path, nor where more is closed; from that one on.
        shut, earliest = [eras[-1].closed], len(eras) - 1
        for number in range(len(eras) - 2, -1, -1):
            if not len(lost):
                break
            if any(eras[number].closed >= closed for closed in shut):
                earliest = number if earliest == number + 1 else earliest
                continue
            if len(shut) >= MOST_GROUNDS and number > 0:
                continue
            has_path = self._has_path(eras[number], rows[lost], position[lost], goal[lost])
            since[lost[has_path]] = earliest
            if number == 0 and earliest > 1:  # Not every ground was looked at: it closed at some time before.
                by = f"{eras[earliest].by or 'all that goes by the clock'}, or something before that"
                way_out = (
                    "Let what closed their path open again, close it when all agents are through, or leave "
                    "them another path."
                )
                eras = eras.copy()
                eras[earliest] = replace(eras[earliest], tick=-1, by=by, way_out=way_out)
            lost = lost[~has_path]
            shut.append(eras[number].closed)
            earliest = number
        notes = []
        group = self._built.agents.group[rows]
        for number, whose in sorted(
            {(int(since[row]), int(group[row])) for row in np.flatnonzero(since).tolist()}
        ):
            own = np.flatnonzero((since == number) & (group == whose))
            notes.append(self._note(eras, number, rows[own], position[own], goal[own]))
        return notes

    def _note(
        self,
        eras: list[Era],
        number: int,
        rows: NDArray[np.int64],
        position: NDArray[np.float64],
        goal: NDArray[np.int32],
    ) -> Problem:
        """Return the note of agents of one group that have had no path since an era began."""
        before, era = eras[number - 1], eras[number]
        goals = np.unique(goal).tolist()
        late = 0
        if era.tick >= 0 and len(goals) <= MOST_GOALS:
            late = sum(
                self._late(before, era, rows[goal == each], position[goal == each], each) for each in goals
            )
        where = (
            f'goal "{self._built.scenario.goals[goals[0]].name}"'
            if len(goals) == 1
            else f"their {len(goals):,} goals"
        )
        message = f"no path to {where} any more once {era.by}, until the end of the run: "
        if len(rows) == 1:
            message = f"has {message}it is locked in if it is not through by then" + (
                ", and it cannot be" if late else ""
            )
        else:
            message = f"have {message}those not through by then are locked in" + (
                f", and {late:,} of {len(rows):,} cannot be" if late else ""
            )
        return problem_of(self._built, rows.tolist(), message, era.way_out)

    def _late(
        self, before: Era, era: Era, rows: NDArray[np.int64], position: NDArray[np.float64], goal: int
    ) -> int:
        """Return how many cannot get to where the goal still is in reach before the path is closed,
        even without the others.
        """
        built, scenario = self._built, self._built.scenario
        if scenario.geometry.floors or not built.world.is_level:
            return 0
        left = shapely.difference(
            scenario.geometry.walkable, shapely.union_all([area for _, area in self._cut(era)])
        )
        shape = goal_shape(scenario.goals[goal])
        targets = (
            [goal_shape(scenario.goals[part]).shape for part in shape.parts] if shape.parts else [shape.shape]
        )
        parts = [
            part
            for part in shapely.get_parts(left)
            if any(shapely.intersects(part, target) for target in targets)
        ]
        if not parts:
            return 0
        with self._world(before) as (world, _, polygon_at):
            there = cut_goals(world.mesh, [GoalShape(shapely.union_all(parts))])
            polygon = polygon_at(rows, position)
            asks = np.flatnonzero(polygon >= 0)
            own, goals = rows[asks], np.zeros(len(asks), dtype=np.int32)
            asked = Asked(world.mesh, there, position[asks], polygon[asks], goals, built.agents.radius[own])
            # no other kernels than the run needs
            kind = scenario.navigation.name if scenario.navigation.name in ("mesh", "optimal") else "mesh"
            length = FoundCorridors(MeshPlanner(world.mesh, there, kind=kind), asked).lengths()
        # without a path inf
        ready = built.agents.start_tick[own] * scenario.tick + length / built.maximum_speed[own]
        return int(np.count_nonzero(ready > era.tick * scenario.tick))

    def _has_path(
        self, era: Era, rows: NDArray[np.int64], position: NDArray[np.float64], goal: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        """Return (k,) bool: which agents have a path on one ground."""
        found = np.zeros(len(rows), dtype=np.bool_)
        built = self._built
        with self._world(era) as (world, mesh_build, polygon_at):
            polygon = polygon_at(rows, position)
            asks = np.flatnonzero(polygon >= 0)
            areas = tuple(
                replace(area, available=is_open)
                for area, is_open in zip(built.scenario.geometry.areas, era.areas, strict=True)
            )
            scenario = replace(built.scenario, geometry=replace(built.scenario.geometry, areas=areas))
            standing = [
                Shut(obstacle.name, obstacle.outline(tick), layer=obstacle.layer)
                for obstacle, tick in ((scenario.obstacles[number], tick) for number, tick in era.obstacles)
            ]
            finder = PathFinder(
                replace(built, world=world, scenario=scenario, mesh_build=mesh_build), standing
            )
            piece = finder.find(rows[asks], position[asks], polygon[asks], goal[asks]).piece
            found[asks] = piece >= 0
        return found

    @contextmanager
    def _world(self, era: Era) -> Iterator[Any]:
        """Lend the world on one ground, its mesh as it was built, and a function that finds the polygons
        under agents there.
        """
        built = self._built
        ground: BuiltGround = self._grounds.with_closed(self._closed(era))
        world = World(
            ground.build.mesh,
            ground.build.walls,
            ground.goals,
            built.world.goal_names,
            built.world.itineraries,
        )
        world.geometry = ground.geometry
        layers = np.array([group.layer for group in built.scenario.groups], dtype=np.int32)

        def polygon_at(rows: NDArray[np.int64], position: NDArray[np.float64]) -> NDArray[np.int64]:
            polygon = np.empty(len(rows), dtype=np.int64)
            locate_many(
                0,
                len(rows),
                world.mesh,
                np.ascontiguousarray(position),
                layers[built.agents.group[rows]],
                polygon,
            )
            return polygon

        try:
            yield world, ground.build, polygon_at
        finally:
            world.close()

    def _cut(self, era: Era) -> list[tuple[int, Any]]:
        """Return what is closed, each with the number of its floor."""
        scenario = self._built.scenario
        closed = [
            (area.layer, area.area)
            for area, is_open in zip(scenario.geometry.areas, era.areas, strict=True)
            if not (is_open or area.is_part)
        ]
        return closed + [
            (scenario.obstacles[number].layer, scenario.obstacles[number].outline(tick))
            for number, tick in era.obstacles
        ]

    def _closed(self, era: Era) -> Any:
        """Return what is closed as the grounds take it."""
        cut, geometry = self._cut(era), self._built.scenario.geometry
        if geometry.refill is not None:
            absent = [
                Absent(number)
                for number, area in enumerate(geometry.areas)
                if area.is_part and not era.areas[number]
            ]
            return [*absent, *cut]
        return cut if geometry.floors else [area for _, area in cut]


def locked_in(built: Built) -> list[Problem]:
    """Return notes of agents that are locked in for good by what happens while a scenario runs;
    see `Locks.notes`.
    """
    may_close = built.scenario.obstacles or any(
        isinstance(event.change, AreaChange) and (event.change.is_part or not event.change.opens)
        for event in built.scenario.events
    )
    return Locks(built).notes() if may_close else []
