"""What killed writers leave: removed if nobody needs it, never if it might be."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

import pytest

from crowdsim.errors import RecordingError
from crowdsim.recording import files, locks
from crowdsim.recording.files import Kept, lock_of, new_file, partial_name, partials_of
from crowdsim.recording.leftovers import clear_left, holds_all_of, is_part_of, left_for, look_at
from crowdsim.recording.locks import clear_scratch, left_scratch, scratch_folder
from crowdsim.recording.opening import open_run
from crowdsim.recording.recover import complete, recover
from crowdsim.recording.schema import RunState
from tests.crowds import ROOT
from tests.recording.crowd import Crowd, cut, new_writer, record

RUN = {"run_id": "abc"}


def cut_off(out, ticks=30, agents=20, seed=1, number=1, **changes):
    """Leave the file and the lock of a killed run; return the file."""
    writer = new_writer(out, flush_seconds=0.0, header_changes=RUN | changes)
    Crowd(agents, seed).record(writer, ticks)
    partial, data, lock = writer.partial, writer.partial.read_bytes(), lock_of(writer.partial).read_bytes()
    writer.discard()
    target = partial_name(out, writer.header.run_id, number)
    target.write_bytes(data)
    lock_of(target).write_bytes(lock)
    assert partial.parent == target.parent
    return target


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_writer_that_was_killed_before_it_began_leaves_nothing_for_long(tmp_path):
    for number, data in enumerate(
        (b"", b"\x89HDF\r\n\x1a\n half a file", cut_off(tmp_path / "other.h5").read_bytes())
    ):
        partial = partial_name(tmp_path / "run.h5", f"id{number}")
        partial.write_bytes(data)
        lock_of(partial).write_bytes(b"")  # it says which process writes once there can be rows
    lock_of(partial_name(tmp_path / "run.h5", "alone")).write_bytes(b"12 here\n")
    clear_left(tmp_path)
    assert names(tmp_path) == [".other.h5.abc.partial.h5", ".other.h5.abc.partial.lock"]


def test_what_cannot_be_read_but_had_begun_is_kept(tmp_path):
    partial = cut_off(tmp_path / "run.h5")
    partial.write_bytes(b"noise" * 1000)
    clear_left(tmp_path)
    assert partial.exists() and look_at(partial).problem


def test_a_live_writer_loses_nothing(tmp_path):
    record(tmp_path / "run.h5", agents=20, ticks=60)
    writer = new_writer(tmp_path / "run.h5", flush_seconds=0.0)
    Crowd(20).record(writer, 30)  # all of which stands in run.h5
    program = (
        "import sys; from pathlib import Path; from crowdsim.recording.leftovers import clear_left; "
        "clear_left(Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, check=True)
    clear_left(tmp_path)
    assert writer.partial.exists() and lock_of(writer.partial).exists()
    assert (
        (found := look_at(writer.partial)).is_live
        and found.writer == f"process {os.getpid()}"
        and found.until_s == 1.45
    )
    writer.discard()


@pytest.mark.sample(3)
@pytest.mark.parametrize(("what", "stays"), [
    ("the whole run", False), ("a longer part of it", False), ("a shorter part", True),
    ("another seed", True), ("another scenario", True), ("other columns", True), ("half of its frames", True),
    ("another crowd", True), ("a damaged file", True), ("nothing", True),
])  # fmt: skip
def test_what_stands_in_a_recording_of_its_name_goes_and_nothing_else(tmp_path, what, stays):
    out = tmp_path / "run.h5"
    if what == "the whole run":
        record(out, agents=20, ticks=60)
    elif what == "a longer part of it":
        cut(record(tmp_path / "x.h5", agents=20, ticks=60), out, 40)
    elif what == "a shorter part":
        cut(record(tmp_path / "x.h5", agents=20, ticks=60), out, 28)
    elif what in ("another seed", "another scenario", "half of its frames"):
        record(
            out,
            agents=20,
            ticks=60,
            header_changes={"another seed": {"seed": 8}, "another scenario": {"scenario": "x"}}.get(
                what, {"ticks_per_frame": 4}
            ),
        )
    elif what == "other columns":
        writer = new_writer(out, columns=[])
        Crowd(20).record(writer, 60)
        writer.close({})
    elif what == "another crowd":
        record(out, agents=20, ticks=60, seed=2)
    elif what == "a damaged file":
        out.write_bytes(record(tmp_path / "x.h5", agents=20, ticks=60).read_bytes()[:9000])
    partial = cut_off(out)
    clear_left(tmp_path)
    assert partial.exists() == lock_of(partial).exists() == stays


def test_of_two_parts_of_one_run_the_longer_stays_and_of_equal_ones_one(tmp_path):
    out = tmp_path / "run.h5"
    cut_off(out, 30, number=1)
    longest = cut_off(out, 50, number=2)
    cut_off(out, 40, number=3)
    clear_left(tmp_path)
    assert partials_of(out) == [longest]
    cut_off(out, 50, number=4)
    clear_left(tmp_path)
    (one,) = partials_of(out)
    assert look_at(one).last_tick == 49


def test_a_file_that_has_its_name_already_loses_the_other(tmp_path):
    """Stopped between giving the name and taking away the hidden one."""
    out = tmp_path / "run.h5"
    partial = cut_off(out)
    os.link(partial, out)
    clear_left(tmp_path)
    assert names(tmp_path) == ["run.h5"]


def test_the_next_writer_clears_away(tmp_path):
    record(tmp_path / "run.h5", agents=20, ticks=60)
    cut_off(tmp_path / "run.h5")
    record(tmp_path / "other.h5", agents=3, ticks=5)
    assert names(tmp_path) == ["other.h5", "run.h5"]


def test_recover_keeps_what_it_is_asked_for(tmp_path):
    record(tmp_path / "run.h5", agents=20, ticks=60)
    partial = cut_off(tmp_path / "run.h5")
    assert recover(partial).last_tick == 29 and partial.exists()


def test_recovered_again_a_longer_part_takes_the_place_of_the_shorter(tmp_path):
    cut_off(tmp_path / "run.h5", 20)
    assert recover(tmp_path / "run.h5").last_tick == 19
    cut_off(tmp_path / "run.h5", 40, number=2)
    assert recover(tmp_path / "run.h5").last_tick == 39
    cut_off(tmp_path / "another.h5", 30, run_id="xyz").rename(partial_name(tmp_path / "run.h5", "xyz"))
    with pytest.raises(RecordingError, match="2 runs with this name") as told:
        recover(tmp_path / "run.h5")
    assert str(told.value).count("crowdsim recover ") == 2
    with pytest.raises(RecordingError, match="exists already"):
        recover(partial_name(tmp_path / "run.h5", "xyz"))


def test_a_part_of_a_run_replaces_a_shorter_one_and_never_a_longer(tmp_path):
    out = tmp_path / "run.h5"

    def finish(ticks, **options):
        writer = new_writer(out, header_changes=RUN, goes_on=True, **options)
        Crowd(20).record(writer, ticks)
        return writer.abandon("stopped")

    for ticks, reached in ((20, 19), (40, 39), (30, 39), (40, 39), (60, 59)):
        assert finish(ticks) == Kept(out, False) and look_at(out).last_tick == reached
        assert names(tmp_path) == ["run.h5"]
    finish(10, force=True)
    assert look_at(out).last_tick == 9
    other = new_writer(out, header_changes={"run_id": "other"}, goes_on=True)
    Crowd(20).record(other, 20)
    assert other.close({}) == Kept(out, False, older=tmp_path / "run.abc.h5")
    assert look_at(tmp_path / "run.abc.h5").last_tick == 9


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_run_that_ended_without_its_name_is_given_it(tmp_path, is_closed, monkeypatch):
    writer = new_writer(tmp_path / "run.h5", header_changes=RUN)
    Crowd(20).record(writer, 30)
    monkeypatch.setattr("crowdsim.recording.writer.take_name", lambda *_, **__: pytest.fail("killed"))
    if not is_closed:
        monkeypatch.setattr(writer._storage, "_close", lambda: pytest.fail("killed"))
        monkeypatch.setattr("crowdsim.recording.storage.WASTE_SHARE", 1.0)
    with pytest.raises(BaseException, match="killed"):
        writer.close({"arrived": 20})
    writer._storage.freeze()
    monkeypatch.undo()
    (found,) = left_for(tmp_path / "run.h5")
    assert found.state is RunState.FINISHED and found.is_whole == is_closed
    kept, verdict = complete(found.path, tmp_path / "run.h5")
    clear_left(tmp_path)
    assert (
        kept.path == tmp_path / "run.h5"
        and verdict["result"] == {"arrived": 20}
        and names(tmp_path) == ["run.h5"]
    )
    with open_run(kept.path) as run, open_run(record(tmp_path / "b.h5", 20, 30, header_changes=RUN)) as other:
        assert (
            run.is_whole
            and run.state is RunState.FINISHED
            and holds_all_of(run, other)
            and holds_all_of(other, run)
        )
    with pytest.raises(RecordingError, match="did not come to its end"):
        complete(cut_off(tmp_path / "c.h5"), tmp_path / "c.h5")


def test_a_name_that_was_only_kept_for_a_file_is_not_taken(tmp_path, monkeypatch):
    """Without hard links a placeholder takes the name first:
    a process killed then has not finished anything.
    """
    out = tmp_path / "run.h5"
    partial = cut_off(out)
    out.write_bytes(files._PLACEHOLDER + partial.name.encode() + b"\n")
    assert files.is_stale_placeholder(out)
    with pytest.raises(RecordingError, match="a run with this output was cut off"):
        open_run(out)
    assert recover(out).last_tick == 29
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(1, "Operation not permitted")))
    # the placeholder is replaced
    assert new_writer(out, header_changes={"run_id": "new"}).close({}) == Kept(out, False)
    with open_run(out) as run:
        assert run.header.run_id == "new"
    out.write_bytes(b"")
    assert files.is_stale_placeholder(out)
    partial.unlink()
    assert not files.is_stale_placeholder(out)  # another's empty file


def test_parts_are_told_apart_by_their_run(tmp_path):
    one, two = cut_off(tmp_path / "a.h5", 20), cut_off(tmp_path / "b.h5", 30)
    assert is_part_of(one, two) and not is_part_of(two, one)
    assert not is_part_of(one, cut_off(tmp_path / "c.h5", 30, run_id="x")) and not is_part_of(
        one, tmp_path / "none.h5"
    )


# Scratch
# ------------------------------------------------------------------------------------------------------------


def left_behind(folder):
    """Return what a process that was killed in the making of a file has left."""
    program = """
