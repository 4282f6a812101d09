"""The shape of a scenario file, version 1: which keys there are, what they hold, and what they mean.

These models are the one place where the shape is declared: a file is checked with them (`crowdsim.scenario.draft`) and the JSON Schema for editors
is made from them (`crowdsim.scenario.json_schema`). The sections `avoidance`, `speed_density`, `navigation`, `bodies`, `symmetry` and `budget` hold
tunable numbers and are declared where those are used (`crowdsim.scenario.parameters`). What two items must agree on is checked in `crowdsim.scenario.check`.

A key that may be left out is optional here, but never null: an empty value is refused before a model sees it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from crowdsim.scenario.limits import MAX_AGENTS, MAX_COORDINATE_M, MAX_CORNERS, MAX_FACES, MAX_FLOORS, MAX_GOALS, MAX_GROUPS, MAX_KEY_LENGTH, MAX_VISITS

DEFAULT_ARRIVE_WITHIN_M = 0.3  # A body's radius and a little more: one who stands on the point does not keep others from arriving beside him.
DEFAULT_CORNERS = 32  # A pillar of 1 m radius is then 5 mm too thin at most.
LARGEST_ID = 2**63 - 1  # ids and seeds are kept as int64


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
    """Return the discriminator of a union: `form_of` names the one alternative whose errors are told; `expects` is told where there is none."""
    return Discriminator(form_of, custom_error_type="form", custom_error_message=expects)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _key_form(value: Any, *keys: str) -> str | None:
    """Return the form of a mapping: that of the first of `keys` that it has."""
    return next((f"~{key}" for key in keys if key in value), None) if isinstance(value, dict) else None


# Numbers and points -------------------------------------------------------------------------------------------------------------------------------

Metres = Annotated[float, Field(ge=-MAX_COORDINATE_M, le=MAX_COORDINATE_M), Unit("m")]
Length = Annotated[float, Field(gt=0, le=MAX_COORDINATE_M), Unit("m")]
Seconds = Annotated[float, Field(ge=0, le=1e9), Unit("s")]
Point = Annotated[list[Metres], Field(min_length=2, max_length=2), Expects("a point [x, y]")]
Ring = Annotated[list[Point], Field(min_length=3), Expects("a polygon of at least 3 points [[x, y], ...]")]
Name = Annotated[str, Field(min_length=1, max_length=MAX_KEY_LENGTH, pattern=r"^[^(\s]([^\x00-\x1f]*\S)?$"), Expects("a name")]
Point3 = Annotated[list[Metres], Field(min_length=3, max_length=3), Expects("a point [x, y, z]")]
Stretch = Annotated[list[Point], Field(min_length=2, max_length=2), Expects("a line [[x, y], [x, y]]")]
SpeedShare = Annotated[float, Field(gt=0, le=5)]
FileName = Annotated[str, Field(min_length=1, max_length=4096), Expects("the name of a file")]


# Distributions ------------------------------------------------------------------------------------------------------------------------------------


class Uniform(Shape):
    """Every value between two bounds is equally likely."""

    low: float = Field(description="Least value.")
    high: float = Field(description="Greatest value.")


class Normal(Shape):
    """The bell curve, cut off: values outside low..high are drawn again."""

    mean: float = Field(description="Mean before the cut-off.")
    sd: Annotated[float, Field(gt=0)] = Field(description="Standard deviation before the cut-off.")
    low: float | None = Field(default=None, description="Least value. Default: mean - 3 sd.")
    high: float | None = Field(default=None, description="Greatest value. Default: mean + 3 sd.")


class LogNormal(Shape):
    """A value whose natural logarithm is normal, cut off: values outside low..high are drawn again."""

    mu: Annotated[float, Field(ge=-50, le=50)] = Field(description="Mean of the logarithm; exp(mu) is the median.")
    sigma: Annotated[float, Field(gt=0, le=10)] = Field(description="Standard deviation of the logarithm.")
    low: Annotated[float | None, Field(ge=0)] = Field(default=None, description="Least value. Default: the value at mu - 3 sigma.")
    high: Annotated[float | None, Field(gt=0)] = Field(default=None, description="Greatest value. Default: the value at mu + 3 sigma.")


class Choice(Shape):
    """One of a list of values."""

    values: Annotated[list[float], Field(min_length=1, max_length=10_000)] = Field(description="The values.")
    weights: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=1, max_length=10_000)] | None = Field(
        default=None, description="How often each comes, in any unit. Default: all equally often."
    )


class UniformForm(Shape):
    """A uniform distribution."""

    uniform: Uniform


class NormalForm(Shape):
    """A normal distribution."""

    normal: Normal


class LogNormalForm(Shape):
    """A log-normal distribution."""

    lognormal: LogNormal


class ChoiceForm(Shape):
    """One of a list of values."""

    choice: Choice


DISTRIBUTION_KEYS = ("uniform", "normal", "lognormal", "choice")
Distribution = Annotated[
    Annotated[float, Tag("~number")]
    | Annotated[UniformForm, Tag("~uniform")]
    | Annotated[NormalForm, Tag("~normal")]
    | Annotated[LogNormalForm, Tag("~lognormal")]
    | Annotated[ChoiceForm, Tag("~choice")],
    by_form(
        lambda value: "~number" if _is_number(value) else _key_form(value, *DISTRIBUTION_KEYS),
        "a number or a distribution {uniform: ...}, {normal: ...}, {lognormal: ...} or {choice: ...}",
    ),
]

# Areas --------------------------------------------------------------------------------------------------------------------------------------------


class Named(Shape):
    """Something with a name for messages and pictures."""

    name: Name | None = Field(default=None, description="Name for messages and pictures.")


class PolygonArea(Named):
    """A polygon with holes."""

    polygon: Ring = Field(description="Outer boundary, in either direction; the last point need not repeat the first.")
    holes: list[Ring] = Field(default=[], description="Boundaries of holes.")


class BoxArea(Named):
    """A rectangle along the axes."""

    box: Annotated[list[Metres], Field(min_length=4, max_length=4), Expects("a box [xmin, ymin, xmax, ymax]")] = Field(
        description="[xmin, ymin, xmax, ymax], m."
    )


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


class WktArea(Named):
    """Polygons as well-known text."""

    wkt: Annotated[str, Field(min_length=1)] = Field(description="POLYGON, MULTIPOLYGON or a GEOMETRYCOLLECTION of them, in metres; they are united.")


class WktFileArea(Named):
    """Polygons from a file of well-known text."""

    wkt_file: FileName = Field(description="File, relative to the scenario's folder.")


class GeoJsonFileArea(Named):
    """Polygons from a GeoJSON file."""

    geojson_file: FileName = Field(description="File with a geometry, feature or feature collection, in metres, relative to the scenario's folder.")


class S2FileArea(Named):
    """Areas and obstacles from a file in the JSON form of grid maps (`areas`, `obstacles`, `cellSize`, ...)."""

    s2_file: FileName = Field(description="File, relative to the scenario's folder. Its x, z become x, y; areas with `available: false` are left out.")


AREA_KEYS = ("polygon", "box", "circle", "wkt", "wkt_file", "geojson_file", "s2_file")
_AREA_FORMS = "a polygon [[x, y], ...] or one of {polygon: ...}, {box: ...}, {circle: ...}, {wkt: ...}, {wkt_file: ...}, {geojson_file: ...}, {s2_file: ...}"


def _area_form(value: Any) -> str | None:
    return "~ring" if isinstance(value, list) else _key_form(value, *AREA_KEYS)


def _areas_form(value: Any) -> str | None:
    """Tell a list of areas from a single polygon, which is a list of points: a list of numbers."""
    if isinstance(value, list):
        first = value[0] if value else None
        is_list = isinstance(first, dict) or (isinstance(first, list) and bool(first) and isinstance(first[0], (list, dict))) or not value
        return "~list" if is_list else "~ring"
    return _key_form(value, *AREA_KEYS)


Area = Annotated[
    Annotated[Ring, Tag("~ring")]
    | Annotated[PolygonArea, Tag("~polygon")]
    | Annotated[BoxArea, Tag("~box")]
    | Annotated[CircleArea, Tag("~circle")]
    | Annotated[WktArea, Tag("~wkt")]
    | Annotated[WktFileArea, Tag("~wkt_file")]
    | Annotated[GeoJsonFileArea, Tag("~geojson_file")]
    | Annotated[S2FileArea, Tag("~s2_file")],
    by_form(_area_form, _AREA_FORMS),
]
Areas = Annotated[
    Annotated[Ring, Tag("~ring")]
    | Annotated[list[Area], Tag("~list")]
    | Annotated[PolygonArea, Tag("~polygon")]
    | Annotated[BoxArea, Tag("~box")]
    | Annotated[CircleArea, Tag("~circle")]
    | Annotated[WktArea, Tag("~wkt")]
    | Annotated[WktFileArea, Tag("~wkt_file")]
    | Annotated[GeoJsonFileArea, Tag("~geojson_file")]
    | Annotated[S2FileArea, Tag("~s2_file")],
    by_form(_areas_form, _AREA_FORMS + ", or a list of them"),
]


class StoreyShape(Shape):
    """A level floor."""

    name: Name = Field(description="Name of the storey.")
    elevation: Metres = Field(description="Height of the floor, m.")
    walkable: Areas = Field(description="Areas where one may walk; several are united.")
    obstacles: Areas = Field(default=[], description="Areas where nobody walks.")


class ConnectionShape(Shape):
    """A stair or ramp that leads straight from one storey up to another. Where a way turns, the landing is a storey of its own."""

    name: Name = Field(description="Name of the connection; no storey has it.")
    kind: Literal["stair", "ramp"] = Field(default="stair", description="stair or ramp: which speeds are usual on it.")
    lower: Name = Field(description="Name of the storey at its foot.")
    upper: Name = Field(description="Name of the storey at its head.")
    foot: Stretch = Field(description="Line along which it meets the lower storey's ground, m.")
    head: Stretch = Field(description="Line along which it meets the upper storey's ground, parallel to the foot, m.")
    speed_up: SpeedShare | None = Field(
        default=None, description="Speed upwards along the surface, as a share of that on level ground. Default: 0.5 on stairs (RiMEA 2), 1 on ramps."
    )
    speed_down: SpeedShare | None = Field(
        default=None, description="Speed downwards along the surface, as a share of that on level ground. Default: 0.75 on stairs (RiMEA 3), 1 on ramps."
    )


class PatchShape(Shape):
    """A plane piece of a surface, as crowdsim writes it into a recording."""

    wkt: Annotated[str, Field(min_length=1)] = Field(description="Its outline in plan.")
    plane: Annotated[list[float], Field(min_length=5, max_length=5)] = Field(description="A point of its plane (x, y, z, m) and how it rises along x and y.")
    sheet: Annotated[int, Field(ge=0, le=MAX_FACES)] = Field(description="Pieces of one sheet lie side by side.")


class SurfaceShape(Shape):
    """Ground from a mesh in space: its upward faces, less what stands on them or hangs less than the clearance above."""

    obj_file: FileName | None = Field(default=None, description="Wavefront OBJ file, in metres, relative to the scenario's folder.")
    up: Literal["y", "z"] = Field(default="y", description="Which axis of the file points up; with y, its x and -z become x and y.")
    polygons: Annotated[list[Annotated[list[Point3], Field(min_length=3)]], Field(max_length=MAX_FACES)] | None = Field(
        default=None, description="Convex polygons [[x, y, z], ...] in place of a file, counter-clockwise seen from above; z is up."
    )
    steepest: Annotated[float, Field(gt=0, le=5)] = Field(default=1.0, description="Rise over run up to which a face is walked on; 1 is 45 degrees.")
    patches: list[PatchShape] | None = Field(default=None, description="In scenarios that crowdsim has written into a recording: the final ground.")
    floors: list[Annotated[int, Field(ge=0, le=MAX_FACES)]] = Field(default=[], description="With patches: the floor of each sheet.")


class GeometryShape(Shape):
    """Where one may walk: the union of the walkable areas without the obstacles; storeys with stairs and ramps between them; or a mesh in space."""

    walkable: Areas | None = Field(
        default=None, description="Areas where one may walk; several are united. Exactly one of walkable, storeys and surface is given."
    )
    obstacles: Areas = Field(default=[], description="Areas where nobody walks.")
    storeys: Annotated[list[StoreyShape], Field(max_length=MAX_FLOORS), Expects("a list of storeys [{name: ..., elevation: ..., walkable: ...}, ...]")] = Field(
        default=[], description="Level floors, one above the other or side by side."
    )
    connections: Annotated[
        list[ConnectionShape], Field(max_length=MAX_FLOORS), Expects("a list of connections [{name: ..., lower: ..., upper: ..., foot: ..., head: ...}, ...]")
    ] = Field(default=[], description="Stairs and ramps from storey to storey.")
    surface: SurfaceShape | None = Field(default=None, description="A mesh in space, in place of walkable and storeys.")
    clearance: Annotated[float, Field(ge=1.0, le=10.0), Unit("m")] = Field(
        default=2.0, description="Free height that ground needs above it, m: what has less is not walkable."
    )
    resolved: bool = Field(
        default=False,
        description="True in scenarios that crowdsim has written into a recording: walkable is the final ground, obstacles have been cut out of it already.",
    )


# Goals --------------------------------------------------------------------------------------------------------------------------------------------


STOREY: Any = Field(default=None, description="Storey or connection on which it lies; needed where the geometry has several, unless height is given.")
HEIGHT: Any = Field(default=None, description="Instead of a storey: about how high it lies, m; the ground nearest to that is meant.")


class PointGoal(Shape):
    """A point to come near."""

    point: Point = Field(description="The point, m.")
    arrive_within: Length = Field(default=DEFAULT_ARRIVE_WITHIN_M, description="Distance from the point at which an agent has arrived, m.")
    storey: Name | None = STOREY
    height: Metres | None = HEIGHT


class ExitGoal(Shape):
    """An area through which agents leave the world."""

    exit: Areas = Field(description="An agent that heads for the exit leaves the world when its centre is inside. Where it covers a wall, the wall is open.")
    storey: Name | None = STOREY
    height: Metres | None = HEIGHT


class RegionGoal(Shape):
    """An area to walk into."""

    region: Areas = Field(description="An agent has arrived when its centre is inside.")
    storey: Name | None = STOREY
    height: Metres | None = HEIGHT


class NearestGoal(Shape):
    """Whichever of several goals is nearest on foot."""

    nearest_of: Annotated[list[Name], Field(min_length=1, max_length=10_000)] = Field(description="Names of goals.")


GOAL_KEYS = ("point", "exit", "region", "nearest_of")
GoalShape = Annotated[
    Annotated[PointGoal, Tag("~point")]
    | Annotated[ExitGoal, Tag("~exit")]
    | Annotated[RegionGoal, Tag("~region")]
    | Annotated[NearestGoal, Tag("~nearest_of")],
    by_form(lambda value: _key_form(value, *GOAL_KEYS), "a goal {point: [x, y]}, {exit: area}, {region: area} or {nearest_of: [names]}"),
]
VisitSpeed = Annotated[float, Field(gt=0, le=50), Unit("m/s")]


class VisitNamed(Shape):
    """A named goal with a speed of its own."""

    goal: Name = Field(description="Name of the goal.")
    speed: VisitSpeed | None = Field(default=None, description="Desired speed on the way to this goal, m/s. Default: the agent's own.")


class VisitPoint(PointGoal):
    """A point that stands here instead of under `goals`."""

    speed: VisitSpeed | None = Field(default=None, description="Desired speed on the way to this goal, m/s. Default: the agent's own.")


VISIT_KEYS = ("goal", "point")


def _visit_form(value: Any) -> str | None:
    return "~name" if isinstance(value, str) else _key_form(value, *VISIT_KEYS)


Visit = Annotated[
    Annotated[Name, Tag("~name")] | Annotated[VisitNamed, Tag("~goal")] | Annotated[VisitPoint, Tag("~point")],
    by_form(_visit_form, "the name of a goal, {goal: name, speed: ...} or {point: [x, y], ...}"),
]
Visits = Annotated[
    Annotated[Name, Tag("~name")]
    | Annotated[VisitNamed, Tag("~goal")]
    | Annotated[VisitPoint, Tag("~point")]
    | Annotated[list[Visit], Field(max_length=MAX_VISITS), Tag("~list")],
    by_form(
        lambda value: "~list" if isinstance(value, list) else _visit_form(value),
        "the name of a goal, {goal: name, speed: ...}, {point: [x, y], ...}, or a list of them",
    ),
]

# Groups -------------------------------------------------------------------------------------------------------------------------------------------


class Bodies(Shape):
    """What agents have: of a group, or of one agent in place of its group's."""

    speed: Distribution | None = Field(
        default=None, description="Speed on free ground, m/s. Default: normal, mean 1.34, sd 0.26, cut off at 0.5 and 2.2 (Weidmann 1993)."
    )
    radius: Distribution | None = Field(default=None, description="Radius of the body, m. Default: 0.2.")
    premovement: Distribution | None = Field(default=None, description="Time before the agent starts to walk, s. Default: 0.")
    goals: Visits | None = Field(default=None, description="Goals, one after the other. Without any, agents stand where they are.")


