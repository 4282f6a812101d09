"""The ground of a scenario as its tiles are made from it: one level floor, storeys with what joins them, or
the patches of a surface; with any of its areas closed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import shapely

from crowdsim.geometry.floor_plans import Terrain
from crowdsim.geometry.surface import Patch, patches_without
from crowdsim.navigation.mesh.build import MeshParameters
from crowdsim.navigation.mesh.floors import plates_of_floors
from crowdsim.navigation.mesh.plates import Plates, level_ground
from crowdsim.navigation.mesh.surface_mesh import plates_of_surface
from crowdsim.navigation.tiles.numbers import TileNumbers, numbers_over
from crowdsim.scenario.areas import JOIN_GAP_M, ground_without
from crowdsim.scenario.geometry import Geometry, joins_of


def tile_numbers(geometry: Geometry, size: float) -> TileNumbers:
    """Return the numbers of the tiles of all its ground.

    Raises
    ------
    NavigationError
        If the tiles are too many.
    """
    return replace(numbers_over(geometry.grounds, size), floors=geometry.floor_names)


def plates_of(
    geometry: Geometry, exits: Mapping[int, Any], parameters: MeshParameters, closed: Sequence[Any] = ()
) -> Plates:
    """Return the ground with some areas closed, as plates.

    Parameters
    ----------
    geometry : Geometry
    exits : mapping of int to shapely geometry
        Areas of the exits of each floor that has some; -1 is the floor of ground that has no floors.
    parameters : MeshParameters
    closed : sequence of shapely Polygon or MultiPolygon, m
        On several floors each with the number of its floor.

    Raises
    ------
    NavigationError
        If floors do not meet where they should.
    """
    cell = parameters.terrain_cell
    if not geometry.floors:
        left, openings = ground_without(geometry.walkable, closed, exits.get(-1))
        return level_ground(left, openings, terrain_of(geometry, 0), cell)
    if geometry.patches:
        layers = np.array(geometry.sheet_floors, dtype=np.int32)
        return plates_of_surface(
            patches_left(geometry, closed),
            layers,
            openings=exits_left(geometry, closed, exits),
            cell=cell,
            step=geometry.step,
            terrain=geometry.kinds,
        )
    floors = []
    for layer, floor in enumerate(geometry.floors):
        left, openings = ground_without(floor.ground, of_layer(closed, layer), exits.get(layer))
        floors.append(replace(floor, ground=left).plan(openings, terrain_of(geometry, layer)))
    return plates_of_floors(floors, joins_of(geometry.floors), cell=cell)


def terrain_of(geometry: Geometry, layer: int) -> tuple[Terrain, ...]:
    """Return the terrain of a floor, as its mesh is cut by it."""
    return geometry.kinds[layer] if geometry.kinds else ()


def of_layer(closed: Sequence[tuple[int, Any]], layer: int) -> list[Any]:
    """Return what is closed on one floor."""
    return [area for number, area in closed if number == layer]


def patches_left(geometry: Geometry, closed: Sequence[tuple[int, Any]]) -> list[Patch]:
    """Return the patches of a surface with some areas closed, each with the number of its floor."""
    layers = np.array(geometry.sheet_floors, dtype=np.int32)
    of_floor = [np.flatnonzero(layers == layer).tolist() for layer in range(len(geometry.floors))]
    return patches_without(geometry.patches, [(of_floor[layer], area) for layer, area in closed])


def exits_left(
    geometry: Geometry, closed: Sequence[tuple[int, Any]], exits: Mapping[int, Any]
) -> dict[int, Any]:
    """Return where the boundary of each floor is open while some areas are closed."""
    found = {
        layer: ground_without(floor.ground, of_layer(closed, layer), exits.get(layer))[1]
        for layer, floor in enumerate(geometry.floors)
    }
    return {layer: opening for layer, opening in found.items() if opening is not None}


def off_the_joins(geometry: Geometry, closed: Sequence[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Return what can be cut out of which floor: all but what touches a line along which two floors meet."""
    lines = [
        (layer, shapely.LineString(join.line)) for join in joins_of(geometry.floors) for layer in join.floors
    ]
    return [
        (layer, area)
        for layer, area in closed
        if all(each != layer or line.distance(area) > JOIN_GAP_M for each, line in lines)
    ]
