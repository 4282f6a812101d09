"""From the areas of a scenario to one walkable ground: valid, oriented, on a fine grid, the same in whatever order the areas are listed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.floor_plans import CLEARANCE_M, Terrain
from crowdsim.geometry.surface import Patch
from crowdsim.plans.kinds import Kind, kind_of
from crowdsim.scenario import schema
from crowdsim.scenario.dxf import drawing_of, pieces_of_dxf
from crowdsim.scenario.files import FileAccess, FileRefused
from crowdsim.scenario.floor import Floor
from crowdsim.scenario.geometry_files import GeometryRefused, GridMap, Piece, grid_map_of, pieces_of_geojson, pieces_of_wkt
from crowdsim.scenario.limits import MAX_COORDINATE_M, MAX_GEOMETRY_CHARACTERS, MAX_VERTICES
from crowdsim.scenario.tree import Path, Problems, clipped, number_text

GRID_M = 2.0**-20  # 1 micrometre: coordinates on it are exact in float64 up to 8e9 m, so shared walls of two rooms are the same numbers; coarser moves walls.
SLIVER_WIDTH_M = 1e-5  # Mean width below which a part or hole left over by the union is rounding, not ground: ten steps of the grid. Walls are thicker.
LEAST_SPAN_M = 0.1  # Ground that is less across holds no body; the file is in other units.
_REASON = re.compile(r"(?P<reason>[^\[]+)\[(?P<x>\S+) (?P<y>\S+)\]")


@dataclass(frozen=True)
class NamedPolygon:
    """An obstacle as it was given, for drawing and messages.

    Attributes
    ----------
    polygon : shapely Polygon
    name : str
        May be empty.
    """

    polygon: Any
    name: str = ""


@dataclass(frozen=True, eq=False)
class ToggledArea:
    """A part of the ground that is closed and opened while a scenario runs.

    Attributes
    ----------
    name : str
    area : shapely Polygon or MultiPolygon
        As given: it may reach beyond the ground.
    available : bool
        Whether it is open at the begin.
    """

    name: str
    area: Any
    available: bool = True


@dataclass(frozen=True, eq=False)
class Geometry:
    """Where one may walk.

    Attributes
    ----------
    walkable : shapely Polygon or MultiPolygon
        Valid; outer boundaries counter-clockwise, holes clockwise; vertices on a grid of 2**-20 m. The obstacles have been cut out.
        With several floors, all of them as seen from above.
    obstacles : tuple of NamedPolygon
        As given, in the order of their outline.
    floors : tuple of Floor
        Storeys and connections; none where all ground is one floor.
    clearance : float, m
        Free height above all ground.
    patches : tuple of Patch
        Of ground from a mesh in space.
    sheet_floors : tuple of int
        Floor of each sheet of patches.
    terrain : tuple of tuple of Terrain
        Areas that are walked at speeds of their own, for each floor ascending by name; they do not overlap. Empty where there are none.
    areas : tuple of ToggledArea
        Ascending by name.
    """

    walkable: Any
    obstacles: tuple[NamedPolygon, ...]
    floors: tuple[Floor, ...] = ()
    clearance: float = CLEARANCE_M
    patches: tuple[Patch, ...] = ()
    sheet_floors: tuple[int, ...] = ()
    terrain: tuple[tuple[Terrain, ...], ...] = ()
    areas: tuple[ToggledArea, ...] = ()

    def floor_at(self, x: float, y: float, z: float) -> int:
        """Return the number of the floor whose ground at (x, y) is nearest in height to z (m); -1 where there is none, or no floors."""
        spot = shapely.Point(x, y)
        if self.patches:
            near = [(patch.plane, self.sheet_floors[patch.sheet]) for patch in self.patches if shapely.dwithin(patch.ground, spot, GRID_M)]
        else:
            near = [(floor.plane, number) for number, floor in enumerate(self.floors) if shapely.dwithin(floor.ground, spot, GRID_M)]
        found = [(abs(float(plane.height(np.array([[x, y]]))[0]) - z), number) for plane, number in near]
        return min(found)[1] if found else -1

    @property
    def grounds(self) -> tuple[Any, ...]:
        """Ground in plan by floor."""
        return tuple(floor.ground for floor in self.floors) or (self.walkable,)

    @property
    def named_speeds(self) -> tuple[str, ...]:
        """Names of the terrain whose speed is not that of other ground."""
        return tuple(dict.fromkeys(each.name for floor in self.terrain for each in floor if each.speed != 1.0))

    @property
    def floor_names(self) -> tuple[str, ...]:
        """Names by floor."""
        return tuple(floor.name for floor in self.floors) or ("ground",)


class AreaReader:
    """Turns the areas of a scenario into polygons, reporting what is wrong with them.

    Parameters
    ----------
    access : FileAccess
    problems : Problems
    exact : bool
        Take areas as they are written instead of uniting and snapping them: for scenarios that crowdsim wrote, so that another version of GEOS
        cannot change a recorded run.
    """

    def __init__(self, access: FileAccess, problems: Problems, *, exact: bool = False) -> None:
        self.access = access
        self.problems = problems
        self.exact = exact
        self.vertices = 0
        self.characters = 0  # of geometry as text that was read
        self._maps: dict[str, GridMap] = {}
        self._files: dict[tuple[str, str], list[Piece]] = {}
        self._drawings: dict[str, Any] = {}

    def pieces(self, areas: Any, path: Path, *, obstacles: bool = False) -> list[Piece]:
        """Return the valid polygons of one or several areas.

        Parameters
        ----------
        areas : schema value of type `Areas`
        path : tuple
            Where they stand in the scenario.
        obstacles : bool
            Of a grid map take the obstacles instead of the areas.
        """
        if isinstance(areas, list) and (not areas or not _is_ring(areas)):
            return [piece for index, area in enumerate(areas) for piece in self._pieces_of_one(area, (*path, index), obstacles)]
        return self._pieces_of_one(areas, path, obstacles)

    def obstacles_in(self, areas: Any, path: Path) -> list[Piece]:
        """Return the obstacles that the grid maps among `areas` bring along."""
        if isinstance(areas, list) and not _is_ring(areas):
            return [piece for index, area in enumerate(areas) for piece in self.obstacles_in(area, (*path, index))]
        return self._pieces_of_one(areas, path, True) if isinstance(areas, schema.S2FileArea) else []

    def united(self, areas: Any, path: Path) -> Any:
        """Return one valid polygon or multipolygon of one or several areas, or None after a problem was added."""
        before = len(self.problems.found)
        pieces = self.pieces(areas, path)
        if len(self.problems.found) > before:
            return None
        if not pieces:
            self.problems.add(path, "no area is given", "Give at least one polygon.")
            return None
        return _as_written(pieces) if self.exact else cleaned(_union([piece.polygon for piece in pieces]))

    def _pieces_of_one(self, area: Any, path: Path, obstacles: bool) -> list[Piece]:
        if area is None:  # has been reported
            return []
        try:
            found = self._found(area, obstacles)
        except (GeometryRefused, FileRefused) as refused:
            file = self._file_named(area)
            self.problems.add(path, f"{file}: {refused}" if file else str(refused), refused.way_out)
            return []
        name = getattr(area, "name", None)
        good = []
        for piece in found:
            complaint = _misplaced(piece, path) or self._complaint(piece)
            if complaint:
                file = self._file_named(area)
                where = ", ".join(part for part in (file, piece.where) if part)
                self.problems.add(path, f"{where}: {complaint[0]}" if where else complaint[0], complaint[1])
            else:
                good.append(Piece(piece.polygon, name or piece.name, piece.where))
        return good

    @staticmethod
    def _file_named(area: Any) -> str:
        return next((value for key in ("wkt_file", "geojson_file", "s2_file", "dxf_file") if isinstance(value := getattr(area, key, None), str)), "")

    def _found(self, area: Any, obstacles: bool) -> list[Piece]:
        if isinstance(area, list):
            return [Piece(shapely.Polygon(area))]
        if isinstance(area, schema.PolygonArea):
            return [Piece(shapely.Polygon(area.polygon, area.holes))]
        if isinstance(area, schema.BoxArea):
            left, bottom, right, top = area.box
            if not (left < right and bottom < top):
                raise GeometryRefused(
                    f"the box [{', '.join(map(number_text, area.box))}] has no inside", "Write [xmin, ymin, xmax, ymax] with xmin < xmax and ymin < ymax."
                )
            return [Piece(shapely.box(left, bottom, right, top))]
        if isinstance(area, schema.CircleArea):
            return [Piece(shapely.Polygon(circle_corners(area.circle.centre, area.circle.radius, area.circle.corners)))]
        if isinstance(area, schema.WktArea):
            return pieces_of_wkt(self._counted(area.wkt))
        if isinstance(area, schema.WktFileArea):
            return self._from_file(area.wkt_file, "wkt", pieces_of_wkt)
        if isinstance(area, schema.GeoJsonFileArea):
            return self._from_file(area.geojson_file, "geojson", pieces_of_geojson)
        if isinstance(area, schema.DxfFileArea):
            return self._from_drawing(area)
        if area.s2_file not in self._maps:
            self._maps[area.s2_file] = grid_map_of(self._counted(self.access.read(area.s2_file)))
        return self._maps[area.s2_file].obstacles if obstacles else self._maps[area.s2_file].areas

    def _from_file(self, name: str, kind: str, read: Callable[[str], list[Piece]]) -> list[Piece]:
        if (kind, name) not in self._files:
            self._files[kind, name] = read(self._counted(self.access.read(name)))
        return self._files[kind, name]

    def _from_drawing(self, area: schema.DxfFileArea) -> list[Piece]:
        if area.dxf_file not in self._drawings:
            data = self.access.read_bytes(area.dxf_file)
            self._count(len(data))
            self._drawings[area.dxf_file] = drawing_of(data)
        return pieces_of_dxf(self._drawings[area.dxf_file], area.layers, area.unit, area.wall)

    def _counted(self, text: str) -> str:
        self._count(len(text))
        return text

    def _count(self, characters: int) -> None:
        self.characters += characters
        if self.characters > MAX_GEOMETRY_CHARACTERS:
            raise GeometryRefused(f"with this text the scenario has more than {MAX_GEOMETRY_CHARACTERS:,} characters of geometry", "Simplify the geometry.")

    def _complaint(self, piece: Piece) -> tuple[str, str] | None:
        """Return what is wrong with a polygon and the way out, or None."""
        coordinates = shapely.get_coordinates(piece.polygon)
        self.vertices += len(coordinates)
        if self.vertices > MAX_VERTICES:
            return f"with this polygon the scenario has more than {MAX_VERTICES:,} vertices", "Simplify the geometry."
        if not np.isfinite(coordinates).all():
            return "a coordinate is not a finite number", ""
        if np.abs(coordinates).max(initial=0.0) > MAX_COORDINATE_M:
            return f"a coordinate is {np.abs(coordinates).max():g} m, but may be at most {MAX_COORDINATE_M:g} m", ""
        if not _is_wide(piece.polygon.convex_hull):
            low, high = coordinates.min(axis=0), coordinates.max(axis=0)
            return f"the polygon between ({low[0]:g}, {low[1]:g}) and ({high[0]:g}, {high[1]:g}) has no inside", "Its points lie on one line; give it a width."
        return None if piece.polygon.is_valid else _invalid(shapely.is_valid_reason(piece.polygon))


def _misplaced(piece: Piece, path: Path) -> tuple[str, str] | None:
    """Return what is wrong with a polygon whose file says that it is something else than the place where it is used, and the way out, or None."""
    kind = kind_of(piece.kind)
    if "walkable" in path and kind in (Kind.OBSTACLES, Kind.WALLS):
        what, way_out = "an obstacle" if kind is Kind.OBSTACLES else "a wall", "Put it into a file of its own, under geometry.obstacles"
    elif "obstacles" in path and kind is Kind.GROUND:
        what, way_out = "ground", "Put it into a file of its own, under geometry.walkable"
    else:
        return None
    return f'is {what}, as its file says ("{clipped(piece.kind)}")', f"{way_out}; or make a scenario of the whole file: crowdsim new --plan FILE."


def _is_ring(areas: list[Any]) -> bool:
    return bool(areas) and isinstance(areas[0], list) and bool(areas[0]) and isinstance(areas[0][0], (int, float))


def _invalid(reason: str) -> tuple[str, str]:
    """Return GEOS's reason why a polygon is not valid, in words, with the way out."""
    match = _REASON.match(reason)
    at = f" at ({float(match['x']):.6g}, {float(match['y']):.6g})" if match else ""
    kind = match["reason"].strip() if match else reason
    known = {
        "Self-intersection": ("the boundary crosses itself", "Put the points into the order in which they follow each other along the boundary."),
        "Ring Self-intersection": ("the boundary touches itself", "Split the polygon there into two, or move one of the points."),
        "Hole lies outside shell": ("a hole lies outside the polygon", "Remove it, or move it inside."),
        "Nested holes": ("a hole lies inside another hole", "Give only the outer one."),
        "Holes are nested": ("a hole lies inside another hole", "Give only the outer one."),
        "Nested shells": ("a polygon lies inside another one", "Give only the outer one."),
        "Duplicate Rings": ("two boundaries are the same", "Give it once."),
        "Interior is disconnected": ("the holes cut the polygon in two", "Give two polygons."),
        "Too few points in geometry component": ("the polygon has fewer than 3 different points", "Give at least 3."),
    }
    words, way_out = known.get(kind, (f"the polygon is not valid ({kind})", ""))
    return words + at, way_out


