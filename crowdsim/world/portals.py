"""Portals that jumps leave: where others can jump too, for a while ([Smith 2002], "temporary portals")."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.saved import FARTHEST_M, MOST, Saved
from crowdsim.world.columns import NEVER, TICK

NOBODY = 0
NOWHERE_M = 2e8  # Where the ends of portals are that do not lie anywhere: on no ground.
MOST_FLIGHT_S = 1e4
WALKS_M_S = 1.34  # [Weidmann 1993]
_KINDS = {
    "left_by": ("i8", (), 0, MOST),
    "opened": ("i8", (), 0, TICK[1]),
    "until": ("i8", (), 0, TICK[1]),
    "begin": ("f8", (2,), -FARTHEST_M, FARTHEST_M),
    "end": ("f8", (2,), -FARTHEST_M, FARTHEST_M),
    "floor": ("i4", (2,), -1, 1 << 20),  # see `restore`
    "seconds": ("f8", (), 0.0, MOST_FLIGHT_S),
    "is_open": ("?", (), None, None),
}


class Portals:
    """Room for so many portals, of which some lie there.

    Parameters
    ----------
    slots : int
    floors : int
        Of the ground.

    Attributes
    ----------
    left_by : (slots,) int64
        Entity that has left it; 0 where none ever has.
    opened : (slots,) int64
        Tick in which others hear of it.
    until : (slots,) int64
        Tick in which it goes.
    begin, end : (slots, 2) float64, m
        Where one takes off and lands.
    floor : (slots, 2) int32
        Floors of both; -1 on level ground.
    seconds : (slots,) float64, s
        How long one is in the air.
    is_open : (slots,) bool
        Whether it lies there. One that is gone keeps its places for those that are in the air.
    version, laid : int
        Grows with every change; and that of which the gates are. Not saved.
    """

    left_by: NDArray[np.int64]
    opened: NDArray[np.int64]
    until: NDArray[np.int64]
    begin: NDArray[np.float64]
    end: NDArray[np.float64]
    floor: NDArray[np.int32]
    seconds: NDArray[np.float64]
    is_open: NDArray[np.bool_]

    def __init__(self, slots: int, floors: int) -> None:
        self.slots, self.floors, self.version, self.laid = slots, floors, 0, -1
        for name, (kind, shape, _, _) in _KINDS.items():
            setattr(self, name, np.zeros((slots, *shape), dtype=kind))
        self.until[:] = NEVER

    def lie_there(self) -> NDArray[np.int64]:
        """Return the portals that lie there, the oldest first."""
        found = np.flatnonzero(self.is_open)
        return found[np.lexsort((found, self.opened[found]))]

    def open(
        self,
        slot: int,
        *,
        left_by: int,
        opened: int,
        until: int,
        begin: NDArray[np.float64],
        end: NDArray[np.float64],
        floor: tuple[int, int],
        seconds: float,
    ) -> None:
        """Let a portal lie there; see the attributes."""
        self.left_by[slot], self.opened[slot], self.until[slot] = left_by, opened, until
        self.begin[slot], self.end[slot], self.floor[slot] = begin, end, floor
        self.seconds[slot], self.is_open[slot] = seconds, True
        self.version += 1

    def close(self, slot: int) -> None:
        """Take a portal away."""
        self.is_open[slot], self.until[slot] = False, NEVER
        self.version += 1

    def run_up_s(self, slot: int, place: NDArray[np.float64]) -> float:
        """Return how long one that stands at a place, (2,) m, takes to where it takes off, s: it runs as fast
        as it flies then, and not slower than people walk.
        """
        flies = float(hypots(*(self.end[slot] - self.begin[slot])) / self.seconds[slot])
        return float(hypots(*(self.begin[slot] - place))) / max(flies, WALKS_M_S)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that lives here as named arrays."""
        return {name: getattr(self, name).copy() for name in _KINDS}

    def restore(self, saved: Saved) -> None:
        """Take back what `state()` gave."""
        for name, (kind, shape, low, high) in _KINDS.items():
            getattr(self, name)[:] = saved.take(name, kind, (self.slots, *shape), low=low, high=high)
        saved.require(~self.is_open | (self.left_by != NOBODY), "left_by", "an agent has left each portal")
        low = 0 if self.floors > 1 else -1
        is_floor = (self.floor >= low) & (self.floor < self.floors)
        ever = self.left_by[:, None] != NOBODY
        saved.require(is_floor | ~ever, "floor", f"floors are {low} to {self.floors - 1}")
        apart = hypots(*(self.end - self.begin).T)
        saved.require(
            ~self.is_open | (apart > 0.0) | (self.floor[:, 0] != self.floor[:, 1]), "end", "there it begins"
        )
        saved.require(~self.is_open | (self.seconds > 0.0), "seconds", "a jump takes a time")
        saved.require(self.is_open | (self.until == NEVER), "until", "this portal does not lie there")
        self.version += 1
