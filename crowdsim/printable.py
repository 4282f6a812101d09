"""What a terminal shows as it is, and how the rest is made visible:
names come from files, and files from strangers.
"""

from __future__ import annotations

import math
import unicodedata
from typing import Any

# control characters and escape sequences; marks of direction and what has no width; halves of characters;
# lines
_HARMFUL = ("Cc", "Cf", "Cs", "Zl", "Zp")
_USEFUL = "\u200c\u200d"  # joiners, which scripts and emoji need and which hide nothing


def is_printable(letter: str) -> bool:
    """Return whether a terminal shows a character, and does nothing else with it."""
    return letter in _USEFUL or unicodedata.category(letter) not in _HARMFUL


def visible(text: str, keep: str = "") -> str:
    """Return text in which every character that a terminal would obey, or not show,
    is written as JSON has it: ``\\u001b`` for an escape.

    Parameters
    ----------
    text : str
    keep : str
        Characters that are left as they are, such as line breaks.
    """
    if text.isprintable():  # then it has none of these; the usual case, told at once
        return text
    return "".join(letter if letter in keep or is_printable(letter) else _escaped(letter) for letter in text)


def summary_of(thing: object) -> str:
    """Return the first paragraph of what a class or a function says of itself, as one line."""
    return " ".join((thing.__doc__ or "").strip().split("\n\n")[0].split())


def without_nan(value: Any) -> Any:
    """Return plain values with None for numbers that JSON does not know."""
    if isinstance(value, dict):
        return {key: without_nan(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _escaped(letter: str) -> str:
    """Return a character as JSON writes it: numbers of UTF-16."""
    data = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[at : at + 2].hex()}" for at in range(0, len(data), 2))
