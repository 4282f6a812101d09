"""Agents on drawn lines, looked at from their recorded positions."""

import itertools

import numpy as np
import pytest

import crowdsim
from crowdsim.errors import ScenarioError
from crowdsim.measures import rides
from crowdsim.scenario.canonical import canonical_data
from crowdsim.scenario.load import as_scenario, load_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import SCENARIOS, assert_same_on_threads_and_from_saved_states

PLANNERS = ["mesh", "optimal", "visibility", "hierarchical", "grid", "s2-grid"]
MODELS = ["orca", "clearpath", "hrvo", "sampled-hrvo", "none"]
TICK_S = 0.05


def hall(waypaths, groups, *, size=(40, 10), **more):
    """Return a hall with exits at its ends, in the middle of the walls."""
    wide, deep = size
    return {
        "version": 1,
        "seed": 4,
        "tick": TICK_S,
        "geometry": {"walkable": {"box": [0, 0, wide, deep]}},
        "goals": {
            "east": {"exit": {"box": [wide - 1, deep / 2 - 1, wide, deep / 2 + 1]}},
            "west": {"exit": {"box": [0, deep / 2 - 1, 1, deep / 2 + 1]}},
        },
        "waypaths": waypaths,
        "groups": groups,
        "record": {"rate": 1 / TICK_S},
        "stop": {"after": 90},
        **more,
    }


def walker(x=1.5, y=5.0, **more):
    return {"name": "w", "positions": [[x, y]], "goals": "east", **more}


def run_of(document, tmp_path):
    with Simulation(document, out=tmp_path / "run.h5") as run:
        verdict = run.run()
    with crowdsim.open_run(tmp_path / "run.h5") as kept:
        return verdict, kept.trajectories(columns=["x", "y", "velocity", "gait"]), kept.events()


def cheapest(begin, end, lines, factor):
    """Return the cost of the cheapest way, and what it is made of, by trying all sequences of at most two
    lines on open ground.
    """
    legs = [
        (number, i, j, abs(j - i) and along(points, i, j))
        for number, points in enumerate(lines)
        for i, j in itertools.permutations(range(len(points)), 2)
    ]
    best = (np.hypot(*(end - begin)), ())
    for count in (1, 2):
        for used in itertools.permutations(legs, count):
            place, cost = begin, 0.0
            for number, i, j, length in used:
                cost += np.hypot(*(lines[number][i] - place)) + factor * length
                place = lines[number][j]
            cost += np.hypot(*(end - place))
            if cost < best[0] - 1e-9:
                best = (cost, tuple((number, i, j) for number, i, j, _ in used))
    return best


def along(points, i, j):
    own = points[min(i, j) : max(i, j) + 1]
    return np.hypot(*np.diff(own, axis=0).T).sum()


