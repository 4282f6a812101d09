"""A read-only view of a recording as it lies on the disk, whether its writer finished, still runs,
or was killed.

HDF5 opens a file that was not closed only in SWMR mode, and there it waits for a damaged block to become
whole: it tries a hundred times and doubles the pause each time, which never ends. So the file is shown to
HDF5 through a file object that presents it as closed: the flag of the open writer in the superblock is taken
away, and its end of file is the real one. A damaged block is an error at once, and nothing on the disk is
touched. The place of these fields is from the HDF5 file format specification, version 3.0, "Superblock
(versions 2 and 3)".
"""

from __future__ import annotations

import io
import os
import stat
import struct
from pathlib import Path
from typing import Any

from crowdsim.errors import RecordingError

SIGNATURE = b"\x89HDF\r\n\x1a\n"
_SUPERBLOCK_BYTES = 48
_FLAGS_AT, _END_AT, _CHECKSUM_AT = 11, 28, 44
_UNWRITTEN_BYTES = 65536  # HDF5 counts the page that it is filling as part of the file before it is written
_IS_OPEN, _IS_SWMR = 0x01, 0x04


def lookup3(data: bytes) -> int:
    """Return Jenkins' lookup3 hash ("hashlittle", initial value 0) of up to some hundred bytes:
    the checksum of HDF5's metadata.
    """
    mask = 0xFFFFFFFF

    def rotate(value: int, bits: int) -> int:
        return (value << bits | value >> (32 - bits)) & mask

    a = b = c = (0xDEADBEEF + len(data)) & mask
    at = 0
    while len(data) - at > 12:
        x, y, z = struct.unpack_from("<3I", data, at)
        a, b, c = (a + x) & mask, (b + y) & mask, (c + z) & mask
        for bits in (4, 6, 8, 16, 19, 4):  # each of the three in turn, twice
            a = ((a - c) & mask) ^ rotate(c, bits)
            c = (c + b) & mask
            a, b, c = b, c, a
        at += 12
    if at == len(data):
        return c
    x, y, z = struct.unpack("<3I", data[at:].ljust(12, b"\0"))
    a, b, c = (a + x) & mask, (b + y) & mask, (c + z) & mask
    for bits in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - rotate(b, bits)) & mask
        a, b, c = b, c, a
    return b


class Snapshot(io.RawIOBase):
    """The bytes of a recording, read-only, with a superblock as if it had been closed.

    Parameters
    ----------
    path : Path
    of_others : bool
        Take layouts that crowdsim never writes too (superblock versions 0 and 1), as they are: they know
        neither checksums nor writers.

    Attributes
    ----------
    was_open : bool
        No writer has closed the file: it is being written, or was cut off.
    size : int
        Bytes.

    Raises
    ------
    RecordingError
        If it is no file, or its first bytes are not those of a recording.
    """

    def __init__(self, path: Path, *, of_others: bool = False) -> None:
        super().__init__()
        self._handle = -1
        try:
            # a named pipe would wait for a writer
            self._handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            status = os.fstat(self._handle)
        except FileNotFoundError as error:
            raise RecordingError(f"{path}: there is no such file") from error
        except OSError as error:
            raise RecordingError(f"{path}: cannot be read ({error.strerror})") from error
        if not stat.S_ISREG(status.st_mode):
            raise RecordingError(f"{path}: is a folder or a device, not a recording")
        block = bytearray(os.pread(self._handle, _SUPERBLOCK_BYTES, 0))
        if not block:
            raise RecordingError(f"{path}: is empty. Its writer was stopped before it began")
        if block[:8] != SIGNATURE:
            raise RecordingError(f"{path}: is not an HDF5 file, so no recording")
        self.size, self.was_open, self._at = status.st_size, False, 0
        if of_others and block[8:9] in (b"\0", b"\1"):
            self._superblock = bytes(block)
            return
        if len(block) < _SUPERBLOCK_BYTES:
            raise RecordingError(
                f"{path}: ends after {len(block)} bytes. Nothing was recorded in it, or it was cut off in "
                "copying"
            )
        if block[8] not in (2, 3) or block[9:11] != b"\x08\x08":
            raise RecordingError(
                f"{path}: is an HDF5 file of an older layout (superblock version {block[8]}), which "
                "crowdsim never writes"
            )
        if struct.unpack_from("<I", block, _CHECKSUM_AT)[0] != lookup3(bytes(block[:_CHECKSUM_AT])):
            raise RecordingError(f"{path}: is damaged (the checksum of its first block is wrong)")
        self.was_open = bool(block[_FLAGS_AT] & _IS_OPEN)
        if self.was_open and not block[_FLAGS_AT] & _IS_SWMR:
            raise RecordingError(
                f"{path}: is being created, or its writer was stopped before the first tick. Nothing is "
                "recorded in it"
            )
        end = struct.unpack_from("<Q", block, _END_AT)[0]
        if not self.was_open and self.size < end:
            raise RecordingError(
                f"{path}: ends after {self.size:,} of its {end:,} bytes: it was cut off in copying. Copy it "
                "again from where it is whole."
            )
        if self.was_open:
            self.size = max(self.size, min(end, self.size + _UNWRITTEN_BYTES))
            block[_FLAGS_AT] = 0
            struct.pack_into("<Q", block, _END_AT, self.size)
            struct.pack_into("<I", block, _CHECKSUM_AT, lookup3(bytes(block[:_CHECKSUM_AT])))
        self._superblock = bytes(block)

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set where the next read begins; see `io.IOBase.seek`."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer`; what lies behind the end of the file on the disk is zero."""
        view = memoryview(buffer).cast("B")
        done = 0
        while done < len(view):
            got = os.preadv(self._handle, [view[done:]], self._at + done)
            if got == 0:
                view[done:] = bytes(len(view) - done)
                break
            done += got
        if self._at < _SUPERBLOCK_BYTES:
            shown = self._superblock[self._at : self._at + len(view)]
            view[: len(shown)] = shown
        self._at += len(view)
        return len(view)

    def close(self) -> None:
        """Close the file; the view is of no use afterwards."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        super().close()
