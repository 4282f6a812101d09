"""Agents that want a path stand in line until their requests are made, those first that waited longest."""

import numpy as np
import pytest

from crowdsim.codes import PathStatus
from crowdsim.saved import Saved, SavedError
from crowdsim.systems.paths.asking import Asking
from crowdsim.systems.paths.paths import find_asking
from crowdsim.world.columns import AgentColumns, AgentState
from tests.reference import asking as twin

ROWS = 300
NAMES = ("entity", "activity", "path_status", "goal")


def crowd(rng, entity):
    """Columns of agents, most of which walk to a goal and have no path."""
    count, agents = len(entity), AgentColumns()
    values = {
        "entity": entity,
        "activity": rng.choice([AgentState.WALKING] * 90 + list(AgentState), count),
        "path_status": rng.choice([PathStatus.PENDING] * 90 + list(PathStatus) * 3, count),
        "goal": rng.integers(-1, 50, count),
    }
    agents.append(count, values)
    return agents


def wanting(agents):
    wants = np.empty(len(agents), dtype=bool)
    find_asking(agents.activity, agents.path_status, agents.goal, wants)
    return wants


@pytest.mark.parametrize("seed", range(5))
def test_the_line_is_that_of_a_list(seed):
    rng, asking, line, longest = np.random.default_rng(seed), Asking(), [], 0
    of = {}
    for now in range(1, 30):  # agents come, go, and are set to whatever they can be
        entity = np.sort(rng.choice(np.arange(1, ROWS + 20), ROWS, replace=False))
        agents = crowd(rng, entity)
        wants = wanting(agents)
        facts = [
            dict(zip(NAMES, each, strict=True))
            for each in zip(*(getattr(agents, name).tolist() for name in NAMES), strict=True)
        ]
        expected = twin.line_up(facts, wants.tolist(), line, now)
        asking.line_up(agents, wants, now)
        fresh = asking.since == now  # what is settled goes along
        asking.settled[fresh] = rng.integers(0, 2, int(fresh.sum()))
        of = dict(zip(entity[asking.rows].tolist(), asking.settled.tolist(), strict=True)) | {
            each: of[each] for each, since in line if since < now and each in of
        }
        assert list(zip(asking.rows.tolist(), asking.since.tolist(), strict=True)) == expected
        left = int(rng.integers(0, 3)) * int(now > 4)
        while left and len(asking):
            rows, since, settled = asking.next(left)
            assert settled.tolist() == [of[int(entity[row])] for row in rows]
            assert [(row, since) for row in rows.tolist()] == expected[: len(rows)]
            expected, left = expected[len(rows) :], left - len(rows)
        line = [(int(entity[row]), since) for row, since in expected]
        assert asking.entities.tolist() == [entity for entity, _ in line] and len(asking) == len(line)
        assert asking.oldest_tick(now) == (line[0][1] if line else now)
        longest = max(longest, now - asking.oldest_tick(now))
        if now % 3 == 0:  # what is saved is all that there is
            state, asking = asking.state(), Asking()
            asking.restore(Saved(state), agents)
    assert longest > 5


def test_a_line_that_cannot_be_is_refused():
    agents = crowd(np.random.default_rng(1), np.arange(1, 9))
    for entity, since, message in (
        ([3, 5], [4, 2], "waited longest"),
        ([5, 3], [2, 2], "ascend"),
        ([3, 3], [2, 4], "twice"),
        ([3, 90], [2, 2], "no such agent"),
    ):
        state = {"asking_entity": np.array(entity), "asking_since": np.array(since)}
        state["asking_settled"] = np.zeros(2, dtype=np.int64)
        with pytest.raises(SavedError, match=message):
            Asking().restore(Saved(state), agents)
