"""What the benchmark of crowds reads off recordings."""

import pytest

from benchmarks.crowd_checks import longest_step
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import SCENARIOS


def test_the_longest_step_is_that_of_the_recorded_positions(tmp_path):
    """Thirty agents in a room: the longest of their steps, taken tick by tick from the run itself."""
    sets = ["groups.crowd.count=30", "stop.after=3", "record.rate=20", "record.columns=[]"]
    longest = 0.0
    with Simulation(load_scenario(SCENARIOS / "bottleneck.yaml", sets=sets), out=tmp_path / "run.h5") as run:
        before = dict(zip(run.agents.entity.tolist(), run.agents.position.tolist(), strict=True))
        while not run.why_over():
            run.step()
            now = dict(zip(run.agents.entity.tolist(), run.agents.position.tolist(), strict=True))
            longest = max(
                longest,
                *(
                    ((x - before[key][0]) ** 2 + (y - before[key][1]) ** 2) ** 0.5
                    for key, (x, y) in now.items()
                ),
            )
            before = now
        run.finish()
    assert 0.05 < longest < 0.15
    assert longest_step(tmp_path / "run.h5") == pytest.approx(longest, abs=1e-9)
