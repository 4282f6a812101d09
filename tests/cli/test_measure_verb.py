"""`crowdsim measure`: tables for people, JSON for programs, CSV files for everything else,
and every mistake in one sentence.
"""

from __future__ import annotations

import json

import pandas as pd
import pytest

from tests.cli.command import crowdsim
from tests.crowds import ROOT

ROWS = "".join(
    f"{person} {frame} {100 * person} {10 * frame} 170\n" for person in (1, 2) for frame in range(21)
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    from tests.cli.conftest import SMALL

    folder = tmp_path_factory.mktemp("measured")
    (folder / "small.yaml").write_text(SMALL)
    assert crowdsim(["run", folder / "small.yaml", "-q", "-o", folder / "run.h5"]).returncode == 0
    return folder / "run.h5"


def test_a_run_is_shown_with_its_exits_lines_and_areas(run):
    done = crowdsim(["measure", run, "--line", "middle=5,0,5,4", "--line", "end", "--area", "2,0,4,4"])
    assert done.returncode == 0 and done.stderr == ""
    for part in (
        "path over shortest path",
        "SteerBench score a person",
        "reached  kind  people",
        "middle",
        "flow 1/(m s)",
        "densest 1/m2",
        "2,0,4,4",
    ):
        assert part in done.stdout, part


def test_json_has_the_same_and_only_numbers(run):
    facts = json.loads(
        crowdsim(
            ["measure", run, "--json", "--line", "middle=5,0,5,4", "--line", "end", "--area", "box=2,0,4,4"]
        ).stdout
    )
    assert (
        facts["summary"]["people"] == facts["summary"]["arrived"] == 8
        and 0.99 < facts["summary"]["mean_detour"] < 1.2
    )
    assert (
        facts["exits"][0]["people"] == 8
        and facts["lines"][0]["forwards"] == 8
        and facts["lines"][1]["forwards"] == 8
    )
    assert facts["areas"][0]["area"] == "box" and facts["areas"][0]["most"] <= 8


def test_csv_files_hold_one_measure_each_and_are_not_replaced_unasked(run, tmp_path):
    command = ["measure", run, "--csv", tmp_path / "out", "--line", "middle=5,0,5,4", "--area", "2,0,4,4"]
    assert crowdsim(command).returncode == 0
    names = {file.name for file in (tmp_path / "out").iterdir()}
    assert names == {f"{name}.csv" for name in (
        "paths", "speeds", "evacuation", "detours", "arrivals", "exits", "trips", "overlaps", "scores",
        "line-middle",
        "flow-middle", "area-2-0-4-4", "stays-2-0-4-4",
    )}  # fmt: skip
    assert (
        len(pd.read_csv(tmp_path / "out" / "paths.csv")) == 8
        and pd.read_csv(tmp_path / "out" / "line-middle.csv")["direction"].eq(1).all()
    )
    again = crowdsim(command)
    assert (
        again.returncode == 2
        and "holds paths.csv, speeds.csv, evacuation.csv and more already. --force replaces them."
        in again.stderr
    )
    assert crowdsim([*command, "--force"]).returncode == 0


def test_measured_people_are_measured_too(tmp_path):
    (tmp_path / "people.txt").write_text(ROWS)
    facts = json.loads(
        crowdsim(
            [
                "measure",
                tmp_path / "people.txt",
                "--fps",
                "10",
                "--unit",
                "cm",
                "--line",
                "0,1,3,1",
                "--radius",
                "0.2",
                "--json",
            ]
        ).stdout
    )
    assert (
        facts["summary"]["people"] == 2
        and facts["summary"]["mean_speed_m_s"] == pytest.approx(1.0)
        and facts["summary"]["overlaps"] == 0
    )
    assert facts["lines"][0]["backwards"] == 2 and facts["exits"] == [] and "arrived" not in facts["summary"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--line", "1,2,3"], 2, 'The line "1,2,3" has 3 numbers'),
        (["--line", "edn"], 2, 'The scenario names no area "edn". Did you mean "end"?'),
        (["--area", "0,0,0,0"], 2, "has to lie left of and below"),
        (["--area", "90,90,91,91"], 2, 'none of the area "90,90,91,91" is walkable'),
        (
            ["--line", "a=0,0,1,1", "--line", "a=0,0,2,2"],
            2,
            '--line "a" is given twice. Give each a name of its own',
        ),
        (["--line", "a b=0,0,1,1", "--line", "a/b=0,0,2,2", "--csv", "{folder}/x"], 2, "make one file name"),
        (["--csv", "{run}"], 2, "is a file. --csv takes a folder"),
        (["--fps", "10"], 2, "--fps and --unit are of measured people"),
        (["--radius", "0"], 2, "--radius is 0 m, but a person is wider than 0 m."),
        (["--deeper-than", "inf"], 2, "--deeper-than is inf"),
    ],
)
def test_mistakes_are_one_sentence(run, tmp_path, arguments, code, message):
    done = crowdsim(["measure", run, *(argument.format(folder=tmp_path, run=run) for argument in arguments)])
    assert (
        done.returncode == code
        and message in done.stderr
        and done.stderr.count("\n") == 1
        and done.stdout == ""
    )


