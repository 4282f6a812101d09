"""Files and folders that live as long as the process that makes them:
what holds the lock on one is alive, on this machine or on another with the same disk.

A lock (flock) goes with the process that has it, however it ends; so no process has to be known by a number,
which another may have by then. Folders for what is not finished have a lock in them: they are hidden, beside
what is made of them, and gone at the end; what a killed process left goes when the next one is made there.
Their names are like no other program's.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

# what some network file systems answer; nobody is taken for dead there
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)

_PATIENCE_S = 10.0  # What is done alone in a folder takes milliseconds.


def create_locked(path: Path) -> int:
    """Make a file that must not exist, hold its lock, and return its descriptor,
    open for reading and writing; closing it gives up the lock.

    Raises
    ------
    OSError
        FileExistsError, or what the system says.
    """
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.stat()):
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # a process that clears away took it for a dead one's, before it was locked


def is_held(path: Path) -> bool:
    """Return whether the maker of a file, or a process that clears it away, is alive;
    False where there is no such file.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        return not isinstance(error, FileNotFoundError)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # held, or nobody knows
        return True
    finally:
        os.close(handle)
    return False


@contextlib.contextmanager
def taken(path: Path) -> Iterator[bool]:
    """Hold the lock of a dead process's file, to clear it away;
    gives False, and holds nothing, if its maker is alive or it is not there.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = os.path.samestat(os.fstat(handle), path.stat())
        except OSError:
            is_ours = False
        yield is_ours
    finally:
        os.close(handle)


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[bool]:
    """Keep other processes out of this block for the same folder;
    gives False, and keeps none out, where the disk knows no locks or one is held for too long.

    Raises
    ------
    OSError
        If there is no such folder.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield _is_locked_within(handle, _PATIENCE_S)
    finally:
        os.close(handle)


def _is_locked_within(handle: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(0.005)
        except OSError:
            return False
        else:
            return True


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
        _remove(folder)
        os.close(lock)


def _make(place: Path) -> tuple[Path, int]:
    for _ in range(100):
        folder = place / f".crowdsim-{secrets.token_hex(8)}.scratch"
        folder.mkdir(mode=0o700)
        # another process that cleared away took it for a dead one's before it had its lock
        with contextlib.suppress(FileNotFoundError):
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
                _remove(folder)
        with contextlib.suppress(OSError):
            folder.rmdir()  # killed before it had a lock: then it is empty


def _remove(folder: Path) -> None:
    """Remove a folder with its lock last: a process that is killed meanwhile leaves one that is known for a
    dead one's.
    """
    with contextlib.suppress(OSError):
        for entry in sorted(folder.iterdir()):
            if entry.name == LOCK:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _scratch_in(place: Path) -> list[Path]:
    try:
        with os.scandir(place) as entries:
            return sorted(
                Path(entry.path)
                for entry in entries
                if _NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return []
