"""The one decorator that compiles kernels, and the cache that keeps them.

Every compiled function of the package goes through `kernel`: nogil (so that `crowdsim.threads.Team` can run row ranges side by side),
fastmath off (so that a run is the same bit for bit on every processor), and cached on disk.

numba's own cache looks only at the file of the outermost function: after an edit of a helper or a constant in another file it goes on serving
the old machine code. The cache here is keyed by all source files below a kernel's module (`crowdsim.sources`): an edit anywhere below a kernel
compiles it anew, and an edit elsewhere does not. What numbers a kernel takes from its module must follow from these sources.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import llvmlite
import numba
from numba.core import caching

from crowdsim.cache_folder import cache_directory, keep, read_kept
from crowdsim.sources import edited_since_start, source_key

_compile_listeners: list[Callable[[str], None]] = []


def _processor_name() -> str:
    from llvmlite import binding

    return os.environ.get("NUMBA_CPU_NAME") or binding.get_host_cpu_name()


def _key(file: Path) -> str:
    """Return what the folder of a module's kernels is named by: its sources, and what else decides about machine code."""
    config = numba.config
    return source_key(file, f"{sys.version_info[:2]} {numba.__version__} {llvmlite.__version__} {config.OPT} {config.BOUNDSCHECK}")


def _folder(key: str) -> Path:
    return cache_directory() / f"{_processor_name()}-{key}"


def kernel_folder(file: Path) -> Path:
    """Return the folder that holds the compiled kernels of a source file as it is now, for this processor, Python and numba."""
    return _folder(_key(file.resolve()))


class _KernelLocator(caching._CacheLocator):
    """Place the compiled code of a function in a folder named by the hash of all sources below it."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        self._py_file = py_file
        self._lineno = py_func.__code__.co_firstlineno
        self._key = _key(Path(py_file).resolve())

    def get_cache_path(self) -> str:
        return str(_folder(self._key))

    def ensure_cache_path(self) -> None:
        """Do nothing: `keep` makes the folder, for this user alone."""

    def get_source_stamp(self) -> str:
        return self._key

    def get_disambiguator(self) -> str:
        return str(self._lineno)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _KernelLocator | None:
        return cls(py_func, py_file)


class _OverloadFiles(caching.IndexDataCacheFile):
    """One file for each set of argument types, named by them.

    numba numbers these files in an index that it reads, changes and writes: of two processes that compile at once, one may be given the code that
    the other made for other types. Without an index there is nothing to disagree on; a file comes into being whole, by renaming.
    """

    def _name(self, key: Any) -> str:
        return f"{self._index_name.removesuffix('.nbi')}.{hashlib.blake2b(repr(key).encode(), digest_size=8).hexdigest()}.nbc"

    def save(self, key: Any, data: Any) -> None:
        """Write the compiled code for a key."""
        keep(Path(self._data_path(self._name(key))), self._dump((key, data)))

    def load(self, key: Any) -> Any:
        """Return the compiled code for a key, or None."""
        found = read_kept(Path(self._data_path(self._name(key))))
        if found is None:
            return None
        kept, data = pickle.loads(found)  # nobody but this user and root can have written it
        return data if kept == key else None


class _KernelCacheImpl(caching.CompileResultCacheImpl):
    _locator_classes: ClassVar[list[type]] = [_KernelLocator]


def _tell_compiler_runs(function: Callable[..., Any]) -> None:
    for listener in tuple(_compile_listeners):
        listener(function.__name__)


class _KernelCache(caching.FunctionCache):
    _impl_class = _KernelCacheImpl

    def __init__(self, py_func: Callable[..., Any], options: dict[str, bool]) -> None:
        super().__init__(py_func)
        name = "-".join([self._impl.filename_base, *(f"{name.strip('_')}={int(value)}" for name, value in options.items())])
        self._cache_file = _OverloadFiles(self._cache_path, name, self._impl.locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # a damaged cache file costs a compilation, never a run
            found = None
        if found is None:
            _tell_compiler_runs(self._py_func)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # a full or read-only disk: the kernel works, it is only compiled again next time
            super().save_overload(sig, data)


class _NoCache(caching.NullCache):
    """For functions whose sources are not, or no longer, what a file says: notebook cells, modules loaded again after an edit."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        self._py_func = py_func

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        _tell_compiler_runs(self._py_func)


def on_compile(listener: Callable[[str], None]) -> Callable[[], None]:
    """Call `listener(name)` before each kernel that has to be compiled, until the returned function is called."""
    _compile_listeners.append(listener)
    return lambda: _compile_listeners.remove(listener)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` at its first call.

    Integer arithmetic wraps, division by zero gives inf or nan as in numpy, and indices are not checked.
    Small kernels that are called by others are inlined by LLVM; nothing has to be said for that. For inner loops see `lean_kernel`.
    """
    return _compiled(function)


def lean_kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` like `kernel`, but for work on the arrays it is given: it can make none.

    numba counts references to arrays, atomically, wherever one is passed on or taken out of a tuple. In loops over agents that costs more than
    the work and keeps threads from running side by side. Without memory of its own a kernel needs no such counts.
    """
    return _compiled(function, _nrt=False)


def inlined_kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` like `lean_kernel`, and always as a part of the kernels that call it.

    For parts of inner loops: numba hands each array over as seven numbers. Machine code grows with every place that calls it.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def _share_integers(dispatcher: Any) -> None:
    """Let all kernels that call this one with one whole number or another share its code.

    numba compiles a function anew for a constant, for 32 bits and for 64, and everything that it calls with it: a quarter of all code, for nothing, since
    small functions are inlined with their constants anyway.
    """
    template = dispatcher.get_call_template

    def shared(args: Any, kws: Any) -> Any:
        return template(tuple(map(_wide, args)), {name: _wide(given) for name, given in dict(kws).items()})

    dispatcher.get_call_template = shared


def _wide(given: Any) -> Any:
    return numba.int64 if given == numba.int32 or isinstance(given, numba.types.IntegerLiteral) else given


def _compiled(function: Callable[..., Any], **options: bool) -> Any:
    dispatcher: Any = numba.njit(nogil=True, fastmath=False, error_model="numpy", **options)(function)
    if not numba.config.DISABLE_JIT:
        _share_integers(dispatcher)
    if not numba.config.DISABLE_JIT:
        file = Path(inspect.getfile(function))
        dispatcher._cache = _KernelCache(function, options) if file.is_file() and not edited_since_start(file.resolve()) else _NoCache(function)
    return dispatcher
