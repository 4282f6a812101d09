"""Recover: whole files from what was cut off, and never a change to the input."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from crowdsim.errors import RecordingError
from crowdsim.recording import storage
from crowdsim.recording.digest import run_digest
from crowdsim.recording.encode import ChunkEncoder
from crowdsim.recording.opening import open_run
from crowdsim.recording.recover import recover
from crowdsim.recording.schema import RunState
from tests.recording.crowd import Crowd, cut, killed, new_writer, record


def cut_off(out, ticks=30, agents=40, **options):
    """Return the bytes that a kill after `ticks` ticks leaves, in a file of the name that they would have."""
    writer = new_writer(out, flush_seconds=0.0, **options)
    Crowd(agents).record(writer, ticks)
    return killed(writer)


@pytest.mark.parametrize("trace", [False, True])
def test_every_committed_row_is_in_the_whole_file(tmp_path, trace):
    partial = cut_off(tmp_path / "run.h5", trace=trace)
    before = partial.read_bytes()
    made = recover(partial)
    assert partial.read_bytes() == before
    assert made.path == tmp_path / "run.recovered.h5"
    assert (made.frames, made.last_tick, made.lost) == (15, 29, "")
    with open_run(partial) as old, open_run(made.path) as new:
        assert new.state is RunState.RECOVERED
        assert new.is_whole and not old.is_whole
        assert "recovered from .run.h5." in new.verdict["reason"]
        assert new.header == old.header
        assert new.run_digest == old.run_digest == run_digest(new.table("digests"))
        for name in old._datasets:
            if name != "verdict":
                assert new.table(name).tobytes() == old.table(name).tobytes(), name
    with h5py.File(made.path, "r") as file:  # opens without any help
        assert len(file["trajectory"]) == len(file["agents/velocity"])
    assert {path.name for path in tmp_path.iterdir()} == {partial.name, "run.recovered.h5"}


def test_whole_chunks_of_agents_in_frames_are_copied_as_they_are(tmp_path, monkeypatch):
    partial = cut_off(tmp_path / "run.h5", ticks=120, agents=800)
    packed = []
    encode = ChunkEncoder.encode
    monkeypatch.setattr(
        ChunkEncoder,
        "encode",
        lambda self, *given, **how: packed.append(encode(self, *given, **how)) or packed[-1],
    )
    made = recover(partial)
    with h5py.File(made.path, "r") as new, open_run(partial) as old:
        assert new["trajectory"].chunks[0] == old.agent_chunk_rows
        names = [name for name, spec in old._datasets.items() if spec.counter == "rows"]
        assert len(packed) < 2 * len(old._datasets) and old.commit.rows > old.agent_chunk_rows
        for name in names:
            for number in range(old.commit.rows // old.agent_chunk_rows):
                at = (number * old.agent_chunk_rows, *[0] * (len(new[name].shape) - 1))
                assert new[name].id.read_direct_chunk(at) == old._dataset(name)._dataset.id.read_direct_chunk(
                    at
                )
            assert new[name][:].tobytes() == old.table(name).tobytes()


def test_a_chunk_that_does_not_unpack_is_not_copied_as_it_is(tmp_path):
    made = recover(cut_off(tmp_path / "run.h5", ticks=120, agents=800)).path
    with h5py.File(made, "r") as whole:
        place = whole["trajectory"].id.get_chunk_info(0)
    data = bytearray(made.read_bytes())
    data[place.byte_offset + 20 : place.byte_offset + place.size - 20] = bytes(place.size - 40)
    made.write_bytes(data)
    with open_run(made) as run, h5py.File(made, "r") as same:
        rows = run.agent_chunk_rows
        with pytest.raises(RecordingError, match="damaged"):
            run.chunk("trajectory", 0, rows, same["trajectory"])
        name = next(
            name for name, spec in run._datasets.items() if spec.counter == "rows" and name != "trajectory"
        )
        assert run.chunk(name, 0, rows, same[name]) is not None
        assert run.chunk(name, 1, rows + 1, same[name]) is None and run.chunk(name, 0, 7, same[name]) is None


def test_the_path_that_the_run_was_given_finds_what_it_left(tmp_path):
    cut_off(tmp_path / "run.h5")
    assert recover(tmp_path / "run.h5").last_tick == 29
    cut_off(tmp_path / "run.h5")
    with pytest.raises(RecordingError, match="2 runs with this name") as found:
        recover(tmp_path / "run.h5")
    assert str(found.value).count(".partial.h5") == 2
    with pytest.raises(RecordingError, match="no run with this name"):
        recover(tmp_path / "other.h5")


def test_recover_replaces_nothing_without_force(tmp_path):
    partial = cut_off(tmp_path / "run.h5")
    theirs = record(tmp_path / "run.recovered.h5", ticks=4)
    with pytest.raises(RecordingError, match="exists already"):
        recover(partial)
    assert recover(partial, tmp_path / "mine.h5").path == tmp_path / "mine.h5"
    assert open_run(theirs).commit.ticks == 4
    assert recover(partial, force=True).last_tick == 29


def test_a_whole_file_needs_no_recovery(tmp_path):
    path = record(tmp_path / "run.h5")
    with pytest.raises(RecordingError, match="is whole already"):
        recover(path)
    assert [found.name for found in tmp_path.iterdir()] == ["run.h5"]


def test_a_file_without_a_commit_holds_nothing(tmp_path):
    writer = new_writer(tmp_path / "run.h5")
    with pytest.raises(RecordingError, match="nothing was committed"):
        recover(writer.partial)
    writer.discard()


def test_a_run_that_had_ended_is_recovered_as_finished(tmp_path, monkeypatch):
    """Killed between its last commit and its final name: nothing is missing but the name."""
    writer = new_writer(tmp_path / "run.h5")
    Crowd(20).record(writer, 30)
    partial, close, data = writer.partial, writer._storage._close, []
    writer._storage._close = lambda: (data.append(partial.read_bytes()), close())
    monkeypatch.setattr(storage, "WASTE_SHARE", 1.0)
    writer.close({"arrived": 20})
    partial.write_bytes(data[0])
    made = recover(partial)
    with open_run(made.path) as run, open_run(tmp_path / "run.h5") as other:
        assert (run.state, run.verdict) == (RunState.FINISHED, other.verdict)
        assert run.trajectories().equals(other.trajectories())


SPOILED = [
    "trajectory",
    "agents/next_corner",
    "events",
    "roster",
    "ticks",
    "digests",
    "frames/tick",
    "frames/start",
    "trace/index",
    "trace/digests",
]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", SPOILED)
def test_rows_that_a_bad_disk_spoiled_end_the_file_before_them(tmp_path, name):
    """A chunk in the middle is unreadable: what comes before the first tick that needs it is kept,
    and the loss is named.
    """
    writer = new_writer(tmp_path / "run.h5", flush_seconds=1e9, trace=name.startswith("trace"))
    # as many as fill the chunks in the least time
    few, many = ("ticks", "digests", "frames/tick", "frames/start", "trace/index"), ("trace/digests",)
    crowd = Crowd(20 if name in few else 4000 if name in many else 500)
    crowd.last[:] = 10**6
    table = writer._storage.datasets[name]
    tick = 0
    while table.rows <= 2.2 * table.chunk_rows:
        if name in ("events", "roster"):  # a hundred more in every tick
            more = np.repeat((crowd.events(0) if name == "events" else crowd.roster(0))[:1], 100)
            more["tick" if name == "events" else "spawn_tick"] = tick
            if name == "roster":  # each once
                more["entity"] = 1000 + 100 * tick + np.arange(100)
            getattr(writer, name)(more)
        crowd.record(writer, tick + 1, first=tick)
        tick += 1
    writer.commit()
    place = table.dataset.id.get_chunk_info(1)
    partial = killed(writer)
    data = bytearray(partial.read_bytes())
    data[place.byte_offset + 20 : place.byte_offset + place.size - 20] = bytes(place.size - 40)
    partial.write_bytes(data)
    made = recover(partial)
    assert name in made.lost
    assert "damaged" in made.lost
    assert 0 < made.last_tick < tick - 1
    with open_run(made.path) as run, open_run(partial) as old:
        assert run.commit.ticks == made.last_tick + 1
        assert run.frames()["tick"].max() <= made.last_tick
        assert run.events()["tick"].max() <= made.last_tick
        assert len(run.trajectories()) == run.commit.rows
        assert run.run_digest == run_digest(run.table("digests"))
        assert run.commit.ticks < old.commit.ticks
        assert run.verdict["lost"] == made.lost
        if name == "trajectory":  # not one frame less than the disk has left
            starts = old.frame_starts()
            assert starts[run.commit.frames] <= table.chunk_rows < starts[run.commit.frames + 1]


def test_cut_keeps_everything_until_a_tick(tmp_path):
    whole = record(tmp_path / "run.h5", agents=40, ticks=60, trace=True)
    path = cut(whole, tmp_path / "begin.h5", 20)
    with open_run(whole) as old, open_run(path) as new:
        assert (new.commit.ticks, new.commit.frames, new.commit.last_tick) == (21, 11, 20)
        assert new.verdict["reason"] == "cut after tick 20"
        assert new.events().equals(old.events()[old.events()["tick"] <= 20])
        assert new.trajectories().equals(old.trajectories(slice(0, 11)))
        assert new.run_digest == run_digest(old.table("digests")[:21])
        assert (new.table("trace/index") == old.table("trace/index")[: new.commit.trace]).all()
        assert new.table("trace/index")["tick"].max() == 20
        assert new.commit.trace_digests == new.table("trace/index")[["start", "count"]][-1]["start"] + 1
    with pytest.raises(RecordingError, match="exists already"):
        cut(whole, path, 10)
