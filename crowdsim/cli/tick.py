"""``crowdsim tick``: the order of the systems, as it is."""

from __future__ import annotations

from typing import Annotated

import typer

from crowdsim.cli.options import Plugins, load_plugins
from crowdsim.cli.shell import say, say_json, wrapped
from crowdsim.errors import ExitCode


def tick(plugin: Plugins = None, json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False) -> int:
    """Show which systems a tick runs, in their order, and which columns each reads and writes; those of plug-ins at their places."""
    from crowdsim.simulation.simulation import tick_table
    from crowdsim.systems import TICK_ORDER
    from crowdsim.systems.base.own import in_order
    from crowdsim.world.registry import registered_systems

    load_plugins(plugin)
    rows = tick_table(in_order(TICK_ORDER, tuple(registered_systems().values())))
    if json:
        say_json(rows)
        return int(ExitCode.OK)
    for number, row in enumerate(rows, 1):
        say(f"{number:2}. {row['system']}: {row['does']}")
        say(wrapped(f"reads {row['reads'] or 'nothing'}", "      "))
        say(wrapped(f"writes {row['writes'] or 'nothing'}", "      "))
    return int(ExitCode.OK)
