"""``crowdsim models``: which avoidance models there are, and one scene under several of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdsim.cli.options import (
    PICTURES,
    AllowDir,
    Force,
    Plugins,
    SetValues,
    load_plugins,
    new_output,
    with_seed,
)
from crowdsim.cli.progress import Progress
from crowdsim.cli.shell import complain, say, say_json, table, tell
from crowdsim.errors import CrowdsimError, ExitCode
from crowdsim.printable import summary_of

if TYPE_CHECKING:
    from crowdsim.comparison.comparison import Outcome, OverSeeds
    from crowdsim.comparison.counts import Trace
    from crowdsim.scenario.model import Scenario


def models(
    scenarios: Annotated[
        list[Path] | None,
        typer.Argument(help="Scenario files; without one, all models are listed.", show_default=False),
    ] = None,
    wanted: Annotated[
        str,
        typer.Option(
            "--models", "-m", metavar="A,B,...", help="Models to compare; all that there are if left out."
        ),
    ] = "",
    seeds: Annotated[
        str,
        typer.Option(
            "--seeds", metavar="0:10", help="Seeds: 0:10 is 0 to 9, or 1,5,7. Default: the scenario's own."
        ),
    ] = "",
    set_: SetValues = None,
    allow_dir: AllowDir = None,
    plugin: Plugins = None,
    threads: Annotated[
        int, typer.Option("--threads", "-j", min=1, help="Threads; they change nothing but the time.")
    ] = 1,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")] = False,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print every single run, and means and deviations over seeds, as JSON."),
    ] = False,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture",
            "-p",
            metavar="FILE",
            help="Draw the runs of the first seed side by side (.png, .svg, .pdf).",
        ),
    ] = None,
    force: Force = False,
) -> int:
    """Run one scene under several avoidance models, and show the results of each; nothing is recorded.

    A model stands in place of the scenario's `avoidance`, with its own default numbers; groups that have a
    model of their own keep it. Numbers are means over seeds with their standard deviation. Exit code 2 if a
    model broke a promise in one of the runs.
    """
    load_plugins(plugin)
    if not scenarios:
        if picture is not None:
            raise CrowdsimError("--picture draws runs: name a scenario.")
        _list_models(json)
        return int(ExitCode.OK)
    from crowdsim.comparison.comparison import HEADERS, legend, markdown_table, over_seeds, table_row
    from crowdsim.sweep.design import seeds_of

    target = None
    if picture is not None:  # an error comes before anything runs
        from crowdsim.pictures.run import new_figure

        target = new_output(picture, PICTURES, "a picture", source=scenarios[0], force=force)
        new_figure(1.0, 1.0)
    names = _names(wanted)
    each_seed: list[int | None] = [*(seeds_of(seeds) if seeds.strip() else ())] or [None]
    runs = [
        (model, _loaded(path, model, seed, set_, allow_dir))
        for path in scenarios
        for model in names
        for seed in each_seed
    ]  # all of them, before the first one runs: a mistake is reported at once
    for note in dict.fromkeys(_own_models(scenario) for _, scenario in runs):
        if note:
            complain(note)
    each = len(each_seed)
    outcomes, traces = _run_all(runs, threads, traced=each if target is not None else 0, quiet=json)
    failed = [outcome for outcome in outcomes if outcome.failed]
    together = [over_seeds(outcomes[first : first + each]) for first in range(0, len(outcomes), each)]
    panels = [
        (runs[number * each][1], part, trace)
        for number, (part, trace) in enumerate(zip(together, traces, strict=False))
    ]
    if json:
        _draw(panels, target, force=force)
        say_json(
            {
                "runs": [outcome.as_dict() for outcome in outcomes],
                "over_seeds": [part.as_dict() for part in together],
            }
        )
    elif markdown:
        say(markdown_table(HEADERS, [table_row(part) for part in together]))
    else:
        say(
            table(
                HEADERS,
                [table_row(part) for part in together],
                right=tuple(range(2, len(HEADERS))),
            )
        )
        say(legend(each))
    if target is not None and not json:  # the results are printed first: a disk may be full
        _draw(panels, target, force=force)
        say(str(target))
    for outcome in failed:
        complain(f"{outcome.scenario}, {outcome.model}, seed {outcome.seed}: {outcome.failed}")
    return int(ExitCode.USAGE if failed else ExitCode.OK)


def _draw(panels: list[tuple[Scenario, OverSeeds, Trace]], target: Path | None, *, force: bool) -> None:
    """Draw runs side by side, if that was asked for."""
    if target is None:
        return
    from crowdsim.pictures.models import Panel, draw_models
    from crowdsim.recording.files import new_file

    with new_file(target, force=force) as scratch:
        draw_models(
            [Panel(scenario, part.model, trace, part) for scenario, part, trace in panels],
            scratch,
            form=target.suffix.lower()[1:],
        )


def _run_all(
    runs: list[tuple[str, Scenario]], threads: int, *, traced: int, quiet: bool
) -> tuple[list[Outcome], list[Trace]]:
    """Run one after the other; return their results, and a trace of every so many-th, from the first on,
    if `traced` is not 0.
    """
    from crowdsim.comparison.comparison import run_scene
    from crowdsim.comparison.counts import Trace

    outcomes: list[Outcome] = []
    traces: list[Trace] = []
    with Progress(enabled=not quiet) as progress:
        progress.watch_first_run()
        for number, (model, scenario) in enumerate(runs):
            progress.note(f"{scenario.name}: {model}, seed {scenario.seed} ({number + 1} of {len(runs)})")
            trace = Trace() if traced and number % traced == 0 else None
            outcomes.append(run_scene(scenario, model, threads=threads, trace=trace))
            traces += [trace] if trace is not None else []
    return outcomes, traces


def _loaded(
    path: Path, model: str, seed: int | None, sets: list[str] | None, allow_dir: list[Path] | None
) -> Scenario:
    from crowdsim.scenario.load import load_scenario

    return load_scenario(
        path, sets=[f"avoidance={model}", *with_seed(sets, seed)], allow_dirs=allow_dir or ()
    )


def _own_models(scenario: Scenario) -> str:
    """Return a note on groups that keep their own model, if there are any."""
    own = [group.name for group in scenario.groups if group.avoidance is not None]
    return (
        (
            f"note: {scenario.file}: {', '.join(own)} {'keeps' if len(own) == 1 else 'keep'} a model of "
            f"{'its' if len(own) == 1 else 'their'} own"
        )
        if own
        else ""
    )


def _names(wanted: str) -> list[str]:
    """Return the names of the models that are asked for, or of all."""
    from crowdsim.avoidance.registry import available_models, model_named

    names = [name.strip() for name in wanted.split(",") if name.strip()] or list(available_models())
    for name in names:
        model_named(name)
    return list(dict.fromkeys(names))


def _list_models(as_json: bool) -> None:
    """Show every model with what it is and where it comes from."""
    from crowdsim.avoidance.registry import available_models, model_named, origin_of

    rows = [
        {"name": name, "about": summary_of(model_named(name)), "origin": str(origin_of(name) or "crowdsim")}
        for name in available_models()
    ]
    tell(
        rows,
        as_json,
        lambda: table(
            ("model", "from", "about"), [(row["name"], row["origin"], row["about"]) for row in rows]
        ),
    )
