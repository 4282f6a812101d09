"""The datasets of a recording, which writer, reader and `recover` all work from;
and its bytes before its first tick, with none of their rows.

These are made in memory and written in one go, so that HDF5 never meets a full disk while it builds its
structures: it crashes there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np

from crowdsim.recording.commit import Commit
from crowdsim.recording.header import Header, Layout
from crowdsim.recording.journal import CHUNK_BYTES
from crowdsim.recording.schema import (
    COMMIT_WORDS,
    EVENT_DTYPE,
    EVENT_UNITS,
    EXPLANATION_DTYPE,
    EXPLANATION_UNITS,
    FORMAT,
    FORMAT_VERSION,
    ROSTER_DTYPE,
    ROSTER_UNITS,
    TRACE_DTYPE,
    TRAJECTORY_DTYPE,
    TRAJECTORY_UNITS,
)

# Smaller pays HDF5's 20 us for a chunk more often, larger keeps more in memory and reads more for one frame.
AGENT_CHUNK_ROWS = 32768
# Small runs need small buffers and journals. Smaller packs worse: files are 2 % larger than with 32,768 rows,
# with 4,096 20 %.
LEAST_AGENT_CHUNK_ROWS = 16384
CHUNK_FRAMES = 128  # that a chunk of few agents has at least
TICK_CHUNK_ROWS = 1024
VERDICT_CHUNK_BYTES = 4096
INTERVENTION_CHUNK_BYTES = 65536


@dataclass(frozen=True)
class DatasetSpec:
    """What one dataset looks like.

    Attributes
    ----------
    dtype : dtype
    counter : str
        Field of `Commit` that counts its rows.
    chunk_rows : int
    unit : str
        One unit, or those of all fields as JSON.
    width : int
        Numbers in a row; 0 is a dataset of one dimension.
    about : str
    columns : tuple of str
        Names of the numbers in a row, where they have names.
    resolution : float
        Values are multiples of it; 0 is as they are.
    """

    dtype: np.dtype[Any]
    counter: str
    chunk_rows: int = TICK_CHUNK_ROWS
    unit: str = ""
    width: int = 0
    about: str = ""
    columns: tuple[str, ...] = ()
    resolution: float = 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a row."""
        return (self.width,) if self.width else ()

    @property
    def row_bytes(self) -> int:
        """Bytes of a row before compression."""
        return self.dtype.itemsize * max(self.width, 1)

    @property
    def chunk_bytes(self) -> int:
        """Bytes of a chunk before compression; in the file it never has more than a thousandth above that."""
        return self.row_bytes * self.chunk_rows


def chunk_rows_for(agents: int) -> int:
    """Return how many rows a chunk of the trajectory has where so many agents are in a frame, at most."""
    rows = 1 << max(0, CHUNK_FRAMES * agents - 1).bit_length()
    return min(AGENT_CHUNK_ROWS, max(LEAST_AGENT_CHUNK_ROWS, rows))


def list_datasets(
    layout: Layout, *, exact: bool, agent_chunk_rows: int = AGENT_CHUNK_ROWS
) -> dict[str, DatasetSpec]:
    """Return the datasets by name, in the order in which they are made.

    Parameters
    ----------
    layout : Layout
    exact : bool
        Columns have their exact types.
    agent_chunk_rows : int
        Rows in a chunk of the datasets that have a row for each agent in a frame; in a file that is read,
        they say it themselves.
    """
    integer, digest = np.dtype("<i8"), np.dtype("<u8")
    ticks = np.dtype(
        [("tick", "<i8"), *((count.name, np.dtype(count.dtype).newbyteorder("<")) for count in layout.counts)]
    )
    tick_units = {"tick": "tick", **{count.name: count.unit for count in layout.counts}}
    found = {
        "trajectory": DatasetSpec(TRAJECTORY_DTYPE, "rows", agent_chunk_rows, json.dumps(TRAJECTORY_UNITS)),
        **{
            f"agents/{column.name}": DatasetSpec(
                column.stored_dtype(exact),
                "rows",
                agent_chunk_rows,
                column.unit,
                column.width if column.width > 1 else 0,
                column.about,
                resolution=0.0 if exact else column.resolution,
            )
            for column in layout.columns
        },
        "frames/start": DatasetSpec(
            integer, "frames", unit="row", about="first row of each frame in trajectory and agents/*"
        ),
        "frames/tick": DatasetSpec(integer, "frames", unit="tick", about="tick that each frame shows"),
        "events": DatasetSpec(EVENT_DTYPE, "events", unit=json.dumps(EVENT_UNITS)),
        "roster": DatasetSpec(ROSTER_DTYPE, "agents", unit=json.dumps(ROSTER_UNITS)),
        "ticks": DatasetSpec(ticks, "ticks", unit=json.dumps(tick_units)),
        "timings": DatasetSpec(
            integer,
            "ticks",
            unit="ns",
            width=len(layout.systems),
            about="clock readings, parallel to ticks",
            columns=layout.systems,
        ),
        "digests": DatasetSpec(
            digest,
            "ticks",
            width=len(layout.digests),
            about="XXH64 of each column, parallel to ticks",
            columns=layout.digests,
        ),
        "trace/index": DatasetSpec(
            TRACE_DTYPE, "trace", about="which digests belong to which tick, system and column"
        ),
        "trace/digests": DatasetSpec(
            digest, "trace_digests", AGENT_CHUNK_ROWS, about="XXH64 of each block of 64 agents"
        ),
        "explanations": DatasetSpec(
            EXPLANATION_DTYPE, "explanations", AGENT_CHUNK_ROWS, json.dumps(EXPLANATION_UNITS)
        ),
        "interventions": DatasetSpec(
            np.dtype("u1"),
            "interventions",
            INTERVENTION_CHUNK_BYTES,
            about="what a program did to the run: a line of JSON for each call",
        ),
        "verdict": DatasetSpec(
            np.dtype("u1"), "verdict_bytes", VERDICT_CHUNK_BYTES, about="JSON; empty while the run goes on"
        ),
    }
    kept = {
        "timings": layout.systems,
        "digests": layout.digests,
        "trace/index": layout.trace,
        "trace/digests": layout.trace,
        "explanations": layout.explain,
        "interventions": layout.interventions,
    }
    return {name: spec for name, spec in found.items() if kept.get(name, True)}


