"""A budget is shared among slots as lists would have it, and what they answer is taken out so."""

import numpy as np
import pytest

from crowdsim.navigation.planning.work import LEAST_GRANT, share_out, take_out
from tests.reference import work as reference

SLOTS, BATCH, REQUESTS, NOW = 9, 4, 200, 55


def slots_with_requests(rng):
    """Return requests of slots, some of which have none left: (jobs, how many, the next one, all orders)."""
    jobs = rng.permutation(REQUESTS)[: SLOTS * BATCH].reshape(SLOTS, BATCH)
    count = rng.integers(0, BATCH + 1, SLOTS)
    return jobs, count, rng.integers(0, count + 1), rng.permutation(10 * REQUESTS)[:REQUESTS]


@pytest.mark.parametrize("seed", range(40))
def test_a_budget_is_shared_among_the_oldest_and_those_that_search_are_first(seed):
    rng = np.random.default_rng(seed)
    jobs, count, begin, order = slots_with_requests(rng)
    searches = rng.integers(0, 2, SLOTS)
    budget = int(rng.integers(0, 2 * SLOTS * LEAST_GRANT))
    grant, last_use, began, turn = (np.full(SLOTS, 7, dtype=np.int64) for _ in range(4))
    served = share_out(budget, NOW, jobs, begin, count, searches, order, grant, last_use, began, turn)
    lines = [jobs[slot, begin[slot] : count[slot]].tolist() for slot in range(SLOTS)]
    grants, turns = reference.share_out(budget, lines, order.tolist(), searches.astype(bool).tolist())
    assert grant.tolist() == grants and turn[:served].tolist() == turns
    assert grant.sum() == (budget if any(lines) else 0)
    assert np.array_equal(began, begin)
    assert np.array_equal(last_use == NOW, [bool(line) for line in lines])


@pytest.mark.parametrize("seed", range(20))
def test_what_slots_have_answered_is_taken_out_once(seed):
    rng = np.random.default_rng(seed)
    jobs, count, began, _ = slots_with_requests(rng)
    ended = rng.integers(began, count + 1)
    out, size, where = (
        rng.integers(0, 99, (SLOTS, 60)),
        rng.integers(0, 10, REQUESTS),
        rng.integers(0, 50, REQUESTS),
    )
    used, spent = rng.integers(0, 99, (2, SLOTS))
    is_open = np.ones(REQUESTS, dtype=np.uint8)
    answered, path = np.empty(jobs.size, dtype=np.int64), np.empty(out.size, dtype=np.int32)
    expansions, work, answers, length = take_out(
        jobs, began, ended, used, spent, is_open, where, size, out.astype(np.int32), answered, path
    )
    rows, paths = reference.take_out(
        [jobs[slot, began[slot] : ended[slot]].tolist() for slot in range(SLOTS)],
        out.tolist(), where.tolist(), size.tolist(),
    )  # fmt: skip
    assert (expansions, work) == (used.sum(), spent.sum())
    assert answered[:answers].tolist() == rows and path[:length].tolist() == paths
    assert np.flatnonzero(is_open == 0).tolist() == sorted(rows)
