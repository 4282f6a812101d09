"""Every shipped scenario runs as it was recorded, bit for bit."""

import json

import pytest

from tests import golden


@pytest.mark.parametrize("path", golden.scenarios(), ids=lambda path: path.stem)
def test_a_shipped_scenario_matches_its_golden_run(path):
    target = golden.GOLDEN / f"{path.stem}.json"
    assert target.exists(), f"no golden run of {path.name}: python -m tests.golden {path.stem}"
    assert golden.first_difference(json.loads(target.read_text()), golden.replay(path)) == ""


@pytest.mark.parametrize("path", golden.scenarios(), ids=lambda path: path.stem)
def test_a_shipped_scenario_says_what_one_should_see(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ") and "What one should see:" in text


def test_a_changed_digest_is_named():
    path = golden.scenarios()[0]
    kept = golden.replay(path, 40)
    changed = json.loads(json.dumps(kept))
    changed["digests"][1][2 + kept["columns"].index("velocity")] = "0" * 16
    assert golden.first_difference(kept, kept) == ""
    assert "at tick 40" in golden.first_difference(kept, changed) and "velocity" in golden.first_difference(kept, changed)
