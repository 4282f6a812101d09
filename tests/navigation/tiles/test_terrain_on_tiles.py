"""Terrain on tiles: each tile follows its borders, neighbours share whole edges,
gaps stay exact, and paths cost what they do on the mesh in one piece.
"""

import math

import numpy as np
import pytest
import shapely

from crowdsim.geometry.floor_plans import Terrain
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import MeshParameters, build_mesh
from crowdsim.navigation.mesh.mesh import KERB
from crowdsim.navigation.mesh.plates import level_ground
from crowdsim.navigation.search.a_star import STRAIGHT
from crowdsim.navigation.search.slot_fields import BEST_TOTAL, FOUND, UNREACHABLE
from crowdsim.navigation.tiles.make import build_tiles
from crowdsim.navigation.tiles.rebuild import TileRebuilder, differences
from crowdsim.navigation.tiles.tiled_mesh import TiledMesh
from crowdsim.saved import SavedError
from crowdsim.scenario.areas import ground_without
from tests.navigation.test_terrain import path_of, price_by_time, random_terrain
from tests.navigation.worlds import OnePlanner, free_points, located, outlines, random_ground, rooms
from tests.reference import search as search_twin

# A border is followed to a tenth of a millimetre.
OFF_BORDER_M = 2e-4


def tiled(ground, size, terrain, **parameters):
    """Return the tiled mesh of some ground with terrain."""
    return build_tiles(ground, size, terrain=terrain, parameters=MeshParameters(**parameters))[0]


@pytest.mark.sample(2)
@pytest.mark.parametrize("size, cell", [(1.3, 1.0), (4.0, 0.7), (4.0, 100.0)])
@pytest.mark.parametrize("seed", range(5))
def test_polygons_cover_the_ground_are_convex_share_whole_edges_and_lie_on_one_terrain(seed, size, cell):
    ground, terrain = random_ground(seed), random_terrain(seed)
    mesh = tiled(ground, size, terrain, terrain_cell=cell).mesh
    shapes = outlines(mesh)[:-1]
    assert sum(shape.area for shape in shapes) == pytest.approx(ground.area, abs=1e-4)
    for polygon, shape in enumerate(shapes):
        corners = shapely.get_coordinates(shape)
        along = np.diff(corners, axis=0)
        after = np.roll(along, -1, axis=0)
        assert (along[:, 0] * after[:, 1] - along[:, 1] * after[:, 0] > -1e-9).all()
        pace = mesh.polygon_pace[polygon]
        other = shapely.union_all([each.area for each in terrain if each.speed != pace[0]])
        if pace[0] == 1.0:
            other = shapely.union_all([each.area for each in terrain if each.speed != 1.0])
        assert pace[0] == pace[1]
        assert shapely.intersection(shape, other).area <= OFF_BORDER_M * max(shape.length, 0.1)
    loose = np.flatnonzero((mesh.edge_twin < 0) & (mesh.edge_polygon < len(shapes)))
    middle = 0.5 * (mesh.vertex[mesh.edge_vertex[loose], :2] + mesh.vertex[mesh.edge_end[loose], :2])
    assert shapely.distance(ground.boundary, shapely.points(middle)).max() < 1e-5
    assert (mesh.is_wall_vertex == KERB).any()


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_every_place_has_the_speed_that_the_naive_twin_reads_off_the_terrain(seed):
    ground, terrain = random_ground(seed), random_terrain(seed)
    mesh, whole = tiled(ground, 3.0, terrain).mesh, build_mesh(ground, terrain=terrain).mesh
    points, _ = free_points(ground, 0.0, 400, np.random.default_rng(seed))
    here, there = located(mesh, points), located(whole, points)
    for point, polygon, other in zip(points, here, there, strict=True):
        place = shapely.Point(point)
        if all(each.area.boundary.distance(place) > OFF_BORDER_M for each in terrain):
            speed = next((each.speed for each in terrain if each.area.contains(place)), 1.0)
            assert mesh.polygon_pace[polygon, 0] == whole.polygon_pace[other, 0] == speed


@pytest.mark.sample(1)
@pytest.mark.parametrize("make", [random_ground, rooms])
@pytest.mark.parametrize("size", [1.3, 4.0])
@pytest.mark.parametrize("seed", range(4))
def test_an_agent_has_a_path_on_tiles_with_terrain_exactly_if_it_has_one_on_plain_ground(seed, size, make):
    ground = make(seed)
    plain = OnePlanner(build_mesh(ground).mesh)
    cut = price_by_time(OnePlanner(tiled(ground, size, random_terrain(seed)).mesh))
    rng = np.random.default_rng(seed)
    outcomes = []
    for radius in (0.0, 0.1, 0.2, 0.35, 0.7):
        points, _ = free_points(ground, radius, 16, rng)
        for a, b in zip(points[::2], points[1::2], strict=False):
            found = [
                planner.search(a, cut_goals(planner.mesh, [GoalShape(shapely.Point(b), 0.05)]), radius)
                for planner in (plain, cut)
            ]
            assert found[0] == found[1], f"radius {radius}: from {a} to {b}"
            outcomes.append(found[0])
    assert len(outcomes) > 15


