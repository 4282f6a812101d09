"""``crowdsim parameters``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from crowdsim.cli.options import Plugins, load_plugins
from crowdsim.cli.shell import tell, wrapped
from crowdsim.errors import CrowdsimError

OTHER_KEYS = (
    "A scenario's own values are named under its key vars, and lines and areas to be measured under "
    "measures: docs/reference/scenarios.md."
)


def parameters(
    which: Annotated[
        str, typer.Argument(help="Only names that begin with this, for example avoidance.orca.")
    ] = "",
    plugin: Plugins = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """Show every tunable number: name, default, unit, permitted range, why it is what it is,
    and where it comes from.
    """
    from crowdsim.scenario.parameters import parameter_rows
    from crowdsim.scenario.tree import suggestion

    load_plugins(plugin)
    everything = parameter_rows()
    rows = [row for row in everything if row["name"].startswith(which)]
    if not rows:
        known = list(dict.fromkeys(row["name"].rsplit(".", 1)[0] for row in everything))
        if which.partition(".")[0] in ("vars", "measures"):
            raise CrowdsimError(OTHER_KEYS)
        raise CrowdsimError(
            f'No tunable number has a name that begins with "{which}". '
            f"{suggestion(which, known) or 'Known are ' + ', '.join(known) + '.'}"
        )
    lines = [line for row in rows for line in (_headline(row), wrapped(_reason(row), "    "))]
    lines += [wrapped(note, "") for note in _notes(rows)]
    tell(rows, json, lambda: "\n".join(lines))


def _reason(row: dict[str, Any]) -> str:
    source = f" Source: {row['source']}." if row["source"] else ""
    return f"{row['why'][:1].upper()}{row['why'][1:]}.{source}"


def _notes(rows: list[dict[str, Any]]) -> list[str]:
    """Return what a reader of sources has to know, of those that are shown."""
    notes = []
    if any(row["source"].startswith("ours") for row in rows):
        notes.append('Where the source is "ours", the number was chosen or measured for this project.')
    if any("[" in row["source"] for row in rows):
        notes.append(
            "Keys such as [Weidmann 1993] are listed, with author, title and place, in docs/references.md."
        )
    if len({row["name"].partition(".")[0] for row in rows}) > 1:
        notes.append(OTHER_KEYS)
    if any(row["name"].startswith("navigation.s2-grid.") for row in rows):
        notes.append("navigation.s2-grid is the grid planner of [Pathfinding undated] with all its numbers.")
    return notes


def _headline(row: dict[str, Any]) -> str:
    """Return the name, the default with its unit, and the range of one tunable."""
    default = row["default"]
    shown = (
        str(default).lower()
        if isinstance(default, bool)
        else f"{default:g}"
        if isinstance(default, float)
        else str(default)
    )
    unit = f" {row['unit']}" if row["unit"] else ""
    return f"{row['name']} = {shown}{unit}, in {row['range']}"
