"""The same run bit for bit on other processors and without compilation."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def digest_of_run(tmp_path, program="tests.avoidance.same_everywhere", **environment):
    keep = {key: value for key, value in os.environ.items() if not key.startswith(("NUMBA_", "GLIBC_"))}
    done = subprocess.run(
        [sys.executable, "-m", program],
        cwd=ROOT, env={**keep, "CROWDSIM_CACHE_DIR": str(tmp_path), **environment}, capture_output=True, text=True, check=False, timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    words = done.stdout.split()
    return words[1], words[3]


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return digest_of_run(tmp_path_factory.mktemp("cache"))[0]


def test_a_run_without_compilation_is_the_same(here, tmp_path):
    assert digest_of_run(tmp_path, NUMBA_DISABLE_JIT="1")[0] == here


@pytest.mark.parametrize("processor", ["generic", pytest.param("haswell", marks=pytest.mark.full)])
def test_a_run_for_another_processor_is_the_same(here, tmp_path, processor):
    assert digest_of_run(tmp_path, NUMBA_CPU_NAME=processor, NUMBA_CPU_FEATURES="")[0] == here
