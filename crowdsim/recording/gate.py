"""The gate for HDF5 files: what is looked at before anything is read, since a file may be damaged,
or made to do harm.

A small file can declare terabytes, lead to other files by links, external storage or virtual datasets, ask
for filters that load other people's code, or have the library wait for ever. So files are opened through
`Snapshot` (nothing is locked, nothing waits), and a dataset or an attribute comes out of here only once its
link, its type, its layout, its filters and its size have been looked at. Checksums are those of HDF5: of all
metadata in files like ours, of the data where filters keep one (deflate's own, fletcher32); a wrong one is an
error of the read.

Chunks of rows are unpacked here, past HDF5's own filters: it neither compares what a chunk unpacks to with
the size that it is to have, nor stops at it. A chunk that another one's bytes have come into is then read
beyond its end. Here a chunk has exactly its size, and the checksum of its stream (Adler-32, [RFC 1950]), or
it is an error; no more memory is taken than a chunk has.

What rows have to be beyond their types is looked at here too, so that readers can rely on it: ticks rise,
frames are counted, all agents are known. A damaged file can be whole for HDF5 and for every checksum. Each
look is at the rows that were read, takes a small part of the time that reading them took, and says with which
row it begins to be wrong.

Recordings (`crowdsim.recording.reader`) and trajectories of measured people come in through here.
"""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError, RecordingError
from crowdsim.recording.snapshot import Snapshot

# every HDF5 library has them, as its own code
FILTERS = frozenset({h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_FLETCHER32})
_NAMES = {
    h5py.h5z.FILTER_SZIP: "szip",
    h5py.h5z.FILTER_NBIT: "nbit",
    h5py.h5z.FILTER_SCALEOFFSET: "scaleoffset",
    32000: "lzf",
}
# No deflate stream grows by more when it is unpacked (258 bytes from a quarter of a byte).
_DEFLATE_RATIO = 1032
MOST_CHUNK_BYTES = 2**28  # Ours have 1 MB. Larger lets one chunk of a hostile file fill the memory.
MOST_ROW_BYTES = 2**16  # of one element: ours have some hundred. Larger lets a type alone be a burden.
MOST_ATTRIBUTE_BYTES = 2**26  # A floor plan as text has some megabytes at most.
# of the memory that this process may have, for one thing that is read at once. Larger leaves too little for
# what is made of it.
MOST_MEMORY_SHARE = 0.6
# What takes less is not looked at: it fits wherever Python and its libraries do.
LOOKED_AT_BYTES = 2**24
# Holds some chunks of a trajectory, so that reading frame by frame unpacks each only once.
CHUNK_CACHE_BYTES = 2**23


class Damage(ValueError):
    """What is wrong with something in a file, as a clause for a message: ``trajectory is missing``."""


@contextlib.contextmanager
def opened(path: Path, *, of_others: bool = False) -> Iterator[h5py.File]:
    """Open an HDF5 file for reading and for nothing else;
    what HDF5 has to say against it becomes one sentence.

    Parameters
    ----------
    path : Path
    of_others : bool
        Take the older layouts too, which other programs write; their metadata has no checksums.

    Raises
    ------
    RecordingError
        If it cannot be opened, or what the block reads of it is damaged.
    """
    try:
        with (
            Snapshot(path, of_others=of_others) as snapshot,
            h5py.File(snapshot, "r", rdcc_nbytes=CHUNK_CACHE_BYTES) as file,
        ):
            yield file
    except CrowdsimError:
        raise
    except Damage as damage:
        raise RecordingError(f"{path}: is damaged or made by another program ({damage}).") from None
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError) as error:
        # what h5py raises for damage
        raise RecordingError(f"{path}: is damaged ({first_line(error)}).") from error


def dataset(file: h5py.File, name: str) -> h5py.Dataset:
    """Return a dataset once it has turned out to be stored in this file, of a plain type,
    and no larger than what is stored for it.

    Parameters
    ----------
    file : h5py.File
        From `opened`.
    name : str
        Names of groups and the dataset, with slashes.

    Returns
    -------
    h5py.Dataset
        Its shape can be believed: to read all of it takes no more than 1,032 times the bytes that the file
        has for it, and a chunk.

    Raises
    ------
    Damage
        With what is wrong.
    """
    found: Any = file
    for part in name.split("/"):
        if not isinstance(found, h5py.Group):
            raise Damage(f"{name} is missing")
        link = found.get(part, getlink=True)
        if not isinstance(link, h5py.HardLink):
            raise Damage(f"{name} is {'missing' if link is None else 'a link to somewhere else'}")
        found = found[part]
    if not isinstance(found, h5py.Dataset):
        raise Damage(f"{name} is no dataset")
    _look_at_type(name, found)
    properties = found.id.get_create_plist()
    layout = properties.get_layout()
    if layout == h5py.h5d.VIRTUAL or properties.get_external_count():
        raise Damage(f"{name} is stored in other files")
    if found.shape is None:
        raise Damage(f"{name} is empty")
    for number in range(properties.get_nfilters()):
        code = properties.get_filter(number)[0]
        if code not in FILTERS:
            raise Damage(
                f"{name} has the filter {_NAMES.get(code, code)}, but only shuffle, gzip and fletcher32 are "
                "read"
            )
    _look_at_size(name, found, file.id.get_filesize(), is_packed=properties.get_nfilters() > 0)
    return found


