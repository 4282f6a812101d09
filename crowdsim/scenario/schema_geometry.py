"""The shape of a scenario's ground, and what all shapes are made of:
numbers with units, points, names, areas, storeys, surfaces.

See `crowdsim.scenario.schema`, which has the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeGuard

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from crowdsim.scenario.limits import (
    MAX_AREAS,
    MAX_CELLS,
    MAX_COORDINATE_M,
    MAX_CORNERS,
    MAX_FACES,
    MAX_FLOORS,
    MAX_KEY_LENGTH,
    MAX_PARTS,
    MAX_SURFACES,
)

DEFAULT_CORNERS = 32  # A pillar of 1 m radius is then 5 mm too thin at most.


@dataclass(frozen=True)
class Expects:
    """Says in an error what a value should have been, for example ``a point [x, y]``."""

    what: str


@dataclass(frozen=True)
class Unit:
    """Unit of a number, for errors."""

    unit: str


class Shape(BaseModel):
    """A mapping whose keys are all known and in which no text is taken for a number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def by_form(form_of: Callable[[Any], str | None], expects: str) -> Any:
    """Return the discriminator of a union: `form_of` names the one alternative whose errors are told;
    `expects` is told where there is none.
    """
    return Discriminator(form_of, custom_error_type="form", custom_error_message=expects)


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether a value of a file is a number; truth values are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def key_form(value: Any, *keys: str) -> str | None:
    """Return the form of a mapping: that of the first of `keys` that it has."""
    return next((f"~{key}" for key in keys if key in value), None) if isinstance(value, dict) else None


# Numbers and points
# ------------------------------------------------------------------------------------------------------------

Metres = Annotated[float, Field(ge=-MAX_COORDINATE_M, le=MAX_COORDINATE_M), Unit("m")]
Length = Annotated[float, Field(gt=0, le=MAX_COORDINATE_M), Unit("m")]
Seconds = Annotated[float, Field(ge=0, le=1e9), Unit("s")]
Point = Annotated[list[Metres], Field(min_length=2, max_length=2), Expects("a point [x, y]")]
Ring = Annotated[list[Point], Field(min_length=3), Expects("a polygon of at least 3 points [[x, y], ...]")]
NAME_PATTERN = r"^[^(\s]([^\x00-\x1f]*\S)?$"
Name = Annotated[str, Field(min_length=1, max_length=MAX_KEY_LENGTH, pattern=NAME_PATTERN), Expects("a name")]
Point3 = Annotated[list[Metres], Field(min_length=3, max_length=3), Expects("a point [x, y, z]")]
Stretch = Annotated[list[Point], Field(min_length=2, max_length=2), Expects("a line [[x, y], [x, y]]")]
SpeedShare = Annotated[float, Field(gt=0, le=5)]
FileName = Annotated[str, Field(min_length=1, max_length=4096), Expects("the name of a file")]


# Areas
# ------------------------------------------------------------------------------------------------------------


class Named(Shape):
    """Something with a name for messages and pictures."""

    name: Name | None = Field(default=None, description="Name for messages and pictures.")


class PolygonArea(Named):
    """A polygon with holes."""

    polygon: Ring = Field(
        description="Outer boundary, in either direction; the last point need not repeat the first."
    )
    holes: list[Ring] = Field(default=[], description="Boundaries of holes.")


class BoxArea(Named):
    """A rectangle along the axes."""

    box: Annotated[
        list[Metres], Field(min_length=4, max_length=4), Expects("a box [xmin, ymin, xmax, ymax]")
    ] = Field(description="[xmin, ymin, xmax, ymax], m.")


class Circle(Shape):
    """A regular polygon in a circle."""

    centre: Point = Field(description="Centre, m.")
    radius: Length = Field(description="Distance of the corners from the centre, m.")
    corners: Annotated[int, Field(ge=3, le=MAX_CORNERS)] = Field(
        default=DEFAULT_CORNERS, description="Number of corners; the first lies in the direction of x."
    )


class CircleArea(Named):
    """A circle as a regular polygon."""

    circle: Circle


class City(Shape):
    """The ground of a made city, with its lower left corner at the origin."""

    size: Length = Field(description="Length of its sides, m.")
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = Field(
        default=1, description="The same seed gives the same city."
    )
    block: Length = Field(default=100.0, description="From one street to the next, about, m.")


class CityArea(Named):
    """The streets, squares and courts of a city that is made when the scenario is read."""

    city: City


