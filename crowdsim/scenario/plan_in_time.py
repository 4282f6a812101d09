"""The plan of ground that changes while a scenario runs, as pictures show it: all ground that there ever is,
and on it what is open at one time and closed at another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import shapely

from crowdsim.errors import NavigationError
from crowdsim.scenario.geometry import Geometry, ToggledArea
from crowdsim.scenario.shapes import GRID_M

_LEAST_M2 = 0.01  # Ground that a part makes or takes; less is the rim of cells.


@dataclass(frozen=True, eq=False)
class PlanInTime:
    """All ground that there ever is.

    Attributes
    ----------
    grounds : tuple of shapely Polygon or MultiPolygon, m
        Floor by floor.
    areas : tuple of ToggledArea
        What is open or closed on it: the areas of the scenario, and for each part of a soup the ground that
        is there with it alone, or without it alone.
    of : tuple of (int, bool)
        For each the area or part that it comes from, and whether it is open while that is open, or there.
    """

    grounds: tuple[Any, ...]
    areas: tuple[ToggledArea, ...]
    of: tuple[tuple[int, bool], ...]

    def are_open(self, available: Sequence[bool]) -> list[bool]:
        """Return which of its areas are open while those of the scenario are so."""
        return [available[number] == opens for number, opens in self.of]

    def label(self, place: int, *, is_open: bool) -> str:
        """Return what one of its areas is called in a picture."""
        area = self.areas[place]
        if area.is_part:
            return area.name if is_open == self.of[place][1] else f"{area.name} (not there)"
        return area.name if is_open else f"{area.name} (closed)"


def plan_in_time(geometry: Geometry) -> PlanInTime:
    """Return all ground of a scenario. What two parts make or take together is not told apart: each is held
    against the ground at the beginning.
    """
    if geometry.refill is None:
        numbers = range(len(geometry.areas))
        return PlanInTime(geometry.grounds, geometry.areas, tuple((number, True) for number in numbers))
    first = [area.available for area in geometry.areas]
    grounds, areas, of = list(geometry.grounds), list[ToggledArea](), list[tuple[int, bool]]()
    for number, area in enumerate(geometry.areas):
        if not area.is_part:
            areas.append(area)
            of.append((number, True))
            continue
        there, gone = (
            _grounds(geometry, [*first[:number], is_there, *first[number + 1 :]])
            for is_there in (True, False)
        )
        for layer, (ground, other) in enumerate(zip(there, gone, strict=True)):
            for opens, (more, less) in ((True, (ground, other)), (False, (other, ground))):
                only = _polygons(shapely.difference(more, less, grid_size=GRID_M))
                if only.area > _LEAST_M2:
                    areas.append(replace(area, area=only, available=area.available == opens, layer=layer))
                    of.append((number, opens))
            grounds[layer] = _polygons(shapely.union_all([grounds[layer], ground, other], grid_size=GRID_M))
    return PlanInTime(tuple(grounds), tuple(areas), tuple(of))


def _grounds(geometry: Geometry, available: Sequence[bool]) -> tuple[Any, ...]:
    """Return the ground of each floor while some parts are there; none where it cannot be filled, which ends
    a run that comes to it.
    """
    try:
        return geometry.with_parts(available).grounds
    except NavigationError:
        return tuple(shapely.Polygon() for _ in geometry.grounds)


def _polygons(shape: Any) -> Any:
    parts = [part for part in shapely.get_parts(shape) if part.geom_type == "Polygon"]
    return shapely.orient_polygons(shapely.multipolygons(parts))
