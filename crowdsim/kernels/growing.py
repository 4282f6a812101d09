"""An array that grows without being copied: the system takes its pages of memory to another address.

Doubling by a copy is cheap on average, but the one tick that it falls into pays for all: every page of the
new array is touched for the first time, 1 to 4 ms for 2 MB, and some 2 ms for each 2 MB that the system takes
as one huge page. Pages that are taken along cost nothing, new ones are touched when they are used.
"""

from __future__ import annotations

import mmap
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

LEAST_LAZY_BYTES = 1 << 18  # Below, all pages together are touched in less than 0.3 ms.


def lazy_zeros(shape: int | tuple[int, ...], dtype: DTypeLike = np.int64) -> NDArray[Any]:
    """Return zeros whose memory is taken page by page, where it is written to.

    Large arrays of numpy are huge pages, each of which takes 1 to 2 ms when it is first touched, or memory
    that was used before, which has to be cleared at once.
    """
    shape, dtype = (shape,) if isinstance(shape, int) else shape, np.dtype(dtype)
    size = prod(shape) * dtype.itemsize
    if size < LEAST_LAZY_BYTES:
        return np.zeros(shape, dtype=dtype)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype=dtype).reshape(shape)


class GrowingArray:
    """Values, zeros at first, and room for more of them.

    Parameters
    ----------
    count : int, >= 1
    dtype : dtype

    Attributes
    ----------
    values : (count,) array
        No caller may keep it, or a view of it, while the array grows: it is another one then. Where one does,
        the values are copied after all.
    """

    def __init__(self, count: int, dtype: DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._memory = self._reserve(count)
        self.values: NDArray[Any] = np.frombuffer(self._memory, dtype=self._dtype)

    def _reserve(self, count: int) -> mmap.mmap:
        # Private, so that a forked child has its own; memory that is shared cannot grow either.
        return mmap.mmap(-1, count * self._dtype.itemsize, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)

    def grow(self, count: int) -> None:
        """Make room for so many values, more than there are; what is added is zeros."""
        del self.values  # a view pins the memory to its place
        try:
            self._memory.resize(count * self._dtype.itemsize)
        except (BufferError, OSError, SystemError):
            # a view is held, there is no place for so much in one piece, or no system that moves pages
            old = np.frombuffer(self._memory, dtype=self._dtype)
            self._memory = self._reserve(count)
            np.frombuffer(self._memory, dtype=self._dtype)[: len(old)] = old
        self.values = np.frombuffer(self._memory, dtype=self._dtype)
