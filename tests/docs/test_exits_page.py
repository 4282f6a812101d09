"""The page of exits names every key, every reason and every table, and its numbers are those of the run."""

import re

from crowdsim.measures import choice_changes, choice_use
from crowdsim.scenario.load import load_scenario
from crowdsim.scenario.schema_choices import FamiliarShape, QuickestGoal
from crowdsim.simulation.simulation import Simulation
from tests.crowds import ROOT, SCENARIOS

PAGE = (ROOT / "docs" / "guides" / "exits.md").read_text(encoding="utf-8")


def test_the_page_names_every_key_with_its_default():
    for key, field in (*QuickestGoal.model_fields.items(), *FamiliarShape.model_fields.items()):
        assert re.search(rf"\b{key}\b", PAGE), key
        if isinstance(field.default, float) and key != "share":
            assert f"| `{key}` | {field.default:g} |" in PAGE, key


def test_the_numbers_of_the_page_are_those_of_the_run(tmp_path):
    with Simulation(load_scenario(SCENARIOS / "four-exits.yaml"), out=tmp_path / "run.h5") as run:
        verdict = run.run()
    told = ", ".join(f"{name} {count}" for name, count in verdict.arrivals.items())
    assert f"  by goal   {told}\n" in PAGE
    assert f"all arrived at {verdict.simulated_s:g} s ({verdict.ticks:,} ticks" in PAGE
    for row in choice_use(tmp_path / "run.h5").itertuples():
        assert re.search(rf"{row.group} +{row.goal} +{row.reason} +{row.people} +{row.times} ", PAGE), row
    changes = choice_changes(tmp_path / "run.h5").iloc[0]
    assert f"chose anew  {changes['changes']} times" in PAGE
    assert re.search(rf"guests +200 +{changes['changes']} +{changes['changes_a_minute']:.2f} ", PAGE)
