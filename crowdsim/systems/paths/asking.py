"""Agents that want a path and for which no request has been made yet: they stand in line, those first that
have wanted one for longest.

Making requests is work of planning, as searching is: where requests count, so many are made in a slice. An
agent that stands in line waits for its path as one does whose request is open, and walks on a guess; its
search begins where it is when its request is made.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.saved import MOST, MOST_TICKS, Saved
from crowdsim.world.columns import AgentColumns
from crowdsim.world.states import NO_PATH, PENDING, WALKING

NEW = -1


@lean_kernel
def line_up(entity, activity, path_status, goal, wants, before, rows, place):
    """Put agents in line behind those that stand there already, and still walk and wait.

    Parameters
    ----------
    entity, activity, path_status, goal : (n,)
        Columns of agents; entities ascend.
    wants : (n,) bool
        Which walk and have no path, nor wait for one. Those that stand in line are taken out.
    before : (k,) int64
        Entities of those in line, which ascend among those that came in one tick.
    rows, place : (n,) int64
        Receive the line, and where each was in it; NEW if it was not.

    Returns
    -------
    int
        How long it is.

    Notes
    -----
    Twin: `tests/reference/asking.py`.
    """
    count, row = 0, 0
    for i in range(before.size):
        if i > 0 and before[i] < before[i - 1]:
            row = 0
        while row < entity.size and entity[row] < before[i]:
            row += 1
        if row == entity.size or entity[row] != before[i]:
            continue
        waits = path_status[row] == PENDING or path_status[row] == NO_PATH
        if activity[row] == WALKING and goal[row] >= 0 and waits:
            rows[count], place[count] = row, i
            wants[row] = False
            count += 1
    for row in range(entity.size):
        if wants[row]:
            rows[count], place[count] = row, NEW
            count += 1
    return count


class Asking:
    """The line of the agents of one planner.

    Attributes
    ----------
    rows, since, settled : (k,) int64
        The line as it is in this tick, the tick in which each has come, and what the planner has settled of
        its request; see `MeshPlanner.settle`.
    """

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        none = np.zeros(0, dtype=np.int64)
        self._take(none, none, none, none)

    def _take(
        self,
        rows: NDArray[np.int64],
        since: NDArray[np.int64],
        settled: NDArray[np.int64],
        entity: NDArray[np.int64],
    ) -> None:
        self.rows, self.since, self.settled, self._entity, self._place = rows, since, settled, entity, 0

    def __len__(self) -> int:
        return len(self._entity) - self._place

    @property
    def entities(self) -> NDArray[np.int64]:
        """Those in line."""
        return self._entity[self._place :]

    def line_up(self, agents: AgentColumns, wants: NDArray[np.bool_], now: int) -> None:
        """Let agents, (n,) bool, stand in line that walk and have no path, nor wait for one."""
        rows, place = np.empty(len(agents), dtype=np.int64), np.empty(len(agents), dtype=np.int64)
        count = line_up(
            agents.entity, agents.activity, agents.path_status, agents.goal, wants, self.entities, rows, place
        )
        rows, place = rows[:count], place[:count]
        stood = int(np.searchsorted(place == NEW, True))
        since, settled = np.full(count, now), np.zeros(count, dtype=np.int64)
        since[:stood] = self.since[self._place :][place[:stood]]
        settled[:stood] = self.settled[self._place :][place[:stood]]
        self._take(rows, since, settled, agents.entity[rows])

    def next(self, most: int) -> tuple[NDArray[np.int64], int, NDArray[np.int64]]:
        """Return the next in line, at most so many, all of which have come in one tick; that tick, and what
        is settled of their requests.
        """
        begin, tick = self._place, int(self.since[self._place])
        self._place = min(begin + most, int(np.searchsorted(self.since, tick, side="right")))
        return self.rows[begin : self._place], tick, self.settled[begin : self._place]

    def oldest_tick(self, default: int) -> int:
        """Return the tick in which the first in line has come; `default` if there is none."""
        return int(self.since[self._place]) if len(self) else default

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the line as named arrays; none where nobody stands in it."""
        if not len(self):
            return {}
        return {
            "asking_entity": self.entities.copy(),
            "asking_since": self.since[self._place :].copy(),
            "asking_settled": self.settled[self._place :].copy(),
        }

    def restore(self, saved: Saved, agents: AgentColumns) -> None:
        """Take back what `state()` gave, of agents that are there."""
        if "asking_entity" not in saved:
            self._clear()
            return
        entity = saved.take("asking_entity", "i8", low=1, high=MOST)
        since = saved.take("asking_since", "i8", (len(entity),), low=0, high=MOST_TICKS)
        settled = saved.take("asking_settled", "i8", (len(entity),), low=0, high=1)
        saved.require(np.diff(since) >= 0, "asking_since", "those come first that have waited longest")
        same = np.diff(since) == 0
        saved.require(~same | (np.diff(entity) > 0), "asking_entity", "entity ids of one tick have to ascend")
        saved.require(np.unique(entity).size == len(entity), "asking_entity", "names an agent twice")
        saved.require(np.isin(entity, agents.entity), "asking_entity", "there is no such agent")
        self._take(np.zeros(len(entity), dtype=np.int64), since, settled, entity)
