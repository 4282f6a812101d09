"""Plans that others drew, read as they are:
JuPedSim's examples and experiments, as DXF drawings and well-known text.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from crowdsim.plans.starter import starter_of
from crowdsim.scenario.load import load_scenario
from crowdsim.setup.agents import resolve_agents
from tests.external.data import DATA, needs

FOLDER = DATA / "geometry"
PLANS = sorted([*FOLDER.glob("*.dxf"), *FOLDER.glob("*.wkt")]) if FOLDER.is_dir() else []
# Ground, exits that are drawn, and whether the drawing says where people start.
KNOWN = {
    "jupedsim_dxf_ISO-Office.dxf": (205.0, 2),
    "jupedsim_dxf_ISO-Corner.dxf": (44.0, 1),
    "jupedsim_dxf_ISO-Bottleneck.dxf": (220.0, 1),
}

pytestmark = needs(FOLDER)


@pytest.mark.sample(4)
@pytest.mark.parametrize("plan", PLANS[:: max(1, len(PLANS) // 12)], ids=lambda plan: plan.stem)
def test_a_plan_of_others_becomes_a_scenario_in_which_everybody_finds_room(
    plan: Path, tmp_path: Path
) -> None:
    check(plan, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.stem)
def test_every_plan_of_others_becomes_a_scenario_in_which_everybody_finds_room(
    plan: Path, tmp_path: Path
) -> None:
    check(plan, tmp_path)


def check(plan: Path, folder: Path) -> None:
    """Make a scenario of a plan, and place its people."""
    if plan.suffix == ".dxf":
        pytest.importorskip("ezdxf", reason="ezdxf is missing: it reads DXF files")
    starter = starter_of(plan, folder / "mine.yaml", people=5)
    for name, text in starter.files.items():
        (folder / name).write_text(text)
    scenario = load_scenario(folder / "mine.yaml")
    assert len(resolve_agents(scenario)) == 5 and any(goal.kind == "exit" for goal in scenario.goals)
    if plan.name in KNOWN:
        area, exits = KNOWN[plan.name]
        assert (
            round(scenario.geometry.walkable.area) == area
            and f"{exits} exit{'' if exits == 1 else 's'}: as drawn" in starter.words
        )
        assert any(word.startswith("people start where the plan says") for word in starter.words)
