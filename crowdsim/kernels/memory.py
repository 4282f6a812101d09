"""What kernels do with memory whatever it is of: bytes moved, fields of records."""

# mypy: allow-untyped-defs

from __future__ import annotations

import ctypes
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel

if numba.config.DISABLE_JIT:

    def move_bytes(to: int, source: int, count: int) -> None:
        """Move `count` bytes from one address to another; the two ranges may overlap."""
        ctypes.memmove(int(to), int(source), int(count))

else:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def move_bytes(typing_context, to, source, count):
        """Move `count` bytes from one address to another; the two ranges may overlap."""

        def generate(context, builder, signature, arguments):
            to, source, count = arguments
            pointer = ir.IntType(8).as_pointer()
            cgutils.raw_memmove(
                builder, builder.inttoptr(to, pointer), builder.inttoptr(source, pointer), count, 1
            )
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate


def with_fields(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of records whose fields kernels know by their names, also where nothing is compiled."""
    return array.view(np.recarray) if numba.config.DISABLE_JIT else array


def addresses_of(arrays: list[NDArray[Any]]) -> NDArray[np.int64]:
    """Return where the bytes of arrays begin, (k,); good for as long as the arrays are held."""
    return np.array([array.__array_interface__["data"][0] for array in arrays], dtype=np.int64)


@lean_kernel
def close_up(start, stop, address, row_bytes, gone, rows):
    """Move rows up over those that go, in the columns start..stop - 1.

    Parameters
    ----------
    start, stop : int
        Range of columns.
    address : (c,) int64
        Where the bytes of each begin.
    row_bytes : (c,) int64
        Bytes of one of its rows, of which one follows the other.
    gone : (k,) int64
        Ascending.
    rows : int
        How many there are.

    Notes
    -----
    Twin: a mask, in `tests/world/test_columns.py`.
    """
    for column in range(start, stop):
        first, size = address[column], row_bytes[column]
        for i in range(gone.size):
            begin = gone[i] + 1
            end = gone[i + 1] if i + 1 < gone.size else rows
            if end > begin:
                move_bytes(first + (begin - i - 1) * size, first + begin * size, (end - begin) * size)
