"""Meshes of real and awkward plans cover them exactly, near the origin and at map coordinates;
walking on them stays on them.
"""

import numpy as np
import pytest
import shapely
from shapely import affinity

from crowdsim.navigation.mesh.build import MeshParameters, build_mesh
from tests.external.data import DATA, need
from tests.navigation.corridor.test_walk import check_moves
from tests.navigation.mesh.test_mesh import check_cover
from tests.navigation.test_clearance import check_paths
from tests.navigation.worlds import UTM, free_points, located, outlines

PLANS = sorted(path.name for path in (DATA / "geometry").glob("*.wkt")) or ["missing"]
QUICK = [
    name
    for name in PLANS
    if any(part in name for part in ("BUW", "office", "triangular", "verwinkelt", "rotated", "missing"))
]


def ground_of(name, offset=(0.0, 0.0)):
    """Return a plan on a grid of a micrometre, as scenarios load it."""
    parts = shapely.get_parts(shapely.from_wkt(need("geometry", name).read_text()))
    ground = shapely.set_precision(
        shapely.union_all([part for each in parts for part in shapely.get_parts(each)]), 2.0**-20
    )
    return affinity.translate(ground, *offset)


@pytest.mark.sample(6)
@pytest.mark.parametrize("offset", [(0.0, 0.0), UTM], ids=["", "shifted"])
@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_covered_exactly(name, offset):
    ground = ground_of(name, offset)
    for cells, sides in (("polygons", 6), ("triangles", 3)):
        check_cover(ground, build_mesh(ground, parameters=MeshParameters(faces=cells)).mesh, sides)


@pytest.mark.sample(2)
@pytest.mark.parametrize("offset", [(0.0, 0.0), UTM], ids=["", "shifted"])
@pytest.mark.parametrize("name", QUICK)
def test_ways_on_a_plan_exist_exactly_where_a_body_fits(name, offset):
    assert check_paths(ground_of(name, offset), 1, "polygons", (0.0, 0.15, 0.35), pairs=5) > 4


@pytest.mark.sample(2)
@pytest.mark.parametrize("offset", [(0.0, 0.0), UTM], ids=["", "shifted"])
@pytest.mark.parametrize("name", QUICK)
def test_walking_on_a_plan_stays_on_it(name, offset):
    for radius in (0.0, 0.2):
        assert check_moves(ground_of(name, offset), 1, radius, 40, 10, 0.4) > 100


@pytest.mark.full
@pytest.mark.parametrize("offset", [(0.0, 0.0), UTM], ids=["", "shifted"])
@pytest.mark.parametrize("name", PLANS)
def test_ways_and_walks_on_every_plan(name, offset):
    ground = ground_of(name, offset)
    for cells in ("polygons", "triangles"):
        check_paths(ground, 1, cells, (0.0, 0.15, 0.35, 0.6), pairs=30)
    for radius in (0.0, 0.05, 0.2, 0.5):
        check_moves(ground, 1, radius, 200, 50, 0.4)


def test_points_of_a_large_plan_are_located_in_their_polygons():
    ground = ground_of(next((name for name in PLANS if "SiB2023" in name), "missing"))
    mesh = build_mesh(ground).mesh
    points, _ = free_points(ground, 0.0, 300, np.random.default_rng(0))
    polygons = outlines(mesh)
    assert all(polygons[p].distance(shapely.Point(x)) <= 1e-9 for x, p in zip(points, located(mesh, points)))
