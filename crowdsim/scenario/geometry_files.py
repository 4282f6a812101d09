"""Polygons from well-known text, GeoJSON, the grid maps of [Pathfinding undated], section 2,
in JSON and as text, and maps of the MovingAI benchmark.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.navigation.grid.layout import Raster
from crowdsim.scenario.limits import MAX_VERTICES
from crowdsim.scenario.tree import Refused, clipped, described, suggestion
from crowdsim.tunable import tunables

if TYPE_CHECKING:  # grids are made by kernels, whose compiler a scenario without one does not need
    from crowdsim.navigation.grid.files import Cells

_MOST_NESTING = 16  # GEOS reads nested collections by recursion.
_MOST_JSON_VALUES = 4 * MAX_VERTICES  # A vertex is a list and two numbers.
_BRACKET = re.compile(r"[()]")
_CURVED = re.compile(
    r"\b(?:CURVEPOLYGON|COMPOUNDCURVE|CIRCULARSTRING|MULTICURVE|MULTISURFACE)\b", re.IGNORECASE
)
_KINDS = ("kind", "type", "layer")  # Properties of a feature of GeoJSON that may say what it is.
_GEOGRAPHIC = ("CRS84", "EPSG::4326", "EPSG:4326")


class GeometryRefused(Refused):
    """Geometry that cannot be read."""


@dataclass(frozen=True)
class Piece:
    """One polygon as it was found, not checked yet.

    Attributes
    ----------
    polygon : shapely Polygon
    name : str
        Name in its file, empty where it has none.
    where : str
        Its place in what it was read from, for example ``features[3]``; empty where there is only one.
    kind : str
        What its file says that it is, in the words of the file; mostly empty.
    """

    polygon: Any
    name: str = ""
    where: str = ""
    kind: str = ""


@dataclass
class GridMap:
    """A grid map as polygons.

    Attributes
    ----------
    areas, closed_areas, obstacles : list of Piece
    numbers : dict of str to float
        What the file says of the grid, by the names of `crowdsim.navigation.grid.parameters.GridParameters`.
    raster : Raster or None
        Where its cells lie, for a file of cells.
    """

    areas: list[Piece] = field(default_factory=list)
    closed_areas: list[Piece] = field(default_factory=list)
    obstacles: list[Piece] = field(default_factory=list)
    numbers: dict[str, float] = field(default_factory=dict)
    raster: Raster | None = None


def pieces_of_wkt(text: str) -> list[Piece]:
    """Return the polygons of well-known text: POLYGON, MULTIPOLYGON,
    or GEOMETRYCOLLECTION of these at any depth.

    Raises
    ------
    GeometryRefused
        If it is no well-known text, or holds anything else.
    """
    if text.count(",") > MAX_VERTICES:
        raise GeometryRefused(f"more than {MAX_VERTICES:,} vertices", "Simplify the geometry.")
    refuse_arcs(text)
    depth = deepest = 0
    for bracket in _BRACKET.finditer(text):
        depth += 1 if bracket.group() == "(" else -1
        deepest = max(deepest, depth)
    if deepest > _MOST_NESTING:
        raise GeometryRefused(f"collections are nested {deepest} deep", f"At most {_MOST_NESTING} are read.")
    try:
        # coordinates that are not finite are reported by the caller, with their place
        with np.errstate(all="ignore"):
            geometry = shapely.from_wkt(text.strip())
    except shapely.errors.ShapelyError as error:
        reason = str(error).rpartition("Exception: ")[2].strip()
        raise GeometryRefused(
            f'this is no well-known text ("{clipped(text.strip())}"): {reason}',
            (
                "Repeat the first point of each ring at its end."
                if "closed linestring" in reason
                else 'For example "POLYGON ((0 0, 10 0, 10 8, 0 0))".'
            ),
        ) from None
    parts = list(_polygons(geometry))
    many = len(parts) > 1
    return [
        Piece(part, "", f"polygon {index + 1} of {len(parts)}" if many else "")
        for index, part in enumerate(parts)
    ]


def refuse_arcs(text: str) -> None:
    """Refuse well-known text of curves, which shapely cannot measure and raises something else for at every
    turn.

    Raises
    ------
    GeometryRefused
        If a keyword of curves stands in it.
    """
    if _CURVED.search(text):
        raise GeometryRefused(
            "this has curves (CURVEPOLYGON, CIRCULARSTRING and their like)",
            "Make chords of its arcs: POLYGON has straight sides.",
        )


def _polygons(geometry: Any) -> Iterator[Any]:
    if geometry.geom_type == "Polygon":
        if not geometry.is_empty:
            yield _flat(geometry)
    elif geometry.geom_type in ("MultiPolygon", "GeometryCollection"):
        for part in geometry.geoms:
            yield from _polygons(part)
    else:
        raise GeometryRefused(
            f"this is a {geometry.geom_type.upper()}, not a polygon",
            "Only POLYGON, MULTIPOLYGON and GEOMETRYCOLLECTION of these are areas.",
        )


def _flat(polygon: Any) -> Any:
    if not polygon.has_z:
        return polygon
    heights = shapely.get_coordinates(polygon, include_z=True)[:, 2]
    heights = heights[np.isfinite(heights)]
    if heights.size and np.ptp(heights) > 0.0:
        raise GeometryRefused(
            f"a polygon has heights from {heights.min():g} to {heights.max():g} m",
            "Version 1 knows one floor: give x and y alone.",
        )
    return shapely.force_2d(polygon)


def json_value(text: str) -> Any:
    """Return the value of JSON text; keys that stand twice and numbers that are not finite are refused."""
    if sum(text.count(character) for character in ",[{") > _MOST_JSON_VALUES:
        raise GeometryRefused(f"more than {_MOST_JSON_VALUES:,} values", "Simplify the geometry.")
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise GeometryRefused(
            f"this is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise GeometryRefused("the JSON is nested too deep") from None
    except ValueError as error:  # an integer of thousands of digits
        if isinstance(error, GeometryRefused):
            raise
        raise GeometryRefused(f"this JSON cannot be read: {error}") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise GeometryRefused(
                f'the key "{clipped(key)}" stands twice in one object', "Keep one of the two."
            )
        result[key] = value
    return result


def _refuse_constant(name: str) -> None:
    raise GeometryRefused(f"{name} is not a finite number")


def pieces_of_geojson(text: str) -> list[Piece]:
    """Return the polygons of GeoJSON text (RFC 7946): a geometry, a feature or a feature collection.

    Raises
    ------
    GeometryRefused
        If it is no GeoJSON, has other shapes than polygons, or is in degrees.
    """
    value = json_value(text)
    if isinstance(value, dict) and isinstance(value.get("crs"), dict):
        system = json.dumps(value["crs"])
        if any(name in system for name in _GEOGRAPHIC):
            raise GeometryRefused(
                "the coordinates are longitudes and latitudes in degrees",
                "Project them to metres first, for example to the UTM zone of the place.",
            )
    return list(_geojson_pieces(value, "", "", "", 0))


def _geojson_pieces(value: Any, where: str, name: str, said: str, depth: int) -> Iterator[Piece]:
    if depth > _MOST_NESTING:
        raise GeometryRefused(f"collections are nested more than {_MOST_NESTING} deep")
    kind = value.get("type") if isinstance(value, dict) else None
    at = f"{where}: " if where else ""
    if kind == "FeatureCollection":
        for index, item in enumerate(_list_of(value, "features", at)):
            yield from _geojson_pieces(item, f"features[{index}]", "", "", depth + 1)
    elif kind == "Feature":
        if value.get("geometry") is not None:
            properties = value.get("properties")
            texts = (
                {key: text for key, text in properties.items() if isinstance(text, str)}
                if isinstance(properties, dict)
                else {}
            )
            said = next((texts[key] for key in _KINDS if texts.get(key)), "")
            yield from _geojson_pieces(value["geometry"], where, texts.get("name", ""), said, depth + 1)
    elif kind == "GeometryCollection":
        for index, item in enumerate(_list_of(value, "geometries", at)):
            yield from _geojson_pieces(
                item, f"{where + '.' if where else ''}geometries[{index}]", name, said, depth + 1
            )
    elif kind == "Polygon":
        yield Piece(_polygon_from(_list_of(value, "coordinates", at), at), name, where, said)
    elif kind == "MultiPolygon":
        for index, rings in enumerate(_list_of(value, "coordinates", at)):
            inside = f"{where + ', ' if where else ''}polygon {index + 1}"
            yield Piece(_polygon_from(rings, f"{inside}: "), name, inside, said)
    elif isinstance(kind, str):
        raise GeometryRefused(
            f"{at}this is a {clipped(kind)}, not a polygon",
            "Only Polygon, MultiPolygon and collections and features of these are areas.",
        )
    else:
        raise GeometryRefused(
            f"{at}this is no GeoJSON object: it has no type",
            'An object of GeoJSON begins like {"type": "Polygon", "coordinates": ...}.',
        )


def _list_of(value: dict[str, Any], key: str, at: str) -> list[Any]:
    items = value.get(key)
    if not isinstance(items, list):
        raise GeometryRefused(f"{at}{key} is {described(items)}, but must be a list")
    return items


def _polygon_from(rings: Any, at: str) -> Any:
    if not isinstance(rings, list) or not rings:
        raise GeometryRefused(f"{at}a polygon is a list of rings, found {described(rings)}")
    return _flat(shapely.Polygon(_ring_from(rings[0], at), [_ring_from(ring, at) for ring in rings[1:]]))


def _ring_from(points: Any, at: str) -> np.ndarray:
    if not isinstance(points, list) or len(points) < 3:
        raise GeometryRefused(f"{at}a ring has at least 3 points, found {described(points)}")
    for index, point in enumerate(points):
        numbers = (
            isinstance(point, list)
            and len(point) >= 2
            and all(isinstance(part, (int, float)) and not isinstance(part, bool) for part in point)
        )
        if not numbers or len(point) != len(points[0]) or len(point) > 3:
            raise GeometryRefused(f"{at}point {index + 1} is {described(point)}, but a point is [x, y]")
    try:
        return np.array(points, dtype=np.float64)
    except OverflowError:
        raise GeometryRefused(f"{at}a coordinate is too large") from None


def grid_map_of(text: str) -> GridMap:
    """Return a grid map of [Pathfinding undated]:
    the JSON form (section 2b), or the plain text with cells (2a); x, z there are x, y here.

    Raises
    ------
    GeometryRefused
        If it has neither form.
    """
    if not text.lstrip().startswith(("{", "[")) and text.split(maxsplit=1)[:1] != ["null"]:
        return _map_of_cells(text)
    from crowdsim.navigation.grid.files import NUMBERS

    value = json_value(text)
    if not isinstance(value, dict) or "areas" not in value:
        near = suggestion("areas", value) if isinstance(value, dict) else ""
        raise GeometryRefused(f'a grid map is an object with "areas", found {described(value)}', near)
    for key in value:
        if key not in ("areas", "obstacles") and suggestion(key, ("areas", "obstacles")):
            raise GeometryRefused(
                f'there is no key "{clipped(key)}" in a grid map', suggestion(key, ("areas", "obstacles"))
            )
        lowered = {name.lower(): name for name in NUMBERS}
        near_names = difflib.get_close_matches(key.lower(), lowered, n=1, cutoff=0.8)
        if key not in NUMBERS and near_names:
            raise GeometryRefused(
                f'there is no key "{clipped(key)}" in a grid map', f'Did you mean "{lowered[near_names[0]]}"?'
            )
    result = GridMap(
        numbers=_numbers_in({ours: value[name] for name, ours in NUMBERS.items() if name in value})
    )
    for key, plain_target in (("areas", result.areas), ("obstacles", result.obstacles)):
        for index, item in enumerate(_list_of(value, key, "") if key in value else []):
            where = f"{key}[{index}]"
            if not isinstance(item, dict) or "polygon" not in item:
                raise GeometryRefused(f'{where} is {described(item)}, but must be an object with "polygon"')
            name = item.get("name", "")
            available = item.get("available", True)
            if not isinstance(available, bool):
                raise GeometryRefused(
                    f"{where}.available is {described(available)}, but must be true or false"
                )
            polygon = _flat(shapely.Polygon(_ring_from(item["polygon"], f"{where}: ")))
            target = plain_target if available or key == "obstacles" else result.closed_areas
            target.append(Piece(polygon, name if isinstance(name, str) else "", where))
    return result


def _numbers_in(values: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of a grid map, checked; `values` has the names of `GridParameters`."""
    from crowdsim.navigation.grid.files import NUMBERS
    from crowdsim.navigation.grid.parameters import GridParameters

    theirs, found = {ours: name for name, ours in NUMBERS.items()}, {}
    for tunable in tunables(GridParameters):
        if tunable.name in values:
            value = values[tunable.name]
            complaint = tunable.complaint(value)
            if complaint:
                raise GeometryRefused(f"{theirs[tunable.name]}: {clipped(complaint, 200)}")
            found[tunable.name] = float(value)
    return found


