"""``crowdsim schema``."""

from __future__ import annotations

from crowdsim.cli.options import Plugins, load_plugins
from crowdsim.cli.shell import say_json


def schema(plugin: Plugins = None) -> None:
    """Print the JSON Schema of scenarios.

    Editors complete and check scenarios with it: write it to a file (crowdsim schema > crowdsim.schema.json)
    and put the line "# yaml-language-server: $schema=crowdsim.schema.json" on top of a scenario.
    """
    from crowdsim.scenario.json_schema import scenario_schema

    load_plugins(plugin)
    say_json(scenario_schema())
