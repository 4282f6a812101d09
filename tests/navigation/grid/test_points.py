"""Lists of points that requests name: equal ones have one number, and numbers that are given up are taken by
the next.
"""

import numpy as np
import pytest

from crowdsim.navigation.grid.points import PointLists
from crowdsim.saved import SavedError


def place(x):
    return np.array([[float(x), 0.0]])


def some():
    """Five lists, of which the one of three points is number 2."""
    lists = PointLists()
    for points in (place(0), place(1), np.eye(3, 2), place(3), place(4)):
        lists.number_of(points)
    return lists


def test_numbers_that_are_given_up_are_taken_by_the_next_points_the_lowest_first():
    lists = some()
    assert lists.single(np.vstack([place(4), place(9), place(1)])).tolist() == [4, 1]
    lists.give_up(np.array([4, 1]))
    assert lists.is_list(np.arange(5)).tolist() == [True, False, True, True, False]
    assert lists.single(place(1)).tolist() == []
    assert lists.number_of(np.ones((2, 2))) == 5, "no list of several points takes one"
    assert [lists.number_of(place(x)) for x in (7, 3, 1, 8)] == [1, 3, 4, 6]
    assert lists.points(1).tolist() == [[7.0, 0.0]] and lists.points(2).tolist() == np.eye(3, 2).tolist()


def test_lists_from_a_saved_state_go_on_with_the_same_numbers():
    lists, other = some(), PointLists()
    lists.give_up(np.array([3, 0, 4]))
    lists.number_of(place(5))
    other.restore(lists.state(), 3)
    for x in (6, 1, 7, 8):
        assert other.number_of(place(x)) == lists.number_of(place(x))
    assert all(np.array_equal(one, other.state()[name]) for name, one in lists.state().items())


@pytest.mark.parametrize("row", [(0, 0), (2, 0), (2, 1)])
def test_a_point_that_is_no_number_stands_for_a_list_that_is_free_alone(row):
    state = some().state()
    state["point"][row] = np.nan
    with pytest.raises(SavedError, match="is no place, in a list that is not free"):
        PointLists().restore(state, 3)
