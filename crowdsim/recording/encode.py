"""Rows to the bytes of an HDF5 chunk: the standard filters shuffle and gzip, made by hand.

h5py's own gzip costs as much as the whole avoidance step. Two things make the same standard stream in a
fraction of that time: isal deflates several times faster, and the low bytes of float64 coordinates, which
nothing can compress, go into *stored* blocks of the deflate stream ([RFC 1951], 3.2.4) instead of through the
compressor. Every reader of HDF5 opens the result.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import h5py
import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from crowdsim.kernels.decorator import kernel
from crowdsim.recording.packing import Packer

# A byte plane that does not shrink below this share is stored as it is. Larger spends 2 ns a byte where
# writing it takes 1, for 1 % of the file.
STORED_ABOVE = 0.6
# Chunks between two looks at which planes shrink. Smaller costs time, larger notices a change of the data
# later.
TRIAL_EVERY = 16
_STORED_BLOCK_BYTES = 65535  # [RFC 1951]: the length of a stored block has 16 bits.
_ZLIB_HEADER = b"\x78\x01"  # [RFC 1950]: deflate, 32 KiB window, fastest
_ADLER = 65521  # [RFC 1950]: the largest prime below 2**16
_LAST_BLOCK = b"\x01\x00\x00\xff\xff"  # an empty stored block with the final bit


@kernel
def shuffle_words(words, planes):
    """Write byte b of every word into row b, if it is not the same in all words:
    what HDF5's shuffle filter does.

    Parameters
    ----------
    words : (n,) uint16, uint32 or uint64
        Little-endian elements; read only.
    planes : (2, 4 or 8, n) uint8
        Receives the bytes, lowest first; rows of bytes that are the same in all words are left alone.

    Returns
    -------
    int
        The bits in which words differ: row b was written if any of its eight is set.

    Notes
    -----
    A loop for each plane, which LLVM turns into vector code: 0.04 ns a byte, six times the speed of numpy's
    transpose. Two planes of three are constant in recordings of crowds.
    Source: HDF5 file format, filter "shuffle". Twin: ``tests/reference/encode.py``.
    """
    differs = words[0] ^ words[0]
    for row in range(words.size):
        differs |= words[row] ^ words[0]
    for byte in range(planes.shape[0]):
        shift = np.uint64(8 * byte)
        if (np.uint64(differs) >> shift) & np.uint64(255) == np.uint64(0):
            continue
        plane = planes[byte]
        for row in range(words.size):
            plane[row] = np.uint8((np.uint64(words[row]) >> shift) & np.uint64(255))
    return np.uint64(differs)


@kernel
def round_to_multiples(values, step, out):
    """Round numbers to the nearest multiple of a step; halves go up.

    Parameters
    ----------
    values : (n,) float64
        Read only; nan and infinities stay what they are.
    step : float, > 0
        A power of two: multiples are then exact.
    out : (n,) float64
        Must not alias `values`.

    Notes
    -----
    One pass, where numpy makes three with an array each. Twin: ``tests/reference/encode.py``.
    """
    inverse = 1.0 / step
    for row in range(values.size):
        out[row] = np.floor(values[row] * inverse + 0.5) * step


def shuffle(part: NDArray[Any], planes: NDArray[np.uint8]) -> list[int]:
    """Write the bytes of an array's elements into byte planes.

    Parameters
    ----------
    part : (n,) or (n, w) of any fixed-size type, in C order
    planes : (itemsize, n * w) uint8
        Row b receives byte b of every element, unless that is the same in all of them. Must not alias `part`.

    Returns
    -------
    list of int
        For each row the byte that all elements have there; -1 if they differ.
    """
    flat = part.reshape(-1)
    first = flat[:1].view(np.uint8).tolist()
    if flat.dtype.itemsize in (2, 4, 8):
        differs = int(shuffle_words(flat.view(f"u{flat.dtype.itemsize}"), planes))
        return [-1 if differs >> 8 * byte & 255 else value for byte, value in enumerate(first)]
    planes[...] = flat.view(np.uint8).reshape(flat.size, flat.dtype.itemsize).T
    return [-1] * len(planes)


class ChunkEncoder:
    """Makes the filtered bytes of one dataset's chunks, which all have the same shape.

    Parameters
    ----------
    parts : sequence of ndarray
        What a chunk is in memory, one array for each field (or one for all): n rows each, in C order.
    """

    def __init__(self, parts: Sequence[NDArray[Any]]) -> None:
        self._planes: list[NDArray[np.uint8]] = []
        size = sum(part.nbytes for part in parts)
        self._scratch = np.empty(size, dtype=np.uint8)
        at = 0
        for part in parts:
            self._planes.append(self._scratch[at : at + part.nbytes].reshape(part.dtype.itemsize, part.size))
            at += part.nbytes
        self._rows = [row for planes in self._planes for row in planes]
        self._is_stored = [False] * len(self._rows)
        self._until_trial = 0
        # One buffer for all chunks: a fresh one of this size comes from the system page by page, which costs
        # as much as filling it. Not a bytearray, which is cleared: a short run fills little of it, and a
        # forked one copies what it touches.
        self._out = np.empty(size + size // 1000 + 64 * len(self._rows) + 1024, dtype=np.uint8).data
        self._end = 0
        self._sum = 1  # Adler-32 of what was put, [RFC 1950]
        self._value: list[int] = []  # of constant planes; -1 for the others

    def encode(self, parts: Sequence[NDArray[Any]], *, whole: bool = True) -> memoryview:
        """Return a chunk, shuffled and deflated.

        Parameters
        ----------
        parts : sequence of ndarray
            Of the shapes and types that it was made for.
        whole : bool
            The chunk is full. Only full chunks are used to learn which planes shrink: in a half-empty one all
            of them do, and all are deflated.

        Returns
        -------
        memoryview
            Valid until the next call.
        """
        self._value = [
            value for part, planes in zip(parts, self._planes, strict=True) for value in shuffle(part, planes)
        ]
        self._end = 0
        self._sum = 1
        self._put(_ZLIB_HEADER)
        is_trial = whole and self._until_trial == 0
        if is_trial:
            self._until_trial = TRIAL_EVERY
        self._until_trial -= 1 if whole else 0
        stored, self._is_stored = self._is_stored, self._is_stored if whole else [False] * len(self._rows)
        self._deflate(is_trial)
        self._is_stored = self._is_stored if whole else stored
        self._put(_LAST_BLOCK)
        self._put(self._sum.to_bytes(4, "big"))
        return self._out[: self._end]

    def _deflate(self, is_trial: bool) -> None:
        """Put all planes: constant ones as what is known of them, the others stored or deflated as the last
        trial says, neighbours together.

        In a trial every plane is deflated by itself, to learn which ones are worth it.
        """
        first, at = 0, 0
        while first < len(self._rows):
            row = self._rows[first]
            if self._value[first] >= 0:
                piece, self._sum = (
                    _constant(self._value[first], row.size),
                    _adler_of_constant(self._sum, self._value[first], row.size),
                )
                self._put(piece)
                first, at = first + 1, at + row.size
                continue
            last, length = first + 1, row.size
            while (
                not is_trial
                and last < len(self._rows)
                and self._value[last] < 0
                and self._is_stored[last] == self._is_stored[first]
            ):
                length += self._rows[last].size
                last += 1
            span = self._scratch[at : at + length].data
            self._sum = isal_zlib.adler32(span, self._sum)
            deflated = None if self._is_stored[first] and not is_trial else _deflated(span)
            if is_trial and deflated is not None:
                self._is_stored[first] = len(deflated) > STORED_ABOVE * length
            if deflated is None or self._is_stored[first]:
                self._store(span)
            else:
                self._put(deflated)
            first, at = last, at + length

    def _put(self, piece: bytes | memoryview) -> None:
        end = self._end + len(piece)
        self._out[self._end : end] = piece
        self._end = end

    def _store(self, data: memoryview) -> None:
        """Put `data` as stored blocks."""
        for at in range(0, len(data), _STORED_BLOCK_BYTES):
            piece = data[at : at + _STORED_BLOCK_BYTES]
            self._put(
                b"\x00" + len(piece).to_bytes(2, "little") + (len(piece) ^ 0xFFFF).to_bytes(2, "little")
            )
            self._put(piece)


def _deflated(data: memoryview) -> bytes:
    """Return `data` as blocks of a raw deflate stream that ends on a whole byte and is not its last;
    a compressor is made in 0.3 microseconds.
    """
    compressor = isal_zlib.compressobj(1, isal_zlib.DEFLATED, -15)
    head = compressor.compress(data)
    tail = compressor.flush(isal_zlib.Z_FULL_FLUSH)
    return bytes(head + tail) if head else bytes(tail)


@functools.cache
def _constant(value: int, size: int) -> bytes:
    """Return `size` bytes of one value as `_deflated` does."""
    return _deflated(memoryview(bytes([value]) * size))


def _adler_of_constant(before: int, value: int, size: int) -> int:
    """Return the Adler-32 ([RFC 1950]) of what had `before`, followed by `size` bytes of one value."""
    low, high = before & 0xFFFF, before >> 16
    return (high + size * low + value * size * (size + 1) // 2) % _ADLER << 16 | (low + size * value) % _ADLER


def _put(part: NDArray[Any], rows: NDArray[Any]) -> None:
    """Write rows to a part of a chunk, of another type only if that keeps their kind."""
    if rows.dtype is part.dtype:  # takes half as long
        part[...] = rows
    else:
        np.copyto(part, rows, casting="same_kind")


class GrowingDataset:
    """Append rows to a dataset whose chunks are written once, when they are full;
    the last one, which is not, at the end.

    Parameters
    ----------
    dataset : h5py.Dataset
        Without rows; chunked along its first axis, with the filters shuffle and gzip.
    fields : bool
        Keep one array for each field of a compound, to which `append` then takes one argument each.
    packer : Packer, optional
        Packs and writes full chunks meanwhile; what else is asked of the dataset than to append rows waits
        until it is done.

    Attributes
    ----------
    rows : int
        Appended so far.
    filled : int
        Chunks that were full so far.
    chunks : int
        Of these those that were written.
    """

    def __init__(self, dataset: h5py.Dataset, *, fields: bool = False, packer: Packer | None = None) -> None:
        self.dataset = dataset
        self.dtype: np.dtype[Any] = dataset.dtype
        self.chunk_rows: int = dataset.chunks[0]
        self.rows = 0
        self.filled = 0
        self.chunks = 0
        self._packer = packer
        self._spare: list[list[NDArray[Any]]] = []  # chunks in memory that were written
        self._tail: tuple[int, ...] = dataset.shape[1:]
        if fields and self.dtype.names is not None:
            assert self.dtype.fields is not None
            self._parts = [
                np.zeros(self.chunk_rows, dtype=self.dtype.fields[field][0]) for field in self.dtype.names
            ]
        else:
            self._parts = [np.zeros(dataset.chunks, dtype=self.dtype)]
        self._encoder = ChunkEncoder(self._parts)
        # rows of a compound in one array: numpy copies bytes ten times as fast as fields
        is_whole = not fields and self.dtype.names is not None
        self._bytes = np.dtype((np.void, self.dtype.itemsize)) if is_whole else None
        self._copied: np.dtype[Any] | None = None  # the type of rows that were found to be the same bytes

    @property
    def rest(self) -> int:
        """Rows that do not fill a chunk and are not in the file."""
        return max(0, self.rows - self.filled * self.chunk_rows)

    def rest_since(self, first: int) -> list[NDArray[Any]]:
        """Return the rows from `first` on as they are in memory: one array, or one for each field;
        `first` is in the chunk that is not full yet.
        """
        begin = self.filled * self.chunk_rows
        return [part[first - begin : self.rows - begin] for part in self._parts]

    def append(self, count: int, *values: Any) -> None:
        """Add `count` rows: one value for each part, an array of `count` rows
        or one number for all of them.
        """
        kind = self._bytes if self._can_copy(values[0]) else None
        if kind is not None:
            values = (values[0].view(kind),)
        done = 0
        while done < count:
            fill = self.rows - self.filled * self.chunk_rows
            step = min(count - done, self.chunk_rows - fill)
            end = fill + step
            parts = self._parts if kind is None else [self._parts[0].view(kind)]
            for part, value in zip(parts, values, strict=True):
                if not isinstance(value, np.ndarray):
                    part[fill:end] = value
                    continue
                # whole arrays, as nearly all are, are not cut
                _put(part[fill:end], value if step == len(value) else value[done : done + step])
            done += step
            self.rows += step
            if end == self.chunk_rows:
                self._let_full_go()

    @staticmethod
    def append_to_each(
        datasets: Sequence[GrowingDataset], count: int, values: Iterable[NDArray[Any]]
    ) -> None:
        """Add `count` rows to each of some datasets without fields that have as many rows, and chunks as
        long; a value may be written over once the next is asked for.
        """
        if not datasets or not count:
            return
        fill, end = datasets[0].rest, datasets[0].rest + count
        if end >= datasets[0].chunk_rows:
            for dataset, value in zip(datasets, values, strict=True):
                dataset.append(count, value)
            return
        for dataset, value in zip(datasets, values, strict=True):
            _put(dataset._parts[0][fill:end], value)
            dataset.rows += count

    def _can_copy(self, rows: Any) -> bool:
        """Return whether rows of a compound are what a chunk has in memory, byte for byte."""
        if self._bytes is None or not isinstance(rows, np.ndarray) or not rows.flags.c_contiguous:
            return False
        if rows.dtype is not self._copied:
            if rows.dtype != self.dtype:
                return False
            self._copied = rows.dtype
        return True

    def append_chunk(self, data: bytes) -> None:
        """Add the rows of a whole chunk, as another file has it; none waits to fill one."""
        assert not self.rest, "rows wait for others"
        if self._packer is None:
            self._write_chunk(data)
        else:
            self._packer.give(functools.partial(self._write_chunk, data))
        self.rows += self.chunk_rows
        self.filled += 1

    def _let_full_go(self) -> None:
        """Have the chunk that is full written, and begin the next one."""
        if self._packer is None:
            self._pack(self._parts)
        else:
            self._packer.give(functools.partial(self._pack_and_keep, self._parts))
            self._parts = self._spare.pop() if self._spare else [np.empty_like(part) for part in self._parts]
        self.filled += 1

    def _pack(self, parts: list[NDArray[Any]]) -> None:
        self._write_chunk(self._encoder.encode(parts))

    def _pack_and_keep(self, parts: list[NDArray[Any]]) -> None:
        self._pack(parts)
        self._spare.append(parts)

    def write_rest(self) -> None:
        """Write the rows that do not fill a chunk. Nothing is appended afterwards."""
        if self.rest:
            self._write(self._packed_rest(), self.rows)

    def copy_to(self, target: h5py.Dataset) -> None:
        """Write all rows into another dataset of the same kind:
        chunks as they are in the file, and those that do not fill one.
        """
        target.id.set_extent((self.rows, *self._tail))
        zeros = [0] * len(self._tail)
        for first in range(0, self.chunks * self.chunk_rows, self.chunk_rows):
            target.id.write_direct_chunk(
                (first, *zeros), self.dataset.id.read_direct_chunk((first, *zeros))[1]
            )
        if self.rest:
            target.id.write_direct_chunk((self.chunks * self.chunk_rows, *zeros), self._packed_rest())

    def _packed_rest(self) -> memoryview:
        for part in self._parts if self.filled else ():
            part[self.rest :] = 0  # of a chunk before
        return self._encoder.encode(self._parts, whole=False)

    def _write_chunk(self, data: bytes | memoryview) -> None:
        self._write(data, (self.chunks + 1) * self.chunk_rows)

    def _write(self, data: bytes | memoryview, rows: int) -> None:
        """Put a chunk behind those that are written; the dataset has so many rows then."""
        self.dataset.id.set_extent((rows, *self._tail))
        self.dataset.id.write_direct_chunk((self.chunks * self.chunk_rows, *([0] * len(self._tail))), data)
        self.chunks += 1