@pytest.mark.full
def test_a_run_of_a_model_of_ones_own_is_measured_and_drawn_where_the_model_is_not_at_hand(tmp_path):
    from tests.cli.conftest import SMALL

    (tmp_path / "small.yaml").write_text(SMALL + "avoidance: polite\n")
    plugin = ROOT / "docs" / "examples" / "polite.py"
    assert (
        crowdsim(
            [
                "run",
                tmp_path / "small.yaml",
                "--plugin",
                plugin,
                "-q",
                "-o",
                tmp_path / "run.h5",
                "--set",
                "stop.after=1",
            ]
        ).returncode
        == 3
    )
    for verb in ("measure", "deadlocks", "plot", "view"):
        done = crowdsim([verb, tmp_path / "run.h5"])
        assert (done.returncode, done.stderr) == (0, ""), verb
    assert {path.suffix for path in tmp_path.iterdir()} == {".yaml", ".h5", ".png", ".html"}


def test_of_many_goals_the_most_used_are_shown_and_all_are_in_the_json(tmp_path):
    agents = "".join(
        f"      - {{position: [1, {k + 1}], goals: [{{point: [3, {k + 1}], arrive_within: 0.3}}]}}\n"
        for k in range(23)
    )
    text = (
        f"version: 1\nname: many\nstop: {{after: 9, when: all_arrived}}\n"
        f"geometry: {{walkable: {{box: [0, 0, 9, 25]}}}}\ngroups:\n  - name: all\n    agents:\n{agents}"
    )
    (tmp_path / "many.yaml").write_text(text)
    assert crowdsim(["run", tmp_path / "many.yaml", "-q", "-o", tmp_path / "run.h5"]).returncode == 0
    shown = crowdsim(["measure", tmp_path / "run.h5"]).stdout
    assert shown.count(" within 0.3 m") == 20 and "3 more, less used: --csv or --json has them" in shown
    assert len(json.loads(crowdsim(["measure", tmp_path / "run.h5", "--json"]).stdout)["exits"]) == 23


def test_a_run_of_nobody_is_measured_too(tmp_path):
    text = (
        "version: 1\nname: nobody\nstop: {after: 1, when: never}\n"
        "geometry: {walkable: {box: [0, 0, 5, 5]}}\ngroups: []\n"
    )
    (tmp_path / "nobody.yaml").write_text(text)
    assert crowdsim(["run", tmp_path / "nobody.yaml", "-q", "-o", tmp_path / "run.h5"]).returncode == 0
    done = crowdsim(
        [
            "measure",
            tmp_path / "run.h5",
            "--line",
            "1,1,2,2",
            "--area",
            "0,0,1,1",
            "--json",
            "--csv",
            tmp_path / "out",
        ]
    )
    facts = json.loads(done.stdout)
    assert (
        facts["summary"]["people"] == 0
        and facts["summary"]["mean_detour"] is None
        and len(facts["files"]) == 13
    )


def test_files_that_are_none_are_one_sentence(tmp_path):
    (tmp_path / "bad.txt").write_text("not a table\n")
    (tmp_path / "bad.h5").write_bytes(b"nothing")
    for name in ("bad.txt", "bad.h5", "gone.txt", "gone.h5"):
        done = crowdsim(["measure", tmp_path / name, "--json"])
        assert done.returncode == 4 and json.loads(done.stdout)["ok"] is False and done.stderr == ""
