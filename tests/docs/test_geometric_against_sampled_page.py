"""The study of geometric against sampled velocities:
a tiny one runs from end to end, and the page's tables are of the form that the command makes.
"""

from __future__ import annotations

import importlib
import math
import re
import sys

import pandas as pd
import pytest

from crowdsim.avoidance.registry import available_models, origin_of
from tests.crowds import ROOT

FILE = ROOT / "docs" / "reference" / "models-table.md"
TABLE = re.compile(r"<!-- made: (\w+) -->\n(.*?)\n<!-- end: \1 -->", re.DOTALL)
NUMBER = re.compile(r"(-|(\*\*)?[+-]?\d+(\.\d+)?( ± \d+(\.\d+)?)?(\*\*)?)( \(\d+ %\))?")


@pytest.fixture
def study(monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(ROOT / "analysis"))
    return importlib.import_module("geometric_against_sampled")


def cells_of(table):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def made_up(specs):
    """Return a table of runs as the study has it, with numbers that nobody measured."""
    rows = [{**spec._asdict(), "sets": " ".join(spec.sets)} for spec in dict.fromkeys(specs)]
    names = (
        "arrived_share",
        "time_over_ideal",
        "path_over_optimal",
        "stuck_each_s",
        "overlaps_each",
        "steerbench_score",
        "mean_acceleration_m_s2",
    )
    return pd.DataFrame(rows).assign(**{name: 1.0 + 0.01 * place for place, name in enumerate(names)})


@pytest.mark.full
def test_a_tiny_study_makes_tables_pictures_and_page_and_goes_on_where_it_was(
    study, tmp_path, monkeypatch, capsys
):
    for name, value in (
        ("GEOMETRIES", {"circle": study.circle}),
        ("REMEDIES_IN", ("circle",)),
        ("TRAILS_IN", ("circle",)),
        ("MODELS", ("orca", "toi")),
        ("AFTER_S", 0.5),
        ("HORIZONS", (1.0, 2.0)),
        ("SAMPLES", ("samples=64", "samples=16")),
        ("ROUNDS", 1),
        ("COST_TICKS", 3),
        ("COST_PEOPLE", 40),
    ):
        monkeypatch.setattr(study, name, value)
    (tmp_path / "page.md").write_text(
        "".join(f"<!-- made: {name} -->\nold\n<!-- end: {name} -->\nprose\n" for name in study.TABLES)
    )
    words = [
        "study",
        "--seeds",
        "1:3",
        "--levels",
        "1",
        "--workers",
        "1",
        "--out",
        str(tmp_path / "runs"),
        "--page",
        str(tmp_path / "page.md"),
    ]
    monkeypatch.setattr(sys, "argv", words)
    study.main()
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "old" not in page and page.count("prose") == 7 and "| circle | toi |" in page
    assert {file.name for file in tmp_path.glob("*.png")} == {
        "geometric-against-sampled-densities.png",
        "geometric-against-sampled-trails.png",
    }
    runs = len((tmp_path / "runs" / "runs.jsonl").read_text().splitlines())
    assert f"{runs} runs to do, 0 known" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", [*words, "--go-on"])
    study.main()
    assert f"0 runs to do, {runs} known" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no markers"):
        study.put_between("prose", "models", "")
    without_clocks = [
        TABLE.sub(lambda match: "" if match[1] == "cost" else match[0], text)
        for text in (page, (tmp_path / "page.md").read_text(encoding="utf-8"))
    ]
    assert without_clocks[0] == without_clocks[1]


def test_the_tables_of_the_page_are_of_the_form_that_the_command_makes(study):
    seeds, levels = list(range(1, 9)), list(study.LEVELS)
    parts = study.plan(seeds, levels)
    runs = made_up(spec for part in parts.values() for spec in part)
    crowds = runs[runs["seed"] > 0]
    expected = {
        "models": study.models_section(crowds),
        "densities": study.densities_section(crowds, levels),
        "families": study.families_section(crowds),
        "horizons": study.horizons_section(crowds, study.CHOSEN_LEVEL),
        "samples": study.samples_section(crowds, study.CHOSEN_LEVEL),
        "remedies": study.remedies_section(runs, study.CHOSEN_LEVEL, seeds),
    }
    found = dict(TABLE.findall(FILE.read_text(encoding="utf-8")))
    assert set(found) == {*expected, "cost"} == set(study.TABLES)
    assert cells_of(found["cost"])[0] == ["model", "numbers", "us a choice*", "over ORCA*"]
    for name, table in expected.items():
        wanted, shown = cells_of(table), cells_of(found[name])
        assert shown[:2] == wanted[:2] and [row[:2] for row in shown] == [row[:2] for row in wanted], name
        assert all(NUMBER.fullmatch(cell) for row in shown[2:] for cell in row[2:]), name


@pytest.mark.full
@pytest.mark.parametrize("where", ["counterflow", "circle"])
def test_a_column_of_the_page_comes_out_again(study, where, tmp_path):
    """Forty runs at level 1: no number of the page but the costs depends on the machine."""
    specs = [spec for spec in study.plan(range(1, 9), [1])["densities"] if spec.geometry == where]
    runs = study.run_all(specs, tmp_path / "runs.jsonl", 1, go_on=False, minutes=math.inf)
    page = {
        tuple(row[:2]): row[2]
        for row in cells_of(dict(TABLE.findall(FILE.read_text(encoding="utf-8")))["densities"])
    }
    for model in study.MODELS:
        assert study.short(study.part_of(runs, model=model)) == page[where, model], model


def test_every_model_that_ships_belongs_to_a_family(study):
    assert {*study.MODELS, "none"} == {name for name in available_models() if origin_of(name) is None}


def test_an_interval_is_students(study):
    mean, half = study.interval(pd.Series([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert mean == 3.0 and half == pytest.approx(2.776 * math.sqrt(2.5) / math.sqrt(5.0))
    assert math.isnan(study.interval(pd.Series([1.0]))[1]) and study.cell(pd.Series([math.nan]), 2) == "-"


def test_a_difference_is_bold_only_where_its_interval_does_not_hold_zero(study):
    rows = [
        {
            "geometry": where,
            "level": 1,
            "model": model,
            "sets": "",
            "seed": seed,
            **dict.fromkeys(study.MEASURES, 1.0 + (0.5 + 0.01 * seed) * (model == "toi")),
        }
        for where in study.GEOMETRIES
        for model in ("orca", "toi")
        for seed in (1, 2, 3)
    ]
    line = study.families_section(pd.DataFrame(rows)).splitlines()[2]
    assert "**+0.52 ± 0.02**" in line
    for row in rows:
        row.update(dict.fromkeys(study.MEASURES, 1.0 + (row["seed"] - 2.0) * (row["model"] == "toi")))
    assert "**" not in study.families_section(pd.DataFrame(rows))


def test_the_links_and_pictures_of_the_page_are_there():
    for link in set(re.findall(r"\]\(([^)#:]+)\)", FILE.read_text(encoding="utf-8"))):
        assert (FILE.parent / link).exists(), link
