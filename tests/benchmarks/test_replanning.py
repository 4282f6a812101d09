"""Looking for agents in the way costs 10,000 agents that walk less than a tenth of the tick."""

import pytest

from benchmarks.replanning import shares


@pytest.mark.full
def test_replanning_takes_less_than_a_tenth_of_the_tick():
    """The least of three measurements: what else the machine does hits short
    systems and long ones unevenly.
    """
    found = []
    for _ in range(3):
        people, own, total, looks = shares()
        assert people == 10_000 and looks > 100
        found.append(own / total)
    assert min(found) < 0.1, found
