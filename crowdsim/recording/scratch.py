"""Folders for what is not finished: hidden, beside what is made of them, gone at the end; what a killed process left goes when the next one is made there.

A folder has a lock in it that its maker holds (`crowdsim.recording.locks`), so that no live process loses anything. Its name is like no other program's.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from crowdsim.recording.locks import create_locked, is_held, taken

_NAME = re.compile(r"\.crowdsim-[0-9a-f]{16}\.scratch")
LOCK = "lock"
_cleared: set[Path] = set()  # where this process has looked for what others left: once is enough


@contextlib.contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Make a folder of its own in another one, and remove it with all that is in it when the block ends.

    Parameters
    ----------
    parent : Path, optional
        On whose disk it is to be; without it the system's folder for temporary files.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    place = Path(tempfile.gettempdir()) if parent is None else parent
    if place not in _cleared:
        _cleared.add(place)
        clear_scratch(place)
    folder, lock = _make(place)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _make(place: Path) -> tuple[Path, int]:
    for _ in range(100):
        folder = place / f".crowdsim-{secrets.token_hex(8)}.scratch"
        folder.mkdir(mode=0o700)
        with contextlib.suppress(FileNotFoundError):  # another process that cleared away took it for a dead one's before it had its lock
            return folder, create_locked(folder / LOCK)
    raise FileNotFoundError(2, os.strerror(2), str(place))


def left_scratch(place: Path) -> list[Path]:
    """Return the folders that killed processes have left in another one, ascending by name."""
    return [folder for folder in _scratch_in(place) if not is_held(folder / LOCK)]


def clear_scratch(place: Path) -> None:
    """Remove the folders that killed processes have left in another one."""
    for folder in _scratch_in(place):
        with taken(folder / LOCK) as is_left:
            if is_left:
                shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            folder.rmdir()  # killed before it had a lock: then it is empty


def _scratch_in(place: Path) -> list[Path]:
    try:
        with os.scandir(place) as entries:
            return sorted(Path(entry.path) for entry in entries if _NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
