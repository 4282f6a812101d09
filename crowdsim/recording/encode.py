"""Rows to the bytes of an HDF5 chunk: the standard filters shuffle and gzip, made by hand.

h5py's own gzip costs as much as the whole avoidance step. Two things make the same standard stream in a fraction of that time: isal deflates
several times faster, and the low bytes of float64 coordinates, which nothing can compress, go into *stored* blocks of the deflate stream
(RFC 1951, 3.2.4) instead of through the compressor. Every reader of HDF5 opens the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from crowdsim.kernels import kernel

# A byte plane that does not shrink below this share is stored as it is. Larger spends 2 ns a byte where writing it takes 1, for 1 % of the file.
STORED_ABOVE = 0.6
TRIAL_EVERY = 16  # Chunks between two looks at which planes shrink. Smaller costs time, larger notices a change of the data later.
_STORED_BLOCK_BYTES = 65535  # RFC 1951: the length of a stored block has 16 bits.
_ZLIB_HEADER = b"\x78\x01"  # RFC 1950: deflate, 32 KiB window, fastest
_LAST_BLOCK = b"\x01\x00\x00\xff\xff"  # an empty stored block with the final bit


@kernel
def shuffle_words(words, planes):
    """Write byte b of every word into row b: what HDF5's shuffle filter does.

    Parameters
    ----------
    words : (n,) uint32 or uint64
        Little-endian elements; read only.
    planes : (4 or 8, n) uint8
        Receives the bytes, lowest first.

    Notes
    -----
    A loop for each plane, which LLVM turns into vector code: 0.04 ns a byte, six times the speed of numpy's transpose.
    Source: HDF5 file format, filter "shuffle". Twin: ``tests/reference/encode.py``.
    """
    for byte in range(planes.shape[0]):
        shift = np.uint64(8 * byte)
        plane = planes[byte]
        for row in range(words.size):
            plane[row] = np.uint8((np.uint64(words[row]) >> shift) & np.uint64(255))


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


def shuffle(part: NDArray[Any], planes: NDArray[np.uint8]) -> None:
    """Write the bytes of an array's elements into byte planes.

    Parameters
    ----------
    part : (n,) or (n, w) of any fixed-size type, in C order
    planes : (itemsize, n * w) uint8
        Row b receives byte b of every element. Must not alias `part`.
    """
    flat = part.reshape(-1)
    if flat.dtype.itemsize in (4, 8):
        shuffle_words(flat.view(f"u{flat.dtype.itemsize}"), planes)
    else:
        planes[...] = flat.view(np.uint8).reshape(flat.size, flat.dtype.itemsize).T


class ChunkEncoder:
    """Makes the filtered bytes of one dataset's chunks, which all have the same shape.

    Parameters
    ----------
    parts : sequence of ndarray
        One whole chunk in memory, one array for each field (or one for all): n rows each, in C order. `encode` reads them where they are.
    """

    def __init__(self, parts: Sequence[NDArray[Any]]) -> None:
        self._parts = parts
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
        # One buffer for all chunks: a fresh one of this size comes from the system page by page, which costs as much as filling it.
        self._out = memoryview(bytearray(size + size // 1000 + 64 * len(self._rows) + 1024))
        self._end = 0

    def encode(self, *, whole: bool = True) -> memoryview:
        """Return the chunk as it is now, shuffled and deflated.

        Parameters
        ----------
        whole : bool
            The chunk is full. Only full chunks are used to learn which planes shrink: in a half-empty one all of them do.

        Returns
        -------
        memoryview
            Valid until the next call.
        """
        for part, planes in zip(self._parts, self._planes, strict=True):
            shuffle(part, planes)
        self._end = 0
        self._put(_ZLIB_HEADER)
        if whole and self._until_trial == 0:
            self._until_trial = TRIAL_EVERY
            self._deflate_by_trial()
        else:
            self._deflate()
        self._until_trial -= 1 if whole else 0
        self._put(_LAST_BLOCK)
        self._put(isal_zlib.adler32(self._scratch.data).to_bytes(4, "big"))
        return self._out[: self._end]

    def longer(self) -> memoryview:
        """Return what `encode` has just returned with one byte more, which no reader looks at: inflate stops at the end of its stream."""
        self._put(b"\0")
        return self._out[: self._end]

    def _deflate_by_trial(self) -> None:
        """Deflate every plane by itself and remember which ones were not worth it."""
        for number, row in enumerate(self._rows):
            piece = _deflated(row.data)
            self._is_stored[number] = len(piece) > STORED_ABOVE * row.size
            if self._is_stored[number]:
                self._store(row.data)
            else:
                self._put(piece)

    def _deflate(self) -> None:
        """Deflate neighbouring planes together, or store them, as the last trial says."""
        first, at = 0, 0
        while first < len(self._rows):
            last, length = first, 0
            while last < len(self._rows) and self._is_stored[last] == self._is_stored[first]:
                length += self._rows[last].size
                last += 1
            span = self._scratch[at : at + length].data
            if self._is_stored[first]:
                self._store(span)
            else:
                self._put(_deflated(span))
            first, at = last, at + length

    def _put(self, piece: bytes | memoryview) -> None:
        end = self._end + len(piece)
        self._out[self._end : end] = piece
        self._end = end

    def _store(self, data: memoryview) -> None:
        """Put `data` as stored blocks."""
        for at in range(0, len(data), _STORED_BLOCK_BYTES):
            piece = data[at : at + _STORED_BLOCK_BYTES]
            self._put(b"\x00" + len(piece).to_bytes(2, "little") + (len(piece) ^ 0xFFFF).to_bytes(2, "little"))
            self._put(piece)


def _deflated(data: memoryview) -> bytes:
    """Return `data` as blocks of a raw deflate stream that ends on a whole byte and is not its last; a compressor is made in 0.3 microseconds."""
    compressor = isal_zlib.compressobj(1, isal_zlib.DEFLATED, -15)
    head = compressor.compress(data)
    tail = compressor.flush(isal_zlib.Z_FULL_FLUSH)
    return bytes(head + tail) if head else bytes(tail)
