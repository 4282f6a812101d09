"""A kill at any moment leaves every committed row, and what it leaves can be made whole."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from crowdsim.errors import RecordingError
from crowdsim.recording import gate
from crowdsim.recording.commit import newest
from crowdsim.recording.files import partials_of
from crowdsim.recording.journal import CHUNK_BYTES
from crowdsim.recording.opening import open_run
from crowdsim.recording.recover import recover
from crowdsim.recording.schema import RunState

ROOT = Path(__file__).resolve().parents[2]
TABLES = (
    "trajectory",
    "agents/velocity",
    "agents/surface",
    "agents/is_stuck",
    "events",
    "roster",
    "ticks",
    "digests",
    "frames/start",
    "frames/tick",
)
PAGE = 4096


def child(*arguments):
    return [sys.executable, "-m", "tests.recording.children", *(str(argument) for argument in arguments)]


def tables_of(path):
    with open_run(path) as run:
        return run.commit, {name: run.table(name) for name in TABLES}


def assert_is_beginning_of(path, whole, at_least):
    """Every committed row of `path` equals the uninterrupted run's,
    and there are as many as the writer said.
    """
    commit, tables = tables_of(path)
    assert commit.ticks >= at_least
    assert commit.last_tick == commit.ticks - 1
    for name, table in tables.items():
        assert table.tobytes() == whole[name][: len(table)].tobytes(), name
    assert len(tables["ticks"]) == commit.ticks
    assert commit.events == np.searchsorted(whole["events"]["tick"], commit.last_tick, side="right")
    return commit


def kill_at_random(tmp_path, agents, ticks, moments, seed):
    done = subprocess.run(
        child("kill", tmp_path, agents, ticks, moments, seed),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    _, whole = tables_of(tmp_path / "whole.h5")
    lines = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    assert len(lines) == moments
    cut_off = 0
    for number, safe, had_ended in lines:
        out = tmp_path / f"run{number}.h5"
        if out.exists():
            with open_run(out) as run:
                assert run.state is RunState.FINISHED
            assert assert_is_beginning_of(out, whole, ticks).ticks == ticks
            continue
        assert not had_ended
        left = partials_of(out)
        if safe == 0 and (not left or not has_commit(left[0])):
            continue  # killed before the first commit: recover() says so, and there is nothing to compare
        commit = assert_is_beginning_of(left[0], whole, safe)
        cut_off += commit.frames > 0
        made = recover(out)
        assert made.lost == ""
        assert assert_is_beginning_of(made.path, whole, commit.ticks) is not None
        with h5py.File(made.path, "r") as file:  # whole for every user, not only for our reader
            assert len(file["trajectory"]) == commit.rows
        for path in (made.path, left[0]):
            path.unlink()
    return cut_off


def has_commit(path):
    try:
        with open_run(path) as run:
            return run.commit.number > 0
    except RecordingError:
        return False


def test_a_kill_at_a_random_moment_loses_no_committed_row(tmp_path):
    # some fall before the first commit or after the end, more of them where other work delays the child
    assert kill_at_random(tmp_path, 400, 140, 16, seed=1) >= 4


@pytest.mark.full
@pytest.mark.parametrize("seed", range(5))
def test_fifty_kills_of_ten_thousand_agents_lose_no_committed_row(tmp_path, seed):
    assert kill_at_random(tmp_path, 10000, 120, 50, seed) >= 20


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """The folder of a run of which every write was seen, and these writes as (offset, bytes), in order."""
    folder = tmp_path_factory.mktemp("traced")
    log = folder / "calls"
    command = [
        "strace",
        "-f",
        "-y",
        "-xx",
        "-s",
        "100000000",
        "-e",
        "trace=write,pwrite64",
        "-o",
        str(log),
        *child("once", folder, 60, 130),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        pytest.skip(f"strace may not look at processes here: {done.stderr[-200:]}")
    found = []
    for call, name, text, offset in re.findall(
        r'(write|pwrite64)\(\d+<([^>]*)>, "(.*)", \d+(?:, (\d+))?\) += \d+', log.read_text()
    ):
        path = bytes.fromhex(name.replace("\\x", "")).decode() if name.startswith("\\x") else name
        if path.endswith(".run.h5.traced.partial.h5"):
            found.append((int(offset or 0), bytes.fromhex(text.replace("\\x", ""))))
            assert call == "pwrite64" or found[-1][1].startswith(b"\x89HDF")
    return folder, found


def commits_in(calls):
    """Return the number of the write that made each commit:
    128 bytes that are a commit record, but not the empty one of a new file.
    """
    records = [
        (number, newest(np.frombuffer(data, dtype="<u8").reshape(1, 16)))
        for number, (_, data) in enumerate(calls)
        if len(data) == 128
    ]
    return [number for number, record in records if record is not None and record.number]


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is missing: it sees every write")
@pytest.mark.parametrize("share", [0.06, pytest.param(1.0, marks=pytest.mark.full)])
def test_the_file_can_be_read_after_every_single_write(tmp_path, traced, share):
    """Also after a write that a kill stopped at a page of memory:
    the kernel looks for SIGKILL between pages only.
    """
    folder, calls = traced
    commits = commits_in(calls)
    assert len(commits) == 130
    _, whole = tables_of(folder / ".run.h5.traced.partial.h5")
    rng = np.random.default_rng(1)
    image, state = tmp_path / "image.h5", bytearray()
    done = torn = 0
    for number, (offset, data) in enumerate(calls):
        state.extend(bytes(max(0, offset + len(data) - len(state))))
        safe = sum(commit < number for commit in commits)
        pages = range(PAGE - offset % PAGE, len(data), PAGE)
        for cut in pages if number > commits[0] else ():
            if rng.random() < share:
                half = state.copy()
                half[offset : offset + cut] = data[:cut]
                image.write_bytes(half)
                assert_is_beginning_of(image, whole, safe)
                torn += 1
        state[offset : offset + len(data)] = data
        if number >= commits[0] and rng.random() < share:
            image.write_bytes(state)
            assert_is_beginning_of(image, whole, safe + (number in commits))
            done += 1
    assert done > 20
    assert torn > 4


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is missing: it sees every write")
def test_no_metadata_is_rewritten_across_a_page(traced):
    """The reason why a kill cannot tear the index of a file: see crowdsim/recording/storage.py."""
    _, calls = traced
    first = commits_in(calls)[0]
    signatures = (
        b"OHDR",
        b"EAHD",
        b"EAIB",
        b"EADB",
        b"EASB",
        b"FRHP",
        b"FSSE",
        b"FSHD",
        b"BTHD",
        b"BTLF",
        b"\x89HDF",
    )
    metadata = [(offset, len(data)) for offset, data in calls[first:] if data.startswith(signatures)]
    assert len(metadata) > 300
    assert all(offset // PAGE == (offset + size - 1) // PAGE for offset, size in metadata)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is missing: it sees every write")
def test_nothing_that_counts_is_ever_written_over(traced):
    """Neither a chunk, nor the part of the journal that the last commit record names;
    only the index of chunks, the record itself, and idle parts are.
    """
    folder, calls = traced
    with gate.opened(folder / ".run.h5.traced.partial.h5") as file:
        journal = file["journal"]
        places = [
            journal.id.get_chunk_info(number).byte_offset for number in range(len(journal) // CHUNK_BYTES)
        ]
    counts, chunks, parts = set(), [], 0
    for offset, data in calls:
        end = offset + len(data)
        inside = [
            n * CHUNK_BYTES + offset - place
            for n, place in enumerate(places)
            if place <= offset < place + CHUNK_BYTES
        ]
        if inside and any(data):  # zeros are room that is taken
            written = set(range(inside[0], inside[0] + len(data)))
            assert not written & counts
            parts += 1
        elif (
            len(data) == 128
            and (record := newest(np.frombuffer(data, dtype="<u8").reshape(1, 16))) is not None
            and record.number
        ):
            counts = set(range(record.journal >> 32, record.journal & 0xFFFFFFFF))
            assert len(counts) > 0
        elif data.startswith(b"\x78\x01"):
            assert all(end <= other[0] or offset >= other[1] for other in chunks)
            chunks.append((offset, end))
    assert len(chunks) > 20 and parts >= 130 and len(places) > 1
