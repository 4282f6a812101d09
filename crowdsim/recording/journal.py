"""The journal of a recording in the making: the rows that do not fill a chunk yet.

A chunk of a dataset is packed once, when it is full, and never written again. What is left over at a commit
goes, as it is in memory, into one more dataset of the file, whose places are used again and again; the commit
record says which part of it counts. So the file is never much larger than the data, however often a run
commits, and a commit of few rows costs two small writes. The finished recording has no journal.

It is a row of batches, of one commit each. A batch is an entry for each dataset that has new rows: 32 bytes
(number of the dataset in the order of `list_datasets`, first row, rows, CRC-32 of all of the entry with this
field 0, bytes that follow), then the rows, of the trajectory field by field. The part that counts is never
written over: new batches go behind it, and once most of it is of chunks that have become full since, all that
is needed goes into a new part, in front of the old one or behind it.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from crowdsim.recording.gate import Damage, Packed

# Of the file's room, taken at a time. Smaller makes a longer index, larger wastes room in small runs.
CHUNK_BYTES = 2**16
# A new part begins once more than this, and more than is needed, is of chunks that are full. Smaller writes
# the needed rows more often.
IDLE_BYTES = 2**18
_ENTRY = struct.Struct("<QQQII")  # number of the dataset, first row, rows, CRC-32, bytes of the rows
_MOST = 2**32  # of an offset: two of them are one word of a commit record
_MOST_READ = 2**28  # Ours have some megabytes. Larger lets a strange file fill the memory.


class Rest(NamedTuple):
    """Rows of one dataset that are to be kept.

    Attributes
    ----------
    number : int
        Of the dataset.
    first, rows : int
    parts : sequence of ndarray
        Their bytes: one array, or one for each field.
    """

    number: int
    first: int
    rows: int
    parts: Sequence[NDArray[Any]]

    @property
    def size(self) -> int:
        """Bytes that it takes in the journal."""
        return _ENTRY.size + sum(part.nbytes for part in self.parts)


class Journal:
    """The writer's side.

    Parameters
    ----------
    dataset : h5py.Dataset
        Of bytes, without filters, in chunks of `CHUNK_BYTES`.
    handle : int
        Descriptor of the file, for writes straight to it.
    """

    def __init__(self, dataset: h5py.Dataset, handle: int) -> None:
        self._dataset, self._handle = dataset, handle
        self._places: list[int] = []  # of the chunks in the file
        self._start = self._end = 0

    @property
    def size(self) -> int:
        """Bytes of the file that it has taken."""
        return len(self._places) * CHUNK_BYTES

    def fits(self, new_bytes: int, needed_bytes: int) -> bool:
        """Return whether new rows are to go behind the part that counts;
        else all that is needed is to go into a new one.

        Parameters
        ----------
        new_bytes : int
            Of the new rows.
        needed_bytes : int
            Of all rows that are needed with them.
        """
        idle = self._end - self._start + new_bytes - needed_bytes
        return idle <= max(IDLE_BYTES, needed_bytes)

    def write(self, rests: Sequence[Rest], *, anew: bool) -> int:
        """Write rows, behind the others or anew, and return the word that a commit record keeps of the part
        that counts from then on.

        Parameters
        ----------
        rests : sequence of Rest
        anew : bool
            They are all that is needed.
        """
        pieces: list[Any] = []
        for rest in rests:
            size = rest.size - _ENTRY.size
            check = zlib.crc32(_ENTRY.pack(rest.number, rest.first, rest.rows, 0, size))
            for part in rest.parts:
                check = zlib.crc32(part, check)  # type: ignore[arg-type]  # numpy arrays are buffers
            pieces += [_ENTRY.pack(rest.number, rest.first, rest.rows, check, size), *rest.parts]
        data = memoryview(b"".join(pieces))
        start, at = self._start, self._end
        if anew:
            start = at = 0 if len(data) <= self._start else self._end
        if at + len(data) >= _MOST:
            raise OSError(f"its journal would have {at + len(data):,} bytes")
        self._put(at, data)
        self._start, self._end = start, at + len(data)
        return self._start << 32 | self._end

    def _put(self, at: int, data: memoryview) -> None:
        """Write bytes from a place of the journal on, and take more room in the file where it ends."""
        while len(self._places) * CHUNK_BYTES < at + len(data):
            first = len(self._places) * CHUNK_BYTES
            self._dataset.id.set_extent((first + CHUNK_BYTES,))
            self._dataset.id.write_direct_chunk((first,), bytes(CHUNK_BYTES))
            self._places.append(self._dataset.id.get_chunk_info_by_coord((first,)).byte_offset)
        while len(data):
            chunk, offset = divmod(at, CHUNK_BYTES)
            written = os.pwrite(self._handle, data[: CHUNK_BYTES - offset], self._places[chunk] + offset)
            at, data = at + written, data[written:]


class Kept:
    """What a commit record says that a journal holds: the reader's side.

    Parameters
    ----------
    dataset : Packed
    word : int
        From the commit record.

    Raises
    ------
    Damage
        If it is damaged.
    """

    def __init__(self, dataset: Packed, word: int) -> None:
        start, end = word >> 32, word & (_MOST - 1)
        if (
            dataset.dtype != np.uint8
            or len(dataset.shape) != 1
            or not start <= end <= dataset.shape[0]
            or end - start > _MOST_READ
        ):
            raise _damage()
        self._entries: dict[int, list[tuple[int, int, memoryview]]] = {}
        at, view = 0, memoryview(dataset.rows(start, end).tobytes())
        while at < len(view):
            at = self._take(view, at)

    def _take(self, view: memoryview, at: int) -> int:
        """Note the entry that begins at `at`; return where the next one does."""
        if len(view) - at < _ENTRY.size:
            raise _damage()
        number, first, rows, check, size = _ENTRY.unpack_from(view, at)
        begin = at + _ENTRY.size
        if (
            size > len(view) - begin
            or zlib.crc32(view[begin : begin + size], zlib.crc32(_ENTRY.pack(number, first, rows, 0, size)))
            != check
        ):
            raise _damage()
        self._entries.setdefault(number, []).append((first, rows, view[begin : begin + size]))
        return begin + size

    def rows(
        self, number: int, dtype: np.dtype[Any], width: int, first: int, stop: int, *, fields: bool
    ) -> NDArray[Any]:
        """Return the rows of a dataset from `first` to `stop`.

        Parameters
        ----------
        number : int
        dtype : dtype
        width : int
            Numbers in a row; 0 is a dataset of one dimension.
        first, stop : int
        fields : bool
            They are kept field by field.

        Raises
        ------
        Damage
            If they are not all there.
        """
        shape = (width,) if width else ()
        found = np.zeros((stop - first, *shape), dtype=dtype)
        done = first
        for begin, rows, data in self._entries.get(number, ()):
            if begin < first:
                continue  # of a chunk that is full by now
            if begin != done or len(data) != rows * dtype.itemsize * max(width, 1) or begin + rows > stop:
                raise _damage()
            span = found[begin - first : begin + rows - first]
            if not fields:
                span[:] = np.frombuffer(data, dtype=dtype).reshape(rows, *shape)
            else:
                at = 0
                for field in dtype.names or ():
                    kind = dtype[field]
                    span[field] = np.frombuffer(data, dtype=kind, count=rows, offset=at)
                    at += rows * kind.itemsize
            done += rows
        if done != stop:
            raise _damage()
        return found


def _damage() -> Damage:
    return Damage("the journal of its newest rows is damaged")
