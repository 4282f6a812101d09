"""Arrays that grow: what was in them stays, and the one that makes them grow does not pay for all that is in
them.
"""

import os
import resource

import numpy as np
import pytest

from crowdsim.kernels.growing import GrowingArray

PAGE_BYTES = resource.getpagesize()


def pages_touched() -> int:
    """Return how many pages this thread has touched for the first time."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_values_stay_and_what_is_added_is_zeros(dtype):
    array, expected = GrowingArray(3, dtype), np.arange(1, 4)
    array.values[:] = expected
    for count in (4, 1000, 5000, 1 << 20):
        array.grow(count)
        assert array.values.shape == (count,) and array.values.dtype == dtype
        assert (
            np.array_equal(array.values[: len(expected)], expected)
            and not array.values[len(expected) :].any()
        )
        array.values[:] = expected = np.arange(1, count + 1)


def test_a_caller_that_keeps_a_view_keeps_the_values_of_then():
    array = GrowingArray(5000, np.int32)
    array.values[:] = 7
    kept = array.values[10:20]
    array.grow(10_000)
    array.values[:] += 1
    assert np.all(kept == 7) and np.all(array.values[:5000] == 8) and np.all(array.values[5000:] == 1)


def test_growing_touches_no_page_of_what_there_was():
    """Doubling by a copy touched each page of the new half: 8,192 of 32 MB."""
    array = GrowingArray(32 << 18, np.int32)
    array.values[:] = 1
    before = pages_touched()
    array.grow(64 << 18)
    assert pages_touched() - before < 100
    array.values[32 << 18 :: PAGE_BYTES // 4] = 1  # the count is one that counts
    assert pages_touched() - before >= 32 << 20 >> 21


def test_a_forked_child_has_its_own():
    array = GrowingArray(1000, np.int64)
    array.values[:] = 1
    child = os.fork()
    if child == 0:
        array.values[:] = 2
        array.grow(2000)
        os._exit(0 if int(array.values.sum()) == 2000 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.all(array.values == 1)
