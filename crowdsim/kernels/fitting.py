"""Whether what Python gives is what machine code was made for, as LLVM's code.

numba finds the code for a call by the types of all arguments, which it writes down as a text first: three
quarters of what a call takes. Here the code itself looks: at the kinds of numbers, the dimensions and
flags of arrays, the classes and lengths of tuples. It reads them where Python and numpy keep them;
`layout_is_known` says whether they do so at the places that are written here.
"""

from __future__ import annotations

import ctypes
import sysconfig
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.core import types as _types
from numba.np import numpy_support

types: Any = _types  # whose annotations lack most of it

# Where things are kept, in bytes from where an object begins: its type, of a type its name, of an array its
# dimensions, its dtype and its flags, and of a dtype the letter of its numbers and the order of their bytes.
_TYPE, _NAME = 8, 24
_DIMENSIONS, _DTYPE, _FLAGS = 24, 56, 64
_LETTER, _ORDER = 25, 26
_C, _F, _ALIGNED, _WRITEABLE = 0x1, 0x2, 0x100, 0x400  # of the flags
_EQUAL = 2  # of what Python's C interface compares for
_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_BYTES = _I8.as_pointer()
# Types that something comes as, where these have other names.
_NAMES = {
    types.boolean: ("bool", "numpy.bool", "numpy.bool_"),
    types.int64: ("int", "numpy.int64"),
    types.float64: ("float", "numpy.float64"),
    types.none: ("NoneType",),
}


@cache
def layout_is_known() -> bool:
    """Return whether Python and numpy keep things where this file reads them."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False

    class Probe(NamedTuple):
        x: float

    def read(kind: Any, address: int) -> Any:
        return kind.from_address(address).value

    def name_of(given: Any) -> bytes | None:
        return read(ctypes.c_char_p, read(ctypes.c_void_p, id(given) + _TYPE) + _NAME)

    def seen(array: Any) -> tuple[Any, ...]:
        """Return whether its dtype is where it is looked for, its dimensions and flags, and of the dtype the
        letter and the order of bytes.
        """
        dtype = read(ctypes.c_void_p, id(array) + _DTYPE)
        flags = read(ctypes.c_int, id(array) + _FLAGS)
        return (
            dtype == id(array.dtype),
            read(ctypes.c_int, id(array) + _DIMENSIONS),
            flags & (_C | _F | _ALIGNED | _WRITEABLE),
            read(ctypes.c_char, dtype + _LETTER),
            read(ctypes.c_char, dtype + _ORDER),
        )

    frozen = np.zeros((3, 2), dtype=np.uint8).T
    frozen.flags.writeable = False
    return (
        [name_of(given) for given in (1, 1.0, True, Probe(1.0), (), np.float32(1), np.zeros(1), read)]
        == [b"int", b"float", b"bool", b"Probe", b"tuple", b"numpy.float32", b"numpy.ndarray", b"function"]
        and seen(np.zeros((3, 2))) == (True, 2, _C | _ALIGNED | _WRITEABLE, b"d", b"=")
        and seen(frozen) == (True, 2, _F | _ALIGNED, b"B", b"|")
        and seen(np.zeros(8)[::2]) == (True, 1, _ALIGNED | _WRITEABLE, b"d", b"=")
        and seen(np.zeros(2, dtype=">i4"))[-1] == b">"
    )


def can_be_checked(kind: Any) -> bool:
    """Return whether this file has a check for a type of an argument."""
    if isinstance(kind, types.BaseTuple):
        return all(map(can_be_checked, kind.types))
    if isinstance(kind, types.Array):
        return isinstance(kind.dtype, types.Record) or can_be_checked(kind.dtype)
    return kind in (types.boolean, types.none) or (
        isinstance(kind, types.Number) and not isinstance(kind, types.Literal)
    )


def check(api: Any, env_manager: Any, kind: Any, given: Any, unfit: Any) -> None:
    """Go on where an object is what a type says, else to the block `unfit`."""
    builder = api.builder
    if isinstance(kind, types.Array):
        mask, flags = _flags_of(kind)
        dtype = numpy_support.as_dtype(kind.dtype)
        numbers = [_I32(kind.ndim), _I32(mask), _I32(flags), _I8(ord(dtype.char))]
        _unless(builder, builder.call(_array_check(api), [given, *numbers]), unfit)
        if isinstance(kind.dtype, types.Record):
            its = _read(builder, given, _DTYPE, api.pyobj)
            wanted = env_manager.read_const(env_manager.add_const(dtype))
            _unless(builder, builder.icmp_signed("==", _are_equal(api, its, wanted), _I32(1)), unfit)
        return
    if isinstance(kind, types.BaseTuple):
        if isinstance(kind, types.BaseNamedTuple):
            wanted = env_manager.read_const(env_manager.add_const(kind.instance_class))
            its = _read(builder, given, _TYPE, api.pyobj)
            _unless(builder, builder.icmp_unsigned("==", its, wanted), unfit)
        else:
            _unless(builder, _is_a(api, given, ("tuple",)), unfit)
        size = api.tuple_size(given)
        _unless(builder, builder.icmp_signed("==", size, size.type(len(kind.types))), unfit)
        for k, each in enumerate(kind.types):
            check(api, env_manager, each, api.tuple_getitem(given, k), unfit)
        return
    _unless(builder, _is_a(api, given, _NAMES.get(kind, (f"numpy.{kind}",))), unfit)


def _are_equal(api: Any, one: Any, other: Any) -> Any:
    """Return 1 where two objects are equal."""
    kind = ir.FunctionType(_I32, [api.pyobj, api.pyobj, _I32])
    compare = cgutils.get_or_insert_function(api.module, kind, "PyObject_RichCompareBool")
    return api.builder.call(compare, [one, other, _I32(_EQUAL)])


def _unless(builder: Any, fits: Any, unfit: Any) -> None:
    following = builder.append_basic_block("fits")
    builder.cbranch(fits, following, unfit)
    builder.position_at_end(following)


def _flags_of(kind: Any) -> tuple[int, int]:
    """Return which flags of an array tell its type, and what they are then."""
    mask, flags = {"C": (_C, _C), "F": (_C | _F, _F), "A": (_C | _F, 0)}[kind.layout]
    if isinstance(kind.dtype, types.Record):  # numba asks their dtype instead
        return mask | _WRITEABLE, flags | _WRITEABLE * kind.mutable
    return mask | _ALIGNED | _WRITEABLE, flags | _ALIGNED * kind.aligned | _WRITEABLE * kind.mutable


def _is_a(api: Any, given: Any, names: tuple[str, ...]) -> Any:
    """Return whether an object is of a type with one of some names."""
    fits = cgutils.false_bit
    for name in names:
        text = api.context.insert_const_string(api.module, name)
        fits = api.builder.or_(fits, api.builder.call(_name_check(api), [given, text]))
    return fits


def _read(builder: Any, object_: Any, place: int, kind: Any) -> Any:
    address = builder.gep(builder.bitcast(object_, _BYTES), [_I64(place)])
    return builder.load(builder.bitcast(address, kind.as_pointer()))


def _name_check(api: Any) -> Any:
    """Return a function (object, name) that returns whether the object's type has the name."""
    function, builder = _function(api, "crowdsim.is_a", [api.pyobj, _BYTES])
    if builder is not None:
        given, wanted = function.args
        name = _read(builder, _read(builder, given, _TYPE, _BYTES), _NAME, _BYTES)
        compare = cgutils.get_or_insert_function(
            api.module, ir.FunctionType(_I32, [_BYTES, _BYTES]), "strcmp"
        )
        builder.ret(builder.icmp_signed("==", builder.call(compare, [name, wanted]), _I32(0)))
    return function


