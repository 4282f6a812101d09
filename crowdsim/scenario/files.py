"""Read a user's files: bounded, never anything but regular files, never outside the permitted folders."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crowdsim.scenario.limits import MAX_FILE_BYTES
from crowdsim.scenario.tree import PATH_SHOWN, Refused, clipped


class FileRefused(Refused):
    """A file that cannot be read."""


def read_text(path: Path) -> str:
    """Return the text of a regular file: UTF-8, or UTF-16 with a byte order mark.

    Raises
    ------
    FileRefused
        If it is missing, no regular file, larger than the limit, or no text.
    """
    return _decoded(_read_bytes(path))


def _read_bytes(path: Path) -> bytes:
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for a writer for ever.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        raise FileRefused("there is no such file", _neighbours(path)) from None
    except PermissionError:
        raise FileRefused("the file may not be read", "Change its permissions.") from None
    except (OSError, ValueError) as error:
        raise FileRefused(f"the file cannot be opened: {getattr(error, 'strerror', None) or error}") from None
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise FileRefused("this is a folder, not a file", "Name a file in it.")
        if not stat.S_ISREG(mode):
            raise FileRefused("this is a device or a pipe, not a file", "Name a regular file.")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise FileRefused(f"the file cannot be read: {error.strerror or error}") from None
    finally:
        os.close(descriptor)
    if len(data) > MAX_FILE_BYTES:
        raise FileRefused(
            f"the file is larger than {MAX_FILE_BYTES // 2**20} MiB", "Simplify its geometry, or split it."
        )
    return data


def _neighbours(path: Path) -> str:
    """Return which files with the same ending stand beside a missing one."""
    try:
        with os.scandir(path.parent) as entries:
            names = sorted(
                entry.name
                for entry, _ in zip(entries, range(1000), strict=False)
                if entry.name.endswith(path.suffix or ".yaml")
            )
    except (OSError, ValueError):
        return f'There is no folder "{clipped(str(path.parent), PATH_SHOWN)}" either.'
    return f"Beside it there is {', '.join(clipped(name) for name in names[:5])}." if names else ""


def _decoded(data: bytes) -> str:
    marks = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
    mark = next((known for known in marks if data.startswith(known)), b"")
    try:
        text = data[len(mark) :].decode(marks.get(mark, "utf-8"))
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        message = (
            f"this is not text in UTF-8: byte {error.object[error.start]:#04x} at position {error.start} "
            f"(line {line})"
        )
        raise FileRefused(
            message, "Save it as UTF-8; a binary file is no scenario and no geometry."
        ) from None
    if "\0" in text:
        raise FileRefused("this is a binary file, not text")
    return text


@dataclass(frozen=True)
class FileAccess:
    """Which files a scenario may name.

    Attributes
    ----------
    folder : Path or None
        Folder of the scenario; names are relative to it. None: a scenario without a folder (from a
        recording), which may name no files.
    allowed : sequence of Path
        Further folders, from ``--allow-dir``.
    """

    folder: Path | None
    allowed: Sequence[Path] = field(default=())

    def read(self, name: str) -> str:
        """Return the text of the file that a scenario names; see `_permitted`."""
        return read_text(self._permitted(name))

    def read_bytes(self, name: str) -> bytes:
        """Return the bytes of the file that a scenario names; see `_permitted`."""
        return _read_bytes(self._permitted(name))

    def _permitted(self, name: str) -> Path:
        """Return the path of the file that a scenario names.

        Raises
        ------
        FileRefused
            If it lies outside the permitted folders (symbolic links are followed first).
        """
        if self.folder is None:
            raise FileRefused(
                "a scenario without a folder of its own cannot name files",
                "Put the geometry into the scenario.",
            )
        if not name or "\0" in name:
            raise FileRefused("this is not the name of a file")
        try:
            target = (self.folder / name).resolve()
            inside = any(target.is_relative_to(folder.resolve()) for folder in (self.folder, *self.allowed))
        except (OSError, RuntimeError) as error:  # RuntimeError: a loop of symbolic links
            raise FileRefused(f"the file cannot be found: {error}") from None
        if not inside:
            raise FileRefused(
                (
                    f"{clipped(str(target), PATH_SHOWN)} lies outside the scenario's folder "
                    f"{clipped(str(self.folder.resolve()), PATH_SHOWN)}"
                ),
                f"Move it there, or permit its folder with --allow-dir {target.parent}",
            )
        return target
