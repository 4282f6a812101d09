"""How far places are from walkers, and which are the best: held against naive twins."""

import numpy as np
import pytest

from crowdsim.bodies.places import TAKEN, measure_distances, rank_places
from tests.reference import places as twin


def measured(place, standing, reach, walking, axis=0):
    """What the kernel returns, of agents in any order, that are looked at along one axis."""
    place, standing, walking = (
        np.reshape(np.asarray(each, dtype=np.float64), (-1, 2)) for each in (place, standing, walking)
    )
    reach = np.asarray(reach, dtype=np.float64)
    stands, walks = (np.argsort(each[:, axis], kind="stable") for each in (standing, walking))
    distance = np.empty(len(place))
    measure_distances(
        0,
        len(place),
        place,
        axis,
        standing[stands, axis],
        standing[stands, 1 - axis],
        reach[stands],
        float(reach.max(initial=0.0)),
        walking[walks, axis],
        walking[walks, 1 - axis],
        distance,
    )
    return distance


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("seed", range(10))
def test_room_is_as_the_naive_twin_finds_it(seed, axis):
    random = np.random.default_rng(seed)
    place, standing, walking = (
        random.uniform(-5.0, 5.0, (count, 2))
        for count in (200, int(random.integers(0, 60)), int(random.integers(0, 60)))
    )
    if seed % 2:  # on a lattice many are equally far, in x too
        place, standing, walking = (np.round(each) for each in (place, standing, walking))
    reach = random.choice([0.0, 0.5, 1.0, 1.5], len(standing))
    assert measured(place, standing, reach, walking, axis).tolist() == twin.measure_distances(
        place, standing, reach, walking
    )


def test_a_place_at_the_very_reach_of_a_body_is_taken():
    assert measured([(0.3, 0.4), (0.3, 0.41)], [(0.0, 0.0)], [0.5], []).tolist() == [-1.0, np.inf]


def test_far_walkers_on_one_line_across_are_all_looked_at():
    walking = [(0.0, y) for y in np.linspace(5.0, -1.0, 50)]
    assert measured([(0.0, 0.0)], [], [], walking)[0] == pytest.approx(min(abs(y) for _, y in walking))


@pytest.mark.parametrize("seed", range(20))
def test_places_are_ranked_as_the_naive_twin_ranks_them(seed):
    random = np.random.default_rng(seed)
    size = int(random.integers(0, 120))
    place, distance = random.uniform(-5.0, 5.0, (size, 2)), random.uniform(0.0, 5.0, size)
    if seed % 2:  # many are equally near, and as far from walkers
        place, distance = np.round(place), np.round(distance)
    distance[random.random(size) < 0.3] = TAKEN
    distance[random.random(size) < 0.1] = np.inf
    for waited_for in (1, 2, 7, size // 2 + 1, size + 1):
        for count in (1, 4, size + 1):
            order = np.empty(count, dtype=np.int64)
            found = rank_places(
                place, distance, 0.5, -0.25, waited_for, np.empty(size), np.empty(size), order
            )
            assert order[:found].tolist() == twin.rank_places(
                place.tolist(), distance.tolist(), 0.5, -0.25, waited_for, count
            )
