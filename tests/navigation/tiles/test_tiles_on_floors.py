"""Storeys and stairs in tiles: they cover the floors, join over the same seams as the mesh in one piece, and
answer as it does; what goes on one floor stays on all others.
"""

import numpy as np
import pytest
import shapely

from crowdsim.errors import NavigationError
from crowdsim.geometry.steps import at_once
from crowdsim.navigation.corridor.measure import measure_corridors
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import MeshParameters
from crowdsim.navigation.mesh.floors import plates_of_floors
from crowdsim.navigation.mesh.mesh import locate, make_flood, wall_distance
from crowdsim.navigation.planning.mesh_planner import MeshPlanner
from crowdsim.navigation.planning.portals import FoundCorridors
from crowdsim.navigation.planning.protocol import Asked
from crowdsim.navigation.search.slot_fields import FOUND
from crowdsim.navigation.tiles import handles
from crowdsim.navigation.tiles.bits import bits_of_plate
from crowdsim.navigation.tiles.make import build_tiled_plates
from crowdsim.navigation.tiles.numbers import TileNumbers, numbers_over
from crowdsim.navigation.tiles.plates import cut_plates
from crowdsim.navigation.tiles.rebuild import TileRebuilder, differences
from crowdsim.navigation.tiles.tiled_mesh import TiledMesh
from crowdsim.saved import SavedError
from crowdsim.setup.tiled_ground import plates_of, tile_numbers
from tests.navigation.floors import two_storeys
from tests.navigation.houses import random_house, spots, tiled_mesh, whole_mesh
from tests.navigation.worlds import UTM, OnePlanner

RADII = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.1)
SNAP_M = 1e-6  # Walls so near to a line of tiles end on it.
TIE_M = 1e-5
PARAMETERS = MeshParameters()


def house_of(seed):
    """Return a house; every third lies at map coordinates."""
    return random_house(seed, (0.0, 0.0) if seed % 3 else UTM)


def faces_of(seed):
    return "polygons" if seed % 2 else "triangles"


def areas_of(mesh, floors):
    """Return the area of the polygons of each floor."""
    found = np.zeros(floors)
    for polygon, (first, last) in enumerate(zip(mesh.polygon_start[:-1], mesh.polygon_start[1:])):
        corners = mesh.vertex[mesh.edge_vertex[first:last], :2]
        x, y = (corners - corners[0]).T
        found[mesh.polygon_layer[polygon]] += 0.5 * (x @ np.roll(y, -1) - y @ np.roll(x, -1))
    return found


def parts_of(mesh):
    """Return how many connected parts there are but for the polygon that stands for no ground."""
    return len(set(mesh.polygon_part[:-1].tolist()))


@pytest.mark.sample(2)
@pytest.mark.parametrize("size", [0.9, 4.0])
@pytest.mark.parametrize("seed", range(8))
def test_tiles_cover_each_floor_and_join_what_the_whole_mesh_joins(seed, size):
    house = house_of(seed)
    whole = whole_mesh(house, faces=faces_of(seed))
    tiles = tiled_mesh(house, size, faces=faces_of(seed))
    mesh = tiles.mesh
    areas = areas_of(mesh, len(house.floors))
    areas[0] -= 0.5  # of the polygon that stands for no ground
    for area, floor in zip(areas, house.floors, strict=True):
        assert area == pytest.approx(floor.ground.area, abs=2.0 * SNAP_M * floor.ground.length)
    assert parts_of(mesh) == len(set(whole.polygon_part.tolist()))
    is_open = (mesh.edge_twin < 0) & (mesh.edge_wall < 0)
    assert set(mesh.edge_polygon[is_open]) == {tiles.nowhere}  # everything else has a neighbour or a wall
    flood, other = make_flood(mesh.polygon_count), make_flood(whole.polygon_count)
    for x, y, layer, _ in spots(house, whole, 40, np.random.default_rng(seed)):
        here, there = locate(mesh, x, y, layer), locate(whole, x, y, layer)
        assert mesh.polygon_slope[here] == pytest.approx(whole.polygon_slope[there], abs=1e-8)
        assert wall_distance(mesh, here, x, y, 3.0, flood) == pytest.approx(
            wall_distance(whole, there, x, y, 3.0, other), abs=3e-6
        )


