"""Ground that is forbidden or dear to some: measured from recorded positions alone."""

import json

import numpy as np
import pandas as pd
import pytest

from crowdsim.errors import ScenarioError
from crowdsim.measures import choices
from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import parse_scenario
from crowdsim.setup.build import build_world
from crowdsim.setup.examine import examine
from crowdsim.simulation.simulation import Simulation

PLANNERS = ("mesh", "optimal", "visibility", "hierarchical", "grid", "s2-grid")
LAWN = (8.0, 3.0, 22.0, 17.0)


def park(groups, ground=None, **more):
    """Return a park with a lawn between two gates."""
    return {
        "version": 1,
        "name": "park",
        "seed": 2,
        "tick": 0.05,
        "stop": {"after": 60},
        "geometry": {
            "walkable": {"box": [0, 0, 30, 20]},
            "terrain": [{"name": "lawn", "area": {"box": list(LAWN)}, **(ground or {})}],
        },
        "goals": {"gate": {"region": {"box": [28, 8, 30, 12]}}},
        "groups": groups,
        "record": {"rate": 20},
        **more,
    }


def walkers(name, navigation, region=(0.5, 6, 4, 14), count=5, **more):
    return {
        "name": name,
        "count": count,
        "region": {"box": list(region)},
        "goals": ["gate"],
        "speed": 1.3,
        "radius": 0.2,
        "navigation": navigation,
        **more,
    }


def run(document, path):
    """Run a scene; return its trajectories, with the groups of the agents, and its verdict."""
    with Simulation(parse_scenario(json.dumps(document)), out=path) as simulation:
        outcome = simulation.run()
    with open_run(path) as recorded:
        rows = recorded.trajectories()
    counts = {each["name"]: each["count"] for each in document["groups"]}
    names = sorted(counts)  # agents are numbered by the names of their groups
    of_agent = np.repeat(names, [counts[name] for name in names])
    return rows.assign(group=of_agent[rows.id.to_numpy() - 1]), outcome


def depth(rows):
    """Return how deep in the lawn positions lie (m); negative outside."""
    x0, y0, x1, y1 = LAWN
    return pd.concat([rows.x - x0, x1 - rows.x, rows.y - y0, y1 - rows.y], axis=1).min(axis=1)


@pytest.mark.sample(1)
@pytest.mark.parametrize("planner", PLANNERS)
def test_those_to_whom_a_lawn_is_forbidden_walk_round_it_and_the_others_cross_it(planner, tmp_path):
    rows, outcome = run(
        park([walkers("kept off", {"kind": planner, "forbid": ["lawn"]}), walkers("free", planner)]),
        tmp_path / "run.h5",
    )
    deep = depth(rows)
    # pushed by others they may step onto its rim
    assert deep[rows.group == "kept off"].max() < 0.25
    assert (deep[rows.group == "free"] > 1.0).mean() > 0.4
    assert outcome.arrived == 10
    # round the lawn they go close by its corners: from (2.5, 10) some 31 m, against 26 straight on
    last = rows.groupby(["group", "id"]).frame.max().groupby("group").median()
    assert 1.05 < last["kept off"] / last["free"] < 1.5


@pytest.mark.sample(1)
@pytest.mark.parametrize("planner", PLANNERS)
def test_an_agent_on_forbidden_ground_leaves_it_over_the_nearest_rim_and_stays_off(planner, tmp_path):
    group = walkers("gardeners", {"kind": planner, "forbid": ["lawn"]}, region=(9, 5, 11, 15), count=4)
    rows, outcome = run(park([group]), tmp_path / "run.h5")
    assert outcome.arrived == 4
    for _, path in rows.groupby("id"):
        on = depth(path) > 0.05
        assert on.iloc[0]
        left = int(np.argmin(on.to_numpy()))
        assert not on.iloc[left:].any(), "it comes back onto the lawn"
        # the western rim is 1 to 3 m away; they cross it on the straight line to its corner
        assert left * 0.05 < 8.0 and path.x.iloc[left] < LAWN[0] + 0.1


