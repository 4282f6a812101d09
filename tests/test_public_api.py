"""The library as somebody in a notebook uses it:
what the README shows, what they try next, and what they get wrong.
"""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest

import crowdsim
from crowdsim.errors import CrowdsimError, RecordingError, ScenarioError
from crowdsim.measures.sources import tracks_of
from crowdsim.world.events import EventKind
from tests.cli.command import crowdsim as command
from tests.cli.command import environment
from tests.crowds import BUSY, ROOT, SCENARIOS, digests, room

WALKER = {"id": 1, "position": [0, 0], "speed": 1.0, "goals": ["east"]}
PLACES = {"east": {"point": [8, 0], "arrive_within": 0.3}, "north": {"point": [0, 8], "arrive_within": 0.3}}


def walker(**more):
    """Return a room with one walker on its way to the east."""
    return room([WALKER | more], goals=PLACES)


# What the README says
# ------------------------------------------------------------------------------------------------------------


def test_the_readmes_snippet_runs(tmp_path):
    (snippet,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.S
    )
    (tmp_path / "scenarios").symlink_to(SCENARIOS)
    program = snippet + "\nprint(len(trajectories), len(events), type(crowd.to_frame()).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    arrived, rest = done.stdout.split("\n", 1)
    assert arrived == "100"
    assert int(rest.split()[0]) > 10_000 and rest.split()[2] == "DataFrame"


def test_the_snippets_of_the_page_about_the_library_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(
        r"```python\n(.*?)```",
        (ROOT / "docs" / "guides" / "library.md").read_text(encoding="utf-8"),
        flags=re.S,
    )
    space: dict = {}
    outcomes = []
    for snippet in snippets:
        exec(snippet, space)
        outcomes.append(space["verdict"])
    ran, stepped, steered, *_ = outcomes
    assert (ran.arrived, stepped.arrived, steered.arrived) == (
        40,
        40,
        40,
    ) and ran.digest == stepped.digest != steered.digest
    assert (
        len(space["arrivals"]) == 40
        and len(space["table"]) > 30
        and steered.arrivals["west"] > 0
        and steered.steered == 2 * len(space["behind"]) + 5  # three are sent to places of their own
    )
    assert capsys.readouterr().out.splitlines()[-1] == "seed: is -1, but must be at least 0"
    with crowdsim.open_run("room.h5") as run:
        assert run.is_whole


def test_the_package_names_what_it_offers():
    assert sorted(crowdsim.__all__) == [
        "Simulation",
        "__version__",
        "cut_run",
        "load_plugin",
        "load_scenario",
        "open_run",
    ]
    for name in crowdsim.__all__:
        assert getattr(crowdsim, name)
    with pytest.raises(AttributeError, match="no attribute 'Simulator'"):
        crowdsim.Simulator  # noqa: B018


# A scenario in any form
# ------------------------------------------------------------------------------------------------------------


def test_a_scenario_may_be_a_file_text_plain_values_or_loaded(tmp_path):
    document = walker()
    text = json.dumps(document, indent=1)
    path = tmp_path / "room.yaml"
    path.write_text(text)
    with_arrays = document | {
        "geometry": {"walkable": np.array(document["geometry"]["walkable"])},
        "seed": np.int64(1),
    }
    found = set()
    for form in (crowdsim.load_scenario(path), path, str(path), text, document, with_arrays):
        with crowdsim.Simulation(form) as simulation:
            simulation.step()
            found.add(simulation.digest)
    assert len(found) == 1


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (walker() | {"tik": 1}, ScenarioError, '^tik: there is no key "tik" here\n    Did you mean "tick"?'),
        ("version: 1\ntik: 1\n", ScenarioError, "^scenario:.* the key "),
        ("missing.yaml", ScenarioError, "^missing.yaml: there is no such file"),
        (walker() | {"tick": float("nan")}, CrowdsimError, "finite numbers"),
        (walker() | {"name": object()}, CrowdsimError, "object is no plain value"),
        (42, CrowdsimError, "a scenario is a file, YAML text, a dict or what load_scenario returns, not 42"),
    ],
)
def test_what_is_no_scenario_is_one_clear_error(given, error, message):
    with pytest.raises(error, match=message):
        crowdsim.Simulation(given)


