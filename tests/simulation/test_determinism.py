"""Bit for bit: threads, order of listing, two simulations side by side, other processors,
saving and loading.
"""

import contextlib
import copy
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tests.crowds import BUSY, ROOT, digests, simulation

TICKS = 60


@pytest.fixture(scope="module")
def expected():
    with simulation() as run:
        return digests(run, TICKS)


@pytest.mark.sample(1)
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_the_number_of_threads_changes_nothing(threads, expected, monkeypatch):
    monkeypatch.setattr("crowdsim.kernels.threads.WORTH_NS", 0)
    with simulation(threads=threads) as run:
        assert digests(run, TICKS) == expected


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(3))
def test_listing_agents_groups_and_goals_in_another_order_changes_nothing(seed, expected):
    document = copy.deepcopy(BUSY)
    rng = np.random.default_rng(seed)
    document["groups"] = [document["groups"][i] for i in rng.permutation(3)]
    document["goals"] = {name: document["goals"][name] for name in rng.permutation(list(document["goals"]))}
    listed = next(group for group in document["groups"] if group["name"] == "listed")
    listed["agents"] = listed["agents"][::-1]
    with simulation(document) as run:
        assert digests(run, TICKS) == expected


def test_another_seed_changes_the_run(expected):
    with simulation(sets=["seed=6"]) as run:
        assert digests(run, 5) != expected[:5]


def test_two_simulations_in_one_process_do_not_disturb_each_other(expected):
    with simulation() as first, simulation(sets=["seed=9"]) as second:
        found = []
        for _ in range(TICKS):
            first.step()
            second.step()
            found.append(first.digest)
        assert found == expected and second.digest != first.digest


def test_saving_and_loading_at_every_tick_changes_nothing(expected):
    with simulation() as run, simulation() as used:
        for number in range(TICKS):
            state = run.state()
            # one that has run, and every tenth time one that has not
            with simulation() if number % 10 == 0 else contextlib.nullcontext(used) as other:
                other.restore(state)
                again = other.state()
                assert state.keys() == again.keys()
                for name, array in state.items():
                    assert array.dtype == again[name].dtype and np.array_equal(
                        array, again[name], equal_nan=array.dtype.kind == "f"
                    ), name
                if number % 10 == 0:
                    assert digests(other, TICKS - number) == expected[number:]
                else:
                    other.step()
            run.restore(state)
            run.step()
            assert run.digest == expected[number]


_CHILD = """
import json, sys
from tests.crowds import digests, simulation
with simulation(sets=json.loads(sys.argv[2])) as run:
    print(json.dumps(digests(run, int(sys.argv[1]))))
"""


def child(ticks, sets=(), **environment):
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(ticks), json.dumps(list(sets))],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


# By default the choices of tests/avoidance/test_velocity_obstacles_everywhere.py are made so, and digests.
@pytest.mark.full
def test_code_for_another_processor_gives_the_same_run(expected):
    assert child(TICKS, NUMBA_CPU_NAME="generic") == expected


def test_a_c_library_without_fma_and_avx2_gives_the_same_run(expected):
    mask = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2,-FMA4,-AVX2_Usable"}
    probe = "import math; print([math.exp(i / 7.3).hex() for i in range(-400, 400)])"
    outputs = [
        subprocess.run(
            [sys.executable, "-c", probe],
            env={**os.environ, **extra},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for extra in ({}, mask)
    ]
    if outputs[0] == outputs[1]:
        pytest.skip("this C library computes exp alike with and without FMA, so masking shows nothing here")
    assert child(TICKS, **mask) == expected


@pytest.mark.full
def test_without_compilation_the_run_is_the_same(expected):
    sets = ["groups.0.count=5", "groups.1.count=2"]
    assert child(12, sets, NUMBA_DISABLE_JIT="1") == child(12, sets)
