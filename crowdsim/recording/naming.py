"""Which of several finished recordings has a name: that of the newest run.
The older one goes on under its own run id, and is never without a name.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from crowdsim.errors import RecordingError
from crowdsim.recording.files import Kept, claim, give_name, is_same, reason_of, synchronise_folder
from crowdsim.recording.locks import alone_in
from crowdsim.recording.opening import open_run
from crowdsim.recording.reader import Recording
from crowdsim.recording.schema import RunState

_MOST_OF_ONE_ID = 99  # recordings of one run beside each other, as forks and copies by hand can make them


def take_name(partial: Path, out: Path, run_id: str, *, force: bool = False) -> Kept:
    """Give a finished recording its name; a finished recording of another run that has it
    goes on as ``<stem>.<its run id><suffix>`` beside it, unless it is the same, bit for bit.

    The older one gets its second name before it loses its first, so that a kill in between loses nothing.
    What is no recording is left alone, and so is everything where the disk knows no locks: the new one then
    becomes ``<stem>.<run id><suffix>``.

    Parameters
    ----------
    partial : Path
        The finished file; its old name is gone afterwards.
    out : Path
        The wanted name, in the same folder.
    run_id : str
    force : bool
        Replace whatever has the name.

    Returns
    -------
    Kept

    Raises
    ------
    RecordingError
        If it could have no name; the file is whole and keeps its old one.
    """
    try:
        with alone_in(out.parent) as is_alone:
            older = None
            if is_alone and not force:
                if claim(partial, out):
                    synchronise_folder(out)
                    return Kept(out, name_taken=False)
                older = _run_before(partial, out, run_id)
            if older is None:
                return give_name(partial, out, run_id, force=force)
            aside = _set_aside(out, older) if older else None
            partial.replace(out)
            synchronise_folder(out)
            return Kept(out, name_taken=False, older=aside)
    except OSError as error:
        raise RecordingError(
            f"{out}: the recording is whole, but could not be given this name ({reason_of(error)}). It is "
            f"kept as {partial}."
        ) from error


def _run_before(partial: Path, out: Path, run_id: str) -> str | None:
    """Return the id of the run whose finished recording has a name; empty if its recording is the same as
    the new one, None if it is none that can be set aside: no recording, or another part of the same run.
    """
    try:
        with open_run(out) as old, open_run(partial) as new:
            if not old.is_whole:
                return None
            if _are_same(old, new):
                return ""
            return old.header.run_id if old.header.run_id != run_id else None
    except RecordingError:
        return None


def _are_same(old: Recording, new: Recording) -> bool:
    return (
        old.state is new.state is RunState.FINISHED
        and old.run_digest == new.run_digest
        and old.header.scenario == new.header.scenario
        and old.layout == new.layout
        and old.commit.frames == new.commit.frames
    )


def _set_aside(out: Path, run_id: str) -> Path:
    """Give the older recording a name by its run id, and return that."""
    for number in range(1, _MOST_OF_ONE_ID + 1):
        aside = out.with_name(f"{out.stem}.{run_id}{f'-{number}' if number > 1 else ''}{out.suffix}")
        try:
            os.link(out, aside)
        except FileExistsError:
            if not is_same(out, aside):  # else a process was stopped right here
                continue
        except OSError:
            if aside.exists():
                continue
            out.rename(aside)  # the disk knows no second names
        synchronise_folder(out)
        return aside
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
