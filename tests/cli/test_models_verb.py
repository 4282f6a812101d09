"""`crowdsim models`: the list, the table of one scene under several models,
and what it says where something is wrong.
"""

import json
import math
import os
import subprocess
import sys

import pytest

from tests.cli.command import crowdsim, environment
from tests.crowds import ROOT, SCENARIOS

EXAMPLE = ROOT / "docs" / "examples" / "polite.py"
SHORT = ["--set", "stop.after=20"]


def test_without_a_scenario_the_models_are_listed():
    done = crowdsim(["models", "--plugin", EXAMPLE])
    lines = {line.split()[0]: line for line in done.stdout.splitlines()[1:]}
    assert (
        {"none", "orca", "polite"} <= set(lines)
        and str(EXAMPLE) in lines["polite"]
        and "crowdsim" in lines["orca"]
    )
    listed = {row["name"]: row for row in json.loads(crowdsim(["models", "--json"]).stdout)}
    assert listed["orca"]["origin"] == "crowdsim" and listed["orca"]["about"]


@pytest.mark.full
def test_a_scene_under_several_models_a_plug_in_among_them():
    # further ones would part even those that do not avoid each other
    three_passes = ["--set", "bodies.further_passes=0"]
    done = crowdsim(
        [
            "models",
            SCENARIOS / "antipodal-circle.yaml",
            "--models",
            "orca,none,polite",
            "--plugin",
            EXAMPLE,
            *SHORT,
            *three_passes,
            "--json",
        ]
    )
    assert done.returncode == 0, done.stderr
    rows = {row["model"]: row for row in json.loads(done.stdout)["runs"]}
    assert list(rows) == ["orca", "none", "polite"]
    assert (
        rows["orca"]["arrived"] == 24
        and 1.0 <= rows["orca"]["time_over_ideal"] < 2.0
        and rows["orca"]["stuck_agent_s"] == 0.0
    )
    assert rows["none"]["deepest_overlap_m"] > 0.05 > rows["orca"]["deepest_overlap_m"]
    assert all(row["us_per_agent_tick"] > 0.0 and row["failed"] == "" for row in rows.values())
    assert (
        rows["none"]["overlaps"] > 0
        and rows["orca"]["path_over_optimal"] >= 0.99
        and rows["orca"]["steerbench_score"] > rows["orca"]["last_arrival_s"]
    )


def test_the_table_puts_seeds_together_and_is_markdown_on_demand():
    done = crowdsim(
        ["models", SCENARIOS / "antipodal-circle.yaml", "-m", "orca", "--seeds", "1:3", "--markdown", *SHORT]
    )
    header, rule, row = done.stdout.strip().splitlines()
    assert (
        header.startswith("| scene | model | arrived |")
        and set(rule) <= set("| -:")
        and row.startswith("| antipodal-circle | orca | 48 of 48 | 1.")
        and "±" in row
    )


def test_json_has_every_run_and_the_spread_over_seeds():
    done = crowdsim(
        [
            "models",
            SCENARIOS / "antipodal-circle.yaml",
            "-m",
            "orca,hrvo",
            "--seeds",
            "0,5",
            "--json",
            "--set",
            "stop.after=3",
        ]
    )
    told = json.loads(done.stdout)
    assert [(run["model"], run["seed"]) for run in told["runs"]] == [
        ("orca", 0),
        ("orca", 5),
        ("hrvo", 0),
        ("hrvo", 5),
    ]
    for model, part in zip(("orca", "hrvo"), told["over_seeds"]):
        first, second = (run["mean_acceleration_m_s2"] for run in told["runs"] if run["model"] == model)
        assert part["model"] == model and part["seeds"] == [0, 5]
        assert math.isclose(part["mean"]["mean_acceleration_m_s2"], 0.5 * (first + second))
        assert math.isclose(
            part["deviation"]["mean_acceleration_m_s2"], abs(first - second) / math.sqrt(2.0), abs_tol=1e-12
        )


@pytest.mark.full
def test_the_picture_has_the_runs_side_by_side_and_replaces_only_one_of_ours(tmp_path):
    pytest.importorskip("matplotlib")
    words = [
        "models",
        SCENARIOS / "antipodal-circle.yaml",
        "-m",
        "orca,none",
        "--set",
        "stop.after=2",
        "--picture",
        tmp_path / "both.png",
    ]
    done = crowdsim(words)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == str(tmp_path / "both.png"), done.stderr
    assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG") and [
        file.name for file in tmp_path.iterdir()
    ] == ["both.png"]
    assert crowdsim(words).returncode == 0
    (tmp_path / "both.png").write_bytes(b"a picture of another program")
    again = crowdsim(words)
    assert again.returncode == 2 and "has no mark of crowdsim" in again.stderr and again.stdout == ""


@pytest.mark.full
def test_without_matplotlib_a_picture_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError('not here')")
    words = ["models", str(SCENARIOS / "antipodal-circle.yaml"), "--picture", str(tmp_path / "both.svg")]
    path = os.pathsep.join((str(tmp_path), str(ROOT)))
    done = subprocess.run(
        [sys.executable, "-m", "crowdsim.cli", *words],
        env=environment(PYTHONPATH=path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (
        done.returncode == 2
        and "pip install 'crowdsim[plot]'" in done.stderr
        and "Traceback" not in done.stderr
        and done.stdout == ""
    )


def test_a_group_with_a_model_of_its_own_keeps_it_and_this_is_noted(tmp_path):
    text = (
        (SCENARIOS / "head-on-corridor.yaml")
        .read_text()
        .replace("name: eastbound,", "name: eastbound, avoidance: none,")
    )
    (tmp_path / "own.yaml").write_text(text)
    done = crowdsim(["models", tmp_path / "own.yaml", "-m", "orca,none", "--set", "stop.after=2"])
    assert done.returncode == 0 and done.stderr.count("eastbound keeps a model of its own") == 1


def test_a_model_that_breaks_a_promise_does_not_end_the_comparison(tmp_path):
    (tmp_path / "bad.py").write_text(
        EXAMPLE.read_text().replace("wish * share", "wish * share * 9").replace('"polite"', '"hasty"')
    )
    done = crowdsim(
        [
            "models",
            SCENARIOS / "antipodal-circle.yaml",
            "-m",
            "hasty,orca",
            "--plugin",
            tmp_path / "bad.py",
            *SHORT,
        ]
    )
    assert (
        done.returncode == 2
        and "antipodal-circle, hasty, seed 1: tick 1, agent #0: " in done.stderr
        and "24 of 24" in done.stdout
    )


def test_mistakes_are_told_before_anything_runs():
    cases = (
        (["-m", "orca,orcha"], "orcha"),
        (["--seeds", "1,x"], "whole numbers like 1,5,7"),
        (["--seeds", "5:5"], "0 to 9"),
        (["--picture", "both.txt"], "ends in .png"),
        (["--set", "tick=7"], "tick"),
    )
    for options, said in cases:
        done = crowdsim(["models", SCENARIOS / "antipodal-circle.yaml", *options])
        assert (
            done.returncode == 2
            and said in done.stderr
            and done.stdout == ""
            and "Traceback" not in done.stderr
        )
