"""``crowdsim schema``."""

from __future__ import annotations

from crowdsim.cli.shell import say_json


def schema() -> None:
    """Print the JSON Schema of scenarios.

    Editors complete and check scenarios with it: write it to a file (crowdsim schema > crowdsim.schema.json) and put the line
    "# yaml-language-server: $schema=crowdsim.schema.json" on top of a scenario.
    """
    from crowdsim.scenario.json_schema import scenario_schema

    say_json(scenario_schema())
