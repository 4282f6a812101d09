"""Agents that want a path stand in line until their requests are made, those first that waited longest."""

from types import SimpleNamespace

import numpy as np
import pytest

from crowdsim.codes import PathStatus
from crowdsim.saved import Saved, SavedError
from crowdsim.systems.paths.asking import Asking
from crowdsim.systems.paths.paths import TOLD_AS_ONE, SearchTask, find_asking
from crowdsim.world.columns import AgentColumns, AgentState
from tests.reference import asking as twin

ROWS, GOALS = 300, 4
NAMES = ("entity", "activity", "path_status", "goal")


def crowd(rng, entity):
    """Columns of agents, most of which walk to a goal and have no path."""
    count, agents = len(entity), AgentColumns()
    values = {
        "entity": entity,
        "activity": rng.choice([AgentState.WALKING] * 90 + list(AgentState), count),
        "path_status": rng.choice([PathStatus.PENDING] * 90 + list(PathStatus) * 3, count),
        "goal": rng.choice([-1, *sorted(range(GOALS)) * 12], count),
        "corridor_length": np.full(count, 3),
    }
    agents.append(count, values)
    return agents


def wanting(agents):
    wants = np.empty(len(agents), dtype=bool)
    find_asking(0, len(agents), agents.activity, agents.path_status, agents.goal, wants)
    return wants