def _map_of_cells(text: str) -> GridMap:
    """Return a grid map whose cells stand in plain text."""
    from crowdsim.navigation.grid.files import cells_from_text
    from crowdsim.navigation.grid.parameters import GridParameters

    try:
        cells = cells_from_text(text)
    except NavigationError as error:
        raise GeometryRefused(
            f"this is no grid map: {str(error).removesuffix('.')}",
            (
                "A grid map is JSON with areas, or text with a head (cellSize 0.4, minX, minZ, gridWidth, "
                "gridDepth) and rows of 1 and 0."
            ),
        ) from None
    numbers = _numbers_in(cells.numbers)
    defaults = GridParameters()
    kept = numbers.get("agent_radius", defaults.agent_radius) + numbers.get(
        "object_padding", defaults.object_padding
    )
    return GridMap(
        areas=_pieces_of_cells(cells, numbers["cell_size"]),
        numbers=numbers,
        raster=_raster(cells, numbers["cell_size"], kept),
    )


def movingai_map_of(text: str, cell: float) -> GridMap:
    """Return the walkable cells of a map of the MovingAI benchmark, `cell` (m) wide.

    Raises
    ------
    GeometryRefused
        If it has not that form.
    """
    from crowdsim.navigation.grid.files import cells_from_map

    try:
        cells = cells_from_map(text)
    except NavigationError as error:
        raise GeometryRefused(
            f"this is no map of the MovingAI benchmark: {str(error).removesuffix('.')}"
        ) from None
    return GridMap(
        areas=_pieces_of_cells(cells, cell),
        numbers=_numbers_in({"cell_size": cell}),
        raster=_raster(cells, cell, None),
    )


