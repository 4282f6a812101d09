"""How kernels are compiled: each function once, as a part of those that Python calls,
and machine code only for these.

numba makes of every function a whole of its own: optimised with all that it calls, with machine code, and
with two entries, one for Python and one for C. Of some 250 functions that a run compiles, 50 are called by
Python. The others stay here as they come from numba's front end (a `_Part`) and are linked, optimised and
turned into machine code once, in each kernel that Python calls. That takes less than half of the time, and
makes the same machine code.

Machine code is kept by a `Store` (`crowdsim.kernels.decorator` has one for each function) and loaded without
the compiler, whose tables alone take a quarter second.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import numba
from llvmlite import binding
from numba import _dynfunc
from numba.core import codegen, compiler, sigutils, typing
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys

from crowdsim.kernels.fitting import layout_is_known
from crowdsim.kernels.front_end import borrowing, front_end_of, remembering
from crowdsim.kernels.wrapping import add_wrapper, team_entry_of, works_on_ranges

# Begin the names of addresses that are those of one process.
_MADE_AT_RUN_TIME = (".numba.unresolved$", "numba.dynamic.globals")


_NO_MODULE = ModuleType("<dynamic>")
# So many entries of a kernel are asked whether they were made for some arguments: each takes a microsecond to
# refuse, and numba ten to find the right one.
_MOST_TRIED = 4


class Store:
    """Where machine code is kept, by the types of the arguments.

    This one keeps nothing: it is for functions whose sources are not, or no longer, what a file says:
    notebook cells, modules loaded again after an edit.
    """

    def load(self, args: tuple[Any, ...]) -> Any:
        """Return what was saved, or None."""

    def save(self, args: tuple[Any, ...], data: Any) -> None:
        """Keep something that can be pickled."""

    def claim(self, args: tuple[Any, ...], *, wait: bool) -> contextlib.AbstractContextManager[bool]:
        """Have other processes wait, or wait for them; false if another compiles this and we do not wait."""
        return contextlib.nullcontext(True)


class _Library(codegen.JITCodeLibrary):
    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            # numba prepares passes for each of hundreds of declarations as well
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)


class _Part(_Library):
    """One function as LLVM's code, without what it calls."""

    def __init__(self, owner: Any, name: str) -> None:
        super().__init__(owner, name)
        self.instructions = 0

    def add_ir_module(self, ir_module: Any) -> None:
        self.instructions += sum(
            len(block.instructions) for function in ir_module.functions for block in function.blocks
        )
        super().add_ir_module(ir_module)

    def add_linking_library(self, library: Any) -> None:
        self._linking_libraries.append(library)

    def finalize(self) -> None:
        self._finalized = True

    def own_module(self) -> Any:
        return super()._get_module_for_linking()

    def _get_module_for_linking(self) -> Any:
        """Return the code with all that it calls: a function of another package that numba compiles calls
        this one.
        """
        whole = self.own_module().clone()
        for library in _with_all_that_it_calls(self)[1:]:
            whole.link_in(_module_of(library), preserve=True)
        return whole


class _Whole(_Library):
    """A function with all that it calls, and its machine code."""

    def _optimize_functions(self, ll_module: Any) -> None:
        # the entry from Python is optimised with all the rest
        ll_module.data_layout = self._codegen._data_layout

    def link(self, part: _Part) -> None:
        for library in _with_all_that_it_calls(part):
            self._final_module.link_in(_module_of(library), preserve=True)


def _module_of(library: Any) -> Any:
    return library.own_module() if isinstance(library, _Part) else library._get_module_for_linking()


def _with_all_that_it_calls(part: _Part) -> list[Any]:
    """Return a part and the libraries of all that it calls, each once."""
    found: dict[Any, None] = {}
    pending: list[Any] = [part]
    while pending:
        library = pending.pop()
        if library not in found:
            found[library] = None
            if isinstance(library, _Part):
                pending += reversed(library._linking_libraries)
    return list(found)


