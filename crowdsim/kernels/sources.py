"""Which source files a module is made of: its own, and those of everything that it imports,
directly or through others.

Compiled kernels are kept under a hash of these (`crowdsim.kernels.decorator`). Followed are imports of
crowdsim, of the package that the importing file belongs to, and of whatever else is not part of Python or
installed in its site-packages: a user's own model and the helpers beside it. Those that are left out change
with an installation, not with an edit, and compiled code takes nothing from them but numba's version, which
is in the hash.

To read, hash and parse all files takes half a second, so what came of it is kept in one file of the cache,
and taken from there while the file system says that a source is what it was.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from crowdsim.kernels.cache_folder import cache_directory, keep, read_kept

# dots before the module's name, that name, and the names taken from it (none: ``import module``)
_Import = tuple[int, str, list[str]]
# when its content and when anything about it changed (ns), its size, its number: no program can set the
# second
_Stamp = tuple[int, int, int, int]

_PACKAGE = "crowdsim"
_PACKAGE_ROOT = str(Path(__file__).resolve().parents[1])
_INSTALLED = {str(Path(sysconfig.get_path(name)).resolve()) for name in ("purelib", "platlib")}
_BEGAN_NS = time.time_ns()
# A file that changed less than so long before it was read may change again without a sign: file systems count
# in such steps.
_SETTLED_NS = 2_000_000_000


# What was seen in this moment (`at_one_moment`), by path: stamps, and closures. Where there is none each file
# is looked at when it is asked for; each thread has its own.
_stamps: ContextVar[dict[str, _Stamp] | None] = ContextVar("stamps", default=None)
_closures: ContextVar[dict[str, list[str]] | None] = ContextVar("closures", default=None)


class _Known(NamedTuple):
    """What is known of a source file: as it was with this stamp, a hash of its content, its imports."""

    stamp: _Stamp
    digest: str
    imports: list[_Import]


@contextlib.contextmanager
def at_one_moment() -> Iterator[None]:
    """Look at each file once until this ends: a hundred kernels are made of the same few hundred files."""
    stamps, closures = _stamps.set({}), _closures.set({})
    try:
        yield
    finally:
        _stamps.reset(stamps)
        _closures.reset(closures)


def source_key(path: Path, extra: str = "") -> str:
    """Return a hash of the module at `path`, of everything that it imports, and of `extra`."""
    digest = hashlib.blake2b(extra.encode(), digest_size=10)
    index = _index(cache_directory())
    for module in _closure(str(path)):
        digest.update(f"{os.path.basename(module)} {index.of(module).digest} ".encode())
    _keep_index()
    return digest.hexdigest()


def closure(path: Path) -> tuple[Path, ...]:
    """Return the resolved paths of a module's file and of all files that it imports,
    anywhere in its text or in theirs, sorted.
    """
    return tuple(map(Path, _closure(str(path))))


def edited_since_start(path: Path) -> bool:
    """Return whether a file that the module is made of was written after this process began.

    What was imported may then be older than what the file says. (Files from the future come from a wrong
    clock, not from an edit.)
    """
    now = time.time_ns()
    return any(_BEGAN_NS < _stamp(module)[0] <= now for module in _closure(str(path)))


def _closure(path: str) -> list[str]:
    known = _closures.get()
    if known is not None and path in known:
        return known[path]
    index, pending, seen = _index(cache_directory()), [path], {path}
    while pending:
        module = pending.pop()
        for other in _imported(module, index.of(module).digest):
            if other not in seen:
                seen.add(other)
                pending.append(other)
    found = sorted(seen)
    if known is not None:
        known[path] = found
    return found


def _stamp(path: str) -> _Stamp:
    known = _stamps.get()
    if known is not None and path in known:
        return known[path]
    status = os.stat(path)
    found = status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
    if known is not None:
        known[path] = found
    return found


class _Index:
    """What is known of source files, in this process and on disk."""

    def __init__(self, file: Path) -> None:
        self.file, self.changed = file, False
        self.known: dict[str, _Known] = {}
        self._kept: dict[str, Any] = {}  # as the disk has it; most of it nobody asks for
        with contextlib.suppress(ValueError, TypeError):
            self._kept = dict(json.loads(read_kept(file) or b"{}"))

    def of(self, path: str) -> _Known:
        stamp = _stamp(path)
        found = self.known.get(path)
        if found is None and path in self._kept:
            with contextlib.suppress(ValueError, TypeError):
                found = self.known[path] = _as_known(self._kept[path])
        if found is None or found.stamp != stamp:
            content = Path(path).read_bytes()
            found = self.known[path] = _Known(
                stamp, hashlib.blake2b(content, digest_size=16).hexdigest(), _parsed_imports(content)
            )
            self.changed = True
        return found

    def keep(self) -> None:
        now = time.time_ns()
        settled: dict[str, Any] = {
            path: each for path, each in self._kept.items() if path not in self.known and _is_there(path)
        }
        settled |= {path: each for path, each in self.known.items() if each.stamp[1] < now - _SETTLED_NS}
        with contextlib.suppress(OSError):  # a full or read-only disk: they are read again next time
            keep(self.file, json.dumps(settled).encode())
        self.changed = False


def _is_there(path: str) -> bool:
    """Return whether a file is still there: users' models and modules go,
    and what was known of them would be read for ever.
    """
    try:
        return os.path.isfile(path)
    except ValueError:  # no name of a file, in an index that a process damaged
        return False


@cache
def _index(folder: Path) -> _Index:
    """Return the index in a cache; one for each place where the package lies."""
    return _Index(
        folder / f"sources-{hashlib.blake2b(_PACKAGE_ROOT.encode(), digest_size=8).hexdigest()}.json"
    )


def _as_known(each: Any) -> _Known:
    (modified, changed, size, number), digest, imports = each
    as_imports = [
        (int(level), str(module), [str(name) for name in names]) for level, module, names in imports
    ]
    return _Known((int(modified), int(changed), int(size), int(number)), str(digest), as_imports)


def _keep_index() -> None:
    index = _index(cache_directory())
    if index.changed:
        index.keep()


def _parsed_imports(content: bytes) -> list[_Import]:
    found: list[_Import] = []
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Import):
            found += [(0, alias.name, []) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.level, node.module or "", [alias.name for alias in node.names]))
    return found


@cache
def _imported(path: str, digest: str) -> tuple[str, ...]:
    """Return the followed files that the module at `path` imports while its content has a hash."""
    found: set[str] = set()
    for level, module, names in _index(cache_directory()).of(path).imports:
        parts = module.split(".") if module else []
        if level:
            folder = path
            for _ in range(level):
                folder = os.path.dirname(folder)
            found |= _files(folder, parts, names)
        elif names:
            found |= _absolute(parts, names, path)
        else:  # ``import a.b`` gives the names of a as well as those of a.b
            for length in range(1, len(parts) + 1):
                found |= _absolute(parts[:length], [], path)
    return tuple(sorted(found))


def _absolute(parts: list[str], names: list[str], importer: str) -> set[str]:
    """Return the files of ``from a.b import names``, if they are followed."""
    own_root = _own_root(os.path.dirname(importer))
    root = _root(parts[0], own_root)
    if root is None or (root in _INSTALLED and parts[0] not in (_PACKAGE, _own_top(importer, own_root))):
        return set()
    return _files(root, parts, names) | _moved(".".join(parts), names)


def _moved(module: str, names: list[str]) -> set[str]:
    """Return the files of a module, and of names taken from it, that are called otherwise today and have been
    imported under these names.
    """
    asked = ((name, sys.modules.get(name)) for name in (module, *(f"{module}.{each}" for each in names)))
    return {
        _resolved(found.__file__)
        for name, found in asked
        if found is not None and found.__name__ != name and found.__file__
    }


def _files(folder: str, parts: list[str], names: list[str]) -> set[str]:
    """Return the file of a module, and those of the names taken from it that are modules themselves."""
    place = os.sep.join([folder, *parts])
    candidates = [f"{place}.py"] if parts else []
    candidates.append(f"{place}{os.sep}__init__.py")
    if not parts or not _is_file(candidates[0]) or _is_file(candidates[1]):  # else no name can be a module
        for name in names:
            candidates += [f"{place}{os.sep}{name}.py", f"{place}{os.sep}{name}{os.sep}__init__.py"]
    # The file of the whole package only says what can be imported; it would make every module a part of every
    # other.
    return {_resolved(file) for file in candidates if _is_file(file)} - {
        os.path.join(_PACKAGE_ROOT, "__init__.py")
    }


def _is_file(path: str) -> bool:
    if path.startswith(_PACKAGE_ROOT):
        folder, name = os.path.split(path)
        return name in _names_in(folder)
    return os.path.isfile(path)


def _resolved(path: str) -> str:
    return path if path.startswith(_PACKAGE_ROOT) else os.path.realpath(path)


@cache
def _names_in(folder: str) -> frozenset[str]:
    """Return the names in a folder of this package; they stay while a process runs."""
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()


@cache
def _own_root(folder: str) -> str:
    """Return the folder in which the package lies that a folder belongs to."""
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return folder


def _own_top(path: str, root: str) -> str:
    return os.path.relpath(path, root).split(os.sep)[0].removesuffix(".py")


@cache
def _root(top: str, first: str) -> str | None:
    """Return the folder in which the package or module `top` lies;
    None if it is a part of Python, or nowhere.
    """
    if top == _PACKAGE:
        return os.path.dirname(_PACKAGE_ROOT)
    if top in sys.stdlib_module_names:
        return None
    module = sys.modules.get(top)
    file = getattr(module, "__file__", None)
    places = list(getattr(module, "__path__", None) or ([file] if file else []))
    if places:
        return os.path.dirname(os.path.realpath(places[0]))
    for folder in (first, *(entry or os.curdir for entry in sys.path)):
        if os.path.isfile(os.path.join(folder, f"{top}.py")) or os.path.isdir(os.path.join(folder, top)):
            return os.path.realpath(folder)
    return None
