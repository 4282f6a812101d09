"""The shape of a scenario file, version 1: which keys there are, what they hold, and what they mean.

These models are the one place where the shape is declared: a file is checked with them
(`crowdsim.scenario.draft`) and the JSON Schema for editors is made from them
(`crowdsim.scenario.json_schema`). The sections `avoidance`, `speed_density`, `navigation`, `bodies`,
`symmetry` and `budget` hold tunable numbers and are declared where those are used
(`crowdsim.scenario.parameters`). What two items must agree on is checked in `crowdsim.scenario.check`.

A key that may be left out is optional here, but never null: an empty value is refused before a model sees it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, Tag

from crowdsim.scenario.limits import (
    MAX_AGENTS,
    MAX_AREAS,
    MAX_CONNECTIONS,
    MAX_EVENTS,
    MAX_GOALS,
    MAX_GROUPS,
    MAX_MACHINES,
    MAX_OBSTACLES,
    MAX_QUEUES,
    MAX_TILE,
    MAX_VISITS,
    MAX_WAYPOINTS,
)
from crowdsim.scenario.schema_arrivals import ArriveShape, Rate
from crowdsim.scenario.schema_behaviours import MachineShape, QueueShape
from crowdsim.scenario.schema_choices import QuickestGoal
from crowdsim.scenario.schema_connections import CarrierShape, JumpsShape, WaypathShape
from crowdsim.scenario.schema_distributions import (  # noqa: F401  all shapes are found here
    DISTRIBUTION_KEYS,
    ChoiceForm,
    Distribution,
    ExponentialForm,
    LogNormalForm,
    NormalForm,
    UniformForm,
)
from crowdsim.scenario.schema_geometry import (  # noqa: F401  all shapes are found here
    AREA_KEYS,
    NAME_PATTERN,
    Area,
    Areas,
    BoxArea,
    Circle,
    CircleArea,
    City,
    CityArea,
    ConnectionShape,
    DxfFileArea,
    Expects,
    FileName,
    GeoJsonFileArea,
    GeometryShape,
    LayoutShape,
    Length,
    MapFileArea,
    Metres,
    Name,
    PatchShape,
    Point,
    PolygonArea,
    Ring,
    S2FileArea,
    Seconds,
    Shape,
    SoupShape,
    SoupSurfaceShape,
    StoreyShape,
    Stretch,
    SurfaceShape,
    ToggledAreaShape,
    Unit,
    WktArea,
    WktFileArea,
    by_form,
    is_number,
    key_form,
)
from crowdsim.scenario.schema_together import TogetherShape
from crowdsim.scenario.schema_vehicles import VehicleShape

# An agent's radius and a little more: one that stands on the point does not keep others from arriving beside
# it.
DEFAULT_ARRIVE_WITHIN_M = 0.3
LARGEST_ID = 2**63 - 1  # ids and seeds are kept as int64


# Goals
# ------------------------------------------------------------------------------------------------------------


STOREY: Any = Field(
    default=None,
    description=(
        "Storey or connection on which it lies; needed where the geometry has several, unless height is "
        "given."
    ),
)
HEIGHT: Any = Field(
    default=None,
    description="Instead of a storey: about how high it lies, m; the ground nearest to that is meant.",
)


class PointGoal(Shape):
    """A point to come near."""

    point: Point = Field(description="The point, m.")
    arrive_within: Length = Field(
        default=DEFAULT_ARRIVE_WITHIN_M,
        description="Distance from the point at which an agent has arrived, m.",
    )
    storey: Name | None = STOREY
    height: Metres | None = HEIGHT


class ExitGoal(Shape):
    """An area through which agents leave the world."""

    exit: Areas = Field(
        description=(
            "An agent that heads for the exit leaves the world when its centre is inside. Where it covers a "
            "wall, the wall is open."
        )
    )
    flow: Rate | None = Field(
        default=None,
        description=(
            "At most so many agents leave here a second, or as 60/min: a turnstile. The others wait in the "
            "exit for their turn. Default: no limit."
        ),
    )
    storey: Name | None = STOREY
    height: Metres | None = HEIGHT


class RegionGoal(Shape):
    """An area to walk into."""

    region: Areas = Field(description="An agent has arrived when its centre is inside.")
    storey: Name | None = STOREY
    height: Metres | None = HEIGHT


class NearestGoal(Shape):
    """Whichever of several goals is nearest on foot."""

    nearest_of: Annotated[list[Name], Field(min_length=1, max_length=10_000)] = Field(
        description="Names of goals."
    )


GOAL_KEYS = ("point", "exit", "region", "nearest_of", "quickest_of")
GoalShape = Annotated[
    Annotated[PointGoal, Tag("~point")]
    | Annotated[ExitGoal, Tag("~exit")]
    | Annotated[RegionGoal, Tag("~region")]
    | Annotated[NearestGoal, Tag("~nearest_of")]
    | Annotated[QuickestGoal, Tag("~quickest_of")],
    by_form(
        lambda value: key_form(value, *GOAL_KEYS),
        "a goal {point: [x, y]}, {exit: area}, {region: area}, {nearest_of: [names]} or "
        "{quickest_of: [names]}",
    ),
]
VisitSpeed = Annotated[float, Field(gt=0, le=50), Unit("m/s")]


class VisitNamed(Shape):
    """A named goal with a speed of its own."""

    goal: Name = Field(description="Name of the goal.")
    speed: VisitSpeed | None = Field(
        default=None, description="Desired speed on the way to this goal, m/s. Default: the agent's own."
    )


class VisitPoint(PointGoal):
    """A point that stands here instead of under `goals`."""

    speed: VisitSpeed | None = Field(
        default=None, description="Desired speed on the way to this goal, m/s. Default: the agent's own."
    )


class Shares(Shape):
    """Each agent goes to one of several goals, drawn by shares."""

    speed: VisitSpeed | None = Field(
        default=None, description="Desired speed on the way there, m/s. Default: the agent's own."
    )
    shares: Annotated[
        dict[Name, Annotated[float, Field(ge=0)]], Field(min_length=1, max_length=MAX_VISITS)
    ] = Field(description="Goals by name, with how many go there, in any unit.")


class SharesFile(Shape):
    """The same from a table of origins and destinations."""

    speed: VisitSpeed | None = Field(
        default=None, description="Desired speed on the way there, m/s. Default: the agent's own."
    )
    shares_file: FileName = Field(
        description="CSV with the columns origin (name of a group), destination (name of a goal) and share."
    )


VISIT_KEYS = ("goal", "point", "shares", "shares_file")


def _visit_form(value: Any) -> str | None:
    return "~name" if isinstance(value, str) else key_form(value, *VISIT_KEYS)


Visit = Annotated[
    Annotated[Name, Tag("~name")]
    | Annotated[VisitNamed, Tag("~goal")]
    | Annotated[VisitPoint, Tag("~point")]
    | Annotated[Shares, Tag("~shares")]
    | Annotated[SharesFile, Tag("~shares_file")],
    by_form(_visit_form, "the name of a goal, {goal: name}, {point: [x, y]} or {shares: {name: share}}"),
]
Visits = Annotated[
    Annotated[Name, Tag("~name")]
    | Annotated[VisitNamed, Tag("~goal")]
    | Annotated[VisitPoint, Tag("~point")]
    | Annotated[Shares, Tag("~shares")]
    | Annotated[SharesFile, Tag("~shares_file")]
    | Annotated[list[Visit], Field(max_length=MAX_VISITS), Tag("~list")],
    by_form(
        lambda value: "~list" if isinstance(value, list) else _visit_form(value),
        "the name of a goal, {goal: name, speed: ...}, {point: [x, y], ...}, {shares: {name: share}}, or a "
        "list of them",
    ),
]

# Groups
# ------------------------------------------------------------------------------------------------------------


class Bodies(Shape):
    """What agents have: of a group, or of one agent in place of its group's."""

    speed: Distribution | None = Field(
        default=None,
        description=(
            "Speed on free ground, m/s. Default: normal, mean 1.34, sd 0.26, cut off at 0.5 and 2.2 "
            "([Weidmann 1993])."
        ),
    )
    radius: Distribution | None = Field(default=None, description="Radius of the body, m. Default: 0.2.")
    premovement: Distribution | None = Field(
        default=None, description="Time before the agent starts to walk, s. Default: 0."
    )
    goals: Visits | None = Field(
        default=None, description="Goals, one after the other. Without any, agents stand where they are."
    )
    immovable: bool | None = Field(
        default=None, description="true: never pushed and never asked aside; others make way. Default: false."
    )


