"""From the areas of a scenario to one walkable ground:
valid, oriented, on a fine grid, the same in whatever order the areas are listed.

Where there are several floors, these are storeys, which are level, and connections, which lead from one up to
another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.floor_plans import CLEARANCE_M, FloorPlan, Join, Plane, Terrain
from crowdsim.geometry.steps import Steps
from crowdsim.geometry.surface import STEP_M, Patch
from crowdsim.navigation.grid.layout import Raster
from crowdsim.printable import counted
from crowdsim.scenario import schema
from crowdsim.scenario.area_reader import AreaReader
from crowdsim.scenario.geometry_files import GeometryRefused, GridMap, Piece, pieces_of_wkt
from crowdsim.scenario.limits import MAX_AREAS, MAX_KEY_LENGTH
from crowdsim.scenario.shapes import GRID_M, as_written, cleaned, united_on_grid
from crowdsim.scenario.tree import Path, Problems, clipped, listed, suggestion

if TYPE_CHECKING:
    from crowdsim.navigation.soup.sectors import SectorGraph  # with kernels, which few scenarios need

Line = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class Flight:
    """How a connection leads up.

    Attributes
    ----------
    kind : str
        ``stair`` or ``ramp``.
    lower, upper : int
        Numbers of the floors that it joins.
    foot, head : ((x, y), (x, y)), m
        Its lines on these; parallel.
    speed_up, speed_down : float
        Speed on it as a share of that on level ground, along the surface.
    """

    kind: str
    lower: int
    upper: int
    foot: Line
    head: Line
    speed_up: float
    speed_down: float


@dataclass(frozen=True, eq=False)
class Floor:
    """A storey or a connection.

    Attributes
    ----------
    name : str
    ground : shapely Polygon or MultiPolygon
        In plan, like the walkable ground of a scenario with one floor; what has too little height above it
        has been cut out.
    plane : Plane
    obstacles : tuple of NamedPolygon
        As given.
    flight : Flight or None
        None for a storey.
    """

    name: str
    ground: Any
    plane: Plane
    obstacles: tuple[Any, ...] = ()
    flight: Flight | None = None

    @property
    def elevation(self) -> float:
        """Height of a storey, or of the foot of a connection (m)."""
        return self.plane.place[2]

    def plan(self, openings: Any = None, terrain: tuple[Terrain, ...] = ()) -> FloorPlan:
        """Return the floor as navigation wants it;
        boundary inside `openings` (shapely geometry) is an exit.
        """
        pace = (self.flight.speed_up, self.flight.speed_down) if self.flight is not None else (1.0, 1.0)
        return FloorPlan(self.name, self.ground, self.plane, pace, openings, terrain)


def joins_of(floors: tuple[Floor, ...]) -> list[Join]:
    """Return the lines along which floors meet: foot and head of each connection."""
    found = []
    for number, floor in enumerate(floors):
        if floor.flight is not None:
            flight = floor.flight
            found.append(Join((flight.lower, number), flight.foot, floors[flight.lower].elevation))
            found.append(Join((flight.upper, number), flight.head, floors[flight.upper].elevation))
    return found


def seen_from_above(floors: tuple[Floor, ...]) -> Any:
    """Return the ground of all floors in plan, shapely Polygon or MultiPolygon."""
    return shapely.union_all([floor.ground for floor in floors])


LEAST_SPAN_M = 0.1  # Ground that is less across holds no agent; the file is in other units.
_NAME = re.compile(schema.NAME_PATTERN)


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
class Filled:
    """What the ground of a fill of triangles was made of.

    Attributes
    ----------
    graph : SectorGraph
    layers : (ns,) int32
        Floor of each of its sectors.
    """

    graph: SectorGraph
    layers: NDArray[np.int32]


class Refill(Protocol):
    """Fills the ground anew as parts of a soup come and go.

    Attributes
    ----------
    surfaces : mapping of str to float
        The terrain that there may be, with its speeds.
    """

    @property
    def surfaces(self) -> Mapping[str, float]:
        """The terrain that there may be, with its speeds."""

    def ground(self, present: frozenset[str]) -> Geometry:
        """Return the ground while the parts of these names are there."""

    def steps(self, present: frozenset[str]) -> Steps[Geometry]:
        """Return the same, resting in between."""

    def corners(self, present: frozenset[str]) -> NDArray[np.float64]:
        """Return the corners of the triangles that are there then, (nt, 3, 3) m."""

    def data(self, present: frozenset[str]) -> dict[str, Any]:
        """Return it as a scenario says it, as plain dicts, lists and scalars."""


@dataclass(frozen=True, eq=False)
class ToggledArea:
    """A part of the ground that is closed and opened while a scenario runs, or of the triangles that it is
    filled from, which come and go.

    Attributes
    ----------
    name : str
    area : shapely Polygon or MultiPolygon
        As given: it may reach beyond the ground. Of triangles what they cover in plan.
    available : bool
        Whether it is open, or there, at the begin.
    shared : bool
        Whether what another shared area that is open holds too stays open: those of grid maps, which overlap
        as they like ([Pathfinding undated], section 2).
    layer : int
        Number of the floor on which it lies; -1 where there is one level floor, and of triangles.
    is_part : bool
        Whether it is a part of a soup: its triangles come and go.
    """

    name: str
    area: Any
    available: bool = True
    shared: bool = False
    layer: int = -1
    is_part: bool = False


@dataclass(frozen=True, eq=False)
class GridLayout:
    """How a grid is laid over ground.

    Attributes
    ----------
    areas : tuple of NamedPolygon
        The walkable areas as they were given, in the order of their names and outlines; those that can be
        opened and closed have names.
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
        Valid; outer boundaries counter-clockwise, holes clockwise; vertices on a grid of 2**-20 m. The
        obstacles have been cut out. With several floors, all of them as seen from above.
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
    step : float, m
        Up to which difference in height patches of different sheets are joined along an edge.
    terrain : tuple of tuple of Terrain
        Areas that are walked at speeds of their own, for each floor ascending by name; they do not overlap.
        Empty where there are none.
    areas : tuple of ToggledArea
        Ascending by name.
    weighs_all : bool
        Whether some navigation weighs metres everywhere, by what sees them.
    told_apart : (frozenset of str, frozenset of str)
        Names of the terrain that some navigation forbids or allows, and prices.
    layout : GridLayout or None
        Of a grid over it; None where there are several floors, and where it is not known.
    filled : Filled or None
        Of a soup.
    refill : Refill or None
        Of a soup parts of which come and go.
    """

    walkable: Any
    obstacles: tuple[NamedPolygon, ...]
    floors: tuple[Floor, ...] = ()
    clearance: float = CLEARANCE_M
    patches: tuple[Patch, ...] = ()
    sheet_floors: tuple[int, ...] = ()
    step: float = STEP_M
    terrain: tuple[tuple[Terrain, ...], ...] = ()
    areas: tuple[ToggledArea, ...] = ()
    layout: GridLayout | None = None
    weighs_all: bool = False
    told_apart: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    filled: Filled | None = None
    refill: Refill | None = None

    def __repr__(self) -> str:
        floors = f" on {counted(len(self.floors), 'floor')}" if self.floors else ""
        return (
            f"<Geometry: {self.walkable.area:,.1f} m2 of ground{floors}, "
            f"{counted(len(self.obstacles), 'obstacle')}, {counted(len(self.areas), 'area')}>"
        )

    def floor_at(self, x: float, y: float, z: float) -> tuple[int, float]:
        """Return the number of the floor whose ground at (x, y) is nearest in height to z (m), and that
        height; -1 where there is none, or no floors.
        """
        spot = shapely.Point(x, y)
        if self.patches:
            near = [
                (patch.plane, self.sheet_floors[patch.sheet])
                for patch in self.patches
                if shapely.dwithin(patch.ground, spot, GRID_M)
            ]
        else:
            near = [
                (floor.plane, number)
                for number, floor in enumerate(self.floors)
                if shapely.dwithin(floor.ground, spot, GRID_M)
            ]
        heights = [(float(plane.height(np.array([[x, y]]))[0]), number) for plane, number in near]
        _, number, height = min(
            ((abs(height - z), number, height) for height, number in heights), default=(0.0, -1, z)
        )
        return number, height

    def floor_in(self, area: Any, z: float) -> int:
        """Return the number of the floor that has ground in an area (shapely, m) with the height nearest to z
        (m); -1 where none has, or there are no floors.
        """
        found = []
        for number, floor in enumerate(self.floors):
            common = shapely.intersection(floor.ground, area)
            if common.area > 0.0:
                x, y = common.representative_point().coords[0]
                own = [
                    patch.plane
                    for patch in self.patches
                    if self.sheet_floors[patch.sheet] == number
                    and shapely.dwithin(patch.ground, shapely.Point(x, y), GRID_M)
                ]
                place = np.array([[x, y]])
                miss = min(abs(float(plane.height(place)[0]) - z) for plane in own or [floor.plane])
                found.append((miss, number))
        return min(found)[1] if found else -1

    def with_parts(self, available: Sequence[bool]) -> Geometry:
        """Return the ground as it is while some parts of its soup are there.

        Parameters
        ----------
        available : sequence of bool
            Of each area; what is said of those that are no parts does not matter.
        """
        if self.refill is None:
            return self
        present = [
            area.name
            for area, is_there in zip(self.areas, available, strict=True)
            if area.is_part and is_there
        ]
        return self.refilled(self.refill.ground(frozenset(present)), frozenset(present))

    def refilled(self, ground: Geometry, present: frozenset[str]) -> Geometry:
        """Return ground of the same soup, with parts of these names, with what this knows of all of them."""
        areas = tuple(
            replace(area, available=area.name in present) if area.is_part else area for area in self.areas
        )
        return replace(
            ground,
            areas=areas,
            weighs_all=self.weighs_all,
            told_apart=self.told_apart,
            refill=self.refill,
        ).told()

    def told(self) -> Geometry:
        """Return the same with terrain that knows whether some navigation tells it apart, and prices it."""
        named, priced = self.told_apart
        floors = [
            tuple(
                replace(
                    each,
                    kind=each.name if each.name in named | priced else "",
                    has_price=each.name in priced,
                )
                for each in floor
            )
            for floor in self.terrain
        ]
        return replace(self, terrain=tuple(floors))

    def triangles(self) -> NDArray[np.float64] | None:
        """Return the corners of the triangles that are there, (nt, 3, 3) m, where some come and go; else
        None.
        """
        if self.refill is None:
            return None
        return self.refill.corners(
            frozenset(area.name for area in self.areas if area.is_part and area.available)
        )

    @property
    def grounds(self) -> tuple[Any, ...]:
        """Ground in plan by floor."""
        return tuple(floor.ground for floor in self.floors) or (self.walkable,)

    @property
    def named_speeds(self) -> tuple[str, ...]:
        """Names of the terrain whose speed is not that of other ground; also of what may come."""
        found = [(each.name, each.speed) for floor in self.terrain for each in floor]
        found += self.refill.surfaces.items() if self.refill is not None else ()
        return tuple(dict.fromkeys(name for name, speed in found if speed != 1.0))

    @property
    def is_weighed(self) -> bool:
        """Whether there is terrain on which a metre costs other than elsewhere."""
        return self.weighs_all or any(each.is_weighed for floor in self.terrain for each in floor)

    @cached_property
    def kinds(self) -> tuple[tuple[Terrain, ...], ...]:
        """Terrain as the mesh is cut by it; with all other ground where metres are weighed everywhere, which
        are small polygons then, too.
        """
        if not self.weighs_all:
            return self.terrain
        found = []
        for layer, ground in enumerate(self.grounds):
            own = self.terrain[layer] if self.terrain else ()
            rest = shapely.difference(ground, shapely.union_all([each.area for each in own]))
            parts = [part for part in shapely.get_parts(rest) if part.geom_type == "Polygon"]
            more = (
                (Terrain("", shapely.multipolygons(parts), 1.0, kind=" ", has_price=True),) if parts else ()
            )
            found.append((*own, *more))
        return tuple(found)

    @property
    def is_even(self) -> bool:
        """Whether it is one level floor on which all agents walk at their own speed."""
        return len(self.floors) <= 1 and not self.patches and not self.named_speeds

    @property
    def floor_names(self) -> tuple[str, ...]:
        """Names by floor."""
        return tuple(floor.name for floor in self.floors) or ("ground",)


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
    The union of the walkable areas, snapped to a grid of 2**-20 m, without the obstacles; parts and holes
    thinner than rounding are dropped, and so are corners that turn nothing. Overlay on a fixed grid:
    [Hobby 1999], as in GEOS.
    """
    found = ground_of_areas(
        shape.walkable, shape.obstacles, ("geometry",), reader, shape.resolved, problems, toggles=True
    )
    if found is None or found.layout is not None:
        return found
    return replace(found, layout=written_layout(shape, problems))


