"""``crowdsim cut``: a part of a recording as a recording of its own."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from crowdsim.cli.options import RECORDINGS, new_output
from crowdsim.cli.progress import Progress
from crowdsim.cli.shell import tell
from crowdsim.printable import counted


def cut(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A recording.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The new recording (.h5).")],
    from_: Annotated[
        float | None, typer.Option("--from", metavar="S", help="Keep frames from this time on.")
    ] = None,
    to: Annotated[
        float | None, typer.Option("--to", metavar="S", help="Keep frames until this time, with it.")
    ] = None,
    region: Annotated[
        str | None,
        typer.Option(
            "--region",
            metavar="XMIN,YMIN,XMAX,YMAX",
            help="Keep where agents were in a box, in x and y of three corners or more, or in an area of the "
            "scenario by its name.",
        ),
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option("--group", metavar="NAME", help="Keep a group. Repeatable.")
    ] = None,
    floor: Annotated[
        list[str] | None,
        typer.Option("--floor", metavar="NAME", help="Keep where agents were on a floor. Repeatable."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the new file if it exists.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Make a recording of a part of another one: of its time, a region, groups, floors, or all of these.
    It can be measured, drawn, viewed, exported, compared and cut again, but not run again: resume, verify and
    bless refuse it.

    Numbers, times and agents stay what they were. Agents that are in no frame of the cut are not in it.
    """
    from crowdsim.measures.scenarios import area_from_text
    from crowdsim.measures.sources import facts_of
    from crowdsim.recording.cut import cut_run

    new_output(out, RECORDINGS, "a recording", source=source)
    polygon = None if region is None else area_from_text(region, facts_of(source), "region").polygon
    with Progress(enabled=not json) as progress:
        made = cut_run(
            source, out, from_s=from_, until_s=to, region=polygon, groups=group or (), floors=floor or (),
            force=force, note=progress.note,
        )  # fmt: skip
    tell(
        {"ok": True, **asdict(made), "path": str(made.path)},
        json,
        lambda: (
            f"{made.path}: {made.rows:,} rows of {counted(made.agents, 'agent')} in "
            f"{counted(made.frames, 'frame')} from {made.from_s:g} s until {made.until_s:g} s, "
            f"{counted(made.events, 'event')}"
        ),
    )
