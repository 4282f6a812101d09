"""A recording in the formats of others: CSV, JuPedSim's sqlite,
and one PedPy file for each piece of ground.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import shapely

from crowdsim.errors import RecordingError
from crowdsim.old_names import COLUMNS, name_today
from crowdsim.recording.files import freeze_file, new_file, reason_of
from crowdsim.recording.reader import BLOCK_ROWS, Recording
from crowdsim.recording.schema import TRAJECTORY_DTYPE

Note = Callable[[str], None]  # gets what goes on, as words
SQLITE_VERSION = 2  # of JuPedSim's schema: read by JuPedSim 1.4 and PedPy 1.3 and newer
_STANDING_M_S = 1e-6  # Slower than this has no direction; the last one is kept.


def export_csv(
    recording: Recording,
    out: Path,
    *,
    columns: Sequence[str] = (),
    force: bool = False,
    note: Note = lambda _: None,
) -> int:
    """Write the trajectories as comma-separated values with one header line:
    id, frame, x, y, z, then `columns`.

    Numbers are written with the fewest digits that give the same number back. Metres, seconds; frames count
    from 0 at `recording.fps`.

    Parameters
    ----------
    recording : Recording
    out : Path
    columns : sequence of str
        Recorded columns to add; a vector becomes two, ``velocity_x`` and ``velocity_y``.
    force : bool
        Replace an existing file.
    note : callable
        Gets what goes on, as words.

    Returns
    -------
    int
        Rows written.

    Raises
    ------
    RecordingError
        If `out` exists, a column is unknown, or the disk is full.
    """
    known = {column.name for column in recording.layout.columns}
    wanted = ["x", "y", "z"]
    wanted += [name if name in known else name_today("the column", name, COLUMNS) for name in columns]
    header = recording.rows(0, 0, wanted)
    with new_file(out, force=force) as scratch, scratch.open("w", encoding="ascii", newline="") as file:
        for number, arrays in enumerate(itertools.chain([header], recording.blocks(wanted))):
            _note_rows(note, recording, number)
            pd.DataFrame({"id": arrays.pop("id"), **arrays}).to_csv(file, index=False, header=number == 0)
    return recording.commit.rows


def export_sqlite(
    recording: Recording, out: Path, *, force: bool = False, note: Note = lambda _: None
) -> int:
    """Write the trajectories as a JuPedSim sqlite file, schema version 2.

    JuPedSim keeps where a person looks: here the direction of the recorded velocity; one that stands keeps
    the last, and one that never moved looks along +x. Heights are not part of that format. Ground with
    several floors is given as seen from above.

    Parameters
    ----------
    recording : Recording
    out : Path
    force : bool
        Replace an existing file.
    note : callable
        Gets what goes on, as words.

    Returns
    -------
    int
        Rows written.

    Raises
    ------
    RecordingError
        If `out` exists, the recording has no ground, or the disk is full.
    """
    ground = recording.header.wkt_geometry() if recording.floors() else ""
    if not ground:
        raise RecordingError(f"{recording.path}: has no ground, which a JuPedSim file needs.")
    mark = int.from_bytes(hashlib.blake2b(ground.encode(), digest_size=8).digest(), "little", signed=True)
    bounds = shapely.from_wkt(ground).bounds
    facts = {
        "version": SQLITE_VERSION,
        "fps": recording.fps,
        **dict(zip(("xmin", "ymin", "xmax", "ymax"), bounds, strict=True)),
    }
    with new_file(out, force=force) as scratch:
        try:
            with contextlib.closing(sqlite3.connect(scratch, isolation_level=None)) as base:
                _make_tables(base)
                base.executemany(
                    "INSERT INTO metadata VALUES (?, ?)", [(key, str(value)) for key, value in facts.items()]
                )
                base.execute("INSERT INTO geometry VALUES (?, ?)", (mark, ground))
                base.executemany(
                    "INSERT INTO frame_data VALUES (?, ?)",
                    ((frame, mark) for frame in range(recording.commit.frames)),
                )
                for number, rows in enumerate(_sqlite_rows(recording)):
                    note(f"writing: {number + 1:,} of {recording.commit.frames:,} frames")
                    base.executemany("INSERT INTO trajectory_data VALUES (?, ?, ?, ?, ?, ?)", rows)
                base.execute("CREATE INDEX frame_id_idx ON trajectory_data(frame, id)")
                base.execute("COMMIT")
        except sqlite3.Error as error:
            raise RecordingError(f"{out}: could not be written ({error}).") from error
    return recording.commit.rows


def _make_tables(base: sqlite3.Connection) -> None:
    base.executescript("""PRAGMA journal_mode=OFF;
        PRAGMA synchronous=OFF;
        BEGIN;
        CREATE TABLE trajectory_data (frame INTEGER NOT NULL, id INTEGER NOT NULL,
            pos_x REAL NOT NULL, pos_y REAL NOT NULL, ori_x REAL NOT NULL, ori_y REAL NOT NULL);
        CREATE TABLE metadata (key TEXT NOT NULL UNIQUE PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE geometry (hash INTEGER NOT NULL, wkt TEXT NOT NULL);
        CREATE UNIQUE INDEX geometry_hash ON geometry(hash);
        CREATE TABLE frame_data (frame INTEGER NOT NULL, geometry_hash INTEGER NOT NULL);
    """)  # a scratch file needs no way back


def _sqlite_rows(recording: Recording) -> Iterator[Iterator[tuple[Any, ...]]]:
    """Yield the rows of each frame with the direction in which each agent looks."""
    recorded = {column.name for column in recording.layout.columns}
    known_by = "heading" if "heading" in recorded else "velocity" if "velocity" in recorded else ""
    starts = recording.frame_starts()
    known = np.sort(recording.table("roster")["entity"])
    looks = np.tile(np.array([1.0, 0.0]), (len(known), 1))
    for start, stop in itertools.pairwise(starts):
        arrays = recording.rows(int(start), int(stop), ["x", "y", *([known_by] if known_by else [])])
        entity = arrays["id"]
        at = np.searchsorted(known, entity)
        # a heading is a unit vector but for its rounding; an agent that does not move keeps looking where it
        # went
        if known_by:
            looked = np.column_stack((arrays[f"{known_by}_x"], arrays[f"{known_by}_y"])).astype(np.float64)
            length = np.hypot(looked[:, 0], looked[:, 1])
            moves = length > _STANDING_M_S
            looks[at[moves]] = looked[moves] / length[moves, None]
        yield zip(
            *(
                array.tolist()
                for array in (arrays["frame"], entity, arrays["x"], arrays["y"], looks[at, 0], looks[at, 1])
            ),
            strict=True,
        )


def export_pedpy(
    recording: Recording, out: Path, *, force: bool = False, note: Note = lambda _: None
) -> list[Path]:
    """Write one file in the format of the Pedestrian Dynamics Data Archive for each connected piece of ground
    on each floor.

    PedPy takes one polygon at a time. A recording whose ground is one polygon on one floor is such a file
    itself; this is for the others.

    Parameters
    ----------
    recording : Recording
    out : Path
        Name for the files: ``stations.h5`` becomes ``stations.<floor>.h5``, with ``.1``, ``.2`` ... for the
        pieces of a floor that has several.
    force : bool
        Replace existing files.
    note : callable
        Gets what goes on, as words.

    Returns
    -------
    list of Path
        The files, floor by floor, pieces from the largest to the smallest. Each holds the rows of the agents
        on that piece or, for agents on none (pushed over an edge by less than a rounding error), nearest to
        it.

    Raises
    ------
    RecordingError
        If a file exists, or the recording has no ground or does not know which agents were on which floor.
    """
    ground = recording.floors()
    if not ground:
        raise RecordingError(f"{recording.path}: has no ground, which PedPy needs.")
    has_layers = any(column.name == "layer" for column in recording.layout.columns)
    if len(ground) > 1 and not has_layers:
        raise RecordingError(
            f'{recording.path}: has {len(ground)} floors, but the column "layer" was not recorded, so no '
            "agent has a floor."
        )
    written = []
    for layer, shape in enumerate(ground):
        pieces = sorted(shapely.get_parts(shape), key=lambda piece: -piece.area)
        name = recording.header.layers[layer] if layer < len(recording.header.layers) else f"floor{layer}"
        safe = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)
        for number in range(len(pieces)):
            mark = f".{number + 1}" if len(pieces) > 1 else ""
            path = out.with_name(f"{out.stem}.{safe}{mark}{out.suffix or '.h5'}")
            with new_file(path, force=force) as scratch:
                _write_piece(recording, scratch, pieces, number, layer if has_layers else None, note)
            written.append(path)
    return written


def _note_rows(note: Note, recording: Recording, blocks: int) -> None:
    """Say how many rows have been read after so many blocks."""
    rows = recording.commit.rows
    note(f"writing: {min(blocks * BLOCK_ROWS, rows):,} of {rows:,} rows")


def _write_piece(
    recording: Recording, path: Path, pieces: Sequence[Any], number: int, layer: int | None, note: Note
) -> None:
    tree = shapely.STRtree(pieces)
    file = h5py.File(path, "x", libver=("v110", "v110"))
    try:
        dataset = file.create_dataset(
            "trajectory",
            shape=(0,),
            maxshape=(None,),
            chunks=(16384,),
            dtype=TRAJECTORY_DTYPE,
            shuffle=True,
            compression="gzip",
            compression_opts=1,
        )
        dataset.attrs["fps"] = recording.fps
        file.attrs["wkt_geometry"] = pieces[number].wkt
        wanted = ["x", "y", "z", *(["layer"] if layer is not None else [])]
        for done, arrays in enumerate(recording.blocks(wanted), 1):
            _note_rows(note, recording, done)
            chosen = arrays["layer"] == layer if layer is not None else np.ones(len(arrays["id"]), dtype=bool)
            if len(pieces) > 1:
                chosen &= tree.nearest(shapely.points(arrays["x"], arrays["y"])) == number
            table = np.zeros(int(chosen.sum()), dtype=TRAJECTORY_DTYPE)
            for field in TRAJECTORY_DTYPE.names or ():
                table[field] = arrays[field][chosen]
            dataset.resize(len(dataset) + len(table), axis=0)
            dataset[len(dataset) - len(table) :] = table
        file.close()
    except (OSError, RuntimeError) as error:
        freeze_file(file)
        raise OSError(getattr(error, "errno", None) or errno.EIO, reason_of(error)) from error
