"""What a YAML file says, as a tree in which every key and value knows where it stands."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from crowdsim.errors import Problem
from crowdsim.scenario.limits import MAX_COLLECTED, MAX_COMPARED

Path = tuple[str | int, ...]  # keys and list indices from the root, for example ("groups", 2, "radius")

_PLAIN_NAME = re.compile(r"[^\W\d]\w*(-\w+)*\Z")
_TEXT_SHOWN = 40  # Characters of a user's text that a message repeats.
PATH_SHOWN = 300  # Characters of a path: a user may have to copy it.


class Place(NamedTuple):
    """Where something stands: lines and columns count from 1; 0 where it has none (a ``--set`` option)."""

    file: str
    line: int = 0
    column: int = 0


class _Unusable:
    """Stands for a value that has been reported already, so that nothing more is said about it."""

    def __repr__(self) -> str:
        return "UNUSABLE"


UNUSABLE = _Unusable()


class Node:
    """One value of a file.

    Attributes
    ----------
    value : str, int, float, bool, None, UNUSABLE, list of Node, or dict of str to Node
    place : Place
    keys : dict of str to Place, or None
        For a mapping, where its keys stand.
    """

    __slots__ = ("keys", "place", "value")

    def __init__(self, value: Any, place: Place, keys: dict[str, Place] | None = None) -> None:
        self.value = value
        self.place = place
        self.keys = keys

    def child(self, part: str | int) -> Node | None:
        """Return the item under a key or at an index, or None."""
        if isinstance(self.value, dict) and isinstance(part, str):
            return self.value.get(part)
        if isinstance(self.value, list) and isinstance(part, int) and 0 <= part < len(self.value):
            return self.value[part]
        return None

    def at(self, path: Path) -> Node | None:
        """Return the node at the end of `path`, or None."""
        node: Node | None = self
        for part in path:
            node = node.child(part) if node is not None else None
        return node

    def place_of(self, path: Path, *, key: bool = False) -> Place:
        """Return where the value at `path` stands, or its key; where there is none, the nearest one above."""
        node = self
        for index, part in enumerate(path):
            last = index == len(path) - 1
            if key and last and node.keys and part in node.keys:
                return node.keys[str(part)]
            below = node.child(part)
            if below is None:
                break
            node = below
        return node.place


class Refused(ValueError):
    """Something of a user's that is not taken, in words; `way_out` says what to do."""

    def __init__(self, message: str, way_out: str = "") -> None:
        super().__init__(message)
        self.way_out = way_out


def plain(node: Node) -> Any:
    """Return the plain lists, dicts and scalars of a node; UNUSABLE values stay in them."""
    value = node.value
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def is_usable(node: Node) -> bool:
    """Return whether nothing in the node has been reported already."""
    value = node.value
    if isinstance(value, list):
        return all(is_usable(item) for item in value)
    if isinstance(value, dict):
        return all(is_usable(item) for item in value.values())
    return value is not UNUSABLE


def item_text(path: Iterable[str | int]) -> str:
    """Return a path as a user writes it: ``groups[2].radius``, ``goals["back door"].point``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_NAME.match(part):
            text += f".{part}" if text else part
        else:
            text += f'["{clipped(part)}"]'
    return text


def clipped(text: str, most: int = _TEXT_SHOWN) -> str:
    """Return a user's text on one line and cut short, fit to be repeated in a message."""
    line = "".join(character if character.isprintable() else "?" for character in text[: most + 1])
    return line if len(line) <= most else line[: most - 3] + "..."


def described(value: Any) -> str:
    """Return what a value is, in words: ``the text "abc"``, ``a list of 3``,
    ``a mapping with the key box``.
    """
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "the truth value true" if value else "the truth value false"
    if isinstance(value, (int, float)):
        return f"the number {number_text(value)}"
    if isinstance(value, str):
        return f'the text "{clipped(value)}"' if value else "an empty text"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, dict):
        if not value:
            return "an empty mapping"
        names = ", ".join(clipped(str(key)) for key in list(value)[:4]) + (", ..." if len(value) > 4 else "")
        return f"a mapping with the key{'s' if len(value) > 1 else ''} {names}"
    return f"a {type(value).__name__}"


def number_text(value: float) -> str:
    """Return a number as a reader would write it: 1e-05 and 0.1 as they are, 200 without a point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value)


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean "x"?`` for the known word that is nearest to `word`, or an empty string."""
    words = [name for name, _ in zip(known, range(MAX_COMPARED), strict=False)]
    lowered = {name.lower(): name for name in words}
    near = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    return f'Did you mean "{lowered[near[0]]}"?' if near else ""


def listed(words: Iterable[str], *, most: int = 12) -> str:
    """Return words as a list in a sentence, cut off after `most`."""
    names = [clipped(word) for word in words]
    return ", ".join(names[:most]) + (f", ... ({len(names)} in all)" if len(names) > most else "")


class Problems:
    """Collects the problems of a scenario, each with its place.

    Attributes
    ----------
    root : Node
        The whole file, from which the places of items are taken.
    found : list of Problem
    uncollected : int
        Problems beyond the limit, which were only counted.
    notes : list of Problem
        What stops nothing, said once each.
    """

    def __init__(self, root: Node) -> None:
        self.root = root
        self.found: list[Problem] = []
        self.uncollected = 0
        self.notes: list[Problem] = []

    @property
    def is_full(self) -> bool:
        """Whether further problems are only counted; then it is of no use to look for words and a way out."""
        return len(self.found) >= MAX_COLLECTED

    def add(
        self, path: Path, message: str, way_out: str = "", *, key: bool = False, place: Place | None = None
    ) -> None:
        """Add a problem of the item at `path`; it stands at the value (or at its `key`),
        unless `place` says otherwise.
        """
        if self.is_full:
            self.uncollected += 1
            return
        where = place or self.root.place_of(path, key=key)
        self.found.append(Problem(item_text(path), message, way_out, where.file, where.line, where.column))

    def note(self, path: Path, message: str, *, key: bool = False) -> None:
        """Note something of the item at `path`, unless the same was noted of another one with this key."""
        if any(each.message == message for each in self.notes):
            return
        where = self.root.place_of(path, key=key)
        self.notes.append(Problem(item_text(path), message, "", where.file, where.line, where.column))

    def note_at(self, path: Path, message: str, place: Place) -> None:
        """Note something of an item that stands at a place, unless the same was noted before."""
        if not any(each.message == message for each in self.notes):
            self.notes.append(Problem(item_text(path), message, "", place.file, place.line, place.column))

    def sorted(self) -> list[Problem]:
        """Return the problems in the order in which they stand, those of ``--set`` options last,
        without repetitions.
        """
        unique = list(dict.fromkeys(self.found))
        return sorted(
            unique, key=lambda problem: (problem.line == 0, problem.file, problem.line, problem.column)
        )
