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
from crowdsim.navigation.grid.layout import Raster
from crowdsim.plans.kinds import Kind, kind_of
from crowdsim.scenario import schema
from crowdsim.scenario.dxf import drawing_of, pieces_of_dxf
from crowdsim.scenario.files import FileAccess, FileRefused
from crowdsim.scenario.floor import Floor
from crowdsim.scenario.geometry_files import GeometryRefused, GridMap, Piece, grid_map_of, movingai_map_of, pieces_of_geojson, pieces_of_wkt
from crowdsim.scenario.limits import MAX_AREAS, MAX_COORDINATE_M, MAX_GEOMETRY_CHARACTERS, MAX_KEY_LENGTH, MAX_VERTICES
from crowdsim.scenario.tree import Path, Problems, clipped, number_text

GRID_M = 2.0**-20  # 1 micrometre: coordinates on it are exact in float64 up to 8e9 m, so shared walls of two rooms are the same numbers; coarser moves walls.
SLIVER_WIDTH_M = 1e-5  # Mean width below which a part or hole left over by the union is rounding, not ground: ten steps of the grid. Walls are thicker.
LEAST_SPAN_M = 0.1  # Ground that is less across holds no body; the file is in other units.
_NAME = re.compile(schema.NAME_PATTERN)
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
    shared : bool
        Whether what another shared area that is open holds too stays open: those of grid maps, which overlap as they like (S2 section 2).
    """

    name: str
    area: Any
    available: bool = True
    shared: bool = False


@dataclass(frozen=True, eq=False)
class GridLayout:
    """How a grid is laid over ground.

    Attributes
    ----------
    areas : tuple of NamedPolygon
        The walkable areas as they were given, in the order of their names and outlines; those that can be opened and closed have names.
    raster : Raster or None
        Where the cells of a file lie.
    """

    areas: tuple[NamedPolygon, ...]
    raster: Raster | None = None


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
    layout : GridLayout or None
        Of a grid over it; None where there are several floors, and where it is not known.
    """

    walkable: Any
    obstacles: tuple[NamedPolygon, ...]
    floors: tuple[Floor, ...] = ()
    clearance: float = CLEARANCE_M
    patches: tuple[Patch, ...] = ()
    sheet_floors: tuple[int, ...] = ()
    terrain: tuple[tuple[Terrain, ...], ...] = ()
    areas: tuple[ToggledArea, ...] = ()
    layout: GridLayout | None = None

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
    def is_even(self) -> bool:
        """Whether it is one level floor that everybody walks at their own speed."""
        return len(self.floors) <= 1 and not self.patches and not self.named_speeds

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
        self._maps: dict[tuple[str, float], GridMap] = {}  # by file and size of cells
        self.grid_maps: list[tuple[Path, str, GridMap]] = []  # on which one walks: where the scenario names them, and the files
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
        return self._pieces_of_one(areas, path, True) if isinstance(areas, schema.S2FileArea) and self.map_of(areas).raster is None else []

    def maps_in(self, areas: Any, path: Path) -> list[tuple[Path, str, GridMap]]:
        """Return the grid maps among `areas` that can be read, with where the scenario names them, and their files."""
        if isinstance(areas, list) and not _is_ring(areas):
            return [found for index, area in enumerate(areas) for found in self.maps_in(area, (*path, index))]
        if not isinstance(areas, (schema.S2FileArea, schema.MapFileArea)):
            return []
        try:
            return [(path, self._file_named(areas), self.map_of(areas))]
        except (GeometryRefused, FileRefused):  # told where its pieces were asked for
            return []

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
            complaint = _misplaced(piece, path) or self.complaint(piece)
            if complaint:
                file = self._file_named(area)
                where = ", ".join(part for part in (file, piece.where) if part)
                self.problems.add(path, f"{where}: {complaint[0]}" if where else complaint[0], complaint[1])
            else:
                good.append(Piece(piece.polygon, name or piece.name, piece.where))
        return good

    @staticmethod
    def _file_named(area: Any) -> str:
        keys = ("wkt_file", "geojson_file", "s2_file", "map_file", "dxf_file")
        return next((value for key in keys if isinstance(value := getattr(area, key, None), str)), "")

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
        found = self.map_of(area)
        if obstacles and found.raster is not None:
            raise GeometryRefused("a map of cells has no obstacles that could be taken from it", "Put it under walkable: its walkable cells are the ground.")
        return found.obstacles if obstacles else found.areas

    def map_of(self, area: schema.S2FileArea | schema.MapFileArea) -> GridMap:
        """Return the grid map of a file.

        Raises
        ------
        GeometryRefused or FileRefused
            If it cannot be read.
        """
        is_s2 = isinstance(area, schema.S2FileArea)
        file, cell = (area.s2_file, 0.0) if isinstance(area, schema.S2FileArea) else (area.map_file, float(area.cell_size))
        if (file, cell) not in self._maps:
            if is_s2 and file.lower().endswith(".map"):
                raise GeometryRefused("this is a map of the MovingAI benchmark, by its ending", f"Write {{map_file: {file}}}.")
            text = self._counted(self.access.read(file))
            self._maps[file, cell] = grid_map_of(text) if is_s2 else movingai_map_of(text, cell)
        return self._maps[file, cell]

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

    def complaint(self, piece: Piece) -> tuple[str, str] | None:
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
    found = ground_of_areas(shape.walkable, shape.obstacles, ("geometry",), reader, shape.resolved, problems, toggles=True)
    if found is None:
        return None
    return Geometry(found.ground, found.obstacles, areas=found.areas, layout=found.layout or written_layout(shape, problems))


