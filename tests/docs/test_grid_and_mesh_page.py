"""docs/learn/stationary-agents.md: the table is what the scenes come to.
docs/guides/changing-ground.md: its scenario of obstacles runs.
"""

import re

import pytest

from benchmarks.grid_and_mesh import HEAD, NAVIGATIONS, SCENES, row
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import ROOT

PAGE = (
    (ROOT / "docs" / "learn" / "stationary-agents.md")
    .read_text(encoding="utf-8")
    .split("## A grid or a mesh?")[1]
)
OBSTACLES = (ROOT / "docs" / "guides" / "changing-ground.md").read_text(encoding="utf-8")
QUICK = ("doorway-blocked", "goal-in-closed-room")


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "scene", [scene if scene in QUICK else pytest.param(scene, marks=pytest.mark.full) for scene in SCENES]
)
@pytest.mark.parametrize("navigation", NAVIGATIONS)
def test_the_table_is_what_the_scenes_come_to(scene, navigation):
    assert HEAD in PAGE and row(scene, navigation) in PAGE.splitlines()


def test_every_scene_is_in_the_table_once_on_each_ground():
    assert len(re.findall(r"^\|.*\| (?:mesh|grid) \|", PAGE, re.MULTILINE)) == len(SCENES) * len(NAVIGATIONS)


def test_the_scenario_of_the_page_on_obstacles_runs():
    (text,) = (
        text for text in re.findall(r"```yaml\n(.*?)```", OBSTACLES, re.DOTALL) if "obstacles:" in text
    )
    scenario = parse_scenario(text)
    assert scenario.notes == () and [each.name for each in scenario.obstacles] == ["cart", "trolley"]
    with Simulation(scenario) as run:
        for _ in range(60):
            run.step()
        assert run.counts["obstacles"] == 2.0
