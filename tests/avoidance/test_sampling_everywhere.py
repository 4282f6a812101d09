"""The sampling models choose the same bit for bit on other processors and without compilation."""

import pytest

from crowdsim.cache_folder import cache_directory
from tests.avoidance.test_same_everywhere import digest_of_run

PROGRAM = "tests.avoidance.sampling_everywhere"


@pytest.fixture(scope="module")
def here():
    return digest_of_run(cache_directory(), program=PROGRAM)[0]


def test_a_choice_without_compilation_is_the_same(here, tmp_path):
    assert digest_of_run(tmp_path, program=PROGRAM, NUMBA_DISABLE_JIT="1")[0] == here


@pytest.mark.parametrize("processor", ["generic", pytest.param("haswell", marks=pytest.mark.full)])
def test_a_choice_for_another_processor_is_the_same(here, tmp_path, processor):
    assert digest_of_run(tmp_path, program=PROGRAM, NUMBA_CPU_NAME=processor, NUMBA_CPU_FEATURES="")[0] == here
