"""The kernels of what agents do, beside their naive twins."""

import numpy as np
import pytest
import shapely

from crowdsim.navigation.mesh.mesh import locate_many, make_flood, see_many
from crowdsim.scenario.load import as_scenario
from crowdsim.setup.build import build_world
from crowdsim.systems.behaviour.draws import keys_of_draws, shares_drawn
from crowdsim.systems.behaviour.hiding import Spots, find_ground, see_places
from tests.reference import behaviour as naive
from tests.scenes.behaviour import hall

GROUND = shapely.box(0, 0, 30, 20) - shapely.union_all(
    [shapely.box(10, 4, 11, 12), shapely.box(18, 0, 19, 6), shapely.box(18, 10, 19, 20)]
)


@pytest.fixture(scope="module")
def mesh():
    return build_world(as_scenario(hall({}, []))).world.mesh


def test_keys_and_shares_are_those_of_the_twins():
    rng = np.random.default_rng(5)
    keys = rng.integers(0, 2**63, 200, dtype=np.uint64)
    draws = rng.integers(0, 50, 200).astype(np.int32)
    found, shares = np.empty(200, dtype=np.uint64), np.empty(200)
    keys_of_draws(12, keys, draws, found)
    assert found.tolist() == naive.keys_of_draws(12, keys.tolist(), draws.tolist())
    shares_drawn(7, 12, found, shares)
    assert shares.tolist() == naive.shares_drawn(7, 12, found.tolist())
    assert len(set(found.tolist())) == 200 and 0.0 < shares.min() < 0.1 and 0.9 < shares.max() < 1.0


def test_ground_with_room_is_that_of_the_twin(mesh):
    rng = np.random.default_rng(6)
    place = rng.uniform((-1, -1), (31, 21), (600, 2))
    polygon = np.empty(600, dtype=np.int64)
    find_ground(mesh, place, np.zeros(600, np.int32), 0.35, make_flood(mesh.polygon_count), polygon)
    wanted = naive.find_ground(GROUND, place, 0.35)
    assert (polygon >= 0).tolist() == wanted and 200 < sum(wanted) < 600


def test_what_is_seen_is_that_of_the_twin(mesh):
    rng = np.random.default_rng(7)
    place = rng.uniform((0.2, 0.2), (29.8, 19.8), (90, 2))
    place = place[shapely.intersects_xy(GROUND, *place.T)]
    polygon, layer = np.empty(len(place), dtype=np.int64), np.zeros(len(place), dtype=np.int32)
    locate_many(0, len(place), mesh, place, layer, polygon)
    seen = np.zeros((len(place), len(place)), dtype=np.uint8)
    see_places(mesh, polygon, place, place, layer, seen)
    wanted = naive.see_places(GROUND, place, place)
    assert seen.astype(bool).tolist() == wanted
    rows = rng.permutation(len(place))[:40]
    pairs = np.zeros(40, dtype=np.bool_)
    see_many(rows, mesh, polygon, place, place[:40].copy(), layer[:40], pairs)
    assert pairs.tolist() == naive.see_many(GROUND, place[rows], place[:40])
    assert np.array_equal(seen, seen.T) and 0.2 < seen.mean() < 0.9


def test_places_to_hide_have_room_and_lie_round_each_corner_of_the_walls(mesh):
    spots = Spots(mesh, 0.25)
    assert all(naive.find_ground(GROUND, spots.place, 0.25))
    for corner in ((10, 4), (11, 4), (10, 12), (11, 12), (18, 6), (19, 6), (18, 10), (19, 10)):
        assert np.hypot(*(spots.place - corner).T).min() < 0.6
