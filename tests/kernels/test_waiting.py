"""Taking ranges in compiled code."""

import threading
import time

import numpy as np

from crowdsim.kernels import ranges
from crowdsim.kernels.waiting import looks_in, serve


def a_control_block() -> np.ndarray:
    return np.zeros(ranges.WORDS, dtype=np.int64)


def test_looks_that_find_nothing_end():
    control = a_control_block()
    assert serve(control, 1000, 5000) == 1000
    assert serve(control, 1000, 300) == 300
    assert not control.any()


def test_a_team_that_ends_is_seen_at_once():
    control = a_control_block()
    looks = looks_in(10**10)
    looking = threading.Thread(target=serve, args=(control, looks, looks))
    looking.start()
    time.sleep(0.05)
    assert looking.is_alive()
    control[ranges.STOP] = 1
    looking.join(5)
    assert not looking.is_alive()


def test_looking_for_longer_takes_more_looks():
    assert 1 <= looks_in(10_000) < looks_in(1_000_000)
