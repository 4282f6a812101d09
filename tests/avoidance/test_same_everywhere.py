"""The same run bit for bit on other processors and without compilation."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def digest_of_run(program="tests.avoidance.same_everywhere", **environment):
    keep = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "GLIBC_"))}
    done = subprocess.run(
        [sys.executable, "-m", program],
        cwd=ROOT,
        env={**keep, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    words = done.stdout.split()
    return words[1], words[3]


@pytest.fixture(scope="module")
def here():
    return digest_of_run()[0]


# By default the choices of tests/avoidance/test_velocity_obstacles_everywhere.py are made so, and digests.
@pytest.mark.full
def test_a_run_without_compilation_is_the_same(here):
    assert digest_of_run(NUMBA_DISABLE_JIT="1")[0] == here


# By default the choices of tests/avoidance/test_velocity_obstacles_everywhere.py are made so, and digests.
@pytest.mark.full
@pytest.mark.parametrize("processor", ["generic", "haswell"])
def test_a_run_for_another_processor_is_the_same(here, processor):
    assert digest_of_run(NUMBA_CPU_NAME=processor, NUMBA_CPU_FEATURES="")[0] == here
