"""One bit that changes, in a kernel or in a recording, is found and named."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest

from crowdsim.errors import RecordingError
from crowdsim.recording.compare import first_difference
from crowdsim.recording.opening import open_run
from crowdsim.recording.recover import copy_recording
from crowdsim.recording.schema import RunState
from crowdsim.regression.golden_runs import check_golden, difference, golden_scenario, run_for
from crowdsim.systems import TICK_ORDER
from tests.cli.command import environment
from tests.cli.test_mistakes import outcome
from tests.crowds import ROOT
from tests.regression.scene import TICKS, UNTIL, golden, scene

BY_NAME = {kind.__name__: kind for kind in TICK_ORDER}
CHANGES = [  # system, column that it writes, what a recording shows of it in the same tick
    ("Follow", "preferred_velocity", "preferred_velocity_"),
    ("Avoid", "chosen_velocity", "chosen_velocity_"),
    ("Integrate", "tentative_position", ""),
    ("Walk", "position", ""),
    ("Turn", "heading", "heading_"),
]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return golden(tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="module")
def again(tmp_path_factory):
    """The same run once more, as `verify` makes it."""
    path = tmp_path_factory.mktemp("again") / "again.h5"
    return path, run_for(golden_scenario(scene()), path, TICKS, range(40, UNTIL + 1, 20), to_the_end=False)


def flip(value):
    """Change the last bit of a float64 in place."""
    value.view(np.uint64)[...] ^= np.uint64(1)


def change_one_bit(monkeypatch, system, column, tick, row):
    """Let a system write one agent's number of one tick with another last bit."""
    kind = BY_NAME[system]
    original = kind.process

    def process(self, now):
        original(self, now)
        if now.number == tick:
            flip(getattr(self.world.agents, column)[row : row + 1, 0])

    monkeypatch.setattr(kind, "process", process)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(1, 20))])
@pytest.mark.parametrize(("system", "column", "shown"), CHANGES)
def test_a_bit_that_a_system_writes_is_traced_to_tick_system_column_and_agent(
    kept, tmp_path, monkeypatch, system, column, shown, seed
):
    rng = np.random.default_rng([seed, len(column)])
    tick, row = int(rng.integers(2, TICKS)), int(rng.integers(0, 14))
    change_one_bit(monkeypatch, system, column, tick, row)
    ran = run_for(golden_scenario(scene()), tmp_path / "now.h5", TICKS, to_the_end=False)
    with open_run(kept) as recorded, open_run(tmp_path / "now.h5") as fresh:
        found = difference(recorded, fresh, {}, ran)
        assert found is not None and (found.tick, found.system, found.column) == (tick, system, column), (
            tick,
            row,
            found,
        )
        assert row + 1 in found.entities and found.rows == (0, 14)
        if found.values and found.values_tick == tick:
            first = found.values[0]
            assert (found.agent, first.column.startswith(shown)) == (
                row + 1,
                True,
            ) and first.recorded != first.fresh
        else:
            assert not shown  # what is passed on inside a tick may be rounded away in it


def test_verify_says_it_in_one_answer(kept, monkeypatch, capsys):
    change_one_bit(monkeypatch, "Avoid", "chosen_velocity", 17, 5)
    code, _, err = outcome(capsys, "verify", str(kept))
    assert (
        code == 6
        and f"{kept}: not identical\ntick 17: " in err
        and "after system Avoid" in err
        and "agent 6, chosen_velocity_x at tick 17: recorded " in err
    )
    assert " now " in err and "Traceback" not in err
    answer = json.loads(outcome(capsys, "verify", str(kept), "--json")[1])
    assert answer["ok"] is False and "agent 6, chosen_velocity_x at tick 17" in answer["difference"]


def test_a_change_after_the_recorded_ticks_is_found_by_digests(kept, monkeypatch):
    change_one_bit(monkeypatch, "Walk", "position", 47, 3)
    found = check_golden(kept, scene())
    assert (
        found.startswith("tick 60: the digest of the run is another one (recorded ")
        and "but was the same after tick 40." in found
    )


def test_a_change_that_no_digest_of_a_tick_shows_is_traced_and_said(kept, monkeypatch):
    kind = BY_NAME["Avoid"]
    original = kind.process

    def process(self, now):
        original(self, now)
        if now.number == 9:
            # how far the next tick looks for neighbours: it finds the same
            self.world.agents.neighbour_reach[2] += 1.0

    monkeypatch.setattr(kind, "process", process)
    text = check_golden(kept, scene())
    assert text.startswith(
        "tick 9: neighbour_reach differ after Avoid; every digested column is the same at the end of every "
        "tick"
    )


