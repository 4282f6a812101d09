"""ClearPath and HRVO choose the same bit for bit on other processors and without compilation."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def digest(**environment):
    keep = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "GLIBC_"))}
    done = subprocess.run(
        [sys.executable, "-m", "tests.avoidance.same_velocity_obstacles_everywhere"],
        cwd=ROOT, env={**keep, **environment}, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def here():
    return digest()


def test_choices_without_compilation_are_the_same(here):
    assert digest(NUMBA_DISABLE_JIT="1") == here


def test_choices_without_fused_multiplication_are_the_same(here):
    assert digest(GLIBC_TUNABLES="glibc.cpu.hwcaps=-FMA,-AVX2") == here


@pytest.mark.full
@pytest.mark.parametrize("processor", ["generic", pytest.param("haswell", marks=pytest.mark.full)])
def test_choices_of_code_for_another_processor_are_the_same(here, processor):
    assert digest(NUMBA_CPU_NAME=processor, NUMBA_CPU_FEATURES="") == here
