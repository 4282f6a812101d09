"""Read YAML text into a tree of nodes, refusing whatever could bring the machine down or be ambiguous.

The parser of PyYAML gives events one at a time, and the tree is composed from them here: its own composer
recurses in C (a file of some 20,000 brackets kills the interpreter), takes the last of duplicate keys
silently and expands aliases without a limit.

Of words without quotes ``true``, ``false`` and ``null`` mean what they say; ``yes``, ``no``, ``on``, ``off``
and dates are texts; numbers are decimal. What is ambiguous (``017``, ``1:30``, ``1_000``, ``0x1F``) and what
is not a finite number is refused with the way to write it.
"""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

from crowdsim.errors import Problem, ScenarioError
from crowdsim.scenario.limits import MAX_COLLECTED, MAX_DEPTH, MAX_KEY_LENGTH, MAX_NODES, MAX_NUMBER_LENGTH
from crowdsim.scenario.tree import UNUSABLE, Node, Path, Place, Refused, clipped, item_text

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


class ScalarRefused(Refused):
    """A word that is refused; `way_out` says how to write what was meant."""


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
        raise ScalarRefused(
            f"a number of {len(text)} characters",
            f"Write at most {MAX_NUMBER_LENGTH} characters: 17 digits are all that counts.",
        )
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
        raise ScalarRefused(
            f"{text} begins with a zero: some programs read it as octal {int(text.lstrip('+-'), 8)}"
            if not set(text) & set("89")
            else f"{text} begins with a zero",
            f"Write {int(text)}, {quoted}",
        )
    if _BASED.match(text):
        raise ScalarRefused(f"{text} is not a decimal number", f"Write {int(text, 0)}, {quoted}")
    if _GROUPED.match(text):
        raise ScalarRefused(
            f"{text} groups digits with underscores, which not every program reads",
            f"Write {text.replace('_', '')}, {quoted}",
        )
    if _SEXAGESIMAL.match(text):
        raise ScalarRefused(
            f"{text} is a number to the base of sixty for some programs and a time for others",
            f"Write {_sixty(text)} (seconds), {quoted}",
        )


def _sixty(text: str) -> str:
    total = 0.0
    for part in text.lstrip("+-").split(":"):
        total = total * 60 + float(part)
    return f"{'-' if text.startswith('-') else ''}{total:.15g}"


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_MERGE = "<<"


class _Open:
    """A list or mapping whose end has not been read yet."""

    __slots__ = ("anchor", "counted", "height", "key", "merged", "node")

    def __init__(self, node: Node, anchor: str | None, counted: int) -> None:
        self.node = node
        self.anchor = anchor
        self.counted = counted  # nodes counted before this one
        self.height = 1  # levels below and including this one
        self.key: str | None = None  # of the mapping's value that comes next
        self.merged: list[Node] = []  # mappings under "<<"


