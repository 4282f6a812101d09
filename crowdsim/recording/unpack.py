"""Chunks of a dataset to rows, past HDF5's own filters: it neither compares what a chunk unpacks to with the size that it is to have, nor stops at it.

A chunk that another one's bytes have come into is then read beyond its end. Here a chunk has exactly its size, and the checksum of its stream (Adler-32,
[RFC 1950]), or it is an error; no more memory is taken than a chunk has.
"""

from __future__ import annotations

import zlib
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from crowdsim.recording.gate import Damage

_OURS = ((), (h5py.h5z.FILTER_DEFLATE,), (h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE))


class Packed:
    """The rows of a chunked dataset without filters, or with those of recordings: gzip, after shuffle or not.

    Parameters
    ----------
    dataset : h5py.Dataset
        One that came through the gate; chunked along its first axis only.

    Raises
    ------
    Damage
        If it is kept in another way.
    """

    def __init__(self, dataset: h5py.Dataset) -> None:
        self._dataset, self._name = dataset, str(dataset.name).lstrip("/")
        self.shape: tuple[int, ...] = dataset.shape
        self.dtype: np.dtype[Any] = dataset.dtype
        properties = dataset.id.get_create_plist()
        self._filters = tuple(properties.get_filter(number)[0] for number in range(properties.get_nfilters()))
        if dataset.chunks is None or dataset.chunks[1:] != dataset.shape[1:]:
            raise Damage(f"{self._name} is not stored in chunks of whole rows")
        if self._filters not in _OURS:
            raise Damage(f"{self._name} has other filters than recordings have")
        self.chunk_rows: int = dataset.chunks[0]
        self._row_bytes = self.dtype.itemsize * int(np.prod(self.shape[1:], dtype=np.int64))
        self._last: tuple[int, NDArray[Any]] | None = None  # the chunk that was read last: rows are asked for frame by frame

    @property
    def stored_bytes(self) -> int:
        """Bytes in the file."""
        return int(self._dataset.id.get_storage_size())

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows; they are within the dataset.

        Raises
        ------
        Damage
            If a chunk of them is missing, or is not what it was when it was written.
        """
        parts = []
        for number in range(start // self.chunk_rows, -(-stop // self.chunk_rows)):
            begin = number * self.chunk_rows
            parts.append(self._chunk(number)[max(start - begin, 0) : stop - begin])
        if len(parts) == 1:
            return parts[0].copy()
        return np.concatenate(parts) if parts else np.zeros((0, *self.shape[1:]), dtype=self.dtype)

    def _chunk(self, number: int) -> NDArray[Any]:
        if self._last is None or self._last[0] != number:
            self._last = number, self._unpacked(number)
        return self._last[1]

    def _unpacked(self, number: int) -> NDArray[Any]:
        place = (number * self.chunk_rows, *([0] * (len(self.shape) - 1)))
        info = self._dataset.id.get_chunk_info_by_coord(place)
        size = self.chunk_rows * self._row_bytes
        if info.byte_offset is None or not 0 < info.size <= size + size // 100 + 65536:
            raise Damage(f"{self._name} has no rows from {place[0]:,} on")
        mask, data = self._dataset.id.read_direct_chunk(place)
        if mask:
            raise Damage(f"{self._name} is not packed as it says")
        if self._filters:
            data = self._inflated(data, size)
        if len(data) != size:
            raise Damage(f"{self._name} has {len(data):,} bytes where a chunk has {size:,}")
        if len(self._filters) == 2 and self.dtype.itemsize > 1:
            data = np.frombuffer(data, dtype=np.uint8).reshape(self.dtype.itemsize, -1).T.tobytes()
        return np.frombuffer(data, dtype=self.dtype).reshape(-1, *self.shape[1:])

    def _inflated(self, data: bytes, size: int) -> bytes:
        stream = zlib.decompressobj()
        try:
            found = stream.decompress(data, size)
            rest = stream.decompress(stream.unconsumed_tail, 1) if not stream.eof else b""  # the checksum stands behind the last byte
        except zlib.error:
            raise Damage(f"the checksum of {self._name} is wrong") from None
        if rest or not stream.eof:
            raise Damage(f"{self._name} unpacks to more than a chunk has")
        return found
