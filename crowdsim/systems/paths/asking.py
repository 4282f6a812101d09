"""Agents that want a path and for which no request has been made yet: they stand in line, those first that
have wanted one for longest; of those that came in one tick, all with one goal after the other.

Making requests is work of planning, as searching is: where requests count, so many are made in a slice, and
none before the planner has use for it. An agent that stands in line waits for its path as one does whose
request is open, and walks on a guess; its search begins where it is when its request is made.

What a planner has to know of requests that come together, it is told of all agents at the head of the line
that have come in one tick and have one goal, before the first of their requests is made. So nothing that it
settles by that depends on slices, and in each tick the line is read once, by one kernel.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.saved import MOST, MOST_TICKS, Saved
from crowdsim.world.columns import AgentColumns
from crowdsim.world.states import NO_PATH, PENDING, WALKING

LEAST_ROOM = 64  # Agents that there is room for at first.
GONE, WAITS, SENT = 0, 1, 2  # What becomes of an agent in line.


class Line(NamedTuple):
    """Agents in line; where it begins and ends is told apart.

    Attributes
    ----------
    entity, row, since : (m,) int64
        Of each agent, its row when the line was read last, and the tick in which it has come.
    """

    entity: NDArray[np.int64]
    row: NDArray[np.int64]
    since: NDArray[np.int64]


@lean_kernel
def find_waiting(activity, path_status, goal, out):
    """Write which agents can stand in line, (n,) uint8: GONE are those that cannot, SENT those that have been
    sent elsewhere, or have lost what they waited for, and WAITS the others. See `stay_in_line`.
    """
    for row in range(out.size):
        out[row] = GONE
        if activity[row] == WALKING and goal[row] >= 0:
            if path_status[row] == PENDING:
                out[row] = WAITS
            elif path_status[row] == NO_PATH:
                out[row] = SENT


@lean_kernel
def stay_in_line(
    line, first, last, told, waits, entity, are_rows_as_before, path_status, corridor_length, keeps_previous
):
    """Let agents stay in line that still walk and wait, at the row that they have now.

    Parameters
    ----------
    line : Line
        In and out, from `first` on.
    first, last : int
        Where it begins, and where it ends.
    told : int
        Of how many at its head the planner has been told.
    waits : (n,) uint8
        See `find_waiting`.
    entity : (n,) int64
        Ascending.
    are_rows_as_before : bool
        Whether all agents are at the rows where they were when the line was read last.
    path_status, corridor_length : (n,)
        Columns of agents. Those that were sent elsewhere while they stand in line are written to: they go on
        waiting, without a trail.
    keeps_previous : bool
        Whether agents keep to the paths that they had: then `corridor_length` stays as it is.

    Returns
    -------
    last, told : int
        Where the line ends, and of how many at its head the planner has been told: of none, if one of them
        was sent elsewhere.

    Notes
    -----
    Twin: `tests/reference/asking.py`.
    """
    end, still, shift, most = first, 0, 0, entity.size - 1
    for i in range(first, last if entity.size > 0 else first):
        row = line.row[i]
        if not are_rows_as_before:
            # when agents leave, those behind move up together: most are found by how far the one before did
            row = min(max(row - shift, 0), most)
            while row > 0 and entity[row] > line.entity[i]:
                row -= 1
            while row < most and entity[row] < line.entity[i]:
                row += 1
            shift = line.row[i] - row
            if entity[row] != line.entity[i]:
                continue
        if waits[row] == GONE:
            continue
        if waits[row] == SENT:
            path_status[row] = PENDING
            if not keeps_previous:
                corridor_length[row] = 0
            if i - first < told:
                told, still = 0, 0
        if i - first < told:
            still += 1
        if end < i or not are_rows_as_before:
            line.entity[end], line.row[end], line.since[end] = line.entity[i], row, line.since[i]
        end += 1
    return end, still


@lean_kernel
def join_line(line, last, rows, now, entity, goal, place, path_status, corridor_length, keeps_previous):
    """Let agents stand in line behind its last: those with the lowest goal first, of one goal in the order of
    their rows.

    Parameters
    ----------
    line : Line
        Receives, from `last` on; there is room.
    last : int
    rows : (k,) int64
        Which come, ascending.
    now : int
        The tick.
    entity, goal, path_status, corridor_length : (n,)
        Columns of agents; the latter two receive that they wait, without a trail.
    place : (goals,) int64
        Zeros, to work with.
    keeps_previous : bool
        Whether agents keep to the paths that they had: then `corridor_length` stays as it is.

    Returns
    -------
    int
        Where the line ends.

    Notes
    -----
    Twin: `tests/reference/asking.py`.
    """
    for i in range(rows.size):
        place[goal[rows[i]]] += 1
    for number in range(place.size):
        size = place[number]
        place[number] = last
        last += size
    for i in range(rows.size):
        row = rows[i]
        at = place[goal[row]]
        place[goal[row]] += 1
        line.entity[at], line.row[at], line.since[at] = entity[row], row, now
        path_status[row] = PENDING
        if not keeps_previous:
            corridor_length[row] = 0
    return last


@lean_kernel
def count_alike(line, first, begin, end, goal):
    """Return how many agents in line, from `begin` on and before `end`, have the goal, (n,), of that at
    `first`, and have come in its tick: those before the first that has not.
    """
    count, of = 0, goal[line.row[first]]
    while begin + count < end and goal[line.row[begin + count]] == of:
        if line.since[begin + count] != line.since[first]:
            break
        count += 1
    return count


class Asking:
    """The line of the agents of one planner.

    Attributes
    ----------
    told : int
        Of how many at its head the planner has been told.
    is_told : bool
        Whether it has been told of all that have come with the first and have its goal.
    owed : int, expansions
        What is still to be paid for requests that were made.
    """

    def __init__(self) -> None:
        self._line = _room_for(LEAST_ROOM)
        self._first = self._last = self.told = self.owed = 0
        self.is_told = False
        self._rows_of = np.zeros(0, dtype=np.int64)  # entities, in the order of the rows that the line has

    def __len__(self) -> int:
        return self._last - self._first

    @property
    def entities(self) -> NDArray[np.int64]:
        """Those in line."""
        return self._line.entity[self._first : self._last]

    def stay(self, agents: AgentColumns, keeps_previous: bool) -> NDArray[np.int64]:
        """Let agents stay in line that still walk and wait, see `stay_in_line`; return those, (k,) rows, that
        were sent elsewhere meanwhile.
        """
        if not len(self):
            return np.zeros(0, dtype=np.int64)
        waits = np.empty(len(agents), dtype=np.uint8)
        find_waiting(agents.activity, agents.path_status, agents.goal, waits)
        are_rows_as_before = np.array_equal(self._rows_of, agents.entity)
        self._last, told = stay_in_line(
            self._line, self._first, self._last, self.told, waits, agents.entity, are_rows_as_before,
            agents.path_status, agents.corridor_length, keeps_previous,
        )  # fmt: skip
        if not are_rows_as_before:
            self._rows_of = agents.entity.copy()
        self._tell(told, told > 0 and self.is_told)
        sent = np.flatnonzero(waits == SENT)
        return sent[agents.path_status[sent] == PENDING]

    def join(
        self, agents: AgentColumns, rows: NDArray[np.int64], now: int, goals: int, keeps_previous: bool
    ) -> None:
        """Let agents, (k,) rows, stand in line behind the others; there are so many goals."""
        if self._last + len(rows) > len(self._line.entity):
            more = _room_for(2 * (len(self) + len(rows)))
            for before, after in zip(self._line, more, strict=True):
                after[: len(self)] = before[self._first : self._last]
            self._line, self._first, self._last = more, 0, len(self)
        if not len(self):
            self._rows_of = agents.entity.copy()
        self._last = int(
            join_line(
                self._line, self._last, rows, now, agents.entity, agents.goal,
                np.zeros(goals, dtype=np.int64), agents.path_status, agents.corridor_length, keeps_previous,
            )
        )  # fmt: skip

    def to_tell(self, goal: NDArray[np.int32], most: int) -> NDArray[np.int64]:
        """Return the next, at most so many, (k,) rows, of which the planner is to be told before requests are
        made; `goal`, (n,), is that of each agent. They count as told.
        """
        begin = self._first + self.told
        end = min(begin + most, self._last)
        count = int(count_alike(self._line, self._first, begin, end, goal))
        self._tell(self.told + count, begin + count < end or end == self._last)
        return self._line.row[begin : begin + count]

    def next(self, most: int) -> tuple[NDArray[np.int64], int]:
        """Return the next in line, at most so many, (k,) rows, of which the planner has been told; and the
        tick in which they have come.
        """
        begin, tick = self._first, int(self._line.since[self._first])
        self._first += min(most, self.told)
        self._tell(self.told - (self._first - begin), self._first - begin < self.told)
        return self._line.row[begin : self._first], tick

    def tell_anew(self) -> None:
        """Have those at the head told again: the planner is another."""
        self._tell(0, False)

    def _tell(self, told: int, is_told: bool) -> None:
        self.told, self.is_told = told, is_told

    def oldest_tick(self, default: int) -> int:
        """Return the tick in which the first in line has come; `default` if there is none."""
        return int(self._line.since[self._first]) if len(self) else default

    def state(self, agents: AgentColumns) -> dict[str, NDArray[Any]]:
        """Return the line as named arrays; none where nobody stands in it, and nothing is owed.

        Agents that have left the world since the line was read are left out, as they will be when it is read.
        """
        is_there = np.isin(self.entities, agents.entity)
        if not is_there.any() and not self.owed:
            return {}
        told = np.count_nonzero(is_there[: self.told])
        return {
            "asking_entity": self.entities[is_there],
            "asking_since": self._line.since[self._first : self._last][is_there],
            "asking_told": np.array([told, told > 0 and self.is_told, self.owed], dtype=np.int64),
        }

    def restore(self, saved: Saved, agents: AgentColumns) -> None:
        """Take back what `state()` gave, of agents that are there."""
        self._first = self._last = self.owed = 0
        self._tell(0, False)
        if "asking_entity" not in saved:
            return
        entity = saved.take("asking_entity", "i8", low=1, high=MOST)
        since = saved.take("asking_since", "i8", (len(entity),), low=0, high=MOST_TICKS)
        told = saved.take("asking_told", "i8", (3,), low=0, high=[len(entity), 1, MOST])
        saved.require(np.diff(since) >= 0, "asking_since", "those come first that have waited longest")
        saved.require(np.unique(entity).size == len(entity), "asking_entity", "names an agent twice")
        saved.require(np.isin(entity, agents.entity), "asking_entity", "there is no such agent")
        saved.require(told[1] == 0 or told[0] > 0, "asking_told", "the planner has been told of none")
        row = np.searchsorted(agents.entity, entity)
        self._line, self._last = Line(entity.copy(), row, since.copy()), len(entity)
        self._rows_of = agents.entity.copy()
        self._tell(int(told[0]), bool(told[1]))
        self.owed = int(told[2])


def _room_for(count: int) -> Line:
    return Line(*(np.empty(count, dtype=np.int64) for _ in Line._fields))
