"""Overlaps whose depth and duration are known, and the same as by comparing each with each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdsim.errors import RecordingError
from crowdsim.measures import contacts, overlaps
from crowdsim.measures.tracks import people_table
from tests.measures.people import moved, random_crowd, renamed, straight, tracks, with_events
from tests.reference import contacts as reference


def rows_of(table, fps=10.0):
    """Return the rows as the twin has them: begin and duration in frames."""
    return sorted(
        (
            row["first"],
            row["second"],
            round(row["begin_s"] * fps),
            round(row["duration_s"] * fps),
            pytest.approx(row["deepest_m"], abs=1e-12),
        )
        for row in table.to_dict("records")
    )


def test_two_that_walk_through_each_other_overlap_once_as_deep_as_both_are_wide():
    table = overlaps(tracks({1: straight((0, 0), (1, 0), 21), 2: straight((2, 0), (-1, 0), 21)}))
    assert table[["first", "second"]].to_numpy().tolist() == [[1, 2]]
    assert (
        table.loc[0, "deepest_m"] == pytest.approx(0.4)
        and table.loc[0, "begin_s"] == pytest.approx(0.9)
        and table.loc[0, "duration_s"] == pytest.approx(0.3)
    )
    assert table.loc[0, ["x_m", "y_m"]].tolist() == pytest.approx([1.0, 0.0])


def test_coming_apart_for_a_frame_or_being_away_ends_an_overlap():
    near, far = (0.3, 0.0), (0.9, 0.0)
    table = overlaps(tracks({1: [(0, 0)] * 7, 2: [near, near, far, near, None, near, near]}))
    assert table["begin_s"].tolist() == pytest.approx([0.0, 0.3, 0.5]) and table[
        "duration_s"
    ].tolist() == pytest.approx([0.2, 0.1, 0.2])


def test_bodies_that_touch_do_not_overlap_and_depths_below_the_bound_do_not_count():
    people = tracks({1: [(0, 0)], 2: [(0.4, 0)], 3: [(0, 0.39)]})
    assert overlaps(people)[["first", "second"]].to_numpy().tolist() == [[1, 3]]
    assert len(overlaps(people, deeper_than_m=0.02)) == 0


def test_people_on_two_storeys_do_not_overlap_and_on_a_stair_they_do():
    assert len(overlaps(tracks({1: [(0, 0, 0.0)], 2: [(0, 0, 3.0)]}))) == 0
    assert len(overlaps(tracks({1: [(0, 0, 0.0)], 2: [(0.3, 0, 0.2)]}))) == 1


def test_each_person_has_a_width_of_its_own():
    people = tracks({1: [(0, 0)], 2: [(0.9, 0)], 3: [(0, 0.5)]}, radius_m=[0.2, 0.8, 0.2])
    assert overlaps(people)[["first", "second"]].to_numpy().tolist() == [[1, 2]]


def test_measured_people_have_no_width_until_one_is_given():
    people = replace(tracks({1: [(0, 0)], 2: [(0.3, 0)]}), people=people_table(np.array([1, 2])))
    with pytest.raises(RecordingError, match=r"Give them a radius, for example 0\.2 m"):
        overlaps(people)
    assert len(overlaps(people, radius_m=0.2)) == 1 and len(overlaps(people, radius_m=0.1)) == 0


def test_nobody_overlaps_where_nobody_is_or_that_is_alone():
    assert len(overlaps(tracks({1: [(0, 0)]}))) == 0
    assert len(overlaps(tracks({1: [None, None]}))) == 0


@pytest.mark.parametrize("seed", range(6))
def test_overlaps_agree_with_reference(seed, monkeypatch):
    crowd = random_crowd(seed, people=16, frames=30, size=2.0)
    radius = dict(zip(crowd.people["id"].tolist(), crowd.people["radius_m"].tolist(), strict=True))
    expected = reference.overlaps(crowd, radius, 1e-4)
    assert len(expected) > 20
    assert rows_of(overlaps(crowd)) == expected
    monkeypatch.setattr(contacts, "_BLOCK_ROWS", 7)  # less than one frame
    assert rows_of(overlaps(crowd)) == expected


@pytest.mark.parametrize("seed", range(3))
def test_a_mirror_a_shift_and_other_ids_change_no_overlap(seed):
    crowd = random_crowd(seed, size=2.0)
    found = rows_of(overlaps(crowd))
    assert rows_of(overlaps(moved(crowd, ((-1, 0), (0, 1)), (1000.0, -2000.0)))) == found
    other, new = renamed(crowd)
    expected = sorted(
        (min(new[a], new[b]), max(new[a], new[b]), begin, frames) for a, b, begin, frames, _ in found
    )
    assert sorted(row[:4] for row in rows_of(overlaps(other))) == expected


def test_an_agent_that_becomes_wider_overlaps_from_then_on():
    people = tracks({1: [(0, 0)] * 5, 2: [(0.6, 0)] * 5, 3: [(9, 9)] * 5})
    wider = with_events(people, (0.2, 2, "RADIUS_SET", 500, 0.0, 0.0), (0.4, 2, "RADIUS_SET", 200, 0.0, 0.0))
    table = overlaps(wider)
    assert (
        table["begin_s"].tolist() == [0.2]
        and table["duration_s"].tolist() == [0.2]
        and table["deepest_m"].tolist() == pytest.approx([0.1])
    )
