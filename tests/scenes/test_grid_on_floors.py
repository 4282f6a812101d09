"""Paths over cells in whole runs on several floors: what recorded positions show of them,
and everything that paths over cells go together with.
"""

import copy
import json
import math

import numpy as np
import pytest
import shapely

import crowdsim
from crowdsim.avoidance.registry import available_models, origin_of
from crowdsim.errors import ScenarioError
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.scenario.geometry import joins_of
from crowdsim.scenario.load import load_scenario, parse_scenario, scenario_of_run
from crowdsim.setup.build import build_world
from crowdsim.setup.examine import examine
from crowdsim.setup.paths import lines_of
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.columns import PathStatus
from crowdsim.world.events import EventKind
from tests.crowds import SCENARIOS, assert_same_on_threads_and_from_saved_states, digests, simulation

GRID = "navigation={kind: grid, cell_size: 0.2, object_padding: 0.05}"
KINDS = (GRID, "navigation=s2-grid")
MODELS = tuple(name for name in available_models() if origin_of(name) is None and name != "none")

# Two halls one above the other, a stair of 2 m between them, and a door upstairs in a wall at x = 12.
HOUSE = {
    "version": 1,
    "tick": 0.1,
    "seed": 4,
    "stop": {"after": 60, "when": "all_arrived"},
    "geometry": {
        "storeys": [
            {"name": "low", "elevation": 0, "walkable": {"box": [0, 0, 16, 10]}},
            {
                "name": "high",
                "elevation": 2.4,
                "walkable": [{"box": [0, 0, 12, 10]}, {"box": [12, 1, 12.2, 3]}, {"box": [12.2, 0, 16, 10]}],
            },
        ],
        "connections": [
            {
                "name": "stair",
                "lower": "low",
                "upper": "high",
                "foot": [[5, 5], [5, 7]],
                "head": [[9, 5], [9, 7]],
            }
        ],
        "areas": [{"name": "door", "area": {"box": [12, 1, 12.2, 3]}, "storey": "high"}],
    },
    "goals": {
        "attic": {"region": {"box": [13, 1, 15, 9]}, "storey": "high"},
        "cellar": {"region": {"box": [1, 1, 3, 9]}, "storey": "low"},
    },
    "groups": [
        {
            "name": "ups",
            "positions": [[2, 2], [2, 6], [3, 8]],
            "storey": "low",
            "goals": ["attic"],
            "speed": 1.4,
        },
        {"name": "downs", "positions": [[11, 2], [14, 2], [10, 9]], "storey": "high", "goals": ["cellar"]},
    ],
    "record": {"rate": 10},
}


def house(**more):
    return {**copy.deepcopy(HOUSE), **more}


def recorded(document, path, **options):
    """Run a document to its end with a recording; return the verdict."""
    with simulation(document, out=path, **options) as run:
        return run.run()


def look_at(path, *, radius=0.0):
    """Require of a recording what holds on any building: agents are on the floor that they are said to be on,
    at its height, out of walls, and change floors over seams only; return its rows.
    """
    with crowdsim.open_run(path) as run:
        rows = run.trajectories(columns=["x", "y", "z", "layer"]).sort_values(["id", "frame"])
        scenario = scenario_of_run(run.header, "test")
    geometry = scenario.geometry
    joins = [(set(join.floors), shapely.LineString(join.line)) for join in joins_of(geometry.floors)]
    for number, floor in enumerate(geometry.floors):
        own = rows[rows.layer == number]
        points = shapely.points(own.x, own.y)
        if not len(own):
            continue
        assert shapely.distance(floor.ground, points).max() < 1e-6
        if not geometry.patches:
            assert np.abs(floor.plane.height(own[["x", "y"]].to_numpy()) - own.z).max() < 1e-9
            is_open = [line.buffer(1e-6) for floors, line in joins if number in floors]
            is_open += [goal.area for goal in scenario.goals if goal.kind == "exit" and goal.layer == number]
            walls = shapely.difference(floor.ground.boundary, shapely.union_all(is_open))
            assert shapely.distance(walls, points).min() > radius - 0.011
    before = rows.groupby("id")[["x", "y", "z", "layer", "frame"]].shift()
    steps = rows[before.frame == rows.frame - 1]
    before = before.loc[steps.index]
    assert np.hypot(steps.x - before.x, steps.y - before.y).max() < 0.5
    assert (steps.z - before.z).abs().max() < 0.3
    changes = steps[steps.layer != before.layer].index if joins else []
    for index in changes:
        line = shapely.LineString(
            [before.loc[index, ["x", "y"]].tolist(), steps.loc[index, ["x", "y"]].tolist()]
        )
        pair = {int(before.loc[index, "layer"]), int(steps.loc[index, "layer"])}
        assert any(pair == floors and line.distance(seam) < 0.02 for floors, seam in joins)
    return rows


