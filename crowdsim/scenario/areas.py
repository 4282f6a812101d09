"""Areas that are opened and closed while a scenario runs; and terrain, areas that are walked faster or
slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import shapely

from crowdsim.geometry.floor_plans import Terrain
from crowdsim.navigation.grid.layout import Shut
from crowdsim.scenario import schema
from crowdsim.scenario.area_reader import AreaReader
from crowdsim.scenario.geometry import FloorNames, Geometry, ToggledArea, joins_of
from crowdsim.scenario.shapes import GRID_M, cleaned
from crowdsim.scenario.tree import Path, Problems

LEAST_AREA_M2 = 1e-6  # What shares less with the ground only touches it.
# How far from a closed area an exit's edge stays a wall: more than the tolerance of a micrometre with which
# edges are called open.
EXIT_GAP_M = 1e-3
JOIN_GAP_M = 0.01  # What comes nearer to the line along which two floors meet is not cut out of them.


def resolve_areas(
    shape: schema.GeometryShape, geometry: Geometry, reader: AreaReader, problems: Problems
) -> Geometry:
    """Return a geometry with its areas; what is wrong with them is added to the problems."""
    floors = FloorNames(geometry, problems)
    found: dict[str, ToggledArea] = {area.name: area for area in geometry.areas}  # of grid maps
    for index, each in enumerate(shape.areas):
        path: Path = ("geometry", "areas", index)
        if each.name in found:
            problems.add(
                (*path, "name"),
                f'there is an area "{each.name}" already',
                "Events tell areas apart by their names; give another one.",
            )
        area = (
            reader.united(each.area, (*path, "area"))
            if each.area != [] or not shape.resolved
            else shapely.Polygon()
        )
        if area is None:
            continue
        layer = floors.layer(each, path, area)
        if layer < 0 and geometry.floors:
            continue
        ground = geometry.grounds[max(0, layer)]
        if (
            not (shape.resolved and each.shared)
            and shapely.area(shapely.intersection(area, ground)) <= LEAST_AREA_M2
        ):
            problems.add(
                (*path, "area"),
                f'"{each.name}" shares nothing with the walkable ground',
                "Draw it over ground that one can walk on while it is open.",
            )
        if layer >= 0:
            _check_on_storey(each, area, layer, geometry, path, problems)
        found[each.name] = ToggledArea(each.name, area, each.available, each.shared, layer)
    return replace(geometry, areas=tuple(found[name] for name in sorted(found)))


def _check_on_storey(
    shape: schema.ToggledAreaShape, area: Any, layer: int, geometry: Geometry, path: Path, problems: Problems
) -> None:
    """Report an area that cannot be cut out of its floor."""
    floor = geometry.floors[layer]
    if floor.flight is not None:
        problems.add(
            (*path, "storey" if shape.storey is not None else "height"),
            f'"{floor.name}" leads up, and areas are opened and closed on level ground',
            "Name a storey.",
            key=True,
        )
    for join in joins_of(geometry.floors):
        if layer in join.floors and shapely.LineString(join.line).distance(area) <= JOIN_GAP_M:
            other = geometry.floor_names[next(each for each in join.floors if each != layer)]
            problems.add(
                (*path, "area"),
                f'"{shape.name}" touches the line along which "{floor.name}" and "{other}" meet',
                f"That line stays open: keep more than {JOIN_GAP_M:g} m away from it.",
            )
    if shapely.area(shapely.difference(floor.ground, area)) <= LEAST_AREA_M2:
        problems.add(
            (*path, "area"),
            f'"{shape.name}" is all of "{floor.name}", and nothing would be left of it',
            "Leave some ground beside it.",
        )


def closed_areas(areas: Sequence[ToggledArea], available: Sequence[bool]) -> list[Shut]:
    """Return the ground that is closed, area by area, and the parts of a soup that are not there.

    Parameters
    ----------
    areas : sequence of ToggledArea
    available : sequence of bool
        Which of them are open, or there.

    Returns
    -------
    list of Shut
        Of a shared area what no other that is open holds: perhaps nothing, then it is empty.
    """
    opened = [area.area for area, is_open in zip(areas, available, strict=True) if is_open and area.shared]
    found = []
    for number, (area, is_open) in enumerate(zip(areas, available, strict=True)):
        if not is_open and area.is_part:
            found.append(Shut(area.name, shapely.Polygon(), True, part=number))
        elif not is_open:
            near = [each for each in opened if shapely.intersects(each, area.area)] if area.shared else []
            left = (
                cleaned(
                    shapely.difference(area.area, shapely.union_all(near, grid_size=GRID_M), grid_size=GRID_M)
                )
                if near
                else area.area
            )
            found.append(Shut(area.name, left, True, area.layer))
    return found


def closed_at_the_begin(areas: Sequence[ToggledArea]) -> list[Shut]:
    """Return the ground that is closed when a scenario begins, area by area."""
    return closed_areas(areas, [area.available for area in areas])


def parted_ground(ground: Any, closed: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Cut closed areas out of walkable ground.

    Parameters
    ----------
    ground : shapely Polygon or MultiPolygon, m
    closed : sequence of shapely Polygon or MultiPolygon, m
        Where two overlap, the first has the common part.

    Returns
    -------
    shapely Polygon or MultiPolygon
        What is left; perhaps empty.
    list of shapely Polygon or MultiPolygon
        Ground inside each closed area; perhaps empty.
    """
    left, islands = ground, []
    for area in closed:
        islands.append(cleaned(shapely.intersection(left, area, grid_size=GRID_M)))
        left = cleaned(shapely.difference(left, area, grid_size=GRID_M))
    return left, islands


