"""numba's front end for kernels: the same LLVM code in two thirds of the time.

numba takes each function through 27 steps. Most of them look for what a kernel does not have (closures,
`with` blocks, tuples of mixed types to be unrolled), and after most of them numba finds out anew which
variables live where, which only the last needs. And it tries some thirty templates for each `+` of numbers,
several times over, and asks LLVM for the size of a number with a module of its own. A kernel takes the steps
that it needs, and such answers are remembered.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from opcode import opmap
from types import CodeType
from typing import Any

from numba.core import compiler, typed_passes, untyped_passes
from numba.core.base import BaseContext
from numba.core.compiler_machinery import PassManager
from numba.core.postproc import PostProcessor
from numba.core.targetconfig import ConfigStack
from numba.core.types.functions import BaseFunction
from numba.core.typing.templates import _OverloadFunctionTemplate

# Functions that steps left out here see to.
_SETTLED_BEFORE_TYPES = {"hasattr", "isinstance", "literal_unroll", "literally"}
_WITH = ("BEFORE_WITH", "LOAD_SPECIAL")  # begins a block: Python until 3.13, and since
_STEPS: tuple[Any, ...] = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    untyped_passes.GenericRewrites,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.ReconstructSSA,
    untyped_passes.DeadBranchPrune,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.NopythonRewrites,
    typed_passes.NoPythonSupportedFeatureValidation,
    typed_passes.IRLegalization,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)
_LEAVE_LIVES = (
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    typed_passes.PreLowerStripPhis,
    typed_passes.NopythonRewrites,
)


@contextlib.contextmanager
def _changed(*changes: tuple[type, str, Any]) -> Iterator[None]:
    """Have classes of numba do something else for a while;
    only the thread that holds numba's lock may compile meanwhile.
    """
    before = [getattr(owner, name) for owner, name, _ in changes]
    for owner, name, new in changes:
        setattr(owner, name, new)
    try:
        yield
    finally:
        for (owner, name, _), old in zip(changes, before, strict=True):
            setattr(owner, name, old)


class _Steps(PassManager):
    def _runPass(self, index: int, pss: Any, internal_state: Any) -> None:
        """Take a step, without a look at where variables live after it:
        that is for the last but one to find out.
        """
        pss.analysis = self._analysis
        with (
            _changed((PostProcessor, "run", lambda *_, **__: None))
            if isinstance(pss, _LEAVE_LIVES)
            else contextlib.nullcontext()
        ):
            pss.run_pass(internal_state)


class _ShortCompiler(compiler.CompilerBase):
    def define_pipelines(self) -> list[Any]:
        """Return the steps."""
        steps = _Steps("kernel")
        for step in _STEPS:
            steps.add_pass(step, step.__name__)
        steps.finalize()
        return [steps]


def front_end_of(function: Callable[..., Any]) -> type:
    """Return the class that takes a function from Python to LLVM's code:
    numba's own for what the short one cannot do.

    Parameters
    ----------
    function : callable
    """
    code = function.__code__
    is_plain = (
        # comprehensions and functions within
        not any(isinstance(constant, CodeType) for constant in code.co_consts)
        and _SETTLED_BEFORE_TYPES.isdisjoint(code.co_names)
        and not any(name in opmap and opmap[name] in code.co_code[::2] for name in _WITH)
    )
    return _ShortCompiler if is_plain else compiler.Compiler


_find_type, _find_size = BaseFunction.get_call_type, BaseContext.get_abi_sizeof
_types: dict[Any, tuple[Any, Any]] = {}
_sizes: dict[Any, int] = {}


def _remembered_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """Return how a call of one of numba's own functions is typed, and have its code found as if that had been
    looked for.
    """
    if kws:
        return _find_type(self, context, args, kws)
    # some are compiled anew where references are not counted
    key = self, context, tuple(args), ConfigStack.top_or_none()
    if key not in _types:
        found: Any = _find_type(self, context, args, kws)
        _types[key] = found, self._impl_keys[found.args]
    signature, code = _types[key]
    self._impl_keys[signature.args] = code
    return signature


def _remembered_size(self: Any, kind: Any) -> int:
    """Return the bytes that a type of LLVM takes."""
    if kind not in _sizes:
        _sizes[kind] = _find_size(self, kind)
    return _sizes[kind]


def remembering() -> contextlib.AbstractContextManager[None]:
    """Have numba remember what it found out already."""
    return _changed(
        (BaseFunction, "get_call_type", _remembered_type), (BaseContext, "get_abi_sizeof", _remembered_size)
    )


def borrowing(decorator: Callable[..., Any]) -> contextlib.AbstractContextManager[None]:
    """Have numba compile what it has for `min`, `numpy.empty` and others by something else than `numba.jit`.

    Parameters
    ----------
    decorator : callable
        Called with options, returns what makes a dispatcher of a function.
    """
    return _changed((_OverloadFunctionTemplate, "_get_jit_decorator", lambda _: decorator))
