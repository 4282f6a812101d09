"""Points of visibility on real and awkward plans:
ways exist exactly where a body fits, at map coordinates too; size and time of large graphs.
"""

import time

import numpy as np
import pytest

from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.search.slot_fields import FOUND
from crowdsim.navigation.visibility.graph import build_graph
from tests.external.test_plans_as_meshes import PLANS, QUICK, ground_of
from tests.navigation.sights import Sights
from tests.navigation.worlds import UTM, free_points

LARGE = [name for name in PLANS if any(part in name for part in ("aknz", "SiB2023", "BUW", "missing"))]


def check_plan(name, offset, radii, pairs):
    """Hold what is found on a plan to the eroded ground; return how many ways were found."""
    ground = ground_of(name, offset)
    sights = Sights.on(ground)
    found = 0
    for radius in radii:
        points, part = free_points(ground, radius, 2 * pairs, np.random.default_rng(3))
        half = len(points) // 2
        if not half:
            continue
        ways = sights.paths(points[:half], points[half : 2 * half], radius)
        connected = part[:half] == part[half : 2 * half]
        assert np.array_equal(ways.status == FOUND, connected)
        assert ways.strings()[connected] == pytest.approx(ways.cost[connected], rel=1e-7)
        found += int(connected.sum())
    return found


@pytest.mark.sample(2)
@pytest.mark.parametrize("offset", [(0.0, 0.0), UTM], ids=["", "shifted"])
@pytest.mark.parametrize("name", QUICK)
def test_ways_on_a_plan_exist_exactly_where_a_body_fits(name, offset):
    assert check_plan(name, offset, (0.0, 0.15, 0.35), 5) > 4


@pytest.mark.full
@pytest.mark.parametrize("name", PLANS)
def test_ways_on_every_plan(name):
    check_plan(name, (0.0, 0.0), (0.0, 0.15, 0.35, 0.6), 30)


@pytest.mark.parametrize("name", LARGE)
def test_graphs_of_large_plans_are_built_in_seconds_and_megabytes(name):
    mesh = build_mesh(ground_of(name)).mesh
    build_graph(mesh)
    begun = time.perf_counter()
    _, size = build_graph(mesh)
    taken = time.perf_counter() - begun
    assert size.edges < 0.35 * size.tangents
    assert size.bytes < 200 << 20
    assert taken < 30.0
