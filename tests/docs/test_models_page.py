"""docs/learn/models.md: its examples are those that are tested, and it names everything that there is."""

import re
import shlex

import pytest

from crowdsim.avoidance.explain import Reason
from crowdsim.avoidance.registry import available_models, origin_of
from crowdsim.comparison.comparison import HEADERS
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation
from tests.cli.command import crowdsim
from tests.crowds import ROOT

PAGE = (ROOT / "docs" / "learn" / "models.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_plug_in_of_the_page_is_the_file_that_is_tested():
    assert (ROOT / "docs" / "examples" / "polite.py").read_text(encoding="utf-8") in blocks("python")


def test_the_scenario_of_the_page_runs():
    (text,) = blocks("yaml")
    scenario = parse_scenario(text)
    assert scenario.notes == () and [chosen.name for chosen in scenario.models] == ["orca", "none", "orca"]
    assert (
        scenario.groups[0].name == "couriers" and scenario.groups[0].avoidance.values["time_horizon"] == 1.0
    )
    with Simulation(scenario) as run:
        for _ in range(20):
            run.step()


def test_the_page_names_every_model_reason_and_column_of_the_table():
    for word in (
        *(name for name in available_models() if origin_of(name) is None),
        *(reason.name for reason in Reason),
    ):
        assert f"`{word}`" in PAGE, word
    table = next(block for block in blocks("console") if "crowdsim models" in block).splitlines()
    assert re.split(r"\s{2,}", table[1].strip()) == list(HEADERS)
    assert all(f"`{header.rstrip('*')}`" in PAGE for header in HEADERS[2:])


@pytest.mark.full
def test_the_picture_of_a_choice_is_made_as_the_page_says(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    (tmp_path / "runs").mkdir()
    run, plot, answer = next(block for block in blocks("console") if "crowdsim plot" in block).splitlines()
    done = crowdsim(shlex.split(run)[2:], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = crowdsim(shlex.split(plot)[2:], cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{answer}\n", "")
    assert (tmp_path / answer).is_file()


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", PAGE))))
def test_the_links_of_the_page_lead_somewhere(link):
    assert (ROOT / "docs" / "learn" / link).exists()
