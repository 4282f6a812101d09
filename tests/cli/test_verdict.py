"""The verdict as people read it: the same table after a run and in `info`,
from any file without a traceback.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from crowdsim.cli.verdict import is_verdict, left_text, verdict_rows, verdict_text
from tests.cli.command import crowdsim
from tests.crowds import SCENARIOS
from tests.recording.crowd import record

RESULT: dict[str, Any] = {
    "scenario": "hall",
    "ended": "time is up",
    "agents": 40,
    "arrived": 30,
    "standing": 12,
    "arrivals": {"east": 20, "(1, 2) within 0.3 m": 6, "(3, 4) within 0.3 m": 4},
    "not_arrived": 4,
    "reasons": {"stuck: head-on": 3, "on its way": 1},
    "left": [
        {
            "agent": "crowd[3]",
            "x": 1.0,
            "y": 2.126,
            "reason": "stuck: head-on",
            "stuck_for_s": 32.5,
            "waits_for": "crowd[4]",
        }
    ],
    "deadlocked": {"head-on": 3, "arch at a gap": 1},
    "last_arrival_s": 8.5,
    "simulated_s": 60.0,
    "wall_s": 2.0,
    "ticks": 1200,
    "deepest_overlap_m": 0.000134,
    "overlap_pairs_ticks": 3,
    "symmetries_broken": 1,
    "strays": 2,
    "flows": [{"exit": "east", "people": 20, "width_m": 1.2, "per_m_s": 3.849}],
    "speed_law": "none",
    "nudges": 1,
    "replans": {"agents ahead": 3, "blocked": 1},
    "steered": 5,
    "expansions": 12345,
    "longest_wait_s": 2.5,
    "ms_per_tick": {"Avoid": 0.5, "Walk": 0.25},
    "worst_tick_ms": 3.21,
    "digest": "0123456789abcdef",
}


def test_every_line_of_the_table():
    assert (
        verdict_text(RESULT, 0.05, Path("runs/hall.h5"))
        == """\
hall: 4 did not arrive
ended        time is up at 60 s (1,200 ticks of 0.05 s)
arrived      30 of 34, the last at 8.5 s
  by goal    east 20, 10 at 2 points of their own
not arrived  3 stuck: head-on, 1 on its way
deadlocks    3 head-on, 1 arch at a gap (stuck for 30 s)
flow         3.8 persons/(m s) through east, 1.20 m wide; measured people: 1.2 to 2.3; not calibrated for flow
standing     12 without a further goal
overlaps     deepest 0.13 mm
symmetry     broken once
pushed away  2 times so far off the path that a new one was asked for
asked aside  once
new paths    3 times agents ahead, once blocked
steered      5 times by a program
paths        12,345 expansions, longest wait 2.5 s
time         2.00 s, 30.0 x real time; worst tick 3.2 ms
  slowest    Avoid 0.50 ms, Walk 0.25 ms a tick
digest       0123456789abcdef
recording    runs/hall.h5

agent     place (m)     reason          stuck for  waits for
crowd[3]  (1.00, 2.13)  stuck: head-on  32.5 s     crowd[4]
and 3 more

warning: a path request was open for 2.5 s; a larger budget (budget: {work: ...}) answers sooner

