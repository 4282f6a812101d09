"""The canonical text of a scenario: the same run without the original files,
and one text for what means the same.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdsim.scenario.canonical import _text
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.scenario.templates import TEMPLATES, template_text
from crowdsim.scenario.tree import plain
from crowdsim.scenario.yaml_reader import read_yaml
from crowdsim.setup.agents import resolve_agents
from tests.scenario.worlds import SMALL, load, with_line
from tests.setup.test_agents import same


@pytest.mark.parametrize(
    "text",
    [SMALL, with_line("seed", "5"), *(template_text(name) for name in TEMPLATES)],
    ids=["small", "minimal", *TEMPLATES],
)
def test_the_canonical_text_gives_the_same_scenario_and_again_the_same_text(text: str) -> None:
    first = load(text)
    again = parse_scenario(first.canonical(), file="recording")
    assert again.canonical() == first.canonical()
    assert shapely.equals_exact(again.geometry.walkable, first.geometry.walkable)
    assert same(resolve_agents(first), resolve_agents(again))
    assert (again.name, again.seed, again.tick, again.stop, again.avoidance, again.budget) == (
        first.name,
        first.seed,
        first.tick,
        first.stop,
        first.avoidance,
        first.budget,
    )


def test_geometry_from_files_is_written_into_it(tmp_path: Path) -> None:
    (tmp_path / "plan.wkt").write_text(
        "POLYGON ((395131.7942683684 5268347.448105887, 395231.2 5268347.5, 395231.1 5268400.3, 395131.9 "
        "5268399.1, 395131.7942683684 5268347.448105887))"
    )
    path = tmp_path / "s.yaml"
    path.write_text(
        "version: 1\ngeometry: {walkable: {wkt_file: plan.wkt}}\ngroups: [{name: a, count: 50}]\n"
    )
    first = load_scenario(path)
    text = first.canonical()
    (tmp_path / "plan.wkt").unlink()
    assert "plan.wkt" not in text
    again = parse_scenario(text)
    assert shapely.equals_exact(again.geometry.walkable, first.geometry.walkable)
    assert np.array_equal(resolve_agents(again).position, resolve_agents(first).position)


def test_what_means_the_same_gives_one_text() -> None:
    one = """
version: 1
name: x
geometry:
  walkable: [{box: [0, 0, 5, 8]}, {box: [5, 0, 10, 8]}]
  obstacles: [{name: a, box: [1, 1, 2, 2]}, {name: b, box: [3, 3, 4, 4]}]
goals: {p: {point: [1, 5]}, q: {exit: [[9, 0], [10, 0], [10, 8], [9, 8]]}, r: {nearest_of: [p, q]}}
groups: [{name: g, count: 3, goals: r}, {name: h, agents: [{id: 2}, {id: 1}], goals: [q]}]
"""
    two = """
groups:
  - {name: h, agents: [{id: 1}, {id: 2}], goals: q}
  - {name: g, count: 3, goals: [r], radius: 0.2, leave_on_arrival: true}
goals:
  r: {nearest_of: [q, p, p]}
  q: {exit: {box: [9, 0, 10, 8]}}
  p: {point: [1.0, 5.0], arrive_within: 0.3}
geometry:
  obstacles: [{name: b, box: [3, 3, 4, 4]}, {name: a, box: [1, 1, 2, 2]}]
  walkable: {box: [0, 0, 10, 8]}
name: x
avoidance: orca
version: 1
"""
    assert load(one).canonical() == load(two).canonical()


def test_other_scenarios_give_other_texts() -> None:
    texts = [
        SMALL,
        SMALL.replace("seed: 3", "seed: 4"),
        SMALL.replace("time_horizon: 3", "time_horizon: 4"),
        SMALL.replace("[1, 1]", "[1, 1.0000001]"),
        SMALL.replace("trace: true", "trace: false"),
    ]
    assert len({load(text).canonical() for text in texts}) == len(texts)


def test_negative_zero_is_zero() -> None:
    groups = (
        "[{name: x, positions: [[-0.0, 0.5]]}, {name: y, agents: [{position: [0.5, -0.0], goals: {point: "
        "[-0.0, -0.0]}}]}]"
    )
    text = (
        f"version: 1\ngeometry: {{walkable: {{box: [-1, -1, 1, 1]}}}}\ngoals: {{a: {{point: [-0.0, 0]}}}}\n"
        f"groups: {groups}\n"
    )
    found = load(text)
    agents = resolve_agents(found)
    assert not np.signbit(agents.position).any()
    assert [goal.name for goal in found.goals] == ["(0, 0) within 0.3 m", "a"]
    assert "-0" not in found.canonical()


def test_ground_that_is_said_to_be_final_is_taken_as_it_is_but_checked() -> None:
    final = (
        "{walkable: [{wkt: 'POLYGON ((0.1 0.1, 5 0, 5 5, 0 5, 0.1 0.1))'}], obstacles: [{box: [1, 1, 2, "
        "2]}], resolved: true}"
    )
    found = load(
        with_line("geometry", final).replace("door: {exit: {box: [9, 0, 10, 8]}}", "door: {point: [1, 1]}")
    )
    assert found.geometry.walkable.exterior.coords[0] == (0.1, 0.1)  # neither snapped nor cut
    from tests.scenario.worlds import problems_of

    overlapping = "{walkable: [{box: [0, 0, 10, 8]}, {box: [5, 0, 12, 8]}], resolved: true}"
    assert problems_of(with_line("geometry", overlapping)) == [
        "t.yaml:2:22: geometry.walkable: parts of the ground overlap"
    ]


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=30))
def test_any_text_survives_being_written_and_read(text: str) -> None:
    written = f"a: {_text(text)}\n"
    root, problems = read_yaml(written, "f")
    assert root is not None
    assert problems == []
    assert plain(root) == {"a": text}


@pytest.mark.parametrize(
    "word",
    [
        "yes",
        "no",
        "on",
        "null",
        "true",
        "5",
        "1e3",
        "017",
        "a: b",
        "#x",
        "- x",
        "",
        " x",
        "x ",
        "é",
        "a,b",
        "[x]",
        "{x}",
        "*x",
        "&x",
        "!x",
        "%x",
        "'",
        '"',
        "\\",
    ],
)
def test_words_that_yaml_could_take_for_something_else_are_quoted(word: str) -> None:
    assert _text(word).startswith('"')


# YAML takes these three for line breaks, which in a quoted text become spaces when it is first read.
WRITABLE = st.characters(exclude_characters="\x85\u2028\u2029")


@settings(max_examples=30, deadline=None)
@given(
    st.text(WRITABLE, min_size=1, max_size=12),
    st.text(WRITABLE, min_size=1, max_size=12),
    st.text(WRITABLE, max_size=40),
)
def test_names_of_any_kind_survive(goal: str, group: str, description: str) -> None:
    text = json.dumps(
        {
            "version": 1,
            "description": description,
            "geometry": {"walkable": {"box": [0, 0, 10, 8]}},
            "goals": {goal: {"point": [1, 1]}},
            "groups": [{"name": group, "count": 2, "goals": goal}],
        },
        ensure_ascii=False,
    )
    try:
        first = load(text)
    except Exception:  # not every text is a name, and control characters are refused
        return
    again = parse_scenario(first.canonical())
    assert again.canonical() == first.canonical()
    assert (again.groups[0].name, again.goals[0].name, again.description) == (group, goal, description)