@pytest.mark.parametrize("keeps_previous", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_line_is_that_of_a_list(seed, keeps_previous):
    rng, asking, line, told, longest = np.random.default_rng(seed), Asking(), [], 0, 0
    entity = np.arange(1, ROWS)
    for now in range(1, 30):  # agents come, go, and are set to whatever they can be
        if now % 4:
            entity = np.sort(rng.choice(np.arange(1, ROWS + 20), ROWS, replace=False))
        agents = crowd(rng, entity)
        facts = [
            dict(zip(NAMES, each, strict=True))
            for each in zip(*(getattr(agents, name).tolist() for name in NAMES), strict=True)
        ]
        goal_of = dict(zip(entity.tolist(), agents.goal.tolist(), strict=True))
        stay, sent = twin.stay_in_line(facts, line)
        head = {each for each, _ in line[:told]}
        told = 0 if head & set(sent) else sum(each in head for each, _ in stay)
        again = asking.stay(agents, keeps_previous)
        assert entity[again].tolist() == sorted(sent)
        assert asking.told == told and asking.entities.tolist() == [each for each, _ in stay]
        wants = wanting(agents)
        facts = [
            {**fact, "path_status": status} for fact, status in zip(facts, agents.path_status, strict=True)
        ]
        joins = twin.join_line(facts, wants.tolist(), now)
        asking.join(agents, np.flatnonzero(wants), now, GOALS, keeps_previous)
        line = stay + joins
        assert asking.entities.tolist() == [each for each, _ in line] and len(asking) == len(line)
        assert not wanting(agents).any()
        fresh = np.isin(entity, sent + [each for each, _ in joins])
        assert np.all(agents.path_status[fresh] == PathStatus.PENDING)
        assert np.array_equal(agents.corridor_length == 0, fresh & (not keeps_previous))
        assert asking.oldest_tick(now) == (line[0][1] if line else now)
        longest = max(longest, now - asking.oldest_tick(now))
        left = int(rng.integers(0, 6)) * int(now > 4)
        while left and len(asking):
            if not asking.is_told:
                most = int(rng.integers(1, 40))
                alike = twin.alike(goal_of, line, told)
                rows = asking.to_tell(agents.goal, most)
                assert entity[rows].tolist() == [each for each, _ in line[told:]][: min(most, alike)]
                told += len(rows)
                assert asking.told == told and asking.is_told >= (len(rows) == alike < most)
                assert not (asking.is_told and twin.alike(goal_of, line, told))
                left -= 1
                continue
            rows, since = asking.next(left)
            assert [(each, since) for each in entity[rows].tolist()] == line[: min(left, told)]
            line, told, left = line[len(rows) :], told - len(rows), left - len(rows)
            assert asking.is_told == (told > 0)
        if now % 3 == 0:  # what is saved is all that there is
            state, asking = asking.state(agents), Asking()
            asking.restore(Saved(state), agents)
            assert asking.told == told
    assert longest > 5


def test_agents_that_have_left_since_the_line_was_read_are_not_saved():
    """A checkpoint named one that had arrived while it waited for its request, and was refused."""
    agents, asking = crowd(np.random.default_rng(1), np.arange(1, 9)), Asking()
    agents.activity[:], agents.goal[:], agents.path_status[:] = AgentState.WALKING, 0, PathStatus.NONE
    asking.join(agents, np.arange(8), 5, 1, False)
    assert asking.to_tell(agents.goal, 3).tolist() == [0, 1, 2]
    there = crowd(np.random.default_rng(1), np.array([2, 4, 5, 8]))
    there.activity[:], there.goal[:], there.path_status[:] = AgentState.WALKING, 0, PathStatus.PENDING
    state = asking.state(there)
    assert state["asking_entity"].tolist() == [2, 4, 5, 8] and state["asking_told"].tolist() == [1, 0, 0]
    other = Asking()
    other.restore(Saved(state), there)
    for each in (asking, other):
        each.stay(there, False)
    assert asking.entities.tolist() == other.entities.tolist() == [2, 4, 5, 8]
    assert (asking.told, asking.is_told) == (other.told, other.is_told)
    assert asking.state(crowd(np.random.default_rng(1), np.array([9]))) == {}


def test_a_line_that_cannot_be_is_refused():
    agents = crowd(np.random.default_rng(1), np.arange(1, 9))
    for entity, since, told, message in (
        ([3, 5], [4, 2], [0, 0, 0], "waited longest"),
        ([3, 3], [2, 4], [0, 0, 0], "twice"),
        ([3, 90], [2, 2], [0, 0, 0], "no such agent"),
        ([3, 5], [2, 2], [3, 0, 0], "asking_told"),
        ([3, 5], [2, 2], [0, 1, 0], "told of none"),
    ):
        state = {"asking_entity": np.array(entity), "asking_since": np.array(since)}
        state["asking_told"] = np.array(told)
        with pytest.raises(SavedError, match=message):
            Asking().restore(Saved(state), agents)


class Asked:
    """In place of paths: which rows were told of, and of which requests were made, call by call."""

    def __init__(self, agents):
        self.world, self.calls = SimpleNamespace(agents=agents), []

    def begin(self, tick):
        self.calls.append(("begin", [], tick))

    def settle(self, rows):
        self.calls.append(("told", rows.tolist(), None))

    def submit(self, tick, rows, since, settled):
        assert settled
        self.calls.append(("asked", rows.tolist(), since))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("most", [1, 7, 1000])
@pytest.mark.parametrize("are_sent", [False, True])
def test_requests_for_many_goals_are_made_in_one_call_and_what_they_share_does_not_depend_on_how_many(
    seed, most, are_sent
):
    """A call for each goal took as long as hundreds of requests and counted as a few: ticks with a budget of
    20 ms took 60. Some of those in line are sent elsewhere, where those with one goal do not stand together.
    """
    rng, agents = np.random.default_rng(seed), crowd(np.random.default_rng(seed), np.arange(1, ROWS + 1))
    agents.activity[:], agents.path_status[:] = AgentState.WALKING, PathStatus.NONE
    agents.goal[:] = rng.integers(0, 40, ROWS)
    asking, paths, came = Asking(), Asked(agents), np.sort(rng.integers(5, 8, ROWS))
    for now in range(5, 8):
        asking.join(agents, np.flatnonzero(came == now), now, 40, False)
    if are_sent:
        agents.goal[rng.random(ROWS) < 0.5] = rng.integers(0, 40)
        agents.goal[rng.random(ROWS) < 0.3] = rng.integers(0, 40)
    line = (asking.entities - 1).tolist()
    task = SearchTask("searches", SimpleNamespace(request_work=1), asking, paths, None, None, True)
    slices, work = 0, 0
    while len(asking):
        slices, work = slices + 1, work + task.ask(None, most) + asking.owed
        asking.owed = 0
    asked = [(rows, since) for name, rows, since in paths.calls if name == "asked"]
    assert [row for rows, _ in asked for row in rows] == line
    assert ROWS <= work <= ROWS + ROWS // TOLD_AS_ONE
    if not are_sent:
        assert len(asked) <= slices + 2  # those that came in another tick
    # of a request, all are told of that have its goal and stand no farther behind than those beside it
    kind = [(int(agents.goal[row]), int(came[row])) for row in line]
    expected, behind = {}, ROWS
    for place in reversed(range(ROWS)):
        behind = behind if place + 1 < ROWS and kind[place] == kind[place + 1] else place + 1
        expected[line[place]] = {row for row in line[:behind] if agents.goal[row] == kind[place][0]}
    known = set()
    for name, rows, since in paths.calls:
        if name == "told":
            assert not known & set(rows)
            known |= set(rows)
        if name == "asked":
            assert set(came[rows].tolist()) == {since}
            for row in rows:
                assert {other for other in known if agents.goal[other] == agents.goal[row]} == expected[row]
