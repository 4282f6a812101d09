"""Tables of trajectories in HDF5 files of others, read by a process of its own.

The layouts that other programs write know no checksums, and the HDF5 library believes them: a damaged one has
it loop for ever, or take a wrong address. A process that is read for ends with an error then, and nothing
else does; it may use so much memory and so much of a processor.

``python -m crowdsim.measures.archives FILE DESCRIPTOR SECONDS`` writes what it found to an open file, within
so many seconds of a processor.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import RecordingError

COLUMNS = ("id", "frame", "x", "y")
# Of four numbers each, 1.6 GB; the largest experiments have some millions. More lets a file fill the memory.
MOST_ROWS = 50_000_000
MOST_TABLE_BYTES = 2**32  # Of a table once it is unpacked.
MOST_MEMORY = 2**32  # That reading may take.
LEAST_SECONDS, SECONDS_A_MEGABYTE = 20, 5  # Of a processor: what is packed into a megabyte may be a gigabyte.
_BLOCK_BYTES = 1 << 26


class Archive(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    columns : dict of str to (n,) array
        Of `COLUMNS`: whole or real numbers.
    fps, ground : str or None
        Texts of the attributes `fps` and `wkt_geometry`.
    """

    columns: dict[str, NDArray[Any]]
    fps: str | None
    ground: str | None


def read_archive(path: Path) -> Archive:
    """Read a table of trajectories.

    Raises
    ------
    RecordingError
        If it cannot be read: it is damaged, larger than any experiment, or something in it is kept elsewhere.
    """
    root = str(Path(__file__).resolve().parents[2])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])]),
        "OPENBLAS_NUM_THREADS": "1",
    }
    seconds = LEAST_SECONDS + SECONDS_A_MEGABYTE * (path.stat().st_size >> 20)
    with tempfile.TemporaryFile() as found:
        code = subprocess.run(
            [
                sys.executable,
                "-m",
                "crowdsim.measures.archives",
                str(path.resolve()),
                str(found.fileno()),
                str(seconds),
            ],
            pass_fds=[found.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            check=False,
        ).returncode
        if code:
            why = (
                f"it takes more than {seconds} s"
                if code in (-signal.SIGXCPU, -signal.SIGKILL)
                else f"its reader ended with {code}"
            )
            raise RecordingError(f"{path}: is damaged, and cannot be read: {why}.")
        found.seek(0)
        about = json.loads(found.readline())
        if "refused" in about:
            raise RecordingError(about["refused"].replace(str(path.resolve()), str(path)))
        columns = {
            name: np.fromfile(found, dtype=kind, count=about["rows"]) for name, kind in about["columns"]
        }
    return Archive(columns, about["fps"], about["ground"])


def main() -> None:
    """Read the file that the command names."""
    path, descriptor, seconds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    present = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for kind, most in (
        (resource.RLIMIT_AS, present + MOST_MEMORY),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # a lower limit is there already
            resource.setrlimit(kind, (most, most))
    with os.fdopen(descriptor, "wb") as out:
        try:
            archive = _read(path)
        except RecordingError as error:
            out.write(json.dumps({"refused": str(error)}).encode() + b"\n")
            return
        columns = archive.columns
        kinds = [[name, column.dtype.str] for name, column in columns.items()]
        out.write(
            json.dumps(
                {"rows": len(columns["id"]), "columns": kinds, "fps": archive.fps, "ground": archive.ground}
            ).encode()
            + b"\n"
        )
        for column in columns.values():
            out.write(np.ascontiguousarray(column).view(np.uint8).data)


def _read(path: Path) -> Archive:
    from crowdsim.recording.gate import Damage, attribute, dataset, opened

    with opened(path, of_others=True) as file:
        table = dataset(file, "trajectory")
        if table.ndim != 1:
            raise Damage(f"trajectory has {table.ndim} dimensions, but a table has one")
        missing = [name for name in COLUMNS if name not in (table.dtype.names or ())]
        if missing:
            raise RecordingError(f"{path}: its table of trajectories has no column {', '.join(missing)}.")
        strange = [name for name in COLUMNS if table.dtype[name].kind not in "iuf" or table.dtype[name].shape]
        if strange:
            raise RecordingError(
                f"{path}: the column {strange[0]} of its table of trajectories holds no numbers."
            )
        count, size = table.shape[0], table.dtype.itemsize
        if count > MOST_ROWS or count * size > MOST_TABLE_BYTES:
            limits = f"{MOST_ROWS:,} rows and {MOST_TABLE_BYTES / 1e9:.1f} GB"
            raise RecordingError(
                f"{path}: its table of trajectories has {count:,} rows, {count * size / 1e9:,.1f} GB, but "
                f"at most {limits} are read."
            )
        fps, ground = _text(attribute(table, "fps")), _text(attribute(file, "wkt_geometry"))
        columns = {name: np.empty(count, dtype=table.dtype[name].newbyteorder("=")) for name in COLUMNS}
        rows = max(1, _BLOCK_BYTES // size)
        for start in range(0, count, rows):  # other columns may be wide
            block = table[start : start + rows]
            for name, column in columns.items():
                column[start : start + rows] = block[name]
    return Archive(columns, fps, ground)


def _text(value: Any) -> str | None:
    """Return an attribute, which may be a number, bytes or an array of one, as text."""
    if value is None:
        return None
    single = np.asarray(value).reshape(-1)[0] if np.size(value) == 1 else value
    return single.decode("utf-8", "replace") if isinstance(single, bytes) else str(single)


if __name__ == "__main__":
    main()
