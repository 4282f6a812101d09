"""A crowd on two storeys and the stairs between them while tiles of all floors go and come: nobody stands on
ground that is out or comes onto it, floors are changed over stairs only, and all arrive.
"""

import copy
import json

import numpy as np
import pytest
import shapely
import yaml

import crowdsim
from crowdsim.cli.verify import verify
from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.scenario.geometry import joins_of
from crowdsim.scenario.load import parse_scenario
from crowdsim.systems import ChangeGround, Plan
from crowdsim.world.columns import AgentState, PathStatus
from crowdsim.world.events import EventKind
from tests.crowds import assert_same_on_threads_and_from_saved_states, simulation

SIZE, TICK = 3.0, 0.1
# two storeys of 16 m by 10 m, one above the other, joined by a stair and a ramp beside their wells
HOUSE = {
    "version": 1,
    "name": "house",
    "seed": 2,
    "tick": TICK,
    "stop": {"after": 90, "when": "all_arrived"},
    "geometry": {
        "storeys": [
            {"name": "low", "elevation": 0, "walkable": {"box": [0, 0, 16, 10]}},
            {
                "name": "high",
                "elevation": 3,
                "walkable": {"box": [0, 0, 16, 10]},
                "obstacles": [{"box": [12, 4, 12.2, 6]}],
            },
        ],
        "connections": [
            {
                "name": "stair",
                "lower": "low",
                "upper": "high",
                "foot": [[6, 1], [6, 3]],
                "head": [[11, 1], [11, 3]],
            },
            {
                "name": "ramp",
                "kind": "ramp",
                "lower": "low",
                "upper": "high",
                "foot": [[10, 7], [10, 9]],
                "head": [[4, 7], [4, 9]],
            },
        ],
    },
    "goals": {
        "out": {"exit": {"box": [15.5, 3, 16, 6]}, "storey": "low"},
        "deck": {"region": {"box": [13, 4, 15.5, 7]}, "storey": "high"},
    },
    "groups": [
        {"name": "up", "count": 9, "region": {"box": [0.5, 3.5, 4, 6.5]}, "storey": "low", "goals": ["deck"]},
        {
            "name": "down",
            "count": 9,
            "region": {"box": [13, 0.5, 15.5, 3]},
            "storey": "high",
            "goals": ["out"],
        },
    ],
    "navigation": {"tile_size": SIZE},
    "record": {"rate": 1 / TICK, "columns": ["layer", "path_status"]},
}
# floor, column and row of tiles, with when they go and when they come back, s
CHANGES = [
    ("low", 1, 1, 1.0, 4.0),
    ("high", 4, 0, 2.0, 6.0),
    ("stair", 2, 0, 3.0, 7.0),
    ("ramp", 2, 2, 4.0, 9.0),
    ("high", 1, 2, 6.0, 9.0),
    ("low", 1, 0, 7.0, 10.0),
    ("low", 3, 2, 8.0, 11.0),
    ("stair", 3, 0, 9.0, 12.0),
    ("high", 3, 0, 10.0, 13.0),
    ("low", 4, 1, 12.0, 14.0),
]
PLANNERS = ("mesh", "optimal", "visibility", "hierarchical")
MODELS = ("orca", "clearpath", "hrvo", "sampled-hrvo", "toi")


def with_events(**more):
    """Return the house in which tiles go and come by the clock."""
    document = {**copy.deepcopy(HOUSE), **more}
    document["events"] = [
        {"at": at, kind: {"storey": floor, "tile": [column, row]}}
        for floor, column, row, goes, comes in CHANGES
        for at, kind in ((goes, "remove_tile"), (comes, "add_tile"))
    ]
    return document


def with_planner(kind, **more):
    return with_events(navigation={"kind": kind, "tile_size": SIZE}, **more)


