"""Vehicles: bodies with a length that cannot turn on the spot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.scenario.schema_vehicles import VehicleShape

MOST_DISCS = 40  # That cover one.
MOST_LENGTHS = 10  # Of the turning radius: longer steps of the search could pass over a post.


@dataclass(frozen=True)
class Vehicle:
    """What the agents of a group are; see `VehicleShape`. Their places are the middles of their rear axles,
    as in [Dubins 1957] and [Reeds 1990].

    Attributes
    ----------
    length, width : float, m
    turning_radius : float, m
        Least radius on which that place moves.
    overhang : float, m
        From that place to the rear end.
    speed, reverse_speed : float, m/s
    acceleration, braking, lateral : float, m/s2
    reverse : bool
    heading : (float, float) or None
        Direction at the start; None: towards the goal.
    """

    length: float
    width: float
    turning_radius: float
    overhang: float
    speed: float
    reverse_speed: float
    acceleration: float
    braking: float
    lateral: float
    reverse: bool
    heading: tuple[float, float] | None = None

    @property
    def front(self) -> float:
        """From the rear axle to the front end, m."""
        return self.length - self.overhang

    @property
    def speed_in_curves(self) -> float:
        """Speed on the least radius, m/s."""
        return min(self.speed, math.sqrt(self.lateral * self.turning_radius))

    def corners(self) -> list[tuple[float, float]]:
        """Return its outline, closed: each corner before the rear axle and to the left of it, m."""
        half = 0.5 * self.width
        return [
            (-self.overhang, -half), (self.front, -half), (self.front, half), (-self.overhang, half),
            (-self.overhang, -half),
        ]  # fmt: skip

    def discs(self) -> tuple[NDArray[np.float64], float]:
        """Return where the middles of discs that cover it lie before the rear axle, (d,) m, and their radius.

        They reach out beyond its sides by less than a tenth of its width.
        """
        count = max(1, min(MOST_DISCS, int(np.ceil(1.6 * self.length / self.width))))
        part = self.length / count
        middles = np.array([part * (number + 0.5) - self.overhang for number in range(count)])
        return middles, float(hypots(0.5 * self.width, 0.5 * part))

    def data(self) -> dict[str, Any]:
        """Return it as a scenario says it."""
        found = {key: value for key, value in asdict(self).items() if value is not None}
        return {**found, **({"heading": list(self.heading)} if self.heading is not None else {})}


def vehicle_from(shape: VehicleShape) -> Vehicle:
    """Return the vehicle that a scenario describes."""
    length = float(shape.length)
    heading: tuple[float, float] | None = None
    if shape.heading is not None:
        x, y = shape.heading
        size = float(hypots(x, y))
        heading = (float(x) / size, float(y) / size) if size > 0.0 else None
    return Vehicle(
        length=length,
        width=float(shape.width),
        turning_radius=float(shape.turning_radius),
        overhang=0.2 * length if shape.overhang is None else float(shape.overhang),
        speed=float(shape.speed),
        reverse_speed=float(shape.reverse_speed),
        acceleration=float(shape.acceleration),
        braking=float(shape.braking),
        lateral=float(shape.lateral),
        reverse=shape.reverse,
        heading=heading,
    )


def complaints(vehicle: Vehicle, shape: VehicleShape) -> Sequence[tuple[str, str, str]]:
    """Return what is wrong with a vehicle: the key, what, and the way out."""
    found = []
    if vehicle.overhang >= vehicle.length:
        found.append(
            (
                "overhang",
                f"of {vehicle.overhang:g} m is not less than the length, {vehicle.length:g} m",
                "It is what lies behind the rear axle.",
            )
        )
    if vehicle.turning_radius > MOST_LENGTHS * vehicle.length:
        found.append(
            (
                "turning_radius",
                f"{vehicle.turning_radius:g} m is more than {MOST_LENGTHS} lengths of {vehicle.length:g} m",
                f"Give at most {MOST_LENGTHS * vehicle.length:g}.",
            )
        )
    if vehicle.width > vehicle.length:
        found.append(("width", f"{vehicle.width:g} m is more than the length, {vehicle.length:g} m", ""))
    if shape.heading is not None and vehicle.heading is None:
        found.append(("heading", "[0, 0] is no direction", "Give [1, 0] for east, for example."))
    return found
