"""What the groups of a scenario ask of the systems that find paths."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.local_grid.detours import EVERY_LINE
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.parameters import Chosen


def goes_round_standers(chosen: Chosen) -> bool:
    """Return whether ways lead round those who stand: on grids always, on meshes where that is asked for."""
    return chosen.over_cells or bool(chosen.values["round_standers"])


def shares_round_standers(scenario: Scenario) -> NDArray[np.float64]:
    """Return (groups,) float64: `obstacle_radius_share` of those on corridors that go round standers between corners too, EVERY_LINE of others."""
    chosen = [scenario.navigation_of(group) for group in scenario.groups]
    return np.array([each.values["obstacle_radius_share"] if each.values.get("round_standers") else EVERY_LINE for each in chosen], dtype=np.float64)


def guessing_groups(scenario: Scenario) -> NDArray[np.bool_]:
    """Return (groups,) bool: whose agents walk on guesses while they wait for their paths."""
    chosen = [scenario.navigation_of(group) for group in scenario.groups]
    return np.array([each.values["while_waiting"] == "guess" for each in chosen], dtype=np.bool_)
