"""The JSON Schema: what we ship fits it, what it refuses is refused by the loader,
and it never talks of null.
"""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdsim.scenario import json_schema
from crowdsim.scenario.json_schema import NAMED_VALUE
from crowdsim.scenario.templates import TEMPLATES, template_text
from crowdsim.scenario.tree import plain
from crowdsim.scenario.yaml_reader import read_yaml
from tests.cli.command import crowdsim
from tests.scenario.json_schema_check import errors
from tests.scenario.test_broken_files import FOLDER
from tests.scenario.worlds import SMALL, load, problems_of, with_line

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = sorted((ROOT / "scenarios").glob("*.yaml"))


scenario_schema = cache(json_schema.scenario_schema)  # a fifth of a second each time


def value_of(text: str) -> Any:
    root, problems = read_yaml(text, "f")
    assert problems == []
    assert root is not None
    return plain(root)


def schema_errors(value: Any) -> list[str]:
    schema = scenario_schema()
    return errors(value, schema, schema)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "text",
    [SMALL, with_line("seed", "1"), *(template_text(name) for name in TEMPLATES)],
    ids=["small", "minimal", *TEMPLATES],
)
def test_good_scenarios_fit_the_schema_and_so_do_their_canonical_texts(text: str) -> None:
    assert schema_errors(value_of(text)) == []
    assert schema_errors(value_of(load(text).canonical())) == []


def test_the_command_prints_what_all_shipped_scenarios_fit_with_the_numbers_of_all_sections() -> None:
    """In a process of its own: here others stand in for the sections."""
    done = crowdsim(["schema"])
    assert done.returncode == 0 and not done.stderr
    schema = json.loads(done.stdout)
    for path in SCENARIOS:
        assert errors(value_of(path.read_text(encoding="utf-8")), schema, schema) == [], path.name
    bad = value_of((ROOT / "scenarios" / "park.yaml").read_text(encoding="utf-8"))
    bad["navigation"] = {"kind": "mesh", "prices": {"lawn": -1.0}}
    assert errors(bad, schema, schema)


@pytest.mark.sample(4)
@pytest.mark.parametrize("path", SCENARIOS, ids=[path.name for path in SCENARIOS])
def test_scenarios_of_the_project_have_the_shape_that_the_schema_says(path: Path) -> None:
    value = value_of(path.read_text(encoding="utf-8"))
    for section in ("avoidance", "navigation", "bodies", "symmetry", "budget"):
        for part in (value, *value["groups"]):
            part.pop(section, None)  # the numbers of the real rooms; here others stand in for them
    value.get("record", {}).pop("columns", None)
    assert schema_errors(value) == []


@pytest.mark.parametrize(
    "name", ["01_misspelt_keys", "02_wrong_kinds", "03_out_of_range", "05_unknown_names", "16_newer_version"]
)
def test_files_whose_shape_is_broken_do_not_fit(name: str) -> None:
    assert schema_errors(value_of((FOLDER / f"{name}.yaml").read_text())) != []


def test_the_schema_is_plain_json_without_null_and_explains_every_key() -> None:
    schema = json.loads(json.dumps(scenario_schema(), allow_nan=False))
    assert "null" not in json.dumps(schema)
    assert schema["required"] == ["version", "geometry", "groups"]
    assert all(part.get("description") for part in schema["properties"].values())
    for shape in schema["$defs"].values():
        assert shape["additionalProperties"] is False
        assert shape["description"]


def test_numbers_of_models_are_in_it_with_range_and_reason() -> None:
    _, none, orca = scenario_schema()["properties"]["avoidance"]["anyOf"]
    assert none["required"] == ["model"]
    assert "required" not in orca  # the default model need not be named
    assert orca["properties"]["time_horizon"] == {
        "anyOf": [{"type": "number", "maximum": 60.0, "exclusiveMinimum": 0.0}, NAMED_VALUE],
        "default": 2.0,
        "description": "How long a velocity is to stay clear of others [s].",
    }
    assert scenario_schema()["properties"]["navigation"]["anyOf"][1]["properties"]["faces"]["anyOf"] == [
        {"enum": ["polygons", "triangles"]},
        NAMED_VALUE,
    ]


def test_a_value_of_vars_may_stand_for_any_single_value() -> None:
    value = value_of(SMALL)
    value["vars"] = {"width": 1.5, "kind": "grid"}
    value["tick"], value["navigation"], value["groups"][0]["radius"] = "$width / 30", "$kind", "$width/10"
    assert schema_errors(value) == []
    value["vars"]["width"] = [1.5]
    assert schema_errors(value) != []


WEIRD = st.sampled_from(
    [
        None,
        True,
        -1,
        0,
        1.5,
        1e12,
        "",
        "x",
        "door",
        [],
        [1],
        [[0, 0]],
        {},
        {"x": 1},
        {"box": [0, 0, 1, 1]},
        {"point": [1, 1]},
    ]
)


def _spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    return [path, *(spot for key, item in items for spot in _spots(item, (*path, key)))]


@pytest.mark.parametrize("count", [12, pytest.param(60, marks=pytest.mark.full)])
def test_what_the_schema_refuses_the_loader_refuses(count: int) -> None:
    settings(max_examples=count, deadline=None)(given(st.data())(_check_that_the_loader_refuses))()


def _check_that_the_loader_refuses(data: st.DataObject) -> None:
    value = copy.deepcopy(value_of(SMALL))
    spot = data.draw(st.sampled_from([spot for spot in _spots(value) if spot]))
    holder = value
    for key in spot[:-1]:
        holder = holder[key]
    holder[spot[-1]] = data.draw(WEIRD)
    if schema_errors(value):
        assert problems_of(json.dumps(value)) != []
