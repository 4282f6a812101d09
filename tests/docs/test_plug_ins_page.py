"""docs/develop/extending.md: its examples are the files that are tested, what it tells works,
and its messages are those that are printed.
"""

import re
import shlex

import pytest
import yaml

from crowdsim.avoidance import plugins
from crowdsim.avoidance.plugins import load_plugin
from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.systems import System
from crowdsim.systems.base.own import OwnSystemError
from crowdsim.world import registry
from tests.cli.test_mistakes import outcome
from tests.crowds import BUSY, ROOT, SCENARIOS, simulation

PAGE = (ROOT / "docs" / "develop" / "extending.md").read_text(encoding="utf-8")
FATIGUE = ROOT / "docs" / "examples" / "fatigue.py"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def tire(monkeypatch):
    monkeypatch.setattr(registry, "_systems", {})
    monkeypatch.setattr(plugins, "_files", {})
    load_plugin(FATIGUE)
    return registry.registered_systems()["Tire"]


def test_the_system_and_the_planner_of_the_page_are_the_files_that_are_tested():
    assert blocks("python") == [
        FATIGUE.with_name(f"{name}.py").read_text(encoding="utf-8")
        for name in ("straight_line", "dark_side", "fatigue")
    ]


def test_the_command_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(registry, "_systems", {})
    monkeypatch.setattr(plugins, "_files", {})
    monkeypatch.chdir(ROOT)
    words = shlex.split(next(block for block in blocks("console") if FATIGUE.name in block))[2:]
    code, _, err = outcome(capsys, *words, "--set", "stop.after=3", "-o", str(tmp_path / "run.h5"), "-q")
    assert (code, err) == (3, "")
    with open_run(tmp_path / "run.h5") as run:
        assert run.table("agents/fatigue").max() > 0.2 and {"resting", "mean_fatigue"} <= set(
            run.ticks().columns
        )


def test_the_scenario_of_the_page_names_it(tire):
    (text,) = blocks("yaml")
    listed = yaml.safe_load(text)["systems"]
    with simulation({**BUSY, "systems": listed}, warm=False) as run:
        assert run.system(tire).parameters == tire.Parameters(endurance=10.0)
    with Simulation(load_scenario(SCENARIOS / "head-on-corridor.yaml"), systems=[tire], warm=False) as run:
        assert run.system(tire).parameters == tire.Parameters()


def test_the_table_has_every_attribute_and_every_call():
    first = [
        cell
        for row in re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
        for cell in re.findall(r"`(\w+)`", row)
    ]
    assert {"after", "before", "reads", "writes", "counts", "columns", "components", "Parameters"} <= set(
        first
    )
    assert all(hasattr(System, name) for name in first)


def looks(self, tick):
    self.world.agents.velocity.sum()


def changes(self, tick):
    self.world.agents.velocity[3] = 1.0


def exaggerates(self, tick):
    self.world.agents.fatigue[3] = 1.5


@pytest.mark.parametrize(
    ("number", "process", "reads"), [(0, looks, ()), (1, changes, ("velocity",)), (2, exaggerates, ())]
)
def test_the_messages_of_the_page_are_those_that_are_told(tire, number, process, reads):
    message = re.findall(r"^tick \d+: (.*)$", PAGE, re.MULTILINE)[number]
    wrong = type(
        "Tire",
        (System,),
        {
            "after": tire.after,
            "columns": tire.columns,
            "writes": ("fatigue",),
            "reads": reads,
            "process": process,
        },
    )
    registry.forget("Tire")
    with simulation(systems=[wrong], warm=False) as run, pytest.raises(OwnSystemError) as caught:
        run.step()
    assert str(caught.value) == f"tick 1: {message}"


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", PAGE))))
def test_the_links_of_the_page_lead_somewhere(link):
    assert (ROOT / "docs" / "develop" / link).exists()
