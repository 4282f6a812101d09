"""`crowdsim export`: a recording in the formats of other programs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from crowdsim.cli.options import new_output, require_name
from crowdsim.cli.progress import Progress
from crowdsim.cli.shell import say
from crowdsim.errors import RecordingError


class Format(StrEnum):
    """What `export` can write."""

    CSV = "csv"
    SQLITE = "sqlite"
    PEDPY = "pedpy"


# What the new file's name may end in, the usual first.
SUFFIXES = {
    Format.CSV: (".csv", ".txt"),
    Format.SQLITE: (".sqlite", ".sqlite3", ".db"),
    Format.PEDPY: (".h5", ".hdf5"),
}


def export(
    path: Annotated[Path, typer.Argument(help="A recording.")],
    format: Annotated[
        Format,
        typer.Option(
            "--format", "-f", help="csv; sqlite (JuPedSim); pedpy (one HDF5 file for each piece of ground)."
        ),
    ] = Format.CSV,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The new file; beside the recording if left out.")
    ] = None,
    columns: Annotated[
        str, typer.Option("--columns", help="csv: recorded columns to add, as in velocity,activity.")
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Write the trajectories of a recording as CSV, as a JuPedSim sqlite file, or as files for PedPy."""
    from crowdsim.recording import export as formats
    from crowdsim.recording.opening import open_run

    suffixes = SUFFIXES[format]
    target = new_output(
        out or require_name(path).with_suffix(suffixes[0]), suffixes, f"a file of the format {format}"
    )
    if columns and format is not Format.CSV:
        raise RecordingError(
            f"--columns belongs to --format csv; {format} files have the columns that their readers know."
        )
    said = ""
    with open_run(path) as recording, Progress() as progress:
        if format is Format.PEDPY:
            made = formats.export_pedpy(recording, target, force=force, note=progress.note)
            said = "\n".join(str(file) for file in made)
        elif format is Format.SQLITE:
            rows = formats.export_sqlite(recording, target, force=force, note=progress.note)
        else:
            rows = formats.export_csv(
                recording,
                target,
                columns=[name for name in columns.split(",") if name],
                force=force,
                note=progress.note,
            )
    say(said or f"{target}: {rows:,} rows")
