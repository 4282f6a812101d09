"""The desk of a planner: requests wait in lines, and slots get from them what they can work on next.

Handing out costs what is handed out, however many wait: a request is touched when it is made, when a slot takes it, and when it is answered. Requests that
share a tree stand in a line for each tree, the others in one line; each line is first in, first out. A slot that has nothing left takes the next of its
line; a tree gets a slot that nobody needs, or one whose line has waited less. What is decided depends on the requests and on what was answered, on nothing
else, so that a desk that was saved goes on as it would have.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.saved import MOST, Arrays, Saved, ascends, fields_of

LEAST_ROWS = 256  # Requests that there is room for at first; doubled when more are open at once.
LEAST_GRANT = 500  # Expansions that a slot gets in a round, some 0.1 ms: with fewer, what a search touches has left the cache when its turn comes again.
IN_LINE = -1  # Slot of a request that no slot has taken yet.
NO_TREE = -1
GOAL_BITS = 42  # Where the goal is in the key of a tree, above the step of the radius and what bodies can pass.

# `key` names the tree that a request can share, `shares` whether it does; `width` is then that of the body that asked for the same tree first. `price` (m) is
# what each of the portals `priced_...` costs besides its way; -1 is none, and those that are there come first.
REQUEST = np.dtype([
    ("order", "i8"), ("entity", "i8"), ("goal", "i4"), ("polygon", "i4"), ("x", "f8"), ("y", "f8"), ("width", "f8"), ("key", "i8"), ("tick", "i8"),
    ("shares", "i8"), ("price", "f8"), ("priced_0", "i4"), ("priced_1", "i4"), ("priced_2", "i4"), ("priced_3", "i4"),
])  # fmt: skip


class Work(NamedTuple):
    """What the slots have to do in one round; see `crowdsim.navigation.planning.search_backends.serve_slots`."""

    jobs: NDArray[np.int64]
    job_count: NDArray[np.int64]
    job_next: NDArray[np.int64]
    is_active: NDArray[np.int64]
    grant: NDArray[np.int64]
    used: NDArray[np.int64]
    requests: NDArray[Any]
    is_open: NDArray[np.uint8]
    status: NDArray[np.uint8]
    piece: NDArray[np.int32]
    where: NDArray[np.int64]
    size: NDArray[np.int64]
    out: NDArray[np.int32]
    fill: NDArray[np.int64]


class Ended(NamedTuple):
    """Requests that were answered in one round.

    Attributes
    ----------
    order, entity : (k,) int64
    status : (k,) uint8
    piece : (k,) int32
    size : (k,) int64
    cells : (m,) int32
        The corridors one after the other, `size` cells each.
    """

    order: NDArray[np.int64]
    entity: NDArray[np.int64]
    status: NDArray[np.uint8]
    piece: NDArray[np.int32]
    size: NDArray[np.int64]
    cells: NDArray[np.int32]


class Desk:
    """Requests that wait, and who works on them.

    Parameters
    ----------
    own, shared : int
        Slots for searches of their own, which come first, and for trees that are kept.
    own_batch, shared_batch : int
        Requests that a slot takes at a time.
    cells : int
        Room for the corridors that a slot finds in one round.
    forget : callable
        Called with a slot whose tree is given up.
    """

    def __init__(self, own: int, shared: int, own_batch: int, shared_batch: int, cells: int, forget: Callable[[int], None]) -> None:
        count = own + shared
        self._own, self._own_batch, self._shared_batch, self._forget = own, own_batch, shared_batch, forget
        self._key = np.full(count, NO_TREE, dtype=np.int64)  # tree that a shared slot keeps
        self._slot_of_key: dict[int, int] = {}
        self._last_use = np.zeros(count, dtype=np.int64)
        self._rounds = 0
        self._jobs = np.zeros((count, max(own_batch, shared_batch)), dtype=np.int64)
        self._job_count, self._job_next = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        self._is_active = np.zeros(count, dtype=np.int64)
        self._grant, self._used, self._fill = (np.zeros(count, dtype=np.int64) for _ in range(3))
        self._out, self._cells = np.empty((count, cells), dtype=np.int32), np.empty(count * cells, dtype=np.int32)
        self._began, self._answered = np.zeros(count, dtype=np.int64), np.empty(self._jobs.size, dtype=np.int64)
        self._settle(np.zeros(0, dtype=REQUEST), np.zeros(0, dtype=np.int64))

    @property
    def entities(self) -> list[int]:
        """Whose requests are open."""
        return list(self._row_of)

    @property
    def requests(self) -> NDArray[Any]:
        """The open requests."""
        return self._records[self._open_rows()]

    @property
    def is_active(self) -> NDArray[np.bool_]:
        """Which slots are in the middle of a request, shape (slots,)."""
        return self._is_active == 1

    @property
    def in_hand(self) -> NDArray[Any]:
        """The request that each slot that is active is in the middle of, shape (slots,); of the others, any."""
        return self._records[self._jobs[np.arange(len(self._jobs)), np.minimum(self._job_next, self._jobs.shape[1] - 1)]]

    @property
    def keys(self) -> NDArray[np.int64]:
        """The key of the tree that each slot keeps, shape (slots,); NO_TREE if it keeps none."""
        return self._key

    def _settle(self, records: NDArray[Any], slot: NDArray[np.int64]) -> None:
        """Keep these requests and no others, which are in the order in which they were made; those that slots have taken stay theirs."""
        count, room = len(records), LEAST_ROWS
        while room < 2 * count:
            room *= 2
        self._records = np.zeros(room, dtype=REQUEST)
        self._records[:count] = records
        self._order = np.zeros(room, dtype=np.int64)
        self._order[:count] = records["order"]
        self._is_open, self._slot = np.zeros(room, dtype=np.uint8), np.full(room, IN_LINE, dtype=np.int64)
        self._is_open[:count], self._slot[:count] = 1, slot
        self._status, self._piece = np.zeros(room, dtype=np.uint8), np.zeros(room, dtype=np.int32)
        self._where, self._size = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
        self._used_rows, self._first_open, self.waiting = count, 0, count
        self._row_of: dict[int, int] = dict(zip(records["entity"].tolist(), range(count), strict=True))
        self._job_next[:], self._job_count[:] = 0, 0
        for taker in np.unique(slot[slot != IN_LINE]).tolist():
            mine = np.flatnonzero(slot == taker)
            self._jobs[taker, : len(mine)], self._job_count[taker] = mine, len(mine)
        self._alone: deque[int] = deque()
        self._lines: dict[int, deque[int]] = {}
        self._no_slot: list[tuple[int, int]] = []  # (order of its first request, key) of the lines whose tree no slot has
        self._in_line = 0
        self._stand_in_line(np.flatnonzero(slot == IN_LINE))

    def _stand_in_line(self, rows: NDArray[np.int64]) -> None:
        """Put requests at the ends of their lines."""
        self._in_line += len(rows)
        shares = self._records["shares"][rows] == 1
        self._alone.extend(rows[~shares].tolist())
        rows = rows[shares]
        if not len(rows):
            return
        by_key = rows[np.argsort(self._records["key"][rows], kind="stable")]
        keys, first = np.unique(self._records["key"][by_key], return_index=True)
        for key, mine in zip(keys.tolist(), np.split(by_key, first[1:]), strict=True):
            line = self._lines.setdefault(key, deque())
            if not line and key not in self._slot_of_key:
                heapq.heappush(self._no_slot, (int(self._order[mine[0]]), key))
            line.extend(mine.tolist())

    def submit(self, fresh: NDArray[Any]) -> None:
        """Take requests in, in their order; nobody has two."""
        if self._used_rows + len(fresh) > len(self._records):
            open_rows = self._open_rows()
            records, slot = np.concatenate([self._records[open_rows], fresh]), np.full(len(open_rows) + len(fresh), IN_LINE, dtype=np.int64)
            slot[: len(open_rows)] = self._slot[open_rows]
            self._settle(records, slot)
            return
        rows = np.arange(self._used_rows, self._used_rows + len(fresh))
        self._records[rows], self._order[rows] = fresh, fresh["order"]
        self._is_open[rows], self._slot[rows], self._status[rows] = 1, IN_LINE, 0
        self._used_rows += len(fresh)
        self.waiting += len(fresh)
        self._row_of.update(zip(fresh["entity"].tolist(), rows.tolist(), strict=True))
        self._stand_in_line(rows)

    def set_keys(self, key: Mapping[int, int]) -> None:
        """Give the requests of some, which share no trees, other keys, by entity."""
        for entity, each in key.items():
            row = self._row_of.get(entity)
            if row is not None:
                self._records["key"][row] = each

    def _open_rows(self) -> NDArray[np.int64]:
        return np.flatnonzero(self._is_open[: self._used_rows])

    def drop(self, entity: NDArray[np.int64]) -> None:
        """Forget the requests of some; where they stand in line or with a slot they are passed over."""
        for each in entity.tolist() if self.waiting else ():
            row = self._row_of.pop(each, None)
            if row is None:
                continue
            self._is_open[row] = 0
            self.waiting -= 1
            slot = int(self._slot[row])
            if slot == IN_LINE:
                self._in_line -= 1
            elif self._is_active[slot] and self._jobs[slot, self._job_next[slot]] == row:
                self._is_active[slot] = 0

    def oldest_tick(self, default: int) -> int:
        """Return the tick at which the oldest open request was made; `default` if there is none."""
        if not self.waiting:
            return default
        self._first_open += int(np.argmax(self._is_open[self._first_open : self._used_rows]))
        return int(self._records["tick"][self._first_open])

    def hand_out(self, budget: int) -> int:
        """Give slots that have nothing left something to do, and those with the oldest requests equal shares of a budget.

        Returns
        -------
        int
            Slots at work.
        """
        self._rounds += 1
        if self._in_line:
            dry = np.flatnonzero(self._job_next >= self._job_count)
            if len(dry):
                self._refill_own(dry[dry < self._own])
                self._refill_shared(dry[dry >= self._own].tolist())
        return int(share_out(budget, self._rounds, self._jobs, self._job_next, self._job_count, self._order, self._grant, self._last_use, self._began))

    def _take(self, line: deque[int], most: int) -> list[int]:
        """Take up to so many open requests out of a line."""
        taken: list[int] = []
        while line and len(taken) < most:
            row = line.popleft()
            if self._is_open[row]:
                taken.append(row)
        return taken

    def _give(self, slot: int, rows: list[int]) -> None:
        self._jobs[slot, : len(rows)] = rows
        self._job_next[slot], self._job_count[slot] = 0, len(rows)
        self._slot[rows] = slot
        self._in_line -= len(rows)

    def _refill_own(self, dry: NDArray[np.int64]) -> None:
        """Give the next of those that search alone to slots of their own in turn, so that they are done about in their order."""
        if not len(dry) or not self._alone:
            return
        batch = min(self._own_batch, -(-len(self._alone) // len(dry)))
        rows = self._take(self._alone, batch * len(dry))
        for place, slot in enumerate(dry.tolist()):
            self._give(slot, rows[place :: len(dry)])

    def _refill_shared(self, dry: list[int]) -> None:
        """Give shared slots the next of their lines; trees without a slot get one by the age of their oldest request."""
        free, lined = [], []
        for slot in dry:
            head = self._head(int(self._key[slot]))
            if head < 0:
                free.append((int(self._last_use[slot]), slot))
            else:
                lined.append((head, slot))
        free.sort(reverse=True)
        lined.sort()
        while free or lined:
            oldest = self._oldest_without_slot()
            if oldest is None:
                break
            if free:
                _, slot = free.pop()
            elif lined[-1][0] > oldest[0]:  # it has waited less
                _, slot = lined.pop()
                heapq.heappush(self._no_slot, (self._head(int(self._key[slot])), int(self._key[slot])))
            else:
                break
            heapq.heappop(self._no_slot)
            self._slot_of_key.pop(int(self._key[slot]), None)
            self._key[slot], self._slot_of_key[oldest[1]] = oldest[1], slot
            self._forget(slot)
            self._give(slot, self._take(self._lines[oldest[1]], self._shared_batch))
        for _, slot in lined:
            self._give(slot, self._take(self._lines[int(self._key[slot])], self._shared_batch))

    def _head(self, key: int) -> int:
        """Return the order of the first open request in the line of a tree; -1 if there is none."""
        line = self._lines.get(key)
        while line and not self._is_open[line[0]]:
            line.popleft()
        if line:
            return int(self._order[line[0]])
        self._lines.pop(key, None)
        return -1

    def _oldest_without_slot(self) -> tuple[int, int] | None:
        """Return the line that has waited longest of those whose tree no slot has, as (order, key)."""
        while self._no_slot:
            order, key = self._no_slot[0]
            head = -1 if key in self._slot_of_key else self._head(key)
            if head == order:
                return order, key
            heapq.heappop(self._no_slot)
            if head >= 0:  # its first was dropped
                heapq.heappush(self._no_slot, (head, key))
        return None

    def work(self) -> Work:
        """Return what the slots have to do, after `hand_out`."""
        return Work(
            self._jobs, self._job_count, self._job_next, self._is_active, self._grant, self._used, self._records, self._is_open, self._status,
            self._piece, self._where, self._size, self._out, self._fill,
        )  # fmt: skip

    def collect(self) -> tuple[int, bool, Ended | None]:
        """Take out what the slots have answered since `hand_out`; return the expansions that they made, whether any got on in its jobs, and what ended."""
        used, moved, answers, cells = take_out(
            self._jobs, self._began, self._job_next, self._used, self._is_open, self._where, self._size, self._out, self._answered, self._cells
        )
        if not answers:
            return used, moved > 0, None
        rows = self._answered[:answers].copy()
        entity = self._records["entity"][rows]
        self.waiting -= answers
        for each in entity.tolist():
            del self._row_of[each]
        return used, True, Ended(self._order[rows], entity, self._status[rows], self._piece[rows], self._size[rows], self._cells[:cells].copy())

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the requests, and who works on them, as named arrays."""
        rows = self._open_rows()
        return {
            **fields_of("request_", self._records[rows]), "request_slot": self._slot[rows].copy(), "is_active": self._is_active.copy(),
            "key": self._key.copy(), "last_use": self._last_use.copy(), "rounds": np.array([self._rounds], dtype=np.int64),
        }  # fmt: skip

    def restore(self, state: Arrays | Saved, bounds: Mapping[str, tuple[Any, Any]]) -> None:
        """Take back what `state()` gave; `bounds` say what the fields of requests may hold.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        saved, count = Saved.of(state), len(self._key)
        records = saved.records("request_", REQUEST, bounds)
        slot = saved.take("request_slot", "i8", (len(records),), low=IN_LINE, high=count - 1)
        rounds = saved.whole("rounds", 0, MOST)
        key, last_use = saved.take("key", "i8", (count,), low=NO_TREE, high=MOST), saved.take("last_use", "i8", (count,), low=0, high=rounds)
        is_active = saved.take("is_active", "i8", (count,), low=0, high=1)
        saved.require(ascends(records["order"]), "request_order", "requests stand in the order in which they were made")
        saved.require(np.unique(records["entity"]).size == len(records), "request_entity", "names somebody twice")
        has_one = slot != IN_LINE
        taken = np.bincount(slot[has_one], minlength=count)
        most = np.where(np.arange(count) < self._own, self._own_batch, self._shared_batch)
        saved.require(taken <= most, "request_slot", "gives a slot more than it takes at a time")
        saved.require((is_active == 0) | (taken > 0), "is_active", "the slot has nothing to do")
        kept = key[key != NO_TREE]
        saved.require((key == NO_TREE) | (np.arange(count) >= self._own), "key", "the slot keeps no trees")
        saved.require(np.unique(kept).size == len(kept), "key", "names a tree twice")
        is_shared = records["shares"] == 1
        saved.require(~has_one | (is_shared == (slot >= self._own)), "request_slot", "that is a slot for others")
        saved.require(~has_one | ~is_shared | (records["key"] == key[slot]), "request_key", "the slot keeps another tree")
        saved.require(~is_shared | (records["key"] >> GOAL_BITS == records["goal"]), "request_key", "that is a tree of another goal")
        self._key, self._last_use, self._rounds, self._is_active = key, last_use, rounds, is_active
        self._slot_of_key = {key: slot for slot, key in enumerate(self._key.tolist()) if key != NO_TREE}
        self._settle(records, slot)


@lean_kernel
def share_out(budget, now, jobs, job_next, job_count, order, grant, last_use, began):
    """Share a budget among the slots with the oldest requests, at least LEAST_GRANT for each; return how many slots have work.

    Parameters
    ----------
    budget : int, expansions
    now : int
        Number of the round; noted in `last_use`.
    jobs : (s, b) int64
    job_next, job_count : (s,) int64
    order : (n,) int64
        When each request was made.
    grant, last_use, began : (s,) int64
        Receive; `began` what `job_next` is now.
    """
    at_work = 0
    for slot in range(jobs.shape[0]):
        grant[slot], began[slot] = 0, job_next[slot]
        if job_next[slot] < job_count[slot]:
            at_work += 1
            last_use[slot] = now
    if at_work == 0:
        return 0
    served = min(at_work, max(1, budget // LEAST_GRANT))
    share, left = budget // served, budget % served
    for slot in range(jobs.shape[0]):
        if job_next[slot] < job_count[slot]:
            mine, older = order[jobs[slot, job_next[slot]]], 0
            for other in range(jobs.shape[0]):
                if job_next[other] < job_count[other] and order[jobs[other, job_next[other]]] < mine:
                    older += 1
            if older < served:
                grant[slot] = share + (1 if older < left else 0)
    return at_work


@lean_kernel
def take_out(jobs, began, job_next, used, is_open, where, size, out, answered, cells):
    """Close the requests that were answered in a round, and put their corridors one after the other.

    Parameters
    ----------
    jobs : (s, b) int64
    began, job_next : (s,) int64
        Where each slot was in its jobs before the round, and is now.
    used : (s,) int64
    is_open : (n,) uint8
        Receives 0; where it is 0 already, a request was dropped and has no answer.
    where, size : (n,) int64
        Where in the slot's row of `out` a corridor is.
    out : (s, k) int32
    answered : (s b,) int64
        Receives the requests.
    cells : (s k,) int32
        Receives the corridors.

    Returns
    -------
    expansions, moved, answers, length : int
        Sum of `used`; jobs that slots are through with; requests answered; length of the corridors.
    """
    expansions, moved, answers, length = 0, 0, 0, 0
    for slot in range(jobs.shape[0]):
        expansions += used[slot]
        for k in range(began[slot], job_next[slot]):
            row = jobs[slot, k]
            moved += 1
            if is_open[row] == 0:
                continue
            is_open[row] = 0
            answered[answers] = row
            answers += 1
            for i in range(where[row], where[row] + size[row]):
                cells[length] = out[slot, i]
                length += 1
    return expansions, moved, answers, length


def pieces(flat: NDArray[np.int32], begin: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the pieces ``flat[begin[i]:begin[i] + size[i]]`` one after the other."""
    end = np.cumsum(size)
    total = int(end[-1]) if len(end) else 0
    return flat[np.repeat(begin - end + size, size) + np.arange(total)]
