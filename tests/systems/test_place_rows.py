"""Which agents matter for the places of a region, beside masks, on columns of whatever they can hold."""

import numpy as np
import pytest

from crowdsim.bodies.places import TAKEN
from crowdsim.systems.goals.place_rows import (
    NOWHERE,
    OUT,
    STAYS,
    Box,
    Crowd,
    Ends,
    distances_of_free,
    joined,
    send_in,
    sorted_along,
    split_coming,
    survey_region,
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


def drawn(rng):
    """Return columns at random: places are on a grid, so that some are on rims."""
    return Crowd(
        rng.integers(0, max(AgentState) + 1, ROWS).astype(np.uint8),
        rng.integers(-1, FIXED + 3, ROWS).astype(np.int32),
        rng.integers(-1, LISTS, ROWS).astype(np.int32),
        rng.integers(0, 3, ROWS).astype(np.int32),
        rng.uniform(0.1, 0.4, ROWS),
        rng.integers(0, 12, (ROWS, 2)).astype(float),
        rng.integers(0, max(Stepping) + 1, ROWS).astype(np.uint8),
        rng.integers(0, 12, (ROWS, 2)).astype(float),
    )


@pytest.mark.parametrize("layers", [[1], [0, 2], []])
@pytest.mark.parametrize("region", [1, FIXED + 1])
def test_a_survey_finds_what_the_twins_find_one_after_the_other(rng, region, layers):
    agents, is_set = drawn(rng), region >= FIXED
    leads = np.zeros(0, dtype=bool) if is_set else np.array([False, True, True, False])
    last = np.zeros(0, dtype=bool) if is_set else np.array([True, False, True])
    known = rng.choice(np.array([0] * 8 + [STAYS, OUT], dtype=np.uint8), ROWS)
    box = Box(np.array([2.0, 3.0]), np.array([7.0, 9.0]), np.array(layers, dtype=np.int32), 1.0, 0.2)
    stays, found = known.copy(), np.full((5, ROWS), np.nan)
    listed = in_two(survey_region, agents, Ends(region, leads, last), box, stays, found)
    parts = np.array([each[3:] for each in listed])

    comes, expected = twin.find_visitors(
        agents.activity, agents.goal, agents.itinerary, leads, last, region
    )  # fmt: skip
    expected = expected | (known != 0)
    sums = *(sum(each) for each in zip(*(each[:2] for each in listed))), max(each[2] for each in listed)
    assert sums == twin.sum_stays(expected, agents.goal, agents.radius)
    assert np.array_equal(stays, np.where(expected, np.maximum(known, STAYS), 0))
    assert 0 < np.count_nonzero(comes) < ROWS and 0 < np.count_nonzero(expected) < ROWS

    near, far = twin.list_coming(comes, agents.activity, agents.position, box.low, box.high, box.margin)
    assert np.array_equal(joined(found[:2], parts, 0), near)
    assert sorted(zip(*joined(found[:2], parts, 2))) == sorted(zip(*far))
    assert min(near.shape[1], far.shape[1]) > 0 and near.shape[1] + far.shape[1] < ROWS
    for axis in (0, 1):
        ours, theirs = split_coming(found[:2], parts, axis), twin.split_coming(found[:2], parts, axis)
        assert np.array_equal(ours[0][0], theirs[0][0])
        assert all(sorted(zip(*a)) == sorted(zip(*b)) for a, b in zip(ours, theirs))

    stand = twin.list_standing(
        agents.activity, agents.layer, box.layers, agents.is_yielding, agents.yield_target, agents.position,
        agents.radius, known == OUT, box.low, box.high, box.own,
    )  # fmt: skip
    assert np.array_equal(joined(found[2:], parts, 4), stand)
    assert (stand.shape[1] > 0) == bool(layers) and stand.shape[1] < ROWS
    place = rng.uniform(-2.0, 14.0, (60, 2))
    for axis in (0, 1):
        distance = distances_of_free(place, axis, np.argsort(place[:, axis]), found[2:], parts, 0.2)
        assert np.array_equal(distance, twin.distances_of_free(place, found[2:], parts[:, 4:], 0.2))
    assert np.any(distance == np.inf) and np.any(distance == TAKEN) == bool(layers)


def test_nobody_stays_by_a_list_where_there_are_no_lists_and_nobody_stands_nowhere(rng):
    agents, none = drawn(rng), np.full(ROWS, -1, dtype=np.int32)
    agents = agents._replace(
        activity=np.full(ROWS, AgentState.WALKING, np.uint8), goal=np.zeros(ROWS, np.int32), itinerary=none
    )
    ends, stays = Ends(0, np.array([True]), np.zeros(0, dtype=bool)), np.zeros(ROWS, dtype=np.uint8)
    found = survey_region(0, ROWS, agents, ends, NOWHERE, stays, np.empty((5, ROWS)))
    assert found == (0, 0, 0.0, 0, 0, 0, ROWS, 0, 0)  # all come, and are far
    assert not stays.any()


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