class AgentShape(Bodies):
    """One agent of a group; what it does not say, the group says."""

    id: Annotated[int, Field(ge=0, le=LARGEST_ID)] | None = Field(
        default=None, description="Identity that stays when agents are listed in another order."
    )
    position: Point | None = Field(
        default=None, description="Where the agent starts, m. Default: a random place in the group's region."
    )


class GroupShape(Bodies):
    """Agents that have something in common. Exactly one of `count`, `positions` and `agents` is given, or
    `arrive`, alone or beside one of them.
    """

    name: Name = Field(
        description="Name of the group; with the index in the group it is the identity of an agent."
    )
    count: Annotated[int, Field(ge=0, le=MAX_AGENTS)] | None = Field(
        default=None, description="Number of agents, placed at random in the region."
    )
    positions: Annotated[list[Point], Expects("a list of points [[x, y], ...]")] | None = Field(
        default=None, description="Where the agents start, m."
    )
    agents: (
        Annotated[list[AgentShape], Expects("a list of agents [{id: ..., position: ...}, ...]")] | None
    ) = Field(default=None, description="The agents one by one.")
    reserve: Annotated[int, Field(ge=0, le=MAX_AGENTS)] = Field(
        default=0,
        description="Further agents, which are not there before a program puts them in. Default: 0.",
    )
    arrive: ArriveShape | None = Field(
        default=None, description="Further agents come in while the run lasts: when, how many and where."
    )
    behaviour: Any = Field(
        default=None,
        description=(
            "What the agents do, in place of goals: the name of a machine under behaviours, or "
            "{name: machine, parameter: value}."
        ),
    )
    together: TogetherShape | None = Field(
        default=None, description="Agents form parties that keep together. Default: each goes alone."
    )
    keys: Annotated[list[Name], Field(max_length=100), Expects("a list of keys [red, ...]")] = Field(
        default=[], description="Keys of doors that these agents unlock (see connections)."
    )
    excludes: Annotated[
        list[Name], Field(max_length=100), Expects("a list of connections or kinds [lift, ladder, ...]")
    ] = Field(
        default=[],
        description="Connections that these agents do not use, by name or by kind: lift, ladder, drop, ...",
    )
    vehicle: VehicleShape | None = Field(
        default=None, description="What the agents drive, which they are then. Default: they are on foot."
    )
    region: Areas | None = Field(
        default=None, description="Where agents without a position start. Default: all walkable ground."
    )
    storey: Name | None = Field(
        default=None,
        description=(
            "Storey or connection on which the agents start; needed where the geometry has several, unless "
            "height is given."
        ),
    )
    height: Metres | None = HEIGHT
    leave_on_arrival: bool = Field(
        default=True,
        description=(
            "Agents leave the world at their last goal; false: they stay, in a region at places of their own."
        ),
    )
    avoidance: Any = Field(
        default=None,
        description=(
            "How these agents avoid others, in place of the scenario's avoidance; what is left out is as "
            "there if the model is the same."
        ),
    )
    navigation: Any = Field(
        default=None,
        description=(
            "How these agents find their path, in place of the scenario's navigation; what is left out is "
            "as there if it is of the same kind."
        ),
    )


