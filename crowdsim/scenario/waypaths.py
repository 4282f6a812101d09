"""Waypaths: drawn lines along which agents walk, since a metre there costs less than a metre elsewhere
([Smith 2002], "innate waypaths").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.scenario.connections import Connection
from crowdsim.scenario.geometry import FloorNames, Geometry
from crowdsim.scenario.limits import MAX_AGENTS, MAX_ON_WAYPATHS
from crowdsim.scenario.schema_connections import WaypathShape, WaypointShape
from crowdsim.scenario.tree import Path, Problems, listed, suggestion

PIECES = 16  # Of a spline between two waypoints.
_LEAST_M = 0.05  # Between two waypoints.
_OFF_M = 1e-6  # Rounding.
CROUCHING = 0.5  # In place of a factor of speed, where one crouches and the file says none.


@dataclass(frozen=True)
class Waypoint:
    """What agents do when they come to a waypoint.

    Attributes
    ----------
    speed : float
        How fast they go on, as a factor of the speed that they like; nan: as before.
    wait : float, s
        How long they stand there.
    crouch : bool or None
        Whether they go on crouching; None: as before.
    """

    speed: float = float("nan")
    wait: float = 0.0
    crouch: bool | None = None

    @property
    def is_silent(self) -> bool:
        """Whether they just walk on."""
        return self == Waypoint() or (np.isnan(self.speed) and not self.wait and self.crouch is None)


@dataclass(frozen=True, eq=False)
class Waypath:
    """A drawn line.

    Attributes
    ----------
    name : str
    line : (n, 2) float64, m
        Its corners; of a spline, so many points of it.
    along : (n,) float64, m
        How far each is along the line.
    waypoint : (w,) int64
        Which corners are waypoints: where agents join it and leave it.
    what : tuple of Waypoint
        What they do there.
    layer : int
        Floor; -1 where there is one level floor.
    one_way : bool
        Whether they go from the first waypoint to the last alone.
    factor : float
        What a metre on it costs beside a metre elsewhere.
    groups : tuple of str
        Whose agents use it; empty: all.
    written : dict
        As a scenario says it, defaults filled in.
    """

    name: str
    line: NDArray[np.float64]
    along: NDArray[np.float64]
    waypoint: NDArray[np.int64]
    what: tuple[Waypoint, ...]
    layer: int
    one_way: bool
    factor: float
    groups: tuple[str, ...]
    written: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fastest(self) -> float:
        """The greatest factor of speed that it asks for, at least 1."""
        return max(1.0, *(what.speed for what in self.what if what.speed > 1.0), 1.0)

    def connection(self) -> Connection:
        """Return it as what takes agents from waypoint to waypoint: on foot."""
        return Connection(
            name=self.name,
            kind="waypath",
            ends=(),
            seconds=(0.0,),
            capacity=MAX_AGENTS,
            one_way=self.one_way,
            knows="none",
            waypath=self,
        )

    def rest_of(
        self, begin: float, end: float, apart: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return places along it from one point of it to another, both by how far along they are (m), at most
        so far apart (m), and unit vectors along it in that direction; (k, 2) each.
        """
        count = max(1, int(np.ceil(abs(end - begin) / apart)))
        at = begin + (end - begin) * np.arange(count + 1) / count
        place = np.column_stack([np.interp(at, self.along, axis) for axis in self.line.T])
        forward = np.sign(end - begin) or 1.0
        part = np.clip(np.searchsorted(self.along, at, side="right") - 1, 0, len(self.line) - 2)
        step = forward * (self.line[part + 1] - self.line[part])
        return place, step / hypots(*step.T)[:, None]


def fastest_factor(shapes: Mapping[str, WaypathShape], group: str) -> float:
    """Return the greatest factor of speed that waypaths ask of the agents of a group, at least 1."""
    return max(
        (
            float(point.speed)
            for shape in shapes.values()
            if not shape.groups or group in shape.groups
            for point in shape.points
            if isinstance(point, WaypointShape) and point.speed is not None and point.speed > 1.0
        ),
        default=1.0,
    )


def resolve_waypaths(
    shapes: Mapping[str, WaypathShape],
    geometry: Geometry | None,
    floors: FloorNames,
    widest: Mapping[str, float],
    names: set[str],
    problems: Problems,
) -> tuple[Waypath, ...]:
    """Return the waypaths of a scenario, ascending by name; add a problem for each that cannot be.

    Parameters
    ----------
    shapes : mapping of str to WaypathShape
    geometry : Geometry or None
    floors : FloorNames
    widest : mapping of str to float
        The greatest radius (m) of the agents of each group.
    names : set of str
        What connections are called.
    problems : Problems
    """
    count = sum(len(shape.points) for shape in shapes.values())
    if count > MAX_ON_WAYPATHS:
        problems.add(
            ("waypaths",),
            f"{count:,} waypoints, but there may be at most {MAX_ON_WAYPATHS:,}",
            "Agents join and leave at waypoints, and all pairs of them are looked at: draw fewer. A spline "
            "(smooth: true) needs fewer to go round a corner.",
        )
        return ()
    found = []
    for name in sorted(shapes):
        if name in names:
            problems.add(
                ("waypaths", name), f'there is a connection "{name}" already', "Choose another name."
            )
        waypath = _resolved(name, shapes[name], floors, sorted(widest), problems)
        if waypath is not None:
            users = waypath.groups or tuple(widest)
            radius = max((widest[group] for group in users if group in widest), default=0.0)
            if geometry is not None:
                _check_ground(waypath, geometry, radius, problems)
            found.append(waypath)
    return tuple(found)


