"""What takes agents from one place to another: passages, ladders, lifts, doors with keys, escalators,
drops.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import shapely

from crowdsim.scenario import schema_connections as schema
from crowdsim.scenario.area_reader import AreaReader
from crowdsim.scenario.geometry import FloorNames, Geometry
from crowdsim.scenario.limits import MAX_AGENTS
from crowdsim.scenario.shapes import wkt_of
from crowdsim.scenario.tree import Path, Problems, listed, suggestion

_LEAST_HEIGHT_M = 0.1  # Between two stops of a lift that has a speed.
_ONE_WAY = ("escalator", "drop", "jump")
GRAVITY_M_S2 = 9.81


@dataclass(frozen=True, eq=False)
class End:
    """An end of a connection, or a stop of a lift.

    Attributes
    ----------
    area : shapely Polygon or MultiPolygon, m
        Where agents come out.
    line : tuple of (x, y), m
        Where those stand that wait, from its head on; empty: round the area.
    layer : int
        Number of the floor; -1 where there is one level floor.
    """

    area: Any
    line: tuple[tuple[float, float], ...] = ()
    layer: int = -1


@dataclass(frozen=True, eq=False)
class Connection:
    """What takes agents from one end to another.

    Attributes
    ----------
    name : str
    kind : str
        ``passage``, ``ladder``, ``lift``, ``door``, ``escalator`` or ``drop``; ``jump``: a portal that a jump
        leaves for a while.
    ends : tuple of End
        Two, or the stops of a lift from the lowest to the highest; none of a jump: they change.
    seconds : tuple of float, s
        How long it takes from each end to the next; through a door 0: an agent goes at its own speed.
    capacity : int
        How many it takes at once.
    headway : float, s
        From one that goes in to the next at the same end.
    one_way : bool
    key : str
        That opens a door; empty where none is needed.
    opening, stays_open : float, s
        Of a door.
    doors, dwell, transfer : float, s
        Of a lift.
    knows : str
        Which agents count those that wait: ``all``, ``seen``: those that see the place, or ``none``.
    waypath : Waypath or None
        Whose waypoints are its ends, if it is one: `crowdsim.scenario.waypaths`.
    written : dict
        What the file says beside the ends, defaults filled in.
    """

    name: str
    kind: str
    ends: tuple[End, ...]
    seconds: tuple[float, ...]
    capacity: int
    headway: float = 0.0
    one_way: bool = False
    key: str = ""
    opening: float = 0.0
    stays_open: float = 0.0
    doors: float = 0.0
    dwell: float = 0.0
    transfer: float = 0.0
    knows: str = "all"
    waypath: Any = None
    written: Mapping[str, Any] = field(default_factory=dict)

    def is_open_to(self, keys: Sequence[str], excluded: Sequence[str], group: str = "") -> bool:
        """Return whether agents use it that have some keys, and exclude some connections or kinds; of a
        waypath, if they are of one of its groups.
        """
        if self.waypath is not None and self.waypath.groups and group and group not in self.waypath.groups:
            return False
        return (not self.key or self.key in keys) and not {self.name, self.kind} & set(excluded)

    @property
    def is_drop(self) -> bool:
        """Whether agents drop over an edge, each where it comes to it, and none waits for others."""
        return self.kind == "drop"

    @property
    def is_jump(self) -> bool:
        """Whether it is a portal that lies there for a while, where an agent has jumped."""
        return self.kind == "jump"

    @property
    def is_shared(self) -> bool:
        """Whether all that are on it go in one direction."""
        return self.kind == "ladder"

    def pairs(self) -> list[tuple[int, int]]:
        """Return from which ends it leads to which."""
        if self.waypath is not None:
            ends = range(len(self.waypath.waypoint))
            return [(a, b) for a in ends for b in ends if a < b or (a > b and not self.one_way)]
        return directions(len(self.ends), one_way=self.one_way)


def directions(ends: int, *, one_way: bool) -> list[tuple[int, int]]:
    """Return from which of so many ends a connection leads to which."""
    if one_way:
        return [(0, 1)]
    return [(a, b) for a in range(ends) for b in range(ends) if a != b]


def is_one_way(kind: str, shape: Any) -> bool:
    """Return whether a connection of a kind, as the file has it, leads only from its first end to its
    second.
    """
    return kind in _ONE_WAY or bool(getattr(shape, "one_way", False))


def fall_s(fall: float) -> float:
    """Return how long it takes to fall so far (m) from rest, s."""
    return math.sqrt(2.0 * fall / GRAVITY_M_S2)


def resolve_connections(
    shapes: dict[str, schema.CarrierShape],
    geometry: Geometry | None,
    reader: AreaReader,
    floors: FloorNames,
    problems: Problems,
) -> tuple[Connection, ...]:
    """Return the connections of a scenario, ascending by name; add a problem for each that cannot be."""
    found = []
    for name in sorted(shapes):
        path: Path = ("connections", name)
        given = [kind for kind in schema.KINDS if getattr(shapes[name], kind) is not None]
        if len(given) != 1:
            said = f"{listed(given)} are given" if given else "nothing says what it is"
            problems.add(
                path, f"{said}, but a connection is one thing", f"Give one of {listed(schema.KINDS)}."
            )
            continue
        connection = _resolved(
            name,
            given[0],
            getattr(shapes[name], given[0]),
            (*path, given[0]),
            geometry,
            reader,
            floors,
            problems,
        )
        found += [connection] if connection is not None else []
    return tuple(found)


def _resolved(
    name: str,
    kind: str,
    shape: Any,
    path: Path,
    geometry: Geometry | None,
    reader: AreaReader,
    floors: FloorNames,
    problems: Problems,
) -> Connection | None:
    key = "stops" if kind == "lift" else "ends"
    ends = [
        _end(each, (*path, key, number), reader, floors) for number, each in enumerate(getattr(shape, key))
    ]
    if any(end is None for end in ends):
        return None
    known = tuple(end for end in ends if end is not None)
    if kind == "drop" and any(end.line for end in known):
        number = next(number for number, end in enumerate(known) if end.line)
        problems.add(
            (*path, key, number, "line"),
            "nobody waits in a line at an edge: agents drop from places all along it",
            "Leave it out.",
            key=True,
        )
        return None
    seconds = _times(kind, shape, known, path, geometry, problems)
    if seconds is None:
        return None
    written = {name: value for name, value in shape if name not in ("ends", "stops")}
    return Connection(
        name=name,
        kind=kind,
        ends=known,
        seconds=seconds,
        capacity=getattr(shape, "capacity", MAX_AGENTS),
        headway=float(getattr(shape, "headway", 0.0)),
        one_way=is_one_way(kind, shape),
        key=getattr(shape, "key", ""),
        opening=float(getattr(shape, "opening", 0.0)),
        stays_open=float(getattr(shape, "stays_open", 0.0)),
        doors=float(getattr(shape, "doors", 0.0)),
        dwell=float(getattr(shape, "dwell", 0.0)),
        transfer=float(getattr(shape, "transfer", 0.0)),
        knows=getattr(shape, "knows", None) or "all",
        written={each: value for each, value in written.items() if value is not None},
    )


def _end(shape: schema.EndShape, path: Path, reader: AreaReader, floors: FloorNames) -> End | None:
    area = reader.united(shape.area, (*path, "area"))
    if area is None:
        return None
    line = tuple((float(x) + 0.0, float(y) + 0.0) for x, y in shape.line or ())
    return End(area, line, floors.layer(shape, path, area))


def _times(
    kind: str,
    shape: Any,
    ends: Sequence[End],
    path: Path,
    geometry: Geometry | None,
    problems: Problems,
) -> tuple[float, ...] | None:
    """Return how long it takes from each end to the next, s; None after a problem was added."""
    if kind == "passage":
        return (float(shape.time),)
    if kind == "ladder":
        return (float(shape.climb) / float(shape.speed),)
    if kind == "escalator":
        return (float(shape.length) / float(shape.speed),)
    if kind == "drop":
        return (fall_s(float(shape.fall)),)
    if kind == "door":  # by the agent's own speed
        return (0.0,)
    gaps = len(ends) - 1
    if shape.times is not None:
        if len(shape.times) == gaps:
            return tuple(float(each) for each in shape.times)
        problems.add(
            (*path, "times"),
            f"{len(shape.times)} times for {len(ends)} stops",
            f"Give {gaps}, from each stop to the next.",
        )
        return None
    heights = [geometry.floors[end.layer].elevation if geometry and geometry.floors else 0.0 for end in ends]
    steps = [above - below for below, above in itertools.pairwise(heights)]
    for number, step in enumerate(steps):
        if step < _LEAST_HEIGHT_M and geometry is not None:
            problems.add(
                (*path, "stops", number + 1),
                f"lies {step:g} m above the stop before, so its speed says no time",
                "Name the stops from the lowest to the highest, or give times: [...] from stop to stop, s.",
            )
            return None
    return tuple(step / float(shape.speed) for step in steps)


def check_keys(
    keys: Mapping[int, Sequence[str]], connections: Sequence[Connection], problems: Problems
) -> None:
    """Report keys that open nothing; `keys` are those of groups, by their places in the file."""
    known = {each.key for each in connections if each.key}
    way_out = "Give a door this key under connections."
    _check_names(keys, "keys", "no door has the key", known, way_out, problems)


def check_excluded(
    excluded: Mapping[int, Sequence[str]], connections: Sequence[Connection], problems: Problems
) -> None:
    """Report what groups exclude that is no connection here; `excluded` is by their places in the file."""
    known = {name for each in connections for name in (each.name, each.kind)}
    what, way_out = "no connection has the name or the kind", "There are no connections here: leave it out."
    _check_names(excluded, "excludes", what, known, way_out, problems)


def _check_names(
    given: Mapping[int, Sequence[str]],
    key: str,
    what: str,
    names: set[str],
    way_out: str,
    problems: Problems,
) -> None:
    known = sorted(names)
    for index, own in given.items():
        for number, name in enumerate(own):
            if name not in names:
                problems.add(
                    ("groups", index, key, number),
                    f'{what} "{name}"',
                    f"{suggestion(name, known)} Known are {listed(known)}.".strip() if known else way_out,
                )


def connection_data(connection: Connection, storeys: Sequence[str]) -> dict[str, Any]:
    """Return a connection as a scenario says it."""
    ends = [
        {
            "area": [{"wkt": wkt_of(part)} for part in shapely.get_parts(end.area)],
            **({"line": [list(point) for point in end.line]} if end.line else {}),
            **({"storey": storeys[end.layer]} if end.layer >= 0 else {}),
        }
        for end in connection.ends
    ]
    return {connection.kind: {"stops" if connection.kind == "lift" else "ends": ends, **connection.written}}
