"""What the groups of a scenario ask of the systems that find paths."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.local_grid.detours import EVERY_LINE
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.parameters import Chosen


def leads_round_stationary(chosen: Chosen) -> bool:
    """Return whether paths lead round stationary agents:
    on grids always, on meshes where the scenario says so.
    """
    return bool(chosen.values.get("round_standers", True))


def shares_round_stationary(scenario: Scenario) -> NDArray[np.float64]:
    """Return (groups,) float64: `obstacle_radius_share` of those on corridors that go round stationary agents
    between corners too, EVERY_LINE of others.
    """
    chosen = [scenario.navigation_of(group) for group in scenario.groups]
    return np.array(
        [
            each.values["obstacle_radius_share"] if each.values.get("round_standers") else EVERY_LINE
            for each in chosen
        ],
        dtype=np.float64,
    )


def guessing_groups(scenario: Scenario) -> NDArray[np.bool_]:
    """Return (groups,) bool: which of them walk on guesses while they wait for their paths."""
    chosen = [scenario.navigation_of(group) for group in scenario.groups]
    return np.array([each.values["while_waiting"] == "guess" for each in chosen], dtype=np.bool_)
