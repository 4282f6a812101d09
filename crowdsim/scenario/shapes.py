"""Exact shapes: overlays on a fixed grid, without slivers, the same for any order of what goes in;
circles as polygons; text that gives the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

# 1 micrometre: coordinates on it are exact in float64 up to 8e9 m, so shared walls of two rooms are the same
# numbers; coarser moves walls.
GRID_M = 2.0**-20
# Mean width below which a part or hole left over by the union is rounding, not ground: ten steps of the grid.
# Walls are thicker.
SLIVER_WIDTH_M = 1e-5


def as_written(polygons: Sequence[Any]) -> Any:
    """Return polygons that do not overlap as one area, every number as it is."""
    return polygons[0] if len(polygons) == 1 else shapely.MultiPolygon(polygons)


def united_on_grid(polygons: Sequence[Any]) -> Any:
    """Return the union of polygons with its points on the grid of `GRID_M`."""
    # the union of one polygon alone is not snapped
    return shapely.set_precision(shapely.union_all(polygons, grid_size=GRID_M), GRID_M)


def cleaned(area: Any) -> Any:
    """Return an area without slivers and flat corners, oriented, its parts and rings in an order that depends
    on the shape alone.

    Parameters
    ----------
    area : shapely geometry
        Result of an overlay; points and lines in it are dropped.

    Returns
    -------
    shapely Polygon or MultiPolygon
        Perhaps empty.
    """
    parts = [part for part in shapely.get_parts(area) if is_wide(part)]
    rebuilt = []
    for part in parts:
        holes = [ring for ring in part.interiors if is_wide(shapely.Polygon(ring))]
        rings = [shapely.get_coordinates(ring)[:-1] for ring in (part.exterior, *holes)]
        shell, *inner = _without_flat_corners(rings)
        polygon = shapely.Polygon(shell, inner)
        rebuilt.append(polygon if polygon.is_valid else part)
    whole = rebuilt[0] if len(rebuilt) == 1 else shapely.MultiPolygon(rebuilt)
    return shapely.orient_polygons(shapely.normalize(whole), exterior_cw=False)


def is_wide(polygon: Any) -> bool:
    """Return whether an area is a polygon, and wider than what rounding leaves over."""
    return polygon.geom_type == "Polygon" and bool(2.0 * polygon.area > SLIVER_WIDTH_M * polygon.length)


def _without_flat_corners(rings: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """Drop vertices that lie on the straight line of their neighbours, unless another ring touches there."""
    points, counts = np.unique(np.concatenate(rings), axis=0, return_counts=True)
    shared = {tuple(point) for point in points[counts > 1]}
    kept = []
    for ring in rings:
        before, after = np.roll(ring, 1, axis=0) - ring, np.roll(ring, -1, axis=0) - ring
        flat = before[:, 0] * after[:, 1] == before[:, 1] * after[:, 0]
        if shared:
            flat &= ~np.array([tuple(point) in shared for point in ring])
        kept.append(ring[~flat])
    return kept


def wkt_of(area: Any) -> str:
    """Return well-known text of a polygon or multipolygon from which exactly the same numbers are read again:
    the shortest digits that name each float64.
    """
    if area.geom_type == "MultiPolygon":
        return "MULTIPOLYGON (" + ", ".join(_rings_text(part) for part in area.geoms) + ")"
    return "POLYGON " + _rings_text(area)


def _rings_text(polygon: Any) -> str:
    return (
        "("
        + ", ".join(
            _ring_text(shapely.get_coordinates(ring)) for ring in (polygon.exterior, *polygon.interiors)
        )
        + ")"
    )


def _ring_text(points: NDArray[np.float64]) -> str:
    number: Callable[[float], str] = lambda value: repr(value).removesuffix(".0")  # noqa: E731
    return "(" + ", ".join(f"{number(x)} {number(y)}" for x, y in points.tolist()) + ")"


def circle_corners(centre: Sequence[float], radius: float, corners: int) -> NDArray[np.float64]:
    """Return the corners of a regular polygon, counter-clockwise, the first in the direction of x from
    `centre`.

    Parameters
    ----------
    centre : 2 floats, m
    radius : float, m
    corners : int, >= 3

    Returns
    -------
    (corners, 2) float64, m

    Notes
    -----
    Sine and cosine by their series: those of the C library differ in the last digit between processors.
    """
    unit = np.empty((corners, 2))
    for index in range(corners):
        # octants, so that the angle is at most 45 degrees and mirrored corners are exact mirrors
        eighth, rest = divmod(8 * index, corners)
        small = rest if eighth % 2 == 0 else corners - rest
        sine, cosine = (
            _sine_and_cosine(small * math.pi / (4 * corners))
            if small < corners
            else (math.sqrt(0.5), math.sqrt(0.5))
        )
        first, second = (cosine, sine) if eighth % 4 in (0, 3) else (sine, cosine)
        unit[index] = (first if eighth in (0, 1, 6, 7) else -first), (second if eighth < 4 else -second)
    return np.asarray(centre, dtype=np.float64) + radius * unit


def _sine_and_cosine(angle: float) -> tuple[float, float]:
    square = angle * angle
    sine = cosine = 1.0
    for term in range(9, 0, -1):  # the next term of each is below 0.786**20 / 20! < 1e-20
        sine = 1.0 - square * sine / ((2 * term) * (2 * term + 1))
        cosine = 1.0 - square * cosine / ((2 * term - 1) * (2 * term))
    return angle * sine, cosine
