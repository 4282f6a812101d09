"""Where agents come to when triangles come or go under them."""

import numpy as np
import pytest

from crowdsim.errors import NavigationError
from crowdsim.geometry.steps import at_once
from crowdsim.navigation.mesh.surface_mesh import build_surface
from crowdsim.navigation.soup.fill import SeedRefused, fill, fill_steps
from crowdsim.navigation.soup.ground import floors_of, patches_of
from crowdsim.navigation.soup.landing import land
from crowdsim.navigation.soup.sectors import gather
from tests.navigation.soup.scenes import RULES, block, floor, random_world
from tests.reference.fill import land as naive


@pytest.mark.parametrize("seed", range(6))
def test_it_is_that_of_the_naive_twin(seed):
    corners = np.concatenate([random_world(seed), floor(0, 0, 6, 6, 3.0), floor(1, 1, 3, 3, 5.5)])
    seeds = [(0.2, 0.2, 0.0), (0.2, 0.2, 3.0), (2.0, 2.0, 5.5)]
    cells = at_once(fill_steps(corners, np.ones(len(corners), np.uint8), seeds, RULES, is_lenient=True))
    graph = gather(cells)
    mesh = build_surface(patches_of(graph), floors_of(graph, 1.8), step=graph.step).mesh
    rng = np.random.default_rng(seed)
    place, height = rng.uniform(-1, 7, (60, 2)), rng.uniform(-1, 7, 60)
    left = corners[rng.random(len(corners)) < 0.7]
    out, fallen = np.empty(60, dtype=np.int64), np.empty(60)
    land(mesh, left, place, height, out, fallen)
    for row in range(60):
        polygon, deep = naive(mesh, left, place[row], height[row])
        assert (out[row], fallen[row]) == (polygon, pytest.approx(deep, abs=1e-9))


def test_seeds_without_room_are_left_out_where_that_is_asked_for():
    corners = np.concatenate([floor(0, 0, 4, 4), block(2.3, 0, -0.1, 2.7, 4, 3)])
    surfaces, seeds = np.ones(len(corners), np.uint8), [(2.3, 1, 0), (1, 1, 0)]
    with pytest.raises(SeedRefused):
        fill(corners, surfaces, seeds, RULES)
    some = at_once(fill_steps(corners, surfaces, seeds, RULES, is_lenient=True))
    assert len(some) == len(fill(corners, surfaces, seeds[1:], RULES)) == 9 * 16
    with pytest.raises(NavigationError, match="at any of the seeds"):
        at_once(fill_steps(corners, surfaces, seeds[:1], RULES, is_lenient=True))
