"""``crowdsim view``: a recorded run as one page for a browser, or as a film."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from crowdsim.cli.options import Force, new_output, require_name
from crowdsim.cli.progress import Progress
from crowdsim.cli.shell import tell
from crowdsim.errors import CrowdsimError

LEAST_MEGABYTES = 0.1  # The page itself, without any run, has 0.05.


def view(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A recording.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Page to write (.html); default: beside the recording.")
    ] = None,
    megabytes: Annotated[
        float,
        typer.Option(
            "--megabytes", metavar="MB", help="Largest page: frames, then agents, are thinned until it fits."
        ),
    ] = 25.0,
    gif: Annotated[
        Path | None,
        typer.Option(
            "--gif", metavar="FILE", help="Write a film as GIF instead; needs matplotlib and Pillow."
        ),
    ] = None,
    mp4: Annotated[
        Path | None,
        typer.Option(
            "--mp4", metavar="FILE", help="Write a film as MP4 instead; needs matplotlib and ffmpeg."
        ),
    ] = None,
    speed: Annotated[
        float | None,
        typer.Option(
            "--speed",
            metavar="X",
            help="Of a film: simulated seconds in a second; default: all in 20 s or less.",
        ),
    ] = None,
    force: Force = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for programs.")] = False,
) -> None:
    """Write a recording as one page to look at: it plays, seeks, zooms, and shows facts of each agent.
    It loads nothing and can be mailed.

    With --gif or --mp4 it writes films, and a page only if --out is given too.
    """
    if not megabytes >= LEAST_MEGABYTES:
        raise CrowdsimError(f"--megabytes is {megabytes:g}, but a page needs at least {LEAST_MEGABYTES:g}.")
    if speed is not None and gif is None and mp4 is None:
        raise CrowdsimError("--speed is of films: name one with --gif or --mp4. A page has a control for it.")
    if speed is not None and not 0.0 < speed < float("inf"):
        raise CrowdsimError(f"--speed is {speed:g}, but must be above 0.")
    beside = out or require_name(run).with_suffix(".html")
    page = (
        None
        if out is None and (gif or mp4)
        else new_output(beside, (".html", ".htm"), "a page", source=run, force=force)
    )
    films = [
        new_output(path, (ending,), "the film", source=run, force=force)
        for path, ending in ((gif, ".gif"), (mp4, ".mp4"))
        if path is not None
    ]
    from crowdsim.recording.files import new_file
    from crowdsim.recording.opening import open_run

    written: dict[str, Any] = {}
    with open_run(run) as recording, Progress() as progress:
        for target in films:
            from crowdsim.pictures.view.film import draw_film

            with new_file(target, force=force) as scratch:
                form = target.suffix[1:].lower()
                written[form] = {
                    "file": str(target),
                    **draw_film(recording, scratch, form=form, speed=speed, note=progress.note),
                }
        if page is not None:
            from crowdsim.pictures.view.page import write_page

            with new_file(page, force=force) as scratch:
                written["page"] = {
                    "file": str(page),
                    **write_page(recording, scratch, megabytes=megabytes, note=progress.note),
                }
    tell({"ok": True, **written}, json, lambda: "\n".join(_line(facts) for facts in written.values()))


def _line(facts: dict[str, Any]) -> str:
    """Return what was written, as a line; what was left out follows it."""
    frames = f"{facts['frames']:,} frame{'' if facts['frames'] == 1 else 's'}"
    agents = f"{facts['agents']:,} agent{'' if facts['agents'] == 1 else 's'}"
    return " ".join([f"{facts['file']}: {facts['bytes'] / 1e6:.2f} MB, {agents}, {frames}.", *facts["words"]])
