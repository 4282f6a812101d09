"""The operations of `crowdsim.kernels.simd` as generic LLVM vector code; see the package for what they do.

Each is a numba intrinsic that emits a handful of LLVM instructions on ``<16 x float>``, ``<16 x i32>`` or
``<16 x i1>``. Nothing here names an instruction set: LLVM turns the vectors into one, two, four registers, or
single numbers, as the processor has it.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from crowdsim.kernels.decorator import inlined_kernel

WIDTH = 16
_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_ELEMENT = {"float32": ir.FloatType(), "int32": _I32, "truth": ir.IntType(1)}


class Lanes(types.Type):
    """Sixteen numbers or truth values side by side; exists inside kernels only."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(name=f"lanes({kind})")

    @property
    def vector(self) -> ir.VectorType:
        """The LLVM type."""
        return ir.VectorType(_ELEMENT[self.kind], WIDTH)


FLOATS, INTEGERS, TRUTHS = Lanes("float32"), Lanes("int32"), Lanes("truth")
_KIND_OF = {types.float32: FLOATS, types.int32: INTEGERS, types.uint32: INTEGERS}


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        super().__init__(manager, lanes, lanes.vector)


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, at: Any, width: int = WIDTH) -> Any:
    """Return the address of ``array[at]`` as that of a vector."""
    data = context.make_array(array_type)(context, builder, array).data
    vector = ir.VectorType(context.get_data_type(array_type.dtype), width)
    return builder.bitcast(builder.gep(data, [at]), vector.as_pointer())


def _splat(builder: Any, x: Any, width: int = WIDTH) -> Any:
    vector = ir.VectorType(x.type, width)
    undefined = ir.Constant(vector, ir.Undefined)
    return builder.shuffle_vector(
        builder.insert_element(undefined, x, _I32(0)),
        undefined,
        ir.Constant(ir.VectorType(_I32, width), [0] * width),
    )


