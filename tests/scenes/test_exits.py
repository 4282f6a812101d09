"""Agents choose exits by the time to walk and to wait, seen from recorded places."""

import numpy as np
import pytest

from crowdsim.simulation.simulation import Simulation
from tests.cli.command import crowdsim
from tests.crowds import assert_same_on_threads_and_from_saved_states
from tests.scenes.exits import CROWD, hall, watch

MODELS = ["orca", "clearpath", "hrvo", "sampled-hrvo", "none"]
PLANNERS = [
    "mesh",
    "optimal",
    "visibility",
    "grid",
    "s2-grid",
    {"kind": "mesh", "tile_size": 6},
    {"kind": "hierarchical", "area_size": 3},
]
DOORS = {
    "walkable": {"box": [0, 0, 30, 20]},
    "obstacles": [{"box": [24, 0, 24.3, 8]}, {"box": [24, 12, 24.3, 20]}],
    "areas": [{"name": "gate", "area": {"box": [24, 8, 24.3, 12]}}],
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS, ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_a_crowd_on_one_side_uses_both_exits_and_is_out_sooner_than_by_the_nearest(
    tmp_path, model, navigation
):
    found = {}
    for goal in ("out", "nearest"):
        document = hall(
            [CROWD | {"goals": goal, "count": 90}],
            {"west": {"exit": {"box": [-0.2, 9, 0.2, 11]}, "flow": "90/min"}},
            avoidance=model,
            navigation=navigation,
        )
        found[goal] = watch(document, tmp_path)
        assert found[goal].verdict.arrived == 90
    last = found["out"].last
    west, east = (last["x"] < 2).sum(), (last["x"] > 28).sum()
    assert west + east == 90 and west > 15 and east > 15
    assert (found["nearest"].last["x"] < 2).all()
    assert last["time"].max() < 0.75 * found["nearest"].last["time"].max()


def test_those_that_are_alone_go_where_it_is_nearest_and_say_so(tmp_path):
    groups = [{"name": "few", "positions": [[5, 4], [14, 16], [16.5, 3], [27, 10]], "goals": "out"}]
    seen = watch(hall(groups), tmp_path)
    assert [x < 2 for x in seen.last["x"]] == [True, True, False, False]
    assert set(seen.chosen["reason"]) == {"nearest"} and (seen.chosen["before"] == "").all()
    # they expect what it takes them
    took = seen.last["time"].to_numpy()
    assert np.allclose(seen.chosen.sort_values("id")["expected_s"], took, atol=1.0)


def test_a_slow_exit_near_by_is_left_to_those_before_it(tmp_path):
    """A turnstile lets one through in ten seconds: it is worth the walk of the others."""
    goals = {"west": {"exit": {"box": [-0.2, 9, 0.2, 11]}, "flow": "6/min"}}
    groups = [{"name": "few", "positions": [[4, 10 + 0.5 * i] for i in range(-6, 6)], "goals": "out"}]
    seen = watch(hall(groups, goals, out={"every": 0.5}), tmp_path)
    west = (seen.last["x"] < 2).sum()
    assert 1 <= west <= 4 and seen.verdict.arrived == 12
    went = seen.chosen[seen.chosen["goal"] == "east"]
    assert set(went["reason"]) == {"quicker"} and (went["quicker_s"] > 3.0).all()
    assert len(went) == 12 - west and (went["before"] != "").any()


def test_nobody_changes_to_and_fro(tmp_path):
    crowd = CROWD | {"count": 200, "region": {"box": [1, 1, 22, 19]}}
    seen = watch(hall([crowd], out={"gain": 0.1}, speed_density="weidmann"), tmp_path)
    changed = seen.chosen[seen.chosen["before"] != ""]
    assert len(changed) > 10
    for _, times in changed.groupby("id")["time_s"]:
        assert np.all(np.diff(times) > 29.9)  # keeps_for: two a minute at most
    assert seen.verdict.choice_changes == len(changed)


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS, ids=str)
def test_an_exit_that_is_closed_is_left_at_once_and_told_of(tmp_path, navigation):
    groups = [{"name": "few", "positions": [[19, 10], [20, 6], [5, 10], [19, 14]], "goals": "out"}]
    events = [{"at": 2, "close": "gate"}]
    document = hall(groups, geometry=DOORS, events=events, navigation=navigation)
    seen = watch(document, tmp_path)
    assert (seen.last["x"] < 2).all() and seen.verdict.arrived == 4
    lost = seen.chosen[seen.chosen["before"] != ""]
    assert lost["reason"].tolist() == ["the one before closed"] * 3 and lost["time_s"].max() < 2.2
    assert set(lost["before"]) == {"east"} and set(lost["goal"]) == {"west"}
    # they turn round there and then
    for person in lost["id"]:
        own = seen.moves[seen.moves["id"] == person].set_index("time")["x"]
        assert own[own.index > 3.5].max() < own[own.index <= 3.5].max() + 0.1


