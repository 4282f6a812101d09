"""How much of mapped arrays is in memory: a share of their pages at most, the last ones that were looked at.

Kernels read arrays as always. A page that is not in memory comes from the file when it is read, so what they
compute is the same to the last bit; pages that came first are the first to go back ("segmented first in,
first out", [Levy 1982]): one that is read again comes back from what the system still has of the file. What
is made of such arrays and as large is held with them.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError
from crowdsim.kernels.cache_folder import cache_directory
from crowdsim.kernels.maps import memory_of
from crowdsim.kernels.stored_arrays import map_file, parts_of_file

T = TypeVar("T", bound=NamedTuple)

PAGEMAP, STATM = Path("/proc/self/pagemap"), Path("/proc/self/statm")
ENTRY_BYTES = 8  # Of each page, in the first of them.
PRESENT, OF_FILE = np.uint64(1 << 63), np.uint64(1 << 61)  # Bits of such an entry.
NOT_THERE = -1
LEAST_HELD_BYTES = 1 << 16  # Arrays that are smaller all together stay where they are.


def can_hold() -> bool:
    """Return whether the system says which pages are in memory, and takes them back."""
    return sys.platform == "linux" and hasattr(mmap, "MADV_DONTNEED") and os.access(PAGEMAP, os.R_OK)


class HeldPages:
    """Mapped arrays of which a share is in memory at most, each time that `trim` has been called.

    Parameters
    ----------
    share : float, above 0, at most 1
        Of their pages.
    """

    def __init__(self, share: float) -> None:
        self.share = share
        # of each map when its pages came: the number of the look that found them
        self._came: WeakKeyDictionary[mmap.mmap, NDArray[np.int64]] = WeakKeyDictionary()
        self._looks = 0
        self._others = 0  # pages of files in memory that are none of these

    @property
    def page_count(self) -> int:
        """How many pages all arrays have."""
        return sum(len(came) for came in self._came.values())

    @property
    def most(self) -> int:
        """How many pages are in memory at most."""
        return max(1, int(self.share * self.page_count))

    def hold(self, arrays: Iterable[Any]) -> None:
        """Hold arrays, those of them that are mapped."""
        for each in arrays:
            memory = memory_of(each) if isinstance(each, np.ndarray) else None
            if memory is not None and memory not in self._came:
                self._came[memory] = np.full(-(-len(memory) // mmap.PAGESIZE), NOT_THERE, dtype=np.int64)
                _held_by[memory] = self

    def take(self, made: T) -> T:
        """Return a named tuple of arrays that are held; see `take_all`."""
        arrays = {name: each for name, each in made._asdict().items() if isinstance(each, np.ndarray)}
        return made._replace(**self.take_all(arrays))

    def take_all(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return named arrays that are held: those that are mapped as they are, the others in a file without
        a name.

        Raises
        ------
        CrowdsimError
            If that cannot be written.
        """
        self.hold(arrays.values())
        loose = {name: each for name, each in arrays.items() if memory_of(each) not in self._came}
        if sum(each.nbytes for each in loose.values()) < LEAST_HELD_BYTES:
            return dict(arrays)
        try:
            with tempfile.TemporaryFile(dir=cache_directory()) as file:
                for part in parts_of_file(loose):
                    file.write(part)
                file.flush()
                mapped = map_file(file)
        except OSError as error:
            raise CrowdsimError(
                f"what tiles have cannot be written to {cache_directory()}: {error}. Make room there, name "
                "another folder with CROWDSIM_CACHE_DIR, or leave navigation.tiles_in_memory out."
            ) from None
        self.hold(mapped.values())
        return {**arrays, **mapped}

    def in_memory(self) -> int:
        """Return how many of the pages are in memory now."""
        return sum(int((_entries(memory) & PRESENT != 0).sum()) for memory in list(self._came))

    def trim(self) -> None:
        """Give pages back, those that came first, until no more than the share is in memory. Pages that were
        written to are no longer the file's, and stay.
        """
        self._looks += 1
        maps, total = list(self._came), 0
        clean = list[NDArray[np.int64]]()
        for memory in maps:
            came, entries = self._came[memory], _entries(memory)
            is_there = entries & PRESENT != 0
            came[is_there & (came == NOT_THERE)] = self._looks
            came[~is_there] = NOT_THERE
            total += int(is_there.sum())
            clean.append(np.flatnonzero(is_there & (entries & OF_FILE != 0)))
        surplus = total - self.most
        if surplus > 0:
            age = np.concatenate(
                [self._came[memory][pages] for memory, pages in zip(maps, clean, strict=True)]
            )
            goes = np.zeros(len(age), dtype=np.bool_)
            goes[np.argsort(age, kind="stable")[:surplus]] = True
            ends = np.cumsum([len(pages) for pages in clean])[:-1]
            for memory, pages, mine in zip(maps, clean, np.split(goes, ends), strict=True):
                _give_back(memory, pages[mine])
                self._came[memory][pages[mine]] = NOT_THERE
            total -= int(goes.sum())
        self._others = _pages_of_files() - total

    def trim_if_over(self) -> None:
        """Give pages back if it seems that more than the share is in memory; looking takes some 10 us."""
        if _pages_of_files() - self._others > self.most:
            self.trim()


_held_by: WeakKeyDictionary[mmap.mmap, HeldPages] = WeakKeyDictionary()


def held_like(source: NDArray[Any], made: T) -> T:
    """Return a named tuple of arrays, held if an array that it was made of is; see `HeldPages`."""
    memory = memory_of(source)
    holder = _held_by.get(memory) if memory is not None else None
    return made if holder is None else holder.take(made)


def holder_of(source: NDArray[Any]) -> HeldPages | None:
    """Return what holds an array; None where nothing does."""
    memory = memory_of(source)
    return None if memory is None else _held_by.get(memory)


def _entries(memory: mmap.mmap) -> NDArray[np.uint64]:
    """Return what the system says of each page of a map."""
    first = np.frombuffer(memory, dtype=np.uint8).ctypes.data // mmap.PAGESIZE
    count = -(-len(memory) // mmap.PAGESIZE)
    with PAGEMAP.open("rb", buffering=0) as file:
        file.seek(first * ENTRY_BYTES)
        said = file.read(count * ENTRY_BYTES)
    return np.frombuffer(said, dtype=np.uint64)


def _give_back(memory: mmap.mmap, pages: NDArray[np.int64]) -> None:
    """Give pages of a map back, (k,) ascending."""
    if not len(pages):
        return
    first = np.flatnonzero(np.diff(pages, prepend=-2) != 1)
    last = np.append(first[1:], len(pages)) - 1
    for begin, end in zip(pages[first].tolist(), pages[last].tolist(), strict=True):
        at = begin * mmap.PAGESIZE
        memory.madvise(mmap.MADV_DONTNEED, at, min((end + 1) * mmap.PAGESIZE, len(memory)) - at)


def _pages_of_files() -> int:
    """Return how many pages of files this process has in memory."""
    return int(STATM.read_bytes().split()[2])
