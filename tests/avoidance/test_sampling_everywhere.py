"""The sampling models choose the same bit for bit on other processors and without compilation."""

import pytest

from tests.avoidance.test_same_everywhere import digest_of_run

PROGRAM = "tests.avoidance.sampling_everywhere"


@pytest.fixture(scope="module")
def here():
    return digest_of_run(program=PROGRAM)[0]


@pytest.mark.full
def test_a_choice_without_compilation_is_the_same(here):
    assert digest_of_run(program=PROGRAM, NUMBA_DISABLE_JIT="1")[0] == here


# By default the choices of tests/avoidance/test_velocity_obstacles_everywhere.py are made so, and digests.
@pytest.mark.full
@pytest.mark.parametrize("processor", ["generic", "haswell"])
def test_a_choice_for_another_processor_is_the_same(here, processor):
    assert digest_of_run(program=PROGRAM, NUMBA_CPU_NAME=processor, NUMBA_CPU_FEATURES="")[0] == here
