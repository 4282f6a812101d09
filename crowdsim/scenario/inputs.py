"""What a user of the library may give as a scenario: a loaded one, a file, YAML text, or plain values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crowdsim.errors import CrowdsimError
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.scenario.model import Scenario


def as_scenario(given: Scenario | Mapping[str, Any] | str | Path) -> Scenario:
    """Return a scenario from any of its forms.

    Parameters
    ----------
    given : Scenario, mapping, str or Path
        A mapping and a path are those of `load_scenario`. A str with a line break is YAML text, another one a path.

    Raises
    ------
    ScenarioError
        With everything that is wrong.
    """
    if isinstance(given, Scenario):
        return given
    if isinstance(given, str) and "\n" in given:
        return parse_scenario(given)
    if isinstance(given, (str, Path, Mapping)):
        return load_scenario(given)
    raise CrowdsimError(f"a scenario is a file, YAML text, a dict or what load_scenario returns, not {given!r:.80}.")
