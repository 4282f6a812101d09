"""Sweeps to their end: failures cost themselves alone, what is finished is not repeated,
and the table does not depend on how it came about.
"""

import json
import os
import re
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pandas as pd
import pytest

import crowdsim
from crowdsim.avoidance.plugins import load_plugin
from crowdsim.errors import CrowdsimError, RecordingError
from crowdsim.recording.locks import LOCK
from crowdsim.sweep import worker
from crowdsim.sweep.design import crossed, varied_values
from crowdsim.sweep.folder import Folder, move_whole
from crowdsim.sweep.plan import Source, estimate, plan_sweep
from crowdsim.sweep.supervise import Limits, run_sweep, waiting
from crowdsim.sweep.tables import tables_of
from crowdsim.sweep.worker import room_for_runs
from tests.cli.command import crowdsim as command
from tests.cli.command import start


def planned(path, *vary, seeds=(), **more):
    return plan_sweep(Source(path, **more), crossed(varied_values(vary)) if vary else [{}], seeds)


def finished_files(folder: Path) -> dict[str, int]:
    """Return the finished results with the inode that each has: a file that was written again has another."""
    return {
        path.stem: path.stat().st_ino
        for path in (folder / "results").glob("*.json")
        if json.loads(path.read_bytes())["status"] == "finished"
    }


def table_of(folder):
    """Return the one table of runs of a folder: Parquet or, without pyarrow, CSV."""
    (table,) = folder.glob("runs.*")
    return table


def nothing_half_written(folder: Path) -> bool:
    return not any((folder / ".scratch").iterdir()) and not [
        *folder.rglob("*.tmp"),
        *folder.rglob("*.partial.h5"),
    ]


