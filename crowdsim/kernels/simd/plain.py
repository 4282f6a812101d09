"""The operations of `crowdsim.kernels.simd` on numpy arrays of sixteen:
what runs without compilation, and the twin of the compiled ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH = 16
RECORD = 4  # Numbers of each record that `load_records` gives.


def load(array: NDArray[Any], at: Any) -> NDArray[Any]:
    """Return ``array[at:at + 16]``; uint32 becomes int32."""
    lanes = array[int(at) : int(at) + WIDTH].copy()
    return lanes.astype(np.int32) if lanes.dtype == np.uint32 else lanes


def load_records(
    array: NDArray[Any], width: Any, places: NDArray[np.uint32], at: Any
) -> tuple[NDArray[Any], ...]:
    """Return the first four numbers of the records of `width` numbers that `places[at:at + 16]` name."""
    first = places[int(at) : int(at) + WIDTH].astype(np.int64) * int(width)
    return tuple(array[first + number] for number in range(RECORD))


def store(array: NDArray[Any], at: Any, lanes: NDArray[Any]) -> None:
    """Write lanes to ``array[at:at + 16]``."""
    array[int(at) : int(at) + WIDTH] = lanes


def turn(array: NDArray[Any], at: Any, apart: Any, target: NDArray[Any], to: Any, apart_there: Any) -> None:
    """Write sixteen rows as columns: ``array[at + k * apart + j]`` goes to
    ``target[to + j * apart_there + k]``.
    """
    each = np.arange(WIDTH)
    rows = array[int(at) + each[:, None] * int(apart) + each]
    target[int(to) + each[:, None] * int(apart_there) + each] = rows.T


def difference(array: NDArray[np.float64], at: Any, x: Any) -> NDArray[np.float32]:
    """Return ``array[at:at + 16] - x``, rounded to float32 after the subtraction."""
    with np.errstate(over="ignore"):
        return (array[int(at) : int(at) + WIDTH] - x).astype(np.float32)


def prefetch(array: NDArray[Any], at: Any) -> None:
    """Do nothing."""


def spread(x: Any) -> NDArray[Any]:
    """Return the number in each lane."""
    return np.full(WIDTH, x)


def numbers() -> NDArray[np.int32]:
    """Return 0, 1, ..., 15."""
    return np.arange(WIDTH, dtype=np.int32)


def choose(mask: NDArray[np.bool_], a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return a where the mask is true, else b."""
    return np.where(mask, a, b)


def root(a: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the square roots; nan of negative numbers."""
    with np.errstate(invalid="ignore"):
        return np.sqrt(a)


def magnitude(a: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the absolute values."""
    return np.abs(a)


def _fold(lanes: NDArray[np.float32], smaller: bool) -> np.float32:
    for width in (8, 4, 2, 1):
        low, high = lanes[:width], lanes[width:]
        lanes = np.where(low < high if smaller else low > high, low, high)
    return lanes[0]


def least(a: NDArray[np.float32]) -> np.float32:
    """Return the least of the lanes."""
    return _fold(a, True)


def greatest(a: NDArray[np.float32]) -> np.float32:
    """Return the greatest of the lanes."""
    return _fold(a, False)


def total(a: NDArray[np.int32]) -> np.int32:
    """Return the sum of int32 lanes."""
    return np.int32(a.sum())


def bits(mask: NDArray[np.bool_]) -> np.uint64:
    """Return the uint64 whose bit k tells lane k."""
    return np.uint64(sum(1 << k for k in range(WIDTH) if mask[k]))


def bit_count(u: Any) -> np.uint64:
    """Return how many bits are set."""
    return np.uint64(int(u).bit_count())


def first_bit(u: Any) -> np.uint64:
    """Return the number of the lowest set bit."""
    return np.uint64((int(u) & -int(u)).bit_length() - 1)


def append_lanes(array: NDArray[Any], at: Any, mask: NDArray[np.bool_], lanes: NDArray[Any]) -> None:
    """Write the lanes for which the mask is true, from `at` on."""
    some = lanes[mask]
    array[int(at) : int(at) + len(some)] = some
