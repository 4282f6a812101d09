"""The one decorator that compiles kernels, and the cache that keeps them.

Every compiled function of the package goes through `kernel`: nogil (so that `crowdsim.kernels.threads.Team`
can run row ranges side by side), fastmath off (so that a run is the same bit for bit on every processor), and
cached on disk.

numba's own cache looks only at the file of the outermost function: after an edit of a helper or a constant in
another file it goes on serving the old machine code. The cache here is keyed by all source files below a
kernel's module (`crowdsim.kernels.sources`): an edit anywhere below a kernel compiles it anew, and an edit
elsewhere does not. What numbers a kernel takes from its module must follow from these sources.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import inspect
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import FunctionType
from typing import Any

import llvmlite
import numba
from numba.core import serialize

from crowdsim.kernels.cache_folder import cache_directory, keep, read_kept
from crowdsim.kernels.compiling import KernelDispatcher, Store
from crowdsim.kernels.sources import edited_since_start, source_key

# of numba, for all kernels
SETTINGS: dict[str, Any] = {"nogil": True, "fastmath": False, "error_model": "numpy"}

_compile_listeners: list[Callable[[str], None]] = []
_progress_listeners: list[Callable[[int, int], None]] = []


@cache
def _processor() -> str:
    """Return what machine code is made for: a processor, and a hash of the instructions that it has,
    since some are switched off in places.
    """
    from llvmlite import binding
    from numba.core.codegen import get_host_cpu_features

    features = get_host_cpu_features() if numba.config.CPU_FEATURES is None else numba.config.CPU_FEATURES
    name = numba.config.CPU_NAME or binding.get_host_cpu_name()
    return f"{name}-{hashlib.blake2b(features.encode(), digest_size=3).hexdigest()}" if features else name


def made_for(feature: str) -> bool:
    """Return whether machine code is made for a processor with some instructions, by LLVM's name of them."""
    from llvmlite import binding

    if numba.config.CPU_FEATURES is not None:
        return f"+{feature}" in numba.config.CPU_FEATURES.split(",")
    return not numba.config.CPU_NAME and bool(binding.get_host_cpu_features().get(feature, False))


# what processors of the level x86-64-v3 have
_V3 = ("avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2", "xsave")
# Machine code that comes with an installed package, for any such processor: see `crowdsim.build_kernels`.
CARRIED = Path(__file__).parents[1] / "carried"


@cache
def carried_folders() -> dict[str, Path]:
    """Return the folders of kernels that came with the package and that this processor can run,
    by the sources and versions that they were made from.
    """
    from llvmlite import binding

    if (
        not CARRIED.is_dir()
        or numba.config.CPU_NAME
        or not (has := binding.get_host_cpu_features())
        or not all(has.get(name, False) for name in _V3)
    ):
        return {}
    return {folder.name.removeprefix("x86-64-v3-"): folder for folder in CARRIED.iterdir()}


def key_of(file: Path) -> str:
    """Return what the folder of a module's kernels is named by:
    its sources, and what else decides about machine code.
    """
    config = numba.config
    return source_key(
        file,
        (
            f"{sys.version_info[:2]} {numba.__version__} {llvmlite.__version__} {config.OPT} "
            f"{config.BOUNDSCHECK}"
        ),
    )


def kernel_folder(file: Path) -> Path:
    """Return the folder that holds the compiled kernels of a source file as it is now, for this processor,
    Python and numba.
    """
    return cache_directory() / f"{_processor()}-{key_of(file.resolve())}"


