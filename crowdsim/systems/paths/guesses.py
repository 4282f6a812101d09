"""What all kinds of guesses have in common:
which agents are on one, and a table with what is known of each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.world.world import World


class Guesses(ABC):
    """The guesses of agents that wait for their paths, a row of each array of the table for each,
    in ascending order of entities.

    Parameters
    ----------
    world : World
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._entity = np.zeros(0, dtype=np.int64)
        self._table: dict[str, NDArray[Any]] = {}

    @abstractmethod
    def _fresh(self, count: int) -> dict[str, NDArray[Any]]:
        """Return the table of so many guesses that begin."""

    def _keep(self, entity: NDArray[np.int64], before: NDArray[np.int64]) -> None:
        """Keep guesses of these agents: those in rows that there were before,
        and new ones where that is -1.
        """
        known, table = before >= 0, self._fresh(len(entity))
        for name, array in table.items():
            array[known] = self._table[name][before[known]]
        self._entity, self._table = entity, table

    def _begin(self, entity: NDArray[np.int64]) -> NDArray[np.int64]:
        """Begin anew for agents, and return their rows of the table."""
        others = np.flatnonzero(~np.isin(self._entity, entity))
        every = np.union1d(self._entity[others], entity)
        before = np.full(len(every), -1, dtype=np.int64)
        before[np.searchsorted(every, self._entity[others])] = others
        self._keep(every, before)
        return np.searchsorted(every, entity)

    @staticmethod
    def _later(begin: NDArray[np.int64], tick: int, most: int) -> NDArray[np.int64]:
        """Return which of those that begin to guess, (k,), do so in a later tick: all but so many.

        First choices look far, and in an alarm all agents want one at once. Others have theirs first in each
        tick, so that none is left out while more and more come.
        """
        if len(begin) <= most:
            return begin[:0]
        return np.roll(begin, -(tick * most % len(begin)))[most:]

    def knows(self, entity: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return (k,) bool: which agents wait, on a guess or on their previous path."""
        return np.isin(entity, self._entity)

    def forget(self, entity: NDArray[np.int64]) -> None:
        """Forget the guesses of agents that have their path, go elsewhere, or left."""
        stays = np.flatnonzero(~np.isin(self._entity, entity))
        if len(stays) < len(self._entity):
            self._keep(self._entity[stays], stays)
