"""Systems of a user's own: they stand where they say, are held to what they declare, and are digested,
recorded and saved like all others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from crowdsim.avoidance import plugins
from crowdsim.avoidance.plugins import PluginError, load_plugin
from crowdsim.errors import CrowdsimError, ScenarioError
from crowdsim.recording.checkpoint import read_checkpoint
from crowdsim.recording.opening import open_run
from crowdsim.simulation.checkpoints import Start
from crowdsim.systems import System, register
from crowdsim.systems.base.own import OwnSystemError
from crowdsim.systems.follow import Follow
from crowdsim.world import registry
from crowdsim.world.columns import Column
from crowdsim.world.random import Stream, draw_uniform
from tests.cli.test_mistakes import outcome
from tests.crowds import (
    BUSY,
    ROOT,
    SCENARIOS,
    assert_same_on_threads_and_from_saved_states,
    digests,
    simulation,
)

FATIGUE = ROOT / "docs" / "examples" / "fatigue.py"
TIRE = {"system": "Tire", "endurance": 3.0, "rest": 0.5}


@pytest.fixture(autouse=True)
def _only_those_of_the_test(monkeypatch):
    monkeypatch.setattr(registry, "_systems", {})
    monkeypatch.setattr(plugins, "_files", {})


def made(name="Own", bases=(System,), **said):
    """Return a class of systems that declares some things; it does nothing else without a `process`."""
    said = {"after": Follow, "process": lambda self, tick: None, "__module__": __name__, **said}
    return type(name, bases, said)


def names(run):
    return [system.name for system in run.systems]


def test_it_stands_where_it_says_and_several_stand_as_they_are_given():
    own = [made("One"), made("Two"), made("Three", after=None, before="Avoid"), made("Four", after="One")]
    with simulation(systems=own, warm=False) as run:
        order = names(run)
    at = order.index("Follow")
    assert (
        order[at : at + 4] == ["Follow", "One", "Four", "Two"] and order[order.index("Avoid") - 1] == "Three"
    )


def test_a_system_may_stand_after_one_that_is_given_later():
    with simulation(systems=[made("Late", after="Early"), made("Early")], warm=False) as run:
        at = names(run).index("Follow")
        assert names(run)[at : at + 3] == ["Follow", "Early", "Late"]


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (
            [{"after": "Fly"}],
            "the system Own stands after Fly, but the tick has no place there. Its systems are "
            "MoveObstacles, ",
        ),
        ([{"after": "Own"}], "the system Own stands after Own, but the tick has no place there"),
        (
            [{"after": None}],
            "the system Own has no place in the tick. Say one of both: after = Follow, or before = Avoid",
        ),
        ([{"before": "Avoid"}], "the system Own has no place in the tick. Say one of both"),
        ([{"name": "Walk"}], 'two systems of the tick are called "Walk"'),
        ([{"name": "orca"}], "the system orca has the name of an avoidance model"),
        ([{"counts": ("stuck",)}], 'two counts of the tick are called "stuck"'),
        ([{"reads": ("colour",)}], 'the system Own declares the column "colour", which there is not'),
        (
            [{"writes": ("position",)}],
            (
                'the system Own declares to write "position", which only crowdsim\'s own do. It can write '
                "columns of its own, and velocity, "
            ),
        ),
        (
            [{"reads": "position"}],
            "the system Own has reads = 'position', but that is a tuple of different names",
        ),
        (
            [{"columns": (Column("position", "float64", "m", ""),)}],
            'the system Own has a column "position", but a column has a name of its own',
        ),
        (
            [{"columns": (Column("heat", "float64", "K", "", width=3),)}],
            "the system Own has the column heat of 3 x float64",
        ),
        (
            [
                {"name": "A", "columns": (Column("heat", "float64", "K", ""),)},
                {"name": "B", "columns": (Column("heat", "float64", "K", ""),)},
            ],
            'columns of the tick are called "heat"',
        ),
        ([{"components": (dict,)}], "the system Own has the component <class 'dict'>, which is no dataclass"),
        ([{"Parameters": dict}], "the system Own has no class Parameters"),
    ],
)
def test_what_it_says_of_itself_and_cannot_be_is_told_once(own, message):
    with pytest.raises(CrowdsimError) as caught:
        simulation(systems=[made(**{"name": "Own", **each}) for each in own], warm=False)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_component_that_cannot_be_saved_is_reported():
    @dataclass
    class Note:
        text: str

    with pytest.raises(
        PluginError, match=r"the component Note, whose field text is neither int, float nor bool"
    ):
        register(made(components=(Note,)))


def test_two_classes_of_one_name_are_refused():
    register(made())
    with pytest.raises(PluginError, match=r"two systems are called Own: .* Rename yours"):
        register(made(__module__="elsewhere"))
    with pytest.raises(PluginError, match=r"is no class of systems. Derive it from System"):
        register(int)


def look(column):
    return lambda self, tick: getattr(self.world.agents, column).sum()


def write(column, value):
    def process(self, tick):
        getattr(self.world.agents, column)[3] = value

    return process


def increase(column):
    column[:3] += 1.0


READINGS = [
    lambda column: column[0],
    lambda column: column.copy(),
    lambda column: column.max(),
    lambda column: column + 1.0,
    np.median,
    increase,
    lambda column: np.add(1.0, column, out=np.empty(column.shape)),
    lambda column: np.copyto(np.empty(column.shape), column),
]


def read_written(read):
    def process(self, tick):
        read(self.world.agents.velocity)

    return process


def leave(self, tick):
    self.world.retire((self.world.agents.activity == 0).nonzero()[0])


def remove_by_the_columns(self, tick):
    self.world.agents.remove((self.world.agents.activity == 1).nonzero()[0])


def count(self, tick):
    tick.counts["sneezes"] = 1.0


def fall(self, tick):
    raise KeyError("lost")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            {"process": look("velocity")},
            (
                'the system Own looks at the column velocity, which it does not declare. Add "velocity" to '
                "its reads."
            ),
        ),
        ({"process": lambda self, tick: self.world.polygons()}, "looks at the column surface"),
        ({"process": write("velocity", 1.0)}, "looks at the column velocity"),
        (
            {"process": write("velocity", 1.0), "reads": ("velocity",)},
            "the system Own changed the column velocity of agent 4, and declares only to read it",
        ),
        (
            {"process": write("preferred_velocity", np.nan), "writes": ("preferred_velocity",)},
            "wrote what the column cannot hold: preferred_velocity[3, 0] is nan",
        ),
        (
            {"process": write("desired_speed", -1.0), "writes": ("desired_speed",)},
            "desired_speed[3] is -1.0, but has to be at least 0.0",
        ),
        *[
            (
                {"process": read_written(read), "writes": ("velocity",)},
                (
                    "the system Own reads the column velocity, and declares only to write it. Add "
                    '"velocity" to its reads.'
                ),
            )
            for read in READINGS
        ],
        (
            {
                "process": leave,
                "reads": ("activity", "entity", "position", "corridor_start", "corridor_capacity"),
            },
            "adds or removes agents",
        ),
        (
            {"process": remove_by_the_columns, "reads": ("activity",)},
            "the system Own adds or removes agents, which only systems of crowdsim's own do",
        ),
        ({"process": count}, "the system Own counted sneezes, but declares counts = nothing"),
        ({"counts": ("sneezes",)}, "the system Own counted nothing, but declares counts = sneezes"),
        ({"process": fall}, f"the system Own raised an error when it was run, at {__file__}:"),
    ],
)
def test_it_is_held_to_what_it_declares(said, message):
    with simulation(systems=[made(**said)], warm=False) as run, pytest.raises(OwnSystemError) as caught:
        run.step()
    assert (
        str(caught.value).startswith("tick 1: ")
        and message in str(caught.value)
        and "\n" not in str(caught.value)
    )


def test_columns_that_it_kept_from_when_it_was_made_are_the_declared_ones_too():
    class Sly(System):
        after = Follow

        def __init__(self, world):
            super().__init__(world)
            self.agents = world.agents

        def process(self, tick):
            self.agents.velocity[0] = 1.0

    with (
        simulation(systems=[Sly], warm=False) as run,
        pytest.raises(OwnSystemError, match="looks at the column velocity"),
    ):
        run.step()


@dataclass
class Cold:
    since: int
    degrees: float
    is_bad: bool


class Catch(System):
    """Agents catch a cold by chance, keep it for a second, and a thing counts them."""

    after = Follow
    reads = ("entity", "key", "activity", "position", "preferred_velocity", "colds")
    writes = ("preferred_velocity", "colds")
    counts = ("colds_now",)
    columns = (Column("colds", "int32", "", "how many it has had", within=(0, None)),)
    components = (Cold,)

    def __init__(self, world):
        super().__init__(world)
        self.caught = 0

    def process(self, tick):
        agents = self.world.agents
        count = self.world.agent_count
        for entity, cold in self.world.query(Cold):
            if tick.number - cold.since >= 10:
                self.world.entities.remove(entity, Cold)
        draw = draw_uniform(7, Stream.CHOICE, agents.key[:count], 0.0, 1.0, tick.number)
        for row in np.flatnonzero(draw < 0.05):
            self.world.entities.add(
                int(agents.entity[row]), Cold(tick.number, float(agents.position[row, 0]), bool(row % 2))
            )
            agents.colds[row] += 1
            self.caught += 1
        ill = [entity for entity, cold in self.world.query(Cold) if cold.is_bad]
        agents.preferred_velocity[np.isin(agents.entity, ill)] *= 0.5
        tick.counts["colds_now"] = float(len(self.world.query(Cold)))

    def state(self):
        return {"caught": np.array([self.caught])}

    def restore(self, state):
        self.caught = state.whole("caught", 0, 10**6)


WITH_COLDS = {**BUSY, "systems": ["Catch"]}


def test_the_same_on_any_number_of_threads_and_from_saved_states():
    register(Catch)
    assert_same_on_threads_and_from_saved_states(WITH_COLDS, 80, saved=(0, 1, 33, 60))


def test_what_it_does_is_in_the_digests_and_nothing_is_where_it_is_not():
    register(Catch)
    with simulation() as plain, simulation(WITH_COLDS) as colds, simulation(systems=[Catch]) as passed:
        plain, colds, passed = digests(plain, 12), digests(colds, 12), digests(passed, 12)
    assert colds == passed and colds[-1] != plain[-1]


@pytest.mark.parametrize("change", ["column", "component", "state"])
def test_all_that_it_keeps_is_digested(change):
    register(Catch)
    found = []
    for is_changed in (False, True):
        with simulation(WITH_COLDS) as run:
            digests(run, 20)
            if is_changed and change == "column":
                run.world.agents.colds[0] += 1
            elif is_changed and change == "component":
                run.world.query(Cold)[0][1].degrees += 1e-9
            elif is_changed:
                run.system(Catch).caught += 1
            found.append(digests(run, 1)[0])
    assert found[0] != found[1]


def test_it_is_recorded_and_a_run_that_was_stopped_goes_on_as_it_was(tmp_path):
    register(Catch)
    with simulation(WITH_COLDS, out=tmp_path / "whole.h5") as run:
        for _ in range(40):
            run.step()
            if run.tick == 20:
                run.checkpoint(tmp_path / "half.checkpoint")
    with open_run(tmp_path / "whole.h5") as whole:
        assert (
            whole.layout.systems[whole.layout.systems.index("Follow") + 1] == "Catch"
            and whole.header.plugins["Catch"]["kind"] == "system"
        )
        assert {"colds", "Catch state"} <= set(whole.layout.digests) and "systems:" in whole.header.scenario
        colds = whole.table("agents/colds")
        assert colds.max() > 0 and whole.ticks()["colds_now"].max() > 0.0
        with simulation(
            WITH_COLDS,
            out=tmp_path / "again.h5",
            start=Start(read_checkpoint(tmp_path / "half.checkpoint"), "half", whole),
        ) as run:
            digests(run, 20)
        with open_run(tmp_path / "again.h5") as again:
            assert again.run_digest == whole.run_digest and np.array_equal(again.table("agents/colds"), colds)


def test_a_saved_state_of_it_that_cannot_be_is_refused():
    register(Catch)
    with simulation(WITH_COLDS) as run, simulation(WITH_COLDS) as other, simulation() as plain:
        digests(run, 20)
        state = run.state()
        place = "systems/Catch/components/Cold/entity"
        with pytest.raises(ValueError, match=r"entity\[0\] is 999, but there is no such entity"):
            other.restore(
                {
                    **state,
                    place: np.full_like(state[place], 999)[:1],
                    **{
                        name: array[:1] for name, array in state.items() if "/Cold/" in name and name != place
                    },
                }
            )
        with pytest.raises(ValueError, match="is missing"):
            other.restore(
                {name: array for name, array in state.items() if name != "systems/Catch/own/caught"}
            )
        with pytest.raises(ValueError, match="not known here"):
            plain.restore(
                {name: array for name, array in state.items() if "colds" not in name}
                | {"systems/Record/last": state["systems/Record/last"][:15]}
            )


def test_entities_that_it_makes_have_their_numbers_after_a_restore_too():
    class Drop(System):
        after = Follow
        components = (Cold,)

        def process(self, tick):
            for entity, cold in self.world.query(Cold):
                if tick.number - cold.since > 3:
                    self.world.delete(entity)
            self.world.create(Cold(tick.number, 0.0, False))

    register(Drop)
    with simulation({**BUSY, "systems": ["Drop"]}) as run, simulation({**BUSY, "systems": ["Drop"]}) as other:
        digests(run, 10)
        other.restore(run.state())
        assert digests(run, 5) == digests(other, 5)
        assert run.world.query(Cold) == other.world.query(Cold) and len(run.world.query(Cold)) == 4
        goal = run.world.entities.things()[0]
        with pytest.raises(ValueError, match="belongs to the scenario, and cannot be deleted"):
            run.world.delete(int(goal))


def unload():
    """Be as a process that has not loaded the plug-in."""
    registry.forget("Tire")
    plugins._files.clear()


def test_a_plug_in_takes_part_where_the_scenario_names_it(tmp_path, capsys):
    assert load_plugin(FATIGUE) == ("Tire",)
    with simulation({**BUSY, "systems": [TIRE]}) as run, simulation({**BUSY, "systems": ["Tire"]}) as fresh:
        digests(run, 60)
        digests(fresh, 60)
        assert run.world.agents.fatigue.max() == 1.0 and fresh.world.agents.fatigue.max() < 1.0
    unload()
    out, scene = tmp_path / "run.h5", str(SCENARIOS / "head-on-corridor.yaml")
    sets = ["--set", "systems=[{system: Tire, endurance: 5}]", "--set", "stop.after=4"]
    assert outcome(capsys, "run", scene, *sets, "-o", str(out), "-q")[0] == 2
    code, _, err = outcome(
        capsys, "run", scene, *sets, "-o", str(out), "-q", "--plugin", str(FATIGUE), "--checkpoint-every", "1"
    )
    assert code == 3, err
    unload()
    code, _, err = outcome(capsys, "verify", str(out))
    assert (
        code == 2
        and "made with a system that is not crowdsim's own" in err
        and f"--plugin {FATIGUE}" in err
        and "Traceback" not in err
    )
    code, text, _ = outcome(capsys, "verify", str(out), "--plugin", str(FATIGUE))
    assert code == 0 and "identical" in text
    code, _, err = outcome(
        capsys,
        "resume",
        str(out),
        "--at",
        "3",
        "--out",
        str(tmp_path / "on.h5"),
        "-q",
        "--plugin",
        str(FATIGUE),
    )
    assert code == 3, err
    with open_run(out) as one, open_run(tmp_path / "on.h5") as other:
        assert one.run_digest == other.run_digest


def test_mistakes_in_the_key_are_reported():
    load_plugin(FATIGUE)
    for value, message in [
        ("Tire", r"systems: expects a list of names"),
        (["tire"], r'"tire" is no known system'),
        ([{"endurance": 2}], 'the key "system" is missing'),
        (["Tire", "Tire"], '"Tire" takes part already'),
        ([{"system": "Tire", "endurance": -1}], "is outside"),
        ([{"system": "Tire", "length": 1}], "no parameter"),
    ]:
        with pytest.raises(ScenarioError, match=message):
            simulation({**BUSY, "systems": value}, warm=False)


def test_a_plug_in_that_registers_a_wrong_system_is_no_plug_in(tmp_path):
    file = tmp_path / "wrong.py"
    file.write_text(
        "from crowdsim.systems import System, register\n@register\nclass Wrong(System):\n"
        "    after = 'Follow'\n    writes = ('key',)\n"
    )
    with pytest.raises(PluginError, match=rf'{file}: the system Wrong declares to write "key"'):
        load_plugin(file)
    assert registry.registered_systems() == {}


def test_columns_of_choices_are_there_only_where_some_goal_is_a_choice():
    @register
    class Reads(System):
        """Look at what agents have chosen."""

        after = "Choose"
        reads = ("choice",)

        def process(self, tick):
            assert len(self.world.agents.choice) == len(self.world.agents)

    document = {**BUSY, "systems": ["Reads"]}
    with pytest.raises(CrowdsimError, match="declares choice, a column of choices, but no goal"):
        simulation(document)
    goals = {**BUSY["goals"], "out": {"quickest_of": ["east", "west"]}}
    with simulation({**document, "goals": goals}) as run:
        run.step()
