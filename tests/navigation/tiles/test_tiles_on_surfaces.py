"""A surface in space in tiles: faces that a line of tiles cuts share whole edges with all others, steps and
turns of a spiral stay what they were, and only the tiles are made anew that a door touches.
"""

import numpy as np
import pytest
import shapely

from crowdsim.geometry.surface import Patch, patches_without, walkable_patches
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import MeshParameters
from crowdsim.navigation.mesh.mesh import height_at, locate, make_flood, wall_distance
from crowdsim.navigation.mesh.surface_mesh import build_surface, plates_of_surface
from crowdsim.navigation.search.slot_fields import FOUND
from crowdsim.navigation.tiles.make import build_tiled_plates
from crowdsim.navigation.tiles.numbers import numbers_over
from crowdsim.navigation.tiles.rebuild import TileRebuilder, differences
from tests.geometry.test_closed_surface import hill
from tests.geometry.test_surface import floor, soup_of
from tests.navigation.mesh.test_terrain_on_surfaces import field
from tests.navigation.test_terrain import random_terrain
from tests.navigation.tiles.test_tiles_on_floors import areas_of
from tests.navigation.worlds import OnePlanner, free_points, located

PARAMETERS = MeshParameters()
TIE_M = 1e-5


def layers_of(patches):
    return np.zeros(1 + max(patch.sheet for patch in patches), dtype=np.int32)


def numbers_of(patches, layers, size):
    """Return the numbers of the tiles of each floor."""
    grounds = [
        shapely.union_all([each.ground for each in patches if layers[each.sheet] == layer])
        for layer in range(int(layers.max()) + 1)
    ]
    return numbers_over(grounds, size)


def tiled(patches, size, layers=None, **more):
    """Return the mesh of patches in tiles, of one floor unless `layers` says more."""
    layers = layers_of(patches) if layers is None else layers
    return build_tiled_plates(
        plates_of_surface(patches, layers, **more),
        numbers_of(patches, layers, size),
        parameters=PARAMETERS,
        wall_reach=5.0,
    )


def decks():
    """Return two decks of slanted halves, a ramp, and a stair with treads of 0.35 m by 0.2 m."""
    polygons = [
        [(0, 0, 0), (12, 0, 0), (12, 14, 0.5), (0, 14, 0.5)],
        floor(20, 0, 30, 14, 3.0),
        [(12, 4, 1 / 7), (20, 4, 3.0), (20, 6, 3.0), (12, 6, 3 / 14)],
        floor(6, 9, 20, 13, 3.0),
    ]
    polygons += [floor(6 - 0.35 * (k + 1), 9, 6 - 0.35 * k, 11, 3.0 - 0.2 * (k + 1)) for k in range(14)]
    return walkable_patches(soup_of(*polygons))


def spiral():
    """Return two turns of a square spiral, the second exactly above the first."""
    corners = [((0, 0), (4, 0)), ((4, 0), (4, 4)), ((4, 4), (0, 4)), ((0, 4), (0, 0))]
    outer = {(0, 0): (-2, -2), (4, 0): (6, -2), (4, 4): (6, 6), (0, 4): (-2, 6)}
    polygons, z = [], 0.0
    for _ in range(2):
        for a, b in corners:
            top = z + 0.75
            polygons += [[(*a, z), (*outer[a], z), (*outer[b], top)], [(*a, z), (*outer[b], top), (*b, top)]]
            z = top
    return walkable_patches(soup_of(*polygons))


def each_sheet(patches):
    return np.arange(max(patch.sheet for patch in patches) + 1, dtype=np.int32)


WORLDS = {
    "hill": (lambda: hill(1), layers_of),
    "field": (lambda: field(3, walls=8), layers_of),
    "decks": (decks, each_sheet),
    "spiral": (spiral, each_sheet),
}


@pytest.mark.parametrize("size", [1.5, 4.0, 50.0])
@pytest.mark.parametrize("world", WORLDS)
def test_tiles_cover_a_surface_and_join_what_the_whole_mesh_joins_at_the_same_heights(world, size):
    make, floors = WORLDS[world]
    patches = make()
    layers = floors(patches)
    whole, tiles = build_surface(patches, layers).mesh, tiled(patches, size, layers)
    mesh = tiles.mesh
    areas = areas_of(mesh, int(layers.max()) + 1)
    areas[0] -= 0.5  # of the polygon that stands for no ground
    assert areas == pytest.approx(areas_of(whole, len(areas)), abs=1e-4)
    assert len(set(mesh.polygon_part[:-1].tolist())) == len(set(whole.polygon_part.tolist()))
    is_open = (mesh.edge_twin < 0) & (mesh.edge_wall < 0)
    assert set(mesh.edge_polygon[is_open]) == {tiles.nowhere}
    rng, floods = np.random.default_rng(1), [make_flood(each.polygon_count) for each in (whole, mesh)]
    for polygon in rng.integers(0, whole.polygon_count, 60).tolist():
        corners = whole.vertex[
            whole.edge_vertex[whole.polygon_start[polygon] : whole.polygon_start[polygon + 1]]
        ]
        x, y, _ = rng.dirichlet(np.ones(len(corners))) @ corners
        other = locate(mesh, x, y, whole.polygon_layer[polygon])
        assert height_at(mesh, other, x, y) == pytest.approx(height_at(whole, polygon, x, y), abs=1e-6)
        assert mesh.polygon_slope[other] == pytest.approx(whole.polygon_slope[polygon], abs=1e-9)
        assert wall_distance(mesh, other, x, y, 3.0, floods[1]) == pytest.approx(
            wall_distance(whole, polygon, x, y, 3.0, floods[0]), abs=3e-6
        )


