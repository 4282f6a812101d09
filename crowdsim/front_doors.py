"""Front doors: a package gives names out of its modules, each imported when it is first used,
since most callers need few of them.

Functions and classes that were documented under another name are given by that name too, with a warning that
says the new one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crowdsim.old_names import note_old_name


def names_from(
    package: str, modules: Mapping[str, Sequence[str]], renamed: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return what a package's `__getattr__` and `__dir__` are;
    the latter has the names of its `__all__` alone.

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

    return of_module, lambda: [*sys.modules[package].__all__]


def name_of_now(module: str, name: str, renamed: Mapping[str, str]) -> str:
    """Return what a name of a module is now; where that is another,
    with a warning to the caller of the module's `__getattr__`.
    """
    if name not in renamed:
        return name
    note_old_name(f"{module}.{name}", renamed[name], stacklevel=2)
    return renamed[name]


def renamed_in(module: str, renamed: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module that has things of which some had other names."""

    def of_module(name: str) -> Any:
        home = vars(sys.modules[module])
        if renamed.get(name) not in home:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return home[name_of_now(module, name, renamed)]

    return of_module
