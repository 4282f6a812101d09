"""Taking ranges in compiled code."""

import threading
import time

import numpy as np

from crowdsim.kernels import ranges
from crowdsim.kernels.waiting import looks_in, serve


def a_desk() -> np.ndarray:
    return np.zeros(ranges.WORDS, dtype=np.int64)


def test_looks_that_find_nothing_end():
    desk = a_desk()
    serve(desk, 1000)
    assert not desk.any()


def test_a_team_that_ends_is_seen_at_once():
    desk = a_desk()
    looks = looks_in(10**10)
    looking = threading.Thread(target=serve, args=(desk, looks))
    looking.start()
    time.sleep(0.05)
    assert looking.is_alive()
    desk[ranges.STOP] = 1
    looking.join(5)
    assert not looking.is_alive()


def test_looking_for_longer_takes_more_looks():
    assert 1 <= looks_in(10_000) < looks_in(1_000_000)
