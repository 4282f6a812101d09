"""What a program does to agents that do what a machine of states says."""

import re

import numpy as np
import pytest

import crowdsim as library
from crowdsim.errors import CrowdsimError
from crowdsim.recording.checkpoint import read_checkpoint
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.checkpoints import Start
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.columns import Errand
from tests.cli.command import crowdsim
from tests.crowds import ROOT
from tests.scenes.behaviour import everything, hall

WAITS = {
    "states": {
        "rest": {"wait_until": {"signal": "go"}, "then": "walk"},
        "walk": {"go_to": "b", "then": "back"},
        "back": {"go_to": "a"},
    }
}


def waiting(**more):
    groups = [
        {"name": "led", "positions": [[3, 3], [3, 5]], "behaviour": "m"},
        {"name": "free", "positions": [[3, 7]], "goals": ["c"]},
    ]
    return hall({"m": WAITS}, groups, **more)


def row_of(run, name):
    return list(run.agents.label).index(name)


def place_of(run, name):
    return run.agents.position[row_of(run, name)].copy()


def state_of(run, name):
    number = int(run.world.agents.machine_state[row_of(run, name)])
    return run.scenario.behaviours.states[number].name if number >= 0 else "end"


def step(run, ticks):
    for _ in range(ticks):
        run.step()


def test_a_program_gives_a_signal_and_puts_agents_into_states():
    with Simulation(waiting()) as run:
        step(run, 10)
        assert state_of(run, "led[0]") == state_of(run, "led[1]") == "rest"
        run.set_state("led[1]", "back")
        step(run, 2)
        assert state_of(run, "led[1]") == "back" and state_of(run, "led[0]") == "rest"
        run.set_signal("go")
        step(run, 2)
        assert state_of(run, "led[0]") == "walk"
        run.set_signal("go", False)
        run.set_state(["led[0]", "led[1]"], "rest")
        step(run, 20)
        assert state_of(run, "led[0]") == "rest"
        at = place_of(run, "led[0]")
        step(run, 5)
        assert np.array_equal(at, place_of(run, "led[0]"))


def test_a_goal_that_a_program_gives_ends_the_machine_and_a_state_lets_it_begin_again():
    with Simulation(waiting()) as run:
        told = []
        run.on("STATE", lambda event: told.append((event.tick, event.entity)))
        step(run, 5)
        run.set_goal("led[0]", [8.0, 3.0])
        row = row_of(run, "led[0]")
        assert run.world.agents.errand[row] == Errand.ENDED
        step(run, 10)
        assert state_of(run, "led[0]") == "end" and place_of(run, "led[0]")[0] > 3.5
        assert (6, int(run.agents.entity[row])) in told
        run.set_signal("go")
        step(run, 3)
        assert state_of(run, "led[0]") == "end" and state_of(run, "led[1]") == "walk"
        run.set_state("led[0]", "rest")  # the signal is on: it walks at once
        step(run, 2)
        assert state_of(run, "led[0]") == "walk"


def test_what_a_program_did_since_the_last_tick_is_in_a_saved_state():
    with Simulation(waiting()) as run, Simulation(waiting()) as other:
        step(run, 5)
        run.set_state("led[1]", "back")
        run.set_goal("led[0]", "c")
        other.restore(run.state())
        step(run, 10)
        step(other, 10)
        assert run.digest == other.digest and state_of(other, "led[1]") == "back"


def test_a_goal_before_an_agent_has_set_off_ends_its_machine_too():
    document = waiting()
    document["groups"][0]["premovement"] = 3
    with Simulation(document) as run:
        run.set_goal("led[0]", "c")
        step(run, 50)
        assert state_of(run, "led[0]") == "end" and place_of(run, "led[0]")[0] > 4
        assert state_of(run, "led[1]") == "rest"


def test_agents_that_are_away_for_a_while_go_on_where_they_were():
    with Simulation(waiting()) as run:
        run.set_signal("go")
        step(run, 20)
        place = place_of(run, "led[0]")
        run.switch_off("led[0]")
        step(run, 30)
        run.switch_on("led[0]")
        step(run, 3)
        assert state_of(run, "led[0]") == "walk"
        assert 0 < np.hypot(*(place_of(run, "led[0]") - place)) < 0.6
        step(run, 300)
        assert state_of(run, "led[0]") in ("back", "end")


def test_one_that_is_taken_out_of_a_line_loses_its_place():
    document = hall(
        {"m": {"states": {"buy": {"queue": "desk", "then": "go"}, "go": {"leave": "out"}}}},
        [{"name": "x", "positions": [[14.5, 4.4], [14.5, 5.0], [14.5, 5.6]], "behaviour": "m"}],
        queues={"desk": {"servers": [[14.5, 3]], "line": [[14.5, 4.4], [14.5, 10]], "service": 20}},
    )
    with Simulation(document) as run:
        step(run, 40)
        desk = next(s for s in run.systems if s.name == "Behave").actions["queue"].desks[0]
        served, line = desk.served[0], list(desk.lines[0])
        assert len(line) == 2 and served not in line
        run.switch_off(line[0])
        step(run, 2)
        assert desk.lines[0] == line[1:]
        run.switch_on(line[0])
        run.remove_agents(served)
        step(run, 100)
        assert desk.served[0] == line[1] and desk.lines[0] == [line[0]]
        run.set_goal(line[0], "b")
        step(run, 2)
        assert desk.lines[0] == []


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (
            lambda run: run.set_state("led[0]", "wlk"),
            'the machine "m" has no state \'wlk\'. Did you mean "walk"?',
        ),
        (
            lambda run: run.set_state("free[0]", "walk"),
            "the agents of the group free have no machine of states",
        ),
        (lambda run: run.set_state("led[9]", "walk"), "led[9]"),
        (lambda run: run.set_state("led[0]", 3), 'the machine "m" has no state 3'),
        (lambda run: run.set_signal("goo"), "there is no signal 'goo'. Did you mean \"go\"?"),
    ],
)
def test_mistakes_change_nothing(call, problem):
    with Simulation(waiting()) as run:
        step(run, 3)
        before = {name: array.copy() for name, array in run.state().items()}
        with pytest.raises(CrowdsimError) as caught:
            call(run)
        assert problem in str(caught.value)
        assert all(
            np.array_equal(array, before[name], equal_nan=array.dtype.kind == "f")
            for name, array in run.state().items()
        )


