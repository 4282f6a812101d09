"""`crowdsim export`: a recording in the formats of other programs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from crowdsim.errors import ExitCode


class Format(StrEnum):
    """What `export` can write."""

    CSV = "csv"
    SQLITE = "sqlite"
    PEDPY = "pedpy"


SUFFIXES = {Format.CSV: ".csv", Format.SQLITE: ".sqlite", Format.PEDPY: ".h5"}


def export(
    path: Annotated[Path, typer.Argument(help="A recording.")],
    format: Annotated[Format, typer.Option("--format", "-f", help="csv; sqlite (JuPedSim); pedpy (one HDF5 file for each piece of ground).")] = Format.CSV,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The new file; beside the recording if left out.")] = None,
    columns: Annotated[str, typer.Option("--columns", help="csv: recorded columns to add, as in velocity,activity.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> int:
    """Write the trajectories of a recording as CSV, as a JuPedSim sqlite file, or as files for PedPy."""
    from crowdsim.errors import RecordingError
    from crowdsim.recording import export as formats
    from crowdsim.recording.reader import open_run

    target = out or path.with_suffix(SUFFIXES[format])
    if columns and format is not Format.CSV:
        raise RecordingError(f"--columns belongs to --format csv; {format} files have the columns that their readers know.")
    with open_run(path) as recording:
        if format is Format.PEDPY:
            made = formats.export_pedpy(recording, target, force=force)
            typer.echo("\n".join(str(file) for file in made))
            return ExitCode.OK
        if format is Format.SQLITE:
            rows = formats.export_sqlite(recording, target, force=force)
        else:
            rows = formats.export_csv(recording, target, columns=[name for name in columns.split(",") if name], force=force)
    typer.echo(f"{target}: {rows:,} rows")
    return ExitCode.OK