def require_sense(path, geometry):
    """Look at recorded positions with nothing but the plan and the timetable of tiles."""
    with crowdsim.open_run(path) as run:
        rows = run.trajectories().sort_values(["id", "frame"])
    before = rows.groupby("id")[["x", "y", "z", "layer", "frame"]].shift()
    rows = rows.assign(px=before.x, py=before.y, pz=before.z, was=before.layer)
    steps = rows[before.frame == rows.frame - 1]
    names, inside = geometry.floor_names, 1e-6
    for floor, column, row, goes, comes in CHANGES:
        out = steps[steps.frame.between(round(goes / TICK) + 2, round(comes / TICK))]
        is_in, was_in = (
            (out[layer] == names.index(floor))
            & out[x].between(SIZE * column + inside, SIZE * (column + 1) - inside)
            & out[y].between(SIZE * row + inside, SIZE * (row + 1) - inside)
            for x, y, layer in (("x", "y", "layer"), ("px", "py", "was"))
        )
        assert not (is_in & ~was_in).any(), f"an agent walks onto tile {column}, {row} of {floor}"
        assert not (was_in & ~is_in).any(), f"an agent walks off tile {column}, {row} of {floor}"
        both = out[is_in & was_in]
        assert ((both.x == both.px) & (both.y == both.py) & (both.z == both.pz)).all()
    lines = {frozenset(join.floors): shapely.LineString(join.line) for join in joins_of(geometry.floors)}
    changes = steps[steps.layer != steps.was]
    for each in changes.itertuples():
        path_walked = shapely.LineString([(each.px, each.py), (each.x, each.y)])
        assert lines[frozenset((int(each.layer), int(each.was)))].distance(path_walked) < 1e-5
    for layer, floor in enumerate(geometry.floors):
        own = rows[rows.layer == layer]
        places = own[["x", "y"]].to_numpy()
        assert np.allclose(floor.plane.height(places), own.z, atol=1e-5)
        assert shapely.distance(floor.ground, shapely.points(places)).max() < 1e-6
    return len(changes)


def run_to_the_end(document, path):
    with simulation(document, out=path) as run:
        verdict = run.run()
        run.finish()
    with crowdsim.open_run(path) as recorded:
        lost = int((recorded.events().kind == "GROUND_LOST").sum())
    return verdict, lost


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("seed", [2, *(pytest.param(each, marks=pytest.mark.full) for each in range(3, 12))])
def test_a_crowd_goes_up_and_down_while_tiles_of_all_floors_go_and_come(tmp_path, planner, model, seed):
    document = with_planner(planner, avoidance=model, seed=seed)
    verdict, lost = run_to_the_end(document, tmp_path / "run.h5")
    assert verdict.arrived == 18 and verdict.not_arrived == 0
    geometry = parse_scenario(json.dumps(document)).geometry
    # all go over the stair or the ramp: on, and off again
    assert require_sense(tmp_path / "run.h5", geometry) >= 36 and lost > 0
    assert verify(tmp_path / "run.h5", threads=3, quiet=True) == 0


def test_the_checks_above_see_an_agent_on_ground_that_is_out(tmp_path):
    document = with_events()
    document["events"] = [each for each in document["events"] if each["at"] != 3.0]  # the stair stays
    run_to_the_end(document, tmp_path / "run.h5")
    with pytest.raises(AssertionError, match="of stair"):
        require_sense(tmp_path / "run.h5", parse_scenario(json.dumps(document)).geometry)


def program(run, ticks):
    """Do with a program what the events do by the clock; return the digests."""
    found = []
    for tick in range(ticks):
        for floor, column, row, goes, comes in CHANGES:
            if tick == round(goes / TICK):
                run.remove_tile(column, row, storey=floor)
            if tick == round(comes / TICK):
                run.add_tile(column, row, storey=floor)
        run.step()
        found.append(run.world.agents.position.copy())
    return found


def test_a_program_takes_tiles_of_floors_out_as_events_do_and_its_run_is_done_again(tmp_path):
    with simulation(HOUSE, out=tmp_path / "run.h5") as run, simulation(with_events()) as clock:
        for mine in program(run, 150):
            clock.step()
            assert np.array_equal(mine, clock.world.agents.position)
        run.finish()
    assert verify(tmp_path / "run.h5", threads=2, quiet=True) == 0