# The rest
# ------------------------------------------------------------------------------------------------------------


class StopShape(Shape):
    """When the run ends; whichever comes first."""

    after: Annotated[float, Field(gt=0, le=1e9), Unit("s")] = Field(
        default=600.0, description="Simulated time, s."
    )
    when: Literal["all_arrived", "never"] = Field(
        default="all_arrived",
        description=(
            "all_arrived: when every agent has reached its last goal. never: only at the end of the time."
        ),
    )
    stuck_for: Annotated[float, Field(gt=0, le=1e9), Unit("s")] | None = Field(
        default=None,
        description=(
            "Also when all agents that are left have been stuck for this long, s. Default: does not matter."
        ),
    )


RecordedAgent = Annotated[
    Annotated[int, Field(ge=0, le=LARGEST_ID), Tag("~id")] | Annotated[Name, Tag("~name")],
    by_form(
        lambda value: "~name" if isinstance(value, str) else "~id" if is_number(value) else None,
        "an agent's id or the name of a group",
    ),
]


class CrossedShape(Shape):
    """When so many agents have gone over a line."""

    crossed: Stretch = Field(
        description="The line [[x, y], [x, y]], m; either direction counts, every agent once."
    )
    count: Annotated[int, Field(ge=1, le=MAX_AGENTS)] = Field(default=1, description="Number of agents.")
    storey: Name | None = Field(
        default=None,
        description="Storey of the line; needed where there are several, unless height is given.",
    )
    height: Metres | None = HEIGHT


