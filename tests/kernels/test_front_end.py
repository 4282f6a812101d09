"""numba's front end in short: the same machine code, and numba's own steps for what needs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba import literal_unroll
from numba.core import compiler
from numba.core.base import BaseContext
from numba.core.postproc import PostProcessor
from numba.core.types.functions import BaseFunction
from numba.core.typing.templates import _OverloadFunctionTemplate

from crowdsim.kernels.decorator import kernel, lean_kernel
from crowdsim.kernels.front_end import front_end_of
from crowdsim.kernels.threads import Team
from tests.crowds import ROOT

# Compiles kernels in a process of its own, since names in machine code are numbered, and prints a hash of
# each one's machine code.
PROGRAM = """
import contextlib, hashlib, json, sys
from numba.core import compiler
from crowdsim.kernels import compiling
from crowdsim.kernels.needed import needed_by, ready, the_list
compiling.borrowing = lambda decorator: contextlib.nullcontext()
if sys.argv[1] == "numba":
    compiling.front_end_of, compiling.remembering = lambda function: compiler.Compiler, contextlib.nullcontext
for kernel in needed_by(the_list().scenes):
    if sys.argv[2] in kernel.name and ready(kernel) is not None:
        function, args = ready(kernel)
        function._store = type("Nothing", (), {"load": lambda *_: None, "save": lambda *_: None,
            "claim": lambda *_, wait: contextlib.nullcontext(True)})()
        function.compile(args)
        code = function.overloads[args].library._get_compiled_object()
        print(json.dumps([kernel.name, repr(args), hashlib.sha256(code).hexdigest()]))
"""


def machine_code(front_end: str, wanted: str) -> list[list[str]]:
    command = [sys.executable, "-c", PROGRAM, front_end, wanted]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.full
@pytest.mark.skipif(
    numba.version_info.short < (0, 68), reason="older versions make other machine code each time"
)
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "wanted", ["hold_ground", "list_zone_walls", "planner.serve_waypoints", "walk_many", "find_crowds"]
)
def test_machine_code_is_that_of_all_of_numbas_steps(wanted):
    short = machine_code("short", wanted)
    assert short
    assert short == machine_code("numba", wanted)


def comprehension(values):
    return sum([value * value for value in values])


def function_within(values):
    def twice(value):
        return 2.0 * value

    return twice(values[0]) + twice(values[1])


def kind_of_argument(values):
    return 1.0 if isinstance(values, tuple) else 2.0


def tuple_of_mixed_types(values):
    total = 0.0
    for value in literal_unroll((1, 2.5, values[0])):
        total += value
    return total


def left_out_by_a_constant(values, other=None):
    if other is None:
        return values.sum()
    return values.sum() + other.nothing


@pytest.mark.parametrize(
    "function",
    [comprehension, function_within, kind_of_argument, tuple_of_mixed_types, left_out_by_a_constant],
)
def test_what_the_short_front_end_cannot_do_is_compiled_as_numba_does(function):
    values = np.array([1.5, 2.0, 4.0])
    assert kernel(function)(values) == function(values)
    assert front_end_of(function) is (
        compiler.Compiler if function is not left_out_by_a_constant else front_end_of(plain)
    )


def plain(values):
    out = np.empty(2)
    out[0], out[1] = min(values[0], 3), max(values[1], values[2])
    return out[0] + out[1]


def lean(values):
    return min(values[0], 3) + max(values[1], values[2])


def scaled(start, stop, values, by=2.0, more=None):
    total = 0.0
    for k in range(start, stop):
        total += by * values[k]
    return total if more is None else total + more[0]


def test_arguments_may_be_left_out_in_every_manner_of_a_call():
    values, more, team = np.array([1.5, 2.0, 4.0]), np.array([10.0]), Team(2)
    for _ in range(2):  # what was called last is tried first
        for given, named in (
            ((), {}),
            ((3.0,), {}),
            ((3.0, more), {}),
            ((3.0, None), {}),
            ((), {"more": more}),
            ((), {"by": 1.0}),
        ):
            expected = scaled(0, 3, values, *given, **named)
            assert SCALED(0, 3, values, *given, **named) == expected
            if not named:
                extra = more[0] if len(given) == 2 and given[1] is not None else 0.0
                parts = team.run(SCALED, 3, values, *given, at_least=1)
                assert sum(parts) == expected + (len(parts) - 1) * extra
    team.close()


SCALED = kernel(scaled)


def numba_now():
    return (
        BaseFunction.get_call_type,
        BaseContext.get_abi_sizeof,
        PostProcessor.run,
        _OverloadFunctionTemplate._get_jit_decorator,
    )


def test_numba_is_left_as_it_was():
    before = numba_now()
    values = np.array([1.5, 2.0, 4.0])
    assert kernel(plain)(values) == lean_kernel(lean)(values) == 5.5
    assert numba_now() == before
    with pytest.raises(numba.TypingError, match="nothing"):
        kernel(lambda values: values.nothing)(values)
    assert numba_now() == before


def test_what_numba_has_is_shared_by_kernels_and_by_functions_of_numba_s_own():
    """Kernels that count references, those that do not, and `numba.njit` have code of their own for `min`:
    what is remembered of one is not taken for another.
    """
    values = np.array([1.5, 2.0, 4.0])
    alike = numba.njit(nogil=True, error_model="numpy")
    for decorator, function in (
        (kernel, plain),
        (alike, plain),
        (lean_kernel, lean),
        (alike, lean),
        (kernel, lean),
        (numba.njit, plain),
    ):
        assert decorator(function)(values) == 5.5
