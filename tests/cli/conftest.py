"""Tests of the command see the tunable numbers of `tests.scenario.owners`,
and have one small scenario for what any run will do for.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenario.owners import fixed_owners

SMALL = """
version: 1
name: small
tick: 0.05
stop: {after: 30, when: all_arrived}
geometry: {walkable: [[0, 0], [10, 0], [10, 4], [0, 4]]}
goals: {end: {exit: [[9.5, 0], [10, 0], [10, 4], [9.5, 4]]}}
groups: [{name: crowd, count: 8, region: [[0, 0], [3, 0], [3, 4], [0, 4]], goals: [end]}]
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


@pytest.fixture(autouse=True)
def _wide_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are as wide as where nobody says how wide the screen is, also for a worker that was told."""
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture(autouse=True, scope="module")
def _fixed_owners() -> Iterator[None]:
    with fixed_owners():
        yield
