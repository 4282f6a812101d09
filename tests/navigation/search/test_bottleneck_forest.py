"""One forest says for every width where an agent can get to, as a flood over the portals does."""

import numpy as np
import pytest

from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.search.bottleneck_forest import build_forest, reachable_group
from tests.navigation.worlds import pillar_hall, random_ground, rooms
from tests.reference import bottleneck_forest as twin


@pytest.mark.parametrize(
    "make, seed", [(random_ground, 3), (random_ground, 12), (rooms, 2), (pillar_hall, 4)]
)
def test_two_portals_have_one_name_exactly_if_a_flood_gets_from_one_to_the_other(make, seed):
    mesh = build_mesh(make(seed)).mesh
    forest, portals = build_forest(mesh), np.flatnonzero(mesh.edge_twin >= 0)
    widths = np.unique(mesh.edge_width[portals][np.isfinite(mesh.edge_width[portals])])

    for width in [
        0.0,
        *widths[:: max(1, len(widths) // 6)],
        *np.nextafter(widths[:: max(1, len(widths) // 6)], np.inf),
    ]:
        fitting = portals[mesh.edge_width[portals] >= width]
        names = {int(edge): int(reachable_group.py_func(forest, edge, width)) for edge in fitting}
        left = set(names)
        while left:
            edge = min(left)
            together = twin.reached(mesh, edge, width)
            assert {names[other] for other in together} == {names[edge]}
            assert names[edge] not in {names[other] for other in set(names) - together}
            left -= together


def test_no_chain_is_longer_than_the_logarithm_of_the_portals():
    mesh = build_mesh(rooms(5)).mesh
    forest = build_forest(mesh)
    for edge in range(mesh.edge_count):
        steps = 0
        while forest.width[edge] >= 0.0:
            assert forest.width[forest.above[edge]] <= forest.width[edge]
            edge, steps = int(forest.above[edge]), steps + 1
        assert steps <= np.log2(mesh.edge_count)
