"""The reader: selection, files that are still growing, and plain words for what cannot be read."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from crowdsim.errors import RecordingError
from crowdsim.recording import gate
from crowdsim.recording import opening as module
from crowdsim.recording.journal import Rest
from crowdsim.recording.opening import open_run
from crowdsim.recording.schema import RunState
from crowdsim.recording.snapshot import Snapshot, lookup3
from tests.recording.crowd import Crowd, new_writer, record

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A finished run of 40 agents, 100 ticks, 50 frames."""
    return record(tmp_path_factory.mktemp("runs") / "run.h5", agents=40, ticks=100)


CHOICES = [
    None,
    slice(None),
    slice(10, 20),
    slice(-5, None),
    slice(None, None, 7),
    slice(40, 1000),
    slice(30, 10),
    slice(None, None, -10),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("frames", CHOICES, ids=str)
def test_frames_are_chosen_like_list_items(whole, frames):
    with open_run(whole) as run:
        everything = run.trajectories()
        chosen = list(range(50))[frames or slice(None)]
        found = run.trajectories(frames)
        expected = [everything[everything["frame"] == frame].to_numpy() for frame in chosen]
        assert found["frame"].drop_duplicates().tolist() == chosen
        assert (
            found.to_numpy() == (np.concatenate(expected) if chosen else np.zeros((0, found.shape[1])))
        ).all()


def test_columns_are_chosen_by_name(whole):
    with open_run(whole) as run:
        found = run.trajectories(slice(0, 3), ["activity", "velocity", "x"])
        assert list(found.columns) == ["frame", "id", "x", "velocity_x", "velocity_y", "activity"]
        assert list(run.trajectories(columns=[]).columns) == ["frame", "id"]
        with pytest.raises(RecordingError, match=r"no column 'speed'\. Recorded are frame, id, x"):
            run.trajectories(columns=["speed"])


def test_only_what_is_asked_for_is_read(whole, monkeypatch):
    with open_run(whole) as run:
        read = []
        original = run._read
        monkeypatch.setattr(
            run,
            "_read",
            lambda name, start, stop: read.append((name, stop - start)) or original(name, start, stop),
        )
        run.trajectories(slice(2, 3), ["velocity"])
        assert {name for name, _ in read} == {"frames/start", "roster", "trajectory", "agents/velocity"}
        assert max(rows for name, rows in read if name != "frames/start") <= 40  # agents


def test_frames_tell_tick_time_and_agents(whole):
    with open_run(whole) as run:
        found = run.frames()
        assert found["tick"].tolist() == list(range(0, 100, 2))
        assert found["time_s"].iloc[3] == pytest.approx(0.3)
        assert found["agents"].tolist() == [int(Crowd(40).present(tick).sum()) for tick in range(0, 100, 2)]
        assert found.attrs["units"]["time_s"] == "s"


def test_roster_names_groups(whole):
    with open_run(whole) as run:
        found = run.roster()
        assert found["group_name"].tolist() == [
            "right" if entity % 2 else "left" for entity in found["entity"]
        ]


def test_sizes_account_for_the_file(whole):
    with open_run(whole) as run:
        sizes = run.sizes()
        assert sizes["trajectory"][:2] == (run.commit.rows, 40 * run.commit.rows)
        assert sizes["digests"][:2] == (100, 1600)
        assert 0.5 * whole.stat().st_size < sum(size for *_, size in sizes.values()) < whole.stat().st_size


def test_a_selection_that_cannot_fit_into_memory_is_refused(whole, monkeypatch):
    monkeypatch.setattr(gate, "memory_bytes", lambda: 250_000)
    monkeypatch.setattr(gate, "LOOKED_AT_BYTES", 0)
    with open_run(whole) as run:
        run.trajectories(slice(0, 10), ["x"])
        with pytest.raises(RecordingError, match=r"limit of .* Choose frames=slice.* crowdsim cut"):
            run.trajectories()


def test_rows_behind_the_last_commit_are_not_shown(tmp_path):
    writer = new_writer(tmp_path / "run.h5", flush_seconds=1e9)
    Crowd(30).record(writer, 20)
    writer.commit()
    Crowd(30).record(writer, 40, first=20)
    for dataset in writer._storage.datasets.values():
        dataset.write_rest()  # in the file, but no commit says so
    writer._storage._file.flush()
    writer._storage._journal.write([Rest(0, 0, 1, [np.zeros(1, dtype=np.uint8)])], anew=False)  # nor of this
    with open_run(writer.partial) as run:
        assert run.state is RunState.RUNNING
        assert run.verdict is None
        assert (run.frames()["tick"].max(), len(run.ticks()), run.events()["tick"].max()) == (18, 20, 6)
        with pytest.raises(IndexError):
            run.rows(0, run.commit.rows + 1)
    writer.discard()


def test_a_file_that_is_being_written_can_be_read_all_the_time(tmp_path):
    """Every opening shows whole ticks that are right, while the writer commits as fast as it can."""
    writer = new_writer(tmp_path / "run.h5", flush_seconds=0.0)
    crowd = Crowd(100)
    command = [sys.executable, "-c", READER, str(writer.partial)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, cwd=ROOT
    ) as other:
        assert other.stdout.readline() == "ready\n"
        crowd.record(writer, 140, pause=lambda tick: time.sleep(0.005))
        said, _ = other.communicate("stop\n", timeout=60)
    seen = [int(word) for word in said.split()]
    writer.discard()
    assert seen == sorted(seen)
    assert len(seen) > 5
    assert len(set(seen)) > 2


READER = """
import select, sys
from crowdsim.recording.opening import open_run
from tests.recording.crowd import Crowd
crowd = Crowd(100)
open_run(sys.argv[1]).trajectories()  # loads pandas
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    with open_run(sys.argv[1]) as run:
        data = run.trajectories(slice(-3, None))
        for frame, shown in data.groupby("frame"):
            entity, position, columns = crowd.at(2 * frame)
            assert shown["id"].tolist() == entity.tolist()
            assert (shown[["x", "y"]].to_numpy() == position).all()
            assert (shown["surface"] == columns["surface"]).all()
        assert len(run.ticks()) == run.commit.ticks
        print(run.commit.ticks, flush=True)
"""


def test_a_reading_process_does_not_disturb_the_writer(tmp_path):
    writer = new_writer(tmp_path / "run.h5", flush_seconds=0.0)
    crowd = Crowd(20)
    crowd.record(writer, 10)
    with open_run(writer.partial) as run, open_run(writer.partial) as second:
        crowd.record(writer, 30, first=10)
        assert run.commit == second.commit
        assert len(run.trajectories()) == run.commit.rows  # still the ticks of its own commit
        path = writer.close({"arrived": 0}).path
    with open_run(path) as run:
        assert run.commit.ticks == 30


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        (b"", "is empty"),
        (b"not a recording at all", "not an HDF5 file"),
        (b"\x89HDF\r\n\x1a\n", "ends after 8 bytes"),
        (b"\x89HDF\r\n\x1a\n" + bytes(60), "superblock version 0"),
        (b"\x89HDF\r\n\x1a\n\x03\x08\x08" + bytes(60), "checksum"),
    ],
)
def test_what_is_no_recording_is_said_in_one_sentence(tmp_path, content, message):
    path = tmp_path / "run.h5"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RecordingError, match=message) as found:
        open_run(path)
    assert str(path) in str(found.value)
    assert "\n" not in str(found.value)


