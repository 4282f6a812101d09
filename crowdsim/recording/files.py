"""Names on disk: the hidden name of a file in the making, and how it gets its final name without ever
replacing another result.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import resource
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from crowdsim.errors import RecordingError
from crowdsim.recording.locks import LOCK, create_locked, is_held, scratch_folder, taken
from crowdsim.recording.made import is_made, taken_text

PARTIAL_SUFFIX = ".partial.h5"
RECOVERED_SUFFIX = ".recovered.h5"
# Bytes that names of files beside one may have more than its own: hidden names, journals, checkpoints, with
# ids of 16 letters.
LONGEST_ADDITION = 48
_PARTIAL = re.compile(
    r"\.(?P<name>.+)\.(?P<id>[^\W_]{1,32})(?:-(?P<number>[0-9]{1,9}))?\.partial\.h5", re.DOTALL
)
_PLACEHOLDER = b"crowdsim keeps this name for "
_MOST_PLACEHOLDER_BYTES = 4096  # a name has at most 255
# What `link` answers where the file system (exFAT, some network ones) has no second names.
_NO_HARD_LINKS = (
    errno.EPERM,
    errno.EOPNOTSUPP,
    errno.ENOSYS,
    errno.EMLINK,
    errno.EACCES,
    errno.EXDEV,
    errno.EINVAL,
)


class Kept(NamedTuple):
    """Where a finished file is.

    Attributes
    ----------
    path : Path
    name_taken : bool
        The wanted name belonged to another file, so `path` is ``<stem>.<run id>.h5`` beside it.
    older : Path or None
        Where the recording of another run is now that had the name before.
    """

    path: Path
    name_taken: bool
    older: Path | None = None


def partial_name(out: Path, run_id: str, number: int = 1) -> Path:
    """Return the name of a file in the making, hidden and in the folder of the final one.

    Parameters
    ----------
    out : Path
    run_id : str
    number : int, >= 1
        Of the attempt: a run that goes on after a kill has the same id and another file.
    """
    attempt = f"-{number}" if number > 1 else ""
    return out.with_name(f".{out.name}.{run_id}{attempt}{PARTIAL_SUFFIX}")


def lock_of(partial: Path) -> Path:
    """Return the name of the file that the writer of a file in the making holds locked;
    it is empty until there can be rows, and then names the writer.
    """
    return partial.with_name(partial.name.removesuffix(".h5") + ".lock")


def partial_id(partial: Path) -> str:
    """Return the id of the run that a file in the making is of by its name; empty if it is none."""
    match = _PARTIAL.fullmatch(partial.name)
    return match["id"] if match else ""


def out_of(partial: Path) -> Path | None:
    """Return the name that a file in the making is to have; None if it is none by its name."""
    match = _PARTIAL.fullmatch(partial.name)
    return partial.with_name(match["name"]) if match else None


def recovered_name(source: Path) -> Path:
    """Return a visible name beside the input: ``.run.h5.<id>.partial.h5`` becomes ``run.recovered.h5``."""
    return source.with_name((out_of(source) or source).stem + RECOVERED_SUFFIX)


def partials_of(out: Path) -> list[Path]:
    """Return the files in the making that runs with the output path `out` have left, oldest first."""
    return partials_in(out.parent, out.name)


def partials_in(folder: Path, name: str = "") -> list[Path]:
    """Return the files in the making in a folder, oldest first; with a name, those that are to have it."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = _PARTIAL.fullmatch(entry.name)
            if match and name in ("", match["name"]):
                with contextlib.suppress(OSError):  # it has got its name meanwhile
                    found.append((entry.stat().st_mtime_ns, folder / entry.name))
    return [path for _, path in sorted(found)]


