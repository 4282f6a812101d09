"""What a metre costs in sight of watchers: as shapes say, for any number of threads."""

import numpy as np
import pytest
import shapely

from crowdsim.kernels.threads import Team
from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.mesh.watchers import place_watchers
from crowdsim.navigation.visibility.exposure import prices_at
from crowdsim.navigation.visibility.weights import shunned_points
from tests.navigation.worlds import free_points, pillar_hall, rooms
from tests.reference import exposure as twin

NONE = np.zeros((0, 5))


@pytest.mark.parametrize("ground", [pillar_hall(3), rooms(2)], ids=["pillars", "rooms"])
def test_points_that_watchers_see_are_dearer_by_as_many_as_see_them(ground):
    mesh, rng = build_mesh(ground).mesh, np.random.default_rng(4)
    points, _ = free_points(ground, 0.1, 300, rng)
    stand, _ = free_points(ground, 0.1, 3, rng)
    watchers = place_watchers(mesh, [tuple(each) for each in stand])
    layer = np.zeros(len(points), dtype=np.int32)
    found = prices_at(mesh, points, layer, watchers, 7.0, NONE, Team())
    expected = [twin.price(ground, point, stand, 7.0) for point in points]
    np.testing.assert_array_equal(found, expected)
    assert len(set(expected)) > 1
    np.testing.assert_array_equal(prices_at(mesh, points, layer, watchers, 7.0, NONE, Team(2)), found)


def test_points_near_one_that_is_shunned_are_dearer_by_a_parabola():
    mesh = build_mesh(shapely.box(0, 0, 20, 20)).mesh
    points = np.array([[10.0, 10.0], [12.0, 10.0], [10.0, 14.0], [3.0, 3.0]])
    layer = np.zeros(4, dtype=np.int32)
    shunned = shunned_points(mesh, [(10.0, 10.0)], 4.0, 8.0)
    watchers = place_watchers(mesh, [])
    np.testing.assert_allclose(
        prices_at(mesh, points, layer, watchers, 0.0, shunned, Team()), [9.0, 1.0 + 8.0 * 0.75, 1.0, 1.0]
    )