@pytest.mark.parametrize("kind", KINDS)
def test_agents_walk_up_and_down_a_stair_at_its_speeds_along_the_slope(kind, tmp_path):
    """Half as fast up, three quarters as fast down, to 2 %; and on the floors at their own speed."""
    lone = [
        {"name": "up", "positions": [[1, 6]], "storey": "low", "goals": ["attic"], "speed": 1.2},
        {"name": "down", "positions": [[11, 2]], "storey": "high", "goals": ["cellar"], "speed": 1.2},
    ]
    for number, factor in ((0, 0.5), (1, 0.75)):
        path = tmp_path / f"{number}.h5"
        with simulation(house(groups=[lone[number]]), sets=[kind], out=path) as run:
            assert run.run().arrived == 1
        rows = look_at(path, radius=0.2)
        place = rows[["x", "y", "z"]].to_numpy()
        speed = np.linalg.norm(np.diff(place, axis=0), axis=1) / 0.1
        on = rows.layer.to_numpy()
        same = on[1:] == on[:-1]
        assert set(on.tolist()) == {0, 1, 2}
        assert speed[same & (on[1:] == 2)] == pytest.approx(1.2 * factor, rel=0.02)
        # but for the last step, into the region
        assert np.median(speed[same & (on[1:] != 2)]) == pytest.approx(1.2, rel=0.02)


def test_the_length_that_is_noted_of_a_path_is_the_length_that_is_walked(tmp_path):
    path = tmp_path / "a.h5"
    group = {"name": "up", "positions": [[1, 2]], "storey": "low", "goals": ["attic"], "speed": 1.2}
    assert recorded(house(groups=[group]), path, sets=[GRID]).arrived == 1
    rows = look_at(path)
    walked = np.linalg.norm(np.diff(rows[["x", "y", "z"]].to_numpy(), axis=0), axis=1).sum()
    with crowdsim.open_run(path) as run:
        events = run.events()
    (found,) = events[events.kind == "PATH_FOUND"].x.tolist()
    # the path ends in the middle of the region, the agent at its rim
    assert found - 4.5 < walked < found


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", ["two-storeys", "stairwell"])
def test_a_crowd_of_any_model_stays_on_its_floors_and_out_of_walls(name, model, seed, tmp_path):
    sets = [GRID, f"avoidance={model}", f"seed={seed}", "record.rate=20"]
    with Simulation(load_scenario(SCENARIOS / f"{name}.yaml", sets=sets), out=tmp_path / "a.h5") as run:
        for _ in range(700):
            run.step()
        run.finish()
    rows = look_at(tmp_path / "a.h5", radius=0.15)
    assert rows.groupby("id").layer.nunique().gt(1).sum() > 20


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10))
def test_people_go_over_and_under_a_bridge(seed, kind, tmp_path):
    pytest.importorskip("trimesh", reason="trimesh is missing: it reads OBJ files")
    scenario = load_scenario(SCENARIOS / "bridge.yaml", sets=[kind, f"seed={seed}", "record.rate=20"])
    with Simulation(scenario, out=tmp_path / "a.h5") as run:
        assert run.run().not_arrived == 0
    rows = look_at(tmp_path / "a.h5")
    on_deck = rows[rows.x.between(16, 24) & rows.y.between(8, 12)]
    assert ((on_deck.z == 0.0) | ((on_deck.z - 3.0).abs() < 1e-9)).all()
    assert (on_deck.z > 2.9).any() and (on_deck.z < 0.1).any()


