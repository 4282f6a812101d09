"""One growing dataset: rows are collected in memory and written as whole chunks, past HDF5's own filters."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from crowdsim.recording.encode import ChunkEncoder


class GrowingDataset:
    """Append rows to a dataset whose chunks are written once, when they are full; the last one, which is not, at the end.

    Parameters
    ----------
    dataset : h5py.Dataset
        Without rows; chunked along its first axis, with the filters shuffle and gzip.
    fields : bool
        Keep one array for each field of a compound, to which `append` then takes one argument each.

    Attributes
    ----------
    rows : int
        Appended so far.
    chunks : int
        Written so far.
    """

    def __init__(self, dataset: h5py.Dataset, *, fields: bool = False) -> None:
        self.dataset = dataset
        self.dtype: np.dtype[Any] = dataset.dtype
        self.chunk_rows: int = dataset.chunks[0]
        self.rows = 0
        self.chunks = 0
        self._tail: tuple[int, ...] = dataset.shape[1:]
        if fields and self.dtype.names is not None:
            assert self.dtype.fields is not None
            self._parts = [np.zeros(self.chunk_rows, dtype=self.dtype.fields[field][0]) for field in self.dtype.names]
        else:
            self._parts = [np.zeros(dataset.chunks, dtype=self.dtype)]
        self._encoder = ChunkEncoder(self._parts)

    @property
    def rest(self) -> int:
        """Rows that do not fill a chunk and are not in the file."""
        return max(0, self.rows - self.chunks * self.chunk_rows)

    def rest_since(self, first: int) -> list[NDArray[Any]]:
        """Return the rows from `first` on as they are in memory: one array, or one for each field; `first` is in the chunk that is not full yet."""
        begin = self.chunks * self.chunk_rows
        return [part[first - begin : self.rows - begin] for part in self._parts]

    def append(self, count: int, *values: Any) -> None:
        """Add `count` rows: one value for each part, an array of `count` rows or one number for all of them."""
        done = 0
        while done < count:
            fill = self.rest
            step = min(count - done, self.chunk_rows - fill)
            span = slice(fill, fill + step)
            for part, value in zip(self._parts, values, strict=True):
                if isinstance(value, np.ndarray):
                    np.copyto(part[span], value[done : done + step], casting="same_kind")
                else:
                    part[span] = value
            done += step
            self.rows += step
            if self.rest == self.chunk_rows:
                self._write(self._encoder.encode())

    def write_rest(self) -> None:
        """Write the rows that do not fill a chunk. Nothing is appended afterwards."""
        if self.rest:
            self._write(self._packed_rest())

    def copy_to(self, target: h5py.Dataset) -> None:
        """Write all rows into another dataset of the same kind: chunks as they are in the file, and those that do not fill one."""
        target.id.set_extent((self.rows, *self._tail))
        zeros = [0] * len(self._tail)
        for first in range(0, self.chunks * self.chunk_rows, self.chunk_rows):
            target.id.write_direct_chunk((first, *zeros), self.dataset.id.read_direct_chunk((first, *zeros))[1])
        if self.rest:
            target.id.write_direct_chunk((self.chunks * self.chunk_rows, *zeros), self._packed_rest())

    def _packed_rest(self) -> memoryview:
        for part in self._parts if self.chunks else ():
            part[self.rest :] = 0  # of the chunk before
        return self._encoder.encode(whole=False)

    def _write(self, data: memoryview) -> None:
        self.dataset.id.set_extent((self.rows, *self._tail))
        self.dataset.id.write_direct_chunk((self.chunks * self.chunk_rows, *([0] * len(self._tail))), data)
        self.chunks += 1