@pytest.mark.sample(1)
@pytest.mark.parametrize("planner", PLANNERS)
def test_a_run_over_changing_floors_is_the_same_on_threads_and_from_any_save(planner):
    ticks = (9, 10, 11, 29, 30, 40, 41, 59, 61)
    assert_same_on_threads_and_from_saved_states(with_planner(planner, budget={"work": 40}), 82, ticks)


@pytest.mark.full
@pytest.mark.parametrize("planner", PLANNERS)
def test_a_run_over_changing_floors_goes_on_from_a_save_at_every_tick(planner):
    assert_same_on_threads_and_from_saved_states(
        with_planner(planner, budget={"work": 40}), 170, tuple(range(1, 150))
    )


def test_agents_whose_ground_was_taken_out_upstairs_stay_up_there_and_others_avoid_them():
    """One stands beside the border of a tile that goes, and another walks along the border."""
    document = copy.deepcopy(HOUSE)
    document["goals"]["south"] = {"point": [6.1, 3.5], "storey": "high"}
    document["groups"] = [
        {"name": "stands", "positions": [[5.95, 5.0]], "storey": "high"},
        {"name": "under", "positions": [[5.95, 5.0]], "storey": "low"},
        {"name": "walks", "positions": [[6.1, 6.6]], "storey": "high", "goals": ["south"]},
    ]
    with simulation(document) as run:
        run.remove_tile(1, 1, storey="high")
        agents, near = run.world.agents, []
        run.step()
        while agents.position[2, 1] > 4.0 and len(near) < 100:
            run.step()
            near.append(np.hypot(*(agents.position[2] - agents.position[0])))
            assert run.world.heights()[:2].tolist() == [3.0, 0.0]
        assert agents.path_status[0] == PathStatus.STALE and agents.activity[0] == AgentState.STANDING
        assert len(near) < 100  # it comes by
        assert agents.layer[:2].tolist() == [1, 0] and min(near) > 0.38  # two radii, but for 2 cm
        part, heights = run.world.ground_of(agents.position)
        assert part[0] == part[2] == part[1] and heights.z.tolist() == [3.0, 0.0, 3.0]


def test_a_cart_that_appears_upstairs_where_a_tile_is_out_is_met_upstairs_and_on_no_other_floor():
    document = copy.deepcopy(HOUSE)
    walk = {"positions": [[11.0, 9.5]], "radius": 0.3}
    for floor in ("high", "low"):
        document["goals"][floor] = {"point": [11.0, 3.8], "storey": floor}
    document["groups"] = [
        {"name": floor, "storey": floor, "goals": [floor], **walk} for floor in ("high", "low")
    ]
    document["obstacles"] = [
        {
            "name": "cart",
            "storey": "high",
            "shape": {"disc": 0.5},
            "path": [[7.5, 4.5], [11.0, 6.0]],
            "speed": 2.0,
            "appears": 1,
        }
    ]
    with simulation(document) as run:
        run.remove_tile(2, 1, storey="high")
        near = [np.inf, np.inf]
        for _ in range(60):
            run.step()
            agents = run.world.agents
            if len(agents) == 3:
                assert agents.layer[2] == 1 and run.world.heights()[2] == 3.0
                apart = np.hypot(*(agents.position[:2] - agents.position[2]).T)
                near = np.minimum(near, apart).tolist()
        assert near[0] > 0.75  # upstairs the cart is passed, or waited for
        assert near[1] < 0.5  # below one walks under it


def test_a_watcher_upstairs_sees_nothing_while_its_tile_is_out_and_looks_down_from_no_other_floor():
    navigation = {"kind": "visibility", "tile_size": SIZE, "unseen_from": [[14, 8, 3]]}
    with simulation({**HOUSE, "navigation": navigation}) as run:
        seen = []
        for change in (run.remove_tile, run.add_tile):
            run.step()
            seen.append(len(run.system(Plan).paths[0].planner.terrain.weights.window))
            change(4, 2, storey="high")
            run.step()
            seen.append(len(run.system(Plan).paths[0].planner.terrain.weights.window))
        assert seen[0] == seen[3] > 0 == seen[1] == seen[2]


