"""`--plugin`: the documented example runs by name, is part of the recording,
and `verify` says what it needs.
"""

import re

import pytest

from tests.cli.command import crowdsim
from tests.crowds import ROOT, SCENARIOS

EXAMPLE = ROOT / "docs" / "examples" / "polite.py"
OPTIONS = ["--set", "avoidance=polite", "--set", "stop.after=6"]


def test_the_documented_example_is_short_runs_and_verifies(tmp_path):
    assert len(EXAMPLE.read_text().splitlines()) <= 40
    done = crowdsim(
        ["run", SCENARIOS / "head-on-corridor.yaml", "--plugin", EXAMPLE, *OPTIONS, "-o", tmp_path / "a.h5"]
    )
    # six seconds are too few to arrive
    assert done.returncode == 3 and "Traceback" not in done.stderr, done.stderr
    missing = crowdsim(["verify", tmp_path / "a.h5"])
    assert missing.returncode == 2 and "Traceback" not in missing.stderr
    assert f"crowdsim verify {tmp_path / 'a.h5'} --plugin {EXAMPLE}" in missing.stderr
    assert crowdsim(["verify", tmp_path / "a.h5", "--plugin", EXAMPLE, "-j", "1"]).returncode == 0


@pytest.mark.full
def test_a_changed_plug_in_is_named_where_the_run_differs(tmp_path):
    mine = tmp_path / "polite.py"
    mine.write_text(EXAMPLE.read_text())
    crowdsim(
        ["run", SCENARIOS / "head-on-corridor.yaml", "--plugin", mine, *OPTIONS, "-o", tmp_path / "a.h5"]
    )
    mine.write_text(EXAMPLE.read_text().replace("axis=1) /", "axis=1) / 2 /"))
    done = crowdsim(["verify", tmp_path / "a.h5", "--plugin", mine])
    assert done.returncode == 6, done.stderr
    assert (
        re.search(r'the source of the model "polite" has changed', done.stderr)
        and "Traceback" not in done.stderr
    )


def test_the_parameters_of_a_plug_in_are_listed_and_checked():
    done = crowdsim(["parameters", "avoidance.polite", "--plugin", EXAMPLE])
    assert done.stdout.startswith("avoidance.polite.room = 1 m, in (0, 10]")
    done = crowdsim(
        [
            "validate",
            SCENARIOS / "head-on-corridor.yaml",
            "--plugin",
            EXAMPLE,
            "--set",
            "avoidance={model: polite, room: -1}",
        ]
    )
    assert done.returncode == 2 and "avoidance.room: -1 m is outside (0, 10] m" in done.stderr


def test_a_plug_in_that_cannot_be_loaded_ends_the_command_with_one_message(tmp_path):
    (tmp_path / "bad.py").write_text("import crowdsim\nraise RuntimeError('no licence')\n")
    for verb in ("run", "validate"):
        done = crowdsim([verb, SCENARIOS / "head-on-corridor.yaml", "--plugin", tmp_path / "bad.py"])
        assert (
            done.returncode == 2
            and "bad.py:2: the plug-in cannot be loaded: RuntimeError: no licence" in done.stderr
        )
        assert "Traceback" not in done.stderr
    done = crowdsim(["run", SCENARIOS / "head-on-corridor.yaml", "--set", "avoidance=polite"])
    assert done.returncode == 2 and "--plugin FILE" in done.stderr
