"""Named arrays in a file that can be mapped into memory: what is read of them comes from the disk when it is
read, and nothing is copied.

A file has a head, which says what lies where, and behind it the arrays as they lie in memory. The head has a
sum of each array's words, so that a file of which a part was lost is told from a whole one.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

MAGIC = b"crowdar1"
ALIGNED = 64  # Bytes: where arrays begin, as numpy's own do.
DIGEST_BYTES = 16
MOST_HEAD_BYTES = 1 << 20
PIECE_BYTES = 1 << 20  # Read at a time where words are summed.
Arrays = dict[str, NDArray[Any]]


class StoredError(Exception):
    """A file is no file of arrays, or not a whole one."""


def parts_of_file(arrays: Mapping[str, NDArray[Any]]) -> Iterator[bytes | memoryview]:
    """Yield what a file of arrays consists of, without objects, one after the other."""
    values = {name: np.asarray(each, order="C") for name, each in arrays.items()}
    entries, end = [], 0
    for name, each in values.items():
        if each.dtype.hasobject:
            raise TypeError(f"{name} holds objects, which no file of arrays has")
        end += -end % ALIGNED
        entries.append((name, each.dtype.str, each.shape, end, _sum_of(_bytes_of(each))))
        end += each.nbytes
    head = json.dumps({"size": end, "arrays": entries}).encode()
    head += b" " * (-(len(MAGIC) + 8 + len(head) + DIGEST_BYTES) % ALIGNED)
    yield MAGIC + len(head).to_bytes(8, "little") + head + blake2b(head, digest_size=DIGEST_BYTES).digest()
    at = 0
    for (_, _, _, begin, _), each in zip(entries, values.values(), strict=True):
        yield bytes(begin - at)
        yield _bytes_of(each).data
        at = begin + each.nbytes


def map_file(file: BinaryIO) -> Arrays:
    """Return the arrays of a file, mapped: they can be written to, which changes the file in no way.

    Raises
    ------
    StoredError
        If it is no file of arrays, or not a whole one.
    OSError
        If it cannot be read.
    """
    file.seek(0)
    begin = file.read(len(MAGIC) + 8)
    length = int.from_bytes(begin[len(MAGIC) :], "little")
    if begin[: len(MAGIC)] != MAGIC or not 0 < length <= MOST_HEAD_BYTES:
        raise StoredError("no file of arrays")
    head, digest = file.read(length), file.read(DIGEST_BYTES)
    if blake2b(head, digest_size=DIGEST_BYTES).digest() != digest:
        raise StoredError("its head is damaged")
    said = json.loads(head)
    first = len(begin) + length + DIGEST_BYTES
    if file.seek(0, 2) != first + said["size"]:
        raise StoredError("its size is another")
    for name, kind, shape, at, total in said["arrays"]:
        if _sum_in(file, first + at, _size_of(kind, shape)) != total:
            raise StoredError(f"{name} is damaged")
    memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    return {
        name: np.frombuffer(memory, np.uint8, _size_of(kind, shape), first + at).view(kind).reshape(shape)
        for name, kind, shape, at, _ in said["arrays"]
    }


def _size_of(kind: str, shape: list[int]) -> int:
    return int(np.dtype(kind).itemsize * np.prod(shape, dtype=np.int64))


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    return array.reshape(-1).view(np.uint8)


def _sum_of(values: NDArray[np.uint8]) -> int:
    """Return the sum of bytes as words of eight, the last one filled up with zeros, modulo 2 ** 64."""
    whole = len(values) - len(values) % 8
    rest = int.from_bytes(values[whole:].tobytes(), "little")
    return (int(values[:whole].view(np.uint64).sum()) + rest) % (1 << 64)


def _sum_in(file: BinaryIO, at: int, size: int) -> int:
    """Return the sum of a part of a file; see `_sum_of`."""
    file.seek(at)
    piece, total = np.empty(PIECE_BYTES, dtype=np.uint8), 0
    while size > 0:
        part = piece[: min(size, PIECE_BYTES)]
        if file.readinto(part.data) != len(part):  # type: ignore[attr-defined]
            raise StoredError("its end is missing")
        total += _sum_of(part)
        size -= len(part)
    return total % (1 << 64)