def test_a_door_on_a_storey_that_closes_and_a_tile_that_goes_on_another_change_their_own_tiles_only():
    document = with_events()
    document["geometry"]["areas"] = [{"name": "door", "area": {"box": [8, 4, 8.4, 6]}, "storey": "high"}]
    document["events"] = [{"at": 2, "close": "door"}, {"at": 4, "open": "door"}]
    document["groups"].append({"name": "waits in it", "positions": [[8.2, 5]], "storey": "high"})
    document["groups"].append({"name": "waits under it", "positions": [[8.2, 5]], "storey": "low"})
    with simulation(document) as run:
        tiles, taken = run.world.tiles, []
        before = tiles.salt.copy()
        for _ in range(50):
            taken.append(run.step())
        events = np.concatenate(taken)
        put_out = events[events["kind"] == EventKind.PUT_OUT]
        inside, under = run.world.agents.entity[-2:]
        assert put_out["entity"].tolist() == [inside]
        changed = np.flatnonzero(tiles.salt != before)
        assert set(tiles.numbers.layers(changed).tolist()) == {1}
        assert {tiles.name_of(tile) for tile in changed.tolist()} == {(2, 1), (3, 1), (2, 2), (3, 2)}
        work = run.system(ChangeGround)
        assert not work.expects and np.array_equal(tiles.salt[changed], before[changed] + 2)
        assert under not in put_out["entity"]


def changed_by_standing_obstacles(document):
    """Return the columns and rows of tiles that are others after 4 s, by floor."""
    with simulation(document) as run:
        tiles, before = run.world.tiles, run.world.tiles.salt.copy()
        for _ in range(40):
            run.step()
        changed = np.flatnonzero(tiles.salt != before)
        return {
            layer: {tiles.name_of(tile) for tile in changed[tiles.numbers.layers(changed) == layer].tolist()}
            for layer in sorted(set(tiles.numbers.layers(changed).tolist()))
        }


def test_an_obstacle_that_stands_is_cut_out_of_tiles_of_its_floor_and_at_a_foot_of_none():
    """Tiles that change are those of one level floor with the same walls."""
    comes = {"shape": {"disc": 0.4}, "speed": 2.0, "stands_after": 0.5}
    box = {"name": "box", "path": [[13, 8], [13.5, 7.5]], **comes}
    crate = {"name": "crate", "storey": "low", "path": [[3, 2], [5.8, 2]], **comes}
    document = copy.deepcopy(HOUSE)
    document["obstacles"] = [crate, {**box, "storey": "low"}]
    level = {**HOUSE, "goals": {}, "groups": [], "obstacles": [box]}
    level["geometry"] = {
        "walkable": {"box": [0, 0, 16, 10]},
        "obstacles": [{"box": [6, 1, 11, 3]}, {"box": [4, 7, 10, 9]}],
    }
    (expected,) = changed_by_standing_obstacles(level).values()
    assert (4, 2) in expected
    assert changed_by_standing_obstacles(document) == {0: expected}


@pytest.mark.parametrize(
    ("tile", "item", "says"),
    [
        (
            [1, 1],
            "events[0].remove_tile",
            r"\[1, 1\] says no storey.*\n.*storey: \.\.\., tile: \[1, 1\]",
        ),
        ({"storey": "hgh", "tile": [1, 1]}, "events[0].remove_tile.storey", 'no storey "hgh"'),
        ({"storey": "high", "height": 3, "tile": [1, 1]}, "events[0].remove_tile.height", "both given"),
        ({"tile": [1, 1]}, "events[0].remove_tile", "says no storey"),
        ({"storey": "high"}, "events[0].remove_tile", "missing"),
        ({"storey": "high", "tile": [1]}, "events[0].remove_tile.tile", "column and row"),
        ("high", "events[0].remove_tile", r"\{storey: name, tile: \[3, 4\]\}"),
        ({"storey": "stair", "tile": [0, 0]}, "events[0].remove_tile", r'no tile \(0, 0\) of "stair"'),
        ({"height": 3, "tile": [40, 0]}, "events[0].remove_tile.height", r"no ground in tile \[40, 0\]"),
    ],
)
def test_a_tile_of_no_floor_is_refused_with_the_way_out(tile, item, says):
    document = {**HOUSE, "events": [{"at": 1, "remove_tile": tile}]}
    with pytest.raises(ScenarioError, match=rf"(?s){says}") as caught, simulation(document):
        pass
    assert [problem.item for problem in caught.value.problems] == [item]


