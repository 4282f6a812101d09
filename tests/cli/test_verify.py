"""`crowdsim verify`: a recording's scenario is run again."""

import json

import h5py
import pytest

from tests.cli.command import crowdsim
from tests.crowds import SCENARIOS


def test_a_run_verifies_without_its_scenario_file_and_with_other_threads(tmp_path):
    scenario = tmp_path / "moved.yaml"
    scenario.write_text((SCENARIOS / "four-way-crossing.yaml").read_text())
    few = [word for group in range(4) for word in ("--set", f"groups.{group}.count=6")]
    assert crowdsim(["run", scenario, "-o", tmp_path / "a.h5", "-q", "-j", "1", *few]).returncode == 0
    scenario.unlink()
    done = crowdsim(["verify", tmp_path / "a.h5", "-j", "2"])
    assert done.returncode == 0 and "identical over" in done.stdout, done.stderr


def test_a_changed_digest_is_found_and_named(tmp_path):
    path = tmp_path / "a.h5"
    assert (
        crowdsim(
            ["run", SCENARIOS / "antipodal-circle.yaml", "-o", path, "-q", "--set", "stop.after=5"]
        ).returncode
        == 3
    )
    with h5py.File(path, "r+") as file:
        row = file["digests"][60]
        row[1] ^= 1
        file["digests"][60] = row
    done = crowdsim(["verify", path])
    assert done.returncode == 6 and "Traceback" not in done.stderr
    assert "tick 61" in done.stderr and "position" in done.stderr
    answer = json.loads(crowdsim(["verify", path, "--json"]).stdout)
    assert answer["ok"] is False and "position" in answer["difference"]


def test_what_is_no_recording_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "no.h5").write_bytes(b"nothing of the kind")
    for verb in ("verify", "info", "plot", "recover", "export"):
        done = crowdsim([verb, tmp_path / "no.h5"])
        assert done.returncode == 4, (verb, done.stderr)
        assert "Traceback" not in done.stderr and len(done.stderr.strip().splitlines()) <= 2


def test_a_run_in_milliseconds_verifies_from_its_recorded_budget_only(tmp_path):
    path, work = tmp_path / "clock.h5", tmp_path / "work.h5"
    sets = ["--set", "stop.after=4", "--set", "budget={milliseconds: 5, slice: 20}"]
    done = crowdsim(["run", SCENARIOS / "room-evacuation.yaml", "-o", path, *sets])
    assert done.returncode == 3 and f"crowdsim verify --budget-from {path}" in done.stdout
    refused = crowdsim(["verify", path])
    assert (
        refused.returncode != 0
        and f"crowdsim verify --budget-from {path}" in refused.stderr
        and "Traceback" not in refused.stderr
    )
    for arguments in (["--budget-from", path], [path, "--budget-from", path, "-j", "2"]):
        done = crowdsim(["verify", *arguments])
        assert done.returncode == 0 and "identical over" in done.stdout, done.stderr
    assert "not reproducible" in crowdsim(["info", path]).stdout
    assert (
        crowdsim(
            ["run", SCENARIOS / "room-evacuation.yaml", "-o", work, "--set", "stop.after=2", "-q"]
        ).returncode
        == 3
    )
    for arguments, message in (
        ([path, "--budget-from", work], "until tick"),
        ([work, "--budget-from", path], "verify it without"),
        ([], "give a recording"),
    ):
        done = crowdsim(["verify", *arguments])
        assert done.returncode != 0 and message in done.stderr and "Traceback" not in done.stderr, done.stderr


@pytest.mark.full
def test_a_recording_whose_granted_work_was_changed_is_found_out(tmp_path):
    path = tmp_path / "clock.h5"
    sets = ["--set", "stop.after=4", "--set", "budget={milliseconds: 5, slice: 20}"]
    assert crowdsim(["run", SCENARIOS / "room-evacuation.yaml", "-o", path, "-q", *sets]).returncode == 3
    with h5py.File(path, "r+") as file:
        ticks = file["ticks"][:]
        first = int((ticks["expansions_granted"] > 0).argmax())  # when the first asks for a path
        ticks["expansions_granted"][first] = 0
        file["ticks"][:] = ticks
    done = crowdsim(["verify", "--budget-from", path])
    assert done.returncode == 6 and f"tick {first + 1}:" in done.stderr, done.stderr
