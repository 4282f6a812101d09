"""The writer: what goes in comes out, commits come in time, and nobody's result is lost."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from crowdsim.errors import RecordingError
from crowdsim.recording import writer as module
from crowdsim.recording.digest import column_digests, run_digest
from crowdsim.recording.files import Kept, partials_of
from crowdsim.recording.header import Layout
from crowdsim.recording.opening import open_run
from crowdsim.recording.schema import EVENT_DTYPE, STANDARD_COLUMNS, EventKind, RecordedColumn, RunState
from tests.recording.crowd import COUNTS, Crowd, header, new_writer, record, roster_of


def test_every_number_comes_back(tmp_path):
    """The crowd comes and goes, so that every frame has another number of rows;
    chunks are shorter than the run.
    """
    crowd = Crowd(150, seed=3)
    writer = new_writer(tmp_path / "run.h5", header_changes={"exact": True})
    crowd.record(writer, 160)
    path = writer.close({"arrived": 3}).path
    with open_run(path) as run:
        data = run.trajectories()
        assert (run.commit.frames, run.commit.ticks, run.state) == (80, 160, RunState.FINISHED)
        assert run.verdict["result"] == {"arrived": 3}
        for frame in range(80):
            entity, position, columns = crowd.at(2 * frame)
            shown = data[data["frame"] == frame]
            assert shown["id"].tolist() == entity.tolist()
            assert (shown[["x", "y"]].to_numpy() == position).all()
            assert (shown["z"] == 0.0).all()
            for column in STANDARD_COLUMNS:
                names = list(column.field_names())
                assert (
                    shown[names].to_numpy() == np.asarray(columns[column.name]).reshape(-1, len(names))
                ).all()
        events = run.events()
        assert events["kind"].value_counts().to_dict() == {"SPAWN": 150, "ARRIVAL": 150}
        assert events["tick"].is_monotonic_increasing
        assert sorted(run.roster()["entity"]) == list(range(1, 151))
        assert run.ticks()["agents"].tolist() == [int(crowd.present(tick).sum()) for tick in range(160)]
        assert run.timings()["Spawn"].tolist() == list(range(160))
        assert run.timings()["Integrate"].unique().tolist() == [3]


def test_a_finished_file_is_what_plain_h5py_expects(tmp_path):
    path = record(tmp_path / "run.h5", agents=30, ticks=40)
    with h5py.File(path, "r") as file:
        table = file["trajectory"][:]
        assert table.dtype.names == ("frame", "id", "x", "y", "z")
        assert file["trajectory"].attrs["fps"] == pytest.approx(10.0)
        assert isinstance(file.attrs["wkt_geometry"], str)
        assert np.unique(table["frame"]).tolist() == list(range(20))
        starts = file["frames/start"][:]
        assert all((table["frame"][starts[k] : starts[k + 1]] == k).all() for k in range(19))
        assert {len(dataset) for dataset in file["agents"].values()} == {len(table)}
        used = [file["trajectory"].id.get_create_plist().get_filter(number)[0] for number in range(2)]
        assert used == [h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE]


def test_columns_are_rounded_to_their_resolution_unless_exact(tmp_path):
    velocity, corner = np.array([[0.1, 1.0 / 3.0]]), np.array([[4.0e6 + 1.0 / 3.0, -7.7]])
    for exact in (False, True):
        writer = module.RecordingWriter(
            tmp_path / f"{exact}.h5", header(exact=exact), Layout((STANDARD_COLUMNS[0], STANDARD_COLUMNS[2]))
        )
        writer.roster(roster_of(1))
        writer.frame(
            0, 0, np.array([1]), [1.0 / 3.0], [2.0 / 3.0], 0.0, {"velocity": velocity, "next_corner": corner}
        )
        path = writer.close({}).path
        with open_run(path) as run:
            shown = run.trajectories()
            assert shown["x"][0] == 1.0 / 3.0  # places are always exact
            found, corners = (
                shown[["velocity_x", "velocity_y"]].to_numpy(),
                shown[["next_corner_x", "next_corner_y"]].to_numpy(),
            )
            assert found.dtype == (np.float64 if exact else np.float32)
            assert (found == velocity).all() == (corners == corner).all() == exact
            assert np.abs(found - velocity).max() <= 2.0**-15
            assert np.abs(corners - corner).max() <= 2.0**-11
            assert corners.dtype == np.float64
        with h5py.File(path, "r") as file:
            assert file["agents/velocity"].attrs.get("resolution", 0.0) == (0.0 if exact else 2.0**-14)


def test_a_run_without_agents_or_without_frames_is_a_recording(tmp_path):
    writer = new_writer(tmp_path / "empty.h5")
    with open_run(writer.close({}).path) as run:
        assert len(run.trajectories()) == len(run.events()) == len(run.ticks()) == 0
        assert run.commit.last_tick == -1
        assert list(run.trajectories(columns=["velocity"]).columns) == [
            "frame",
            "id",
            "velocity_x",
            "velocity_y",
        ]
    writer = new_writer(tmp_path / "nobody.h5")
    nobody = {
        column.name: np.zeros((0, column.width) if column.width > 1 else 0) for column in STANDARD_COLUMNS
    }
    writer.frame(0, 0, np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), 0.0, nobody)
    writer.tick(0, {}, [0] * 4, np.zeros(2, dtype=np.uint64))
    with open_run(writer.close({}).path) as run:
        assert run.frames()["agents"].tolist() == [0]


def test_no_dataset_is_made_after_the_switch_to_swmr(tmp_path, monkeypatch):
    """h5py would let it pass, HDF5 forbids it."""
    writer = new_writer(tmp_path / "run.h5", trace=True, flush_seconds=0.0)

    def refuse(*arguments, **options):
        raise AssertionError("made while SWMR is on")

    for owner, name in (
        (h5py.h5d, "create"),
        (h5py.h5g, "create"),
        (h5py.h5a, "create"),
        (h5py.AttributeManager, "create"),
        (h5py.Group, "create_dataset"),
    ):
        monkeypatch.setattr(owner, name, refuse)
    Crowd(30).record(writer, 30)
    path = writer.close({"arrived": 1}).path
    assert path.exists()


def test_a_commit_comes_once_many_bytes_wait(tmp_path, monkeypatch):
    monkeypatch.setattr("crowdsim.recording.writer.BLOCK_BYTES", 10**6)
    writer = new_writer(tmp_path / "run.h5", flush_seconds=1e9)
    seen = []
    crowd = Crowd(1000)
    crowd.last[:] = 10**6
    crowd.record(writer, 100, pause=lambda tick: seen.append(writer.committed.frames))
    block = -(-(10**6) // (1000 * writer._storage.row_bytes))  # frames, rounded up
    assert 5 < block < 20 and writer.committed.number > 4
    # in the first there are fewer agents
    assert all(step <= block for step in np.diff(sorted(set(seen) - {0})))
    writer.discard()


def test_small_frames_wait_for_the_clock_but_not_longer(tmp_path):
    writer = new_writer(tmp_path / "run.h5", flush_seconds=0.05)
    ages = []

    def pause(tick):
        time.sleep(0.01)
        ages.append(time.monotonic() - writer._committed_at)

    Crowd(5).record(writer, 60, pause=pause)
    assert 5 <= writer.committed.number <= 20
    assert max(ages) < 1.0
    writer.discard()


def test_every_commit_is_at_the_end_of_a_tick(tmp_path):
    """What a kill leaves is whole ticks: as many events, agents and frames as there were at the last one."""
    writer = new_writer(tmp_path / "run.h5", flush_seconds=0.0)
    crowd = Crowd(40)

    def look(tick):
        commit = writer.committed
        assert (commit.ticks, commit.last_tick, commit.frames) == (tick + 1, tick, tick // 2 + 1)
        with open_run(writer.partial) as run:
            assert run.commit == commit
            assert not run.is_whole
            assert (
                len(run.trajectories())
                == commit.rows
                == sum(int(crowd.present(t).sum()) for t in range(0, tick + 1, 2))
            )

    crowd.record(writer, 24, pause=look)
    writer.discard()
    assert list(tmp_path.iterdir()) == []


def test_the_run_digest_is_the_fold_of_all_ticks(tmp_path):
    path = record(tmp_path / "run.h5", agents=20, ticks=50, flush_seconds=0.0)
    crowd = Crowd(20)
    rows = []
    for tick in range(50):
        _, position, columns = crowd.at(tick)
        rows.append(column_digests({"position": position, "velocity": columns["velocity"]}))
    with open_run(path) as run:
        assert run.run_digest == run_digest(np.array(rows))
        assert (run.digests()[["position", "velocity"]].to_numpy() == np.array(rows)).all()
        assert run.verdict["run_digest"] == f"{run.run_digest:016x}"


def test_recordings_of_equal_runs_have_equal_rows_whenever_they_committed(tmp_path):
    runs = [
        record(tmp_path / f"{k}.h5", agents=30, ticks=60, flush_seconds=seconds)
        for k, seconds in enumerate((0.0, 1e9))
    ]
    tables = []
    for path in runs:
        with h5py.File(path, "r") as file:
            names = [
                "trajectory",
                "events",
                "roster",
                "ticks",
                "digests",
                *(f"agents/{name}" for name in file["agents"]),
            ]
            tables.append([file[name][:] for name in names])
    assert all(one.tobytes() == other.tobytes() for one, other in zip(*tables))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frame": 1}, "the next one is 0"),
        ({"entity": np.array([2, 1])}, "not ascending"),
        ({"entity": np.array([1, 1])}, "not ascending"),
        ({"columns": {"velocity": np.zeros((2, 3))}}, "shape"),
        ({"columns": {"velocity": np.zeros(2)}}, "shape"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused(tmp_path, change, message):
    writer = module.RecordingWriter(
        tmp_path / "run.h5", header(), Layout((RecordedColumn("velocity", "float32", "m/s", "", width=2),))
    )
    given = {
        "frame": 0,
        "tick": 0,
        "entity": np.array([1, 2]),
        "x": np.zeros(2),
        "y": np.zeros(2),
        "z": 0.0,
        "columns": {"velocity": np.zeros((2, 2))},
    }
    with pytest.raises(ValueError, match=message):
        writer.frame(**(given | change))
    writer.roster(roster_of(1, 2))
    writer.frame(**given)  # the refused one left nothing behind
    with open_run(writer.close({}).path) as run:
        assert run.trajectories()["id"].tolist() == [1, 2]


def test_undeclared_counts_and_foreign_tables_are_refused(tmp_path):
    writer = new_writer(tmp_path / "run.h5")
    with pytest.raises(ValueError, match="no count 'nobody_declared_this' was declared"):
        writer.tick(0, {"nobody_declared_this": 1}, [0] * 4, np.zeros(2, dtype=np.uint64))
    with pytest.raises(ValueError, match="events"):
        writer.events(np.zeros(3))
    writer.discard()


def test_an_interrupted_run_is_a_whole_file_that_says_so(tmp_path):
    writer = new_writer(tmp_path / "run.h5")
    Crowd(10).record(writer, 21)
    kept = writer.abandon("stopped by Ctrl-C", {"arrived": 0})
    assert kept.path == tmp_path / "run.h5"
    with open_run(kept.path) as run:
        assert (run.state, run.verdict["reason"]) == (RunState.INTERRUPTED, "stopped by Ctrl-C")
        assert run.commit.ticks == 21
    with pytest.raises(RecordingError, match="closed already"):
        writer.close({})


def test_leaving_the_block_without_an_end_interrupts_the_recording(tmp_path):
    with pytest.raises(ZeroDivisionError), new_writer(tmp_path / "run.h5") as writer:
        Crowd(10).record(writer, 5)
        raise ZeroDivisionError("division by zero")
    with open_run(tmp_path / "run.h5") as run:
        assert run.verdict["reason"] == "stopped by ZeroDivisionError: division by zero"
        assert run.commit.ticks == 5


@pytest.mark.sample(2)
@pytest.mark.parametrize("place", ["agents/activity", "ticks", "events", "digests"])
def test_an_exception_in_the_middle_of_a_tick_leaves_whole_ticks(tmp_path, monkeypatch, place):
    """Ctrl-C can strike when some columns have a frame and others do not:
    the file then holds what the last commit had.
    """
    writer = new_writer(tmp_path / "run.h5", flush_seconds=0.0)
    Crowd(10).record(writer, 20)
    rounded = writer._rounded

    def strike(*_):
        raise KeyboardInterrupt

    def strike_at(column, array):
        return strike() if f"agents/{column.name}" == place else rounded(column, array)

    if place.startswith("agents/"):  # those before it have the frame then
        monkeypatch.setattr(writer, "_rounded", strike_at)
    else:
        monkeypatch.setattr(writer._storage.datasets[place], "append", strike)
    with pytest.raises(KeyboardInterrupt):
        Crowd(10).record(writer, 150, first=20)
    kept = writer.abandon("stopped by Ctrl-C")
    with open_run(kept.path) as run:
        assert run.state is RunState.INTERRUPTED
        ticks = run.commit.ticks
        assert 20 <= ticks < 150
        assert run.commit.last_tick == ticks - 1
        assert run.frames()["tick"].tolist() == list(range(0, ticks, 2))
        assert run.verdict["reason"] == "stopped by Ctrl-C"
    with h5py.File(kept.path, "r") as file:
        assert {len(dataset) for dataset in file["agents"].values()} == {len(file["trajectory"])}


def test_what_an_exception_left_says_the_run_digest_of_what_it_holds(tmp_path, monkeypatch):
    writer = new_writer(tmp_path / "run.h5", flush_seconds=1e9)
    Crowd(10).record(writer, 20)
    writer.commit()
    Crowd(10).record(writer, 30, first=20)  # whole in memory, and lost with what comes next

    def strike(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(writer._storage.datasets["digests"], "append", strike)
    with pytest.raises(KeyboardInterrupt):
        Crowd(10).record(writer, 40, first=30)
    with open_run(writer.abandon("stopped by Ctrl-C").path) as run:
        assert run.commit.ticks == 20
        assert run.verdict["run_digest"] == f"{run.run_digest:016x}"
        assert run.run_digest == run_digest(run.table("digests"))


def test_two_runs_on_one_path_both_keep_their_results(tmp_path):
    out = tmp_path / "run.h5"
    one, other = new_writer(out), new_writer(out)
    threads = [
        threading.Thread(target=Crowd(20, seed).record, args=(writer, 60))
        for seed, writer in ((1, one), (2, other))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = [one.close({"arrived": 1}), other.close({"arrived": 2})]
    aside = tmp_path / f"run.{one.header.run_id}.h5"
    assert kept == [Kept(out, name_taken=False), Kept(out, name_taken=False, older=aside)]
    for path, arrived in ((aside, 1), (out, 2)):
        with open_run(path) as run:
            assert run.verdict["result"] == {"arrived": arrived}
            assert run.commit.ticks == 60
    assert partials_of(out) == []


def test_force_replaces_a_finished_file_in_one_step(tmp_path):
    out = record(tmp_path / "run.h5", verdict={"arrived": 1})
    writer = new_writer(out, force=True)
    with open_run(out) as run:  # until then the old one is there
        assert run.verdict["result"] == {"arrived": 1}
    assert writer.close({"arrived": 2}) == Kept(out, name_taken=False)
    with open_run(out) as run:
        assert run.verdict["result"] == {"arrived": 2}


@pytest.mark.parametrize("kind", ["missing", "read-only"])
def test_a_folder_that_cannot_take_the_file_is_named_at_once(tmp_path, kind, monkeypatch):
    folder = tmp_path / "runs"
    if kind == "read-only":
        folder.mkdir()
        monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(RecordingError, match="no such folder" if kind == "missing" else "read-only"):
        new_writer(folder / "run.h5")
    assert not folder.exists() or list(folder.iterdir()) == []


def test_a_verdict_that_is_too_long_is_left_out_and_said(tmp_path):
    writer = new_writer(tmp_path / "run.h5")
    with open_run(writer.close({"text": "x" * (module.VERDICT_BYTES + 1)}).path) as run:
        assert run.verdict["result"] == {}
        assert "left out" in run.verdict["reason"]


# agents, ticks of a frame, ticks
SHAPES = [(3, 1, 1500), (40, 1, 1500), (40, 20, 1500), (400, 2, 600), (3000, 2, 80)]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("agents", "every", "ticks"), SHAPES)
@pytest.mark.parametrize("commit_every", [1, 40])
def test_the_hidden_files_are_never_much_larger_than_the_data(tmp_path, agents, every, ticks, commit_every):
    """However often a run commits: at most twice what the finished file has, and a few megabytes."""
    writer = new_writer(
        tmp_path / "run.h5", flush_seconds=1e9, agents=agents, header_changes={"ticks_per_frame": every}
    )
    crowd, sizes = Crowd(agents), []
    crowd.last[:] = 10**9

    def look(tick):
        if tick % commit_every == 0:
            writer.commit()
        sizes.append(sum(path.stat().st_size for path in tmp_path.iterdir()))

    crowd.record(writer, ticks, pause=look)
    path = writer.close({"arrived": 0}).path
    final = path.stat().st_size
    assert [found.name for found in tmp_path.iterdir()] == ["run.h5"]
    assert max(sizes) <= 2 * final + 8_000_000 and max(sizes) <= 2 * final + 4 * writer._storage.reserve_bytes
    unhurried = record_unhurried(tmp_path / "other.h5", agents, every, ticks)
    # commits leave no trace in the finished file
    assert abs(final - unhurried.stat().st_size) <= 8192 + 0.01 * final
    with open_run(path) as run, open_run(unhurried) as other:
        assert run.trajectories().equals(other.trajectories()) and run.run_digest == other.run_digest


def record_unhurried(out, agents, every, ticks):
    writer = new_writer(out, flush_seconds=1e9, agents=agents, header_changes={"ticks_per_frame": every})
    crowd = Crowd(agents)
    crowd.last[:] = 10**9
    crowd.record(writer, ticks)
    return writer.close({"arrived": 0}).path


def test_memory_does_not_grow_with_the_run(tmp_path):
    """400 frames after the first 100 add less than a tenth of what they hold."""
    writer = new_writer(tmp_path / "run.h5", flush_seconds=0.05)
    crowd = Crowd(2000)
    crowd.last[:] = 10**6
    crowd.record(writer, 100)
    before = resident_bytes()
    crowd.record(writer, 900, first=100)
    grown = resident_bytes() - before
    held = 400 * 2000 * writer._storage.row_bytes
    writer.discard()
    assert grown < 0.1 * held


def resident_bytes():
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.sample(1)
@pytest.mark.parametrize(("reached", "last_tick"), [(60, 33), (60, 34), (60, -1), (34, 33)])
def test_a_run_that_goes_on_has_the_recording_of_one_that_was_never_stopped(tmp_path, reached, last_tick):
    whole = record(tmp_path / "whole.h5", agents=60, ticks=60, trace=True)
    earlier = new_writer(tmp_path / "earlier.h5", trace=True, flush_seconds=0.0)
    Crowd(60).record(earlier, reached)  # and was cut off there
    writer = new_writer(tmp_path / "run.h5", trace=True)
    with open_run(earlier.partial) as run:
        writer.begin_with(run, last_tick)
    earlier.discard()
    assert writer.committed.last_tick == last_tick  # safe at once
    Crowd(60).record(writer, 60, first=last_tick + 1)
    with open_run(writer.close({"arrived": 0}).path) as run, open_run(whole) as expected:
        for name in expected._datasets:
            if name != "timings":
                assert run.table(name).tobytes() == expected.table(name).tobytes(), name
        assert run.run_digest == expected.run_digest


def test_a_run_goes_on_only_from_a_recording_that_fits(tmp_path):
    path = record(tmp_path / "run.h5", ticks=20)
    with open_run(path) as run:
        writer = new_writer(tmp_path / "a.h5", columns=STANDARD_COLUMNS[:3])
        with pytest.raises(RecordingError, match="other columns"):
            writer.begin_with(run, 10)
        writer.discard()
        writer = new_writer(tmp_path / "a.h5")
        with pytest.raises(RecordingError, match="ends with tick 19, before the checkpoint at tick 30"):
            writer.begin_with(run, 30)
        writer.begin_with(run, 10)
        with pytest.raises(ValueError, match="before everything else"):
            writer.begin_with(run, 10)
        writer.discard()


def test_event_kinds_have_the_numbers_of_the_format():
    assert {kind.name: int(kind) for kind in EventKind} == {
        "SPAWN": 1,
        "ARRIVAL": 2,
        "PATH_FOUND": 3,
        "UNREACHABLE": 4,
        "STUCK": 5,
        "UNSTUCK": 6,
        "SYMMETRY_BROKEN": 7,
        "GOAL_REACHED": 8,
        "RETIRED": 9,
        "STRAYED": 10,
        "GROUND_HELD": 11,
        "AREA_OPENED": 20,
        "AREA_CLOSED": 21,
        "PATH_LOST": 22,
        "PUT_OUT": 23,
        "TILE_REMOVED": 24,
        "TILE_ADDED": 25,
        "GROUND_LOST": 26,
        "GROUND_BACK": 27,
        "NUDGED": 28,
        "REPLANNED": 29,
        "RADIUS_SET": 30,
        "OBSTACLE_APPEARED": 31,
        "OBSTACLE_GONE": 32,
        "OBSTACLE_STANDS": 33,
        "OBSTACLE_MOVES": 34,
        "OBSTACLE_SENT": 35,
        "GAVE_WAY": 36,
        "MOVED": 37,
        "SENT": 38,
        "STATE": 39,
        "DEADLOCKED": 40,
        "JOINED_LINE": 41,
        "CALLED": 42,
        "SERVED": 43,
        "WAITS_AT": 44,
        "BOARDED": 45,
        "ALIGHTED": 46,
        "LEFT_GATE": 47,
        "CHOSE": 48,
        "JUMPED": 49,
        "PORTAL_GONE": 50,
        "PART_ADDED": 51,
        "PART_REMOVED": 52,
    }
    assert EVENT_DTYPE.itemsize == 48


def test_units_of_everything_are_in_the_file(tmp_path):
    path = record(tmp_path / "run.h5")
    with open_run(path) as run:
        assert run.trajectories().attrs["units"]["velocity_x"] == "m/s"
        assert set(run.trajectories().attrs["units"]) == set(run.trajectories().columns)
        assert run.ticks().attrs["units"] == {
            "tick": "tick",
            "agents": "",
            "deepest_overlap_m": "m",
            "time_s": "s",
        }
        assert {count.name for count in COUNTS} < set(run.ticks().columns)
    with h5py.File(path, "r") as file:
        assert file["agents/velocity"].attrs["unit"] == "m/s"
        assert file["agents/activity"].attrs["about"] == "AgentState"