def descendants(of: int) -> set[int]:
    """Return the processes that a process has started, and those that they have."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:  # ended meanwhile
            continue
    found, grown = {of}, True
    while grown:
        more = {child for child, parent in parents.items() if parent in found} - found
        found, grown = found | more, bool(more)
    return found - {of}


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.full
def test_each_way_to_fail_costs_its_run_alone_and_is_a_row_with_a_command(small, hostile, tmp_path):
    load_plugin(hostile)
    plan = planned(
        small,
        "avoidance.model=none,segfault,killed,hangs,greedy,leaves,wrong,orca",
        seeds=[1],
        plugins=(hostile,),
    )
    folder = Folder(tmp_path / "out")
    report = run_sweep(plan, folder, workers=2, limits=Limits(timeout=10.0, memory=200 * 2**20))
    runs, _ = tables_of(plan, folder)
    told = {row["avoidance.model"]: (row["status"], row["error"]) for _, row in runs.iterrows()}
    assert told["none"] == told["orca"] == ("finished", "")
    assert told["segfault"] == ("killed", "ended by SIGSEGV")
    assert told["killed"] == ("killed", "ended by SIGKILL")
    assert told["hangs"] == ("timeout", "took longer than 10 s")
    assert told["greedy"] == ("memory", "asked for more than 200 MiB of memory")
    assert told["leaves"] == ("error", "ended with code 7 and without a word")
    assert (
        told["wrong"][0] == "error"
        and "no such thing" in told["wrong"][1]
        and "Traceback" not in told["wrong"][1]
    )
    assert (report.finished, report.failed, report.known, report.left) == (2, 6, 0, 0)
    assert (
        runs.loc[runs["status"] != "finished", "arrived"].isna().all()
        and (runs.loc[runs["status"] == "finished", "arrived"] == 3).all()
    )
    assert runs["command"].str.contains(f"--plugin {hostile}").all()
    # where in the program the segmentation fault was
    assert "choose" in folder.log(plan.runs[1].id).read_text()
    assert [bool(path) for path in runs["recording"]] == [
        status == "finished" for status in runs["status"]
    ] and nothing_half_written(folder.path)
    # What is known is not done again, unless it is asked for.
    again = run_sweep(plan, folder, workers=1)
    assert (again.finished, again.failed, again.known, len(again.failures)) == (0, 0, 8, 6)
    assert len(waiting(plan, folder, record=True, retry=True)[0]) == 6


@pytest.mark.full
def test_the_table_does_not_depend_on_the_number_of_workers_and_extending_reuses(small, tmp_path):
    one, many = Folder(tmp_path / "one"), Folder(tmp_path / "many")
    part = planned(small, "groups.0.count=2,4", seeds=[0, 1])
    whole = planned(small, "groups.0.count=2,4", "avoidance.model=orca,none", seeds=[0, 1])
    run_sweep(part, many, workers=2)
    kept = finished_files(many.path)
    report = run_sweep(whole, many, workers=2)
    assert (report.known, report.finished) == (4, 4)
    assert kept.items() <= finished_files(many.path).items()
    run_sweep(whole, one, workers=1)
    pd.testing.assert_frame_equal(tables_of(whole, one)[0], tables_of(whole, many)[0])
    assert one.manifest.read_bytes() == many.manifest.read_bytes()
    assert (one.path / report.tables[0].name).read_bytes() == (many.path / report.tables[0].name).read_bytes()
    # A run of the sweep is the run that its command does.
    row = tables_of(whole, one)[0].iloc[-1]
    scenario = crowdsim.load_scenario(small, sets=["groups.0.count=4", "avoidance.model=none", "seed=1"])
    with crowdsim.Simulation(scenario) as simulation:
        assert simulation.run().digest == row["digest"]
    with crowdsim.open_run(one.path / row["recording"]) as recording:
        assert recording.header.seed == 1 and recording.verdict["result"]["digest"] == row["digest"]
    # A run that was killed between its recording and its result is known by its recording; a result that was
    # torn is none.
    first, second = whole.runs[0].id, whole.runs[1].id
    before = one.read_result(first)["measures"]
    one.result(first).unlink()
    one.result(second).write_text('{"id": "')
    one.recording(second).unlink()
    todo, known = waiting(whole, one, record=True)
    assert [run.id for run in todo] == [second] and one.read_result(first)["measures"] == before
    # The estimate is taken from what is known.
    assert (
        estimate(todo, known, record=True).measured_on >= 6 > estimate(todo, [], record=True).measured_on == 0
    )


@pytest.mark.full
def test_a_server_that_is_lost_is_started_again_and_a_task_that_ends_it_every_time_is_told(
    small, hostile, tmp_path, monkeypatch
):
    monkeypatch.setattr(worker, "ATTEMPTS", 2)
    load_plugin(hostile)
    plan = planned(small, "avoidance.model=none,patricide,none", seeds=[1], plugins=(hostile,))
    folder = Folder(tmp_path / "out")
    report = run_sweep(plan, folder, workers=1, record=False)
    runs, _ = tables_of(plan, folder, record=False)
    assert runs["status"].tolist() == ["finished", "lost", "finished"] and report.asked == 2
    assert runs["recording"].tolist() == ["", "", ""] and [*(folder.path / "recordings").iterdir()] == []
    # Recordings that are wanted now are made.
    assert [run.number for run in waiting(plan, folder, record=True)[0]] == [0]


def test_a_folder_that_holds_something_else_is_left_alone(small, tmp_path):
    plan = planned(small)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("x")
    with pytest.raises(CrowdsimError, match="something else"):
        run_sweep(plan, Folder(tmp_path / "other"))
    (tmp_path / "other" / "manifest.json").write_text('{"format": "of another"}')
    with pytest.raises(CrowdsimError, match="no manifest of a sweep"):
        run_sweep(plan, Folder(tmp_path / "other"))


def test_two_sweeps_do_not_work_in_one_folder(small, tmp_path):
    folder = Folder(tmp_path / "out")
    with folder.held(), pytest.raises(CrowdsimError, match="another sweep is at work"):
        run_sweep(planned(small), folder)


def wait_for_results(folder: Path, count: int, process) -> None:
    end = time.monotonic() + 120.0
    while len([*(folder / "results").glob("[!.]*.json")]) < count:
        assert process.poll() is None and time.monotonic() < end, process.communicate()
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.full)])
def test_a_sweep_that_is_stopped_goes_on_and_repeats_no_finished_run(number, small, tmp_path):
    folder = tmp_path / "out"
    arguments = [
        "sweep",
        small,
        "--vary",
        "groups.0.count=2,3",
        "--seeds",
        "0:5",
        "--out",
        folder,
        "--workers",
        "2",
    ]
    process = start(arguments, cwd=tmp_path)
    wait_for_results(folder, 2, process)
    started = descendants(process.pid)
    process.send_signal(number)
    _, complaints = process.communicate(timeout=60)
    end = time.monotonic() + 10.0
    while any(alive(each) for each in started) and time.monotonic() < end:
        time.sleep(0.02)
    assert started and not any(alive(each) for each in started)
    kept = finished_files(folder)
    assert 2 <= len(kept) < 10
    if number == signal.SIGINT:
        assert (
            process.returncode == 130
            and "the same command goes on" in complaints
            and "Traceback" not in complaints
        )
        assert nothing_half_written(folder) and len([*(folder / "recordings").iterdir()]) == len(kept)
        dry = command([*arguments, "--dry-run"], cwd=tmp_path)
        assert (
            dry.returncode == 0
            and f"{10 - len(kept)} runs would be done and {len(kept)} are known" in dry.stdout
        )
    done = command(arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # a kill may leave a recording of which no result was kept
    assert f"{10 - len(kept)} runs finished" in done.stdout or number == signal.SIGKILL
    after = finished_files(folder)
    assert len(after) == 10 and kept.items() <= after.items() and nothing_half_written(folder)


@pytest.mark.full
def test_a_run_that_cannot_be_built_is_told_without_places_that_the_file_does_not_have(tmp_path):
    path = tmp_path / "two.yaml"
    path.write_text(
        "version: 1\nstop: {after: 1}\ngeometry: {walkable: {box: [0, 0, 6, 6]}}\n"
        "goals: {e: {exit: {box: [5, 2, 6, 4]}}}\n"
        "groups:\n  - {name: z, count: 2, region: {box: [0, 0, 4, 6]}, goals: e}\n"
        "  - {name: a, count: 2, region: {box: [0, 0, 4, 6]}, goals: e}\n"
    )
    plan, folder = planned(path, "groups.z.count=2,900"), Folder(tmp_path / "out")
    run_sweep(plan, folder, workers=1)
    runs, _ = tables_of(plan, folder)
    assert runs["status"].tolist() == ["finished", "error"]
    told = runs["error"][1]
    assert '"z": 902 agents' in told and not re.search(r"two\.yaml:\d|groups\[", told)


@pytest.mark.full
def test_of_two_hundred_runs_four_fail_and_a_sweep_that_is_killed_comes_to_the_same_table(
    small, hostile, tmp_path
):
    load_plugin(hostile)
    faults = {20: "wrong", 70: "killed", 120: "hangs", 170: "greedy"}
    rows = [f"{seed},{faults.get(seed, 'orca' if seed % 2 else 'none')}" for seed in range(200)]
    (tmp_path / "design.csv").write_text("\n".join(["seed,avoidance.model", *rows]))
    design = tmp_path / "design.yaml"
    design.write_text(f"scenario: {small.name}\ncsv: design.csv\n")
    arguments = [
        "sweep",
        design,
        "--plugin",
        hostile,
        "--workers",
        "2",
        "--timeout",
        "10",
        "--memory",
        "200M",
        "--json",
        "--out",
    ]
    whole = start([*arguments, tmp_path / "whole"], cwd=tmp_path)
    said, complaints = whole.communicate(timeout=600)
    counts = json.loads(said)
    assert (whole.returncode, counts["finished"], counts["failed"], counts["known"]) == (8, 196, 4, 0), (
        complaints
    )
    assert [each["status"] for each in counts["failures"]] == ["error", "killed", "timeout", "memory"]
    killed = start([*arguments, tmp_path / "killed"], cwd=tmp_path)
    wait_for_results(tmp_path / "killed", 90, killed)
    killed.kill()
    killed.communicate(timeout=60)
    kept = finished_files(tmp_path / "killed")
    again = start([*arguments, tmp_path / "killed"], cwd=tmp_path)
    said, complaints = again.communicate(timeout=600)
    counts = json.loads(said)
    assert (
        again.returncode == 8
        and 90 <= counts["known"] < 150
        and counts["known"] + counts["finished"] + counts["failed"] == 200
    ), complaints
    assert kept.items() <= finished_files(tmp_path / "killed").items()
    assert table_of(tmp_path / "killed").read_bytes() == table_of(tmp_path / "whole").read_bytes()


def test_runs_may_write_to_another_disk_and_what_a_killed_sweep_left_there_goes(small, tmp_path):
    scratch = tmp_path / "local"
    left = scratch / f".crowdsim-{'0' * 16}.scratch"  # whose lock nobody holds any more
    left.mkdir(parents=True)
    (left / LOCK).touch()
    (left / "run.h5").write_text("half")
    with room_for_runs(scratch) as other:
        assert [*scratch.iterdir()] == [other]
        folder = Folder(tmp_path / "out")
        report = run_sweep(planned(small), folder, scratch=scratch)
        assert report.finished == 1 and [*scratch.iterdir()] == [other] and nothing_half_written(folder.path)
    assert len([*folder.path.glob("recordings/*.h5")]) == 1
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match=r"cannot hold runs that go on .* --scratch DIR"):
        run_sweep(planned(small), Folder(tmp_path / "other"), scratch=tmp_path / "file")


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no second file system at hand")
def test_a_file_moves_to_another_disk_under_a_hidden_name_until_it_is_whole(tmp_path, monkeypatch):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        assert Path(other).stat().st_dev != tmp_path.stat().st_dev
        made, final = Path(other) / "run.h5", tmp_path / "kept.h5"
        made.write_bytes(b"whole")
        copied = []
        real = shutil.copyfile
        monkeypatch.setattr(shutil, "copyfile", lambda a, b: (copied.append(b), real(a, b)))
        move_whole(made, final)
        assert final.read_bytes() == b"whole" and not made.exists()
        assert (
            copied[0].parent == tmp_path
            and copied[0].name.startswith(".kept.h5.")
            and [*tmp_path.iterdir()] == [final]
        )
        made.write_bytes(b"more")
        with pytest.raises(RecordingError, match="cannot be written"):
            move_whole(made, tmp_path / "missing" / "kept.h5")


def test_the_command_tells_mistakes_before_anything_runs(small, tmp_path):
    for arguments, message in [
        (["--vary", "groups.0.cuont=1"], 'Did you mean "count"?'),
        (["--vary", "groups.0.count"], "expects key=value"),
        (["--seeds", "a"], "0:10"),
        (["--memory", "much"], "for example 500M or 2G"),
    ]:
        done = command(["sweep", small, *arguments], cwd=tmp_path)
        assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_lists_what_would_run_and_runs_nothing(small, tmp_path):
    done = command(
        ["sweep", small, "--vary", "groups.0.count=2,3", "--seeds", "0:2", "--dry-run"], cwd=tmp_path
    )
    assert (
        done.returncode == 0
        and done.stdout.count("would run") == 4
        and "4 runs would be done and 0 are known in runs/small" in done.stdout
    )
    assert "at most some" in done.stdout and not (tmp_path / "runs").exists()
    listed = json.loads(
        command(["sweep", small, "--vary", "groups.0.count=2,3", "--dry-run", "--json"], cwd=tmp_path).stdout
    )
    assert [run["values"] for run in listed["runs"]] == [
        {"groups.0.count": 2},
        {"groups.0.count": 3},
    ] and listed["would_run"] == 2


@pytest.mark.full
def test_a_thousand_runs_of_one_server_end_well_and_leave_no_process(small, tmp_path):
    plan = planned(small, seeds=range(1000))
    folder = Folder(tmp_path / "out")
    before = descendants(os.getpid())  # servers of other tests
    report = run_sweep(plan, folder, workers=2)
    assert (report.finished, report.failed) == (1000, 0) and descendants(os.getpid()) <= before
    assert len(finished_files(folder.path)) == 1000 and nothing_half_written(folder.path)


@pytest.mark.full
def test_the_process_of_a_run_costs_less_than_a_tenth_of_a_run_of_a_second(small, tmp_path):
    plan = planned(
        small, "groups.0.count=30", seeds=range(40), sets=("tick=0.02", "stop.when=never", "stop.after=8")
    )
    folder = Folder(tmp_path / "out")
    run_sweep(plan, folder, workers=2)
    _, timings = tables_of(plan, folder)
    own, all_ = timings["run_s"].sum(), timings["process_s"].sum()
    assert all_ - own < 0.1 * own, (own, all_)
