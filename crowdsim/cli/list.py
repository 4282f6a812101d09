"""``crowdsim list``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from crowdsim.cli.shell import say, say_json, table
from crowdsim.commands import command
from crowdsim.errors import CrowdsimError, ScenarioError

MOST_FILES = 1000  # of one folder


def list_scenarios(
    folder: Annotated[Path, typer.Argument(help="Folder with scenarios (*.yaml, *.yml).")] = Path(
        "scenarios"
    ),
    json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List the scenarios in a folder: name, number of agents, longest duration, what each is for,
    and which have mistakes.
    """
    if not folder.is_dir():
        raise CrowdsimError(f'There is no folder "{folder}". Name one: crowdsim list FOLDER.')
    files = sorted(path for pattern in ("*.yaml", "*.yml") for path in folder.glob(pattern))
    if not files:
        raise CrowdsimError(
            f'The folder "{folder}" has no scenarios (*.yaml, *.yml). To write one: '
            f"{command('new', folder / 'my_scenario.yaml')}"
        )
    rows = [_row(path) for path in files[:MOST_FILES]]
    if json:
        say_json(rows)
        return
    shown = [
        [
            row["file"],
            "-" if row["agents"] is None else row["agents"],
            "-" if row["seconds"] is None else f"{row['seconds']:g}",
            row["about"],
        ]
        for row in rows
    ]
    say(table(["file", "agents", "seconds", "about"], shown, right=(1, 2)))
    if len(files) > MOST_FILES:
        say(f"and {len(files) - MOST_FILES} more files")


def _row(path: Path) -> dict[str, Any]:
    """Return one line of the table; a scenario with mistakes says so in it."""
    from crowdsim.scenario.load import load_scenario

    row: dict[str, Any] = {
        "file": path.name,
        "name": None,
        "agents": None,
        "seconds": None,
        "about": "",
        "problems": 0,
    }
    try:
        scenario = load_scenario(path)
    except ScenarioError as error:
        count = len(error.problems)
        first = error.problems[0]
        where = f"line {first.line}: " if first.line else ""
        row["about"] = f"{count} problem{'s' if count > 1 else ''}: {where}{first.message}"
        row["problems"] = count
        return row
    about = scenario.description.strip().splitlines()
    return {
        **row,
        "name": scenario.name,
        "agents": scenario.agent_count,
        "seconds": scenario.stop.after,
        "about": about[0] if about else "",
    }
