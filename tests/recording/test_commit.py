"""The commit record: torn ones do not count."""

from __future__ import annotations

import numpy as np
import pytest

from crowdsim.recording.commit import Commit, newest


def slots(*records):
    return np.frombuffer(b"".join(records), dtype="<u8").reshape(len(records), -1)


def test_a_record_comes_back_as_it_was():
    commit = Commit(3, 0, 10, 2000, 20, 5, 6, 7, 8, 9, 19, 2**64 - 1, 123)
    assert len(commit.pack()) == 128
    assert newest(slots(commit.pack(), Commit().pack())) == commit
    assert newest(slots(Commit().pack())) == Commit()


def test_the_newer_of_two_counts():
    assert newest(slots(Commit(number=4, rows=40).pack(), Commit(number=5, rows=50).pack())).rows == 50
    assert newest(slots(Commit(number=6, rows=60).pack(), Commit(number=5, rows=50).pack())).rows == 60


@pytest.mark.parametrize("kept", range(1, 124))
def test_a_torn_record_leaves_the_one_before(kept):
    """Behind byte 124 old and new are the same."""
    before, after = (
        Commit(number=4, rows=40, clock_ns=1).pack(),
        Commit(number=6, rows=2**63, run_digest=2**64 - 1, clock_ns=2).pack(),
    )
    torn = after[:kept] + before[kept:]
    assert torn not in (before, after)
    assert newest(slots(torn, Commit(number=5, rows=45).pack())) == Commit(number=5, rows=45)


def test_a_closed_file_has_no_torn_record():
    """Damage to the last record of a finished file must not show an older state as if it were all."""
    damaged = slots(Commit(number=4).pack(), bytes([1]) + Commit(number=5).pack()[1:])
    assert newest(damaged).number == 4
    assert newest(damaged, is_closed=True) is None
    assert newest(slots(Commit(number=4).pack(), Commit(number=5).pack()), is_closed=True).number == 5


def test_zeros_are_no_record():
    assert newest(slots(bytes(128), bytes(128))) is None


def test_the_bytes_of_interventions_share_a_word_with_the_number_of_commits():
    """Readers of before take both for one number, of which the newer record has the higher one."""
    commit = Commit(number=2**28 - 1, interventions=2**36 - 1, rows=5)
    assert newest(slots(commit.pack(), Commit(number=4).pack())) == commit
    assert (
        newest(slots(Commit(number=5, rows=1).pack(), Commit(number=6, interventions=9).pack())).number == 6
    )
    assert Commit(number=7).pack()[:8] == (7).to_bytes(8, "little")