LIBRARY_VERSIONS = ("v110", "v110")  # The oldest format with SWMR; HDF5 1.10 and newer read it.
# The page of memory of x86-64. Larger would let a kill tear a metadata block, smaller only wastes space.
PAGE_BYTES = 4096


def blank_recording(header: Header, text: bytes, datasets: Mapping[str, DatasetSpec]) -> tuple[bytes, bytes]:
    """Return an HDF5 file with the header and all datasets, ready to be written and opened in SWMR mode:
    as it is to be, and as it is in the making, with a journal beside its datasets.

    Parameters
    ----------
    header : Header
    text : bytes
        What `to_json` made of it.
    datasets : mapping of str to DatasetSpec
    """
    with h5py.File(
        "blank",
        "x",
        driver="core",
        backing_store=False,
        libver=LIBRARY_VERSIONS,
        fs_strategy="page",
        fs_page_size=PAGE_BYTES,
    ) as file:
        write_facts(file, header)
        content = np.frombuffer(text, dtype=np.uint8)
        file.create_dataset(
            "header",
            data=content,
            chunks=(min(len(content), 65536),),
            shuffle=False,
            compression="gzip",
            track_times=False,
        )
        for name, spec in datasets.items():
            create_dataset(file, name, spec)
        file["trajectory"].attrs["fps"] = header.fps
        commits = file.create_dataset(
            "commit", shape=(2, COMMIT_WORDS), chunks=(1, COMMIT_WORDS), dtype="<u8", track_times=False
        )
        for slot in range(2):
            commits.id.write_direct_chunk((slot, 0), Commit().pack())
        file.flush()
        recording = bytes(file.id.get_file_image())
        file.create_dataset(
            "journal", shape=(0,), maxshape=(None,), chunks=(CHUNK_BYTES,), dtype="u1", track_times=False
        )
        file.flush()
        return recording, bytes(file.id.get_file_image())


def write_facts(file: h5py.File, header: Header) -> None:
    """Write what a file says of itself at its root, for programs that look no farther."""
    facts = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "run_id": header.run_id,
        "wkt_geometry": header.wkt_geometry(),
    }
    for key, value in facts.items():
        if value:
            file.attrs[key] = value


def create_dataset(
    file: h5py.File, name: str, spec: DatasetSpec, rows: Any = None, *, level: int = 1
) -> None:
    """Make a dataset; one that has its rows already is one chunk, deflated at a level."""
    dataset = file.create_dataset(
        name,
        data=np.zeros((0, *spec.shape), dtype=spec.dtype) if rows is None else rows,
        maxshape=(None, *spec.shape),
        chunks=(spec.chunk_rows if rows is None else max(1, len(rows)), *spec.shape),
        dtype=spec.dtype,
        shuffle=True,
        compression="gzip",
        compression_opts=level,
        track_times=False,
    )
    facts = {
        "unit": spec.unit,
        "about": spec.about,
        "columns": json.dumps(spec.columns) if spec.columns else "",
        "resolution": spec.resolution,
    }
    for key, value in facts.items():
        if value:
            dataset.attrs[key] = value
