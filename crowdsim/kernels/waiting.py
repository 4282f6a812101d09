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

    def take_range(control: Any) -> bool:
        """Do one range of the call in a team's control block; return whether there was one."""
        return False

    def read_control(control: Any, word: Any) -> Any:
        """Return a number in a control block as it is in memory now."""
        return control[word]

    def ease() -> None:
        """Let the processor's other thread have its units for a moment, where it has such."""

else:
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    def _words(context: Any, builder: Any, control: Any) -> Any:
        return cgutils.create_struct_proxy(types.Array(types.int64, 1, "C"))(context, builder, control).data

    @intrinsic
    def take_range(typing_context: Any, control: Any) -> Any:
        """Do one range of the call in a team's control block; return whether there was one."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return ranges.take(builder, _words(context, builder, arguments[0]))

        return types.boolean(control), generate

    @intrinsic
    def read_control(typing_context: Any, control: Any, word: Any) -> Any:
        """Return a number in a control block as it is in memory now."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.gep(_words(context, builder, arguments[0]), [arguments[1]])
            return builder.load_atomic(place, "acquire", 8)

        return types.int64(control, types.int64), generate

    @intrinsic
    def ease(typing_context: Any) -> Any:
        """Let the processor's other thread have its units for a moment, where it has such."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            ranges.ease(builder)
            return context.get_dummy_value()

        return types.void(), generate


@lean_kernel
def serve(control, looks, most):
    """Do ranges of a team's calls, until so many looks in turn at its control block have found none, `most`
    have in all, or the team ends.

    Parameters
    ----------
    control : (WORDS,) int64
        See `crowdsim.kernels.ranges`.
    looks, most : int, > 0

    Returns
    -------
    int
        How many looks have found none.
    """
    left, vain = looks, 0
    while left > 0 and vain < most and read_control(control, ranges.STOP) == 0:
        if take_range(control):
            left = looks
        else:
            ease()
            left -= 1
            vain += 1
    return vain


@cache
def look_ns() -> float:
    """Return how long a look of `serve` takes that finds nothing, ns."""
    control, looks, least = np.zeros(ranges.WORDS, dtype=np.int64), 1000, 1 << 60
    serve(control, 1, 1)
    for _ in range(5):
        began = perf_counter_ns()
        serve(control, looks, looks)
        least = min(least, perf_counter_ns() - began)
    return least / looks


def looks_in(nanoseconds: int) -> int:
    """Return how often `serve` looks in so long a time."""
    return max(1, int(nanoseconds / look_ns()))
