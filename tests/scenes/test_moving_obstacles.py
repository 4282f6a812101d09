"""Obstacles that appear, move and vanish: seen by avoidance at once, by planning when they stand;
on the mesh, on the grid, and on both at once.
"""

import json

import numpy as np
import pytest

from crowdsim.avoidance.registry import available_models, origin_of
from crowdsim.errors import ScenarioError
from crowdsim.measures.obstacles import places_of_obstacles
from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.columns import AgentState
from crowdsim.world.events import EventKind
from tests.crowds import SCENARIOS, digests, room, simulation

GRID = {"kind": "grid", "cell_size": 0.1, "object_padding": 0.02}
NAVIGATIONS = {"mesh": "mesh", "grid": GRID, "tiles": {"kind": "mesh", "tile_size": 3.0}}
MODELS = [name for name in available_models() if origin_of(name) is None and name != "none"]
TWO_ROOMS = {
    "walkable": [
        {"box": [0, 0, 6, 6]},
        {"box": [6, 1, 6.2, 2.4]},
        {"box": [6, 4, 6.2, 5.4]},
        {"box": [6.2, 0, 12, 6]},
    ]
}


def deepest(run, ticks):
    """Step a run; return the deepest overlap of anybody with an obstacle (m), from the rows themselves."""
    worst = 0.0
    for _ in range(ticks):
        if run.why_over():
            break
        run.step()
        rows, is_obstacle = run.world.agents, run.world.agents.activity == AgentState.OBSTACLE
        if is_obstacle.any() and not is_obstacle.all():
            apart = np.hypot(
                *(rows.position[is_obstacle][:, None] - rows.position[~is_obstacle][None]).transpose(2, 0, 1)
            )
            worst = max(
                worst,
                float((rows.radius[is_obstacle][:, None] + rows.radius[~is_obstacle][None] - apart).max()),
            )
    return worst


def obstacle_places(run):
    """Return the places and velocities of the rows that are obstacles."""
    agents = run.world.agents
    is_obstacle = agents.activity == AgentState.OBSTACLE
    return agents.position[is_obstacle].copy(), agents.velocity[is_obstacle].copy()


def test_an_obstacle_is_where_its_path_says_in_every_tick_and_at_no_other_time():
    cart = {
        "name": "cart",
        "shape": {"disc": 0.4},
        "path": [[-4, 0], {"point": [0, 0], "wait": 2}, [0, 3]],
        "speed": 1.0,
        "appears": 1.0,
        "vanishes": 9.0,
    }
    with simulation(
        room([{"position": [-8, -8]}], obstacles=(), tick=0.1)
        | {"obstacles": [cart], "stop": {"after": 12, "when": "never"}}
    ) as run:
        seen = {}
        for tick in range(1, 121):
            events = run.step()
            place, _ = obstacle_places(run)
            assert len(place) == (1 if 11 <= tick <= 90 else 0)
            assert len(run.agents) == 1 and run.counts["agents"] == 1.0
            if len(place):
                time = tick * 0.1
                expected = (
                    (-4 + (time - 1), 0) if time <= 5 else (0, 0) if time <= 7 else (0, min(3.0, time - 7))
                )
                assert np.allclose(place[0], expected, atol=1e-9), tick
            seen |= {
                int(event.kind): tick
                for event in events
                if event.kind >= EventKind.OBSTACLE_APPEARED and int(event.kind) not in seen
            }
        assert seen == {31: 11, 33: 61, 34: 71, 32: 91}
        # It ends its path at 10 s, but is gone at 9 s; it stood for a second at 6 s.


