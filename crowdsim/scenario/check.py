"""Whether what a scenario asks for can be:
goals and agents stand on the walkable ground, and one can get from here to there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.scenario.behaviours import Behaviours
from crowdsim.scenario.connections import Connection
from crowdsim.scenario.geometry import Geometry
from crowdsim.scenario.model import Goal, Group
from crowdsim.scenario.queues import Queue
from crowdsim.scenario.shapes import GRID_M
from crowdsim.scenario.tree import Path, Problems, listed, number_text

# The ground was snapped to its grid after points on its boundary were written down.
_TOLERANCE_M = 4 * GRID_M
_LEAST_AREA_M2 = 1e-6  # What shares less with the ground only touches it.
_MOST_PARTS = 100  # Parts of the ground up to which it is looked up which agents stand on which.
_MOST_NAMED = 3  # Agents that one message names.


NEAR_WALL = "given positions are closer to a wall than the agent's radius"


def cut_off_message(goal: str, group: str) -> str:
    """Return the note about a group none of whose agents can walk to a goal."""
    return f'"{goal}" lies on another part of the ground than all agents of "{group}": nobody can walk there'


class GroundCheck:
    """Checks items against the walkable ground of a scenario.

    Parameters
    ----------
    geometry : Geometry
    layer : int
        Number of the floor whose items are checked.
    problems : Problems
        Receives mistakes.
    notes : Problems
        Receives what is possible, but might not be meant.
    has_connections : bool
    """

    def __init__(
        self,
        geometry: Geometry,
        layer: int,
        problems: Problems,
        notes: Problems,
        *,
        has_connections: bool = False,
    ) -> None:
        self.has_connections = has_connections  # which may join parts of the ground
        self.layer = layer if geometry.floors else -1
        self.ground = geometry.grounds[layer]
        self.obstacles = geometry.floors[layer].obstacles if geometry.floors else geometry.obstacles
        self.problems = problems
        self.notes = notes
        self.parts = list(shapely.get_parts(self.ground))
        self.walls = self.ground.boundary
        self._right: set[int] = set()  # inline goals that are on the ground
        shapely.prepare([self.ground, self.walls, *self.parts])

    @cached_property
    def _near(self) -> Any:
        """The ground and a little beyond; for a city it takes ten seconds, so only for what needs it."""
        return shapely.buffer(self.ground, _TOLERANCE_M)

    def goals(self, goals: Sequence[Goal]) -> None:
        """Report goals that nobody can be at."""
        for goal in goals:
            if goal.is_inline or goal.layer != self.layer:
                continue
            if goal.point is not None:
                self._point(goal.point, ("goals", goal.name, "point"))
            elif goal.area is not None:
                self.area(goal.area, ("goals", goal.name, goal.kind))

    def _point(self, point: tuple[float, float], path: Path) -> None:
        spot = shapely.Point(point)
        distance = shapely.distance(self.ground, spot)
        if distance > _TOLERANCE_M:
            near = shapely.shortest_line(self.ground, spot).coords[0]
            self.problems.add(
                path,
                f"{_at(point)} {self._outside(spot, distance)}",
                f"The nearest point of the ground is ({near[0]:.6g}, {near[1]:.6g}).",
            )

    def _outside(self, spot: Any, distance: float) -> str:
        for obstacle in self.obstacles:
            if obstacle.polygon.contains(spot):
                called = f'the obstacle "{obstacle.name}"' if obstacle.name else "an obstacle"
                return f"lies in {called}, {distance:.3g} m from the walkable ground"
        return f"lies {distance:.3g} m outside the walkable ground"

    def area(self, area: Any, path: Path) -> None:
        """Report an area that shares nothing with the ground."""
        if shapely.intersects(self.ground, area.representative_point()):
            return
        if shapely.area(shapely.intersection(area, self.ground)) > _LEAST_AREA_M2:
            return
        distance = shapely.distance(self.ground, area)
        if distance > _TOLERANCE_M:
            self.problems.add(
                path,
                f"the area lies {distance:.3g} m outside the walkable ground",
                "An agent's centre must be able to be inside: move it onto the ground.",
            )
        else:
            self.problems.add(
                path,
                "the area only touches the walkable ground from outside",
                "An agent's centre must be able to be inside: let it overlap the ground.",
            )

    def groups(self, groups: Iterable[Group], indices: dict[str, int], goals: Sequence[Goal]) -> None:
        """Report agents that stand outside the ground, and note what is odd about the others."""
        for group in groups:
            path: Path = ("groups", indices[group.name])
            for row, agent in enumerate(group.listed):
                for step, visit in enumerate(agent.visits or ()):
                    self._inline(goals, visit.goal, self._step((*path, "agents", row, "goals"), step))
            for step, visit in enumerate(group.visits):
                self._inline(goals, visit.goal, self._step((*path, "goals"), step))
            if group.arrive is not None and group.layer == self.layer:
                for number, door in enumerate(group.arrive.doors):
                    self.area(door, (*path, "arrive", "doors", number))
            if group.layer != self.layer:
                continue
            if group.region is not None:
                self.area(group.region, (*path, "region"))
            rows, positions = _given_positions(group)
            inside = self._positions(positions, rows, group, path)
            # parts of a storey may be joined by stairs
            is_parted = self.layer < 0 and 1 < len(self.parts) <= _MOST_PARTS
            if inside and is_parted and not self.has_connections:
                self._note_cut_off(group, positions, goals, path)

    def _inline(self, goals: Sequence[Goal], index: int, path: Path) -> None:
        if (
            index < 0
            or index in self._right
            or not goals[index].is_inline
            or goals[index].layer != self.layer
        ):
            return
        point = goals[index].point
        assert point is not None
        if shapely.intersects_xy(self.ground, *point):
            self._right.add(index)
        else:
            self._point(point, path)

    def places(self, goals: Sequence[Goal], places: Iterable[tuple[int, Path]]) -> None:
        """Report points in machines that are off the ground: indices of goals, and where they stand."""
        for index, path in places:
            self._inline(goals, index, (*path, "point"))

    def queues(self, queues: Iterable[Queue]) -> None:
        """Report servers and lines of queues that are off the ground."""
        for queue in queues:
            if queue.layer != self.layer:
                continue
            for number, server in enumerate(queue.servers):
                self._point(server, ("queues", queue.name, "servers", number))
            for number, line in enumerate(queue.lines):
                path: Path = ("queues", queue.name, "line")
                if len(queue.lines) > 1:
                    path = ("queues", queue.name, "lines", number)
                off = shapely.difference(shapely.LineString(line), self._near)
                if not off.is_empty:
                    first = np.round(shapely.get_parts(off)[0].coords[0], 3)
                    self.problems.add(
                        path,
                        f"{off.length:.3g} m of the line are off the walkable ground, from {_at(first)} on",
                        "Draw it where agents can stand.",
                    )

    def connections(self, connections: Iterable[Connection]) -> None:
        """Report ends of connections that are off the ground."""
        for each in connections:
            key = "stops" if each.kind == "lift" else "ends"
            for number, end in enumerate(each.ends):
                if end.layer != self.layer:
                    continue
                path: Path = ("connections", each.name, each.kind, key, number)
                self.area(end.area, (*path, "area"))
                off = shapely.difference(shapely.LineString(end.line), self._near) if end.line else None
                if off is not None and not off.is_empty:
                    self.problems.add(
                        (*path, "line"),
                        f"{off.length:.3g} m of the line are off the walkable ground",
                        "Draw it where agents can stand.",
                    )

    def _step(self, path: Path, step: int) -> Path:
        """Return the path of one goal of an agent: a single one need not be in a list."""
        node = self.problems.root.at(path)
        return (*path, step) if node is not None and isinstance(node.value, list) else path

    def _positions(
        self, positions: NDArray[np.float64], rows: Sequence[int], group: Group, path: Path
    ) -> bool:
        """Report given positions outside the ground; return whether all are inside."""
        if not len(positions):
            return True
        points = shapely.points(positions)
        outside = np.flatnonzero(~shapely.intersects_xy(self.ground, positions[:, 0], positions[:, 1]))
        outside = outside[~shapely.dwithin(self.ground, points[outside], _TOLERANCE_M)]
        for row in outside[:_MOST_NAMED]:
            where = (
                (*path, "agents", rows[row], "position") if group.listed else (*path, "positions", rows[row])
            )
            distance = shapely.distance(self.ground, points[row])
            rest = len(outside) - _MOST_NAMED
            more = (
                f", and so do {rest} more of the group"
                if rest > 0 and row == outside[_MOST_NAMED - 1]
                else ""
            )
            name = agent_name(group, rows[row])
            self.problems.add(
                where,
                f"{name} at {_at(positions[row])} {self._outside(points[row], distance)}{more}",
                "Move the agent onto the walkable ground.",
            )
        if not outside.size:
            self._note_walls(points, rows, group, path)
        return not outside.size

    def _note_walls(self, points: NDArray[Any], rows: Sequence[int], group: Group, path: Path) -> None:
        """Note positions that are closer to a wall than the agent is wide,
        as far as the radius is known here.
        """
        least = np.array(
            [
                (group.listed[row].radius or group.radius).low if group.listed else group.radius.low
                for row in rows
            ]
        )
        close = np.flatnonzero(shapely.dwithin(self.walls, points, least))
        if close.size:
            first = int(close[0])
            message = f"{close.size} of {len(points)} {NEAR_WALL}"
            distance = shapely.distance(self.walls, points[first])
            which = f"The first is {agent_name(group, rows[first])} at {_at(points[first].coords[0])}"
            self.notes.add(
                path, message, f"{which}, {distance:.3g} m from a wall with a radius of {least[first]:g} m."
            )

    def _note_cut_off(
        self, group: Group, positions: NDArray[np.float64], goals: Sequence[Goal], path: Path
    ) -> None:
        """Note a group none of whose agents can walk to one of its goals."""
        starts = self._parts_of_start(group, positions)
        for step, visit in enumerate(group.visits):
            reached = set().union(*(self._parts_of_goal(goals, goal) for goal in visit.goals))
            if starts and reached and not starts & reached:
                message = cut_off_message(goals[visit.goal].name, group.name)
                self.notes.add(
                    self._step((*path, "goals"), step),
                    message,
                    (
                        f"The ground has {len(self.parts)} parts that do not touch; these agents will "
                        "stand, and the verdict says that they have no path."
                    ),
                )

    def _parts_of_start(self, group: Group, positions: NDArray[np.float64]) -> set[int]:
        found = {
            index
            for index, part in enumerate(self.parts)
            if len(positions) and shapely.intersects_xy(part, positions[:, 0], positions[:, 1]).any()
        }
        if len(positions) < group.count:
            found |= {
                index
                for index, part in enumerate(self.parts)
                if group.region is None
                or shapely.area(shapely.intersection(part, group.region)) > _LEAST_AREA_M2
            }
        return found

    def _parts_of_goal(self, goals: Sequence[Goal], index: int) -> set[int]:
        if index < 0:
            return set()
        goal = goals[index]
        if goal.parts:
            return set().union(*(self._parts_of_goal(goals, part) for part in goal.parts))
        shape = shapely.Point(goal.point) if goal.point is not None else goal.area
        return {
            index
            for index, part in enumerate(self.parts)
            if shape is not None and shapely.distance(part, shape) <= _TOLERANCE_M
        }


def _given_positions(group: Group) -> tuple[list[int], NDArray[np.float64]]:
    """Return the indices in the group and the positions of the agents that have one."""
    if group.positions is not None:
        return list(range(len(group.positions))), group.positions
    rows = [index for index, agent in enumerate(group.listed) if agent.position is not None]
    return rows, np.array([group.listed[row].position for row in rows], dtype=np.float64).reshape(-1, 2)


def note_overlaps(groups: Sequence[Group], notes: Problems) -> None:
    """Note given positions at which agents of one floor overlap;
    which radius an agent will draw does not matter, only the least is taken.
    """
    given = [
        (group, row, position)
        for group in groups
        for row, position in zip(*_given_positions(group), strict=True)
    ]
    if len(given) < 2:
        return
    position = np.array([each[2] for each in given])
    radius = np.array(
        [
            ((group.listed[row].radius if group.listed else None) or group.radius).low
            for group, row, _ in given
        ]
    )
    places, which, counts = np.unique(position, axis=0, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    overlaps = counts[which] > 1
    if len(places) > 1:
        widest = np.zeros(len(places))
        np.maximum.at(widest, which, radius)
        points = shapely.points(places)
        pairs, distance = shapely.STRtree(points).query_nearest(
            points, exclusive=True, all_matches=False, return_distance=True
        )
        overlaps |= (distance < (widest[pairs[0]] + widest[pairs[1]]) * (1.0 - 1e-9))[which]
    if overlaps.any():
        group, row, at = given[int(np.flatnonzero(overlaps)[0])]
        notes.add(
            ("groups",),
            f"{int(overlaps.sum()):,} of {len(given):,} given positions overlap another",
            f"The first is {agent_name(group, row)} at {_at(at)}. They start by being pushed apart.",
            key=True,
        )


def agent_name(group: Group, index: int) -> str:
    """Return how messages name an agent: its id, else its index in its group."""
    if group.listed and group.listed[index].id is not None:
        return f"the agent with the id {group.listed[index].id}"
    return f"agent {index} of {group.name}"


def _at(point: Sequence[float]) -> str:
    return f"({number_text(float(point[0]))}, {number_text(float(point[1]))})"


def note_idle(
    groups: Sequence[Group], goals: Sequence[Goal], behaviours: Behaviours, notes: Problems
) -> None:
    """Note goals that nobody goes to and scenarios without agents."""
    used = behaviours.goals | {
        goal
        for group in groups
        for visits in (group.visits, *(agent.visits or () for agent in group.listed))
        for visit in visits
        for goal in visit.goals
    }
    used |= {part for index in used if index >= 0 for part in goals[index].parts}
    idle = [goal.name for index, goal in enumerate(goals) if index not in used]
    if idle:
        notes.add(("goals",), f"nobody goes to {listed(idle)}", key=True)
    if not any(group.count or group.arrive is not None for group in groups):
        notes.add(("groups",), "there are no agents", key=True)
