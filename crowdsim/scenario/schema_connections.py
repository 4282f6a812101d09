"""How a scenario says what takes agents from one place to another: passages, ladders, lifts, doors with keys,
escalators, drops; and how agents jump.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag

from crowdsim.scenario.limits import MAX_AGENTS, MAX_ON_WAYPATHS, MAX_PORTALS, MAX_STOPS
from crowdsim.scenario.schema_behaviours import Polyline
from crowdsim.scenario.schema_geometry import (
    Areas,
    Expects,
    Length,
    Name,
    Point,
    Seconds,
    Shape,
    Unit,
    by_form,
    key_form,
)

LADDER_M_S = 0.4  # Upwards along a ladder.
LIFT_M_S = 1.0
STEP_M_S = 0.5  # The usual speed of escalators.
HEADWAY_S = 0.9  # One on every second step of an escalator.
TRANSFER_S = 1.0  # A person that goes in or out takes so long.
DWELL_S = 3.0
DOORS_S = 2.0
OPENING_S = 1.0
STAYS_OPEN_S = 3.0
JUMP_M_S = 3.0  # About as fast people leave the ground from a stand, in plan.
WAYPATH_FACTOR = 0.75  # [Smith 2002]
SPRING_M = 0.4  # About as high people jump on the spot.

Speed = Annotated[float, Field(gt=0, le=50), Unit("m/s")]
Time = Annotated[float, Field(gt=0, le=1e9), Unit("s")]
Capacity = Annotated[int, Field(ge=1, le=MAX_AGENTS)]
Knows = Literal["all", "seen", "none"]

_KNOWS = (
    "Which agents count those that wait when they choose: all, or those that see the place; others expect as "
    "long as it takes one alone. Default: all."
)


class EndShape(Shape):
    """One end of a connection."""

    area: Areas = Field(description="Where agents come out, and before which those stand that go in.")
    line: Polyline | None = Field(
        default=None,
        description=(
            "Where those stand that wait, from its head to its tail, m. Default: places round the area, the "
            "nearest ones first."
        ),
    )
    storey: Name | None = Field(default=None, description="Its storey, where there are several.")
    height: Annotated[float, Unit("m")] | None = Field(
        default=None, description="Instead of a storey: about how high it lies, m."
    )


Ends = Annotated[
    list[EndShape],
    Field(min_length=2, max_length=2),
    Expects("two ends [{area: ..., storey: ...}, {area: ..., storey: ...}]"),
]
Stops = Annotated[
    list[EndShape],
    Field(min_length=2, max_length=MAX_STOPS),
    Expects("a list of stops [{area: ..., storey: ...}, ...]"),
]


class PassageShape(Shape):
    """What takes a time from end to end, whatever an agent's speed."""

    ends: Ends = Field(description="Where it begins and ends.")
    time: Time = Field(description="How long it takes, s.")
    capacity: Capacity = Field(
        default=MAX_AGENTS, description="How many are in it at once. Default: no limit."
    )
    headway: Seconds = Field(
        default=0.0, description="Time from one that goes in to the next at the same end, s. Default: 0."
    )
    one_way: bool = Field(
        default=False, description="true: only from the first end to the second. Default: false."
    )
    knows: Knows | None = Field(default=None, description=_KNOWS)


class LadderShape(Shape):
    """A ladder: all that are on it go in one direction."""

    ends: Ends = Field(description="Its foot and its head.")
    climb: Length = Field(description="How far one climbs, m.")
    speed: Speed = Field(default=LADDER_M_S, description="Speed on it, m/s. Default: 0.4.")
    capacity: Capacity = Field(default=1, description="How many are on it at once. Default: 1.")
    headway: Seconds = Field(default=0.0, description="Time from one to the next behind it, s. Default: 0.")
    one_way: bool = Field(default=False, description="true: only from the foot to the head. Default: false.")
    knows: Knows | None = Field(default=None, description=_KNOWS)


class EscalatorShape(Shape):
    """An escalator or a moving walk."""

    ends: Ends = Field(description="Where it begins and ends.")
    length: Length = Field(description="How far it carries agents, along its surface, m.")
    speed: Speed = Field(default=STEP_M_S, description="How fast it carries them, m/s. Default: 0.5.")
    capacity: Capacity = Field(
        default=MAX_AGENTS, description="How many are on it at once. Default: no limit."
    )
    headway: Seconds = Field(
        default=HEADWAY_S, description="Time from one that steps on to the next, s. Default: 0.9."
    )
    knows: Knows | None = Field(default=None, description=_KNOWS)


class DoorShape(Shape):
    """A door that is locked: only agents with its key go through."""

    ends: Ends = Field(description="The places before and behind it.")
    key: Name = Field(description="The key that opens it; groups have keys: [...].")
    opening: Seconds = Field(default=OPENING_S, description="How long it takes to unlock it, s. Default: 1.")
    stays_open: Seconds = Field(
        default=STAYS_OPEN_S, description="For how long it is open then, s. Default: 3."
    )
    capacity: Capacity = Field(default=1, description="How many go through at once. Default: 1.")
    one_way: bool = Field(
        default=False, description="true: only from the first end to the second. Default: false."
    )
    knows: Knows | None = Field(default=None, description=_KNOWS)


