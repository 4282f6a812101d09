"""What code, pages and printed output cite is listed in docs/references.md,
and nothing is cited in another way.
"""

import json
import re
from functools import cache

from crowdsim.scenario.json_schema import scenario_schema
from crowdsim.scenario.parameters import parameter_rows
from crowdsim.simulation.simulation import tick_table
from tests.crowds import ROOT

KEY = re.compile(r"\[((?:[A-Za-z][\w.&-]* )+(?:(?:19|20)\d\d[a-z]?|undated))\]")
# Tags of documents that no reader has, and papers by name and year instead of by key.
TAGS = [
    re.compile(pattern)
    for pattern in (
        r"S[0-4](?![\w\"])(?<![\w\"]..)",
        *(
            rf"{page}(?:\.md|,? (?:rows? )?[A-Z]\d|(?<=\({page}):)"
            for page in ("SYSTEMS", "PEERS", "STANDARDS", "CHECKS")
        ),
        r"hecks? O\d",
        r"et al\b(?<!\w.....)",
        r"\((?:19|20)\d\d\)(?<=[a-z] ......)",
    )
]
PAGE = ROOT / "docs" / "references.md"
PLACES = {
    "crowdsim": ("py", "js"),
    "docs": ("md", "py"),
    "scenarios": ("yaml",),
    "tests": ("py", "txt"),
    "benchmarks": ("py",),
    "analysis": ("py",),
    ".": ("md", "cff", "toml"),
}


@cache
def texts():
    """Return what may cite, by path: code, pages, scenarios, tests;
    not the list itself, and not this file.
    """
    found = {}
    for folder, endings in PLACES.items():
        for ending in endings:
            for path in (ROOT / folder).glob(f"*.{ending}" if folder == "." else f"**/*.{ending}"):
                if path not in (PAGE, ROOT / "tests" / "docs" / "test_references.py"):
                    found[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
    return found


def listed():
    """Return the rows of the page by their keys: what each is, and where it can be found."""
    rows = [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| [")
    ]
    assert len({row[0] for row in rows}) == len(rows), "a key is listed twice"
    return {row[0].strip("[]"): row[1:] for row in rows}


def cited():
    """Return the keys that are cited, and the files that do."""
    found = {}
    for name, text in texts().items():
        for key in KEY.findall(text):
            found.setdefault(key, []).append(name)
    return found


def test_every_key_that_is_cited_is_listed_and_every_listed_one_is_cited():
    assert {key: where for key, where in cited().items() if key not in listed()} == {}
    assert sorted(set(listed()) - set(cited())) == []


def test_every_entry_says_what_it_is_and_where_it_can_be_found():
    assert {
        key: row
        for key, row in listed().items()
        if not (KEY.fullmatch(f"[{key}]") and len(row) == 2 and all(row))
    } == {}


def test_nothing_is_cited_by_a_tag_or_by_name_and_year():
    found = [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for name, text in texts().items()
        for tag in TAGS
        for match in tag.finditer(text)
    ]
    assert found == []


def test_every_tunable_number_says_that_it_is_ours_or_what_it_is_from():
    rows = parameter_rows()
    assert len(rows) > 100
    assert {
        row["name"]: row["source"]
        for row in rows
        if row["source"] and not row["source"].startswith("ours") and not KEY.search(row["source"])
    } == {}


def test_what_is_printed_cites_listed_keys_alone():
    printed = json.dumps([parameter_rows(), tick_table(), scenario_schema()])
    assert [tag.pattern for tag in TAGS if tag.search(printed)] == []
    assert set(KEY.findall(printed)) - set(listed()) == set()
