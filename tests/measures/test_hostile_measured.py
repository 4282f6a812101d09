"""Trajectories from strangers: whatever a file holds, the answer is people or one sentence,
in little time and memory, and nothing but the file is read.
"""

from __future__ import annotations

import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from crowdsim.errors import RecordingError
from crowdsim.measures import archives, read_measured, tracks_of
from crowdsim.measures import measured as module
from tests.crowds import ROOT

ROW = np.dtype([("id", "<i8"), ("frame", "<i8"), ("x", "<f8"), ("y", "<f8"), ("z", "<f8")])


def people(count: int = 40) -> np.ndarray:
    table = np.zeros(count, dtype=ROW)
    table["id"], table["frame"] = np.arange(count) % 4, np.arange(count) // 4
    table["x"], table["y"] = np.arange(count) / 10, 1.5
    return table


def archive(path: Path, libver: str = "latest", **options: object) -> Path:
    """Write people as archives of experiments have them."""
    with h5py.File(path, "w", libver=libver) as file:
        file.create_dataset("trajectory", data=people(), **options)
        file["trajectory"].attrs["fps"] = 25.0
        file.attrs["wkt_geometry"] = "POLYGON ((0 0, 9 0, 9 9, 0 9, 0 0), (1 1, 2 1, 2 2, 1 1))"
    return path


def put(path: Path, harm: Callable[[h5py.File], object]) -> Path:
    with h5py.File(archive(path), "r+") as file:
        harm(file)
    return path


def instead(file: h5py.File, **options: object) -> None:
    del file["trajectory"]
    file.create_dataset("trajectory", **options)
    file["trajectory"].attrs["fps"] = 25.0


def values(file: h5py.File, **columns: object) -> None:
    table = people()
    for name, value in columns.items():
        table[name][3] = value
    instead(file, data=table)


def bomb(file: h5py.File, chunks: int) -> None:
    """Put in 20 MB of zeros so many times, each packed to 20 kB."""
    dtype, rows = np.dtype([*ROW.descr, ("more", "V2000")]), 10_000
    instead(file, shape=(chunks * rows,), dtype=dtype, chunks=(rows,), compression="gzip")
    packed = zlib.compress(bytes(rows * dtype.itemsize))
    for number in range(chunks):
        file["trajectory"].id.write_direct_chunk((number * rows,), packed)


def virtual(file: h5py.File) -> None:
    del file["trajectory"]
    layout = h5py.VirtualLayout((40,), ROW)
    layout[:] = h5py.VirtualSource("/etc/passwd", "trajectory", (40,))
    file.create_virtual_dataset("trajectory", layout)


def real(*names: str) -> np.ndarray:
    return people().astype([(name, "<f8" if name in names else ROW[name].str) for name in ROW.names])