class AgentShape(Bodies):
    """One agent of a group; what it does not say, the group says."""

    id: Annotated[int, Field(ge=0, le=LARGEST_ID)] | None = Field(default=None, description="Identity that stays when agents are listed in another order.")
    position: Point | None = Field(default=None, description="Where the agent starts, m. Default: a random place in the group's region.")


class GroupShape(Bodies):
    """Agents that have something in common. Exactly one of `count`, `positions` and `agents` is given."""

    name: Name = Field(description="Name of the group; with the index in the group it is the identity of an agent.")
    count: Annotated[int, Field(ge=0, le=MAX_AGENTS)] | None = Field(default=None, description="Number of agents, placed at random in the region.")
    positions: Annotated[list[Point], Expects("a list of points [[x, y], ...]")] | None = Field(default=None, description="Where the agents start, m.")
    agents: Annotated[list[AgentShape], Expects("a list of agents [{id: ..., position: ...}, ...]")] | None = Field(
        default=None, description="The agents one by one."
    )
    region: Areas | None = Field(default=None, description="Where agents without a position start. Default: all walkable ground.")
    storey: Name | None = Field(
        default=None, description="Storey or connection on which the agents start; needed where the geometry has several, unless height is given."
    )
    height: Metres | None = HEIGHT
    leave_on_arrival: bool = Field(default=True, description="Agents leave the world at their last goal; false: they stay there and stand.")
    avoidance: Any = Field(
        default=None, description="How these agents avoid others, in place of the scenario's avoidance; what is left out is as there if the model is the same."
    )


