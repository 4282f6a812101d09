"""Say in a sentence what is wrong with the shape of a scenario:
pydantic's errors, in words that a user of the file understands.
"""

from __future__ import annotations

import re
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Tag

from crowdsim.scenario.schema import Expects, Unit
from crowdsim.scenario.tree import Path, clipped, described, listed, number_text, suggestion

_KEY_IN_TEXT = re.compile(r"\{(\w+):")
_NUMBER_WITH_UNIT = re.compile(r"\s*([-+]?[0-9]*\.?[0-9]+)\s*([a-zA-Z/]+)\s*\Z")
_IN_OUR_UNITS = {
    "m": 1.0,
    "s": 1.0,
    "sec": 1.0,
    "m/s": 1.0,
    "cm": 0.01,
    "mm": 0.001,
    "km": 1000.0,
    "ms": 0.001,
    "min": 60.0,
    "h": 3600.0,
    "km/h": 1.0 / 3.6,
}
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+\Z")
_TRUTH_WORDS = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


class Declared:
    """What the schema declares for one item: its type, what it expects in words, its unit."""

    def __init__(self, annotation: Any, metadata: Sequence[Any] = ()) -> None:
        while get_origin(annotation) is Annotated:
            annotation, *inner = get_args(annotation)
            metadata = [*inner, *metadata]
        if get_origin(annotation) in (Union, types.UnionType):
            present = [part for part in get_args(annotation) if part is not type(None)]
            if len(present) == 1:  # X | None: a key that may be left out
                inner_declared = Declared(present[0], metadata)
                annotation, metadata = inner_declared.annotation, inner_declared.metadata
        self.annotation: Any = annotation
        self.metadata: list[Any] = list(metadata)

    def expects(self) -> str:
        """Return what the item should be, in words, or an empty string."""
        return next((entry.what for entry in self.metadata if isinstance(entry, Expects)), "")

    def unit(self) -> str:
        """Return the unit with a blank before it, or an empty string."""
        return next((f" {entry.unit}" for entry in self.metadata if isinstance(entry, Unit)), "")

    def below(self, part: str | int) -> Declared | None:
        """Return what is declared for a key, an index or (``~name``) an alternative, or None."""
        kind, arguments = get_origin(self.annotation), get_args(self.annotation)
        if isinstance(self.annotation, type) and issubclass(self.annotation, BaseModel):
            field = self.annotation.model_fields.get(str(part))
            return Declared(field.annotation, field.metadata) if field is not None else None
        if kind in (Union, types.UnionType):
            for alternative in arguments:
                if get_origin(alternative) is Annotated and any(
                    isinstance(entry, Tag) and entry.tag == part for entry in get_args(alternative)[1:]
                ):
                    return Declared(alternative)
            return None
        if kind is list and isinstance(part, int):
            return Declared(arguments[0])
        if kind is dict and isinstance(part, str):
            return Declared(arguments[0] if part == "[key]" else arguments[1])
        return None

    def keys(self) -> list[str]:
        """Return the keys that a mapping may have, its own before those that it shares with others."""
        if not (isinstance(self.annotation, type) and issubclass(self.annotation, BaseModel)):
            return []
        own = self.annotation.__annotations__
        return sorted(self.annotation.model_fields, key=lambda name: name not in own)


def locate(root: Any, location: Sequence[str | int]) -> tuple[Path, Declared | None, Declared | None]:
    """Return the path in the file of a pydantic location, what is declared for the item,
    and for what contains it.

    Parameters
    ----------
    root : type annotation
        Of the value that was validated.
    location : sequence of str and int
        `loc` of the error: keys and indices, mixed with the tags of the alternatives that were taken
        (``~box``).
    """
    path: list[str | int] = []
    declared: Declared | None = Declared(root)
    parent: Declared | None = None
    for part in location:
        if isinstance(part, str) and part.startswith("~"):
            declared = declared.below(part) if declared is not None else None
            continue
        parent = declared
        declared = declared.below(part) if declared is not None else None
        if part != "[key]":
            path.append(part)
    return tuple(path), declared, parent


