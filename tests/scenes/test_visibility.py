"""Runs whose agents find their ways over points of visibility."""

import copy

import pytest
import shapely

from crowdsim.errors import ScenarioError
from crowdsim.scenario.load import load_scenario
from crowdsim.schedule.simulation import Simulation
from tests.crowds import BUSY, SCENARIOS, digests, simulation
from tests.reference.visibility import sight_polygon

TICKS = 60
OVER_CORNERS = copy.deepcopy(BUSY)
OVER_CORNERS["navigation"] = "visibility"
OVER_CORNERS["budget"] = {"work": 3}  # so that searches last for several ticks


@pytest.fixture(scope="module")
def expected():
    with simulation(OVER_CORNERS) as run:
        return digests(run, TICKS)


@pytest.mark.parametrize("threads", [2, 7])
def test_the_number_of_threads_changes_nothing(threads, expected, monkeypatch):
    with simulation(OVER_CORNERS, threads=threads) as run:
        monkeypatch.setattr(run.team.run.__func__, "__kwdefaults__", {"at_least": 1})
        assert digests(run, TICKS) == expected


def test_saving_and_loading_in_the_middle_of_searches_changes_nothing(expected):
    with simulation(OVER_CORNERS) as run:
        before = digests(run, 7)
        state = run.state()
    with simulation(OVER_CORNERS) as run:
        run.restore(state)
        assert before + digests(run, TICKS - 7) == expected


def seen_share(sets):
    """Return how often, of all ticks and thieves, one is in sight of the guard, and how many arrived."""
    scenario = load_scenario(SCENARIOS / "unseen.yaml", sets=sets)
    view = sight_polygon(scenario.geometry.walkable, (18.0, 4.0)).buffer(-0.01)
    shapely.prepare(view)
    seen = total = 0
    with Simulation(scenario) as run:
        while not run.why_over():
            run.step()
            walkers = run.agents.position[run.agents.desired_speed * (run.agents.goal >= 0) > 0.0]
            seen += int(shapely.contains_xy(view, walkers).sum())
            total += len(walkers)
    return seen / total, run.tick


def test_nobody_is_seen_who_keeps_out_of_sight():
    unseen, ticks = seen_share([])
    plain, ticks_past_the_guard = seen_share(["navigation=visibility"])
    assert unseen < 0.01  # they dodge each other, and may step out of the shadow's edge
    assert plain > 0.4
    assert ticks > ticks_past_the_guard


def test_a_watcher_off_the_ground_is_a_mistake_in_the_scenario():
    document = copy.deepcopy(OVER_CORNERS)
    document["navigation"] = {"kind": "visibility", "unseen_from": [[1000, 1000]]}
    with pytest.raises(ScenarioError, match=r"the watcher at \(1000, 1000\) stands off the ground"), simulation(document):
        pass


@pytest.mark.parametrize("points", [3, [1, 2], [[1, 2, 3]], [["a", 1]], [[1, None]]])
def test_what_is_no_list_of_points_is_refused(points):
    document = copy.deepcopy(OVER_CORNERS)
    document["navigation"] = {"kind": "visibility", "unseen_from": points}
    with pytest.raises(ScenarioError, match=r"is not a list of at most 1000 points \[x, y\]"), simulation(document):
        pass
