"""Looking at a number that another thread writes."""

import threading
import time

import numpy as np

from crowdsim.kernels.waiting import looks_in, watch


def test_a_number_that_is_another_is_seen_at_once_and_one_that_stays_ends_the_looks():
    number = np.array([7], dtype=np.int64)
    assert watch(number, 3, 1) == 7
    assert watch(number, 7, 1000) == 7


def test_what_another_thread_writes_meanwhile_is_seen():
    number, seen = np.zeros(1, dtype=np.int64), []
    looks = looks_in(10**10)
    looking = threading.Thread(target=lambda: seen.append(watch(number, 0, looks)))
    looking.start()
    time.sleep(0.05)
    assert not seen
    number[0] = 5
    looking.join(5)
    assert seen == [5]


def test_looking_for_longer_takes_more_looks():
    assert 1 <= looks_in(10_000) < looks_in(1_000_000)
