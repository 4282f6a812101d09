"""Files that live as long as the process that makes them: what holds the lock on one is alive, on this machine or on another that sees the same disk.

A lock (flock) goes with the process that has it, however it ends; so no process has to be known by a number, which another may have by then.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)  # what some network file systems answer; nobody is taken for dead there


def create_locked(path: Path) -> int:
    """Make a file that must not exist, hold its lock, and return its descriptor, open for reading and writing; closing it gives up the lock.

    Raises
    ------
    OSError
        FileExistsError, or what the system says.
    """
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            with _without_locks():
                fcntl.flock(handle, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.stat()):
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # a process that clears away took it for a dead one's, before it was locked


def is_held(path: Path) -> bool:
    """Return whether the maker of a file, or a process that clears it away, is alive; False where there is no such file."""
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
    """Hold the lock of a dead process's file, to clear it away; gives False, and holds nothing, if its maker is alive or it is not there."""
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
def _without_locks() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
