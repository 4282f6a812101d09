"""Names of files that a verb is to write, looked at before any work is done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from crowdsim.errors import CrowdsimError, RecordingError


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


def new_output(path: Path, suffixes: Sequence[str], what: str, *, source: Path | None = None) -> Path:
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

    Raises
    ------
    CrowdsimError
        If the name is none, or means a folder or the source.
    RecordingError
        If its folder is missing.
    """
    require_name(path)
    if path.is_dir():
        raise CrowdsimError(f'"{path}" is a folder. Name a file in it, for example {path / ("name" + suffixes[0])}.')
    if path.suffix.lower() not in suffixes:
        known = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}" if len(suffixes) > 1 else suffixes[0]
        raise CrowdsimError(f'"{path}": {what} ends in {known}. Write for example {path.with_suffix(suffixes[0])}.')
    if not path.parent.is_dir():
        raise RecordingError(f'There is no folder "{path.parent}" to write "{path.name}" into. Make it, or choose another output path.')
    if source is not None and path.exists() and source.exists() and path.samefile(source):
        raise CrowdsimError(f'"{path}" is the file that is read, and is not written over. Choose another name.')
    return path
