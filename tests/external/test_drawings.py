"""DXF drawings made by others run as they are:
ground, obstacles, exits and where people stand, each from its layers.
"""

from __future__ import annotations

import pytest
import shapely

from crowdsim import Simulation
from crowdsim.scenario.load import parse_scenario
from tests.external.data import DATA, needs

pytest.importorskip("ezdxf", reason="ezdxf is missing: it reads DXF files")
FOLDER = DATA / "geometry"
DRAWINGS = sorted(path.name for path in FOLDER.glob("*.dxf"))
pytestmark = needs(FOLDER)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", DRAWINGS)
def test_everybody_in_a_drawing_gets_out(name: str) -> None:
    layer = f"dxf_file: {name}, layers: "
    obstacles = f"{{{layer}[jps-obstacles]}}" if "Office" in name else "[]"
    text = f"""
version: 1
tick: 0.05
stop: {{after: 120}}
geometry: {{walkable: {{{layer}[walkablearea]}}, obstacles: {obstacles}}}
goals: {{out: {{exit: {{{layer}[jps-exits]}}}}}}
groups: [{{name: people, count: 24, region: {{{layer}[jps-distributions]}}, goals: [out]}}]
"""
    scenario = parse_scenario(text, folder=FOLDER)
    ground = scenario.geometry.walkable
    assert ground.is_valid and ground.geom_type == "Polygon"
    assert ground.area == pytest.approx(
        {"Bottleneck": 220.0, "Corner": 44.0, "Office": 204.91}[name.rpartition("-")[2].removesuffix(".dxf")],
        abs=0.1,
    )
    with Simulation(scenario) as run:
        assert shapely.contains_xy(ground, run.world.agents.position).all()
        while not run.why_over():
            run.step()
        assert run.verdict().arrived == 24
