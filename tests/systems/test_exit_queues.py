"""Times in the queue before an exit, beside those of a queue that is gone through agent by agent."""

import numpy as np
import pytest

from crowdsim.systems.goals.exit_queues import ExitQueue
from tests.reference import exit_queues as naive


@pytest.mark.parametrize("seed", range(5))
def test_times_are_those_of_a_queue_that_is_gone_through_agent_by_agent(seed):
    rng = np.random.default_rng(seed)
    count = 60
    # many of the same length: in the exit, and at equal distances
    length = np.where(rng.random(count) < 0.3, 0.0, rng.integers(0, 30, count).astype(float))
    length[rng.random(count) < 0.1] = np.inf
    speed, entity = rng.uniform(0.5, 2.2, count), rng.permutation(np.arange(1, 400))[:count].astype(np.int64)
    capacity = float(rng.uniform(0.3, 4))
    queue = ExitQueue(length[:40], speed[:40], entity[:40], capacity)
    members = list(zip(length[:40].tolist(), speed[:40].tolist(), entity[:40].tolist(), strict=True))
    asks = np.flatnonzero(np.isfinite(length))  # of the queue, and others
    found = queue.through(length[asks], speed[asks], entity[asks])
    wanted = [naive.through(members, (length[i], speed[i], entity[i]), capacity) for i in asks.tolist()]
    assert np.allclose(found, wanted, rtol=1e-12)
    assert (found > length[asks] / speed[asks] + 1e-9).sum() > 10  # some wait


def test_those_that_will_have_left_are_no_queue_for_one_from_far_away():
    near = np.arange(1, 11, dtype=np.int64)
    queue = ExitQueue(np.full(10, 2.0), np.ones(10), near, 1.0)  # come after 2 s, and are through by 12 s
    ask = lambda far: queue.through(np.array([far]), np.ones(1), np.array([99])).tolist()  # noqa: E731
    assert ask(3.0) == [12.0] and ask(10.0) == [12.0] and ask(30.0) == [30.0] and ask(1.0) == [1.0]
    # the last of the queue waits for nine
    assert queue.through(np.array([2.0]), np.ones(1), near[-1:]).tolist() == [11.0]


def test_the_order_in_which_agents_are_listed_changes_nothing():
    rng = np.random.default_rng(3)
    length, speed = rng.uniform(0, 20, 50).round(0), rng.uniform(0.5, 2, 50)
    entity, order = np.arange(1, 51), rng.permutation(50)
    one = ExitQueue(length, speed, entity, 1.3).through(length, speed, entity)
    other = ExitQueue(length[order], speed[order], entity[order], 1.3)
    assert np.array_equal(one[order], other.through(length[order], speed[order], entity[order]))
