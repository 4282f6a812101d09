"""Houses with random rooms and stairs, as one mesh and in tiles, for the tests of this folder."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
import shapely
from shapely import affinity

from crowdsim.navigation.mesh.build import MeshParameters
from crowdsim.navigation.mesh.floors import build_floors
from crowdsim.navigation.mesh.mesh import NavMesh, locate, make_flood, wall_distance
from crowdsim.navigation.tiles.make import build_tiled_plates
from crowdsim.navigation.tiles.tiled_mesh import TiledMesh
from crowdsim.scenario.geometry import Geometry, joins_of
from crowdsim.scenario.load import parse_scenario
from crowdsim.setup.tiled_ground import plates_of, tile_numbers

WIDTH, DEPTH, RISE = 20.0, 14.0, 3.0
REACH = 5.0
OUTER = 0.5  # Stairs keep so far from the outer walls, m.


class Spot(NamedTuple):
    """A place on a floor."""

    x: float
    y: float
    layer: int
    wall: float  # distance to the nearest wall, m


def random_house(seed: int, offset: tuple[float, float] = (0.0, 0.0)) -> Geometry:
    """Return two or three storeys of 20 m by 14 m with obstacles, and up to three stairs and ramps from each
    to the next, of 0.5 to 3 m; they stand askew, on whole metres, beside each other.
    """
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 4))
    room = shapely.box(OUTER, OUTER, WIDTH - OUTER, DEPTH - OUTER)
    wells: list[list[shapely.Polygon]] = [[] for _ in range(count)]
    connections = []
    for storey in range(count - 1):
        for number in range(int(rng.integers(1, 4))):
            for _ in range(50):
                stair, pad = _stair(rng, storey, number)
                before = wells[storey - 1] if storey else []
                if (
                    room.contains(pad)
                    and not any(pad.intersects(each) for each in wells[storey])
                    and all(pad.distance(each) >= 0.5 for each in before)
                ):
                    wells[storey].append(pad)
                    connections.append(stair)
                    break
    storeys = []
    for storey in range(count):
        free = shapely.union_all(wells[storey] + (wells[storey - 1] if storey else []))
        shapes = [_obstacle(rng) for _ in range(int(rng.integers(2, 14)))]
        storeys.append(
            {
                "name": f"f{storey}",
                "elevation": RISE * storey,
                "walkable": _moved(shapely.box(0, 0, WIDTH, DEPTH), offset),
                "obstacles": [
                    _moved(shape, offset)
                    for shape in shapes
                    if shape.area > 0.01 and shape.intersection(free).area < 1e-3
                ],
            }
        )
    for stair in connections:
        for end in ("foot", "head"):
            stair[end] = (np.array(stair[end]) + offset).tolist()
    document = {
        "version": 1,
        "name": "house",
        "tick": 0.1,
        "stop": {"after": 10},
        "geometry": {"storeys": storeys, "connections": connections},
        "groups": [],
    }
    return parse_scenario(json.dumps(document), file="house").geometry


def _stair(rng, storey, number):
    """Return a connection somewhere, and the ground that it needs."""
    width, length = float(rng.choice([0.5, 0.8, 1.2, 2.0, 3.0])), float(rng.uniform(3.5, 6.0))
    degrees = float(rng.choice([0, 0, 90, 180, 270, rng.uniform(0, 360)]))
    centre = rng.uniform((3, 3), (WIDTH - 3, DEPTH - 3))
    if rng.random() < 0.4:
        centre = np.round(centre)

    def turned(size):
        box = shapely.box(-size / 2.0, -width / 2.0, size / 2.0, width / 2.0)
        return affinity.translate(affinity.rotate(box, degrees, origin=(0, 0)), *centre)

    a, b, c, d = shapely.get_coordinates(turned(length))[:4].tolist()
    return {
        "name": f"s{storey}{number}",
        "kind": "stair" if rng.random() < 0.7 else "ramp",
        "lower": f"f{storey}",
        "upper": f"f{storey + 1}",
        "foot": [d, c],
        "head": [a, b],
    }, turned(length + 2.0)


def _obstacle(rng):
    """Return an irregular polygon, a turned box or a thin wall."""
    kind, x, y = rng.integers(3), rng.uniform(0, WIDTH), rng.uniform(0, DEPTH)
    if kind == 0:
        angle = np.sort(rng.uniform(0, 2 * np.pi, 5))
        return shapely.Polygon((x, y) + rng.uniform(0.3, 1.5) * np.c_[np.cos(angle), np.sin(angle)])
    across = rng.uniform(0.1, 3.0) if kind == 1 else 0.06
    box = shapely.box(0, 0, rng.uniform(0.5, 6.0), across)
    return affinity.translate(affinity.rotate(box, rng.choice([0.0, 90.0, rng.uniform(0, 180)])), x, y)


def _moved(shape, offset):
    return (shapely.get_coordinates(shape)[:-1] + offset).tolist()


def whole_mesh(house: Geometry, **parameters) -> NavMesh:
    """Return the mesh of a house in one piece."""
    floors = [floor.plan() for floor in house.floors]
    made = MeshParameters(**parameters)
    return build_floors(
        floors, joins_of(house.floors), parameters=made, wall_reach=REACH, clearance=house.clearance
    ).mesh


def tiled_mesh(house: Geometry, size: float, closed=(), **parameters) -> TiledMesh:
    """Return the mesh of a house in tiles."""
    made = MeshParameters(**parameters)
    return build_tiled_plates(
        plates_of(house, {}, made, closed),
        tile_numbers(house, size),
        parameters=made,
        wall_reach=REACH,
        clearance=house.clearance,
    )


def spots(house: Geometry, mesh: NavMesh, count: int, rng: np.random.Generator) -> list[Spot]:
    """Return places anywhere on the floors of a house, which this is the mesh of."""
    found: list[Spot] = []
    flood = make_flood(mesh.polygon_count)
    while len(found) < count:
        layer = int(rng.integers(len(house.floors)))
        bounds = house.floors[layer].ground.bounds
        x, y = rng.uniform(bounds[:2], bounds[2:]).tolist()
        polygon = locate(mesh, x, y, layer)
        if polygon >= 0:
            found.append(Spot(x, y, layer, wall_distance(mesh, polygon, x, y, 3.0, flood)))
    return found
