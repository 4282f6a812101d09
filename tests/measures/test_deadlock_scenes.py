"""The labelled scenes: deadlocks of every cause, each named right, and lively crowds that only look jammed,
without a false alarm.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from crowdsim.measures import deadlock
from crowdsim.measures.deadlock_recorded import Recorded
from crowdsim.measures.deadlock_stuck import has_no_progress, look_every, opens_later, wants_on
from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.columns import Wait
from crowdsim.world.events import Cause

SCENES = Path(__file__).resolve().parent.parent / "scenes"
EXPECTED = yaml.safe_load((SCENES / "stuck" / "expected.yaml").read_text(encoding="utf-8"))
LIVELY = sorted(path.stem for path in (SCENES / "lively").glob("*.yaml"))
# One scene or more of each cause, and some lively ones, run by default; the others cost as much again.
OFTEN = {"barrier-in-a-gate", "circle", "stander-in-a-door", "two-ways-in-a-corridor"}
RARELY = {
    "arch-of-a-crowd", "between-two-carts", "enclosed-in-a-corner", "goal-taken", "head-on-circle",
    "head-on-pair", "no-path-too-narrow", "people-in-the-door", "pushed-out-of-line", "starved-over-cells",
    "stopped-at-a-bend",
}  # fmt: skip
STUCK = [
    pytest.param(scene, marks=pytest.mark.full) if scene in RARELY else scene for scene in sorted(EXPECTED)
]
MAIN_CAUSES = set(Cause) - {Cause.UNKNOWN, Cause.QUEUE}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return a function that runs a scene once and opens its recording."""
    folder, opened = tmp_path_factory.mktemp("scenes"), {}

    def run(path):
        if path not in opened:
            with Simulation(
                load_scenario(path, sets=["record.rate=1"]), out=folder / f"{path.stem}.h5", warm=False
            ) as simulation:
                verdict = simulation.run()
            opened[path] = Recorded(open_run(folder / f"{path.stem}.h5")), verdict
        return opened[path]

    yield run
    for one, _ in opened.values():
        one.recording.close()


# Recorded progress is a multiple of a millimetre; an agent that near to the border may be counted here or
# there.
ROUNDED_M = 2.0**-9


def assert_one_definition(run):
    """Assert that events, the recorded column and the definition on the recorded progress say the same of
    every second.
    """
    columns = ["activity", "goal", "path_status", "preferred_velocity", "is_stuck", "progress"]
    rows = run.recording.trajectories(columns=["x", "y", *columns]).rename(columns={"id": "entity"})
    tick = run.frame_ticks[rows["frame"].to_numpy()]
    preferred = rows[["preferred_velocity_x", "preferred_velocity_y"]].to_numpy(dtype=float)
    wants = np.empty(len(rows), dtype=bool)
    for later in (False, True):
        now = np.array([opens_later(run.scenario.events, int(each)) == later for each in tick])
        wanting = wants_on(
            rows["activity"].to_numpy(),
            rows["goal"].to_numpy(),
            rows["path_status"].to_numpy(),
            preferred,
            *np.zeros((2, len(rows)), dtype=np.uint8),
            door_opens_later=later,
        )
        wants[now] = wanting[now]
    every, looks = look_every(run.tick_s)
    assert every * looks * run.tick_s == pytest.approx(10.0)
    # Before the first tick nobody looks.
    progress = rows["progress"].to_numpy(dtype=float)
    known = pd.Series(
        np.where(wants & (tick > 0), progress, np.nan),
        index=pd.MultiIndex.from_arrays([rows["entity"], tick + every * looks]),
    )
    then = known.reindex(pd.MultiIndex.from_arrays([rows["entity"], tick])).to_numpy()
    speed = run.roster.set_index("entity")["desired_speed"].reindex(rows["entity"]).to_numpy()
    by_event = np.concatenate(
        [
            run.stuck_since(int(each), own["entity"].to_numpy()) >= 0
            for each, own in rows.groupby(tick, sort=True)
        ]
    )
    assert np.array_equal(by_event, rows["is_stuck"].to_numpy() == 1)
    # Those that wait for a signal make no progress by intent: what holds them is the signal, not their path.
    by_event &= ~waits_for_signal(run, len(rows))
    surely, perhaps = (
        wants & has_no_progress(progress + change, then, speed) for change in (ROUNDED_M, -ROUNDED_M)
    )
    assert (
        np.all(perhaps[by_event])
        and np.all(by_event[surely])
        and np.count_nonzero(perhaps & ~surely) <= 0.02 * len(rows)
    )


def waits_for_signal(run, count):
    """Return which rows of a recording are of agents that wait for a signal, (count,) bool."""
    if "waits" not in {column.name for column in run.recording.layout.columns}:
        return np.zeros(count, dtype=bool)
    return run.recording.trajectories(columns=["waits"])["waits"].to_numpy() == Wait.SIGNAL


def long_spells(run):
    """Return {cause: names} of those that were stuck for 30 s."""
    people = deadlock.stuck_people(run)
    long = people[people["is_long"]]
    return {cause: sorted(set(own["agent"])) for cause, own in long.groupby("cause")}


