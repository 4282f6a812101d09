"""Triangles that come and go while agents walk on the ground that was filled among them; what they do is
looked at from recorded positions.
"""

import itertools
import json

import numpy as np
import pytest
import shapely

import crowdsim
from crowdsim.cli.verify import verify
from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.geometry.steps import at_once
from crowdsim.measures.deadlock_recorded import Recorded
from crowdsim.pictures.view.facts import plan_facts
from crowdsim.scenario.canonical import canonical_text
from crowdsim.scenario.load import as_scenario, load_scenario, parse_scenario, scenario_of_run
from crowdsim.scenario.plan_in_time import plan_in_time
from crowdsim.setup.build import Absent, build_world
from crowdsim.setup.grounds import foreseen_grounds
from crowdsim.setup.locked import locked_in
from crowdsim.simulation.simulation import Simulation
from crowdsim.systems.change_ground import ChangeGround
from tests.crowds import SCENARIOS, assert_same_on_threads_and_from_saved_states
from tests.navigation.soup.scenes import block, floor, wall

PLANNERS = ["mesh", "optimal", "visibility", "hierarchical"]
MODELS = ["orca", "clearpath", "hrvo", "sampled-hrvo", "toi", "none"]
FOOTBRIDGE = SCENARIOS / "footbridge.yaml"


def run_of(document, tmp_path, **given):
    with Simulation(document, out=tmp_path / "run.h5", **given) as run:
        verdict = run.run()
    with crowdsim.open_run(tmp_path / "run.h5") as kept:
        return verdict, kept.trajectories(), kept.events()


def soup(parts, **more):
    """Return a scenario on triangles, `parts` being lists of triangles by the names of their materials; all
    but "stays" come and go.
    """
    corners = np.concatenate([each for own in parts.values() for each in own])
    said = {
        "triangles": corners.tolist(),
        "materials": [name for name, own in parts.items() for each in own for _ in each],
        "seeds": [[0.5, 0.5, 0], [12.5, 0.5, 0]],
        "body": {"side": 0.1},
        "parts": {name: {} for name in parts if name != "stays"},
    }
    said["parts"] |= more.pop("said", {})
    return {
        "version": 1,
        "geometry": {"soup": said},
        "goals": {"east": {"region": {"box": [10.5, 0.5, 12.5, 3.5]}, "height": 0}},
        "groups": [
            {"name": "a", "count": 8, "region": {"box": [0.2, 0.2, 3, 3.8]}, "height": 0, "goals": "east"}
        ],
        "stop": {"after": 40, "when": "all_arrived"},
    } | more


def two_banks(**more):
    """Return two banks with two planks between them."""
    return soup(
        {
            "stays": [floor(0, 0, 5, 4), floor(8, 0, 13, 4)],
            "first": [floor(4.9, 0.2, 8.1, 1.4)],
            "second": [floor(4.9, 2.6, 8.1, 3.8)],
        },
        **more,
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(1, 11))
def test_those_on_a_footbridge_fall_with_it_and_those_behind_wait_for_the_gangway(tmp_path, seed):
    scenario = load_scenario(FOOTBRIDGE, sets=[f"seed={seed}"])
    verdict, seen, events = run_of(scenario, tmp_path)
    assert verdict.arrived == 40
    gone = int(events.loc[events["kind"] == "PART_REMOVED", "tick"].iloc[0]) * 0.05
    laid = int(events.loc[(events["kind"] == "PART_ADDED") & (events["value"] == 1), "tick"].iloc[0]) * 0.05
    time = seen["frame"] * 0.1
    over = (seen["y"] > 10.3) & (seen["y"] < 17.9)  # over the cutting
    on_bridge = over & (seen["x"] > 7) & (seen["x"] < 9.5) & (seen["z"] > -0.5)
    assert time[on_bridge].max() < gone + 0.1 and on_bridge.sum() > 20
    assert time[over & (seen["z"] < -0.5)].min() >= gone - 0.1
    on_gangway = over & (seen["x"] > 2.5) & (seen["x"] < 4.5) & (seen["z"] > -0.5)
    assert time[on_gangway].min() >= laid
    below = seen[over & (seen["z"] < -2)]
    assert set(np.round(below["z"], 2)[below["x"] < 6]) <= {-3.0}  # the ground, and outside of the rubble
    # nobody stands in the rubble that is too high to step on, nor on it
    beside = np.hypot(
        np.maximum(0, np.abs(below["x"] - 8.2) - 0.4), np.maximum(0, np.abs(below["y"] - 13.9) - 0.5)
    )
    fell = below["frame"] == below["frame"].min()
    assert beside[~fell].min() > 0.2
    # those that fell come out by the stair alone
    climbs = seen[(seen["z"] > -2.5) & (seen["z"] < -0.3)]
    assert climbs["x"].min() > 16.5 and climbs["y"].min() > 15.9
    waits = seen[(time > gone + 5) & (time < laid) & (seen["y"] < 10)]
    assert len(waits["id"].unique()) > 5
    assert set(waits["id"]).isdisjoint(below["id"])


