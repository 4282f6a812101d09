"""Opening a recording by its path: and what is there instead, where it is not."""

from __future__ import annotations

import os
from pathlib import Path

from crowdsim.commands import command
from crowdsim.errors import RecordingError
from crowdsim.recording.files import is_stale_placeholder
from crowdsim.recording.leftovers import left_for
from crowdsim.recording.reader import Recording


def open_run(path: str | os.PathLike[str]) -> Recording:
    """Open a recording for reading.

    Parameters
    ----------
    path : path of a finished file, of one in the making, or of one that was cut off

    Returns
    -------
    Recording
        Usable in a ``with`` statement. It shows the last commit; open the file again to see later ones.

    Raises
    ------
    RecordingError
        If it is no recording, damaged, or nothing was committed to it.
    """
    target = Path(path)
    if not os.path.lexists(target) or is_stale_placeholder(target):
        _tell_what_is_left(target)
    return Recording(target)


def _tell_what_is_left(target: Path) -> None:
    """Raise RecordingError if runs with an output path are going on, or were cut off,
    where there is no such file.
    """
    left = left_for(target)
    live = [found for found in left if found.is_live]
    safe = [found for found in left if found.last_tick >= 0]
    if live:
        so_far = command("info", live[0].path)
        raise RecordingError(
            f"{target}: there is no such file yet: a run with this output is going on ({live[0].writer}). "
            f"What it has done so far: {so_far}"
        )
    if safe:
        raise RecordingError(
            f"{target}: there is no such file, but a run with this output was cut off: {safe[0].path}. Open "
            "that, or make a whole recording of it: "
            f"{command('recover', target)}"
        )
    if left:
        raise RecordingError(
            f"{target}: there is no such file. A run with this output was stopped before anything was "
            "recorded; run it again."
        )