class MetShape(Shape):
    """When so many of some agents have come up to one of some others."""

    met: Annotated[
        list[RecordedAgent], Field(min_length=2, max_length=2), Expects("two groups or ids [visitors, 7]")
    ] = Field(description="Which agents come, and to which: each the name of a group or an agent's id.")
    within: Length = Field(
        default=1.35,
        description="How near their centres have to be, m; people that talk stand about so far apart.",
    )
    count: Annotated[int, Field(ge=1, le=MAX_AGENTS)] = Field(
        default=1, description="Number of those that come; each counts once."
    )


class InsideShape(Shape):
    """When so many agents are in an area at the same time."""

    inside: Name = Field(description="Name of a goal that is an area, or of an area under measures.")
    count: Annotated[int, Field(ge=1, le=MAX_AGENTS)] = Field(default=1, description="Number of agents.")
    waiting: bool = Field(
        default=False, description="true: only those count that wait for something. Default: false."
    )


When = Annotated[
    Annotated[CrossedShape, Tag("~crossed")]
    | Annotated[MetShape, Tag("~met")]
    | Annotated[InsideShape, Tag("~inside")],
    by_form(
        lambda value: key_form(value, "crossed", "met", "inside"),
        "what has to happen {crossed: [[x, y], [x, y]], count: k}, {met: [a, b], within: m} or "
        "{inside: area, count: k}",
    ),
]


TileName = Annotated[
    list[Annotated[int, Field(ge=-MAX_TILE, le=MAX_TILE)]],
    Field(min_length=2, max_length=2),
    Expects("column and row of a tile [3, 4]"),
]


class TileOnFloorShape(Shape):
    """A tile of one of several floors."""

    tile: TileName = Field(description="Its column and row.")
    storey: Name | None = Field(
        default=None, description="Its floor: a storey or a connection; needed unless height is given."
    )
    height: Metres | None = Field(
        default=None, description="About how high the tile lies, m, in place of storey."
    )


TileOf = Annotated[
    Annotated[TileName, Tag("~tile")] | Annotated[TileOnFloorShape, Tag("~floor")],
    by_form(
        lambda value: "~tile" if isinstance(value, list) else "~floor" if isinstance(value, dict) else None,
        "column and row of a tile [3, 4], or {storey: name, tile: [3, 4]} where there are several floors",
    ),
]


class EventShape(Shape):
    """Something that happens once: exactly one of `at` and `when` says when, exactly one of `open`, `close`,
    `add_part`, `remove_part`, `remove_tile`, `add_tile`, `set_radius`, `signal` and `end_signal` what.
    """

    at: Seconds | None = Field(default=None, description="Simulated time, s.")
    when: When | None = Field(
        default=None,
        description=(
            "What has to happen first: {crossed: [[x, y], [x, y]], count: k}, {met: [a, b], within: m} or "
            "{inside: area, count: k}."
        ),
    )
    open: Name | None = Field(
        default=None, description="Name of an area of the geometry that becomes available."
    )
    close: Name | None = Field(
        default=None, description="Name of an area of the geometry that becomes a wall."
    )
    add_part: Name | None = Field(
        default=None, description="Name of a part of geometry.soup that is there from then on."
    )
    remove_part: Name | None = Field(
        default=None, description="Name of a part of geometry.soup that is gone from then on."
    )
    remove_tile: TileOf | None = Field(
        default=None,
        description=(
            "Column and row of a tile of the ground that is taken out; on several floors {storey: name, "
            "tile: [column, row]}."
        ),
    )
    add_tile: TileOf | None = Field(default=None, description="A tile that is put back, named likewise.")
    set_radius: Length | None = Field(default=None, description="Radius that agents have from then on, m.")
    signal: Name | None = Field(
        default=None,
        description="Name of a signal that is on from then on; machines hear it.",
    )
    end_signal: Name | None = Field(default=None, description="Name of a signal that is off from then on.")
    agents: (
        Annotated[
            list[RecordedAgent], Field(min_length=1), Expects("a list of agents' ids and names of groups")
        ]
        | None
    ) = Field(default=None, description="Which agents, for set_radius: ids and names of groups.")