@pytest.mark.sample(1)
@pytest.mark.parametrize("planner", PLANNERS)
def test_what_only_some_ground_is_allowed_keeps_to_it(planner, tmp_path):
    group = walkers("cars", {"kind": planner, "allow": ["lawn"]}, region=(9, 9, 10, 11), count=2)
    document = park([group], goals={"gate": {"region": {"box": [20, 9, 21.5, 11]}}})
    document["geometry"]["obstacles"] = [{"box": [14, 4, 16, 16.5]}]
    # between the block and the rim of the lawn there is 1 m below, 0.5 m above
    rows, outcome = run(document, tmp_path / "run.h5")
    assert outcome.arrived == 2 and (depth(rows) > -0.05).all()


@pytest.mark.sample(1)
@pytest.mark.parametrize("planner", ["mesh", "grid", "s2-grid"])
@pytest.mark.parametrize(("price", "crosses"), [(1.05, True), (1.6, False), (8.0, False)])
def test_a_price_is_paid_where_the_detour_costs_more(planner, price, crosses, tmp_path):
    # straight on 14 m of lawn, round it 6 m more than straight on: a metre of lawn is worth it up to 1.43
    group = walkers("people", {"kind": planner, "prices": {"lawn": price}}, region=(3, 9.5, 4, 10.5), count=2)
    rows, _ = run(park([group]), tmp_path / "run.h5")
    assert (depth(rows).groupby(rows.id).max() > 3.0).all() == crosses
    speed = np.hypot(*rows[rows.id == 1][["x", "y"]].diff().T.to_numpy())[20:100] / 0.05
    assert np.median(speed) == pytest.approx(1.3, abs=0.02)  # a price makes nobody slow


def test_prices_below_one_draw_people_onto_a_path(tmp_path):
    groups = [walkers("people", {"kind": "mesh", "prices": {"lawn": 0.3}}, region=(3, 1, 4, 1.5), count=2)]
    document = park(groups, goals={"gate": {"region": {"box": [28, 0.5, 30, 1.5]}}})
    rows, _ = run(document, tmp_path / "run.h5")
    beside = rows[rows.x.between(LAWN[0] + 1.0, LAWN[2] - 1.0)]
    assert (depth(beside) > -0.1).all()  # straight on leads 2 m beside it


def complaint(navigation, **more):
    with pytest.raises(ScenarioError) as found:
        parse_scenario(json.dumps(park([walkers("people", navigation, **more)])))
    return " ".join(str(found.value).split())


@pytest.mark.parametrize(
    ("navigation", "says"),
    [
        ({"forbid": ["lawm"]}, 'there is no terrain "lawm" Did you mean "lawn"?'),
        ({"forbid": "lawn"}, "'lawn' is not a list of at most 1000 names Default: none."),
        ({"forbid": ["lawn"], "allow": ["lawn"]}, "Keep one of them"),
        ({"kind": "mesh", "prices": {"lawn": 0}}, "lawn: 0 is outside (0, 1e+06]"),
        ({"kind": "mesh", "prices": {"lawn": "dear"}}, "lawn: 'dear' is not a number"),
        ({"kind": "mesh", "prices": ["lawn"]}, "is not a mapping {name: number, ...}"),
        ({"kind": "mesh", "prices": {"lawn": 2}, "forbid": ["lawn"]}, "no path leads there"),
        (
            {"kind": "optimal", "prices": {"lawn": 2}},
            "the best ones bend at borders. Take kind: mesh or grid",
        ),
        ({"kind": "visibility", "prices": {"lawn": 2}}, "the best ones bend at borders"),
        ({"kind": "mesh", "unseen_by": ["guard"]}, 'there is no group "guard"'),
        ({"kind": "mesh", "unseen_by": ["people"]}, '"people" would hide from itself'),
        ({"kind": "optimal", "unseen_by": ["people"]}, "whatever a metre costs"),
        ({"kind": "mesh", "watch_interval": 2}, "does nothing while unseen_by is nothing"),
        ({"kind": "mesh", "exposure": 2}, "does nothing while unseen_from is nothing, and unseen_by too"),
    ],
)
def test_what_is_wrong_with_kinds_of_ground_is_told(navigation, says):
    assert says in complaint(navigation)


