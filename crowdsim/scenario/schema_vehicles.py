"""How a scenario says what a vehicle is."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from crowdsim.scenario.schema_geometry import Length, Point, Shape, Unit

Speed = Annotated[float, Field(gt=0, le=50), Unit("m/s")]
Acceleration = Annotated[float, Field(gt=0, le=20), Unit("m/s2")]


class VehicleShape(Shape):
    """A body with a length that cannot turn on the spot."""

    length: Annotated[Length, Field(le=50)] = Field(description="From its rear to its front end, m.")
    width: Annotated[Length, Field(le=10)] = Field(description="From side to side, m.")
    turning_radius: Annotated[Length, Field(le=1000)] = Field(
        description="Least radius on which the middle of its rear axle can drive, m."
    )
    overhang: Length | None = Field(
        default=None, description="From the rear axle to the rear end, m. Default: a fifth of the length."
    )
    speed: Speed = Field(default=5.0, description="Greatest speed, m/s. Default: 5.")
    reverse_speed: Speed = Field(default=1.0, description="Greatest speed backwards, m/s. Default: 1.")
    acceleration: Acceleration = Field(default=1.0, description="How fast it speeds up, m/s2. Default: 1.")
    braking: Acceleration = Field(default=2.5, description="How fast it slows down, m/s2. Default: 2.5.")
    lateral: Acceleration = Field(
        default=2.0, description="Greatest acceleration to the side, m/s2: speed in curves. Default: 2."
    )
    reverse: bool = Field(default=False, description="true: it can drive backwards, too. Default: false.")
    heading: Point | None = Field(
        default=None, description="Its direction at the start, [x, y]. Default: towards the goal."
    )
