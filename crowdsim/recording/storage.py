"""The file of a recording while it is written: what a kill or a full disk cannot spoil.

Three things make it safe against SIGKILL at any moment:

1. HDF5's SWMR mode writes metadata in an order in which the file can always be read, and every dataset exists before it begins (`blank`).
2. The file is laid out in pages of 4,096 bytes, so that no metadata block that is rewritten crosses a page of memory. The kernel ends a write
   early for SIGKILL, but only between pages. Without pages 806 of 1,666 such torn writes left a file that could not be read; with them there
   was none in 25,552 writes, and all of 2,120 files cut off after any write gave every committed row.
3. A commit record is written last, in one write of 128 bytes, into one of two slots in turn.

Nothing here protects against a loss of power: only a finished file is forced to the disk.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py

from crowdsim.errors import RecordingError
from crowdsim.recording.blank import LIBRARY_VERSIONS, blank_recording
from crowdsim.recording.chunks import GrowingDataset
from crowdsim.recording.commit import Commit
from crowdsim.recording.files import free_bytes, freeze_file, reason_of
from crowdsim.recording.header import Header, Layout, to_json
from crowdsim.recording.plan import plan_datasets

METADATA_RESERVE_BYTES = 2**20  # Headers and chunk indices that are still to be written; a file of 300 commits has 0.1 MB of them.
ROOM_STEP_BYTES = 2**24  # Larger asks the system less often how much room there is, and notices later that others fill the disk.


class Storage:
    """The growing file.

    Parameters
    ----------
    path : Path
        Must not exist.
    header : Header
    layout : Layout

    Raises
    ------
    RecordingError
        If the file cannot be made; nothing is left of it then.
    """

    def __init__(self, path: Path, header: Header, layout: Layout) -> None:
        self.path = path
        self.layout = layout
        self.committed = Commit()
        self.datasets: dict[str, GrowingDataset] = {}
        self._file: Any = None
        self._known_room = 0
        text = to_json(header, layout)
        plan = plan_datasets(layout, exact=header.exact)
        # What must stay free so that all collected rows can be written and the file be closed: every dataset's incomplete chunk, once in a
        # commit and once at the end.
        self.reserve_bytes = METADATA_RESERVE_BYTES + len(text) + 2 * sum(planned.chunk_bytes for planned in plan.values())
        self.row_bytes = sum(planned.row_bytes for planned in plan.values() if planned.counter == "rows")  # one agent in one frame
        self._require_a_place()
        blank = blank_recording(header, text, plan)
        try:
            with self._guard("created"):
                with path.open("xb") as file:
                    file.write(blank)
                self._file = h5py.File(path, "r+", libver=LIBRARY_VERSIONS, locking="best-effort")
                self.datasets = {name: GrowingDataset(self._file[name], fields=name == "trajectory") for name in plan}
                self._commits = self._file["commit"]
                self._file.swmr_mode = True
        except RecordingError as error:
            if not isinstance(error.__cause__, FileExistsError):
                path.unlink(missing_ok=True)
            raise

    def _require_a_place(self) -> None:
        folder = self.path.parent
        if not folder.is_dir():
            raise RecordingError(f"{self.path.parent}: there is no such folder for the recording. Make it, or choose another output path.")
        if not os.access(folder, os.W_OK):
            raise RecordingError(f"{folder}: the recording cannot be written here, since the folder is read-only for this user. Choose another output path.")
        room = free_bytes(folder)
        if room < self.reserve_bytes:
            raise RecordingError(
                f"{folder}: a recording needs {_megabytes(self.reserve_bytes)} to begin with, but {_megabytes(room)} are free. "
                "Make room, or choose another disk."
            )

    @property
    def lost_bytes(self) -> int:
        """Bytes of the file that no dataset uses any more."""
        return sum(dataset.lost_bytes for dataset in self.datasets.values())

    def has_room(self, wanted_bytes: int) -> bool:
        """Return whether `wanted_bytes` can be added and the file still be closed; asks the system once for several megabytes, and after each commit."""
        if wanted_bytes > self._known_room:
            room = self.free_bytes() - self.reserve_bytes
            if wanted_bytes > room:
                return False
            self._known_room = min(room, wanted_bytes + ROOM_STEP_BYTES)
        self._known_room -= wanted_bytes
        return True

    def free_bytes(self) -> int:
        """Return how many bytes the file may still grow."""
        return free_bytes(self.path, self.path.stat().st_size)

    def append(self, name: str, count: int, *values: Any) -> None:
        """Add rows to a dataset; see `GrowingDataset.append`. They count once they are committed."""
        if self._file is None:
            raise self._closed()
        try:  # not `_guard`: this is called a dozen times for a frame
            self.datasets[name].append(count, *values)
        except (OSError, RuntimeError) as error:
            raise self._failed("written", error) from error

    def commit(self, commit: Commit) -> None:
        """Write everything that was appended, and then the record that says so."""
        with self._guard("written"):
            for dataset in self.datasets.values():
                dataset.write_rest()
            self._file.flush()
            self._commits.id.write_direct_chunk((commit.number % 2, 0), commit.pack())  # one write, straight to the file
            self.committed = commit
        self._known_room = 0

    def close(self) -> None:
        """Close the file for good and force it to the disk."""
        if self._file is None:
            return
        with self._guard("closed"):
            handle = os.dup(self._file.id.get_vfd_handle())
            try:
                self._file.close()
                os.fsync(handle)
            finally:
                os.close(handle)
        self._file = None

    def freeze(self) -> None:
        """Leave the file as it is: nothing more is written to it."""
        file, self._file = self._file, None
        if file is not None:
            freeze_file(file)

    @contextlib.contextmanager
    def _guard(self, doing: str) -> Iterator[None]:
        if self._file is None and doing != "created":
            raise self._closed()
        try:
            yield
        except (OSError, RuntimeError) as error:
            raise self._failed(doing, error) from error

    def _closed(self) -> RecordingError:
        return RecordingError(f"{self.path}: the recording is closed already")

    def _failed(self, doing: str, error: BaseException) -> RecordingError:
        """Leave the file as it is and return what to tell the user."""
        size, free = 0, 0
        with contextlib.suppress(OSError):
            size, free = self.path.stat().st_size, free_bytes(self.path.parent)
        self.freeze()
        kept = self.committed
        text = f"{self.path}: the recording could not be {doing} ({reason_of(error)}). {size:,} bytes were written, {_megabytes(free)} are free."
        if kept.number:
            text += f" {kept.frames} frames until tick {kept.last_tick} are safe: `crowdsim recover {self.path}` makes a whole file of them."
        return RecordingError(text)


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


def clock_ns() -> int:
    """Return the time of a commit, ns since 1970."""
    return time.time_ns()
