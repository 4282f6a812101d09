"""`crowdsim resume` and `crowdsim fork`: runs that were stopped, or killed, go on as if nothing had been."""

from __future__ import annotations

import json
import signal
import time

import pytest

import crowdsim as library
from crowdsim.recording.checkpoint import read_checkpoint
from crowdsim.recording.compare import first_difference
from crowdsim.recording.files import partials_of
from tests.cli.command import crowdsim, start
from tests.cli.test_run import wait_for_partial
from tests.crowds import SCENARIOS

SCENE = SCENARIOS / "bottleneck.yaml"


def same(one, other):
    with library.open_run(one) as a, library.open_run(other) as b:
        return (
            first_difference(a, b) is None
            and a.commit.rows == b.commit.rows
            and a.commit.ticks == b.commit.ticks
        )


def test_a_run_that_the_time_limit_stopped_goes_on(tmp_path):
    few = ["--set", "groups.0.count=40"]
    assert crowdsim(["run", SCENE, "-o", tmp_path / "whole.h5", "-q", *few]).returncode == 0
    stopped = crowdsim(["run", SCENE, "-o", tmp_path / "a.h5", "--time-limit", "0.02", *few])
    assert stopped.returncode == 7 and f"to go on: crowdsim resume {tmp_path / 'a.h5'}" in stopped.stdout
    again = crowdsim(["resume", tmp_path / "a.h5", "--time-limit", "0.02", "-q"])  # stopped once more
    assert again.returncode == 7, again.stderr
    done = crowdsim(["resume", tmp_path / "a.h5"])
    assert (
        done.returncode == 0
        and "all arrived" in done.stdout
        and same(tmp_path / "whole.h5", tmp_path / "a.h5")
    )
    sizes = [(tmp_path / name).stat().st_size for name in ("a.h5", "whole.h5")]
    # written anew with each start, it carries no trace of three parts
    assert sizes[0] <= sizes[1] + 16384, sizes
    assert crowdsim(["verify", tmp_path / "a.h5"]).returncode == 0
    ended = crowdsim(["resume", tmp_path / "a.h5"])
    assert ended.returncode == 2 and "this run came to its end" in ended.stderr


@pytest.mark.full
def test_a_killed_run_goes_on_from_its_last_checkpoint(tmp_path):
    options = [
        *(word for group in range(4) for word in ("--set", f"groups.{group}.count=40")),
        "--set",
        "stop.after=40",
        "-q",
    ]
    assert crowdsim(
        ["run", SCENARIOS / "concourse.yaml", "-o", tmp_path / "whole.h5", *options]
    ).returncode in (0, 3)
    process = start(
        ["run", SCENARIOS / "concourse.yaml", "-o", tmp_path / "a.h5", "--checkpoint-every", "1s", *options]
    )
    wait_for_partial(tmp_path, process)
    limit = time.monotonic() + 60.0
    while len(list(tmp_path.glob("a.*.checkpoint"))) < 2 and time.monotonic() < limit:
        time.sleep(0.02)
    refused = crowdsim(["resume", tmp_path / "a.h5"])
    assert refused.returncode == 2 and f"this run is still going on (process {process.pid})" in refused.stderr
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (hidden,) = partials_of(tmp_path / "a.h5")
    assert not (tmp_path / "a.h5").exists()
    missing = crowdsim(["info", tmp_path / "a.h5"])
    assert (
        missing.returncode == 4
        and f"crowdsim resume {tmp_path / 'a.h5'}" in missing.stderr
        and f"crowdsim recover {hidden}" in missing.stderr
    )
    done = crowdsim(["resume", tmp_path / "a.h5", "-q"])
    assert done.returncode in (0, 3), done.stderr
    assert same(tmp_path / "whole.h5", tmp_path / "a.h5") and partials_of(tmp_path / "a.h5") == []


def test_what_is_left_of_a_killed_run_replaces_no_other_recording(small, tmp_path):
    """Two runs of one name: the first was killed, the second came to its end."""
    assert crowdsim(["run", small, "-o", tmp_path / "a.h5", "-q", "--checkpoint-every", "2"]).returncode == 0
    with library.open_run(tmp_path / "a.h5") as run:
        hidden = tmp_path / f".a.h5.{run.header.run_id}.partial.h5"
    (tmp_path / "a.h5").rename(hidden)
    assert crowdsim(["run", small, "-o", tmp_path / "a.h5", "-q", "--seed", "5"]).returncode == 0
    finished = (tmp_path / "a.h5").read_bytes()
    refused = crowdsim(["resume", tmp_path / "a.h5", "--at", "100"])
    assert refused.returncode == 4 and "there is no checkpoint of this run beside it" in refused.stderr
    assert (tmp_path / "a.h5").read_bytes() == finished and hidden.exists()


