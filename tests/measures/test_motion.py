"""Speeds and lengths of paths that are known beforehand."""

from __future__ import annotations

import numpy as np
import pytest

from crowdsim.errors import CrowdsimError
from crowdsim.measures import path_lengths, speed_over_time, speeds
from tests.measures.people import moved, random_crowd, renamed, straight, tracks, with_events


def test_an_agent_that_walks_straight_on_has_one_speed_also_at_both_ends():
    table = speeds(tracks({1: straight((0, 0), (0.9, 1.2), 20), 2: straight((5, 0), (0, 0), 20)}))
    assert table.loc[table["id"] == 1, "speed_m_s"].to_numpy() == pytest.approx(1.5)
    assert table.loc[table["id"] == 1, "velocity_x_m_s"].to_numpy() == pytest.approx(0.9)
    assert (table.loc[table["id"] == 2, "speed_m_s"] == 0.0).all()


def test_a_speed_is_the_displacement_over_the_time_around_a_frame():
    table = speeds(tracks({1: [(0, 0), (1, 0), (1, 0), (1, 0), (5, 0)]}, fps=2.0), over_s=1.0)
    assert table["speed_m_s"].tolist() == [2.0, 1.0, 0.0, 4.0, 8.0]
    assert (
        speeds(tracks({1: [(0, 0), (1, 0), (1, 0), (1, 0), (5, 0)]}, fps=2.0), over_s=2.0)["speed_m_s"][2]
        == 2.5
    )


def test_speeds_go_along_the_surface():
    assert speeds(tracks({1: [(0, 0, 0), (0.3, 0, 0.4), (0.6, 0, 0.8)]}))[
        "speed_m_s"
    ].tolist() == pytest.approx([5.0] * 3)


def test_nobody_is_fast_between_two_visits_and_one_frame_has_no_speed():
    table = speeds(tracks({1: [(0, 0), (0.1, 0), None, (50, 0), (50.1, 0), None, (9, 9)]}), over_s=0.2)
    assert table["speed_m_s"].to_numpy() == pytest.approx([1.0] * 4 + [np.nan], nan_ok=True)


def test_a_time_of_nothing_is_refused():
    with pytest.raises(CrowdsimError, match="above 0 s, not 0 s"):
        speeds(random_crowd(1), over_s=0.0)


def test_half_the_frames_show_the_same_speeds_where_people_walk_straight_on():
    often = speeds(tracks({1: straight((0, 0), (1.3, 0.2), 61, 20.0)}, fps=20.0)).set_index("time_s")[
        "speed_m_s"
    ]
    seldom = speeds(tracks({1: straight((0, 0), (1.3, 0.2), 31, 10.0)}, fps=10.0)).set_index("time_s")[
        "speed_m_s"
    ]
    assert often.loc[seldom.index].to_numpy() == pytest.approx(seldom.to_numpy())


def test_lengths_and_times_by_hand():
    people = tracks(
        {3: [(0, 0), (3, 4), (3, 4), (3, 0)], 7: [(1, 1)]},
        fps=1.0,
        desired_speed_m_s=[2.0, 1.0],
        group=["a", "b"],
    )
    table = path_lengths(people).set_index("id")
    assert table.loc[
        3, ["length_m", "displacement_m", "duration_s", "mean_speed_m_s", "desired_speed_m_s", "group"]
    ].tolist() == [9.0, 3.0, 3.0, 3.0, 2.0, "a"]
    assert table.loc[7, ["length_m", "duration_s"]].tolist() == [0.0, 0.0] and np.isnan(
        table.loc[7, "mean_speed_m_s"]
    )
    assert not table["has_arrived"].any()


def test_a_path_ends_where_an_agent_arrives_between_two_frames_or_stays():
    people = tracks({1: [(0, 0), (1, 0)], 2: [(0, 1), (1, 1), (1.2, 1), (1.2, 4)]}, fps=1.0)
    arrived = with_events(people, (1.5, 1, "ARRIVAL", 0, 1.5, 0.0), (1.5, 2, "ARRIVAL", 0, 1.2, 1.0))
    table = path_lengths(arrived)
    assert (
        table["length_m"].tolist() == pytest.approx([1.5, 1.2])
        and table["end_s"].tolist() == [1.5, 1.5]
        and table["has_arrived"].all()
    )
    assert table["displacement_m"].tolist() == pytest.approx([1.5, 1.2])


def test_premovement_is_no_part_of_the_way():
    people = with_events(
        tracks({1: [(0, 0)] * 5 + [(1, 0)]}, fps=1.0, start_s=4.0), (5.0, 1, "ARRIVAL", 0, 1.0, 0.0)
    )
    assert path_lengths(people).loc[0, ["begin_s", "end_s", "duration_s"]].tolist() == [4.0, 5.0, 1.0]


def test_speeds_over_time_tell_frames_without_people():
    table = speed_over_time(
        tracks({1: straight((0, 0), (1, 0), 3), 2: straight((0, 1), (3, 0), 3)}, first={2: 4})
    )
    assert table["people"].tolist() == [1, 1, 1, 0, 1, 1, 1]
    assert table["mean_m_s"].to_numpy() == pytest.approx([1, 1, 1, np.nan, 3, 3, 3], nan_ok=True)


@pytest.mark.parametrize("seed", range(3))
def test_a_mirror_a_quarter_turn_and_other_ids_change_no_length_and_no_speed(seed):
    crowd = random_crowd(seed)
    lengths, speed = path_lengths(crowd), speeds(crowd)["speed_m_s"].to_numpy()
    for matrix in (((-1, 0), (0, 1)), ((0, -1), (1, 0))):
        other = moved(crowd, matrix)
        assert path_lengths(other)["length_m"].to_numpy() == pytest.approx(
            lengths["length_m"].to_numpy(), abs=1e-12
        )
        assert speeds(other)["speed_m_s"].to_numpy() == pytest.approx(speed, abs=1e-12)
    other, new = renamed(crowd)
    assert (
        path_lengths(other).set_index("id").loc[[new[each] for each in lengths["id"]], "length_m"].tolist()
        == lengths["length_m"].tolist()
    )