def explained(
    error: Mapping[str, Any], declared: Declared | None, parent: Declared | None
) -> tuple[str, str]:
    """Return the message and the way out of one error of pydantic.

    Parameters
    ----------
    error : mapping
        An item of `ValidationError.errors()`.
    declared, parent : Declared or None
        From `locate`.
    """
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind in ("missing", "extra_forbidden"):
        return _key_error(kind, str(error["loc"][-1]), value, declared, parent)
    unit = declared.unit() if declared is not None else ""
    bounds = {
        "greater_than": ("gt", "must be above"),
        "greater_than_equal": ("ge", "must be at least"),
        "less_than": ("lt", "must be below"),
        "less_than_equal": ("le", "may be at most"),
    }
    if kind in bounds:
        name, words = bounds[kind]
        return f"is {number_text(value)}{unit}, but {words} {number_text(context[name])}{unit}", ""
    if kind in ("too_short", "too_long", "string_too_short", "string_too_long"):
        return _length_error(kind, value, context, declared)
    if kind == "literal_error":
        known = re.findall(r"'([^']*)'", context["expected"]) or [context["expected"]]
        return f"expects {' or '.join(known)}, found {described(value)}", suggestion(
            value, known
        ) if isinstance(value, str) else ""
    if kind == "form":
        return _form_error(error["msg"], value)
    if kind == "string_pattern_mismatch":
        return (
            f"{described(value)} is no name",
            (
                "A name begins with anything but a bracket or a blank, ends with no blank, and stands on "
                "one line."
            ),
        )
    return _type_error(kind, error["msg"], value, declared)


def _key_error(
    kind: str, key: str, value: Any, declared: Declared | None, parent: Declared | None
) -> tuple[str, str]:
    known = parent.keys() if parent is not None else []
    if kind == "missing":
        what = declared.expects() if declared is not None else ""
        found = f" Found {described(value)}." if isinstance(value, dict) and value else ""
        return f'the key "{key}" is missing', f"Add {key}: {what}.{found}" if what else f"Add {key}.{found}"
    return (
        f'there is no key "{clipped(key)}" here',
        f"{suggestion(key, known)} Known are {listed(known, most=20)}.".strip() if known else "",
    )


def _length_error(
    kind: str, value: Any, context: Mapping[str, Any], declared: Declared | None
) -> tuple[str, str]:
    what = declared.expects() if declared is not None else ""
    if kind.startswith("string"):
        if not value:
            return f"expects {what or 'a text'}, found an empty text", ""
        return f"has {len(value)} characters, but may have at most {context['max_length']}", ""
    if what and context.get("max_length", context.get("min_length", 0)) <= 4:
        return f"expects {what}, found {described(value)}", ""
    words = (
        f"at least {context['min_length']}" if kind == "too_short" else f"at most {context['max_length']:,}"
    )
    return f"expects {words} item{'' if words.endswith(' 1') else 's'}, found {described(value)}", ""


def _form_error(expects: str, value: Any) -> tuple[str, str]:
    keys = list(dict.fromkeys(_KEY_IN_TEXT.findall(expects)))
    hints = [suggestion(str(key), keys) for key in value] if isinstance(value, dict) else []
    return f"expects {expects}, found {described(value)}", next(
        (hint for hint in hints if hint), ""
    ) or _number_hint(value)


def _type_error(kind: str, message: str, value: Any, declared: Declared | None) -> tuple[str, str]:
    expected = {
        "float_type": "a number",
        "int_type": "a whole number",
        "int_from_float": "a whole number",
        "bool_type": "true or false",
        "string_type": "a text",
        "list_type": "a list",
        "dict_type": "a mapping",
        "model_type": "a mapping",
        "model_attributes_type": "a mapping",
        "finite_number": "a finite number",
    }.get(kind)
    if expected is None:
        return f"{message[:1].lower()}{message[1:]}; found {described(value)}", ""
    what = declared.expects() if declared is not None else ""
    if declared is not None and not what and kind in ("model_type", "dict_type") and declared.keys():
        expected = f"a mapping with the keys {listed(declared.keys())}"
    way_out = ""
    if kind in ("float_type", "int_type"):
        way_out = _number_hint(value)
    elif kind == "bool_type" and isinstance(value, str) and value.lower() in _TRUTH_WORDS:
        way_out = f"Write {_TRUTH_WORDS[value.lower()]}: {value} is a word here, not a truth value."
    elif kind == "string_type" and isinstance(value, (int, float)):
        text = number_text(value) if not isinstance(value, bool) else str(value).lower()
        way_out = f"Write '{text}' in quotes."
    return f"expects {what or expected}, found {described(value)}", way_out


def _number_hint(value: Any) -> str:
    """Return how to write a number that was written as a text."""
    if not isinstance(value, str):
        return ""
    if _DECIMAL_COMMA.match(value):
        return f"Write {value.replace(',', '.')}, with a point."
    match = _NUMBER_WITH_UNIT.match(value)
    if match is not None and match[2] in _IN_OUR_UNITS:
        return (
            f"Write {float(match[1]) * _IN_OUR_UNITS[match[2]]:.6g}, without the unit: lengths are in "
            "metres, times in seconds, speeds in metres per second."
        )
    try:
        float(value)
    except ValueError:
        return ""
    return f"Write {clipped(value)} without quotes."