def test_an_exit_that_opens_is_seen_at_the_next_look(tmp_path):
    closed = DOORS | {"areas": [DOORS["areas"][0] | {"available": False}]}
    groups = [{"name": "few", "positions": [[22, 10], [21, 6], [21, 14]], "goals": "out"}]
    seen = watch(hall(groups, geometry=closed, events=[{"at": 2, "open": "gate"}]), tmp_path)
    assert (seen.last["x"] > 28).all()
    changed = seen.chosen[seen.chosen["before"] != ""]
    assert len(changed) == 3 and changed["time_s"].between(1.9, 4.2).all()


def test_a_share_of_the_agents_knows_one_exit_alone_and_it_is_the_same_ones_in_any_run(tmp_path):
    familiar = {"familiar": {"share": 0.25, "only": ["east"]}}
    crowd = CROWD | {"count": 200, "region": {"box": [1, 1, 9, 19]}}
    who = []
    for more in ({}, {"navigation": "grid", "avoidance": "none"}):
        seen = watch(
            hall([crowd, {"name": "a", "positions": [[15, 2]]}], out={**familiar, "gain": 1e6}, **more),
            tmp_path,
        )
        own = seen.last[seen.last["group"] == "crowd"]
        who.append(set(own["name"][own["x"] > 28]))
        told = seen.chosen[seen.chosen["reason"] == "the only one it knows"]
        assert set(told["goal"]) == {"east"} and len(told) == len(who[-1])
    assert who[0] == who[1]
    assert 31 <= len(who[0]) <= 69  # 50 of 200: 3 deviations are 18


def test_those_that_know_one_exit_find_the_others_when_it_closes(tmp_path):
    groups = [{"name": "few", "positions": [[19, 10], [5, 6]], "goals": "out"}]
    document = hall(
        groups, out={"familiar": {"only": ["east"]}}, geometry=DOORS, events=[{"at": 2, "close": "gate"}]
    )
    seen = watch(document, tmp_path)
    assert (seen.last["x"] < 2).all() and seen.verdict.arrived == 2


