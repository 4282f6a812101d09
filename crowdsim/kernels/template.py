"""Kernels of one shape: a function that is compiled once with each set of parts that it calls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from crowdsim.kernels.decorator import lean_kernel


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
