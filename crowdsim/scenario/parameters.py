"""The sections of a scenario that hold tunable numbers, and which modules declare the numbers.

The numbers themselves are declared where they are used, as dataclasses of `crowdsim.tunable.param`; here
stands only which dataclass belongs to which section. The check of a user's values, the JSON Schema and the
table of ``crowdsim parameters`` are all made from these declarations.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from crowdsim.old_names import PARAMETERS
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
        The owner that is chosen where the file is silent, and the ground is one even floor.
    load : callable
        Returns the owners by name; imports what it needs only then.
    shared : callable, optional
        Returns an owner whose tunables all of them have, and of which there is one in a scenario: groups
        cannot have values of their own.
    elsewhere : str
        The owner that is chosen where the file is silent on other ground, or gives tunables that only this
        one has; empty where that makes no difference.
    """

    name: str
    selector: str
    default: str
    load: Callable[[], Mapping[str, Owner]]
    shared: Callable[[], Owner] | None = None
    elsewhere: str = ""

    def default_on(self, is_even: bool, given: Iterable[str] = ()) -> str:
        """Return the owner that is chosen where the file is silent, on one even floor or on other ground;
        one that has the tunables which are given.
        """
        if not self.elsewhere:
            return self.default
        default, elsewhere = (
            {tunable.name for tunable in tunables_of(self.owners()[name])}
            for name in (self.default, self.elsewhere)
        )
        return (
            self.default
            if is_even and default.issuperset(set(given) & (default | elsewhere))
            else self.elsewhere
        )

    def shared_names(self) -> frozenset[str]:
        """Return the names of the tunables of which there is one value in a scenario."""
        return (
            frozenset(tunable.name for tunable in tunables_of(self.shared()))
            if self.shared is not None and self.name not in _replaced
            else frozenset()
        )

    def owners(self) -> Mapping[str, Owner]:
        """Return the owners by name, in the order in which they are listed to users."""
        return _replaced[self.name] if self.name in _replaced else self.load()


@dataclass(frozen=True)
class Chosen:
    """A section of a scenario, resolved: every parameter has its value.

    Attributes
    ----------
    name : str
        Name of the owner: of the avoidance model, of the kind of navigation; the section's name where there
        is no choice.
    values : dict of str to value
        All parameters by name, in the order of their declaration.
    """

    name: str
    values: Mapping[str, Any]

    def __repr__(self) -> str:
        said = ", ".join(f"{key} {value}" for key, value in self.values.items())
        return f"<Chosen {self.name}: {said}>"

    @property
    def needs_cells(self) -> bool:
        """Whether this is a kind of navigation for which cells are laid over the ground."""
        return self.name in _imported("crowdsim.navigation.planners", "OVER_CELLS")

    def parameters(self, owner: type[Parameters]) -> Parameters:
        """Return an instance of the dataclass `owner` with the values that it declares."""
        return owner(**{tunable.name: self.values[tunable.name] for tunable in tunables(owner)})

    def written(self, section: Section) -> dict[str, Any]:
        """Return the values as a scenario is recorded with them: without those that came later and say what
        they say by default.
        """
        declared = {tunable.name: tunable for tunable in tunables_of(section.owners()[self.name])}
        return {
            key: declared[key].written(value)
            for key, value in self.values.items()
            if not (declared[key].is_later and value == declared[key].default)
        }


@dataclass(frozen=True)
class BudgetParameters:
    """How much work may be done in one tick: so much work, or what fits into so many milliseconds."""

    work: int = param(
        0,
        "expansions",
        low=0,
        high=10**9,
        why="work of planning in a tick: polygons that searches expand, some 0.2 to 0.5 us each, requests "
        "and answers; smaller lets agents wait longer for a path, larger makes single ticks long; "
        "0 is 2,000 expansions, or one for each agent where there are more, and no bound for the rest",
    )
    milliseconds: float = param(
        0.0,
        "ms",
        low=0.0,
        high=10_000.0,
        source="[Norberg 2004], section 3.3",
        why="what a whole tick may take, of which searches get what the other systems leave; smaller lets "
        "agents wait longer for a path, larger makes frames "
        "long; how far searches get then depends on the machine, and the run is marked so; 0 lets work "
        "decide, the same in every run",
    )
    slice: int = param(
        1000,
        "expansions",
        low=1,
        high=10**9,
        source="[Norberg 2004], section 3.3",
        why="work between two looks at the clock, some 0.2 to 0.5 ms; larger leaves more of the milliseconds "
        "unused, half a slice on average; smaller hands out "
        "searches more often, which costs time",
    )


