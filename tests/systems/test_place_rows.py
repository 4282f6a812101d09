"""Which agents matter for the places of a region, beside masks, on columns of whatever they can hold."""

import numpy as np
import pytest

from crowdsim.bodies.places import TAKEN
from crowdsim.systems.goals.place_rows import (
    distances_of_free,
    find_visitors,
    joined,
    list_coming,
    list_standing,
    send_in,
    sorted_along,
    split_coming,
)
from crowdsim.world.columns import AgentState, Stepping
from tests.reference import places as twin

ROWS, FIXED, LISTS = 2000, 4, 3


def in_two(kernel, *arguments):
    """Return what a kernel does with the rows in two ranges."""
    return [kernel(0, ROWS // 3, *arguments), kernel(ROWS // 3, ROWS, *arguments)]


@pytest.fixture(params=range(3))
def rng(request):
    return np.random.default_rng(request.param)


def activities(rng):
    return rng.integers(0, max(AgentState) + 1, ROWS).astype(np.uint8)


@pytest.mark.parametrize("region", [1, FIXED + 1])
def test_which_come_to_a_region_and_which_stay(rng, region):
    activity, goal = activities(rng), rng.integers(-1, FIXED + 3, ROWS).astype(np.int32)
    itinerary = rng.integers(-1, LISTS, ROWS).astype(np.int32)
    is_set = region >= FIXED
    leads = np.zeros(0, dtype=bool) if is_set else np.array([False, True, True, False])
    last = np.zeros(0, dtype=bool) if is_set else np.array([True, False, True])
    comes, stays = np.empty(ROWS, dtype=bool), rng.uniform(size=ROWS) < 0.1
    expected_comes, expected_stays = twin.find_visitors(activity, goal, itinerary, leads, last, region)
    expected_stays = expected_stays | stays
    radius = rng.uniform(0.1, 0.4, ROWS)
    sums = in_two(find_visitors, activity, goal, itinerary, radius, leads, last, region, comes, stays)
    sums = *(sum(each) for each in zip(*(each[:2] for each in sums))), max(each[2] for each in sums)
    assert sums == twin.sum_stays(expected_stays, goal, radius)
    assert np.array_equal(comes, expected_comes) and np.array_equal(stays, expected_stays)
    assert 0 < np.count_nonzero(comes) < ROWS and 0 < np.count_nonzero(stays) < ROWS


def test_nobody_stays_by_a_list_where_there_are_no_lists():
    goal, none = np.zeros(5, dtype=np.int32), np.full(5, -1, dtype=np.int32)
    comes, stays = np.empty(5, dtype=bool), np.zeros(5, dtype=bool)
    walking = np.full(5, AgentState.WALKING, dtype=np.uint8)
    sums = find_visitors(
        0, 5, walking, goal, none, np.ones(5), np.array([True]), np.zeros(0, dtype=bool), 0, comes, stays
    )
    assert sums == (0, 0, 0.0) and comes.all() and not stays.any()


def test_where_those_are_that_come_or_walk_in_the_box(rng):
    comes, activity = rng.uniform(size=ROWS) < 0.2, activities(rng)
    position = rng.integers(0, 12, (ROWS, 2)).astype(float)
    low, high, found = np.array([2.0, 3.0]), np.array([7.0, 9.0]), np.empty((2, ROWS))
    listed = in_two(list_coming, comes, activity, position, low, high, 1.0, found)
    parts, expected = np.array(listed), twin.list_coming(comes, activity, position, low, high, 1.0)
    assert np.array_equal(joined(found, parts, 0), expected[0])
    assert sorted(zip(*joined(found, parts, 2))) == sorted(zip(*expected[1]))
    for axis in (0, 1):
        ours, theirs = split_coming(found, parts, axis), twin.split_coming(found, parts, axis)
        assert np.array_equal(ours[0][0], theirs[0][0])
        assert all(sorted(zip(*a)) == sorted(zip(*b)) for a, b in zip(ours, theirs))
    assert min(expected[0].shape[1], expected[1].shape[1]) > 0
    assert expected[0].shape[1] + expected[1].shape[1] < ROWS


@pytest.mark.parametrize("layers", [[1], [0, 2], []])
def test_where_those_stand_that_take_places(rng, layers):
    given = (
        activities(rng),
        rng.integers(0, 3, ROWS).astype(np.int32),
        np.array(layers, dtype=np.int32),
        rng.integers(0, max(Stepping) + 1, ROWS).astype(np.uint8),
        rng.normal(size=(ROWS, 2)),
        rng.normal(size=(ROWS, 2)),
        rng.uniform(0.1, 0.4, ROWS),
        rng.uniform(size=ROWS) < 0.3,
        np.array([-0.5, -1.0]),
        np.array([1.0, 0.5]),
        0.2,
    )
    found = np.empty((3, ROWS))
    expected = twin.list_standing(*given)
    parts = np.array(in_two(list_standing, *given, found))
    assert np.array_equal(joined(found, parts, 0), expected)
    assert (expected.shape[1] > 0) == bool(layers) and expected.shape[1] < ROWS
    place = rng.uniform(-6.0, 6.0, (60, 2))
    for axis in (0, 1):
        distance = distances_of_free(place, axis, np.argsort(place[:, axis]), found, parts, 0.2)
        assert np.array_equal(distance, twin.distances_of_free(place, found, parts, 0.2))
    assert np.any(distance == np.inf) and np.any(distance == TAKEN) == bool(layers)


@pytest.mark.parametrize("axis", [0, 1])
def test_agents_are_sorted_along_an_axis_with_all_that_is_known_of_them(rng, axis):
    found = rng.uniform(0.0, 9.0, (3, 12))
    assert np.array_equal(sorted_along(axis, found), twin.sorted_along(axis, found))
    assert sorted_along(axis, found[:2, :0].copy()).shape == (2, 0)


def test_agents_go_to_their_places_for_as_long_as_they_need_at_half_of_their_speed_and_a_while(rng):
    place, position, speed = rng.normal(size=(9, 2)), rng.normal(size=(20, 2)), rng.uniform(0.0, 2.0, 20)
    speed[3], rows, chosen = 0.0, np.array([3, 4, 11, 19]), np.array([8, 0, 5, 2])
    is_yielding, target, until = np.zeros(20, np.uint8), np.zeros((20, 2)), np.zeros(20, np.int64)
    send_in(rows, chosen, place, position, speed, 5.0, 100, 0.05, is_yielding, target, until)
    assert (
        np.flatnonzero(is_yielding == Stepping.IN).tolist()
        == rows.tolist()
        == is_yielding.nonzero()[0].tolist()
    )
    assert np.array_equal(target[rows], place[chosen])
    expected = [
        100 + twin.ticks_to(place[at], position[row], speed[row], 5.0, 0.05) for row, at in zip(rows, chosen)
    ]
    assert until[rows].tolist() == expected and np.count_nonzero(until) == len(rows)