def _resolved(
    name: str, shape: WaypathShape, floors: FloorNames, groups: Sequence[str], problems: Problems
) -> Waypath | None:
    path: Path = ("waypaths", name)
    for number, group in enumerate(shape.groups or ()):
        if group not in groups:
            problems.add(
                (*path, "groups", number),
                f'there is no group "{group}"',
                f"{suggestion(group, groups)} Known are {listed(groups)}.".strip(),
            )
    points = [_point(each) for each in shape.points]
    corner = np.array([[float(x) + 0.0, float(y) + 0.0] for x, y in (point for point, _ in points)])
    apart = hypots(*np.diff(corner, axis=0).T)
    if (apart < _LEAST_M).any():
        number = int(np.argmin(apart)) + 1
        problems.add(
            (*path, "points", number),
            f"is {apart[number - 1]:.3g} m from the waypoint before, but has to be at least {_LEAST_M:g} m "
            "from it",
        )
        return None
    if shape.one_way and not points[-1][1].is_silent:
        problems.add(
            (*path, "points", len(points) - 1),
            "nothing comes of what agents do at the last waypoint: they leave it there",
            "Say it at the one before.",
        )
    layer = floors.layer(shape, path, shapely.Point(corner[0]))
    line = _spline(corner) if shape.smooth else corner
    waypoint = np.arange(len(corner)) * (PIECES if shape.smooth else 1)
    along = np.concatenate([[0.0], np.cumsum(hypots(*np.diff(line, axis=0).T))])
    written = {
        "points": [_written(point, what) for point, what in points],
        "one_way": shape.one_way,
        "factor": float(shape.factor),
        "smooth": shape.smooth,
        **({"groups": list(shape.groups)} if shape.groups else {}),
    }
    return Waypath(
        name, line, along, waypoint, tuple(what for _, what in points), layer, shape.one_way,
        float(shape.factor), tuple(shape.groups or ()), written,
    )  # fmt: skip


def _point(given: Any) -> tuple[tuple[float, float], Waypoint]:
    if not isinstance(given, WaypointShape):
        return (float(given[0]), float(given[1])), Waypoint()
    speed = float("nan") if given.speed is None else float(given.speed)
    if given.crouch and given.speed is None:
        speed = CROUCHING
    if given.crouch is False and given.speed is None:
        speed = 1.0
    x, y = given.at
    return (float(x), float(y)), Waypoint(speed, float(given.wait), given.crouch)


def _written(point: tuple[float, float], what: Waypoint) -> Any:
    if what.is_silent:
        return list(point)
    found: dict[str, Any] = {"at": list(point)}
    if not np.isnan(what.speed):
        found["speed"] = what.speed
    if what.wait:
        found["wait"] = what.wait
    if what.crouch is not None:
        found["crouch"] = what.crouch
    return found


def _spline(corner: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return points of a centripetal Catmull-Rom spline through some points, (k, 2), `PIECES` for each piece:
    it has no loops or cusps between them [Yuksel 2011].
    """
    ends = np.concatenate([[2.0 * corner[0] - corner[1]], corner, [2.0 * corner[-1] - corner[-2]]])
    knot = np.concatenate([[0.0], np.cumsum(np.sqrt(hypots(*np.diff(ends, axis=0).T)))])
    found = []
    for k in range(len(corner) - 1):
        p, t = ends[k : k + 4], knot[k : k + 4]
        at = (t[1] + (t[2] - t[1]) * np.arange(PIECES) / PIECES)[:, None]

        def between(a: Any, b: Any, i: int, j: int, t: Any = t, at: Any = at) -> Any:
            return ((t[j] - at) * a + (at - t[i]) * b) / (t[j] - t[i])

        first = [between(p[i], p[i + 1], i, i + 1) for i in range(3)]
        second = [between(first[i], first[i + 1], i, i + 2) for i in range(2)]
        found.append(np.round(between(second[0], second[1], 1, 2), 9))
    return np.concatenate([*found, corner[-1:]])


def _check_ground(waypath: Waypath, geometry: Geometry, radius: float, problems: Problems) -> None:
    """Report waypoints, and pieces between them, on which the widest agent has no room."""
    ground = geometry.grounds[max(0, waypath.layer)]
    walls = ground.boundary
    path: Path = ("waypaths", waypath.name, "points")
    for number, corner in enumerate(waypath.waypoint.tolist()):
        spot = shapely.Point(waypath.line[corner])
        x, y = waypath.line[corner].tolist()
        if shapely.distance(ground, spot) > _OFF_M:
            near = shapely.shortest_line(ground, spot).coords[0]
            problems.add(
                (*path, number),
                f"({x:g}, {y:g}) is off the walkable ground",
                f"The nearest point of the ground is ({near[0]:.6g}, {near[1]:.6g}).",
            )
            return
    for number, (first, last) in enumerate(
        zip(waypath.waypoint[:-1].tolist(), waypath.waypoint[1:].tolist(), strict=True), 1
    ):
        piece = shapely.LineString(waypath.line[first : last + 1])
        off = shapely.difference(piece, shapely.buffer(ground, _OFF_M)).length
        if off > 0.0:
            problems.add(
                (*path, number),
                f"{off:.3g} m of the line from the waypoint before are off the walkable ground",
                "Draw it round what is in the way.",
            )
            return
        room = shapely.distance(walls, piece)
        if room < radius - _OFF_M:
            problems.add(
                (*path, number),
                f"the line from the waypoint before comes as near as {room:.3g} m to a wall, but the widest "
                f"agent that uses it has a radius of {radius:.3g} m",
                "Draw it farther off, or name the groups that use it: groups: [...].",
            )
            return