def written_layout(shape: schema.GeometryShape, problems: Problems) -> GridLayout | None:
    """Return the layout of a grid as crowdsim has written it, or None."""
    if shape.grid is None:
        return None
    if not shape.resolved:
        problems.add(
            ("geometry", "grid"),
            "only crowdsim itself writes grid, into recordings",
            "Leave it out; navigation has the numbers of a grid.",
            key=True,
        )
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


def ground_of_areas(
    walkable_areas: Any,
    obstacle_areas: Any,
    path: Path,
    reader: AreaReader,
    resolved: bool,
    problems: Problems,
    *,
    toggles: bool = False,
) -> Geometry | None:
    """Return the ground of one floor and its obstacles, or None where there are problems.

    Areas are those that grid maps bring along. There is no layout where crowdsim has written the areas: then
    it has written the layout, too.

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
        Whether areas of grid maps can be opened and closed there; if not, those that are closed are no
        ground.
    """
    before = len(problems.found)
    walkable = reader.pieces(walkable_areas, (*path, "walkable"))
    obstacles = reader.pieces(obstacle_areas, (*path, "obstacles"), obstacles=True)
    maps: list[tuple[Path, str, GridMap]] = []
    if not resolved:
        obstacles += (
            reader.obstacles_in(walkable_areas, (*path, "walkable")) if len(problems.found) == before else []
        )
        maps = reader.maps_in(walkable_areas, (*path, "walkable"))
        reader.grid_maps += maps
    if len(problems.found) > before or any(
        isinstance(areas, list) and None in areas for areas in (walkable_areas, obstacle_areas)
    ):
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
        ground = as_written([piece.polygon for piece in walkable])
        if not ground.is_valid:
            problems.add(
                (*path, "walkable"),
                "parts of the ground overlap",
                "Only crowdsim itself writes resolved: true; leave it out.",
            )
            return None
    else:
        ground = _cut(united_on_grid([piece.polygon for piece in (*walkable, *closed)]), given)
    if ground.is_empty:
        words = f"the {len(given)} obstacles cover" if len(given) > 1 else "the obstacle covers"
        problems.add(
            (*path, "obstacles"), f"{words} all of the walkable areas", "Leave some ground to walk on."
        )
        return None
    left, bottom, right, top = ground.bounds
    if max(right - left, top - bottom) < LEAST_SPAN_M:
        size = f"{right - left:.3g} x {top - bottom:.3g}"
        problems.add(
            (*path, "walkable"),
            f"the ground is only {size} m large",
            "Coordinates are metres: project degrees, and scale kilometres, first.",
        )
        return None
    if resolved:
        return Geometry(ground, tuple(given))
    theirs = {id(piece.polygon) for piece, _ in named}
    rest = [piece.polygon for piece in walkable if id(piece.polygon) not in theirs]
    areas, layout = _shared_areas(named, rest), _layout(named, rest, maps)
    return Geometry(ground, tuple(given), areas=areas, layout=layout)


