"""What a scenario with several floors is made of: storeys, which are level, and connections, which lead from one up to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import shapely

from crowdsim.geometry.floor_plans import FloorPlan, Join, Plane, Terrain

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
        In plan, like the walkable ground of a scenario with one floor; what has too little height above it has been cut out.
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
        """Return the floor as navigation wants it; boundary inside `openings` (shapely geometry) is an exit."""
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