@pytest.mark.sample(3)
@pytest.mark.parametrize("navigation", PLANNERS)
@pytest.mark.parametrize("model", MODELS)
def test_under_every_planner_and_model_all_get_over_what_is_there(tmp_path, navigation, model):
    events = [
        {"when": {"crossed": [[4, 0], [4, 4]], "height": 0, "count": 2}, "remove_part": "first"},
        {"when": {"crossed": [[4, 0], [4, 4]], "height": 0, "count": 2}, "add_part": "second"},
    ]
    document = two_banks(
        navigation=navigation, avoidance=model, events=events, said={"second": {"present": False}}
    )
    verdict, seen, told = run_of(document, tmp_path)
    assert verdict.arrived == 8
    changed = int(told.loc[told["kind"] == "PART_ADDED", "tick"].iloc[0])
    middle = seen[(seen["x"] > 5.3) & (seen["x"] < 7.7)]
    late = middle["frame"] * round(0.1 / 0.05) > changed + 2
    assert (middle["y"][late] > 2.6).all() and (middle["y"][late] < 3.8).all() and late.sum() > 8


@pytest.mark.parametrize("budget", [None, {"work": 6}, pytest.param({"work": 2}, marks=pytest.mark.full)])
def test_threads_and_states_saved_while_it_fills_change_nothing(budget):
    events = [
        {"when": {"crossed": [[2, 0], [2, 4]], "height": 0, "count": 1}, "remove_part": "first"},
        {"at": 1, "add_part": "second"},
    ]
    more = {} if budget is None else {"budget": budget}
    document = two_banks(events=events, said={"second": {"present": False}}, **more)
    with Simulation(document) as run:
        waits = []
        for _ in range(60):
            run.step()
            waits.append(run.system(ChangeGround)._rebuild.is_building)
    assert any(waits) == (budget is not None)
    saved = tuple(range(0, 40, 2))
    assert_same_on_threads_and_from_saved_states(document, 60, saved)


def test_ground_depends_on_what_is_there_and_not_on_what_was_there_before():
    """Built in steps it is that which is built at once, to the bit, with every set of parts; also after
    others, and as a scenario that says nothing of parts has it.
    """
    parts = {
        "stays": [floor(0, 0, 5, 4), floor(8, 0, 13, 4), floor(0, 0, 13, 4, -2.5)],
        "first": [floor(4.9, 0.2, 8.1, 1.4)],
        "second": [floor(4.9, 2.6, 8.1, 3.8)],
        "pillar": [block(1, 1, -3, 2, 2, 3)],
    }
    document = soup(parts)
    built = build_world(as_scenario(document))
    grounds, names = foreseen_grounds(built), [area.name for area in built.scenario.geometry.areas]
    for present in itertools.product([True, False], repeat=3):
        absent = [Absent(number) for number, is_there in enumerate(present) if not is_there]
        made = at_once(grounds._build_in_steps(absent))
        other = grounds._build_at_once(absent)
        for one, two in zip(
            (*made.build.mesh, *made.build.walls, *made.goals),
            (*other.build.mesh, *other.build.walls, *other.goals),
            strict=True,
        ):
            assert np.array_equal(one, two)
        left = {name: own for name, own in parts.items() if name == "stays" or present[names.index(name)]}
        plain = soup(left)
        del plain["geometry"]["soup"]["parts"]
        plain = as_scenario(plain).geometry
        assert sum(ground.area for ground in made.geometry.grounds) == pytest.approx(
            sum(ground.area for ground in plain.grounds)
        )
        # floors keep their numbers: what is not there is empty
        assert [floor.name for floor in made.geometry.floors] == ["floor 1"]