@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 60))]
)
def test_an_agent_takes_the_cheapest_of_all_sequences_of_walks_and_lines(tmp_path, seed):
    rng = np.random.default_rng(seed)
    factor = float(rng.uniform(0.3, 0.9))
    lines = [rng.uniform((2, 1), (38, 9), (3, 2)).round(3) for _ in range(2)]
    begin, end = np.array([1.5, rng.uniform(1, 9)]), np.array([38.0, rng.uniform(1, 9)])
    waypaths = {
        f"line {number}": {"points": points.tolist(), "factor": factor} for number, points in enumerate(lines)
    }
    one = walker(*begin.tolist(), goals={"point": end.tolist(), "arrive_within": 0.1})
    verdict, _, _ = run_of(hall(waypaths, [one]), tmp_path)
    assert verdict.arrived == 1
    table = rides(tmp_path / "run.h5")
    taken = [
        (int(name.split()[1]), first, last)
        for name, first, last in table[["connection", "begin", "end"]].itertuples(index=False)
    ]
    assert tuple(taken) == cheapest(begin, end, lines, factor)[1]


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 11))])
def test_cars_keep_right_and_people_to_the_pavements_and_the_crossing(tmp_path, seed):
    scenario = load_scenario(SCENARIOS / "street.yaml", sets=[f"seed={seed}"])
    with Simulation(scenario, out=tmp_path / "run.h5") as run:
        assert run.run().arrived == 44
    with crowdsim.open_run(tmp_path / "run.h5") as kept:
        seen = kept.trajectories(columns=["x", "y", "velocity"])
        seen = seen.merge(kept.roster()[["entity", "group_name"]], left_on="id", right_on="entity")
    speed = np.hypot(seen["velocity_x"], seen["velocity_y"])
    inside, at_crossing = seen["x"].between(12, 108), seen["x"].between(57, 63)
    near_crossing = seen["x"].between(48, 72)
    for group, lane, right in (("eastward", 8.0, seen["y"] < 10.0), ("westward", 12.0, seen["y"] > 10.0)):
        cars = seen["group_name"] == group
        assert right[cars & inside].all()
        assert (seen.loc[cars & inside & ~near_crossing, "y"] - lane).abs().max() < 1.0
        assert speed[cars & at_crossing].max() < 2.0
        assert speed[cars & inside & ~near_crossing].median() > 5.5
    # where a car stands in the way some walk round it
    people = ~seen["group_name"].isin(["eastward", "westward"])
    on_street = seen.loc[people & seen["y"].between(6.05, 13.95), "x"]
    assert on_street.between(50, 70).all() and on_street.between(56, 64).mean() > 0.95
    assert seen.loc[people & seen["y"].between(8, 12), "id"].nunique() == 24


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS)
@pytest.mark.parametrize("model", MODELS)
def test_two_streams_keep_to_their_lanes_under_every_planner_and_model(tmp_path, navigation, model):
    lanes = {
        "eastbound": {"points": [[4, 3], [36, 3]], "one_way": True},
        "westbound": {"points": [[36, 7], [4, 7]], "one_way": True},
    }
    groups = [
        {"name": "e", "count": 8, "region": {"box": [1, 1, 8, 9]}, "goals": "east"},
        {"name": "w", "count": 8, "region": {"box": [32, 1, 39, 9]}, "goals": "west"},
    ]
    verdict, seen, events = run_of(hall(lanes, groups, navigation=navigation, avoidance=model), tmp_path)
    assert verdict.arrived == 16
    start = seen.drop_duplicates("id").set_index("id")["x"]
    middle = seen[seen["x"].between(15, 25)]
    goes_east = middle["id"].map(start) < 20
    # some overtake, on their half of the hall
    assert (middle.loc[goes_east, "y"] < 4.9).all() and (middle.loc[~goes_east, "y"] > 5.1).all()
    assert (middle.loc[goes_east, "y"] - 3.0).abs().median() < 0.6
    assert (events["kind"] == "ALIGHTED").sum() >= 15  # one begins beyond where it would join the line


def test_one_that_is_pushed_aside_comes_back_to_the_line(tmp_path):
    post = {"name": "post", "positions": [[15, 3.05]], "radius": 0.4, "immovable": True}
    lane = {"lane": {"points": [[3, 3], [36, 3]]}}
    _, seen, _ = run_of(hall(lane, [walker(2, 3, radius=0.25), post]), tmp_path)
    own = seen[seen["id"] == 2] if (seen.loc[seen["id"] == 1, "x"].nunique() == 1) else seen[seen["id"] == 1]
    at_post = own[own["x"].between(14.5, 15.5)]
    assert (at_post["y"] - 3.0).abs().max() > 0.4
    assert (own.loc[own["x"].between(19, 33), "y"] - 3.0).abs().max() < 0.1


def test_at_waypoints_they_wait_slow_down_and_crouch_and_walk_as_usual_behind_the_line(tmp_path):
    lane = {
        "points": [
            [3, 5],
            {"at": [10, 5], "wait": 2},
            {"at": [16, 5], "speed": 0.5},
            {"at": [22, 5], "crouch": True},
            {"at": [27, 5], "crouch": False, "speed": 1.5},
            [34, 5],
        ],
        "one_way": True,
    }
    _, seen, _ = run_of(hall({"lane": lane}, [walker(speed=1.2)]), tmp_path)
    speed = np.hypot(seen["velocity_x"], seen["velocity_y"])
    stands = seen[(speed < 0.05) & seen["x"].between(9, 11)]
    assert len(stands) * TICK_S == pytest.approx(2.0, abs=0.15)
    for low, high, wanted in ((4, 9, 1.2), (17, 21, 0.6), (23, 26, 0.6), (28, 33, 1.8), (35, 38, 1.2)):
        assert speed[seen["x"].between(low, high)].median() == pytest.approx(wanted, abs=0.01), low
    crouches = seen[seen["gait"] == 2]
    assert crouches["x"].min() == pytest.approx(22, abs=0.4) and crouches["x"].max() == pytest.approx(
        27, abs=0.4
    )


