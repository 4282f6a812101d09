"""``crowdsim models``: which avoidance models there are, and one scene under several of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdsim.cli.options import AllowDir, Plugins, SetValues, load_plugins
from crowdsim.cli.progress import Progress
from crowdsim.cli.shell import complain, say, say_json, table
from crowdsim.errors import CrowdsimError, ExitCode

if TYPE_CHECKING:
    from crowdsim.scenario.model import Scenario
    from crowdsim.schedule.comparison import Outcome


def models(
    scenarios: Annotated[list[Path] | None, typer.Argument(help="Scenario files; without one, all models are listed.", show_default=False)] = None,
    wanted: Annotated[str, typer.Option("--models", "-m", metavar="A,B,...", help="Models to compare; all that there are if left out.")] = "",
    seeds: Annotated[str, typer.Option("--seeds", metavar="1,2,...", help="Seeds; numbers are put together over them. Default: the scenario's own.")] = "",
    set_: SetValues = None,
    allow_dir: AllowDir = None,
    plugin: Plugins = None,
    threads: Annotated[int, typer.Option("--threads", "-j", min=1, help="Threads; they change nothing but the time.")] = 1,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON list with every single run.")] = False,
) -> int:
    """Run one scene under several avoidance models, and show what each comes to; nothing is recorded.

    A model stands in place of the scenario's `avoidance`, with its own default numbers; groups that have a model of their own keep it. Exit code 2 if a
    model broke a promise in one of the runs.
    """
    load_plugins(plugin)
    if not scenarios:
        return _list_models(json)
    from crowdsim.schedule.comparison import HEADERS, markdown_table, over_seeds, run_scene, table_row

    names = _names(wanted)
    each_seed: list[int | None] = [*_seeds(seeds)] or [None]
    runs = [
        (model, _loaded(path, model, seed, set_, allow_dir)) for path in scenarios for model in names for seed in each_seed
    ]  # all of them, before the first one runs: a mistake is told at once
    for note in dict.fromkeys(_own_models(scenario) for _, scenario in runs):
        if note:
            complain(note)
    outcomes: list[Outcome] = []
    with Progress(enabled=not json) as progress:
        progress.watch_compiler()
        for model, scenario in runs:
            progress.note(f"{scenario.name}: {model}, seed {scenario.seed} ({len(outcomes) + 1} of {len(runs)})")
            outcomes.append(run_scene(scenario, model, threads=threads))
    failed = [outcome for outcome in outcomes if outcome.failed]
    code = ExitCode.USAGE if failed else ExitCode.OK
    if json:
        say_json([outcome.as_dict() for outcome in outcomes])
        return int(code)
    each = len(each_seed)
    rows = [table_row(over_seeds(outcomes[first : first + each])) for first in range(0, len(outcomes), each)]
    say(markdown_table(HEADERS, rows) if markdown else table(HEADERS, rows, right=tuple(range(2, len(HEADERS)))))
    for outcome in failed:
        complain(f"{outcome.scenario}, {outcome.model}, seed {outcome.seed}: {outcome.failed}")
    return int(code)


def _loaded(path: Path, model: str, seed: int | None, sets: list[str] | None, allow_dir: list[Path] | None) -> Scenario:
    from crowdsim.scenario.load import load_scenario

    more = [f"avoidance={model}", *(sets or []), *([f"seed={seed}"] if seed is not None else [])]
    return load_scenario(path, sets=more, allow_dirs=allow_dir or ())


def _own_models(scenario: Scenario) -> str:
    """Return a note on groups that keep their own model, if there are any."""
    own = [group.name for group in scenario.groups if group.avoidance is not None]
    return f"note: {scenario.file}: {', '.join(own)} {'keeps' if len(own) == 1 else 'keep'} a model of {'its' if len(own) == 1 else 'their'} own" if own else ""


def _names(wanted: str) -> list[str]:
    """Return the names of the models that are asked for, or of all."""
    from crowdsim.avoidance.registry import available_models, model_named

    names = [name.strip() for name in wanted.split(",") if name.strip()] or list(available_models())
    for name in names:
        model_named(name)
    return list(dict.fromkeys(names))


def _seeds(text: str) -> list[int]:
    """Return the seeds in a list like 1,2,3."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise CrowdsimError(f'--seeds takes whole numbers, for example 1,2,3, and not "{text}".')
    return list(dict.fromkeys(int(part) for part in parts))


def _list_models(as_json: bool) -> int:
    """Show every model with what it is and where it comes from."""
    from crowdsim.avoidance.registry import available_models, model_named, origin_of

    rows: list[dict[str, Any]] = []
    for name in available_models():
        about = (model_named(name).__doc__ or "").strip().split("\n")[0]
        rows.append({"name": name, "about": about, "origin": str(origin_of(name) or "crowdsim")})
    if as_json:
        say_json(rows)
    else:
        say(table(("model", "from", "about"), [(row["name"], row["origin"], row["about"]) for row in rows]))
    return int(ExitCode.OK)
