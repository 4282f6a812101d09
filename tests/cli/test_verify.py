"""`crowdsim verify`: a recording's scenario is run again."""

import json

import h5py

from tests.cli.command import crowdsim
from tests.crowds import SCENARIOS


def test_a_run_verifies_without_its_scenario_file_and_with_other_threads(tmp_path):
    scenario = tmp_path / "moved.yaml"
    scenario.write_text((SCENARIOS / "four-way-crossing.yaml").read_text())
    assert crowdsim(["run", scenario, "-o", tmp_path / "a.h5", "-q", "-j", "1"]).returncode == 0
    scenario.unlink()
    done = crowdsim(["verify", tmp_path / "a.h5", "-j", "2"])
    assert done.returncode == 0 and "identical over" in done.stdout, done.stderr


def test_a_changed_digest_is_found_and_named(tmp_path):
    path = tmp_path / "a.h5"
    assert crowdsim(["run", SCENARIOS / "antipodal-circle.yaml", "-o", path, "-q", "--set", "stop.after=5"]).returncode == 3
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