def test_paths_both_found_and_not_found_were_compared():
    """The comparison above would be worth nothing if every agent always fitted."""
    planner = OnePlanner(tiled(rooms(1), 4.0, random_terrain(1)).mesh)
    points, _ = free_points(rooms(1), 0.35, 30, np.random.default_rng(3))
    statuses = {
        planner.search(a, cut_goals(planner.mesh, [GoalShape(shapely.Point(b), 0.05)]), 0.35)
        for a, b in zip(points[::2], points[1::2], strict=True)
    }
    assert statuses == {FOUND, UNREACHABLE}


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", [0, 1, 2, 5])
def test_paths_over_tiles_cost_the_time_that_dijkstra_finds(seed):
    ground = random_ground(seed)
    planner = price_by_time(OnePlanner(tiled(ground, 4.0, random_terrain(seed), terrain_cell=2.0).mesh))
    rng = np.random.default_rng(seed)
    goals = cut_goals(planner.mesh, [GoalShape(shapely.box(4.3, 4.2, 7, 7))])
    found = 0
    for radius in (0.0, 0.2):
        starts, _ = free_points(ground, radius, 4, rng)
        asked, price = (planner.mesh, goals, 0, 2.0 * radius), search_twin.in_time
        costs = search_twin.costs_to_goal(*asked, price)
        for start, polygon in zip(starts, located(planner.mesh, starts), strict=True):
            expected = search_twin.least_total(*asked, *start.tolist(), polygon, price, costs)
            if planner.search(start, goals, radius) == FOUND:
                found += 1
                total = planner.slots.measure[0, BEST_TOTAL]
                is_straight = planner.slots.header[0, STRAIGHT] > 0
                assert total <= expected if is_straight else total == pytest.approx(expected, rel=1e-9)
            else:
                assert expected == math.inf
    assert found >= 3


@pytest.mark.sample(1)
@pytest.mark.parametrize("size", [2.0, 4.0, 7.3])
def test_paths_over_tiles_take_as_long_as_those_over_the_mesh_in_one_piece(size):
    ground = shapely.box(0, 0, 24, 12) - shapely.box(10, 5, 13, 6)
    road = shapely.Polygon([(0, 0), (24, 0), (24, 1.5), (13, 2.5), (0, 1.5)])
    terrain = [Terrain("road", road, 1.4), Terrain("grass", shapely.box(0, 1, 24, 12) - road, 0.6)]
    whole, tiles = build_mesh(ground, terrain=terrain).mesh, tiled(ground, size, terrain).mesh
    points, _ = free_points(ground, 0.3, 40, np.random.default_rng(4))
    ratios = np.array(
        [
            path_of(tiles, a, b, 0.2)[1] / path_of(whole, a, b, 0.2)[1]
            for a, b in zip(points[::2], points[1::2], strict=True)
        ]
    )
    assert ratios.mean() == pytest.approx(1.0, abs=0.02) and ratios.min() > 0.85 and ratios.max() < 1.15


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_rebuilt_tiles_are_those_that_are_made_at_once_and_few_are_made(seed):
    rng, terrain = np.random.default_rng(seed), random_terrain(seed)
    ground = random_ground(seed)
    tiles = tiled(ground, 2.0, terrain)
    rebuilder = TileRebuilder(tiles.numbers, MeshParameters())
    assert differences(tiles, rebuilder.tiles_of(level_ground(ground, terrain=terrain))) == ([], {})
    built = rebuilder.built_count
    left, _ = ground_without(ground, [shapely.box(*(low := rng.uniform(3, 8, 2)), *(low + 0.8))], None)
    wanted = rebuilder.tiles_of(level_ground(left, terrain=terrain))
    assert rebuilder.built_count - built < tiles.tile_count / 2
    fresh = TileRebuilder(tiles.numbers, MeshParameters()).tiles_of(level_ground(left, terrain=terrain))
    assert set(wanted) == set(fresh) and all(wanted[tile].same_as(fresh[tile]) for tile in wanted)


def test_a_save_has_the_speeds_and_one_without_them_is_refused():
    tiles = tiled(random_ground(0), 4.0, random_terrain(0))
    state = tiles.state(whole=True)
    assert np.array_equal(TiledMesh.from_state(state).mesh.polygon_pace, tiles.mesh.polygon_pace)
    for pace in (0.0, np.nan, 26.0):
        state["tiles.polygon_pace"][0] = pace
        with pytest.raises(SavedError, match=r"polygon_pace|no speeds"):
            TiledMesh.from_state(state)


def test_terrain_that_is_no_slower_or_quicker_changes_nothing_at_all():
    ground = random_ground(3)
    named = tiled(ground, 4.0, [Terrain("square", shapely.box(2, 2, 9, 9), 1.0)]).mesh
    assert all(np.array_equal(a, b) for a, b in zip(tiled(ground, 4.0, []).mesh, named, strict=True))
