"""Agents that are sent to points and regions while a run goes on."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import crowdsim as library
from crowdsim import measures
from crowdsim.errors import CrowdsimError
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.columns import AgentState
from tests.cli.command import crowdsim
from tests.simulation.steered import hall

PLANNERS = ["mesh", "optimal", "visibility", "grid", {"kind": "mesh", "round_stationary": True}]


def rooms(navigation="mesh", **more):
    """Return two rooms with a doorway between, with a crowd in the left one that has no goal yet."""
    return {
        "version": 1,
        "geometry": {
            "walkable": {"box": [0, 0, 16, 8]},
            "obstacles": [{"box": [7.8, 0, 8, 5]}, {"box": [7.8, 6.4, 8, 8]}],
            "areas": [{"name": "door", "area": {"box": [7.8, 5, 8, 6.4]}}],
        },
        "goals": {"home": {"region": {"box": [0.5, 0.5, 3, 7.5]}}},
        "groups": [
            {"name": "crowd", "count": 12, "region": {"box": [0.5, 0.5, 7, 7.5]}, "leave_on_arrival": False}
        ],
        "navigation": navigation,
        "record": {"rate": 5},
        "stop": {"after": 100, "when": "never"},
        **more,
    }


def steps(run, count):
    for _ in range(count):
        run.step()


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS, ids=str)
def test_each_agent_gets_to_a_point_of_its_own(navigation, tmp_path):
    """Seen from outside: where it is recorded last, and that it went through the doorway."""
    places = np.column_stack([np.linspace(9.0, 15.0, 12), np.tile([1.5, 4.0, 6.5], 4)])
    with Simulation(rooms(navigation), out=tmp_path / "run.h5", threads=2) as run:
        steps(run, 5)
        run.set_goal(run.agents.entity, places)
        steps(run, 500)
        assert (run.agents.activity == AgentState.STANDING).all()
    with library.open_run(tmp_path / "run.h5") as kept:
        seen = kept.trajectories()
    last = seen[seen["frame"] == seen["frame"].max()].sort_values("id")
    assert np.hypot(*(last[["x", "y"]].to_numpy() - places).T).max() <= 0.3 + 1e-9
    at_wall = seen[(seen["x"] > 7.75) & (seen["x"] < 8.05)]
    assert len(at_wall) >= 12 and at_wall["y"].between(5.0, 6.4).all()
    assert crowdsim(["verify", str(tmp_path / "run.h5")]).returncode == 0


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS, ids=str)
def test_a_crowd_takes_places_in_a_region_that_it_is_sent_to(navigation, tmp_path):
    region = shapely.box(10.0, 2.0, 14.0, 6.0)
    with Simulation(rooms(navigation), out=tmp_path / "run.h5") as run:
        run.set_goal(run.agents.entity, {"region": {"box": [10, 2, 14, 6]}})
        steps(run, 700)
        place, radius = run.agents.position.copy(), run.agents.radius.copy()
        assert (run.agents.goal == -1).all()
        assert run.verdict().arrivals == {"places set by the run": 12}
    assert shapely.intersects_xy(region, *place.T).all()
    apart = np.hypot(*(place[:, None] - place[None]).transpose(2, 0, 1)) + np.eye(12) * 9.0
    assert (apart >= radius[:, None] + radius[None]).all()
    assert np.ptp(place[:, 0]) > 1.5 and np.ptp(place[:, 1]) > 1.5  # not in a heap where they came in
    table = measures.arrivals(tmp_path / "run.h5")
    assert set(table["goal"]) == {"(12, 4)"} and len(table) == 12
    used = measures.exit_use(tmp_path / "run.h5")
    assert used[["goal", "kind", "people"]].to_numpy().tolist() == [
        ["places set by the run", "set by the run", 12]
    ]
    with library.open_run(tmp_path / "run.h5") as kept:
        sent = kept.events()
        sent = sent[sent["kind"] == "SENT"]
        assert sent[["tick", "value", "x", "y"]].drop_duplicates().to_numpy().tolist() == [[1, 1, 12, 4]]


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS, ids=str)
def test_agents_that_are_sent_about_for_long_need_no_more_goals_than_there_are_agents(navigation):
    draws = np.random.default_rng(5)
    with Simulation(rooms(navigation)) as run:
        counts = []
        for _ in range(40):
            run.set_goal(run.agents.entity, draws.uniform((0.5, 0.5), (7.5, 7.5), (12, 2)))
            steps(run, 10)
            counts.append(len(run.world.destinations))
        assert max(counts) <= 24
        run.set_goal(run.agents.entity, [[1 + 1.5 * (k % 4), 1 + 2 * (k // 4)] for k in range(12)])
        steps(run, 400)
        assert (run.agents.activity == AgentState.STANDING).all()


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS, ids=str)
def test_what_a_run_has_set_follows_from_a_checkpoint_at_any_tick(navigation, tmp_path):
    """Agents are sent to points and regions while doors close and open; searches are in the middle."""
    document = rooms(navigation, budget={"work": 25 if "grid" not in str(navigation) else 700})

    def act(run):
        draws, agents = np.random.default_rng([3, run.tick]), run.agents
        some = np.sort(draws.choice(agents.entity, 5, replace=False))
        if run.tick % 7 == 2:
            run.set_goal(some, draws.uniform((8.5, 0.5), (15.5, 7.5), (5, 2)))
        if run.tick % 11 == 5:
            run.set_goal(some, {"region": {"box": [9 + run.tick % 3, 1, 12, 4]}})
        if run.tick % 20 == 13:
            run.set_area_available("door", run.tick % 40 > 20)
        if run.tick % 30 == 29:
            run.set_goal(some, "home")

    with Simulation(document, threads=1) as run:
        states, digests = [], []
        for _ in range(90):
            act(run)
            states.append({name: array.copy() for name, array in run.state().items()})
            run.step()
            digests.append(run.digest)
    for begin in range(0, 90, 9):
        with Simulation(document, threads=2) as run:
            run.restore(states[begin])
            for tick in range(begin, min(90, begin + 25)):
                run.step()
                assert run.digest == digests[tick], (begin, tick)
                if tick < 89:
                    act(run)


def test_a_point_that_a_door_cuts_off_is_unreachable_until_it_opens():
    with Simulation(rooms()) as run:
        run.set_area_available("door", False)
        steps(run, 3)
        run.set_goal([1], [12.0, 4.0])
        steps(run, 40)
        assert run.agents.activity[0] == AgentState.STANDING and run.agents.goal[0] >= 0
        run.set_area_available("door", True)
        steps(run, 400)
        assert np.hypot(*(run.agents.position[0] - (12.0, 4.0))) < 0.3


def test_agents_on_two_storeys_are_sent_to_points_of_their_own_or_of_the_other():
    storeys = {
        "storeys": [
            {"name": "low", "elevation": 0, "walkable": {"box": [0, 0, 10, 6]}},
            {"name": "high", "elevation": 3, "walkable": {"box": [0, 0, 10, 6]}},
        ],
        "connections": [
            {
                "name": "stair",
                "lower": "low",
                "upper": "high",
                "foot": [[10, 1], [10, 3]],
                "head": [[10, 4], [10, 6]],
            }
        ],
    }
    storeys["connections"][0] |= {"foot": [[10, 2], [10, 4]], "head": [[14.8, 2], [14.8, 4]]}
    storeys["storeys"][1]["walkable"] = [{"box": [14.8, 0, 24, 6]}]
    document = {
        "version": 1,
        "geometry": storeys,
        "groups": [
            {"name": "a", "positions": [[2, 3]], "storey": "low", "leave_on_arrival": False},
            {"name": "b", "positions": [[20, 3]], "storey": "high", "leave_on_arrival": False},
        ],
        "stop": {"after": 100, "when": "never"},
    }
    with Simulation(document) as run:
        run.set_goal("a[0]", [5.0, 5.0])
        run.set_goal("b[0]", [3.0, 1.0], storey="low")
        steps(run, 400)
        place, layer = run.agents.position, run.agents.layer
        assert np.hypot(*(place[0] - (5.0, 5.0))) < 0.3 and np.hypot(*(place[1] - (3.0, 1.0))) < 0.3
        assert layer.tolist() == [0, 0]
        run.set_goal("a[0]", {"region": {"box": [20, 1, 23, 5]}, "storey": "high"})
        steps(run, 400)
        assert run.agents.layer[0] == 1 and 20 <= run.agents.position[0, 0] <= 23


def test_the_same_place_again_is_no_new_request():
    with Simulation(rooms()) as run:
        run.set_goal([1], [12.0, 4.0])
        steps(run, 20)
        before = run.agents.path_tick[0]
        run.set_goal([1], [12.1, 4.1])  # nearer than navigation.same_target
        steps(run, 1)
        assert run.agents.path_tick[0] == before and run.agents.path_status[0] == 2
        steps(run, 400)
        assert np.hypot(*(run.agents.position[0] - (12.1, 4.1))) < 0.3


def test_events_tell_where_an_agent_was_sent_and_that_it_arrived():
    with Simulation(rooms()) as run:
        told = []
        run.on("SENT", lambda e: told.append((e.tick, e.entity, e.value, e.x, e.y)))
        run.on("ARRIVAL", lambda e: told.append((e.entity, e.value)))
        run.set_goal([2, 3], [[12.0, 4.0], [13.0, 2.0]])
        steps(run, 400)
        assert told[:2] == [(1, 2, 1, 12.0, 4.0), (1, 3, 2, 13.0, 2.0)]
        assert sorted(told[2:]) == [(2, 1), (3, 2)]
        assert run.agents.to_frame()["goal_name"].tolist() == [""] * 12
        run.set_goal([4], [12.0, 4.0])
        assert run.agents.to_frame()["goal_name"].tolist()[3] == "(12, 4) within 0.3 m"


@pytest.mark.parametrize(
    ("goal", "more", "message"),
    [
        ([99.0, 1.0], {}, r"the place \(99, 1\) is off the walkable ground as it is now"),
        ([7.9, 1.0], {}, r"the place \(7.9, 1\) is off the walkable ground"),
        ([[1, 1], [2, 2], [3, 3]], {}, r"agents are sent to a goal by its name, to a point .* 2 of them"),
        ([1.0, np.nan], {}, "agents are sent to a goal by its name, to a point"),
        ({"exit": {"box": [0, 0, 1, 1]}}, {}, "the goal: .* is neither a point nor a region"),
        ({"region": {"box": [1, 1, 1, 1]}}, {}, "the goal.region"),
        (
            {"region": {"box": [50, 50, 60, 60]}},
            {},
            "the goal.region: the area lies 54 m outside the walkable ground",
        ),
        ({"region": {"box": [7.8, 1, 8, 2]}}, {}, r"the region at \(7.9, 1.5\) is off the walkable ground"),
        ({"point": [1, 1], "arrive_within": -2}, {}, "the goal.arrive_within"),
        ({"point": [1, 1], "within": 2}, {}, 'there is no key "within" here'),
        ([1.0, 1.0], {"storey": "upper"}, "the ground has one level floor"),
        ("home", {"storey": "upper"}, "'home' is a goal of the scenario"),
        ("hom", {}, "there is no goal 'hom'. Did you mean"),
    ],
)
def test_what_is_no_place_to_go_to_is_one_clear_error_and_changes_nothing(goal, more, message, tmp_path):
    with Simulation(rooms(), out=tmp_path / "run.h5") as run:
        steps(run, 3)
        before = {name: array.copy() for name, array in run.state().items()}
        with pytest.raises(CrowdsimError, match=message):
            run.set_goal([1, 2], goal, **more)
        after = run.state()
        assert all(
            np.array_equal(before[name], after[name], equal_nan=before[name].dtype.kind == "f")
            for name in after
        )
    with library.open_run(tmp_path / "run.h5") as kept:
        assert not list(kept.interventions())


def test_a_run_with_all_of_it_is_recorded_and_done_again_with_the_places(tmp_path):
    with Simulation(hall(), out=tmp_path / "a.h5") as run:
        run.set_goal(run.agents.entity[:3], [[6.0, 1.0], [5.0, 2.0], [4.0, 3.0]])
        run.set_goal(run.agents.entity[3:5], {"region": {"circle": {"centre": [13, 5], "radius": 1.5}}})
        steps(run, 200)
    assert crowdsim(["verify", str(tmp_path / "a.h5"), "--threads", "2"]).returncode == 0
    with library.open_run(tmp_path / "a.h5") as a:
        assert set(a.events()["kind"]) >= {"SENT", "ARRIVAL"}


def test_a_stuck_agent_at_an_occupied_point_is_told_from_the_recording_too(tmp_path):
    """Two are sent to one point of a narrow dead end: the second finds it taken."""
    document = {
        "version": 1,
        "geometry": {"walkable": [{"box": [0, 0, 6, 6]}, {"box": [6, 2, 12, 2.9]}]},
        "groups": [
            {"name": "two", "positions": [[3, 2.4], [4, 2.4]], "radius": 0.3, "leave_on_arrival": False}
        ],
        "stop": {"after": 60, "when": "never"},
    }
    with Simulation(document, out=tmp_path / "run.h5") as run:
        run.set_goal([1, 2], {"point": [11.6, 2.45], "arrive_within": 0.1})
        verdict = run.run()
    found = measures.deadlocks(tmp_path / "run.h5")
    assert verdict.reasons == {"stuck: goal occupied": 1}
    assert found["cause"].tolist() == ["goal occupied"]


def test_event_kinds_of_programs_wait_for_the_next_tick():
    with Simulation(rooms()) as run, Simulation(rooms()) as other:
        run.set_goal([1], [12.0, 4.0])
        other.restore(run.state())
        assert [e.kind for e in other.step()] == [e.kind for e in run.step()]
