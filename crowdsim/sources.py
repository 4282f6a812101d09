"""Which source files a module is made of: its own, and those of everything that it imports, directly or through others.

Compiled kernels are kept under a hash of these (`crowdsim.kernels`). Followed are imports of crowdsim, of the package that the importing file belongs
to, and of whatever else is not part of Python or installed in its site-packages: a user's own model and the helpers beside it. Those that are left
out change with an installation, not with an edit, and compiled code takes nothing from them but numba's version, which is in the hash.
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
from functools import cache
from pathlib import Path

from crowdsim.cache_folder import cache_directory, keep, read_kept

_Import = tuple[int, str, list[str]]  # dots before the module's name, that name, and the names taken from it (none: ``import module``)

_PACKAGE = "crowdsim"
_PACKAGE_ROOT = Path(__file__).resolve().parent
_INSTALLED = {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")}
_BEGAN_NS = time.time_ns()


def source_key(path: Path, extra: str = "") -> str:
    """Return a hash of the module at `path`, of everything that it imports, and of `extra`."""
    digest = hashlib.blake2b(extra.encode(), digest_size=10)
    for module in closure(path):
        content = _content(module, *_stamp(module))
        digest.update(f"{module.name} {len(content)} ".encode() + content)
    return digest.hexdigest()


def closure(path: Path) -> tuple[Path, ...]:
    """Return the resolved paths of a module's file and of all files that it imports, anywhere in its text or in theirs, sorted."""
    pending, seen = [path], {path}
    while pending:
        module = pending.pop()
        for other in _imported(module, *_stamp(module)):
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return tuple(sorted(seen))


def edited_since_start(path: Path) -> bool:
    """Return whether a file that the module is made of was written after this process began.

    What was imported may then be older than what the file says. (Files from the future come from a wrong clock, not from an edit.)
    """
    now = time.time_ns()
    return any(_BEGAN_NS < _stamp(module)[0] <= now for module in closure(path))


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@cache
def _content(path: Path, modified: int, size: int) -> bytes:
    return path.read_bytes()


@cache
def _imported(path: Path, modified: int, size: int) -> tuple[Path, ...]:
    """Return the followed files that the module at `path` imports."""
    found: set[Path] = set()
    for level, module, names in _imports(_content(path, modified, size)):
        parts = module.split(".") if module else []
        if level:
            found |= _files(path.parents[level - 1], parts, names)
        elif names:
            found |= _absolute(parts, names, path)
        else:  # ``import a.b`` gives the names of a as well as those of a.b
            for length in range(1, len(parts) + 1):
                found |= _absolute(parts[:length], [], path)
    return tuple(sorted(found))


def _imports(content: bytes) -> list[_Import]:
    """Return the imports of a module with this content. To parse all files takes a third of a second, so they are kept on disk, by content."""
    file = cache_directory() / "imports" / f"{hashlib.blake2b(content, digest_size=16).hexdigest()}.json"
    with contextlib.suppress(ValueError, TypeError):
        return [(int(level), str(module), [str(name) for name in names]) for level, module, names in json.loads(read_kept(file) or b"")]
    imports = _parsed_imports(content)
    with contextlib.suppress(OSError):  # a full or read-only disk: they are parsed again next time
        keep(file, json.dumps(imports).encode())
    return imports


def _parsed_imports(content: bytes) -> list[_Import]:
    found: list[_Import] = []
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Import):
            found += [(0, alias.name, []) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append((node.level, node.module or "", [alias.name for alias in node.names]))
    return found


def _absolute(parts: list[str], names: list[str], importer: Path) -> set[Path]:
    """Return the files of ``from a.b import names``, if they are followed."""
    root = _root(parts[0], _own_root(importer))
    if root is None or (root in _INSTALLED and parts[0] not in (_PACKAGE, _own_top(importer))):
        return set()
    return _files(root, parts, names)


def _files(folder: Path, parts: list[str], names: list[str]) -> set[Path]:
    """Return the file of a module, and those of the names taken from it that are modules themselves."""
    place = folder.joinpath(*parts)
    candidates = [place.with_suffix(".py"), place / "__init__.py"] if parts else [place / "__init__.py"]
    candidates += [file for name in names for file in (place / f"{name}.py", place / name / "__init__.py")]
    # The file of the whole package only says what can be imported; it would make every module a part of every other.
    return {file.resolve() for file in candidates if file.is_file()} - {_PACKAGE_ROOT / "__init__.py"}


@cache
def _own_root(path: Path) -> Path:
    """Return the folder in which the package of a file lies."""
    folder = path.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _own_top(path: Path) -> str:
    return path.relative_to(_own_root(path)).parts[0].removesuffix(".py")


@cache
def _root(top: str, first: Path) -> Path | None:
    """Return the folder in which the package or module `top` lies; None if it is a part of Python, or nowhere."""
    if top == _PACKAGE:
        return _PACKAGE_ROOT.parent
    if top in sys.stdlib_module_names:
        return None
    module = sys.modules.get(top)
    file = getattr(module, "__file__", None)
    places = list(getattr(module, "__path__", None) or ([file] if file else []))
    if places:
        return Path(places[0]).resolve().parent
    for folder in (first, *(Path(entry or os.curdir) for entry in sys.path)):
        if (folder / f"{top}.py").is_file() or (folder / top).is_dir():
            return folder.resolve()
    return None