def test_the_ground_of_a_group_is_recorded_and_read_again():
    document = park([walkers("people", {"kind": "mesh", "forbid": ["lawn"]}), walkers("others", "optimal")])
    scenario = parse_scenario(json.dumps(document))
    text = scenario.canonical()
    assert "forbid: [lawn]" in text and "allow" not in text and "prices" not in text
    assert parse_scenario(text).canonical() == text
    document["groups"][0]["navigation"] = {"kind": "mesh", "prices": {"lawn": 2.5}}
    text = parse_scenario(json.dumps(document)).canonical()
    assert "prices: {lawn: 2.5}" in text and parse_scenario(text).canonical() == text


def moat(groups, **more):
    """Return a hall with a lawn from wall to wall, and an exit on either side."""
    return {
        "version": 1,
        "name": "moat",
        "seed": 1,
        "tick": 0.1,
        "stop": {"after": 120},
        "geometry": {
            "walkable": {"box": [0, 0, 40, 10]},
            "terrain": [{"name": "lawn", "area": {"box": [26, 0, 30, 10]}}],
        },
        "goals": {
            "west": {"exit": {"box": [-0.2, 4, 0.2, 6]}},
            "east": {"exit": {"box": [39.8, 4, 40.2, 6]}},
            "out": {"quickest_of": ["west", "east"]},
        },
        "groups": groups,
        **more,
    }


NEAR = (22, 1, 25, 9)  # the eastern exit, and the lawn before it


@pytest.mark.sample(1)
@pytest.mark.parametrize("planner", PLANNERS)
def test_exits_beyond_forbidden_ground_are_not_chosen_and_others_choose_them(planner, tmp_path):
    kept_off = walkers("kept off", {"kind": planner, "forbid": ["lawn"]}, NEAR, 6, goals="out")
    rows, outcome = run(moat([kept_off, walkers("free", planner, NEAR, 6, goals="out")]), tmp_path / "run.h5")
    last = rows.sort_values("frame").groupby("id").last()
    assert outcome.arrived == 12 and outcome.choice_changes == 0
    assert (last.x[last.group == "kept off"] < 1.0).all() and (last.x[last.group == "free"] > 39.0).all()
    chosen = choices(tmp_path / "run.h5")
    assert set(chosen.reason) == {"nearest"} and len(chosen) == 12


@pytest.mark.sample(1)
@pytest.mark.parametrize("planner", ("mesh", "grid", "s2-grid"))
def test_exits_are_chosen_on_the_ground_as_it_is_after_it_has_changed(planner, tmp_path):
    """A cart comes to stand: polygons have other numbers from then on, whatever paths are searched on."""
    cart = {
        "name": "cart",
        "shape": {"disc": 0.4},
        "path": [[15, 1], [15, 2]],
        "speed": 2,
        "stands_after": 0.5,
    }
    kept_off = walkers("kept off", {"kind": planner, "forbid": ["lawn"]}, NEAR, 6, goals="out")
    free = walkers("free", planner, NEAR, 6, goals="out")
    scene = moat([kept_off, free], obstacles=[cart])
    rows, outcome = run(scene, tmp_path / "run.h5")
    last = rows.sort_values("frame").groupby("id").last()
    assert outcome.arrived == 12 and outcome.choice_changes == 0
    assert (last.x[last.group == "kept off"] < 1.0).all() and (last.x[last.group == "free"] > 39.0).all()


@pytest.mark.sample(1)
@pytest.mark.parametrize("planner", PLANNERS)
def test_a_connection_leads_over_forbidden_ground_where_no_walk_does(planner, tmp_path):
    kept_off = walkers("kept off", {"kind": planner, "forbid": ["lawn"]}, NEAR, 3, goals="east")
    free = walkers("free", planner, NEAR, 3, goals="east")
    ends = [{"area": {"box": [24, 2, 25.5, 4]}}, {"area": {"box": [30.5, 2, 32, 4]}}]
    bridge = {"bridge": {"passage": {"ends": ends, "time": 20}}}
    _, outcome = run(moat([kept_off, free], connections=bridge), tmp_path / "run.h5")
    assert outcome.arrived == 6
    with open_run(tmp_path / "run.h5") as recorded:
        events = recorded.events()
    boarded = events[events.kind == "BOARDED"].entity
    # agents are numbered by the names of their groups: the first three walk straight on, in less than 20 s
    assert sorted(boarded) == [4, 5, 6]