# What is wrong with a file, and what the sentence says.
HARM: dict[str, tuple[Callable[[h5py.File], object], str]] = {
    "a frame far away": (
        lambda file: values(file, frame=10**9),
        "has frames from 0 to 1,000,000,000, but at most 10,000,000 are read",
    ),
    "a frame before all time": (
        lambda file: values(file, frame=-(2**63)),
        "frame is -9223372036854775808, but the first two columns",
    ),
    "an id beyond whole numbers": (
        lambda file: values(file, id=2**62),
        "id is 4611686018427387904, but the first two columns",
    ),
    "half a frame": (
        lambda file: (lambda table: (table["frame"].__setitem__(2, 0.5), instead(file, data=table)))(
            real("frame")
        ),
        "frame is 0.5, but",
    ),
    "no number": (lambda file: values(file, x=np.nan), "x is nan m, but places are numbers"),
    "a place beyond the world": (
        lambda file: values(file, y=-1e300),
        "y is -1e+300 m, but places are numbers",
    ),
    "a bomb of rows": (
        lambda file: instead(
            file, shape=(2 * 10**8,), chunks=(10**6,), dtype=ROW, compression="gzip", data=None
        ),
        "more than can be packed",
    ),
    "a bomb of rows that are there": (
        lambda file: bomb(file, 250),
        "2,500,000 rows, 5.1 GB, but at most 50,000,000 rows and 4.3 GB are read",
    ),
    "an external file": (
        lambda file: instead(file, shape=(10,), dtype=ROW, external=[("/etc/passwd", 0, 400)]),
        "is stored in other files",
    ),
    "a virtual table": (virtual, "is stored in other files"),
    "a link to another file": (
        lambda file: (
            file.__delitem__("trajectory"),
            file.__setitem__("trajectory", h5py.ExternalLink("/etc/passwd", "/x")),
        ),
        "is a link to somewhere else",
    ),
    "a soft link": (
        lambda file: (
            file.move("trajectory", "there"),
            file.__setitem__("trajectory", h5py.SoftLink("/there")),
        ),
        "is a link to somewhere else",
    ),
    "a filter of a plug-in": (
        lambda file: instead(file, data=people(), chunks=(40,), compression="lzf"),
        "has the filter lzf",
    ),
    "a group": (
        lambda file: (file.__delitem__("trajectory"), file.create_group("trajectory")),
        "trajectory is no dataset",
    ),
    "two dimensions": (
        lambda file: instead(file, data=people().reshape(4, 10)),
        "has 2 dimensions, but a table has one",
    ),
    "no columns": (lambda file: instead(file, data=np.zeros(10)), "has no column id, frame, x, y"),
    "texts as columns": (
        lambda file: instead(file, data=np.zeros(3, dtype=[("id", "S4"), *ROW.descr[1:]])),
        "the column id of its table of trajectories",
    ),
    "vectors as columns": (
        lambda file: instead(file, data=np.zeros(3, dtype=[("id", "i8", (3,)), *ROW.descr[1:]])),
        "the column id of its table",
    ),
    "a frame rate of no number": (
        lambda file: file["trajectory"].attrs.__setitem__("fps", np.nan),
        "has nan frames a second",
    ),
    "many frame rates": (
        lambda file: file["trajectory"].attrs.__setitem__("fps", np.arange(5.0)),
        "the attribute fps claims 5 values",
    ),
    "ground that is no text of shapes": (
        lambda file: file.attrs.__setitem__("wkt_geometry", "((((("),
        "wkt_geometry, cannot be read",
    ),
    "ground that is a curve": (
        lambda file: file.attrs.__setitem__(
            "wkt_geometry", "CURVEPOLYGON (CIRCULARSTRING (0 0, 4 0, 4 4, 0 4, 0 0))"
        ),
        "this has curves",
    ),
    "ground that is a line": (
        lambda file: file.attrs.__setitem__("wkt_geometry", "LINESTRING (0 0, 1 1)"),
        "this is a LINESTRING, not a polygon",
    ),
    "ground nested without end": (
        lambda file: file.attrs.__setitem__("wkt_geometry", "GEOMETRYCOLLECTION(" * 5000 + ")" * 5000),
        "collections are nested",
    ),
    "ground that crosses itself": (
        lambda file: file.attrs.__setitem__("wkt_geometry", "POLYGON ((0 0, 4 4, 4 0, 0 4, 0 0))"),
        "is no area: Self-inters",
    ),
}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in this process what is read in one of its own: that takes half a second to start."""
    monkeypatch.setattr(module, "read_archive", archives._read)


@pytest.mark.parametrize("harm", HARM)
def test_a_file_made_to_do_harm_is_refused_in_one_sentence(tmp_path: Path, here: None, harm: str) -> None:
    spoil, words = HARM[harm]
    path = put(tmp_path / "people.h5", spoil)
    for read in (read_measured, tracks_of):
        with pytest.raises(RecordingError) as told:
            read(path)
        assert (
            words in str(told.value)
            and str(path) in str(told.value)
            and "\n" not in str(told.value)
            and len(str(told.value)) < 600
        )


def test_a_file_without_harm_is_read(tmp_path: Path) -> None:
    for libver, options in (
        ("latest", {}),
        ("earliest", {"compression": "gzip", "chunks": (7,), "shuffle": True, "fletcher32": True}),
    ):
        tracks = tracks_of(archive(tmp_path / "people.h5", libver, **options))
        assert len(tracks) == 40 and tracks.fps == 25.0 and tracks.ground.area == 80.5 and tracks.x[-1] == 3.9


def test_what_the_reader_refuses_is_said_with_the_name_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "people.h5", HARM["a group"][0])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        RecordingError,
        match=r"^people.h5: is damaged or made by another program \(trajectory is no dataset\)",
    ):
        read_measured("people.h5")


@pytest.mark.full
def test_a_file_that_the_library_never_comes_to_an_end_with_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text of the ground lies in a heap without a checksum: an object that leads back to itself."""
    path = archive(tmp_path / "people.h5")
    data = bytearray(path.read_bytes())
    heap = data.index(b"GCOL")
    data[heap + 16 : heap + 32] = bytes(16)  # object 0, which is free room, of no size
    path.write_bytes(data)
    monkeypatch.setattr(archives, "LEAST_SECONDS", 1)
    with pytest.raises(RecordingError, match=r"people.h5: is damaged"):
        read_measured(path)


LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
import pandas, h5py, shapely
from crowdsim.errors import RecordingError
from crowdsim.measures import archives, measured, tracks_of
import crowdsim.recording.gate, crowdsim.scenario.geometry_files
measured.read_archive = archives._read
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + 10**9
resource.setrlimit(resource.RLIMIT_AS, (size, size))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
for name in sys.argv[1:]:
    try:
        tracks_of(name)
        print("read")
    except RecordingError as error:
        print("refused")