def parts_of(whole: Any) -> dict[str, int]:
    """Return the functions that a part calls and itself, by name and types, with how much code each has:
    LLVM's instructions before any is left out.
    """
    return {
        library.name: library.instructions
        for library in _with_all_that_it_calls(whole.library)
        if isinstance(library, _Part)
    }


class _Flags(compiler.Flags):
    """Options that are compared at once: numba reads each of them anew wherever it looks for the code of a
    call, a tenth of its time.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Flags) and self._values == other._values

    def __hash__(self) -> int:
        return len(self._values)


class _PartCompiler(_FunctionCompiler):
    """Compiles a function to a `_Part`."""

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        flags = _Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        target = self.targetdescr.target_context
        types = hashlib.blake2b(repr(args).encode(), digest_size=4).hexdigest()
        library = _Part(target.codegen(), f"{self.py_func.__module__}.{self.py_func.__qualname__} {types}")
        return compiler.compile_extra(
            self.targetdescr.typing_context,
            target,
            self.py_func,
            args=args,
            return_type=return_type,
            flags=flags,
            locals=self.locals,
            library=library,
            pipeline_class=self.pipeline_class,
        )


def _wide(given: Any) -> Any:
    """Return the type that whole numbers share.

    numba compiles a function anew for a constant, for 32 bits and for 64, and everything that it calls with
    it: a quarter of all code, for nothing, since small functions are inlined with their constants anyway.
    """
    return numba.int64 if given == numba.int32 or isinstance(given, numba.types.IntegerLiteral) else given


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """Keep the collector of garbage from going through all that the compiler holds, again and again."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class _Kept(NamedTuple):
    """What a whole is made of again in another process."""

    code: bytes
    entry: str
    team_entry: str | None
    environment: Any
    environments: tuple[Any, ...]  # of the parts
    constants: tuple[tuple[Any, ...], ...]  # of all these
    signature: Any
    name: str


def _environments(whole: Any) -> tuple[Any, ...]:
    """Return the environments of parts that hold something: each brings the module of its function along."""
    return tuple(each for each in whole._find_referenced_environments() if each.consts)


def _first(entry: Any, entries: list[Any]) -> list[Any]:
    """Return a list with an entry before all others; another thread may be reading the old one."""
    return [entry, *(each for each in entries if each is not entry)]


