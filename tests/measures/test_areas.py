"""Areas with people in them whose number, speed and stay are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import shapely

from crowdsim.errors import CrowdsimError
from crowdsim.measures import Area, area_states, area_stays, box_area, steady_state
from tests.measures.people import moved, random_crowd, renamed, straight, tracks

BOX = box_area(0, 0, 2, 1, "box")


def test_people_density_speed_and_flow_by_hand():
    table = area_states(
        tracks({1: straight((-0.15, 0.5), (1, 0), 30), 2: straight((1.95, 0.5), (-2, 0), 30)}), BOX
    )
    assert table.loc[1, ["people", "density_per_m2", "speed_m_s", "flow_per_m_s"]].tolist() == pytest.approx(
        [1, 0.5, 2.0, 1.0]
    )
    assert table.loc[2, ["people", "density_per_m2", "speed_m_s", "flow_per_m_s"]].tolist() == pytest.approx(
        [2, 1.0, 1.5, 1.5]
    )
    assert table.loc[25, ["people", "density_per_m2", "flow_per_m_s"]].tolist() == [0, 0, 0] and np.isnan(
        table.loc[25, "speed_m_s"]
    )


def test_an_area_is_as_large_as_the_ground_in_it():
    people = replace(tracks({1: [(0.5, 0.5)]}), ground=shapely.box(-9, -9, 1, 9))
    assert area_states(people, BOX)["density_per_m2"].tolist() == [1.0]
    with pytest.raises(CrowdsimError, match='none of the area "far" is walkable; the ground lies within'):
        area_states(people, box_area(5, 5, 6, 6, "far"))


def test_frames_without_people_have_rows_too():
    table = area_states(tracks({1: [(0.5, 0.5), None, None, (0.5, 0.5)]}), BOX)
    assert table["people"].tolist() == [1, 0, 0, 1] and table["frame"].tolist() == [0, 1, 2, 3]


def test_stays_by_hand():
    table = area_stays(
        tracks(
            {1: [(-1, 0.5), (1, 0.5), (1, 0.5), (3, 0.5), (1, 0.5)], 2: [(1, 0.5), None, (1, 0.5), (5, 5)]}
        ),
        BOX,
    )
    assert table["id"].tolist() == [2, 1, 2, 1] and table["enter_s"].tolist() == pytest.approx(
        [0.0, 0.1, 0.2, 0.4]
    )
    assert table["stay_s"].tolist() == pytest.approx([0.1, 0.2, 0.1, 0.1])
    assert table["entered"].tolist() == [False, True, False, True] and table["left"].tolist() == [
        False,
        True,
        True,
        False,
    ]


def test_a_steady_state_leaves_out_the_begin_and_the_end():
    states = area_states(
        tracks({1: [(9, 9)] * 3 + straight((0.5, 0.5), (0.1, 0), 5) + [(9, 9)] * 2}, fps=1.0), BOX, over_s=0.1
    )
    found = steady_state(states, skip_begin_s=4.0, skip_end_s=3.0)
    assert (
        found["frames"] == 3
        and found["density_per_m2"] == 0.5
        and found["density_sd_per_m2"] == 0.0
        and (found["from_s"], found["until_s"]) == (4.0, 6.0)
    )
    with pytest.raises(CrowdsimError, match=r"Between 6 s and 5 s there is no frame"):
        steady_state(states, skip_begin_s=6.0, skip_end_s=4.0)


@pytest.mark.parametrize("seed", range(3))
def test_a_mirror_and_other_ids_change_no_state_and_the_sum_of_stays_is_that_of_people(seed):
    crowd, area = random_crowd(seed), Area(shapely.Point(0.5, 0.3).buffer(1.5))
    states = area_states(crowd, area)
    assert area_stays(crowd, area)["stay_s"].sum() == pytest.approx(states["people"].sum() / crowd.fps)
    for other in (moved(crowd, ((-1, 0), (0, 1))), renamed(crowd)[0]):
        there = area if other.person[0] >= 100 else Area(shapely.Point(-0.5, 0.3).buffer(1.5))
        again = area_states(other, there)
        assert again["people"].tolist() == states["people"].tolist()
        assert again["speed_m_s"].to_numpy() == pytest.approx(states["speed_m_s"].to_numpy(), nan_ok=True)


def test_what_is_no_area_is_told():
    with pytest.raises(CrowdsimError, match="has to lie left of and below"):
        box_area(0, 0, 0, 1)
    for polygon in (shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)]), shapely.LineString([(0, 0), (1, 1)])):
        with pytest.raises(CrowdsimError, match="no polygon with an inside"):
            Area(polygon)
