"""Tunable numbers: a default with its unit, its range, its reason and its source, declared once,
where it is used.

A class of tunables is a frozen dataclass whose fields are made by `param`. The scenario schema, the check of
a user's values and the table of `crowdsim parameters` are all derived from these declarations.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MOST_POINTS = 1000  # Of a tunable that is a list of points, or of names.
POINTS, NAMES, PRICES = "points", "names", "prices"  # what a tunable holds whose default is a tuple


@dataclass(frozen=True)
class Tunable:
    """What is known of one tunable; see `param` for the fields."""

    name: str
    default: Any
    unit: str
    why: str
    source: str
    low: float
    high: float
    above: float
    choices: tuple[str, ...]
    holds: str = ""
    is_later: bool = False

    @property
    def range_text(self) -> str:
        """The permitted values as a reader would write them, for example ``(0, 10]`` or ``left | right``."""
        if self.choices:
            return " | ".join(self.choices)
        if self.holds == NAMES:
            return "a list of names"
        if self.holds == PRICES:
            return f"{{name: number in {self._interval()}, ...}}"
        if self.holds == POINTS:
            return "a list of [x, y]; with several floors, of [x, y, height]"
        if isinstance(self.default, bool):
            return "true | false"
        return self._interval()

    @property
    def default_text(self) -> str:
        """The default as a reader would write it."""
        return "none" if self.default == () else str(self.default)

    def _interval(self) -> str:
        opening = (
            f"({self.above:g}"
            if self.above > -math.inf
            else f"[{self.low:g}"
            if self.low > -math.inf
            else "(-inf"
        )
        return f"{opening}, {self.high:g}]" if self.high < math.inf else f"{opening}, inf)"

    def complaint(self, value: Any) -> str:
        """Return what is wrong with `value`, with the numbers, or an empty string."""
        if self.choices:
            return "" if value in self.choices else f"{value!r} is not one of {', '.join(self.choices)}"
        if self.holds == NAMES:
            good = isinstance(value, list) and len(value) <= MOST_POINTS and all(map(_is_name, value))
            return "" if good else f"{value!r} is not a list of at most {MOST_POINTS} names"
        if self.holds == PRICES:
            return self._complaint_of_prices(value)
        if self.holds == POINTS:
            good = (
                isinstance(value, list)
                and len(value) <= MOST_POINTS
                and all(_is_point(item) for item in value)
            )
            return (
                ""
                if good
                else (
                    f"{value!r} is not a list of at most {MOST_POINTS} points [x, y], or [x, y, height] "
                    "with several floors"
                )
            )
        if isinstance(self.default, bool):
            return "" if isinstance(value, bool) else f"{value!r} is neither true nor false"
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return f"{value!r} is not a number"
        if isinstance(self.default, int) and not float(value).is_integer():
            return f"{value} is not a whole number"
        if not math.isfinite(value):
            return f"{value} is not a finite number"
        if value < self.low or value > self.high or value <= self.above:
            return f"{value:g}{_spaced(self.unit)} is outside {self._interval()}{_spaced(self.unit)}"
        return ""

    def _complaint_of_prices(self, value: Any) -> str:
        if not isinstance(value, dict) or len(value) > MOST_POINTS or not all(map(_is_name, value)):
            return f"{value!r} is not a mapping {{name: number, ...}} of at most {MOST_POINTS} names"
        number = dataclasses.replace(self, default=1.0, holds="")
        for name, price in value.items():
            if complaint := number.complaint(price):
                return f"{name}: {complaint}"
        return ""

    def taken(self, value: Any) -> Any:
        """Return a value that nothing is wrong with, as plain data, as the dataclass has it: numbers and
        words of the type of the default, lists as tuples, mappings as pairs, ascending by name.
        """
        if self.holds == NAMES:
            return tuple(sorted(set(value)))
        if self.holds == PRICES:
            return tuple((name, float(value[name])) for name in sorted(value))
        if self.holds == POINTS:
            return tuple(tuple(float(each) for each in point) for point in value)
        return type(self.default)(value)

    def written(self, value: Any) -> Any:
        """Return a value of the dataclass as plain data, as scenarios have it."""
        return dict(value) if self.holds == PRICES else value


def _is_point(value: Any) -> bool:
    is_place = isinstance(value, list) and len(value) in (2, 3)
    return is_place and all(
        isinstance(item, (int, float)) and not isinstance(item, bool) and math.isfinite(item)
        for item in value
    )


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MOST_POINTS


def _spaced(unit: str) -> str:
    return f" {unit}" if unit else ""


def param(
    default: Any,
    unit: str,
    *,
    why: str,
    source: str = "",
    low: float = -math.inf,
    high: float = math.inf,
    above: float = -math.inf,
    choices: Sequence[str] = (),
    holds: str = "",
    is_later: bool = False,
) -> Any:
    """Declare a tunable field of a frozen dataclass.

    Parameters
    ----------
    default : float, int, bool, str or tuple
        Its type is the type of the tunable; a tuple stands for a list of points, or what `holds` says.
    unit : str
        SI unit as printed, empty for pure numbers.
    why : str
        The reason for the default and what larger and smaller values do.
    source : str
        Where the number comes from: a key of docs/references.md and the section there, or `ours`; empty if
        there is nothing to say.
    low, high : float
        Least and greatest permitted value.
    above : float
        A bound that is itself not permitted; use it instead of `low`.
    choices : sequence of str
        The permitted words of a tunable that is a word.
    holds : str
        Of a tuple: `POINTS`; `NAMES`, ascending; or `PRICES`, pairs of a name and a number within the bounds,
        which scenarios write as a mapping.
    is_later : bool
        Whether scenarios were recorded before this was there: their texts stay as they are, since the default
        is not written.
    """
    return dataclasses.field(
        default=default,
        metadata={
            "unit": unit,
            "why": why,
            "source": source,
            "low": low,
            "high": high,
            "above": above,
            "choices": tuple(choices),
            "holds": holds or (POINTS if isinstance(default, tuple) else ""),
            "is_later": is_later,
        },
    )


_found: dict[type, tuple[Tunable, ...]] = {}


def tunables(owner: type) -> tuple[Tunable, ...]:
    """Return the tunables of a dataclass in the order of declaration;
    fields not made by `param` are left out.
    """
    if owner not in _found:
        fields = dataclasses.fields(owner)
        _found[owner] = tuple(
            Tunable(name=field.name, default=field.default, **field.metadata)
            for field in fields
            if "why" in field.metadata
        )
    return _found[owner]
