"""Exits, arrivals, and how a place empties, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from crowdsim.errors import CrowdsimError, RecordingError
from crowdsim.measures import arrivals, evacuation_curve, exit_use
from crowdsim.measures.scenarios import area_from_text, line_from_text, named_areas
from crowdsim.scenario.load import parse_scenario
from tests.measures.people import straight, tracks, with_events

TEXT = """
version: 1
name: two-exits
geometry:
  walkable: {box: [0, 0, 10, 4]}
  areas: [{name: gate, area: {box: [4, 1, 5, 3]}}]
goals:
  east: {exit: {box: [9.5, 0, 10, 4]}}
  west: {exit: {box: [0, 0, 0.5, 4]}}
  seat: {point: [5, 2], arrive_within: 0.3}
  unused: {point: [6, 2], arrive_within: 0.3}
groups:
  - {name: crowd, count: 4, region: {box: [1, 0, 3, 4]}, goals: [east]}
  - {name: stands, count: 1, region: {box: [7, 0, 8, 4]}}
"""
NAMES = [goal.name for goal in parse_scenario(TEXT).goals]
EAST, SEAT = NAMES.index("east"), NAMES.index("seat")


def run():
    """Four walk, one stands; two leave in the east, one sits down, one goes on for ever."""
    people = tracks(
        {k: straight((1, k), (1, 0), 30) for k in range(1, 5)} | {5: [(7, 2)] * 30},
        group=["crowd"] * 4 + ["stands"],
        start_s=[1.0, 0, 0, 0, 0],
    )
    rows = [
        (3.0, 1, "ARRIVAL", EAST, 9.5, 1.0),
        (5.0, 3, "ARRIVAL", EAST, 9.5, 3.0),
        (2.5, 2, "ARRIVAL", SEAT, 5.0, 2.0),
        (0.0, 4, "SPAWN", 0, 1.0, 4.0),
    ]
    return with_events(people, *rows, goals=NAMES, scenario=TEXT)


def test_arrivals_are_told_in_their_order_with_the_time_since_one_might_walk():
    table = arrivals(run())
    assert table["id"].tolist() == [2, 1, 3] and table["goal"].tolist() == ["seat", "east", "east"]
    assert table["travel_s"].tolist() == [2.5, 2.0, 5.0] and table["group"].tolist() == ["crowd"] * 3


def test_exits_that_nobody_took_are_told_and_points_that_nobody_reached_are_not():
    table = exit_use(run()).set_index("goal")
    assert table["people"].to_dict() == {"east": 2, "seat": 1, "west": 0}
    assert table.loc[
        "east", ["first_s", "median_s", "last_s", "mean_travel_s", "flow_per_s"]
    ].tolist() == pytest.approx([3.0, 4.0, 5.0, 3.5, 0.5])
    assert (
        table.loc["east", "share"] == pytest.approx(2 / 3)
        and np.isnan(table.loc["west", "first_s"])
        and np.isnan(table.loc["seat", "flow_per_s"])
    )


def test_a_place_empties_to_those_that_have_not_arrived_and_one_that_stands_never_counts():
    table = evacuation_curve(run())
    assert table["time_s"].tolist() == [0.0, 2.5, 3.0, 5.0] and table["left"].tolist() == [0, 1, 2, 3]
    assert table["share"].tolist() == [0.0, 0.25, 0.5, 0.75] and table["still_there"].tolist() == [4, 3, 2, 1]


def test_measured_people_have_left_when_they_are_seen_no_more_and_have_no_exits():
    people = tracks(
        {1: straight((0, 0), (1, 0), 5), 2: straight((0, 1), (1, 0), 5), 3: straight((0, 2), (1, 0), 9)}
    )
    table = evacuation_curve(people)
    assert (
        table["time_s"].tolist() == pytest.approx([0.0, 0.4])
        and table["left"].tolist() == [0, 2]
        and table["still_there"].tolist() == [3, 1]
    )
    with pytest.raises(RecordingError, match="measured people have no goals"):
        exit_use(people)


def test_lines_and_areas_have_the_names_of_the_scenario():
    given = run()
    assert set(named_areas(given)) == {"gate", "east", "west"} and area_from_text(
        "gate", given
    ).polygon.equals(shapely.box(4, 1, 5, 3))
    gate = line_from_text("gate", given)
    assert gate.length_m == 6.0 and len(gate.points) == 5
    assert (
        line_from_text("wide=0,0,0,4,2,4", given).points == ((0, 0), (0, 4), (2, 4))
        and line_from_text("wide=0,0,0,4,2,4", given).name == "wide"
    )
    assert area_from_text("0,0,4,0,0,3", given).polygon.area == 6.0


def test_an_agent_that_goes_into_a_named_area_crosses_its_outline_forwards():
    from crowdsim.measures import line_crossings

    given = run()
    table = line_crossings(tracks({1: straight((3, 2), (1, 0), 30)}), line_from_text("gate", given))
    assert table["direction"].tolist() == [1, -1] and table["time_s"].tolist() == pytest.approx([1.0, 2.0])


@pytest.mark.parametrize(
    ("make", "text", "message"),
    [
        (
            line_from_text,
            "gatee",
            (
                'The scenario names no area "gatee". Did you mean "gate"? Known are east, gate, west. Or '
                "give numbers: x1,y1,x2,y2."
            ),
        ),
        (
            line_from_text,
            "1,2,3",
            'The line "1,2,3" has 3 numbers, but takes x1,y1,x2,y2, and two more for each bend.',
        ),
        (line_from_text, "1,2,x,4", '"1,2,x,4" has something between its commas that is no number.'),
        (line_from_text, "a=gate", '"a=gate" has something between its commas that is no number.'),
        (
            area_from_text,
            "1,2,3",
            (
                'The area "1,2,3" has 3 numbers, but takes xmin,ymin,xmax,ymax, or x and y of three corners '
                "or more."
            ),
        ),
        (area_from_text, "4,0,1,1", "(4, 0) has to lie left of and below (1, 1)."),
    ],
)
def test_what_is_wrong_with_a_line_or_area_is_one_sentence(make, text, message):
    with pytest.raises(CrowdsimError) as caught:
        make(text, run())
    assert message in str(caught.value)


def test_measured_people_name_no_area():
    with pytest.raises(CrowdsimError, match="measured people have no scenario with names in it"):
        area_from_text("gate", tracks({1: [(0, 0)]}))
