"""A run that is asked to stop stops, and between two ticks if need be."""

import signal

import pytest

from crowdsim.cli.run import stoppable
from tests.crowds import simulation


def test_a_signal_that_was_lost_stops_the_run_all_the_same(monkeypatch):
    """As one is that comes while the compiler has called back into Python."""
    monkeypatch.setattr("crowdsim.simulation.simulation.PROGRESS_SECONDS", 0.0)
    with stoppable() as heeding, simulation() as run:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        verdict = run.run(progress=heeding(lambda _: None))
    assert verdict.ended == "interrupted" and verdict.ticks == 1
