"""The law of speed and density, and several models in one run, are the same for other threads,
processors and C libraries, and without compilation.
"""

import pytest

from tests.crowds import digests, simulation
from tests.simulation.test_determinism import child

SETS = [
    "speed_density=weidmann",
    "groups.to_west.avoidance={model: orca, time_horizon: 1}",
    "groups.listed.avoidance=none",
]
TICKS = 40


@pytest.fixture(scope="module")
def expected():
    with simulation(sets=SETS) as run:
        return digests(run, TICKS)


def test_the_law_changes_the_run(expected):
    with simulation(sets=SETS[1:]) as run:
        assert digests(run, TICKS) != expected


@pytest.mark.sample(1)
@pytest.mark.parametrize("threads", [2, 7])
def test_the_number_of_threads_changes_nothing(threads, expected, monkeypatch):
    with simulation(sets=SETS, threads=threads) as run:
        monkeypatch.setattr("crowdsim.kernels.threads.WORTH_NS", 0)
        assert digests(run, TICKS) == expected


@pytest.mark.full
@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({"NUMBA_CPU_NAME": "generic"}, marks=pytest.mark.full),
        {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2,-FMA4,-AVX2_Usable"},
    ],
)
def test_another_processor_and_another_c_library_change_nothing(environment, expected):
    assert child(TICKS, SETS, **environment) == expected


@pytest.mark.full  # by default tests/simulation/test_determinism.py does so
def test_without_compilation_the_run_is_the_same():
    sets = [*SETS, "groups.0.count=5", "groups.1.count=2"]
    assert child(8, sets, NUMBA_DISABLE_JIT="1") == child(8, sets)