class _Composer:
    def __init__(self, text: str, file: str, problems: list[Problem]) -> None:
        self.text = text
        self.file = file
        self.problems = problems
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[Node, int, int]] = {}  # name -> node, nodes in it, its height
        self.count = 0
        self.root: Node | None = None

    def compose(self) -> Node | None:
        """Return the root of the first and only document, or None if there is none."""
        documents = 0
        try:
            parser = _Loader(self.text)
            while parser.check_event():
                event = parser.get_event()
                if isinstance(event, yaml.DocumentStartEvent):
                    documents += 1
                    if documents > 1:
                        self._fail(
                            event,
                            "a second document begins here",
                            'One file holds one scenario: remove the line "---" or split the file.',
                        )
                else:
                    self._take(event)
        except yaml.YAMLError as error:
            raise ScenarioError([*self.problems, _syntax_problem(error, self.text, self.file)]) from None
        return self.root

    def _take(self, event: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._take_scalar(event)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._refuse_key(event)
            self._check_tag(event)
            if len(self.open) >= MAX_DEPTH:
                self._fail(
                    event,
                    f"values are nested more than {MAX_DEPTH} levels deep",
                    "No scenario needs that; look for a bracket that is not closed.",
                    (),
                )
            mapping = isinstance(event, yaml.MappingStartEvent)
            node = Node({} if mapping else [], self._place(event), {} if mapping else None)
            self.open.append(_Open(node, event.anchor, self.count))
            self._count(1, event)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self._close()
        elif isinstance(event, yaml.AliasEvent):
            self._take_alias(event)

    def _take_scalar(self, event: Any) -> None:
        self._check_tag(event)
        top = self.open[-1] if self.open else None
        if top is not None and top.node.keys is not None and top.key is None:
            self._take_key(top, event)
            return
        self._count(1, event)
        value: Any = event.value
        if event.implicit[0]:
            try:
                value = scalar_value(value)
            except ScalarRefused as refused:
                self._report(event, str(refused), refused.way_out)
                value = UNUSABLE
        node = Node(value, self._place(event))
        if event.anchor:
            self.anchors[event.anchor] = (node, 1, 0)
        self._add(node, 0)

    def _take_key(self, top: _Open, event: Any) -> None:
        key = event.value
        place = self._place(event)
        if len(key) > MAX_KEY_LENGTH:
            self._fail(
                event,
                f"a key of {len(key)} characters",
                f"A key may have {MAX_KEY_LENGTH}; look for a quote that is not closed.",
            )
        if key == _MERGE and event.implicit[0]:
            top.key = _MERGE
            return
        assert top.node.keys is not None
        if key in top.node.keys:
            first = top.node.keys[key]
            self._report(
                event,
                f'the key "{clipped(key)}" stands twice in one mapping, first at line {first.line}',
                "Keep one of the two.",
                (*self._path(), key),
            )
        else:
            top.node.keys[key] = place
        if event.anchor:
            self.anchors[event.anchor] = (Node(key, place), 1, 0)
        top.key = key

    def _take_alias(self, event: Any) -> None:
        self._refuse_key(event)
        name = event.anchor
        if any(opened.anchor == name for opened in self.open):
            self._fail(
                event,
                f"*{clipped(name)} stands inside the value that it names",
                "A value cannot contain itself.",
            )
        if name not in self.anchors:
            known = ", ".join(f"&{clipped(anchor)}" for anchor in list(self.anchors)[:5])
            self._fail(
                event,
                f"*{clipped(name)} names nothing that stands before it",
                f"Known here: {known}." if known else "No anchor (&name) stands before it.",
            )
        node, nodes, height = self.anchors[name]
        self._count(nodes, event)
        if len(self.open) + height > MAX_DEPTH:
            self._fail(
                event,
                f"with *{clipped(name)} values are nested more than {MAX_DEPTH} levels deep",
                "Write the value out where it is needed.",
                (),
            )
        self._add(node, height)

    def _add(self, node: Node, height: int) -> None:
        if not self.open:
            self.root = node
            return
        top = self.open[-1]
        top.height = max(top.height, height + 1)
        if top.node.keys is None:
            top.node.value.append(node)
            return
        key, top.key = top.key, None
        if key == _MERGE and _MERGE not in top.node.keys:
            self._merge(top, node)
        elif key not in top.node.value:  # of duplicates the first stays; they are reported
            top.node.value[key] = node

    def _merge(self, top: _Open, node: Node) -> None:
        parts = node.value if isinstance(node.value, list) else [node]
        for part in parts:
            if isinstance(part.value, dict):
                top.merged.append(part)
            else:
                self.problems.append(
                    Problem(
                        item_text(self._path()),
                        ("<< takes a mapping or a list of mappings"),
                        "Write <<: *name, where &name is a mapping.",
                        *node.place,
                    )
                )

    def _close(self) -> None:
        closed = self.open.pop()
        node = closed.node
        if node.keys is not None:
            for merged in closed.merged:
                for key, value in merged.value.items():
                    if key not in node.value:
                        node.value[key] = value
                        node.keys[key] = merged.keys[key] if merged.keys else value.place
        if closed.anchor:
            self.anchors[closed.anchor] = (node, self.count - closed.counted, closed.height)
        self._add(node, closed.height)

    def _count(self, nodes: int, event: Any) -> None:
        self.count += nodes
        if self.count > MAX_NODES:
            hint = "Aliases count as often as they are used. " if self.anchors else ""
            self._fail(
                event,
                f"the file holds more than {MAX_NODES:,} values",
                hint + "Put large geometry into a file of its own (wkt_file, geojson_file).",
            )

    def _refuse_key(self, event: Any) -> None:
        top = self.open[-1] if self.open else None
        if top is not None and top.node.keys is not None and top.key is None:
            self._fail(event, "a key is a list, a mapping or an alias", "A key is a word or a quoted text.")

    def _check_tag(self, event: Any) -> None:
        if event.tag is not None:
            tag = clipped(event.tag.replace("tag:yaml.org,2002:", "!!"))
            self._report(
                event,
                f"the tag {tag} is not taken",
                "Leave it out: the kind of a value follows from how it is written.",
            )

    def _place(self, event: Any) -> Place:
        return Place(self.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _path(self) -> Path:
        """Return the path of the value that is being read."""
        path: list[str | int] = []
        for opened in self.open:
            if opened.node.keys is None:
                path.append(len(opened.node.value))
            elif opened.key is not None:
                path.append(opened.key)
        return tuple(path)

    def _report(self, event: Any, message: str, way_out: str, path: Path | None = None) -> None:
        self.problems.append(
            Problem(item_text(self._path() if path is None else path), message, way_out, *self._place(event))
        )
        if len(self.problems) >= MAX_COLLECTED:
            raise ScenarioError(self.problems)

    def _fail(self, event: Any, message: str, way_out: str, path: Path | None = None) -> None:
        self._report(event, message, way_out, path)
        raise ScenarioError(self.problems)


def read_yaml(text: str, file: str) -> tuple[Node | None, list[Problem]]:
    """Read one YAML document.

    Parameters
    ----------
    text : str
        The file's text, without a byte order mark.
    file : str
        How messages name the file.

    Returns
    -------
    Node or None
        The root; None where the text is empty. Values that were reported are `UNUSABLE`.
    list of Problem
        What could be passed over: duplicate keys, ambiguous words, numbers that are not finite, tags.

    Raises
    ------
    ScenarioError
        If the text is not YAML, or larger or deeper than the limits.
    """
    problems: list[Problem] = []
    control = _CONTROL.search(text)
    if control is not None:
        place = _place_in(text, control.start(), file)
        message = f"a control character (code {ord(control.group()):#04x}) stands here"
        raise ScenarioError(Problem("", message, "A scenario is a text file; remove the character.", *place))
    return _Composer(text, file, problems).compose(), problems


def _place_in(text: str, index: int, file: str) -> Place:
    line = text.count("\n", 0, index)
    return Place(file, line + 1, index - (text.rfind("\n", 0, index) + 1) + 1)


def _syntax_problem(error: yaml.YAMLError, text: str, file: str) -> Problem:
    """Return a parser's complaint in words that help."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    start = getattr(error, "context_mark", None)
    begun = f"at line {start.line + 1}, column {start.column + 1}" if start is not None else "before"
    lines = text.split("\n")
    here = (
        lines[mark.line][mark.column : mark.column + 1] if mark is not None and mark.line < len(lines) else ""
    )
    message, way_out = f"this is not YAML: {problem}", ""
    if "cannot start any token" in problem:
        tab = (
            "\t"
            in (lines[mark.line][: mark.column + 1] if mark is not None and mark.line < len(lines) else "")
            or here == "\t"
        )
        if tab:
            message, way_out = "a tab stands where only spaces may indent", "Indent with spaces."
        else:
            message, way_out = f"a value cannot begin with {here}", "Put it in quotes if it is a text."
    elif "mapping values are not allowed" in problem:
        message = "a colon stands where no key can be"
        way_out = (
            'Look at the indentation, at a blank missing after a colon above ("key: value"), or put a text '
            "with a colon in quotes."
        )
    elif "',' or ']'" in problem or "',' or '}'" in problem:
        message = f"the {'list' if ']' in problem else 'mapping'} that begins {begun} goes wrong here"
        way_out = f"Look for a missing comma or a missing {']' if ']' in problem else '}'}."
    elif "expected key" in problem or "'-' indicator" in problem:
        message = (
            f"this line does not fit into the {'mapping' if 'key' in problem else 'list'} that begins {begun}"
        )
        way_out = "Look at the indentation: items of one level begin in one column."
    elif "end of stream" in problem:
        message, way_out = f"the quoted text that begins {begun} is not closed", "Add the closing quote."
    elif "escape character" in problem:
        message, way_out = (
            "a backslash in double quotes begins no known escape",
            "Use single quotes, or write two backslashes.",
        )
    elif "expected ':'" in problem:
        message, way_out = f"the key that begins {begun} has no colon", 'Write "key: value".'
    place = Place(file, mark.line + 1, mark.column + 1) if mark is not None else Place(file)
    return Problem("", message, way_out, *place)
