"""Plug-ins: what can be loaded, what cannot and why, and that a model which breaks its promises is told by
name, agent and tick.
"""

import types
from importlib import metadata

import numpy as np
import pytest

from crowdsim.avoidance import plugins, registry
from crowdsim.avoidance.guard import LAWFUL, ModelError, first_unlawful
from crowdsim.avoidance.plugins import PluginError, load_plugin, require_recorded
from crowdsim.avoidance.registry import UnknownModelError, available_models, model_named, origin_of
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation
from tests.reference import guard as twin

SCENE = """
version: 1
tick: 0.1
geometry: {walkable: {box: [0, 0, 10, 4]}}
goals: {end: {exit: {box: [9, 0, 10, 4]}}}
groups: [{name: crowd, count: 6, region: {box: [0, 0, 3, 4]}, goals: end, speed: 1.0}]
"""
HEAD = """
import numpy as np
from crowdsim.avoidance.model import StatelessModel
from crowdsim.avoidance.registry import register

@register
class Mine(StatelessModel):
    name = "mine"
    ticks = 0
"""
STANDS = "    def choose(self, view, tick_length, team, out):\n        out.velocity[:] = 0.0\n"
KEEPS = (
    HEAD
    + """
    def choose(self, view, tick_length, team, out):
        out.velocity[:] = view.preferred_velocity
"""
)


@pytest.fixture(autouse=True)
def _only_own_models():
    """Forget, after each test, what it loaded."""
    before = set(available_models())
    yield
    for name in set(available_models()) - before:
        registry.forget(name)
    plugins._files.clear()


def written(folder, text, name="mine.py"):
    path = folder / name
    path.write_text(text)
    return path


def run_with(folder, body, *, ticks=10, sets=("avoidance=mine",)):
    load_plugin(written(folder, HEAD + body))
    with Simulation(parse_scenario(SCENE, file="scene", sets=list(sets))) as run:
        for _ in range(ticks):
            run.step()
        return run.agents.diagnosis.copy(), run.agents.blocker.copy(), run.agents.position.copy()


def test_a_model_in_a_users_own_file_runs_by_name_and_its_origin_is_known(tmp_path):
    path = written(tmp_path, KEEPS)
    assert load_plugin(path) == ("mine",) and load_plugin(path) == ("mine",)
    origin = origin_of("mine")
    assert origin.file == str(path.resolve()) and len(origin.sha256) == 64 and origin_of("orca") is None
    diagnosis, blocker, position = run_with(tmp_path, KEEPS[len(HEAD) :])
    assert set(diagnosis.tolist()) == {1} and set(blocker.tolist()) == {0} and position[:, 0].min() > 0.9


def test_a_file_that_was_edited_is_loaded_anew(tmp_path):
    load_plugin(written(tmp_path, KEEPS))
    first = model_named("mine")
    load_plugin(written(tmp_path, KEEPS.replace("ticks = 0", "ticks = 1")))
    assert model_named("mine") is not first and model_named("mine").ticks == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "mine.py"]  # no cache is left beside a user's file


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = = 1", r"mine.py:1: the plug-in cannot be loaded: SyntaxError"),
        ("\nimport no_such_package_at_all", r"mine.py:2: the plug-in cannot be loaded: ModuleNotFoundError"),
        ("\n\n1 / 0", r"mine.py:3: the plug-in cannot be loaded: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", r"mine.py:1: the plug-in cannot be loaded: SystemExit: 3"),
        ("x = 1", r"mine.py: the plug-in registers no model. Put @register"),
        (
            KEEPS.replace('"mine"', '"orca"'),
            r"mine.py:\d+: .*two avoidance models are called 'orca'.*Give yours another name",
        ),
        (KEEPS.replace('"mine"', '" "'), r'the model " " has no usable name'),
        (
            KEEPS.replace("def choose(", "def pick("),
            r'the model "mine" has no method choose. Derive it from StatelessModel',
        ),
        (
            KEEPS.replace("(StatelessModel)", ""),
            r'the model "mine" has no method prepare, state, restore. Derive it from StatelessModel',
        ),
        (
            KEEPS + "    class Parameters:\n        pass\n",
            r"has no class Parameters that is a frozen dataclass",
        ),
        (
            KEEPS
            + (
                "    from dataclasses import dataclass\n    @dataclass(frozen=True)\n    class Parameters:\n"
                "        speed: float = 1.0\n"
            ),
            r"has the parameter speed without a declaration. Write speed: float = param\(",
        ),
    ],
)
def test_a_plug_in_that_cannot_be_used_is_refused_in_one_sentence_and_leaves_nothing_behind(
    tmp_path, text, said
):
    before = available_models()
    with pytest.raises(PluginError, match=said) as caught:
        load_plugin(written(tmp_path, text))
    assert "\n" not in str(caught.value) and available_models() == before


