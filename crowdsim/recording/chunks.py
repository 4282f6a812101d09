"""One growing dataset: rows are collected in memory and written as whole chunks, past HDF5's own filters."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

from crowdsim.recording.encode import ChunkEncoder


class GrowingDataset:
    """Append rows to a dataset whose chunks are never overwritten.

    An incomplete chunk is written by `write_rest`, and written again, longer, by the next one. HDF5 gives a chunk a new place in the file
    whenever its size changes, and keeps the old place untouched while the file is in SWMR mode; `_write` makes sure that the size does
    change. A kill in between therefore leaves either the old chunk or the new one, and both hold every row that was committed before.
    The old place is lost (`lost_bytes`) until the file is copied.

    Parameters
    ----------
    dataset : h5py.Dataset
        Without rows; chunked along its first axis, with the filters shuffle and gzip.
    fields : bool
        Keep one array for each field of a compound, to which `append` then takes one argument each.
    """

    def __init__(self, dataset: h5py.Dataset, *, fields: bool = False) -> None:
        self.dataset = dataset
        self.dtype: np.dtype[Any] = dataset.dtype
        self.chunk_rows: int = dataset.chunks[0]
        self.rows = 0
        self.lost_bytes = 0
        self._tail: tuple[int, ...] = dataset.shape[1:]
        if fields and self.dtype.names is not None:
            assert self.dtype.fields is not None
            self._parts = [np.zeros(self.chunk_rows, dtype=self.dtype.fields[field][0]) for field in self.dtype.names]
        else:
            self._parts = [np.zeros(dataset.chunks, dtype=self.dtype)]
        self._encoder = ChunkEncoder(self._parts)
        self._fill = 0
        self._rest_rows = 0  # rows of the incomplete chunk that are in the file
        self._rest_bytes = 0

    def append(self, count: int, *values: Any) -> None:
        """Add `count` rows: one value for each part, an array of `count` rows or one number for all of them."""
        done = 0
        while done < count:
            step = min(count - done, self.chunk_rows - self._fill)
            span = slice(self._fill, self._fill + step)
            for part, value in zip(self._parts, values, strict=True):
                if isinstance(value, np.ndarray):
                    np.copyto(part[span], value[done : done + step], casting="same_kind")
                else:
                    part[span] = value
            done += step
            self._fill += step
            self.rows += step
            if self._fill == self.chunk_rows:
                self._write(self._encoder.encode())
                self._fill = 0
                self._rest_rows = self._rest_bytes = 0

    def write_rest(self) -> None:
        """Write the rows that do not fill a chunk, if any came since the last time."""
        if self._fill == self._rest_rows:
            return
        for part in self._parts:
            part[self._fill :] = 0
        self._rest_bytes = self._write(self._encoder.encode(whole=False))
        self._rest_rows = self._fill

    def _write(self, data: memoryview) -> int:
        self.lost_bytes += self._rest_bytes
        if len(data) == self._rest_bytes:
            data = self._encoder.longer()  # the same size would go to the same place
        self.dataset.id.set_extent((self.rows, *self._tail))
        first = (self.rows - 1) // self.chunk_rows * self.chunk_rows
        self.dataset.id.write_direct_chunk((first, *([0] * len(self._tail))), data)
        return len(data)
