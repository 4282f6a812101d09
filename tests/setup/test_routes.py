"""Routes over walks and rides beside their slow twin."""

import numpy as np
import pytest

from crowdsim.setup.routes import Legs, quickest
from tests.reference.routes import quickest as tried


@pytest.mark.parametrize("seed", range(6))
def test_routes_agree_with_those_that_are_found_by_trying_all(seed):
    chance = np.random.default_rng(seed)
    count, agents = 4, 5
    between = np.where(
        chance.random((2, count, count)) < 0.3, np.inf, chance.uniform(1, 20, (2, count, count))
    )
    to_goal = np.where(chance.random((agents, count)) < 0.4, np.inf, chance.uniform(1, 30, (agents, count)))
    walk = np.where(chance.random(agents) < 0.5, np.inf, chance.uniform(20, 60, agents))
    legs = Legs(
        walk, chance.uniform(1, 20, (agents, count)), to_goal, between, chance.integers(0, 2, agents),
        chance.uniform(0.5, 2, agents),
    )  # fmt: skip
    begin, end = np.array([0, 1, 2, 3, 0]), np.array([1, 0, 3, 2, 3])
    cost = chance.uniform(1, 30, (agents, 5))
    cost[chance.random((agents, 5)) < 0.3] = np.inf
    found = quickest(legs, begin, end, cost)
    for row in range(agents):
        rides = [(int(a), int(b), float(c)) for a, b, c in zip(begin, end, cost[row], strict=True)]
        gaps = between[legs.size[row]] / legs.speed[row]
        seconds, gate = tried(walk[row], legs.to_gate[row], to_goal[row], gaps, rides, 4)
        assert found.seconds[row] == pytest.approx(seconds) and found.gate[row] == gate
        assert (found.gate_out[row] >= 0) == (gate >= 0)


def test_agents_choose_for_themselves_whatever_others_do():
    legs = Legs(
        np.array([10.0, 50.0]), np.full((2, 2), 5.0), np.full((2, 2), 5.0), np.zeros((1, 2, 2)) + np.inf,
        np.zeros(2, dtype=np.int64), np.ones(2),
    )  # fmt: skip
    cost = np.full((2, 1), 8.0)
    both = quickest(legs, np.array([0]), np.array([1]), cost)
    alone = quickest(legs.only(slice(1, 2)), np.array([0]), np.array([1]), cost[1:])
    assert both.gate.tolist() == [-1, 0] and alone.gate.tolist() == [0]
