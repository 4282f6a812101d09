"""The folder that keeps what is costly to make and can always be made anew:
compiled kernels, meshes, the imports of source files.

What lies in it is run as code. So a folder is used only if no user but its own and root can put anything
there: the folder, every folder above it and every link in its path belong to one of the two, and no other may
write in them (above it, that none can take away what is others', as in /tmp, is enough). The same goes for
each file that is read. A folder that is refused is named in one warning, and the next one is taken.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import BinaryIO

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_MOST_LINKS = 40  # As in Linux.


class CacheWarning(UserWarning):
    """A folder is not used as a cache."""


def cache_directory() -> Path:
    """Return the folder for what is kept: `CROWDSIM_CACHE_DIR`, else the user's cache folder,
    else a temporary one; of these the first that is safe.
    """
    return _chosen(*_asked())[0]


def refused_folders() -> list[str]:
    """Return for each folder that comes before the one that is used why it is not used."""
    return _chosen(*_asked())[1]


def _asked() -> tuple[str, str, str]:
    home = os.environ.get("XDG_CACHE_HOME") or ""
    if not home:
        with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: a user without a home
            home = str(Path.home() / ".cache")
    return os.environ.get("CROWDSIM_CACHE_DIR") or "", home, tempfile.gettempdir()


@cache
def _chosen(explicit: str, home: str, temporary: str) -> tuple[Path, list[str]]:
    """Return the first folder that is safe, and what is wrong with those before it;
    the first call warns of that.
    """
    refused = []
    for folder in _candidates(explicit, home, temporary):
        complaint = _complaint(folder) or _made(folder)
        if complaint:
            refused.append(complaint)
        elif (explicit and folder == Path(explicit).absolute()) or os.access(folder, os.W_OK):
            # what is asked for may be read-only
            break
    else:
        folder = _private_directory()
    if refused:
        warnings.warn(
            CacheWarning(" ".join((*refused, f"Compiled kernels are kept in {folder} instead."))),
            stacklevel=3,
        )
    return folder, refused


def _candidates(explicit: str, home: str, temporary: str) -> Iterator[Path]:
    """Yield the folders that can be the cache, the one that is asked for first."""
    if explicit:
        yield Path(explicit).absolute()
    if home:
        yield Path(home).absolute() / "crowdsim"
    yield Path(temporary).absolute() / f"crowdsim-{os.geteuid()}"


def _make(folder: Path) -> None:
    """Make a folder, and those above it, for this user alone; what cannot be made is as good as empty."""
    for each in (*reversed(folder.parents), folder):
        with contextlib.suppress(OSError):
            each.mkdir(mode=0o700)


def _made(folder: Path) -> str:
    """Make a folder and return what is wrong with it: another process may have been faster."""
    _make(folder)
    return _complaint(folder)


def _complaint(folder: Path) -> str:
    """Return which other user can put something in a folder, and what to do about it;
    nothing if none can, or it is not there.
    """
    fault = _fault(folder)
    if not fault:
        return ""
    remedy = (
        "Make it so that only you can write there (chmod go-w), or set CROWDSIM_CACHE_DIR to a folder of "
        "which that is true."
    )
    return f"The cache folder {folder} is not used, since what lies there is run as code: {fault}. {remedy}"


def _fault(folder: Path) -> str:
    """Follow a path from the root on, through links; return which part of it others can change."""
    pending, at, links = list(reversed(folder.absolute().parts[1:])), Path(folder.absolute().anchor), 0
    while True:
        try:
            status = at.lstat()
        except OSError:  # it is not there, and cannot be made
            return ""
        if status.st_uid not in (_trusted() if not pending else _trusted_above()):
            return f"{at} belongs to {_user(status.st_uid)}"
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > _MOST_LINKS:
                return f"{at} leads back to itself"
            target = at.parent / at.readlink()
            pending += reversed(target.parts[1:])
            at = Path(target.anchor)
            continue
        if status.st_mode & _OTHERS_WRITE and not (pending and status.st_mode & stat.S_ISVTX):
            return (
                f"in {at} {'every user' if status.st_mode & stat.S_IWOTH else 'its group'} can write (mode "
                f"{stat.S_IMODE(status.st_mode):o})"
            )
        if not pending:
            return ""
        part = pending.pop()
        at = at.parent if part == os.pardir else at / part


def _trusted() -> tuple[int, int]:
    return 0, os.geteuid()


@cache
def _trusted_above() -> tuple[int, ...]:
    """Return which users the folders above may belong to:
    in a container without a root, root's folders on the machine are those of the user of strangers.
    """
    with contextlib.suppress(OSError, ValueError):
        known = [
            [int(number) for number in line.split()]
            for line in Path("/proc/self/uid_map").read_text().splitlines()
        ]
        if all(first > 0 for first, _, _ in known):
            return (*_trusted(), int(Path("/proc/sys/kernel/overflowuid").read_text()))
    return _trusted()


def _user(number: int) -> str:
    import pwd

    with contextlib.suppress(KeyError):
        return f"the user {pwd.getpwuid(number).pw_name}"
    return f"user {number}"


@cache
def _private_directory() -> Path:
    """Return a folder of this process alone, which goes with it."""
    folder, owner = Path(tempfile.mkdtemp(prefix="crowdsim-")), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # not in a forked child
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def open_kept(path: Path) -> BinaryIO | None:
    """Return a file in the cache, open for reading;
    None if there is none, or another user could have written it.
    """
    try:
        above = path.parent.lstat()
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")
    except OSError:
        return None
    both = above, os.fstat(file.fileno())
    if any(
        status.st_uid not in _trusted() or status.st_mode & _OTHERS_WRITE for status in both
    ) or not stat.S_ISDIR(above.st_mode):
        file.close()
        return None
    return file


def read_kept(path: Path) -> bytes | None:
    """Return the content of a file in the cache;
    None if there is none, or another user could have written it.
    """
    file = open_kept(path)
    if file is None:
        return None
    try:
        with file:
            return file.read()
    except OSError:
        return None


def keep(path: Path, *data: bytes | memoryview) -> None:
    """Put a file into the cache, of parts one after the other; it gets its name when it is whole.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    _make(path.parent)
    scratch = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with os.fdopen(
            os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb"
        ) as file:
            for part in data:
                file.write(part)
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
