"""Which places are free, and which are the best: held against naive twins."""

import numpy as np
import pytest

from crowdsim.bodies.nudge import find_blocked_lines
from crowdsim.bodies.places import (
    FAR_M,
    TAKEN,
    Far,
    FreePlaces,
    choose_places,
    find_free,
    in_strips,
    rank_places,
)
from crowdsim.navigation.mesh.build import build_mesh
from tests.navigation.worlds import free_points, located, rooms
from tests.reference import places as twin

FAR = 5.0


def in_two_parts(walking):
    """Return walkers as a list of rows in two parts: which rows, and the parts."""
    middle, rows = len(walking) // 3, np.arange(len(walking), dtype=np.int32)
    return rows[::-1].copy(), np.array([[0, middle], [middle, len(rows)]])


def near_of(walking, axis):
    return in_strips(axis, walking, *in_two_parts(walking))


def far_of(walking):
    return Far(*in_two_parts(walking), walking)


def are_free(place, standing, reach, axis=0):
    place, distance = np.asarray(place, dtype=np.float64), np.empty(len(place))
    stands = np.concatenate([np.reshape(standing, (-1, 2)).T, [reach]])
    find_free(place, axis, np.argsort(place[:, axis]), stands, distance)
    assert set(distance.tolist()) <= {TAKEN, np.inf}
    return (distance != TAKEN).tolist()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("seed", range(10))
def test_places_are_free_as_the_naive_twin_finds_it(seed, axis):
    random = np.random.default_rng(seed)
    place, standing = (random.uniform(-5.0, 5.0, (count, 2)) for count in (200, int(random.integers(0, 60))))
    if seed % 2:  # on a lattice many are equally far, in x too
        place, standing = np.round(place), np.round(standing)
    reach = random.choice([0.0, 0.5, 1.0, 1.5], len(standing))
    assert are_free(place, standing, reach, axis) == twin.find_free(place, standing, reach)


def test_a_place_at_the_very_reach_of_a_body_is_taken():
    assert are_free([(0.3, 0.4), (0.3, 0.41)], [(0.0, 0.0)], [0.5]) == [False, True]


@pytest.mark.parametrize("count", [0, 1, 9, 60, 4000])
@pytest.mark.parametrize("axis", [0, 1])
def test_walkers_are_sorted_into_strips(axis, count):
    walking = np.random.default_rng(count).normal(size=(count, 2)) * [9.0, 0.3]
    if count == 60:
        walking[:, axis] = 2.5  # all in one strip
    near = near_of(walking, axis)
    found = np.column_stack([near.along, near.across])
    assert sorted(found.tolist()) == sorted(walking[:, [axis, 1 - axis]].tolist())
    assert (near.start[0], near.start[-1]) == (0, count) and np.all(np.diff(near.start) >= 0)
    strips = len(near.start) - 1
    expected = twin.in_strips(walking, axis, near.low, near.width, strips)
    ours = [found[near.start[k] : near.start[k + 1]].tolist() for k in range(strips)]
    assert [sorted(map(tuple, each)) for each in ours] == [sorted(each) for each in expected]
    strip = np.repeat(np.arange(strips), np.diff(near.start))
    assert np.all(near.along >= near.low + strip * near.width - 1e-9)
    assert np.all(near.along <= near.low + (strip + 1) * near.width + 1e-9)


def test_the_nearest_walker_is_found_from_strips_of_all_widths():
    random = np.random.default_rng(5)
    place = random.uniform(-15.0, 15.0, (300, 2))  # some beyond the outermost strips
    for count in (1, 8, 50, 700):
        walking = random.uniform(-7.9, 7.9, (count, 2))  # none is far
        ranking = Ranking(place, [True] * 300, walking, axis=count % 2)
        for place_before in range(300):
            ranking.best(0.0, 0.0, 300, 1)
            off = np.hypot(*(place - walking[:, None]).transpose(2, 0, 1)).min(axis=0)
            known = ranking.is_known & (ranking.distance != TAKEN)
            assert np.allclose(ranking.distance[known], off[known], rtol=0.0, atol=1e-12)
            ranking.distance[place_before] = TAKEN
        assert ranking.is_known.sum() > 30


