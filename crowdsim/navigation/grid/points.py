"""Points that requests name, one or several at a time: lists that are kept once, for all agents."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.saved import FARTHEST_M, Arrays, Saved, ascends


class PointLists:
    """Lists of points, each with a number; equal lists have one number.

    Notes
    -----
    None is ever given up: trees of searches are known by these numbers. There are as many as a scenario has
    goals, and more for each change of its ground.
    """

    def __init__(self) -> None:
        self._number: dict[bytes, int] = {}
        self._point = np.zeros((0, 2))
        self._start = np.zeros(1, dtype=np.int64)

    @property
    def count(self) -> int:
        """How many lists there are."""
        return len(self._start) - 1

    @property
    def longest(self) -> int:
        """How many points the longest list has; 1 at least."""
        return int(np.diff(self._start).max(initial=1))

    def number_of(self, points: NDArray[np.float64]) -> int:
        """Return the number of a list, (c, 2) float64, m."""
        key = np.ascontiguousarray(points, dtype=np.float64).tobytes()
        if key not in self._number:
            self._number[key] = len(self._number)
            self._point = np.concatenate([self._point, points])
            self._start = np.append(self._start, len(self._point))
        return self._number[key]

    def points(self, number: int) -> NDArray[np.float64]:
        """Return a list by its number, (c, 2) float64, m."""
        return self._point[self._start[number] : self._start[number + 1]]

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return all points, (m, 2) float64, m, and where each list begins, (c + 1,) int64."""
        return self._point, self._start

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the lists as named arrays."""
        return {"point": self._point.copy(), "start": self._start.copy()}

    def restore(self, state: Arrays | Saved, most: int) -> None:
        """Take back what `state()` gave; lists have at most so many points.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        saved = Saved.of(state)
        point = saved.take("point", "f8", (None, 2), low=-FARTHEST_M, high=FARTHEST_M)
        start = saved.take("start", "i8", low=0, high=len(point))
        saved.require(
            len(start) > 0 and start[0] == 0 and start[-1] == len(point),
            "start",
            "does not divide the points into lists",
        )
        saved.require(ascends(start), "start", "there are no empty lists")
        saved.require(
            int(np.diff(start).max(initial=0)) <= most, "start", f"has a list of more than {most} points"
        )
        self._point, self._start = point, start
        self._number = {self.points(number).tobytes(): number for number in range(self.count)}
        saved.require(len(self._number) == self.count, "start", "has the same list twice")