def test_a_folder_or_a_pipe_is_no_recording(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(RecordingError, match="not a recording"):
            open_run(path)


def test_a_file_that_may_not_be_read_is_said_so(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(RecordingError, match="cannot be read \\(Permission denied\\)"):
        open_run(tmp_path / "run.h5")


def test_a_file_in_creation_has_nothing_to_show(tmp_path):
    writer = new_writer(tmp_path / "run.h5")
    data = bytearray(writer.partial.read_bytes())
    writer.discard()
    data[11] = 0x01  # open, but not yet in SWMR mode
    data[44:48] = lookup3(bytes(data[:44])).to_bytes(4, "little")
    (tmp_path / "half.h5").write_bytes(data)
    with pytest.raises(RecordingError, match="Nothing is recorded"):
        open_run(tmp_path / "half.h5")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_finished_file_that_lost_its_end_is_refused(whole, tmp_path, share):
    data = whole.read_bytes()
    (tmp_path / "cut.h5").write_bytes(data[: int(share * len(data))])
    with pytest.raises(RecordingError, match="it was cut off in copying"):
        open_run(tmp_path / "cut.h5")


def test_lookup3_gives_the_published_values():
    """From the author's self test (lookup3.c, driver5: hashlittle with initial value 0)."""
    assert lookup3(b"") == 0xDEADBEEF
    assert lookup3(b"Four score and seven years ago") == 0x17770551


def test_snapshot_shows_the_file_as_it_is_but_for_the_superblock(tmp_path, whole):
    writer = new_writer(tmp_path / "run.h5", flush_seconds=0.0)
    Crowd(10).record(writer, 10)
    data = writer.partial.read_bytes()
    with Snapshot(writer.partial) as snapshot:
        assert snapshot.was_open
        snapshot.seek(48)
        assert snapshot.read(len(data))[: len(data) - 48] == data[48:]
        assert snapshot.tell() > 48
        snapshot.seek(0)
        assert snapshot.read(48)[11] == 0
        with h5py.File(snapshot, "r") as file:
            assert len(file["header"]) > 0 and len(file["ticks"]) == 0 < len(file["journal"])
    writer.discard()
    with Snapshot(whole) as snapshot:
        assert not snapshot.was_open
        assert snapshot.read(100) == whole.read_bytes()[:100]
        assert snapshot.seek(-10, os.SEEK_END) == whole.stat().st_size - 10
        assert snapshot.readable() and snapshot.seekable() and not snapshot.writable()
    assert module.open_run is open_run