import os, signal, sys
from pathlib import Path
from crowdsim.recording.files import new_file
with new_file(Path(sys.argv[1]) / "a.csv") as scratch:
    scratch.write_text("half")
    print(scratch.parent, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == -9
    return done.stdout.strip()


def test_the_next_file_that_is_made_there_clears_away_what_a_killed_command_left(tmp_path):
    left = left_behind(tmp_path)
    assert [str(path) for path in left_scratch(tmp_path)] == [left] and names(tmp_path) == [
        left.rpartition("/")[2]
    ]
    with scratch_folder(tmp_path) as alive:
        assert left_scratch(tmp_path) == [] and [path.name for path in tmp_path.iterdir()] == [alive.name]
        clear_scratch(tmp_path)
        assert alive.exists()
    assert names(tmp_path) == []


def test_nothing_is_removed_that_another_program_could_have_made(tmp_path):
    strangers = [
        ".a.csv.12345678.tmp",
        ".crowdsim-x.scratch",
        ".crowdsim-0123456789abcdef.scratch.bak",
        "crowdsim-0123456789abcdef.scratch",
        ".run.h5.partial.h5",
        ".run.partial.lock",
    ]
    for name in strangers:
        (tmp_path / name).mkdir() if "scratch" in name else (tmp_path / name).write_text("mine")
        if "scratch" in name:
            (tmp_path / name / "file").write_text("mine")
    (tmp_path / ".crowdsim-0123456789abcdef.scratch").write_text("a file")
    clear_scratch(tmp_path)
    clear_left(tmp_path)
    assert names(tmp_path) == sorted([*strangers, ".crowdsim-0123456789abcdef.scratch"])


def test_killed_before_it_had_its_lock_a_folder_is_empty_and_goes(tmp_path):
    (tmp_path / ".crowdsim-0123456789abcdef.scratch").mkdir()
    (tmp_path / ".crowdsim-0123456789abcdee.scratch").mkdir()
    (tmp_path / ".crowdsim-0123456789abcdee.scratch" / "data").write_text(
        "no lock, but not empty: left alone"
    )
    clear_scratch(tmp_path)
    assert names(tmp_path) == [".crowdsim-0123456789abcdee.scratch"]


def test_many_at_once_make_their_files_and_leave_nothing(tmp_path):
    program = """
import sys
from pathlib import Path
from crowdsim.recording import locks
from crowdsim.recording.files import new_file
for number in range(60):
    locks._cleared.clear()  # every process clears away all the time
    with new_file(Path(sys.argv[1]) / f"{sys.argv[2]}.{number}") as file:
        file.write_text("whole")
"""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path), str(number)], cwd=ROOT, stderr=subprocess.PIPE
        )
        for number in range(4)
    ]
    assert [process.communicate()[1] for process in running] == [b""] * 4
    assert len(names(tmp_path)) == 240 and all(path.read_text() == "whole" for path in tmp_path.iterdir())