def _named_areas(
    maps: Sequence[tuple[Path, str, GridMap]], reader: AreaReader, problems: Problems
) -> list[tuple[Piece, bool]]:
    """Return the areas of grid maps that can be opened and closed, with whether they are open;
    a closed one without a name is known by its place.
    """
    known: dict[str, str] = {}
    found = []
    for path, file, each in maps:
        for piece, available in (
            (piece, is_open)
            for pieces, is_open in ((each.areas, True), (each.closed_areas, False))
            for piece in pieces
        ):
            where, name = f"{file}, {piece.where}", piece.name or ("" if available else piece.where)
            complaint = reader.complaint(piece) if not available else None
            if complaint:
                problems.add(path, f"{where}: {complaint[0]}", complaint[1])
            elif not name:  # nothing can close it
                continue
            elif not _NAME.match(name) or len(name) > MAX_KEY_LENGTH:
                problems.add(
                    path,
                    f'{where}: "{clipped(name)}" is no name that events could use',
                    "Names begin with no blank and no bracket, and have at most "
                    f"{MAX_KEY_LENGTH} characters.",
                )
            elif name in known:
                problems.add(
                    path,
                    f'{where}: there is an area "{clipped(name)}" already: {known[name]}',
                    "Events tell areas apart by their names.",
                )
            else:
                known[name] = where
                found.append((Piece(piece.polygon, name, piece.where), available))
    if len(found) > MAX_AREAS:
        problems.add(
            maps[0][0],
            (
                f"{len(found):,} areas with names, but there may be at most {MAX_AREAS:,} that can be "
                "opened and closed"
            ),
            "Unite some.",
        )
    return found