class WktArea(Named):
    """Polygons as well-known text."""

    wkt: Annotated[str, Field(min_length=1)] = Field(
        description="POLYGON, MULTIPOLYGON or a GEOMETRYCOLLECTION of them, in metres; they are united."
    )


class WktFileArea(Named):
    """Polygons from a file of well-known text."""

    wkt_file: FileName = Field(description="File, relative to the scenario's folder.")


class GeoJsonFileArea(Named):
    """Polygons from a GeoJSON file."""

    geojson_file: FileName = Field(
        description=(
            "File with a geometry, feature or feature collection, in metres, relative to the scenario's "
            "folder."
        )
    )


class S2FileArea(Named):
    """Areas and obstacles from a grid map of [Pathfinding undated] in JSON (`areas`, `obstacles`, `cellSize`,
    ...), or the cells of one as plain text.
    """

    s2_file: FileName = Field(
        description="File, relative to the scenario's folder. Its x, z become x, y. "
        "In walkable its named areas can "
        "be opened and closed, those with "
        "`available: false` are closed at the begin, and its numbers are those of navigation grid and "
        "s2-grid where that is silent."
    )


class MapFileArea(Named):
    """The walkable cells of a map of the MovingAI benchmark."""

    map_file: FileName = Field(
        description="File, relative to the scenario's folder. Its lower left corner is the origin."
    )
    cell_size: Length = Field(default=1.0, description="Side of a cell, m.")


class DxfFileArea(Named):
    """Closed outlines on layers of a DXF drawing, and lines as thin walls; needs the extra `dxf`."""

    dxf_file: FileName = Field(description="File, relative to the scenario's folder.")
    layers: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=MAX_KEY_LENGTH)]],
        Field(min_length=1, max_length=MAX_AREAS),
    ] = Field(description="Names of the layers whose outlines are meant.")
    unit: Literal["mm", "cm", "dm", "m", "km", "in", "ft", "yd"] | None = Field(
        default=None, description="Unit of the drawing; by default what its header says ($INSUNITS)."
    )
    wall: Length | None = Field(
        default=None,
        description="How thick lines that enclose nothing are as walls, m. Without it they are an error.",
    )


AREA_KEYS = (
    "polygon",
    "box",
    "circle",
    "city",
    "wkt",
    "wkt_file",
    "geojson_file",
    "s2_file",
    "map_file",
    "dxf_file",
)
_AREA_FORMS = (
    "a polygon [[x, y], ...] or one of {polygon: ...}, {box: ...}, {circle: ...}, {city: ...}, {wkt: ...}, "
    "{wkt_file: ...}, {geojson_file: ...}, {s2_file: ...}, "
    "{map_file: ...}, {dxf_file: ..., layers: [...]}"
)


def _areas_form(value: Any) -> str | None:
    """Tell a list of areas from a single polygon, which is a list of points: a list of numbers."""
    if isinstance(value, list):
        first = value[0] if value else None
        is_list = (
            isinstance(first, dict)
            or (isinstance(first, list) and bool(first) and isinstance(first[0], (list, dict)))
            or not value
        )
        return "~list" if is_list else "~ring"
    return key_form(value, *AREA_KEYS)


Area = Annotated[
    Annotated[Ring, Tag("~ring")]
    | Annotated[PolygonArea, Tag("~polygon")]
    | Annotated[BoxArea, Tag("~box")]
    | Annotated[CircleArea, Tag("~circle")]
    | Annotated[CityArea, Tag("~city")]
    | Annotated[WktArea, Tag("~wkt")]
    | Annotated[WktFileArea, Tag("~wkt_file")]
    | Annotated[GeoJsonFileArea, Tag("~geojson_file")]
    | Annotated[S2FileArea, Tag("~s2_file")]
    | Annotated[MapFileArea, Tag("~map_file")]
    | Annotated[DxfFileArea, Tag("~dxf_file")],
    by_form(lambda value: "~ring" if isinstance(value, list) else key_form(value, *AREA_KEYS), _AREA_FORMS),
]
Areas = Annotated[
    Annotated[Ring, Tag("~ring")]
    | Annotated[list[Area], Tag("~list")]
    | Annotated[PolygonArea, Tag("~polygon")]
    | Annotated[BoxArea, Tag("~box")]
    | Annotated[CircleArea, Tag("~circle")]
    | Annotated[CityArea, Tag("~city")]
    | Annotated[WktArea, Tag("~wkt")]
    | Annotated[WktFileArea, Tag("~wkt_file")]
    | Annotated[GeoJsonFileArea, Tag("~geojson_file")]
    | Annotated[S2FileArea, Tag("~s2_file")]
    | Annotated[MapFileArea, Tag("~map_file")]
    | Annotated[DxfFileArea, Tag("~dxf_file")],
    by_form(_areas_form, _AREA_FORMS + ", or a list of them"),
]


