"""A 64-bit digest of an array, by which two runs are compared.

The digest is XXH64 (Collet, "xxHash fast digest algorithm", specification 0.1.1) of the array's bytes as they
are, so that -0.0 differs from 0.0 and every NaN from every other; its seed is made of the type, so that equal
bytes of another type differ. The length is part of XXH64. Equal digests say that two arrays are equal but for
a chance of 2**-64; they protect against accidents, not against an adversary.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import kernel
from crowdsim.kernels.threads import ALONE, Team

# The five primes of the specification.
_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)


@kernel
def _rotate(x, bits):
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@kernel
def _round(lane, word):
    return _rotate(lane + word * _P2, 31) * _P1


@kernel
def _merge(total, lane):
    return (total ^ _round(np.uint64(0), lane)) * _P1 + _P4


@kernel
def _finish(total):
    total = (total ^ (total >> np.uint64(33))) * _P2
    total = (total ^ (total >> np.uint64(29))) * _P3
    return total ^ (total >> np.uint64(32))


@kernel
def xxh64(words, tail, seed):
    """Return XXH64 of the bytes of `words` followed by `tail`.

    Parameters
    ----------
    words : (n,) uint64
        The bytes of the data in groups of eight, little end first.
    tail : (0..7,) uint8
        Bytes that are left over.
    seed : uint64

    Returns
    -------
    uint64

    Notes
    -----
    Four lanes take 32 bytes a round, so that the multiplications of one do not wait for those of another:
    some 10 bytes a nanosecond. Source: the xxHash specification, section "XXH64 algorithm description". Twin:
    ``tests/reference/digest.py``.
    """
    count = words.size
    at = 0
    if count >= 4:
        a, b, c, d = seed + _P1 + _P2, seed + _P2, seed, seed - _P1
        while at + 4 <= count:
            a = _round(a, words[at])
            b = _round(b, words[at + 1])
            c = _round(c, words[at + 2])
            d = _round(d, words[at + 3])
            at += 4
        total = _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)
        total = _merge(_merge(_merge(_merge(total, a), b), c), d)
    else:
        total = seed + _P5
    total += np.uint64(8 * count + tail.size)
    while at < count:
        total = _rotate(total ^ _round(np.uint64(0), words[at]), 27) * _P1 + _P4
        at += 1
    left = 0
    if tail.size >= 4:
        word = (
            np.uint64(tail[0])
            | np.uint64(tail[1]) << np.uint64(8)
            | np.uint64(tail[2]) << np.uint64(16)
            | np.uint64(tail[3]) << np.uint64(24)
        )
        total = _rotate(total ^ (word * _P1), 23) * _P2 + _P3
        left = 4
    while left < tail.size:
        total = _rotate(total ^ (np.uint64(tail[left]) * _P5), 11) * _P1
        left += 1
    return _finish(total)


@kernel
def digest_each(start, stop, data, seeds, out):
    """Write XXH64 of each of some arrays.

    Parameters
    ----------
    start, stop : int
        Which of them.
    data : tuple of eight (n,) uint8
        The bytes of each.
    seeds, out : (8,) uint64

    Notes
    -----
    Twin: ``tests/reference/digest.py``.
    """
    for place in range(start, stop):
        each = data[place]
        if each.ctypes.data % 8:  # a slice of small numbers that begins between words
            each = each.copy()
        whole = each.size - each.size % 8
        out[place] = xxh64(each[:whole].view(np.uint64), each[whole:], seeds[place])


@kernel
def fold_digests(digests, start):
    """Return one digest for a table of digests, row after row.

    Parameters
    ----------
    digests : (n, k) uint64
    start : uint64
        What an earlier call returned for the rows before, 0 for none.

    Returns
    -------
    uint64
        The same for a table folded at once and in any number of parts.

    Notes
    -----
    Twin: ``tests/reference/digest.py``.
    """
    total = np.uint64(start)
    for row in range(digests.shape[0]):
        for column in range(digests.shape[1]):
            total = _rotate(total ^ _round(np.uint64(0), digests[row, column]), 27) * _P1 + _P4
        total = _finish(total)
    return total


@kernel
def block_xxh64(words, words_per_block, seed, out):
    """Write XXH64 of every block of an array.

    Parameters
    ----------
    words : (n,) uint64
        The bytes of the array in groups of eight.
    words_per_block : int, >= 1
        The last block may be shorter.
    seed : uint64
    out : (ceil(n / words_per_block),) uint64

    Notes
    -----
    Twin: ``tests/reference/digest.py``.
    """
    empty = np.zeros(0, dtype=np.uint8)
    for block in range(out.size):
        out[block] = xxh64(
            words[block * words_per_block : min((block + 1) * words_per_block, words.size)], empty, seed
        )


# Columns that one call takes, always as many, so that it is compiled once; recordings have some 15.
_AT_ONCE = 8
_SHARED_BYTES = 200_000  # Of a call at least, to be shared by threads: they take 20 us.
_NO_BYTES = (np.zeros(0, dtype=np.uint8),) * _AT_ONCE


@cache
def _seed(dtype: np.dtype[Any]) -> np.uint64:
    if dtype.hasobject or dtype.kind not in "biufcV":
        raise TypeError(f"an array of {dtype} has no digest, only numbers have")
    return np.uint64(ord(dtype.kind) << 8 | dtype.itemsize)


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of an array of numbers, writable (one compiled kernel serves all) and in C order."""
    flat = array.reshape(-1) if _shows_bytes(array) else np.ascontiguousarray(array).reshape(-1).copy()
    return flat.view(np.uint8)