def test_floors_keep_their_numbers():
    parts = {
        "stays": [floor(0, 0, 5, 4), floor(8, 0, 13, 4)],
        "below": [
            floor(0, 0, 13, 4, -3.0),
            *[block(13 + k, 0, -4, 14 + k, 4, -3 + 0.2 * k) for k in range(4)],
        ],
        "bridge": [floor(4.9, 0.2, 8.1, 1.4)],
    }
    document = soup(parts, said={"below": {"present": False}})
    document["geometry"]["soup"]["seeds"].append([6, 3, -2.9])
    geometry = as_scenario(document).geometry
    assert [round(floor.elevation, 1) for floor in geometry.floors] == [-3.0, 0.0]
    assert geometry.grounds[0].is_empty and geometry.grounds[1].area == pytest.approx(40 + 3 * 1.2, abs=0.3)
    names = [area.name for area in geometry.areas]
    more = geometry.with_parts([name != "bridge" for name in names])
    assert more.grounds[0].area > 50 and more.grounds[1].area == pytest.approx(40, abs=0.3)
    assert [floor.name for floor in more.floors] == [floor.name for floor in geometry.floors]


def test_where_a_wall_appears_agents_come_to_the_floor_beside_it_and_not_to_the_one_below(tmp_path):
    parts = {
        "stays": [floor(0, 0, 13, 4), floor(0, 0, 13, 4, -3.0)],
        "wall": [block(3, 0, -0.1, 4, 3, 3)],
    }
    document = soup(
        parts, said={"wall": {"present": False}}, events=[{"at": 0.05, "add_part": "wall"}],
    )  # fmt: skip
    places = [[3.4, 1.5], [3.9, 1.0], [3.5, 3.4]]
    document["groups"] = [{"name": "a", "positions": places, "height": 0, "goals": "east"}]
    document["geometry"]["soup"]["seeds"].append([1, 1, -3])
    verdict, seen, events = run_of(document, tmp_path)
    assert verdict.arrived == 3 and (seen["z"] == 0.0).all()
    put = events[events["kind"] == "PUT_OUT"]
    assert set(put["entity"]) == {1, 2} and (put["value"] < 1000).all()
    after = seen[seen["frame"] > 1]
    inside = shapely.box(3, 0, 4, 3)
    assert (shapely.distance(inside, shapely.points(after[["x", "y"]].to_numpy())) > 0.19).all()


def test_of_several_floors_below_one_falls_onto_the_highest(tmp_path):
    parts = {
        "stays": [floor(0, 0, 2, 4), floor(0, 0, 13, 4, -2.5), floor(0, 0, 13, 4, -5.0)],
        "deck": [floor(1.9, 0, 13, 4)],
    }
    document = soup(
        parts, events=[{"at": 0.3, "remove_part": "deck"}],
        goals={"low": {"region": {"box": [10.5, 0.5, 12.5, 3.5]}, "height": -2.5}},
        groups=[{"name": "a", "positions": [[6, 2], [8, 2]], "height": 0, "goals": "low"}],
    )  # fmt: skip
    document["geometry"]["soup"]["seeds"] = [[0.5, 0.5, 0], [1, 1, -2.5], [1, 1, -5]]
    verdict, seen, events = run_of(document, tmp_path)
    assert verdict.arrived == 2
    assert set(seen["z"]) == {0.0, -2.5}
    assert events.loc[events["kind"] == "PUT_OUT", "value"].tolist() == [2500, 2500]


def test_a_program_lets_parts_come_and_go_and_the_run_repeats(tmp_path):
    document = two_banks(said={"first": {"present": False}, "second": {"present": False}})
    with Simulation(document, out=tmp_path / "run.h5") as run:
        for tick in range(700):
            if tick == 60:
                assert run.verdict().arrived == 0
                run.set_part_present("second", True)
            if tick == 300:
                run.set_part_present("second", False)
            run.step()
        with pytest.raises(CrowdsimError, match=r"there is no part 'secnd'\. Did you mean .second"):
            run.set_part_present("secnd", True)
        with pytest.raises(CrowdsimError, match="there is no area 'second'"):
            run.set_area_available("second", True)
        assert run.verdict().arrived == 8
    assert verify(tmp_path / "run.h5", threads=2, quiet=True) == 0


