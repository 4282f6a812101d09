"""Exits through which only so many agents leave a second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.saved import MOST, Saved, ascends
from crowdsim.scenario.model import Goal


class Turnstiles:
    """Lets agents through exits with a greatest flow, those that have come first before the others.

    Parameters
    ----------
    goals : sequence of Goal
    tick : float, s

    Attributes
    ----------
    has_any : bool
        Whether some exit has a greatest flow.
    held : (h,) int64
        Entities that are in such an exit and wait for their turn, ascending.
    """

    def __init__(self, goals: Sequence[Goal], tick: float) -> None:
        flow = np.array([goal.flow for goal in goals], dtype=np.float64)
        self.has_any = bool(np.any(flow > 0.0))
        # ticks from one agent to the next, by goal; 0 is no limit
        self._period = np.where(flow > 0.0, 1.0 / np.maximum(flow, 1e-300) / tick, 0.0)
        self._ready = np.zeros(len(flow))  # when the next one may go, in ticks
        self.held = np.zeros(0, dtype=np.int64)
        self._since = np.zeros(0, dtype=np.int64)  # since which tick

    def admit(self, tick: int, entity: NDArray[np.int64], reached: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which agents get through now, of those that are in their goals.

        Parameters
        ----------
        tick : int
        entity : (k,) int64
            Ascending.
        reached : (k,) int32
            The goal of each.
        """
        period = np.where(
            reached < len(self._period), self._period[np.minimum(reached, len(self._period) - 1)], 0.0
        )
        admitted = period <= 0.0
        limited = np.flatnonzero(~admitted)
        place = np.searchsorted(self.held, entity[limited])
        known = place < len(self.held)
        known[known] = self.held[place[known]] == entity[limited][known]
        since = np.full(len(limited), tick, dtype=np.int64)
        since[known] = self._since[place[known]]
        for number in np.lexsort((entity[limited], since)).tolist():
            row = int(limited[number])
            goal = int(reached[row])
            if self._ready[goal] <= tick:
                admitted[row] = True
                # what is left of a tick counts for the next one, but no time in which none came
                begins = self._ready[goal] if self._ready[goal] > tick - 1 else float(tick)
                self._ready[goal] = begins + self._period[goal]
        left = ~admitted[limited]
        self.held, self._since = entity[limited][left], since[left]
        return admitted

    def state(self) -> dict[str, NDArray[Any]]:
        """Return when each exit lets the next one through, and which agents are in one since when."""
        if not self.has_any:
            return {}
        return {"ready": self._ready.copy(), "held": self.held, "held_since": self._since}

    def restore(self, saved: Saved) -> None:
        """Take back what `state()` gave."""
        if not self.has_any:
            return
        self._ready = saved.take("ready", "f8", (len(self._period),), low=0.0, high=1e12).copy()
        self.held = saved.take("held", "i8", low=1, high=MOST)
        saved.require(ascends(self.held), "held", "entity ids have to ascend")
        self._since = saved.take("held_since", "i8", (len(self.held),), low=0, high=MOST)