def attribute(owner: h5py.Group | h5py.Dataset, name: str) -> Any:
    """Return an attribute, None where there is none.

    Raises
    ------
    Damage
        If it is of a strange type or large.
    """
    if name not in owner.attrs:
        return None
    handle = owner.attrs.get_id(name)
    kind = handle.get_type()
    if not isinstance(kind, (h5py.h5t.TypeStringID, h5py.h5t.TypeIntegerID, h5py.h5t.TypeFloatID)):
        raise Damage(f"the attribute {name} is neither text nor a number")
    count = int(np.prod(handle.shape, dtype=object)) if handle.shape else 1
    if count > 1 or kind.get_size() > MOST_ATTRIBUTE_BYTES:
        raise Damage(f"the attribute {name} claims {count:,} values of {kind.get_size():,} bytes")
    return owner.attrs[name]


def require_memory(wanted: int, what: str) -> None:
    """Raise `Damage` if something would take more than most of the memory that there is:
    a file with holes is as large as it says, and takes no room on the disk.

    Parameters
    ----------
    wanted : int
        Bytes.
    what : str
        For the message.
    """
    if wanted <= LOOKED_AT_BYTES:
        return
    present = memory_bytes()
    most = MOST_MEMORY_SHARE * present
    if wanted > most:
        raise Damage(
            f"{what} needs {_gigabytes(wanted)}, more than the limit of {_gigabytes(most)}, which is "
            f"{MOST_MEMORY_SHARE:.0%} of the {_gigabytes(present)} of memory"
        )


def memory_bytes() -> int:
    """Return how much memory this process may have: that of the machine, or less where a limit is set on its
    group of processes (cgroup) or, beside what it has already, on its address space (ulimit -v).
    """
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), *_group_limits()]
    addresses, _ = resource.getrlimit(resource.RLIMIT_AS)
    if addresses != resource.RLIM_INFINITY:
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        limits.append(max(0, addresses - taken))
    return min(limits)