@pytest.mark.parametrize("threads", [-1, 5000, 2.5, "two"])
def test_a_number_of_threads_that_makes_no_sense_is_one_clear_error_before_anything_is_written(
    threads, tmp_path
):
    with pytest.raises(
        CrowdsimError, match="must be a whole number from 1 to 1,024, or 0 for one for each core"
    ):
        crowdsim.Simulation(walker(), threads=threads, out=tmp_path / "a.h5")
    assert list(tmp_path.iterdir()) == []


def test_any_number_of_threads_gives_the_same_run():
    found = set()
    for threads in (0, 1, 3, 64):
        with crowdsim.Simulation(BUSY, threads=threads) as simulation:
            found.add(digests(simulation, 20)[-1])
    assert len(found) == 1


# Steps
# ------------------------------------------------------------------------------------------------------------


def test_step_and_run_are_the_same_run(tmp_path):
    with crowdsim.Simulation(walker()) as stepped:
        while not stepped.why_over():
            stepped.step()
        by_hand = stepped.finish()
    with crowdsim.Simulation(walker()) as whole:
        verdict = whole.run()
    assert (by_hand.digest, by_hand.ended, by_hand.ticks) == (verdict.digest, verdict.ended, verdict.ticks)
    assert verdict.arrived == 1 and verdict.last_arrival_s == pytest.approx(7.7, abs=0.1)


def test_steps_go_on_after_the_end_until_the_run_is_finished():
    with crowdsim.Simulation(walker()) as simulation:
        while not simulation.why_over():
            simulation.step()
        tick = simulation.tick
        assert len(simulation.step()) == 0 and simulation.tick == tick + 1
        verdict = simulation.finish()
        assert simulation.finish() is verdict and simulation.run() is verdict
        for wish in (
            simulation.step,
            lambda: simulation.set_goal(1, None),
            lambda: simulation.set_preferred_velocity(1, None),
        ):
            with pytest.raises(
                CrowdsimError,
                match=(
                    r"^the simulation was finished at 7\.\d+ s and cannot .* Make a new one: "
                    r"Simulation\(scenario\)\.$"
                ),
            ):
                wish()
    assert simulation.finish() is verdict
    assert len(simulation.agents) == 0


def test_a_simulation_that_was_closed_early_can_be_read_but_not_run_on():
    with crowdsim.Simulation(walker()) as simulation:
        simulation.step()
    assert simulation.agents.position.shape == (1, 2)
    assert simulation.finish().ended == "not over"
    with pytest.raises(CrowdsimError, match=r"was finished at 0\.05 s"):
        simulation.run()
    simulation.close()


def test_a_time_limit_has_to_be_a_time():
    with crowdsim.Simulation(walker()) as simulation:
        for limit in (-1.0, float("nan")):
            with pytest.raises(CrowdsimError, match="must be at least 0 s"):
                simulation.run(time_limit=limit)
        assert simulation.run(time_limit=0.0).ended == "time limit"


def test_two_simulations_step_by_step_do_not_disturb_each_other(tmp_path):
    documents = (BUSY, walker())
    alone = []
    for document in documents:
        with crowdsim.Simulation(document) as simulation:
            alone.append(digests(simulation, 60))
    with (
        crowdsim.Simulation(documents[0], out=tmp_path / "a.h5") as first,
        crowdsim.Simulation(documents[1], out=tmp_path / "b.h5") as second,
    ):
        together: list[list[str]] = [[], []]
        for _ in range(60):
            for found, simulation in zip(together, (first, second), strict=True):
                found += digests(simulation, 1)
    assert together == alone
    for name, found in (("a.h5", alone[0]), ("b.h5", alone[1])):
        with crowdsim.open_run(tmp_path / name) as run:
            assert f"{run.run_digest:016x}" == found[-1] and run.commit.ticks == 60


# Looking at agents
# ------------------------------------------------------------------------------------------------------------