def free_bytes(path: Path | int, written: int = 0) -> int:
    """Return how many bytes a file may still grow:
    the free space of its disk, and the limit on the size of files of this process.

    Parameters
    ----------
    path : Path or int
        An existing file or folder on that disk, or the descriptor of an open one.
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

    A name that is taken is left alone unless `force` is set: the file then becomes
    ``<stem>.<run id><suffix>`` beside it. Of two runs that end at the same moment one gets the name.

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
            synchronise_folder(out)
            return Kept(out, name_taken=False)
        for name in (out, second):
            if claim(partial, name):
                synchronise_folder(out)
                return Kept(name, name_taken=name != out)
    except OSError as error:
        raise RecordingError(
            f"{out}: the recording is whole, but could not be given this name ({reason_of(error)}). It is "
            f"kept as {partial}."
        ) from error
    raise RecordingError(
        f"{out}: this name and {second.name} are both taken. The recording is whole and kept as {partial}."
    )


@contextlib.contextmanager
def new_file(out: Path, *, force: bool = False) -> Iterator[Path]:
    """Give the name of a scratch file on the disk of `out`, which becomes `out` when the block ends well and
    disappears when it does not. A page or picture that crowdsim made is replaced.

    Raises
    ------
    RecordingError
        If `out` exists otherwise and `force` is not set (before any work is done, and again at the end), the
        folder is missing, or the name is too long.
    """
    require_place(out)
    if os.path.lexists(out) and not (force or is_made(out)):
        raise RecordingError(taken_text(out))
    try:
        with scratch_folder(out.parent) as folder:
            scratch = folder / out.name
            yield scratch
            synchronise(scratch)
            if force or is_made(out):
                scratch.replace(out)
            elif not claim(scratch, out):
                raise RecordingError(taken_text(out))
            synchronise_folder(out)
    except OSError as error:
        raise RecordingError(
            f"{out}: could not be written ({reason_of(error)}). {room_text(out.parent)}"
        ) from error


def require_place(out: Path) -> None:
    """Raise `RecordingError` unless a file of this name can be made:
    its folder is there, and its name leaves room for the names of files beside it.
    """
    try:
        most = os.pathconf(out.parent, "PC_NAME_MAX") - LONGEST_ADDITION
    except FileNotFoundError:
        raise RecordingError(
            f"{out.parent}: there is no such folder. Make it, or choose another output path."
        ) from None
    except (OSError, ValueError) as error:
        raise RecordingError(
            f"{out.parent}: is no folder that can be used ({reason_of(error)}). Choose another output path."
        ) from None
    size = len(os.fsencode(out.name))
    if size > most:
        raise RecordingError(
            f"{out}: the name of the file has {size:,} bytes, but may have {most:,}: what lies beside it "
            "has longer names, of which the disk takes "
            f"{most + LONGEST_ADDITION:,} bytes. Choose a shorter name."
        )
    if not out.parent.is_dir():
        raise RecordingError(f"{out.parent}: is no folder. Choose another output path.")


def room_text(folder: Path) -> str:
    """Return how much room a disk has, as a sentence; that its folder is gone, if it is."""
    try:
        return f"{free_bytes(folder) / 1e6:,.1f} MB are free."
    except OSError:
        return f"The folder {folder} is no longer there."


def claim(partial: Path, name: Path) -> bool:
    """Move `partial` to `name` unless something else has that name; return whether it was free."""
    try:
        os.link(partial, name)
    except FileExistsError:
        # a process was stopped between giving it this name and taking away the other
        if is_same(partial, name):
            partial.unlink()
            return True
        return _take_over(partial, name)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        return _claim_without_links(partial, name)
    partial.unlink()
    return True


def _claim_without_links(partial: Path, name: Path) -> bool:
    """Do the same in two steps: a placeholder takes the name, which only one of two runs can do,
    and is then replaced.
    """
    try:
        handle = create_locked(name)
    except FileExistsError:
        return _take_over(partial, name)
    try:
        os.write(handle, _PLACEHOLDER + os.fsencode(os.path.relpath(partial, name.parent)) + b"\n")
        partial.replace(name)
    except OSError:
        name.unlink()
        raise
    finally:
        os.close(handle)
    return True


def _take_over(partial: Path, name: Path) -> bool:
    """Move `partial` to `name` if that is the placeholder of a dead process;
    of two that do so at the same moment one holds its lock.
    """
    with taken(name) as is_ours:
        if not (is_ours and is_stale_placeholder(name)):
            return False
        partial.replace(name)
    return True


def is_stale_placeholder(name: Path) -> bool:
    """Return whether a file keeps its name for another, whose writer was stopped before it replaced the
    placeholder.
    """
    try:
        # without the last, a named pipe would wait for a writer for ever
        handle = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_PLACEHOLDER_BYTES:
            return False
        content = os.read(handle, _MOST_PLACEHOLDER_BYTES)
    finally:
        os.close(handle)
    if not content:  # stopped even before it said for which
        left = partials_of(name)
        return bool(left) and not any(is_held(lock_of(partial)) for partial in left)
    if not content.startswith(_PLACEHOLDER):
        return False
    partial = name.parent / os.fsdecode(content.removeprefix(_PLACEHOLDER).strip())
    return not is_held(lock_of(partial) if _PARTIAL.fullmatch(partial.name) else partial.parent / LOCK)


def is_same(one: Path, other: Path) -> bool:
    """Return whether two names are of one file."""
    try:
        return one.samefile(other)
    except OSError:
        return False


def synchronise_folder(out: Path) -> None:
    """Have the disk know the name of a file that has just been made or renamed."""
    # some network file systems refuse to synchronise folders; the file itself is safe by then
    with contextlib.suppress(OSError):
        synchronise(out.parent)


def freeze_file(file: Any) -> None:
    """Close an HDF5 file without writing to it, whatever HDF5 still holds.

    After a failed write HDF5 goes on trying when its objects die and when the interpreter ends, and crashes
    there. So its file handle is pointed at /dev/null before it is closed; errors of that close mean nothing.
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
