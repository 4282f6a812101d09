"""Front doors: a package gives names out of its modules, each imported when it is first used, since most callers need few of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def names_from(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return what a package's `__getattr__` is.

    Parameters
    ----------
    package : str
        Its full name.
    modules : mapping of str to sequence of str
        Its modules, as they are called within it, each with the names that the package gives out of it.
    """
    where = {name: module for module, names in modules.items() for name in names}

    def of_module(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        import importlib

        return getattr(importlib.import_module(f"{package}.{where[name]}"), name)

    return of_module
