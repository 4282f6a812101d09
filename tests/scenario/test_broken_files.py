"""Broken scenario files, each with the whole text that a user gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from crowdsim.errors import ScenarioError
from crowdsim.scenario.load import load_scenario

FOLDER = Path(__file__).parent / "broken"
FILES = sorted(path.name for path in FOLDER.glob("*.yaml"))


def test_there_are_at_least_twelve() -> None:
    assert len(FILES) >= 12


@pytest.mark.parametrize("name", FILES)
def test_a_broken_file_gives_the_expected_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(name)
    assert str(caught.value) + "\n" == Path(name).with_suffix(".txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FILES)
def test_every_problem_says_where_it_stands_and_problems_are_in_the_order_of_the_file(name: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(FOLDER / name)
    places = [(problem.line, problem.column) for problem in caught.value.problems]
    assert all(line >= 1 and column >= 1 for line, column in places)
    assert places == sorted(places)