# The rest -----------------------------------------------------------------------------------------------------------------------------------------


class StopShape(Shape):
    """When the run ends; whichever comes first."""

    after: Annotated[float, Field(gt=0, le=1e9), Unit("s")] = Field(default=600.0, description="Simulated time, s.")
    when: Literal["all_arrived", "never"] = Field(
        default="all_arrived", description="all_arrived: when every agent has reached its last goal. never: only at the end of the time."
    )
    stuck_for: Annotated[float, Field(gt=0, le=1e9), Unit("s")] | None = Field(
        default=None, description="Also when everybody who is left has been stuck for this long, s. Default: does not matter."
    )


class EveryShape(Shape):
    """Some of the agents, evenly from all groups."""

    every: Annotated[int, Field(ge=1, le=MAX_AGENTS)] = Field(description="Every k-th agent in the order of identity.")


RecordedAgent = Annotated[
    Annotated[int, Field(ge=0, le=LARGEST_ID), Tag("~id")] | Annotated[Name, Tag("~name")],
    by_form(lambda value: "~name" if isinstance(value, str) else "~id" if _is_number(value) else None, "an agent's id or the name of a group"),
]
RecordedAgents = Annotated[
    Annotated[Literal["all"], Tag("~all")] | Annotated[list[RecordedAgent], Tag("~list")] | Annotated[EveryShape, Tag("~every")],
    by_form(
        lambda value: "~list" if isinstance(value, list) else "~all" if value == "all" else _key_form(value, "every"),
        "all, a list of agents' ids and names of groups, or {every: k}",
    ),
]
RecordedColumns = Annotated[
    Annotated[Literal["all"], Tag("~all")] | Annotated[list[Name], Tag("~list")],
    by_form(lambda value: "~list" if isinstance(value, list) else "~all" if value == "all" else None, "all, or a list of names of columns"),
]


