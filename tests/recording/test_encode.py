"""Chunks made by hand: any inflate gives the shuffled bytes back, and HDF5 the rows."""

from __future__ import annotations

import itertools
import zlib

import h5py
import numpy as np
import pytest

from crowdsim.recording.encode import (
    STORED_ABOVE,
    TRIAL_EVERY,
    ChunkEncoder,
    GrowingDataset,
    round_to_multiples,
    shuffle,
    shuffle_words,
)
from crowdsim.recording.packing import Packer
from crowdsim.recording.schema import TRAJECTORY_DTYPE
from tests.reference import encode as twin

DTYPES = [
    "uint8",
    "int16",
    "float32",
    "int32",
    "float64",
    "uint64",
    np.dtype([("a", "<i8"), ("b", "<f4"), ("c", "u1")]),
]


def random_array(dtype, rows, seed=0, tail=()):
    dtype = np.dtype(dtype)
    return (
        np.frombuffer(
            np.random.default_rng(seed).bytes(dtype.itemsize * rows * int(np.prod(tail))), dtype=dtype
        )
        .reshape(rows, *tail)
        .copy()
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("tail", [(), (2,)])
@pytest.mark.parametrize("rows", [1, 8, 33])
def test_shuffle_agrees_with_reference(dtype, tail, rows):
    array = random_array(dtype, rows, tail=tail)
    planes = np.zeros((array.itemsize, array.size), dtype=np.uint8)
    for byte, value in enumerate(shuffle(array, planes)):
        if value >= 0:  # left alone, since it is the same in all
            assert not planes[byte].any()
            planes[byte] = value
    assert planes.tobytes() == twin.shuffle_words(array.tobytes(), array.itemsize)


@pytest.mark.parametrize("step", [2.0**-14, 0.25, 8.0])
def test_rounding_agrees_with_reference(step):
    rng = np.random.default_rng(5)
    values = np.concatenate(
        (
            rng.normal(0.0, 2.0, 500),
            rng.uniform(4e6, 5e6, 100),
            rng.integers(-9, 9, 50) * 0.125,
            [0.0, np.inf, -np.inf],
        )
    )
    out = np.empty_like(values)
    round_to_multiples(values, step, out)
    assert out.tolist() == twin.round_to_multiples(values.tolist(), step)
    round_to_multiples(np.array([np.nan]), step, out[:1])
    assert np.isnan(out[0])


def test_rounding_by_hand():
    out = np.empty(5)
    round_to_multiples(np.array([0.3, 0.375, -0.3, 2.0, -0.1]), 0.25, out)
    assert out.tolist() == [0.25, 0.5, -0.25, 2.0, 0.0]


def test_shuffle_words_puts_the_lowest_bytes_first():
    planes = np.zeros((4, 2), dtype=np.uint8)
    shuffle_words(np.array([0x04030201, 0x0D0C0B0A], dtype=np.uint32), planes)
    assert planes.tolist() == [[1, 10], [2, 11], [3, 12], [4, 13]]


@pytest.mark.parametrize("rows", [8, 1000, 70000])
def test_any_inflate_gives_the_shuffled_bytes_back(rows):
    """Random bytes become stored blocks (more than one above 65,535 bytes), zeros are deflated,
    and both stand in one stream.
    """
    parts = [random_array("float64", rows), np.zeros(rows), np.arange(rows)]
    encoder = ChunkEncoder(parts)
    expected = b"".join(twin.shuffle_words(part.tobytes(), 8) for part in parts)
    for _ in range(TRIAL_EVERY + 2):  # the chunk that tries and those that follow its findings
        assert zlib.decompress(encoder.encode(parts)) == expected
    assert zlib.decompress(encoder.encode(parts, whole=False)) == expected


@pytest.mark.parametrize("value", [0, 1, 255])
@pytest.mark.parametrize("rows", [1, 5552, 70000])
def test_constant_planes_stand_beside_others(value, rows):
    parts = [
        np.full(rows, value * 0x0101, dtype="uint16"),
        random_array("uint32", rows),
        np.arange(rows, dtype="int64") + 256 * value,
    ]
    encoder = ChunkEncoder(parts)
    expected = b"".join(twin.shuffle_words(part.tobytes(), part.itemsize) for part in parts)
    for _ in range(3):
        assert zlib.decompress(encoder.encode(parts)) == expected
    parts[0][rows // 2 :] = 7  # no longer constant
    assert zlib.decompress(encoder.encode(parts)) == b"".join(
        twin.shuffle_words(part.tobytes(), part.itemsize) for part in parts
    )


def test_planes_that_do_not_shrink_are_stored_and_noticed_again_when_they_do():
    array = random_array("float64", 4096)
    encoder = ChunkEncoder([array])
    encoder.encode([array])
    assert len(encoder.encode([array])) >= array.nbytes
    array[:] = np.repeat(random_array("float64", 4), 1024)
    sizes = [len(encoder.encode([array])) for _ in range(2 * TRIAL_EVERY)]
    assert sizes[0] >= array.nbytes > 50 * sizes[-1]


def test_coordinates_are_packed_nearly_as_small_as_by_zlib():
    """What the stored planes give up: at most a fifth of them."""
    places = np.random.default_rng(1).uniform(0.0, 100.0, 16384)
    encoder = ChunkEncoder([places])
    encoder.encode([places])
    shuffled = twin.shuffle_words(places.tobytes(), 8)
    assert len(encoder.encode([places])) <= len(zlib.compress(shuffled, 1)) / STORED_ABOVE


def grow(path, dtype, chunk_rows, width=0, packer=None):
    file = h5py.File(path, "x", libver=("v110", "v110"), fs_strategy="page", fs_page_size=4096)
    tail = (width,) if width else ()
    dataset = file.create_dataset(
        "data",
        (0, *tail),
        dtype,
        maxshape=(None, *tail),
        chunks=(chunk_rows, *tail),
        shuffle=True,
        compression="gzip",
    )
    return file, GrowingDataset(dataset, packer=packer)


@pytest.mark.parametrize("seed", range(6))
def test_rows_come_back_however_they_are_appended(tmp_path, seed):
    """Random pieces, in every kind of dataset;
    what fills no chunk yet is in memory, from any row of it on.
    """
    rng = np.random.default_rng(seed)
    dtype, width = [
        ("float64", 0),
        ("float32", 2),
        ("uint8", 0),
        (TRAJECTORY_DTYPE, 0),
        ("int32", 0),
        ("uint64", 5),
    ][seed]
    file, dataset = grow(tmp_path / "a.h5", dtype, 32, width=width)
    rows = random_array(dtype, 500, seed, (width,) if width else ())
    file.swmr_mode = True
    done = 0
    while done < len(rows):
        step = min(int(rng.integers(0, 90)), len(rows) - done)
        dataset.append(step, rows[done : done + step])
        done += step
        assert (dataset.rows, dataset.chunks, dataset.rest) == (done, done // 32, done % 32)
        first = int(rng.integers(done // 32 * 32, done + 1))
        (found,) = dataset.rest_since(first)
        assert found.tobytes() == rows[first:done].tobytes()
        assert file["data"][:].tobytes() == rows[: done // 32 * 32].tobytes()
    dataset.write_rest()
    file.close()
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["data"][:].tobytes() == rows.tobytes()
        assert file["data"].compression == "gzip"
        assert file["data"].shuffle


def test_a_chunk_is_written_once(tmp_path, monkeypatch):
    """A place in the file that counts is never written again:
    a kill in the middle of that would tear rows that were committed.
    """
    file, dataset = grow(tmp_path / "a.h5", "uint8", 64)
    file.swmr_mode = True
    places = []
    for value in range(640):
        dataset.append(1, np.full(1, value % 251, dtype=np.uint8))
        places.append(
            [
                (info.byte_offset, info.size)
                for info in map(dataset.dataset.id.get_chunk_info, range(dataset.chunks))
            ]
        )
    assert (
        all(before == after[: len(before)] for before, after in itertools.pairwise(places))
        and len(places[-1]) == 10
    )
    file.close()


def test_a_rest_holds_no_rows_of_the_chunk_before(tmp_path):
    file, dataset = grow(tmp_path / "a.h5", "int64", 16)
    dataset.append(16, np.full(16, 7))
    dataset.append(2, np.full(2, 9))
    dataset.write_rest()
    _, raw = dataset.dataset.id.read_direct_chunk((16,))
    assert (
        np.frombuffer(zlib.decompress(raw), dtype=np.uint8)
        .reshape(8, 16)
        .T.copy()
        .view("<i8")
        .reshape(-1)
        .tolist()
        == [9, 9] + [0] * 14
    )
    file.close()


def test_a_thread_writes_the_same_file_as_the_caller_would(tmp_path):
    """Rows are overwritten by the caller at once, as the columns of agents are."""
    files = []
    for name, packer in (("a.h5", None), ("b.h5", Packer())):
        file, dataset = grow(tmp_path / name, "float64", 64, width=2, packer=packer)
        file.swmr_mode = True
        rows = np.empty((100, 2))
        for step in range(1, 100):
            rows[:step] = random_array("uint8", 2 * step, step).reshape(step, 2) / 3.0
            dataset.append(step, rows[:step])
            rows[:] = np.nan
        assert dataset.filled == 99 * 50 // 64
        if packer is not None:
            packer.wait()
            packer.stop()
        assert dataset.chunks == dataset.filled
        dataset.write_rest()
        chunks = [dataset.dataset.id.read_direct_chunk((first, 0))[1] for first in range(0, dataset.rows, 64)]
        files.append((chunks, file["data"][:].tobytes()))
        file.close()
    assert files[0] == files[1]


def test_rows_of_other_fields_are_taken_field_by_field(tmp_path):
    """Only rows of the very type of the dataset are copied as bytes."""
    kept, given = np.dtype([("a", "<i8"), ("b", "<f4")]), np.dtype([("a", "<i4"), ("b", "<f4")])
    file, dataset = grow(tmp_path / "a.h5", kept, 8)
    values = [(number, number / 3.0) for number in range(20)]
    dataset.append(10, np.array(values[:10], dtype=given))
    dataset.append(5, np.array(values[10:15], dtype=kept))
    dataset.append(5, np.repeat(np.array(values[15:], dtype=kept), 2)[::2])  # not one after the other
    dataset.write_rest()
    assert file["data"][:].tobytes() == np.array(values, dtype=kept).tobytes()
    file.close()


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_several_datasets_at_once_are_those_of_one_after_the_other(tmp_path, seed):
    """Each value is written over when the next is asked for, as the room for rounded numbers is."""
    rng, room = np.random.default_rng(seed), np.empty(40)
    kinds = ["float64", "float64", "int16"]
    opened = [grow(tmp_path / f"{place}.h5", kind, 32) for place, kind in enumerate(kinds)]
    datasets = [dataset for _, dataset in opened]
    expected = [[] for _ in kinds]
    for count in [12, 20, *rng.integers(0, 41, 30).tolist()]:  # the first two fill a chunk
        given = [np.floor(rng.uniform(0.0, 100.0, count)) for _ in kinds]

        def values(given=given, count=count):
            for numbers, kind in zip(given, kinds, strict=True):
                room[:] = np.nan
                room[:count] = numbers
                yield room[:count] if kind == "float64" else numbers.astype("int32")

        GrowingDataset.append_to_each(datasets, count, values())
        for numbers, so_far in zip(given, expected, strict=True):
            so_far.extend(numbers.tolist())
        assert {dataset.rows for dataset in datasets} == {len(expected[0])}
        assert {dataset.filled for dataset in datasets} == {len(expected[0]) // 32}
    with pytest.raises(TypeError, match="same_kind"):
        GrowingDataset.append_to_each(datasets, 1, [np.ones(1), np.ones(1), np.ones(1)])
    for (file, dataset), so_far in zip(opened, expected, strict=True):
        dataset.rows = len(so_far)  # without the row that was refused
        dataset.write_rest()
        assert file["data"][:].tolist() == so_far
        file.close()
    GrowingDataset.append_to_each([], 3, [])
