"""Arrays in maps of memory: in which map one lies, and how the system is given memory back, or takes it from
one array to another.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import sys
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Of mremap(2): to this address, and leave the map that the pages come from, without pages (Linux 5.7).
_MAY_MOVE, _FIXED, _KEEP_MAP = 1, 2, 4
_TO_ADDRESS = 0x10  # of mmap(2)


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


def move_rows(old: NDArray[Any], new: NDArray[Any], first: int, to: int, rows: int) -> None:
    """Move rows of an array of `crowdsim.kernels.growing.lazy_zeros` to another one, which has nothing there.

    The system takes their pages along, so that none is touched. Where it does not, or rows do not begin with
    a page, they are copied.

    Parameters
    ----------
    old, new : (..., k) arrays of one dtype
        What `old` holds of these rows is lost; so are rows behind them in the same page, which go along.
    first, to : int
        The first of the rows, in `old` and in `new`.
    rows : int
    """
    size = old[0].nbytes
    span = -(-rows * size // mmap.PAGESIZE) * mmap.PAGESIZE
    begin, end = first * size, to * size
    fits = begin + span <= old.nbytes and end + span <= new.nbytes
    if fits and memory_of(old) is not None and memory_of(new) is not None:
        source, target = old.ctypes.data + begin, new.ctypes.data + end
        if source % mmap.PAGESIZE == target % mmap.PAGESIZE == 0:
            _move_pages(source, target, span)
            return
    new[to : to + rows] = old[first : first + rows]


def _move_pages(source: int, target: int, size: int) -> None:
    """Move whole pages from one address to another; where the system does not, they are copied.

    Pages that came to the source in several moves lie in several maps, and older systems take no pages of two
    at once: they say so after they have taken the map at the target away. So it is made anew, and the pages
    go in halves.
    """
    if not size:
        return
    failed = _remap(source, target, size) if sys.platform == "linux" else errno.ENOSYS
    if not failed:
        return
    half = size // mmap.PAGESIZE // 2 * mmap.PAGESIZE
    if failed != errno.ENOSYS:
        _map_anew(target, size)
    if failed == errno.EFAULT and half:
        _move_pages(source, target, half)
        _move_pages(source + half, target + half, size - half)
    else:
        ctypes.memmove(target, source, size)


@cache
def _system() -> ctypes.CDLL:
    """Return what the system offers, with the types of what is called here."""
    system = ctypes.CDLL(None, use_errno=True)
    address, size, whole = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    system.mremap.restype, system.mremap.argtypes = address, [address, size, size, whole, address]
    system.mmap.restype, system.mmap.argtypes = address, [address, size, whole, whole, whole, ctypes.c_long]
    return system


def _remap(source: int, target: int, size: int) -> int:
    """Have the system move pages from one address to another; return 0, or why it did not."""
    moved = _system().mremap(source, size, size, _MAY_MOVE | _FIXED | _KEEP_MAP, target)
    return 0 if moved == target else ctypes.get_errno()


def _map_anew(address: int, size: int) -> None:
    """Have pages of zeros at an address, whatever was there.

    Raises
    ------
    MemoryError
        If the system has none.
    """
    kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _TO_ADDRESS
    if _system().mmap(address, size, mmap.PROT_READ | mmap.PROT_WRITE, kind, -1, 0) != address:
        raise MemoryError("the system takes no map of memory anew")
