"""`crowdsim run`: what it prints, what it returns, and what is left on the disk whatever happens."""

import contextlib
import json
import resource
import signal
import subprocess
import sys
import time

import pytest

import crowdsim as library
from crowdsim.errors import RecordingError
from crowdsim.recording.checkpoint import read_checkpoint
from tests.cli.command import crowdsim, start
from tests.cli.conftest import SMALL
from tests.crowds import ROOT, SCENARIOS


def test_a_run_ends_with_a_verdict_and_a_recording(small, tmp_path):
    done = crowdsim(["run", small, "-o", tmp_path / "a.h5"])
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("small: all arrived\n")
    for word in ("arrived", "8 of 8", "end 8", "overlaps", "digest", "a.h5"):
        assert word in done.stdout
    with library.open_run(tmp_path / "a.h5") as run:
        assert run.is_whole and run.commit.agents == 8
        assert f"{run.run_digest:016x}" in done.stdout


def test_a_run_does_not_load_pandas(small, tmp_path):
    """Tables are for those that ask for them: it takes longer to load than a small run."""
    code = (
        "import sys, atexit; from crowdsim.cli import main; "
        "atexit.register(lambda: print(sorted({'pandas', 'matplotlib', 'numba'} & set(sys.modules)))); "
        f"sys.argv = ['crowdsim', 'run', {str(small)!r}, '-o', {str(tmp_path / 'run.h5')!r}]; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "['numba']"), done.stderr


def test_json_has_the_same_digest_for_any_number_of_threads(small, tmp_path):
    answers = [
        json.loads(crowdsim(["run", small, "--json", "--no-record", "-j", threads]).stdout)
        for threads in ("1", "2")
    ]
    assert answers[0]["digest"] == answers[1]["digest"] and answers[0]["ok"] and answers[0]["exit_code"] == 0
    assert answers[0]["recording"] is None and answers[0]["arrived"] == 8


def test_seed_and_set_change_the_run(small, tmp_path):
    first = json.loads(crowdsim(["run", small, "--json", "--no-record"]).stdout)
    other = json.loads(crowdsim(["run", small, "--json", "--no-record", "--seed", "7"]).stdout)
    more = json.loads(crowdsim(["run", small, "--json", "--no-record", "--set", "groups.0.count=3"]).stdout)
    assert first["digest"] != other["digest"] and more["agents"] == 3


def test_an_agent_that_has_not_arrived_gives_exit_code_3_and_is_named(small, tmp_path):
    done = crowdsim(["run", small, "--no-record", "--set", "stop.after=1"])
    assert done.returncode == 3
    assert (
        "small: 8 did not arrive" in done.stdout and "crowd[0]" in done.stdout and "on its way" in done.stdout
    )


def test_a_goal_behind_too_narrow_a_gap_is_named_with_its_reason(tmp_path):
    path = tmp_path / "gap.yaml"
    path.write_text(
        SMALL.replace(
            "geometry: {walkable: [[0, 0], [10, 0], [10, 4], [0, 4]]}",
            "geometry: {walkable: [[0, 0], [10, 0], [10, 4], [0, 4]], obstacles: [{box: [5, 0, 5.2, 3.7]}]}",
        )
    )
    done = crowdsim(["run", path, "--no-record"])
    assert done.returncode == 3 and "no path to its goal that is wide enough" in done.stdout
    checked = crowdsim(["validate", path])
    assert checked.returncode == 2 and "the widest path has a gap of 0.300 m at (5." in checked.stderr


def test_mistakes_in_a_scenario_are_told_without_a_traceback(small, tmp_path):
    small.write_text(SMALL.replace("count: 8", "cuont: 8"))
    done = crowdsim(["run", small])
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "cuont" in done.stderr and "count" in done.stderr and f"{small}:8:" in done.stderr


def test_the_newest_run_has_the_name_and_the_older_one_its_id(small, tmp_path):
    out = tmp_path / "a.h5"
    assert crowdsim(["run", small, "-o", out, "-q"]).returncode == 0
    before = out.read_bytes()
    with library.open_run(out) as run:
        aside = tmp_path / f"a.{run.header.run_id}.h5"
    done = crowdsim(["run", small, "-o", out, "--seed", "2"])
    assert done.returncode == 0 and out.read_bytes() != before and aside.read_bytes() == before
    assert f"note: the run that had the name {out} is kept as {aside}" in done.stderr
    assert sorted(path.name for path in tmp_path.glob("*.h5")) == sorted([out.name, aside.name])
    second = out.read_bytes()
    assert crowdsim(["run", small, "-o", out, "--seed", "3", "-q", "--force"]).returncode == 0
    assert out.read_bytes() != second and len(list(tmp_path.glob("*.h5"))) == 2
    again = crowdsim(["run", small, "-o", out, "--seed", "2", "--json"])
    with library.open_run(json.loads(again.stdout)["older_recording"]) as run:
        assert run.header.seed == 3


def test_the_same_run_again_replaces_its_recording(small, tmp_path):
    out = tmp_path / "a.h5"
    ids = []
    for _ in range(2):
        done = crowdsim(["run", small, "-o", out])
        assert done.returncode == 0 and done.stderr == ""
        with library.open_run(out) as run:
            ids.append(run.header.run_id)
    assert ids[0] != ids[1] and len(list(tmp_path.glob("*.h5"))) == 1
    # not where something else was recorded of it
    assert crowdsim(["run", small, "-o", out, "--set", "record.rate=1", "-q"]).returncode == 0
    assert len(list(tmp_path.glob("*.h5"))) == 2


def test_what_is_no_recording_keeps_its_name(small, tmp_path):
    out = tmp_path / "a.h5"
    out.write_text("notes")
    done = crowdsim(["run", small, "-o", out])
    kept = list(tmp_path.glob("a.*.h5"))
    assert done.returncode == 5 and out.read_text() == "notes"
    assert (
        len(kept) == 1 and str(kept[0]) in done.stderr and "no recording that can be set aside" in done.stderr
    )


def test_the_time_limit_leaves_a_whole_recording(tmp_path):
    out = tmp_path / "limit.h5"
    done = crowdsim(["run", SCENARIOS / "concourse.yaml", "-o", out, "--time-limit", "0.3"])
    assert done.returncode == 7 and "time limit" in done.stdout
    with library.open_run(out) as run:
        assert run.state.name == "INTERRUPTED" and run.commit.frames >= 1


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_leave_a_whole_recording(number, tmp_path):
    out = tmp_path / "stopped.h5"
    process = start(["run", SCENARIOS / "concourse.yaml", "-o", out])
    wait_for_partial(tmp_path, process)
    wait_for_ticks(tmp_path, process)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "interrupted" in stdout and "Traceback" not in stderr
    with library.open_run(out) as run:
        assert run.state.name == "INTERRUPTED" and run.commit.frames >= 1
        assert run.trajectories()["id"].nunique() == 1000
        (checkpoint,) = tmp_path.glob("*.checkpoint")
        assert read_checkpoint(checkpoint).tick == run.commit.last_tick
    assert stdout.endswith(f"to go on: crowdsim resume {out}\n")


def test_a_run_that_was_stopped_goes_on_and_is_the_whole_run_bit_for_bit(tmp_path):
    words = ["run", SCENARIOS / "four-way-crossing.yaml", "--set", "stop.after=20"]
    whole = json.loads(crowdsim([*words, "--no-record", "--json"]).stdout)
    process = start([*words, "-o", tmp_path / "a.h5"])
    wait_for_partial(tmp_path, process)
    wait_for_ticks(tmp_path, process)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    if process.returncode != 130:
        pytest.skip("the machine was too slow to stop it before its end")
    resumed = crowdsim(["resume", tmp_path / "a.h5", "--json"])
    assert resumed.returncode == 3, resumed.stderr
    assert json.loads(resumed.stdout)["digest"] == whole["digest"]


def wait_for_ticks(folder, process):
    """Wait until ticks of the run are committed: on a busy machine the setup goes on for seconds after the
    file was made, and a run stopped there has no verdict.
    """
    for _ in range(600):
        with (
            contextlib.suppress(RecordingError, OSError),
            library.open_run(next(folder.glob(".*.partial.h5"), folder / "none.h5")) as run,
        ):
            if run.commit.frames >= 1:
                return
        if process.poll() is not None:
            return
        time.sleep(0.1)


def wait_for_partial(folder, process):
    """Wait until the run has begun to record."""
    for _ in range(600):
        if list(folder.glob(".*.partial.h5")) or process.poll() is not None:
            return
        time.sleep(0.1)


def limit_files(size):
    return lambda: (
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("size", [60_000, 400_000, 2_000_000])
def test_a_full_disk_ends_with_a_clear_error_and_a_readable_file(size, tmp_path):
    done = crowdsim(
        ["run", SCENARIOS / "concourse.yaml", "-o", tmp_path / "full.h5", "-q"], preexec_fn=limit_files(size)
    )
    assert done.returncode == 4, (done.returncode, done.stderr[-500:])
    assert "Traceback" not in done.stderr and (
        "disk" in done.stderr or "space" in done.stderr or "room" in done.stderr
    )
    for path in tmp_path.glob("*.h5"):
        with library.open_run(path) as run:
            assert len(run.trajectories()) == run.commit.rows
