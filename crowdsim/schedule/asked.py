"""What a user of the library may give as a scenario: a loaded one, a file, YAML text, or plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.scenario.model import Scenario


def as_scenario(given: Scenario | Mapping[str, Any] | str | Path) -> Scenario:
    """Return a scenario from any of its forms.

    Parameters
    ----------
    given : Scenario, mapping, str or Path
        A mapping holds what a file would; numpy's numbers and arrays may stand in it. A str with a line break is YAML text, another one a path.

    Raises
    ------
    ScenarioError
        With everything that is wrong.
    """
    if isinstance(given, Scenario):
        return given
    if isinstance(given, Mapping):
        return _from_values(given)
    if isinstance(given, str) and "\n" in given:
        return parse_scenario(given)
    if isinstance(given, (str, Path)):
        return load_scenario(given)
    raise CrowdsimError(f"a scenario is a file, YAML text, a dict or what load_scenario returns, not {given!r:.80}.")


def _from_values(values: Mapping[str, Any]) -> Scenario:
    try:
        text = json.dumps(values, default=_plain, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise CrowdsimError(f"the scenario cannot be written as text ({error}). Give finite numbers, texts, lists and dicts.") from None
    try:
        return parse_scenario(text, folder=Path())
    except ScenarioError as error:  # it is one long line: places in it say nothing
        raise ScenarioError([replace(problem, file="", line=0, column=0) for problem in error.problems]) from None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no plain value")
