"""What is known of a grid before it is made: where the cells of a file lie, and what is closed.
It needs no kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Shut:
    """Something that is closed for a while.

    Attributes
    ----------
    name : str
    polygon : shapely Polygon or MultiPolygon, m
        Perhaps empty.
    is_ground : bool
        Ground that is shut; else an obstacle that stands on it.
    layer : int
        Floor on which it is closed, -1 where there are none.
    has_wall : bool
        False of ground that is gone without a wall round it: bodies reach over its rim.
    part : int
        Of a part of a soup that is not there: its index in the scenario's areas, the polygon is empty; else
        -1.
    """

    name: str
    polygon: Any
    is_ground: bool = False
    layer: int = -1
    has_wall: bool = True
    part: int = -1


@dataclass(frozen=True)
class Raster:
    """Where the cells of a file lie.

    Attributes
    ----------
    x, y : float, m
        Lower left corner.
    cell : float, m
    width, depth : int
    kept : float, m, or None
        How far the walkable cells keep from obstacles already, which the file does not show any more; None
        where it shows them.
    """

    x: float
    y: float
    cell: float
    width: int
    depth: int
    kept: float | None = None
