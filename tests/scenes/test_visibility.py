"""Runs whose agents find their ways over points of visibility."""

import copy

import pytest
import shapely

from crowdsim.errors import ScenarioError
from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
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


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("threads", [2, 7])
def test_the_number_of_threads_changes_nothing(threads, expected, monkeypatch):
    with simulation(OVER_CORNERS, threads=threads) as run:
        monkeypatch.setattr("crowdsim.kernels.threads.WORTH_NS", 0)
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
    with (
        pytest.raises(ScenarioError, match=r"the watcher at \(1000, 1000\) stands off the ground"),
        simulation(document),
    ):
        pass


@pytest.mark.parametrize("points", [3, [1, 2], [[1, 2, 3]], [["a", 1]], [[1, None]]])
def test_what_is_no_list_of_points_is_refused(points):
    document = copy.deepcopy(OVER_CORNERS)
    document["navigation"] = {"kind": "visibility", "unseen_from": points}
    with (
        pytest.raises(ScenarioError, match=r"is not a list of at most 1000 points \[x, y\]"),
        simulation(document),
    ):
        pass


SCREEN = {"box": [2, 5, 18, 5.2]}


def on_two_halls(storey, **navigation):
    """Return four agents who cross one of two equal halls, one above the other;
    a stair leads from the lower one to a landing beside the upper one.
    """
    return {
        "version": 1,
        "tick": 0.1,
        "stop": {"after": 40},
        "record": {"rate": 10},
        "navigation": {"kind": "visibility", **navigation},
        "geometry": {
            "storeys": [
                {"name": "lower", "elevation": 0, "walkable": {"box": [0, 0, 20, 10]}, "obstacles": [SCREEN]},
                {
                    "name": "upper",
                    "elevation": 3,
                    "walkable": [{"box": [0, 0, 20, 10]}, {"box": [0, 10, 28, 12]}, {"box": [26, 0, 28, 12]}],
                    "obstacles": [SCREEN],
                },
            ],
            "connections": [
                {
                    "name": "stair",
                    "lower": "lower",
                    "upper": "upper",
                    "foot": [[20, 1], [20, 3]],
                    "head": [[26, 1], [26, 3]],
                }
            ],
        },
        "groups": [
            {
                "name": "crowd",
                "storey": storey,
                "positions": [[1, 2.8], [1, 3.4], [1, 4], [0.4, 3.2]],
                "radius": 0.2,
                "goals": [{"point": [19.3, 4], "storey": storey, "arrive_within": 0.8}],
            },
        ],
    }


@pytest.mark.sample(1)
@pytest.mark.parametrize("storey", ["lower", "upper"])
@pytest.mark.parametrize("key", ["unseen_from", "shun"])
def test_watchers_and_points_to_shun_turn_aside_those_on_their_own_storey_only(storey, key, tmp_path):
    """From the recorded places: behind the screen in the middle of the hall,
    or straight on in front of it.
    """
    numbers = {} if key == "unseen_from" else {"shun_reach": 4.0, "shun_cost": 50.0}
    for height, is_meant in ((0.0, storey == "lower"), (3.0, storey == "upper")):
        out = tmp_path / f"{height}.h5"
        with simulation(on_two_halls(storey, **{key: [[10, 2, height]]}, **numbers), out=out) as run:
            verdict = run.run()
        with open_run(out) as run:
            rows = run.trajectories()
        middle = rows[rows["x"].between(8.0, 12.0)]
        assert verdict.arrived == 4 and set(middle["id"]) == {1, 2, 3, 4}
        assert (middle["y"] > 5.2).all() if is_meant else (middle["y"] < 5.0).all()
