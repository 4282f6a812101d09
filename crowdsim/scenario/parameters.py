"""The sections of a scenario that hold tunable numbers, and who owns the numbers.

The numbers themselves are declared where they are used, as dataclasses of `crowdsim.tunable.param`; here stands only which dataclass belongs to which
section. The check of a user's values, the JSON Schema and the table of ``crowdsim parameters`` are all made from these declarations.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from crowdsim.scenario.tree import Node, Path, Problems, described, listed, plain, suggestion
from crowdsim.tunable import Tunable, param, tunables

Owner = type | tuple[type, ...]  # a dataclass of tunables, or several whose tunables are given side by side
Parameters = TypeVar("Parameters")


@dataclass(frozen=True)
class Section:
    """One section of a scenario.

    Attributes
    ----------
    name : str
        The key in the file.
    selector : str
        The key in the section that chooses one of several owners (``model``); empty where there is only one.
    default : str
        The owner that is chosen where the file is silent.
    load : callable
        Returns the owners by name; imports what it needs only then.
    """

    name: str
    selector: str
    default: str
    load: Callable[[], Mapping[str, Owner]]

    def owners(self) -> Mapping[str, Owner]:
        """Return the owners by name, in the order in which they are listed to users."""
        return _replaced[self.name] if self.name in _replaced else self.load()


@dataclass(frozen=True)
class Chosen:
    """A section of a scenario, resolved: every parameter has its value.

    Attributes
    ----------
    name : str
        Name of the owner: of the avoidance model, of the kind of navigation; the section's name where there is no choice.
    values : dict of str to value
        All parameters by name, in the order of their declaration.
    """

    name: str
    values: Mapping[str, Any]

    def parameters(self, owner: type[Parameters]) -> Parameters:
        """Return an instance of the dataclass `owner` with the values that it declares."""
        return owner(**{tunable.name: self.values[tunable.name] for tunable in tunables(owner)})


@dataclass(frozen=True)
class BudgetParameters:
    """How much work may be done in one tick."""

    work: int = param(
        0, "expansions", low=0, high=10**9,
        why="polygons that path searches may expand in a tick, some 0.2 us each; smaller lets agents wait longer for a path, larger makes single ticks long; "
        "0 is 2,000, or one for each agent where there are more",
    )  # fmt: skip


def _imported(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _avoidance() -> Mapping[str, Owner]:
    model_named = _imported("crowdsim.avoidance.registry", "model_named")
    return {name: model_named(name).Parameters for name in _imported("crowdsim.avoidance.registry", "available_models")()}


def _speed_density() -> Mapping[str, Owner]:
    return {"none": _imported("crowdsim.avoidance.density_speed", "NoLaw"), "weidmann": _imported("crowdsim.avoidance.density_speed", "Weidmann")}


def _navigation() -> Mapping[str, Owner]:
    mesh = _imported("crowdsim.navigation.build", "MeshParameters")
    in_slots = (mesh, _imported("crowdsim.navigation.planner", "PlannerParameters"))
    grid = (_imported("crowdsim.navigation.grid.parameters", f"{name}Parameters") for name in ("Cell", "Way", "Walk"))
    return {
        **dict.fromkeys(_imported("crowdsim.navigation.slot_searches", "SEARCHES"), in_slots),
        "visibility": (mesh, _imported("crowdsim.navigation.visibility.planner", "VisibilityParameters")),
        "grid": (mesh, *grid),
    }


def _bodies() -> Mapping[str, Owner]:
    own = (("integrate", "Body"), ("separate", "Separation"), ("nudge", "Nudge"), ("nudge", "Held"), ("replan", "Replan"))
    return {"bodies": tuple(_imported(f"crowdsim.bodies.{module}", f"{name}Parameters") for module, name in own)}


def _symmetry() -> Mapping[str, Owner]:
    breaker = _imported("crowdsim.avoidance.symmetry", "SymmetryBreaker")
    return {"symmetry": (_imported("crowdsim.systems.symmetry", "SymmetrySwitch"), breaker.Parameters)}


SECTIONS = (
    Section("avoidance", "model", "orca", _avoidance),
    Section("speed_density", "law", "none", _speed_density),
    Section("navigation", "kind", "mesh", _navigation),
    Section("bodies", "", "bodies", _bodies),
    Section("symmetry", "", "symmetry", _symmetry),
    Section("budget", "", "budget", lambda: {"budget": BudgetParameters}),
)
_replaced: dict[str, Mapping[str, Owner]] = {}


@contextmanager
def owners_replaced(replaced: Mapping[str, Mapping[str, Owner]]) -> Iterator[None]:
    """Give sections other owners for a while: for tests, and for programs that try out models of their own."""
    before = dict(_replaced)
    _replaced.update(replaced)
    try:
        yield
    finally:
        _replaced.clear()
        _replaced.update(before)


def tunables_of(owner: Owner) -> list[Tunable]:
    """Return the tunables of an owner in the order of declaration."""
    parts = owner if isinstance(owner, tuple) else (owner,)
    return [tunable for part in parts if dataclasses.is_dataclass(part) for tunable in tunables(part)]


def resolve_section(section: Section, node: Node | None, problems: Problems, *, path: Path | None = None, base: Chosen | None = None) -> Chosen | None:
    """Check what a scenario says in a section and fill in the rest.

    Parameters
    ----------
    section : Section
    node : Node or None
        The section in the file; None where there is none.
    problems : Problems
        Receives unknown owners and parameters and values outside their range.
    path : Path, optional
        Where the section stands, if not at the top: a group may have one of its own.
    base : Chosen, optional
        What the section says that this one stands in place of: its owner, and the values of that owner, hold where this one is silent.

    Returns
    -------
    Chosen or None
        None if the owner is not known.
    """
    owners = section.owners()
    path = path or (section.name,)
    given = dict(node.value) if node is not None and isinstance(node.value, dict) else {}
    name = base.name if base is not None else section.default
    if node is not None and not isinstance(node.value, dict):
        if not (section.selector and isinstance(node.value, str)):
            forms = f"the name of a {section.selector} or a mapping {{{section.selector}: name, ...}}" if section.selector else "a mapping of parameters"
            problems.add(path, f"expects {forms}, found {described(node.value)}")
            return None
        name = node.value
    elif section.selector in given:
        selected = given.pop(section.selector).value
        if not isinstance(selected, str):
            problems.add((*path, section.selector), f"expects a name, found {described(selected)}", f"Known are {listed(owners)}.")
            return None
        name = selected
    if name not in owners:
        at = (*path, section.selector) if node is not None and isinstance(node.value, dict) and section.selector in node.value else path
        problems.add(at, f'"{name}" is no known {section.selector}', _known_owners(section, name, owners))
        return None
    values = {tunable.name: tunable.default for tunable in tunables_of(owners[name])}
    if base is not None and base.name == name:
        values |= base.values
    return Chosen(name, _checked(section, name, tunables_of(owners[name]), values, given, problems, path))


def _known_owners(section: Section, name: str, owners: Mapping[str, Owner]) -> str:
    """Return what to do about a name that is none."""
    own = " A model of your own is made known by --plugin FILE." if section.name == "avoidance" else ""
    return f"{suggestion(name, owners)} Known are {listed(owners)}.{own}".strip()


def _checked(
    section: Section, owner: str, declared: list[Tunable], values: dict[str, Any], given: Mapping[str, Node], problems: Problems, above: Path
) -> dict[str, Any]:
    known = {tunable.name: tunable for tunable in declared}
    whose = f"{owner} has" if section.selector else f"{section.name} has"
    for key, item in given.items():
        path = (*above, key)
        if section.name == "budget" and key == "milliseconds":
            problems.add(
                path,
                "a budget in milliseconds is not offered in this version: what a run computes would depend on how busy the machine is",
                "Give the work of a tick instead, for example {work: 100000}; the milliseconds that it takes are always measured.",
                key=True,
            )
        elif key not in known:
            hint = suggestion(key, known)
            problems.add(path, f'{whose} no parameter "{key}"', f"{hint} Known are {listed(known)}.".strip() if known else "It has no parameters.", key=True)
        elif isinstance(item.value, (list, dict)) and not isinstance(known[key].default, tuple):
            problems.add(path, f"expects a single value, found {described(item.value)}", f"Default: {known[key].default}.")
        elif complaint := known[key].complaint(plain(item)):
            problems.add(path, complaint, f"Default: {known[key].default}. {known[key].why[:1].upper()}{known[key].why[1:]}.")
        else:
            values[key] = _points(plain(item)) if isinstance(known[key].default, tuple) else type(known[key].default)(item.value)
    return values


def _points(value: Any) -> tuple[tuple[float, float], ...]:
    return tuple((float(x), float(y)) for x, y in value)


def parameter_rows() -> list[dict[str, Any]]:
    """Return one row for every tunable number of the package: name as in a scenario, default, unit, range, why, source."""
    return [
        {
            "name": f"{section.name}.{name}.{tunable.name}" if section.selector else f"{section.name}.{tunable.name}",
            "default": tunable.default,
            "unit": tunable.unit,
            "range": tunable.range_text,
            "why": tunable.why,
            "source": tunable.source,
        }
        for section in SECTIONS
        for name, owner in section.owners().items()
        for tunable in tunables_of(owner)
    ]
