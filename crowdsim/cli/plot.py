"""``crowdsim plot``: a picture of a run."""

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
    force: Annotated[bool, typer.Option("--force", help="Replace an existing picture.")] = False,
) -> int:
    """Draw the plan with everybody's trail, the exits with their counts, and who is stuck."""
    target = new_output(out or require_name(run).with_suffix(".png"), (".png", ".svg", ".pdf"), "a picture", source=run)
    if target.exists() and not force:
        raise CrowdsimError(f"{target} exists already; use --force to replace it, or --out for another name")
    from crowdsim.pictures.run import draw_run
    from crowdsim.recording.files import new_file
    from crowdsim.recording.reader import open_run

    with open_run(run) as recording, new_file(target, force=force) as scratch:
        draw_run(recording, scratch, form=target.suffix.lower()[1:])
    say(str(target))
    return int(ExitCode.OK)
