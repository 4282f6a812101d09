"""What an unquoted word of a YAML file means, without the traps of YAML 1.1.

``true``, ``false`` and ``null`` mean what they say; ``yes``, ``no``, ``on``, ``off`` and dates are texts; numbers are decimal. What is ambiguous
(``017``, ``1:30``, ``1_000``, ``0x1F``) and what is not a finite number is refused with the way to write it.
"""

from __future__ import annotations

import math
import re

from crowdsim.scenario.limits import MAX_NUMBER_LENGTH

_CONSTANTS: dict[str, bool | None] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_DECIMAL = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|[0-9]+(?=[eE])|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+\Z")
_BASED = re.compile(r"[-+]?0([xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)\Z")
_GROUPED = re.compile(r"[-+]?[0-9][0-9_]*_[0-9_]*(\.[0-9_]*)?\Z")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?\Z")
_NOT_FINITE = re.compile(r"([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))\Z")
_MAY_BE_NUMBER = frozenset("0123456789+-.")


class ScalarRefused(ValueError):
    """A word that is refused; `way_out` says how to write what was meant."""

    def __init__(self, message: str, way_out: str) -> None:
        super().__init__(message)
        self.way_out = way_out


def scalar_value(text: str) -> str | int | float | bool | None:
    """Return the value of an unquoted scalar.

    Raises
    ------
    ScalarRefused
        If it is ambiguous or not a finite number.
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _MAY_BE_NUMBER:
        return text
    if _WHOLE.match(text) or _DECIMAL.match(text):
        return _number(text)
    _refuse_ambiguous(text)
    return text


def _number(text: str) -> int | float:
    if len(text) > MAX_NUMBER_LENGTH:
        raise ScalarRefused(f"a number of {len(text)} characters", f"Write at most {MAX_NUMBER_LENGTH} characters: 17 digits are all that counts.")
    if _WHOLE.match(text):
        return int(text)
    value = float(text)
    if not math.isfinite(value):
        raise ScalarRefused(f"{text} is too large for a number", "The largest is about 1.8e308.")
    return value


def _refuse_ambiguous(text: str) -> None:
    quoted = f"or '{text}' in quotes if it is a text."
    if len(text) > MAX_NUMBER_LENGTH:
        return
    if _NOT_FINITE.match(text):
        raise ScalarRefused(f"{text} is not a finite number", "Give a number, or leave the key out.")
    if _LEADING_ZERO.match(text):
        raise ScalarRefused(f"{text} begins with a zero: some programs read it as octal {int(text.lstrip('+-'), 8)}" if _is_octal(text) else
                            f"{text} begins with a zero", f"Write {int(text)}, {quoted}")  # fmt: skip
    if _BASED.match(text):
        raise ScalarRefused(f"{text} is not a decimal number", f"Write {int(text, 0)}, {quoted}")
    if _GROUPED.match(text):
        raise ScalarRefused(f"{text} groups digits with underscores, which not every program reads", f"Write {text.replace('_', '')}, {quoted}")
    if _SEXAGESIMAL.match(text):
        raise ScalarRefused(f"{text} is a number to the base of sixty for some programs and a time for others", f"Write {_sixty(text)} (seconds), {quoted}")


def _is_octal(text: str) -> bool:
    return not set(text) & set("89")


def _sixty(text: str) -> str:
    total = 0.0
    for part in text.lstrip("+-").split(":"):
        total = total * 60 + float(part)
    return f"{'-' if text.startswith('-') else ''}{total:.15g}"
