"""Numbers found by key, for thousands of keys at once: hash tables in arrays; equal keys brought together.

A table never loses a key. It is made with room for as many keys as there can be; when that is used up, a new
one is. A dict is its twin in the tests.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.kernels.growing import lazy_zeros

NONE = -1  # no number
# 64 keys, 512 bytes. With larger blocks there are more places to look at where two have come together; with
# smaller ones each of the first thousand requests touches a page of its own, which takes 4 us.
BLOCK_BITS = 6


class KeyTable(NamedTuple):
    """Keys, whole numbers from 0 on, and a number for each.

    Attributes
    ----------
    key, number : (n,) int64
        n is a power of two, and twice as many as there are keys at most. `key` is one more than the key, and
        0 where there is none: so an empty table is nothing but zeros, and a large one takes memory where it
        is written to.
    """

    key: NDArray[np.int64]
    number: NDArray[np.int64]


def make_table(keys: int) -> KeyTable:
    """Return an empty table with room for so many keys."""
    room = 2 << max(0, keys - 1).bit_length()
    return KeyTable(lazy_zeros(room), lazy_zeros(room))


@inlined_kernel
def place_of(table, key):
    """Return where a key is in a table, or is to be put."""
    # Keys that follow each other stay beside each other, in blocks: they lie on few pages of memory.
    mask, block = table.key.size - 1, key >> BLOCK_BITS
    # products of 32 and 31 bits: they have no overflow, compiled or not
    mixed = ((block & 0xFFFFFFFF) * 1640531527) ^ ((block >> 32) * 1103515245)
    mixed = (mixed ^ (mixed >> 29)) & (mask >> BLOCK_BITS)
    place = ((mixed << BLOCK_BITS) + (key & ((1 << BLOCK_BITS) - 1))) & mask
    while table.key[place] != key + 1 and table.key[place] != 0:
        place = (place + 1) & mask
    return place


@lean_kernel
def note_numbers(table, key, first):
    """Give keys, (k,), the numbers `first`, `first` + 1, ...; of a key that is there already the new one
    counts.
    """
    for i in range(key.size):
        place = place_of(table, key[i])
        table.key[place], table.number[place] = key[i] + 1, first + i


@lean_kernel
def _group(table, key, group, first, size):
    groups = 0
    for i in range(key.size):
        place = place_of(table, key[i])
        if table.key[place] == 0:
            table.key[place], table.number[place] = key[i] + 1, groups
            first[groups], size[groups] = i, 0
            groups += 1
        group[i] = table.number[place]
        size[group[i]] += 1
    return groups


class Groups(NamedTuple):
    """Which of some keys are equal.

    Attributes
    ----------
    first : (g,) int64
        Where the key of each group is for the first time; ascending.
    group : (k,) int64
        Of each key.
    size : (g,) int64
        How many keys each has.
    """

    first: NDArray[np.int64]
    group: NDArray[np.int64]
    size: NDArray[np.int64]


def group_equal(key: NDArray[Any]) -> Groups:
    """Bring equal keys, (k,) whole numbers from 0 on, together, in time that grows as their number."""
    key = np.ascontiguousarray(key, dtype=np.int64)
    group, first, size = (np.empty(len(key), dtype=np.int64) for _ in range(3))
    groups = _group(make_table(len(key)), key, group, first, size)
    return Groups(first[:groups].copy(), group, size[:groups].copy())
