"""SteerBench's collisions and scores, by hand."""

from __future__ import annotations

import pytest

from crowdsim.measures import collisions, overlaps, steering_scores
from tests.measures.people import random_crowd, renamed, straight, tracks, with_events

NEAR, FAR = (0.3, 0.0), (2.0, 0.0)


def test_a_collision_counts_for_both_and_again_once_they_were_apart():
    people = tracks({1: [(0, 0)] * 6, 2: [NEAR, NEAR, FAR, NEAR, FAR, FAR], 3: [(9, 9)] * 6})
    table = collisions(people).set_index("id")
    assert table["collisions"].to_dict() == {1: 2, 2: 2, 3: 0}
    assert (
        table.loc[1, "in_collision_s"] == pytest.approx(0.3)
        and table.loc[2, "deepest_m"] == pytest.approx(0.1)
        and table.loc[3, "deepest_m"] == 0.0
    )


def test_an_agent_that_stands_scores_the_time_and_fifty_for_each_collision():
    table = steering_scores(tracks({1: [(0, 0)] * 6, 2: [NEAR] * 6})).set_index("id")
    assert table.loc[1, ["time_s", "energy", "acceleration", "score"]].tolist() == pytest.approx(
        [0.5, 0.0, 0.0, 50.5]
    )


def test_an_agent_that_walks_straight_on_scores_time_and_half_its_speed_squared_twenty_times_a_second():
    for fps in (5.0, 10.0, 20.0):
        people = tracks({1: straight((0, 0), (1.3, 0), int(4 * fps) + 1, fps)}, fps=fps)
        row = steering_scores(people).iloc[0]
        assert (row["time_s"], row["energy"], row["acceleration"]) == pytest.approx(
            (4.0, 4.0 * 20.0 * 0.5 * 1.3**2, 0.0), abs=1e-9
        )
        assert (row["score"], row["score_2"]) == pytest.approx((4.0 + 67.6, 4.0 + 67.6))


def test_a_change_of_velocity_counts_as_its_amount_over_a_frame():
    row = steering_scores(tracks({1: [(0, 0), (0.1, 0), (0.1, 0.1), (0.1, 0.2)]}, fps=20.0)).iloc[0]
    assert row["acceleration"] == pytest.approx(20.0 * 2.0 * 2.0**0.5) and row["score_2"] - row[
        "score"
    ] == pytest.approx(row["acceleration"])


def test_after_an_arrival_nothing_is_added():
    people = with_events(
        tracks({1: straight((0, 0), (1, 0), 11) + [(5, 5), (9, 9)]}), (1.0, 1, "ARRIVAL", 0, 1.0, 0.0)
    )
    row = steering_scores(people).iloc[0]
    assert row["time_s"] == 1.0 and row["energy"] == pytest.approx(10.0)


def test_no_energy_goes_into_a_jump_over_frames_in_which_one_was_away():
    assert steering_scores(tracks({1: [(0, 0), None, (50, 0), (50, 0)]}))["energy"].tolist() == [0.0]


@pytest.mark.parametrize("seed", range(3))
def test_scores_add_up_and_do_not_depend_on_ids(seed):
    crowd = random_crowd(seed, size=2.0)
    table = steering_scores(crowd)
    assert table["collisions"].sum() == 2 * len(overlaps(crowd)) > 0
    assert (table["score"] == 50.0 * table["collisions"] + table["time_s"] + table["energy"]).all()
    other, new = renamed(crowd)
    assert steering_scores(other).set_index("id").loc[
        [new[each] for each in table["id"]], "score_2"
    ].tolist() == pytest.approx(table["score_2"].tolist())