def _imported(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _avoidance() -> Mapping[str, Owner]:
    model_named = _imported("crowdsim.avoidance.registry", "model_named")
    return {
        name: model_named(name).Parameters
        for name in _imported("crowdsim.avoidance.registry", "available_models")()
    }


def _speed_density() -> Mapping[str, Owner]:
    return {
        "none": _imported("crowdsim.avoidance.density_speed", "NoLaw"),
        "weidmann": _imported("crowdsim.avoidance.density_speed", "Weidmann"),
    }


def _mesh() -> Owner:
    owner: Owner = _imported("crowdsim.navigation.mesh.build", "MeshParameters")
    return owner


def _navigation() -> Mapping[str, Owner]:
    kinds = _imported("crowdsim.navigation.planners", "planner_kinds")()
    mesh: Any = _mesh()
    return {kind.name: (mesh, *kind.owners, *kind.space.owners, *kind.options) for kind in kinds}


def _bodies() -> Mapping[str, Owner]:
    own = (
        ("integrate", "Body"),
        ("turn", "Turn"),
        ("separate", "Separation"),
        ("nudge", "Nudge"),
        ("nudge", "Blocked"),
        ("spread", "Spread"),
        ("replan", "Replan"),
        ("priority", "Priority"),
        ("places", "Place"),
    )
    found = tuple(_imported(f"crowdsim.bodies.{module}", f"{name}Parameters") for module, name in own)
    return {"bodies": (*found, _imported("crowdsim.navigation.local_grid.detours", "LocalGridParameters"))}


def _symmetry() -> Mapping[str, Owner]:
    breaker = _imported("crowdsim.avoidance.symmetry", "SymmetryBreaker")
    return {
        "symmetry": (_imported("crowdsim.avoidance.symmetry_switch", "SymmetrySwitch"), breaker.Parameters)
    }


def _systems() -> Mapping[str, Owner]:
    return {
        name: kind.Parameters
        for name, kind in _imported("crowdsim.world.registry", "registered_systems")().items()
    }


SECTIONS = (
    Section("avoidance", "model", "orca", _avoidance),
    Section("speed_density", "law", "none", _speed_density),
    Section("navigation", "kind", "optimal", _navigation, _mesh, elsewhere="mesh"),
    Section("bodies", "", "bodies", _bodies),
    Section("symmetry", "", "symmetry", _symmetry),
    Section("budget", "", "budget", lambda: {"budget": BudgetParameters}),
)
# of each entry of the list of systems that are not crowdsim's own
SYSTEMS = Section("systems", "system", "", _systems)
_replaced: dict[str, Mapping[str, Owner]] = {}  # sections whose owners are others for a while, in tests
_ALL_SHORTEST = (
    "Its paths are the shortest of all, and its bounds are what tells so. Take kind: mesh, visibility or "
    "grid, whose searches can be weighed to look at less "
    "ground for paths that cost up to that many times as much."
)
_IN_TIME = (
    "On one level floor its paths, the shortest, are the quickest too. Take kind: mesh where there are "
    "stairs, slopes or terrain with speeds of its own."
)
_ONE_PRICE = (
    "Its paths bend at corners only, and over ground of several prices the best ones bend at borders. Take "
    "kind: mesh or grid."
)
_ALL_PRICES = (
    "Its paths are the shortest of all, whatever a metre costs. Take kind: visibility, mesh or grid, whose "
    "metres are dearer where they are seen."
)
_NO_POLYGONS = (
    "Curves are kept off walls by the convex polygons that a path leads through, and a path over cells has "
    "none. Take kind: optimal, mesh or visibility, or leave smoothing out."
)
_WHY_NOT = {  # by owner and parameter: why it has none, and the way out
    ("optimal", "weight"): _ALL_SHORTEST,
    ("optimal", "heuristic"): _ALL_SHORTEST,
    ("optimal", "costs"): _IN_TIME,
    ("optimal", "prices"): _ONE_PRICE,
    ("visibility", "prices"): _ONE_PRICE,
    ("grid", "smoothing"): _NO_POLYGONS,
    ("s2-grid", "smoothing"): _NO_POLYGONS,
    **dict.fromkeys(
        (("optimal", key) for key in ("unseen_from", "unseen_by", "exposure", "shun")), _ALL_PRICES
    ),
}


# What does nothing while something else is off: by the tunable that switches it, and the value that is off.
_NEEDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "unseen_by": ((), ("watch_interval",)),
    "nudging": (False, ("nudge_distance", "nudge_reached", "nudge_contact", "nudge_patience")),
    "priority": ("none", ("priority_after", "priority_margin", "priority_reach")),
    "shun": ((), ("shun_reach", "shun_cost")),
    "round_stationary": (False, ("obstacle_reach", "obstacle_radius_share")),
    "replanning": (False, ("replan_trigger", "replan_moved", "local_grid_price", "local_grid_memory")),
    "local_grid": (False, ("local_grid_cells", "local_grid_cell", "local_grid_price", "local_grid_memory")),
}


