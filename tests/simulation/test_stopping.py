"""A run that is asked to stop stops, and between two ticks if need be."""

import signal

import pytest

from crowdsim.cli.run import stoppable
from crowdsim.recording.checkpoint import read_checkpoint
from tests.crowds import simulation


def test_a_signal_that_was_lost_stops_the_run_all_the_same(monkeypatch):
    """As one is that comes while the compiler has called back into Python."""
    monkeypatch.setattr("crowdsim.simulation.simulation.PROGRESS_SECONDS", 0.0)
    with stoppable() as heeding, simulation() as run:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        verdict = run.run(progress=heeding(lambda _: None))
    assert verdict.ended == "interrupted" and verdict.ticks == 1


def test_only_the_second_signal_breaks_into_a_tick():
    """The first one waits for the end of the tick; where no run goes on, it stops at once."""
    with stoppable(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    with stoppable() as heeding:
        shown = heeding(lambda _: None)
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            shown(None)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


def test_a_stop_between_ticks_leaves_a_checkpoint_and_half_a_tick_none(tmp_path, monkeypatch):
    def interrupted(_=None):
        raise KeyboardInterrupt

    with simulation(out=tmp_path / "half.h5") as half:
        half.step()
        monkeypatch.setattr(half, "_step", interrupted)
        assert half.run().ended == "interrupted"
    with simulation(out=tmp_path / "between.h5") as between:
        monkeypatch.setattr("crowdsim.simulation.simulation.PROGRESS_SECONDS", 0.0)
        assert between.run(progress=interrupted).ended == "interrupted"
    (left,) = tmp_path.glob("*.checkpoint")
    assert left.name.startswith("between.") and read_checkpoint(left).tick == 1
