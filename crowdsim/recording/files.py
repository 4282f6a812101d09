"""Names on disk: the hidden name of a file in the making, and how it gets its final name without ever replacing another result."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import resource
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from crowdsim.errors import RecordingError

PARTIAL_SUFFIX = ".partial.h5"
# What `link` answers where the file system (exFAT, some network ones) has no second names.
_NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES, errno.EXDEV, errno.EINVAL)


class Kept(NamedTuple):
    """Where a finished file is.

    Attributes
    ----------
    path : Path
    name_taken : bool
        The wanted name belonged to another finished file, so `path` is ``<stem>.<run id>.h5`` beside it.
    """

    path: Path
    name_taken: bool


def partial_name(out: Path, run_id: str) -> Path:
    """Return the name of a file in the making, hidden and in the folder of the final one."""
    return out.with_name(f".{out.name}.{run_id}{PARTIAL_SUFFIX}")


def _writes(process: Path, entry: Path, path: Path) -> bool:
    """Return whether an entry of a process's table of open files is a file, open for writing."""
    try:
        flags = int((process / "fdinfo" / entry.name).read_text().split("flags:")[1].split()[0], 8)
        return flags & os.O_ACCMODE != os.O_RDONLY and entry.samefile(path)
    except (OSError, ValueError):  # closed meanwhile
        return False


def writers_of(path: Path) -> list[int]:
    """Return the processes that have a file open for writing, as far as the system tells: those of this user, on Linux."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended meanwhile, or somebody else's
            found += [int(process.name) for entry in (process / "fd").iterdir() if _writes(process, entry, path)]
    return sorted(set(found))


def partials_of(out: Path) -> list[Path]:
    """Return the files in the making that runs with the output path `out` have left, oldest first."""
    prefix = f".{out.name}."
    found = [path for path in out.parent.iterdir() if path.name.startswith(prefix) and path.name.endswith(PARTIAL_SUFFIX)] if out.parent.is_dir() else []
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))


def free_bytes(path: Path, written: int = 0) -> int:
    """Return how many bytes a file may still grow: the free space of its disk, and the limit on the size of files of this process.

    Parameters
    ----------
    path : Path
        An existing file or folder on that disk.
    written : int
        Bytes that the file has.
    """
    disk = os.statvfs(path)
    room = disk.f_bavail * disk.f_frsize
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return int(room if limit == resource.RLIM_INFINITY else min(room, max(0, limit - written)))


def synchronise(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def give_name(partial: Path, out: Path, run_id: str, *, force: bool = False) -> Kept:
    """Give a finished file its final name.

    A name that is taken is left alone unless `force` is set: the file then becomes ``<stem>.<run id><suffix>`` beside it. Of two runs that end
    at the same moment one gets the name.

    Parameters
    ----------
    partial : Path
        The finished file; its old name is gone afterwards.
    out : Path
        The wanted name, in the same folder.
    run_id : str
    force : bool
        Replace a file of the wanted name, in one step.

    Returns
    -------
    Kept

    Raises
    ------
    RecordingError
        If neither name could be had; the file is whole and keeps its old name.
    """
    second = out.with_name(f"{out.stem}.{run_id}{out.suffix}")
    try:
        if force:
            partial.replace(out)
            _synchronise_folder(out)
            return Kept(out, name_taken=False)
        for name in (out, second):
            if _claim(partial, name):
                _synchronise_folder(out)
                return Kept(name, name_taken=name != out)
    except OSError as error:
        raise RecordingError(f"{out}: the recording is whole, but could not be given this name ({error.strerror}). It is kept as {partial}.") from error
    raise RecordingError(f"{out}: this name and {second.name} are both taken. The recording is whole and kept as {partial}.")


@contextlib.contextmanager
def new_file(out: Path, *, force: bool = False) -> Iterator[Path]:
    """Give the name of a scratch file beside `out`, which becomes `out` when the block ends well and disappears when it does not.

    Raises
    ------
    RecordingError
        If `out` exists and `force` is not set (before any work is done, and again at the end), or the folder is missing.
    """
    taken = RecordingError(f"{out}: exists already. Choose another name, or replace it with --force.")
    if not out.parent.is_dir():
        raise RecordingError(f"{out.parent}: there is no such folder. Make it, or choose another output path.")
    if out.exists() and not force:
        raise taken
    scratch = out.with_name(f".{out.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield scratch
        synchronise(scratch)
        if force:
            scratch.replace(out)
        elif not _claim(scratch, out):
            raise taken
        _synchronise_folder(out)
    except OSError as error:
        raise RecordingError(f"{out}: could not be written ({error.strerror or error}). {free_bytes(out.parent) / 1e6:,.1f} MB are free.") from error
    finally:
        scratch.unlink(missing_ok=True)


def _claim(partial: Path, name: Path) -> bool:
    """Move `partial` to `name` unless something has that name; return whether it was free."""
    try:
        os.link(partial, name)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        return _claim_without_links(partial, name)
    partial.unlink()
    return True


def _claim_without_links(partial: Path, name: Path) -> bool:
    """Do the same in two steps: an empty file takes the name, which only one of two runs can do, and is then replaced."""
    try:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    try:
        partial.replace(name)
    except OSError:
        name.unlink()
        raise
    return True


def _synchronise_folder(out: Path) -> None:
    with contextlib.suppress(OSError):  # some network file systems refuse to synchronise folders; the file itself is safe by then
        synchronise(out.parent)


def freeze_file(file: Any) -> None:
    """Close an HDF5 file without writing to it, whatever HDF5 still holds.

    After a failed write HDF5 goes on trying when its objects die and when the interpreter ends, and crashes there. So its file handle is
    pointed at /dev/null before it is closed; errors of that close mean nothing.
    """
    with contextlib.suppress(Exception):
        sink = os.open(os.devnull, os.O_RDWR)
        os.dup2(sink, file.id.get_vfd_handle())
        os.close(sink)
    for _ in range(2):  # the second closes what the first left open when it failed half-way
        with contextlib.suppress(Exception):
            file.close()


def reason_of(error: BaseException) -> str:
    """Return what the system said, without HDF5's account of its own insides."""
    number = getattr(error, "errno", None)
    hidden = re.search(r"errno = (\d+)", str(error))  # some calls of HDF5 keep the number in their text only
    if number is None and hidden:
        number = int(hidden[1])
    return os.strerror(number) if number else str(error).splitlines()[0][:200]
