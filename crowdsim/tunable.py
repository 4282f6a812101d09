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

MOST_POINTS = 1000  # Of a tunable that is a list of points.


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

    @property
    def range_text(self) -> str:
        """The permitted values as a reader would write them, for example ``(0, 10]`` or ``left | right``."""
        if self.choices:
            return " | ".join(self.choices)
        if isinstance(self.default, tuple):
            return "a list of [x, y]; with several floors, of [x, y, height]"
        if isinstance(self.default, bool):
            return "true | false"
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
        if isinstance(self.default, tuple):
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
            return f"{value:g}{_spaced(self.unit)} is outside {self.range_text}{_spaced(self.unit)}"
        return ""


def _is_point(value: Any) -> bool:
    is_place = isinstance(value, list) and len(value) in (2, 3)
    return is_place and all(
        isinstance(item, (int, float)) and not isinstance(item, bool) and math.isfinite(item)
        for item in value
    )


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
) -> Any:
    """Declare a tunable field of a frozen dataclass.

    Parameters
    ----------
    default : float, int, bool, str or tuple
        Its type is the type of the tunable; a tuple stands for a list of points.
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
