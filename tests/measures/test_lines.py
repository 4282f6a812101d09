"""Lines that people cross at times and places that are known."""

from __future__ import annotations

import numpy as np
import pytest

from crowdsim.errors import CrowdsimError
from crowdsim.measures import Line, first_crossings, flow_over_time, line_crossings, mean_flow
from tests.measures.people import moved, random_crowd, renamed, straight, tracks, with_events

DOOR = Line(((0.0, 0.0), (0.0, 2.0)), "door")  # from below to above: forwards is along x


def test_times_places_and_directions_by_hand():
    table = line_crossings(
        tracks(
            {
                1: straight((-1, 0.5), (1.6, 0), 20),
                2: straight((0.25, 2.2), (-1, -1), 20),
                3: straight((-1, 2.5), (1, 0), 20),
            }
        ),
        DOOR,
    )
    assert table["id"].tolist() == [2, 1] and table["direction"].tolist() == [-1, 1]
    assert table["time_s"].tolist() == pytest.approx([0.25, 0.625]) and table[
        "along_m"
    ].tolist() == pytest.approx([1.95, 0.5])
    assert table["frame"].tolist() == [3, 7]


def test_an_agent_that_comes_as_far_as_the_line_has_not_crossed_it_and_one_that_goes_on_has_once():
    back, on = [(-1, 1), (0, 1), (-1, 1)], [(-1, 1), (0, 1), (0, 1), (1, 1)]
    assert len(line_crossings(tracks({1: back}), DOOR)) == 0
    table = line_crossings(tracks({1: on}), DOOR)
    assert table["frame"].tolist() == [3] and table["time_s"].tolist() == pytest.approx([0.2])
    assert len(line_crossings(tracks({1: on[1:]}), DOOR)) == 0  # began on it


def test_each_person_is_counted_each_time_and_the_first_time_is_told():
    table = line_crossings(
        tracks({1: [(-1, 1), (1, 1), (-1, 1), (1, 1)], 2: [(1, 1), (1, 1), (1, 1), (-1, 1)]}), DOOR
    )
    assert table["id"].tolist() == [1, 1, 1, 2] and table["count"].tolist() == [1, 2, 3, 1]
    assert first_crossings(table)["direction"].tolist() == [1, -1] and first_crossings(table, -1)[
        "time_s"
    ].tolist() == pytest.approx([0.15, 0.25])


def test_round_the_end_of_a_line_is_no_crossing_and_a_frame_away_is_no_step():
    round_it = [(-1, 1), (-1, 3), (1, 3), (1, 1)]
    assert len(line_crossings(tracks({1: round_it}), DOOR)) == 0
    assert len(line_crossings(tracks({1: [(-1, 1), None, (1, 1)]}), DOOR)) == 0


def test_a_line_with_bends_is_crossed_once_also_in_its_bend():
    corner = Line(((0, -2), (0, 0), (2, 0)))
    assert line_crossings(tracks({1: [(-1, 1), (1, -1)], 2: [(-1, -1), (1, -1)]}), corner)["id"].tolist() == [
        1,
        2,
    ]
    assert line_crossings(tracks({1: [(1, 1), (1, -1)]}), corner)["along_m"].tolist() == [3.0]


def test_the_last_step_to_the_place_of_arrival_counts():
    leaving = with_events(
        tracks({1: [(-1, 1), (-0.2, 1)], 2: [(-1, 1), (-0.2, 1), (-0.1, 1)]}),
        (0.15, 1, "ARRIVAL", 0, 0.2, 1.0),
    )
    table = line_crossings(leaving, DOOR)
    assert (
        table["id"].tolist() == [1]
        and table["time_s"].tolist() == pytest.approx([0.125])
        and table["frame"].tolist() == [2]
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_mirror_turns_directions_round_and_other_ids_change_nothing(seed):
    crowd, line = random_crowd(seed, people=40), Line(((0.5, 1.4), (2.5, 1.6)))
    found = line_crossings(crowd, line)
    assert len(found) > 5
    mirrored = line_crossings(moved(crowd, ((1, 0), (0, -1))), Line(((0.5, -1.4), (2.5, -1.6))))
    assert (
        mirrored["id"].tolist() == found["id"].tolist()
        and (mirrored["direction"] == -found["direction"]).all()
    )
    other, new = renamed(crowd)
    again = line_crossings(other, line)
    assert (
        sorted(again["time_s"]) == pytest.approx(sorted(found["time_s"]))
        and again["direction"].sum() == found["direction"].sum()
    )
    assert sorted(again["id"]) == sorted(new[each] for each in found["id"])


def test_twice_as_many_frames_show_the_same_crossings():
    paths = {
        k: (straight((-0.1 * k, 1), (1.0, 0), 41, 20.0), straight((-0.1 * k, 1), (1.0, 0), 21, 10.0))
        for k in range(1, 9)
    }
    often, seldom = (
        line_crossings(tracks({k: way[i] for k, way in paths.items()}, fps=fps), DOOR)
        for i, fps in ((0, 20.0), (1, 10.0))
    )
    assert often["time_s"].to_numpy() == pytest.approx(seldom["time_s"].to_numpy()) and often[
        "id"
    ].tolist() == list(range(1, 9))


def test_flows_by_hand():
    table = line_crossings(
        tracks(
            {k: straight((-0.5 * k, 1), (1.0, 0), 200) for k in range(1, 12)}
            | {20: straight((3.0, 1), (-1, 0), 200)}
        ),
        DOOR,
    )
    ahead = table[table["direction"] > 0]
    assert mean_flow(ahead, width_m=2.0).tolist() == pytest.approx([11, 0.5, 5.5, 2.0, 1.0])
    assert mean_flow(ahead, from_s=1.9, until_s=4.1)["people"] == 5
    parts = flow_over_time(table, every_s=2.0, width_m=2.0)
    assert (
        parts["forwards"].tolist() == [3, 4, 4]
        and parts["backwards"].tolist() == [0, 1, 0]
        and parts["total"].tolist() == [3, 6, 10]
    )
    assert parts["net_per_s"].tolist() == [1.5, 1.5, 2.0] and parts["specific_flow_per_m_s"].tolist() == [
        0.75,
        0.75,
        1.0,
    ]


def test_nobody_is_no_flow():
    none = line_crossings(tracks({1: straight((1, 1), (1, 0), 5)}), DOOR)
    assert (
        np.isnan(mean_flow(none)["flow_per_s"])
        and len(flow_over_time(none)) == 0
        and len(first_crossings(none)) == 0
    )
    with pytest.raises(CrowdsimError, match="longer than 0 s, not 0 s"):
        flow_over_time(none, every_s=0.0)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (((0, 0),), "two points or more"),
        (((0, 0), (0, 0)), "the same point twice"),
        (((0, 0), (0, float("nan"))), "two points"),
    ],
)
def test_what_is_no_line_is_told(points, message):
    with pytest.raises(CrowdsimError, match=message):
        Line(points)
