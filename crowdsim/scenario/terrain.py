"""Terrain: areas of the ground that are walked faster or slower, from the list in a scenario to areas that do not overlap."""

from __future__ import annotations

from dataclasses import replace

import shapely

from crowdsim.geometry.floor_plans import Terrain
from crowdsim.scenario import schema
from crowdsim.scenario.area_reader import AreaReader
from crowdsim.scenario.floor_names import FloorNames
from crowdsim.scenario.geometry import Geometry
from crowdsim.scenario.shapes import GRID_M, cleaned
from crowdsim.scenario.tree import Problems


def resolve_terrain(shape: schema.GeometryShape, geometry: Geometry, reader: AreaReader, problems: Problems) -> Geometry:
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
    if shape.terrain and geometry.patches:
        words = "terrain on a mesh in space is not offered"
        problems.add(("geometry", "terrain"), words, "Draw the ground as walkable or as storeys, or leave it out.", key=True)
        return geometry
    floors = FloorNames(geometry, problems)
    found: list[dict[str, Terrain]] = [{} for _ in geometry.grounds]
    for index, each in enumerate(shape.terrain):
        path = ("geometry", "terrain", index)
        area = reader.united(each.area, (*path, "area"))
        layer = max(0, floors.layer(each, path, area))
        if area is None:
            continue
        if each.name in found[layer]:
            problems.add((*path, "name"), f'there is terrain "{each.name}" on that floor already', "Give it another name, or list both areas in one.")
            continue
        ground = geometry.grounds[layer]
        if not reader.exact:
            area = cleaned(shapely.intersection(area, ground, grid_size=GRID_M))
            for name, below in found[layer].items():
                found[layer][name] = replace(below, area=cleaned(shapely.difference(below.area, area, grid_size=GRID_M)))
        if area.is_empty:
            problems.add((*path, "area"), f'"{each.name}" has no walkable ground', "Move it onto the ground, or leave it out.")
        found[layer][each.name] = Terrain(each.name, area, float(each.speed))
    for index, each in enumerate(shape.terrain):
        if any(each.name in floor and floor[each.name].area.is_empty for floor in found) and not problems.found:
            way_out = "Where areas overlap, the last one counts: list it later."
            problems.add(("geometry", "terrain", index), f'later terrain covers all of "{each.name}"', way_out)
    terrain = tuple(tuple(floor[name] for name in sorted(floor)) for floor in found)
    return replace(geometry, terrain=terrain if any(terrain) else ())