def circle_corners(centre: Sequence[float], radius: float, corners: int) -> NDArray[np.float64]:
    """Return the corners of a regular polygon, counter-clockwise, the first in the direction of x from `centre`.

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
        eighth, rest = divmod(8 * index, corners)  # octants, so that the angle is at most 45 degrees and mirrored corners are exact mirrors
        small = rest if eighth % 2 == 0 else corners - rest
        sine, cosine = _sine_and_cosine(small * math.pi / (4 * corners)) if small < corners else (math.sqrt(0.5), math.sqrt(0.5))
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


def resolve_geometry(shape: schema.GeometryShape, reader: AreaReader, problems: Problems) -> Geometry | None:
    """Return the walkable ground of a scenario, or None where there are problems.

    Parameters
    ----------
    shape : GeometryShape
        Areas that have been reported already are None in it.
    reader : AreaReader
    problems : Problems

    Notes
    -----
    The union of the walkable areas, snapped to a grid of 2**-20 m, without the obstacles; parts and holes thinner than rounding are dropped, and so are corners
    that turn nothing. Overlay on a fixed grid: Hobby, "Practical segment intersection with finite precision output", 1999, as in GEOS.
    """
    found = ground_of_areas(shape.walkable, shape.obstacles, ("geometry",), reader, shape.resolved, problems)
    return Geometry(*found) if found is not None else None


def ground_of_areas(
    walkable_areas: Any, obstacle_areas: Any, path: Path, reader: AreaReader, resolved: bool, problems: Problems
) -> tuple[Any, tuple[NamedPolygon, ...]] | None:
    """Return the ground of one floor and its obstacles, or None where there are problems.

    Parameters
    ----------
    walkable_areas, obstacle_areas : schema values of type `Areas`
    path : tuple
        Where `walkable` and `obstacles` stand in the scenario.
    reader : AreaReader
    resolved : bool
        Take areas as they are: crowdsim has written them.
    problems : Problems
    """
    before = len(problems.found)
    walkable = reader.pieces(walkable_areas, (*path, "walkable"))
    obstacles = reader.pieces(obstacle_areas, (*path, "obstacles"), obstacles=True)
    if not resolved:
        obstacles += reader.obstacles_in(walkable_areas, (*path, "walkable"))
    if len(problems.found) > before or any(isinstance(areas, list) and None in areas for areas in (walkable_areas, obstacle_areas)):
        return None
    if not walkable:
        problems.add((*path, "walkable"), "no area is given", "Give at least one polygon.")
        return None
    given = sorted(
        (NamedPolygon(piece.polygon, piece.name) for piece in obstacles),
        key=lambda obstacle: (obstacle.name, shapely.get_coordinates(obstacle.polygon).tolist()),
    )
    if resolved:
        ground = _as_written(walkable)
        if not ground.is_valid:
            problems.add((*path, "walkable"), "parts of the ground overlap", "Only crowdsim itself writes resolved: true; leave it out.")
            return None
    else:
        ground = _cut(_union([piece.polygon for piece in walkable]), given)
    if ground.is_empty:
        words = f"the {len(given)} obstacles cover" if len(given) > 1 else "the obstacle covers"
        problems.add((*path, "obstacles"), f"{words} all of the walkable areas", "Leave some ground to walk on.")
        return None
    left, bottom, right, top = ground.bounds
    if max(right - left, top - bottom) < LEAST_SPAN_M:
        size = f"{right - left:.3g} x {top - bottom:.3g}"
        problems.add((*path, "walkable"), f"the ground is only {size} m large", "Coordinates are metres: project degrees, and scale kilometres, first.")
        return None
    return ground, tuple(given)


def _cut(ground: Any, obstacles: Sequence[NamedPolygon]) -> Any:
    if obstacles:
        ground = shapely.difference(ground, _union([obstacle.polygon for obstacle in obstacles]), grid_size=GRID_M)
    return cleaned(ground)


def _as_written(pieces: Sequence[Piece]) -> Any:
    return pieces[0].polygon if len(pieces) == 1 else shapely.MultiPolygon([piece.polygon for piece in pieces])


def _union(polygons: Sequence[Any]) -> Any:
    return shapely.set_precision(shapely.union_all(polygons, grid_size=GRID_M), GRID_M)  # the union of one polygon alone is not snapped


def cleaned(area: Any) -> Any:
    """Return an area without slivers and flat corners, oriented, its parts and rings in an order that depends on the shape alone.

    Parameters
    ----------
    area : shapely geometry
        Result of an overlay; points and lines in it are dropped.

    Returns
    -------
    shapely Polygon or MultiPolygon
        Perhaps empty.
    """
    parts = [part for part in shapely.get_parts(area) if _is_wide(part)]
    rebuilt = []
    for part in parts:
        holes = [ring for ring in part.interiors if _is_wide(shapely.Polygon(ring))]
        rings = [shapely.get_coordinates(ring)[:-1] for ring in (part.exterior, *holes)]
        shell, *inner = _without_flat_corners(rings)
        polygon = shapely.Polygon(shell, inner)
        rebuilt.append(polygon if polygon.is_valid else part)
    whole = rebuilt[0] if len(rebuilt) == 1 else shapely.MultiPolygon(rebuilt)
    return shapely.orient_polygons(shapely.normalize(whole), exterior_cw=False)


def _is_wide(polygon: Any) -> bool:
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
    """Return well-known text of a polygon or multipolygon from which exactly the same numbers are read again: the shortest digits that name each float64."""
    if area.geom_type == "MultiPolygon":
        return "MULTIPOLYGON (" + ", ".join(_rings_text(part) for part in area.geoms) + ")"
    return "POLYGON " + _rings_text(area)


def _rings_text(polygon: Any) -> str:
    return "(" + ", ".join(_ring_text(shapely.get_coordinates(ring)) for ring in (polygon.exterior, *polygon.interiors)) + ")"


def _ring_text(points: NDArray[np.float64]) -> str:
    number: Callable[[float], str] = lambda value: repr(value).removesuffix(".0")  # noqa: E731
    return "(" + ", ".join(f"{number(x)} {number(y)}" for x, y in points.tolist()) + ")"
