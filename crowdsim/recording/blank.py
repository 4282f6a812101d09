"""The bytes of a recording before its first tick: all datasets, none of their rows.

They are made in memory and written in one go, so that HDF5 never meets a full disk while it builds its structures: it crashes there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import h5py
import numpy as np

from crowdsim.recording.commit import Commit
from crowdsim.recording.datasets import DatasetSpec
from crowdsim.recording.header import Header
from crowdsim.recording.journal import CHUNK_BYTES
from crowdsim.recording.schema import COMMIT_WORDS, FORMAT, FORMAT_VERSION

LIBRARY_VERSIONS = ("v110", "v110")  # The oldest format with SWMR; HDF5 1.10 and newer read it.
PAGE_BYTES = 4096  # The page of memory of x86-64. Larger would let a kill tear a metadata block, smaller only wastes space.


class Blank(NamedTuple):
    """The bytes of a file.

    Attributes
    ----------
    recording : bytes
        As it is to be.
    in_the_making : bytes
        With a journal beside its datasets.
    """

    recording: bytes
    in_the_making: bytes


def blank_recording(header: Header, text: bytes, datasets: Mapping[str, DatasetSpec]) -> Blank:
    """Return an HDF5 file with the header and all datasets, ready to be written and opened in SWMR mode.

    Parameters
    ----------
    header : Header
    text : bytes
        What `to_json` made of it.
    datasets : mapping of str to DatasetSpec
    """
    with h5py.File("blank", "x", driver="core", backing_store=False, libver=LIBRARY_VERSIONS, fs_strategy="page", fs_page_size=PAGE_BYTES) as file:
        facts = {"format": FORMAT, "format_version": FORMAT_VERSION, "run_id": header.run_id, "wkt_geometry": header.wkt_geometry()}
        for key, value in facts.items():
            if value:
                file.attrs[key] = value
        content = np.frombuffer(text, dtype=np.uint8)
        file.create_dataset("header", data=content, chunks=(min(len(content), 65536),), shuffle=False, compression="gzip", track_times=False)
        for name, spec in datasets.items():
            _create_dataset(file, name, spec)
        file["trajectory"].attrs["fps"] = header.fps
        commits = file.create_dataset("commit", shape=(2, COMMIT_WORDS), chunks=(1, COMMIT_WORDS), dtype="<u8", track_times=False)
        for slot in range(2):
            commits.id.write_direct_chunk((slot, 0), Commit().pack())
        file.flush()
        recording = bytes(file.id.get_file_image())
        file.create_dataset("journal", shape=(0,), maxshape=(None,), chunks=(CHUNK_BYTES,), dtype="u1", track_times=False)
        file.flush()
        return Blank(recording, bytes(file.id.get_file_image()))


def _create_dataset(file: h5py.File, name: str, spec: DatasetSpec) -> None:
    dataset = file.create_dataset(
        name,
        shape=(0, *spec.shape),
        maxshape=(None, *spec.shape),
        chunks=(spec.chunk_rows, *spec.shape),
        dtype=spec.dtype,
        shuffle=True,
        compression="gzip",
        compression_opts=1,
        track_times=False,
    )
    attributes = {"unit": spec.unit, "about": spec.about, "columns": json.dumps(spec.columns) if spec.columns else ""}
    if spec.resolution:
        dataset.attrs["resolution"] = spec.resolution
    for key, text in attributes.items():
        if text:
            dataset.attrs[key] = text