def written_layout(shape: schema.GeometryShape, problems: Problems) -> GridLayout | None:
    """Return the layout of a grid as crowdsim has written it, or None."""
    if shape.grid is None:
        return None
    if not shape.resolved:
        problems.add(("geometry", "grid"), "only crowdsim itself writes grid, into recordings", "Leave it out; navigation has the numbers of a grid.", key=True)
        return None
    areas = []
    for index, each in enumerate(shape.grid.areas):
        try:
            areas += [NamedPolygon(piece.polygon, each.name or "") for piece in pieces_of_wkt(each.wkt)]
        except GeometryRefused as refused:
            problems.add(("geometry", "grid", "areas", index), str(refused), refused.way_out)
    raster = shape.grid.raster
    if raster is None:
        return GridLayout(tuple(areas))
    kept = None if raster.kept is None else float(raster.kept)
    x, y = map(float, raster.corner)
    return GridLayout(tuple(areas), Raster(x, y, float(raster.cell_size), raster.width, raster.depth, kept))


@dataclass(frozen=True, eq=False)
class FoundGround:
    """The ground of one floor.

    Attributes
    ----------
    ground : shapely Polygon or MultiPolygon
    obstacles : tuple of NamedPolygon
    areas : tuple of ToggledArea
        Those that grid maps bring along, ascending by name.
    layout : GridLayout or None
        None where crowdsim has written the areas: then it has written the layout, too.
    """

    ground: Any
    obstacles: tuple[NamedPolygon, ...]
    areas: tuple[ToggledArea, ...] = ()
    layout: GridLayout | None = None


