"""The planners side by side: both answer all agents, and what is optimal is no longer."""

from pathlib import Path

import numpy as np

from benchmarks.planners import time_paths, time_ticks

SCENARIO = Path(__file__).parents[2] / "scenarios" / "room-evacuation.yaml"


def test_optimal_paths_are_no_longer_whether_searches_are_shared_or_not(capsys):
    best = time_paths(SCENARIO, 1)
    for how in ("alone", "shared"):
        assert best["optimal", how][2] <= best["mesh", how][2] * (1.0 + 1e-9)
    assert all(np.isfinite(took) and expansions > 0 for took, expansions, _ in best.values())
    time_ticks(SCENARIO, 50)
    assert "ms a tick over 50" in capsys.readouterr().out
