"""The request queue of a planner: requests wait, first in, first out,
and slots get from it what they can work on next.

That costs as much as the requests that slots get, however many wait: a request is touched when it is made,
when a slot takes it, and when it is answered. Requests that share a tree wait in a queue for each tree, the
others in one queue. A slot that has nothing left takes the next of its queue; a tree gets a slot that is not
needed, or one whose queue has waited less. What is decided depends on the requests and on what was answered,
on nothing else, so that a queue that was saved goes on as it would have.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.planning.work import Ended, Work, share_out, take_out
from crowdsim.navigation.search.sharing import NO_TREE, SharedTrees
from crowdsim.saved import MOST, Arrays, Saved, ascends, fields_of

LEAST_ROWS = 256  # Requests that there is room for at first; doubled when more are open at once.
UNASSIGNED = -1  # Slot of a request that no slot has taken yet.

# What every request has. `key` names the tree in a slot that it can share, `shares` whether it does; `tree`
# the tree that has to be grown before it is begun.
REQUEST_FIELDS = [
    ("order", "i8"),
    ("entity", "i8"),
    ("tick", "i8"),
    ("x", "f8"),
    ("y", "f8"),
    ("key", "i8"),
    ("shares", "i8"),
    ("tree", "i8"),
]


class RequestQueue:
    """Requests that wait, and the slots that work on them.

    Parameters
    ----------
    fields : list of (str, str)
        What a request has besides `REQUEST_FIELDS`, as for `numpy.dtype`.
    own, shared : int
        Slots for searches of their own, which come first, and for trees that are kept.
    own_batch, shared_batch : int
        Requests that a slot takes at a time.
    out : (own + shared, k) int32 or float64
        Room for the paths that each slot finds in one round.
    forget : callable, optional
        Called with a slot whose tree is given up.
    trees : SharedTrees, optional
        Those that requests name as `tree`; a request whose tree is still to be grown holds up those behind
        it.
    """

    def __init__(
        self,
        fields: list[tuple[str, str]],
        own: int,
        shared: int,
        own_batch: int,
        shared_batch: int,
        out: NDArray[Any],
        forget: Callable[[int], None] | None = None,
        trees: SharedTrees | None = None,
    ) -> None:
        count = own + shared
        self.record = np.dtype([*REQUEST_FIELDS, *fields])
        self._own, self._own_batch, self._shared_batch, self._forget, self._trees = (
            own,
            own_batch,
            shared_batch,
            forget,
            trees,
        )
        self._key = np.full(count, NO_TREE, dtype=np.int64)  # tree that a shared slot keeps
        self._slot_of_key: dict[int, int] = {}
        self._last_use = np.zeros(count, dtype=np.int64)
        self._rounds = 0
        self._jobs = np.zeros((count, max(own_batch, shared_batch)), dtype=np.int64)
        self._job_count, self._job_next = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        self._is_active = np.zeros(count, dtype=np.int64)
        self._grant, self._used, self._fill = (np.zeros(count, dtype=np.int64) for _ in range(3))
        self._out, self._path = out, np.empty(out.size, dtype=out.dtype)
        self._began, self._answered = (
            np.zeros(count, dtype=np.int64),
            np.empty(self._jobs.size, dtype=np.int64),
        )
        self._keep(np.zeros(0, dtype=self.record), np.zeros(0, dtype=np.int64))

    @property
    def entities(self) -> list[int]:
        """The agents whose requests are open."""
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
        """The request that each slot that is active is in the middle of, shape (slots,);
        of the others, any.
        """
        return self._records[
            self._jobs[np.arange(len(self._jobs)), np.minimum(self._job_next, self._jobs.shape[1] - 1)]
        ]

    @property
    def keys(self) -> NDArray[np.int64]:
        """The key of the tree that each slot keeps, shape (slots,); NO_TREE if it keeps none."""
        return self._key

    def _keep(self, records: NDArray[Any], slot: NDArray[np.int64]) -> None:
        """Keep these requests and no others, which are in the order in which they were made;
        those that slots have taken stay theirs.
        """
        count, room = len(records), LEAST_ROWS
        while room < 2 * count:
            room *= 2
        self._records = np.zeros(room, dtype=self.record)
        self._records[:count] = records
        self._order = np.zeros(room, dtype=np.int64)
        self._order[:count] = records["order"]
        self._is_open, self._slot = np.zeros(room, dtype=np.uint8), np.full(room, UNASSIGNED, dtype=np.int64)
        self._is_open[:count], self._slot[:count] = 1, slot
        self._status, self._piece = np.zeros(room, dtype=np.uint8), np.zeros(room, dtype=np.int32)
        self._where, self._size, self._detail = (
            np.zeros(room, dtype=np.int64),
            np.zeros(room, dtype=np.int64),
            np.zeros((room, 4)),
        )
        self._used_rows, self._first_open, self.waiting = count, 0, count
        self._row_of: dict[int, int] = dict(zip(records["entity"].tolist(), range(count), strict=True))
        self._job_next[:], self._job_count[:] = 0, 0
        for taker in np.unique(slot[slot != UNASSIGNED]).tolist():
            mine = np.flatnonzero(slot == taker)
            self._jobs[taker, : len(mine)], self._job_count[taker] = mine, len(mine)
        self._own_queue: deque[int] = deque()
        self._of_tree: dict[int, deque[int]] = {}
        # (order of its first request, key) of the queues whose tree no slot has
        self._no_slot: list[tuple[int, int]] = []
        self._unassigned = self._own_unassigned = 0  # of these, those that share no tree
        self._stand_unassigned(np.flatnonzero(slot == UNASSIGNED))

    def _stand_unassigned(self, rows: NDArray[np.int64]) -> None:
        """Put requests at the ends of their queues."""
        self._unassigned += len(rows)
        shares = self._records["shares"][rows] == 1
        self._own_unassigned += int(np.count_nonzero(~shares))
        self._own_queue.extend(rows[~shares].tolist())
        rows = rows[shares]
        if not len(rows):
            return
        by_key = rows[np.argsort(self._records["key"][rows], kind="stable")]
        keys, first = np.unique(self._records["key"][by_key], return_index=True)
        for key, mine in zip(keys.tolist(), np.split(by_key, first[1:]), strict=True):
            queue = self._of_tree.setdefault(key, deque())
            if not queue and key not in self._slot_of_key:
                heapq.heappush(self._no_slot, (int(self._order[mine[0]]), key))
            queue.extend(mine.tolist())

    def submit(self, fresh: NDArray[Any]) -> None:
        """Take requests in, in their order; no agent has two."""
        if self._used_rows + len(fresh) > len(self._records):
            open_rows = self._open_rows()
            records, slot = (
                np.concatenate([self._records[open_rows], fresh]),
                np.full(len(open_rows) + len(fresh), UNASSIGNED, dtype=np.int64),
            )
            slot[: len(open_rows)] = self._slot[open_rows]
            self._keep(records, slot)
            return
        rows = np.arange(self._used_rows, self._used_rows + len(fresh))
        self._records[rows], self._order[rows] = fresh, fresh["order"]
        self._is_open[rows], self._slot[rows], self._status[rows] = 1, UNASSIGNED, 0
        self._used_rows += len(fresh)
        self.waiting += len(fresh)
        self._row_of.update(zip(fresh["entity"].tolist(), rows.tolist(), strict=True))
        self._stand_unassigned(rows)

    def change(self, name: str, value: NDArray[Any]) -> None:
        """Give the open requests, in the order of `requests`, another value of a field."""
        self._records[name][self._open_rows()] = value

    def begin_anew(self) -> None:
        """Let all slots give back what they have: what they know is no longer true."""
        records = self.requests
        self._is_active[:] = 0
        self._keep(records, np.full(len(records), UNASSIGNED, dtype=np.int64))

    def _open_rows(self) -> NDArray[np.int64]:
        return np.flatnonzero(self._is_open[: self._used_rows])

    def drop(self, entity: NDArray[np.int64]) -> None:
        """Forget the requests of some agents: those in a queue are passed over, slots give theirs up.

        Nothing that a slot could count as work is left of them, nor in the length of a queue: else a queue
        that goes on would decide otherwise than one that is restored, which knows only of open requests.
        """
        for each in entity.tolist() if self.waiting else ():
            row = self._row_of.pop(each, None)
            if row is None:
                continue
            self._is_open[row] = 0
            self.waiting -= 1
            slot = int(self._slot[row])
            if slot == UNASSIGNED:
                self._unassigned -= 1
                self._own_unassigned -= int(self._records["shares"][row] == 0)
            else:
                self._give_up(slot, row)

    def _give_up(self, slot: int, row: int) -> None:
        """Take a request from a slot that has it; those behind it move up."""
        begin, end = self._job_next[slot], self._job_count[slot]
        place = begin + int(np.argmax(self._jobs[slot, begin:end] == row))
        if place == begin:
            self._is_active[slot] = 0
        self._jobs[slot, place : end - 1] = self._jobs[slot, place + 1 : end].copy()
        self._job_count[slot] -= 1

    def forget_trees(self, which: NDArray[np.bool_]) -> None:
        """Have some slots, (slots,) bool, give up the trees that they keep; no open request shares them."""
        for slot in np.flatnonzero(which & (self._key != NO_TREE)).tolist():
            key = int(self._key[slot])
            del self._slot_of_key[key]
            self._of_tree.pop(key, None)
            self._key[slot] = NO_TREE
            if self._forget is not None:
                self._forget(slot)

    def oldest_tick(self, default: int) -> int:
        """Return the tick at which the oldest open request was made; `default` if there is none."""
        if not self.waiting:
            return default
        self._first_open += int(np.argmax(self._is_open[self._first_open : self._used_rows]))
        return int(self._records["tick"][self._first_open])

    def assign(self, budget: int) -> int:
        """Give slots that have nothing left something to do, and those with the oldest requests equal shares
        of a budget.

        Returns
        -------
        int
            Slots at work.
        """
        self._rounds += 1
        if self._unassigned:
            dry = np.flatnonzero(self._job_next >= self._job_count)
            if len(dry):
                self._refill_own(dry[dry < self._own])
                self._refill_shared(dry[dry >= self._own].tolist())
        return int(
            share_out(
                budget,
                self._rounds,
                self._jobs,
                self._job_next,
                self._job_count,
                self._order,
                self._grant,
                self._last_use,
                self._began,
            )
        )

    def _take(self, queue: deque[int], most: int) -> list[int]:
        """Take up to so many open requests out of a queue."""
        taken: list[int] = []
        while (
            queue and len(taken) < most and not (self._is_open[queue[0]] and self._waits_for_tree(queue[0]))
        ):
            row = queue.popleft()
            if self._is_open[row]:
                taken.append(row)
        return taken

    def _waits_for_tree(self, row: int) -> bool:
        return (
            self._trees is not None
            and (tree := int(self._records["tree"][row])) != NO_TREE
            and not self._trees.is_grown[tree]
        )

    def tree_to_grow(self) -> int:
        """Return the tree that the next request waits for, if there is nothing else to do;
        NO_TREE if there is.
        """
        if self._trees is None or self._is_active.any() or np.any(self._job_next < self._job_count):
            return NO_TREE
        while self._own_queue and not self._is_open[self._own_queue[0]]:
            self._own_queue.popleft()
        return (
            int(self._records["tree"][self._own_queue[0]])
            if self._own_queue and self._waits_for_tree(self._own_queue[0])
            else NO_TREE
        )

    def _give(self, slot: int, rows: list[int]) -> None:
        self._jobs[slot, : len(rows)] = rows
        self._job_next[slot], self._job_count[slot] = 0, len(rows)
        self._slot[rows] = slot
        self._unassigned -= len(rows)

    def _refill_own(self, dry: NDArray[np.int64]) -> None:
        """Give the next of those that search alone to slots of their own in turn,
        so that they are done about in their order.
        """
        if not len(dry) or not self._own_unassigned:
            return
        batch = min(self._own_batch, -(-self._own_unassigned // len(dry)))
        rows = self._take(self._own_queue, batch * len(dry))
        self._own_unassigned -= len(rows)
        for place, slot in enumerate(dry.tolist()):
            self._give(slot, rows[place :: len(dry)])

    def _refill_shared(self, dry: list[int]) -> None:
        """Give shared slots the next of their queues;
        trees without a slot get one by the age of their oldest request.
        """
        free, queued = [], []
        for slot in dry:
            head = self._head(int(self._key[slot]))
            if head < 0:
                free.append((int(self._last_use[slot]), slot))
            else:
                queued.append((head, slot))
        free.sort(reverse=True)
        queued.sort()
        while free or queued:
            oldest = self._oldest_without_slot()
            if oldest is None:
                break
            if free:
                _, slot = free.pop()
            elif queued[-1][0] > oldest[0]:  # it has waited less
                _, slot = queued.pop()
                heapq.heappush(self._no_slot, (self._head(int(self._key[slot])), int(self._key[slot])))
            else:
                break
            heapq.heappop(self._no_slot)
            self._slot_of_key.pop(int(self._key[slot]), None)
            self._key[slot], self._slot_of_key[oldest[1]] = oldest[1], slot
            if self._forget is not None:
                self._forget(slot)
            self._give(slot, self._take(self._of_tree[oldest[1]], self._shared_batch))
        for _, slot in queued:
            self._give(slot, self._take(self._of_tree[int(self._key[slot])], self._shared_batch))

    def _head(self, key: int) -> int:
        """Return the order of the first open request in the queue of a tree; -1 if there is none."""
        queue = self._of_tree.get(key)
        while queue and not self._is_open[queue[0]]:
            queue.popleft()
        if queue:
            return int(self._order[queue[0]])
        self._of_tree.pop(key, None)
        return -1

    def _oldest_without_slot(self) -> tuple[int, int] | None:
        """Return the queue that has waited longest of those whose tree no slot has, as (order, key)."""
        while self._no_slot:
            order, key = self._no_slot[0]
            head = -1 if key in self._slot_of_key else self._head(key)
            if head == order:
                return order, key
            heapq.heappop(self._no_slot)
            if head >= 0:  # its first was dropped
                heapq.heappush(self._no_slot, (head, key))
        return None

    def work(self, answer_work: int, path_work: int) -> Work:
        """Return what the slots have to do, after `assign`."""
        return Work(
            self._jobs, self._job_count, self._job_next, self._is_active, self._grant, self._used,
            self._records, self._status, self._piece, self._where, self._size, self._detail,
            self._out, self._fill, answer_work, path_work,
        )  # fmt: skip

    def work_again(
        self,
        which: NDArray[np.bool_],
        grant: NDArray[np.int64],
        *,
        begins: bool = True,
        requests: NDArray[Any] | None = None,
        answer_work: int = 0,
    ) -> Work:
        """Return work in which some slots, (s,) bool, begin the request that they are in the middle of,
        or go on with it: paths that are found stay there.

        Nothing is taken from the queue, and nothing answered; there is no room for a path. `requests`, (s,),
        are others than those of the slots.
        """
        count, none = len(which), np.zeros(len(which), dtype=np.int64)
        return Work(
            np.arange(count).reshape(-1, 1).copy(), which.astype(np.int64), none.copy(),
            np.full(count, int(not begins)), np.where(which, grant, 0), none.copy(),
            self.in_hand if requests is None else requests,
            np.zeros(count, dtype=np.uint8), np.zeros(count, dtype=np.int32), none.copy(), none.copy(),
            np.zeros((count, 4)), self._out[:, :0].copy(), none.copy(), answer_work, 0,
        )  # fmt: skip

    @property
    def nothing(self) -> Ended:
        """What ended where nothing did."""
        none = np.zeros(0, dtype=np.int64)
        return Ended(
            none,
            none,
            np.zeros(0, dtype=np.uint8),
            np.zeros(0, dtype=np.int32),
            none,
            np.zeros((0, 4)),
            self._path[:0],
        )

    def collect(self) -> tuple[int, Ended | None]:
        """Take out what the slots have answered since `assign`;
        return the expansions that they made, and what ended.
        """
        used, answers, length = take_out(
            self._jobs,
            self._began,
            self._job_next,
            self._used,
            self._is_open,
            self._where,
            self._size,
            self._out,
            self._answered,
            self._path,
        )
        if not answers:
            return used, None
        rows = self._answered[:answers].copy()
        entity = self._records["entity"][rows]
        self.waiting -= answers
        for each in entity.tolist():
            del self._row_of[each]
        size, detail = self._size[rows], self._detail[rows]
        return (
            used,
            Ended(
                self._order[rows],
                entity,
                self._status[rows],
                self._piece[rows],
                size,
                detail,
                self._path[:length].copy(),
            ),
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the requests, and which slots work on them, as named arrays."""
        rows = self._open_rows()
        return {
            **fields_of("request_", self._records[rows]),
            "request_slot": self._slot[rows].copy(),
            "is_active": self._is_active.copy(),
            "key": self._key.copy(),
            "last_use": self._last_use.copy(),
            "rounds": np.array([self._rounds], dtype=np.int64),
        }

    def restore(self, state: Arrays | Saved, bounds: Mapping[str, tuple[Any, Any]]) -> None:
        """Take back what `state()` gave; `bounds` say what the fields of requests may hold.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        saved, count = Saved.of(state), len(self._key)
        records = saved.records("request_", self.record, bounds)
        slot = saved.take("request_slot", "i8", (len(records),), low=UNASSIGNED, high=count - 1)
        rounds = saved.whole("rounds", 0, MOST)
        key, last_use = (
            saved.take("key", "i8", (count,), low=NO_TREE, high=MOST),
            saved.take("last_use", "i8", (count,), low=0, high=rounds),
        )
        is_active = saved.take("is_active", "i8", (count,), low=0, high=1)
        saved.require(
            ascends(records["order"]), "request_order", "requests stand in the order in which they were made"
        )
        saved.require(
            np.unique(records["entity"]).size == len(records), "request_entity", "names an agent twice"
        )
        has_one = slot != UNASSIGNED
        taken = np.bincount(slot[has_one], minlength=count)
        most = np.where(np.arange(count) < self._own, self._own_batch, self._shared_batch)
        saved.require(taken <= most, "request_slot", "gives a slot more than it takes at a time")
        saved.require((is_active == 0) | (taken > 0), "is_active", "the slot has nothing to do")
        if self._trees is not None:
            grown = np.append(self._trees.is_grown, True)[records["tree"]]
            saved.require(~has_one | grown, "request_tree", "that tree is not grown")
        kept = key[key != NO_TREE]
        saved.require((key == NO_TREE) | (np.arange(count) >= self._own), "key", "the slot keeps no trees")
        saved.require(np.unique(kept).size == len(kept), "key", "names a tree twice")
        is_shared = records["shares"] == 1
        saved.require(
            ~has_one | (is_shared == (slot >= self._own)), "request_slot", "that is a slot for others"
        )
        saved.require(
            ~has_one | ~is_shared | (records["key"] == key[slot]),
            "request_key",
            "the slot keeps another tree",
        )
        self._key, self._last_use, self._rounds, self._is_active = key, last_use, rounds, is_active
        self._slot_of_key = {key: slot for slot, key in enumerate(self._key.tolist()) if key != NO_TREE}
        self._keep(records, slot)
