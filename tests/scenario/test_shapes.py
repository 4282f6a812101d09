"""The shape of scenarios: what is missing, unknown, of the wrong kind or out of range,
and that everything is told at once.
"""

from __future__ import annotations

import time

import pytest
from pydantic import TypeAdapter, ValidationError

from crowdsim.scenario import schema
from crowdsim.scenario.explain import Declared, explained, locate
from tests.scenario.worlds import SMALL, load, problems_of, with_line


def test_the_smallest_scenario_gets_all_defaults() -> None:
    scenario = load("version: 1\ngeometry: {walkable: {box: [0, 0, 10, 8]}}\ngroups: []\n")
    assert (scenario.name, scenario.seed, scenario.tick, scenario.stop.after, scenario.stop.ticks) == (
        "t",
        1,
        0.05,
        600.0,
        12000,
    )
    assert scenario.stop.when_all_arrived
    assert scenario.stop.stuck_for is None
    assert (
        scenario.record.rate,
        scenario.record.ticks_per_frame,
        scenario.record.agents,
        scenario.record.trace,
    ) == (10.0, 2, "all", False)
    assert scenario.avoidance.name == "orca"
    assert scenario.avoidance.values == {"neighbour_count": 10, "time_horizon": 2.0}
    assert scenario.navigation.values == {"faces": "polygons", "share_searches": True}


def test_the_small_scenario_is_read_as_it_says() -> None:
    scenario = load(SMALL)
    assert [goal.name for goal in scenario.goals] == [
        "(12, 1) within 0.5 m",
        "(9, 1) within 0.3 m",
        "back",
        "door",
        "out",
        "seat",
    ]
    assert [group.name for group in scenario.groups] == ["guests", "sitters", "walkers"]
    walkers = scenario.groups[2]
    assert [(scenario.goals[visit.goal].name, visit.speed) for visit in walkers.visits] == [
        ("seat", None),
        ("out", 1.5),
    ]
    assert [scenario.goals[part].name for part in scenario.goals[4].parts] == ["back", "door"]
    assert scenario.avoidance.values["time_horizon"] == 3.0
    assert scenario.navigation.values["faces"] == "triangles"
    assert scenario.agent_count == 26
    assert scenario.notes == ()


@pytest.mark.parametrize("key", ["version", "geometry", "groups"])
def test_required_keys_are_asked_for(key: str) -> None:
    lines = with_line("seed", "1").splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith(key))
    assert any(f'the key "{key}" is missing' in problem for problem in problems_of(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.yaml: the file is empty"),
        ("# nothing but a comment\n", "t.yaml: the file is empty"),
        ("null\n", "t.yaml:1:1: the file is empty"),
        (
            "- 1\n",
            "t.yaml:1:1: a scenario is a mapping (version: 1, geometry: ..., groups: ...), found a list of 1",
        ),
        (
            "just a text\n",
            (
                "t.yaml:1:1: a scenario is a mapping (version: 1, geometry: ..., groups: ...), found the "
                'text "just a text"'
            ),
        ),
        ("{}\n", 't.yaml:1:1: the key "version" is missing'),
        (
            "version: true\n",
            "t.yaml:1:10: version: this crowdsim reads version 1, found the truth value true",
        ),
        ("version: '1'\n", 't.yaml:1:10: version: this crowdsim reads version 1, found the text "1"'),
        ("version: [1]\n", "t.yaml:1:10: version: this crowdsim reads version 1, found a list of 1"),
    ],
)
def test_what_is_no_scenario_is_told_in_one_message(text: str, message: str) -> None:
    assert problems_of(text) == [message]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("tick", "0", "t.yaml:5:7: tick: is 0 s, but must be above 0 s"),
        ("tick", "true", "t.yaml:5:7: tick: expects a number, found the truth value true"),
        ("tick", "'0.05'", 't.yaml:5:7: tick: expects a number, found the text "0.05"'),
        ("seed", "1.5", "t.yaml:5:7: seed: expects a whole number, found the number 1.5"),
        (
            "seed",
            "9223372036854775808",
            "t.yaml:5:7: seed: is 9223372036854775808, but may be at most 9223372036854775807",
        ),
        ("name", "''", "t.yaml:5:7: name: expects a name, found an empty text"),
        ("name", "' padded'", 't.yaml:5:7: name: the text " padded" is no name'),
        ("description", "[a]", "t.yaml:5:14: description: expects a text, found a list of 1"),
        ("description", "", "t.yaml:5:1: description: no value is given"),
        (
            "stop",
            "60",
            "t.yaml:5:7: stop: expects a mapping with the keys after, when, stuck_for, found the number 60",
        ),
        (
            "goals",
            "[door]",
            (
                "t.yaml:3:8: goals: expects a mapping of names to goals {door: {exit: ...}, ...}, found a "
                "list of 1"
            ),
        ),
        (
            "goals",
            "{(a: {point: [1, 1]}, door: {point: [2, 2]}}",
            't.yaml:3:9: goals["(a"]: the text "(a" is no name',
        ),
        (
            "groups",
            "{name: x}",
            (
                "t.yaml:4:9: groups: expects a list of groups [{name: ..., count: ...}, ...], found a "
                "mapping with the key name"
            ),
        ),
        ("groups", "[{count: 5}]", 't.yaml:4:10: groups[0]: the key "name" is missing'),
        ("record", "{agents: {every: 0}}", "t.yaml:5:26: record.agents.every: is 0, but must be at least 1"),
        (
            "record",
            "{agents: [true]}",
            (
                "t.yaml:5:19: record.agents[0]: expects an agent's id or the name of a group, found the "
                "truth value true"
            ),
        ),
        (
            "avoidance",
            "5",
            (
                "t.yaml:5:12: avoidance: expects the name of a model or a mapping {model: name, ...}, found "
                "the number 5"
            ),
        ),
        ("avoidance", "{model: [orca]}", "t.yaml:5:20: avoidance.model: expects a name, found a list of 1"),
        (
            "avoidance",
            "{time_horizon: [1]}",
            "t.yaml:5:27: avoidance.time_horizon: expects a single value, found a list of 1",
        ),
        (
            "avoidance",
            "{model: none, time_horizon: 1}",
            't.yaml:5:26: avoidance.time_horizon: none has no parameter "time_horizon"',
        ),
        ("bodies", "hard", 't.yaml:5:9: bodies: expects a mapping of parameters, found the text "hard"'),
        ("bodies", "{passes: many}", "t.yaml:5:18: bodies.passes: 'many' is not a number"),
        (
            "navigation",
            "{share_searches: no}",
            "t.yaml:5:30: navigation.share_searches: 'no' is neither true nor false",
        ),
    ],
)
def test_values_of_the_wrong_kind_are_told_with_place_and_what_was_found(
    key: str, value: str, message: str
) -> None:
    assert problems_of(with_line(key, value)) == [message]


