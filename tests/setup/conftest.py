"""Tests of the setup see the tunable numbers of `tests.scenario.owners`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.scenario.owners import fixed_owners


@pytest.fixture(autouse=True, scope="module")
def _fixed_owners() -> Iterator[None]:
    with fixed_owners():
        yield
