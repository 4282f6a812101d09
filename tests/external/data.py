"""Where the data that judges the project lies; tests skip, with a reason, where it is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parent.parent.parent.parent / "shared" / "data"


def need(*parts: str) -> Path:
    """Return a file or folder of the data, or skip the test."""
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is missing: this check needs data that is not part of the project")
    return path
