"""Lines and areas that a scenario names for measuring: looked at before the run, measured after it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import shapely

from crowdsim.scenario import schema
from crowdsim.scenario.area_reader import AreaReader
from crowdsim.scenario.geometry import FloorNames, Geometry
from crowdsim.scenario.model import MeasuredPlace
from crowdsim.scenario.tree import Path, Problems


def resolve_measures(
    shapes: Mapping[str, schema.MeasureShape], geometry: Geometry, reader: AreaReader, problems: Problems
) -> tuple[MeasuredPlace, ...]:
    """Return the lines and areas of a scenario, ascending by name;
    what is wrong with them is added to the problems.
    """
    floors = FloorNames(geometry, problems)
    found = []
    for name, shape in sorted(shapes.items()):
        is_line = isinstance(shape, schema.MeasuredLine)
        path: Path = ("measures", name, "line" if is_line else "area")
        line, area = None, None
        if isinstance(shape, schema.MeasuredLine):
            line = tuple((float(x), float(y)) for x, y in shape.line)
            place: Any = shapely.LineString(line)
            if any(a == b for a, b in pairwise(line)):
                problems.add(path, "two points of the line in a row are the same", "Give points apart.")
                continue
        else:
            place = area = reader.united(shape.area, path)
            if area is None:
                continue
        layer = floors.layer(shape, path[:2], place)
        if layer < 0 and geometry.floors:
            continue
        told = off_ground(place, geometry.grounds[max(0, layer)])
        if told:
            problems.add(path, told, "Draw it where agents walk.")
        found.append(MeasuredPlace(name, line, area, layer))
    return tuple(found)


def off_ground(place: Any, ground: Any) -> str:
    """Return in words that a line or an area shares nothing with the ground; empty if it does share some.

    Parameters
    ----------
    place : shapely LineString, Polygon or MultiPolygon, m
    ground : shapely Polygon or MultiPolygon, m
    """
    common = shapely.intersection(place, ground)
    is_line = place.geom_type == "LineString"
    if (common.length if is_line else common.area) > 0.0:
        return ""
    low_x, low_y, high_x, high_y = (f"{value:g}" for value in ground.bounds)
    if is_line:
        (ax, ay), (bx, by) = place.coords[0], place.coords[-1]
        what = f"the line from ({ax:g}, {ay:g}) to ({bx:g}, {by:g})"
    else:
        what = "the area within ({:g}, {:g}) and ({:g}, {:g})".format(*place.bounds)
    return (
        f"{what} is off the walkable ground: that lies within ({low_x}, {low_y}) and ({high_x}, {high_y}), "
        f"its nearest point {place.distance(ground):.2f} m away"
    )
