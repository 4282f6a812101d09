"""Whatever stands in a file, the loader gives a scenario or a message, never a traceback."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdsim.errors import ScenarioError
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.templates import TEMPLATES, template_text
from crowdsim.scenario.tree import plain
from crowdsim.scenario.yaml_reader import read_yaml
from tests.scenario.worlds import SMALL, load

TEXTS = [SMALL, *(template_text(name) for name in TEMPLATES)]


def check_survives(text: str, **options: Any) -> None:
    try:
        assert isinstance(load(text, **options), Scenario)
    except ScenarioError as error:
        assert error.problems
        assert all(problem.message and "\n" not in problem.message for problem in error.problems)
        assert all(len(str(problem)) < 2500 for problem in error.problems)


EDITS = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.sampled_from(["delete", "insert", "double", "swap", "indent"]),
        st.sampled_from([*"[]{}:,-#&*!|>'\"%@`?~ \t\n0.e", "é", "\x00", "<<: ", "&a ", "*a ", "- "]),
    ),
    min_size=1,
    max_size=6,
)


def edited(text: str, edits: list[tuple[float, str, str]]) -> str:
    for where, kind, piece in edits:
        at = int(where * len(text))
        line = text.rfind("\n", 0, at) + 1
        if kind == "delete":
            text = text[:at] + text[at + 1 + int(7 * where) :]
        elif kind == "insert":
            text = text[:at] + piece + text[at:]
        elif kind == "double":
            end = text.find("\n", at) + 1 or len(text)
            text = text[:end] + text[line:end] + text[end:]
        elif kind == "swap":
            text = text[:at] + text[at : at + 9][::-1] + text[at + 9 :]
        else:
            text = text[:line] + piece + text[line:]
    return text


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(TEXTS), EDITS)
def test_edited_texts_give_a_scenario_or_messages(text: str, edits: list[tuple[float, str, str]]) -> None:
    check_survives(edited(text, edits))


@pytest.mark.full
@settings(max_examples=20_000, deadline=None)
@given(st.sampled_from(TEXTS), EDITS)
def test_edited_texts_give_a_scenario_or_messages_many(
    text: str, edits: list[tuple[float, str, str]]
) -> None:
    check_survives(edited(text, edits))


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.sampled_from(
        [
            "door",
            "seat",
            "all",
            "orca",
            "mesh",
            "out",
            "walkers",
            "POLYGON ((0 0, 1 0, 1 1, 0 0))",
            "plan.wkt",
        ]
    )
)
KEYS = st.sampled_from(
    [
        "box",
        "polygon",
        "holes",
        "circle",
        "wkt",
        "wkt_file",
        "centre",
        "radius",
        "corners",
        "point",
        "exit",
        "region",
        "nearest_of",
        "goal",
        "speed",
        "uniform",
        "normal",
        "lognormal",
        "choice",
        "low",
        "high",
        "mean",
        "sd",
        "values",
        "weights",
        "every",
        "model",
        "kind",
        "id",
        "position",
        "name",
        "x",
    ]
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)


def _holders(value: Any) -> list[tuple[Any, Any]]:
    items = (
        list(value.items())
        if isinstance(value, dict)
        else list(enumerate(value))
        if isinstance(value, list)
        else []
    )
    return [pair for key, item in items for pair in ((value, key), *_holders(item))]


def exchanged(data: st.DataObject) -> str:
    root, _ = read_yaml(SMALL, "f")
    assert root is not None
    value = copy.deepcopy(plain(root))
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(_holders(value)))
        if data.draw(st.integers(0, 5)) == 0:
            del holder[key]
        else:
            holder[key] = data.draw(VALUES)
        if not _holders(value):
            break
    return json.dumps(value, ensure_ascii=False)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_exchanged_values_give_a_scenario_or_messages(data: st.DataObject) -> None:
    check_survives(exchanged(data))


@pytest.mark.full
@settings(max_examples=20_000, deadline=None)
@given(st.data())
def test_exchanged_values_give_a_scenario_or_messages_many(data: st.DataObject) -> None:
    check_survives(exchanged(data))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_any_text_gives_a_scenario_or_messages(text: str) -> None:
    check_survives(text)


OPTIONS = st.text(max_size=40) | st.builds(
    lambda key, value: f"{key}={value}",
    st.sampled_from(
        ["seed", "groups.0", "groups.0.count", "goals.seat", "geometry", "stop", "record.agents"]
    ),
    st.text(max_size=20),
)


@pytest.mark.parametrize("count", [60, pytest.param(200, marks=pytest.mark.full)])
def test_any_setting_gives_a_scenario_or_messages(count: int) -> None:
    settings(max_examples=count, deadline=None)(
        given(OPTIONS)(lambda option: check_survives(SMALL, sets=[option]))
    )()


@pytest.mark.parametrize("count", [60, pytest.param(200, marks=pytest.mark.full)])
def test_any_well_known_text_gives_a_scenario_or_messages(count: int) -> None:
    texts = st.text(alphabet="POLYGNMUTIEC ()0123456789.,-eZ", max_size=80)
    settings(max_examples=count, deadline=None)(
        given(texts)(
            lambda text: check_survives(
                SMALL.replace("{name: room, box: [0, 0, 10, 8]}", json.dumps({"wkt": text}))
            )
        )
    )()
