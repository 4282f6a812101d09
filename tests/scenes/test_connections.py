"""Passages, ladders, doors with keys and escalators, seen from recorded places."""

import numpy as np
import pytest

from crowdsim.errors import ScenarioError
from crowdsim.navigation.goals.destinations import Points
from crowdsim.scenario.canonical import canonical_text
from crowdsim.scenario.load import as_scenario, parse_scenario
from crowdsim.setup.routes import Routes, Walkers
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.columns import AgentState
from tests.crowds import assert_same_on_threads_and_from_saved_states
from tests.scenes.behaviour import watch
from tests.scenes.connections import WEST, halves, two, walkers

MODELS = ["orca", "clearpath", "hrvo", "sampled-hrvo", "none"]
PLANNERS = ["mesh", "optimal", "visibility", "hierarchical", "grid", "s2-grid"]


def in_the_gap(seen):
    """Return where agents are that are on no ground, from places alone."""
    return seen.moves[(seen.moves["x"] > 8.0) & (seen.moves["x"] < 12.0)]


def crossings(seen):
    """Return for each agent when it was seen last on one side and first on the other, by name."""
    found = {}
    for name, own in seen.moves.groupby("name"):
        inside = own[(own["x"] > 8.0) & (own["x"] < 12.0)]
        if len(inside):
            found[name] = (inside["time"].min(), inside["time"].max())
    return found


def test_one_alone_takes_the_time_of_the_passage_to_the_tick(tmp_path):
    group = {"name": "w", "positions": [[2, 3]], "goals": "east", "speed": 1.0}
    seen = watch(halves({"ferry": two("passage", time=5)}, [group]), tmp_path / "run.h5")
    assert seen.verdict.arrived == 1
    own = seen.of("w[0]")
    # it stands in the middle of the other end when it has come out, and 5 s before it was where it went in
    out = own.index[(own["x"] == 12.5) & (own["y"] == 3.0)][0]
    went_in = own.loc[round(out - 5.0, 6) :].iloc[0]
    assert went_in["x"] < 8.0 and own.loc[: round(out - 5.1, 6)]["x"].is_monotonic_increasing
    along = own.loc[round(out - 5.0, 6) : out]["x"].diff().dropna().to_numpy()
    assert np.allclose(along, along[0], atol=1e-4) and len(along) == 50


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("navigation", PLANNERS)
@pytest.mark.parametrize("model", MODELS)
def test_no_more_are_inside_than_there_is_room_for(tmp_path, model, navigation, seed):
    scene = halves(
        {"ferry": two("passage", time=4, capacity=2)},
        [walkers(7), walkers(5, name="v", goes="west")],
        seed=seed,
        avoidance=model,
        navigation=navigation,
    )
    seen = watch(scene, tmp_path / "run.h5")
    inside = in_the_gap(seen).groupby("time").size()
    assert inside.max() == 2 and seen.verdict.arrived == 12 and seen.verdict.deepest_overlap_m < 0.05