def test_a_spline_leads_through_its_waypoints_without_a_corner(tmp_path):
    points = [[3, 5], [10, 2], [20, 8], [30, 3], [37, 5]]
    scenario = as_scenario(hall({"lane": {"points": points, "smooth": True}}, [walker()]))
    (lane,) = scenario.waypaths
    assert np.allclose(lane.line[lane.waypoint], points)
    step = np.diff(lane.line, axis=0)
    turn = (step[:-1] * step[1:]).sum(axis=1) / np.prod(
        [np.hypot(*each.T) for each in (step[:-1], step[1:])], axis=0
    )
    assert turn.min() > np.cos(np.radians(20))
    place, forward = lane.rest_of(2.0, 30.0, 0.5)
    assert np.hypot(*np.diff(place, axis=0).T).max() <= 0.5 + 1e-9 and np.allclose(np.hypot(*forward.T), 1.0)
    back, heading = lane.rest_of(30.0, 2.0, 0.5)
    assert np.allclose(back[::-1], place) and (heading[:-1] * forward[::-1][:-1]).sum(axis=1).max() < -0.9
    _, seen, _ = run_of(
        hall({"lane": {"points": points, "smooth": True, "factor": 0.5}}, [walker()]), tmp_path
    )
    for x, y in points[1:-1]:
        assert np.hypot(seen["x"] - x, seen["y"] - y).min() < 0.5


def test_one_way_groups_and_excludes_are_kept_to(tmp_path):
    lane = {
        "lane": {"points": [[4, 1.5], [36, 1.5]], "one_way": True, "factor": 0.3, "groups": ["e", "none"]}
    }
    groups = [
        {"name": "e", "positions": [[2, 4]], "goals": "east"},
        {"name": "w", "positions": [[38, 4]], "goals": "west"},
        {"name": "f", "positions": [[2, 6]], "goals": "east"},
        {"name": "none", "positions": [[2, 7]], "goals": "east", "excludes": ["waypath"]},
    ]
    _, _, events = run_of(hall(lane, groups), tmp_path)
    used = events.loc[events["kind"] == "BOARDED", "entity"].tolist()
    assert len(used) == 1 and used[0] == events.loc[events["kind"] == "SPAWN", "entity"].iloc[0]


def test_one_that_is_sent_elsewhere_leaves_the_line_and_walks_at_its_own_speed(tmp_path):
    lane = {"lane": {"points": [{"at": [3, 5], "speed": 0.5}, [36, 5]], "factor": 0.3}}
    with Simulation(hall(lane, [walker(speed=1.2)]), out=tmp_path / "run.h5") as run:
        for _ in range(200):
            run.step()
        assert np.hypot(*run.agents.velocity[0]) == pytest.approx(0.6, abs=0.01)
        run.set_goal("w[0]", "west")
        for _ in range(100):
            run.step()
        assert np.hypot(*run.agents.velocity[0]) == pytest.approx(1.2, abs=0.01)
    with crowdsim.open_run(tmp_path / "run.h5") as kept:
        assert "LEFT_GATE" in set(kept.events()["kind"])
    assert rides(tmp_path / "run.h5")["outcome"].tolist() == ["left"]


def test_a_line_through_a_closed_door_is_left_out_until_it_is_open(tmp_path):
    rooms = {
        "walkable": [
            {"box": [0, 0, 20, 10]},
            {"box": [20.2, 0, 40, 10]},
            {"box": [20, 1, 20.2, 3]},
            {"box": [20, 7, 20.2, 9]},
        ],
        "areas": [{"name": "door", "area": {"box": [20, 1, 20.2, 3]}}],
    }
    lane = {"lane": {"points": [[4, 2], [36, 2]], "factor": 0.3}}
    arrivals = {
        "name": "w",
        "arrive": {"rate": 0.5, "at_most": 20},
        "region": {"box": [1, 1, 3, 9]},
        "goals": "east",
    }
    document = hall(
        lane, [arrivals], geometry=rooms, events=[{"at": 10, "close": "door"}, {"at": 25, "open": "door"}]
    )
    verdict, seen, _ = run_of(document, tmp_path)
    assert verdict.arrived == 20
    through = seen[seen["x"].between(20, 20.2)]
    by_lane = through[through["y"] < 4].groupby("id")["frame"].min() * TICK_S
    by_other = through[through["y"] > 6].groupby("id")["frame"].min() * TICK_S
    assert not by_lane.between(10.5, 25).any() and len(by_lane) > 5 and by_other.between(10, 45).sum() > 3


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS)
def test_those_kept_off_the_lawn_under_a_line_leave_it_before_and_join_it_behind(tmp_path, navigation):
    ground = {
        "walkable": {"box": [0, 0, 40, 10]},
        "terrain": [{"name": "lawn", "area": {"box": [16, 0, 24, 6]}}],
    }
    lane = {"lane": {"points": [[4, 3], [12, 3], [28, 3], [36, 3]], "factor": 0.3}}
    kept_off = walker(y=3, navigation={"kind": navigation, "forbid": ["lawn"]})
    free = {**walker(y=4, navigation=navigation), "name": "x"}
    verdict, seen, _ = run_of(hall(lane, [kept_off, free], geometry=ground), tmp_path)
    assert verdict.arrived == 2
    own = seen[seen["id"] == 1]
    assert not (own["x"].between(16.2, 23.8) & own["y"].between(0, 5.8)).any()
    table = rides(tmp_path / "run.h5")
    parts = {number: own[["begin", "end"]].to_numpy().tolist() for number, own in table.groupby("id")}
    assert parts == {1: [[0, 1], [2, 3]], 2: [[0, 3]]}


