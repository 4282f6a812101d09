"""Obstacles that appear, move on a path and vanish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.cover import BEYOND_M, cover
from crowdsim.geometry.lengths import hypots
from crowdsim.scenario.geometry import FloorNames, Geometry
from crowdsim.scenario.limits import MAX_DISCS
from crowdsim.scenario.schema import DiscShape, ObstacleShape, WaypointShape
from crowdsim.scenario.shapes import GRID_M, circle_corners
from crowdsim.scenario.timetable import AS_DRAWN, Timetable, Turning, ticks_in
from crowdsim.scenario.tree import Path, Problems, number_text

# Of a disc as a polygon, inside of it by at most 0.9 % of the radius: agents that touch it do not stand in
# its wall.
OUTLINE_CORNERS = 24
_MOST_SPEED = 50.0  # m/s, as for agents
_TOLERANCE_M = 4 * GRID_M


@dataclass(frozen=True, eq=False)
class Obstacle:
    """Something that moves on a path of its own and gives way to nobody.

    Attributes
    ----------
    name : str
    disc : float, m
        Radius; 0 of a polygon.
    corners : (k, 2) float64, m
        Outline round the point that moves, counter-clockwise; of a disc, of a polygon in it.
    centre : (d, 2) float64, m
    radius : (d,) float64, m
        Discs that cover it, round the point that moves: what people meet.
    timetable : Timetable
    turning : Turning
    appears : float, s
    vanishes : float, s, or None
    stands_after : float, s
        For how long it must have stood to be closed ground.
    tick : float, s
    layer : int
        Number of the floor on which it moves; -1 where there is one level floor.
    first_tick, last_tick : int
        Ticks in which it is there; a last tick of -1 is none.
    """

    name: str
    disc: float
    corners: NDArray[np.float64]
    centre: NDArray[np.float64]
    radius: NDArray[np.float64]
    timetable: Timetable
    turning: Turning
    appears: float
    vanishes: float | None
    stands_after: float
    tick: float
    first_tick: int
    last_tick: int
    layer: int = -1

    def is_there(self, tick: int) -> bool:
        """Return whether it is there in a tick."""
        return tick >= self.first_tick and (self.last_tick < 0 or tick <= self.last_tick)

    def place(self, tick: int) -> tuple[float, float]:
        """Return where it is at the end of a tick, m."""
        return self.timetable.place(tick * self.tick)

    def direction(self, tick: int) -> tuple[float, float]:
        """Return where its x axis points at the end of a tick, a unit vector; (1, 0) is as it was drawn."""
        return self.turning.direction(tick * self.tick)

    def discs(self, tick: int) -> NDArray[np.float64]:
        """Return where the discs that cover it are at the end of a tick, (d, 2) m."""
        return np.array(self.place(tick)) + _turned(self.centre, self.direction(tick))

    def is_closed(self, tick: int) -> bool:
        """Return whether paths are looked for round it in a tick:
        it stands, does not turn, and has stood for long enough.
        """
        begin, end = (tick - 1) * self.tick, tick * self.tick
        return (
            self.turning.speed == 0.0
            and self.is_there(tick)
            and self.timetable.stands(begin, end, self.appears, self.stands_after)
        )

    def will_open(self, tick: int) -> bool:
        """Return whether it stands in a tick and will go on or vanish."""
        return self.is_closed(tick) and (
            self.last_tick >= 0 or np.isfinite(self.timetable.next_move(tick * self.tick))
        )

    def will_go_on(self, tick: int) -> bool:
        """Return whether it moves or turns after a tick, or vanishes then."""
        return (
            self.last_tick >= 0
            or self.turning.speed != 0.0
            or bool(np.isfinite(self.timetable.next_move(tick * self.tick)))
        )

    def outline(self, tick: int) -> Any:
        """Return the ground that it covers in the middle of a tick, a shapely Polygon in metres:
        wherever in a stand that is, the same to the last bit.
        """
        time = (tick - 0.5) * self.tick
        return shapely.Polygon(
            _turned(self.corners, self.turning.direction(time)) + np.array(self.timetable.place(time))
        )


def _turned(points: NDArray[np.float64], direction: tuple[float, float]) -> NDArray[np.float64]:
    """Return points round the origin turned so that the x axis points in a direction;
    written out, since a matrix product may differ between processors.
    """
    if direction == AS_DRAWN:
        return points
    x, y = points[:, 0], points[:, 1]
    return np.column_stack([direction[0] * x - direction[1] * y, direction[1] * x + direction[0] * y])


def resolve_obstacles(
    shapes: Sequence[ObstacleShape],
    geometry: Geometry,
    floors: FloorNames,
    tick: float | None,
    area_names: Sequence[str],
    problems: Problems,
) -> tuple[Obstacle, ...]:
    """Return the obstacles of a scenario in the order of their names;
    what is wrong with them is added to the problems.
    """
    found: dict[str, Obstacle] = {}
    for index, shape in enumerate(shapes):
        path: Path = ("obstacles", index)
        if shape.name in found:
            problems.add(
                (*path, "name"),
                f'there is an obstacle "{shape.name}" already',
                "Events and pictures tell them apart by their names.",
            )
        if shape.name in area_names:
            problems.add(
                (*path, "name"), f'there is an area "{shape.name}" already', "Give the obstacle another name."
            )
        timetable = _timetable(shape, path, problems)
        parts = _parts(shape, path, problems)
        if timetable is None or parts is None or tick is None:
            continue
        if shape.vanishes is not None and shape.vanishes <= shape.appears:
            problems.add(
                (*path, "vanishes"),
                f"it vanishes at {shape.vanishes:g} s, but appears at {shape.appears:g} s only",
                "Let it vanish later.",
            )
            continue
        layer = floors.layer(shape, path, shapely.Point(timetable.points[0]))
        if layer >= 0 and geometry.floors[layer].flight is not None:
            problems.add(
                (*path, ("storey" if shape.storey is not None else "height")),
                f'"{geometry.floor_names[layer]}" leads up, and obstacles move on level ground',
                "Name a storey.",
                key=True,
            )
        _check_path(
            timetable, geometry.floors[layer].ground if layer >= 0 else geometry.walkable, path, problems
        )
        turning = _turning(shape, timetable, parts[1], parts[2], path, problems)
        first, last = (
            int(ticks_in(shape.appears, tick)) + 1,
            -1 if shape.vanishes is None else int(ticks_in(shape.vanishes, tick)),
        )
        found[shape.name] = Obstacle(
            shape.name, float(shape.shape.disc) if isinstance(shape.shape, DiscShape) else 0.0, *parts,
            timetable, turning, float(shape.appears),
            None if shape.vanishes is None else float(shape.vanishes), float(shape.stands_after), float(tick),
            first, last, layer,
        )  # fmt: skip
    return tuple(found[name] for name in sorted(found))


def _parts(
    shape: ObstacleShape, path: Path, problems: Problems
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]] | None:
    """Return outline and discs of an obstacle."""
    if isinstance(shape.shape, DiscShape):
        radius = float(shape.shape.disc)
        if radius > 20.0:
            problems.add(
                (*path, "shape", "disc"),
                f"the radius is {radius:g} m, but may be at most 20 m",
                "Cut larger things out of the ground as areas.",
            )
            return None
        return circle_corners((0.0, 0.0), radius, OUTLINE_CORNERS), np.zeros((1, 2)), np.array([radius])
    at: Path = (*path, "shape", "polygon")
    given = shapely.Polygon(shape.shape.polygon)
    if not given.is_valid or given.area < 1e-4:
        problems.add(
            at,
            "the corners make no area: sides cross, or it is smaller than 1 cm2",
            "List the corners one after the other round it.",
        )
        return None
    hull = given.convex_hull
    if hull.area > given.area * (1.0 + 1e-9):
        message = f"the polygon is not convex: it has {given.area:.4g} m2 and its hull {hull.area:.4g}"
        problems.add(at, message, "Make several obstacles of it that go the same path.")
        return None
    corners = shapely.get_coordinates(shapely.orient_polygons(shapely.simplify(given, 0.0)))[:-1] + 0.0
    centre, radius_of = cover(corners)
    if len(centre) > MAX_DISCS:
        message = (
            f"its {given.area:.4g} m2 take {len(centre):,} discs that stick out by at most {BEYOND_M:g} m, "
            f"but there may be at most {MAX_DISCS}"
        )
        problems.add(at, message, "Make it smaller, or a disc.")
        return None
    return corners, centre, radius_of


def _turning(
    shape: ObstacleShape,
    timetable: Timetable,
    centre: NDArray[np.float64],
    radius: NDArray[np.float64],
    path: Path,
    problems: Problems,
) -> Turning:
    """Return how an obstacle turns."""
    if shape.turns is None:
        return Turning(timetable)
    if isinstance(shape.shape, DiscShape):
        problems.add(
            (*path, "turns"),
            "a disc looks the same however it turns",
            "Leave turns out, or give a polygon.",
            key=True,
        )
    elif shape.turns == "path":
        if len(np.unique(timetable.points, axis=0)) < 2:
            problems.add(
                (*path, "turns"),
                "the path has one point, and leads nowhere",
                "Give another point, or a speed of turning.",
                key=True,
            )
        return Turning(timetable, along_path=True, turn_time=float(shape.turn_time))
    elif shape.turns == 0.0:
        problems.add((*path, "turns"), "a speed of 0 rad/s turns nothing", "Leave turns out.", key=True)
    else:
        speed = float(shape.turns)
        rim = abs(speed) * float((hypots(centre[:, 0], centre[:, 1]) + radius).max())
        if rim > _MOST_SPEED:
            problems.add(
                (*path, "turns"),
                f"its rim would move at {rim:.4g} m/s, but at most {_MOST_SPEED:g} are possible",
                "Let it turn more slowly.",
            )
        return Turning(timetable, speed, float(shape.appears))
    return Turning(timetable)


def _timetable(shape: ObstacleShape, path: Path, problems: Problems) -> Timetable | None:
    """Return when the obstacle is where; None after a problem was added."""
    points, waits = [], []
    for each in shape.path:
        here = each.point if isinstance(each, WaypointShape) else each
        points.append((float(here[0]) + 0.0, float(here[1]) + 0.0))
        waits.append(float(each.wait) if isinstance(each, WaypointShape) else 0.0)
    if shape.times is not None:
        return _timetable_of_times(shape, points, waits, path, problems)
    if len(set(points)) > 1 and shape.speed is None:
        problems.add(
            path,
            "says neither how fast it moves nor when it is where",
            "Give speed, or times for the points of the path.",
        )
        return None
    if shape.loop:
        if len(set(points)) < 2:
            problems.add(
                (*path, "loop"),
                "a loop needs two different points",
                "Leave loop out; it stands at its point anyhow.",
                key=True,
            )
            return None
        points, waits = [*points, points[0]], [*waits, 0.0]
    times, where, now = [float(shape.appears)], [points[0]], float(shape.appears)
    for number, point in enumerate(points):
        if number and point != points[number - 1]:
            assert shape.speed is not None
            now += float(hypots(point[0] - points[number - 1][0], point[1] - points[number - 1][1])) / float(
                shape.speed
            )
            times.append(now)
            where.append(point)
        if waits[number] > 0.0:
            now += waits[number]
            times.append(now)
            where.append(point)
    return Timetable(np.array(times), np.array(where), shape.loop)


def _timetable_of_times(
    shape: ObstacleShape,
    points: list[tuple[float, float]],
    waits: list[float],
    path: Path,
    problems: Problems,
) -> Timetable | None:
    times = np.array(shape.times, dtype=np.float64)
    at: Path = (*path, "times")
    if shape.speed is not None:
        problems.add(at, "times and speed are both given", "Keep one of them.", key=True)
    elif any(waits):
        problems.add(
            at,
            "times are given, and points with wait",
            "To stand there, list the point twice with two times.",
            key=True,
        )
    elif len(times) != len(points):
        problems.add(at, f"there are {len(times):,} times for {len(points):,} points", "Give one for each.")
    elif np.any(np.diff(times) <= 0.0):
        place = int(np.flatnonzero(np.diff(times) <= 0.0)[0]) + 1
        problems.add(
            (*at, place), f"{times[place]:g} s comes after {times[place - 1]:g} s", "Times must ascend."
        )
    elif shape.loop and (len(points) < 3 or points[0] != points[-1]):
        problems.add(
            (*path, "loop"),
            "with times, a loop has to end where it begins",
            "Give the first point again at the end, with its time.",
            key=True,
        )
    else:
        timetable = Timetable(times, np.array(points), shape.loop)
        if timetable.top_speed() <= _MOST_SPEED:
            return timetable
        problems.add(
            at,
            (
                f"it would have to move at {timetable.top_speed():.4g} m/s, but at most {_MOST_SPEED:g} are "
                "possible"
            ),
            "Give it more time.",
        )
    return None


def _check_path(timetable: Timetable, ground: Any, path: Path, problems: Problems) -> None:
    """Report a path that leaves the ground, a shapely geometry in metres."""
    points = timetable.points
    line = shapely.Point(points[0]) if len(np.unique(points, axis=0)) == 1 else shapely.LineString(points)
    off = shapely.difference(line, shapely.buffer(ground, _TOLERANCE_M))
    if off.is_empty:
        return
    x, y = shapely.get_coordinates(off)[0].tolist()
    problems.add(
        (*path, "path"),
        (
            f"the path leaves the walkable ground at ({number_text(round(x, 3) + 0.0)}, "
            f"{number_text(round(y, 3) + 0.0)})"
        ),
        "Keep its points and the straight lines between them on ground that one can walk on.",
    )


def grounds_of_obstacles(obstacles: Sequence[Obstacle], most_ticks: int) -> list[tuple[int, int, bool]]:
    """Return (tick, index, whether it is closed from then on) whenever an obstacle becomes closed ground or
    open again, as the ticks go.

    Parameters
    ----------
    obstacles : sequence of Obstacle
    most_ticks : int
        How far to look.
    """
    found = []
    for index, each in enumerate(obstacles):
        was = False
        for tick in range(each.first_tick, most_ticks + 1):
            now = each.is_closed(tick)
            if now != was:
                found.append((tick, index, now))
                was = now
            if each.last_tick >= 0 and tick > each.last_tick:
                break
    return sorted(found)


def obstacle_data(obstacle: Obstacle, floors: Sequence[str] = ()) -> dict[str, Any]:
    """Return an obstacle as a scenario file has it, with every default written out;
    `floors` are the names of several floors.
    """
    data: dict[str, Any] = {
        "name": obstacle.name,
        "shape": {"disc": obstacle.disc} if obstacle.disc > 0.0 else {"polygon": obstacle.corners.tolist()},
        "path": obstacle.timetable.points.tolist(),
        "times": obstacle.timetable.times.tolist(),
        "appears": obstacle.appears,
    }
    if obstacle.layer >= 0:
        data["storey"] = floors[obstacle.layer]
    if obstacle.vanishes is not None:
        data["vanishes"] = obstacle.vanishes
    if obstacle.turning.along_path:
        data |= {"turns": "path", "turn_time": obstacle.turning.turn_time}
    elif obstacle.turning.speed != 0.0:
        data["turns"] = obstacle.turning.speed
    return {**data, "loop": obstacle.timetable.loops, "stands_after": obstacle.stands_after}