class KernelStore(Store):
    """Machine code of one function, in files of the cache: one for each set of argument types, named by them.

    numba's own store numbers files in an index that it reads, changes and writes: of two processes that
    compile at once, one may be given the code that the other made for other types. Without an index there is
    nothing to disagree on; a file comes into being whole, by renaming.

    Parameters
    ----------
    function : callable
    options : mapping of str to bool
        What it is compiled with.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function = function
        key = key_of(Path(inspect.getfile(function)).resolve())
        self._folder = cache_directory() / f"{_processor()}-{key}"
        self._carried = carried_folders().get(key)
        name = function.__qualname__.replace("<", "").replace(">", "")
        words = [f"{Path(inspect.getfile(function)).stem}.{name}-{function.__code__.co_firstlineno}"]
        self._name = "-".join(
            [*words, *(f"{name.strip('_')}={int(value)}" for name, value in options.items())]
        )
        cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
        self._code = hashlib.blake2b(
            function.__code__.co_code + (serialize.dumps(cells) if cells else b"")
        ).digest()

    def load(self, args: tuple[Any, ...]) -> Any:
        """Return what was saved, or None."""
        found = read_kept(self._file(args))  # only this user and root can have written it
        if found is None and self._carried is not None:
            with contextlib.suppress(OSError):
                # whose package it is, whose code is run anyway
                found = (self._carried / self._file(args).name).read_bytes()
        with contextlib.suppress(Exception):  # a damaged file costs a compilation, never a run
            if found is not None:
                code, kept, data = pickle.loads(found)
                return data if code == self._code and kept == args else None
        return None

    def save(self, args: tuple[Any, ...], data: Any) -> None:
        """Keep something that can be pickled."""
        # a full or read-only disk: the kernel works, it is only compiled again next time
        with contextlib.suppress(OSError):
            keep(self._file(args), serialize.dumps((self._code, args, data)))

    @contextlib.contextmanager
    def claim(self, args: tuple[Any, ...], *, wait: bool) -> Iterator[bool]:
        """Have other processes wait, or wait for them; yield whether it is ours to compile."""
        place, file = (
            int.from_bytes(hashlib.blake2b(str(self._file(args)).encode(), digest_size=7).digest(), "little"),
            _claims(os.getpid(), cache_directory()),
        )
        is_ours = True
        try:
            if file is not None:
                fcntl.lockf(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except BlockingIOError:
            is_ours = False
        except OSError:  # a disk that knows no locks: two processes may do the same work
            file = None
        try:
            yield is_ours
        finally:
            if is_ours and file is not None:
                fcntl.lockf(file, fcntl.LOCK_UN, 1, place)

    def _file(self, args: tuple[Any, ...]) -> Path:
        return (
            self._folder
            / f"{self._name}.{hashlib.blake2b(repr(args).encode(), digest_size=8).hexdigest()}.nbc"
        )


@cache
def _claims(process: int, folder: Path) -> int | None:
    """Return the descriptor of a file each byte of which stands for a kernel that a process compiles,
    or None where it cannot be made. A process that ends lets go of its own.
    """
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(folder / "claims", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    return None


def _store_of(options: dict[str, Any], function: Callable[..., Any]) -> Store:
    file = Path(inspect.getfile(function))
    return (
        KernelStore(function, options)
        if file.is_file() and not edited_since_start(file.resolve())
        else Store()
    )


def on_compile(listener: Callable[[str], None]) -> Callable[[], None]:
    """Call `listener(name)` before each kernel that has to be compiled,
    until the returned function is called.
    """
    _compile_listeners.append(listener)
    return lambda: _compile_listeners.remove(listener)


def on_progress(listener: Callable[[int, int], None]) -> Callable[[], None]:
    """Call `listener(done, all)` while kernels are compiled whose number is known,
    until the returned function is called.
    """
    _progress_listeners.append(listener)
    return lambda: _progress_listeners.remove(listener)


def tell_progress(done: int, total: int) -> None:
    """Say how many kernels of so many are compiled."""
    for listener in tuple(_progress_listeners):
        listener(done, total)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` at its first call.

    Integer arithmetic wraps, division by zero gives inf or nan as in numpy, and indices are not checked.
    Small kernels that are called by others are inlined by LLVM; nothing has to be said for that. For inner
    loops see `lean_kernel`.
    """
    return _compiled(function)


def lean_kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` like `kernel`, but for work on the arrays it is given: it can make none.

    numba counts references to arrays, atomically, wherever one is passed on or taken out of a tuple. In loops
    over agents that costs more than the work and keeps threads from running side by side. Without memory of
    its own a kernel needs no such counts.
    """
    return _compiled(function, _nrt=False)


def inlined_kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` like `lean_kernel`, and always as a part of the kernels that call it.

    For parts of inner loops: numba hands each array over as seven numbers. Machine code grows with every
    place that calls it.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def lean_kernel_of(template: Callable[..., Any], name: str, **parts: Any) -> Any:
    """Return a lean kernel that does what a function says, in which some names stand for parts.

    Parameters
    ----------
    template : callable
        Plain function; what it calls by the names of `parts` need not be there.
    name : str
        The name that the kernel is bound to in the module that asks for it, two calls up. Its compiled code
        is kept under the sources of that module.
    **parts
        Kernels. The module has to import their modules, or to define them: an edit there compiles the kernel
        anew.
    """
    assert isinstance(template, FunctionType)
    caller = sys._getframe(2)
    code = template.__code__.replace(
        co_filename=caller.f_code.co_filename, co_name=name, co_qualname=name, co_firstlineno=caller.f_lineno
    )
    function = FunctionType(code, {**template.__globals__, **parts}, name)
    function.__module__, function.__qualname__, function.__doc__ = (
        caller.f_globals["__name__"],
        name,
        template.__doc__,
    )
    return lean_kernel(function)


def _compiled(function: Callable[..., Any], **options: bool) -> Any:
    if numba.config.DISABLE_JIT:
        return function
    return KernelDispatcher(function, partial(_store_of, options), _compile_listeners, **SETTINGS, **options)
