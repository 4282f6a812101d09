"""`crowdsim deadlocks`: tables for people, JSON for programs, a picture, and an exit code;
the page about deadlocks shows what it prints.
"""

import gzip
import json
import re
import subprocess
import sys

import pytest

from crowdsim.recording.header import from_json, to_json
from crowdsim.recording.opening import open_run
from crowdsim.world.events import Cause
from tests.cli.command import crowdsim, environment
from tests.crowds import ROOT, SCENARIOS

PAGE = (ROOT / "docs" / "guides" / "deadlocks.md").read_text(encoding="utf-8")
SCENE = ROOT / "tests" / "scenes" / "stuck" / "head-on-narrow-corridor.yaml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a recording of two pairs that meet in a corridor."""
    folder = tmp_path_factory.mktemp("deadlocks")
    (folder / "runs").mkdir()
    done = crowdsim(["run", SCENE, "-o", "runs/corridor.h5"], cwd=folder)
    assert done.returncode == 3 and "\ndeadlocks    4 head-on (stuck for 30 s)\n" in done.stdout
    assert "east[1]  (6.40, 0.55)  stuck: head-on  36 s       east[0]" in done.stdout
    return folder


def test_the_page_shows_what_the_command_prints(folder):
    shown = re.search(r"--picture runs/corridor.png\n(.*?)```", PAGE, re.DOTALL)[1]
    done = crowdsim(["deadlocks", "runs/corridor.h5"], cwd=folder)
    assert (done.returncode, done.stdout) == (3, shown)


def test_the_snippets_of_the_page_run(folder):
    first, second = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    program = f"{first}\nprint('the second:')\n{second}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.split("the second:")
    assert "head-on" in said[0] and "time_s" in said[1]


def test_the_note_of_the_page_is_what_validate_prints():
    command, shown = re.search(r"\$ crowdsim (validate .*?)\n(note: .*?)```", PAGE, re.DOTALL).groups()
    done = crowdsim(command.split(), cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, shown)


def test_a_run_of_an_older_version_keeps_its_meaning_and_that_is_told(folder):
    """Its header does not say by what people were stuck."""
    with open_run(folder / "runs" / "corridor.h5") as recording:
        header, layout = recording.header, recording.layout
    assert header.stuck_by == "progress" and {"remaining", "progress"} <= {
        column.name for column in layout.columns
    }
    document = json.loads(to_json(header, layout))
    del document["header"]["stuck_by"]
    assert from_json(json.dumps(document).encode())[0].stuck_by == "displacement"
    sample = ROOT / "tests" / "samples" / "recording-2.h5.gz"
    old = folder / "old.h5"
    old.write_bytes(gzip.decompress(sample.read_bytes()))
    done = crowdsim(["deadlocks", old])
    assert (
        done.returncode == 0
        and "less than 0.2 m from where they were 10 s before" in done.stdout
        and "recorded by an older crowdsim" in done.stdout
    )
    assert json.loads(crowdsim(["deadlocks", old, "--json"]).stdout)["stuck_by"] == "displacement"
    assert (
        json.loads(crowdsim(["deadlocks", folder / "runs" / "corridor.h5", "--json"]).stdout)["stuck_by"]
        == "progress"
    )


def test_the_page_lists_every_cause_with_its_number():
    rows = dict(re.findall(r"^\| ([a-z -]+) \| (\d+) \|", PAGE, re.MULTILINE))
    assert rows == {cause.words: str(int(cause)) for cause in Cause}


SAME_TABLES = """
from crowdsim import measures, open_run
path = "runs/corridor.h5"
with open_run(path) as recording:
    for function in (
            measures.deadlocks, measures.stuck_people, measures.stuck_spells, measures.waiting_graph,
            measures.why_stuck,
        ):
        table = function(path)
        assert len(table) and table.equals(function(recording)), function.__name__
print("same")
"""


@pytest.mark.full
def test_the_tables_take_a_path_or_an_open_recording(folder):
    done = subprocess.run(
        [sys.executable, "-c", SAME_TABLES],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("same\n", "")


def test_json_has_groups_people_edges_and_spells(folder):
    done = crowdsim(["deadlocks", "runs/corridor.h5", "--json", "--at", "30"], cwd=folder)
    facts = json.loads(done.stdout)
    assert done.returncode == 3 and facts["at_s"] == 30.0 and facts["deadlocked_ever"] == 4
    (group,) = facts["groups"]
    assert (
        group["heads"] == ["east[0]", "west[0]"]
        and group["until_s"] is None
        and group["cause"] == "head-on"
        and group["gap_m"] is None
    )
    assert {person["agent"]: person["waits_for_name"] for person in facts["people"]}["west[1]"] == "west[0]"
    assert {"agent": "east[1]", "other": "east[0]"}.items() <= facts["waits"][1].items() and len(
        facts["spells"]
    ) == 4


@pytest.mark.full
def test_a_picture_replaces_only_one_that_crowdsim_drew(folder):
    pytest.importorskip("matplotlib")
    assert crowdsim(["deadlocks", "runs/corridor.h5", "--picture", "a.svg"], cwd=folder).returncode == 3
    text = (folder / "a.svg").read_text(encoding="utf-8")
    assert "<svg" in text and len(text) > 10_000
    assert crowdsim(["deadlocks", "runs/corridor.h5", "--picture", "a.svg"], cwd=folder).returncode == 3
    (folder / "a.svg").write_text("<svg/>")
    done = crowdsim(["deadlocks", "runs/corridor.h5", "--picture", "a.svg"], cwd=folder)
    assert done.returncode == 2 and "a.svg exists already and has no mark of crowdsim" in done.stderr
    assert (
        crowdsim(["deadlocks", "runs/corridor.h5", "--picture", "a.svg", "--force"], cwd=folder).returncode
        == 3
    )


def test_a_run_in_which_nobody_is_stuck_says_so(tmp_path):
    path = tmp_path / "a.h5"
    assert crowdsim(["run", SCENARIOS / "antipodal-circle.yaml", "-o", path, "-q"]).returncode == 0
    done = crowdsim(["deadlocks", path, "--all"])
    assert done.returncode == 0 and done.stdout.splitlines()[0].startswith(f"{path}: 0 deadlocks, 0 of ")


def test_what_cannot_be_diagnosed_is_refused_with_a_way_out(tmp_path, folder):
    path = tmp_path / "thin.h5"
    assert crowdsim(["run", SCENE, "-o", path, "-q", "--set", "record.columns=[velocity]"]).returncode == 3
    done = crowdsim(["deadlocks", path])
    assert (
        done.returncode == 2
        and "has no activity, goal, path_status" in done.stderr
        and "Record all columns" in done.stderr
    )
    done = crowdsim(["deadlocks", "runs/corridor.h5", "--at", "99"], cwd=folder)
    assert done.returncode == 2 and "ends at 52 s, before 99 s" in done.stderr
