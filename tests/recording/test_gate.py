"""The gate: what comes through it is stored in the file, of a plain type, and no larger than it may be."""

from __future__ import annotations

import os

import h5py
import numpy as np
import pytest

from crowdsim.errors import RecordingError
from crowdsim.recording import gate
from crowdsim.recording.gate import Damage

ROWS = np.arange(300.0)
REFUSED = {
    "a link to another file": (
        lambda file: file.__setitem__("x", h5py.ExternalLink("other.h5", "/x")),
        "x is a link to somewhere else",
    ),
    "a soft link": (
        lambda file: (file.__setitem__("y", ROWS), file.__setitem__("x", h5py.SoftLink("/y"))),
        "x is a link to somewhere else",
    ),
    "nothing": (lambda file: None, "x is missing"),
    "a group": (lambda file: file.create_group("x"), "x is no dataset"),
    "a type in place of a dataset": (lambda file: file.__setitem__("x", np.dtype("f8")), "x is no dataset"),
    "external storage": (
        lambda file: file.create_dataset("x", (10,), "f8", external=[("/etc/passwd", 0, 80)]),
        "x is stored in other files",
    ),
    "a virtual dataset": (
        lambda file: file.create_virtual_dataset("x", h5py.VirtualLayout((12,), "<i8")),
        "x is stored in other files",
    ),
    "texts of any length": (
        lambda file: file.__setitem__("x", ["a", "bc"]),
        "x has type object, which is not read",
    ),
    "references": (
        lambda file: file.create_dataset("x", (3,), h5py.ref_dtype),
        "x has type object, which is not read",
    ),
    "nothing in it": (lambda file: file.__setitem__("x", h5py.Empty("f8")), "x is empty"),
    "a filter of other people": (
        lambda file: file.create_dataset("x", data=ROWS, compression="lzf"),
        "x has the filter lzf, but only",
    ),
    "scaled numbers": (
        lambda file: file.create_dataset("x", data=np.arange(300), scaleoffset=4),
        "x has the filter scaleoffset, but only",
    ),
    "terabytes that were never written": (
        lambda file: file.create_dataset("x", (10**12,), "f8", chunks=(1000,)),
        "x claims 8,000,000,000,000 bytes, more than",
    ),
    "terabytes without chunks": (
        lambda file: file.create_dataset("x", (10**12,), "f8"),
        "x claims 8,000,000,000,000 bytes, more than",
    ),
    "gigabytes in a chunk": (
        lambda file: file.create_dataset("x", (10**9,), "f8", chunks=(10**8,)),
        "x has chunks of 800,000,000 bytes",
    ),
    "a row of a megabyte": (
        lambda file: file.create_dataset("x", (1,), np.dtype("V1000000")),
        "which is not read",
    ),
}


def made(path, make, **options):
    with h5py.File(path, "w", **options) as file:
        make(file)
    return path


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("libver", ["earliest", "v110"])
def test_what_is_no_plain_dataset_of_this_file_is_refused(tmp_path, what, libver):
    make, message = REFUSED[what]
    path = made(tmp_path / "a.h5", make, libver=libver)
    with (
        pytest.raises(RecordingError, match="is damaged or made by another program") as caught,
        gate.opened(path, of_others=True) as file,
    ):
        gate.dataset(file, "x")
    assert message in str(caught.value) and str(path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "gzip"},
        {"compression": "gzip", "shuffle": True, "fletcher32": True},
        {"fletcher32": True},
        {"chunks": (7,)},
    ],
)
@pytest.mark.parametrize("libver", ["earliest", "v110"])
def test_plain_datasets_come_through_as_they_are(tmp_path, options, libver):
    path = made(
        tmp_path / "a.h5", lambda file: file.create_dataset("group/x", data=ROWS, **options), libver=libver
    )
    with gate.opened(path, of_others=True) as file:
        assert (gate.dataset(file, "group/x")[:] == ROWS).all()


def test_a_changed_byte_is_an_error_where_a_filter_keeps_a_checksum(tmp_path):
    for number, options in enumerate(({"fletcher32": True}, {"compression": "gzip"})):
        path = made(
            tmp_path / f"{number}.h5",
            lambda file, options=options: file.create_dataset("x", data=ROWS, chunks=(300,), **options),
        )
        with h5py.File(path) as file:
            place = file["x"].id.get_chunk_info(0)
        data = bytearray(path.read_bytes())
        data[place.byte_offset + place.size // 2] ^= 64
        path.write_bytes(data)
        with pytest.raises(RecordingError, match="is damaged"), gate.opened(path, of_others=True) as file:
            gate.dataset(file, "x")[:]


def test_a_file_with_a_hole_of_terabytes_takes_no_memory(tmp_path):
    path = made(tmp_path / "a.h5", lambda file: file.create_dataset("x", (10**6,), "f8").__setitem__(0, 1.0))
    with gate.opened(path, of_others=True) as file:
        found = gate.dataset(file, "x")
        gate.require_memory(found.nbytes, "x")
        with pytest.raises(Damage, match=r"x needs 8,000\.00 GB, more than the limit of"):
            gate.require_memory(8 * 10**12, "x")


def test_memory_is_that_of_the_machine_or_what_limits_leave(tmp_path, monkeypatch):
    machine = gate.memory_bytes()
    assert machine <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    monkeypatch.setattr(gate.resource, "getrlimit", lambda kind: (3 * 10**12, 3 * 10**12))
    assert gate.memory_bytes() == machine
    monkeypatch.setattr(gate.resource, "getrlimit", lambda kind: (1000, 1000))
    assert gate.memory_bytes() == 0  # all of it is taken
    for group, limit in (("", "max\n"), ("jobs", "5000\n"), ("jobs/7", "7000\n")):
        (tmp_path / group).mkdir(exist_ok=True)
        (tmp_path / group / "memory.max").write_text(limit)
    (tmp_path / "memory" / "old").mkdir(parents=True)
    (tmp_path / "memory" / "old" / "memory.limit_in_bytes").write_text("9000\n")
    own = tmp_path / "cgroup"
    own.write_text("4:memory:/old\n2:cpu,cpuacct:/else\n0::/jobs/7\n")
    assert gate._group_limits(tmp_path, own) == [9000, 7000, 5000]
    assert gate._group_limits(tmp_path, tmp_path / "none") == []


def test_attributes_are_texts_and_numbers(tmp_path):
    values = {"text": "a", "bytes": b"b", "number": 2.5, "one": np.array([16.0]), "fixed": np.bytes_(b"c")}
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        for name, value in values.items():
            file.attrs[name] = value
        file.attrs["many"] = np.zeros(5)
        file.attrs["reference"] = file.ref
        file.attrs.create("kind", np.zeros(1, dtype=[("a", "i4")]))
    with gate.opened(path, of_others=True) as file:
        assert [gate.attribute(file, name) for name in ("text", "number", "none")] == ["a", 2.5, None]
        assert gate.attribute(file, "one") == 16.0 and gate.attribute(file, "fixed") == b"c"
        for name, message in (
            ("many", "claims 5 values"),
            ("reference", "neither text nor a number"),
            ("kind", "neither text nor a number"),
        ):
            with pytest.raises(Damage, match=message):
                gate.attribute(file, name)


def test_a_file_of_an_older_layout_is_refused_where_only_ours_are_read(tmp_path):
    path = made(tmp_path / "a.h5", lambda file: None, libver="earliest")
    with pytest.raises(RecordingError, match="is an HDF5 file of an older layout"), gate.opened(path):
        pytest.fail("it was opened")
