"""What is drawn in a plan: areas and lines, each on its layer, in metres."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import shapely

from crowdsim.scenario.plan_kinds import Kind, kind_of

# Coordinates that all lie within so much, and within the ranges of longitude and latitude, in GeoJSON are
# degrees: 11 km.
DEGREES_SPAN = 0.1
# A plan that would be wider than 2 km was drawn in millimetres: no building is, and 2 m in millimetres is no
# plan.
MILLIMETRES_SPAN = 2_000.0
EARTH_M = 6_371_008.8  # Mean radius of the Earth (IUGG).


@dataclass
class Drawn:
    """The parts of a plan.

    Attributes
    ----------
    areas, lines : list of (str, shapely Polygon or LineString)
        With the names of their layers, or features; perhaps not valid.
    words : list of str
        What was taken for granted, mended or left out, for the user.
    kinds : dict of str to Kind
        What layers are that the user has said.
    """

    areas: list[tuple[str, Any]] = field(default_factory=list)
    lines: list[tuple[str, Any]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    kinds: dict[str, Kind] = field(default_factory=dict)

    def kind(self, layer: str) -> Kind | None:
        """Return what a layer is: as the user said, else by its name."""
        return self.kinds.get(layer.casefold()) or kind_of(layer)

    def areas_of(self, kind: Kind | None) -> list[Any]:
        """Return the areas of one kind; those that no name identifies for None."""
        return [area for layer, area in self.areas if self.kind(layer) == kind]

    def lines_of(self, kind: Kind | None) -> list[Any]:
        """Return the lines of one kind; those that no name identifies for None."""
        return [line for layer, line in self.lines if self.kind(layer) == kind]

    @property
    def layers(self) -> list[str]:
        """Names of all layers, each once, in the order of the plan."""
        return list(dict.fromkeys(layer for layer, _ in (*self.areas, *self.lines)))

    def bounds(self) -> tuple[float, float, float, float]:
        """Return (xmin, ymin, xmax, ymax) of all that is drawn, nothing left out but what is no part of a
        plan.
        """
        shapes = [shape for layer, shape in (*self.areas, *self.lines) if self.kind(layer) != Kind.NOTHING]
        return tuple(shapely.total_bounds(np.array(shapes))) if shapes else (0.0, 0.0, 0.0, 0.0)

    def transformed(self, change: Any) -> None:
        """Put all coordinates through a function of (n, 2) to (n, 2)."""
        self.areas = [(layer, shapely.transform(area, change)) for layer, area in self.areas]
        self.lines = [(layer, shapely.transform(line, change)) for layer, line in self.lines]

    def add(self, layer: str, geometry: Any) -> None:
        """Add the polygons and lines of a shapely geometry, whatever its form; points are passed over."""
        if geometry.geom_type == "Polygon":
            if not geometry.is_empty:
                self.areas.append((layer, shapely.force_2d(geometry)))
        elif geometry.geom_type in ("LineString", "LinearRing"):
            if not geometry.is_empty:
                self.lines.append((layer, shapely.force_2d(shapely.LineString(geometry.coords))))
        elif geometry.geom_type != "Point":
            for part in geometry.geoms:
                self.add(layer, part)


def in_metres(drawn: Drawn, scale: float | None, *, may_be_degrees: bool) -> None:
    """Bring a plan to metres, and report how.

    Parameters
    ----------
    drawn : Drawn
        Changed in place.
    scale : float, m, optional
        Length of its unit where that is known; without it, coordinates are degrees, metres or millimetres by
        their size.
    may_be_degrees : bool
        Whether the format has degrees by default (GeoJSON).
    """
    left, bottom, right, top = drawn.bounds()
    span = max(right - left, top - bottom)
    in_range = left >= -180.0 and right <= 180.0 and bottom >= -90.0 and top <= 90.0
    if scale is None and may_be_degrees and in_range and 0.0 < span < DEGREES_SPAN:
        longitude, latitude = 0.5 * (left + right), 0.5 * (bottom + top)
        by = np.array([np.cos(np.radians(latitude)), 1.0]) * np.radians(1.0) * EARTH_M
        drawn.transformed(lambda points: (points - (longitude, latitude)) * by)
        drawn.words.append(
            f"coordinates are degrees: they were put in metres round {latitude:.6f} N, {longitude:.6f} E "
            "(--unit m if they are metres)"
        )
    elif scale is None and span > MILLIMETRES_SPAN:
        drawn.transformed(lambda points: points * 0.001)
        drawn.words.append(
            f"it would be {span:,.0f} m wide, so it was taken to be in millimetres (--unit m if it is not)"
        )
    elif scale is not None and scale != 1.0:
        drawn.transformed(lambda points: points * scale)


def near_the_origin(drawn: Drawn, most_m: float = 10_000.0) -> None:
    """Move a plan to the origin if it lies far away, as in the coordinates of a country;
    report by how much.
    """
    left, bottom, right, top = drawn.bounds()
    if max(abs(left), abs(bottom), abs(right), abs(top)) <= most_m:
        return
    shift = np.floor([left, bottom])
    drawn.transformed(lambda points: points - shift)
    drawn.words.append(f"it lies far from the origin and was moved by ({-shift[0]:,.0f}, {-shift[1]:,.0f}) m")


def was(number: int) -> str:
    """Return the verb that goes with a number of things."""
    return "was" if number == 1 else "were"


def listed_names(names: Iterable[str]) -> str:
    """Return names in quotation marks, joined by commas."""
    return ", ".join(f'"{name}"' for name in names)