def test_what_is_no_python_file_is_refused(tmp_path):
    with pytest.raises(PluginError, match="There is no plug-in"):
        load_plugin(tmp_path / "no.py")
    with pytest.raises(PluginError, match=r"a plug-in is a Python file"):
        load_plugin(written(tmp_path, KEEPS, "mine.txt"))


def test_two_plug_ins_cannot_share_a_name(tmp_path):
    load_plugin(written(tmp_path, KEEPS))
    with pytest.raises(PluginError, match=r"other.py:\d+: .*two avoidance models are called 'mine'"):
        load_plugin(written(tmp_path, KEEPS, "other.py"))
    assert origin_of("mine").file.endswith("mine.py")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            (
                "    def choose(self, view, tick_length, team, out):\n        Mine.ticks += 1\n"
                "        out.velocity[:] = 1 / (3 - Mine.ticks) * view.preferred_velocity\n"
            ),
            (
                r'^tick 3: the plug-in model "mine" of .*mine.py raised an error in choose, at '
                r".*mine.py:12: ZeroDivisionError: division by zero$"
            ),
        ),
        (
            (
                "    def choose(self, view, tick_length, team, out):\n        out.velocity[:] = 0.0\n"
                "        out.velocity[2] = np.nan\n"
            ),
            (
                r"^tick 1, agent crowd\[2\]: the plug-in model .* chose the velocity \(nan, nan\), which is "
                r"not two finite numbers$"
            ),
        ),
        (
            "    def choose(self, view, tick_length, team, out):\n        out.velocity[1:] = 0.0\n",
            r"agent crowd\[0\]: .*not two finite numbers",
        ),
        (
            (
                "    def choose(self, view, tick_length, team, out):\n"
                "        out.velocity[:] = view.preferred_velocity * 3.0\n"
            ),
            r"^tick 1, agent crowd\[0\]: .* chose 3 m/s, but this agent may walk at most",
        ),
        (
            (
                "    def choose(self, view, tick_length, team, out):\n        out.velocity[:] = 0.0\n"
                "        view.position[0] += 1.0\n"
            ),
            r"changed the view's position, which models only read",
        ),
        (
            (
                "    def choose(self, view, tick_length, team, out):\n        out.velocity[:] = 0.0\n"
                "        out.diagnosis[3] = 9\n"
            ),
            r"agent crowd\[3\]: .* gave the diagnosis 9",
        ),
        (
            (
                "    def choose(self, view, tick_length, team, out):\n        out.velocity[:] = 0.0\n"
                "        out.blocker[4] = 77\n"
            ),
            r"agent crowd\[4\]: .* named the blocker 77",
        ),
        (
            "    def __init__(self, parameters):\n        self.nothing\n" + STANDS,
            r"^the plug-in model .* raised an error when it was made, at .*mine.py:11: AttributeError",
        ),
        (
            "    def wall_reach(self, speed):\n        return 'far'\n" + STANDS,
            r"said 'far' in wall_reach, but a distance in metres is asked for",
        ),
        (
            "    def choose(self, view, tick_length, team, out):\n        view.neighbours(65, 2.0, team)\n",
            r"neighbours\(count=65, .*1 to 64 neighbours",
        ),
    ],
)
def test_a_plug_in_that_breaks_a_promise_is_told_by_name_agent_and_tick(tmp_path, body, said):
    with pytest.raises(ModelError, match=said):
        run_with(tmp_path, body)


def test_what_a_plug_in_explains_is_held_to_its_form(tmp_path):
    body = (
        KEEPS[len(HEAD) :]
        + "    def explain(self, view, tick_length, rows, choice):\n        return np.zeros(3)\n"
    )
    load_plugin(written(tmp_path, HEAD + body))
    scene = parse_scenario(SCENE, file="scene", sets=["avoidance=mine", "record.explain=[crowd]"])
    with (
        pytest.raises(ModelError, match=r"tick 1: .* returned no array of REASON_DTYPE in explain"),
        Simulation(scene, out=tmp_path / "a.h5") as run,
    ):
        run.step()