def _shared_areas(named: Sequence[tuple[Piece, bool]], rest: Sequence[Any]) -> tuple[ToggledArea, ...]:
    """Return the areas of grid maps as they are opened and closed: what other ground holds is always open."""
    always = united_on_grid(rest) if rest else None
    found = []
    for piece, available in named:
        own = shapely.set_precision(piece.polygon, GRID_M)
        if always is not None:
            own = shapely.difference(own, always, grid_size=GRID_M)
        found.append(ToggledArea(piece.name, cleaned(own), available, True))
    return tuple(sorted(found, key=lambda area: area.name))


def _layout(
    named: Sequence[tuple[Piece, bool]], rest: Sequence[Any], maps: Sequence[tuple[Path, str, GridMap]]
) -> GridLayout:
    """Return how a grid is laid over the areas of one floor;
    where several files have cells, none of them says it.
    """
    areas = [
        *(NamedPolygon(piece.polygon, piece.name) for piece, _ in named),
        *(NamedPolygon(each) for each in rest),
    ]
    rasters = [each.raster for _, _, each in maps if each.raster is not None]
    areas.sort(key=lambda area: (area.name, shapely.get_coordinates(area.polygon).tolist()))
    return GridLayout(tuple(areas), rasters[0] if len(rasters) == 1 else None)


