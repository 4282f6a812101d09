"""What systems tell each other of the ground: what is closed, and that it has changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Closed:
    """Something that is closed: an area, or an obstacle that stands.

    Attributes
    ----------
    name : str
    area : shapely Polygon or MultiPolygon, m
    layer : int
        Number of its floor; -1 where there is one level floor.
    is_ground : bool
        An area of the ground that is shut; else an obstacle that stands on it.
    """

    name: str
    area: Any
    layer: int = -1
    is_ground: bool = False


@dataclass(frozen=True)
class GroundChange:
    """What systems that find paths have to know of a change of the ground.

    Attributes
    ----------
    closed : tuple of Closed
        Everything that is closed now.
    has_opened : bool
        Whether something was closed before that is not now: agents that had no path may have one.
    is_new : bool
        False where a saved state is taken back: agents have heard of it then.
    """

    closed: tuple[Closed, ...]
    has_opened: bool
    is_new: bool = True
