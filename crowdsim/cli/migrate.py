"""``crowdsim migrate``: recordings of older versions of the format go on being of use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdsim.cli.options import RECORDINGS, new_output, require_name
from crowdsim.cli.shell import tell


def migrate(
    path: Annotated[Path, typer.Argument(help="A recording or a checkpoint.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The new file; <name>.migrated.h5 beside the old one if left out."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the new file if it exists.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Bring a recording to today's version of the format, or say that it is of today's already.
    The old file is left as it is.

    Exit codes: 0 of today's version, or made so; 4 it cannot be read or written, or is of a newer version.
    """
    from crowdsim.recording.migrate import migrate as migrate_file

    require_name(path)
    if out is not None:
        new_output(out, RECORDINGS, "a recording", source=path)
    found = migrate_file(path, out, force=force)
    facts = {
        "ok": True,
        "kind": found.kind,
        "version": found.version,
        "today": found.today,
        "path": str(found.path) if found.path else None,
    }
    text = (
        f"{path}: is a {found.kind} of today's version of the format already (version {found.today})"
        if found.path is None
        else f"{found.path}: version {found.today} of {path}, which has version {found.version}"
    )
    tell(facts, json, lambda: text)