def test_a_plug_in_may_have_kernels_and_a_file_that_failed_can_be_put_right(tmp_path):
    text = KEEPS.replace(
        "@register",
        "from crowdsim.kernels.decorator import kernel\n\n@kernel\ndef halve(start, stop, wanted, out):\n"
        "    for row in range(start, stop):\n"
        "        out[row, 0], out[row, 1] = 0.5 * wanted[row, 0], 0.5 * wanted[row, 1]\n\n@register",
    )
    text = text.replace(
        "out.velocity[:] = view.preferred_velocity",
        "team.run(halve, len(out.velocity), view.preferred_velocity, out.velocity)",
    )
    load_plugin(written(tmp_path, text))
    with pytest.raises(PluginError):
        load_plugin(written(tmp_path, text + "\n1 / 0\n"))
    assert "mine" not in available_models()
    assert load_plugin(written(tmp_path, text)) == ("mine",)
    with Simulation(parse_scenario(SCENE, file="scene", sets=["avoidance=mine"])) as run:
        run.step()
        assert np.allclose(run.agents.velocity, [0.5, 0.0])


def test_a_recording_of_a_run_that_a_plug_in_ended_is_whole_until_then(tmp_path):
    body = (
        "    def choose(self, view, tick_length, team, out):\n        Mine.ticks += 1\n"
        "        out.velocity[:] = 0.0 if Mine.ticks < 8 else np.nan\n"
    )
    load_plugin(written(tmp_path, HEAD + body))
    with (
        pytest.raises(ModelError, match="tick 8"),
        Simulation(
            parse_scenario(SCENE, file="scene", sets=["avoidance=mine"]), out=tmp_path / "a.h5"
        ) as run,
    ):
        run.run()
    import crowdsim

    with crowdsim.open_run(tmp_path / "a.h5") as recording:
        assert (
            recording.is_whole and recording.state.name == "INTERRUPTED" and recording.commit.last_tick == 7
        )
        assert recording.header.plugins["mine"]["sha256"] == origin_of("mine").sha256


class Point:
    """An entry point of a package that is not really installed."""

    def __init__(self, name, value, found):
        self.name, self.value, self.module, self._found = name, value, "json", found

    def load(self):
        return self._found()


def test_models_of_installed_packages_are_found_and_a_broken_package_hinders_nobody(tmp_path, monkeypatch):
    def broken():
        raise ImportError("no module named torch")

    found = types.new_class(
        "Installed", (model_named("none"),), {}, lambda space: space.update(name="installed (test)")
    )
    points = [Point("broken", "package:thing", broken), Point("good", "package:Installed", lambda: found)]
    monkeypatch.setattr(metadata, "entry_points", lambda group: points if group == "crowdsim.models" else [])
    monkeypatch.setattr(plugins, "_failed", None)
    assert model_named("installed (test)") is found
    assert origin_of("installed (test)").entry_point == "good = package:Installed"
    with pytest.raises(
        UnknownModelError,
        match="The installed plug-in 'broken' could not be loaded: ImportError: no module named torch",
    ):
        model_named("broken")


def test_verify_asks_for_a_plug_in_that_is_missing_and_notes_one_that_has_changed(tmp_path):
    path = written(tmp_path, KEEPS)
    entry = {"mine": {"file": str(path), "sha256": "ab" * 32, "entry_point": ""}}
    with pytest.raises(
        PluginError, match=rf'"mine" of {path}, SHA-256 abab.*\n.*crowdsim verify run.h5 --plugin {path}'
    ):
        require_recorded(entry, "run.h5")
    load_plugin(path)
    (note,) = require_recorded(entry, "run.h5")
    assert "has changed" in note and origin_of("mine").sha256 in note
    assert require_recorded({"mine": vars(origin_of("mine"))}, "run.h5") == []


@pytest.mark.parametrize("seed", range(20))
def test_the_check_of_velocities_agrees_with_its_twin(seed):
    rng = np.random.default_rng(seed)
    velocity, speed, deciding = (
        rng.normal(0.0, 0.6, (30, 2)),
        rng.uniform(0.5, 3.0, 30),
        rng.integers(0, 2, 30).astype(np.uint8),
    )
    velocity[rng.integers(0, 30, 2), rng.integers(0, 2, 2)] = rng.choice([np.nan, np.inf, 1e200, 0.0], 2)
    assert first_unlawful(0, 30, velocity, speed, deciding) == twin.first_unlawful(velocity, speed, deciding)


def test_a_velocity_that_rounding_made_too_fast_is_lawful():
    one = np.ones(1)
    assert first_unlawful(0, 1, np.array([[1.0 + 1e-7, 0.0]]), one, one.astype(np.uint8)) == (-1, LAWFUL)