class LiftShape(Shape):
    """A lift."""

    stops: Stops = Field(description="Where it stops, from the lowest to the highest.")
    capacity: Capacity = Field(description="How many it carries.")
    speed: Speed = Field(default=LIFT_M_S, description="Speed between storeys, m/s. Default: 1.")
    times: Annotated[list[Time], Expects("a list of times [4, 3, ...]")] | None = Field(
        default=None,
        description=(
            "How long it takes from each stop to the next, s, in place of a speed; needed where the stops do "
            "not lie on storeys at several heights."
        ),
    )
    doors: Seconds = Field(
        default=DOORS_S, description="How long its doors take to open, and to close, s. Default: 2."
    )
    dwell: Seconds = Field(default=DWELL_S, description="For how long they are open at least, s. Default: 3.")
    transfer: Seconds = Field(
        default=TRANSFER_S, description="How long each takes that goes in or out, s. Default: 1."
    )
    knows: Knows | None = Field(default=None, description=_KNOWS)


class DropShape(Shape):
    """An edge over which agents drop, and never come back up."""

    ends: Ends = Field(description="The ground along the edge, and the ground below it.")
    fall: Length = Field(description="How far they fall, m.")


class CarrierShape(Shape):
    """What takes agents from one place to another. Exactly one key is given."""

    passage: PassageShape | None = Field(default=None, description="It takes a time from end to end.")
    ladder: LadderShape | None = Field(default=None, description="A ladder.")
    lift: LiftShape | None = Field(default=None, description="A lift.")
    door: DoorShape | None = Field(default=None, description="A door that needs a key.")
    escalator: EscalatorShape | None = Field(default=None, description="An escalator or a moving walk.")
    drop: DropShape | None = Field(default=None, description="An edge over which agents drop.")


KINDS = tuple(CarrierShape.model_fields)


class WaypointShape(Shape):
    """A waypoint at which agents do something."""

    at: Point = Field(description="Where it is, m.")
    speed: Annotated[float, Field(gt=0, le=10)] | None = Field(
        default=None,
        description="How fast they go on from there, as a factor of the speed that they like. "
        "Default: as before.",
    )
    wait: Seconds = Field(default=0.0, description="How long they stand there, s. Default: 0.")
    crouch: bool | None = Field(
        default=None,
        description="true: they go on crouching, at half the speed if none is given; false: upright again. "
        "Default: as before.",
    )


WaypointPlace = Annotated[
    Annotated[Point, Tag("~point")] | Annotated[WaypointShape, Tag("~at")],
    by_form(
        lambda value: "~point" if isinstance(value, list) else key_form(value, "at"),
        "a point [x, y] or {at: [x, y], speed: 0.5, wait: 2}",
    ),
]


class WaypathShape(Shape):
    """A drawn line along which agents walk."""

    points: Annotated[
        list[WaypointPlace],
        Field(min_length=2, max_length=MAX_ON_WAYPATHS),
        Expects("a list of waypoints [[x, y], {at: [x, y], wait: 2}, ...]"),
    ] = Field(description="Its waypoints, m: where agents join it and leave it.")
    smooth: bool = Field(
        default=False, description="true: a spline through the points; false: straight lines. Default: false."
    )
    one_way: bool = Field(
        default=False, description="true: only from the first point to the last. Default: false."
    )
    groups: Annotated[list[Name], Field(max_length=1000), Expects("a list of names of groups")] | None = (
        Field(default=None, description="Groups whose agents use it. Default: all.")
    )
    factor: Annotated[float, Field(gt=0, le=1)] = Field(
        default=WAYPATH_FACTOR,
        description="What a metre on it costs beside a metre elsewhere. Default: 0.75.",
    )
    storey: Name | None = Field(default=None, description="Its storey, where there are several.")
    height: Annotated[float, Unit("m")] | None = Field(
        default=None, description="Instead of a storey: about how high it lies, m."
    )


class JumpsShape(Shape):
    """How agents jump, and what a jump leaves: a portal by which others follow."""

    at_most: Annotated[int, Field(ge=1, le=MAX_PORTALS)] = Field(
        default=4, description="Portals at once; one more, and the oldest goes. Default: 4."
    )
    lasts: Time = Field(default=60.0, description="How long a portal lies there, s. Default: 60.")
    capacity: Capacity = Field(
        default=1, description="How many are in the air over one portal at once. Default: 1."
    )
    headway: Seconds = Field(default=1.0, description="From one take-off to the next, s. Default: 1.")
    speed: Speed = Field(
        default=JUMP_M_S, description="Greatest speed of a jump in plan, m/s. Default: 3, as from a stand."
    )
    spring: Length = Field(default=SPRING_M, description="How high one jumps on the spot, m. Default: 0.4.")
    longest: Length = Field(default=6.0, description="How far in plan one jumps at most, m. Default: 6.")
    deepest: Length = Field(default=4.0, description="How deep one jumps at most, m. Default: 4.")