def test_every_main_cause_has_two_scenes_and_every_scene_a_label():
    assert set(EXPECTED) == {path.stem for path in (SCENES / "stuck").glob("*.yaml")} - {"expected"} and len(
        EXPECTED
    ) >= 12 <= len(LIVELY)
    labels = [cause for label in EXPECTED.values() for cause in label]
    assert all(labels.count(cause.words) >= 2 for cause in MAIN_CAUSES)


@pytest.mark.sample(1)
@pytest.mark.parametrize("scene", STUCK)
def test_a_deadlock_is_named_right_while_it_lasts_and_afterwards(scene, recorded):
    run, verdict = recorded(SCENES / "stuck" / f"{scene}.yaml")
    expected = {cause: sorted(names) for cause, names in EXPECTED[scene].items()}
    assert long_spells(run) == expected
    events = run.events[run.events["kind"] == "DEADLOCKED"]
    live = {}
    for entity, cause in events[["entity", "value"]].itertuples(index=False):
        live.setdefault(Cause(cause).words, []).append(run.label(entity, ""))
    assert {cause: sorted(names) for cause, names in live.items()} == expected
    assert verdict.deadlocked == {cause: len(names) for cause, names in expected.items()}
    found = deadlock.deadlocks(run)
    assert set(found.loc[found["is_deadlock"], "cause"]) == set(expected)


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("scene", STUCK)
def test_a_diagnosis_of_the_recording_is_that_of_the_world(scene, recorded):
    """At the tick of each event, what follows from the file is what the run found."""
    run, _ = recorded(SCENES / "stuck" / f"{scene}.yaml")
    events = run.events[run.events["kind"] == "DEADLOCKED"]
    assert len(events)
    for tick, own in events.groupby("tick"):
        table = deadlock.why_stuck(run, tick * run.tick_s).set_index("entity")
        assert [Cause(value).words for value in own["value"]] == table.loc[own["entity"], "cause"].tolist()
        assert np.allclose(table.loc[own["entity"], ["x", "y"]], own[["x", "y"]])


@pytest.mark.sample(1)
@pytest.mark.parametrize("scene", STUCK)
def test_the_live_system_and_the_recording_agree_on_that_is_stuck(scene, recorded):
    assert_one_definition(recorded(SCENES / "stuck" / f"{scene}.yaml")[0])


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "scene", [pytest.param(scene, marks=[] if scene in OFTEN else pytest.mark.full) for scene in LIVELY]
)
def test_a_lively_crowd_gives_no_alarm(scene, recorded):
    run, verdict = recorded(SCENES / "lively" / f"{scene}.yaml")
    found = deadlock.deadlocks(run)
    assert not found["is_deadlock"].any() and verdict.deadlocked == {}
    assert set(long_spells(run)) <= {Cause.QUEUE.words}
    assert_one_definition(run)


def test_people_before_a_barrier_stand_for_long_and_it_is_a_queue(recorded):
    run, verdict = recorded(SCENES / "lively" / "barrier-in-a-gate.yaml")
    assert (
        len(long_spells(run)[Cause.QUEUE.words]) >= 3 and verdict.arrived == 6 and int(verdict.exit_code) == 0
    )


@pytest.mark.full
def test_the_width_of_the_gap_is_told(recorded):
    for scene, width in (("arch-of-two", 0.7), ("arch-of-a-crowd", 0.6), ("head-on-in-a-door", 0.7)):
        found = deadlock.deadlocks(recorded(SCENES / "stuck" / f"{scene}.yaml")[0])
        assert found["gap_m"].tolist() == [pytest.approx(width, abs=1e-4)]


def test_rings_heads_and_how_many_wait_behind_which(recorded):
    run, _ = recorded(SCENES / "stuck" / "head-on-narrow-corridor.yaml")
    table = deadlock.why_stuck(run).set_index("agent")
    ids = {name: entity for entity, name in run.recording.labels().items()}
    first, second = (ids[name] for name in ("east[0]", "west[0]"))
    assert table["waits_for"].to_dict() == {
        "east[0]": second,
        "west[0]": first,
        "east[1]": first,
        "west[1]": second,
    }
    assert table["is_head"].to_dict() == {
        "east[0]": True,
        "east[1]": False,
        "west[0]": True,
        "west[1]": False,
    }
    assert (
        table.loc[["east[0]", "west[0]"], "ring"].tolist() == [first, first] and table["group"].nunique() == 1
    )
    edges = deadlock.waiting_graph(run)
    assert {
        ("east[0]", "west[0]"),
        ("west[0]", "east[0]"),
        ("east[1]", "east[0]"),
        ("west[1]", "west[0]"),
    } == set(zip(edges["agent"], edges["other_agent"], strict=True))


@pytest.mark.full
def test_a_spell_says_since_when_and_where(recorded):
    run, _ = recorded(SCENES / "stuck" / "head-on-pair.yaml")
    spells = deadlock.stuck_spells(run)
    assert (
        spells["still_since_s"].tolist() == [6.0, 6.0]
        and spells["stuck_s"].tolist() == [16.0, 16.0]
        and spells["end_s"].isna().all()
    )
    assert spells["duration_s"].tolist() == [36.0, 36.0] and spells["is_long"].all()
    assert np.allclose(spells["y"], 3.0) and spells["x"].between(5.0, 7.0).all()