@pytest.mark.sample(1)
@pytest.mark.parametrize("planner", PLANNERS)
def test_a_connection_that_ends_on_forbidden_ground_is_no_choice_even_to_a_goal_there(planner, tmp_path):
    kept_off = walkers("kept off", {"kind": planner, "forbid": ["lawn"]}, NEAR, 3, goals="picnic")
    free = walkers("free", planner, NEAR, 3, goals="picnic")
    ends = [{"area": {"box": [24, 2, 25.5, 4]}}, {"area": {"box": [28, 2, 29.5, 4]}}]
    bridge = {"bridge": {"passage": {"ends": ends, "time": 0.5}}}
    document = moat([kept_off, free], connections=bridge, stop={"after": 20})
    document["goals"]["picnic"] = {"region": {"box": [28.5, 1, 30, 9]}}
    rows, _ = run(document, tmp_path / "run.h5")
    with open_run(tmp_path / "run.h5") as recorded:
        events = recorded.events()
    assert set(events[events.kind == "BOARDED"].entity) <= {1, 2, 3}  # groups are numbered by their names
    assert rows.x[rows.group == "kept off"].max() < 27.0


@pytest.mark.sample(2)
@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("line", [None, [[23.6, 3.2], [22.4, 3.2], [22.4, 8]], [[23.6, 8], [20, 8]]])
def test_those_that_wait_for_a_connection_do_so_off_forbidden_ground(planner, line, tmp_path):
    """Beside where they go in there is a bed: none stands on it, and all get across."""
    navigation = {"kind": planner, "forbid": ["lawn", "bed"]}
    group = walkers("kept off", navigation, (10, 1, 19, 9), 10, goals="east")
    ends = [{"area": {"box": [24, 2, 25.5, 4]}}, {"area": {"box": [30.5, 2, 32, 4]}}]
    if line is not None:
        ends[0]["line"] = line
    bridge = {"bridge": {"passage": {"ends": ends, "time": 3, "capacity": 1}}}
    document = moat([group], connections=bridge, record={"rate": 10})
    document["geometry"]["terrain"].append({"name": "bed", "area": {"box": [20, 4, 24, 10]}})
    rows, outcome = run(document, tmp_path / "run.h5")
    assert outcome.arrived == 10
    assert (rows.x.between(20.5, 23.5) & (rows.y > 4.5)).mean() < 0.01  # they are pushed there


@pytest.mark.parametrize("has_lane", [False, True])
def test_a_goal_beyond_forbidden_ground_is_told_before_the_run_and_by_its_verdict(has_lane):
    lane = {"lane": {"points": [[25, 5], [32, 5]], "factor": 0.3}} if has_lane else {}
    kept_off = walkers("kept off", {"kind": "optimal", "forbid": ["lawn"]}, NEAR, 2, goals="east")
    document = moat([kept_off], waypaths=lane)
    scenario = parse_scenario(json.dumps(document))
    (problem,) = examine(build_world(scenario))[0]
    assert 'have no path to goal "east" over the ground that navigation leaves them: forbid is lawn' in str(
        problem
    )
    with Simulation(scenario) as simulation:
        verdict = simulation.run()
    assert set(verdict.reasons) == {"no path to its goal over ground that it may use"}


@pytest.mark.parametrize("planner", ["mesh", "optimal", "visibility"])
def test_an_agent_that_is_pushed_across_forbidden_ground_goes_on_from_where_it_comes_off(planner):
    document = park(
        [walkers("one", {"kind": planner, "forbid": ["lawn"]}, count=1, region=(9, 8.0, 9.6, 8.4))],
        ground={"area": {"box": [8, 9.2, 22, 9.8]}},
    )
    with Simulation(parse_scenario(json.dumps(document))) as simulation:
        agents, places = simulation.world.agents, []
        for _ in range(4):
            simulation.step()
        simulation.set_preferred_velocity(agents.entity, [0.0, 1.0])
        while agents.position[0, 1] < 10.2:
            simulation.step()
        simulation.set_preferred_velocity(agents.entity, None)
        for _ in range(200):
            simulation.step()
            places.append(agents.position[0].copy())
    beyond = np.array(places)
    assert (beyond[beyond[:, 0] < 21.5, 1] > 9.75).all(), "it goes back over the lawn"
    assert beyond[-1, 0] > 20.0