class EveryShape(Shape):
    """Some of the agents, evenly from all groups."""

    every: Annotated[int, Field(ge=1, le=MAX_AGENTS)] = Field(
        description="Every k-th agent in the order of identity."
    )


RecordedAgents = Annotated[
    Annotated[Literal["all"], Tag("~all")]
    | Annotated[list[RecordedAgent], Tag("~list")]
    | Annotated[EveryShape, Tag("~every")],
    by_form(
        lambda value: (
            "~list" if isinstance(value, list) else "~all" if value == "all" else key_form(value, "every")
        ),
        "all, a list of agents' ids and names of groups, or {every: k}",
    ),
]
RecordedColumns = Annotated[
    Annotated[Literal["all"], Tag("~all")] | Annotated[list[Name], Tag("~list")],
    by_form(
        lambda value: "~list" if isinstance(value, list) else "~all" if value == "all" else None,
        "all, or a list of names of columns",
    ),
]


class RecordShape(Shape):
    """What is kept of the run."""

    rate: Annotated[float, Field(gt=0, le=1e6), Unit("frames a second")] | None = Field(
        default=None,
        description=(
            "Frames a second; a whole number of ticks must lie between two frames. Default: the highest "
            "that fits, up to 10."
        ),
    )
    columns: RecordedColumns = Field(
        default="all", description="Columns beside position: all, or a list of names."
    )
    agents: RecordedAgents = Field(
        default="all", description="Which agents: all, a list of ids and names of groups, or {every: k}."
    )
    region: Areas | None = Field(
        default=None, description="Only agents whose centre is inside are recorded. Default: everywhere."
    )
    explain: Annotated[list[RecordedAgent], Expects("a list of agents' ids and names of groups")] = Field(
        default=[],
        description=(
            "Agents, by id or group, for which every tick records why they chose their velocity: "
            "half-planes, obstacles or samples of the model."
        ),
    )
    trace: bool = Field(
        default=False, description="Also keep a digest per system and tick, to find where two runs part."
    )


class DiscShape(Shape):
    """A disc."""

    disc: Length = Field(description="Its radius, m.")


class ConvexShape(Shape):
    """A convex polygon; it keeps its direction as it moves unless the obstacle says that it turns."""

    polygon: Ring = Field(
        description=(
            "Its corners, in either direction, with the point that moves along the path as the origin, m."
        )
    )


class WaypointShape(Shape):
    """A point of the path at which the obstacle stands for a while."""

    point: Point = Field(description="The point, m.")
    wait: Seconds = Field(description="For how long it stands there, s.")


Outline = Annotated[
    Annotated[DiscShape, Tag("~disc")] | Annotated[ConvexShape, Tag("~polygon")],
    by_form(
        lambda value: key_form(value, "disc", "polygon"), "a shape {disc: radius} or {polygon: [[x, y], ...]}"
    ),
]


Waypoint = Annotated[
    Annotated[Point, Tag("~place")] | Annotated[WaypointShape, Tag("~point")],
    by_form(
        lambda value: "~place" if isinstance(value, list) else key_form(value, "point"),
        "a point [x, y] or {point: [x, y], wait: seconds}",
    ),
]


Turns = Annotated[
    Annotated[Literal["path"], Tag("~path")]
    | Annotated[float, Field(ge=-50, le=50), Unit("rad/s"), Tag("~speed")],
    by_form(
        lambda value: "~path" if isinstance(value, str) else "~speed" if is_number(value) else None,
        "path, or a speed of turning in rad/s",
    ),
]


