"""Check the shape of a scenario piece by piece, so that a mistake in one group
hides no mistake in another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, get_args

from pydantic import TypeAdapter, ValidationError

from crowdsim.scenario import schema
from crowdsim.scenario.explain import Declared, explained, locate
from crowdsim.scenario.parameters import SECTIONS
from crowdsim.scenario.tree import (
    UNUSABLE,
    Node,
    Path,
    Problems,
    clipped,
    described,
    is_usable,
    listed,
    plain,
    suggestion,
)

VERSION = 1
_SECTION_NAMES = tuple(section.name for section in SECTIONS)
_PIECEWISE = ("goals", "groups", "behaviours")
_PARTS: dict[str, Any] = {
    "goals/": schema.GoalShape,
    "geometry/": schema.Area,
    "groups/": schema.GroupShape,
    "behaviours/": schema.MachineShape,
    "goals/name": schema.Name,
}
_MISSING = {
    "geometry": "For example geometry: {walkable: {box: [0, 0, 10, 8]}}.",
    "groups": "For example groups: [{name: crowd, count: 100, goals: [door]}].",
}
HOW_MANY = ("count", "positions", "agents")  # keys of a group of which exactly one is given


@dataclass
class Draft:
    """What could be read of a scenario; what had mistakes is missing.

    Attributes
    ----------
    values : dict
        Validated values by top-level key; defaults for the keys that the file does not have. `goals` and
        `groups` are below. Of a geometry with mistakes the areas that are right, and None for the others.
    goals : dict of str to goal
    groups : dict of int to GroupShape
        By index in the file; keys with mistakes are left out of them.
    goal_names : list of str
        All names in the file, those of goals with mistakes too.
    goals_are_known : bool
        False where the names of the goals could not be read: then no name is called unknown.
    """

    values: dict[str, Any] = field(default_factory=dict)
    goals: dict[str, Any] = field(default_factory=dict)
    groups: dict[int, schema.GroupShape] = field(default_factory=dict)
    goal_names: list[str] = field(default_factory=list)
    goals_are_known: bool = True


@cache
def _adapter(key: str) -> tuple[Any, TypeAdapter[Any]]:
    """Return the annotation and the checker of a top-level key, of one goal (``goals/``) or of one group
    (``groups/``).
    """
    annotation: Any = _PARTS.get(key)
    if annotation is None:
        info = schema.ScenarioShape.model_fields[key]
        annotation = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
    return annotation, TypeAdapter(annotation)


def read_draft(root: Node, problems: Problems) -> Draft | None:
    """Check the shape of a scenario.

    Parameters
    ----------
    root : Node
        The whole file.
    problems : Problems
        Receives what is wrong.

    Returns
    -------
    Draft or None
        None where the file is no scenario of this version at all, and more problems would only confuse.
    """
    if root.value is None:
        problems.add((), "the file is empty", 'Begin with "crowdsim new my_scenario.yaml".')
        return None
    if not isinstance(root.value, dict):
        problems.add(
            (),
            (
                "a scenario is a mapping (version: 1, geometry: ..., groups: ...), found "
                f"{described(root.value)}"
            ),
        )
        return None
    if not _version_is_right(root, problems):
        return None
    _refuse_empty_values(root, (), problems)
    _refuse_unknown_keys(root, problems)
    draft = Draft()
    for key, info in schema.ScenarioShape.model_fields.items():
        node = root.value.get(key)
        if key in _SECTION_NAMES or key == "version":
            continue
        if node is None:
            if info.is_required():
                problems.add((), f'the key "{key}" is missing', _MISSING[key])
            elif key not in _PIECEWISE:
                draft.values[key] = info.get_default(call_default_factory=True)
        elif key == "goals":
            _read_goals(node, draft, problems)
        elif key == "groups":
            _read_groups(node, draft, problems)
        elif key == "behaviours":
            pass  # see `crowdsim.scenario.machines`: their parameters are put in first
        else:
            value = checked(key, node, (key,), problems)
            if value is UNUSABLE and key == "geometry":
                value = _what_is_left_of_geometry(node)
            if value is not UNUSABLE:
                draft.values[key] = value
    return draft


def _version_is_right(root: Node, problems: Problems) -> bool:
    node = root.value.get("version")
    if node is None:
        known = [key for key in root.value if key in schema.ScenarioShape.model_fields]
        problems.add(
            (),
            'the key "version" is missing',
            (
                "Write version: 1 on the first line."
                if known
                else 'This does not look like a scenario; begin with "crowdsim new my_scenario.yaml".'
            ),
        )
        return bool(known)
    if node.value is UNUSABLE:
        return True
    if isinstance(node.value, bool) or node.value != VERSION:
        problems.add(
            ("version",),
            f"this crowdsim reads version {VERSION}, found {described(node.value)}",
            f"Write version: {VERSION}, or use a crowdsim that reads it.",
        )
        return False
    return True


def _refuse_unknown_keys(root: Node, problems: Problems) -> None:
    known = list(schema.ScenarioShape.model_fields)
    for key in root.value:
        if key not in known:
            problems.add(
                (key,),
                f'there is no key "{clipped(key)}" here',
                f"{suggestion(key, known)} Known are {listed(known, most=30)}.".strip(),
                key=True,
            )


def _refuse_empty_values(node: Node, path: Path, problems: Problems) -> None:
    """Report values that were left empty: a forgotten value shall not silently become a default."""
    items: Sequence[tuple[str | int, Node]] = []
    if isinstance(node.value, dict):
        items = list(node.value.items())
    elif isinstance(node.value, list):
        items = list(enumerate(node.value))
    for part, below in items:
        if below.value is None:
            problems.add((*path, part), "no value is given", "Give one, or leave the key out.", key=True)
            below.value = UNUSABLE
        elif isinstance(below.value, (list, dict)):
            _refuse_empty_values(below, (*path, part), problems)


def checked(key: str, node: Node, path: Path, problems: Problems) -> Any:
    """Return the validated value of a node, or UNUSABLE after its problems were added."""
    annotation, adapter = _adapter(key)
    try:
        value = adapter.validate_python(plain(node), strict=True)
        return value if is_usable(node) else UNUSABLE
    except ValidationError as error:
        entries = [entry for entry in error.errors(include_url=False) if not _was_reported(entry)]
        unknown = {entry["loc"] for entry in entries if entry["type"] == "extra_forbidden"}
        for entry in entries:
            if problems.is_full:
                problems.uncollected += 1
                continue
            below, declared, parent = locate(annotation, entry["loc"])
            if entry["type"] == "missing":
                if any(
                    loc[:-1] == entry["loc"][:-1] and suggestion(str(loc[-1]), [str(below[-1])])
                    for loc in unknown
                ):
                    continue  # it is there, misspelt, and that is told
                below = below[:-1]
            message, way_out = explained(entry, declared, parent)
            problems.add(
                (*path, *below),
                message,
                way_out,
                key=entry["type"] == "extra_forbidden" or entry["loc"][-1:] == ("[key]",),
            )
        return UNUSABLE


def _was_reported(entry: Any) -> bool:
    """Return whether an error is only the consequence of a value that has been reported already."""
    value = entry["input"]
    return value is UNUSABLE or (entry["type"] == "form" and isinstance(value, list) and UNUSABLE in value)


def _read_goals(node: Node, draft: Draft, problems: Problems) -> None:
    if not isinstance(node.value, dict):
        checked("goals", node, ("goals",), problems)
        draft.goals_are_known = False
        return
    if len(node.value) > schema.MAX_GOALS:
        problems.add(("goals",), f"{len(node.value):,} goals, but there may be at most {schema.MAX_GOALS:,}")
        draft.goals_are_known = False
        return
    draft.goal_names = list(node.value)
    for name, item in node.value.items():
        _check_name(name, ("goals", name), item, problems)
        goal = checked("goals/", item, ("goals", name), problems)
        if goal is not UNUSABLE:
            draft.goals[name] = goal


def _check_name(name: str, path: Path, node: Node, problems: Problems) -> None:
    try:
        _adapter("goals/name")[1].validate_python(name)
    except ValidationError as error:
        message, way_out = explained(error.errors(include_url=False)[0], Declared(schema.Name), None)
        problems.add(path, message, way_out, key=True)


def _read_groups(node: Node, draft: Draft, problems: Problems) -> None:
    if not isinstance(node.value, list):
        checked("groups", node, ("groups",), problems)
        return
    if len(node.value) > schema.MAX_GROUPS:
        problems.add(
            ("groups",), f"{len(node.value):,} groups, but there may be at most {schema.MAX_GROUPS:,}"
        )
        return
    for index, item in enumerate(node.value):
        group = checked("groups/", item, ("groups", index), problems)
        if group is UNUSABLE:
            group = _what_is_left_of_group(item)
        if group is not UNUSABLE:
            draft.groups[index] = group


def _what_is_left_of_group(node: Node) -> Any:
    """Return a group without its keys that have mistakes, so that the other keys are checked too;
    UNUSABLE where that makes no sense.

    A group whose number of agents cannot be read stands with a count of 0.
    """
    if not isinstance(node.value, dict):
        return UNUSABLE
    fields = schema.GroupShape.model_fields
    left = {key: plain(item) for key, item in node.value.items() if key in fields and is_usable(item)}
    try:
        schema.GroupShape.model_validate(left)
    except ValidationError as error:
        for entry in error.errors(include_url=False):
            left.pop(str(entry["loc"][0]), None)
    if "name" not in left:
        return UNUSABLE
    if not left.keys() & set(HOW_MANY):
        left["count"] = 0
        left.pop("region", None)
    return schema.GroupShape.model_validate(left)


def _what_is_left_of_geometry(node: Node) -> Any:
    """Return a geometry in which areas with mistakes are None, so that the others are checked too;
    UNUSABLE where that makes no sense.
    """
    found: dict[str, Any] = {}
    if node.child("storeys") is not None or node.child("surface") is not None:
        return UNUSABLE
    for key in ("walkable", "obstacles"):
        below = node.child(key)
        if below is None or not isinstance(below.value, list):
            found[key] = [None]
        else:
            items = [_quietly("geometry/", item) for item in below.value]
            whole = _quietly("geometry/", below)  # a list of points is one area
            found[key] = whole if whole is not None else items
    return schema.GeometryShape.model_construct(**found)


def _quietly(key: str, node: Node) -> Any:
    """Return the validated value of a node, or None."""
    try:
        return _adapter(key)[1].validate_python(plain(node), strict=True)
    except ValidationError:
        return None


assert set(get_args(schema.ScenarioShape.model_fields["version"].annotation)) == {VERSION}