def test_machines_hear_that_a_part_has_come(tmp_path):
    states = {
        "wait": {"wait_until": {"opened": "first"}, "then": "go"},
        "go": {"leave": "east"},
    }
    document = two_banks(
        said={"first": {"present": False}}, events=[{"at": 4, "add_part": "first"}],
        behaviours={"b": {"states": states}},
    )  # fmt: skip
    for group in document["groups"]:
        group["behaviour"] = "b"
        del group["goals"]
    document["geometry"]["soup"]["parts"].pop("second")
    document["geometry"]["soup"]["triangles"] = document["geometry"]["soup"]["triangles"][:6]
    document["geometry"]["soup"]["materials"] = document["geometry"]["soup"]["materials"][:6]
    verdict, seen, _ = run_of(document, tmp_path)
    assert verdict.arrived == 8
    early = seen[seen["frame"] < 39]
    assert early.groupby("id")[["x", "y"]].std().max().max() < 0.05


def test_doors_and_parts_change_the_same_ground(tmp_path):
    document = two_banks(
        events=[{"at": 1, "close": "plank"}, {"at": 2, "remove_part": "second"}, {"at": 8, "open": "plank"}]
    )
    document["geometry"]["areas"] = [{"name": "plank", "area": {"box": [6, 0, 7, 2]}, "height": 0}]
    verdict, seen, _ = run_of(document, tmp_path)
    assert verdict.arrived == 8
    middle = seen[(seen["x"] > 5.4) & (seen["x"] < 7.6)]
    time = middle["frame"] * 0.1
    assert not ((time > 2.1) & (time < 8.0) & (middle["x"] > 6.3) & (middle["x"] < 6.7)).any()
    assert (time > 8.0).any()


def test_a_lift_whose_upper_stop_is_gone_takes_no_agent_up(tmp_path):
    parts = {
        "stays": [floor(0, 0, 13, 4), floor(9, 0, 13, 4, 3.0)],
        "landing": [floor(5, 0, 9.1, 4, 3.0)],
    }
    document = soup(
        parts, events=[{"at": 1, "remove_part": "landing"}, {"at": 20, "add_part": "landing"}],
        groups=[{"name": "a", "count": 8, "region": {"box": [0, 0, 3, 4]}, "height": 0, "goals": "top"}],
        goals={"top": {"region": {"box": [11, 0.5, 12.5, 3.5]}, "height": 3}},
        connections={
            "lift": {
                "lift": {
                    "stops": [
                        {"area": {"box": [6, 1, 7.4, 2.4]}, "height": 0},
                        {"area": {"box": [6, 1, 7.4, 2.4]}, "height": 3},
                    ],
                    "times": [3],
                    "capacity": 4,
                }
            }
        },
        stop={"after": 120, "when": "all_arrived"},
    )  # fmt: skip
    verdict, seen, _ = run_of(document, tmp_path)
    assert verdict.arrived == 8
    up = seen[(seen["z"] > 2.9) & (seen["x"] < 9)]
    assert (up["frame"] * 0.1 >= 20).all() and len(up)
    text = canonical_text(as_scenario(document))
    assert canonical_text(parse_scenario(text)) == text


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"navigation": "grid"}, "navigation: does not go with parts of a soup .* cells are laid"),
        ({"navigation": {"tile_size": 4}}, "navigation.tile_size: does not go with parts .* tiles are cut"),
        (
            {"waypaths": {"line": {"points": [[1, 1], [3, 1]], "height": 0}}},
            "waypaths.line: does not go with parts",
        ),
        ({"jumps": {}}, "jumps: does not go with parts"),
        ({"events": [{"at": 1, "add_part": "frist"}]}, 'there is no part "frist".*Did you mean "first"'),
        (
            {"events": [{"at": 1, "close": "first"}]},
            'there is no area "first".*Declare it under geometry.areas',
        ),
        ({"said": {"third": {}}}, 'parts.third: no triangle is made of "third"'),
        ({"said": {"first": {"materials": ["second"]}}}, '"second" belongs to the part "first" already'),
        ({"said": {"first": {"materials": ["x"], "file": "y.obj"}}}, "materials and file are both given"),
    ],
)
def test_what_does_not_go_with_parts_is_refused(more, says):
    with pytest.raises(ScenarioError, match=f"(?s){says}"):
        as_scenario(two_banks(**more))