"""


def test_small_files_cannot_fill_the_memory(tmp_path: Path) -> None:
    """Every harmful file within 1 GB of address space more than Python and its packages have,
    all together within a minute of the processor.
    """
    names = [put(tmp_path / f"{number}.h5", HARM[harm][0]) for number, harm in enumerate(HARM)]
    done = subprocess.run(
        [sys.executable, "-c", LITTLE_MEMORY, *map(str, names)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=600,
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["refused"] * len(names)


@pytest.mark.sample(1)
@pytest.mark.parametrize("libver", ["latest", "earliest"])
@pytest.mark.parametrize("count", [6, pytest.param(2500, marks=pytest.mark.full)])
def test_flipped_bytes_are_read_or_refused_and_nothing_else(
    tmp_path: Path, libver: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "LEAST_SECONDS", 5)
    data, path = (
        archive(tmp_path / "whole.h5", libver, chunks=(40,), fletcher32=True).read_bytes(),
        tmp_path / "flipped.h5",
    )
    refused = 0
    for seed in range(count):
        rng, spoilt = np.random.default_rng(seed), bytearray(data)
        for place in rng.integers(0, len(data), int(rng.integers(1, 4))).tolist():
            spoilt[place] ^= int(rng.integers(1, 256))
        path.write_bytes(spoilt)
        try:
            tracks_of(path)
        except RecordingError as told:
            refused += 1
            assert str(path) in str(told) and "\n" not in str(told) and len(str(told)) < 600
    assert refused > count / 20


# Texts, and what the sentence says: with the line.
TEXTS = {
    "a frame far away": (
        "1 0 1 1\n1 1000000000 1 1\n",
        "has frames from 0 to 1,000,000,000, but at most 10,000,000 are read",
    ),
    "a frame beyond whole numbers": ("1 0 1 1\n1 1e300 1 1\n", ":2: frame is 1e+300, but"),
    "an endless id": ("inf 0 1 1\n", ":1: id is inf, but"),
    "a place beyond the world": (
        "1 0 1 1\n\n# so far\n1 1 1e9 1\n",
        ":4: x is 1000000000.0 m, but places are numbers",
    ),
    "a quote that is never closed": ('1 0 1 1\n1 1 "1 1\n1 2 1 1\n', ":2: is no row"),
    "bytes that are no text": ("1 0 1 1\n1 1 1 \udcff\n", ":2: is no row"),
    "a zero byte": ("1 0 1 1\n1 1 1 \0\n", ":2: is no row"),
    "HDF5 under another name": ("\x89HDF\r\n\x1a\n", ":1: is no row"),
    "one endless line": ("1 0 1 1 " + "5 " * 200_000 + "\n1 1 x 1\n", "is no row"),
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_made_to_do_harm_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    content, words = TEXTS[text]
    path = tmp_path / "people.txt"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(RecordingError) as told:
        read_measured(path, fps=25.0, unit="m")
    assert words in str(told.value) and str(path) in str(told.value) and "\n" not in str(told.value)


def test_texts_that_are_too_long_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "people.txt"
    path.write_text("1 0 1 1\n1 1 1 1\n1 2 1 1\n")
    monkeypatch.setattr(module, "MOST_ROWS", 2)
    with pytest.raises(RecordingError, match=r"people.txt: has more than 2 rows. Cut it into parts"):
        read_measured(path, fps=25.0, unit="m")
    monkeypatch.setattr(module, "MOST_TEXT_BYTES", 20)
    with pytest.raises(RecordingError, match=r"has 24 bytes, but tables of trajectories have at most 20"):
        read_measured(path, fps=25.0, unit="m")


@pytest.mark.parametrize("count", [300, pytest.param(20_000, marks=pytest.mark.full)])
def test_texts_at_random_are_read_or_refused_and_nothing_else(tmp_path: Path, count: int) -> None:
    rng, path = np.random.default_rng(count), tmp_path / "people.txt"
    words = [
        "1",
        "0",
        "-3",
        "2.5",
        "1e9",
        "1e400",
        "nan",
        "inf",
        "x",
        "#",
        "\n",
        "\n",
        " ",
        "\t",
        '"',
        "'",
        ",",
        ";",
        "\0",
        "\r",
        "\ufeff",
        "é",
        "0x1F",
        "1_0",
        "--1",
    ]
    read = 0
    for _ in range(count):
        rows = "".join(f"{i % 3} {i} {i / 7} 1\n" for i in range(4))
        for _ in range(int(rng.integers(0, 4))):
            at = int(rng.integers(0, len(rows)))
            rows = rows[:at] + words[int(rng.integers(len(words)))] + rows[at + int(rng.integers(0, 3)) :]
        path.write_text(rows, encoding="utf-8")
        try:
            read_measured(path, fps=25.0, unit="m")
            read += 1
        except RecordingError as told:
            assert str(path) in str(told) and "\n" not in str(told)
    assert 0.2 * count < read < 0.95 * count
