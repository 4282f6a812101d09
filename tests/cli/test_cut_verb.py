"""`crowdsim cut`: a part of a run that all verbs which look at runs read, and that no verb runs again."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from crowdsim.recording.opening import open_run
from tests.cli.command import crowdsim, environment

SCENE = {
    "version": 1,
    "name": "two rooms",
    "tick": 0.1,
    "stop": {"after": 6},
    "geometry": {
        "walkable": {"box": [0, 0, 12, 4]},
        "areas": [{"name": "door", "area": {"box": [5, 0, 6, 4]}}],
    },
    "goals": {"end": {"exit": {"box": [11.5, 0, 12, 4]}}, "there": {"region": {"box": [1, 1, 2, 3]}}},
    "groups": [
        {"name": "crowd", "count": 8, "region": {"box": [0, 0, 3, 4]}, "goals": "end"},
        {"name": "other", "count": 3, "region": {"box": [8, 0, 10, 4]}, "goals": "there"},
        {"name": "standing", "count": 2, "region": {"box": [10, 0, 11, 4]}},
    ],
    "events": [{"at": 0.5, "close": "door"}, {"at": 1.0, "open": "door"}],
    "measures": {"gate": {"line": [[6, 0], [6, 4]]}, "room": {"area": {"box": [6, 0, 9, 4]}}},
    "record": {"explain": ["other"], "rate": 10},
}


STEERED = """
import crowdsim
with crowdsim.Simulation(crowdsim.load_scenario("scene.yaml"), out="run.h5") as run:
    while run.tick < 20:
        run.step()
    run.set_goal([1, 2], "there")
    run.run()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a run that a program steered, and a cut of it."""
    folder = tmp_path_factory.mktemp("cut")
    (folder / "scene.yaml").write_text(json.dumps(SCENE))
    subprocess.run([sys.executable, "-c", STEERED], cwd=folder, env=environment(), check=True)
    done = crowdsim(["cut", folder / "run.h5", folder / "part.h5", "--from", "2", "--region", "4,0,9,4"])
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_it_says_what_it_made(folder, tmp_path):
    arguments = ["--from", "2", "--to", "4", "--region", "door", "--group", "crowd", "--json"]
    done = crowdsim(["cut", folder / "run.h5", tmp_path / "door.h5", *arguments])
    facts = json.loads(done.stdout)
    with open_run(tmp_path / "door.h5") as cut:
        rows, frames, events = cut.trajectories(), cut.frames(), cut.events()
    assert (done.returncode, done.stderr) == (0, "")
    assert facts["ok"] and facts["rows"] == len(rows) > 0 and facts["agents"] == rows["id"].nunique()
    assert facts["frames"] == len(frames) == 21 and facts["events"] == len(events)
    assert (facts["from_s"], facts["until_s"]) == (2.0, 4.0) and facts["path"].endswith("door.h5")
    assert rows["x"].between(5.0, 6.0).all()


@pytest.mark.parametrize(
    "words",
    [
        ["info"], ["measure"], ["measure", "--area", "6,0,8,4", "--line", "6,0,6,4"], ["deadlocks", "--all"],
        ["budget"], ["plot", "--force"], ["plot", "--show", "all", "--force"], ["view", "--force"],
        ["plot", "--explain", "other[0]", "--at", "3", "--force"], ["export", "--force"],
        ["export", "-f", "sqlite", "--force"], ["export", "-f", "pedpy", "--force"],
        ["migrate"], ["cut", "again.h5", "--group", "other", "--force"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_verbs_that_look_at_runs_read_it(folder, words):
    done = crowdsim([words[0], "part.h5", *words[1:]], cwd=folder)
    assert done.returncode == 0 and done.stderr == "", done.stderr


@pytest.mark.parametrize(
    "words",
    [["verify"], ["resume"], ["resume", "--at", "0"], ["bless"], ["verify", "--budget-from"]],
    ids=" ".join,
)
def test_verbs_that_run_a_run_again_refuse_it_with_the_reason(folder, words):
    done = crowdsim([words[0], *words[1:], "part.h5"], cwd=folder)
    assert done.returncode == 2 and done.stdout == ""
    assert "is a part that was cut out of the recording run.h5 (run " in done.stderr
    assert "the rest of the run is missing" in done.stderr and done.stderr.count("\n") == 1


def test_info_says_what_it_is_cut_out_of(folder):
    crowdsim(["cut", "part.h5", "twice.h5", "--to", "5", "--group", "crowd"], cwd=folder)
    with open_run(folder / "run.h5") as run:
        digest, run_id = f"{run.run_digest:016x}", run.header.run_id
    told = crowdsim(["info", "twice.h5"], cwd=folder).stdout
    assert f"run.h5 (run {run_id}, digest {digest}): from 2 s; region POLYGON" in " ".join(told.split())
    assert "until 5 s; groups crowd" in " ".join(told.split()) and "finished (cut out of part.h5)" in told
    assert "length from 2 s until 5 s, 31 frames, 10 a second" in " ".join(told.split())
    facts = json.loads(crowdsim(["info", "twice.h5", "--json"], cwd=folder).stdout)
    assert facts["cut"]["groups"] == ["crowd"] and facts["cut"]["of"]["run_id"] == run_id
    assert facts["cut"]["run_digest"] == facts["cut"]["of"]["run_digest"] == digest
    assert json.loads(crowdsim(["info", "run.h5", "--json"], cwd=folder).stdout)["cut"] is None


def test_cuts_of_two_runs_are_compared_by_what_they_keep(folder):
    crowdsim(["run", "scene.yaml", "-q", "-o", "free.h5"], cwd=folder)
    for name, bounds in (("early", ["--to", "2"]), ("late", ["--from", "3"])):
        for source in ("run", "free"):
            done = crowdsim(["cut", f"{source}.h5", f"{source}-{name}.h5", *bounds, "--force"], cwd=folder)
            assert done.returncode == 0
    same = crowdsim(["compare", "run-early.h5", "free-early.h5"], cwd=folder)
    assert same.returncode == 0 and "in all that was kept of both" in same.stdout
    assert crowdsim(["compare", "run-late.h5", "free-late.h5"], cwd=folder).returncode == 6


def test_measures_of_a_cut_are_those_of_the_part(folder, tmp_path):
    """Agents that stand are no longer among those that might leave, and doors are as they were left."""
    crowdsim(["cut", folder / "run.h5", tmp_path / "c.h5", "--group", "crowd"])
    crowdsim(["measure", tmp_path / "c.h5", "--csv", tmp_path / "c"])
    crowdsim(["measure", folder / "run.h5", "--csv", tmp_path / "all"])
    own, whole = (pd.read_csv(tmp_path / name / "paths.csv") for name in ("c", "all"))
    pd.testing.assert_frame_equal(own, whole[whole["group"] == "crowd"].reset_index(drop=True))
    curves = [pd.read_csv(tmp_path / name / "evacuation.csv") for name in ("c", "all")]
    assert [curve["still_there"].iloc[0] for curve in curves] == [8, 11]
    with open_run(folder / "part.h5") as cut:  # it begins after the door was closed and opened
        events = cut.events()
        assert events[events["kind"].isin(("AREA_CLOSED", "AREA_OPENED"))]["tick"].tolist() == [6, 11]
        assert [each.call for each in cut.interventions()] == ["set_goal"]
        explained = cut.explanations()
        assert len(explained) > 0 and explained["tick"].min() >= 20
        assert set(explained["entity"]) <= set(cut.roster()["entity"])


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["nothing.h5", "o.h5"], 4, "nothing.h5: there is no such file"),
        (["run.h5", "o.txt"], 2, "a recording ends in .h5 or .hdf5"),
        (["run.h5", "run.h5", "--force"], 2, "is the file that is read"),
        (["run.h5", "part.h5"], 4, "part.h5 exists already. Choose another name, or replace it with --force"),
        (["run.h5", "no/o.h5"], 4, 'There is no folder "no"'),
        (["run.h5", "o.h5", "--from", "x"], 2, "Invalid value for '--from'"),
        (["run.h5", "o.h5", "--from", "7"], 2, "from 7 s until its end, 6 s, has no time in it"),
        (["run.h5", "o.h5", "--region", "1,2,3"], 2, 'The region "1,2,3" has 3 numbers'),
        (["run.h5", "o.h5", "--region", "dor"], 2, 'names no area "dor". Did you mean "door"?'),
        (["run.h5", "o.h5", "--region", "3,3,1,1"], 2, "has to lie left of and below"),
        (["run.h5", "o.h5", "--region", "50,50,60,60"], 4, "nobody within the bounds of the cut"),
        (["run.h5", "o.h5", "--group", "crow"], 2, 'no group "crow". Known are crowd, other, standing'),
        (["run.h5", "o.h5", "--floor", "attic"], 2, 'no floor "attic"'),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(folder, words, code, told):
    before = sorted(path.name for path in folder.iterdir())
    done = crowdsim(["cut", *words], cwd=folder)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in " ".join(done.stderr.split()) and "Traceback" not in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == before


def test_the_cut_of_a_run_goes_on_where_the_run_was(folder):
    """Times are those of the run: what happened at 4 s of it happens at 4 s of its cut."""
    with open_run(folder / "run.h5") as run, open_run(folder / "part.h5") as cut:
        assert cut.frames()["time_s"].tolist() == run.frames()["time_s"].tolist()[20:]
        counts = run.ticks().set_index("tick").loc[20:]
        pd.testing.assert_frame_equal(cut.ticks().set_index("tick"), counts)
        assert np.array_equal(cut.table("timings"), run.table("timings")[-len(counts) :])