def act(run):
    """Do what a program does after a tick; nothing in most of them."""
    tick, agents = run.tick, run.agents
    draws = np.random.default_rng([3, tick])
    if not len(agents):
        return
    some = np.sort(draws.choice(agents.entity, size=min(3, len(agents)), replace=False))
    visitors = [name for name in agents.label if name.startswith("visitors")][:3]
    if tick % 30 == 7 and visitors:
        run.set_state(visitors, ["buy", "sit", "stroll", "pay"][tick // 30 % 4])
    if tick % 50 == 21:
        run.set_goal(some, ["a", "b", None][tick // 50 % 3])
    if tick % 40 == 33:
        run.set_signal("alarm", tick % 80 == 33)
    if tick % 60 == 11:
        run.switch_off(some[:2])
    if tick % 60 == 31:
        outside = run.world.outside
        for entity in outside["entity"][outside["was_in"] == 1].tolist():
            try:
                run.switch_on(entity)
            except CrowdsimError:  # another agent stands there
                continue
    if tick % 45 == 19:
        run.hold(some)
    if tick % 45 == 40:
        run.hold(agents.entity, held=False)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("avoidance", "navigation"),
    [
        ("orca", "mesh"),
        ("hrvo", "grid"),
        ("clearpath", "visibility"),
        ("sampled-hrvo", "optimal"),
        ("orca", "s2-grid"),
    ],
)
def test_a_program_that_leads_agents_follows_from_its_recording_alone(tmp_path, avoidance, navigation):
    document = everything(avoidance=avoidance, navigation=navigation)
    path, last = tmp_path / "whole.h5", 500
    with Simulation(document, out=path) as run:
        for _ in range(last):
            act(run)
            run.step()
            if run.tick == 211:
                run.checkpoint(tmp_path / "a.checkpoint")
        digest = run.digest
    checked = crowdsim(["verify", path])
    assert checked.returncode == 0, checked.stdout + checked.stderr
    with library.open_run(path) as whole:
        assert {each.call for each in whole.interventions()} >= {
            "set_state",
            "set_signal",
            "set_goal",
            "hold",
        }
        scenario = parse_scenario(whole.header.scenario)
    with Simulation(
        scenario, start=Start(read_checkpoint(tmp_path / "a.checkpoint"), "a"), threads=2
    ) as again:
        while again.tick < last:
            act(again)
            again.step()
        assert again.digest == digest


SHIFTS = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "guides" / "behaviour.md").read_text(), re.DOTALL)[
    -1
]


def test_a_system_of_ones_own_decides_what_comes_next_and_its_runs_are_verified_and_resumed(tmp_path):
    plugin = ROOT / "docs" / "examples" / "shift.py"
    (tmp_path / "shifts.yaml").write_text(SHIFTS)
    run = crowdsim(["run", tmp_path / "shifts.yaml", "--plugin", plugin, "--out", tmp_path / "run.h5"])
    assert run.returncode == 0 and "note" not in run.stderr, run.stderr
    assert crowdsim(["verify", tmp_path / "run.h5", "--plugin", plugin]).returncode == 0
    use = library.measures.state_use(tmp_path / "run.h5").set_index("state")["times"]
    work = use[[f"work {number}" for number in (1, 2, 3)]]
    assert work.min() > 8 and work.max() - work.min() <= 1  # shared fairly
    kind = library.load_plugin(plugin)
    with Simulation(parse_scenario(SHIFTS)) as one:
        states, digests = [], []
        for _ in range(300):
            states.append({name: array.copy() for name, array in one.state().items()})
            one.step()
            digests.append(one.digest)
    assert kind
    with Simulation(parse_scenario(SHIFTS), threads=2) as again:
        again.restore(states[157])
        for tick in range(157, 300):
            again.step()
            assert again.digest == digests[tick]


def test_a_system_that_names_a_state_of_another_machine_or_has_no_machines_is_told_so():
    library.load_plugin(ROOT / "docs" / "examples" / "shift.py")
    with (
        pytest.raises(
            CrowdsimError, match="declares machine_state, a column of machines of states, but no group"
        ),
        Simulation(hall({}, [{"name": "x", "positions": [[3, 3]]}], systems=["Shift"])),
    ):
        pass
    document = waiting()
    document["behaviours"]["n"] = {"states": {"s": {"stand": True}}}
    document["groups"][1] = {"name": "other", "positions": [[3, 7]], "behaviour": "n"}
    with Simulation(document) as run:
        step(run, 3)
        run.world.agents.state_wish[row_of(run, "other[0]")] = 0
        with pytest.raises(
            CrowdsimError, match=r'puts other\[0\] into the state "rest", which its machine has not'
        ):
            run.step()
