"""`crowdsim bless`: a run is kept, and nothing is overwritten unseen."""

from __future__ import annotations

import json
import shutil

import pytest

from crowdsim.recording.opening import open_run
from crowdsim.regression.golden_recordings import is_golden
from tests.cli.command import crowdsim
from tests.cli.conftest import SMALL


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    (folder / "small.yaml").write_text(SMALL)
    assert (
        crowdsim(["run", folder / "small.yaml", "-o", folder / "a.h5", "-q", "--seed", "3"]).returncode == 0
    )
    return folder / "a.h5"


@pytest.fixture
def run(made, tmp_path):
    shutil.copy(made, tmp_path / "a.h5")
    return tmp_path / "a.h5"


def test_a_run_is_kept_small_traced_and_in_every_tick(run, tmp_path):
    done = crowdsim(["bless", run, "--seconds", "2", "--until", "5"], cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith(
        "runs/golden/small.h5: every column of 40 ticks (2 s), digests until tick 100; "
    ), done.stderr
    golden = tmp_path / "runs" / "golden" / "small.h5"
    with open_run(golden) as recording, open_run(run) as recorded:
        assert (
            is_golden(recording)
            and recording.commit.frames == 41
            and recording.layout.trace
            and recording.header.exact
        )
        assert (
            recording.digests().equals(recorded.digests().iloc[:40])
            and not recording.timings().drop(columns="tick").to_numpy().any()
        )
        assert {"chosen_velocity_x", "corridor_length"} <= set(recording.trajectories().columns)
    verified = crowdsim(["verify", golden, "-j", "2"])
    assert verified.returncode == 0 and verified.stdout.endswith(
        ", and in the digests of later ticks until 100\n"
    )
    assert len(golden.read_bytes()) < 80_000


@pytest.mark.full
def test_a_run_that_is_blessed_again_is_unchanged(run, tmp_path):
    golden = tmp_path / "runs" / "golden" / "small.h5"
    assert crowdsim(["bless", run, "--seconds", "2", "--until", "5"], cwd=tmp_path).returncode == 0
    kept = golden.read_bytes()
    for more in ([], ["--force"], ["-j", "2"]):
        again = crowdsim(["bless", run, "--seconds", "2", "--until", "5", *more], cwd=tmp_path)
        assert (again.returncode, again.stdout) == (0, "runs/golden/small.h5: unchanged\n")
    assert golden.read_bytes() == kept
    golden.unlink()
    assert crowdsim(["bless", run, "--seconds", "2", "--until", "5"], cwd=tmp_path).returncode == 0
    assert golden.read_bytes() == kept  # the same run is the same bytes, whenever it is blessed


def test_what_changes_is_shown_and_nothing_is_replaced_without_force(run, small, tmp_path):
    assert crowdsim(["bless", run], cwd=tmp_path).returncode == 0
    golden = tmp_path / "runs" / "golden" / "small.h5"
    kept = golden.read_bytes()
    assert (
        crowdsim(
            ["run", small, "-o", tmp_path / "b.h5", "-q", "--seed", "3", "--set", "groups.0.speed=1.0"]
        ).returncode
        == 0
    )
    refused = crowdsim(["bless", tmp_path / "b.h5"], cwd=tmp_path)
    assert (
        refused.returncode == 4
        and "runs/golden/small.h5: another run has this name\ntick " in refused.stderr
        and "mean speed m/s: " in refused.stderr
    )
    assert (
        "(agent 1): before " in refused.stderr
        and "--force" in refused.stderr.splitlines()[-1]
        and golden.read_bytes() == kept
    )
    done = crowdsim(["bless", tmp_path / "b.h5", "--force"], cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("changed:\ntick ") and golden.read_bytes() != kept
    answer = json.loads(
        crowdsim(["bless", run, "--name", "other", "--json", "--folder", "kept"], cwd=tmp_path).stdout
    )
    assert (
        answer["ok"]
        and answer["golden"] == "kept/other.h5"
        and answer["is_new"]
        and (tmp_path / "kept" / "other.h5").stat().st_size == answer["bytes"]
    )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["no.h5"], 4, "no.h5: there is no such file"),
        (["a.h5", "--seconds", "0"], 2, "--seconds 0: must be a time above 0 s."),
        (["a.h5", "--seconds", "nan"], 2, "must be a time"),
        (["a.h5", "--seconds", "0.01"], 2, "less than a tick of 0.05 s"),
        (["a.h5", "--folder", "a.h5"], 4, "the folder for golden recordings cannot be made"),
    ],
)
def test_mistakes_are_told_in_one_sentence(run, tmp_path, arguments, code, words):
    done = crowdsim(["bless", *arguments], cwd=tmp_path)
    assert done.returncode == code and words in done.stderr and len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.rglob("golden/*.h5"))


def test_what_cannot_be_run_again_is_not_blessed(run, small, tmp_path):
    assert (
        crowdsim(
            ["run", small, "-o", tmp_path / "clock.h5", "-q", "--set", "budget={milliseconds: 5}"]
        ).returncode
        == 0
    )
    done = crowdsim(["bless", tmp_path / "clock.h5"], cwd=tmp_path)
    assert done.returncode == 2 and "a budget of milliseconds and is another run each time" in done.stderr
    assert crowdsim(["bless", run, "--seconds", "1"], cwd=tmp_path).returncode == 0
    own = crowdsim(["bless", "runs/golden/small.h5"], cwd=tmp_path)
    assert own.returncode == 2 and "is the golden recording itself" in own.stderr


def test_a_run_that_this_version_makes_otherwise_is_not_blessed(run, tmp_path):
    import h5py

    with h5py.File(run, "r+") as file:
        row = file["digests"][30]
        row[3] ^= 1
        file["digests"][30] = row
    done = crowdsim(["bless", run], cwd=tmp_path)
    assert (
        done.returncode == 6
        and "this version makes another run of it\ntick 31: velocity differ" in done.stderr
        and not list(tmp_path.rglob("golden/*.h5"))
    )


@pytest.mark.full
def test_what_is_too_large_is_refused_with_the_seconds_that_fit(tmp_path, small):
    sets = [
        "--set",
        "groups.0.count=1200",
        "--set",
        "groups.0.region={box: [0, 0, 36, 40]}",
        "--set",
        "geometry.walkable={box: [0, 0, 40, 40]}",
        "--set",
        "stop.after=1",
    ]
    assert (
        crowdsim(
            [
                "run",
                small,
                "-o",
                tmp_path / "a.h5",
                "-q",
                *sets,
                "--set",
                "goals.end.exit={box: [39, 0, 40, 40]}",
            ]
        ).returncode
        == 3
    )
    done = crowdsim(["bless", tmp_path / "a.h5"], cwd=tmp_path)
    assert done.returncode == 4 and "every column of 1,200 agents in 20 ticks takes" in done.stderr, (
        done.stderr
    )
    fit = done.stderr.split("--seconds ")[1].split(")")[0]
    assert crowdsim(["bless", tmp_path / "a.h5", "--seconds", fit], cwd=tmp_path).returncode == 0
