"""A full disk ends a run with one sentence and a readable file,
and the interpreter with its exit code instead of a crash.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from crowdsim.errors import ExitCode, RecordingError
from crowdsim.recording import storage
from crowdsim.recording.files import partials_of
from crowdsim.recording.opening import open_run
from crowdsim.recording.recover import recover
from crowdsim.recording.schema import RunState
from tests.recording.crowd import Crowd, new_writer

ROOT = Path(__file__).resolve().parents[2]


def fill(tmp_path, agents, ticks, blind, limits):
    """Record under limits on the size of files;
    return (limit, exit status, words that the child said) for each.
    """
    command = [
        sys.executable,
        "-m",
        "tests.recording.children",
        "fill",
        tmp_path,
        agents,
        ticks,
        int(blind),
        *limits,
    ]
    done = subprocess.run(
        [str(word) for word in command], cwd=ROOT, capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stderr == ""
    lines = [line.split(" ", 2) for line in done.stdout.splitlines()]
    assert [int(limit) for limit, *_ in lines] == list(limits)
    return [(int(limit), int(status), said) for limit, status, said in lines]


def whole_run(agents, ticks):
    crowd = Crowd(agents)
    return np.concatenate([crowd.at(tick)[1] for tick in range(0, ticks, 2)])


@pytest.mark.parametrize(
    "limits",
    [
        (0, 10_000_000, 16_000_000, 400_000_000),
        pytest.param((8_000_000, 12_000_000, 24_000_000, 40_000_000, 0, 400_000_000), marks=pytest.mark.full),
    ],
    ids=["four limits", "others"],
)
def test_a_limit_is_seen_before_it_is_reached(tmp_path, limits):
    """Each run ends with a whole, final file that holds everything until the tick at which it was stopped,
    and says why.
    """
    places = whole_run(3000, 100)
    outcomes = {"refused at the start": 0, "stopped": 0, "finished": 0}
    for limit, status, said in fill(tmp_path, 3000, 100, False, limits):
        out = tmp_path / f"run{limit}.h5"
        assert partials_of(out) == []
        if said == "finished":
            assert status == 0
            outcomes["finished"] += 1
        elif not out.exists():
            assert status == ExitCode.RECORDING
            assert "to begin with" in said
            outcomes["refused at the start"] += 1
            continue
        else:
            assert status == ExitCode.RECORDING
            assert "the disk is full" in said
            assert str(out) in said
            outcomes["stopped"] += 1
        with open_run(out) as run, h5py.File(out, "r") as file:
            assert run.state is (RunState.FINISHED if said == "finished" else RunState.INTERRUPTED)
            assert run.verdict["reason"] == ("" if said == "finished" else "the disk is full")
            table = file["trajectory"][:]
            assert len(table) == run.commit.rows
            assert np.column_stack((table["x"], table["y"])).tobytes() == places[: len(table)].tobytes()
        assert out.stat().st_size <= limit
    assert min(outcomes.values()) >= 1, outcomes


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize(("agents", "last"), [(10, 150_000), (1500, 8_000_000)])
@pytest.mark.parametrize("count", [4, pytest.param(60, marks=pytest.mark.full)])
def test_a_write_that_fails_all_the_same_leaves_what_was_committed(tmp_path, agents, last, count):
    """Without the look ahead HDF5 itself meets the limit, at any of its writes:
    creation, rows, index, commit record, close.
    """
    ticks = 60
    places = whole_run(agents, ticks)
    limits = sorted(
        {*range(0, 60_000, 60_000 // count), *np.linspace(60_000, last, count, dtype=int).tolist()}
    )
    committed = 0
    for limit, status, said in fill(tmp_path, agents, ticks, True, limits):
        out = tmp_path / f"run{limit}.h5"
        if said == "finished":
            assert status == 0
            continue
        assert status == ExitCode.RECORDING, said
        word, safe, message = said.split(" ", 2)
        assert word == "refused"
        assert "File too large" in message
        assert "|" not in message  # nothing but the one sentence on standard output and error
        left = partials_of(out)
        if int(safe) == 0:
            continue
        committed += 1
        assert str(left[0]) in message
        assert "crowdsim recover" in message
        with open_run(left[0]) as run:
            assert run.commit.ticks == int(safe)
            rows = run.rows(0, run.commit.rows, ["x", "y"])
            assert np.column_stack((rows["x"], rows["y"])).tobytes() == places[: run.commit.rows].tobytes()
        assert recover(out).last_tick == int(safe) - 1
    assert committed >= count // 3


def test_room_is_looked_at_again_after_it_was_used(tmp_path, monkeypatch):
    """A disk that fills up while the run goes on stops it, with the bytes that are free in the message."""
    free = [10**9]
    monkeypatch.setattr(storage, "free_bytes", lambda *_: free[0])
    writer = new_writer(tmp_path / "run.h5", flush_seconds=0.0)
    Crowd(50).record(writer, 20)
    free[0] = writer._storage.reserve_bytes + 100
    with pytest.raises(
        RecordingError,
        match=r"run.h5: the disk is full \(.* MB free, [\d,]+ bytes written\).*until tick 20 .*11 frames",
    ):
        Crowd(50).record(writer, 40, first=20)
    with open_run(tmp_path / "run.h5") as run:
        assert (run.commit.ticks, run.state) == (21, RunState.INTERRUPTED)
    # a caller that goes on gets the same, not what comes of it
    with pytest.raises(RecordingError, match="the disk is full"):
        writer.tick(21, {}, [0] * 4, np.zeros(2, dtype=np.uint64))


@pytest.mark.parametrize("what", ["removed", "moved", "file removed"])
def test_a_folder_that_goes_away_while_the_run_goes_on_is_told_and_told_again(tmp_path, what):
    """The next commit notices it, and says where the recording is now;
    a caller that goes on gets the same, not what comes of it.
    """
    folder = tmp_path / "runs"
    folder.mkdir()
    writer = new_writer(folder / "run.h5", flush_seconds=0.0)
    Crowd(5).record(writer, 10)
    if what == "removed":
        shutil.rmtree(folder)
    elif what == "moved":
        folder.rename(tmp_path / "there")
    else:
        writer.partial.unlink()
    with pytest.raises(RecordingError) as first:
        Crowd(5).record(writer, 20, first=10)
    expected = (
        f"was moved to {tmp_path / 'there'}" if what == "moved" else "was removed while the run went on"
    )
    assert expected in str(first.value)
    for again in (
        lambda: writer.close({}),
        lambda: writer.abandon("stopped by OSError"),
        lambda: writer.tick(20, {}, [0] * 4, np.zeros(2, dtype=np.uint64)),
    ):
        with pytest.raises(RecordingError) as second:
            again()
        assert str(second.value) == str(first.value)
    if what == "moved":
        assert recover(tmp_path / "there" / "run.h5").last_tick == 9