def test_a_polygon_moves_as_one():
    corners = [[-1, -0.5], [1, -0.5], [1, 0.5], [-1, 0.5]]
    box = {"name": "box", "shape": {"polygon": corners}, "path": [[-4, 0], [4, 2]], "speed": 0.5}
    with simulation(
        room([{"position": [-8, -8]}]) | {"obstacles": [box], "stop": {"after": 5, "when": "never"}}
    ) as run:
        run.step()
        first, _ = obstacle_places(run)
        assert len(first) == 8
        for _ in range(60):
            run.step()
        place, velocity = obstacle_places(run)
        assert np.allclose(place - first, place[0] - first[0]) and np.allclose(np.hypot(*velocity.T), 0.5)


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
def test_people_keep_out_of_the_way_of_a_cart_under_every_model(model):
    agents = [
        {"position": [x, y], "goals": [{"point": [-x, y], "arrive_within": 0.3}]}
        for x in (5.0, 6.0, 7.0)
        for y in (-0.6, 0.0, 0.6)
    ]
    cart = {"name": "cart", "shape": {"disc": 0.6}, "path": [[-8, 0], [8, 0]], "speed": 0.8}
    with simulation(room(agents) | {"obstacles": [cart]}, sets=[f"avoidance={model}"]) as run:
        assert deepest(run, 600) <= 0.02
        assert run.why_over() == "all arrived"


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", ["optimal", "mesh", "grid", "s2-grid"])
@pytest.mark.parametrize(
    "shape",
    [{"disc": 0.4}, {"polygon": [[-0.4, -0.35], [0.4, -0.35], [0.4, 0.35], [-0.4, 0.35]]}],
    ids=["disc", "polygon"],
)
def test_people_who_heed_nobody_are_not_squeezed_into_a_cart_that_drives_into_their_door(shape, navigation):
    """Who was between the cart and two in the door, whose way back was along its posts,
    made all the way for these: into the cart, by up to 9 cm.
    """
    walkable = [{"box": [0, 0, 8, 6]}, {"box": [8, 2.4, 8.6, 3.6]}, {"box": [8.6, 0, 16, 6]}]
    walkers = {
        "name": "walkers",
        "count": 30,
        "region": {"box": [1, 0.5, 7, 5.5]},
        "radius": 0.25,
        "speed": 1.3,
        "goals": ["beyond"],
    }
    cart = {"name": "cart", "shape": shape, "path": [[12, 3], [8.3, 3]], "speed": 1.0}
    document = {
        "version": 1,
        "tick": 0.1,
        "stop": {"after": 6},
        "geometry": {"walkable": walkable},
        "goals": {"beyond": {"region": {"box": [14.5, 0, 16, 6]}}},
        "groups": [walkers],
        "obstacles": [cart],
        "avoidance": "none",
        "navigation": navigation,
    }
    for seed in (1, 3):
        with simulation(document | {"seed": seed}) as run:
            assert deepest(run, 60) <= 0.05


def test_people_who_stand_are_pushed_aside_and_the_cart_is_not():
    agents = [{"position": [x, 0.1]} for x in (-2.0, 0.0, 2.0)] + [
        {"position": [8, 8], "goals": [{"point": [8, -8]}]}
    ]
    cart = {"name": "cart", "shape": {"disc": 0.5}, "path": [[-5, 0], [5, 0]], "speed": 1.0}
    with simulation(room(agents) | {"obstacles": [cart]}) as run:
        assert deepest(run, 250) <= 1e-5
        assert (run.agents.position[:3, 1] > 0.65).all()
        assert np.allclose(obstacle_places(run)[0], [[5.0, 0.0]])


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "shape", [{"disc": 1.5}, {"polygon": [[-2, -1], [2, -1], [2, 1], [-2, 1]]}], ids=["disc", "polygon"]
)
@pytest.mark.parametrize("navigation", NAVIGATIONS)
def test_who_is_where_something_appears_is_put_beside_it(shape, navigation):
    agents = [
        {"position": [x, y], "goals": [{"point": [8, 8]}]} for x in (-1.0, 0.0, 1.0) for y in (-0.5, 0.0, 0.5)
    ]
    box = {"name": "box", "shape": shape, "path": [[0, 0]], "stands_after": 0}
    with simulation(room(agents) | {"obstacles": [box], "navigation": NAVIGATIONS[navigation]}) as run:
        events = run.step()
        put = events[events.kind == EventKind.PUT_OUT]
        assert len(put) == 9 and put.value.max() < 2500
        run.step()
        assert deepest(run, 20) <= 0.13  # the discs that cover a polygon stick out of it by 0.12 m at most
        assert deepest(run, 1000) <= 0.02 and run.why_over() == "all arrived"


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", NAVIGATIONS)
def test_ways_are_looked_for_round_what_stands_and_no_longer_when_it_has_gone(navigation):
    agents = [
        {"id": 1, "position": [1, 1.7], "goals": [{"point": [11, 1.7]}]},
        {"id": 2, "position": [1, 1.2], "goals": [{"point": [11, 1.2]}], "premovement": 25},
    ]
    block = {
        "name": "block",
        "shape": {"polygon": [[-0.3, -0.8], [0.3, -0.8], [0.3, 0.8], [-0.3, 0.8]]},
        "path": [[6.1, 1.7]],
        "vanishes": 20,
        "stands_after": 0.5,
    }
    document = {
        **room(agents),
        "geometry": TWO_ROOMS,
        "obstacles": [block],
        "navigation": NAVIGATIONS[navigation],
    }
    with simulation(document) as run:
        ways = {1: set(), 2: set()}
        kinds = []
        while not run.why_over():
            kinds += run.step().kind.tolist()
            for row, entity in enumerate(run.agents.entity.tolist()):
                if abs(run.agents.position[row, 0] - 6.1) < 0.1:
                    ways[entity].add(bool(run.agents.position[row, 1] > 3))
        assert run.why_over() == "all arrived" and ways == {1: {True}, 2: {False}}
        assert kinds.count(EventKind.PATH_LOST) == 1 and kinds.count(EventKind.OBSTACLE_STANDS) == 1


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", NAVIGATIONS)
def test_who_had_no_way_gets_one_when_the_obstacle_goes_on(navigation):
    agents = [{"position": [1, 1.7], "goals": [{"point": [11, 1.7]}]}]
    geometry = {"walkable": [*TWO_ROOMS["walkable"][:2], TWO_ROOMS["walkable"][3]]}
    block = {
        "name": "block",
        "shape": {"disc": 0.69},
        "path": [{"point": [6.1, 1.7], "wait": 15}, [3, 4]],
        "speed": 1,
        "stands_after": 0,
    }
    with simulation(
        {**room(agents), "geometry": geometry, "obstacles": [block], "navigation": NAVIGATIONS[navigation]}
    ) as run:
        verdict = run.run()
        assert verdict.ended == "all arrived" and 15 < verdict.last_arrival_s < 40, verdict