class StoreyShape(Shape):
    """A level floor."""

    name: Name = Field(description="Name of the storey.")
    elevation: Metres = Field(description="Height of the floor, m.")
    walkable: Areas = Field(description="Areas where one may walk; several are united.")
    obstacles: Areas = Field(default=[], description="Areas where nobody walks.")


class ConnectionShape(Shape):
    """A stair or ramp that leads straight from one storey up to another.
    Where a stair turns, the landing is a storey of its own.
    """

    name: Name = Field(description="Name of the connection; no storey has it.")
    kind: Literal["stair", "ramp"] = Field(
        default="stair", description="stair or ramp: which speeds are usual on it."
    )
    lower: Name = Field(description="Name of the storey at its foot.")
    upper: Name = Field(description="Name of the storey at its head.")
    foot: Stretch = Field(description="Line along which it meets the lower storey's ground, m.")
    head: Stretch = Field(
        description="Line along which it meets the upper storey's ground, parallel to the foot, m."
    )
    speed_up: SpeedShare | None = Field(
        default=None,
        description=(
            "Speed upwards along the surface, as a share of that on level ground. Default: 0.5 on stairs "
            "(RiMEA 2), 1 on ramps."
        ),
    )
    speed_down: SpeedShare | None = Field(
        default=None,
        description=(
            "Speed downwards along the surface, as a share of that on level ground. Default: 0.75 on stairs "
            "(RiMEA 3), 1 on ramps."
        ),
    )


class PatchShape(Shape):
    """A plane piece of a surface, as crowdsim writes it into a recording."""

    wkt: Annotated[str, Field(min_length=1)] = Field(description="Its outline in plan.")
    plane: Annotated[list[float], Field(min_length=5, max_length=5)] = Field(
        description="A point of its plane (x, y, z, m) and how it rises along x and y."
    )
    sheet: Annotated[int, Field(ge=0, le=MAX_FACES)] = Field(
        description="Pieces of one sheet lie side by side."
    )


class SurfaceShape(Shape):
    """Ground from a mesh in space: its upward faces, less what stands on them or hangs less than the
    clearance above.
    """

    obj_file: FileName | None = Field(
        default=None, description="Wavefront OBJ file, in metres, relative to the scenario's folder."
    )
    up: Literal["y", "z"] = Field(
        default="y", description="Which axis of the file points up; with y, its x and -z become x and y."
    )
    polygons: (
        Annotated[list[Annotated[list[Point3], Field(min_length=3)]], Field(max_length=MAX_FACES)] | None
    ) = Field(
        default=None,
        description=(
            "Convex polygons [[x, y, z], ...] in place of a file, counter-clockwise seen from above; z is up."
        ),
    )
    steepest: Annotated[float, Field(gt=0, le=5)] = Field(
        default=1.0, description="Rise over run up to which a face is walked on; 1 is 45 degrees."
    )
    patches: list[PatchShape] | None = Field(
        default=None, description="In scenarios that crowdsim has written into a recording: the final ground."
    )
    floors: list[Annotated[int, Field(ge=0, le=MAX_FACES)]] = Field(
        default=[], description="With patches: the floor of each sheet."
    )
    step: Length | None = Field(
        default=None, description="With patches: up to which difference in height they are joined, m."
    )


class BodyShape(Shape):
    """The body that fills the ground: a box, as high as the clearance."""

    width: Length = Field(
        default=0.5, description="Width of the agents that the ground is for, m: that of their bounding box."
    )
    side: Length | None = Field(
        default=None,
        description=(
            "Side of the box, m. Default: half of the width, so that it fits through a doorway that stands "
            "across the cells."
        ),
    )


class SoupSurfaceShape(Shape):
    """A kind of ground, by what triangles are made of."""

    materials: (
        Annotated[list[Annotated[str, Field(max_length=MAX_KEY_LENGTH)]], Field(min_length=1)] | None
    ) = Field(default=None, description="Names of materials; by default that of the surface.")
    speed: SpeedShare = Field(
        default=1.0, description="Speed there along the surface, as a share of that on other ground."
    )