class ObstacleShape(Shape):
    """Something that appears, moves on a path, and vanishes: a cart, a car, a barrier.
    People avoid it; it gives way to nobody.
    """

    name: Name = Field(description="Name for messages, events and pictures.")
    shape: Outline = Field(description="{disc: radius} or {polygon: [[x, y], ...]}.")
    path: Annotated[
        list[Waypoint],
        Field(min_length=1, max_length=MAX_WAYPOINTS),
        Expects("a list of points [[x, y], ...]"),
    ] = Field(
        description=(
            "Points that it goes through, straight from one to the next, m. With one point it stands there."
        )
    )
    speed: Annotated[float, Field(gt=0, le=50), Unit("m/s")] | None = Field(
        default=None,
        description=(
            "Speed along the path, m/s, from when it appears. Needed for a path of several points unless "
            "times are given."
        ),
    )
    times: (
        Annotated[
            list[Seconds],
            Field(min_length=1, max_length=MAX_WAYPOINTS),
            Expects("a list of times [0, 5, ...]"),
        ]
        | None
    ) = Field(
        default=None,
        description="Instead of a speed: the simulated time at which it is at each point, s, ascending.",
    )
    turns: Turns | None = Field(
        default=None,
        description=(
            "How a polygon turns: path (its x axis points where it goes), or round and round at so many "
            "rad/s, to the left above 0."
        ),
    )
    turn_time: Seconds = Field(
        default=1.0, description="With turns: path, for how long it turns after a corner of the path, s."
    )
    storey: Name | None = Field(
        default=None, description="Name of the storey on which it moves, where the geometry has several."
    )
    height: Metres | None = Field(
        default=None, description="Instead of a storey: height of the ground under the begin of its path, m."
    )
    appears: Seconds = Field(default=0.0, description="Simulated time at which it appears, s.")
    vanishes: Seconds | None = Field(
        default=None, description="Simulated time at which it vanishes, s. Default: never."
    )
    loop: bool = Field(
        default=False,
        description=(
            "true: from the last point back to the first, again and again. With times the last point is the "
            "first."
        ),
    )
    stands_after: Seconds = Field(
        default=1.0,
        description=(
            "For how long it must have stood before paths are looked for round it, s; until then only "
            "avoidance sees it."
        ),
    )


class MeasuredLine(Shape):
    """A line over which agents are counted."""

    line: Annotated[
        list[Point],
        Field(min_length=2, max_length=MAX_WAYPOINTS),
        Expects("a list of points [[x, y], [x, y], ...]"),
    ] = Field(description="Its points, m; from its left side to its right one is forwards.")
    storey: Name | None = STOREY
    height: Metres | None = HEIGHT


class MeasuredArea(Shape):
    """An area in which densities and speeds are measured."""

    area: Areas = Field(description="Where it is; several areas are united.")
    storey: Name | None = STOREY
    height: Metres | None = HEIGHT


MeasureShape = Annotated[
    Annotated[MeasuredLine, Tag("~line")] | Annotated[MeasuredArea, Tag("~area")],
    by_form(
        lambda value: key_form(value, "line", "area"),
        "a line {line: [[x, y], [x, y]]} or an area {area: area}",
    ),
]


