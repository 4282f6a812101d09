"""Groups with avoidance models of their own:
what they inherit, what is told, and that the canonical text keeps it.
"""

from __future__ import annotations

import pytest

from crowdsim.errors import ScenarioError
from crowdsim.scenario.load import parse_scenario

TEXT = """
version: 1
geometry: {{walkable: {{box: [0, 0, 10, 8]}}}}
avoidance: {scenario}
groups:
  - {{name: a, count: 2, avoidance: {a}}}
  - {{name: b, count: 2}}
"""


def scenario(of_all: str, of_a: str, **options):
    return parse_scenario(TEXT.format(scenario=of_all, a=of_a), **options)


def test_a_group_keeps_the_scenarios_numbers_where_the_model_is_the_same() -> None:
    found = scenario("{model: orca, time_horizon: 4}", "{neighbour_count: 3}")
    assert found.groups[0].avoidance is not None
    assert found.groups[0].avoidance.values == {"neighbour_count": 3, "time_horizon": 4.0}
    assert found.model_of(found.groups[1]).values == {"neighbour_count": 10, "time_horizon": 4.0}


def test_a_group_with_another_model_has_the_defaults_of_that_model() -> None:
    found = scenario("none", "orca")
    assert found.groups[0].avoidance is not None
    assert found.groups[0].avoidance.values == {"neighbour_count": 10, "time_horizon": 2.0}
    assert [model.name for model in found.models] == ["orca", "none"]


def test_a_group_that_says_what_the_scenario_says_means_the_same() -> None:
    same = scenario("orca", "{model: orca, time_horizon: 2}")
    assert same.groups[0].avoidance is None and len(same.models) == 1
    assert same.canonical() == scenario("orca", "orca").canonical()


@pytest.mark.parametrize(
    ("of_all", "of_a"),
    [
        ("orca", "none"),
        ("none", "{model: orca, time_horizon: 7}"),
        ("{time_horizon: 3}", "{neighbour_count: 1}"),
    ],
)
def test_the_canonical_text_gives_the_same_models(of_all: str, of_a: str) -> None:
    found = scenario(of_all, of_a)
    again = parse_scenario(found.canonical())
    assert again.groups[0].avoidance == found.groups[0].avoidance and again.canonical() == found.canonical()


def test_mistakes_in_a_groups_model_stand_where_they_are_made() -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario("orca", "{model: orca, time_horizon: -1}")
    assert (
        caught.value.problems[0].item == "groups[0].avoidance.time_horizon"
        and caught.value.problems[0].line == 6
    )
    with pytest.raises(
        ScenarioError, match=r'groups\[0\].avoidance.model: "orka" is no known model\n.*Did you mean "orca"\?'
    ):
        scenario("none", "{model: orka}")
    with pytest.raises(ScenarioError, match=r'groups\[0\].avoidance: "orka" is no known model'):
        scenario("none", "orka")


def test_the_model_of_a_group_can_be_set_on_the_command_line() -> None:
    assert scenario("orca", "none", sets=["groups.b.avoidance=none"]).groups[1].avoidance is not None
    found = scenario("none", "orca", sets=["groups.a.avoidance.time_horizon=5"])
    assert found.groups[0].avoidance is not None and found.groups[0].avoidance.values["time_horizon"] == 5.0