@pytest.mark.sample(1)
@pytest.mark.parametrize("waiting", ["guess", "previous", "stay"])
def test_agents_that_wait_walk_on_guesses_over_seams_and_are_joined_with_their_paths(waiting, tmp_path):
    grid = GRID.replace("}", f", while_waiting: {waiting}, share_searches: false}}")
    path = tmp_path / "a.h5"
    with simulation(house(stop={"after": 150}), sets=[grid, "budget.work=60"], out=path) as run:
        guessed = 0.0
        while not run.why_over():
            run.step()
            guessed += run.counts["guessing"]
        assert run.verdict().arrived == 6
        run.finish()
    look_at(path, radius=0.15)
    assert (guessed > 50) == (waiting != "stay")


def test_a_guess_alone_leads_up_the_stair_to_the_goal():
    """One expansion a tick: no path is ever found."""
    grid = GRID.replace("}", ", while_waiting: guess}")
    group = {"name": "up", "positions": [[2, 2]], "storey": "low", "goals": ["attic"]}
    with simulation(house(groups=[group], stop={"after": 200}), sets=[grid, "budget.work=1"]) as run:
        floors = set()
        while not run.why_over():
            assert not [event for event in run.step() if event.kind == EventKind.PATH_FOUND]
            floors |= set(run.world.agents.layer.tolist())
        assert run.verdict().arrived == 1 and floors == {0, 1, 2}


def test_while_a_door_upstairs_is_shut_agents_wait_before_it_upstairs_and_go_on_when_it_opens(tmp_path):
    events = [{"at": 0.5, "close": "door"}, {"at": 25, "open": "door"}]
    path = tmp_path / "a.h5"
    groups = [HOUSE["groups"][0]]
    assert recorded(house(events=events, groups=groups), path, sets=[GRID]).arrived == 3
    rows = look_at(path)
    shut = rows[rows.frame.between(6, 249)]
    assert not ((shut.layer == 1) & (shut.x > 12.0)).any()
    waiting = shut[shut.frame == 240]
    assert (waiting.layer == 1).all() and (waiting.x > 9.0).all()
    below = house(events=events, groups=[{**groups[0], "goals": [{"point": [14, 2], "storey": "low"}]}])
    assert recorded(below, tmp_path / "b.h5", sets=[GRID]).last_arrival_s < 25.0, "it is not in their way"


def test_a_cart_that_stands_before_a_stair_sends_agents_round_it_or_keeps_them_waiting():
    cart = {
        "name": "cart", "shape": {"polygon": [[-0.3, -0.9], [0.3, -0.9], [0.3, 0.9], [-0.3, 0.9]]},
        "path": [[4.4, 6.0]], "storey": "low", "stands_after": 0.1, "vanishes": 30,
    }  # fmt: skip
    groups = [{**HOUSE["groups"][0], "positions": [[2, 2], [2, 6]]}]
    with simulation(house(obstacles=[cart], groups=groups), sets=[GRID]) as run:
        while run.tick < 290:
            run.step()
            assert set(run.world.agents.layer.tolist()) <= {0}
        assert run.run().arrived == 2


def test_one_who_stands_is_gone_round_on_its_own_floor_alone():
    """In the middle of the straight path of the other; below it, or above it, nothing changes."""
    lengths = {}
    walker = {
        "name": "walker",
        "positions": [[1, 3]],
        "storey": "low",
        "goals": [{"point": [15, 3], "storey": "low"}],
    }
    for name, storey in (("alone", None), ("same", "low"), ("above", "high")):
        groups = [walker]
        if storey is not None:
            groups = [walker, {"name": "stands", "positions": [[8, 3]], "storey": storey, "radius": 0.5}]
        with simulation(house(groups=groups), sets=[GRID]) as run:
            (lengths[name],) = [
                event.x for _ in range(5) for event in run.step() if event.kind == EventKind.PATH_FOUND
            ]
    assert lengths["above"] == lengths["alone"] == pytest.approx(14.0, abs=0.01)
    assert lengths["same"] > lengths["alone"] + 0.02