def _llvm(name: str, result: Any) -> Callable[..., Any]:
    """Return a generator of calls of the LLVM intrinsic `name`."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        function_type = ir.FunctionType(result, [argument.type for argument in arguments])
        return builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), arguments)

    return generate


@intrinsic
def load(typing, array, at):
    def generate(context, builder, sig, arguments):
        value = builder.load(_pointer(context, builder, sig.args[0], *arguments))
        value.align = 4
        return value

    return _KIND_OF[array.dtype](array, at), generate


@intrinsic
def store(typing, array, at, lanes):
    def generate(context, builder, sig, arguments):
        place = builder.store(
            arguments[2], _pointer(context, builder, sig.args[0], arguments[0], arguments[1])
        )
        place.align = 4
        return context.get_dummy_value()

    return types.void(array, at, lanes), generate


@intrinsic
def difference(typing, array, at, x):
    def generate(context, builder, sig, arguments):
        value = builder.load(_pointer(context, builder, sig.args[0], arguments[0], arguments[1]))
        value.align = 8
        return builder.fptrunc(builder.fsub(value, _splat(builder, arguments[2])), FLOATS.vector)

    return FLOATS(array, at, x), generate


@intrinsic
def prefetch(typing, array, at):
    def generate(context, builder, sig, arguments):
        data = context.make_array(sig.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        function_type = ir.FunctionType(ir.VoidType(), [address.type, _I32, _I32, _I32])
        builder.call(
            cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0"),
            [address, _I32(0), _I32(3), _I32(1)],
        )
        return context.get_dummy_value()

    return types.void(array, at), generate


@intrinsic
def spread(typing, x):
    return _KIND_OF[x](x), lambda context, builder, sig, arguments: _splat(builder, arguments[0])


@intrinsic
def numbers(typing):
    return INTEGERS(), lambda context, builder, sig, arguments: ir.Constant(
        INTEGERS.vector, list(range(WIDTH))
    )


@intrinsic
def choose(typing, mask, a, b):
    return a(mask, a, b), lambda context, builder, sig, arguments: builder.select(*arguments)


@intrinsic
def root(typing, a):
    return a(a), _llvm("llvm.sqrt.v16f32", FLOATS.vector)


@intrinsic
def magnitude(typing, a):
    return a(a), _llvm("llvm.fabs.v16f32", FLOATS.vector)


def _fold(sign: str) -> Callable[..., Any]:
    """Return a generator that halves the lanes until the one is left for which ``a sign b`` holds against all
    others.
    """

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        lanes = arguments[0]
        for width in (8, 4, 2, 1):
            undefined = ir.Constant(lanes.type, ir.Undefined)
            low, high = (
                builder.shuffle_vector(
                    lanes,
                    undefined,
                    ir.Constant(ir.VectorType(_I32, width), list(range(first, first + width))),
                )
                for first in (0, width)
            )
            lanes = builder.select(builder.fcmp_ordered(sign, low, high), low, high)
        return builder.extract_element(lanes, _I32(0))

    return generate


@intrinsic
def least(typing, a):
    return types.float32(a), _fold("<")


@intrinsic
def greatest(typing, a):
    return types.float32(a), _fold(">")


@intrinsic
def total(typing, a):
    return types.int32(a), _llvm("llvm.vector.reduce.add.v16i32", _I32)


@intrinsic
def bits(typing, mask):
    return types.uint64(mask), lambda context, builder, sig, arguments: builder.zext(
        builder.bitcast(arguments[0], ir.IntType(WIDTH)), _I64
    )


@intrinsic
def bit_count(typing, u):
    return types.uint64(u), lambda context, builder, sig, arguments: builder.ctpop(arguments[0])


@intrinsic
def first_bit(typing, u):
    return types.uint64(u), lambda context, builder, sig, arguments: builder.cttz(
        arguments[0], ir.IntType(1)(1)
    )


# Row b lists the set bits of the byte b, then zeros: eight small numbers are written in one go where a loop
# over bits would be mispredicted.
_SET_BITS = np.array(
    [([k for k in range(8) if byte >> k & 1] + [0] * 8)[:8] for byte in range(256)], dtype=np.uint8
).ravel()


@intrinsic
def _append_row(typing, array, at, base, table, row):
    def generate(context, builder, sig, arguments):
        array_value, at_value, base_value, table_value, row_value = arguments
        lanes = builder.load(
            _pointer(context, builder, sig.args[3], table_value, builder.shl(row_value, _I64(3)), 8)
        )
        lanes.align = 1
        wide = builder.zext(lanes, ir.VectorType(_I32, 8))
        shifted = builder.add(wide, _splat(builder, builder.trunc(base_value, _I32), 8))
        place = builder.store(shifted, _pointer(context, builder, sig.args[0], array_value, at_value, 8))
        place.align = 4
        return context.get_dummy_value()

    return types.void(array, at, base, table, row), generate


@inlined_kernel
def append_set(array, at, base, byte):
    """Write ``base + k`` for each bit k of `byte` to `array` from `at` on; see `crowdsim.kernels.simd`.
    Twin: `crowdsim.kernels.simd.plain.append_set`.
    """
    _append_row(array, at, base, _SET_BITS, byte)


def _operator(function: Any, kinds: dict[Lanes, Lanes], emit: Callable[[Any, Lanes, Any, Any], Any]) -> None:
    """Teach numba ``a function b`` for two lanes of the same kind; `kinds` gives the kind of the result."""

    @infer_global(function)
    class _Template(AbstractTemplate):
        def generic(self, arguments: Any, _keywords: Any) -> Any:
            if len(arguments) == 2 and arguments[0] == arguments[1] and arguments[0] in kinds:
                return signature(kinds[arguments[0]], *arguments)
            return None

    for kind in kinds:

        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any, kind: Lanes = kind) -> Any:
            return emit(builder, kind, *arguments)

        lower_builtin(function, kind, kind)(generate)


_operator(
    operator.add,
    {FLOATS: FLOATS, INTEGERS: INTEGERS},
    lambda builder, kind, a, b: builder.fadd(a, b) if kind == FLOATS else builder.add(a, b),
)
_operator(
    operator.sub,
    {FLOATS: FLOATS, INTEGERS: INTEGERS},
    lambda builder, kind, a, b: builder.fsub(a, b) if kind == FLOATS else builder.sub(a, b),
)
_operator(operator.mul, {FLOATS: FLOATS}, lambda builder, kind, a, b: builder.fmul(a, b))
_operator(operator.truediv, {FLOATS: FLOATS}, lambda builder, kind, a, b: builder.fdiv(a, b))
_operator(operator.and_, {TRUTHS: TRUTHS}, lambda builder, kind, a, b: builder.and_(a, b))
_operator(operator.or_, {TRUTHS: TRUTHS}, lambda builder, kind, a, b: builder.or_(a, b))


def _comparison(sign: str) -> Callable[[Any, Lanes, Any, Any], Any]:
    return lambda builder, kind, a, b: (
        builder.fcmp_ordered(sign, a, b) if kind == FLOATS else builder.icmp_signed(sign, a, b)
    )


for _function, _sign in (
    (operator.lt, "<"),
    (operator.le, "<="),
    (operator.gt, ">"),
    (operator.ge, ">="),
    (operator.eq, "=="),
    (operator.ne, "!="),
):
    _operator(_function, {FLOATS: TRUTHS, INTEGERS: TRUTHS}, _comparison(_sign))
