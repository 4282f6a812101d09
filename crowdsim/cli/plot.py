"""``crowdsim plot``: a picture of a run, or of one choice in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdsim.cli.paths import new_output, require_name
from crowdsim.cli.shell import say
from crowdsim.errors import CrowdsimError, ExitCode


def plot(
    run: Annotated[Path, typer.Argument(help="A recording.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Picture to write (.png, .svg, .pdf); default: beside the recording, .png.")] = None,
    explain: Annotated[
        str | None,
        typer.Option("--explain", metavar="AGENT", help="Draw why this agent, an id or group[index], chose its velocity. Needs record.explain."),
    ] = None,
    at: Annotated[float | None, typer.Option("--at", metavar="SECONDS", help="When it chose, for --explain.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing picture.")] = False,
) -> int:
    """Draw the plan with everybody's trail, the exits with their counts, and who is stuck; or one choice of one agent in the plane of velocities."""
    if (explain is None) != (at is None):
        given, missing = ("--at", "--explain AGENT") if explain is None else ("--explain", "--at SECONDS")
        raise CrowdsimError(f"{given} needs {missing} beside it: a choice is one agent's at one time.")
    target = new_output(out or _default_name(require_name(run), explain, at), (".png", ".svg", ".pdf"), "a picture", source=run)
    if target.exists() and not force:
        raise CrowdsimError(f"{target} exists already; use --force to replace it, or --out for another name")
    from crowdsim.pictures.run import draw_run
    from crowdsim.pictures.velocities import draw_velocities
    from crowdsim.recording.files import new_file
    from crowdsim.recording.reader import open_run

    with open_run(run) as recording, new_file(target, force=force) as scratch:
        form = target.suffix.lower()[1:]
        if explain is not None and at is not None:
            draw_velocities(recording, explain, at, scratch, form=form)
        else:
            draw_run(recording, scratch, form=form)
    say(str(target))
    return int(ExitCode.OK)


def _default_name(run: Path, explain: str | None, at: float | None) -> Path:
    """Return the name of the picture beside the recording."""
    if explain is None:
        return run.with_suffix(".png")
    agent = "".join(letter if letter.isalnum() or letter == "_" else "-" for letter in explain).strip("-")
    return run.with_name(f"{run.stem}-{agent}-{at:g}s.png")