@pytest.mark.full
def test_on_a_mesh_and_on_a_grid_at_once():
    groups = [
        {
            "name": name,
            "count": 6,
            "region": {"box": [0.5, 0.5, 4, 5.5]},
            "goals": ["east"],
            "navigation": how,
        }
        for name, how in NAVIGATIONS.items()
        if name != "tiles"
    ]
    block = {
        "name": "block",
        "shape": {"disc": 0.69},
        "path": [[2, 3], {"point": [6.1, 1.7], "wait": 10}, [9, 3]],
        "speed": 0.8,
    }
    document = {
        **room([]),
        "geometry": TWO_ROOMS,
        "groups": groups,
        "goals": {"east": {"region": {"box": [11, 0, 12, 6]}}},
        "obstacles": [block],
    }
    with simulation(document) as run:
        assert run.run().ended == "all arrived"


@pytest.mark.full
def test_obstacles_count_in_nothing_of_the_verdict_and_are_no_rows_of_the_trajectory(tmp_path):
    still = {"name": "pole", "shape": {"disc": 0.3}, "path": [[3, 3]]}
    cart = {
        "name": "cart",
        "shape": {"polygon": [[-1, -0.5], [1, -0.5], [1, 0.5], [-1, 0.5]]},
        "path": [[-6, 0], [6, 0]],
        "speed": 1,
        "loop": True,
    }
    agents = [{"position": [-8, 6], "goals": [{"point": [8, 6]}]}, {"position": [0, 8]}]
    scenario = parse_scenario(json.dumps(room(agents) | {"obstacles": [still, cart]}))
    with Simulation(scenario, out=tmp_path / "run.h5") as run:
        verdict = run.run()
    assert (verdict.agents, verdict.arrived, verdict.standing, verdict.not_arrived) == (2, 1, 1, 0)
    assert verdict.overlap_pairs_ticks == 0
    with open_run(tmp_path / "run.h5") as recording:
        frames, trajectories = recording.frames(), recording.trajectories()
        assert sorted(set(trajectories.id)) == [1, 2] and frames.agents.max() == 2
        places = places_of_obstacles(parse_scenario(recording.header.scenario), frames)
        assert sorted(set(places.name)) == ["cart", "pole"] and places.frame.min() == 1
        pole = places[places.name == "pole"]
        assert (pole.x == 3.0).all() and pole.is_closed.iloc[-1] and not pole.is_closed.iloc[0]
        events = recording.events()
        assert events.loc[
            events.kind == "OBSTACLE_APPEARED", ["entity", "value", "x", "y"]
        ].values.tolist() == [[0, 0, -6, 0], [0, 1, 3, 3]]
        again = parse_scenario(recording.header.scenario)
    assert [each.place(77) for each in again.obstacles] == [each.place(77) for each in scenario.obstacles]


