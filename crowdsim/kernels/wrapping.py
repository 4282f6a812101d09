"""The entry from Python into a kernel: its arguments as numbers.

numba writes the same dozen instructions and branches for each array that it is given, and a kernel is given
some fifty, most of them in named tuples. Here they are a function that is called for each array.

A kernel for ranges of rows, whose first two arguments are where a range begins and ends, has a second entry,
for teams: it takes the arguments apart once, has the threads of a team share the ranges, and returns what
each range gave.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core import types as _types
from numba.core.callwrapper import PyCallWrapper, _ArgManager
from numba.core.pythonapi import NativeValue, PythonAPI
from numba.np import numpy_support

from crowdsim.kernels.fitting import can_be_checked, check
from crowdsim.kernels.ranges import PARTS, bounds, finish, offer, read

types: Any = _types  # whose annotations lack most of it
_I64 = ir.IntType(64)
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
    """What Python calls.

    With one argument more than the kernel has, whatever it is, it returns `NotImplemented` unless the others
    are of the very types that it was made for. Without it numba has looked at them.
    """

    def build(self) -> Any:
        """Write the function."""
        return self._build(self.fndesc.llvm_cpython_wrapper_name)

    def _build(self, name: str) -> Any:
        pyobj = self.context.get_argument_type(types.pyobject)
        wrapper = ir.Function(self.module, ir.FunctionType(pyobj, [pyobj, pyobj, pyobj]), name=name)
        builder = ir.IRBuilder(wrapper.append_basic_block("entry"))
        api = _Api(self.context, builder)
        self.build_wrapper(api, builder, *wrapper.args)
        return wrapper, api

    def build_wrapper(self, api: Any, builder: Any, closure: Any, args: Any, kws: Any) -> None:
        """Take the arguments apart, work without the interpreter lock, and box what comes of it."""
        kinds, none = self.fndesc.argtypes, api.get_null_object()
        *objects, asks = (cgutils.alloca_once_value(builder, none) for _ in range(len(kinds) + 1))
        is_read = api.unpack_tuple(args, self.fndesc.qualname, len(kinds), len(kinds) + 1, *objects, asks)
        with cgutils.if_unlikely(builder, builder.icmp_unsigned("==", is_read, is_read.type(0))):
            builder.ret(none)
        failed, raises, unfit = (builder.append_basic_block(name) for name in ("arg.end", "raises", "unfit"))
        with builder.goto_block(failed):  # an integer, say, that has too many bits: numba knows what to say
            builder.cbranch(cgutils.is_null(builder, builder.load(asks)), raises, unfit)
        with builder.goto_block(raises):
            builder.ret(none)
        with builder.goto_block(unfit):
            api.err_clear()
            refused = api.get_c_object("_Py_NotImplementedStruct")
            api.incref(refused)
            builder.ret(refused)
        given = [builder.load(each) for each in objects]
        env_manager = self.get_env(api, builder)
        with builder.if_then(cgutils.is_not_null(builder, builder.load(asks))):
            if all(map(can_be_checked, kinds)):
                for each, kind in zip(given, kinds, strict=True):
                    check(api, env_manager, kind, each, unfit)
            else:
                builder.branch(unfit)
                builder.position_at_end(builder.append_basic_block("never"))
        manager = _ArgManager(self.context, builder, api, env_manager, failed, len(kinds))
        # what is left out is its default, which the kernel knows
        native = [
            None if isinstance(kind, types.Omitted) else manager.add_arg(each, kind)
            for each, kind in zip(given, kinds, strict=True)
        ]
        numbers = list(self.context.call_conv._get_arg_packer(kinds).as_arguments(builder, native))
        self._work(api, builder, env_manager, manager, numbers)

    def _work(self, api: Any, builder: Any, env_manager: Any, manager: Any, numbers: list[Any]) -> None:
        answer = cgutils.alloca_once(builder, self._answer())
        state = api.save_thread()
        self._call(builder, answer, numbers)
        api.restore_thread(state)
        manager.emit_cleanup()
        builder.ret(self._boxed(api, builder, env_manager, answer))

    def _answer(self) -> Any:
        """Return the type of what is kept of a call: how it ended, what it raised, and what it returned."""
        code, (value, excinfo, *_) = self.func.function_type.return_type, self.func.function_type.args
        return ir.LiteralStructType([code, excinfo.pointee, value.pointee])

    def _call(self, builder: Any, answer: Any, numbers: list[Any]) -> None:
        """Call the kernel, which stays a function of its own: in all entries the same code runs."""
        code, excinfo, value = (cgutils.gep_inbounds(builder, answer, 0, k) for k in range(3))
        builder.store(cgutils.get_null_value(value.type.pointee), value)
        builder.store(builder.call(self.func, [value, excinfo, *numbers], attrs=("noinline",)), code)

    def _boxed(self, api: Any, builder: Any, env_manager: Any, answer: Any) -> Any:
        """Return what a call returned, or raise what it raised."""
        convention, kind = self.context.call_conv, self._simplified_return_type()
        code, excinfo, value = (builder.load(cgutils.gep_inbounds(builder, answer, 0, k)) for k in range(3))
        status = convention._get_return_status(builder, code, excinfo)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.raise_error(builder, api, status)
            builder.ret(api.get_null_object())
        found = cgutils.alloca_once_value(builder, api.borrow_none())
        with builder.if_else(status.is_none) as (is_none, is_some):
            with is_none:
                api.incref(builder.load(found))
            with is_some:
                native = self.context.get_returned_value(builder, self.fndesc.restype, value)
                builder.store(api.from_native_return(kind, native, env_manager), found)
        return builder.load(found)


class _TeamWrapper(_Wrapper):
    """What a team calls, with the address of its control block and the number of rows in place of the first
    two arguments.

    It returns a list of what the kernel returned for each range.
    """

    def build(self) -> Any:
        """Write the function."""
        return self._build(team_entry_of(self.fndesc))

    def _work(self, api: Any, builder: Any, env_manager: Any, manager: Any, numbers: list[Any]) -> None:
        control, rows = builder.inttoptr(numbers[0], _I64.as_pointer()), numbers[1]
        parts = read(builder, control, PARTS, "monotonic")
        # where the ranges find what they need: the rows, the parts, their answers, and the arguments
        answers = builder.alloca(self._answer(), size=parts)
        shared = [rows, parts, answers, *numbers[2:]]
        work = builder.alloca(ir.LiteralStructType([each.type for each in shared]))
        for k, each in enumerate(shared):
            builder.store(each, cgutils.gep_inbounds(builder, work, 0, k))
        # before the interpreter lock is let go: a thread that is about to sleep holds it when it looks here
        offer(builder, control, self._range(work.type), work, parts)
        state = api.save_thread()
        finish(builder, control, parts)
        api.restore_thread(state)
        manager.emit_cleanup()
        boxed = api.list_new(parts)
        with cgutils.for_range(builder, parts) as loop:
            # where one raises, the list is left as it is: that is a few bytes, for a run that ends
            found = self._boxed(api, builder, env_manager, builder.gep(answers, [loop.index]))
            api.list_setitem(boxed, loop.index, found)
        builder.ret(boxed)

    def _range(self, kind: Any) -> Any:
        """Return a function that does one range of a call."""
        function = ir.Function(
            self.module, ir.FunctionType(ir.VoidType(), [_I64, _I64]), f"{self.func.name}.range"
        )
        function.linkage = "internal"
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        work, part = builder.inttoptr(function.args[0], kind), function.args[1]
        rows, parts, answers, *numbers = (
            builder.load(cgutils.gep_inbounds(builder, work, 0, k)) for k in range(len(kind.pointee.elements))
        )
        self._call(builder, builder.gep(answers, [part]), [*bounds(builder, rows, part, parts), *numbers])
        builder.ret_void()
        return function


def team_entry_of(fndesc: Any) -> str:
    """Return the name of the entry for teams."""
    return f"{fndesc.llvm_cpython_wrapper_name}.team"


def works_on_ranges(part: Any) -> bool:
    """Return whether a function that numba compiled is for teams."""
    return part.signature.args[:2] == (types.int64, types.int64) and not _holds_memory(
        part.signature.return_type
    )


def add_wrapper(library: Any, part: Any) -> None:
    """Add to a library the functions that Python calls, for one that numba compiled.

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
    for wrapper in (_Wrapper, _TeamWrapper) if works_on_ranges(part) else (_Wrapper,):
        module = target.create_module(wrapper.__name__)
        kind = target.call_conv.get_function_type(part.fndesc.restype, part.fndesc.argtypes)
        callee = ir.Function(module, kind, part.fndesc.llvm_func_name)
        with target.push_code_library(library):  # it is asked for what a cast needs, as that of a constant
            wrapper(
                target,
                module,
                callee,
                part.fndesc,
                part.environment,
                call_helper=part.call_helper,
                release_gil=True,
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
