"""The glossary: one line a term with its source, and words that do not come back where they have been
replaced.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.crowds import ROOT

PAGE = (ROOT / "docs" / "glossary.md").read_text()
TERMS = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
BANNED = [
    word for line in re.findall(r"^\| ([^|]+) \| [^|]+ \|$", PAGE, re.MULTILINE) for word in line.split(", ")
]

# Rooms whose words are the glossary's. A room that is done is added here; it stays so.
DONE = (
    "crowdsim/avoidance",
    "crowdsim/bench",
    "crowdsim/bodies",
    "crowdsim/cli",
    "crowdsim/comparison",
    "crowdsim/geometry",
    "crowdsim/kernels",
    "crowdsim/measures",
    "crowdsim/navigation",
    "crowdsim/pictures",
    "crowdsim/plans",
    "crowdsim/recording",
    "crowdsim/regression",
    "crowdsim/scenario",
    "crowdsim/setup",
    "crowdsim/simulation",
    "crowdsim/sweep",
    "crowdsim/systems",
    "crowdsim/world",
    "benchmarks",
    "tests/avoidance",
    "tests/bench",
    "tests/benchmarks",
    "tests/bodies",
    "tests/cli",
    "tests/comparison",
    "tests/geometry",
    "tests/kernels/simd",
    "tests/measures",
    "tests/navigation/grid",
    "tests/navigation/local_grid",
    "tests/navigation/stationary",
    "tests/pictures",
    "tests/plans",
    "tests/recording",
    "tests/regression",
    "tests/scenario",
    "tests/setup",
    "tests/simulation",
    "tests/sweep",
    "tests/systems",
    "tests/world",
)
# What stays: old names that users may still write, and names of scenes that were measured. The package has
# its own old names in `crowdsim/old_names.py`.
STAYS = {
    "tests/bench/test_bench.py": ("ways",),
    "tests/measures/test_deadlock_scenes.py": ("stander", "ways"),
    "tests/pictures/test_scenario.py": ("ways",),
}


def words_in(text: str) -> set[str]:
    """Return the words of a text, also those that names are made of, and whole names."""
    names = re.findall(r"[A-Za-z_]+", text)
    return {
        part.lower() for name in names for part in re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).split("_")
    } | set(names)


def test_each_term_stands_once_in_its_place_with_a_source():
    assert len(TERMS) > 60
    names = [name for row in TERMS[:] if row[0] not in ("term", "---") for name in row[0].split(", ")]
    assert len(names) == len(set(names))
    for section in PAGE.split("\n## ")[1:]:
        rows = [
            row
            for row in re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)
            if row[0] not in ("term", "---")
        ]
        assert [row[0].lower() for row in rows] == sorted(row[0].lower() for row in rows)
        for name, meaning, source in rows:
            # test_references.py knows the keys
            assert source == "ours" or re.fullmatch(r"\[[A-Za-z -]+ (\d{4}|undated)\]", source), (
                f"{name}: {source}"
            )
            assert not meaning.endswith("."), name


@pytest.mark.parametrize("room", DONE)
def test_words_that_were_replaced_do_not_come_back(room):
    files = sorted(Path(ROOT, room).rglob("*.py"))
    assert files
    banned = {word for word in BANNED if word not in ("not", "---")}
    assert {"who", "whom", "ways", "Tally"} <= banned
    found = [
        f"{file.relative_to(ROOT)}: {word}"
        for file in files
        for word in sorted(banned & words_in(file.read_text()))
        if word not in STAYS.get(str(file.relative_to(ROOT)), ())
    ]
    assert not found, "docs/glossary.md says what to write in place of these words:\n" + "\n".join(found)


def test_exceptions_are_still_needed():
    for file, words in STAYS.items():
        assert set(words) & words_in(Path(ROOT, file).read_text()), f"{file} needs no exception any more"