@pytest.mark.parametrize(("height", "floor"), [(0, "low"), (2.9, "high"), (1.2, "stair"), (1.8, "stair")])
def test_a_floor_is_meant_by_the_height_that_it_has_in_that_tile(height, floor):
    """In tile (2, 0) the stair goes from 0 to 1.8 m, below it there is the lower storey beside the well."""
    document = {**HOUSE, "events": [{"at": 1, "remove_tile": {"height": height, "tile": [2, 0]}}]}
    scenario = parse_scenario(json.dumps(document))
    found = scenario.geometry.floor_names[scenario.events[0].change.layer]
    assert found == floor
    written = yaml.safe_load(scenario.canonical())["events"]
    assert written == [{"at": 1.0, "remove_tile": {"storey": found, "tile": [2, 0]}}]


def test_programs_have_to_name_the_floor_and_are_told_which_there_are():
    with simulation(HOUSE) as run:
        for call, says in (
            (
                lambda: run.remove_tile(1, 1),
                r"several floors.*tile \(1, 1\) lies: height=, or storey= one of low, high, ramp, stair",
            ),
            (lambda: run.remove_tile(1, 1, storey="attic"), "no storey 'attic'"),
            (lambda: run.remove_tile(1, 1, storey="low", height=3), "not both"),
            (lambda: run.remove_tile(1, 1, height="three"), "finite number in metres, not 'three'"),
            (lambda: run.remove_tile(40, 1, height=3), r"no ground in tile \(40, 1\)"),
            (
                lambda: run.remove_tile(0, 0, storey="stair"),
                r'no tile \(0, 0\) of "stair". Tiles of "stair" go',
            ),
            (lambda: run.add_tile(1, 1, storey="high"), r'tile \(1, 1\) of "high" is there already'),
        ):
            with pytest.raises(CrowdsimError, match=rf"(?s){says}"):
                call()
        run.remove_tile(1, 1, height=2.8)
        run.step()
        tiles = run.world.tiles
        assert [tiles.numbers.text(tile) for tile in tiles.known() if not tiles.is_there[tile]] == [
            'tile (1, 1) of "high"'
        ]


def test_one_storey_takes_tiles_by_its_name_and_without():
    storey = {**HOUSE["geometry"]["storeys"][0], "elevation": 2.5}
    document = {
        **HOUSE,
        "geometry": {"storeys": [storey]},
        "goals": {"out": {"exit": {"box": [15.5, 3, 16, 6]}}},
        "groups": [{"name": "crowd", "count": 9, "region": {"box": [0.5, 3.5, 4, 6.5]}, "goals": ["out"]}],
    }
    digests = []
    for tile in ([2, 1], {"storey": "low", "tile": [2, 1]}, {"tile": [2, 1], "height": 2.5}):
        document["events"] = [{"at": 1, "remove_tile": tile}, {"at": 3, "add_tile": tile}]
        with simulation(document) as run:
            assert run.world.is_level
            for _ in range(50):
                run.step()
            digests.append(run.digest)
            assert run.world.heights().tolist() == [2.5] * len(run.world.agents)
    assert len(set(digests)) == 1


def test_on_one_level_floor_no_floor_is_named():
    document = {
        **HOUSE,
        "geometry": {"walkable": {"box": [0, 0, 16, 10]}},
        "goals": {},
        "groups": [{"name": "waits", "positions": [[2, 2]]}],
    }
    with simulation(document) as run:
        for named in ({"storey": "low"}, {"height": 0}):
            with pytest.raises(CrowdsimError, match="one level floor: leave out storey and height"):
                run.remove_tile(1, 1, **named)
            events = [{"at": 1, "remove_tile": {**named, "tile": [1, 1]}}]
            with pytest.raises(ScenarioError, match=r"the geometry has (one level floor|none)"):
                parse_scenario(json.dumps({**document, "events": events}))