class SoupPartShape(Shape):
    """Triangles that come and go while the scenario runs."""

    materials: (
        Annotated[list[Annotated[str, Field(max_length=MAX_KEY_LENGTH)]], Field(min_length=1)] | None
    ) = Field(default=None, description="Names of their materials; by default that of the part.")
    file: FileName | None = Field(
        default=None, description="A file of their own, read as that of the soup, in place of materials."
    )
    present: bool = Field(default=True, description="Whether they are there at the beginning.")


class SoupZoneShape(Shape):
    """One end of a link, as crowdsim writes it."""

    wkt: str
    height: Metres


class SoupLinkShape(Shape):
    """What takes a body on while ground is filled, as crowdsim writes it."""

    enter: SoupZoneShape
    exit: SoupZoneShape


class SoupShape(Shape):
    """Ground from any triangles, in any order, with cracks and overlaps: all that a body gets to from where
    it stands, step by step [Smith 2002].
    """

    file: FileName | None = Field(
        default=None,
        description="OBJ, PLY, STL, glTF or GLB file, relative to the scenario's folder.",
    )
    up: Literal["y", "z"] | None = Field(
        default=None,
        description=(
            "Which axis of the file points up; with y, its x and -z become x and y. Default: y in OBJ and "
            "glTF, z in PLY and STL."
        ),
    )
    unit: Literal["mm", "cm", "m", "in", "ft"] = Field(default="m", description="Unit of the file.")
    triangles: (
        Annotated[
            list[Annotated[list[Point3], Field(min_length=3, max_length=3)]], Field(max_length=MAX_FACES)
        ]
        | None
    ) = Field(default=None, description="Triangles [[x, y, z], ...] in place of a file, z up, m.")
    materials: (
        Annotated[
            list[Annotated[str, Field(max_length=MAX_KEY_LENGTH)]], Field(min_length=1, max_length=MAX_FACES)
        ]
        | None
    ) = Field(default=None, description="With triangles: the name of the material of each.")
    surfaces: Annotated[dict[Name, SoupSurfaceShape], Field(max_length=MAX_SURFACES)] = Field(
        default={},
        description=(
            "Kinds of ground by what the triangles are made of; navigations forbid, allow and price them by "
            "name, as they do terrain. Where triangles of two lie at one height, the last in the list counts."
        ),
    )
    parts: Annotated[dict[Name, SoupPartShape], Field(max_length=MAX_PARTS)] = Field(
        default={},
        description=(
            "Triangles that come and go, by name: events add and remove them, and the ground is filled anew "
            "while the scenario runs."
        ),
    )
    seeds: Annotated[
        list[Point3],
        Field(min_length=1, max_length=MAX_AREAS),
        Expects("a list of places [[x, y, z], ...] where an agent can stand"),
    ] = Field(description="Places where an agent can stand, m; one on each part that is joined to no other.")
    body: BodyShape = Field(default=BodyShape(), description="What fills the ground.")
    cell: Length | None = Field(
        default=None,
        description="Side of the cells, m; at most that of the body's box, which is the default.",
    )
    step: Length = Field(default=0.25, description="How high an agent steps, up and down, m.")
    drop: Length | None = Field(
        default=None,
        description=(
            "How far an agent drops at most over an edge that it cannot come back up, m. Default: none are "
            "left."
        ),
    )
    steepest: Annotated[float, Field(gt=0, le=5)] = Field(
        default=1.0, description="Rise over run up to which an agent stands on a triangle; 1 is 45 degrees."
    )
    most_cells: Annotated[int, Field(ge=1, le=MAX_CELLS)] = Field(
        default=MAX_CELLS, description="So many cells are filled at most."
    )
    links: list[SoupLinkShape] = Field(
        default=[],
        description="In scenarios that crowdsim has written into a recording: connections with heights.",
    )


class TerrainShape(Shape):
    """Ground of a kind: walked faster or slower, as grass 0.6 or a travelator 1.4, or told apart by name."""

    name: Name = Field(description="Name for messages and pictures.")
    speed: SpeedShare = Field(
        default=1.0,
        description=(
            "Speed there along the surface, as a share of that on other ground. Paths are looked for by the "
            "time they take."
        ),
    )
    area: Areas = Field(
        description=(
            "Where it is; what is not walkable does not count. Where areas overlap, the last in the list "
            "counts."
        )
    )
    storey: Name | None = Field(
        default=None,
        description=(
            "Storey or connection on which it lies; needed where there are several, unless height is given."
        ),
    )
    height: Metres | None = Field(
        default=None,
        description="Instead of a storey: about how high it lies, m; the ground nearest to that is meant.",
    )