@pytest.mark.sample(1)
@pytest.mark.parametrize("capacity", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_on_a_ladder_all_go_in_one_direction_with_room_between_them(tmp_path, seed, capacity):
    ladder = two("ladder", climb=2, capacity=capacity, headway=1.5)
    groups = [walkers(5), walkers(4, name="v", goes="west")]
    seen = watch(halves({"rungs": ladder}, groups, seed=seed), tmp_path / "run.h5")
    assert seen.verdict.arrived == 9
    on = in_the_gap(seen)
    assert (1 if capacity == 1 else 2) <= on.groupby("time").size().max() <= capacity
    assert (on.groupby("time")["name"].agg(lambda names: len({each[0] for each in names})) == 1).all()
    begins = seen.events[seen.events["kind"] == "BOARDED"]
    for _, own in begins.groupby("value"):
        assert (own["time"].diff().dropna() > 1.5 - 1e-9).all()


def test_those_that_wait_go_in_by_their_turn(tmp_path):
    scene = halves({"ferry": two("passage", time=3, capacity=1)}, [walkers(9)])
    events = watch(scene, tmp_path / "run.h5").events
    joined = events[events["kind"] == "WAITS_AT"]
    went = events[events["kind"] == "BOARDED"]
    assert joined["name"].tolist() == went["name"].tolist() and len(joined) == 9


def test_a_line_that_is_drawn_moves_up(tmp_path):
    ends = [{"area": WEST, "line": [[6.5, 3], [1, 3]]}, {"area": {"box": [12, 2, 13, 4]}}]
    ferry = {"passage": {"ends": ends, "time": 3, "capacity": 1}}
    seen = watch(halves({"ferry": ferry}, [walkers(5)]), tmp_path / "run.h5")
    last = seen.events[seen.events["kind"] == "BOARDED"].iloc[-1]
    assert np.hypot(last["x"] - 6.5, last["y"] - 3) < 0.5 and seen.verdict.arrived == 5


def test_nobody_goes_in_at_a_gate_from_the_floor_below_it(tmp_path):
    """The path to it leads straight below its area, and back on the floor above."""
    area = {"box": [9, 2, 11, 4]}
    connections = {
        "p": {"passage": {"time": 2, "ends": [{"area": area, "storey": name} for name in ("upper", "roof")]}}
    }
    document = halves(
        connections, [{**walkers(3), "storey": "ground", "goals": "garden"}], stop={"after": 90}
    )
    document["goals"] = {"garden": {"region": {"box": [1, 1, 4, 5]}, "storey": "roof"}}
    document["geometry"] = {
        "storeys": [
            {"name": name, "elevation": 3.0 * number, "walkable": {"box": [0, 0, 20 + 8 * (number == 0), 6]}}
            for number, name in enumerate(("ground", "upper", "roof"))
        ],
        "connections": [
            {
                "name": "stair", "lower": "ground", "upper": "upper",
                "foot": [[26, 2], [26, 4]], "head": [[20, 2], [20, 4]],
            }
        ],
    }  # fmt: skip
    seen = watch(document, tmp_path / "run.h5")
    assert seen.verdict.arrived == 3
    assert seen.moves.loc[seen.moves["x"] > 20.0, "name"].nunique() == 3, "all of them take the stair"


def test_an_escalator_carries_at_its_speed_and_one_way(tmp_path):
    escalator = two("escalator", length=6, speed=0.5, headway=1)
    groups = [walkers(4), walkers(2, name="v", goes="west")]
    seen = watch(halves({"up": escalator}, groups), tmp_path / "run.h5")
    assert seen.verdict.arrived == 4 and seen.verdict.not_arrived == 2
    events = seen.events.set_index("name")
    for name in ("w[0]", "w[3]"):
        own = events.loc[name].set_index("kind")["time"]
        assert own["ALIGHTED"] - own["BOARDED"] == pytest.approx(12.0)


WALL = {"walkable": [{"box": [0, 0, 20, 12]}], "obstacles": [{"box": [9, 0, 9.2, 11]}]}
DOOR = {
    "door": {
        "ends": [{"area": {"box": [8, 0.5, 8.8, 2]}}, {"area": {"box": [9.4, 0.5, 10.2, 2]}}],
        "key": "red",
        "opening": 1,
        "stays_open": 4,
        "capacity": 2,
    }
}


@pytest.mark.parametrize("navigation", ["optimal", "grid"])
def test_those_with_the_key_go_through_the_door_and_the_others_go_round(tmp_path, navigation):
    groups = [
        {"name": "staff", "positions": [[6, 1], [5, 1]], "goals": "east", "keys": ["red"]},
        {"name": "guest", "positions": [[6, 2], [5, 2]], "goals": "east"},
    ]
    scene = halves({"red door": DOOR}, groups, geometry=WALL, navigation=navigation)
    seen = watch(scene, tmp_path / "run.h5")
    assert seen.verdict.arrived == 4
    for name in ("staff[0]", "staff[1]", "guest[0]", "guest[1]"):
        own = seen.of(name)
        at_wall = own[(own["x"] > 8.9) & (own["x"] < 9.3)]
        assert (at_wall["y"].max() < 3.0) == name.startswith("staff"), name


def test_one_without_the_key_and_without_another_path_says_so(tmp_path):
    shut = {**WALL, "obstacles": [{"box": [9, 0, 9.2, 12]}]}
    groups = [
        {"name": "staff", "positions": [[6, 1]], "goals": "east", "keys": ["red"]},
        {"name": "guest", "positions": [[6, 2]], "goals": "east"},
    ]
    verdict = watch(halves({"red door": DOOR}, groups, geometry=shut), tmp_path / "run.h5").verdict
    assert verdict.arrived == 1 and verdict.reasons == {"needs key red": 1}


def test_a_door_is_unlocked_once_for_those_that_come_while_it_is_open(tmp_path):
    groups = [
        {"name": "staff", "positions": [[6.5, 1], [5.5, 1]], "goals": "east", "keys": ["red"], "speed": 1}
    ]
    events = watch(halves({"red door": DOOR}, groups, geometry=WALL), tmp_path / "run.h5").events
    table = events.pivot_table(index="name", columns="kind", values="time", aggfunc="first")
    waited = table["BOARDED"] - table["WAITS_AT"]
    assert waited["staff[0]"] == pytest.approx(1.0) and waited["staff[1]"] < 0.95


def test_agents_take_the_passage_as_long_as_it_is_quicker(tmp_path):
    # round the wall it is some 10 m more; every one that waits is 4 s more
    ends = [DOOR["door"]["ends"][0], DOOR["door"]["ends"][1]]
    slot = {"passage": {"ends": ends, "time": 2, "capacity": 1, "headway": 4}}
    group = {"name": "w", "count": 12, "region": {"box": [0.5, 0.5, 6, 5.5]}, "goals": "east", "speed": 1.2}
    group["premovement"] = {"uniform": {"low": 0, "high": 8}}
    seen = watch(halves({"slot": slot}, [group], geometry=WALL), tmp_path / "run.h5")
    through = set(seen.events[seen.events["kind"] == "BOARDED"]["name"])
    assert seen.verdict.arrived == 12 and 2 <= len(through) <= 8


def test_a_run_is_the_same_on_threads_and_from_every_saved_state():
    scene = halves(
        {
            "ferry": two("passage", time=3, capacity=2),
            "rungs": two("ladder", climb=2),
            "red door": two("door", key="red"),
        },
        [walkers(6), walkers(4, name="v", goes="west"), walkers(3, name="k", keys=["red"])],
    )
    assert_same_on_threads_and_from_saved_states(scene, 220, (1, 45, 60, 75, 110, 160))


def test_routes_to_a_place_whose_number_another_one_gets_are_measured_anew():
    """Numbers of places that nobody goes to any more are given to others, in the same arrays."""
    with Simulation(halves({"ferry": two("passage", time=4)}, [walkers(1)])) as run:
        world, layer = run.world, np.zeros(1, dtype=np.int32)
        routes, agents = Routes(world), world.agents

        def measured(routes, number):
            walkers = Walkers(
                agents.position[:1], world.polygons()[:1], agents.radius[:1], agents.desired_speed[:1]
            )
            legs = routes.measure(walkers, np.array([number], dtype=np.int32))
            return [legs.walk.tolist(), legs.to_goal.tolist()]

        found = []
        for place in ([[1.0, 1.0]], [[6.0, 5.0]], [[3.0, 5.0]]):
            (number,) = world.set_points(Points(np.array(place), layer, np.full(1, 0.1))).tolist()
            found.append(measured(routes, number))
            assert found[-1] == measured(Routes(world), number)
        assert number == len(world.goal_names), "all three had the same number"
        assert found[0] != found[1] != found[2]


def test_programs_send_those_elsewhere_that_wait_and_those_that_ride():
    scene = halves(
        {"ferry": two("passage", time=4, capacity=1)}, [walkers(3)], stop={"after": 40, "when": "never"}
    )
    with Simulation(scene) as run:
        agents, told = run.world.agents, []
        run.on("LEFT_GATE", lambda event: told.append(event))
        while not (agents.activity == AgentState.RIDING).any() or not (agents.ride_step == 2).any():
            run.step()
        rides = int(agents.entity[agents.activity == AgentState.RIDING][0])
        waits = int(agents.entity[agents.ride_step == 2][0])
        run.set_goal(waits, [1.0, 1.0])
        run.set_goal(rides, [14.0, 5.0])
        gone = next(int(each) for each in agents.entity if each not in (rides, waits))
        run.remove_agents(gone)
        for _ in range(250):
            run.step()
        place = {int(entity): agents.position[row] for row, entity in enumerate(agents.entity)}
        assert set(place) <= {rides, waits} and len(told) == 1
        ended = run.run()
        assert ended.arrived == 2  # at the places where the program sent them


OFF = {"box": [9, 1, 10, 2]}


@pytest.mark.parametrize(
    ("connection", "problem"),
    [
        ({}, 'connections.c: nothing says what it is'),
        ({"passage": {"ends": [{"area": WEST}], "time": 3}}, "connections.c.passage.ends: "),
        ({"passage": {"ends": [{"area": WEST}, {"area": OFF}], "time": 3}}, "the area lies 1 m"),
        ({"passage": {"ends": [{"area": WEST}, {"area": WEST}], "time": 0}}, "connections.c.passage.time: "),
        (
            {"lift": {"stops": [{"area": WEST}, {"area": {"box": [12, 2, 13, 4]}}], "capacity": 3}},
            "connections.c.lift.stops[1]: lies 0 m above the stop before",
        ),
        (
            {
                "lift": {
                    "stops": [{"area": WEST}, {"area": {"box": [12, 2, 13, 4]}}],
                    "capacity": 3,
                    "times": [1, 2],
                }
            },
            "connections.c.lift.times: 2 times for 2 stops",
        ),
        (
            {"passage": {"ends": [{"area": WEST, "line": [[7, 3], [9, 3]]}, {"area": WEST}], "time": 3}},
            "connections.c.passage.ends[0].line: 1 m of the line",
        ),
    ],
)  # fmt: skip
def test_mistakes_have_their_place(connection, problem):
    with pytest.raises(ScenarioError) as error:
        as_scenario(halves({"c": connection}, [walkers(1)]))
    assert problem in str(error.value)


def test_a_key_that_no_door_has_is_a_mistake():
    scene = halves({"d": two("door", key="red")}, [walkers(1, keys=["rde"])])
    with pytest.raises(ScenarioError, match=r'groups\[0\].keys\[0\]: no door has the key "rde"'):
        as_scenario(scene)


def test_a_scenario_with_connections_is_written_as_it_was_read():
    scene = halves(
        {
            "ferry": two("passage", time=3),
            "red door": two("door", key="red"),
            "rungs": two("ladder", climb=2),
        },
        [walkers(3, keys=["red"])],
    )
    text = canonical_text(as_scenario(scene))
    again = parse_scenario(text, file="again")
    assert canonical_text(again) == text and len(again.connections) == 3
    assert [each.written for each in again.connections] == [
        each.written for each in as_scenario(scene).connections
    ]


SCREEN = [{"polygon": [[4.2, 0.8], [6.4, 0.8], [6.4, 4.9], [4.2, 4.9]]}]


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS)
@pytest.mark.parametrize(
    ("knows", "wall", "south"),
    [
        (None, False, True),
        ("none", False, False),
        ("seen", False, True),
        ("seen", True, False),
        (None, True, True),
    ],
)
def test_agents_know_the_lines_that_they_may_know(tmp_path, navigation, knows, wall, south):
    """Four stand before the near passage when another comes, to which the door is quicker with these."""
    ends = {
        name: [{"area": {"box": [6.8, low, 8, low + 1.2]}}, {"area": {"box": [12, low, 13.2, low + 1.2]}}]
        for name, low in (("north", 4.6), ("south", 0.2))
    }
    more = {} if knows is None else {"knows": knows}
    kinds = {
        "north": {"passage": {"ends": ends["north"], "time": 4, "capacity": 1, **more}},
        "south": {"door": {"ends": ends["south"], "key": "red", **more}},
    }
    groups = [
        {"name": "first", "positions": [[5.6 + 0.5 * n, 5.4] for n in range(4)], "goals": "east"},
        {"name": "late", "positions": [[2.0, 3.6]], "goals": "east", "premovement": 5, "keys": ["red"]},
    ]
    scene = halves(kinds, groups, navigation=navigation)
    if wall:
        scene["geometry"] = {**scene["geometry"], "obstacles": SCREEN}
    seen = watch(scene, tmp_path / "run.h5")
    boarded = seen.events[seen.events["kind"] == "BOARDED"].set_index("name")["value"] // 1024
    assert seen.verdict.arrived == 5 and bool(boarded["late[0]"] == 1) == south
    at = in_the_gap(seen)
    assert (at[at["name"] == "late[0]"]["y"].mean() < 3.0) == south


