"""Points of goals: what is known of them when only some goals are others than before."""

import numpy as np
import pytest
import shapely

from crowdsim.navigation.goals.targets import points_after, points_of
from tests.navigation.goals.test_destinations import Book, assert_same


@pytest.mark.parametrize("seed", range(5))
def test_points_of_goals_that_come_and_move_are_those_of_all_goals(seed):
    """Regions over a wall have several pieces, and points along their rims."""
    rng = np.random.default_rng(seed)
    book = Book(shapely.difference(shapely.box(0, 0, 12, 12), shapely.box(5.9, 1, 6.1, 11)))
    known, moved, regions = points_of(book.goals), 0, 0
    for number in range(12):
        if number % 4 == 3:
            low = rng.uniform(0.5, 4.0, 2)
            _, changed = book.put_region(shapely.box(*low, *(low + rng.uniform(3.0, 7.0, 2))))
            regions += len(changed)
        else:
            before = len(book.goals.reach)
            sought = rng.choice(before, before // 2, replace=False).tolist()
            _, changed = book.put(*rng.uniform(0.5, 5.5, (3, 2)).tolist(), sought=sought)
            moved += sum(each < before for each in changed)
        known = points_after(known, book.goals, np.array(changed, dtype=np.int64))
        expected = points_of(book.goals)
        assert known.middles == expected.middles == len(book.goals.piece_polygon)
        assert_same_points(known, expected)
    assert moved > 2 and regions > 1 and len(known.point) > known.middles + 20


def assert_same_points(one, other):
    assert_same(one._replace(middles=np.array(0)), other._replace(middles=np.array(0)))