def test_a_mistake_in_one_group_or_goal_hides_none_in_another() -> None:
    text = with_line("goals", "{a: {pint: [1, 1]}, b: {nearest_of: [c]}}").replace(
        "[{name: crowd, count: 5, goals: door}]",
        "[{name: x, count: -1, goals: d}, {name: y, count: 1, goals: e}]",
    )
    found = problems_of(text)
    assert [problem.split(": ")[1] for problem in found] == [
        "goals.a",
        "goals.b.nearest_of[0]",
        "groups[0].count",
        "groups[0].goals",
        "groups[1].goals",
    ]


def test_a_value_that_was_reported_is_not_reported_again() -> None:
    assert problems_of(with_line("stop", "{after: 017, when: }")) == [
        "t.yaml:5:15: stop.after: 017 begins with a zero: some programs read it as octal 15",
        "t.yaml:5:20: stop.when: no value is given",
    ]


def test_more_problems_than_anyone_reads_are_counted() -> None:
    many = "[" + ", ".join("{name: 5}" for _ in range(150)) + "]"
    found = problems_of(with_line("groups", many))
    assert len(found) == 101
    assert found[-1] == "t.yaml: and 50 more problems"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (with_line("groups", "[{name: x, positions: [" + "a, " * 5000 + "a]}]"), "4,901"),
        (with_line("groups", "[{name: x, agents: [" + "{goals: nowhere}, " * 5000 + "]}]"), "4,900"),
        (with_line("groups", "[{name: x, agents: [" + "{id: 1}, " * 5000 + "]}]"), "4,899"),
        (with_line("record", "{columns: [" + "017, " * 5000 + "]}"), "200"),  # reading itself stops
    ],
)
def test_problems_beyond_the_limit_are_counted_without_the_work_of_telling_them(text: str, rest: str) -> None:
    start = time.process_time()
    found = problems_of(text)
    assert time.process_time() - start < 5.0
    assert len(found) == 101
    assert found[-1] == f"t.yaml: and {rest} more problems"


def _error(annotation: object, value: object) -> tuple[str, str, str]:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(annotation).validate_python(value, strict=True)
    entry = caught.value.errors(include_url=False)[0]
    _, declared, parent = locate(annotation, entry["loc"])
    return entry["type"], *explained(entry, declared, parent)


