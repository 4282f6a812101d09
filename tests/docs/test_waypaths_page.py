"""The page of waypaths: its scenario runs, and it names every key."""

import re

import pytest

from crowdsim.scenario import schema_connections as schema
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import ROOT

PAGE = (ROOT / "docs" / "guides" / "waypaths.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("shape", [schema.WaypathShape, schema.WaypointShape])
def test_the_page_names_every_key(shape):
    for key in set(shape.model_fields) - {"at"}:
        assert re.search(rf"`{key}\b", PAGE), key
    assert "`{at: [x, y], ...}`" in PAGE


def test_the_example_of_the_page_runs_and_all_leave():
    with Simulation(parse_scenario(EXAMPLE)) as run:
        verdict = run.run()
    assert verdict.exit_code == 0 and verdict.arrived == verdict.agents == 20
