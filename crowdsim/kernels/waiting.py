"""Waiting for another thread in compiled code, without the interpreter lock."""

# mypy: allow-untyped-defs

from __future__ import annotations

import platform
from functools import cache
from time import perf_counter_ns
from typing import Any

import numba
import numpy as np

from crowdsim.kernels.decorator import lean_kernel

if numba.config.DISABLE_JIT:

    def load_shared(array: Any, at: int) -> Any:
        """Return a number of an int64 array as it is in memory now: another thread may have written it."""
        return array[at]

    def ease() -> None:
        """Let the processor's other thread have its units for a moment, where it has such."""

else:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def load_shared(typing_context, array, at):
        """Return a number of an int64 array as it is in memory now: another thread may have written it."""

        def generate(context, builder, signature, arguments):
            data = cgutils.create_struct_proxy(array)(context, builder, arguments[0]).data
            place = builder.gep(data, [arguments[1]])
            return builder.load_atomic(place, "acquire", 8)

        return types.int64(array, types.int64), generate

    @intrinsic
    def ease(typing_context):
        """Let the processor's other thread have its units for a moment, where it has such."""

        def generate(context, builder, signature, arguments):
            if platform.machine() in ("x86_64", "AMD64"):
                kind = ir.FunctionType(ir.VoidType(), [])
                builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), kind), [])
            return context.get_dummy_value()

        return types.void(), generate


@lean_kernel
def watch(number, known, looks):
    """Look so many times whether a number, (1,) int64, is still the one that is known; return what it is."""
    for _ in range(looks):
        now = load_shared(number, 0)
        if now != known:
            return now
        ease()
    return known


@cache
def looks_in(nanoseconds: int) -> int:
    """Return how many times `watch` looks in so long a time; 0 without compilation, where it would hold the
    interpreter lock.
    """
    if numba.config.DISABLE_JIT:
        return 0
    number, looks, least = np.zeros(1, dtype=np.int64), 1000, 1 << 60
    watch(number, 0, 1)
    for _ in range(5):
        began = perf_counter_ns()
        watch(number, 0, looks)
        least = min(least, perf_counter_ns() - began)
    return max(1, nanoseconds * looks // max(1, least))