@pytest.mark.parametrize(
    ("annotation", "value", "kind", "message"),
    [
        (schema.Length, 0, "greater_than", "is 0 m, but must be above 0 m"),
        (schema.Seconds, -1, "greater_than_equal", "is -1 s, but must be at least 0 s"),
        (schema.Seconds, 1e10, "less_than_equal", "is 10000000000 s, but may be at most 1000000000 s"),
        (schema.Length, "x", "float_type", 'expects a number, found the text "x"'),
        (
            schema.Circle,
            {"centre": [0, 0], "radius": 1, "corners": "x"},
            "int_type",
            'expects a whole number, found the text "x"',
        ),
        (
            schema.GroupShape,
            {"name": "x", "leave_on_arrival": 1},
            "bool_type",
            "expects true or false, found the number 1",
        ),
        (schema.WktArea, {"wkt": 5}, "string_type", "expects a text, found the number 5"),
        (schema.Point, 5, "list_type", "expects a point [x, y], found the number 5"),
        (schema.Point, [1], "too_short", "expects a point [x, y], found a list of 1"),
        (schema.Point, [1, 2, 3], "too_long", "expects a point [x, y], found a list of 3"),
        (schema.NearestGoal, {"nearest_of": []}, "too_short", "expects at least 1 item, found an empty list"),
        (schema.Name, "", "string_too_short", "expects a name, found an empty text"),
        (schema.Name, "x" * 300, "string_too_long", "has 300 characters, but may have at most 200"),
        (schema.Name, "a\nb", "string_pattern_mismatch", 'the text "a?b" is no name'),
        (
            schema.StopShape,
            {"when": "soon"},
            "literal_error",
            'expects all_arrived or never, found the text "soon"',
        ),
        (
            schema.StopShape,
            5,
            "model_type",
            "expects a mapping with the keys after, when, stuck_for, found the number 5",
        ),
        (schema.StopShape, {"wen": 1}, "extra_forbidden", 'there is no key "wen" here'),
        (schema.Circle, {"radius": 1}, "missing", 'the key "centre" is missing'),
        (
            schema.Distribution,
            {"norml": {}},
            "form",
            (
                "expects a number or a distribution {uniform: ...}, {normal: ...}, {lognormal: ...}, "
                "{exponential: ...} or {choice: ...}, found a mapping with the key norml"
            ),
        ),
        (dict[str, int], 5, "dict_type", "expects a mapping, found the number 5"),
    ],
)
def test_each_kind_of_error_has_words_of_its_own(
    annotation: object, value: object, kind: str, message: str
) -> None:
    assert _error(annotation, value)[:2] == (kind, message)


def test_kinds_of_errors_without_words_of_their_own_still_say_what_was_found() -> None:
    assert explained({"type": "new_kind", "msg": "Something Odd", "input": 5, "loc": ()}, None, None) == (
        "something Odd; found the number 5",
        "",
    )


@pytest.mark.parametrize(
    ("value", "way_out"),
    [
        ("1,5", "Write 1.5, with a point."),
        (
            "5 m",
            (
                "Write 5, without the unit: lengths are in metres, times in seconds, speeds in metres per "
                "second."
            ),
        ),
        (
            "5cm",
            (
                "Write 0.05, without the unit: lengths are in metres, times in seconds, speeds in metres "
                "per second."
            ),
        ),
        (
            "36 km/h",
            (
                "Write 10, without the unit: lengths are in metres, times in seconds, speeds in metres per "
                "second."
            ),
        ),
        ("2 apples", ""),
        ("1.5", "Write 1.5 without quotes."),
        ("much", ""),
    ],
)
def test_numbers_written_as_texts_get_a_hint(value: str, way_out: str) -> None:
    assert _error(schema.Length, value)[2] == way_out


def test_unions_tell_only_the_alternative_that_was_meant() -> None:
    assert (
        _error(schema.Areas, [{"box": [0, 0, 1]}])[1]
        == "expects a box [xmin, ymin, xmax, ymax], found a list of 3"
    )
    assert _error(schema.Areas, [[0, 0], [1, 0], [1, "x"]])[1] == 'expects a number, found the text "x"'
    assert (
        _error(schema.Areas, [[[0, 0], [1, 0]]])[1]
        == "expects a polygon of at least 3 points [[x, y], ...], found a list of 2"
    )


def test_what_is_declared_is_found_along_any_path() -> None:
    path, declared, parent = locate(schema.ScenarioShape, ("groups", 2, "speed", "~normal", "normal", "sd"))
    assert path == ("groups", 2, "speed", "normal", "sd")
    assert parent is not None
    assert parent.keys() == ["mean", "sd", "low", "high"]
    assert declared is not None
    assert locate(schema.ScenarioShape, ("no", "such", 5))[1] is None
    assert Declared(schema.GroupShape).keys()[:3] == ["name", "count", "positions"]