def test_drops_and_drawn_terrain_are_refused_with_parts():
    for key, where in (("drop", "soup"), ("terrain", "geometry")):
        document = two_banks()
        if key == "drop":
            document["geometry"]["soup"]["drop"] = 2.0
        else:
            document["geometry"]["terrain"] = [{"name": "g", "area": {"box": [0, 0, 1, 1]}, "height": 0}]
        with pytest.raises(ScenarioError, match=f"{where}.{key}: {key} does not go with parts of a soup"):
            as_scenario(document)


def test_a_run_whose_ground_goes_ends_with_the_reason():
    parts = {"stays": [wall(20, 0, 20, 4)], "all": [floor(0, 0, 13, 4)]}
    when = {"crossed": [[4, 0], [4, 4]], "height": 0, "count": 1}
    document = soup(parts, events=[{"when": when, "remove_part": "all"}])
    with (
        pytest.raises(
            ScenarioError, match="parts: with none of them: no agent can stand at any of the seeds"
        ),
        Simulation(document) as run,
    ):
        run.run()
    plan = plan_in_time(as_scenario(document).geometry)  # pictures show what there is
    assert plan.grounds[0].area == plan.areas[0].area.area == pytest.approx(52)
    document["events"] = [{"at": 1, "remove_part": "all"}]  # and by the clock before it begins
    with pytest.raises(ScenarioError, match="parts: with none of them"):
        Simulation(document)


def test_those_locked_in_by_a_bridge_that_goes_are_told_before():
    def notes(*events):
        return [
            each.message
            for each in locked_in(
                build_world(as_scenario(two_banks(events=list(events), said={"second": {"present": False}})))
            )
        ]

    gone = {"at": 5, "remove_part": "first"}
    (told,) = notes(gone)
    assert 'have no path to goal "east" any more once "first" goes at 5 s (events[0])' in told
    assert notes(gone, {"at": 9, "add_part": "second"}) == []
    assert notes(gone, {"at": 9, "add_part": "first"}) == []


def test_pictures_pages_and_diagnoses_show_the_ground_of_their_time(tmp_path):
    document = two_banks(events=[{"at": 2, "remove_part": "first"}], said={"second": {"present": False}})
    run_of(document, tmp_path)
    with crowdsim.open_run(tmp_path / "run.h5") as kept:
        scenario = scenario_of_run(kept.header, "run.h5")
        plan = plan_in_time(scenario.geometry)
        assert plan.grounds[0].area == pytest.approx(40 + 2 * 3 * 1.2, abs=0.5)
        assert [(area.name, round(area.area.area, 1)) for area in plan.areas] == [
            ("first", pytest.approx(3.6, abs=0.3)), ("second", pytest.approx(3.6, abs=0.3)),
        ]  # fmt: skip
        doors = plan_facts(scenario, kept, (0.0, 0.0))["doors"]
        assert [(door["name"], door["open"], door["turns"]) for door in doors] == [
            ("first", True, [[41, False]]), ("second", False, []),
        ]  # fmt: skip
        recorded = Recorded(kept)
        before, after = (sum(ground.area for ground in recorded.grounds(tick)) for tick in (40, 41))
        assert before - after == pytest.approx(3.6, abs=0.3)
        labels = [plan.label(place, is_open=is_open) for place in (0, 1) for is_open in (True, False)]
        assert labels == ["first", "first (not there)", "second", "second (not there)"]


