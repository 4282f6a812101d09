"""Goals that come while a run goes on: points and regions, with numbers behind those of the goals that were
there first.

A point has one piece with one corner. So one that no agent goes to any more leaves its number to the next
point: however often agents are sent elsewhere, there are no more numbers than agents. Regions keep theirs.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.navigation.goals.goals import GoalPieces, GoalShape, cut_goals
from crowdsim.navigation.goals.pole_of_inaccessibility import MOST_CLEARANCE_M
from crowdsim.navigation.mesh.mesh import NavMesh, locate, make_flood, wall_distance
from crowdsim.saved import FARTHEST_M, Saved

# Regions that a run may have set; each is kept for good. More are better named in the scenario.
MOST_REGIONS = 4096
MOST_FLOORS = 1 << 16  # More than a scenario can have.
MOST_POINTS = 1_000_000  # Below the goals that keys of shared searches have room for (2^21).


class Points(NamedTuple):
    """Points that agents are sent to.

    Attributes
    ----------
    place : (k, 2) float64, m
    layer : (k,) int32
        Floor of each; -1 for any.
    reach : (k,) float64, m
        How near an agent has to come.
    """

    place: NDArray[np.float64]
    layer: NDArray[np.int32]
    reach: NDArray[np.float64]


class Change(NamedTuple):
    """What became of the goals.

    Attributes
    ----------
    goals : GoalPieces
        All that there are now.
    number : (k,) int32
        Of the goals that were asked for.
    changed : (c,) int64
        Goals that are new, or have another place than before; ascending.
    """

    goals: GoalPieces
    number: NDArray[np.int32]
    changed: NDArray[np.int64]


class Destinations:
    """The goals that a run has set.

    Parameters
    ----------
    fixed : int
        How many goals there were first.
    """

    def __init__(self, fixed: int) -> None:
        self.fixed = fixed
        self._shapes: list[tuple[Any, ...]] = []  # points as (x, y, layer, reach), regions as (wkb, layer)
        self._number: dict[tuple[Any, ...], int] = {}
        self._regions: list[int] = []  # numbers of those that are regions, ascending

    def __len__(self) -> int:
        return len(self._shapes)

    def shape_of(self, number: int) -> GoalShape:
        """Return what a goal is that a run has set."""
        shape = self._shapes[number - self.fixed]
        if len(shape) == 2:
            return GoalShape(shapely.from_wkb(shape[0]), layer=shape[1])
        return GoalShape(shapely.Point(shape[:2]), reach=shape[3], layer=shape[2])

    def places_of(self, number: NDArray[Any]) -> NDArray[np.float64]:
        """Return for goals that a run has set, (k,), the point, or a point of the region: (k, 2), m."""
        found = np.array([self._shapes[each - self.fixed][:2] for each in number.tolist()], dtype=object)
        for row in np.flatnonzero(np.isin(number, self.regions)).tolist():
            middle = self.shape_of(int(number[row])).shape.representative_point()
            found[row] = middle.x, middle.y
        return found.reshape(-1, 2).astype(np.float64)

    def put_points(
        self, mesh: NavMesh, goals: GoalPieces, points: Points, is_used: NDArray[np.bool_]
    ) -> Change:
        """Return goals with some points among them.

        Parameters
        ----------
        mesh : NavMesh
        goals : GoalPieces
            All that there are; what changes in them, nothing leads to.
        points : Points
            On the mesh, see `find_ground`.
        is_used : (goals,) bool
            Goals that some agent goes to.

        Returns
        -------
        Change
            Equal points have one number.
        """
        wanted = list(
            zip(*points.place.T.tolist(), points.layer.tolist(), points.reach.tolist(), strict=True)
        )
        missing = [each for each in dict.fromkeys(wanted) if each not in self._number]
        known = {self._number[each] for each in wanted if each in self._number}
        free = self._free(goals, is_used, known) if missing else []
        again, new = missing[: len(free)], missing[len(free) :]
        changed = free[: len(again)]
        for number, shape in zip(changed, again, strict=True):
            del self._number[self._shapes[number - self.fixed]]
            self._name(number, shape)
        if again:
            _move(mesh, goals, np.array(changed, dtype=np.int64), _points_of(again))
        if new:
            first = len(goals.goal_start) - 1
            for number, shape in enumerate(new, start=first):
                self._name(number, shape)
            goals = joined(goals, as_goals(mesh, _points_of(new)), first)
            changed += range(first, first + len(new))
        return Change(goals, self._numbers(wanted), np.array(changed, dtype=np.int64))

    def put_region(self, mesh: NavMesh, goals: GoalPieces, area: Any, layer: int) -> Change:
        """Return goals with a region among them, (shapely geometry, m; floor, or -1)."""
        wanted = (shapely.to_wkb(shapely.normalize(area)), layer)
        changed = []
        if wanted not in self._number:
            first = len(goals.goal_start) - 1
            self._name(first, wanted)
            goals = joined(goals, cut_goals(mesh, [self.shape_of(first)]), first)
            changed = [first]
        return Change(goals, self._numbers([wanted]), np.array(changed, dtype=np.int64))

    def _free(self, goals: GoalPieces, is_used: NDArray[np.bool_], known: set[int]) -> list[int]:
        """Return the numbers of points, ascending, that others may have now."""
        is_free = ~is_used & (np.diff(goals.goal_start) == 1)
        is_free[: self.fixed] = False
        is_free[[*self._regions, *known]] = False
        return np.flatnonzero(is_free).tolist()

    @property
    def regions(self) -> NDArray[np.int64]:
        """The numbers of regions."""
        return np.array(self._regions, dtype=np.int64)

    def on(self, mesh: NavMesh, goals: GoalPieces) -> GoalPieces:
        """Return all goals on a mesh, from those that were there first, cut on it."""
        if not self._shapes:
            return goals
        regions = self.regions
        is_point = np.ones(len(self._shapes), dtype=np.bool_)
        is_point[regions - self.fixed] = False
        points = as_goals(mesh, _points_of([each for each in self._shapes if len(each) == 4]))
        areas = cut_goals(mesh, [self.shape_of(number) for number in regions.tolist()])
        order = np.empty(len(self._shapes), dtype=np.int64)
        order[np.concatenate([np.flatnonzero(is_point), np.flatnonzero(~is_point)])] = np.arange(len(order))
        found = only(joined(points, areas, len(points.reach)), order)
        return joined(goals, found, self.fixed)

    def _name(self, number: int, shape: tuple[Any, ...]) -> None:
        if number - self.fixed == len(self._shapes):
            self._shapes.append(shape)
            self._regions += [number] if len(shape) == 2 else []
        self._shapes[number - self.fixed] = shape
        self._number[shape] = number

    def _numbers(self, wanted: Sequence[tuple[Any, ...]]) -> NDArray[np.int32]:
        return np.array([self._number[each] for each in wanted], dtype=np.int32)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the goals as named arrays."""
        is_region = np.array([len(each) == 2 for each in self._shapes], dtype=np.bool_)
        points = _points_of([each if len(each) == 4 else (0.0, 0.0, each[1], 0.0) for each in self._shapes])
        texts = [each[0] if len(each) == 2 else b"" for each in self._shapes]
        return {
            "is_region": is_region,
            **points._asdict(),
            "length": np.array([len(each) for each in texts], dtype=np.int64),
            "bytes": np.frombuffer(b"".join(texts), dtype=np.uint8).copy(),
        }

    def restore(self, saved: Saved) -> None:
        """Take back what `state()` gave.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        is_region = saved.take("is_region", "?")
        count = len(is_region)
        place = saved.take("place", "f8", (count, 2), low=-FARTHEST_M, high=FARTHEST_M)
        layer = saved.take("layer", "i4", (count,), low=-1, high=MOST_FLOORS)
        reach = saved.take("reach", "f8", (count,), low=0.0, high=FARTHEST_M)
        data = saved.take("bytes", "u1").tobytes()
        ends = np.cumsum(saved.parts("length", count, len(data))).tolist()
        saved.require(
            count <= MOST_POINTS + MOST_REGIONS and int(is_region.sum()) <= MOST_REGIONS,
            "is_region",
            "has more goals than a run can set",
        )
        saved.require(is_region | (reach > 0.0), "reach", "no agent gets so near to a point")
        self._shapes, self._number, self._regions = [], {}, []
        rows = zip(*place.T.tolist(), layer.tolist(), reach.tolist(), strict=True)
        for number, (row, own) in enumerate(zip(rows, is_region.tolist(), strict=True)):
            text = data[ends[number - 1] if number else 0 : ends[number]]
            saved.require(
                bool(text) == own and (not own or _is_region(text)), "bytes", "holds what is no region"
            )
            self._name(self.fixed + number, (text, row[2]) if own else row)
        saved.require(len(self._number) == count, "place", "has the same goal twice")


def _is_region(text: bytes) -> bool:
    """Return whether bytes are an area as `put_region` keeps them."""
    try:
        area = shapely.from_wkb(text)
    except shapely.GEOSException:
        return False
    return (
        area.geom_type in ("Polygon", "MultiPolygon")
        and bool(area.is_valid)
        and not area.is_empty
        and bool(np.abs(area.bounds).max() <= FARTHEST_M)
    )


def _points_of(shapes: Sequence[tuple[Any, ...]]) -> Points:
    return Points(
        np.array([each[:2] for each in shapes], dtype=np.float64).reshape(-1, 2),
        np.array([each[2] for each in shapes], dtype=np.int32),
        np.array([each[3] for each in shapes], dtype=np.float64),
    )


def as_goals(mesh: NavMesh, points: Points) -> GoalPieces:
    """Return points as goals of one piece each, or of none where there is no ground."""
    polygon, clearance = _ground_of(mesh, points)
    there = polygon >= 0
    place = points.place[there]
    return GoalPieces(
        np.concatenate([[0], np.cumsum(there)]).astype(np.int32),
        polygon[there],
        np.flatnonzero(there).astype(np.int32),
        np.arange(len(place) + 1, dtype=np.int32),
        place,
        place.copy(),
        clearance[there],
        points.reach.copy(),
    )


def _move(mesh: NavMesh, goals: GoalPieces, number: NDArray[np.int64], points: Points) -> None:
    """Give goals that are points other places."""
    piece = goals.goal_start[number]
    polygon, clearance = _ground_of(mesh, points)
    goals.piece_polygon[piece], goals.clearance[piece] = polygon, clearance
    goals.vertex[goals.vertex_start[piece]] = goals.pole[piece] = points.place
    goals.reach[number] = points.reach


def _ground_of(mesh: NavMesh, points: Points) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the polygon under each of some points, -1 where there is none, and how far walls are (m)."""
    polygon, clearance = np.empty(len(points.place), dtype=np.int32), np.empty(len(points.place))
    flood = make_flood(mesh.polygon_count)
    find_ground(mesh, points.place, points.layer, MOST_CLEARANCE_M, flood, polygon, clearance)
    return polygon, clearance


