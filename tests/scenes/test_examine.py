"""What `validate` finds beyond the text: who stands in a wall, who cannot get where;
each told once, with the numbers and the way out.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from crowdsim import open_run
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.setup.build import build_world
from crowdsim.setup.examine import examine, notes_left
from crowdsim.setup.recording_size import agents_to_come, recording_bytes
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.events import EventKind
from tests.cli.command import crowdsim
from tests.crowds import SCENARIOS

ROOM = """
version: 1
name: room
stop: {after: 30}
geometry:
  walkable: {box: [0, 0, 10, 4]}
  obstacles: [{box: [5, 0, 5.2, 3.7]}]
goals: {end: {exit: {box: [9.5, 0, 10, 4]}}, near: {point: [1, 1]}}
groups:
"""
CUT = ROOM.replace("3.7]", "4]")


def found(text):
    """Return the problems as (line, item, message), and the notes that are left."""
    scenario = parse_scenario(text, file="room.yaml")
    problems, _ = examine(build_world(scenario))
    return [(problem.line, problem.item, problem.message) for problem in problems], [
        note.message for note in notes_left(scenario)
    ]


def test_fifty_agents_behind_one_gap_are_one_problem():
    problems, _ = found(
        ROOM + "  - {name: crowd, count: 50, region: {box: [0, 0, 4, 4]}, goals: end, radius: 0.18}\n"
    )
    assert problems == [
        (
            10,
            "crowd[0] and 49 more",
            (
                'have no path to goal "end" for their radius of 0.18 m (need 0.36 m): the widest path has a '
                "gap of 0.300 m at (5.00, 3.85)"
            ),
        )
    ]


def test_one_agent_behind_a_gap_is_one_problem_in_the_singular():
    problems, _ = found(ROOM + "  - {name: one, positions: [[1, 1]], goals: end}\n")
    assert problems == [
        (
            10,
            "one[0]",
            (
                'has no path to goal "end" for its radius of 0.2 m (needs 0.4 m): the widest path has a gap '
                "of 0.300 m at (5.00, 3.85)"
            ),
        )
    ]


def test_groups_and_radii_are_told_apart_and_those_who_fit_are_not_counted():
    problems, _ = found(
        ROOM
        + "  - {name: wide, count: 20, region: {box: [0, 0, 4, 4]}, goals: end, radius: {choice: {values: "
        "[0.1, 0.2, 0.25], weights: [1, 1, 1]}}}\n"
        "  - {name: late, positions: [[1, 2], [1.5, 3]], goals: [near, end]}\n"
    )
    scenario = parse_scenario(
        ROOM
        + (
            "  - {name: wide, count: 20, region: {box: [0, 0, 4, 4]}, goals: end, radius: {choice: {values: "
            "[0.1, 0.2, 0.25], weights: [1, 1, 1]}}}\n"
        )
    )
    wide = int((build_world(scenario).agents.radius > 0.15).sum())
    assert 2 < wide < 20
    (_, first, message), (line, second, _) = problems
    assert (
        first.endswith(f" and {wide - 1} more") and "for their radii of 0.2 to 0.25 m (need 0.5 m)" in message
    )
    assert (line, second) == (11, "late[0] and 1 more")


def test_ground_that_is_not_connected_is_one_problem_and_no_note():
    text = CUT + "  - {name: crowd, count: 30, region: {box: [0, 0, 4, 4]}, goals: end}\n"
    problems, notes = found(text)
    ((line, item, message),) = problems
    assert (line, item) == (10, "crowd[0] and 29 more") and message.endswith(
        "the ground between is not connected"
    )
    assert any(
        "another part of the ground" in note.message for note in parse_scenario(text).notes
    ) and notes == ["nobody goes to near"]


def test_an_agent_in_a_wall_is_told_once():
    text = ROOM + "  - {name: walled, positions: [[4.9, 1], [2, 2]], goals: near}\n"
    problems, notes = found(text)
    assert problems == [(10, "walled[0]", "stands 0.100 m from a wall at (4.9, 1), but its radius is 0.2 m")]
    assert notes == ["nobody goes to end"]


def test_many_in_walls_are_counted_group_by_group():
    rows = ", ".join(f"[0.1, {0.5 + 0.3 * number:.1f}]" for number in range(10))
    problems, _ = found(
        ROOM
        + (
            f"  - {{name: left, positions: [{rows}], goals: near}}\n"
            f"  - {{name: right, positions: [[9.9, 1]], goals: end}}\n"
        )
    )
    # at the exit the wall is open
    assert [item for _, item, _ in problems] == ["left[0]", "left[1]", "left[2]"]
    assert problems[2][2].endswith("its radius is 0.2 m, and 7 more of the group stand in walls")


@pytest.mark.parametrize("code", [0, 2])
def test_validate_prints_the_same_as_text_and_as_json(tmp_path, code):
    path = tmp_path / "room.yaml"
    path.write_text(
        ROOM
        + (
            f"  - {{name: crowd, count: 5, region: {{box: [0, 0, 4, 4]}}, goals: "
            f"{'end' if code else 'near'}}}\n"
        )
    )
    text, answer = crowdsim(["validate", path]), crowdsim(["validate", path, "--json"])
    assert (text.returncode, answer.returncode) == (code, code)
    facts = json.loads(answer.stdout)
    assert facts["ok"] is (not code) and len(facts["problems"]) == bool(code) and facts["agents"] == 5
    assert [note["message"] for note in facts["notes"]] == [f"nobody goes to {'near' if code else 'end'}"]
    assert facts["notes"][0]["message"] in text.stderr
    assert (f"{path}: nothing is wrong" in text.stdout) is (not code)


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("extra", [[], ["--set", "record.trace=true"]], ids=["plain", "trace"])
def test_the_estimated_size_is_near_that_of_a_real_recording(tmp_path, extra):
    path = tmp_path / "room.yaml"
    path.write_text(
        ROOM
        + "  - {name: crowd, count: 20, region: {box: [0, 0, 4, 4]}, goals: near, leave_on_arrival: false}\n"
    )
    estimate = json.loads(crowdsim(["validate", path, "--json", "--set", "stop.when=never", *extra]).stdout)[
        "recording_bytes"
    ]
    out = tmp_path / "a.h5"
    assert crowdsim(["run", path, "-q", "-o", out, "--set", "stop.when=never", *extra]).returncode in (0, 3)
    assert 0.3 < out.stat().st_size / estimate < 3.0


STREAMS = """
version: 1
name: hall
stop: {after: 240}
geometry: {walkable: {box: [0, 0, 40, 8]}}
goals: {east: {exit: {box: [39, 0, 40, 8]}}, hall: {region: {box: [18, 0, 24, 8]}}}
record: {rate: 4}
groups:
  - {name: crowd, count: 10, region: {box: [0, 0, 17, 8]}, goals: hall, leave_on_arrival: false}
  - {name: street, region: {box: [0, 0, 3, 8]}, goals: [hall, east], arrive: {rate: 1/s, process: poisson}}
  - {name: later, region: {box: [0, 0, 3, 8]}, goals: hall, leave_on_arrival: false,
     arrive: {schedule: [[100, 4], [230, 3], [250, 8]]}}
