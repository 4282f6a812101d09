"""The command that makes the last part of the page about models keeps what stands before it."""

import sys

import pytest

from benchmarks import models_table
from tests.crowds import ROOT

PAGE = ROOT / "docs" / "reference" / "models-table.md"


def made(monkeypatch, page):
    """Let the command put a part of two lines, without any run, at the end of a page."""
    monkeypatch.setattr(models_table, "sections", lambda models, quick: [f"### One\n\n{models}\n"])
    monkeypatch.setattr(sys, "argv", ["models_table", "--models", "orca", "--page", str(page)])
    models_table.main()
    return page.read_text(encoding="utf-8")


def test_the_part_comes_in_place_of_the_one_before_and_the_rest_of_the_page_stays(tmp_path, monkeypatch):
    page, text = tmp_path / "page.md", PAGE.read_text(encoding="utf-8")
    page.write_text(text, encoding="utf-8")
    before, _, after = made(monkeypatch, page).partition(models_table.HEADING)
    assert before == text.partition(models_table.HEADING)[0] and "### Conclusion" in before
    assert after.startswith("\nMade by `python -m benchmarks.models_table --models orca` (Python ")
    assert after.endswith("\n### One\n\n['orca']\n") and "Steering" not in after


def test_a_page_without_that_part_is_told_before_any_run(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("# Models\n", encoding="utf-8")
    with pytest.raises(SystemExit, match='has no heading "## Every model on every scene"'):
        made(monkeypatch, page)
    assert page.read_text(encoding="utf-8") == "# Models\n"