def test_a_step_is_a_step_where_a_line_of_tiles_cuts_it():
    """The treads of the stair are joined over rises of 0.2 m: the one above a portal has another height."""
    patches = decks()
    mesh = tiled(patches, 0.5, each_sheet(patches)).mesh
    portal = np.flatnonzero(mesh.edge_twin >= 0)
    one, other = mesh.edge_polygon[portal], mesh.edge_polygon[mesh.edge_twin[portal]]
    rise = np.abs(mesh.polygon_height[one] - mesh.polygon_height[other])
    level = (mesh.polygon_slope[one] == 0.0).all(axis=1) & (mesh.polygon_slope[other] == 0.0).all(axis=1)
    steps = level & (rise > 1e-6)
    assert rise[steps] == pytest.approx(0.2) and steps.sum() > 2 * 14 * 3


@pytest.mark.sample(2)
@pytest.mark.parametrize("size", [1.3, 3.0])
@pytest.mark.parametrize("seed", range(6))
def test_a_path_exists_on_a_tiled_surface_exactly_if_it_does_on_the_whole_mesh(seed, size):
    patches = field(seed, walls=10)
    ground = shapely.union_all([patch.ground for patch in patches], grid_size=1e-9)
    one = OnePlanner(build_surface(patches, layers_of(patches)).mesh)
    many, rng = OnePlanner(tiled(patches, size).mesh), np.random.default_rng(seed)
    outcomes = []
    for radius in (0.0, 0.1, 0.2, 0.35):
        points, _ = free_points(ground, radius, 16, rng)
        for a, b in zip(points[::2], points[1::2], strict=False):
            found = [
                planner.search(a, cut_goals(planner.mesh, [GoalShape(shapely.Point(b), 0.05)]), radius)
                for planner in (one, many)
            ]
            assert found[0] == found[1], f"radius {radius}: from {a} to {b}"
            outcomes.append(found[0])
    assert FOUND in outcomes


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_terrain_on_a_tiled_surface_has_its_speeds_and_every_edge_a_neighbour_or_a_wall(seed):
    patches, terrain = field(seed), random_terrain(seed)
    layers = layers_of(patches)
    whole = build_surface(patches, layers, terrain=[terrain]).mesh
    tiles = tiled(patches, 2.0, terrain=[terrain])
    mesh = tiles.mesh
    is_open = (mesh.edge_twin < 0) & (mesh.edge_wall < 0)
    assert set(mesh.edge_polygon[is_open]) == {tiles.nowhere}
    ground = shapely.union_all([patch.ground for patch in patches], grid_size=1e-9)
    points, _ = free_points(ground, 0.0, 300, np.random.default_rng(seed))
    for place, here, there in zip(points, located(mesh, points), located(whole, points), strict=True):
        if all(each.area.boundary.distance(shapely.Point(place)) > 2e-4 for each in terrain):
            assert np.array_equal(mesh.polygon_pace[here], whole.polygon_pace[there])


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_a_door_on_a_slope_makes_only_tiles_near_it_anew_and_what_comes_out_is_the_ground_cut_at_once(seed):
    patches, rng = hill(seed), np.random.default_rng(seed)
    layers = layers_of(patches)
    tiles = tiled(patches, 2.0)
    rebuilder = TileRebuilder(tiles.numbers, PARAMETERS)
    assert differences(tiles, rebuilder.tiles_of(plates_of_surface(patches, layers))) == ([], {})
    for _ in range(3):
        x, y = rng.uniform((2, 2), (6, 6))
        door = shapely.box(x, y, x + 0.7, y + 0.5)
        left = patches_without(patches, [([0], door)])
        built = rebuilder.built_count
        wanted = rebuilder.tiles_of(plates_of_surface(left, layers))
        assert 0 < rebuilder.built_count - built <= 12  # of some 20: faces reach into the next tiles
        once = build_tiled_plates(
            plates_of_surface(left, layers), tiles.numbers, parameters=PARAMETERS, wall_reach=5.0
        )
        assert sorted(wanted) == once.tiles()
        assert all(wanted[tile].same_as(once.content(tile)) for tile in wanted)
        gone, come = differences(tiles, wanted)
        tiles.change(remove=gone, add=come)
        assert len(set(tiles.mesh.polygon_part[:-1].tolist())) == len(
            set(once.mesh.polygon_part[:-1].tolist())
        )
        gone, come = differences(tiles, rebuilder.tiles_of(plates_of_surface(patches, layers)))
        tiles.change(remove=gone, add=come)


def test_one_face_in_many_tiles_is_one_plane():
    patch = Patch(shapely.box(0, 0, 10, 10), hill(1)[0].plane, 0)
    other = Patch(shapely.box(20, 0, 21, 1), hill(1)[0].plane, 1)
    tiles = tiled([patch, other], 2.0)
    content = [tiles.content(tile) for tile in tiles.tiles()]
    assert len(content) == 26 and len(tiles.walls.start) == 8
    for each in content:
        assert np.array_equal(each.polygon_slope, np.repeat([patch.plane.slope], each.polygon_count, axis=0))
