"""Tests of the command see the tunable numbers of `tests.scenario.owners`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.scenario.owners import fixed_owners


@pytest.fixture(autouse=True)
def _wide_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are as wide as where nobody says how wide the screen is, also for a worker that was told."""
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture(autouse=True, scope="module")
def _fixed_owners() -> Iterator[None]:
    with fixed_owners():
        yield
