"""What several verbs take in the same way:
options, and names of files that they are to write, looked at before any work is done.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from crowdsim.errors import CrowdsimError, RecordingError

RECORDINGS, PICTURES = (".h5", ".hdf5"), (".png", ".svg", ".pdf")  # endings of files

SetValues = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a value of the scenario, for example --set groups.0.count=200; may be repeated.",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed, instead of the scenario's.")]
AllowDir = Annotated[
    list[Path] | None,
    typer.Option(
        "--allow-dir",
        metavar="DIR",
        help="Folder, beside the scenario's own, from which it may name files; may be repeated.",
    ),
]

Plugins = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin",
        metavar="FILE",
        help="Python file with an avoidance model or a system of your own; it is run. May be repeated.",
    ),
]

Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Replace files that crowdsim did not make, too; its own it always replaces."
    ),
]

CheckpointEvery = Annotated[
    str | None,
    typer.Option(
        "--checkpoint-every",
        metavar="SECONDS",
        help="Keep the state beside the recording every so many simulated seconds (10s): resume, fork.",
    ),
]


def seconds_between(text: str | None) -> float | None:
    """Return the seconds of a value such as 10s or 2.5.

    Raises
    ------
    CrowdsimError
        If it is no time above 0.
    """
    if text is None:
        return None
    try:
        seconds = float(text.strip().removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < math.inf:
        raise CrowdsimError(
            f"--checkpoint-every {text}: must be a number of simulated seconds above 0, for example 10s."
        )
    return seconds


def load_plugins(files: list[Path] | None) -> None:
    """Load the plug-ins that the user named."""
    if files:
        from crowdsim.avoidance import plugins

        plugins.load_plugins(files)


def with_seed(sets: list[str] | None, seed: int | None) -> list[str]:
    """Return the values to set, with the seed among them if one was given."""
    return [*(sets or []), *([f"seed={seed}"] if seed is not None else [])]


def known_folders(folders: list[Path] | None) -> list[Path]:
    """Return the folders of --allow-dir.

    Raises
    ------
    CrowdsimError
        If one is missing: what it is to allow would be refused later, far from the reason.
    """
    for folder in folders or ():
        if not folder.is_dir():
            raise CrowdsimError(f'--allow-dir {folder}: there is no folder "{folder}".')
    return [*(folders or ())]


def require_name(path: Path) -> Path:
    """Return a path that names something; an empty argument names the folder it is used in.

    Raises
    ------
    CrowdsimError
        If it is empty.
    """
    if not path.name:
        raise CrowdsimError("The name of the file is empty.")
    return path


def new_output(
    path: Path, suffixes: Sequence[str], what: str, *, source: Path | None = None, force: bool = True
) -> Path:
    """Return the path of a file that is to be written, if it can be one.

    Parameters
    ----------
    path : Path
    suffixes : sequence of str
        Endings that it may have; whatever has another one is not written over by mistake.
    what : str
        What it will be, for messages.
    source : Path, optional
        A file that is read for it and must stay.
    force : bool
        Whether it may be there already, also if it is no page or picture that crowdsim made.

    Raises
    ------
    CrowdsimError
        If the name is none, or means a folder, the source, or a file that is there already.
    RecordingError
        If its folder is missing.
    """
    require_name(path)
    if path.is_dir():
        raise CrowdsimError(
            f'"{path}" is a folder. Name a file in it, for example {path / ("name" + suffixes[0])}.'
        )
    if path.suffix.lower() not in suffixes:
        known = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}" if len(suffixes) > 1 else suffixes[0]
        raise CrowdsimError(
            f'"{path}": {what} ends in {known}. Write for example {path.with_suffix(suffixes[0])}.'
        )
    if not path.parent.is_dir():
        raise RecordingError(
            f'There is no folder "{path.parent}" to write "{path.name}" into. Make it, or choose another '
            "output path."
        )
    if source is not None and path.exists() and source.exists() and path.samefile(source):
        raise CrowdsimError(
            f'"{path}" is the file that is read, and is not written over. Choose another name.'
        )
    if path.exists() and not force:
        from crowdsim.recording.made import is_made, taken_text

        if not is_made(path):
            raise CrowdsimError(taken_text(path))
    return path
