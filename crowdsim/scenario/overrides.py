"""``--set key=value``: change single values of a scenario before it is checked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crowdsim.errors import Problem, ScenarioError
from crowdsim.scenario.limits import MAX_OVERRIDES
from crowdsim.scenario.parameters import SECTIONS
from crowdsim.scenario.tree import (
    Node,
    Path,
    Place,
    Problems,
    clipped,
    described,
    item_text,
    listed,
    suggestion,
)
from crowdsim.scenario.yaml_reader import read_yaml

_INDEX = re.compile(r"\[(\d+)\]")
_SELECTORS = {section.name: section.selector for section in SECTIONS if section.selector}


def apply_overrides(root: Node, sets: Sequence[str], problems: Problems) -> Node:
    """Return the tree with the values of ``--set`` options in place; the given tree stays as it is.

    Parameters
    ----------
    root : Node
        A mapping.
    sets : sequence of str
        Each ``key=value``: keys joined by points, list items by their index or, for groups and agents, by
        their name, for example ``groups.0.count=200``, ``groups.crowd.count=200``, ``stop.after=60``. The
        value is YAML.
    problems : Problems
        Receives what cannot be set; such problems stand at the option.
    """
    if len(sets) > MAX_OVERRIDES:
        problems.add((), f"{len(sets):,} values to set, but there may be at most {MAX_OVERRIDES:,}")
        return root
    for option in sets:
        place = Place(f"--set {clipped(option)}")
        key, equals, text = option.partition("=")
        parts = _INDEX.sub(r".\1", key.strip()).split(".")
        if not equals or not all(parts):
            problems.add(
                (),
                f'"{clipped(option)}" is not of the form key=value',
                "For example --set groups.0.count=200.",
                place=place,
            )
            continue
        try:
            value, found = read_yaml(text, place.file)
        except ScenarioError as error:
            value, found = None, error.problems
        item = item_text(int(part) if part.isdecimal() else part for part in parts)
        problems.found.extend(
            Problem(_joined(item, problem.item), problem.message, problem.way_out, place.file)
            for problem in found
        )
        if not found:
            node = _placed(value if value is not None else Node(None, place), place)
            root = _with(root, parts, (), node, place, problems) or root
    return root


def _joined(above: str, below: str) -> str:
    return above + below if below.startswith("[") or not below else f"{above}.{below}"


def _placed(node: Node, place: Place) -> Node:
    """Return a copy of `node` whose parts all stand at `place`."""
    value = node.value
    if isinstance(value, list):
        return Node([_placed(item, place) for item in value], place)
    if isinstance(value, dict):
        return Node(
            {key: _placed(item, place) for key, item in value.items()}, place, dict.fromkeys(value, place)
        )
    return Node(value, place)


def _with(
    node: Node, parts: Sequence[str], above: Path, new: Node, place: Place, problems: Problems
) -> Node | None:
    """Return a copy of `node` in which the item at `parts` is `new`, or None after a problem was added."""
    if not parts:
        return new
    part, rest = parts[0], parts[1:]
    of_group = len(above) == 3 and above[0] == "groups" and above[2] in ("avoidance", "navigation")
    if isinstance(node.value, str) and ((len(above) == 1 and above[0] in _SELECTORS) or of_group):
        selector = _SELECTORS[str(above[-1])]  # navigation: mesh is short for navigation: {kind: mesh}
        node = Node({selector: node}, node.place, {selector: node.place})
    if isinstance(node.value, dict):
        below = node.value.get(part, Node({}, place, {}))
        changed = _with(below, rest, (*above, part), new, place, problems)
        if changed is None:
            return None
        keys = dict(node.keys or {})
        if part not in node.value or not rest:
            keys[part] = place
        return Node({**node.value, part: changed}, node.place, keys)
    if isinstance(node.value, list):
        index = _index_of(node, part)
        if index is None:
            names = [name for item in node.value if (name := _name_of(item)) is not None]
            known = f"Known are {listed(names)}." if names else ""
            problems.add(
                above,
                f'has no item "{clipped(part)}": it is a list of {len(node.value)}, counted from 0',
                (f"{suggestion(part, names)} {known}".strip()),
                place=place,
            )
            return None
        changed = _with(node.value[index], rest, (*above, index), new, place, problems)
        if changed is None:
            return None
        return Node([*node.value[:index], changed, *node.value[index + 1 :]], node.place)
    problems.add(
        above,
        f'is {described(node.value)}, so it has no "{clipped(part)}"',
        f"Set {item_text(above)} itself.",
        place=place,
    )
    return None


def _index_of(node: Node, part: str) -> int | None:
    if part.isdecimal():
        return int(part) if len(part) < 10 and int(part) < len(node.value) else None
    matching = [index for index, item in enumerate(node.value) if _name_of(item) == part]
    return matching[0] if len(matching) == 1 else None


def _name_of(node: Node) -> str | None:
    named = node.child("name")
    return named.value if named is not None and isinstance(named.value, str) else None
