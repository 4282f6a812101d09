"""Events of a scenario: areas are opened and closed, parts of a soup and tiles taken out and put back, agents
made wider, signals given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import shapely

from crowdsim.scenario import schema
from crowdsim.scenario.geometry import FloorNames, Geometry
from crowdsim.scenario.model import (
    AreaChange,
    Change,
    Event,
    Group,
    Inside,
    RadiusChange,
    SignalChange,
    TileChange,
)
from crowdsim.scenario.recorded import check_agents
from crowdsim.scenario.timetable import ticks_in
from crowdsim.scenario.tree import Path, Problems, listed, suggestion

WHEN = ("at", "when")
WHAT = (
    "open",
    "close",
    "add_part",
    "remove_part",
    "remove_tile",
    "add_tile",
    "set_radius",
    "signal",
    "end_signal",
)


def resolve_events(
    shapes: Sequence[schema.EventShape],
    geometry: Geometry,
    groups: Sequence[Group],
    tick: float | None,
    tile_size: float,
    areas: Mapping[str, tuple[Any, int]],
    problems: Problems,
) -> tuple[Event, ...]:
    """Return the events of a scenario; what is wrong with them is added to the problems.

    Parameters
    ----------
    shapes : sequence of EventShape
    geometry : Geometry
    groups : sequence of Group
    tick : float, s, or None
        None where it has problems.
    tile_size : float, m
        0 where the ground is in one piece.
    areas : mapping of str to (shapely geometry in m, int)
        Areas in which agents can be counted, with the numbers of their floors.
    problems : Problems
    """
    found = []
    for index, shape in enumerate(shapes):
        path: Path = ("events", index)
        when, what = (
            _only_one(shape, WHEN, "when it happens", path, problems),
            _only_one(shape, WHAT, "what happens", path, problems),
        )
        if not when or not what:
            continue
        if shape.agents is not None and what != "set_radius":
            problems.add(
                (*path, "agents"),
                f"{what} asks for no agents",
                "Leave agents out; set_radius has them.",
                key=True,
            )
        change = _change(shape, what, path, geometry, groups, tile_size, problems)
        if change is None:
            continue
        event = Event(change, place=problems.root.place_of(path))
        found.append(_timed(event, shape, path, geometry, groups, tick, areas, problems))
    return tuple(found)


def _change(
    shape: schema.EventShape,
    key: str,
    path: Path,
    geometry: Geometry,
    groups: Sequence[Group],
    tile_size: float,
    problems: Problems,
) -> Change | None:
    """Return what happens, or None where that cannot be."""
    if key in ("open", "close", "add_part", "remove_part"):
        is_of_part, name = key.endswith("_part"), getattr(shape, key)
        places = {area.name: place for place, area in enumerate(geometry.areas) if area.is_part == is_of_part}
        if name in places:
            return AreaChange(places[name], key in ("open", "add_part"), is_of_part)
        what, where = ("part", "geometry.soup.parts") if is_of_part else ("area", "geometry.areas")
        problems.add(
            (*path, key),
            f'there is no {what} "{name}"',
            (
                f"{suggestion(name, list(places))} Known are {listed(list(places))}.".strip()
                if places
                else f"Declare it under {where}."
            ),
        )
        return None
    if key == "set_radius":
        if shape.agents is None:
            problems.add(
                path, "set_radius does not say which agents", "Give agents, a list of ids and groups."
            )
            return None
        check_agents((*path, "agents"), shape.agents, groups, problems)
        assert shape.set_radius is not None
        return RadiusChange(tuple(shape.agents), float(shape.set_radius))
    if key in ("signal", "end_signal"):
        return SignalChange(getattr(shape, key), key == "signal")
    if not tile_size > 0.0:
        problems.add(
            (*path, key),
            "the ground of this scenario is in one piece",
            "Write navigation: {tile_size: 16}, for example, to have tiles of 16 m.",
            key=True,
        )
        return None
    return _tile_change(getattr(shape, key), key, path, geometry, tile_size, problems)


def _tile_change(
    named: list[int] | schema.TileOnFloorShape,
    key: str,
    path: Path,
    geometry: Geometry,
    tile_size: float,
    problems: Problems,
) -> TileChange | None:
    """Return the change of a tile, or None where it names no floor."""
    goes = key == "remove_tile"
    if isinstance(named, list):
        column, row = named
        if len(geometry.floors) > 1:
            problems.add(
                (*path, key),
                f"[{column}, {row}] says no storey, but the geometry has several floors",
                f"Write {key}: {{storey: ..., tile: [{column}, {row}]}}; floors are "
                f"{listed(geometry.floor_names)}.",
            )
            return None
        return TileChange(column, row, goes, min(0, len(geometry.floors) - 1))
    column, row = named.tile
    if named.height is None or named.storey is not None:
        return TileChange(column, row, goes, FloorNames(geometry, problems).layer(named, (*path, key), None))
    box = shapely.box(*(tile_size * each for each in (column, row, column + 1, row + 1)))
    layer = geometry.floor_in(box, named.height)
    if layer >= 0:
        return TileChange(column, row, goes, layer)
    if geometry.floors:
        message, fix = (
            f"there is no ground in tile [{column}, {row}]",
            f"Tiles are squares of {tile_size:g} m; [0, 0] is the one from (0, 0) to ({tile_size:g}, "
            f"{tile_size:g}).",
        )
    else:
        message, fix = f"{named.height:g} m, but the geometry has one level floor", "Leave it out."
    problems.add((*path, key, "height"), message, fix, key=True)
    return None


def _timed(
    event: Event,
    shape: schema.EventShape,
    path: Path,
    geometry: Geometry,
    groups: Sequence[Group],
    tick: float | None,
    areas: Mapping[str, tuple[Any, int]],
    problems: Problems,
) -> Event:
    """Return an event with when it happens."""
    if shape.at is not None:
        number = int(ticks_in(shape.at, tick)) + 1 if tick is not None else -1
        return replace(event, at=float(shape.at), tick=number)
    if isinstance(shape.when, schema.MetShape):
        check_agents((*path, "when", "met"), shape.when.met, groups, problems)
        comer, other = shape.when.met
        return replace(event, met=(comer, other), within=float(shape.when.within), count=shape.when.count)
    if isinstance(shape.when, schema.InsideShape):
        name = shape.when.inside
        if name not in areas:
            known = (
                f"Known are {listed(areas)}." if areas else "Declare a goal that is an area, or a measure."
            )
            problems.add(
                (*path, "when", "inside"),
                f'there is no area "{name}"',
                f"{suggestion(name, areas)} {known}".strip(),
            )
            return event
        area, layer = areas[name]
        inside = Inside(name, area, shape.when.waiting)
        return replace(event, inside=inside, count=shape.when.count, layer=layer)
    assert shape.when is not None
    (ax, ay), (bx, by) = shape.when.crossed
    if ax == bx and ay == by:
        problems.add(
            (*path, "when", "crossed"), "the line has no length: its ends are one point", "Give two points."
        )
    line = (float(ax), float(ay)), (float(bx), float(by))
    layer = FloorNames(geometry, problems).layer(shape.when, (*path, "when"), shapely.LineString(line))
    return replace(event, line=line, count=shape.when.count, layer=layer)


def _only_one(
    shape: schema.EventShape, keys: Sequence[str], what: str, path: Path, problems: Problems
) -> str:
    """Return the one of some keys that is given; "" where none is, or more than one."""
    given = [key for key in keys if getattr(shape, key) is not None]
    if not given:
        problems.add(path, f"the event does not say {what}", f"Give one of {listed(keys)}.")
    elif len(given) > 1:
        problems.add(
            (*path, given[1]),
            f"{given[0]} and {given[1]} are both given",
            "Keep one of them, or write two events.",
            key=True,
        )
    return given[0] if len(given) == 1 else ""
