"""Recordings that are damaged, or made to do harm, given to every verb that reads one:
an exit code that docs/reference/exit-codes.md has, a sentence, never a traceback.
"""

from __future__ import annotations

import json
import re
import shutil
import time

import h5py
import numpy as np
import pytest

from crowdsim.errors import RecordingError
from crowdsim.recording.opening import open_run
from crowdsim.recording.recover import recover
from tests.crowds import ROOT
from tests.recording.crowd import header, record
from tests.recording.damage import BAD, VERBS, call, damaged_recording, make_whole, rewritten

DOCUMENTED = {
    int(code)
    for code in re.findall(
        r"^\| (\d+) \|",
        (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
} - {1}
MOST_SECONDS = 60.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("damage")
    make_whole(folder)
    return folder


def given(folder, name, about):
    """Give the file to a verb, and hold what comes of it to what is promised; return the exit code."""
    began = time.monotonic()
    code, out, err, fault = call(folder, VERBS[name])
    told = f"{about}: {' '.join(VERBS[name])}: exit code {code}\n{out[-1000:]}{err[-1000:]}{fault[-3000:]}"
    assert not fault and "Traceback" not in out + err, told
    assert code in DOCUMENTED, told
    assert code in (0, 3, 5, 6) or err.strip() or '"ok": false' in out, told
    assert time.monotonic() - began < MOST_SECONDS, told
    return code


@pytest.mark.parametrize("count", [3, *(pytest.param(count, marks=pytest.mark.full) for count in (16, 2000))])
def test_no_damage_gives_a_traceback_in_any_verb(folder, count):
    codes = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        about = f"seed {seed}: {damaged_recording(folder / 'whole.h5', folder / BAD, rng)}"
        codes += [given(folder, name, about) for name in rng.choice([*VERBS], size=3, replace=False)]
    # most damage is told as such; the rest hits what a verb does not read
    assert codes.count(4) > len(codes) / 4


@pytest.mark.full
def test_the_whole_file_is_accepted_by_each_of_these_verbs(folder):
    """So the codes above come from the damage."""
    shutil.copyfile(folder / "whole.h5", folder / BAD)
    codes = {name: given(folder, name, "whole") for name in VERBS}
    # it is whole, it came to its end, and no clock decided anything
    refused = {"recover": 4, "resume": 2, "verify budget": 2}
    assert {name: code for name, code in codes.items() if code not in (0, 3)} == refused


def changed(path, target, name, change):
    """Copy a recording, and put other rows into one of its datasets: whole for every checksum."""
    shutil.copyfile(path, target)
    with h5py.File(target, "r+", libver=("v110", "v110")) as file:
        rows = file[name][:]
        change(rows)
        file[name][...] = rows
    return target


def put(field, row, value):
    def change(rows):
        rows[field][row] = value

    return change


def swap(rows):
    rows[3], rows[4] = rows[4], rows[3]


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("frames/tick", swap, "row 4 of frames/tick shows a tick out of order"),
        ("ticks", put("tick", 7, 5), "row 7 of ticks shows a tick out of order"),
        ("ticks", put("tick", 59, 60), "row 59 of ticks shows a tick out of order"),
        ("events", put("tick", 5, -1), "row 5 of events has a tick out of order"),
        ("roster", put("entity", 2, 0), "row 2 of roster is of no agent that can be"),
        ("roster", put("entity", 2, 7), "an agent is twice in the roster"),
        ("roster", put("radius", 4, np.nan), "row 4 of roster has a radius that cannot be"),
        ("roster", put("desired_speed", 4, -np.inf), "row 4 of roster has a desired_speed that cannot be"),
        (
            "trajectory",
            put("frame", 40, 10**9),
            "row 40 of trajectory is in another frame than the index of frames says",
        ),
        ("trajectory", put("id", 40, 2**62), "row 40 of trajectory is of an agent that is not in the roster"),
    ],
)
def test_rows_that_cannot_be_are_told_with_their_number(tmp_path, name, change, message):
    path = changed(record(tmp_path / "whole.h5"), tmp_path / "bad.h5", name, change)
    with open_run(path) as run, pytest.raises(RecordingError, match=f"bad.h5: is damaged .{message}"):
        run.roster(), run.events(), run.frames(), run.ticks(), run.trajectories()


def test_people_whose_numbers_have_gaps_are_known(tmp_path):
    """A recording of some agents only; and one whose roster lacks an agent."""
    whole = record(tmp_path / "whole.h5")
    with (
        open_run(changed(whole, tmp_path / "gap.h5", "roster", put("entity", 19, 21))) as run,
        pytest.raises(RecordingError, match="not in the roster"),
    ):
        run.trajectories()
    both = changed(whole, tmp_path / "a.h5", "roster", lambda rows: rows["entity"].__imul__(3))
    with open_run(changed(both, tmp_path / "b.h5", "trajectory", lambda rows: rows["id"].__imul__(3))) as run:
        assert set(run.trajectories()["id"]) == set(range(3, 63, 3))


def test_what_was_whole_before_such_rows_can_be_recovered(tmp_path):
    path = changed(
        record(tmp_path / "whole.h5"), tmp_path / ".a.h5.x.partial.h5", "ticks", put("tick", 41, 3)
    )
    made = recover(path)
    assert made.last_tick == 40 and "row 41 of ticks" in made.lost
    with open_run(made.path) as run:
        assert run.is_whole and run.ticks()["tick"].iloc[-1] == made.last_tick


@pytest.mark.parametrize(
    "ground", ["é\x9b", "POINT (1 1)", "POLYGON ((0 0, 1 1))", "", "POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))"]
)
def test_ground_that_is_none_is_told(tmp_path, ground):
    path = record(tmp_path / "a.h5")
    with h5py.File(path, "r+", libver=("v110", "v110")) as file:
        document = json.loads(file["header"][:].tobytes())
        document["header"]["ground"] = [ground]
        rewritten(file, "header", np.frombuffer(json.dumps(document).encode(), dtype=np.uint8))
    with (
        open_run(path) as run,
        pytest.raises(RecordingError, match="ground of layer 0 in its header is no polygon"),
    ):
        run.floors()


@pytest.mark.parametrize(
    "changes",
    [
        {"tick_s": 1e308},
        {"tick_s": float("nan")},
        {"tick_s": 0.0},
        {"ticks_per_frame": 2**70},
        {"first_tick": -1},
        {"first_tick": 2**62},
    ],
)
def test_a_header_without_sense_is_refused(changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        header(**changes)
