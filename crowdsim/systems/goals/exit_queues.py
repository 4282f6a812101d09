"""How long agents would be in the queue before an exit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class ExitQueue:
    """Those that head for one exit, as a queue in the order of the length of their paths.

    Parameters
    ----------
    length : (n,) float64, m
        How far each of them still has to go; inf is left out.
    speed : (n,) float64, m/s
        At which it walks.
    entity : (n,) int64
        Decides between equal lengths.
    capacity : float, 1/s
        How many get through the exit.

    Notes
    -----
    Each is through when it has come there and the one before it is through, the exit's pace later: a queue
    with one server. So those that will have left by then are no queue for one that comes from far away.
    Twin: `tests/reference/exit_queues.py`.
    """

    def __init__(
        self,
        length: NDArray[np.float64],
        speed: NDArray[np.float64],
        entity: NDArray[np.int64],
        capacity: float,
    ) -> None:
        goes = np.flatnonzero(np.isfinite(length))
        order = goes[np.lexsort((entity[goes], length[goes]))]
        self._length, self._entity, self._pace = length[order], entity[order], 1.0 / capacity
        comes, number = self._length / speed[order], np.arange(len(order)) * self._pace
        # when each is through: the latest of those that come before it, and all after that at the pace
        self._through = np.maximum.accumulate(comes - number) + number + self._pace

    def through(
        self, length: NDArray[np.float64], speed: NDArray[np.float64], entity: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return in how many seconds agents, (k,), would be at the exit with none before them, if they went
        there; those that are in the queue themselves do not wait for themselves.
        """
        ahead = np.searchsorted(self._length, length, side="left")
        equal = np.searchsorted(self._length, length, side="right") - ahead
        one = np.flatnonzero(equal == 1)  # most often the agent itself
        ahead[one] += self._entity[ahead[one]] < entity[one]
        for row in np.flatnonzero(equal > 1).tolist():  # at one point, or in the exit
            first, count = int(ahead[row]), int(equal[row])
            ahead[row] += np.searchsorted(self._entity[first : first + count], entity[row])
        found = length / speed
        waits = np.flatnonzero(ahead > 0)
        found[waits] = np.maximum(found[waits], self._through[ahead[waits] - 1])
        return found
