"""Paths beside the shortest ones: scenes whose shortest path is known, walked in a real run."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from crowdsim.errors import RecordingError
from crowdsim.measures import all_tables, detours, summary, tracks_of
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import SCENARIOS
from tests.measures.people import straight, tracks, with_events

ALONE = """
version: 1
name: round-a-wall
seed: 1
tick: 0.05
stop: {after: 60, when: all_arrived}
geometry: {walkable: {box: [0, 0, 20, 8]}, obstacles: {box: [9, 0, 9.4, 5]}}
goals:
  seat: {point: [15, 1], arrive_within: 0.5}
  end: {exit: {box: [19, 0, 20, 8]}}
avoidance: none
groups:
  - name: walkers
    radius: 0.2
    speed: 1.3
    agents:
      - {position: [3, 1], goals: [seat]}
      - {position: [3, 7], goals: [end]}
      - {position: [3, 3], goals: [seat, end]}
      - {position: [1, 4], goals: [seat], premovement: 5}
      - {position: [5, 7.5]}
"""


def around(start, end, radius=0.2):
    """Return the length of the shortest way of a body over the wall from one side to the other:
    tangents to both corners, arcs, and the top between them.
    """
    length = 0.4
    for place, edge in ((start, np.array([9.0, 5.0])), (end, np.array([9.4, 5.0]))):
        aside, below = np.abs(place - edge)
        away = math.hypot(aside, below)
        tangent = math.sqrt(away**2 - radius**2)
        # The tangent rises by the angle to the corner and that under which the corner's circle is seen; the
        # arc turns it level.
        length += tangent + radius * (math.atan2(below, aside) + math.asin(radius / away))
    return length


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("paths") / "run.h5"
    with Simulation(parse_scenario(ALONE), out=path) as run:
        run.run()
    return tracks_of(path)


def test_shortest_paths_are_those_of_geometry(recorded):
    table = detours(recorded).set_index("id")
    assert table.loc[2, "optimum_m"] == pytest.approx(16.0, abs=1e-6)
    assert table.loc[1, "optimum_m"] == pytest.approx(
        around(np.array([3.0, 1.0]), np.array([15.0, 1.0])) - 0.5, abs=1e-3
    )
    assert table.loc[2, "ideal_s"] == pytest.approx(16.0 / 1.3)


def test_an_agent_that_is_alone_walks_little_more_than_the_shortest_path_in_its_time(recorded):
    table = detours(recorded)
    arrived = table[table["has_arrived"]]
    assert len(arrived) == 4 and arrived["detour"].between(0.995, 1.02).all(), arrived
    assert arrived["time_over_ideal"].between(0.99, 1.05).all(), arrived


def test_a_way_through_two_goals_is_measured_from_where_the_first_was_reached(recorded):
    table = detours(recorded).set_index("id")
    to_seat = around(np.array([3.0, 3.0]), np.array([15.0, 1.0])) - 0.5
    # from the seat on somewhere in its circle
    assert (
        table.loc[3, "optimum_m"] == pytest.approx(to_seat + 4.0, abs=0.5)
        and 1.0 < table.loc[3, "detour"] < 1.02
    )


def test_an_agent_that_stands_has_no_path(recorded):
    row = detours(recorded).set_index("id").loc[5]
    assert not row["has_arrived"] and np.isnan(row["optimum_m"]) and np.isnan(row["detour"])


def test_no_one_that_a_program_sent_elsewhere_is_held_to_the_goals_of_the_scenario(recorded):
    events = recorded.events.copy()
    events.loc[(events["id"] == 2) & (events["kind"] == "ARRIVAL"), "value"] = recorded.header.goals.index(
        "seat"
    )
    assert np.isnan(detours(replace(recorded, events=events)).set_index("id").loc[2, "optimum_m"])


def test_an_agent_that_was_first_seen_on_the_way_has_the_rest_of_it(recorded):
    keep = ~((recorded.person == 2) & (recorded.time_s < 4.0))
    late = replace(
        recorded,
        person=recorded.person[keep],
        frame=recorded.frame[keep],
        x=recorded.x[keep],
        y=recorded.y[keep],
        z=recorded.z[keep],
    )
    row = detours(late).set_index("id").loc[2]
    # the last tick ends beyond the edge
    assert row["optimum_m"] == pytest.approx(16.0 - 4.0 * 1.3, abs=1e-6) and row["detour"] == pytest.approx(
        1.0, abs=0.01
    )


def test_a_door_that_is_shut_at_the_begin_counts_as_open():
    text = ALONE.replace(
        "obstacles: {box: [9, 0, 9.4, 5]}",
        (
            "obstacles: {box: [9, 0, 9.4, 5]}, areas: [{name: gate, area: {box: [12, 0, 13, 8]}, available: "
            "false}]"
        ),
    )
    walked = with_events(
        tracks({1: straight((3, 7), (2, 0), 81), 2: [(0, 0)], 3: [(0, 0)], 4: [(0, 0)], 5: [(0, 0)]}),
        (8.0, 2, "SPAWN", 0, 0.0, 0.0),
        (8.0, 1, "ARRIVAL", 1, 19.0, 7.0),
        goals=[goal.name for goal in parse_scenario(text).goals],
        scenario=text.replace("goals: [seat]}", "goals: [end]}", 1).replace(
            "[3, 1], goals: [end]", "[3, 7], goals: [end]"
        ),
    )
    index = walked.header.goals.index("end")
    walked = replace(walked, events=walked.events.assign(value=index))
    assert detours(walked).set_index("id").loc[1, "optimum_m"] == pytest.approx(16.0, abs=1e-6)


def test_measured_people_have_no_shortest_path():
    with pytest.raises(RecordingError, match="measured people, and holds no scenario"):
        detours(tracks({1: [(0, 0)]}))


def test_all_measures_of_a_run_are_told_at_once(recorded):
    tables = all_tables(recorded)
    assert list(tables) == [
        "paths",
        "speeds",
        "evacuation",
        "detours",
        "arrivals",
        "exits",
        "trips",
        "overlaps",
        "scores",
    ]
    found = summary(recorded, tables)
    assert (
        found["people"] == 5
        and found["arrived"] == 4
        and found["mean_detour"] == pytest.approx(1.0, abs=0.02)
    )
    assert found["last_arrival_s"] == tables["arrivals"]["time_s"].max() and found["overlaps"] == len(
        tables["overlaps"]
    )
    assert list(all_tables(tracks({1: [(0, 0)]}))) == ["paths", "speeds", "evacuation", "overlaps", "scores"]


@pytest.mark.full
@pytest.mark.parametrize("name", ["bridge", "stairwell", "two-storeys"])
def test_nobody_walks_less_than_the_shortest_path_over_storeys_and_slopes(name, tmp_path):
    with Simulation(load_scenario(SCENARIOS / f"{name}.yaml"), out=tmp_path / "run.h5") as run:
        run.run()
    table = detours(tmp_path / "run.h5")
    assert table["has_arrived"].all() and table["detour"].between(0.998, 3.0).all(), table[
        "detour"
    ].describe()