def test_a_canonical_scenario_has_the_same_run():
    scenario = load_scenario(SCENARIOS / "moving-obstacle.yaml")
    text = scenario.canonical()
    again = parse_scenario(text)
    assert again.canonical() == text
    with Simulation(scenario) as one, Simulation(again) as other:
        assert digests(one, 40) == digests(other, 40)


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", NAVIGATIONS)
def test_a_run_goes_on_from_every_kind_of_moment_as_if_it_had_not_been_saved(navigation):
    cart = {
        "name": "cart",
        "shape": {"disc": 0.6},
        "path": [[2, 3], {"point": [6.1, 1.7], "wait": 2}, [9, 3]],
        "speed": 1.5,
        "appears": 0.5,
        "vanishes": 8,
        "stands_after": 0.5,
    }
    groups = [
        {
            "name": "all",
            "count": 12,
            "region": {"box": [0.5, 0.5, 5, 5.5]},
            "goals": [{"point": [11, 3], "arrive_within": 1.0}],
        }
    ]
    document = {
        **room([]),
        "geometry": TWO_ROOMS,
        "groups": groups,
        "obstacles": [cart],
        "navigation": NAVIGATIONS[navigation],
        "tick": 0.1,
    }
    with simulation(document) as whole:
        states, expected = [], []
        for tick in range(100):
            if tick % 7 == 0:
                states.append((tick, whole.state()))
            whole.step()
            expected.append(whole.digest)
    with simulation(document) as other:
        for tick, state in states[::-1] + states[::2]:
            other.restore(state)
            assert (
                other.tick == tick and digests(other, 9)[: len(expected) - tick] == expected[tick : tick + 9]
            )


@pytest.mark.full
def test_the_order_of_obstacles_and_the_number_of_threads_change_nothing():
    scenario = json.loads(
        json.dumps(
            room([{"position": [x, y], "goals": [{"point": [-x, -y]}]} for x in (-6, 6) for y in (-1, 0, 1)])
        )
    )
    carts = [
        {"name": name, "shape": {"disc": 0.5}, "path": [[x, -8], [x, 8]], "speed": 1.0}
        for name, x in (("a", -2), ("b", 2))
    ]
    with (
        simulation(scenario | {"obstacles": carts}) as one,
        simulation(scenario | {"obstacles": carts[::-1]}, threads=3) as other,
    ):
        assert digests(one, 200) == digests(other, 200)


@pytest.mark.full
def test_a_law_of_speed_and_density_does_not_take_a_cart_for_a_crowd():
    box = {
        "name": "box",
        "shape": {"polygon": [[-2, -1], [2, -1], [2, 1], [-2, 1]]},
        "path": [[0, 2.2], [0.1, 2.2]],
        "speed": 0.01,
    }
    document = room([{"position": [-6, 0], "goals": [{"point": [6, 0]}]}, {"position": [-6, 8]}]) | {
        "speed_density": "weidmann"
    }
    with simulation(document) as free, simulation(document | {"obstacles": [box]}) as beside:
        assert free.run().last_arrival_s == beside.run().last_arrival_s


def test_a_program_cannot_send_an_obstacle_anywhere():
    from crowdsim.errors import CrowdsimError

    box = {"name": "box", "shape": {"disc": 0.5}, "path": [[0, 0]]}
    with simulation(room([{"position": [5, 5]}]) | {"obstacles": [box]}) as run:
        run.step()
        assert (
            len(run.world.agents) == 2
            and run.agents.label == ["all[0]"]
            and list(run.agents.to_frame().index) == [1]
        )
        with pytest.raises(CrowdsimError, match="no agent 2"):
            run.set_preferred_velocity(2, (1, 0))


@pytest.mark.full
def test_nobody_is_run_over_in_the_scenario():
    with Simulation(load_scenario(SCENARIOS / "moving-obstacle.yaml")) as run:
        assert deepest(run, 3000) <= 0.02
        verdict = run.run()
        assert (
            verdict.arrived == 60 and verdict.deepest_overlap_m <= 0.02 and verdict.replans["path closed"] > 0
        )