class ToggledAreaShape(Shape):
    """A part of the ground that can be closed and opened while the scenario runs:
    a door, a gate, a road that is blocked.
    """

    name: Name = Field(description="Name for events and messages.")
    area: Areas = Field(
        description=(
            "Where it is. While it is closed there is a wall along its outline, wherever that lies on the "
            "ground."
        )
    )
    available: bool = Field(default=True, description="Whether it is open at the begin.")
    shared: bool = Field(
        default=False,
        description=(
            "true: what another shared area that is open holds too stays open, as among the areas of a grid "
            "map. Default: false."
        ),
    )
    storey: Name | None = Field(
        default=None,
        description="Storey on which it lies; needed where there are several, unless height is given.",
    )
    height: Metres | None = Field(
        default=None,
        description="Instead of a storey: about how high it lies, m; the ground nearest to that is meant.",
    )


class LaidAreaShape(Shape):
    """An area as it was given, as crowdsim writes it into a recording."""

    wkt: Annotated[str, Field(min_length=1)] = Field(description="Its outline.")
    name: Name | None = Field(default=None, description="Name, if it can be opened and closed.")


class RasterShape(Shape):
    """Where the cells of a file lie, as crowdsim writes it into a recording."""

    corner: Point = Field(description="Lower left corner, m.")
    cell_size: Length = Field(description="Side of a cell, m.")
    width: Annotated[int, Field(ge=1, le=10**9)] = Field(description="Cells in x.")
    depth: Annotated[int, Field(ge=1, le=10**9)] = Field(description="Cells in y.")
    kept: Annotated[float, Field(ge=0, le=MAX_COORDINATE_M)] | None = Field(
        default=None, description="How far its cells keep from obstacles already, m."
    )


class LayoutShape(Shape):
    """How a grid is laid over the ground, as crowdsim writes it into a recording."""

    areas: Annotated[list[LaidAreaShape], Field(min_length=1)] = Field(
        description="The walkable areas as they were given."
    )
    raster: RasterShape | None = Field(default=None, description="Where the cells of a file lie.")


class GeometryShape(Shape):
    """Where one may walk: the union of the walkable areas without the obstacles;
    storeys with stairs and ramps between them; a mesh in space; or any triangles.
    """

    walkable: Areas | None = Field(
        default=None,
        description=(
            "Areas where one may walk; several are united. Exactly one of walkable, storeys, surface and "
            "soup is given."
        ),
    )
    obstacles: Areas = Field(default=[], description="Areas where nobody walks.")
    storeys: Annotated[
        list[StoreyShape],
        Field(max_length=MAX_FLOORS),
        Expects("a list of storeys [{name: ..., elevation: ..., walkable: ...}, ...]"),
    ] = Field(default=[], description="Level floors, one above the other or side by side.")
    connections: Annotated[
        list[ConnectionShape],
        Field(max_length=MAX_FLOORS),
        Expects("a list of connections [{name: ..., lower: ..., upper: ..., foot: ..., head: ...}, ...]"),
    ] = Field(default=[], description="Stairs and ramps from storey to storey.")
    areas: Annotated[
        list[ToggledAreaShape],
        Field(max_length=MAX_AREAS),
        Expects("a list of areas [{name: ..., area: ...}, ...]"),
    ] = Field(default=[], description="Parts of the ground that events open and close.")
    surface: SurfaceShape | None = Field(
        default=None, description="A mesh in space, in place of walkable and storeys."
    )
    soup: SoupShape | None = Field(
        default=None, description="Any triangles in space, in place of walkable, storeys and surface."
    )
    terrain: Annotated[
        list[TerrainShape],
        Field(max_length=MAX_FLOORS),
        Expects("a list of terrain [{name: ..., speed: ..., area: ...}, ...]"),
    ] = Field(
        default=[],
        description="Areas that are walked at speeds of their own, or that navigations forbid and price.",
    )
    grid: LayoutShape | None = Field(
        default=None,
        description=(
            "In scenarios that crowdsim has written into a recording, with navigation on a grid: what its "
            "cells are made of."
        ),
    )
    clearance: Annotated[float, Field(ge=1.0, le=10.0), Unit("m")] = Field(
        default=2.0, description="Free height that ground needs above it, m: what has less is not walkable."
    )
    resolved: bool = Field(
        default=False,
        description=(
            "True in scenarios that crowdsim has written into a recording: walkable is the final ground, "
            "obstacles have been cut out of it already."
        ),
    )