def _array_check(api: Any) -> Any:
    """Return a function (object, dimensions, mask and value of flags, letter of numbers) that returns whether
    the object is such an array.
    """
    is_a = _name_check(api)
    function, builder = _function(api, "crowdsim.is_array", [api.pyobj, _I32, _I32, _I32, _I8])
    if builder is not None:
        given, dimensions, mask, flags, letter = function.args
        looks = builder.append_basic_block("looks")
        other = builder.append_basic_block("other")
        text = api.context.insert_const_string(api.module, "numpy.ndarray")
        builder.cbranch(builder.call(is_a, [given, text]), looks, other)
        builder.position_at_end(other)
        builder.ret(cgutils.false_bit)
        builder.position_at_end(looks)
        dtype = _read(builder, given, _DTYPE, _BYTES)
        order = _read(builder, dtype, _ORDER, _I8)
        fits = builder.and_(
            builder.icmp_signed("==", _read(builder, given, _DIMENSIONS, _I32), dimensions),
            builder.icmp_signed("==", builder.and_(_read(builder, given, _FLAGS, _I32), mask), flags),
        )
        fits = builder.and_(fits, builder.icmp_signed("==", _read(builder, dtype, _LETTER, _I8), letter))
        is_native = builder.or_(*(builder.icmp_signed("==", order, _I8(ord(each))) for each in "=|"))
        builder.ret(builder.and_(fits, is_native))
    return function


def _function(api: Any, name: str, kinds: list[Any]) -> tuple[Any, Any]:
    """Return a function of a module that returns a truth value, and what writes it; None where it is written
    already.
    """
    if name in api.module.globals:
        return api.module.globals[name], None
    function = ir.Function(api.module, ir.FunctionType(cgutils.bool_t, kinds), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    return function, ir.IRBuilder(function.append_basic_block("entry"))
