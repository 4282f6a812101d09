"""Points that requests name, one or several at a time: lists that are kept once, for all agents."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.saved import FARTHEST_M, Arrays, Saved, ascends


class PointLists:
    """Lists of points, each with a number; equal lists have one number.

    Notes
    -----
    There are as many as a scenario has goals, and more for each change of its ground. Of one point are those
    that programs send agents to: they are given up, and their numbers taken by the next. A number that is
    free stands for a point that is no number.
    """

    def __init__(self) -> None:
        self._number: dict[bytes, int] = {}
        self._point = np.zeros((0, 2))
        self._start = np.zeros(1, dtype=np.int64)
        self._free: list[int] = []  # a heap

    @property
    def count(self) -> int:
        """How many numbers there are, those that are free, too."""
        return len(self._start) - 1

    @property
    def longest(self) -> int:
        """How many points the longest list has; 1 at least."""
        return int(np.diff(self._start).max(initial=1))

    def number_of(self, points: NDArray[np.float64]) -> int:
        """Return the number of a list, (c, 2) float64, m."""
        key = np.ascontiguousarray(points, dtype=np.float64).tobytes()
        if key not in self._number:
            if len(points) == 1 and self._free:
                self._number[key] = number = heapq.heappop(self._free)
                self._point[self._start[number]] = points[0]
                return number
            self._number[key] = self.count
            self._point = np.concatenate([self._point, points])
            self._start = np.append(self._start, len(self._point))
        return self._number[key]

    def points(self, number: int) -> NDArray[np.float64]:
        """Return a list by its number, (c, 2) float64, m."""
        return self._point[self._start[number] : self._start[number + 1]]

    def is_list(self, number: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which numbers below `count`, (k,), are those of lists, and not free."""
        found: NDArray[np.bool_] = ~np.isnan(self._point[self._start[number], 0])
        return found

    def single(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the numbers of the lists that are of one point each, (k, 2) m; without those that there are
        not.
        """
        found = [self._number.get(each.tobytes(), -1) for each in np.ascontiguousarray(points)]
        return np.array([number for number in found if number >= 0], dtype=np.int64)

    def give_up(self, number: NDArray[np.int64]) -> None:
        """Free the numbers of some lists of one point, (k,)."""
        for each in number.tolist():
            del self._number[self.points(each).tobytes()]
            self._point[self._start[each]] = np.nan
            heapq.heappush(self._free, each)

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return all points, (m, 2) float64, m, and where each list begins, (c + 1,) int64."""
        return self._point, self._start

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the lists as named arrays; points of free numbers are NaN."""
        return {"point": self._point.copy(), "start": self._start.copy()}

    def restore(self, state: Arrays | Saved, most: int) -> None:
        """Take back what `state()` gave; lists have at most so many points.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        saved = Saved.of(state)
        point = saved.take("point", "f8", (None, 2), low=-FARTHEST_M, high=FARTHEST_M, special="nan")
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
        is_free = np.isnan(point).any(axis=1)
        of_list = np.repeat(np.arange(len(start) - 1), np.diff(start))
        saved.require(
            ~is_free | (np.isnan(point).all(axis=1) & (np.diff(start)[of_list] == 1)),
            "point",
            "is no place, in a list that is not free",
        )
        self._point, self._start = point, start
        self._free = of_list[is_free].tolist()  # ascending, so a heap
        free = set(self._free)
        used = [number for number in range(self.count) if number not in free]
        self._number = {self.points(number).tobytes(): number for number in used}
        saved.require(len(self._number) == len(used), "start", "has the same list twice")
