"""Where the data that judges the project lies; tests skip, with a reason, where it is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parent.parent.parent.parent / "shared" / "data"


def needs(path: Path) -> pytest.MarkDecorator:
    """Return the mark with which a module's tests skip where a file or folder of the data is missing."""
    return pytest.mark.skipif(not path.exists(), reason=_lack(path))


def need(*parts: str) -> Path:
    """Return a file or folder of the data, or skip the test."""
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(_lack(path))
    return path


def _lack(path: Path) -> str:
    """Return what is missing, in the words by which the end of a run counts what was not tested
    (`tests/conftest.py`).
    """
    known = path if DATA.exists() else DATA
    return (
        f"../shared/{known.relative_to(DATA.parent)} is missing: this check needs data that is not part of "
        "the project"
    )
