"""The page of behaviour: its scenarios run, and it names everything that there is."""

import re

import pytest

from crowdsim.scenario import schema_behaviours as schema
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import ROOT

PAGE = (ROOT / "docs" / "guides" / "behaviour.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(
    "shape",
    [
        schema.StateShape,
        schema.ConditionShape,
        schema.MachineShape,
        schema.QueueShape,
        schema.PatrolShape,
        schema.QueueUpShape,
        schema.FleeShape,
        schema.NearShape,
        schema.CountShape,
    ],
)
def test_the_page_names_every_key(shape):
    for key in shape.model_fields:
        if key not in ("storey", "height", "states"):
            assert re.search(rf"\b{key}\b", PAGE), key


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", range(2))
def test_the_examples_of_the_page_run_and_all_leave(number):
    scenario = parse_scenario(EXAMPLES[number])
    with Simulation(scenario) as run:
        verdict = run.run()
    assert verdict.exit_code == 0 and verdict.not_arrived == 0 and verdict.arrived > 10
    assert (verdict.staying, verdict.agents) == (0, verdict.arrived)
