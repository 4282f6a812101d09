"""Ground as plates: pieces that each lie in one plane, and the seams over which one walks from one to
another. A storey, a stair and a face of a surface are plates; a level floor is one plate without seams.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.floor_plans import Plane, Terrain

EdgeKey = tuple[float, float, float, float]
LEVEL = Plane((0.0, 0.0, 0.0))


@dataclass(frozen=True, eq=False)
class Plate:
    """Ground in one plane.

    Attributes
    ----------
    ground : shapely Polygon or MultiPolygon, m
        In plan; it has corners where seams begin and end.
    layer : int
        Floor that it belongs to.
    sheet : int
        Plates of one sheet nowhere lie above each other.
    plane : Plane
    pace : (float, float)
        Speed up and down as a share of that on level ground.
    openings : shapely geometry or None
        Boundary inside it is an exit, not a wall.
    terrain : tuple of Terrain
        Areas that do not overlap.
    """

    ground: Any
    layer: int = 0
    sheet: int = 0
    plane: Plane = LEVEL
    pace: tuple[float, float] = (1.0, 1.0)
    openings: Any = None
    terrain: tuple[Terrain, ...] = ()


class Seam(NamedTuple):
    """An edge that two plates share, and over which one walks.

    Attributes
    ----------
    plates : (int, int)
    key : (float, float, float, float), m
        Its ends, see `edge_key`; both plates have them as corners.
    whole : (float, float, float, float), m
        The edge that it is a part of: itself, unless terrain has cut it.
    """

    plates: tuple[int, int]
    key: EdgeKey
    whole: EdgeKey


@dataclass(frozen=True, eq=False)
class Plates:
    """All ground of a scenario.

    Attributes
    ----------
    plates : sequence of Plate
    seams : sequence of Seam
    cell : float, m
        How large polygons are where there is terrain with a speed, about.
    """

    plates: Sequence[Plate]
    seams: Sequence[Seam] = ()
    cell: float = 1.0


def level_ground(
    ground: Any, openings: Any = None, terrain: Sequence[Terrain] = (), cell: float = 1.0
) -> Plates:
    """Return one level floor, shapely Polygon or MultiPolygon (m), as plates."""
    return Plates([Plate(ground, openings=openings, terrain=tuple(terrain))], cell=cell)


def edge_key(a: Sequence[float], b: Sequence[float]) -> EdgeKey:
    """Return an edge from its lesser end to the other, whichever is given first."""
    first, last = sorted(((a[0], a[1]), (b[0], b[1])))
    return (*first, *last)


def rings_of(ground: Any) -> list[NDArray[np.float64]]:
    """Return the outlines of a ground, the first point of each again as the last, (k, 2) m."""
    return [
        shapely.get_coordinates(ring)
        for part in shapely.get_parts(ground)
        for ring in (part.exterior, *part.interiors)
    ]


def edge_keys(ground: Any) -> list[EdgeKey]:
    """Return the edges of a ground."""
    return [edge_key(a, b) for ring in rings_of(ground) for a, b in itertools.pairwise(ring.tolist())]