def test_a_part_may_have_a_file_of_its_own(tmp_path):
    (tmp_path / "plank.obj").write_text(obj_of(floor(4.9, 0.2, 8.1, 1.4)))
    document = two_banks(said={"first": {"file": "plank.obj"}})
    soup_ = document["geometry"]["soup"]
    soup_["triangles"], soup_["materials"] = (
        soup_["triangles"][:4] + soup_["triangles"][6:],
        soup_["materials"][:4] + soup_["materials"][6:],
    )
    found = parse_scenario(json.dumps(document), folder=tmp_path)
    assert [area.name for area in found.geometry.areas] == ["first", "second"]
    assert found.geometry.walkable.area == pytest.approx(as_scenario(two_banks()).geometry.walkable.area)
    assert canonical_text(parse_scenario(canonical_text(found))) == canonical_text(found)


def obj_of(corners):
    lines = [f"v {x} {z} {-y}" for x, y, z in corners.reshape(-1, 3).tolist()]
    return (
        "\n".join([*lines, *(f"f {3 * k + 1} {3 * k + 2} {3 * k + 3}" for k in range(len(corners)))]) + "\n"
    )


@pytest.mark.parametrize("navigation", ["mesh", "visibility", "hierarchical"])
def test_groups_keep_off_surfaces_and_slow_down_on_them_after_a_change_too(tmp_path, navigation):
    """Two gangways come, one of steel, which some keep off, and one of slow mud, on which all are slow."""
    parts = {
        "stays": [floor(0, 0, 5, 4), floor(8, 0, 13, 4)],
        "steel": [floor(4.9, 0.2, 8.1, 1.4)],
        "mud": [floor(4.9, 2.6, 8.1, 3.8)],
    }
    document = soup(
        parts, said={"steel": {"present": False}, "mud": {"present": False}},
        events=[{"at": 1, "add_part": "steel"}, {"at": 2, "add_part": "mud"}],
        groups=[
            {
                "name": "barefoot", "count": 4, "region": {"box": [0.2, 0.2, 3, 3.8]}, "height": 0,
                "goals": "east", "navigation": {"kind": navigation, "forbid": ["steel"]},
            },
            {"name": "shod", "positions": [[1, 0.8]], "height": 0, "goals": "east"},
        ],
    )  # fmt: skip
    speed = 1.0 if navigation == "visibility" else 0.5  # that planner is refused where ground has speeds
    document["geometry"]["soup"]["surfaces"] = {"steel": {}, "mud": {"speed": speed}}
    verdict, seen, _ = run_of(document, tmp_path)
    assert verdict.arrived == 5
    middle = seen[(seen["x"] > 5.4) & (seen["x"] < 7.6)]
    steps = np.hypot(middle.groupby("id")["x"].diff(), middle.groupby("id")["y"].diff()) / 0.1
    on_mud = middle["y"] > 2.2
    assert on_mud.sum() > 20 and (middle["id"][~on_mud].nunique() == 1)
    assert steps[on_mud].max() < 1.8 * speed + 0.1
    if speed < 1.0:
        document["groups"][0]["navigation"]["kind"] = "visibility"
        with pytest.raises(ScenarioError, match="knows no speeds of ground"):
            Simulation(document)


def test_ground_keeps_its_floor_where_what_lay_above_it_is_gone():
    parts = {
        "stays": [floor(0, 0, 10, 4), floor(0, 0, 6, 4, 2.1), floor(12, 0, 16, 4, 1.2)],
        "roof": [floor(12, 0, 17, 4, 3.5)],
    }
    document = soup(parts, goals={"east": {"region": {"box": [8, 0.5, 9.5, 3.5]}, "height": 0}})
    document["geometry"]["soup"]["seeds"] = [[1, 1, 0], [1, 1, 2.1], [13, 1, 1.2], [13, 1, 3.5]]
    geometry = as_scenario(document).geometry
    places = [(1, 1, 0), (1, 1, 2.1), (13, 1, 1.2)]
    assert [geometry.floor_at(*place)[0] for place in places] == [0, 1, 0]
    assert [geometry.with_parts([False]).floor_at(*place)[0] for place in places] == [0, 1, 0]


def test_those_that_have_given_up_ask_again_when_a_wall_goes(tmp_path):
    parts = {"stays": [floor(0, 0, 13, 4)], "wall": [block(5, 0, -0.1, 5.4, 4, 3)]}
    verdict, _, events = run_of(soup(parts, events=[{"at": 3, "remove_part": "wall"}]), tmp_path)
    assert (events["kind"] == "UNREACHABLE").sum() == 8 and verdict.arrived == 8
