"""Checkpoints on disk: the same bytes each time, and no changed bit goes unnoticed."""

from __future__ import annotations

import dataclasses
import json
import tracemalloc

import numpy as np
import pytest

from crowdsim.errors import RecordingError
from crowdsim.recording import checkpoint as checkpoints
from crowdsim.recording.checkpoint import (
    Checkpoint,
    checkpoint_bytes,
    checkpoint_names,
    checkpoints_of,
    read_checkpoint,
    write_checkpoint,
)
from crowdsim.recording.digest import digest

STATE = {
    "agents/position": np.arange(14.0).reshape(7, 2),
    "agents/kind": np.arange(7, dtype=np.uint8),
    "nothing": np.zeros((0, 3), dtype=np.int32),
    "one": np.array(5, dtype=np.int64),
    "events": np.array([(1, 2.5), (3, -0.0)], dtype=[("tick", "<i8"), ("x", "<f8")]),
    "vectors": np.zeros(2, dtype=[("at", "<f8", (2,)), ("n", "<i4")]),
    "flags": np.array([True, False]),
}


def one(**changes):
    return dataclasses.replace(
        Checkpoint(
            "a scene",
            120,
            0.05,
            "name: ä\n",
            "12ab",
            "c0de",
            {"crowdsim": "0.1.0"},
            {"own": {"file": "x.py"}},
            STATE,
        ),
        **changes,
    )


def test_what_is_read_is_what_was_written(tmp_path):
    path = tmp_path / "a.checkpoint"
    write_checkpoint(path, one())
    found = read_checkpoint(path)
    assert dataclasses.replace(found, state={}) == one(state={}) and found.time_s == 6.0
    assert found.state.keys() == STATE.keys()
    for name, array in STATE.items():
        assert (
            found.state[name].dtype == array.dtype
            and found.state[name].shape == array.shape
            and found.state[name].tobytes() == array.tobytes()
        )


def test_saved_loaded_and_saved_again_it_has_the_same_bytes(tmp_path):
    path = tmp_path / "a.checkpoint"
    write_checkpoint(path, one())
    first = path.read_bytes()
    write_checkpoint(path, read_checkpoint(str(path)))
    assert path.read_bytes() == first
    assert checkpoint_bytes(one(state=dict(reversed(STATE.items())))) == first


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.full)])
def test_every_corruption_is_refused_in_one_sentence(tmp_path, count):
    path, rng = tmp_path / "a.checkpoint", np.random.default_rng(count)
    whole = checkpoint_bytes(one())
    for number in range(count):
        data = bytearray(whole)
        kind = number % 4
        if kind == 0:  # a bit
            data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        elif kind == 1:  # the end is missing
            del data[rng.integers(len(data)) :]
        elif kind == 2:  # something is put between
            at = rng.integers(len(data))
            data[at:at] = rng.bytes(rng.integers(1, 40))
        else:  # a piece of something else
            at, size = rng.integers(len(data)), rng.integers(1, 200)
            piece = rng.bytes(min(size, len(data) - at))
            data[at : at + len(piece)] = piece
        if bytes(data) == whole:
            continue
        path.write_bytes(data)
        with pytest.raises(
            RecordingError, match=r"(is damaged|is no checkpoint of crowdsim|has version)"
        ) as told:
            read_checkpoint(path)
        assert str(told.value).startswith(f"{path}: ") and "\n" not in str(told.value)


@pytest.mark.parametrize("about", [
    b"[]", b'{"arrays": 1}', b'{"arrays": [["a", "<f8", [-1]]]}', b'{"arrays": [["a", "|O", [1]]]}',
    b'{"arrays": [["a", "<f8", [99999999999]]]}', b"\xff", b"[" * 5000,
])  # fmt: skip
def test_a_forged_one_with_a_right_sum_is_refused(tmp_path, about):
    text = about + b" " * (-len(about) % 8)
    body = len(text).to_bytes(8, "little") + text
    sum_ = int(digest(np.frombuffer(body, dtype=np.uint8))).to_bytes(8, "little")
    path = tmp_path / "forged.checkpoint"
    path.write_bytes(checkpoints.MAGIC + sum_ + body)
    with pytest.raises(RecordingError, match="is no checkpoint that crowdsim has written"):
        read_checkpoint(path)


def test_another_version_and_a_missing_file_are_said(tmp_path):
    path = tmp_path / "a.checkpoint"
    path.write_bytes(checkpoint_bytes(one()).replace(b"ckpt 01", b"ckpt 02", 1))
    with pytest.raises(
        RecordingError,
        match="has version 02 of the format of checkpoints, but this crowdsim reads version 01",
    ):
        read_checkpoint(path)
    with pytest.raises(RecordingError, match="cannot be read"):
        read_checkpoint(tmp_path / "no.checkpoint")
    with pytest.raises(TypeError, match="things holds objects"):
        checkpoint_bytes(one(state={"things": np.array([object()])}))


def test_a_size_is_looked_at_before_memory_is_taken(tmp_path, monkeypatch):
    path = tmp_path / "a.checkpoint"
    write_checkpoint(path, one())
    monkeypatch.setattr(checkpoints, "MOST_BYTES", 100)
    with pytest.raises(RecordingError, match="but checkpoints have at most 100"):
        read_checkpoint(path)


def test_what_one_says_of_itself_is_read_without_its_state(tmp_path):
    path = tmp_path / "a.checkpoint"
    write_checkpoint(path, one())
    assert read_checkpoint(path, with_state=False) == one(state={})
    data = path.read_bytes()
    path.write_bytes(data[:-8] + bytes(8))
    assert read_checkpoint(path, with_state=False) == one(state={})  # nobody has looked there
    for cut_off in (data[:-8], data[:100], data[:31], data[:20], b""):
        path.write_bytes(cut_off)
        with pytest.raises(RecordingError, match=r"is damaged|is no checkpoint"):
            read_checkpoint(path, with_state=False)


def test_a_state_of_a_gigabyte_takes_no_memory_where_only_its_head_is_read(tmp_path):
    path = tmp_path / "a.checkpoint"
    arrays = json.dumps({"arrays": [["x", "|u1", [2**30]]]}).encode()
    text = json.loads(checkpoint_bytes(one(state={}))[32:]) | json.loads(arrays)
    head = json.dumps(text).encode()
    head += b" " * (-len(head) % 8)
    with path.open("wb") as file:
        file.write(checkpoints.MAGIC + bytes(8) + len(head).to_bytes(8, "little") + head)
        file.truncate(32 + len(head) + 2**30)
    tracemalloc.start()
    try:
        assert read_checkpoint(path, with_state=False) == one(state={})
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_the_two_of_a_run_are_found_beside_its_recording(tmp_path):
    out = tmp_path / "x.h5"
    first, second = checkpoint_names(out, "12ab")
    assert checkpoints_of(out, "12ab") == []
    for path in (*checkpoint_names(out, "99"), second, first):
        path.write_bytes(b"")
    assert checkpoints_of(out, "12ab") == [first, second]
    assert checkpoints_of(tmp_path / "no folder" / "x.h5", "12ab") == []