def check_reach(seed, sizes, count=12):
    """Assert that agents of any radius have a path on tiles exactly if they have one on the whole mesh;
    return how many had, and how many had not.
    """
    house, rng = house_of(seed), np.random.default_rng(seed)
    whole = OnePlanner(whole_mesh(house, faces=faces_of(seed)))
    places = spots(house, whole.mesh, 2 * count, rng)
    outcomes = [0, 0]

    def status(planner, a, b, radius):
        goals = cut_goals(planner.mesh, [GoalShape(shapely.Point(b.x, b.y), layer=b.layer)])
        return planner.search((a.x, a.y), goals, radius, polygon=locate(planner.mesh, a.x, a.y, a.layer))

    for size in sizes:
        tiled = OnePlanner(tiled_mesh(house, size, faces=faces_of(seed)).mesh)
        for a, b in zip(places[::2], places[1::2], strict=True):
            for radius in RADII:
                if min(a.wall, b.wall) < radius + 1e-4:
                    continue
                one, many = status(whole, a, b, radius), status(tiled, a, b, radius)
                if one != many:
                    assert status(whole, a, b, radius - TIE_M) != status(whole, a, b, radius + TIE_M), (
                        f"house {seed}, tiles of {size} m, radius {radius}: from {a} to {b}: {many}, not {one}"
                    )
                outcomes[one != FOUND] += 1
    return outcomes


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", [*range(3), 90, 95])
def test_a_path_exists_on_tiled_floors_exactly_if_it_does_on_the_whole_mesh(seed):
    found, not_found = check_reach(seed, (0.875, 4.0))
    assert found > 20


@pytest.mark.full
@pytest.mark.parametrize("seed", range(100, 160))
def test_thousands_of_paths_exist_on_tiled_floors_exactly_if_they_do_on_the_whole_mesh(seed):
    check_reach(seed, (0.875, 2.0, 4.0, 7.25, 16.0), 20)


def test_paths_both_found_and_not_found_were_compared():
    assert min(np.sum([check_reach(seed, (4.0,)) for seed in range(4, 7)], axis=0)) > 3


def corridors_between(mesh, pairs, radius, kind):
    """Return paths of agents, from each first spot to each second, and what was asked."""
    shapes = [GoalShape(shapely.Point(b.x, b.y), layer=b.layer) for _, b in pairs]
    goals = cut_goals(mesh, shapes)
    asked = Asked(
        mesh,
        goals,
        np.array([[a.x, a.y] for a, _ in pairs]),
        np.array([locate(mesh, a.x, a.y, a.layer) for a, _ in pairs]),
        np.arange(len(pairs), dtype=np.int32),
        np.full(len(pairs), radius),
    )
    return FoundCorridors(MeshPlanner(mesh, goals, kind=kind), asked), asked


@pytest.mark.sample(2)
# lines at these coordinates are numbers that plans have: no wall is moved onto them
@pytest.mark.parametrize("size", [0.875, 4.0, 7.25])
@pytest.mark.parametrize("seed", range(1, 5))
def test_optimal_paths_over_tiled_floors_are_as_long_as_on_the_whole_mesh(seed, size):
    house, rng = random_house(seed), np.random.default_rng(seed)
    whole = whole_mesh(house)
    places = spots(house, whole, 40, rng)
    lengths = []
    for mesh in (whole, tiled_mesh(house, size).mesh):
        found, asked = corridors_between(mesh, list(zip(places[::2], places[1::2])), 0.0, "optimal")
        out = np.empty(len(asked.goal))
        measure_corridors(
            mesh, asked.goals, found._portals, found._start, found._size, asked.polygon, found.piece,
            asked.position, asked.radius, out,
        )  # fmt: skip
        lengths.append(out)
    assert (
        np.array_equal(np.isfinite(lengths[0]), np.isfinite(lengths[1])) and np.isfinite(lengths[0]).sum() > 5
    )
    is_found = np.isfinite(lengths[0])
    assert lengths[1][is_found] == pytest.approx(lengths[0][is_found], rel=1e-9)


def walls_of(house):
    """Return the walls of each floor."""
    from crowdsim.scenario.geometry import joins_of

    found = []
    for layer, floor in enumerate(house.floors):
        lines = [
            shapely.LineString(join.line).buffer(2e-5)
            for join in joins_of(house.floors)
            if layer in join.floors
        ]
        found.append(floor.ground.boundary - shapely.union_all(lines))
    return found


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", ["mesh", "optimal"])
# houses in which strings met walls of other floors, or their parts were told apart wrongly
@pytest.mark.parametrize("seed, size", [(10, 2.0), (0, 0.9), (24, 0.9), (31, 0.9)])
def test_paths_over_tiled_floors_keep_clear_of_the_walls_of_the_floors_that_they_are_on(seed, size, kind):
    house, rng = random_house(seed), np.random.default_rng(seed)
    walls, whole = walls_of(house), whole_mesh(house)
    places = spots(house, whole, 40, rng)
    for radius in (0.2, 0.35):
        pairs = [(a, b) for a, b in zip(places[::2], places[1::2]) if min(a.wall, b.wall) > radius + 1e-3]
        lengths = []
        for mesh in (whole, tiled_mesh(house, size).mesh):
            found, _ = corridors_between(mesh, pairs, radius, kind)
            lengths.append(found.lengths())
            for _, layer, line in found.lines():
                # arcs are drawn as chords, which cut 2 % of the radius off
                assert shapely.LineString(line).distance(walls[layer]) > radius - 0.02 * radius - 2e-3
        is_found = np.isfinite(lengths[0])
        assert is_found.sum() > 1
        assert np.mean(lengths[1][is_found] / lengths[0][is_found]) == pytest.approx(1.0, abs=0.02)
