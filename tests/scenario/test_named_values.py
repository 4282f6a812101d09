"""Values that a scenario names under `vars`, and where they are put in."""

from __future__ import annotations

import json

import pytest

from crowdsim.errors import ScenarioError
from crowdsim.scenario.load import load_scenario, parse_scenario

HALL = """\
version: 1
vars: {width: 1.2, length: 10, half: $width / 2, people: 8, goal: end}
geometry:
  walkable: {box: [0, 0, $length, 4]}
  obstacles: [{box: [5, 0, 5.2, 2 - $half]}, {box: [5, 2 + $half, 5.2, 4]}]
goals: {end: {exit: {box: [$length - 0.5, 0, $length, 4]}}}
groups: [{name: crowd, count: $people, region: {box: [0, 0, 3, 4]}, goals: [$goal]}]
"""
PLAIN = """\
version: 1
geometry:
  walkable: {box: [0, 0, 10, 4]}
  obstacles: [{box: [5, 0, 5.2, 1.4]}, {box: [5, 2.6, 5.2, 4]}]
goals: {end: {exit: {box: [9.5, 0, 10, 4]}}}
groups: [{name: crowd, count: 8, region: {box: [0, 0, 3, 4]}, goals: [end]}]
"""


def problems_of(text: str, *sets: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, file="hall.yaml", sets=sets)
    return [str(problem) for problem in caught.value.problems]


def test_a_scenario_with_names_is_the_one_with_their_values() -> None:
    text = parse_scenario(HALL).canonical()
    assert text == parse_scenario(PLAIN).canonical() and "$" not in text


def test_one_name_changes_all_that_use_it() -> None:
    sets = ["vars.width=2", "vars.people=$width * 3", "groups.0.radius=0.1 * $width"]
    scenario = parse_scenario(HALL, sets=sets)
    assert scenario.agent_count == 6
    doors = [each.polygon.bounds for each in scenario.geometry.obstacles]
    assert doors == [(5.0, 0.0, 5.2, 1.0), (5.0, 3.0, 5.2, 4.0)] or {box[1] for box in doors} == {0.0, 3.0}
    assert scenario.groups[0].radius == parse_scenario(PLAIN).groups[0].radius  # 0.2


@pytest.mark.parametrize(
    ("sum_", "value"),
    [("$n", 6), ("$n / 2", 3), ("-(1 - $n) * 2", 10), ("$n/4", None), ("+$n - 1", 5), ("$n * 1e0", None)],
)
def test_sums_of_whole_numbers_are_whole_where_they_can_be(sum_: str, value: int | None) -> None:
    text = HALL.replace("count: $people", f"count: {sum_}").replace("people: 8", "n: 6")
    if value is None:
        assert "expects a whole number" in problems_of(text)[0]
    else:
        assert parse_scenario(text).agent_count == value


def test_mappings_have_names_too_and_two_dollars_are_one() -> None:
    values = json.loads(json.dumps({"description": "$$width is a name", "vars": {"n": 3}, "version": 1}))
    values |= {"geometry": {"walkable": {"box": [0, 0, 9, 9]}}, "groups": [{"name": "a", "count": "$n"}]}
    scenario = load_scenario(values)
    assert (scenario.agent_count, scenario.description) == (3, "$width is a name")
    assert parse_scenario(scenario.canonical()).description == "$width is a name"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("$goal]", "$gaol]", "hall.yaml:7:77: groups[0].goals[0]: there is no value $gaol under vars\n"
         '    Did you mean "goal"? Known are width, length, half, people, goal.'),
        ("goal: end}", "goal: end, idle: 3}", "hall.yaml:2:72: vars.idle: nothing uses $idle\n"
         "    Use it somewhere, or leave it out."),
        ("width: 1.2", "width: $half", "hall.yaml:2:40: vars.half: the values lead round in a circle: "
         "$width -> $half -> $width\n    Give one of them a value of its own."),
        ("width: 1.2", "width: $width", "hall.yaml:2:15: vars.width: the values lead round in a circle: "
         "$width -> $width\n"),
        ("width: 1.2", "width: [1, 2]", "hall.yaml:2:15: vars.width: a value is a number, a text or true or "
         "false, found a list of 2"),
        ("$half]", "$half / 0]", '"2 - $half / 0" divides by zero'),
        ("$half]", "$half * 1e308 * 1e9]", "is too large a number"),
        ("$half]", "$goal]", '"2 - $goal" takes numbers, but one of its values is the text "end"'),
        ("$half]", "$half half]", '"2 - $half half" is no sum of numbers and names of vars'),
        ("$half]", "$half$half]", '"2 - $half$half" is no sum of numbers and names of vars'),
        ("$half]", "named_x * $half]", "expects a number"),
        ("$half]", "$half - named_x]", "is no sum of numbers and names of vars"),
        ("people: 8", "people: null", "hall.yaml:2:50: vars.people: no value is given"),
        ("$half]", "$half ** 9]", "is no sum of numbers and names of vars"),
        ("$half]", "$half" + " + (1" * 90 + "]", "is no sum of numbers and names of vars"),
        ("people: 8", "people: -8", "hall.yaml:7:31: groups[0].count: "),
    ],
)  # fmt: skip
def test_mistakes_name_line_item_and_way_out(old: str, new: str, said: str) -> None:
    found = problems_of(HALL.replace(old, new, 1))
    assert any(said in each for each in found), found
    assert len(found) == 1


def test_a_name_whose_only_use_is_set_otherwise_is_no_mistake() -> None:
    assert parse_scenario(HALL, sets=["groups.0.count=5"]).agent_count == 5
    assert problems_of(HALL, "vars.lenght=3")[0].startswith("--set vars.lenght=3: vars.lenght: nothing uses")


def test_without_vars_a_dollar_is_a_letter() -> None:
    text = PLAIN.replace("name: crowd", "name: $crowd")
    assert parse_scenario(text).groups[0].name == "$crowd"
