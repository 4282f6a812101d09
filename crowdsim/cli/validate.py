"""``crowdsim validate``: what would go wrong, before it does."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdsim.cli.options import AllowDir, Plugins, Seed, SetValues, known_folders, load_plugins, with_seed
from crowdsim.cli.shell import complain_of, tell
from crowdsim.errors import ExitCode, ScenarioError

if TYPE_CHECKING:
    from crowdsim.setup.examine import Facts


def validate(
    scenario: Annotated[Path, typer.Argument(help="Scenario file (YAML).")],
    seed: Seed = None,
    set_: SetValues = None,
    allow_dir: AllowDir = None,
    plugin: Plugins = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> int:
    """Check a scenario: its text, its ground, and whether all agents fit,
    stand free and can get to their goals.

    The mesh, the radii and the search are those of the run. Exit code 0 if nothing is wrong, 2 otherwise.
    """
    from crowdsim.scenario.load import load_scenario
    from crowdsim.setup.build import build_world
    from crowdsim.setup.examine import examine, notes_left
    from crowdsim.setup.locked import locked_in

    load_plugins(plugin)
    loaded = load_scenario(scenario, sets=with_seed(set_, seed), allow_dirs=known_folders(allow_dir))
    built = build_world(loaded)
    problems, facts = examine(built)
    notes = [*notes_left(loaded), *locked_in(built)]
    if not json:
        complain_of(notes)
        if problems:
            raise ScenarioError(problems)
    found = {"problems": [asdict(each) for each in problems], "notes": [asdict(each) for each in notes]}
    tell({"ok": not problems, **found, **asdict(facts)}, json, lambda: _as_text(scenario, facts))
    return int(ExitCode.USAGE if problems else ExitCode.OK)


def _as_text(scenario: Path, facts: Facts) -> str:
    from crowdsim.setup.recording_size import MOST_COUNTED

    paths = f"paths of {facts.shortest_path_m:.1f} to {facts.longest_path_m:.1f} m; "
    if not facts.longest_path_m:  # agents that stand, or whose machines say where they go
        paths = ""
    coming, until = "", "all agents stay to the end"
    if facts.coming:
        more = "more than " if facts.coming >= MOST_COUNTED else ""
        coming = f"{more}{facts.coming:,} that come in, "
        until = (
            "those that come in and leave\nstay for as long as their paths take, and all others to the end"
        )
    return (
        f"{scenario}: nothing is wrong\n"
        f"{facts.agents:,} agents{' at first, ' if coming else ' '}{coming}and {facts.goals:,} goals on "
        f"{facts.area_m2:,.0f} m2 ({facts.polygons:,} polygons, {facts.walls:,} walls)\n"
        f"{paths}at most {facts.ticks:,} "
        f"ticks and {facts.frames:,} frames\n"
        f"the recording will have about {facts.recording_bytes / 1e6:,.1f} MB if {until}"
    )
