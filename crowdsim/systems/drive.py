"""Drive: obstacles appear, move on their paths, stand, and vanish."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.saved import MOST, Arrays, Saved
from crowdsim.scenario.areas import parted_ground
from crowdsim.scenario.obstacles import Obstacle
from crowdsim.setup.obstacle_state import arrays_of, obstacle_from
from crowdsim.systems.base.system import System, Tick
from crowdsim.systems.ground.ground_change import Closed, polygons_of, put_out
from crowdsim.systems.ground.make_room import nearest_free
from crowdsim.world.columns import AgentState
from crowdsim.world.events import EventKind
from crowdsim.world.world import World

ABSENT = 0  # in place of an entity


class Drive(System):
    """Move obstacles as their timetables say; people see them at once, searches when they stand.

    An obstacle is one disc, or several that cover a polygon, each a row after those of the agents. Nothing that people do changes where it is.

    Parameters
    ----------
    world : World
    obstacles : sequence of Obstacle
    grounds : sequence of shapely Polygon or MultiPolygon, m
        On which people can be put who are where something appears, floor by floor.

    Attributes
    ----------
    also_closed : callable
        Returns what is closed beside obstacles; nothing by default.

    Notes
    -----
    Avoidance is shown the velocity that an obstacle is going to have in this tick, not that of the last one: it cannot decide otherwise any more.
    """

    reads = ("entity", "activity", "position", "radius", "path_status")
    writes = (
        "position", "tentative_position", "velocity", "chosen_velocity", "next_corner", "surface", "layer", "wall_distance", "corner_post", "guessed",
        "corridor_length", "goal_piece", "strays", "path_status", "replan_wish",
    )  # fmt: skip
    counts = ("obstacles", "standing_obstacles")

    def __init__(self, world: World, obstacles: Sequence[Obstacle], grounds: Sequence[Any]) -> None:
        super().__init__(world)
        self._given = tuple(obstacles)
        self.obstacles, self._grounds = list(obstacles), tuple(grounds)
        self._sent: set[int] = set()  # numbers of those that a program has put in or sent elsewhere
        self.also_closed: Callable[[], Sequence[Closed]] = tuple
        self.entity = np.full(len(obstacles), ABSENT, dtype=np.int64)  # of the first disc of each; those of the others follow
        self.is_closed = np.zeros(len(obstacles), dtype=np.bool_)
        self._tick = 0  # the last one, for which they are

    @property
    def expects(self) -> bool:
        """Whether something that stands will go on or vanish."""
        return any(self.obstacles[number].will_open(self.world.tick) for number in np.flatnonzero(self.is_closed).tolist())

    def number_of(self, name: str) -> int:
        """Return the number of an obstacle; -1 if there is none of this name."""
        return next((number for number, each in enumerate(self.obstacles) if each.name == name), -1)

    def is_there(self, number: int) -> bool:
        """Return whether an obstacle is in the world now."""
        return bool(self.entity[number] != ABSENT)

    def send(self, obstacle: Obstacle) -> None:
        """Take an obstacle in place of the one of its name, or as another one, from the next tick on."""
        number = self.number_of(obstacle.name)
        if number < 0:
            number = len(self.obstacles)
            self.entity, self.is_closed = np.append(self.entity, ABSENT), np.append(self.is_closed, False)
            self.obstacles.append(obstacle)
        self.obstacles[number] = obstacle
        self._sent.add(number)
        target = obstacle.timetable.points[-1].reshape(1, 2)
        self.world.events.note(self.world.tick + 1, EventKind.OBSTACLE_SENT, np.zeros(1, dtype=np.int64), target, np.array([number]))

    def closed(self) -> tuple[Closed, ...]:
        """Return the obstacles that stand, where they do."""
        found = np.flatnonzero(self.is_closed).tolist()
        return tuple(Closed(each.name, each.outline(self._tick), each.layer) for each in (self.obstacles[number] for number in found))

    @property
    def is_idle(self) -> bool:
        """Whether there are no obstacles."""
        return not self.obstacles

    def process(self, tick: Tick) -> None:
        """Let obstacles come and go, and say how fast they are."""
        tick.counts.update(dict.fromkeys(self.counts, 0.0))
        if not self.obstacles:
            return
        self._tick = tick.number
        there = np.array([obstacle.is_there(tick.number) for obstacle in self.obstacles])
        was_there = self.entity != ABSENT
        self._remove(tick.number, np.flatnonzero(was_there & ~there))
        self._add(tick.number, np.flatnonzero(there & ~was_there))
        for number in np.flatnonzero(there).tolist():
            self._steer(tick, number)
        closed = np.array([obstacle.is_closed(tick.number) for obstacle in self.obstacles])
        self._note(tick.number, EventKind.OBSTACLE_MOVES, np.flatnonzero(self.is_closed & ~closed & there))
        self._note(tick.number, EventKind.OBSTACLE_STANDS, np.flatnonzero(closed & ~self.is_closed))
        self.is_closed = closed
        tick.counts["obstacles"], tick.counts["standing_obstacles"] = self.count_of(there), self.count_of(closed)

    def going_on(self) -> list[int]:
        """Return the entities of the discs of all obstacles that are there and will yet go on, turn on, or vanish."""
        tick, found = self.world.tick, list[int]()
        for obstacle, first in zip(self.obstacles, self.entity.tolist(), strict=True):
            if first != ABSENT and obstacle.will_go_on(tick):
                found += range(first, first + len(obstacle.radius))
        return found

    def rows_of(self, number: int) -> slice:
        """Return the rows of an obstacle that is there."""
        first = int(np.searchsorted(self.world.agents.entity, self.entity[number]))
        return slice(first, first + len(self.obstacles[number].radius))

    def _remove(self, tick: int, numbers: NDArray[np.int64]) -> None:
        """Take away what is not there any more."""
        if not len(numbers):
            return
        leaving = np.zeros(len(self.world.agents), dtype=np.bool_)
        for number in numbers.tolist():
            leaving[self.rows_of(number)] = True
        self.world.take_away_obstacles(leaving)
        self.entity[numbers] = ABSENT
        self._note(tick, EventKind.OBSTACLE_GONE, numbers)

    def _add(self, tick: int, numbers: NDArray[np.int64]) -> None:
        """Put in what appears, after those were put out of the way who stand there."""
        for number in numbers.tolist():
            obstacle = self.obstacles[number]
            self._make_room(tick, obstacle)
            place = obstacle.discs(tick - 1)
            self.entity[number] = self.world.put_in_obstacle(place, obstacle.radius, self._polygon_under(place, obstacle.place(tick - 1), obstacle.layer))
        self._note(tick, EventKind.OBSTACLE_APPEARED, numbers)

    def _polygon_under(self, place: NDArray[np.float64], middle: tuple[float, float], layer: int) -> NDArray[np.int64]:
        """Return the polygons under the discs of an obstacle; discs that reach beyond the ground have that of its middle."""
        asked = np.vstack([place, middle])
        found = np.empty(len(asked), dtype=np.int64)
        locate_many(0, len(asked), self.world.mesh, asked, np.full(len(asked), max(0, layer), dtype=np.int32), found)
        return np.where(found[:-1] >= 0, found[:-1], max(0, int(found[-1])))

    def _make_room(self, tick: int, obstacle: Obstacle) -> None:
        """Put people out of the way of something that appears where they are: to the nearest place where it leaves them room."""
        world, agents = self.world, self.world.agents
        outline = obstacle.outline(tick)
        people = np.arange(world.people_count)
        people = people[agents.layer[people] == max(0, obstacle.layer)]
        rows = people[shapely.distance(shapely.points(agents.position[people]), outline) < agents.radius[people]]
        if len(rows):
            others = [each for each in (*self.also_closed(), *self.closed()) if each.layer == obstacle.layer]
            ground, _ = parted_ground(self._grounds[max(0, obstacle.layer)], polygons_of(others))
            put_out(world, tick, rows, nearest_free(ground, outline, agents.position[rows], agents.radius[rows]))

    def _steer(self, tick: Tick, number: int) -> None:
        """Set the velocity with which an obstacle is where it has to be at the end of the tick."""
        agents, rows, obstacle = self.world.agents, self.rows_of(number), self.obstacles[number]
        agents.velocity[rows] = (obstacle.discs(tick.number) - agents.position[rows]) / tick.length

    def _note(self, tick: int, kind: EventKind, numbers: NDArray[np.int64]) -> None:
        places = np.array([self.obstacles[number].place(tick - 1) for number in numbers.tolist()]).reshape(-1, 2)
        self.world.events.note(tick, kind, np.zeros(len(numbers), dtype=np.int64), places, numbers)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return which rows are whose, what is closed, and the obstacles that are others than in the scenario."""
        sent = {f"sent/{number}/{name}": array for number in sorted(self._sent) for name, array in arrays_of(self.obstacles[number]).items()}
        return {"entity": self.entity.copy(), "is_closed": self.is_closed.copy(), **sent}

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave."""
        saved = Saved.of(state)
        entity = saved.take("entity", "i8", low=0, high=MOST)
        sent = saved.below("sent/")
        self.obstacles, self._sent = list(self._given), {number for number in range(len(entity)) if f"{number}/name" in sent}
        for place in sorted(self._sent):  # those that a program put in follow those of the scenario
            self.obstacles[place : place + 1] = [obstacle_from(sent.below(f"{place}/"))]
        saved.require(len(self.obstacles) == len(entity), "entity", f"has {len(entity)} obstacles, but there are {len(self.obstacles)}")
        self.entity, self.is_closed = entity, saved.take("is_closed", "?", (len(entity),))
        self._check_rows(saved)
        self._tick = self.world.tick

    def _check_rows(self, saved: Saved) -> None:
        """Look whether the rows of obstacles are those of the ones that are there."""
        agents, there = self.world.agents, np.flatnonzero(self.entity != ABSENT)
        discs = np.array([len(self.obstacles[number].radius) for number in there.tolist()], dtype=np.int64)
        first = self.entity[there]
        wanted = np.sort(np.repeat(first, discs) + np.arange(int(discs.sum())) - np.repeat(np.cumsum(discs) - discs, discs))
        is_same = np.array_equal(wanted, agents.entity[agents.activity == AgentState.OBSTACLE])
        saved.require(is_same, "entity", "names other discs than there are")
        saved.require(~self.is_closed | (self.entity != ABSENT), "is_closed", "the obstacle is not there")
        saved.require(all(each.layer < len(self._grounds) for each in self.obstacles), "sent", "names a floor that there is not")
