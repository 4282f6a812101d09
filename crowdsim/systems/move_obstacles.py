"""MoveObstacles: obstacles appear, move on their paths, stand, and vanish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.front_doors import renamed_in
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.old_names import SYSTEMS
from crowdsim.saved import MOST, Arrays, Saved, ascends
from crowdsim.scenario.areas import parted_ground
from crowdsim.scenario.obstacles import Obstacle
from crowdsim.setup.obstacle_state import arrays_of, obstacle_from
from crowdsim.setup.things import ABSENT, Disc, MovingObstacle
from crowdsim.systems.base.system import Setup, Tick, TickSystem
from crowdsim.systems.ground.ground_change import nearest_free, nearest_polygon, polygons_of, put_out
from crowdsim.systems.ground.things import closed_areas_of, standing_obstacles
from crowdsim.systems.vehicles.driving import Driving
from crowdsim.world.columns import AgentState
from crowdsim.world.events import EventKind
from crowdsim.world.vehicles import VEHICLE_COLUMNS

if not TYPE_CHECKING:
    __getattr__ = renamed_in(__name__, SYSTEMS)


DRIVES = tuple(column.name for column in VEHICLE_COLUMNS)


class MoveObstacles(TickSystem):
    """Move obstacles as their timetables say; agents see them at once, searches when they stand.

    An obstacle is one disc, or several that cover a polygon, each a row after those of the agents. Nothing
    that agents do changes where it is.

    Notes
    -----
    Avoidance sees the velocity that an obstacle is going to have in this tick, not that of the last one: it
    cannot change any more.
    """

    reads = (
        "entity", "activity", "position", "radius", "layer", "path_status", "group", "index", "start_tick",
        "velocity", "surface", *DRIVES,
    )  # fmt: skip
    writes = (
        "position", "tentative_position", "velocity", "chosen_velocity", "next_corner", "surface", "layer",
        "wall_distance", "corner_vertex", "guessed", "corridor_length", "goal_piece", "strays", "path_status",
        "replan_wish", "activity", "heading", *DRIVES,
    )  # fmt: skip
    counts = ("obstacles", "standing_obstacles")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._built = setup.built
        self.driving = Driving(setup)
        self._given = tuple(each.obstacle for _, each in self._obstacles())

    def _obstacles(self) -> list[tuple[int, MovingObstacle]]:
        """Return the obstacles with their entities; events have their places in this list."""
        return self.world.query(MovingObstacle)

    @property
    def is_idle(self) -> bool:
        """Whether there are no obstacles."""
        return not self._obstacles() and self.driving.is_idle

    def process(self, tick: Tick) -> None:
        """Let obstacles come and go, and set their velocities."""
        tick.counts.update(dict.fromkeys(self.counts, 0.0))
        self.driving.process(tick)
        if not (known := self._obstacles()):
            return
        there = np.array([each.obstacle.is_there(tick.number) for _, each in known])
        was_there = np.array([each.is_there for _, each in known])
        self._remove(tick.number, known, np.flatnonzero(was_there & ~there))
        self._add(tick.number, known, np.flatnonzero(there & ~was_there))
        for number in np.flatnonzero(there).tolist():
            self._steer(tick, known[number][1])
        was_closed = np.array([each.is_closed for _, each in known])
        closed = np.array([each.obstacle.is_closed(tick.number) for _, each in known])
        self._note(tick.number, EventKind.OBSTACLE_MOVES, known, np.flatnonzero(was_closed & ~closed & there))
        self._note(tick.number, EventKind.OBSTACLE_STANDS, known, np.flatnonzero(closed & ~was_closed))
        for (_, each), is_closed in zip(known, closed.tolist(), strict=True):
            each.is_closed = is_closed
        tick.counts["obstacles"], tick.counts["standing_obstacles"] = (
            self.count_of(there),
            self.count_of(closed),
        )

    def rows_of(self, each: MovingObstacle) -> slice:
        """Return the rows of an obstacle that is there."""
        first = int(np.searchsorted(self.world.agents.entity, each.first_disc))
        return slice(first, first + len(each.obstacle.radius))

    def _remove(self, tick: int, known: list[tuple[int, MovingObstacle]], numbers: NDArray[np.int64]) -> None:
        """Take away what is not there any more."""
        if not len(numbers):
            return
        leaving = np.zeros(len(self.world.agents), dtype=np.bool_)
        for number in numbers.tolist():
            leaving[self.rows_of(known[number][1])] = True
            known[number][1].first_disc = ABSENT
        self.world.take_away_obstacles(leaving.nonzero()[0])
        self._note(tick, EventKind.OBSTACLE_GONE, known, numbers)

    def _add(self, tick: int, known: list[tuple[int, MovingObstacle]], numbers: NDArray[np.int64]) -> None:
        """Put in obstacles that appear, after the agents there were put elsewhere."""
        for number in numbers.tolist():
            entity, each = known[number]
            obstacle = each.obstacle
            self._make_room(tick, obstacle)
            place = obstacle.discs(tick - 1)
            polygon = self._polygon_under(place, obstacle.place(tick - 1), obstacle.layer)
            each.first_disc = self.world.put_in_obstacle(
                Disc(entity), place, obstacle.radius, polygon, max(0, obstacle.layer)
            )
        self._note(tick, EventKind.OBSTACLE_APPEARED, known, numbers)

    def _polygon_under(
        self, place: NDArray[np.float64], middle: tuple[float, float], layer: int
    ) -> NDArray[np.int64]:
        """Return the polygons under the discs of an obstacle; discs that reach beyond the ground have that of
        its middle, and where that is gone the nearest of its floor; on tiles none.
        """
        mesh, layer = self.world.mesh, max(0, layer)
        points = np.vstack([place, middle])
        found = np.empty(len(points), dtype=np.int64)
        locate_many(0, len(points), mesh, points, np.full(len(points), layer, dtype=np.int32), found)
        if found[-1] < 0:
            tiles = self.world.tiles
            found[-1] = nearest_polygon(mesh, layer, *middle) if tiles is None else tiles.nowhere
        return np.where(found[:-1] >= 0, found[:-1], found[-1])

    def _make_room(self, tick: int, obstacle: Obstacle) -> None:
        """Put agents that are where an obstacle appears to the nearest places that are clear of it."""
        world, agents = self.world, self.world.agents
        outline = obstacle.outline(tick)
        on_floor = np.flatnonzero(agents.layer[: world.agent_count] == max(0, obstacle.layer))
        rows = on_floor[
            shapely.distance(shapely.points(agents.position[on_floor]), outline) < agents.radius[on_floor]
        ]
        if len(rows):
            closed = (*closed_areas_of(world), *standing_obstacles(world, tick))
            others = [each for each in closed if each.layer == obstacle.layer]
            floor = self._built.geometry.grounds[max(0, obstacle.layer)]
            ground, _ = parted_ground(floor, polygons_of(others))
            put_out(
                world, tick, rows, nearest_free(ground, outline, agents.position[rows], agents.radius[rows])
            )

    def _steer(self, tick: Tick, each: MovingObstacle) -> None:
        """Set the velocity with which an obstacle is where it has to be at the end of the tick."""
        agents, rows = self.world.agents, self.rows_of(each)
        agents.velocity[rows] = (each.obstacle.discs(tick.number) - agents.position[rows]) / tick.length

    def _note(
        self, tick: int, kind: EventKind, known: list[tuple[int, MovingObstacle]], numbers: NDArray[np.int64]
    ) -> None:
        places = np.array([known[number][1].obstacle.place(tick - 1) for number in numbers.tolist()]).reshape(
            -1, 2
        )
        self.world.events.note(tick, kind, np.zeros(len(numbers), dtype=np.int64), places, numbers)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the discs of each obstacle, which stand, and the obstacles that are others than in the
        scenario.
        """
        known = [each for _, each in self._obstacles()]
        sent = {
            f"sent/{number}/{name}": array
            for number, each in enumerate(known)
            if each.is_sent
            for name, array in arrays_of(each.obstacle).items()
        }
        first, is_closed = (
            np.array([each.first_disc for each in known], dtype=np.int64),
            np.array([each.is_closed for each in known], dtype=np.bool_),
        )
        return {
            "thing": np.array([entity for entity, _ in self._obstacles()], dtype=np.int64),
            "entity": first,
            "is_closed": is_closed,
            **sent,
        }

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave, to a world that has the same things."""
        saved, world = Saved.of(state), self.world
        given = [entity for entity, _ in self._obstacles()]
        first = saved.take("entity", "i8", low=0, high=MOST)
        is_closed, things = (
            saved.take("is_closed", "?", (len(first),)),
            saved.take("thing", "i8", (len(first),)),
        )
        saved.require(
            things[: len(given)].tolist() == given,
            "thing",
            f"the first {len(given)} are the obstacles of the scenario",
        )
        saved.require(
            ascends(things) & np.isin(things, world.entities.things()), "thing", "there is no such thing"
        )
        sent = saved.below("sent/")
        for number, entity in enumerate(things.tolist()):
            # those that a program put in follow those of the scenario
            is_sent = f"{number}/name" in sent or number >= len(given)
            obstacle = obstacle_from(sent.below(f"{number}/")) if is_sent else self._given[number]
            world.entities.add(
                entity, MovingObstacle(obstacle, int(first[number]), bool(is_closed[number]), is_sent)
            )
        self._check_rows(saved)

    def _check_rows(self, saved: Saved) -> None:
        """Require that the rows of obstacles are those of the ones that are there,
        and give each its component.
        """
        agents, known = self.world.agents, self._obstacles()
        discs = [
            (first, entity)
            for entity, each in known
            if each.is_there
            for first in range(each.first_disc, each.first_disc + len(each.obstacle.radius))
        ]
        discs += self.driving.discs()
        is_same = (
            sorted(first for first, _ in discs)
            == agents.entity[agents.activity == AgentState.OBSTACLE].tolist()
        )
        saved.require(is_same, "entity", "names other discs than there are")
        saved.require(
            [each.is_there or not each.is_closed for _, each in known],
            "is_closed",
            "the obstacle is not there",
        )
        saved.require(
            all(each.obstacle.layer < len(self._built.scenario.geometry.grounds) for _, each in known),
            "sent",
            "names a floor that there is not",
        )
        for disc, entity in discs:
            self.world.entities.add(disc, Disc(entity))
