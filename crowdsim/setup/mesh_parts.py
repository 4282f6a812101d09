"""The parts that a mesh has while areas are closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import shapely

from crowdsim.navigation.mesh.build import MeshPart
from crowdsim.scenario.areas import EXIT_GAP_M, parted_ground
from crowdsim.scenario.shapes import GRID_M


def mesh_parts(ground: Any, closed: Sequence[Any], exits: Any) -> list[MeshPart]:
    """Return the parts that a mesh has while areas are closed:
    first what is left of the ground, then what lies inside each area.

    Parameters
    ----------
    ground : shapely Polygon or MultiPolygon, m
    closed : sequence of shapely Polygon or MultiPolygon, m
    exits : shapely geometry, or None
        Boundary of the ground inside it is open; between a closed area and the rest of the ground there is a
        wall all the same.
    """
    left, islands = parted_ground(ground, closed)
    grounds = [each for each in (left, *islands) if not each.is_empty]
    if exits is None:
        return [MeshPart(each) for each in grounds]
    found = []
    for number, each in enumerate(grounds):
        others = shapely.union_all([other for place, other in enumerate(grounds) if place != number])
        own = shapely.difference(exits, others.buffer(EXIT_GAP_M, join_style="mitre"), grid_size=GRID_M)
        found.append(MeshPart(each, None if own.is_empty else own))
    return found
