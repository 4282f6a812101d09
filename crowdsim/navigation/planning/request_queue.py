"""The request queue of a planner: requests wait, first in, first out,
and slots get from it what they can work on next.

That costs as much as the requests that slots get, however many wait: a request is touched when it is made,
when a slot takes it, and when it is answered, by kernels. Requests that share a tree wait in a queue for each
tree, the others in one queue. A slot that has nothing left takes the next of its queue; a tree gets a slot
that is not needed, or one whose queue has waited less, by a tick or more: requests of one tick are equals,
and a tree answers all of them before it is given up. What is decided depends on the requests and on what was
answered, on nothing else, so that a queue that was saved goes on as it would have.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.growing import lazy_zeros
from crowdsim.navigation.planning.keys import KeyTable, make_table, note_numbers
from crowdsim.navigation.planning.waiting_rows import (
    UNASSIGNED,
    drop_rows,
    first_alone,
    head_of,
    heads_of,
    larger_queues,
    make_queues,
    make_rows,
    stand_rows,
    take_alone,
    take_of_tree,
)
from crowdsim.navigation.planning.work import LEAST_GRANT, Ended, Work, share_out, take_out
from crowdsim.navigation.search.sharing import NO_TREE, SharedTrees
from crowdsim.saved import MOST, Arrays, Saved, ascends, fields_of

LEAST_QUEUES = 64  # Trees with queues that there is room for at first.
MOST_PAID = 1 << 24  # In saved queues, for one answer; no path has so many portals.
LEAST_ROWS = 256  # Requests that there is room for at first; doubled when more are open at once.

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


NO_TREES = np.zeros(0, dtype=np.bool_)


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
        self._grant, self._used, self._spent, self._paid, self._fill, self._turn = (
            np.zeros(count, dtype=np.int64) for _ in range(6)
        )
        self._served = 0  # slots that have a share of the round
        self._out, self._path = out, lazy_zeros(out.size, out.dtype)
        self._began, self._answered = (
            np.zeros(count, dtype=np.int64),
            np.empty(self._jobs.size, dtype=np.int64),
        )
        self._taken = np.empty(max(own * own_batch, shared_batch), dtype=np.int64)
        self._keep(np.zeros(0, dtype=self.record), np.zeros(0, dtype=np.int64))

    @property
    def entities(self) -> list[int]:
        """The agents whose requests are open."""
        return self._rows.entity[self._open_rows()].tolist()

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

    def _keep(self, records: NDArray[Any], slot: NDArray[np.int64], more: int = 0) -> None:
        """Keep these requests and no others, which are in the order in which they were made, with room for
        more; those that slots have taken stay theirs.
        """
        room = LEAST_ROWS
        while room < 2 * (len(records) + more):
            room *= 2
        self._records = lazy_zeros(room, self.record)
        self._rows = make_rows(room)
        self._status, self._piece = lazy_zeros(room, np.uint8), lazy_zeros(room, np.int32)
        self._where, self._size = lazy_zeros(room), lazy_zeros(room)
        self._detail = lazy_zeros((room, 4), np.float64)
        self._row_of: KeyTable = make_table(room)  # by agent; that row may be closed
        self._queues = make_queues(LEAST_QUEUES)
        self._queue_count = 0
        self._used_rows, self._first_open, self._first_alone, self.waiting = 0, 0, 0, 0
        # (order of its first request, key) of the queues whose tree no slot has
        self._no_slot: list[tuple[int, int]] = []
        self._unassigned = self._own_unassigned = 0  # of these, those that share no tree
        self._used_rows = len(records)
        self._records[: self._used_rows] = records
        self._stand(0, slot)
        self._job_next[:], self._job_count[:] = 0, 0
        for taker in np.unique(slot[slot != UNASSIGNED]).tolist():
            mine = np.flatnonzero(slot == taker)
            self._jobs[taker, : len(mine)], self._job_count[taker] = mine, len(mine)

    def _stand(self, first: int, slot: NDArray[np.int64] | int) -> None:
        """Take notice of the requests in the rows from `first` on; those that no slot has stand in line."""
        last, rows = self._used_rows, self._rows
        records = self._records[first:last]
        for name in ("order", "entity", "key", "tree", "shares"):
            getattr(rows, name)[first:last] = records[name]
        rows.is_open[first:last], rows.slot[first:last] = 1, slot
        self.waiting += len(records)
        note_numbers(self._row_of, rows.entity[first:last], first)
        woken = np.empty(len(records), dtype=np.int64)
        while first < last:
            alone, shared, self._queue_count, count, first = stand_rows(
                rows, first, last, self._queues, self._queue_count, woken
            )
            self._unassigned += alone + shared
            self._own_unassigned += alone
            for row in woken[:count].tolist():
                key = int(rows.key[row])
                if key not in self._slot_of_key:
                    heapq.heappush(self._no_slot, (int(rows.order[row]), key))
            if first < last:
                self._queues = larger_queues(self._queues)

    def make_room(self, count: int) -> None:
        """Make room for so many requests more: those that are open are copied, if there is none."""
        if self._used_rows + count > len(self._records):
            rows = self._open_rows()
            self._keep(self._records[rows], self._rows.slot[rows], count)

    def blank(self, count: int) -> NDArray[Any]:
        """Return so many records, all zeros, to write requests to, which `submit` takes: many are written
        once and not copied. They are the queue's, and others after its next call.
        """
        self.make_room(count)
        found = self._records[self._used_rows : self._used_rows + count]
        found.view("u1")[:] = 0
        return found

    def submit(self, count: int) -> None:
        """Take so many requests in, written to what `blank` gave last, in their order; no agent has two."""
        first = self._used_rows
        self._used_rows += count
        self._stand(first, UNASSIGNED)

    def change(self, name: str, value: NDArray[Any]) -> None:
        """Give the open requests, in the order of `requests`, another value of a field."""
        self._records[name][self._open_rows()] = value

    def begin_anew(self) -> None:
        """Let all slots give back what they have: what they know is no longer true."""
        records = self.requests
        self._is_active[:], self._paid[:] = 0, 0
        self._keep(records, np.full(len(records), UNASSIGNED, dtype=np.int64))

    def _open_rows(self) -> NDArray[np.int64]:
        return np.flatnonzero(self._rows.is_open[: self._used_rows])

    def drop(self, entity: NDArray[np.int64]) -> None:
        """Forget the requests of some agents: those in a queue are passed over, slots give theirs up.

        Nothing that a slot could count as work is left of them, nor in the length of a queue: else a queue
        that goes on would decide otherwise than one that is restored, which knows only of open requests.
        """
        if not self.waiting or not len(entity):
            return
        alone, shared, taken = drop_rows(
            self._rows,
            self._row_of,
            np.ascontiguousarray(entity, dtype=np.int64),
            self._jobs,
            self._job_next,
            self._job_count,
            self._is_active,
            self._paid,
        )
        self._unassigned -= alone + shared
        self._own_unassigned -= alone
        self.waiting -= alone + shared + taken

    def forget_trees(self, which: NDArray[np.bool_]) -> None:
        """Have some slots, (slots,) bool, give up the trees that they keep; no open request shares them."""
        for slot in np.flatnonzero(which & (self._key != NO_TREE)).tolist():
            key = int(self._key[slot])
            del self._slot_of_key[key]
            self._key[slot] = NO_TREE
            head = self._head(key)  # takes out of the queue what was dropped: one behind it would wake nobody
            if head >= 0:
                heapq.heappush(self._no_slot, (int(self._rows.order[head]), key))
            if self._forget is not None:
                self._forget(slot)

    def oldest_tick(self, default: int) -> int:
        """Return the tick at which the oldest open request was made; `default` if there is none."""
        if not self.waiting:
            return default
        self._first_open += int(np.argmax(self._rows.is_open[self._first_open : self._used_rows]))
        return int(self._records["tick"][self._first_open])

    def assign(self, budget: int) -> None:
        """Give slots that have nothing left something to do, and those with the oldest requests equal shares
        of a budget.
        """
        self._rounds += 1
        if self._unassigned:
            dry = np.flatnonzero(self._job_next >= self._job_count)
            if len(dry):
                own = dry[dry < self._own]
                # what a slot takes beyond those that get a share would only wait there, behind later ones
                served = max(1, budget // LEAST_GRANT) - (self._own - len(own))
                self._refill_own(own[: max(0, served)])
                self._refill_shared(dry[dry >= self._own])
        self._served = share_out(
            budget,
            self._rounds,
            self._jobs,
            self._job_next,
            self._job_count,
            self._is_active,
            self._rows.order,
            self._grant,
            self._last_use,
            self._began,
            self._turn,
        )

    @property
    def _is_grown(self) -> NDArray[np.bool_]:
        return NO_TREES if self._trees is None else self._trees.is_grown

    def tree_to_grow(self) -> int:
        """Return the tree that the next request waits for, if there is nothing else to do;
        NO_TREE if there is.
        """
        if self._trees is None or self._is_active.any() or np.any(self._job_next < self._job_count):
            return NO_TREE
        self._first_alone = first_alone(self._rows, self._first_alone, self._used_rows)
        if self._first_alone == self._used_rows:
            return NO_TREE
        tree = int(self._rows.tree[self._first_alone])
        return tree if tree != NO_TREE and not self._trees.is_grown[tree] else NO_TREE

    def _give(self, slot: int, rows: NDArray[np.int64]) -> None:
        self._jobs[slot, : len(rows)] = rows
        self._job_next[slot], self._job_count[slot] = 0, len(rows)
        self._rows.slot[rows] = slot
        self._unassigned -= len(rows)

    def _refill_own(self, dry: NDArray[np.int64]) -> None:
        """Give the next of those that search alone to slots of their own in turn,
        so that they are done about in their order.
        """
        if not len(dry) or not self._own_unassigned:
            return
        batch = min(self._own_batch, -(-self._own_unassigned // len(dry)))
        self._first_alone, count = take_alone(
            self._rows, self._first_alone, self._used_rows, self._is_grown, batch * len(dry), self._taken
        )
        self._own_unassigned -= count
        for place, slot in enumerate(dry.tolist()):
            self._give(slot, self._taken[place : count : len(dry)])

    def _give_of_tree(self, slot: int) -> None:
        """Give a shared slot the next of the queue of its tree."""
        count = take_of_tree(self._rows, self._queues, int(self._key[slot]), self._shared_batch, self._taken)
        self._give(slot, self._taken[:count])

    def _refill_shared(self, dry: NDArray[np.int64]) -> None:
        """Give shared slots the next of their queues;
        trees without a slot get one by the age of their oldest request.
        """
        free, queued, heads = [], [], np.empty(len(dry), dtype=np.int64)
        if not heads_of(self._rows, self._queues, self._key[dry], heads) and not self._no_slot:
            return
        for slot, head in zip(dry.tolist(), heads.tolist(), strict=True):
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
            row, key = oldest
            if free:
                _, slot = free.pop()
            elif self._records["tick"][queued[-1][0]] > self._records["tick"][row]:  # it has waited less
                head, slot = queued.pop()
                heapq.heappush(self._no_slot, (int(self._rows.order[head]), int(self._key[slot])))
            else:
                break
            heapq.heappop(self._no_slot)
            self._slot_of_key.pop(int(self._key[slot]), None)
            self._key[slot], self._slot_of_key[key] = key, slot
            if self._forget is not None:
                self._forget(slot)
            self._give_of_tree(slot)
        for _, slot in queued:
            self._give_of_tree(slot)

    def _head(self, key: int) -> int:
        """Return the row of the first open request in the queue of a tree; -1 if there is none."""
        return int(head_of(self._rows, self._queues, key))

    def _oldest_without_slot(self) -> tuple[int, int] | None:
        """Return the queue that has waited longest of those whose tree no slot has,
        as the row of its first request, and its key.
        """
        while self._no_slot:
            order, key = self._no_slot[0]
            head = -1 if key in self._slot_of_key else self._head(key)
            if head >= 0 and int(self._rows.order[head]) == order:
                return head, key
            heapq.heappop(self._no_slot)
            if head >= 0:  # its first was dropped
                heapq.heappush(self._no_slot, (int(self._rows.order[head]), key))
        return None

    def work(self, answer_work: int, path_work: int) -> Work:
        """Return what the slots have to do, after `assign`."""
        for done in (self._used, self._spent, self._fill):
            done.fill(0)
        return Work(
            self._jobs, self._job_count, self._job_next, self._is_active, self._grant, self._used,
            self._spent, self._paid, self._records, self._status, self._piece, self._where, self._size,
            self._detail, self._out, self._fill, self._turn[: self._served], answer_work, path_work,
        )  # fmt: skip

    def work_again(
        self,
        which: NDArray[np.bool_],
        grant: NDArray[np.int64],
        *,
        begins: bool = True,
        requests: NDArray[Any] | None = None,
    ) -> Work:
        """Return work in which some slots, (s,) bool, begin the request that they are in the middle of,
        or go on with it: paths that are found stay there.

        Nothing is taken from the queue, and nothing answered; there is no room for a path. `requests`, (s,),
        are others than those of the slots.
        """
        count, none = len(which), np.zeros(len(which), dtype=np.int64)
        return Work(
            np.arange(count).reshape(-1, 1).copy(), which.astype(np.int64), none.copy(),
            np.full(count, int(not begins)), np.where(which, grant, 0), none.copy(), none.copy(), none.copy(),
            self.in_hand if requests is None else requests,
            np.zeros(count, dtype=np.uint8), np.zeros(count, dtype=np.int32), none.copy(), none.copy(),
            np.zeros((count, 4)), self._out[:, :0].copy(), none.copy(), np.flatnonzero(which), 0, 0,
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

    def collect(self) -> tuple[int, int, Ended | None]:
        """Take out what the slots have answered since `assign`;
        return the expansions that they made, the work that they did, and what ended.
        """
        used, spent, answers, length = take_out(
            self._jobs,
            self._began,
            self._job_next,
            self._used,
            self._spent,
            self._rows.is_open,
            self._where,
            self._size,
            self._out,
            self._answered,
            self._path,
        )
        if not answers:
            return used, spent, None
        rows = self._answered[:answers].copy()
        entity = self._rows.entity[rows]
        self.waiting -= answers
        size, detail = self._size[rows], self._detail[rows]
        return (
            used,
            spent,
            Ended(
                self._rows.order[rows],
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
            "request_slot": self._rows.slot[rows].copy(),
            "is_active": self._is_active.copy(),
            "paid": self._paid.copy(),
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
        paid = saved.take("paid", "i8", (count,), low=-MOST_PAID, high=MOST_PAID)
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
        saved.require((paid == 0) | (is_active == 1), "paid", "the slot has no answer in hand")
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
        self._key, self._last_use, self._rounds = key, last_use, rounds
        self._is_active, self._paid = is_active, paid
        self._slot_of_key = {key: slot for slot, key in enumerate(self._key.tolist()) if key != NO_TREE}
        self._keep(records, slot)