def ground_of_areas(
    walkable_areas: Any, obstacle_areas: Any, path: Path, reader: AreaReader, resolved: bool, problems: Problems, *, toggles: bool = False
) -> FoundGround | None:
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
    toggles : bool
        Whether areas of grid maps can be opened and closed there; if not, those that are closed are no ground.
    """
    before = len(problems.found)
    walkable = reader.pieces(walkable_areas, (*path, "walkable"))
    obstacles = reader.pieces(obstacle_areas, (*path, "obstacles"), obstacles=True)
    maps: list[tuple[Path, str, GridMap]] = []
    if not resolved:
        obstacles += reader.obstacles_in(walkable_areas, (*path, "walkable")) if len(problems.found) == before else []
        maps = reader.maps_in(walkable_areas, (*path, "walkable"))
        reader.grid_maps += maps
    if len(problems.found) > before or any(isinstance(areas, list) and None in areas for areas in (walkable_areas, obstacle_areas)):
        return None
    named = _named_areas(maps, reader, problems) if toggles else []
    if len(problems.found) > before:
        return None
    closed = [piece for piece, available in named if not available]
    if not walkable and not closed:
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
        ground = _cut(_union([piece.polygon for piece in (*walkable, *closed)]), given)
    if ground.is_empty:
        words = f"the {len(given)} obstacles cover" if len(given) > 1 else "the obstacle covers"
        problems.add((*path, "obstacles"), f"{words} all of the walkable areas", "Leave some ground to walk on.")
        return None
    left, bottom, right, top = ground.bounds
    if max(right - left, top - bottom) < LEAST_SPAN_M:
        size = f"{right - left:.3g} x {top - bottom:.3g}"
        problems.add((*path, "walkable"), f"the ground is only {size} m large", "Coordinates are metres: project degrees, and scale kilometres, first.")
        return None
    if resolved:
        return FoundGround(ground, tuple(given))
    theirs = {id(piece.polygon) for piece, _ in named}
    rest = [piece.polygon for piece in walkable if id(piece.polygon) not in theirs]
    return FoundGround(ground, tuple(given), _shared_areas(named, rest), _layout(named, rest, maps))


def _named_areas(maps: Sequence[tuple[Path, str, GridMap]], reader: AreaReader, problems: Problems) -> list[tuple[Piece, bool]]:
    """Return the areas of grid maps that can be opened and closed, with whether they are open; a closed one without a name is known by its place."""
    known: dict[str, str] = {}
    found = []
    for path, file, each in maps:
        for piece, available in ((piece, is_open) for pieces, is_open in ((each.areas, True), (each.closed_areas, False)) for piece in pieces):
            where, name = f"{file}, {piece.where}", piece.name or ("" if available else piece.where)
            complaint = reader.complaint(piece) if not available else None
            if complaint:
                problems.add(path, f"{where}: {complaint[0]}", complaint[1])
            elif not name:  # nothing can close it
                continue
            elif not _NAME.match(name) or len(name) > MAX_KEY_LENGTH:
                way_out = f"Names begin with no blank and no bracket, and have at most {MAX_KEY_LENGTH} characters."
                problems.add(path, f'{where}: "{clipped(name)}" is no name that events could use', way_out)
            elif name in known:
                problems.add(path, f'{where}: there is an area "{clipped(name)}" already: {known[name]}', "Events tell areas apart by their names.")
            else:
                known[name] = where
                found.append((Piece(piece.polygon, name, piece.where), available))
    if len(found) > MAX_AREAS:
        problems.add(maps[0][0], f"{len(found):,} areas with names, but there may be at most {MAX_AREAS:,} that can be opened and closed", "Unite some.")
    return found


def _shared_areas(named: Sequence[tuple[Piece, bool]], rest: Sequence[Any]) -> tuple[ToggledArea, ...]:
    """Return the areas of grid maps as they are opened and closed: what other ground holds is always open."""
    always = _union(rest) if rest else None
    found = []
    for piece, available in named:
        own = shapely.set_precision(piece.polygon, GRID_M)
        if always is not None:
            own = shapely.difference(own, always, grid_size=GRID_M)
        found.append(ToggledArea(piece.name, cleaned(own), available, True))
    return tuple(sorted(found, key=lambda area: area.name))


def _layout(named: Sequence[tuple[Piece, bool]], rest: Sequence[Any], maps: Sequence[tuple[Path, str, GridMap]]) -> GridLayout:
    """Return how a grid is laid over the areas of one floor; where several files have cells, none of them says it."""
    areas = [*(NamedPolygon(piece.polygon, piece.name) for piece, _ in named), *(NamedPolygon(each) for each in rest)]
    rasters = [each.raster for _, _, each in maps if each.raster is not None]
    areas.sort(key=lambda area: (area.name, shapely.get_coordinates(area.polygon).tolist()))
    return GridLayout(tuple(areas), rasters[0] if len(rasters) == 1 else None)


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
