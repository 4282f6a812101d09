"""An agent that has waited longer goes first:
which gives way to which follows from where all are and how long each has waited.
"""

import numpy as np
import pytest

from crowdsim.bodies.priority import count_waiting, find_right_of_way, make_room
from tests.reference import priority as naive


def crowd(seed, count=40):
    rng = np.random.default_rng(seed)
    return {
        "position": rng.uniform(0, 4, (count, 2)),
        "radius": rng.uniform(0.15, 0.3, count),
        "wanted": rng.normal(size=(count, 2)) * rng.integers(0, 2, (count, 1)),
        "part": rng.integers(0, 2, count).astype(np.int32),
        "waited": rng.integers(0, 60, count).astype(np.int32),
        "entity": rng.permutation(count).astype(np.int64),
        "walks": rng.uniform(size=count) < 0.8,
    }


@pytest.mark.parametrize("seed", range(20))
def test_the_right_of_way_is_that_of_the_twin(seed):
    made = crowd(seed)
    found = find_right_of_way(
        *(made[name] for name in ("position", "radius", "wanted", "part", "waited", "entity", "walks")),
        20,
        10,
        1.0,
    )
    agents = [{name: made[name][i] for name in made} for i in range(40)]
    assert found.tolist() == [naive.lets_through(i, agents, 20, 10, 1.0) for i in range(40)]
    assert seed > 0 or (found >= 0).sum() == 3


@pytest.mark.parametrize("seed", range(5))
def test_the_agent_that_has_waited_longest_gives_way_to_none_and_the_order_of_rows_does_not_matter(seed):
    made = crowd(seed)
    names = ("position", "radius", "wanted", "part", "waited", "entity", "walks")
    found = find_right_of_way(*(made[name] for name in names), 20, 10, 1.0)
    longest = np.flatnonzero(made["waited"] == made["waited"].max())
    assert (found[longest] == -1).all()
    order = np.random.default_rng(seed).permutation(40)
    other = find_right_of_way(*(made[name][order] for name in names), 20, 10, 1.0)
    assert np.where(other >= 0, order[other], -1).tolist() == found[order].tolist()


@pytest.mark.parametrize("seed", range(5))
def test_waiting_is_counted_as_by_the_twin(seed):
    made, rng = crowd(seed), np.random.default_rng(seed)
    velocity = rng.normal(size=(40, 2)) * 0.4
    found = count_waiting(made["wanted"], velocity, made["walks"], 1 / 3, made["waited"])
    expected = [
        naive.waited_after(made["wanted"][i], velocity[i], made["walks"][i], 1 / 3, int(made["waited"][i]))
        for i in range(40)
    ]
    assert found.tolist() == expected


def test_an_agent_that_makes_room_goes_back_and_to_the_side_on_which_it_is():
    position, wanted = (
        np.array([[0.0, 0.0], [0.5, 0.1], [0.6, -0.1]]),
        np.array([[1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]]),
    )
    found = make_room(position, wanted, np.full(3, 2.0), np.array([1, 2]), np.array([0, 0]))
    np.testing.assert_allclose(found, np.array([[1.0, 1.0], [1.0, -1.0]]) * np.sqrt(0.5))
