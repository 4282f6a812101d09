"""Searches from goals that agents share: which requests share one, and how far each has got.

A search that runs from a goal backwards finds how far it is from everywhere. It is grown once, whole, before
the first request that shares it is begun, and from then on says to each search towards that goal how much is
left of a path at least: such searches go down a valley instead of looking around. Since nothing is begun on a
tree that is half grown, answers depend neither on slices nor on threads.

Whether a request shares is decided when it is made, by how many others were made for the same before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.saved import MOST, WIDEST_M, Arrays, Saved
from crowdsim.tunable import param

NO_TREE = -1
WHOLE = 1 << 60  # Expansions enough for any tree.


@dataclass(frozen=True)
class ShareParameters:
    """Whether agents with one goal search together."""

    share_searches: bool = param(
        True,
        "",
        why="one backward search serves all agents with the same goal that can pass the same gaps; off, "
        "each looks for itself; paths cost the same, but to regions, off whose rims walls keep agents by "
        "their radii: there it is that of the agent that asked first; with a weight above 1 they can be "
        "dearer alone",
    )


@dataclass
class _Demand:
    """What is known of the requests for one goal."""

    first: int  # entity whose request was first
    detail: float  # of that request
    others: int  # requests by others
    tree: int


class SharedTrees(ABC):
    """Trees of backward searches, one for each goal that many request.

    Parameters
    ----------
    most : int
        Trees that there is room for; requests for more goals search alone.
    share_at : int
        Requests for the same, by different agents, from which on they share.

    Notes
    -----
    Trees are never given up for others: which goal has one would depend on which requests are answered
    already, and so on budgets.
    """

    def __init__(self, most: int, share_at: int) -> None:
        self._most, self._share_at = most, share_at
        self._demands: dict[tuple[float, ...], _Demand] = {}
        self._wanted: list[tuple[float, ...] | None] = []  # what each tree is of; None where there is none
        self._is_begun = np.zeros(most, dtype=np.bool_)
        self._is_grown = np.zeros(most, dtype=np.bool_)
        self._expansions = np.zeros(most, dtype=np.int64)  # expansions
        self._growing = NO_TREE

    def note(
        self, wanted: NDArray[np.float64], entity: NDArray[np.int64], detail: NDArray[np.float64]
    ) -> None:
        """Note what each agent requests, or is going to request.

        Parameters
        ----------
        wanted : (k, m) float64
            Requests with equal rows can share.
        entity : (k,) int64
        detail : (k,) float64
            Of each request; a tree has that of the first.
        """
        unique, first, inverse = np.unique(wanted, axis=0, return_index=True, return_inverse=True)
        inverse = inverse.reshape(-1)
        keys = [tuple(key) for key in unique.tolist()]
        demands = [
            self._demands.setdefault(key, _Demand(int(entity[row]), float(detail[row]), 0, NO_TREE))
            for key, row in zip(keys, first, strict=True)
        ]
        by_others = entity != np.array([each.first for each in demands], dtype=np.int64)[inverse]
        others = np.bincount(inverse, weights=by_others, minlength=len(unique)).astype(np.int64).tolist()
        for place in np.argsort(first, kind="stable").tolist():  # in the order of their requests
            one = demands[place]
            one.others += others[place]
            if one.tree == NO_TREE and one.others + 1 >= self._share_at:
                one.tree = self._room_for(keys[place])

    def trees_of(self, wanted: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the tree that each request shares, NO_TREE for those that search alone; `wanted`, (k, m), as
        for `note`.
        """
        unique, inverse = np.unique(wanted, axis=0, return_inverse=True)
        demands = [self._demands.get(tuple(key)) for key in unique.tolist()]
        tree = [NO_TREE if each is None else each.tree for each in demands]
        return np.array(tree, dtype=np.int64)[inverse.reshape(-1)]

    def _room_for(self, wanted: tuple[float, ...]) -> int:
        """Return the number of a new tree; NO_TREE where there is room for no more."""
        if None in self._wanted:
            number = self._wanted.index(None)
            self._wanted[number] = wanted
            return number
        if len(self._wanted) == self._most:
            return NO_TREE
        self._wanted.append(wanted)
        return len(self._wanted) - 1

    def forget(self, is_gone: Callable[[tuple[float, ...]], bool]) -> None:
        """Forget the requests for what is gone, and the trees of it; no open request shares one of these."""
        for key in [key for key in self._demands if is_gone(key)]:
            tree = self._demands.pop(key).tree
            if tree != NO_TREE:
                self._wanted[tree] = None
                self._is_begun[tree], self._is_grown[tree], self._expansions[tree] = False, False, 0
                if self._growing == tree:
                    self._growing = NO_TREE
        while self._wanted and self._wanted[-1] is None:
            self._wanted.pop()

    def ready(self, tree: NDArray[np.int64]) -> int:
        """Return how many requests, from the first on, can be begun:
        those before the first one whose tree is still to be grown.
        """
        missing = np.flatnonzero((tree >= 0) & ~self._is_grown[tree])
        return int(missing[0]) if len(missing) else len(tree)

    def grow(self, tree: int, budget: int) -> int:
        """Grow a tree, and before it one that is half grown; return the expansions made, at most `budget`."""
        used = 0
        # there is room for one to grow in
        for row in dict.fromkeys([self._growing, int(tree)] if self._growing != NO_TREE else [int(tree)]):
            used += self._grow_one(row, budget - used)
            if not self._is_grown[row]:
                break
        return used

    def _grow_one(self, row: int, budget: int) -> int:
        key = self._wanted[row]
        assert key is not None  # some request shares it
        if not self._is_begun[row]:
            self._begin(row, key, self._demands[key].detail)
            self._is_begun[row] = True
        used, is_grown = self._advance(row, key, budget)
        self._expansions[row] += used
        self._is_grown[row] = is_grown
        self._growing = NO_TREE if is_grown else row
        return used

    def grow_anew(self) -> None:
        """Forget all trees, but not which requests share: the ground is another."""
        self._is_begun[:], self._is_grown[:], self._expansions[:], self._growing = False, False, 0, NO_TREE

    @abstractmethod
    def _begin(self, row: int, wanted: tuple[float, ...], detail: float) -> None:
        """Set a tree up to grow; no other is half grown."""

    @abstractmethod
    def _advance(self, row: int, wanted: tuple[float, ...], grant: int) -> tuple[int, bool]:
        """Grow a tree by at most `grant` expansions; return how many were made, and whether it is grown."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the requests and how far the trees are as named arrays;
        they are grown again from these numbers, not saved.
        """
        demands = list(self._demands.values())
        return {
            "wanted": np.array(list(self._demands), dtype=np.float64).reshape(
                len(demands), len(next(iter(self._demands), ()))
            ),
            "first": np.array([each.first for each in demands], dtype=np.int64),
            "detail": np.array([each.detail for each in demands], dtype=np.float64),
            "others": np.array([each.others for each in demands], dtype=np.int64),
            "tree": np.array([each.tree for each in demands], dtype=np.int64),
            "is_begun": self._is_begun.copy(),
            "is_grown": self._is_grown.copy(),
            "made": self._expansions.copy(),
        }

    @property
    def count(self) -> int:
        """How many trees there are, grown or not, those between that were given up, too."""
        return len(self._wanted)

    def has(self, tree: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which numbers, (k,), are those of trees, grown or not."""
        return np.array([each is not None for each in self._wanted], dtype=np.bool_)[tree]

    @property
    def is_grown(self) -> NDArray[np.bool_]:
        """Which trees are grown, (most,)."""
        return self._is_grown

    @abstractmethod
    def _check(self, saved: Saved, wanted: NDArray[np.float64]) -> None:
        """Refuse things that trees cannot be of, (k, m)."""

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave, on the same ground; trees are grown as far as they were.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        saved = Saved.of(state)
        wanted = saved.take("wanted", "f8", (None, None))
        count = len(wanted)
        if count:
            self._check(saved, wanted)
        first, others = (
            saved.take("first", "i8", (count,), low=0, high=MOST),
            saved.take("others", "i8", (count,), low=0, high=MOST),
        )
        detail = saved.take("detail", "f8", (count,), low=0.0, high=WIDEST_M)
        tree = saved.take("tree", "i8", (count,), low=NO_TREE, high=self._most - 1)
        saved.require(len(np.unique(wanted, axis=0)) == count, "wanted", "has the same twice")
        trees = np.sort(tree[tree != NO_TREE])
        saved.require(len(np.unique(trees)) == len(trees), "tree", "has a tree twice")
        is_begun, is_grown = (
            saved.take("is_begun", "?", (self._most,)),
            saved.take("is_grown", "?", (self._most,)),
        )
        made = saved.take("made", "i8", (self._most,), low=0, high=MOST)
        saved.require(~is_begun | np.isin(np.arange(self._most), trees), "is_begun", "there is no such tree")
        saved.require(~is_grown | is_begun, "is_grown", "it was never begun")
        saved.require(
            np.count_nonzero(is_begun & ~is_grown) <= 1,
            "is_grown",
            "has two trees that are half grown, where there is room for one",
        )
        columns = (column.tolist() for column in (wanted, first, detail, others, tree))
        self._demands = {tuple(key): _Demand(*each) for key, *each in zip(*columns, strict=True)}
        self._wanted = [None] * (int(trees[-1]) + 1 if len(trees) else 0)
        for key, demand in self._demands.items():
            if demand.tree != NO_TREE:
                self._wanted[demand.tree] = key
        self.grow_anew()
        # which is half grown comes last: there is room for one
        for row in np.lexsort((is_begun & ~is_grown,)).tolist():
            if is_begun[row]:
                self._grow_one(row, WHOLE if is_grown[row] else int(made[row]))
        saved.require(
            (self._is_grown == is_grown) & (self._expansions == np.where(is_begun, made, 0)),
            "made",
            "the tree is grown sooner, or later",
        )
