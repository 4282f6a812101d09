"""Corridors of all agents in one store: blocks of cells whose sizes are powers of two.

A corridor is the row of portals from an agent to its goal, kept with the next portal last: going through it is shortening the row by one, and a
portal that has to be gone back through is put on at the end. The head of the way is thus where the slack of the block is.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.kernels.growing import GrowingArray
from crowdsim.saved import Arrays, Saved

LEAST_CELLS = 1024  # A page of memory; doubled when more are in use.
SMALLEST_BLOCK = 16  # Cells: a typical way of ten portals and room for six more. Smaller saves little beside 300 bytes of columns an agent.
STRAY_LOOKAHEAD = 8  # Portals ahead in which a polygon is looked for that an agent was pushed into; farther ones are no shortcut that a push can find.
SIZE_CLASSES = 32
_POWERS = 1 << np.arange(SIZE_CLASSES, dtype=np.int64)


class CorridorStore:
    """Blocks of cells with a list of free blocks for each size."""

    def __init__(self) -> None:
        self._cells = GrowingArray(LEAST_CELLS, np.int32)
        self._used = 0
        self._free: list[list[int]] = [[] for _ in range(SIZE_CLASSES)]

    @property
    def cells(self) -> NDArray[np.int32]:
        """All cells, shape (capacity,): half-edges, see `crowdsim.navigation.mesh.mesh`. It is another array when blocks were handed out, so nobody keeps
        it."""
        return self._cells.values

    @staticmethod
    def capacities_for(portals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return `capacity_for` of each."""
        need = np.maximum(SMALLEST_BLOCK, portals + portals // 2)
        return _POWERS[np.searchsorted(_POWERS, need)]

    @staticmethod
    def capacity_for(portals: int) -> int:
        """Return the size of the block for a corridor: its portals and half as many more for detours."""
        need = max(SMALLEST_BLOCK, portals + portals // 2)
        return 1 << (need - 1).bit_length()

    def allocate(self, capacity: int) -> int:
        """Return the start of a block of `capacity` cells (a power of two)."""
        size_class = capacity.bit_length() - 1
        if self._free[size_class]:
            return self._free[size_class].pop()
        start = self._used
        self._used += capacity
        if self._used > len(self.cells):
            self._cells.grow(max(2 * len(self.cells), self._used))
        return start

    def release(self, start: int, capacity: int) -> None:
        """Give a block back."""
        if capacity > 0:
            self._free[capacity.bit_length() - 1].append(start)

    def exchange(self, start: NDArray[np.int64], old: NDArray[np.int64], new: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give blocks back, one after the other, each for one of another size; return where the new ones begin."""
        got = []
        for begin, capacity, wanted in zip(start.tolist(), old.tolist(), new.tolist(), strict=True):
            self.release(begin, capacity)
            got.append(self.allocate(wanted))
        return np.array(got, dtype=np.int64)

    def fill(self, blocks: NDArray[np.int64], start: NDArray[np.int64], cells: NDArray[np.int32]) -> None:
        """Write corridor i, ``cells[start[i]:start[i + 1]]``, to the block that begins at ``blocks[i]``."""
        lengths = np.diff(start)
        target = np.repeat(blocks - start[:-1], lengths) + np.arange(len(cells))
        self.cells[target] = cells

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the store as named arrays."""
        lengths = np.array([len(blocks) for blocks in self._free], dtype=np.int64)
        free = np.array([start for blocks in self._free for start in blocks], dtype=np.int64)
        return {"cells": self.cells[: self._used].copy(), "free_lengths": lengths, "free": free}

    def restore(self, state: Arrays | Saved, start: NDArray[np.int64], capacity: NDArray[np.int32]) -> None:
        """Take back what `state()` gave to a store whose blocks that are in use begin at `start` and have the sizes `capacity`, 0 for none, both (n,).

        Raises
        ------
        SavedError
            If blocks overlap, or do not fill the store together with those that are free.
        """
        saved = Saved.of(state)
        cells = saved.take("cells", "i4")
        free = saved.take("free", "i8", low=0, high=len(cells))
        lengths = saved.parts("free_lengths", SIZE_CLASSES, len(free))
        used = np.flatnonzero(capacity)
        begin, size = np.concatenate([start[used], free]), np.concatenate([capacity[used].astype(np.int64), np.repeat(_POWERS, lengths)])
        order = np.argsort(begin, kind="stable")
        begin, size = begin[order], size[order]
        fill = bool(np.array_equal(begin, np.cumsum(size) - size)) and int(size.sum()) == len(cells)
        saved.require(fill, "free", "and the blocks of agents do not fill the store, each cell once")
        self._used = len(cells)
        self._cells = GrowingArray(max(LEAST_CELLS, self._used), np.int32)
        self.cells[: self._used] = cells
        self._free = [[int(start) for start in part] for part in np.split(free, np.cumsum(lengths)[:-1])]


@lean_kernel
def cross(mesh, cells, start, length, capacity, edge):
    """Follow a corridor as its agent crosses a portal.

    Parameters
    ----------
    mesh : NavMesh
    cells : (m,) int32
        The agent's own block is written.
    start, length, capacity : int
        The block; `length` portals are ahead, the next one last.
    edge : int
        Half-edge that is crossed, seen from the polygon that is left.

    Returns
    -------
    int
        Portals ahead now. A portal that is not the next one is gone back through (put on), unless the corridor passes the new polygon anyhow
        (trimmed); -1 if there is no room to put it on.
    """
    if length > 0 and cells[start + length - 1] == edge:
        return length - 1
    twin = mesh.edge_twin[edge]
    polygon = mesh.edge_polygon[twin]
    for ahead in range(1, min(length, STRAY_LOOKAHEAD) + 1):
        portal = cells[start + length - ahead]
        if mesh.edge_polygon[mesh.edge_twin[portal]] == polygon:
            return length - ahead
    if length >= capacity:
        return -1
    cells[start + length] = twin
    return length + 1
