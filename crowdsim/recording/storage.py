"""The file of a recording while it is written: what a kill or a full disk cannot spoil.

Four things make it safe against SIGKILL at any moment:

1. HDF5's SWMR mode writes metadata in an order in which the file can always be read, and every dataset exists
   before it begins (`blank`).
2. The file is laid out in pages of 4,096 bytes, so that no metadata block that is rewritten crosses a page of
   memory. The kernel ends a write early for SIGKILL, but only between pages. Without pages 806 of 1,666 such
   torn writes left a file that could not be read; with them there was none in 25,552 writes, and all of 2,120
   files cut off after any write gave every committed row.
3. Chunks are written once, when they are full, by a thread of its own (`packing`): a commit waits for it.
   Rows that do not fill one yet are in the journal, of which nothing that counts is written over.
4. A commit record is written last, in one write of 128 bytes, into one of two slots in turn.

Nothing here protects against a loss of power: only a finished file is forced to the disk.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
from numpy.typing import NDArray

from crowdsim.commands import command
from crowdsim.errors import RecordingError
from crowdsim.kernels.threads import available_cores
from crowdsim.recording.commit import Commit
from crowdsim.recording.datasets import AGENT_CHUNK_ROWS, LIBRARY_VERSIONS, blank_recording, list_datasets
from crowdsim.recording.encode import GrowingDataset
from crowdsim.recording.files import free_bytes, freeze_file, lock_of, reason_of, room_text, synchronise
from crowdsim.recording.header import Header, Layout, to_json
from crowdsim.recording.journal import Journal, Rest
from crowdsim.recording.locks import create_locked, scratch_folder
from crowdsim.recording.packing import Packer

# Headers and chunk indices that are still to be written; a file of 300 commits has 0.1 MB of them.
METADATA_RESERVE_BYTES = 2**20
# A finished file of which more than this was journal is written anew: chunks as they are, a gigabyte in some
# two seconds.
WASTE_SHARE = 0.02
# Larger asks the system less often how much room there is, and notices later that others fill the disk.
ROOM_STEP_BYTES = 2**24


class Storage:
    """The growing file.

    Parameters
    ----------
    path : Path
        Must not exist.
    header : Header
    layout : Layout
    agent_chunk_rows : int
        See `list_datasets`.
    with_journal : bool
        Rows can be committed before the end: see `commit`.

    Raises
    ------
    RecordingError
        If the file cannot be made; nothing is left of it then.
    FileExistsError
        If a file has the name.
    """

    def __init__(
        self,
        path: Path,
        header: Header,
        layout: Layout,
        *,
        agent_chunk_rows: int = AGENT_CHUNK_ROWS,
        with_journal: bool = False,
    ) -> None:
        self.path = path
        self.layout = layout
        self.committed = Commit()
        self.datasets: dict[str, GrowingDataset] = {}
        self._of_columns: list[GrowingDataset] = []
        self.failure: RecordingError | None = None  # the first
        self._file: Any = None
        self._handle = -1
        self._lock = -1
        self._journal: Journal | None = None
        self._journalled: dict[str, int] = {}  # of each dataset, the row after the last that the journal has
        self._flushed = 0  # chunks, and bytes of the journal, whose places the file knows
        self._known_room = 0
        text = to_json(header, layout)
        self._specs = datasets = list_datasets(layout, exact=header.exact, agent_chunk_rows=agent_chunk_rows)
        # One frame may fill a chunk of each dataset, and the run is not to wait then. With one core for all a
        # thread would only take turns with what it is to relieve.
        self._packer = Packer(2 * len(datasets)) if with_journal and available_cores() > 1 else None
        # What must stay free so that all collected rows can be written and the file be closed: every
        # dataset's incomplete chunk, once at the end, and twice in the journal, where a new part is written
        # before the old one is given up.
        self.reserve_bytes = (
            METADATA_RESERVE_BYTES
            + len(text)
            + (3 if with_journal else 1) * sum(spec.chunk_bytes for spec in datasets.values())
        )
        # one agent in one frame
        self.row_bytes = sum(spec.row_bytes for spec in datasets.values() if spec.counter == "rows")
        self._require_a_place()
        self._blank, in_the_making = blank_recording(header, text, datasets)
        try:
            with self._guard("created"):
                if with_journal:  # before the file itself, which is thus never there without its maker's lock
                    self._lock = create_locked(lock_of(path))
                with path.open("xb") as file:
                    file.write(in_the_making if with_journal else self._blank)
                self._file = h5py.File(path, "r+", libver=LIBRARY_VERSIONS, locking="best-effort")
                self._handle = self._file.id.get_vfd_handle()
                self.datasets = {
                    name: GrowingDataset(self._file[name], fields=name == "trajectory", packer=self._packer)
                    for name in datasets
                }
                self._of_columns = [self.datasets[f"agents/{column.name}"] for column in layout.columns]
                self._commits = self._file["commit"]
                self._file.swmr_mode = True
                if with_journal:
                    self._journal = Journal(self._file["journal"], self._handle)
                    # from here on there may be something to lose
                    os.write(self._lock, f"{os.getpid()} {platform.node()}\n".encode())
        except FileExistsError:
            self.unlock()
            raise
        except RecordingError:
            self.remove()
            raise

    def _require_a_place(self) -> None:
        folder = self.path.parent
        if not os.access(folder, os.W_OK):
            raise RecordingError(
                f"{folder}: the recording cannot be written here, since the folder is read-only for this "
                "user. Choose another output path."
            )
        room = free_bytes(folder)
        if room < self.reserve_bytes:
            raise RecordingError(
                f"{folder}: a recording needs {_megabytes(self.reserve_bytes)} to begin with, but "
                f"{_megabytes(room)} are free. "
                "Make room, or choose another disk."
            )

    def has_room(self, wanted_bytes: int) -> bool:
        """Return whether `wanted_bytes` can be added and the file still be closed;
        asks the system once for several megabytes, and after each commit.
        """
        if wanted_bytes > self._known_room:
            room = self.free_bytes() - self.reserve_bytes
            if wanted_bytes > room:
                return False
            self._known_room = min(room, wanted_bytes + ROOM_STEP_BYTES)
        self._known_room -= wanted_bytes
        return True

    def free_bytes(self) -> int:
        """Return how many bytes the file may still grow, beyond what waits to be written."""
        waiting = sum(
            (dataset.filled - dataset.chunks) * self._specs[name].chunk_bytes
            for name, dataset in self.datasets.items()
        )
        return max(0, free_bytes(self._handle, self.size()) - waiting)

    def size(self) -> int:
        """Return how many bytes the file has."""
        return os.fstat(self._handle).st_size

    def append(self, name: str, count: int, *values: Any) -> None:
        """Add rows to a dataset; see `GrowingDataset.append`. They count once they are committed."""
        if self._file is None:
            raise self._closed()
        try:  # not `_guard`: this is called a dozen times for a frame
            self.datasets[name].append(count, *values)
        except (OSError, RuntimeError) as error:
            raise self._failed("written", error) from error

    def append_columns(self, count: int, values: Iterable[NDArray[Any]]) -> None:
        """Add rows to the datasets of all columns of agents, in their order; as `append`."""
        if self._file is None:
            raise self._closed()
        try:
            GrowingDataset.append_to_each(self._of_columns, count, values)
        except (OSError, RuntimeError) as error:
            raise self._failed("written", error) from error

    def append_chunk(self, name: str, data: bytes) -> None:
        """Add rows to a dataset; see `GrowingDataset.append_chunk`."""
        with self._guard("written"):
            self.datasets[name].append_chunk(data)

    def rows(self) -> dict[str, int]:
        """Return how many rows were appended, by the fields of `Commit` that count them."""
        return {self._specs[name].counter: dataset.rows for name, dataset in self.datasets.items()}

    def commit(self, commit: Commit) -> None:
        """Write everything that was appended, what fills no chunk into the journal,
        and then a record that says so: `commit` with the rows of the datasets.
        """
        assert self._journal is not None, "rows are committed before the end only where there is a journal"
        with self._guard("written"):
            self._require_its_place()
            self._wait()
            new, needed = self._rests(self._journalled), self._rests({})
            fits = self._journal.fits(sum(rest.size for rest in new), sum(rest.size for rest in needed))
            word = self._journal.write(new if fits else needed, anew=not fits)
            self._journalled = {name: dataset.rows for name, dataset in self.datasets.items()}
            self._record(replace(commit, **self.rows(), journal=word))

    @property
    def waste_bytes(self) -> int:
        """Bytes of the file that nobody needs any more once it is finished."""
        return self._journal.size if self._journal is not None else 0

    def finish(self, commit: Commit) -> None:
        """Write everything that was appended, and a record that says so as in `commit`,
        close the file and force it to the disk; it is still held, until `unlock`.

        A file of which much was journal is written anew without it, where there is room.
        """
        commit = replace(commit, **self.rows(), journal=0)
        with self._guard("written"):
            self._wait()
        if (
            self.waste_bytes > WASTE_SHARE * self.size()
            and self.size() + self.reserve_bytes < self.free_bytes()
        ):
            with contextlib.suppress(OSError, RuntimeError), scratch_folder(self.path.parent) as folder:
                copy = folder / self.path.name
                self._write_anew(copy, commit)
                self._require_its_place()
                copy.replace(self.path)
                self.committed = commit
                self.freeze(is_held=True)
                return
        with self._guard("written"):
            self._require_its_place()
            for dataset in self.datasets.values():
                dataset.write_rest()
            self._record(commit)
        self._close()

    def _write_anew(self, path: Path, commit: Commit) -> None:
        """Write a closed file of everything that was appended, and force it to the disk."""
        with path.open("xb") as blank:
            blank.write(self._blank)
        file = h5py.File(path, "r+", libver=LIBRARY_VERSIONS, locking=False)
        try:
            for name, dataset in self.datasets.items():
                dataset.copy_to(file[name])
            file["commit"].id.write_direct_chunk((commit.number % 2, 0), commit.pack())
            file.close()
        finally:
            freeze_file(file)
        synchronise(path)

    def _rests(self, done: Mapping[str, int]) -> list[Rest]:
        """Return the rows that fill no chunk and are not `done`, of each dataset that has some."""
        found = []
        for number, (name, dataset) in enumerate(self.datasets.items()):
            first = max(done.get(name, 0), dataset.chunks * dataset.chunk_rows)
            if first < dataset.rows:
                found.append(Rest(number, first, dataset.rows - first, dataset.rest_since(first)))
        return found

    def _record(self, commit: Commit) -> None:
        chunks = sum(dataset.chunks for dataset in self.datasets.values()) + self.waste_bytes
        if chunks > self._flushed:
            self._file.flush()
            self._flushed = chunks
        # one write, straight to the file
        self._commits.id.write_direct_chunk((commit.number % 2, 0), commit.pack())
        self.committed = commit
        self._known_room = 0

    def _wait(self) -> None:
        """Have all full chunks in the file, so that a record can count them."""
        if self._packer is not None:
            self._packer.wait()

    def _close(self) -> None:
        if self._packer is not None:
            self._packer.stop()
        with self._guard("closed"):
            handle = os.dup(self._file.id.get_vfd_handle())
            try:
                self._file.close()
                os.fsync(handle)
            finally:
                os.close(handle)
        self._file = None

    def unlock(self) -> None:
        """Tell others that nobody is at work any more, once the finished file has its name."""
        if self._lock >= 0:
            with contextlib.suppress(OSError):  # its folder may be gone
                lock_of(self.path).unlink()
            self._release()

    def _release(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def freeze(self, *, is_held: bool = False) -> None:
        """Leave the file as it is: nothing more is written to it, and nobody holds it unless `is_held` is
        set.
        """
        if self._packer is not None:
            self._packer.stop()
        file, self._file = self._file, None
        if file is not None:
            freeze_file(file)
        if not is_held:
            self._release()

    def remove(self) -> None:
        """Throw the file away."""
        self.freeze(is_held=True)
        with contextlib.suppress(OSError):
            self.path.unlink()
        self.unlock()

    @contextlib.contextmanager
    def _guard(self, doing: str) -> Iterator[None]:
        if self._file is None and doing != "created":
            raise self._closed()
        try:
            yield
        except FileExistsError:
            raise
        except (OSError, RuntimeError) as error:
            raise self._failed(doing, error) from error

    def _closed(self) -> RecordingError:
        return self.failure or RecordingError(f"{self.path}: the recording is closed already")

    def _require_its_place(self) -> None:
        """Raise OSError if the file no longer has its name:
        it, or its folder, was moved or removed while the run went on.
        """
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(self._handle), self.path.stat()):
                return
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.path))

    def _failed(self, doing: str, error: BaseException) -> RecordingError:
        """Leave the file as it is and return the message for the user."""
        is_gone = isinstance(error, FileNotFoundError) and doing != "created"
        moved = _name_of(self._handle) if is_gone else None
        size, room = 0, ""
        with contextlib.suppress(OSError):
            room = room_text(self.path.parent)
            size = self.path.stat().st_size
        self.freeze()
        if is_gone and moved is None:
            text = (
                f"{self.path}: the recording, or its folder, was removed while the run went on, so the run "
                "was stopped. Nothing of the recording is left."
            )
        elif is_gone:
            text = (
                f"{self.path}: the recording was moved to {moved} while the run went on, so the run was "
                f"stopped. {self.safe_text(moved)}"
            )
        else:
            text = (
                f"{self.path}: the recording could not be {doing} ({reason_of(error)}). {size:,} bytes were "
                f"written. {room} {self.safe_text()}"
            )
        self.failure = RecordingError(text.strip())
        return self.failure

    def safe_text(self, path: Path | None = None) -> str:
        """Return what is safe and how to come by it, as a sentence; empty if nothing is."""
        kept = self.committed
        if not kept.number:
            return ""
        return (
            f"{kept.frames:,} frames until tick {kept.last_tick:,} are safe: "
            f"`{command('recover', path or self.path)}` makes a whole file of them."
        )


def _name_of(handle: int) -> Path | None:
    """Return the name that an open file has now; None if it has none any more."""
    with contextlib.suppress(OSError):
        found = Path(f"/proc/self/fd/{handle}").readlink()
        if os.path.samestat(os.fstat(handle), found.stat()):
            return found
    return None


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