def tunables_of(owner: Owner) -> list[Tunable]:
    """Return the tunables of an owner in the order of declaration."""
    parts = owner if isinstance(owner, tuple) else (owner,)
    return [tunable for part in parts if dataclasses.is_dataclass(part) for tunable in tunables(part)]


def resolve_section(
    section: Section,
    node: Node | None,
    problems: Problems,
    *,
    path: Path | None = None,
    base: Chosen | None = None,
    is_even: bool = True,
    grid_numbers: Mapping[str, float] | None = None,
) -> Chosen | None:
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
        What the section says that this one stands in place of: its owner, and the values of that owner, hold
        where this one is silent.
    is_even : bool
        Whether the ground is one level floor on which all agents walk at their own speed: there are defaults
        that depend on it.
    grid_numbers : mapping of str to float, optional
        Defaults of a navigation over cells, from the files of its ground.

    Returns
    -------
    Chosen or None
        None if the owner is not known.
    """
    owners = section.owners()
    path = path or (section.name,)
    given = dict(node.value) if node is not None and isinstance(node.value, dict) else {}
    name = base.name if base is not None else section.default_on(is_even, given)
    if node is not None and not isinstance(node.value, dict):
        if not (section.selector and isinstance(node.value, str)):
            forms = (
                f"the name of a {section.selector} or a mapping {{{section.selector}: name, ...}}"
                if section.selector
                else "a mapping of parameters"
            )
            problems.add(path, f"expects {forms}, found {described(node.value)}")
            return None
        name = node.value
    elif section.selector in given:
        selected = given.pop(section.selector).value
        if not isinstance(selected, str):
            problems.add(
                (*path, section.selector),
                f"expects a name, found {described(selected)}",
                f"Known are {listed(owners)}.",
            )
            return None
        name = selected
    if name not in owners:
        at = (
            (*path, section.selector)
            if node is not None and isinstance(node.value, dict) and section.selector in node.value
            else path
        )
        problems.add(at, f'"{name}" is no known {section.selector}', _known_owners(section, name, owners))
        return None
    is_on_cells = section.name == "navigation" and Chosen(name, {}).needs_cells
    defaults = grid_numbers if grid_numbers and is_on_cells else {}
    values = {
        tunable.name: defaults.get(tunable.name, tunable.default) for tunable in tunables_of(owners[name])
    }
    if base is not None:
        shared = section.shared_names()
        values |= {key: value for key, value in base.values.items() if base.name == name or key in shared}
        for key in sorted(shared & set(given)):
            del given[key]
            problems.add(
                (*path, key),
                f"{key} is of the mesh, and there is one mesh for all groups",
                f"Set {section.name}.{key} of the scenario.",
                key=True,
            )
    declared = tunables_of(owners[name])
    given, spelled = _by_names_of_today(section, declared, given, problems, path)
    return Chosen(name, _checked(section, name, declared, values, given, spelled, problems, path))


def other_name(section: str, key: str) -> str:
    """Return the other name of a parameter, that of before or that of today; empty if it has but one."""
    renamed = PARAMETERS.get(section, {})
    return renamed.get(key) or next((old for old, now in renamed.items() if now == key), "")


def _by_names_of_today(
    section: Section, declared: list[Tunable], given: Mapping[str, Node], problems: Problems, above: Path
) -> tuple[dict[str, Node], dict[str, str]]:
    """Return what is given by the names of today, and how those are spelled that had others before;
    say so, and refuse what is given by both.
    """
    known = {tunable.name for tunable in declared}
    found, spelled = dict(given), {}
    for old, now in PARAMETERS.get(section.name, {}).items():
        if old not in given or old in known or now not in known:
            continue
        if now in given:
            problems.add(
                (*above, old), f"{old} is called {now} now, and both are given", f"Keep {now}.", key=True
            )
        else:
            problems.note((*above, old), f"is called {now} now", key=True)
            found[now], spelled[now] = given[old], old
        del found[old]
    return found, spelled


def _known_owners(section: Section, name: str, owners: Mapping[str, Owner]) -> str:
    """Return what to do about a name that is none."""
    what = {"avoidance": "model", "navigation": "planner", "systems": "system"}.get(section.name)
    own = f" A {what} of your own is made known by --plugin FILE." if what else ""
    return f"{suggestion(name, owners)} Known are {listed(owners) or 'none'}.{own}".strip()


def _checked(
    section: Section,
    owner: str,
    declared: list[Tunable],
    values: dict[str, Any],
    given: Mapping[str, Node],
    spelled: Mapping[str, str],
    problems: Problems,
    above: Path,
) -> dict[str, Any]:
    known = {tunable.name: tunable for tunable in declared}
    whose = f"{owner} has" if section.selector else f"{section.name} has"
    for key, item in given.items():
        path = (*above, spelled.get(key, key))
        if key not in known:
            hint = (
                _WHY_NOT.get((owner, key)) or f"{suggestion(key, known)} Known are {listed(known)}.".strip()
                if known
                else "It has no parameters."
            )
            problems.add(path, f'{whose} no parameter "{key}"', hint, key=True)
        elif isinstance(item.value, (list, dict)) and not known[key].holds:
            problems.add(
                path,
                f"expects a single value, found {described(item.value)}",
                f"Default: {known[key].default_text}.",
            )
        elif complaint := known[key].complaint(plain(item)):
            problems.add(
                path,
                complaint,
                f"Default: {known[key].default_text}. {known[key].why[:1].upper()}{known[key].why[1:]}.",
            )
        else:
            values[key] = known[key].taken(plain(item))
    for switch, (off, names) in _NEEDS.items():
        for key in names:
            if key in given and values.get(switch) == off and values[key] != known[key].default:
                what = "nothing" if off == () else "false" if off is False else off
                problems.add(
                    (*above, spelled.get(key, key)),
                    f"{key} does nothing while {switch} is {what}",
                    f"Give {switch}, or leave {key} out.",
                    key=True,
                )
            elif key in known and values.get(switch) == off:
                values[key] = known[key].default  # what was inherited does nothing either
    if "exposure" in known and not (values["unseen_from"] or values["unseen_by"]):
        if "exposure" in given and values["exposure"] != known["exposure"].default:
            problems.add(
                (*above, "exposure"),
                "exposure does nothing while unseen_from is nothing, and unseen_by too",
                "Give unseen_from, or leave exposure out; unseen_by will do, too.",
                key=True,
            )
        values["exposure"] = known["exposure"].default
    if "weight" in given and values.get("heuristic") == "zero" and values["weight"] > 1.0:
        problems.add(
            (*above, "weight"),
            f"the weight is {values['weight']:g}, but the heuristic is zero, and that times anything is zero",
            "Leave the weight out, or take another heuristic.",
        )
    return _one_budget(values, given, problems, above) if "milliseconds" in values else values


def _one_budget(
    values: dict[str, Any], given: Mapping[str, Node], problems: Problems, above: Path
) -> dict[str, Any]:
    """Return what one kind of budget has, the work or the milliseconds:
    what the other has would do nothing.
    """
    if not values["milliseconds"]:
        if "slice" in given:
            problems.add(
                (*above, "slice"),
                "slices are searched between two looks at the clock, but no clock decides here",
                "Give milliseconds beside it.",
                key=True,
            )
        return {name: value for name, value in values.items() if name not in ("milliseconds", "slice")}
    if values["work"]:
        problems.add(
            (*above, "work") if "work" in given else above,
            (
                f"work is {values['work']:,} and milliseconds {values['milliseconds']:g}, but one of them "
                "decides how far searches get"
            ),
            (
                "Keep work for runs that are the same each time, milliseconds for frames that are short; "
                "the other is 0."
            ),
        )
    return {name: value for name, value in values.items() if name != "work"}


def parameter_rows() -> list[dict[str, Any]]:
    """Return one row for every tunable number of the package:
    name as in a scenario, default, unit, range, why, source.
    """
    return [
        {
            "name": f"{section.name}.{name}.{tunable.name}"
            if section.selector
            else f"{section.name}.{tunable.name}",
            "default": tunable.default,
            "unit": tunable.unit,
            "range": tunable.range_text,
            "why": tunable.why,
            "source": tunable.source,
        }
        for section in (*SECTIONS, SYSTEMS)
        for name, owner in section.owners().items()
        for tunable in tunables_of(owner)
    ]
