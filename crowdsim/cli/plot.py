"""``crowdsim plot``: a picture of a run, of one choice in it, of a sweep, or of a scenario before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdsim.cli.options import (
    PICTURES,
    AllowDir,
    Force,
    Plugins,
    Seed,
    SetValues,
    known_folders,
    load_plugins,
    new_output,
    require_name,
    with_seed,
)
from crowdsim.cli.progress import Progress
from crowdsim.cli.shell import complain, say
from crowdsim.errors import CrowdsimError
from crowdsim.old_names import LAYERS

SCENARIO_ENDINGS = (".yaml", ".yml", ".json")


def plot(
    run: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A recording, a scenario (.yaml), or the folder of a sweep."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Picture to write (.png, .svg, .pdf); default: beside the file, .png."
        ),
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(
            "--explain",
            metavar="AGENT",
            help="Draw why this agent, an id or group[index], chose its velocity. Needs record.explain.",
        ),
    ] = None,
    at: Annotated[
        float | None, typer.Option("--at", metavar="SECONDS", help="When it chose, for --explain.")
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            "--show",
            metavar="WHAT",
            help="Of a recording: trails, density, curve, speeds, budget, or all; of a scenario: mesh, "
            "portals, widths, cells, visibility, paths, sectors; of a sweep: measures of its table. Joined "
            "by commas.",
        ),
    ] = None,
    radius: Annotated[
        float | None,
        typer.Option(
            "--radius",
            min=0.0,
            metavar="M",
            help="Of the agent whose cells and visibility are shown; default: the least.",
        ),
    ] = None,
    seed: Seed = None,
    set_: SetValues = None,
    allow_dir: AllowDir = None,
    plugin: Plugins = None,
    force: Force = False,
) -> None:
    """Draw a recording: trails on the plan, exits with their counts, and stuck agents;
    or one choice of one agent in the plane of velocities.

    With --show a sheet of panels: trails, density (map of the highest density), curve (arrivals by group),
    speeds (over time, with their spread), budget (what each system took), or all. Of a scenario: the plan
    with its mesh, and what --show names. Of a sweep: means and spread of measures over what was varied.
    """
    if (explain is None) != (at is None):
        given, missing = ("--at", "--explain AGENT") if explain is None else ("--explain", "--at SECONDS")
        raise CrowdsimError(f"{given} needs {missing} beside it: a choice is one agent's at one time.")
    is_sweep = require_name(run).is_dir()
    is_scenario = not is_sweep and run.suffix.lower() in SCENARIO_ENDINGS
    if is_sweep and explain is not None:
        raise CrowdsimError("--explain is of a recording: name one in the folder recordings of the sweep.")
    if is_scenario and explain is not None:
        raise CrowdsimError("--explain is of a recording: run the scenario first, with record.explain.")
    if not is_scenario and (radius is not None or seed is not None or set_ or allow_dir or plugin):
        raise CrowdsimError(
            "--radius, --seed, --set, --allow-dir and --plugin are of scenarios; a recording, or a sweep, is "
            "drawn as it is."
        )
    if not is_scenario and show is not None and explain is not None:
        raise CrowdsimError(
            "--explain draws one choice and --show panels of the whole run. Give one of them."
        )
    target = new_output(
        out or (run / "means.png" if is_sweep else _default_name(run, explain, at)),
        PICTURES,
        "a picture",
        source=run,
        force=force,
    )
    from crowdsim.recording.files import new_file

    form = target.suffix.lower()[1:]
    if is_sweep:
        from crowdsim.sweep.picture import draw_sweep

        with new_file(target, force=force) as scratch:
            draw_sweep(run, scratch, _names_in(show), form=form)
        say(str(target))
        return
    if is_scenario:
        from crowdsim.pictures.scenario import draw_scenario
        from crowdsim.scenario.load import load_scenario
        from crowdsim.setup.build import build_world

        load_plugins(plugin)
        layers = ("mesh",) if show is None else tuple(_layer_name(name) for name in _names_in(show))
        built = build_world(
            load_scenario(run, sets=with_seed(set_, seed), allow_dirs=known_folders(allow_dir))
        )
        with new_file(target, force=force) as scratch:
            draw_scenario(built, scratch, layers=layers, radius=radius, form=form)
        say(str(target))
        return
    from crowdsim.pictures.run import draw_run
    from crowdsim.pictures.sheet import draw_sheet, panels_from
    from crowdsim.pictures.velocities import draw_velocities
    from crowdsim.recording.opening import open_run

    panels = panels_from(show) if show is not None else ()
    with open_run(run) as recording, new_file(target, force=force) as scratch, Progress() as progress:
        if explain is not None and at is not None:
            draw_velocities(recording, explain, at, scratch, form=form)
        elif panels:
            draw_sheet(recording, scratch, panels, form=form, note=progress.note)
        else:
            draw_run(recording, scratch, form=form, note=progress.note)
    say(str(target))


def _names_in(show: str | None) -> list[str]:
    """Return what --show names."""
    return [name for part in (show or "").split(",") if (name := part.strip())]


def _layer_name(name: str) -> str:
    """Return what a layer of a scenario is called now, with a note if it was given by its old name."""
    if name in LAYERS:
        complain(f'note: the layer "{name}" is called "{LAYERS[name]}" now')
    return LAYERS.get(name, name)


def _default_name(run: Path, explain: str | None, at: float | None) -> Path:
    """Return the name of the picture beside the file."""
    if explain is None:
        return run.with_suffix(".png")
    agent = "".join(letter if letter.isalnum() or letter == "_" else "-" for letter in explain).strip("-")
    return run.with_name(f"{run.stem}-{agent}-{at:g}s.png")
