"""Floors as plans: each a piece of ground in a plane, joined along lines where two of them meet.
Nothing here needs a compiler.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

CLEARANCE_M = 2.0  # Free height that a standing person needs, with a little to spare: doors are that high.
# How far a line may lie from the edge of a floor that it joins: ten steps of the grid of plans. Wider gaps
# are mistakes of the plan.
MEETS_M = 1e-5


@dataclass(frozen=True)
class Plane:
    """The plane of a floor.

    Attributes
    ----------
    place : (x, y, z), m
        A point of it.
    slope : (float, float)
        Metres up for each metre in x and in y.
    """

    place: tuple[float, float, float]
    slope: tuple[float, float] = (0.0, 0.0)

    def height(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the heights (m) over points, (n, 2) m."""
        offset = np.asarray(points, dtype=np.float64) - self.place[:2]
        return self.place[2] + (self.slope[0] * offset[:, 0] + self.slope[1] * offset[:, 1])


@dataclass(frozen=True, eq=False)
class Terrain:
    """Ground of a kind: walked faster or slower than other ground, or that some agents keep off.

    Attributes
    ----------
    name : str
    area : shapely Polygon or MultiPolygon, m
        In plan.
    speed : float
        As a share of that on plain ground, along the surface.
    kind : str
        What planners tell it apart by; empty where none does.
    has_price : bool
        Whether a metre of it costs some agents more than another.
    """

    name: str
    area: Any
    speed: float
    kind: str = ""
    has_price: bool = False

    @property
    def is_weighed(self) -> bool:
        """Whether paths are looked for by what a metre of it costs: polygons are small there."""
        return self.speed != 1.0 or self.has_price


@dataclass(frozen=True, eq=False)
class FloorPlan:
    """One floor as it is meshed; its number in the list is its layer.

    Attributes
    ----------
    name : str
        For messages.
    ground : shapely Polygon or MultiPolygon, m
        In plan; valid.
    plane : Plane
    pace : (float, float)
        Speed up and down as a share of that on level ground.
    openings : shapely geometry or None
        Boundary inside it is an exit, not a wall.
    terrain : tuple of Terrain
        Areas that do not overlap.
    """

    name: str
    ground: Any
    plane: Plane
    pace: tuple[float, float] = (1.0, 1.0)
    openings: Any = None
    terrain: tuple[Terrain, ...] = ()


@dataclass(frozen=True)
class Join:
    """A line along which two floors meet.

    Attributes
    ----------
    floors : (int, int)
    line : ((x, y), (x, y)), m
    height : float, m
        The line is level.
    """

    floors: tuple[int, int]
    line: tuple[tuple[float, float], tuple[float, float]]
    height: float


def gap_of_line(ground: Any, line: Any) -> float:
    """Return how far a line (shapely LineString, m) strays from the edge of a ground (m)."""
    points = shapely.line_interpolate_point(line, np.linspace(0.0, 1.0, 41), normalized=True)
    return float(shapely.distance(ground.boundary, points).max())
