"""Who is locked in for good by what happens while a scenario runs is told before it runs:
who, since when, by which event, and the way out.
"""

import json

import pytest

from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.setup.build import build_world
from crowdsim.setup.examine import examine
from crowdsim.setup.locked import Locks, eras_of, locked_in
from tests.cli.command import crowdsim
from tests.crowds import ROOT, SCENARIOS

GRID = {"kind": "grid", "cell_size": 0.1, "object_padding": 0.02}
DOOR = {"name": "door", "area": {"box": [8, 3.6, 8.2, 4.4]}}
HATCH = {"name": "hatch", "area": {"box": [8, 0.4, 8.2, 1.6]}}


def house(*events, areas=(DOOR,), count=80, **more):
    """Return a room that people leave by a door, and by a hatch if it is listed."""
    ways = [{"box": each["area"]["box"]} for each in areas]
    return {
        "version": 1,
        "name": "house",
        "tick": 0.1,
        "stop": {"after": 60},
        "geometry": {
            "walkable": [{"box": [0, 0, 8, 8]}, {"box": [8.2, 0, 12, 8]}, *ways],
            "areas": list(areas),
        },
        "goals": {"out": {"exit": {"box": [11, 0, 12, 8]}}},
        "groups": [
            {
                "name": "crowd",
                "count": count,
                "region": {"box": [0, 0, 7, 8]},
                "radius": 0.2,
                "goals": ["out"],
            }
        ],
        "events": list(events),
        **more,
    }


def notes(document):
    built = build_world(parse_scenario(json.dumps(document), file="house.yaml"))
    return [(note.item, note.message, note.way_out) for note in locked_in(built)], [
        problem.message for problem in examine(built)[0]
    ]


def test_a_door_that_closes_for_good_locks_in_who_is_not_through_by_then():
    ((item, message, way_out),), problems = notes(house({"at": 3, "close": "door"}))
    assert item == "crowd[0] and 79 more" and problems == []
    assert message.startswith(
        'have no path to goal "out" any more once "door" closes at 3 s (events[0]), until the end of the '
        "run: those not through by then are locked in, and "
    )
    late = int(message.split(" and ")[-1].split()[0])
    assert 10 <= late < 80  # at 3 s, whoever is more than some 5 m from the door
    assert way_out.startswith("Let it open again (events: [{at: ..., open: door}])")


def test_whoever_is_counted_as_late_is_not_through_in_the_run():
    """The run locks in at least as many as cannot be through though nobody else were there."""
    from tests.scenes.test_progress import scene

    document = house({"at": 5, "close": "door"})
    ((_, message, _),), _ = notes(document)
    late = int(message.split(" and ")[-1].split()[0])
    with scene(document) as run:
        verdict = run.run()
    assert verdict.not_arrived >= late > 0 and set(verdict.reasons) == {
        "no path to its goal that is wide enough"
    }


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", ["mesh", "optimal", "visibility", GRID])
def test_doors_that_open_again_other_ways_out_and_doors_that_close_after_the_end_lock_nobody_in(navigation):
    for document in (
        house({"at": 5, "close": "door"}, {"at": 20, "open": "door"}, count=12),
        house({"at": 100, "close": "door"}, count=12),
        house(count=12),
        house({"at": 5, "close": "door"}, areas=(DOOR, HATCH), count=12),
        house(
            {"at": 5, "close": "door"},
            {"at": 6, "open": "hatch"},
            areas=(DOOR, {**HATCH, "available": False}),
            count=12,
        ),
    ):
        assert notes({**document, "navigation": navigation}) == ([], [])


@pytest.mark.parametrize("navigation", ["mesh", GRID])
def test_it_is_told_of_the_event_after_which_there_is_no_way_left(navigation):
    found, _ = notes(
        {
            **house(
                {"at": 5, "close": "door"},
                {"at": 9, "close": "hatch"},
                {"at": 12, "open": "door"},
                {"at": 15, "close": "door"},
                areas=(DOOR, HATCH),
                count=12,
            ),
            "navigation": navigation,
        }
    )
    ((_, message, _),) = found
    assert 'once "door" closes at 15 s (events[3])' in message


def test_who_waits_for_a_door_to_open_has_no_problem_and_who_waits_for_ever_has():
    closed = {**DOOR, "available": False}
    assert notes(house({"at": 40, "open": "door"}, areas=(closed,), count=12)) == ([], [])
    assert notes(
        house({"when": {"crossed": [[1, 0], [1, 8]], "count": 3}, "open": "door"}, areas=(closed,), count=12)
    ) == ([], [])
    found, problems = notes(house(areas=(closed,), count=12))
    assert found == [] and len(problems) == 1 and "the ground between is not connected" in problems[0]
    late, problems = notes(house({"at": 99, "open": "door"}, areas=(closed,), count=12))
    assert late == [] and len(problems) == 1


def test_what_waits_for_agents_locks_in_if_nothing_opens_it_again():
    met = {"when": {"crossed": [[8.1, 3.6], [8.1, 4.4]], "count": 10}, "close": "door"}
    ((_, message, _),), _ = notes(house(met))
    assert message.endswith(
        'once "door" closes (events[0]), until the end of the run: those not through by then are locked in'
    )
    assert notes(house(met, {"at": 40, "open": "door"})) == ([], [])