def _group_limits(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> list[int]:
    """Return the limits on the memory of this process's group and of those that contain it, bytes."""
    found = []
    with contextlib.suppress(OSError, ValueError):  # another system
        for line in own.read_text().splitlines():
            _, kinds, name = line.split(":", 2)
            if kinds and "memory" not in kinds.split(","):
                continue
            above, file = (root / "memory", "memory.limit_in_bytes") if kinds else (root, "memory.max")
            for group in (path := Path(name.lstrip("/")), *path.parents):
                with contextlib.suppress(OSError, ValueError):  # it says "max" where there is none
                    found.append(int((above / group / file).read_text()))
    return found


def _gigabytes(count: float) -> str:
    return f"{count / 1e9:,.2f} GB"


def _look_at_type(name: str, found: h5py.Dataset) -> None:
    try:
        dtype = found.dtype
    except TypeError as error:
        raise Damage(f"{name} has a type that nobody knows ({first_line(error)})") from None
    if dtype.hasobject or dtype.itemsize > MOST_ROW_BYTES or dtype.itemsize == 0:
        raise Damage(f"{name} has type {str(dtype)[:80]}, which is not read")


def _look_at_size(name: str, found: h5py.Dataset, file_bytes: int, *, is_packed: bool) -> None:
    size, stored = found.dtype.itemsize, int(found.id.get_storage_size())
    claimed = int(np.prod(found.shape, dtype=object)) * size
    chunk_bytes = int(np.prod(found.chunks, dtype=object)) * size if found.chunks else 0
    if chunk_bytes > MOST_CHUNK_BYTES:
        raise Damage(f"{name} has chunks of {chunk_bytes:,} bytes")
    if stored > file_bytes:
        raise Damage(f"{name} claims {stored:,} bytes of a file that has {file_bytes:,}")
    if claimed > (_DEFLATE_RATIO if is_packed else 1) * stored + chunk_bytes:
        raise Damage(f"{name} claims {claimed:,} bytes, more than can be packed into the file")


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, or its name."""
    text = str(error).strip().splitlines()
    return text[0][:200] if text else type(error).__name__


_OURS = ((), (h5py.h5z.FILTER_DEFLATE,), (h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE))


class Packed:
    """The rows of a chunked dataset without filters, or with those of recordings: gzip, after shuffle or not.

    Parameters
    ----------
    dataset : h5py.Dataset
        One that came through the gate; chunked along its first axis only.
    dtype : dtype, optional
        Its type with other names of fields.

    Raises
    ------
    Damage
        If it is kept in another way.
    """

    def __init__(self, dataset: h5py.Dataset, dtype: np.dtype[Any] | None = None) -> None:
        self._dataset, self._name = dataset, str(dataset.name).lstrip("/")
        self.shape: tuple[int, ...] = dataset.shape
        self.dtype: np.dtype[Any] = dataset.dtype if dtype is None else dtype
        properties = dataset.id.get_create_plist()
        self._filters = tuple(properties.get_filter(number)[0] for number in range(properties.get_nfilters()))
        if dataset.chunks is None or dataset.chunks[1:] != dataset.shape[1:]:
            raise Damage(f"{self._name} is not stored in chunks of whole rows")
        if self._filters not in _OURS:
            raise Damage(f"{self._name} has other filters than recordings have")
        self.chunk_rows: int = dataset.chunks[0]
        self._row_bytes = self.dtype.itemsize * int(np.prod(self.shape[1:], dtype=np.int64))
        # the chunk that was read last: rows are asked for frame by frame
        self._last: tuple[int, NDArray[Any]] | None = None

    @property
    def stored_bytes(self) -> int:
        """Bytes in the file."""
        return int(self._dataset.id.get_storage_size())

    def rows(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows; they are within the dataset.

        Raises
        ------
        Damage
            If a chunk of them is missing, or is not what it was when it was written.
        """
        parts = []
        for number in range(start // self.chunk_rows, -(-stop // self.chunk_rows)):
            begin = number * self.chunk_rows
            if self._last is None or self._last[0] != number:
                self._last = number, self._unpacked(number)
            parts.append(self._last[1][max(start - begin, 0) : stop - begin])
        if len(parts) == 1:
            return parts[0].copy()
        return np.concatenate(parts) if parts else np.zeros((0, *self.shape[1:]), dtype=self.dtype)

    def chunk(self, number: int, like: h5py.Dataset) -> bytes | None:
        """Return a chunk as it is in the file, once it has turned out to unpack; None where another dataset
        keeps its chunks in another way.

        Raises
        ------
        Damage
            If it is missing, or is not what it was when it was written.
        """
        properties = like.id.get_create_plist()
        filters = tuple(properties.get_filter(each)[0] for each in range(properties.get_nfilters()))
        if (filters, like.dtype, like.chunks[0]) != (self._filters, self.dtype, self.chunk_rows):
            return None
        data = self._stored(number)
        self._inflated(data)
        return data

    def packed(self, start: int, stop: int) -> tuple[Any, ...] | None:
        """Return the type of rows, how they are packed, and the bytes that hold them in the file, once for
        each chunk; None where chunks hold others as well.

        Raises
        ------
        Damage
            If a chunk is missing.
        """
        if start % self.chunk_rows or (stop % self.chunk_rows and stop < self.shape[0]):
            return None
        numbers = range(start // self.chunk_rows, -(-stop // self.chunk_rows))
        return self.dtype, self._filters, self.chunk_rows, [self._stored(number) for number in numbers]

    def _unpacked(self, number: int) -> NDArray[Any]:
        data = self._inflated(self._stored(number))
        if len(self._filters) == 2 and self.dtype.itemsize > 1:
            planes = np.frombuffer(data, dtype=np.uint8).reshape(self.dtype.itemsize, -1)
            # byte by byte: to transpose all at once takes three times as long
            whole = np.empty(planes.shape[::-1], dtype=np.uint8)
            for byte, plane in enumerate(planes):
                whole[:, byte] = plane
            return whole.view(self.dtype).reshape(-1, *self.shape[1:])
        return np.frombuffer(data, dtype=self.dtype).reshape(-1, *self.shape[1:])

    @cached_property
    def _sizes(self) -> dict[int, int]:
        """Bytes of the chunks that are in the file, by their first row.

        Of all at once: asked for one chunk, the library goes through those before it, and of 20,000 that
        takes ten times as long as to unpack them.
        """
        found: dict[int, int] = {}

        def note(chunk: Any) -> None:
            if chunk.byte_offset is not None:
                found[chunk.chunk_offset[0]] = chunk.size

        self._dataset.id.chunk_iter(note)
        return found

    def _stored(self, number: int) -> bytes:
        """Return the bytes of a chunk in the file."""
        place = (number * self.chunk_rows, *([0] * (len(self.shape) - 1)))
        size = self.chunk_rows * self._row_bytes
        if not 0 < self._sizes.get(place[0], 0) <= size + size // 100 + 65536:
            raise Damage(f"{self._name} has no rows from {place[0]:,} on")
        mask, data = self._dataset.id.read_direct_chunk(place)
        if mask:
            raise Damage(f"{self._name} is not packed as it says")
        return bytes(data)

    def _inflated(self, data: bytes) -> bytes:
        """Return the bytes of a chunk before it was packed, shuffled as they were then."""
        size = self.chunk_rows * self._row_bytes
        found = self._deflated_from(data, size) if self._filters else data
        if len(found) != size:
            raise Damage(f"{self._name} has {len(found):,} bytes where a chunk has {size:,}")
        return found

    def _deflated_from(self, data: bytes, size: int) -> bytes:
        stream = isal_zlib.decompressobj()  # three to four times as fast as zlib's
        try:
            found = stream.decompress(data, size)
            # the checksum stands behind the last byte
            rest = stream.decompress(stream.unconsumed_tail, 1) if not stream.eof else b""
        except isal_zlib.error:  # type: ignore[misc]  # a class, which its stub has as an instance
            raise Damage(f"the checksum of {self._name} is wrong") from None
        if rest or not stream.eof:
            raise Damage(f"{self._name} unpacks to more than a chunk has")
        return found


# of a radius or a speed: far beyond every world, far below what overflows when it is squared
_MOST_METRES = 1e9


def look_at_rows(name: str, rows: NDArray[Any], first: int, last_tick: int) -> None:
    """Look at rows of one dataset.

    Parameters
    ----------
    name : str
    rows : (n, ...) array
    first : int
        Number of the first of them, for the message.
    last_tick : int
        Of the commit.

    Raises
    ------
    Damage
        With the first row that cannot be.
    """
    if name in ("frames/tick", "ticks"):
        ticks = rows if rows.dtype.names is None else rows["tick"]
        _require(
            name,
            first,
            (ticks >= 0) & (ticks <= last_tick) & (np.diff(ticks, prepend=-1) > 0),
            "shows a tick out of order",
        )
    elif name in ("events", "explanations"):
        ticks = rows["tick"]
        _require(
            name,
            first,
            (ticks >= 0) & (ticks <= last_tick) & (np.diff(ticks, prepend=0) >= 0),
            "has a tick out of order",
        )
    elif name == "roster":
        _require(
            name,
            first,
            (rows["entity"] > 0) & (rows["spawn_tick"] <= last_tick),
            "is of no agent that can be",
        )
        for field in ("radius", "desired_speed", "maximum_speed"):
            with np.errstate(invalid="ignore"):
                _require(
                    name,
                    first,
                    (rows[field] >= 0.0) & (rows[field] <= _MOST_METRES),
                    f"has a {field} that cannot be",
                )


def look_at_agents(
    table: NDArray[Any], starts: NDArray[np.int64], known: NDArray[np.int64], first: int
) -> None:
    """Look at rows of the trajectory.

    Parameters
    ----------
    table : (n,) TRAJECTORY_DTYPE
    starts : (frames + 1,) int64
        First row of each frame.
    known : (agents,) int64
        The agents in the roster, ascending.
    first : int
        Number of the first of the rows.

    Raises
    ------
    Damage
        With the first row that is in another frame than the index says, or of an agent that is not in the
        roster.
    """
    if not len(table):
        return
    low = int(np.searchsorted(starts, first, side="right")) - 1
    high = int(np.searchsorted(starts, first + len(table), side="left"))
    bounds = np.clip(starts[low : high + 1] - first, 0, len(table))
    _require(
        "trajectory",
        first,
        table["frame"] == np.repeat(np.arange(low, high), np.diff(bounds)),
        "is in another frame than the index of frames says",
    )
    ids = table["id"]
    if len(known) and known[-1] - known[0] + 1 == len(known):
        is_known = (ids >= known[0]) & (ids <= known[-1])
    else:
        is_known = np.zeros(len(ids), dtype=np.bool_)
        if len(known):
            is_known = known[np.minimum(np.searchsorted(known, ids), len(known) - 1)] == ids
    _require("trajectory", first, is_known, "is of an agent that is not in the roster")


def _require(name: str, first: int, is_right: NDArray[np.bool_], wrong: str) -> None:
    if not is_right.all():
        raise Damage(f"row {first + int(np.argmin(is_right)):,} of {name} {wrong}")
