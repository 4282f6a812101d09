"""Corridors of all agents in one store: blocks of portals whose sizes are powers of two.

A corridor is the row of portals from an agent to its goal, kept with the next portal last: going through it
is shortening the row by one, and a portal that has to be gone back through is put on at the end. The head of
the path is thus where the slack of the block is.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.kernels.growing import GrowingArray
from crowdsim.saved import Arrays, Saved

LEAST_PORTALS = 1024  # A page of memory; doubled when more are in use.
# Portals: a typical path of ten portals and room for six more. Smaller saves little beside 300 bytes of
# columns an agent.
SMALLEST_BLOCK = 16
# Portals ahead in which a polygon is looked for that an agent was pushed into; farther ones are no shortcut
# that a push can find.
STRAY_LOOKAHEAD = 8
SIZE_CLASSES = 32
_POWERS = 1 << np.arange(SIZE_CLASSES, dtype=np.int64)


class Corridor(NamedTuple):
    """The portals from an agent to its goal.

    Attributes
    ----------
    portals : (m,) int32
        A store: half-edges, see `crowdsim.navigation.mesh.mesh`.
    start, length : int
        The next portal is ``portals[start + length - 1]``, the one at the goal ``portals[start]``.
    polygon : int
        Where the path begins.
    piece : int
        Piece of the goal at the end.
    """

    portals: NDArray[np.int32]
    start: int | np.int64
    length: int | np.int64
    polygon: int | np.int64
    piece: int | np.int64


class Corridors(NamedTuple):
    """The corridors of many agents, a row each, and where the agents are.

    Attributes
    ----------
    portals : (m,) int32
    start : (n,) int64
    length : (n,) int32
    polygon : (n,) int64
    piece : (n,) int32
        See `Corridor`; -1 for no path.
    position : (n, 2) float64, m
    radius : (n,) float64, m
    """

    portals: NDArray[np.int32]
    start: NDArray[np.int64]
    length: NDArray[np.int32]
    polygon: NDArray[np.int64]
    piece: NDArray[np.int32]
    position: NDArray[np.float64]
    radius: NDArray[np.float64]


@inlined_kernel
def corridor_of(corridors, row):
    """Return the corridor of one agent."""
    start, length = np.int64(corridors.start[row]), np.int64(corridors.length[row])
    return Corridor(
        corridors.portals, start, length, np.int64(corridors.polygon[row]), np.int64(corridors.piece[row])
    )


@inlined_kernel
def _size_class(capacity):
    size_class = 0
    while capacity > 1:
        capacity >>= 1
        size_class += 1
    return size_class


@lean_kernel
def count_sizes(sizes, counts):
    """Add how many blocks of each size, (k,) int64, 0 for none, there are to `counts`, (c,)."""
    for i in range(sizes.size):
        if sizes[i] > 0:
            counts[_size_class(sizes[i])] += 1


@lean_kernel
def exchange_blocks(start, old, new, free, free_first, free_count, used, got):
    """Give blocks back, one after the other, each for one of another size.

    Parameters
    ----------
    start, old : (k,) int64
        Blocks that are given back, and their sizes; 0 is none.
    new : (k,) int64
        Sizes of those that are wanted; 0 is none.
    free : (f,) int64
        Free blocks of each size, the next one last; has room for all that are given back.
    free_first, free_count : (c,) int64
        Where those of each size begin in it, and how many they are.
    used : int
        Where the blocks that there are end.
    got : (k,) int64
        Receives where the new ones begin; -1 for none.

    Returns
    -------
    int
        Where the blocks end then.

    Notes
    -----
    Twin: `tests/reference/corridors.py`.
    """
    for i in range(start.size):
        if old[i] > 0:
            _give_back(start[i], old[i], free, free_first, free_count)
        got[i] = -1
        if new[i] > 0:
            got[i], used = _take(new[i], free, free_first, free_count, used)
    return used


@inlined_kernel
def _give_back(begin, size, free, free_first, free_count):
    """Put a block among the free ones of its size."""
    size_class = _size_class(size)
    free[free_first[size_class] + free_count[size_class]] = begin
    free_count[size_class] += 1


@inlined_kernel
def _take(size, free, free_first, free_count, used):
    """Return where a block begins that is free, or is new, and where the blocks end then."""
    size_class = _size_class(size)
    if free_count[size_class] > 0:
        free_count[size_class] -= 1
        return free[free_first[size_class] + free_count[size_class]], used
    return used, used + size


@lean_kernel
def sizes_of_small(rows, portals, capacity, need, counts):
    """Write which blocks agents need, (k,) sizes, for corridors of so many portals, (k,), and half as many
    more for detours.

    Parameters
    ----------
    rows : (k,) int64
    portals : (k,) int64
    capacity : (n,) int32
        Of the block that each agent has; 0 is none.
    need : (k,) int64
        Receives the sizes.
    counts : (c,) int64
        How many blocks of each size that are too small are added to it.

    Returns
    -------
    int
        All sizes together of the blocks that take the place of those.
    """
    total = 0
    for i in range(rows.size):
        room = max(SMALLEST_BLOCK, portals[i] + portals[i] // 2)
        need[i] = SMALLEST_BLOCK
        while need[i] < room:
            need[i] *= 2
        if capacity[rows[i]] < need[i]:
            total += need[i]
            if capacity[rows[i]] > 0:
                counts[_size_class(capacity[rows[i]])] += 1
    return total


@lean_kernel
def enlarge_blocks(rows, need, start, capacity, length, free, free_first, free_count, used, store):
    """Give agents larger blocks, one after the other, for those that are too small, and move what is in them.

    Parameters
    ----------
    rows : (k,) int64
        None twice.
    need : (k,) int64
        Sizes.
    start, capacity, length : (n,)
        Columns of agents; the first two are written.
    free, free_first, free_count, used
        See `exchange_blocks`.
    store : (m,) int32
        Portals; there is room for all blocks.

    Returns
    -------
    int
        Where the blocks end then.

    Notes
    -----
    A block that was given back is used only after it was emptied: agents come one after the other. Twin:
    `tests/reference/corridors.py`.
    """
    for i in range(rows.size):
        row = rows[i]
        if capacity[row] >= need[i]:
            continue
        before = start[row]
        if capacity[row] > 0:
            _give_back(before, capacity[row], free, free_first, free_count)
        begin, used = _take(need[i], free, free_first, free_count, used)
        for k in range(length[row]):
            store[begin + k] = store[before + k]
        start[row], capacity[row] = begin, need[i]
    return used


@lean_kernel
def fill_blocks(blocks, start, portals, store):
    """Write corridor i, ``portals[start[i]:start[i + 1]]``, to ``store[blocks[i]:]``, where there is room."""
    for i in range(blocks.size):
        for k in range(start[i], start[i + 1]):
            store[blocks[i] + k - start[i]] = portals[k]


class CorridorStore:
    """Blocks of portals with a list of free blocks for each size."""

    def __init__(self) -> None:
        self._portals = GrowingArray(LEAST_PORTALS, np.int32)
        self._used = 0
        # of each size, the one that was given back last at the end
        self._free = np.zeros(0, dtype=np.int64)
        self._free_first = np.zeros(SIZE_CLASSES + 1, dtype=np.int64)
        self._free_count = np.zeros(SIZE_CLASSES, dtype=np.int64)

    @property
    def portals(self) -> NDArray[np.int32]:
        """All portals, shape (capacity,): half-edges, see `crowdsim.navigation.mesh.mesh`.
        It is another array once blocks were allocated.
        """
        return self._portals.values

    def release(self, start: NDArray[np.int64], capacity: NDArray[np.int32]) -> None:
        """Give blocks back, (n,), one after the other; those of capacity 0 are none."""
        self.exchange(start, capacity.astype(np.int64), np.zeros(len(start), dtype=np.int64))

    def exchange(
        self, start: NDArray[np.int64], old: NDArray[np.int64], new: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Give blocks back, one after the other, each for one of another size; return where the new ones
        begin, -1 for those of size 0.
        """
        most = self._free_count.copy()
        count_sizes(old, most)
        self._make_room(most)
        got = np.empty(len(start), dtype=np.int64)
        self._used = int(
            exchange_blocks(start, old, new, self._free, self._free_first, self._free_count, self._used, got)
        )
        self._reach(self._used)
        return got

    def enlarge(
        self,
        rows: NDArray[np.int64],
        portals: NDArray[np.int64],
        start: NDArray[np.int64],
        capacity: NDArray[np.int32],
        length: NDArray[np.int32],
    ) -> None:
        """Give agents, (k,) rows, blocks for corridors of so many portals, (k,), where theirs are too small;
        what is in them moves. The others are columns of agents, of which the first two are written.
        """
        need, most = np.empty(len(rows), dtype=np.int64), self._free_count.copy()
        total = int(sizes_of_small(rows, portals, capacity, need, most))
        if not total:
            return
        self._make_room(most)
        self._reach(self._used + total)
        self._used = int(
            enlarge_blocks(
                rows, need, start, capacity, length, self._free, self._free_first, self._free_count,
                self._used, self.portals,
            )
        )  # fmt: skip

    def _reach(self, end: int) -> None:
        """Have room for blocks up to some place."""
        if end > len(self.portals):
            self._portals.grow(max(2 * len(self.portals), end))

    def _make_room(self, most: NDArray[np.int64]) -> None:
        """Have room for so many free blocks of each size, (c,)."""
        room = np.diff(self._free_first)
        if (most <= room).all():
            return
        room = np.where(most > room, np.maximum(most, 2 * room), room)
        free, first = self._all_free(), np.concatenate([[0], np.cumsum(room)])
        self._free, self._free_first = np.zeros(first[-1], dtype=np.int64), first
        self._free[self._places_of_free()] = free

    def _places_of_free(self) -> NDArray[np.int64]:
        """Return where free blocks stand in `_free`, by size."""
        before = np.cumsum(self._free_count) - self._free_count
        return np.repeat(self._free_first[:-1] - before, self._free_count) + np.arange(self._free_count.sum())

    def _all_free(self) -> NDArray[np.int64]:
        """Return the free blocks by size, of each the one that was given back last at the end."""
        return self._free[self._places_of_free()]

    def fill(self, blocks: NDArray[np.int64], start: NDArray[np.int64], portals: NDArray[np.int32]) -> None:
        """Write corridor i, ``portals[start[i]:start[i + 1]]``, to the block that begins at ``blocks[i]``."""
        fill_blocks(
            np.ascontiguousarray(blocks, dtype=np.int64),
            np.ascontiguousarray(start, dtype=np.int64),
            np.ascontiguousarray(portals, dtype=np.int32),
            self.portals,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the store as named arrays."""
        return {
            "cells": self.portals[: self._used].copy(),
            "free_lengths": self._free_count.copy(),
            "free": self._all_free(),
        }

    def restore(self, state: Arrays | Saved, start: NDArray[np.int64], capacity: NDArray[np.int32]) -> None:
        """Take back what `state()` gave to a store whose blocks that are in use begin at `start` and have the
        sizes `capacity`, 0 for none, both (n,).

        Raises
        ------
        SavedError
            If blocks overlap, or do not fill the store together with those that are free.
        """
        saved = Saved.of(state)
        portals = saved.take("cells", "i4")
        free = saved.take("free", "i8", low=0, high=len(portals))
        lengths = saved.parts("free_lengths", SIZE_CLASSES, len(free))
        used = np.flatnonzero(capacity)
        begin, size = (
            np.concatenate([start[used], free]),
            np.concatenate([capacity[used].astype(np.int64), np.repeat(_POWERS, lengths)]),
        )
        order = np.argsort(begin, kind="stable")
        begin, size = begin[order], size[order]
        fill = bool(np.array_equal(begin, np.cumsum(size) - size)) and int(size.sum()) == len(portals)
        saved.require(fill, "free", "and the blocks of agents do not fill the store, each place once")
        self._used = len(portals)
        self._portals = GrowingArray(max(LEAST_PORTALS, self._used), np.int32)
        self.portals[: self._used] = portals
        self._free_count = lengths
        self._free_first = np.concatenate([[0], np.cumsum(lengths)])
        self._free = free.copy()


@lean_kernel
def cross(mesh, portals, start, length, capacity, edge):
    """Follow a corridor as its agent crosses a portal.

    Parameters
    ----------
    mesh : NavMesh
    portals : (m,) int32
        A store; the agent's own block is written.
    start, length, capacity : int
        The block; `length` portals are ahead, the next one last.
    edge : int
        Half-edge that is crossed, seen from the polygon that is left.

    Returns
    -------
    int
        Portals ahead now. A portal that is not the next one is gone back through (put on), unless the
        corridor passes the new polygon anyhow (trimmed); -1 if its block is full.
    """
    if length > 0 and portals[start + length - 1] == edge:
        return length - 1
    twin = mesh.edge_twin[edge]
    polygon = mesh.edge_polygon[twin]
    for ahead in range(1, min(length, STRAY_LOOKAHEAD) + 1):
        portal = portals[start + length - ahead]
        if mesh.edge_polygon[mesh.edge_twin[portal]] == polygon:
            return length - ahead
    if length >= capacity:
        return -1
    portals[start + length] = twin
    return length + 1
