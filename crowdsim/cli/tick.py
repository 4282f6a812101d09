"""``crowdsim tick``: the order of the systems, as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from crowdsim.cli.options import Plugins, load_plugins
from crowdsim.cli.shell import tell, wrapped


def tick(
    plugin: Plugins = None, json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False
) -> None:
    """Show which systems a tick runs, in their order, and which columns each reads and writes;
    those of plug-ins at their places.
    """
    from crowdsim.simulation.simulation import tick_table
    from crowdsim.systems import TICK_ORDER
    from crowdsim.systems.base.own import in_order
    from crowdsim.world.registry import registered_systems

    load_plugins(plugin)
    rows = tick_table(in_order(TICK_ORDER, tuple(registered_systems().values())))
    tell(rows, json, lambda: "\n".join(_text(number, row) for number, row in enumerate(rows, 1)))


def _text(number: int, row: Mapping[str, str]) -> str:
    used = (wrapped(f"{verb} {row[verb] or 'nothing'}", "      ") for verb in ("reads", "writes"))
    return "\n".join([f"{number:2}. {row['system']}: {row['does']}", *used])