def test_what_agents_know_of_lines_is_written_as_it_was_read_and_else_not():
    kinds = {"ferry": two("passage", time=4, knows="seen")}
    scenario = as_scenario(halves(kinds, [walkers(1)]))
    assert parse_scenario(canonical_text(scenario)).connections[0].knows == "seen"
    assert "knows" not in canonical_text(as_scenario(halves({"ferry": two("passage", time=4)}, [walkers(1)])))
    with pytest.raises(ScenarioError, match="knows"):
        as_scenario(halves({"ferry": two("passage", time=4, knows="some")}, [walkers(1)]))


def test_a_connection_that_is_excluded_by_name_is_not_used_and_others_are(tmp_path):
    ferries = {"far": two("passage", time=9), "near": two("passage", time=1)}
    groups = [walkers(3, excludes=["near"]), walkers(3, name="v", goes="west")]
    seen = watch(halves(ferries, groups), tmp_path / "run.h5")
    assert seen.verdict.arrived == 6
    boarded = seen.events[seen.events["kind"] == "BOARDED"]
    by_group = boarded.groupby(boarded["name"].str[0])["value"].agg(
        lambda values: {v // 1024 for v in values}
    )
    assert by_group.to_dict() == {"w": {0}, "v": {1}}


def test_what_is_excluded_has_to_be_there():
    with pytest.raises(ScenarioError, match=r'kind "fary"\n.* mean "ferry"'):
        as_scenario(halves({"ferry": two("passage", time=1)}, [walkers(1, excludes=["fary"])]))


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", PLANNERS)
@pytest.mark.parametrize("model", MODELS)
def test_over_a_drop_one_falls_as_long_as_a_stone_and_never_comes_back(tmp_path, model, navigation):
    groups = [walkers(4), walkers(2, name="v", goes="west")]
    scene = halves({"ledge": two("drop", fall=5.0)}, groups, avoidance=model, navigation=navigation)
    seen = watch(scene, tmp_path / "run.h5")
    assert seen.verdict.arrived == 4 and seen.verdict.not_arrived == 2
    assert seen.moves[seen.moves["name"].str.startswith("v")]["x"].min() > 12.0
    events = seen.events.set_index("name")
    for name in (f"w[{number}]" for number in range(4)):
        own = events.loc[name].set_index("kind")["time"]
        assert own["ALIGHTED"] - own["BOARDED"] == pytest.approx((2 * 5.0 / 9.81) ** 0.5, abs=0.11)


def test_one_that_is_kept_from_its_place_at_an_edge_keeps_nobody_else_from_dropping():
    ends = [{"area": {"box": [7, 2.5, 8, 3.5]}}, {"area": {"box": [12, 2, 13, 4]}}]
    with Simulation(halves({"ledge": {"drop": {"ends": ends, "fall": 1}}}, [walkers(6)])) as run:
        agents = run.world.agents
        assert run.world.riding.gates[0].edge_spots == 1
        while np.count_nonzero(at_edge := (agents.ride_step == 2) & (agents.gate_spot == 0)) != 1:
            run.step()
        first = int(agents.entity[at_edge][0])
        run.move_agents(first, [7.5, 5.5])
        run.hold(first)
        for _ in range(400):
            run.step()
        assert agents.entity[agents.position[:, 0] < 8.0].tolist() == [first]
        run.hold(first, held=False)
        assert run.run().arrived == 6


def test_a_line_before_a_drop_is_refused():
    ends = [{"area": WEST, "line": [[6.5, 3], [1, 3]]}, {"area": {"box": [12, 2, 13, 4]}}]
    with pytest.raises(ScenarioError, match=r"connections.ledge.drop.ends\[0\].line: nobody waits in a line"):
        as_scenario(halves({"ledge": {"drop": {"ends": ends, "fall": 1}}}, [walkers(1)]))
