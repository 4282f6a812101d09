"""The one decorator that compiles kernels, and the cache that keeps them.

Every compiled function of the package goes through `kernel`: nogil (so that `crowdsim.threads.Team` can run row ranges side by side),
fastmath off (so that a run is the same bit for bit on every processor), and cached on disk.

numba's own cache looks only at the file of the outermost function: after an edit of a helper or a constant in another file it goes on serving
the old machine code. The cache here is keyed by the *closure* of a kernel's module: the module's source and the sources of all modules of the
package that it imports, directly or not. An edit anywhere below a kernel therefore compiles it anew, and an edit elsewhere does not.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import caching

PACKAGE_ROOT = Path(__file__).resolve().parent
_compile_listeners: list[Callable[[str], None]] = []


def cache_directory() -> Path:
    """Return the folder that holds compiled kernels: `CROWDSIM_CACHE_DIR`, else the user's cache folder, else a temporary one."""
    explicit = os.environ.get("CROWDSIM_CACHE_DIR")
    if explicit:
        return Path(explicit)
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "crowdsim"
    try:
        base.mkdir(parents=True, exist_ok=True)
        if os.access(base, os.W_OK):
            return base
    except OSError:
        pass
    return Path(tempfile.gettempdir()) / f"crowdsim-{os.getuid()}"


@cache
def _imported_modules(path: Path) -> tuple[Path, ...]:
    """Return the package's files that the module at `path` imports, anywhere in its text."""
    found: set[Path] = set()
    package = ["crowdsim", *path.relative_to(PACKAGE_ROOT).parts[:-1]] if path.is_relative_to(PACKAGE_ROOT) else []
    for node in ast.walk(ast.parse(path.read_bytes())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            stem = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*stem, *([node.module] if node.module else [])])
            names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            if parts[0] != "crowdsim" or len(parts) < 2:
                continue
            target = PACKAGE_ROOT.joinpath(*parts[1:])
            for candidate in (target.with_suffix(".py"), target / "__init__.py"):
                if candidate.is_file():
                    found.add(candidate)
    return tuple(sorted(found))


@cache
def source_key(path: Path) -> str:
    """Return a hash of the module at `path` and of everything of the package that it imports, directly or through others."""
    pending, seen = [path], {path}
    while pending:
        for other in _imported_modules(pending.pop()):
            if other not in seen:
                seen.add(other)
                pending.append(other)
    digest = hashlib.blake2b(digest_size=10)
    for module in sorted(seen):
        digest.update(module.name.encode() + b"\0" + module.read_bytes() + b"\0")
    digest.update(f"{sys.version_info[:2]} {numba.__version__} {llvmlite.__version__}".encode())
    return digest.hexdigest()


def _processor_name() -> str:
    from llvmlite import binding

    return os.environ.get("NUMBA_CPU_NAME") or binding.get_host_cpu_name()


class _KernelLocator(caching._CacheLocator):
    """Place the compiled code of a function in a folder named by the hash of all sources below it."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        self._py_file = py_file
        self._lineno = py_func.__code__.co_firstlineno
        self._key = source_key(Path(py_file).resolve())

    def get_cache_path(self) -> str:
        return str(cache_directory() / f"{_processor_name()}-{self._key}")

    def get_source_stamp(self) -> str:
        return self._key

    def get_disambiguator(self) -> str:
        return str(self._lineno)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _KernelLocator | None:
        return cls(py_func, py_file) if Path(py_file).is_file() else None


class _KernelCacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = [_KernelLocator]


class _KernelCache(caching.FunctionCache):
    _impl_class = _KernelCacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # a damaged cache file costs a compilation, never a run
            found = None
        if found is None:
            for listener in _compile_listeners:
                listener(self._py_func.__name__)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError:  # a full or read-only disk: the kernel works, it is only compiled again next time
            pass


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


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    dispatcher = numba.njit(nogil=True, fastmath=False, error_model="numpy", **options)(function)
    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        dispatcher._cache = _KernelCache(function)
    return dispatcher