"""


@pytest.mark.parametrize(
    "sets",
    [[], ["groups.1.arrive.until=60"], ["record.agents={every: 3}"], ["record.agents=[street]"]],
    ids=["all", "for a minute", "every third", "a group"],
)
def test_those_that_come_in_are_counted_and_are_part_of_the_estimated_size(tmp_path, sets):
    path, out = tmp_path / "hall.yaml", tmp_path / "a.h5"
    path.write_text(STREAMS)
    options = [option for each in sets for option in ("--set", each)]
    facts = json.loads(crowdsim(["validate", path, "--json", *options]).stdout)
    assert crowdsim(["run", path, "-q", "-o", out, *options]).returncode in (0, 3)
    with open_run(out) as run:
        came = run.ticks()["came"].sum()
    assert facts["agents"] == 10 and facts["coming"] == came > 60
    assert 0.5 < out.stat().st_size / facts["recording_bytes"] < 1.5


def test_what_validate_says_of_those_that_come_in(tmp_path):
    path = tmp_path / "hall.yaml"
    path.write_text(STREAMS)
    told = crowdsim(["validate", path]).stdout.splitlines()
    facts = json.loads(crowdsim(["validate", path, "--json"]).stdout)
    assert told[1].startswith(
        f"10 agents at first, {facts['coming']:,} that come in, and 2 goals on 320 m2 ("
    )
    assert told[-2].endswith(" MB if those that come in and leave")
    assert told[-1] == "stay for as long as their paths take, and all others to the end"


def test_of_very_many_that_come_in_some_are_counted_and_later_ones_come_as_they_do(monkeypatch):
    scenario = parse_scenario(STREAMS.replace("rate: 1/s", "rate: 20/s"), file="hall.yaml")
    agents, stays_s = build_world(scenario).agents, np.full(3, 20.0)
    all_of_them = agents_to_come(scenario)
    monkeypatch.setattr("crowdsim.setup.recording_size.MOST_COUNTED", 1000)
    some = agents_to_come(scenario)
    assert 1000 <= len(some.tick) < 1100 and len(all_of_them.tick) > 4000
    assert some.until < all_of_them.until == scenario.stop.ticks
    assert np.array_equal(some.tick, all_of_them.tick[: len(some.tick)])
    whole, near = (recording_bytes(scenario, agents, each, stays_s) for each in (all_of_them, some))
    assert near == pytest.approx(whole, rel=0.1)


def test_a_door_that_a_grid_shuts_is_told_with_the_numbers_and_the_proposal_opens_it():
    """The door of 1.2 m between areas is open for a body of 0.2 m with cells of 0.4 m,
    for twice 0.2 and a cell are 0.8 m; for one of 0.6 m it is shut.
    """
    text = SCENARIOS / "bottleneck.yaml"
    assert examine(build_world(load_scenario(text, sets=["navigation=grid"])))[0] == []
    problems, _ = examine(
        build_world(load_scenario(text, sets=["navigation={kind: grid, agent_radius: 0.6}"]))
    )
    (problem,) = problems
    assert (
        "over their grid: with cells of 0.4 m and a padding of 0.25 m a body of 0.6 m" in problem.message
        and "has one of 1.200 m" in problem.message
    )
    assert "gaps between obstacles from 2.1 m on, and between edges of areas from 1.6 m on" in problem.message
    proposal = problem.way_out.split("navigation: {")[1].split("}")[0]
    opened, facts = examine(build_world(load_scenario(text, sets=[f"navigation={{{proposal}}}"])))
    assert opened == [] and facts.longest_path_m > 1.0
    assert examine(build_world(load_scenario(text, sets=["navigation=optimal"])))[0] == []


def test_each_group_is_asked_about_by_its_own_planner():
    """Only the group on the grid has no way through the door of 0.9 m; who shuns cells walks through."""
    coarse = "navigation: {kind: grid, object_padding: 0.6}"
    room = (
        ROOM.replace("3.7]", "3.1]")
        + f"  - {{name: cells, count: 4, region: {{box: [0, 0, 4, 4]}}, goals: end, {coarse}}}\n"
    )
    problems, _ = found(room + "  - {name: mesh, count: 3, region: {box: [0, 0, 4, 4]}, goals: end}\n")
    ((line, item, message),) = problems
    assert (line, item) == (10, "cells[0] and 3 more") and "has one of 0.900 m at (5.00, 3.55)" in message
    # A gap that no body fits through is told as before, whoever looks.
    problems, _ = found(
        ROOM + "  - {name: cells, count: 4, region: {box: [0, 0, 4, 4]}, goals: end, navigation: grid}\n"
    )
    assert problems[0][2].endswith("the widest path has a gap of 0.300 m at (5.00, 3.85)")


@pytest.mark.parametrize(
    "kind", ["mesh", "optimal", "visibility", "{kind: grid, cell_size: 0.1, object_padding: 0.05}"]
)
def test_lengths_are_those_that_the_run_finds(kind):
    text = (
        ROOM.replace("3.7]", "2.5]")
        + "  - {name: one, positions: [[1, 1]], goals: end}\n"
        + f"navigation: {kind}\n"
    )
    _, facts = examine(build_world(parse_scenario(text)))
    with Simulation(parse_scenario(text)) as run:
        (length,) = [event.x for _ in range(20) for event in run.step() if event.kind == EventKind.PATH_FOUND]
    assert facts.shortest_path_m == facts.longest_path_m == pytest.approx(length, rel=1e-12)