def test_a_program_sends_agents_to_another_floor_and_moves_them_on_theirs():
    group = {
        "name": "one",
        "positions": [[2, 2]],
        "storey": "low",
        "goals": ["cellar"],
        "leave_on_arrival": False,
    }
    with simulation(house(groups=[group], stop={"after": 120, "when": "never"}), sets=[GRID]) as run:
        for _ in range(30):
            run.step()
        (entity,) = run.world.agents.entity.tolist()
        run.set_goal(entity, "attic")
        while run.world.agents.layer[0] != 1:
            run.step()
        run.move_agents([entity], [[2.0, 2.0]])
        before = run.tick
        while run.world.agents.position[0, 0] < 13.0:
            run.step()
            assert run.world.agents.layer[0] == 1
        # 11 m at 1.34 m/s or so, and not down and up again
        assert run.tick - before < 150
        run.set_goal(entity, "cellar")
        while run.tick < 700:
            run.step()
        place = run.world.agents.position[0]
        assert run.world.agents.layer[0] == 0 and shapely.box(1, 1, 3, 9).contains(shapely.Point(place))
        run.set_goal(entity, [10.0, 8.0], storey="high")
        while run.tick < 950:
            run.step()
        place = run.world.agents.position[0]
        assert run.world.agents.layer[0] == 1 and place == pytest.approx([10.0, 8.0], abs=0.3)


def test_one_who_comes_to_stand_below_its_path_asks_again_and_climbs_the_stair():
    """On its way up it is put on the floor behind the stair: straight ahead it would walk on there, with no
    wall in its line, to the place below the stair's head.
    """
    group = {"name": "one", "positions": [[4.2, 6]], "storey": "low", "goals": ["attic"]}
    with simulation(house(groups=[group]), sets=[GRID]) as run:
        while run.world.agents.layer[0] != 2 or run.world.agents.position[0, 0] < 6.0:
            run.step()
        agents, found = run.world.agents, np.empty(1, dtype=np.int64)
        agents.position[0] = [12.0, 6.0]
        locate_many(0, 1, run.world.mesh, agents.position[:1], np.zeros(1, dtype=np.int32), found)
        agents.surface[0], agents.layer[0] = run.world.handles_of(found)[0], 0
        asked = [event.kind for _ in range(15) for event in run.step()]
        assert EventKind.REPLANNED in asked and EventKind.PATH_FOUND in asked
        assert run.run().arrived == 1


def test_a_goal_above_that_no_path_leads_to_is_approached_as_near_as_can_be_and_the_verdict_says_so():
    document = house(groups=[{**HOUSE["groups"][0], "positions": [[2, 2]]}])
    document["geometry"]["areas"][0]["available"] = False
    document["events"] = [
        {"when": {"crossed": [[15, 0], [15, 10]], "count": 9, "storey": "low"}, "open": "door"}
    ]
    with simulation(document, sets=[GRID]) as run:
        verdict = run.run()
        assert verdict.arrived == 0 and run.world.agents.path_status[0] == PathStatus.NEAREST_REACHABLE
        assert run.world.agents.layer[0] == 1 and run.world.agents.position[0, 0] > 11.0


def test_lines_of_paths_are_drawn_on_the_floors_that_they_are_on():
    for kind in KINDS:
        built = build_world(parse_scenario(_text(house()), sets=[kind]))
        lines = lines_of(built, 100)
        for row in range(6):
            layers = [line.layer for line in lines if line.row == row]
            assert layers == ([1, 2, 0] if row < 3 else [0, 2, 1])  # groups come in the order of their names
        for line in lines:
            ground = built.scenario.geometry.floors[line.layer].ground
            assert shapely.distance(ground, shapely.points(line.points)).max() < 1e-6