def altered(source, path, name, seed):
    """Copy a recording, with one bit of a dataset changed; return its row."""
    rng = np.random.default_rng(seed)
    shutil.copy(source, path)
    with h5py.File(path, "r+") as file:
        rows = file[name][:]
        row = int(rng.integers(len(rows)))
        data = rows[row : row + 1].copy()
        data.view(np.uint8).reshape(-1)[int(rng.integers(data.nbytes))] ^= np.uint8(1 << rng.integers(8))
        file[name][row : row + 1] = data
    return row


NAMED = {  # of datasets: words by which a difference in them is told
    "events": "event ",
    "roster": "roster ",
    "ticks": "ticks",
    "digests": "digest of",
    "frames/start": "frame",
    "frames/tick": "frame",
    "trace/index": "",
    "trace/digests": " differ after ",
    "verdict": "",
    "trajectory": "",
}
DATASETS = (
    "trajectory", "agents/velocity", "agents/chosen_velocity", "agents/heading", "agents/activity",
    "agents/blocker", "agents/surface", "agents/layer", "frames/start", "frames/tick", "events", "roster",
    "ticks", "digests", "trace/index", "trace/digests",
)  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize("seeds", [2, pytest.param(60, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", DATASETS)
def test_a_bit_of_a_dataset_is_found_by_compare_and_verify(kept, again, tmp_path, name, seeds):
    path, ran = again
    for seed in range(seeds):
        row = altered(kept, tmp_path / f"{seed}.h5", name, [seed, len(name)])
        for mine, theirs in ((kept, tmp_path / f"{seed}.h5"), (tmp_path / f"{seed}.h5", path)):
            try:
                with open_run(mine) as one, open_run(theirs) as other:
                    found = (
                        first_difference(one, other, ("a.h5", "b.h5"))
                        if mine == kept
                        else difference(one, other, {}, ran)
                    )
            except RecordingError as error:
                assert "is damaged" in str(error), (seed, error)
                continue
            assert found is not None, (seed, row)
            column = name.removeprefix("agents/")
            assert NAMED.get(
                name, f"{column}_" if column in ("velocity", "chosen_velocity", "heading") else column
            ) in str(found), (seed, found)
            if name.startswith("agents/"):
                with open_run(kept) as recording:
                    rows = recording.rows(row, row + 1, [])
                    assert found.agent == rows["id"][0] and found.tick == rows["frame"][0], (seed, found)


def test_a_bit_of_a_clock_reading_is_no_difference(tmp_path, kept):
    altered(kept, tmp_path / "a.h5", "timings", 1)
    with open_run(kept) as one, open_run(tmp_path / "a.h5") as other:
        assert first_difference(one, other, scenarios=True) is None


@pytest.mark.parametrize(("old", "new", "words"), [
    (b'"seed": 4', b'"seed": 5', "header: seed: recorded 4, now 5"),
    (b"count: 8", b"count: 9", "scenario: line "),
])  # fmt: skip
def test_what_a_recording_says_of_itself_is_compared(tmp_path, kept, old, new, words):
    shutil.copy(kept, tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        text = file["header"][:].tobytes()
        assert text.count(old) == 1
        file["header"][:] = np.frombuffer(text.replace(old, new), dtype=np.uint8)
    with open_run(kept) as one, open_run(tmp_path / "a.h5") as other:
        assert words in str(first_difference(one, other, scenarios=True))


def test_verdicts_of_finished_runs_are_compared_but_for_their_clocks(tmp_path, kept):
    paths = []
    for number, change in enumerate(({}, {"wall_s": 9.0}, {"arrived": 3})):
        with open_run(kept) as recording:
            verdict = recording.verdict
        copy_recording(
            kept,
            tmp_path / f"{number}.h5",
            state=RunState.FINISHED,
            verdict={**verdict, "result": {**verdict["result"], **change}},
        )
        paths.append(tmp_path / f"{number}.h5")
    with open_run(paths[0]) as one, open_run(paths[1]) as other, open_run(paths[2]) as third:
        assert first_difference(one, other) is None
        assert "verdict: arrived: recorded 0, now 3" in str(first_difference(one, third))


OLD, NEW = "vx / speed, vy / speed, turn_x", "vx / speed, vy / speed * 1.0000000000000002, turn_x"


@pytest.mark.full
def test_a_constant_in_a_kernel_of_another_version_is_found(tmp_path, kept):
    """The package is copied and one number in a kernel changed by a bit:
    the command of the copy runs the golden recording again.
    """
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "crowdsim", copy / "crowdsim", ignore=shutil.ignore_patterns("__pycache__"))
    module = copy / "crowdsim" / "bodies" / "turn.py"
    text = module.read_text(encoding="utf-8")
    assert text.count(OLD) == 1
    module.write_text(text.replace(OLD, NEW), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "crowdsim.cli", "verify", str(kept), "-j", "1"],
        cwd=copy,
        env={**environment(), "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 6, done.stdout + done.stderr
    assert (
        "heading differ" in done.stderr
        and "first after system Turn" in done.stderr
        and ", heading_" in done.stderr
        and "Traceback" not in done.stderr
    )
