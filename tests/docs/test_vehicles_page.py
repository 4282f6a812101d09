"""The page of vehicles: its scenario runs, and it names every key."""

import re

from crowdsim.scenario.load import parse_scenario
from crowdsim.scenario.schema_vehicles import VehicleShape
from crowdsim.simulation.simulation import Simulation
from tests.crowds import ROOT

PAGE = (ROOT / "docs" / "guides" / "vehicles.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_names_every_key():
    for key in VehicleShape.model_fields:
        assert re.search(rf"`{key}\b", PAGE), key


def test_the_example_of_the_page_runs_and_all_leave():
    with Simulation(parse_scenario(EXAMPLE)) as run:
        verdict = run.run()
    assert verdict.exit_code == 0 and verdict.arrived == verdict.agents == 9
