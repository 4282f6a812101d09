"""A thread of a team at work: it takes ranges in compiled code, without the interpreter lock."""

# mypy: allow-untyped-defs

from __future__ import annotations

from functools import cache
from time import perf_counter_ns
from typing import Any

import numba
import numpy as np

from crowdsim.kernels import ranges
from crowdsim.kernels.decorator import lean_kernel

if numba.config.DISABLE_JIT:

    def take_range(desk: Any) -> bool:
        """Do one range of the call on a team's desk; return whether there was one."""
        return False

    def read_desk(desk: Any, word: Any) -> Any:
        """Return a number on a desk as it is in memory now."""
        return desk[word]

    def ease() -> None:
        """Let the processor's other thread have its units for a moment, where it has such."""

else:
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    def _words(context: Any, builder: Any, desk: Any) -> Any:
        return cgutils.create_struct_proxy(types.Array(types.int64, 1, "C"))(context, builder, desk).data

    @intrinsic
    def take_range(typing_context: Any, desk: Any) -> Any:
        """Do one range of the call on a team's desk; return whether there was one."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return ranges.take(builder, _words(context, builder, arguments[0]))

        return types.boolean(desk), generate

    @intrinsic
    def read_desk(typing_context: Any, desk: Any, word: Any) -> Any:
        """Return a number on a desk as it is in memory now."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.gep(_words(context, builder, arguments[0]), [arguments[1]])
            return builder.load_atomic(place, "acquire", 8)

        return types.int64(desk, types.int64), generate

    @intrinsic
    def ease(typing_context: Any) -> Any:
        """Let the processor's other thread have its units for a moment, where it has such."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            ranges.ease(builder)
            return context.get_dummy_value()

        return types.void(), generate


@lean_kernel
def serve(desk, looks):
    """Do ranges of a team's calls, until so many looks in turn at its desk have found none, or the team ends.

    Parameters
    ----------
    desk : (WORDS,) int64
        See `crowdsim.kernels.ranges`.
    looks : int, > 0
    """
    left = looks
    while left > 0 and read_desk(desk, ranges.STOP) == 0:
        if take_range(desk):
            left = looks
        else:
            ease()
            left -= 1


@cache
def looks_in(nanoseconds: int) -> int:
    """Return how often `serve` looks in so long a time."""
    desk, looks, least = np.zeros(ranges.WORDS, dtype=np.int64), 1000, 1 << 60
    serve(desk, 1)
    for _ in range(5):
        began = perf_counter_ns()
        serve(desk, looks)
        least = min(least, perf_counter_ns() - began)
    return max(1, nanoseconds * looks // max(1, least))