class RecordShape(Shape):
    """What is kept of the run."""

    rate: Annotated[float, Field(gt=0, le=1e6), Unit("frames a second")] | None = Field(
        default=None, description="Frames a second; a whole number of ticks must lie between two frames. Default: the highest that fits, up to 10."
    )
    columns: RecordedColumns = Field(default="all", description="Columns beside position: all, or a list of names.")
    agents: RecordedAgents = Field(default="all", description="Which agents: all, a list of ids and names of groups, or {every: k}.")
    region: Areas | None = Field(default=None, description="Only agents whose centre is inside are recorded. Default: everywhere.")
    explain: Annotated[list[RecordedAgent], Expects("a list of agents' ids and names of groups")] = Field(
        default=[],
        description="Agents, by id or group, of whom in every tick is kept why they chose their velocity: half-planes, obstacles or samples of the model.",
    )
    trace: bool = Field(default=False, description="Also keep a digest per system and tick, to find where two runs part.")


class ScenarioShape(Shape):
    """A scenario of crowdsim."""

    version: Literal[1] = Field(description="Version of this format.")
    name: Name | None = Field(default=None, description="Name for tables and pictures. Default: the file's name without ending.")
    description: Annotated[str, Field(max_length=100_000), Expects("a text")] = Field(default="", description="What the scenario is for.")
    seed: Annotated[int, Field(ge=0, le=LARGEST_ID)] = Field(default=1, description="Seed of all random numbers; the same seed gives the same run.")
    tick: Annotated[float, Field(gt=0, le=1), Unit("s")] = Field(default=0.05, description="Length of a time step, s.")
    stop: StopShape = Field(default=StopShape(), description="When the run ends.")
    geometry: GeometryShape = Field(description="Where one may walk.")
    goals: Annotated[dict[Name, GoalShape], Field(max_length=MAX_GOALS), Expects("a mapping of names to goals {door: {exit: ...}, ...}")] = Field(
        default={}, description="Goals by name."
    )
    groups: Annotated[list[GroupShape], Field(max_length=MAX_GROUPS), Expects("a list of groups [{name: ..., count: ...}, ...]")] = Field(
        description="The agents."
    )
    avoidance: Any = Field(default=None, description="How agents avoid each other: the name of a model, or {model: name} with parameters of the model.")
    speed_density: Any = Field(
        default=None, description="Whether people like to walk slower in a crowd: none, weidmann, or {law: weidmann} with numbers of the law."
    )
    navigation: Any = Field(default=None, description="How agents find their way: the kind, or {kind: name} with its parameters.")
    bodies: Any = Field(default=None, description="What happens when bodies touch.")
    symmetry: Any = Field(default=None, description="How exact symmetry and mutual blocking are broken.")
    budget: Any = Field(default=None, description="How much work may be done in a tick.")
    record: RecordShape = Field(default=RecordShape(), description="What is recorded.")