def test_agents_are_read_only_arrays_and_a_table_with_units():
    with crowdsim.Simulation(walker()) as simulation:
        for _ in range(20):
            simulation.step()
        agents = simulation.agents
        assert len(agents) == 1 and agents.label == ["#1"]
        for name in ("position", "velocity", "goal", "entity"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(agents, name)[0] = 0
        data = agents.to_frame()
        assert data.loc[1, "position_x"] == agents.position[0, 0] == pytest.approx(0.95, abs=0.06)
        assert data.loc[1, ["agent", "goal_name", "activity", "path_status"]].tolist() == [
            "#1",
            "east",
            "walking",
            "found",
        ]
        assert set(data.attrs["units"]) == set(data.columns)
        assert data.attrs["units"]["position_x"] == "m" and data.attrs["units"]["velocity_y"] == "m/s"
        data["position_x"] = 99.0
        assert agents.position[0, 0] < 2.0
        assert "position" in dir(agents) and "1 agent;" in repr(agents)


def test_a_column_that_there_is_not_is_named_with_the_nearest():
    with crowdsim.Simulation(walker()) as simulation:
        with pytest.raises(AttributeError, match=r"no column 'positon'. Did you mean \"position\"\?"):
            simulation.agents.positon  # noqa: B018
        for name in ("append", "count", "columns"):  # of the arrays behind it
            with pytest.raises(AttributeError, match="no column"):
                getattr(simulation.agents, name)


# Sending agents elsewhere
# ------------------------------------------------------------------------------------------------------------


def test_a_goal_changed_on_the_way_is_walked_to():
    with crowdsim.Simulation(walker()) as simulation:
        for _ in range(40):
            simulation.step()
        assert simulation.agents.velocity[0].tolist() == pytest.approx([1.0, 0.0])
        simulation.set_goal(1, "north")
        verdict = simulation.run()
    assert verdict.arrivals == {"north": 1} and (verdict.arrived, verdict.not_arrived, verdict.steered) == (
        1,
        0,
        1,
    )
    assert verdict.last_arrival_s == pytest.approx(2.0 + np.hypot(2.0, 8.0) - 0.3, abs=0.1)


def test_an_agent_without_a_goal_stands_until_it_gets_one():
    with crowdsim.Simulation(walker()) as simulation:
        simulation.step()
        simulation.set_goal("#1", None)
        for _ in range(20):
            simulation.step()
        place = simulation.agents.position[0].copy()
        simulation.step()
        assert np.array_equal(simulation.agents.position[0], place)
        assert simulation.why_over() == "all arrived"
        simulation.set_goal([1], "east")
        assert simulation.run().arrived == 1


def test_premovement_goes_on_whatever_goal_is_set():
    with crowdsim.Simulation(walker(premovement=3.0)) as simulation:
        simulation.set_goal(1, None)
        simulation.set_goal(1, "north")
        while simulation.time < 2.9:
            simulation.step()
        assert simulation.agents.position[0].tolist() == [0.0, 0.0]
        assert simulation.run().last_arrival_s == pytest.approx(3.0 + 7.7, abs=0.1)


def test_who_stayed_at_its_goal_and_is_sent_on_has_not_arrived():
    document = room([WALKER], goals=PLACES)
    document["groups"][0]["leave_on_arrival"] = False
    with crowdsim.Simulation(document) as simulation:
        while not simulation.why_over():
            simulation.step()
        assert simulation.verdict().arrived == 1
        simulation.set_goal(1, "north")
        simulation.step()
        assert (simulation.verdict().arrived, simulation.verdict().not_arrived) == (0, 1)
        verdict = simulation.run()
        assert (verdict.arrived, verdict.arrivals) == (1, {"east": 1, "north": 1})


@pytest.mark.full
def test_a_goal_set_while_a_search_runs_replaces_it():
    document = BUSY | {"budget": {"work": 1}, "stop": {"after": 60, "when": "all_arrived"}}
    with crowdsim.Simulation(document) as simulation:
        for _ in range(5):
            simulation.step()
            simulation.set_goal(simulation.agents.entity, "west")
        pending = simulation.agents.path_status != 2
        assert np.any(pending)
        simulation.set_goal(simulation.agents.entity, "east")
        verdict = simulation.run()
        assert verdict.not_arrived == 0 and verdict.arrivals["east"] >= 26


@pytest.mark.parametrize(
    ("who", "goal", "message"),
    [
        (
            1,
            "nroth",
            (
                r"^there is no goal 'nroth'\. Did you mean \"north\"\? Known are east, north, and None to "
                r"stand\.$"
            ),
        ),
        (1, (300, 4), r"^the place \(300, 4\) is off the walkable ground as it is now\."),
        (1, (3, 4, 5), r"^agents are sent to a goal by its name, to a point \[x, y\]"),
        (
            7,
            "north",
            r"^there is no agent 7: their numbers are 1 to 1\. agents\.entity has those that are there\.$",
        ),
        ("#2", "north", r"^there is no agent \"#2\"\."),
        ([True], "north", r"'True' was given\. For a mask write agents\.entity\[mask\]\.$"),
        (1.5, "north", r"told apart by whole numbers or names, but '1\.5' was given"),
        ([None], "north", "told apart by whole numbers or names"),
    ],
)
def test_an_unknown_goal_or_agent_is_one_clear_error_and_changes_nothing(who, goal, message):
    with crowdsim.Simulation(walker()) as simulation:
        before = simulation.state()
        with pytest.raises(CrowdsimError, match=message):
            simulation.set_goal(who, goal)
        after = simulation.state()
        assert all(
            np.array_equal(before[name], after[name], equal_nan=before[name].dtype.kind == "f")
            for name in before
        )
        simulation.set_goal([], goal if isinstance(goal, str) and goal in PLACES else None)  # nobody: nothing


def test_an_agent_that_has_left_is_called_by_its_name():
    with crowdsim.Simulation(walker()) as simulation:
        while not simulation.why_over():
            simulation.step()
        with pytest.raises(CrowdsimError, match=r'^agent 1 \("#1"\) has left the world\.'):
            simulation.set_goal(1, "north")


def test_a_preferred_velocity_is_used_and_given_back():
    with crowdsim.Simulation(walker()) as simulation:
        simulation.set_preferred_velocity(1, (0.0, -0.5))
        for _ in range(40):
            simulation.step()
        assert simulation.agents.position[0].tolist() == pytest.approx([0.0, -1.0])
        simulation.set_preferred_velocity(1, None)
        verdict = simulation.run()
    assert verdict.arrived == 1 and verdict.last_arrival_s == pytest.approx(
        2.0 + np.hypot(8.0, 1.0) - 0.3, abs=0.1
    )


def test_driven_agents_stay_on_the_ground_and_come_back_from_anywhere():
    obstacle = [[[3, -9], [3.5, -9], [3.5, 2], [3, 2]]]
    with crowdsim.Simulation(room([WALKER], goals=PLACES, obstacles=obstacle)) as simulation:
        for velocity in ((-1.2, -1.2), (1.2, 0.0), (0.0, 1.2)):
            simulation.set_preferred_velocity(simulation.agents.entity, [velocity])
            for _ in range(200):
                simulation.step()
                assert np.all(np.abs(simulation.agents.position) <= 9.8 + 1e-6)
        simulation.set_preferred_velocity(1, None)
        assert simulation.run().arrived == 1


@pytest.mark.parametrize(
    "velocity",
    ["fast", [1.0, 2.0, 3.0], [[1.0, 0.0], [0.0, 1.0]], (float("nan"), 0.0), (float("inf"), 0.0), 1.0],
)
def test_what_is_no_velocity_is_one_clear_error(velocity):
    with (
        crowdsim.Simulation(walker()) as simulation,
        pytest.raises(CrowdsimError, match=r"^a preferred velocity is a pair of finite numbers in m/s"),
    ):
        simulation.set_preferred_velocity(1, velocity)


def test_a_steered_run_says_so_and_is_run_again(tmp_path):
    with crowdsim.Simulation(walker(), out=tmp_path / "a.h5") as simulation:
        simulation.set_goal(1, "north")
        simulation.run()
    assert command(["verify", tmp_path / "a.h5"]).returncode == 0
    assert "steered" in command(["info", tmp_path / "a.h5"]).stdout


# Being told
# ------------------------------------------------------------------------------------------------------------


def test_a_callback_gets_every_event_once_and_in_order(tmp_path):
    told, arrivals, later = [], [], []
    with crowdsim.Simulation(BUSY, out=tmp_path / "a.h5") as simulation:
        simulation.on(None, told.append)
        forget = simulation.on("arrival", lambda event: arrivals.append(event.entity))
        simulation.on(EventKind.ARRIVAL, lambda event: later.append(event["entity"]))
        for _ in range(120):
            simulation.step()
        forget()
        forget()
        simulation.run()
    with crowdsim.open_run(tmp_path / "a.h5") as run:
        recorded = run.events()
    assert [
        (event.tick, event.entity, EventKind(event.kind).name, event.value, event.x, event.y)
        for event in told
    ] == [
        tuple(row)
        for row in recorded.astype({"kind": object})[
            ["tick", "entity", "kind", "value", "x", "y"]
        ].itertuples(index=False)
    ]
    at = recorded[recorded["kind"] == "ARRIVAL"]
    assert (
        later == at["entity"].tolist()
        and arrivals == at.loc[at["tick"] <= 120, "entity"].tolist()
        and 0 < len(arrivals) < len(later)
    )


def test_a_callbacks_exception_is_the_users_and_nothing_is_lost():
    told = []

    def shaky(event):
        told.append((event.tick, event.entity))
        if len(told) == 3:
            raise KeyError("mine")

    with crowdsim.Simulation(BUSY) as simulation:
        simulation.on("SPAWN", shaky)
        with pytest.raises(KeyError, match="mine") as caught:
            simulation.run()
        assert caught.value.__notes__ == [
            (
                "crowdsim: raised by the callback shaky for SPAWN at tick 0. The tick itself is whole and "
                "recorded; the simulation can go on."
            )
        ]
        assert simulation.tick == 1 and len(told) == 3
        simulation.step()
        assert told == [(0, entity) for entity in range(1, 39)]
        after = simulation.digest
    with crowdsim.Simulation(BUSY) as undisturbed:
        assert digests(undisturbed, 2)[-1] == after


def test_an_exception_in_a_callback_leaves_a_recording_that_is_marked_as_interrupted(tmp_path):
    with pytest.raises(ZeroDivisionError), crowdsim.Simulation(BUSY, out=tmp_path / "a.h5") as simulation:
        simulation.on("ARRIVAL", lambda event: 1 / 0)
        simulation.run()
    with crowdsim.open_run(tmp_path / "a.h5") as run:
        assert run.is_whole and run.state.name == "INTERRUPTED" and run.commit.last_tick == simulation.tick


def test_callbacks_may_steer_but_not_step():
    with crowdsim.Simulation(walker()) as simulation:
        simulation.on(
            "PATH_FOUND",
            lambda event: simulation.set_goal(event.entity, "north") if event.tick == 1 else None,
        )
        assert simulation.run().arrivals == {"north": 1}
    with crowdsim.Simulation(walker()) as simulation:
        simulation.on("SPAWN", lambda event: simulation.step())
        with pytest.raises(CrowdsimError, match="a callback cannot step the simulation"):
            simulation.step()
        assert simulation.tick == 1


@pytest.mark.parametrize(
    ("kind", "callback", "message"),
    [
        (
            "arival",
            print,
            r"^there is no kind of event 'arival'\. Did you mean \"ARRIVAL\"\? Known are SPAWN, ",
        ),
        (99, print, r"^there is no kind of event 99\. Known are SPAWN, .* and None for all of them\.$"),
        ("ARRIVAL", None, "^the callback is None, which cannot be called"),
    ],
)
def test_listening_for_what_there_is_not_is_one_clear_error(kind, callback, message):
    with crowdsim.Simulation(walker()) as simulation, pytest.raises(CrowdsimError, match=message):
        simulation.on(kind, callback)


# Recordings
# ------------------------------------------------------------------------------------------------------------


def recover_all(folder):
    """Return ticks and frames of what `recover` makes of the run a.h5 in a folder."""
    with pytest.raises(
        RecordingError, match=r"a run with this output was cut off: .*partial\.h5.*crowdsim recover"
    ):
        crowdsim.open_run(folder / "a.h5")
    assert command(["recover", folder / "a.h5"]).returncode == 0
    with crowdsim.open_run(folder / "a.recovered.h5") as run:
        assert run.is_whole and len(run.trajectories()) == run.commit.rows
        return run.commit.last_tick, run.commit.frames


@pytest.mark.full
def test_a_simulation_that_is_dropped_leaves_everything_until_its_last_tick(tmp_path):
    simulation = crowdsim.Simulation(BUSY, out=tmp_path / "a.h5")
    for _ in range(51):
        simulation.step()
    del simulation
    gc.collect()
    (partial,) = tmp_path.glob(".*.partial.h5")
    with crowdsim.open_run(partial) as run:
        assert (run.commit.last_tick, run.commit.frames, run.is_whole) == (51, 26, False)
    assert recover_all(tmp_path) == (51, 26)


@pytest.mark.sample(1)
@pytest.mark.parametrize("end", ["", "raise SystemExit(3)", "1 / 0"])
def test_a_program_that_ends_without_finishing_leaves_everything_until_its_last_tick(tmp_path, end):
    program = f"""
import crowdsim
from tests.crowds import BUSY
simulation = crowdsim.Simulation(BUSY, out={str(tmp_path / "a.h5")!r})
for _ in range(51):
    simulation.step()
{end}
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ("ZeroDivisionError" in done.stderr) == (end == "1 / 0") and "Exception ignored" not in done.stderr
    assert recover_all(tmp_path) == (51, 26)


def test_a_forked_child_leaves_the_recording_alone(tmp_path):
    simulation = crowdsim.Simulation(BUSY, out=tmp_path / "a.h5")
    simulation.step()
    child = os.fork()
    if not child:
        del simulation
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    for _ in range(50):
        simulation.step()
    simulation.finish()
    with crowdsim.open_run(tmp_path / "a.h5") as run:
        assert run.commit.last_tick == 51 and len(run.trajectories()) == run.commit.rows


def test_a_recording_gives_tables_with_units_and_any_hdf5_reader_opens_it(tmp_path):
    with crowdsim.Simulation(BUSY, out=tmp_path / "a.h5") as simulation:
        verdict = simulation.run()
        assert simulation.kept.path == tmp_path / "a.h5"
    with crowdsim.open_run(tmp_path / "a.h5") as run:
        data, ticks = run.trajectories(columns=["x", "y", "velocity"]), run.ticks()
        assert (
            list(data) == ["frame", "id", "x", "y", "velocity_x", "velocity_y"]
            and data.attrs["units"]["velocity_x"] == "m/s"
        )
        assert len(ticks) == verdict.ticks and run.verdict["result"]["digest"] == verdict.digest
    with h5py.File(tmp_path / "a.h5") as file:
        assert len(file["trajectory"]) == len(data)


def test_what_a_program_holds_says_in_one_line_what_it_is(tmp_path):
    scenario = crowdsim.load_scenario(SCENARIOS / "four-way-crossing.yaml", sets=["stop.after=1"])
    with crowdsim.Simulation(scenario, out=tmp_path / "run.h5") as simulation:
        simulation.step()
        assert repr(simulation).startswith("<Simulation of four-way-crossing: tick 1 (")
        held = [
            simulation,
            simulation.agents,
            simulation.world,
            simulation.built,
            scenario,
            scenario.geometry,
        ]
        held += [*scenario.goals, scenario.stop, scenario.navigation]
        held.append(simulation.run())
    with crowdsim.open_run(tmp_path / "run.h5") as run:
        held += [run, run.header, tracks_of(run)]
        assert repr(run).startswith(
            f"<Recording {tmp_path / 'run.h5'}: finished, {scenario.agent_count} agents, "
        )
    for each in held:
        said = repr(each)
        assert "\n" not in said and re.search(r"\d", said) and len(said) < 320, said