warning: through east 3.8 persons get a second and metre, 1.7 times as many as people at most do: \
this run is too fast to plan with; speed_density: weidmann slows crowds down as people do \
(docs/learn/models.md)"""
    )


@pytest.mark.parametrize(
    ("flow", "times"), [(2.34, None), (2.36, "1.03 times"), (2.6, "1.1 times"), (9.2, "4 times")]
)
def test_a_run_that_is_too_fast_is_warned_of_as_often_as_the_shown_figure_is_above_what_people_do(
    flow, times
):
    text = verdict_text(
        RESULT | {"flows": [{"exit": "east", "people": 20, "width_m": 1.2, "per_m_s": flow}]}, 0.05, None
    )
    assert (f", {times} as many as people at most do" in text) if times else ("too fast" not in text)


def test_lines_with_nothing_to_say_are_left_out():
    quiet = RESULT | {
        "arrived": 0, "not_arrived": 0, "standing": 40, "left": [], "arrivals": {}, "last_arrival_s": None,
        "symmetries_broken": 0, "strays": 0, "steered": 0, "nudges": 0, "replans": {}, "deadlocked": {},
        "flows": [], "longest_wait_s": 0.0, "deepest_overlap_m": 0.0, "wall_s": 0.0, "ms_per_tick": {},
    }  # fmt: skip
    assert [name for name, _ in verdict_rows(quiet, 0.05)] == [
        "ended",
        "arrived",
        "standing",
        "overlaps",
        "paths",
        "time",
    ]
    assert (
        verdict_text(quiet, 0.05, None).startswith("hall: no agent had a goal\n") and left_text(quiet) == ""
    )


def test_many_goals_are_counted_and_no_line_is_wider_than_the_screen(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    many = RESULT | {"arrivals": {f"exit number {number}": 10 for number in range(30)}}
    text = verdict_text(many, 0.05, Path("runs") / ("a long name " * 8))
    assert "exit number 7 10, 220 at 22 more" in " ".join(text.split())
    lines = text.splitlines()
    assert all(len(line) <= 80 or line.startswith(("recording", "warning")) for line in lines)
    assert f"recording    {Path('runs') / ('a long name ' * 8)}" in lines  # to be copied in one piece


def test_in_eighty_columns_one_sees_the_reason_and_what_is_waited_for(monkeypatch):
    """Long names go on in the next line; where there is no terminal every agent is one line."""
    monkeypatch.setenv("COLUMNS", "80")
    left = {
        "agent": "eastbound-commuters-of-the-morning[12]",
        "x": 103.25,
        "y": 44.25,
        "reason": "stuck: infeasible avoidance",
        "stuck_for_s": 107.5,
        "waits_for": "westbound-commuters-of-the-morning[3]",
    }
    text = left_text(RESULT | {"left": [left]})
    assert text.splitlines()[3] == (
        "eastbound-commuters-of-the-morning[12]  (103.25, 44.25)  stuck: infeasible avoidance  107.5 s    "
        "westbound-commuters-of-the-morning[3]"
    )
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    table = left_text(RESULT | {"left": [left]}).split("\n\n")[1].splitlines()
    assert max(map(len, table)) <= 80
    assert table[:5] == [
        "agent             place (m)        reason            stuck for  waits for",
        "eastbound-        (103.25, 44.25)  stuck:            107.5 s    westbound-",
        "commuters-of-                      infeasible                   commuters-of-",
        "the-morning[12]                    avoidance                    the-morning[3]",
        "and 3 more",
    ]


def test_info_shows_the_table_that_run_has_printed(tmp_path):
    ran = crowdsim(
        ["run", SCENARIOS / "four-way-crossing.yaml", "-o", tmp_path / "a.h5", "--set", "stop.after=20"]
    )
    shown = crowdsim(["info", tmp_path / "a.h5"])
    assert (ran.returncode, shown.returncode) == (3, 0)
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    for line in ran.stdout.splitlines()[1:]:
        assert line.startswith("recording") or " ".join(line.split()) in lines, line
    assert "{" not in shown.stdout


@pytest.mark.parametrize(
    "strange",
    [
        {}, {"ended": 3}, {"arrivals": [1, 2]}, {"arrivals": {"east": "many"}}, {"left": "nobody"},
        {"left": [{"x": "far"}]}, {"left": [{"x": 1, "y": 2, "stuck_for_s": 0}]}, {"ticks": None},
        {"ms_per_tick": 4}, {"last_arrival_s": "late"}, {"reasons": None}, {"flows": 3},
        {"flows": [{"exit": "east"}]}, {"speed_law": None},
    ],
)  # fmt: skip
def test_what_is_no_verdict_of_a_run_is_not_taken_for_one(strange):
    assert is_verdict(RESULT) and is_verdict(json.loads(json.dumps(RESULT)))
    assert not is_verdict(
        {name: strange.get(name, value) for name, value in RESULT.items()} if strange else {}
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "result",
    [
        [1, 2],
        "fine",
        None,
        7,
        {"ended": "well", "steered": ["often"], "speed": float("nan")},
        {"left": [[]], "arrivals": 3},
    ],
)
def test_info_shows_a_recording_with_a_strange_verdict_and_refuses_one_that_is_no_table(result, tmp_path):
    path = record(tmp_path / "run.h5", agents=5, ticks=10, verdict={"note": "x" * 200})
    with h5py.File(path, "r+") as file:
        words = json.loads(file["verdict"][:].tobytes())
        text = json.dumps(words | {"result": result}).encode()
        size = len(file["verdict"])
        assert len(text) <= size
        file["verdict"][:] = np.frombuffer(text.ljust(size), dtype=np.uint8)
    for options in ([], ["--json"]):
        done = crowdsim(["info", path, *options])
        if isinstance(result, dict):
            assert (done.returncode, done.stderr) == (0, "")
        else:
            said = done.stdout + done.stderr  # with --json the error is in the answer
            assert done.returncode == 4 and "its verdict is no table" in said and "Traceback" not in said
    if isinstance(result, dict):
        assert json.loads(done.stdout)["agents"] == 5
