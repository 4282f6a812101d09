"""Which agents belong together, and where they stand at the beginning."""

import json

import numpy as np
import pytest

from crowdsim.scenario.distributions import Distribution
from crowdsim.scenario.load import parse_scenario
from crowdsim.setup.agents import resolve_agents
from crowdsim.setup.parties import Parties, gather, parties_of

CHOICE = Distribution("choice", 2.0, 4.0, 0.0, 0.0, (2.0, 3.0, 4.0), (6.0, 3.0, 1.0))


def scenario(**group):
    own = {"name": "g", "count": 60, "goals": "a", "together": {"size": 3}, **group}
    own = {key: value for key, value in own.items() if value is not None}
    return parse_scenario(
        json.dumps(
            {
                "version": 1,
                "seed": 4,
                "geometry": {"walkable": {"box": [0, 0, 30, 20]}},
                "goals": {"a": {"exit": {"box": [29, 0, 30, 20]}}, "b": {"exit": {"box": [0, 0, 1, 20]}}},
                "groups": [own],
            }
        ),
        file="t.yaml",
    )


def test_sizes_come_as_often_as_the_distribution_says():
    party = Parties("g", CHOICE, 1, 6_000, 0).of(np.arange(6_000, dtype=np.int32))
    size = np.bincount(np.bincount(party), minlength=5)[2:5]
    share = size / size.sum()
    assert np.abs(share - [0.6, 0.3, 0.1]).max() < 0.03


def test_parties_do_not_depend_on_what_was_asked_before():
    at_once = Parties("g", CHOICE, 1, 50, 7).of(np.arange(900, dtype=np.int32))
    one_by_one = Parties("g", CHOICE, 1, 50, 7)
    found = [int(one_by_one.of(np.array([index], dtype=np.int32))[0]) for index in range(900)]
    assert found == at_once.tolist()
    # the reserve belongs to none, and no party has agents of both before and behind it
    assert (at_once[50:57] == -1).all() and at_once[49] < at_once[57]
    assert sorted(set(at_once[at_once >= 0])) == list(range(at_once.max() + 1))


def test_the_first_of_a_party_is_its_lowest_index():
    parties = Parties("g", CHOICE, 2, 40, 3)
    index = np.arange(120, dtype=np.int32)
    party, first = parties.of(index), parties.first_of(index)
    for each in range(party.max() + 1):
        assert (first[party == each] == index[party == each].min()).all()
    assert (first[40:43] == index[40:43]).all()


def test_a_reserve_belongs_to_none_before_any_party_has_come():
    parties, index = Parties("g", CHOICE, 2, 0, 3), np.arange(3, dtype=np.int32)
    assert parties.of(index).tolist() == [-1, -1, -1]
    assert parties.first_of(index).tolist() == [0, 1, 2]


def widest(agents):
    return [
        np.hypot(*(agents.position[own] - agents.position[own].mean(axis=0)).T).max()
        for own in (agents.party == party for party in range(agents.party.max() + 1))
    ]


@pytest.mark.parametrize("size", [2, 5, 20])
def test_members_stand_next_to_each_other_at_the_beginning(size):
    agents = resolve_agents(scenario(together={"size": size}))
    assert max(widest(agents)) < 0.9 * (np.sqrt(size / np.pi) + 0.6) + 0.8
    apart = np.hypot(*(agents.position[:, None] - agents.position[None]).transpose(2, 0, 1))
    assert apart[~np.eye(60, dtype=bool)].min() > 0.4


def test_in_a_dense_crowd_members_get_the_nearest_places():
    dense = scenario(count=240, region={"box": [1, 1, 9, 9]}, radius={"uniform": {"low": 0.15, "high": 0.2}})
    agents = resolve_agents(dense)
    assert np.median(widest(agents)) < 0.75  # three of 3.75 to the square metre
    apart = np.hypot(*(agents.position[:, None] - agents.position[None]).transpose(2, 0, 1))
    touch = agents.radius[:, None] + agents.radius[None]
    assert (apart >= touch)[~np.eye(240, dtype=bool)].all()


def test_gathering_only_exchanges_places():
    rng = np.random.default_rng(1)
    places = rng.uniform(0, 10, (40, 2))
    party = np.repeat(np.arange(10), 4).astype(np.int32)
    found = gather(np.zeros(40, dtype=np.int32), party, np.ones(40, dtype=bool), places)
    assert sorted(map(tuple, found)) == sorted(map(tuple, places))


def test_a_party_sets_off_when_its_last_is_ready_and_draws_one_goal():
    own = scenario(premovement={"uniform": {"low": 0, "high": 30}}, goals=[{"shares": {"a": 1, "b": 1}}])
    agents = resolve_agents(own)
    alone = resolve_agents(
        scenario(
            premovement={"uniform": {"low": 0, "high": 30}},
            goals=[{"shares": {"a": 1, "b": 1}}],
            together={"size": 1},
        )
    )
    goals = set()
    for party in range(agents.party.max() + 1):
        rows = agents.party == party
        assert (agents.start_tick[rows] == alone.start_tick[rows].max()).all()
        assert len(set(agents.itinerary[rows])) == 1
        goals |= set(agents.itinerary[rows])
    assert len(goals) == 2


def test_given_positions_form_parties_in_their_order():
    own = scenario(count=None, positions=[[float(x), 3.0] for x in range(1, 8)])
    agents = resolve_agents(own)
    assert agents.party.tolist() == [0, 0, 0, 1, 1, 1, 2]
    assert parties_of(own, own.groups[0]).first_of(agents.index).tolist() == [0, 0, 0, 3, 3, 3, 6]
