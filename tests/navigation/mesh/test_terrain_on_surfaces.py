"""Terrain on a surface in space: faces are cut along its borders, and bodies pass where they did before."""

import numpy as np
import pytest
import shapely

from crowdsim.geometry.floor_plans import Terrain
from crowdsim.geometry.surface import Patch, patches_without
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.mesh.build import MeshParameters
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.mesh.surface_mesh import build_surface
from crowdsim.navigation.search.a_star import STRAIGHT
from crowdsim.navigation.search.slot_fields import BEST_TOTAL, FOUND, UNREACHABLE
from tests.geometry.test_closed_surface import hill, random_area
from tests.navigation.test_terrain import price_by_time, random_terrain
from tests.navigation.worlds import OnePlanner, free_points, located, outlines
from tests.reference import search as search_twin

OFF_BORDER_M = 2e-4  # A border is followed to a tenth of a millimetre.


def field(seed: int, walls: int = 4) -> list[Patch]:
    """A hill with holes."""
    patches, rng = hill(seed), np.random.default_rng(seed)
    whole = shapely.union_all([patch.ground for patch in patches])
    return patches_without(patches, [([0], random_area(whole, rng)) for _ in range(walls)])


def meshed(patches: list[Patch], terrain=(), **parameters) -> NavMesh:
    layers = np.zeros(1 + max(patch.sheet for patch in patches), dtype=np.int32)
    return build_surface(
        patches, layers, terrain=[terrain] if terrain else (), parameters=MeshParameters(**parameters)
    ).mesh


@pytest.mark.sample(2)
@pytest.mark.parametrize("cell", [0.7, 100.0])
@pytest.mark.parametrize("seed", range(6))
def test_polygons_cover_the_ground_are_convex_share_whole_edges_and_lie_on_one_terrain(seed, cell):
    patches, terrain = field(seed), random_terrain(seed)
    mesh = meshed(patches, terrain, terrain_cell=cell)
    ground = shapely.union_all([patch.ground for patch in patches], grid_size=1e-9)
    shapes = outlines(mesh)
    assert sum(shape.area for shape in shapes) == pytest.approx(ground.area, rel=1e-9)
    for polygon, shape in enumerate(shapes):
        along = np.diff(shapely.get_coordinates(shape), axis=0)
        after = np.roll(along, -1, axis=0)
        assert (along[:, 0] * after[:, 1] - along[:, 1] * after[:, 0] > -1e-9).all()
        pace = mesh.polygon_pace[polygon, 0]
        other = shapely.union_all(
            [each.area for each in terrain if each.speed != pace and (pace != 1.0 or each.speed != 1.0)]
        )
        assert shapely.intersection(shape, other).area <= OFF_BORDER_M * max(shape.length, 0.1)
    loose = np.flatnonzero(mesh.edge_twin < 0)
    middle = 0.5 * (mesh.vertex[mesh.edge_vertex[loose], :2] + mesh.vertex[mesh.edge_end[loose], :2])
    assert shapely.distance(ground.boundary, shapely.points(middle)).max() < 1e-6


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(12))
def test_an_agent_has_a_path_over_cut_faces_exactly_if_it_has_one_over_plain_ones(seed):
    patches = field(seed, walls=10)
    ground = shapely.union_all([patch.ground for patch in patches], grid_size=1e-9)
    plain, cut = (OnePlanner(meshed(patches, terrain)) for terrain in ((), random_terrain(seed)))
    price_by_time(cut)
    rng = np.random.default_rng(seed)
    for radius in (0.0, 0.1, 0.2, 0.35):
        points, _ = free_points(ground, radius, 16, rng)
        for a, b in zip(points[::2], points[1::2], strict=False):
            found = [
                planner.search(a, cut_goals(planner.mesh, [GoalShape(shapely.Point(b), 0.05)]), radius)
                for planner in (plain, cut)
            ]
            assert found[0] == found[1], f"radius {radius}: from {a} to {b}"


def test_paths_both_found_and_not_found_were_compared():
    patches = field(4, walls=10)
    ground = shapely.union_all([patch.ground for patch in patches], grid_size=1e-9)
    planner = OnePlanner(meshed(patches, random_terrain(4)))
    points, _ = free_points(ground, 0.2, 30, np.random.default_rng(3))
    assert {
        planner.search(a, cut_goals(planner.mesh, [GoalShape(shapely.Point(b), 0.05)]), 0.2)
        for a, b in zip(points[::2], points[1::2], strict=True)
    } == {FOUND, UNREACHABLE}


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_paths_cost_the_time_that_dijkstra_finds(seed):
    patches = field(seed)
    ground = shapely.union_all([patch.ground for patch in patches], grid_size=1e-9)
    planner = price_by_time(OnePlanner(meshed(patches, random_terrain(seed), terrain_cell=2.0)))
    goals = cut_goals(planner.mesh, [GoalShape(shapely.box(4.3, 4.2, 6, 6))])
    points, _ = free_points(ground, 0.2, 6, np.random.default_rng(seed))
    for start, polygon in zip(points, located(planner.mesh, points), strict=True):
        expected = search_twin.least_total(
            planner.mesh, goals, 0, 0.4, *start.tolist(), polygon, price=search_twin.in_time
        )
        if planner.search(start, goals, 0.2) == FOUND:
            total = planner.slots.measure[0, BEST_TOTAL]
            is_straight = planner.slots.header[0, STRAIGHT] > 0
            assert total <= expected if is_straight else total == pytest.approx(expected, rel=1e-7)
        else:
            assert expected == np.inf


def test_terrain_that_is_no_slower_or_quicker_changes_nothing_at_all():
    patches = field(2)
    square = [Terrain("square", shapely.box(2, 2, 6, 6), 1.0)]
    plain, named = meshed(patches), meshed(patches, square)
    assert all(np.array_equal(a, b) for a, b in zip(plain, named, strict=True))