def ground_without(ground: Any, closed: Sequence[Any], exits: Any) -> tuple[Any, Any]:
    """Return what is left of ground while areas are closed, and where its boundary is open.

    Parameters
    ----------
    ground : shapely Polygon or MultiPolygon, m
    closed : sequence of shapely Polygon or MultiPolygon, m
    exits : shapely geometry, or None
        Between a closed area and the rest of the ground there is a wall all the same.
    """
    if not closed:
        return ground, exits
    left, _ = parted_ground(ground, closed)
    if exits is None:
        return left, None
    own = shapely.difference(
        exits, shapely.union_all(list(closed)).buffer(EXIT_GAP_M, join_style="mitre"), grid_size=GRID_M
    )
    return left, None if own.is_empty else own


def resolve_terrain(
    shape: schema.GeometryShape, geometry: Geometry, reader: AreaReader, problems: Problems
) -> Geometry:
    """Return a geometry with its terrain, floor by floor.

    Parameters
    ----------
    shape : GeometryShape
    geometry : Geometry
    reader : AreaReader
    problems : Problems
        Receives areas off the ground, areas that later ones cover, names that come twice.

    Notes
    -----
    Where areas overlap, the last in the list counts, as on a plan that is painted over. Only ground counts.
    """
    floors = FloorNames(geometry, problems)
    found: list[dict[str, Terrain]] = [
        {each.name: each for each in (geometry.terrain[layer] if geometry.terrain else ())}
        for layer in range(len(geometry.grounds))
    ]
    for index, each in enumerate(shape.terrain):
        path = ("geometry", "terrain", index)
        area = reader.united(each.area, (*path, "area"))
        layer = max(0, floors.layer(each, path, area))
        if area is None:
            continue
        if each.name in found[layer]:
            problems.add(
                (*path, "name"),
                f'there is terrain "{each.name}" on that floor already',
                "Give it another name, or list both areas in one.",
            )
            continue
        ground = geometry.grounds[layer]
        if not reader.exact:
            area = cleaned(shapely.intersection(area, ground, grid_size=GRID_M))
            for name, below in found[layer].items():
                found[layer][name] = replace(
                    below, area=cleaned(shapely.difference(below.area, area, grid_size=GRID_M))
                )
        if area.is_empty:
            problems.add(
                (*path, "area"),
                f'"{each.name}" has no walkable ground',
                "Move it onto the ground, or leave it out.",
            )
        found[layer][each.name] = Terrain(each.name, area, float(each.speed))
    for index, each in enumerate(shape.terrain):
        if (
            any(each.name in floor and floor[each.name].area.is_empty for floor in found)
            and not problems.found
        ):
            problems.add(
                ("geometry", "terrain", index),
                f'later terrain covers all of "{each.name}"',
                "Where areas overlap, the last one counts: list it later.",
            )
    terrain = tuple(tuple(floor[name] for name in sorted(floor)) for floor in found)
    return replace(geometry, terrain=terrain if any(terrain) else ())
