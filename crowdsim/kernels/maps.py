"""Arrays in maps of memory: in which map one lies, and how the system is given memory back."""

from __future__ import annotations

import mmap
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray


def memory_of(array: NDArray[Any]) -> mmap.mmap | None:
    """Return the map in which an array lies; None where it lies elsewhere."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    owner = base.obj if isinstance(base, memoryview) else base
    return owner if isinstance(owner, mmap.mmap) else None


def give_back_row(array: NDArray[Any], row: int) -> None:
    """Let the memory of a row of `crowdsim.kernels.growing.lazy_zeros` go. What the row holds is zeros from
    then on, or what it was: pages that it shares with other rows stay, and so does all where the system takes
    none back.
    """
    memory = memory_of(array)
    if memory is None or sys.platform != "linux":
        return
    size = array[row].nbytes
    first, last = -(-row * size // mmap.PAGESIZE), (row + 1) * size // mmap.PAGESIZE
    if last > first:
        memory.madvise(mmap.MADV_DONTNEED, first * mmap.PAGESIZE, (last - first) * mmap.PAGESIZE)