def test_at_goes_back_to_a_checkpoint_and_out_leaves_the_old_recording(small, tmp_path):
    assert crowdsim(["run", small, "-o", tmp_path / "a.h5", "-q", "--checkpoint-every", "2"]).returncode == 0
    before = (tmp_path / "a.h5").read_bytes()
    done = crowdsim(["resume", tmp_path / "a.h5", "--at", "4.9", "-o", tmp_path / "b.h5", "--json"])
    answer = json.loads(done.stdout)
    assert done.returncode == 0 and answer["ok"] and same(tmp_path / "a.h5", tmp_path / "b.h5")
    assert (tmp_path / "a.h5").read_bytes() == before
    twice = crowdsim(["resume", tmp_path / "a.h5", "--at", "4.9", "-o", tmp_path / "b.h5", "-q"])
    assert twice.returncode == 0 and same(tmp_path / "a.h5", tmp_path / "b.h5")
    assert sorted(path.name for path in tmp_path.glob("*.h5")) == ["a.h5", "b.h5"]
    early = crowdsim(["resume", tmp_path / "a.h5", "--at", "0.5"])
    assert (
        early.returncode == 4
        and "has no checkpoint at or before 0.5 s; those that there are stand at" in early.stderr
    )


def test_a_damaged_checkpoint_is_left_aside_where_there_is_another(small, tmp_path):
    assert crowdsim(["run", small, "-o", tmp_path / "a.h5", "-q", "--checkpoint-every", "2"]).returncode == 0
    paths = sorted(tmp_path.glob("a.*.checkpoint"), key=lambda path: read_checkpoint(path).tick)
    assert len(paths) == 2
    for number, path in enumerate(reversed(paths)):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 4
        path.write_bytes(data)
        done = crowdsim(["resume", tmp_path / "a.h5", "--at", "100", "-o", tmp_path / f"{number}.h5", "-q"])
        assert f"{path}: is damaged" in done.stderr and done.stderr.count("\n") == number + 1
        assert done.returncode == (0 if number == 0 else 4)
    assert same(tmp_path / "a.h5", tmp_path / "0.h5") and not (tmp_path / "1.h5").exists()


def test_of_two_checkpoints_of_one_tick_a_run_goes_on_from_either(small, tmp_path):
    """A time limit that ends a run in the tick of a checkpoint takes another one."""
    assert crowdsim(["run", small, "-o", tmp_path / "a.h5", "-q", "--checkpoint-every", "2"]).returncode == 0
    first, second = sorted(tmp_path.glob("a.*.checkpoint"))
    second.write_bytes(first.read_bytes())
    done = crowdsim(["resume", tmp_path / "a.h5", "--at", "100", "-o", tmp_path / "b.h5", "-q"])
    assert (done.returncode, done.stderr) == (0, "")
    assert same(tmp_path / "a.h5", tmp_path / "b.h5")


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["resume", "no.h5"], 4, "no.h5"),
        (["resume", "a.h5"], 2, "this run came to its end"),
        (["resume", "a.h5", "--at", "1"], 4, "there is no checkpoint of this run beside it"),
        (["fork", "a.h5", "-o", "b.h5"], 4, "a.h5: is no checkpoint of crowdsim"),
        (["fork", "no.checkpoint", "-o", "b.h5"], 4, "cannot be read"),
        (["run", "small.yaml", "--checkpoint-every", "0"], 2, "above 0, for example 10s"),
        (["run", "small.yaml", "--checkpoint-every", "ten"], 2, "above 0, for example 10s"),
        (
            ["run", "small.yaml", "--no-record", "--checkpoint-every", "5s"],
            2,
            "--no-record leaves nothing to do for --checkpoint-every",
        ),
    ],
)
def test_mistakes_are_told_in_one_sentence(small, tmp_path, arguments, code, words):
    assert crowdsim(["run", small, "-o", tmp_path / "a.h5", "-q"]).returncode == 0
    done = crowdsim(arguments, cwd=tmp_path)
    assert (
        done.returncode == code
        and words in done.stderr
        and "Traceback" not in done.stderr
        and len(done.stderr.splitlines()) == 1
    )
    assert not (tmp_path / "b.h5").exists()


def test_forks_of_one_warm_up(tmp_path):
    stopped = crowdsim(
        [
            "run",
            SCENE,
            "-o",
            tmp_path / "a.h5",
            "-q",
            "--set",
            "stop.after=5",
            "--set",
            "groups.0.count=40",
            "--checkpoint-every",
            "4s",
        ]
    )
    assert stopped.returncode == 3
    (checkpoint,) = tmp_path.glob("a.*.checkpoint")
    ends = {}
    for model in ("orca", "clearpath"):
        done = crowdsim(
            [
                "fork",
                checkpoint,
                "-o",
                tmp_path / f"{model}.h5",
                "--set",
                f"avoidance={model}",
                "--set",
                "stop.after=120",
                "--json",
            ]
        )
        answer = json.loads(done.stdout)
        assert done.returncode == 0 and answer["arrived"] == answer["agents"], done.stderr
        assert answer["begun_s"] == 4.0 < answer["simulated_s"]
        ends[model] = answer["digest"]
    assert ends["orca"] != ends["clearpath"]
    refused = crowdsim(["verify", tmp_path / "orca.h5"])
    assert refused.returncode == 2 and "goes on from tick 80 of another run" in refused.stderr
    refused = crowdsim(["fork", checkpoint, "-o", tmp_path / "c.h5", "--set", "groups.0.count=5"])
    assert (
        refused.returncode == 2
        and "groups cannot change on the way" in refused.stderr
        and not (tmp_path / "c.h5").exists()
    )