class KernelDispatcher(CPUDispatcher):
    """A function that numba compiles: a part for those that call it, a whole for Python.

    Parameters
    ----------
    function : callable
    store : callable
        Returns the `Store` of a function; called when the first whole is asked for.
    listeners : list of callable
        Called with the function's name before a whole is compiled.
    options : bool
        Of numba.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        store: Callable[[Callable[..., Any]], Store],
        listeners: list[Callable[[str], None]],
        **options: Any,
    ) -> None:
        # numba asks for it three times, of hundreds of functions
        function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        super().__init__(function, targetoptions={"nopython": True, "boundscheck": None, **options})
        self._parts: dict[Any, Any] = {}
        self._compiler: Any = _PartCompiler(
            function, self.targetdescr, self.targetoptions, {}, front_end_of(function)
        )
        self._store_of, self._listeners = store, listeners
        self._store: Store | None = None
        self._arguments = len(function.__signature__.parameters)  # type: ignore[attr-defined]
        self.team_entries: dict[Any, Any] = {}  # by the types of arguments
        # the last ones first: what Python calls, and what teams call
        self._entries: list[Any] = []
        self._last_team_entries: list[Any] = []

    @property
    def store(self) -> Store:
        """Where machine code of this function is kept."""
        if self._store is None:
            self._store = self._store_of(self.py_func)
        return self._store

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the kernel."""
        entries = self._entries
        if entries and len(args) == self._arguments and not kwargs:
            found = entries[0](*args, True)
            if found is not NotImplemented:
                return found
            for entry in entries[1:_MOST_TRIED]:
                found = entry(*args, True)
                if found is not NotImplemented:
                    self._entries = _first(entry, entries)
                    return found
        return super().__call__(*args, **kwargs)

    def on_team(self, control: int, rows: int, *args: Any) -> list[Any]:
        """Have a team share the rows of a call; return what the kernel returned for each range.

        Parameters
        ----------
        control : int
            Address of what `crowdsim.kernels.ranges` calls a control block.
        rows : int
        *args
            All arguments but the first two; those that are left out are their defaults.

        Raises
        ------
        TypeError
            If it is no kernel for ranges of rows.
        """
        given = (control, rows, *args)
        if len(given) == self._arguments:
            for entry in self._last_team_entries[:_MOST_TRIED]:
                found = entry(*given, True)
                if found is not NotImplemented:
                    if entry is not self._last_team_entries[0]:
                        self._last_team_entries = _first(entry, self._last_team_entries)
                    return found
        elif len(given) < self._arguments:
            given += (self.py_func.__defaults__ or ())[len(given) - self._arguments :]
        kinds = tuple(map(self.typeof_pyval, given))
        if kinds not in self.team_entries:
            self.compile(kinds)
        if kinds not in self.team_entries:
            raise TypeError(
                f"{self.py_func.__name__} is no kernel for a team: it must return numbers or nothing, and "
                "its first two arguments must be whole numbers, the first row of a range and the one after "
                "its last."
            )
        entry = self.team_entries[kinds]
        if layout_is_known():
            self._last_team_entries = _first(entry, self._last_team_entries)
        return entry(*given)

    def add_overload(self, cres: Any) -> None:
        """Have Python call something for the types of arguments that it was made for."""
        super().add_overload(cres)
        if layout_is_known() and not self.__defaults__:
            self._entries = _first(cres.entry_point, self._entries)
            for_teams = self.team_entries.get(tuple(cres.signature.args))
            if for_teams is not None:
                self._last_team_entries = _first(for_teams, self._last_team_entries)

    # What numba asks of a function that another calls.

    _kind: Callable[[Any], Any] = staticmethod(_wide)

    @property
    def nopython_signatures(self) -> list[Any]:
        """Signatures for which there is a part."""
        return [part.signature for part in self._parts.values()]

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return how a call with arguments of these types is typed, once there is a part for it."""
        pysig, folded = self._compiler.fold_argument_types(
            tuple(map(self._kind, args)), {name: self._kind(given) for name, given in dict(kws).items()}
        )
        self._part(tuple(folded))
        name = self.py_func.__name__
        return (
            typing.make_concrete_template(
                f"CallTemplate({name})", key=name, signatures=self.nopython_signatures
            ),
            pysig,
            folded,
            {},
        )

    def get_overload(self, sig: Any) -> Any:
        """Return what numba knows the code of a part by."""
        return self._parts[tuple(sigutils.normalize_signature(sig)[0])].entry_point

    # What Python calls.

    def compile(self, sig: Any) -> Any:
        """Return what Python calls for arguments of some types; load or compile it if there is none yet."""
        args = tuple(sigutils.normalize_signature(sig)[0])
        with global_compiler_lock:
            if not self.load(args):
                with self.store.claim(args, wait=True):
                    self._load_or_make(args)
            return self.overloads[args].entry_point

    def compile_unless_another_does(self, args: tuple[Any, ...]) -> bool:
        """Compile a whole if there is none and no other process is about to; return whether it is there."""
        with global_compiler_lock:
            if not self.load(args):
                with self.store.claim(args, wait=False) as is_ours:
                    if is_ours:
                        self._load_or_make(args)
            return args in self.overloads

    def load(self, args: tuple[Any, ...]) -> bool:
        """Load a whole, if it is kept; return whether it is there."""
        with global_compiler_lock:
            if args not in self.overloads:
                kept = self.store.load(args)
                if kept is not None:
                    self.add_overload(self._loaded(_Kept(*kept)))
            return args in self.overloads

    def _load_or_make(self, args: tuple[Any, ...]) -> None:
        if not self.load(args):
            for listener in tuple(self._listeners):
                listener(self.py_func.__name__)
            with without_collections(), remembering(), borrowing(_borrow):
                whole = self._whole(args)
            self.add_overload(whole)
            if not any(
                name.startswith(_MADE_AT_RUN_TIME)
                for name in (each.name for each in whole.library._final_module.global_variables)
            ):
                self.store.save(args, tuple(self._reduced(whole)))

    def _part(self, args: tuple[Any, ...]) -> Any:
        with global_compiler_lock, self._compiling_counter:
            if args not in self._parts:
                part = self._compiler.compile(args, None)._replace(entry_point=object())
                self.targetctx.insert_user_function(part.entry_point, part.fndesc, [part.library])
                self._parts[args] = part
            return self._parts[args]

    def _whole(self, args: tuple[Any, ...]) -> Any:
        part = self._part(args)
        target, library = part.target_context, _Whole(self.targetctx.codegen(), part.library.name)
        library.enable_object_caching()
        add_wrapper(library, part)
        library.link(part.library)
        entry = target.get_executable(library, part.fndesc, part.environment)
        whole = part._replace(entry_point=entry, library=library)
        if works_on_ranges(part):
            self.team_entries[args] = _dynfunc.make_function(
                part.fndesc.lookup_module(),
                part.fndesc.qualname.split(".")[-1],
                "what a team calls",
                library.get_pointer_to_function(team_entry_of(part.fndesc)),
                part.environment,
                (library,),
            )
        for environment in _environments(whole):
            library.codegen.set_env(environment.env_name, environment)
        return whole

    def _reduced(self, whole: Any) -> _Kept:
        code, fndesc, environments = whole.library._get_compiled_object(), whole.fndesc, _environments(whole)
        constants = tuple(tuple(each.consts) for each in (whole.environment, *environments))
        return _Kept(
            code,
            fndesc.llvm_cpython_wrapper_name,
            team_entry_of(fndesc) if works_on_ranges(whole) else None,
            whole.environment,
            environments,
            constants,
            whole.signature,
            fndesc.qualname.split(".")[-1],
        )

    def _loaded(self, kept: _Kept) -> Any:
        target = self.targetctx
        rtsys.initialize(target)
        engine = target.codegen()._engine._ee
        engine.add_object_file(binding.ObjectFileRef.from_data(kept.code))
        engine.finalize_object()
        module = sys.modules.get(self.py_func.__module__, _NO_MODULE)

        def function(symbol: str) -> Any:
            return _dynfunc.make_function(
                module,
                kept.name,
                f"compiled {kept.name}",
                engine.get_function_address(symbol),
                kept.environment,
                (),
            )

        entry = function(kept.entry)
        if kept.team_entry is not None:
            self.team_entries[tuple(kept.signature.args)] = function(kept.team_entry)
        for environment, constants in zip(
            (kept.environment, *kept.environments), kept.constants, strict=True
        ):
            # A part was compiled here: numba hands out that one's, which lacks what the entry from Python
            # needs.
            if len(environment.consts) < len(constants):
                environment.consts[:] = constants
            target.codegen().set_env(environment.env_name, environment)
        return compiler.compile_result(
            entry_point=entry, signature=kept.signature, objectmode=False, environment=kept.environment
        )


class _Borrowed(KernelDispatcher):
    """What numba has for `min`, `numpy.empty` and others, as a part as well:
    by itself numba makes machine code of it, which is never called.
    """

    _kind = staticmethod(lambda given: given)


def _borrow(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    return lambda function: _Borrowed(function, _no_store, [], **options)


def _no_store(function: Callable[..., Any]) -> Store:
    raise AssertionError(f"{function.__name__} is called by kernels only")
