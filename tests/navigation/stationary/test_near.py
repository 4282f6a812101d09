"""Which agents stand near the straight line to a goal: the 6 m of [Pathfinding undated], against the twin."""

import itertools

import numpy as np
import pytest

from crowdsim.navigation.stationary.near import list_stationary
from tests.reference.grid_obstacles import stationary_near


@pytest.mark.parametrize("seed", range(20))
def test_agents_near_the_line_to_the_target_are_seen_and_the_planning_one_never(seed):
    rng = np.random.default_rng(seed)
    entity, position = np.arange(50) * 3 + 7, rng.uniform(0, 30, (50, 2))
    planning, line = entity[[4, 9, 9, 30]].copy(), rng.uniform(0, 30, (4, 4))
    line[0, :2], line[1, :2], line[2, 2:] = position[4], position[9], line[2, :2]  # one goes nowhere
    start, rows = list_stationary(planning, line, 6.0, entity, position)
    stationary = list(zip(entity.tolist(), map(tuple, position.tolist())))
    for i, (a, b) in enumerate(itertools.pairwise(start.tolist())):
        assert rows[a:b].tolist() == stationary_near(
            int(planning[i]), tuple(line[i, :2]), tuple(line[i, 2:]), 6.0, stationary
        )
    assert 4 not in rows[: start[1]] and len(rows) > 4


def test_where_no_agent_stands_none_is_near():
    start, rows = list_stationary(
        np.array([1, 2]), np.zeros((2, 4)), 6.0, np.zeros(0, dtype=np.int64), np.zeros((0, 2))
    )
    assert start.tolist() == [0, 0, 0] and rows.size == 0
