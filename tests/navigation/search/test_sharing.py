"""Which requests share a backward search, in which order trees are given out and grow,
and what of them is saved.
"""

import numpy as np
import pytest

from crowdsim.navigation.search.sharing import NO_TREE, WHOLE, SharedTrees


class Trees(SharedTrees):
    """Trees of as many expansions as their key says, which grow in the one place that there is."""

    def __init__(self, most=4, share_at=2):
        super().__init__(most, share_at)
        self.made_of, self.details, self.place = np.zeros(most, dtype=np.int64), np.zeros(most), None

    def _check(self, saved, wanted):
        saved.require(wanted > 0, "wanted", "trees have some expansions")

    def _begin(self, row, wanted, detail):
        assert self.place is None, "another tree is half grown"
        self.place, self.details[row], self.made_of[row] = row, detail, 0

    def _advance(self, row, wanted, grant):
        assert self.place == row
        used = int(min(grant, wanted[0] - self.made_of[row]))
        self.made_of[row] += used
        is_grown = bool(self.made_of[row] == wanted[0])
        if is_grown:
            self.place = None
        return used, is_grown

    def ask(self, keys, entity, detail=None):
        """Return the trees of requests by their keys."""
        told = np.zeros(len(keys)) if detail is None else np.array(detail)
        wanted = np.array(keys, dtype=np.float64).reshape(len(keys), 1)
        self.note(wanted, np.array(entity), told)
        return self.trees_of(wanted).tolist()


def test_trees_are_given_out_in_the_order_of_asking_and_the_last_ones_go_without():
    trees = Trees(most=2)
    assert trees.ask([30, 10, 20, 30, 20, 10], [1, 2, 3, 4, 5, 6]) == [0, 1, NO_TREE, 0, NO_TREE, 1]
    assert trees.ask([20, 10], [7, 8]) == [NO_TREE, 1]


@pytest.mark.parametrize("share_at", [2, 3, 5])
def test_requests_share_from_so_many_askers_on_whether_they_come_together_or_one_by_one(share_at):
    together, apart = Trees(share_at=share_at), Trees(share_at=share_at)
    assert together.ask([10] * share_at, range(share_at)) == [0] * share_at
    assert [apart.ask([10], [entity])[0] for entity in range(share_at)] == [NO_TREE] * (share_at - 1) + [0]
    alone = Trees(share_at=share_at)
    # the same one again and again
    assert [alone.ask([10], [7])[0] for _ in range(2 * share_at)] == [NO_TREE] * (2 * share_at)


def test_a_tree_has_the_detail_of_the_first_request():
    trees = Trees()
    trees.ask([10], [1], [0.3])
    trees.ask([10, 10], [2, 3], [0.1, 0.2])
    trees.grow(0, WHOLE)
    assert trees.details[0] == 0.3


def test_requests_wait_for_the_first_tree_that_is_not_grown():
    trees = Trees()
    asked = np.array(trees.ask([10, 20, 99, 10, 20, 30, 30], range(7)))
    assert trees.ready(asked) == 0 and trees.ready(np.full(3, NO_TREE)) == 3
    assert trees.grow(0, WHOLE) == 10
    assert trees.ready(asked) == 1 and trees.ready(asked[[2, 0, 3]]) == 3
    assert trees.grow(1, WHOLE) == 20
    assert trees.ready(asked) == 5


def test_a_tree_that_is_half_grown_is_finished_before_another_begins():
    """The agents that requested it may have left in between."""
    trees = Trees()
    trees.ask([10, 20, 10, 20], range(4))
    assert trees.grow(0, 4) == 4
    assert trees.grow(1, 5) == 5 and trees.made_of.tolist()[:2] == [9, 0]
    assert trees.grow(1, 5) == 5 and trees.made_of.tolist()[:2] == [10, 4]
    assert trees.grow(1, WHOLE) == 16 and trees.ready(np.array([0, 1])) == 2


def test_what_is_restored_has_grown_as_far_and_goes_on_alike():
    """Also where a tree with a higher number was grown before the one that is half grown now."""
    saved, restored = Trees(), Trees()
    saved.ask([40, 20, 30, 40, 20, 50], range(6), np.arange(6) / 10)
    saved.grow(1, WHOLE)
    saved.grow(0, 7)
    saved.grow(0, 8)
    kept = saved.state()
    restored.restore(kept)
    for trees in (saved, restored):
        assert trees.ask([30, 50, 40], [8, 0, 9]) == [2, 3, 0]
        assert trees.made_of.tolist() == [15, 20, 0, 0] and trees.details.tolist()[:2] == [0.0, 0.1]
        assert trees.grow(3, 30) == 30 and trees.made_of.tolist() == [40, 20, 0, 5]
        assert trees.ready(np.array([1, 0, 2])) == 2
    assert kept["made"].tolist() == [15, 20, 0, 0] and kept["is_grown"].tolist() == [
        False,
        True,
        False,
        False,
    ]


def test_on_other_ground_all_trees_grow_anew_and_the_same_ones_share():
    trees = Trees()
    trees.ask([10, 20, 10, 20], range(4))
    trees.grow(1, WHOLE)
    trees.grow(0, 3)
    trees.grow_anew()
    trees.place = None
    assert trees.ready(np.array([1])) == 0 and trees.ask([20], [9]) == [1]
    assert trees.grow(1, WHOLE) == 20 and trees.ready(np.array([1, 0])) == 1
