"""The shape of obstacles that move, in a scenario file:
what they look like, their paths, and when they are there.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag

from crowdsim.scenario.limits import MAX_WAYPOINTS
from crowdsim.scenario.schema_geometry import (
    Expects,
    Length,
    Metres,
    Name,
    Point,
    Ring,
    Seconds,
    Shape,
    Unit,
    by_form,
    is_number,
    key_form,
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
