"""A small checker of JSON Schema: exactly the keywords that `crowdsim schema` uses;
any other is an error of the test.
"""

from __future__ import annotations

import re
from typing import Any

_SAYS_NOTHING = {"title", "description", "default", "$schema", "$defs"}


def errors(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "$") -> list[str]:
    """Return where `value` breaks the schema."""
    found: list[str] = []
    for keyword, rule in schema.items():
        if keyword in _SAYS_NOTHING:
            continue
        if keyword == "$ref":
            found += errors(value, root["$defs"][rule.removeprefix("#/$defs/")], root, at)
        elif keyword == "type":
            found += [] if _is(value, rule) else [f"{at}: not of type {rule}"]
        elif keyword == "enum":
            found += (
                []
                if any(value == item and type(value) is type(item) for item in rule)
                else [f"{at}: not in {rule}"]
            )
        elif keyword == "const":
            is_it = value == rule and isinstance(value, bool) is isinstance(rule, bool)
            found += [] if is_it else [f"{at}: not {rule}"]
        elif keyword in ("anyOf", "oneOf"):
            fitting = [part for part in rule if not errors(value, part, root, at)]
            good = len(fitting) == 1 if keyword == "oneOf" else bool(fitting)
            found += [] if good else [f"{at}: fits {len(fitting)} of {len(rule)} alternatives"]
        else:
            found += _one_kind(value, keyword, rule, schema, root, at)
    return found


def _is(value: Any, kind: str) -> bool:
    if kind in ("number", "integer"):
        return (
            isinstance(value, (int, float))
            and not isinstance(value, bool)
            and (kind == "number" or float(value).is_integer())
        )
    return isinstance(value, {"string": str, "boolean": bool, "array": list, "object": dict}[kind])


def _one_kind(
    value: Any, keyword: str, rule: Any, schema: dict[str, Any], root: dict[str, Any], at: str
) -> list[str]:
    if keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if not _is(value, "number"):
            return []
        good = {
            "minimum": value >= rule,
            "maximum": value <= rule,
            "exclusiveMinimum": value > rule,
            "exclusiveMaximum": value < rule,
        }[keyword]
        return [] if good else [f"{at}: {keyword} {rule}"]
    if keyword in ("minLength", "maxLength", "pattern"):
        if not isinstance(value, str):
            return []
        good = {
            "minLength": lambda: len(value) >= rule,
            "maxLength": lambda: len(value) <= rule,
            "pattern": lambda: re.search(rule, value),
        }[keyword]()
        return [] if good else [f"{at}: {keyword} {rule}"]
    if keyword in ("minItems", "maxItems", "items"):
        if not isinstance(value, list):
            return []
        if keyword == "items":
            return [
                error
                for index, item in enumerate(value)
                for error in errors(item, rule, root, f"{at}[{index}]")
            ]
        return (
            []
            if (len(value) >= rule if keyword == "minItems" else len(value) <= rule)
            else [f"{at}: {keyword} {rule}"]
        )
    if not isinstance(value, dict):
        return []
    if keyword == "required":
        return [f"{at}: {key} is missing" for key in rule if key not in value]
    if keyword == "properties":
        return [
            error
            for key, part in rule.items()
            if key in value
            for error in errors(value[key], part, root, f"{at}.{key}")
        ]
    if keyword == "patternProperties":
        return [
            error
            for pattern, part in rule.items()
            for key in value
            if re.search(pattern, key)
            for error in errors(value[key], part, root, f"{at}.{key}")
        ]
    if keyword == "additionalProperties":
        patterns = schema.get("patternProperties", {})
        others = [
            key
            for key in value
            if key not in schema.get("properties", {})
            and not any(re.search(pattern, key) for pattern in patterns)
        ]
        if rule is False:
            return [f"{at}: no key {key}" for key in others]
        return [error for key in others for error in errors(value[key], rule, root, f"{at}.{key}")]
    if keyword == "propertyNames":
        return [error for key in value for error in errors(key, rule, root, f"{at} (key)")]
    if keyword == "maxProperties":
        return [] if len(value) <= rule else [f"{at}: {keyword} {rule}"]
    if keyword == "minProperties":
        return [] if len(value) >= rule else [f"{at}: {keyword} {rule}"]
    raise AssertionError(f"the schema uses the keyword {keyword}, which this checker does not know")
