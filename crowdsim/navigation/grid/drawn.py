"""What is drawn on a grid: edges of areas and obstacles, in the cells of a floor and in those of other floors
that meet it over a seam.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import affinity

from crowdsim.navigation.grid.layout import Shut
from crowdsim.navigation.grid.sheet import Sheet


@dataclass(frozen=True, eq=False)
class Window:
    """The cells that an area holds: a block of the grid that begins at `row` and `column`."""

    row: int
    column: int
    held: NDArray[np.bool_]

    def within(self, field: NDArray[Any]) -> NDArray[Any]:
        """Return the part of a field over the grid that the window covers."""
        rows, columns = self.held.shape
        return field[self.row : self.row + rows, self.column : self.column + columns]


@dataclass(frozen=True, eq=False)
class Zone:
    """Cells of a floor that heed what stands on another floor, which they meet over a seam.

    Attributes
    ----------
    floor, other : int
        On which it stands, and whose cells they are.
    row, column : int
        Where the block of cells begins on the sheet.
    held : (rows, columns) bool
        Which of the block they are.
    """

    floor: int
    other: int
    row: int
    column: int
    held: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Something that is put up as it is drawn on the sheet: in the cells of its floor, or of a zone."""

    shut: Shut
    polygon: Any
    zone: Zone | None = None

    def cells(self, row: int, column: int, rows: int, columns: int) -> NDArray[np.bool_]:
        """Return which cells of a block it is drawn in, (rows, columns)."""
        if self.zone is None:
            return np.ones((rows, columns), dtype=np.bool_)
        found, zone = np.zeros((rows, columns), dtype=np.bool_), self.zone
        high, wide = zone.held.shape
        low, left = max(row, zone.row), max(column, zone.column)
        up, right = min(row + rows, zone.row + high), min(column + columns, zone.column + wide)
        if low < up and left < right:
            found[low - row : up - row, left - column : right - column] = zone.held[
                low - zone.row : up - zone.row, left - zone.column : right - zone.column
            ]
        return found


def drawn_on(shut: Shut, sheet: Sheet, grounds: Sequence[Any], zones: Sequence[Zone]) -> list[Drawn]:
    """Return how something that is put up is drawn on a sheet: on its floor, with which it ends, and in the
    cells of others that heed it over seams.

    Parameters
    ----------
    shut : Shut
    sheet : Sheet
    grounds : sequence of shapely Polygon or MultiPolygon, m
        Of the floors, where there are several.
    zones : sequence of Zone
    """
    if sheet.is_plan:
        return [Drawn(shut, shut.polygon)]
    found = []
    for floor in range(len(grounds)) if shut.layer < 0 else (shut.layer,):
        common = shapely.get_parts(shapely.intersection(shut.polygon, grounds[floor]))
        polygon = shapely.multipolygons([part for part in common if part.geom_type == "Polygon"])
        places = [(floor, None), *((zone.other, zone) for zone in zones if zone.floor == floor)]
        if not polygon.is_empty:
            found += [
                Drawn(shut, affinity.translate(polygon, 0.0, float(sheet.rise[other])), zone)
                for other, zone in places
            ]
    return found


def is_same(one: Shut, other: Shut) -> bool:
    """Return whether two things that are put up are the same."""
    return (
        one.is_ground == other.is_ground
        and one.layer == other.layer
        and bool(shapely.equals_exact(one.polygon, other.polygon, 0.0))
    )


def edges_of(polygon: Any) -> NDArray[np.float64]:
    """Return all edges of all rings of a polygon, or of several, as (e, 4) float64, m:
    x, y of start, x, y of end.
    """
    rings = [
        shapely.get_coordinates(ring)
        for part in shapely.get_parts(polygon)
        for ring in (part.exterior, *part.interiors)
        if not ring.is_empty
    ]
    pieces = [np.hstack([ring[:-1], ring[1:]]) for ring in rings]
    return np.ascontiguousarray(np.concatenate(pieces)) if pieces else np.zeros((0, 4))
