"""Order of lanes, crossings and flows of people whose answer is known by hand."""

import numpy as np
import pandas as pd
import pytest

from crowdsim.errors import CrowdsimError
from crowdsim.measures import box_area, lane_order_of
from crowdsim.measures.lanes import lane_order
from tests.measures.people import straight, tracks
from tests.standards import crossings, specific_flow


def people(*rows):
    return pd.DataFrame(rows, columns=["frame", "id", "x", "y"])


HEADING = pd.Series({1: 1, 2: 1, 3: -1, 4: -1})


def test_rows_of_one_heading_are_in_order_1():
    table = people((0, 1, 5, 0.1), (0, 2, 6, 0.2), (0, 3, 5, 0.4), (0, 4, 6, 0.5))
    assert lane_order(table, HEADING, x_range=(0, 10))["order"].tolist() == [1.0]


def test_rows_of_two_against_two_are_in_order_0_and_of_two_against_one_in_a_ninth():
    table = people(
        (0, 1, 5, 0.1),
        (0, 2, 6, 0.2),
        (0, 3, 5, 0.15),
        (0, 4, 6, 0.05),
        (1, 1, 5, 0.1),
        (1, 2, 6, 0.2),
        (1, 3, 5, 0.15),
    )
    assert lane_order(table, HEADING, x_range=(0, 10))["order"].tolist() == [0.0, pytest.approx(1 / 9)]


def test_an_agent_that_is_outside_is_not_counted_and_an_empty_frame_has_no_order():
    table = people((0, 1, 5, 0.1), (0, 3, 25, 0.1), (1, 3, 25, 0.1))
    found = lane_order(table, HEADING, x_range=(0, 10))
    assert found["people"].tolist() == [1, 0] and found["order"][0] == 1.0 and np.isnan(found["order"][1])


def test_each_person_crosses_once():
    table = people(
        (0, 1, 0, 0), (1, 1, 2, 0), (2, 1, 0.5, 0), (3, 1, 2, 0), (0, 2, 0, 0), (2, 2, 3, 0), (0, 3, 0, 0)
    )
    found = crossings(table, x=1.0, fps=2.0)
    assert found["id"].tolist() == [1, 2] and found["time_s"].tolist() == [0.5, 1.0]


def test_two_a_second_through_half_a_metre_are_four():
    crossed = pd.DataFrame({"id": range(41), "time_s": [0.0, 0.1, *np.arange(2, 39) * 0.5, 90.0, 99.0]})
    assert specific_flow(crossed, width=0.5) == pytest.approx(4.0)
    assert np.isnan(specific_flow(crossed[:1], width=1.0))


def lanes_of(order_by_hand, along=(1.0, 0.0)):
    """Return the order in each frame of people that walk along a direction in rows that are given as (row,
    +1 or -1).
    """
    turn = np.array([[along[0], -along[1]], [along[1], along[0]]]) / np.hypot(*along)
    paths = {}
    for number, (row, sign) in enumerate(order_by_hand):
        line = [(5.0 + sign * 0.1 * k, 0.3 * row + 0.1) for k in range(21)]
        paths[number + 1] = [tuple(turn @ place) for place in np.array(line)]
    return tracks(paths)


@pytest.mark.parametrize("along", [(1.0, 0.0), (0.0, 2.0), (-3.0, 0.0), (1.0, 1.0)])
def test_lanes_are_found_in_any_direction_and_each_person_counts_for_where_it_goes_on_the_whole(along):
    assert lane_order_of(lanes_of([(0, 1), (0, 1), (1, -1), (2, -1)], along), along=along)[
        "order"
    ].to_numpy() == pytest.approx(1.0)
    mixed = lane_order_of(lanes_of([(0, 1), (0, 1), (0, -1), (2, -1)], along), along=along)
    assert mixed["order"].to_numpy() == pytest.approx((1 / 3 + 1) / 4) and (mixed["people"] == 4).all()


def test_an_agent_that_stands_has_no_lane_and_an_area_bounds_which_people_count():
    people = tracks(
        {1: straight((0, 0.1), (1, 0), 30), 2: straight((9, 0.2), (-1, 0), 30), 3: [(1, 0.1)] * 30}
    )
    table = lane_order_of(people, area=box_area(-1, -1, 5, 1))
    assert table["people"].tolist() == [1] * 30 and (table["order"] == 1.0).all()
    nobody = lane_order_of(people, area=box_area(50, 50, 51, 51))
    assert (nobody["people"] == 0).all() and nobody["order"].isna().all() and len(nobody) == 30


def test_a_direction_of_nothing_is_refused():
    with pytest.raises(CrowdsimError, match="takes two numbers that are not both 0"):
        lane_order_of(lanes_of([(0, 1)]), along=(0.0, 0.0))