class ScenarioShape(Shape):
    """A scenario of crowdsim."""

    version: Literal[1] = Field(description="Version of this format.")
    name: Name | None = Field(
        default=None, description="Name for tables and pictures. Default: the file's name without ending."
    )
    description: Annotated[str, Field(max_length=100_000), Expects("a text")] = Field(
        default="", description="What the scenario is for."
    )
    seed: Annotated[int, Field(ge=0, le=LARGEST_ID)] = Field(
        default=1, description="Seed of all random numbers; the same seed gives the same run."
    )
    tick: Annotated[float, Field(gt=0, le=1), Unit("s")] = Field(
        default=0.05, description="Length of a time step, s."
    )
    vars: Annotated[
        dict[Name, float | int | bool | str],
        Expects("a mapping of names to values {width: 1.2, ...}"),
    ] = Field(
        default={},
        description=(
            "Values by name; $width stands for the value of width wherever a value may stand, also in sums "
            "such as 4 - $width / 2."
        ),
    )
    stop: StopShape = Field(default=StopShape(), description="When the run ends.")
    geometry: GeometryShape = Field(description="Where one may walk.")
    goals: Annotated[
        dict[Name, GoalShape],
        Field(max_length=MAX_GOALS),
        Expects("a mapping of names to goals {door: {exit: ...}, ...}"),
    ] = Field(default={}, description="Goals by name.")
    groups: Annotated[
        list[GroupShape],
        Field(max_length=MAX_GROUPS),
        Expects("a list of groups [{name: ..., count: ...}, ...]"),
    ] = Field(description="The agents.")
    behaviours: Annotated[
        dict[Name, MachineShape],
        Field(max_length=MAX_MACHINES),
        Expects("a mapping of names to machines {visitor: {states: {...}}, ...}"),
    ] = Field(default={}, description="What agents do: machines of states by name.")
    queues: Annotated[
        dict[Name, QueueShape],
        Field(max_length=MAX_QUEUES),
        Expects("a mapping of names to queues {desk: {servers: ..., line: ..., service: ...}, ...}"),
    ] = Field(default={}, description="Lines in which agents stand until they are served, by name.")
    connections: Annotated[
        dict[Name, CarrierShape],
        Field(max_length=MAX_CONNECTIONS),
        Expects("a mapping of names to connections {lift: {lift: {stops: ..., capacity: 8}}, ...}"),
    ] = Field(
        default={},
        description="What takes agents from one place to another, by name: passages, ladders, lifts, doors.",
    )
    waypaths: Annotated[
        dict[Name, WaypathShape],
        Field(max_length=MAX_CONNECTIONS),
        Expects("a mapping of names to waypaths {lane: {points: [[x, y], ...], one_way: true}, ...}"),
    ] = Field(default={}, description="Drawn lines along which agents walk, by name.")
    jumps: JumpsShape | None = Field(
        default=None, description="That agents jump, and others follow them. Default: nobody jumps."
    )
    events: Annotated[
        list[EventShape],
        Field(max_length=MAX_EVENTS),
        Expects("a list of events [{at: 20, close: door}, ...]"),
    ] = Field(default=[], description="What happens while the scenario runs.")
    obstacles: Annotated[
        list[ObstacleShape],
        Field(max_length=MAX_OBSTACLES),
        Expects("a list of obstacles [{name: ..., shape: ..., path: ...}, ...]"),
    ] = Field(
        default=[],
        description=(
            "What appears, moves on a path and vanishes; what always stands is among the obstacles of the "
            "geometry."
        ),
    )
    measures: Annotated[
        dict[Name, MeasureShape],
        Field(max_length=MAX_AREAS),
        Expects("a mapping of names to lines and areas {door: {line: [[x, y], [x, y]]}, ...}"),
    ] = Field(
        default={},
        description="Lines and areas by name that are measured: what the run prints, and a sweep tabulates.",
    )
    systems: Any = Field(
        default=None,
        description=(
            "Systems of your own that take part in the tick: names, or {system: name} with parameters; they "
            "come with --plugin FILE."
        ),
        json_schema_extra={
            "type": "array",
            "items": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["system"]}]},
        },
    )
    avoidance: Any = Field(
        default=None,
        description=(
            "How agents avoid each other: the name of a model, or {model: name} with parameters of the model."
        ),
    )
    speed_density: Any = Field(
        default=None,
        description=(
            "Whether people like to walk slower in a crowd: none, weidmann, or {law: weidmann} with numbers "
            "of the law."
        ),
    )
    navigation: Any = Field(
        default=None,
        description=(
            "How agents find their path: the kind, or {kind: name} with its parameters; s2-grid is the grid "
            "planner of [Pathfinding undated]."
        ),
    )
    bodies: Any = Field(default=None, description="What happens when bodies touch.")
    symmetry: Any = Field(default=None, description="How exact symmetry and mutual blocking are broken.")
    budget: Any = Field(default=None, description="How much work may be done in a tick.")
    record: RecordShape = Field(default=RecordShape(), description="What is recorded.")
