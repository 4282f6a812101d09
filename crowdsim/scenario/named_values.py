"""Values that a scenario names under `vars` and uses as ``$name``, alone or in a sum: ``4 - $width / 2``.

They are put in before anything else is looked at: after ``--set``, so that ``--set vars.width=1.2`` and a
sweep change every place where a name is used, and before the scenario is checked, which then knows no names.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

from crowdsim.scenario.schema_geometry import is_number
from crowdsim.scenario.tree import (
    UNUSABLE,
    Node,
    Path,
    Problems,
    Refused,
    clipped,
    described,
    listed,
    suggestion,
)

# Between names and numbers only what sums are written with: "$width" and "4 - $width / 2" are meant, "for $5"
# and "rooms: $a" are texts.
_SUM = re.compile(r"[\s\d.eE+\-*/()]*\$[A-Za-z_][\w\s.+\-*/()$]*")
NAME = re.compile(r"\$([A-Za-z_]\w*)")
_PREFIX = "named_"  # what a name is to Python's parser, which knows no $
_MOST_CHARACTERS = 200  # of a sum: Python's parser recurses into brackets
_AS_TEXT = "A text that begins with $ is written with two: $$."
_SUMS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a // b if isinstance(a, int) and isinstance(b, int) and a % b == 0 else a / b,
}


def names_used(root: Node) -> set[str]:
    """Return the names that are used anywhere in a scenario, in other values under `vars` too."""
    return {name for _, node in _texts(root) if _is_sum(node) for name in NAME.findall(node.value)}


def put_in_values(root: Node, used_before: set[str], problems: Problems) -> None:
    """Put the values of `vars` in place of their names, in the given tree.

    Parameters
    ----------
    root : Node
        The whole file, with the values of ``--set``. Without `vars` nothing in it is a name.
    used_before : set of str
        Names that are used in the file without ``--set``: an option may set the place that uses one.
    problems : Problems
        Receives names that are unknown, unused or lead round in a circle, and sums that have no value.
    """
    declared = root.child("vars")
    if declared is None or not isinstance(declared.value, dict):
        return
    values = _Values(declared.value, problems)
    used = names_used(root) | used_before
    # an unknown name is often a misspelt one, which then is not unused
    unused = declared.value.keys() - used if used <= declared.value.keys() else set()
    for name, node in declared.value.items():
        path: Path = ("vars", name)
        if not re.fullmatch(NAME, f"${name}"):
            problems.add(
                path, f'"{clipped(name)}" is no name for a value', "Use letters, digits and _.", key=True
            )
        elif name in unused:
            problems.add(path, f"nothing uses ${name}", "Use it somewhere, or leave it out.", key=True)
        if node.value is not None:  # which is told later
            node.value = values.of(name)
    parameters = {
        name: frozenset(machine.child("parameters").value)  # type: ignore[union-attr]
        for name, machine in mapping(root.child("behaviours")).items()
        if mapping(machine.child("parameters"))
    }
    for path, node in list(_texts(root)):
        if path[0] == "vars":
            continue
        if path[0] == "behaviours" and parameters.get(str(path[1]), frozenset()).intersection(
            NAME.findall(node.value)
        ):
            continue  # put in where the machine is used
        if _is_sum(node):
            node.value = values.sum(node.value, path)
        else:
            node.value = _as_text(node.value)


def put_in(
    whole: Node, declared: dict[str, Node], names: frozenset[str], path: Path, problems: Problems
) -> Node:
    """Return a copy of a part of a scenario in which texts that use some names have their values.

    Parameters
    ----------
    whole : Node
    declared : dict of str to Node
        All names that there are, with their values; one that stands alone may be a list or a mapping.
    names : frozenset of str
        Those of them that are to be put in; texts that use none of these stay.
    path : Path
        Where the part stands.
    problems : Problems
        Receives names that are unknown, and sums that have no value.
    """
    values = _Values(declared, problems)

    def copied(node: Node, at: Path) -> Node:
        value = node.value
        if isinstance(value, dict):
            return Node({key: copied(item, (*at, key)) for key, item in value.items()}, node.place, node.keys)
        if isinstance(value, list):
            return Node([copied(item, (*at, index)) for index, item in enumerate(value)], node.place)
        if isinstance(value, str) and _is_sum(node) and names.intersection(NAME.findall(value)):
            alone = NAME.fullmatch(value.strip())
            if alone is not None and isinstance(declared[alone[1]].value, (list, dict)):
                return copied(declared[alone[1]], at)
            return Node(values.sum(value, at), node.place)
        return Node(value, node.place, node.keys)

    return copied(whole, path)


def mapping(node: Node | None) -> dict[str, Node]:
    """Return the items of a mapping; none of what is no mapping."""
    return node.value if node is not None and isinstance(node.value, dict) else {}


def _texts(node: Node, path: Path = (), seen: set[int] | None = None) -> Iterator[tuple[Path, Node]]:
    """Yield the texts of a tree, those that aliases share once."""
    seen = set() if seen is None else seen
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node.value, str):
        yield path, node
    elif isinstance(node.value, dict):
        for key, item in node.value.items():
            yield from _texts(item, (*path, key), seen)
    elif isinstance(node.value, list):
        for index, item in enumerate(node.value):
            yield from _texts(item, (*path, index), seen)


def _is_sum(node: Node) -> bool:
    return _SUM.fullmatch(node.value) is not None


def _as_text(text: str) -> str:
    """Return a text that is no sum: of two $ at its begin one is left."""
    return text[1:] if text.startswith("$$") else text


class _Values:
    """The values under `vars`, each found when it is first asked for."""

    def __init__(self, declared: dict[str, Node], problems: Problems) -> None:
        self._declared = declared
        self._problems = problems
        self._found: dict[str, Any] = {}
        self._open: list[str] = []  # names that wait for the value of the next one

    def of(self, name: str) -> Any:
        """Return the value of a name; UNUSABLE after a problem was added."""
        if name not in self._found:
            path: Path = ("vars", name)
            value = self._declared[name].value
            value = UNUSABLE if value is None else value
            if name in self._open:
                circle = [*self._open[self._open.index(name) :], name]
                self._problems.add(
                    ("vars", self._open[-1]),
                    f"the values lead round in a circle: {' -> '.join(f'${each}' for each in circle)}",
                    "Give one of them a value of its own.",
                )
                return UNUSABLE
            self._open.append(name)
            if isinstance(value, (list, dict)):
                self._problems.add(
                    path, f"a value is a number, a text or true or false, found {described(value)}"
                )
                value = UNUSABLE
            elif isinstance(value, str):
                value = self.sum(value, path) if _SUM.fullmatch(value) else _as_text(value)
            self._open.pop()
            self._found[name] = value
        return self._found[name]

    def sum(self, text: str, path: Path) -> Any:
        """Return the value of a sum; UNUSABLE after a problem was added."""
        try:
            return self._sum(text)
        except Refused as refused:
            self._problems.add(path, str(refused), refused.way_out)
        except ZeroDivisionError:
            self._problems.add(path, f'"{clipped(text)}" divides by zero')
        except OverflowError:
            self._problems.add(path, f'"{clipped(text)}" is too large a number')
        return UNUSABLE

    def _sum(self, text: str) -> Any:
        unknown = [name for name in NAME.findall(text) if name not in self._declared]
        if unknown:
            way_out = f"{suggestion(unknown[0], self._declared)} Known are {listed(self._declared)}.".strip()
            raise Refused(f"there is no value ${clipped(unknown[0])} under vars", f"{way_out} {_AS_TEXT}")
        try:
            if len(text) > _MOST_CHARACTERS:
                raise SyntaxError
            tree = ast.parse(NAME.sub(rf" {_PREFIX}\1 ", text).strip(), mode="eval").body
        except (SyntaxError, ValueError):
            tree = None
        value = self._value(tree, text)
        if isinstance(value, float) and not math.isfinite(value):
            raise OverflowError
        return value

    def _value(self, part: ast.expr | None, text: str) -> Any:
        """Return the value of a part of a sum."""
        match part:
            case ast.Name(id=name) if name.startswith(_PREFIX) and name[len(_PREFIX) :] in self._declared:
                return self.of(name.removeprefix(_PREFIX))
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return number
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
                value = self._number(operand, text)
                return value if value is UNUSABLE or isinstance(sign, ast.UAdd) else -value
            case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _SUMS:
                values = self._number(left, text), self._number(right, text)
                return UNUSABLE if UNUSABLE in values else _SUMS[type(operation)](*values)
        raise Refused(
            f'"{clipped(text)}" is no sum of numbers and names of vars',
            f"Write for example $width, or 4 - $width / 2. {_AS_TEXT}",
        )

    def _number(self, part: ast.expr, text: str) -> Any:
        value = self._value(part, text)
        if value is UNUSABLE or is_number(value):
            return value
        raise Refused(
            f'"{clipped(text)}" takes numbers, but one of its values is {described(value)}',
            "A value that is no number stands alone.",
        )
