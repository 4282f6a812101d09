"""The operations of `crowdsim.kernels.simd` as generic LLVM vector code; see the package for what they do.

Each is a numba intrinsic that emits a handful of LLVM instructions on ``<16 x float>``, ``<16 x i32>`` or
``<16 x i1>``. Nothing here needs an instruction set: LLVM turns the vectors into one, two, four registers, or
single numbers, as the processor has it. `append_lanes` has two forms that do the same: it says which.
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

from crowdsim.kernels.decorator import inlined_kernel, made_for

WIDTH = 16
RECORD = 4  # Numbers of each record that `load_records` gives.
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
def load_records(typing, array, width, places, at):
    def generate(context, builder, sig, arguments):
        array_value, width_value, places_value, at_value = arguments
        quads = []
        for lane in range(WIDTH):
            place = _pointer(
                context, builder, sig.args[2], places_value, builder.add(at_value, _I64(lane)), 1
            )
            first = builder.mul(
                builder.zext(builder.extract_element(builder.load(place), _I32(0)), _I64), width_value
            )
            quad = builder.load(_pointer(context, builder, sig.args[0], array_value, first, RECORD))
            quad.align = 4
            quads.append(quad)
        while len(quads) > 1:  # Side by side: 8, 16, 32, 64 numbers.
            joined = ir.Constant(
                ir.VectorType(_I32, 2 * quads[0].type.count), list(range(2 * quads[0].type.count))
            )
            quads = [
                builder.shuffle_vector(a, b, joined) for a, b in zip(quads[::2], quads[1::2], strict=True)
            ]
        undefined = ir.Constant(quads[0].type, ir.Undefined)
        columns = [
            builder.shuffle_vector(
                quads[0],
                undefined,
                ir.Constant(ir.VectorType(_I32, WIDTH), list(range(number, RECORD * WIDTH, RECORD))),
            )
            for number in range(RECORD)
        ]
        return context.make_tuple(builder, sig.return_type, columns)

    return types.UniTuple(_KIND_OF[array.dtype], RECORD)(array, width, places, at), generate


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
def turn(typing, array, at, apart, target, to, apart_there):
    """Write sixteen rows as columns. Twin: `crowdsim.kernels.simd.plain.turn`."""

    def generate(context, builder, sig, arguments):
        source, at_value, apart_value, target_value, to_value, there_value = arguments
        rows = []
        for lane in range(WIDTH):
            first = builder.add(at_value, builder.mul(apart_value, _I64(lane)))
            row = builder.load(_pointer(context, builder, sig.args[0], source, first))
            row.align = 4
            rows.append(row)
        # Bit by bit of the number of a place, row and column change places: blocks of 8, of 4, of 2, of 1.
        for size in (8, 4, 2, 1):
            low = [place + (WIDTH if place & size else 0) - (place & size) for place in range(WIDTH)]
            high = [place + size for place in low]
            for one in range(WIDTH):
                if one & size:
                    continue
                a, b = rows[one], rows[one + size]
                rows[one], rows[one + size] = (
                    builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, WIDTH), order))
                    for order in (low, high)
                )
        for lane, column in enumerate(rows):
            first = builder.add(to_value, builder.mul(there_value, _I64(lane)))
            place = builder.store(column, _pointer(context, builder, sig.args[3], target_value, first))
            place.align = 4
        return context.get_dummy_value()

    return types.void(array, at, apart, target, to, apart_there), generate


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


def _append_half(begin: int) -> Callable[..., Any]:
    """Return the intrinsic that writes those of eight lanes from `begin` on that a row of the table lists."""

    @intrinsic
    def append(typing, array, at, lanes, table, row):
        def generate(context, builder, sig, arguments):
            array_value, at_value, lanes_value, table_value, row_value = arguments
            undefined = ir.Constant(lanes_value.type, ir.Undefined)
            half = builder.shuffle_vector(
                lanes_value, undefined, ir.Constant(ir.VectorType(_I32, 8), list(range(begin, begin + 8)))
            )
            row_pointer = _pointer(
                context, builder, sig.args[3], table_value, builder.shl(row_value, _I64(3)), 8
            )
            order = builder.load(row_pointer)
            order.align = 1
            order = builder.zext(order, ir.VectorType(_I32, 8))
            packed = ir.Constant(half.type, ir.Undefined)
            for lane in range(8):  # LLVM makes one permutation of it where the processor has that.
                one = builder.extract_element(half, builder.extract_element(order, _I32(lane)))
                packed = builder.insert_element(packed, one, _I32(lane))
            place = builder.store(packed, _pointer(context, builder, sig.args[0], array_value, at_value, 8))
            place.align = 4
            return context.get_dummy_value()

        return types.void(array, at, lanes, table, row), generate

    return append


_append_low, _append_high = _append_half(0), _append_half(8)


@inlined_kernel
def append_halves(array, at, mask, lanes):
    """Append lanes by two permutations, which processors with registers for eight numbers have.
    Twin: `crowdsim.kernels.simd.plain.append_lanes`.
    """
    chosen = bits(mask)
    low, high = chosen & np.uint64(255), chosen >> np.uint64(8)
    _append_low(array, at, lanes, _SET_BITS, low)
    _append_high(array, at + bit_count(low), lanes, _SET_BITS, high)


@intrinsic
def append_compressed(typing, array, at, mask, lanes):
    def generate(context, builder, sig, arguments):
        array_value, at_value, mask_value, lanes_value = arguments
        vector = lanes_value.type
        name = "llvm.experimental.vector.compress.v16" + ("f32" if sig.args[3] == FLOATS else "i32")
        function_type = ir.FunctionType(vector, [vector, mask_value.type, vector])
        packed = builder.call(
            cgutils.get_or_insert_function(builder.module, function_type, name),
            [lanes_value, mask_value, ir.Constant(vector, ir.Undefined)],
        )
        # Not stored by the same instruction: some processors take a hundred cycles for that.
        place = builder.store(packed, _pointer(context, builder, sig.args[0], array_value, at_value))
        place.align = 4
        return context.get_dummy_value()

    return types.void(array, at, mask, lanes), generate


# LLVM expands either on any processor. One instruction does the second where sixteen numbers are a register.
append_lanes = append_compressed if made_for("avx512f") else append_halves


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