CART = {"name": "cart", "shape": {"disc": 0.5}, "path": [[0, 0], [3, 0]], "speed": 1.0}


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        ({"speed": None}, "obstacles[0]", "neither how fast it moves nor when it is where"),
        ({"path": [[0, 0], [30, 0]]}, "obstacles[0].path", "leaves the walkable ground at (10, 0)"),
        ({"times": [0, 5]}, "obstacles[0].times", "times and speed are both given"),
        ({"speed": None, "times": [5, 5]}, "obstacles[0].times[1]", "5 s comes after 5 s"),
        ({"speed": None, "times": [5]}, "obstacles[0].times", "1 times for 2 points"),
        ({"speed": None, "times": [0, 0.01]}, "obstacles[0].times", "300 m/s"),
        (
            {"shape": {"polygon": [[0, 0], [2, 0], [1, 0.5], [2, 2]]}},
            "obstacles[0].shape.polygon",
            "not convex",
        ),
        (
            {"shape": {"polygon": [[0, 0], [1, 1], [1, 0], [0, 1]]}},
            "obstacles[0].shape.polygon",
            "sides cross",
        ),
        (
            {"shape": {"polygon": [[-9, -9], [9, -9], [9, 9], [-9, 9]]}},
            "obstacles[0].shape.polygon",
            "at most 200",
        ),
        ({"path": [[0, 0]], "loop": True}, "obstacles[0].loop", "two different points"),
        ({"vanishes": 0.0}, "obstacles[0].vanishes", "appears at 0 s only"),
        ({"shape": {"disk": 1}}, "obstacles[0].shape", "disc"),
        ({"sped": 1}, "obstacles[0].sped", "speed"),
    ],
)
def test_mistakes_are_named_with_their_place(change, place, message):
    cart = {key: value for key, value in {**CART, **change}.items() if value is not None}
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(json.dumps(room([{"position": [5, 5]}]) | {"obstacles": [cart]}))
    assert place in str(caught.value) and message in str(caught.value)
    assert all(problem.line for problem in caught.value.problems)


def test_two_of_one_name_and_one_without_its_floor_are_refused():
    with pytest.raises(ScenarioError, match='there is an obstacle "cart" already'):
        parse_scenario(json.dumps(room([{"position": [5, 5]}]) | {"obstacles": [CART, CART]}))
    floors = {
        "storeys": [
            {"name": "low", "elevation": 0, "walkable": {"box": [0, 0, 4, 4]}},
            {"name": "high", "elevation": 3, "walkable": {"box": [0, 0, 4, 4]}},
        ]
    }
    with pytest.raises(ScenarioError, match="says no storey, but the geometry has several"):
        parse_scenario(json.dumps(room([]) | {"geometry": floors, "groups": [], "obstacles": [CART]}))


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation, seed", [("s2-grid", 4), ("s2-grid", 6), ("grid", 1), ("grid", 4)])
def test_nobody_is_run_over_between_the_posts_of_a_door_by_a_cart_that_comes_the_other_way(
    tmp_path, navigation, seed
):
    """30 people without avoidance come through a door of 1.2 m, the cart into it:
    by the recorded positions and the timetable, nobody is 3 cm inside the cart.
    """
    document = {
        "version": 1,
        "tick": 0.1,
        "seed": seed,
        "stop": {"after": 8},
        "record": {"rate": 10},
        "navigation": navigation,
        "avoidance": "none",
        "geometry": {
            "walkable": [{"box": [0, 0, 8, 6]}, {"box": [8, 2.4, 8.6, 3.6]}, {"box": [8.6, 0, 16, 6]}]
        },
        "goals": {"beyond": {"region": {"box": [14.5, 0, 16, 6]}}},
        "groups": [
            {
                "name": "walkers",
                "count": 30,
                "region": {"box": [1, 0.5, 7, 5.5]},
                "radius": 0.25,
                "speed": 1.3,
                "goals": ["beyond"],
            }
        ],
        "obstacles": [
            {
                "name": "cart",
                "shape": {"disc": 0.4},
                "path": [[12, 3], [8.3, 3]],
                "speed": 1.0,
                "stands_after": 2,
            }
        ],
    }
    with Simulation(parse_scenario(json.dumps(document), file="door"), out=tmp_path / "run.h5") as run:
        run.run()
    with open_run(tmp_path / "run.h5") as recorded:
        rows = recorded.trajectories(columns=["x", "y"])
    cart = np.maximum(12.0 - 0.1 * rows["frame"], 8.3)
    depth = 0.25 + 0.4 - np.hypot(rows["x"] - cart, rows["y"] - 3.0)
    in_door = np.abs(rows["x"] - 8.3) < 0.8
    assert np.count_nonzero(in_door & (depth > -0.1)) >= 5  # they do meet there
    assert depth.max() < 0.03
