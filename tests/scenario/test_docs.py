"""The page about scenarios: its examples load, and what it shows is what is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crowdsim.errors import ScenarioError
from crowdsim.scenario import schema
from crowdsim.scenario.load import parse_scenario
from crowdsim.scenario.templates import TEMPLATES, template_text
from crowdsim.setup.agents import resolve_agents

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "scenarios.md").read_text(
    encoding="utf-8"
)
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES[:-1])
def test_examples_of_the_page_load_and_their_agents_fit(text: str) -> None:
    scenario = parse_scenario(text)
    assert scenario.notes == ()
    assert len(resolve_agents(scenario)) == scenario.agent_count > 0


def test_the_mistakes_of_the_page_are_those_that_are_told() -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(EXAMPLES[-1], file="crowd.yaml")
    shown = re.search(
        r"<!-- mistakes -->\n```console\n\$ crowdsim validate crowd.yaml\n(.*?)```", PAGE, re.DOTALL
    )
    assert shown is not None
    assert shown.group(1) == f"{caught.value}\n{len(caught.value.problems)} problems\n"


def test_the_crowd_that_the_page_refuses_is_refused_so() -> None:
    with pytest.raises(ScenarioError) as caught:
        resolve_agents(
            parse_scenario(template_text("bottleneck"), file="door.yaml", sets=["groups.crowd.count=1000"])
        )
    assert f"\n{caught.value}\n```" in PAGE


def test_the_page_names_every_key_goal_area_and_template() -> None:
    for word in (
        *schema.ScenarioShape.model_fields,
        *schema.GOAL_KEYS,
        *schema.AREA_KEYS,
        *schema.DISTRIBUTION_KEYS,
        *schema.GroupShape.model_fields,
        *TEMPLATES,
    ):
        assert re.search(rf"\b{re.escape(word)}\b", PAGE), word


def test_the_example_of_settings_works() -> None:
    command = re.search(r"\$ crowdsim run door.yaml (.*)\n", PAGE)
    assert command is not None
    sets = [quoted or bare for quoted, bare in re.findall(r'--set (?:"([^"]*)"|(\S+))', command.group(1))]
    scenario = parse_scenario(template_text("bottleneck"), sets=sets)
    assert (scenario.seed, scenario.agent_count, scenario.avoidance.values["time_horizon"]) == (2, 150, 4.0)
    assert scenario.goals[0].area.bounds == (13.0, 2.0, 14.0, 6.0)
