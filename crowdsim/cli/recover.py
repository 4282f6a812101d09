"""`crowdsim recover`: a whole recording from one that was cut off."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdsim.cli.options import RECORDINGS, new_output, require_name
from crowdsim.cli.shell import complain, say


def recover(
    path: Annotated[
        Path, typer.Argument(help="The file that was cut off, or the output path that the run was given.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The new file; <name>.recovered.h5 beside the old one if left out."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the new file if it exists.")] = False,
) -> None:
    """Make a whole recording of one that was cut off by a kill or a crash. The old file is left as it is."""
    from crowdsim.recording.recover import recover as recover_file

    require_name(path)
    if out is not None:
        new_output(out, RECORDINGS, "a recording", source=path)
    made = recover_file(path, out, force=force)
    say(f"{made.path}: {made.frames} frames until tick {made.last_tick}, recovered from {made.source}")
    if made.lost:
        complain(f"lost: {made.lost}")
