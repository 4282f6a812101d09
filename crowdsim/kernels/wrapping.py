"""The entry from Python into a kernel: its arguments as numbers.

numba writes the same dozen instructions and branches for each array that it is given, and a kernel is given
some fifty, most of them in named tuples. Here they are a function that is called for each array.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core import types as _types
from numba.core.callwrapper import PyCallWrapper
from numba.core.pythonapi import NativeValue, PythonAPI
from numba.np import numpy_support

types: Any = _types  # whose annotations lack most of it
_WRONG = "an array has another type than the kernel was compiled for"


class _Api(PythonAPI):
    """Calls of Python's own functions, with shorter code that takes arrays and named tuples apart."""

    def to_native_value(self, typ: Any, obj: Any) -> Any:
        if isinstance(typ, types.Array):
            return self._array(typ, obj)
        if isinstance(typ, types.BaseNamedTuple):
            return self._named_tuple(typ, obj)
        return super().to_native_value(typ, obj)

    def _array(self, typ: Any, obj: Any) -> Any:
        place = self.context.make_array(typ)(self.context, self.builder)._getpointer()
        size = numpy_support.as_dtype(typ.dtype).itemsize
        failed = self.builder.call(
            self._adapt(), [obj, self.builder.bitcast(place, self.voidptr), ir.IntType(64)(size)]
        )
        return NativeValue(self.builder.load(place), is_error=failed)

    def _named_tuple(self, typ: Any, obj: Any) -> Any:
        builder, failed, values, cleanups = self.builder, cgutils.false_bit, [], []
        for k, field in enumerate(typ.types):
            native = self.to_native_value(field, self.tuple_getitem(obj, k))
            values.append(native.value)
            failed = builder.or_(failed, native.is_error)
            if native.cleanup is not None:
                cleanups.append(native.cleanup)

        def clean() -> None:
            for cleanup in reversed(cleanups):
                cleanup()

        return NativeValue(
            self.context.make_tuple(builder, typ, values),
            is_error=failed,
            cleanup=clean if cleanups else None,
        )

    def _adapt(self) -> Any:
        """Return a function (object, place, bytes of a number) that puts an array's numbers at a place and
        returns whether that failed; one for each module.
        """
        name = "crowdsim.adapt"
        if name in self.module.globals:
            return self.module.globals[name]
        function = ir.Function(
            self.module, ir.FunctionType(cgutils.bool_t, [self.pyobj, self.voidptr, ir.IntType(64)]), name
        )
        function.linkage = "internal"
        function.attributes.add("noinline")
        given, place, size = function.args
        builder = ir.IRBuilder(function.append_basic_block())
        api = PythonAPI(self.context, builder)
        array = self.context.make_array(types.Array(types.uint8, 1, "C"))(
            self.context, builder, ref=builder.bitcast(place, _header(self.context))
        )
        error = (
            api.nrt_adapt_ndarray_from_python(given, place)
            if self.context.enable_nrt
            else api.numba_array_adaptor(given, place)
        )
        failed = builder.or_(
            cgutils.is_not_null(builder, error), builder.icmp_unsigned("!=", array.itemsize, size)
        )
        with builder.if_then(failed, likely=False):
            api.err_set_string("PyExc_TypeError", _WRONG)
        builder.ret(failed)
        return function


def _header(context: Any) -> Any:
    """Return the address of what all arrays begin with."""
    return context.get_value_type(types.Array(types.uint8, 1, "C")).as_pointer()


class _Wrapper(PyCallWrapper):
    """What Python calls."""

    def build(self) -> Any:
        """Write the function as numba does, with our code that takes arguments apart."""
        pyobj = self.context.get_argument_type(types.pyobject)
        wrapper = ir.Function(
            self.module,
            ir.FunctionType(pyobj, [pyobj, pyobj, pyobj]),
            name=self.fndesc.llvm_cpython_wrapper_name,
        )
        builder = ir.IRBuilder(wrapper.append_basic_block("entry"))
        api = _Api(self.context, builder)
        self.build_wrapper(api, builder, *wrapper.args)
        return wrapper, api


def add_wrapper(library: Any, part: Any) -> None:
    """Add to a library the function that Python calls, for one that numba compiled.

    References to arrays are counted only where one could be returned: a kernel has nowhere else to keep what
    it is given.
    """
    target = part.target_context
    if (
        target.enable_nrt
        and not _holds_memory(part.signature.return_type)
        and all(map(_is_plain, part.signature.args))
    ):
        target = target.subtarget(enable_nrt=False)
    module = target.create_module("wrapper")
    kind = target.call_conv.get_function_type(part.fndesc.restype, part.fndesc.argtypes)
    callee = ir.Function(module, kind, part.fndesc.llvm_func_name)
    _Wrapper(
        target, module, callee, part.fndesc, part.environment, call_helper=part.call_helper, release_gil=True
    ).build()
    library.add_ir_module(module)


def _holds_memory(kind: Any) -> bool:
    if isinstance(kind, types.BaseTuple):
        return any(map(_holds_memory, kind.types))
    return not isinstance(kind, (types.Number, types.Boolean, types.NoneType))


def _is_plain(kind: Any) -> bool:
    """Return whether an argument is arrays and numbers; lists, say, count references by themselves."""
    if isinstance(kind, types.BaseTuple):
        return all(map(_is_plain, kind.types))
    return isinstance(kind, types.Array) or not _holds_memory(kind)
