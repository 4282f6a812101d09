"""The rooms of the house: imports go down the list of docs/architecture.md and never up,
no file imports itself in a circle, and what it names is there.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.crowds import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "crowdsim"

# What is against the order, or in a circle, and why. It gets shorter: a line that nothing needs any more
# fails.
UPWARD: dict[tuple[str, str], str] = {}
CIRCLES: dict[tuple[str, ...], str] = {
    (
        "crowdsim.scenario.canonical",
        "crowdsim.scenario.model",
    ): "a Scenario writes itself as text, and what writes it says what it is given",
}
TELLS_NAMES = "crowdsim.old_names"  # It imports what it names for whoever asks by an old name.


@cache
def modules() -> dict[str, Path]:
    """Return the files of the package by the names of their modules."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def section(title: str) -> list[list[str]]:
    """Return the cells of the rows of the first table below a heading of the page."""
    text = PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    return rows[2:]


@cache
def floors() -> dict[str, int]:
    """Return on which line of the printed order each room stands."""
    order = {}
    for line, (names, *_) in enumerate(section("Rooms")):
        for name in re.findall(r"`([\w/.]+)`", names):
            module = (
                "crowdsim"
                if name == "__init__.py"
                else "crowdsim." + name.removesuffix(".py").strip("/").replace("/", ".")
            )
            assert module not in order and module in modules(), f"docs/architecture.md: {name}"
            order[module] = line
    return order


def room_of(module: str) -> str:
    """Return the room that a module is in: the longest name on the page that its own begins with."""
    room = module
    while room not in floors():
        assert "." in room, f"{module} is in no room of docs/architecture.md"
        room = room.rpartition(".")[0]
    assert room != "crowdsim" or module == "crowdsim", f"{module} is in no room of docs/architecture.md"
    return room


def imports_of(text: str, known: set[str], own: str = "") -> set[str]:
    """Return the modules of the package that a text imports anywhere, lazily and for types only too,
    or names in a string; `own` is its own module.
    """
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "crowdsim"}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if (node.module or "").split(".")[0] == "crowdsim":
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= (names & known) | ({node.module} if names - known else set())
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.fullmatch(r"crowdsim(\.\w+)+\.?", node.value)
        ):
            named = {node.value.rstrip(".")} & known  # for import_module, `python -m`, and the like
            # but for "any module of my package"
            found |= {name for name in named if not own.startswith(f"{name}.")}
    return found


@cache
def imports() -> dict[str, frozenset[str]]:
    """Return what each module imports."""
    known = set(modules())
    return {
        name: frozenset(imports_of(path.read_text(encoding="utf-8"), known, name) - {name})
        for name, path in modules().items()
        if name != TELLS_NAMES
    }


def upward(graph: dict[str, frozenset[str]]) -> set[tuple[str, str]]:
    """Return the imports from one room to another that is not below it."""
    found = set()
    for module, others in graph.items():
        for other in others:
            here, there = room_of(module), room_of(other)
            if here != there and floors()[here] >= floors()[there]:
                found.add((module, other))
    return found


def circles(graph: dict[str, frozenset[str]]) -> set[tuple[str, ...]]:
    """Return the groups of modules of which each imports, directly or through others, all the others."""
    reach = {module: set(others) for module, others in graph.items()}
    pending = True
    while pending:
        pending = False
        for others in reach.values():
            more = set().union(*(reach.get(other, set()) for other in others)) - others
            if more:
                others |= more
                pending = True
    return {
        tuple(sorted(other for other in reach[module] if module in reach.get(other, ())))
        for module in reach
        if module in reach[module]
    }


def test_every_module_that_is_imported_is_there():
    missing = {
        (module, other) for module, others in imports().items() for other in others if other not in modules()
    }
    assert missing == set()


def test_imports_go_down_the_list_of_rooms_and_never_up():
    assert upward(imports()) == set(UPWARD), (
        "docs/architecture.md has the order; what is gone from the left side needs no exception any more"
    )


def test_no_file_imports_itself_through_others():
    assert circles(imports()) == set(CIRCLES), "what is gone from the left side needs no exception any more"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import crowdsim.errors", {"crowdsim.errors"}),
        (
            "def f():\n    from crowdsim.simulation.simulation import Simulation",
            {"crowdsim.simulation.simulation"},
        ),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from crowdsim.world.world import World",
            {"crowdsim.world.world"},
        ),
        ("from crowdsim.navigation.tiles import handles", {"crowdsim.navigation.tiles.handles"}),
        (
            "from crowdsim.measures import tracks, tracks_of",
            {"crowdsim.measures", "crowdsim.measures.tracks"},
        ),
        ("owner = _imported('crowdsim.bodies.nudge', 'NudgeParameters')", {"crowdsim.bodies.nudge"}),
        (
            "module = 1\nowner = _imported(f'crowdsim.bodies.{module}', 'NudgeParameters')",
            {"crowdsim.bodies"},
        ),
        ("from crowdsim.nowhere import anything", {"crowdsim.nowhere"}),
        ("import numpy\nname = 'crowdsim.models'", set()),
    ],
)
def test_an_import_is_seen_however_it_is_written(text, found):
    assert imports_of(text, set(modules())) == found


def test_an_import_up_or_in_a_circle_is_seen():
    up = {
        "crowdsim.geometry.plane": frozenset({"crowdsim.navigation.mesh.mesh"}),
        "crowdsim.navigation.goals.goals": frozenset({"crowdsim.navigation.search.a_star"}),
    }
    beside = {"crowdsim.navigation.corridor.steer": frozenset({"crowdsim.navigation.search.a_star"})}
    assert upward(up | beside) == {
        (module, other) for module, others in (up | beside).items() for other in others
    }
    assert circles({"a": frozenset("b"), "b": frozenset("c"), "c": frozenset("b"), "d": frozenset("a")}) == {
        ("b", "c")
    }


def test_every_room_says_its_question():
    for room in floors():
        text = ast.get_docstring(ast.parse(modules()[room].read_text(encoding="utf-8"))) or ""
        assert len(text) > 20, room
        if modules()[room].name == "__init__.py" and room != "crowdsim":
            assert "?" in text.split("\n\n")[0], room


def test_what_the_page_points_at_is_there():
    pointed = {
        path for _, where in section("Where is what") for path in re.findall(r"`([\w/]+\.\w+)`", where)
    }
    assert len(pointed) > 15
    assert sorted(path for path in pointed if not (PACKAGE / path).is_file()) == []


def test_folders_of_tests_follow_the_rooms():
    """Beside them there are folders of what concerns many rooms:
    whole scenes, pages, programs, the work of others, naive twins, old files, features together.
    """
    beside = {"benchmarks", "composition", "docs", "external", "reference", "samples", "scenes"}
    folders = {
        file.parent.relative_to(ROOT / "tests").as_posix() for file in (ROOT / "tests").rglob("test_*.py")
    } - {"."}
    assert len(folders) > 25
    assert (
        sorted(folder for folder in folders if folder not in beside and not (PACKAGE / folder).is_dir()) == []
    )


def test_the_tests_that_docstrings_and_pages_name_are_there():
    texts = [*PACKAGE.rglob("*.py"), *(ROOT / "docs").rglob("*.md")]
    named = {
        path
        for text in texts
        for path in re.findall(r"\btests/[\w/]+\.py\b", text.read_text(encoding="utf-8"))
    }
    assert len(named) > 100
    assert sorted(path for path in named if not (ROOT / path).is_file()) == []