def _text(document):
    return json.dumps(document)


def test_what_keeps_agents_from_a_stair_is_said_before_the_run():
    """A stair of 0.7 m is as wide as a body of 0.2 m needs, but for the cells."""
    document = house()
    document["geometry"]["connections"][0] |= {"foot": [[5, 5], [5, 5.7]], "head": [[9, 5], [9, 5.7]]}
    built = build_world(
        parse_scenario(_text(document), sets=["navigation={kind: grid, cell_size: 0.5, object_padding: 0}"])
    )
    problems, _ = examine(built)
    assert {problem.item for problem in problems} == {"ups[0] and 2 more", "downs[0] and 2 more"}
    assert "over their grid: with cells of 0.5 m" in problems[0].message and "0.700 m" in problems[0].message
    assert "cell_size: " in problems[0].way_out
    built = build_world(parse_scenario(_text(document), sets=[GRID]))
    assert examine(built)[0] == []


def test_too_many_cells_are_refused_in_one_sentence():
    with pytest.raises(
        ScenarioError, match=r"navigation: The grid of 3 floors would have [\d,]+ cells of 0\.001 m"
    ):
        simulation(house(), sets=["navigation={kind: grid, cell_size: 0.001}"])


@pytest.mark.parametrize("kind", KINDS)
def test_threads_and_saved_states_change_nothing(kind):
    more = {"while_waiting": "guess"} if kind == GRID else {}
    navigation = {"kind": "grid", "cell_size": 0.2, "object_padding": 0.05, **more}
    document = house(navigation=navigation if kind == GRID else "s2-grid", budget={"work": 300})
    document["events"] = [{"at": 3, "close": "door"}, {"at": 6, "open": "door"}]
    assert_same_on_threads_and_from_saved_states(document, 80, saved=(1, 20, 33, 50))


@pytest.mark.full
def test_a_state_saved_at_any_tick_goes_on_the_same():
    document = house(
        navigation={"kind": "grid", "cell_size": 0.2, "while_waiting": "guess"}, budget={"work": 200}
    )
    document["events"] = [{"at": 3, "close": "door"}, {"at": 6, "open": "door"}]
    with simulation(document) as run, simulation(document) as other:
        expected = digests(run, 100)
        run.restore(simulation(document).state())
        for number in range(100):
            state = run.state()
            other.restore(state)
            assert digests(other, 1) == expected[number : number + 1]
            run.step()


def test_groups_have_planners_of_their_own_and_meet_on_the_stair(tmp_path):
    document = house()
    document["groups"][1]["navigation"] = "mesh"
    assert recorded(document, tmp_path / "a.h5", sets=[GRID]).arrived == 6
    look_at(tmp_path / "a.h5", radius=0.15)


def test_radii_that_grow_and_speeds_of_terrain_count_on_every_floor(tmp_path):
    """Upstairs a carpet lets all walk at half their speed; one that has become too wide for the door stays
    before it.
    """
    carpet = [{"name": "carpet", "speed": 0.5, "area": {"box": [9.5, 0, 11.5, 10]}, "storey": "high"}]
    document = house(events=[{"at": 1, "set_radius": 0.4, "agents": ["ups"]}])
    document["geometry"]["terrain"] = carpet
    document["groups"] = [{**HOUSE["groups"][0], "positions": [[2, 6]]}]
    path = tmp_path / "a.h5"
    assert recorded(document, path, sets=[GRID]).arrived == 1
    rows = look_at(path, radius=0.2)
    speed = np.hypot(rows.x.diff(), rows.y.diff()) / 0.1
    on = rows.x.between(9.8, 11.3) & (rows.layer == 1)
    assert np.median(speed[on]) == pytest.approx(0.7, abs=0.02)
    late = rows[(rows.frame > 20) & (rows.layer == 2)]
    assert late.y.between(5.39, 6.61).all()
    assert math.isclose(float(late.y.median()), 6.0, abs_tol=0.6)
