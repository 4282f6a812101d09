"""The digest: published values, every bit counts, and nothing else does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from crowdsim.recording.digest import (
    ColumnDigests,
    block_digests,
    block_xxh64,
    column_digests,
    digest,
    digest_each,
    fold_digests,
    run_digest,
    xxh64,
)
from crowdsim.recording.schema import digest_text
from tests.reference import digest as twin

ROOT = Path(__file__).resolve().parents[2]
# XXH64 with seed 0 as published with the reference implementation.
PUBLISHED = {
    b"": 0xEF46DB3751D8E999,
    b"a": 0xD24EC4F1A98C6E5B,
    b"abc": 0x44BC2CF5AD770999,
    b"Nobody inspects the spammish repetition": 0xFBCEA83C8A378BF1,
}


def words_and_tail(data: bytes):
    whole = len(data) // 8 * 8
    return np.frombuffer(data[:whole], dtype=np.uint64).copy(), np.frombuffer(
        data[whole:], dtype=np.uint8
    ).copy()


@pytest.mark.parametrize("text", PUBLISHED, ids=repr)
def test_xxh64_gives_the_published_values(text):
    assert xxh64(*words_and_tail(text), np.uint64(0)) == PUBLISHED[text]
    assert twin.xxh64(text) == PUBLISHED[text]


@pytest.mark.parametrize("length", [*range(100), 255, 256, 1000])
def test_xxh64_agrees_with_reference_for_every_length(length):
    data = np.random.default_rng(length).bytes(length)
    for seed in (0, 1, 2**64 - 1):
        assert int(xxh64(*words_and_tail(data), np.uint64(seed))) == twin.xxh64(data, seed)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint8", "bool"])
def test_digest_is_xxh64_of_the_bytes_seeded_with_the_type(dtype):
    array = np.random.default_rng(3).integers(0, 2, 41).astype(dtype)
    assert digest(array) == twin.xxh64(array.tobytes(), ord(array.dtype.kind) << 8 | array.itemsize)


def test_every_single_bit_changes_the_digest():
    array = np.random.default_rng(1).normal(size=(33, 2))
    seen = {int(digest(array))}
    bits = array.view(np.uint8).reshape(-1)
    for byte in range(bits.size):
        for bit in range(8):
            bits[byte] ^= 1 << bit
            seen.add(int(digest(array)))
            bits[byte] ^= 1 << bit
    assert len(seen) == 1 + 8 * bits.size


@pytest.mark.parametrize("seed", range(5))
def test_order_of_the_rows_changes_the_digest(seed):
    rng = np.random.default_rng(seed)
    array = rng.normal(size=(64, 2))
    order = rng.permutation(64)
    assert digest(array) != digest(array[order])


def test_digest_sees_the_sign_of_zero_and_the_bits_of_nan():
    quiet = np.array([np.nan])
    payload = quiet.view(np.uint64) ^ np.uint64(1)
    assert digest(np.array([0.0])) != digest(np.array([-0.0]))
    assert digest(quiet) != digest(payload.view(np.float64))
    assert digest(quiet) == digest(quiet.copy())


def test_equal_bytes_of_another_type_or_length_differ():
    zeros = [
        np.zeros(count, dtype=dtype)
        for count, dtype in ((8, "float64"), (8, "int64"), (16, "float32"), (7, "float64"), (0, "float64"))
    ]
    assert len({int(digest(array)) for array in zeros}) == len(zeros)


def test_memory_layout_does_not_matter():
    rng = np.random.default_rng(2)
    array = rng.normal(size=(50, 2))
    small = rng.integers(0, 255, 103).astype(np.uint8)
    readonly = array.copy()
    readonly.flags.writeable = False
    assert (
        digest(np.asfortranarray(array))
        == digest(array)
        == digest(readonly)
        == digest(np.repeat(array, 2, axis=0)[::2])
    )
    assert digest(small[3:100]) == digest(small[3:100].copy())  # begins between words


def test_objects_have_no_digest():
    with pytest.raises(TypeError, match="no digest"):
        digest(np.array(["a", None], dtype=object))


def test_column_digests_are_pinned():
    """Recordings are compared over years: these numbers may change with the file format only."""
    columns = {
        "position": np.arange(20, dtype="float64").reshape(10, 2) / 8,
        "state": np.arange(10, dtype="uint8"),
    }
    found = column_digests(columns)
    assert [digest_text(value) for value in found] == ["728d5d137280d9b1", "4a5ef99e27085dbc"]
    assert digest_text(run_digest(np.tile(found, (3, 1)))) == "b580410558135d53"


@pytest.mark.parametrize("cuts", [(1,), (7,), (3, 4, 11)])
def test_folding_in_parts_equals_folding_at_once(cuts):
    table = np.random.default_rng(4).integers(0, 2**63, (12, 3)).astype(np.uint64)
    value = 0
    for part in np.split(table, cuts):
        value = run_digest(part, value)
    assert value == run_digest(table) == twin.fold_digests(table.tolist())
    assert int(fold_digests(table, np.uint64(5))) == twin.fold_digests(table.tolist(), 5)


@pytest.mark.parametrize("seed", range(3))
def test_fold_sees_every_digest_and_their_order(seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 2**63, (4, 5)).astype(np.uint64)
    values = {
        run_digest(table),
        run_digest(table[:3]),
        run_digest(table[::-1]),
        run_digest(table[:, ::-1]),
        run_digest(table.reshape(5, 4)),
    }
    for row in range(4):
        for column in range(5):
            changed = table.copy()
            changed[row, column] ^= np.uint64(1)
            values.add(run_digest(changed))
    assert len(values) == 5 + 20


@pytest.mark.parametrize("shape", [(0, 2), (1, 2), (63,), (64,), (65, 2), (1000, 2)])
@pytest.mark.parametrize("dtype", ["float64", "uint8", "int32"])
def test_block_digests_agree_with_reference(shape, dtype):
    array = np.random.default_rng(6).integers(0, 200, shape).astype(dtype)
    found = block_digests(array, 64)
    row_bytes = array.itemsize * (shape[1] if len(shape) > 1 else 1)
    data = array.tobytes()
    data += bytes(-len(data) % 8)
    seed = (ord(array.dtype.kind) << 8 | array.itemsize) ^ len(array) << 16
    assert found.tolist() == twin.block_xxh64(data, 64 * row_bytes, seed)
    out = np.zeros(2, dtype=np.uint64)
    block_xxh64(np.arange(3, dtype=np.uint64), 2, np.uint64(9), out)
    assert out.tolist() == twin.block_xxh64(np.arange(3, dtype=np.uint64).tobytes(), 16, 9)


def test_block_digests_name_the_block_that_changed():
    array = np.random.default_rng(7).normal(size=(300, 2))
    changed = array.copy()
    changed[130, 1] += 1e-12
    assert np.flatnonzero(block_digests(array, 64) != block_digests(changed, 64)).tolist() == [2]


def test_blocks_have_whole_words():
    with pytest.raises(ValueError, match="multiple of 8"):
        block_digests(np.zeros(10), 12)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "environment",
    [{"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_CPU_NAME": "generic"}],
    ids=lambda given: next(iter(given)),
)
def test_digests_are_the_same_without_the_compiler_and_on_other_processors(environment, tmp_path):
    code = (
        "import numpy as np; from crowdsim.recording.digest import *; a = "
        "np.random.default_rng(5).normal(size=(70, 2)); "
        "print(digest(a), digest(a.astype('f4')[:33]), run_digest(block_digests(a, 64).reshape(1, -1)))"
    )
    variables = os.environ | environment | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        env=variables,
        check=True,
    )
    array = np.random.default_rng(5).normal(size=(70, 2))
    expected = (
        digest(array),
        digest(array.astype("f4")[:33]),
        run_digest(block_digests(array, 64).reshape(1, -1)),
    )
    assert done.stdout.split() == [str(value) for value in expected]


@pytest.mark.parametrize("shift", range(9))
def test_columns_have_the_digests_of_each_alone(shift):
    """Slices of small numbers begin between words, some are read-only, some are empty."""
    rng = np.random.default_rng(shift)
    small = rng.integers(0, 255, 200).astype(np.uint8)
    columns = {
        "small": small[shift : 100 + shift],
        "places": rng.normal(size=(33, 2)),
        "whole": rng.integers(0, 9, 31 + shift).astype(np.int32),
        "none": np.empty(0),
        "fixed": np.arange(10.0),
        "every other": rng.normal(size=40)[::2],
    }
    columns["fixed"].flags.writeable = False
    assert column_digests(columns).tolist() == [int(digest(array)) for array in columns.values()]
    assert column_digests({}).shape == (0,)


def test_columns_that_change_or_are_others_are_digested_as_they_are_now():
    rng = np.random.default_rng(0)
    fixed, whole = np.arange(10.0), rng.normal(size=(20, 2))
    shown = fixed[:]
    shown.flags.writeable = False
    digests = ColumnDigests()
    for arrays in (
        [np.arange(30), whole],
        [rng.normal(size=7), whole[:5]],
        [whole[:, 0], fixed],
        [shown, fixed],
        [],
        [np.arange(9.0)] * 20,
    ):
        for change in range(3):
            for array in (whole, fixed, *(each for each in arrays if each.flags.writeable)):
                array += change
            assert digests.of(arrays).tolist() == [int(digest(array)) for array in arrays]


def test_the_digests_of_eight_are_those_of_the_twin():
    rng = np.random.default_rng(3)
    small = rng.integers(0, 256, 400).astype(np.uint8)
    data = tuple(
        small[first : first + length] for first, length in zip(range(8), range(0, 80, 11), strict=True)
    )
    seeds, out = rng.integers(0, 2**63, 8).astype(np.uint64), np.empty(8, dtype=np.uint64)
    digest_each(0, 8, data, seeds, out)
    assert out.tolist() == twin.digest_each([each.tobytes() for each in data], seeds.tolist())
