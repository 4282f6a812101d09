"""``crowdsim list``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from crowdsim.cli.shell import complain, say, say_json, table
from crowdsim.commands import command
from crowdsim.errors import CrowdsimError, ExitCode, ScenarioError
from crowdsim.printable import counted

MOST_FILES = 1000  # of one folder that a person sees; --json has them all


def list_scenarios(
    folder: Annotated[Path, typer.Argument(help="Folder with scenarios (*.yaml, *.yml).")] = Path(
        "scenarios"
    ),
    json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> int:
    """List the scenarios in a folder: name, number of agents, longest duration, what each is for,
    and which have mistakes.

    Exit codes: 0 all can be read; 2 some have mistakes, which stand in the list beside the others.
    """
    if not folder.is_dir():
        raise CrowdsimError(f'There is no folder "{folder}". Name one: crowdsim list FOLDER.')
    files = sorted(path for pattern in ("*.yaml", "*.yml") for path in folder.glob(pattern))
    if not files:
        raise CrowdsimError(
            f'The folder "{folder}" has no scenarios (*.yaml, *.yml). To write one: '
            f"{command('new', folder / 'my_scenario.yaml')}"
        )
    rows = [_row(path) for path in (files if json else files[:MOST_FILES])]
    bad = [row for row in rows if row["problems"]]
    code = int(ExitCode.USAGE if bad else ExitCode.OK)
    if json:
        say_json(rows)
        return code
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
        say(f"and {len(files) - MOST_FILES:,} more files (--json has all)")
    if bad:
        complain(
            f"{counted(len(bad), 'file')} of {len(rows):,} cannot be used; all that is wrong: "
            f"{command('validate', folder / bad[0]['file'])}"
        )
    return code


def _row(path: Path) -> dict[str, Any]:
    """Return one line of the table; a file that is no good says so in it, and a sweep what it varies."""
    from crowdsim.scenario.load import load_scenario
    from crowdsim.sweep.design_file import is_design_file, read_design

    row: dict[str, Any] = {
        "file": path.name,
        "name": None,
        "agents": None,
        "seconds": None,
        "about": "",
        "problems": 0,
    }
    try:
        if is_design_file(path):
            design = read_design(path)
            return {**row, "name": design.name, "about": f"a sweep of {design.scenario.name}"}
        scenario = load_scenario(path)
    except ScenarioError as error:
        count = len(error.problems)
        first = error.problems[0]
        where = f"line {first.line}: " if first.line else ""
        row["about"] = f"{count} problem{'s' if count > 1 else ''}: {where}{first.message}"
        row["problems"] = count
        return row
    except (CrowdsimError, OSError, MemoryError) as error:  # one bad file is no reason to hide the others
        return {**row, "about": f"1 problem: {str(error) or 'it needs too much memory'}", "problems": 1}
    about = scenario.description.strip().splitlines()
    return {
        **row,
        "name": scenario.name,
        "agents": scenario.agent_count,
        "seconds": scenario.stop.after,
        "about": about[0] if about else "",
    }