def test_an_obstacle_that_comes_to_stand_in_the_only_door_for_good_locks_in_too():
    cart = {
        "name": "cart",
        "shape": {"polygon": [[-0.2, -0.45], [0.2, -0.45], [0.2, 0.45], [-0.2, 0.45]]},
        "path": [[5, 4], [8.1, 4]],
        "speed": 1.0,
        "stands_after": 2,
    }
    ((_, message, way_out),), _ = notes({**house(count=12), "obstacles": [cart]})
    assert 'once "cart" stands in the way from 5.2 s on (obstacles)' in message and way_out.startswith(
        'Let "cart" go on or vanish'
    )
    assert notes({**house(count=12), "obstacles": [{**cart, "vanishes": 30}]}) == ([], [])


def test_later_goals_and_single_agents_are_told_of_in_their_own_words():
    document = house({"at": 30, "close": "door"}, count=1)
    document["goals"]["desk"] = {"point": [2, 2]}
    document["groups"][0]["goals"] = ["desk", "out"]
    ((item, message, _),), _ = notes(document)
    assert (
        item == "crowd[0]"
        and message.startswith('has no path to goal "out" any more once')
        and "it is locked in if it is not through by then" in message
    )


def test_a_group_whose_agents_have_places_of_their_own_is_one_note():
    document = house({"at": 2, "close": "door"}, count=5)
    document["groups"][0] = {
        "name": "crowd",
        "radius": 0.2,
        "agents": [{"position": [1, 1 + k], "goals": [{"point": [10, 1 + k]}]} for k in range(5)],
    }
    ((item, message, _),), _ = notes(document)
    assert (
        item == "crowd[0] and 4 more"
        and message.startswith("have no path to their 5 goals any more once")
        and message.endswith("5 of 5 cannot be")
    )


def offices(rooms):
    """Return offices along a corridor, each with a door of its own that closes for good, one a second."""
    doors = [{"name": f"door {k}", "area": {"box": [4 * k + 1, 2, 4 * k + 2, 2.2]}} for k in range(rooms)]
    return {
        "version": 1,
        "name": "offices",
        "tick": 0.1,
        "stop": {"after": 100},
        "geometry": {
            "walkable": [
                {"box": [0, 0, 4 * rooms, 2]},
                *({"box": [4 * k, 2.2, 4 * k + 3.8, 5]} for k in range(rooms)),
                *({"box": each["area"]["box"]} for each in doors),
            ],
            "areas": doors,
        },
        "goals": {"out": {"exit": {"box": [0, 0, 1, 2]}}},
        "groups": [
            {"name": f"room {k}", "positions": [[4 * k + 3, 4]], "goals": ["out"]} for k in range(rooms)
        ],
        "events": [{"at": k + 1, "close": f"door {k}"} for k in range(rooms)],
    }


@pytest.mark.parametrize("most", [3, 32])
def test_many_doors_that_close_one_after_the_other_lock_in_everybody_behind_them(most, monkeypatch):
    """Where there are more grounds than are looked at, nobody is left out,
    and it is not said which door it was.
    """
    monkeypatch.setattr("crowdsim.setup.locked.MOST_GROUNDS", most)
    found, problems = notes(offices(6))
    assert sorted(item for item, _, _ in found) == [f"room {k}[0]" for k in range(6)] and problems == []
    exactly = [f'once "door {k}" closes at {k + 1} s (events[{k}])' for k in range(6)]
    vaguely = ['once "door 3" closes at 4 s (events[3]), or something before that, until'] * 4
    for (_, message, _), words in zip(
        sorted(found), exactly if most == 32 else vaguely + exactly[4:], strict=True
    ):
        assert words in message


def test_what_opens_and_closes_beside_it_is_not_looked_at_again(monkeypatch):
    """A hatch that toggles a hundred times does not hide the door that closed before,
    and costs two grounds.
    """
    cut = []
    monkeypatch.setattr(
        Locks,
        "_has_path",
        lambda self, era, *rest, own=Locks._has_path: cut.append(era.closed) or own(self, era, *rest),
    )
    toggled = [{"at": 6 + k, ("open", "close")[k % 2]: "cupboard"} for k in range(50)]
    cupboard = {"name": "cupboard", "area": {"box": [2, 2, 3, 3]}}
    document = house(
        {"at": 5, "close": "cupboard"}, {"at": 5, "close": "door"}, *toggled, areas=(DOOR, cupboard), count=6
    )
    ((_, message, _),), _ = notes(document)
    assert 'once "door" closes at 5 s (events[1])' in message and len(cut) <= 3


def test_of_two_events_in_one_tick_the_later_one_counts():
    scenario = parse_scenario(
        json.dumps(house({"at": 5, "open": "door"}, {"at": 5, "close": "door"}, count=2)), file="house.yaml"
    )
    assert [era.areas for era in eras_of(scenario)] == [(True,), (True,), (False,)]
    assert locked_in(build_world(scenario))


def test_shipped_scenarios_lock_nobody_in():
    for name in ("closing-door", "exit-closes", "moving-obstacle", "goal-in-closed-room"):
        assert locked_in(build_world(load_scenario(SCENARIOS / f"{name}.yaml"))) == []


def test_validate_and_run_print_the_note_and_go_on(tmp_path):
    scene = ROOT / "tests" / "scenes" / "stuck" / "no-path-door-shut.yaml"
    done = crowdsim(["validate", scene], cwd=tmp_path)
    assert (
        done.returncode == 0
        and "note: " in done.stderr
        and 'once "door" closes at 2 s (events[0])' in done.stderr
        and "2 of 2 cannot be" in done.stderr
    )
    told = json.loads(crowdsim(["validate", scene, "--json"], cwd=tmp_path).stdout)
    assert told["ok"] and any("locked in" in note["message"] for note in told["notes"])
    done = crowdsim(["run", scene, "--no-record", "--set", "stop.after=3"], cwd=tmp_path)
    assert done.returncode == 3 and done.stderr.count("locked in") == 1
