"""Front doors: a package gives names out of its modules, each imported when it is first used,
since most callers need few of them.

Functions that were documented under another name are given by that name too, with a warning that says the new
one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def names_from(
    package: str, modules: Mapping[str, Sequence[str]], renamed: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """Return what a package's `__getattr__` is.

    Parameters
    ----------
    package : str
        Its full name.
    modules : mapping of str to sequence of str
        Its modules, as they are called within it, each with the names that the package gives out of it.
    renamed : mapping of str to str, optional
        Names of before, with those of now.
    """
    where = {name: module for module, names in modules.items() for name in names}

    def of_module(name: str) -> Any:
        name = name_of_now(package, name, renamed or {})
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        import importlib

        return getattr(importlib.import_module(f"{package}.{where[name]}"), name)

    return of_module


def name_of_now(module: str, name: str, renamed: Mapping[str, str]) -> str:
    """Return what a name of a module is now; where that is another,
    with a warning to the caller of the module's `__getattr__`.
    """
    if name not in renamed:
        return name
    warnings.warn(f"{module}.{name} is called {renamed[name]} now.", DeprecationWarning, stacklevel=3)
    return renamed[name]