def _cut(ground: Any, obstacles: Sequence[NamedPolygon]) -> Any:
    if obstacles:
        ground = shapely.difference(
            ground, united_on_grid([obstacle.polygon for obstacle in obstacles]), grid_size=GRID_M
        )
    return cleaned(ground)


class FloorNames:
    """Turns the names of floors into their numbers.

    Parameters
    ----------
    geometry : Geometry or None
        None where it has problems: then no name is called unknown.
    problems : Problems
    """

    def __init__(self, geometry: Geometry | None, problems: Problems) -> None:
        self.geometry = geometry
        self.problems = problems

    def layer(self, shape: Any, path: Path, area: Any) -> int:
        """Return the number of the floor that an item says it is on;
        -1 where there are no floors, or after a problem was added.

        Parameters
        ----------
        shape : schema value with `storey` and `height`
        path : tuple
        area : shapely geometry or None
            Where the item lies in plan; None is everywhere.
        """
        storey, height = shape.storey, shape.height
        if self.geometry is None or (storey is None and height is None and not self.geometry.floors):
            return -1
        names = self.geometry.floor_names
        if height is not None:
            if storey is not None:
                self.problems.add(
                    (*path, "height"), "storey and height are both given", "Keep one of them.", key=True
                )
                return -1
            return self._layer_at(height, path, area)
        if storey is None:
            if len(names) > 1:
                self.problems.add(
                    path,
                    "says no storey, but the geometry has several",
                    f"Add storey: one of {listed(names)}; or height.",
                )
            return 0
        if storey in names and self.geometry.floors:
            return names.index(storey)
        if not self.geometry.floors:
            self.problems.add(
                (*path, "storey"),
                f'names the storey "{storey}", but the geometry has none',
                "Leave it out.",
                key=True,
            )
        else:
            self.problems.add(
                (*path, "storey"),
                f'there is no storey "{storey}"',
                f"{suggestion(storey, names)} Known are {listed(names)}.".strip(),
            )
        return -1

    def _layer_at(self, height: float, path: Path, area: Any) -> int:
        """Return the floor whose ground is nearest in height, where the item lies in plan."""
        assert self.geometry is not None
        spots = [area] if area is not None else [floor.ground for floor in self.geometry.floors]
        for spot in spots:
            common = shapely.intersection(spot, self.geometry.walkable)
            if not common.is_empty:
                point = common.representative_point()
                layer, there = self.geometry.floor_at(point.x, point.y, height)
                if layer >= 0 and abs(there - height) >= self.geometry.clearance:
                    self.problems.add(
                        (*path, "height"),
                        f"the ground there nearest to {height:g} m is at {there:.2f} m, on another floor",
                        "Give its height within a clearance; a fill finds no ground where no step leads.",
                    )
                    return -1
                if layer >= 0:
                    return layer
        self.problems.add(
            (*path, "height"),
            f"there is no ground with a height of about {height:g} m there",
            "Give a storey, or another place.",
        )
        return -1

    def text(self, layer: int) -> str:
        """Return what tells points of one floor from those of others in the names of inline goals."""
        return f" on {self.geometry.floor_names[layer]}" if self.geometry is not None and layer >= 0 else ""
