"""Of four children of a node in a heap the least is found, and how many are as small."""

import itertools

from crowdsim.navigation.search.heap import least_of_four


def test_the_least_of_four_is_found_and_how_many_are_as_small():
    for four in itertools.product((0.0, 1.0, 2.0, 3.0), repeat=4):
        first, least, ties = least_of_four(*four)
        assert (first, least, ties) == (four.index(min(four)), min(four), four.count(min(four)))