def test_a_line_that_begins_on_forbidden_ground_is_joined_behind_it(tmp_path):
    ground = {
        "walkable": {"box": [0, 0, 40, 10]},
        "terrain": [{"name": "lawn", "area": {"box": [0, 0, 6, 4]}}],
    }
    lane = {"lane": {"points": [[4, 3], [12, 3], [36, 3]], "factor": 0.3}}
    forbid = {"navigation": {"kind": "mesh", "forbid": ["lawn"]}}
    verdict, _, _ = run_of(hall(lane, [walker(**forbid)], geometry=ground), tmp_path)
    assert verdict.arrived == 1
    assert rides(tmp_path / "run.h5")[["begin", "end"]].to_numpy().tolist() == [[1, 2]]


def test_on_an_upper_floor(tmp_path):
    storeys = [
        {"name": "low", "elevation": 0, "walkable": {"box": [0, 0, 40, 10]}},
        {"name": "high", "elevation": 3, "walkable": {"box": [0, 0, 40, 10]}},
    ]
    document = hall(
        {"lane": {"points": [[4, 2], [36, 2]], "factor": 0.3, "storey": "high"}},
        [walker(storey="high"), {**walker(), "name": "v", "storey": "low", "goals": "below"}],
        geometry={"storeys": storeys},
        goals={
            "east": {"exit": {"box": [39, 4, 40, 6]}, "storey": "high"},
            "below": {"exit": {"box": [39, 4, 40, 6]}, "storey": "low"},
        },
    )
    verdict, seen, _ = run_of(document, tmp_path)
    assert verdict.arrived == 2
    least = seen.groupby("id")["y"].min()
    assert sorted(least.round(1)) == [2.0, 5.0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"points": [[4, 3], [50, 3]]}, r"points\[1\]: \(50, 3\) is off the walkable ground"),
        ({"points": [[4, 3], [20, 3], [36, 0.1]]}, "as near as 0.1 m to a wall, but the widest agent"),
        ({"points": [[4, 3], [4.01, 3]]}, "has to be at least 0.05 m"),
        ({"points": [[4, 3]]}, "points"),
        ({"points": [[4, 3], [36, 3]], "groups": ["v"]}, 'there is no group "v"'),
        ({"points": [[4, 3], [36, 3]], "factor": 1.2}, "factor"),
        ({"points": [[4, 3], [36, 3]], "factor": 0}, "factor"),
        ({"points": [[4, 3], {"at": [36, 3], "wait": 2}], "one_way": True}, "at the last waypoint"),
        ({"points": [{"at": [4, 3], "speed": 9}, [36, 3]]}, "Agents would jump over each other"),
        ({"points": [[1 + 0.5 * k, 3] for k in range(65)]}, "points"),
    ],
)
def test_what_cannot_be_is_refused_when_the_scenario_is_read(change, says):
    with pytest.raises(ScenarioError, match=says):
        as_scenario(hall({"lane": change}, [walker()]))


def test_a_line_through_a_wall_is_refused_with_how_much_of_it():
    document = hall({"lane": {"points": [[4, 3], [36, 3]]}}, [walker()])
    document["geometry"]["obstacles"] = [{"box": [10, 2, 12, 4]}]
    with pytest.raises(ScenarioError, match="2 m of the line from the waypoint before are off"):
        as_scenario(document)
    many = {f"lane {k}": {"points": [[4, 3], [20, 3], [36, 3]]} for k in range(22)}
    with pytest.raises(ScenarioError, match="66 waypoints, but there may be at most 64"):
        as_scenario(hall(many, [walker()]))


def test_threads_and_saved_states_change_nothing():
    scenario = load_scenario(SCENARIOS / "street.yaml")
    assert_same_on_threads_and_from_saved_states(canonical_data(scenario), 300, (3, 60, 170, 275))