class Ranking:
    """Places that several agents take, one after the other, with what was found for those before."""

    def __init__(self, place, is_free, walking, axis=0):
        self.place = np.asarray(place, dtype=np.float64)
        walking = np.reshape(walking, (-1, 2))
        far = np.all(np.abs(walking) > FAR + FAR_M, axis=1)
        self.near, self.far = near_of(walking[~far], axis), far_of(walking[far])
        self.distance = np.where(is_free, np.inf, TAKEN)
        self.is_known = np.zeros(len(place), dtype=bool)

    def best(self, x, y, waited_for, count):
        scratch, order = np.empty((2, len(self.place))), np.empty(count, dtype=np.int64)
        found = rank_places(
            self.place, self.near, self.far, self.distance, self.is_known, x, y, waited_for, *scratch, order,
        )  # fmt: skip
        return order[:found].tolist()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("seed", range(10))
def test_places_are_ranked_as_the_naive_twin_ranks_them(seed, axis):
    random = np.random.default_rng(seed)
    size = int(random.integers(0, 120))
    spread = FAR if seed < 6 else 4.0 * FAR  # few walkers are near then
    place, walking = random.uniform(-FAR, FAR, (size, 2)), random.uniform(-spread, spread, (seed * 4, 2))
    if seed % 2:  # many are equally near, and as far from walkers
        place, walking = np.round(place), np.round(walking)
    is_free = random.random(size) < 0.7
    for waited_for in (1, 2, 7, size // 2 + 1, size + 1):
        for count in (1, 4, size + 1):
            ranking, still_free = Ranking(place, is_free, walking, axis), is_free.copy()
            for x, y in random.uniform(-FAR, FAR, (4, 2)):
                found = ranking.best(x, y, waited_for, count)
                assert found == twin.rank_places(place.tolist(), still_free, walking, x, y, waited_for, count)
                if found:
                    ranking.distance[found[0]], still_free[found[0]] = TAKEN, False
            off = np.array(twin.measure_distances(place, walking))
            known = ranking.is_known & still_free
            assert np.array_equal(ranking.distance[known], off[known])
            assert np.all(ranking.distance[still_free] >= off[still_free])


def test_of_places_near_walkers_only_so_much_is_found_that_others_are_better():
    place = [(float(x), 0.0) for x in range(100)]
    ranking = Ranking(place, [True] * 100, [(float(x), 1.0) for x in range(50, 100)])
    assert ranking.best(0.0, 0.0, 100, 1) == [0] and np.flatnonzero(ranking.is_known).tolist() == [0]


@pytest.mark.parametrize("seed", range(8))
def test_agents_choose_in_turn_among_the_places_that_they_get_to_straight(seed):
    """In rooms, so that most places are behind walls, and some agents get to none."""
    ground, random, radius = rooms(seed), np.random.default_rng(seed), 0.2
    mesh = build_mesh(ground).mesh
    points = np.array(free_points(ground, radius, 80, random)[0])
    agents, place = points[:20], points[20 : 30 + 5 * seed]
    walking, is_free = points[random.integers(0, 80, 6)], random.random(len(place)) < 0.8
    polygon, radii = located(mesh, points).astype(np.int64), np.full(80, radius)
    blocked = np.empty((20, len(place)), dtype=np.uint8)
    for row in range(20):
        start, here = np.full(len(place), row), np.arange(len(place))
        find_blocked_lines(
            0, len(place), here, mesh, polygon[start], points[start], place, radii[: len(place)], blocked[row]
        )
    free = FreePlaces(
        place, near_of(walking, 0), far_of(np.empty((0, 2))), np.where(is_free, np.inf, TAKEN),
        np.zeros(len(place), dtype=bool),
    )  # fmt: skip
    chosen, first, taken = np.empty(20, dtype=np.int64), 0, 0
    known = free.distance.copy()
    while first < 20:
        count = choose_places(
            np.arange(first, 20), free, 21 - first, False, mesh, polygon, points, radii, chosen[first:]
        )
        gets_to = blocked[first:] == 0
        expected = twin.choose_places(agents[first:], place.tolist(), is_free, walking, 21 - first, gets_to)
        assert chosen[first : first + count].tolist() == expected
        is_free[expected], taken = False, taken + len(expected)
        first += count
        if first < 20:  # it gets to none
            chosen[first] = -1
            first += 1
    assert np.array_equal(free.distance != TAKEN, is_free) and 0 < taken < 20
    again, all_at_once = free._replace(distance=known, is_known=np.zeros(len(place), bool)), np.empty(20, int)
    given = mesh, polygon, points, radii, all_at_once
    assert choose_places(np.arange(20), again, 21, True, *given) == 20
    assert np.array_equal(all_at_once, chosen)
