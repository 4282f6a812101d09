"""A run that goes on from a checkpoint is the run that was never stopped: the same digests, the same rows."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest

import crowdsim as library
from crowdsim.avoidance.registry import available_models
from crowdsim.errors import CrowdsimError, RecordingError
from crowdsim.recording.checkpoint import checkpoint_names, checkpoints_of, read_checkpoint
from crowdsim.recording.compare import first_difference
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.simulation.checkpoints import Rotation, Start, checkpoint_of, require_same_shape
from crowdsim.simulation.simulation import Simulation
from tests.crowds import LARGE, SCENARIOS

ALL = sorted(path.stem for path in SCENARIOS.glob("*.yaml"))
SECONDS = 20.0


def check_resume(name, sets, ticks_of, folder):
    """Run a scene whole, and again in two parts with a file between; both recordings must be the same."""
    scenario = load_scenario(SCENARIOS / f"{name}.yaml", sets=[f"stop.after={SECONDS:g}", *sets])
    with Simulation(scenario, out=folder / "whole.h5") as run:
        whole = run.run()
    stop = ticks_of(whole.ticks)
    with Simulation(scenario, out=folder / "part.h5") as run:
        for _ in range(stop):
            run.step()
        run.checkpoint(folder / "a.checkpoint")
    begun = read_checkpoint(folder / "a.checkpoint")
    assert begun.tick == stop
    with library.open_run(folder / "part.h5") as recorded:
        scenario = parse_scenario(begun.scenario)
        with Simulation(
            scenario, out=folder / "again.h5", start=Start(begun, "a.checkpoint", recorded)
        ) as run:
            again = run.run()
    assert (again.digest, again.ticks, again.arrivals, again.arrived) == (
        whole.digest,
        whole.ticks,
        whole.arrivals,
        whole.arrived,
    )
    assert again.begun_s == 0.0
    with library.open_run(folder / "whole.h5") as one, library.open_run(folder / "again.h5") as other:
        assert first_difference(one, other) is None
        for table in ("trajectory", "events", "ticks", "digests", "roster"):
            a, b = one.table(table), other.table(table)
            assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), table
        for column in one.layout.columns:
            assert (
                one.table(f"agents/{column.name}").tobytes() == other.table(f"agents/{column.name}").tobytes()
            ), column.name


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "sets"),
    [
        ("head-on-corridor", ["avoidance=orca"]),
        ("bottleneck", ["avoidance=hrvo", "budget.work=40"]),
        ("four-way-crossing", ["avoidance=clearpath"]),
        ("closing-door", []),
        ("moving-obstacle", ["navigation=grid"]),
        ("closing-door", ["navigation={kind: grid, while_waiting: guess}", "budget.work=60"]),
        (
            "concourse",
            ["navigation={kind: s2-grid, while_waiting: previous}", "budget.work=3000", "stop.after=6"],
        ),
        ("unseen", []),
        ("idle-crowd", []),
        ("two-storeys", ["navigation=optimal", "budget.work=20"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_run_in_two_parts_is_the_whole_run(name, sets, tmp_path):
    check_resume(name, sets, lambda ticks: random.Random(name).randrange(1, ticks), tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("model", sorted(available_models()))
@pytest.mark.parametrize("name", [name for name in ALL if name not in ("open-10000", *LARGE)])
def test_every_scenario_under_every_model_in_two_parts(name, model, tmp_path):
    check_resume(
        name,
        [f"avoidance={model}"],
        lambda ticks: random.Random(f"{name} {model}").randrange(1, ticks),
        tmp_path,
    )


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("when", ["first", "last"])
def test_also_right_after_the_first_tick_and_after_the_last(when, tmp_path):
    check_resume("antipodal-circle", [], lambda ticks: 1 if when == "first" else ticks, tmp_path)


def test_checkpoints_are_taken_in_turn_and_reach_no_farther_than_the_recording(tmp_path):
    scenario = load_scenario(SCENARIOS / "antipodal-circle.yaml", sets=["stop.after=7"])
    with Simulation(scenario, out=tmp_path / "a.h5") as run:
        run.run(checkpoint_every=2.0)
        run_id = run.recorder.writer.header.run_id
    paths = checkpoints_of(tmp_path / "a.h5", run_id)
    assert tuple(paths) == checkpoint_names(tmp_path / "a.h5", run_id)
    assert sorted(read_checkpoint(path).time_s for path in paths) == [4.0, 6.0]
    assert not list(tmp_path.glob("*.tmp"))


def test_a_checkpoint_is_due_at_every_so_many_ticks_but_not_before_the_first(tmp_path):
    assert [tick for tick in range(50) if Rotation(tmp_path / "a.h5", "id", 20).is_due(tick)] == [20, 40]
    assert not any(Rotation(tmp_path / "a.h5", "id", 0).is_due(tick) for tick in range(50))


def test_the_time_of_a_run_in_two_parts_is_that_of_both(tmp_path):
    scenario = load_scenario(SCENARIOS / "antipodal-circle.yaml", sets=["stop.after=4"])
    with Simulation(scenario, out=tmp_path / "part.h5") as run:
        for _ in range(60):
            run.step()
        run.checkpoint(tmp_path / "a.checkpoint")
        first = run.probes.total.copy()
    with library.open_run(tmp_path / "part.h5") as recorded:
        with Simulation(
            scenario,
            out=tmp_path / "again.h5",
            start=Start(read_checkpoint(tmp_path / "a.checkpoint"), "a", recorded),
        ) as run:
            assert np.array_equal(run.probes.total, first) and run.probes.ticks == 60
            verdict = run.run()
        with library.open_run(tmp_path / "again.h5") as again:
            readings = again.table("timings")
    assert len(readings) == verdict.ticks and verdict.wall_s >= readings.sum() / 1e9 * (1.0 - 1e-9)
    assert verdict.worst_tick_ms == readings.sum(axis=1).max() / 1e6


def test_saved_loaded_and_saved_again_a_run_has_the_same_bytes(tmp_path):
    scenario = load_scenario(SCENARIOS / "bottleneck.yaml")
    with Simulation(scenario) as run:
        for _ in range(70):
            run.step()
        run.checkpoint(tmp_path / "a")
    with Simulation(scenario, start=Start(read_checkpoint(tmp_path / "a"), "a")) as run:
        run.checkpoint(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_does_not_belong_together_is_refused(tmp_path):
    scenario = load_scenario(SCENARIOS / "antipodal-circle.yaml")
    with Simulation(scenario) as run:
        run.step()
        begun = checkpoint_of(run)
    with pytest.raises(RecordingError, match="x: was written by other code"):
        Simulation(scenario, start=Start(dataclasses.replace(begun, code="0"), "x"))
    without = {name: array for name, array in begun.state.items() if name != "ledger/numbers"}
    with pytest.raises(
        RecordingError,
        match=(
            "x: its state after tick 1 does not belong to this scenario, or the file was changed: "
            "ledger/numbers is missing"
        ),
    ):
        Simulation(scenario, start=Start(dataclasses.replace(begun, state=without), "x"))
    with Simulation(scenario) as run:
        with pytest.raises(CrowdsimError, match="beside a recording, and this run has none"):
            run.run(checkpoint_every=1.0)
        with pytest.raises(CrowdsimError, match="must be above 0"):
            run.run(checkpoint_every=0.0)


@pytest.mark.full
def test_a_fork_goes_on_with_other_values_and_begins_as_the_run_stood(tmp_path):
    before = load_scenario(SCENARIOS / "bottleneck.yaml")
    with Simulation(before) as run:
        for _ in range(100):
            run.step()
        place = run.agents.position.copy()
        begun = checkpoint_of(run)
    digests = set()
    for sets in ([], ["avoidance=clearpath"], ["avoidance.time_horizon=1.0"], ["bodies.passes=1"]):
        after = parse_scenario(begun.scenario, sets=[*sets, "stop.after=8"])
        start = Start(begun, "x", are_models_new=require_same_shape(before, after, "x"))
        with Simulation(after, out=tmp_path / f"{len(digests)}.h5", start=start) as run:
            assert np.array_equal(run.agents.position, place)
            verdict = run.run()
        assert verdict.ticks == 160 and verdict.begun_s == pytest.approx(5.0)
        digests.add(verdict.digest)
        with library.open_run(tmp_path / f"{len(digests) - 1}.h5") as recorded:
            assert recorded.frames()["tick"].tolist()[0] == 100 and len(recorded.roster()) == len(place)
    assert len(digests) == 4


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ("seed=9", "random numbers are drawn before the first tick"),
        ("groups.0.count=3", "groups cannot change"),
        ("tick=0.1", "tick cannot change"),
        ("navigation=grid", "navigation cannot"),
    ],
)
def test_what_a_state_is_made_of_cannot_change(value, word):
    before = load_scenario(SCENARIOS / "bottleneck.yaml")
    with pytest.raises(CrowdsimError, match=word):
        require_same_shape(before, parse_scenario(before.canonical(), sets=[value]), "x")


def test_a_tree_that_has_grown_for_starts_is_grown_again_for_none():
    """Grown again it has no start: the number in place of its polygon was taken for the last polygon of the
    mesh, where a path ended the search sooner, and sound checkpoints were refused.
    """
    sets = ["navigation=optimal", "budget.work=20"]
    scenario = load_scenario(SCENARIOS / "two-storeys.yaml", sets=sets)
    with Simulation(scenario) as run:
        for _ in range(12):
            run.step()
            begun = checkpoint_of(run)
            with Simulation(scenario, start=Start(begun, "run")) as again:
                assert again.digest == run.digest