def test_queues_out_of_sight_are_not_known_where_sight_is_needed(tmp_path):
    """In a side room behind a wall one does not see that the near exit is jammed; in the hall one does."""
    geometry = {"walkable": {"box": [0, 0, 30, 20]}, "obstacles": [{"box": [3, 4, 18, 4.3]}]}
    jam = {
        "name": "jam",
        "positions": [[1 + 0.5 * (i % 6), 8 + 0.5 * (i // 6)] for i in range(48)],
        "goals": "west",
    }
    one = {"name": "one", "positions": [[10.0, 2.0]], "goals": "out"}
    slow = {"west": {"exit": {"box": [-0.2, 9, 0.2, 11]}, "flow": "30/min"}}
    first = {}
    for knows in ("all", "seen"):
        seen = watch(
            hall([jam, one], slow, out={"knows": knows}, geometry=geometry, stop={"after": 50}), tmp_path
        )
        own = seen.chosen
        first[knows] = own.iloc[0]["goal"]
        assert seen.last[seen.last["group"] == "one"]["x"].iloc[0] > 28
        if knows == "seen":  # it comes round the wall, and turns
            turned = own[own["reason"] == "quicker"]["time_s"].iloc[0]
            place = seen.moves[(seen.moves["id"] == own["id"].iloc[0]) & (seen.moves["time"] >= turned)].iloc[
                0
            ]
            assert place["x"] < 4.0
    assert first == {"all": "east", "seen": "west"}


def test_machines_and_arrivals_choose_too(tmp_path):
    machine = {"states": {"look": {"go_to": {"point": [15, 10]}, "then": "go"}, "go": {"leave": "out"}}}
    groups = [
        {"name": "led", "count": 20, "region": {"box": [2, 2, 12, 18]}, "behaviour": "visitor"},
        {
            "name": "come",
            "region": {"box": [12, 1, 18, 3]},
            "goals": ["middle", "out"],
            "arrive": {"rate": 2, "until": 20},
        },
    ]
    slow = {
        "west": {"exit": {"box": [-0.2, 9, 0.2, 11]}, "flow": "20/min"},
        "middle": {"region": {"box": [13, 9, 17, 11]}},
    }
    seen = watch(hall(groups, slow, behaviours={"visitor": machine}), tmp_path)
    assert seen.verdict.arrived == 60 and not seen.verdict.not_arrived
    assert set(seen.chosen["group"]) == {"led", "come"}
    assert seen.chosen.groupby("id")["before"].apply(lambda own: (own == "").sum()).eq(1).all()
    assert (seen.last["x"] > 28).sum() > 30 and (seen.last["x"] < 2).sum() > 5


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS, ids=str)
def test_runs_are_the_same_for_any_number_of_threads_and_from_saved_states(navigation):
    document = hall(
        [CROWD | {"count": 60, "radius": {"uniform": {"low": 0.15, "high": 0.3}}}],
        out={"familiar": {"share": 0.3, "only": ["east"]}, "knows": "seen", "keeps_for": 2, "gain": 0.5},
        geometry=DOORS,
        events=[{"at": 3, "close": "gate"}, {"at": 6, "open": "gate"}],
        navigation=navigation,
    )
    assert_same_on_threads_and_from_saved_states(document, 90, (12, 31, 33, 62))


def test_the_order_of_groups_changes_nothing():
    groups = [
        CROWD | {"count": 40},
        {"name": "others", "count": 30, "region": {"box": [18, 1, 29, 19]}, "goals": "out"},
    ]
    digests = []
    for order in (groups, groups[::-1]):
        with Simulation(hall(order)) as run:
            for _ in range(60):
                run.step()
            digests.append(run.digest)
    assert digests[0] == digests[1]


def test_a_hall_that_is_mirrored_is_left_by_the_mirrored_exits(tmp_path):
    places = np.random.default_rng(2).uniform((1, 1), (14, 19), (40, 2)).round(2)
    goals = {"west": {"exit": {"box": [-0.2, 9, 0.2, 11]}, "flow": 1.0}}
    mirrored = {"east": {"exit": {"box": [29.8, 9, 30.2, 11]}, "flow": 1.0}}
    ends = []
    for own, place in ((goals, places), (mirrored, np.column_stack([30 - places[:, 0], places[:, 1]]))):
        group = {"name": "g", "positions": place.tolist(), "goals": "out", "speed": 1.3}
        # without avoidance nothing but the choice is looked at
        ends.append(watch(hall([group], own, avoidance="none"), tmp_path).last["x"].to_numpy() < 15)
    assert np.array_equal(ends[0], ~ends[1]) and 5 < ends[0].sum() < 35


def test_a_program_sends_agents_elsewhere_and_back(tmp_path):
    document = hall([{"name": "few", "positions": [[5, 10], [6, 12]], "goals": "out"}])
    with Simulation(document, out=tmp_path / "run.h5") as run:
        for _ in range(10):
            run.step()
        run.set_goal("few[0]", "east")  # by name: no choice any more
        assert run.world.agents.choice.tolist()[0] == -1
        for _ in range(50):
            run.step()
        assert run.world.agents.goal[0] == run.world.goal_names.index("east")
        run.set_goal("few[0]", "out")
        verdict = run.run()
    assert verdict.arrived == 2
    assert crowdsim(["verify", tmp_path / "run.h5"]).returncode == 0


def test_what_no_scenario_asks_for_costs_no_column():
    with Simulation(hall([CROWD | {"goals": "west", "count": 2}])) as run:
        assert "choice" in run.world.agents.columns  # it has a goal that is a choice
    document = hall([CROWD | {"goals": "west", "count": 2}])
    del document["goals"]["out"]
    with Simulation(document) as run:
        run.step()
        assert "choice" not in run.world.agents.columns


@pytest.mark.sample(1)
@pytest.mark.parametrize("leader", [False, True])
def test_a_party_leaves_by_one_exit_though_its_members_choose(leader, tmp_path):
    together = {"size": 3, "leader": leader}
    group = {"name": "crowd", "count": 60, "region": {"box": [6, 1, 22, 19]}, "goals": "out"}
    exits = {}
    for name, more in (("alone", {}), ("parties", {"together": together})):
        seen = watch(hall([group | more], out={"gain": 0.5}), tmp_path)
        assert seen.verdict.arrived == 60
        west = (seen.last["x"] < 15.0).to_numpy()
        exits[name] = west.reshape(20, 3).sum(axis=1)  # members of a party have one index after the other
        assert 10 < west.sum() < 50
    assert np.isin(exits["alone"], (1, 2)).any()
    assert np.isin(exits["parties"], (0, 3)).all(), exits["parties"]
    assert "its party goes there" in set(seen.chosen["reason"])


def beside_others(right, left, worth, **more):
    """Return a hall in which one agent, 1 m nearer to the west, stands among others of which so many go each
    side.
    """
    places = [[12.0 + 1.2 * (number % 5), 11.5 + 1.2 * (number // 5)] for number in range(right + left)]
    groups = [{"name": "one", "positions": [[14.5, 10]], "goals": "out", "speed": 1.3}]
    for name, own in (("east", places[:right]), ("west", places[right:])):
        if own:
            groups.append({"name": f"to {name}", "positions": own, "goals": name, "speed": 1.3})
    influence = {"social_influence": {"worth": worth, **more.pop("influence", {})}} if worth else {}
    return hall(groups, out={"gain": 0, "specific_flow": 10, **influence}, **more)


def goes_east(document, folder):
    seen = watch(document, folder)
    return bool(seen.last[seen.last["group"] == "one"]["x"].iloc[0] > 28), seen


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("right", "left", "east"), [(10, 0, True), (8, 2, True), (5, 5, False), (2, 8, False)]
)
def test_the_larger_the_share_of_those_that_go_there_the_more_an_agent_is_drawn(tmp_path, right, left, east):
    """[Kinateder 2021]: it is the share that draws an agent. Nearer by 1 m is 0.8 s sooner."""
    found, seen = goes_east(beside_others(right, left, 3.0), tmp_path)
    assert found == east
    reasons = seen.chosen[seen.chosen["group"] == "one"]["reason"].tolist()
    assert reasons == (["others go there"] if east else ["nearest"])
    assert not goes_east(beside_others(right, left, 0.0), tmp_path)[0]


@pytest.mark.parametrize(
    "more",
    [
        {"influence": {"within": 1.0}},
        {"influence": {"share": 0.0}},
        {"geometry": {"walkable": {"box": [0, 0, 30, 20]}, "obstacles": [{"box": [11, 10.7, 19, 10.9]}]}},
    ],
    ids=["far off", "not drawn", "behind a wall"],
)
def test_others_that_it_does_not_see_do_not_draw_an_agent(tmp_path, more):
    assert not goes_east(beside_others(10, 0, 3.0, **more), tmp_path)[0]


def test_others_on_another_storey_do_not_draw_an_agent(tmp_path):
    floors = [
        {"name": name, "elevation": 4.0 * number, "walkable": {"box": [0, 0, 30, 20]}}
        for number, name in enumerate(("low", "high"))
    ]
    for storey, east in (("low", True), ("high", False)):
        scene = beside_others(10, 0, 3.0, geometry={"storeys": floors})
        for goal in ("west", "east"):
            scene["goals"][goal]["storey"] = "low"
        scene["goals"]["above"] = {"exit": {"box": [29.8, 9, 30.2, 11]}, "storey": "high"}
        scene["goals"]["out"]["quickest_of"] += ["above"]
        scene["groups"][0]["storey"], scene["groups"][1]["storey"] = "low", storey
        scene["groups"][1]["goals"] = "east" if storey == "low" else "above"
        assert goes_east(scene, tmp_path)[0] == east


def test_a_crowd_that_is_drawn_by_itself_does_not_change_to_and_fro(tmp_path):
    scene = hall([CROWD], out={"social_influence": {"worth": 6}})
    seen, alone = watch(scene, tmp_path), watch(hall([CROWD]), tmp_path)
    assert seen.verdict.arrived == 150
    own = seen.chosen[seen.chosen["before"] != ""].groupby("id")["time_s"]
    assert own.size().max() <= 2 and all(np.diff(times).min(initial=99.0) >= 30.0 for _, times in own)
    # more of them take the exit where most go
    assert (seen.last["x"] < 15).sum() >= (alone.last["x"] < 15).sum()


@pytest.mark.parametrize("navigation", ["mesh", "grid"])
def test_runs_of_those_that_are_drawn_are_the_same_on_threads_and_from_saved_states(navigation):
    scene = hall(
        [CROWD | {"count": 40}], out={"social_influence": {"worth": 5, "share": 0.5}}, navigation=navigation
    )
    assert_same_on_threads_and_from_saved_states(scene, 120, (0, 1, 21, 40, 77))


@pytest.mark.parametrize(
    "navigation",
    [{"kind": "optimal", "tile_size": 1.3}, {"kind": "mesh", "tile_size": 1.3}, "optimal", "visibility"],
    ids=str,
)
def test_agents_get_to_a_region_with_room_for_them_at_one_end_of_its_rim_only(tmp_path, navigation):
    """Straight lines to there lead over the rest of the region, where a wall leaves them no room."""
    document = {
        "version": 1,
        "tick": 0.05,
        "stop": {"after": 40},
        "geometry": {
            "walkable": {"box": [0, 0, 6, 6]},
            "obstacles": [{"box": [1, 1.45, 2, 4.6]}, {"box": [1.2, 0, 6, 1.2]}],
        },
        "goals": {"corner": {"region": {"box": [0.93, 1.2, 1.9, 2.2]}}},
        "groups": [
            {"name": "a", "positions": [[4, 5], [4, 3], [5, 2]], "goals": ["corner"], "radius": 0.2},
        ],
        "navigation": navigation,
        "record": {"rate": 20},
    }
    found = watch(document, tmp_path)
    assert found.verdict.arrived == 3
    x, y = found.last["x"], found.last["y"]
    assert (abs(x - 0.93) < 0.02).all() and (abs(y - 1.23) < 0.1).all()