def test_long_names_are_refused_before_anything_is_begun(tmp_path):
    name = "x" * 220 + ".csv"
    with pytest.raises(RecordingError, match="has 224 bytes, but may have 207"), new_file(tmp_path / name):
        pytest.fail("it was begun")
    with pytest.raises(RecordingError, match="has 253 bytes"):
        new_writer(tmp_path / ("x" * 250 + ".h5"))
    assert names(tmp_path) == []
    out = tmp_path / ("ä" * 102 + ".h5")  # 207 bytes
    writer = new_writer(out, flush_seconds=0.0, header_changes={"run_id": "0123456789abcdef"})
    Crowd(5).record(writer, 10)
    assert writer.close({}).path == out


class Killed(BaseException):
    """Ends a process where it stands, as far as that can be had within a test."""


@pytest.mark.parametrize("after", range(5))
def test_a_process_that_is_killed_while_it_removes_its_folder_leaves_nothing_for_good(
    tmp_path, monkeypatch, after
):
    """The lock went first where the system listed it first: nothing removed what was left without one."""
    held, done = [], []

    def dies(call):
        def wrapped(*arguments, **more):
            if len(done) == after:
                raise Killed
            done.append(arguments)
            return call(*arguments, **more)

        return wrapped

    created = locks.create_locked
    monkeypatch.setattr(locks, "create_locked", lambda path: held.append(created(path)) or held[-1])
    ends = pytest.raises(Killed) if after < 4 else contextlib.nullcontext()
    with ends, scratch_folder(tmp_path) as folder:
        for name in ("a", "z"):
            (folder / name).write_text("half")
        monkeypatch.setattr(os, "unlink", dies(os.unlink))
        monkeypatch.setattr(os, "rmdir", dies(os.rmdir))
    monkeypatch.undo()
    if after < 4:
        os.close(held[0])  # as the system does when a process ends
        assert len(names(tmp_path)) == 1
    clear_scratch(tmp_path)
    assert names(tmp_path) == []