def _raster(cells: Cells, cell: float, kept: float | None) -> Raster:
    depth, width = cells.walkable.shape
    return Raster(cells.x + 0.0, cells.y + 0.0, cell, width, depth, kept)


def _pieces_of_cells(cells: Cells, cell: float) -> list[Piece]:
    """Return the outlines of what walkable cells cover; cells that touch at a corner alone are apart."""
    padded = np.pad(cells.walkable, 1)
    corners = int(np.count_nonzero(_turns(padded)))
    if corners > MAX_VERTICES:
        raise GeometryRefused(
            f"its cells have {corners:,} corners, but there may be at most {MAX_VERTICES:,}",
            "Make the map smaller.",
        )
    if not corners:
        raise GeometryRefused(
            "no cell of it is walkable",
            "Walkable cells are 1 in the file of an s2_file, and ., G or S in that of a map_file.",
        )
    row, column = np.nonzero(padded[1:-1, :-1] != padded[1:-1, 1:])
    upright = np.stack([column, row, column, row + 1], axis=1)
    row, column = np.nonzero(padded[:-1, 1:-1] != padded[1:, 1:-1])
    level = np.stack([column, row, column + 1, row], axis=1)
    sides = shapely.linestrings(np.concatenate([upright, level]).reshape(-1, 2, 2).astype(np.float64))
    faces = shapely.get_parts(shapely.polygonize(sides))
    inside = np.floor(shapely.get_coordinates(shapely.point_on_surface(faces))).astype(np.int64)
    faces = shapely.simplify(faces[cells.walkable[inside[:, 1], inside[:, 0]]], 0.0)
    origin = np.array([cells.x, cells.y])
    return [Piece(each) for each in shapely.transform(faces, lambda points: points * cell + origin)]


def _turns(padded: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return at which corners of cells an outline turns."""
    a, b, c, d = padded[:-1, :-1], padded[:-1, 1:], padded[1:, :-1], padded[1:, 1:]
    return ~(((a == b) & (c == d)) | ((a == c) & (b == d)))
