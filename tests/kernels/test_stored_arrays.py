"""Arrays in a file are mapped, bit for bit, and a file that is not whole is told from one that is."""

from pathlib import Path

import numpy as np
import pytest

from crowdsim.kernels.maps import memory_of
from crowdsim.kernels.stored_arrays import StoredError, map_file, parts_of_file

KINDS = {
    "reals": np.arange(12.0).reshape(3, 4) / 3.0,
    "whole": np.arange(7, dtype=np.int32),
    "flags": np.array([True, False, True]),
    "one": np.array(2.5),
    "none": np.zeros((0, 2)),
    "turned": np.arange(6.0).reshape(2, 3).T,
    "last": np.zeros(0, dtype=np.uint8),
}


def write(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    path.write_bytes(b"".join(bytes(part) for part in parts_of_file(arrays)))
    return path


def read(path: Path) -> dict[str, np.ndarray]:
    with path.open("rb") as file:
        return map_file(file)


@pytest.mark.parametrize("arrays", [KINDS, {}, {"none": np.zeros(0)}], ids=["many", "none", "an empty one"])
def test_arrays_come_back_bit_for_bit_and_can_be_written_to(arrays, tmp_path):
    path = write(tmp_path / "some", arrays)
    before, found = path.read_bytes(), read(path)
    assert list(found) == list(arrays)
    for name, each in arrays.items():
        assert found[name].dtype == each.dtype and found[name].shape == each.shape, name
        assert np.array_equal(found[name], each), name
        assert found[name].flags.c_contiguous and found[name].flags.aligned, name
        found[name][...] = 0
    assert path.read_bytes() == before


def test_all_arrays_of_a_file_lie_in_one_map(tmp_path):
    found = read(write(tmp_path / "some", KINDS))
    assert len({id(memory_of(each)) for each in found.values()}) == 1
    assert memory_of(found["reals"]) is not None and memory_of(np.arange(3)) is None


@pytest.mark.parametrize("place", ["magic", "head", "a word", "end", "more", "empty"])
def test_a_file_that_is_not_whole_is_none(place, tmp_path):
    path = write(tmp_path / "some", KINDS)
    data = bytearray(path.read_bytes())
    if place in ("end", "more", "empty"):
        data = {"end": data[:-1], "more": data + b"\0", "empty": bytearray()}[place]
    else:
        at = {"magic": 0, "head": 40, "a word": data.index(np.float64(11.0 / 3.0).tobytes())}[place]
        data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoredError):
        read(path)


def test_objects_are_refused(tmp_path):
    with pytest.raises(TypeError, match="names holds objects"):
        write(tmp_path / "some", {"names": np.array(["a", None], dtype=object)})