def _shows_bytes(array: NDArray[Any]) -> bool:
    """Return whether `_bytes` is a view of an array."""
    flags = array.flags
    return bool(flags.c_contiguous and flags.writeable)


def digest(array: NDArray[Any]) -> np.uint64:
    """Return the 64-bit digest of an array of numbers;
    its shape does not matter, its type, length and bytes do.
    """
    seed, data = _seed(array.dtype), _bytes(array)
    left = data.size % 8
    whole = data.size - left
    words = (data[:whole] if left else data).view(np.uint64)
    if not words.flags.aligned:  # a slice of small numbers that begins between words
        words = words.copy()
    return np.uint64(xxh64(words, data[whole:], seed))


def column_digests(columns: Mapping[str, NDArray[Any]], team: Team = ALONE) -> NDArray[np.uint64]:
    """Return the digest of every column, shape (k,), in the order of the mapping."""
    return ColumnDigests().of(list(columns.values()), team)


class ColumnDigests:
    """Digests columns tick after tick. While they are the same arrays it is known where their bytes are."""

    def __init__(self) -> None:
        self._arrays: list[NDArray[Any]] = []
        self._calls: list[tuple[tuple[NDArray[np.uint8], ...], NDArray[np.uint64], int]] = []

    def of(self, arrays: list[NDArray[Any]], team: Team = ALONE) -> NDArray[np.uint64]:
        """Return the digest of each array, shape (k,)."""
        if len(arrays) != len(self._arrays) or not all(map(operator.is_, arrays, self._arrays)):
            self._look_at(arrays)
        out = np.empty(len(self._calls) * _AT_ONCE, dtype=np.uint64)
        for number, (data, seeds, at_least) in enumerate(self._calls):
            found = out[number * _AT_ONCE : (number + 1) * _AT_ONCE]
            team.run(digest_each, _AT_ONCE, data, seeds, found, at_least=at_least)
        return out[: len(arrays)]

    def _look_at(self, arrays: list[NDArray[Any]]) -> None:
        data, seeds = [_bytes(array) for array in arrays], _seeds(tuple(array.dtype for array in arrays))
        self._calls = []
        for first in range(0, len(data), _AT_ONCE):
            own = data[first : first + _AT_ONCE]
            at_least = 1 if sum(map(len, own)) >= _SHARED_BYTES else _AT_ONCE
            call = (*own, *_NO_BYTES[len(own) :]), seeds[first : first + _AT_ONCE], at_least
            self._calls.append(call)
        # bytes that had to be copied are those of this tick
        self._arrays = arrays if all(map(_shows_bytes, arrays)) else []


@cache
def _seeds(dtypes: tuple[np.dtype[Any], ...]) -> NDArray[np.uint64]:
    """Return the seeds of so many columns, and zeros until calls of `digest_each` are full."""
    seeds = np.zeros(-(-len(dtypes) // _AT_ONCE) * _AT_ONCE, dtype=np.uint64)
    seeds[: len(dtypes)] = [_seed(dtype) for dtype in dtypes]
    return seeds


def block_digests(array: NDArray[Any], rows: int) -> NDArray[np.uint64]:
    """Return the digest of every block of `rows` rows, shape (ceil(n / rows),).

    Parameters
    ----------
    array : (n, ...) of numbers
        One row is an agent.
    rows : int, a multiple of 8
        Then blocks of any type begin at a whole word; the last block is filled up with zero bytes to one.
    """
    if rows < 8 or rows % 8:
        raise ValueError(f"rows is {rows}, but a block has a multiple of 8 rows")
    out = np.empty(-(-len(array) // rows), dtype=np.uint64)
    if out.size == 0:
        return out
    seed, data = _seed(array.dtype), _bytes(array)
    per_row = data.size // len(array)
    if data.size % 8:
        data = np.concatenate((data, np.zeros(-data.size % 8, dtype=np.uint8)))
    words = data.view(np.uint64)
    block_xxh64(
        words if words.flags.aligned else words.copy(),
        rows * per_row // 8,
        seed ^ np.uint64(len(array) << 16),
        out,
    )
    return out


def run_digest(digests: NDArray[np.uint64], start: int = 0) -> int:
    """Return the one number of a run: the fold of its digests per tick and column.

    Parameters
    ----------
    digests : (n, k) uint64
        One row for each tick, as `column_digests` returns it.
    start : int
        The number of the ticks before; 0 is none.
    """
    return int(fold_digests(np.require(digests, np.uint64, ["C", "W"]), np.uint64(start)))