@lean_kernel
def find_ground(mesh, place, layer, most, flood, polygon, clearance):
    """Find the polygons under points, and how far each is from walls.

    Parameters
    ----------
    mesh : NavMesh
    place : (k, 2) float64, m
    layer : (k,) int32
        -1 for any.
    most : float, m
        How far walls are looked for.
    flood : Flood
    polygon : (k,) int32
        Receives -1 where there is no ground.
    clearance : (k,) float64, m
        Receives 0 where there is none.
    """
    for row in range(place.shape[0]):
        found = locate(mesh, place[row, 0], place[row, 1], layer[row])
        polygon[row], clearance[row] = found, 0.0
        if found >= 0:
            clearance[row] = wall_distance(mesh, found, place[row, 0], place[row, 1], most, flood)


def joined(goals: GoalPieces, more: GoalPieces, first: int) -> GoalPieces:
    """Return goals with others behind them, which get the numbers from `first` on."""
    return GoalPieces(
        np.concatenate([goals.goal_start, goals.goal_start[-1] + more.goal_start[1:]]),
        np.concatenate([goals.piece_polygon, more.piece_polygon]),
        np.concatenate([goals.piece_source, np.int32(first) + more.piece_source]),
        np.concatenate([goals.vertex_start, goals.vertex_start[-1] + more.vertex_start[1:]]),
        np.concatenate([goals.vertex, more.vertex]),
        np.concatenate([goals.pole, more.pole]),
        np.concatenate([goals.clearance, more.clearance]),
        np.concatenate([goals.reach, more.reach]),
    )


def only(goals: GoalPieces, number: NDArray[np.int64]) -> GoalPieces:
    """Return some goals alone, with numbers from 0 on; none of them is made of others."""
    pieces = ranges(goals.goal_start, number)
    corners = ranges(goals.vertex_start, pieces)
    goal_start = _starts(goals.goal_start, number)
    return GoalPieces(
        goal_start,
        goals.piece_polygon[pieces],
        np.repeat(np.arange(len(number), dtype=np.int32), np.diff(goal_start)),
        _starts(goals.vertex_start, pieces),
        goals.vertex[corners],
        goals.pole[pieces],
        goals.clearance[pieces],
        goals.reach[number],
    )


def ranges(start: NDArray[Any], rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the numbers of the items of some rows of a ragged list, one row after the other."""
    begin = start[rows].astype(np.int64)
    size = start[rows + 1] - begin
    end = np.cumsum(size)
    return np.repeat(begin - end + size, size) + np.arange(int(end[-1]) if len(end) else 0)


def _starts(start: NDArray[np.int32], rows: NDArray[Any]) -> NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(start[rows + 1] - start[rows])]).astype(np.int32)
