"""The JSON Schema of scenario files, for editors that complete and check while one types."""

from __future__ import annotations

import math
from typing import Any

from crowdsim.old_names import PARAMETERS
from crowdsim.scenario.parameters import SECTIONS, Owner, Section, tunables_of
from crowdsim.scenario.schema import ScenarioShape
from crowdsim.tunable import MOST_POINTS, NAMES, POINTS, PRICES, Tunable

# Where a number, a truth value or a word may stand, a value of `vars` may, too.
NAMED_VALUE = {"type": "string", "pattern": "\\$[A-Za-z_]"}
_ABOUT = ("title", "description", "default", "deprecated")


def scenario_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a scenario, tunable numbers of all models included.

    Returns
    -------
    dict
        What it refuses is refused by `load_scenario` too; that checks more: names, places and numbers against
        each other.
    """
    schema = ScenarioShape.model_json_schema()
    _tightened(schema)
    for section in SECTIONS:
        about = schema["properties"][section.name].get("description", "")
        schema["properties"][section.name] = {"description": about, **_section(section)}
        of_group = schema["$defs"]["GroupShape"]["properties"]
        if section.name in of_group:
            of_group[section.name] = {
                "description": of_group[section.name]["description"],
                **_section(section, inherits=True),
            }
    properties = schema["properties"]
    schema["$defs"] = _with_named_values(schema["$defs"])
    schema["properties"] = {
        key: value if key in ("version", "vars") else _with_named_values(value)
        for key, value in properties.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "crowdsim scenario, version 1",
        **{k: v for k, v in schema.items() if k != "title"},
    }


def _with_named_values(part: Any) -> Any:
    """Return a part of the schema in which a value of `vars` may stand for every single value."""
    if isinstance(part, list):
        return [_with_named_values(each) for each in part]
    if not isinstance(part, dict):
        return part
    if part.get("type") in ("number", "integer", "boolean") or {"enum", "const", "pattern"} & part.keys():
        about = {key: value for key, value in part.items() if key in _ABOUT}
        rule = {key: value for key, value in part.items() if key not in _ABOUT}
        return {"anyOf": [rule, NAMED_VALUE], **about}
    whole = ("default", "propertyNames")
    return {
        # a name of vars fits several forms
        "anyOf" if key == "oneOf" else key: value if key in whole else _with_named_values(value)
        for key, value in part.items()
    }


def _tightened(part: Any) -> None:
    """Take out, in place, what pydantic says of keys that may be left out: they are never null.
    Names that are none are refused.
    """
    if isinstance(part, list):
        for item in part:
            _tightened(item)
    elif isinstance(part, dict):
        choices = part.get("anyOf")
        if isinstance(choices, list) and {"type": "null"} in choices:
            left = [choice for choice in choices if choice != {"type": "null"}]
            if len(left) == 1:
                del part["anyOf"]
                part.update({key: value for key, value in left[0].items() if key not in part})
            else:
                part["anyOf"] = left
        if "default" in part and part["default"] is None:
            del part["default"]
        if "patternProperties" in part:
            part.setdefault("additionalProperties", False)  # a name that is none is refused
        if isinstance(part.get("default"), dict):
            part["default"] = {key: value for key, value in part["default"].items() if value is not None}
        for value in part.values():
            _tightened(value)


def _section(section: Section, *, inherits: bool = False) -> dict[str, Any]:
    """Return the schema of a section: a mapping of the parameters of one of its owners,
    or where there is a choice the owner's name.

    Where a section inherits its owner from another, every owner may be left unnamed.
    """
    forms = [_mapping(section, name, owner, inherits) for name, owner in section.owners().items()]
    if not section.selector:
        return forms[0] if forms else {"type": "object"}
    return {"anyOf": [{"type": "string", "enum": list(section.owners())}, *forms]}


def _mapping(section: Section, name: str, owner: Owner, inherits: bool) -> dict[str, Any]:
    shared = section.shared_names() if inherits else frozenset()
    properties = {
        tunable.name: _number(tunable) for tunable in tunables_of(owner) if tunable.name not in shared
    }
    for old, now in PARAMETERS.get(section.name, {}).items():
        if now in properties and old not in properties:
            properties[old] = {**properties[now], "description": f"Is called {now} now.", "deprecated": True}
    form: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": properties}
    if section.selector:
        form["title"] = name
        form["properties"] = {section.selector: {"const": name}, **properties}
        if name not in (section.default, section.elsewhere) and not inherits:
            form["required"] = [section.selector]
    return form


def _number(tunable: Tunable) -> dict[str, Any]:
    """Return the schema of one tunable: its type, its range, and what `crowdsim parameters` says of it."""
    source = f" Source: {tunable.source}." if tunable.source else ""
    unit = f" [{tunable.unit}]" if tunable.unit else ""
    about: dict[str, Any] = {
        "description": f"{tunable.why[:1].upper()}{tunable.why[1:]}{unit}.{source}",
        "default": tunable.default,
    }
    if tunable.choices:
        return {"enum": list(tunable.choices), **about}
    if tunable.holds == NAMES:
        names = {"type": "array", "items": {"type": "string"}, "maxItems": MOST_POINTS}
        return {**names, **about, "default": list(tunable.default)}
    if tunable.holds == PRICES:
        number = {"type": "number", **_bounds(tunable)}
        return {"type": "object", "additionalProperties": number, **about, "default": {}}
    if tunable.holds == POINTS:
        point = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 3}
        return {
            "type": "array",
            "items": point,
            "maxItems": MOST_POINTS,
            **about,
            "default": list(tunable.default),
        }
    if isinstance(tunable.default, bool):
        return {"type": "boolean", **about}
    kind = "integer" if isinstance(tunable.default, int) else "number"
    return {"type": kind, **_bounds(tunable), **about}


def _bounds(tunable: Tunable) -> dict[str, float]:
    """Return what bounds a number, as far as something does."""
    bounds = {"minimum": tunable.low, "maximum": tunable.high, "exclusiveMinimum": tunable.above}
    return {name: bound for name, bound in bounds.items() if math.isfinite(bound)}
