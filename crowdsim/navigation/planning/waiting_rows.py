"""The rows of a request queue, and what is done with many of them at once: they stand in line, are taken,
and are dropped.

Those that search alone stand in line by being there: the next one is the first row that is open and that no
slot has. Those that share a tree are linked, from row to row, in a queue for each tree. Twin:
`tests/reference/waiting_rows.py`.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.kernels.growing import lazy_zeros
from crowdsim.navigation.planning.keys import NONE, KeyTable, make_table, note_numbers, place_of
from crowdsim.navigation.search.sharing import NO_TREE

UNASSIGNED = -1  # Slot of a request that no slot has taken yet.


class Rows(NamedTuple):
    """What a queue has to know of each request.

    Attributes
    ----------
    order, entity, key, tree : (n,) int64
        See `crowdsim.navigation.planning.request_queue.REQUEST_FIELDS`.
    shares : (n,) uint8
    is_open : (n,) uint8
        1 until it is answered or dropped.
    slot : (n,) int64
        That has it, or UNASSIGNED.
    following : (n,) int64
        The next row in the queue of its tree; NONE at the end.
    """

    order: NDArray[np.int64]
    entity: NDArray[np.int64]
    key: NDArray[np.int64]
    tree: NDArray[np.int64]
    shares: NDArray[np.uint8]
    is_open: NDArray[np.uint8]
    slot: NDArray[np.int64]
    following: NDArray[np.int64]


def make_rows(count: int) -> Rows:
    """Return so many rows, none of them open."""
    order, entity, key, tree, slot, following = (lazy_zeros(count) for _ in range(6))
    shares, is_open = lazy_zeros(count, np.uint8), lazy_zeros(count, np.uint8)
    return Rows(order, entity, key, tree, shares, is_open, slot, following)


class TreeQueues(NamedTuple):
    """The queues of trees, numbered by their keys.

    Attributes
    ----------
    number : KeyTable
    first, last : (n,) int64
        Rows of each; `first` is NONE where there are none. There is room for n queues.
    """

    number: KeyTable
    first: NDArray[np.int64]
    last: NDArray[np.int64]


def make_queues(count: int) -> TreeQueues:
    """Return room for so many queues, of which there is none."""
    return TreeQueues(make_table(count), np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64))


def larger_queues(queues: TreeQueues) -> TreeQueues:
    """Return the same queues, all of which are in use, with room for twice as many."""
    count = len(queues.first)
    larger, is_used = make_queues(2 * count), queues.number.key != 0
    key = queues.number.key[is_used] - 1
    note_numbers(larger.number, key[np.argsort(queues.number.number[is_used])], 0)
    larger.first[:count], larger.last[:count] = queues.first, queues.last
    return larger


@lean_kernel
def stand_rows(rows, begin, end, queues, count, woken):
    """Put the rows begin..end - 1 that no slot has at the ends of their queues, as far as there is room for
    queues.

    Parameters
    ----------
    rows : Rows
    begin, end : int
    queues : TreeQueues
    count : int
        How many there are.
    woken : (end - begin,) int64
        Receives the rows that are the first of a queue now.

    Returns
    -------
    alone, shared : int
        Rows that search alone, and that share a tree.
    count, first : int
        Queues that there are then, and rows in `woken`.
    row : int
        The first that was not put; `end` if all were.
    """
    alone, shared, first = 0, 0, 0
    for row in range(begin, end):
        if rows.slot[row] != UNASSIGNED:
            continue
        if rows.shares[row] == 0:
            alone += 1
            continue
        place = place_of(queues.number, rows.key[row])
        if queues.number.key[place] == 0 and count == queues.first.size:
            return alone, shared, count, first, row
        shared += 1
        rows.following[row] = NONE
        if queues.number.key[place] == 0:
            queues.number.key[place], queues.number.number[place] = rows.key[row] + 1, count
            queues.first[count] = NONE
            count += 1
        queue = queues.number.number[place]
        if queues.first[queue] == NONE:
            queues.first[queue] = row
            woken[first] = row
            first += 1
        else:
            rows.following[queues.last[queue]] = row
        queues.last[queue] = row
    return alone, shared, count, first, end


@lean_kernel
def first_alone(rows, begin, end):
    """Return the first row from `begin` on that waits and searches alone; `end` if there is none."""
    row = begin
    while row < end and (rows.is_open[row] == 0 or rows.shares[row] == 1 or rows.slot[row] != UNASSIGNED):
        row += 1
    return row


@lean_kernel
def take_alone(rows, begin, end, is_grown, most, taken):
    """Take up to `most` rows that wait and search alone, up to the first whose tree has yet to grow.

    Parameters
    ----------
    rows : Rows
    begin, end : int
        No such row is before `begin`; `end` is behind the last.
    is_grown : (t,) bool
    most : int
    taken : (>= most,) int64
        Receives the rows.

    Returns
    -------
    begin, count : int
        Where to look the next time, and how many were taken.
    """
    count, row = 0, begin
    while count < most:
        row = first_alone(rows, row, end)
        if row == end or (rows.tree[row] != NO_TREE and not is_grown[rows.tree[row]]):
            break
        taken[count] = row
        count += 1
        row += 1
    return row, count


@inlined_kernel
def _first_open(rows, queues, queue):
    """Return the first row of a queue that is open; those before it leave the queue."""
    row = queues.first[queue]
    while row != NONE and rows.is_open[row] == 0:
        row = rows.following[row]
    queues.first[queue] = row
    return row


@lean_kernel
def head_of(rows, queues, key):
    """Return the first row that waits in the queue of a tree; NONE if there is none."""
    place = place_of(queues.number, key)
    return NONE if queues.number.key[place] == 0 else _first_open(rows, queues, queues.number.number[place])


@lean_kernel
def heads_of(rows, queues, key, head):
    """Write for each of some trees, (k,) keys, the first row that waits in its queue, see `head_of`; return
    how many of them have one.
    """
    count = 0
    for i in range(key.size):
        place = place_of(queues.number, key[i])
        head[i] = NONE
        if queues.number.key[place] != 0:
            head[i] = _first_open(rows, queues, queues.number.number[place])
        count += head[i] != NONE
    return count


@lean_kernel
def take_of_tree(rows, queues, key, most, taken):
    """Take up to `most` rows out of the queue of a tree, which there is; return how many.

    Parameters
    ----------
    rows : Rows
    queues : TreeQueues
    key, most : int
    taken : (>= most,) int64
        Receives the rows.
    """
    queue, count = queues.number.number[place_of(queues.number, key)], 0
    while count < most:
        row = _first_open(rows, queues, queue)
        if row == NONE:
            break
        queues.first[queue] = rows.following[row]
        taken[count] = row
        count += 1
    return count


@lean_kernel
def drop_rows(rows, row_of, entity, jobs, job_next, job_count, is_active, paid):
    """Close the requests of some agents; slots give up those that they have, and what is behind moves up.

    Parameters
    ----------
    rows : Rows
    row_of : KeyTable
        By agent.
    entity : (k,) int64
    jobs : (slots, b) int64
    job_next, job_count : (slots,) int64
    is_active, paid : (slots,) int64
        See `crowdsim.navigation.planning.work.Work`.

    Returns
    -------
    alone, shared, taken : int
        Requests that waited and search alone, that waited and share a tree, and that slots had.
    """
    alone, shared, taken = 0, 0, 0
    for i in range(entity.size):
        place = place_of(row_of, entity[i])
        if row_of.key[place] == 0 or rows.is_open[row_of.number[place]] == 0:
            continue
        row = row_of.number[place]
        rows.is_open[row] = 0
        slot = rows.slot[row]
        if slot == UNASSIGNED:
            if rows.shares[row] == 1:
                shared += 1
            else:
                alone += 1
            continue
        taken += 1
        at = job_next[slot]
        if jobs[slot, at] == row:
            is_active[slot] = paid[slot] = 0
        while jobs[slot, at] != row:
            at += 1
        for later in range(at, job_count[slot] - 1):
            jobs[slot, later] = jobs[slot, later + 1]
        job_count[slot] -= 1
    return alone, shared, taken
