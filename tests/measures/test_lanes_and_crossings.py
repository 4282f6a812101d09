"""Order of lanes, crossings and flows of people whose answer is known by hand."""

import numpy as np
import pandas as pd
import pytest

from crowdsim.measures.crossings import crossings, specific_flow
from crowdsim.measures.lanes import lane_order


def people(*rows):
    return pd.DataFrame(rows, columns=["frame", "id", "x", "y"])


HEADING = pd.Series({1: 1, 2: 1, 3: -1, 4: -1})


def test_rows_of_one_heading_are_in_order_1():
    table = people((0, 1, 5, 0.1), (0, 2, 6, 0.2), (0, 3, 5, 0.4), (0, 4, 6, 0.5))
    assert lane_order(table, HEADING, x_range=(0, 10))["order"].tolist() == [1.0]


def test_rows_of_two_against_two_are_in_order_0_and_of_two_against_one_in_a_ninth():
    table = people((0, 1, 5, 0.1), (0, 2, 6, 0.2), (0, 3, 5, 0.15), (0, 4, 6, 0.05), (1, 1, 5, 0.1), (1, 2, 6, 0.2), (1, 3, 5, 0.15))
    assert lane_order(table, HEADING, x_range=(0, 10))["order"].tolist() == [0.0, pytest.approx(1 / 9)]


def test_who_is_outside_is_not_counted_and_an_empty_frame_has_no_order():
    table = people((0, 1, 5, 0.1), (0, 3, 25, 0.1), (1, 3, 25, 0.1))
    found = lane_order(table, HEADING, x_range=(0, 10))
    assert found["people"].tolist() == [1, 0] and found["order"][0] == 1.0 and np.isnan(found["order"][1])


def test_everybody_crosses_once():
    table = people((0, 1, 0, 0), (1, 1, 2, 0), (2, 1, 0.5, 0), (3, 1, 2, 0), (0, 2, 0, 0), (2, 2, 3, 0), (0, 3, 0, 0))
    found = crossings(table, x=1.0, fps=2.0)
    assert found["id"].tolist() == [1, 2] and found["time_s"].tolist() == [0.5, 1.0]


def test_two_a_second_through_half_a_metre_are_four():
    crossed = pd.DataFrame({"id": range(41), "time_s": [0.0, 0.1, *np.arange(2, 39) * 0.5, 90.0, 99.0]})
    assert specific_flow(crossed, width=0.5) == pytest.approx(4.0)
    assert np.isnan(specific_flow(crossed[:1], width=1.0))
