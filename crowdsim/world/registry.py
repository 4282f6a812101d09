"""Systems of a user's own, by name, and what they have to be.

The tick's own systems are listed in `crowdsim.systems`; these are registered by a program, or by a plug-in
(docs/develop/extending.md), and take part in a run where its scenario names them.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from crowdsim.avoidance.plugins import PluginError, plugins_may_register
from crowdsim.avoidance.registry import Origin, note_origin, origin_of, registered
from crowdsim.avoidance.registry import forget as forget_origin
from crowdsim.old_names import COLUMNS, COUNTS, SYSTEMS, note_old_name
from crowdsim.world.columns import (
    AGENT_COLUMNS,
    BEHAVIOUR_COLUMNS,
    CHOICE_COLUMNS,
    PARTY_COLUMNS,
    Column,
)
from crowdsim.world.entities import Processor

K = TypeVar("K", bound=type)
RESERVED = {"id", "frame", "time", "x", "y", "z"}  # of every row of a recording
NAMES = {column.name for column in (*AGENT_COLUMNS, *BEHAVIOUR_COLUMNS, *PARTY_COLUMNS, *CHOICE_COLUMNS)}
# What a system of one's own may write, beside columns of its own. All else belongs to the ground, to paths,
# or says which agent it is: kernels trust it.
OPEN_COLUMNS = (
    "velocity", "preferred_velocity", "chosen_velocity", "tentative_position", "desired_speed", "next_corner",
    "heading", "gait", "is_driven", "replan_wish", "is_yielding", "yield_target", "yield_tick",
    "blocked_ticks", "waited_ticks", "state_wish",
)  # fmt: skip
# of components: by annotation, as they are saved
FIELD_TYPES = {"int": "int64", "float": "float64", "bool": "bool"}
_systems: dict[str, type[Any]] = {}


def register(system: K) -> K:
    """Make a class of systems known under its name; use it as a decorator.

    Raises
    ------
    PluginError
        If it is no class of systems, or says of itself what cannot be, or another one has its name.
    """
    if not (isinstance(system, type) and issubclass(system, Processor) and hasattr(system, "columns")):
        raise PluginError(f"{system!r} is no class of systems. Derive it from System (crowdsim.systems).")
    name = system.__name__
    for kind in ("reads", "writes"):
        _call_by_names_of_today(system, kind)
    if complaint := complaint_about(system):
        raise PluginError(f"{_place_of(system)}: the system {name} {complaint}")
    for place in ("after", "before"):
        if (given := getattr(system, place)) in SYSTEMS:
            note_old_name(f"the system {given}, {place} which {name} stands,", SYSTEMS[given])
    known = _systems.get(name)
    if known is not None and _full_name(known) != _full_name(system):
        raise PluginError(
            f"two systems are called {name}: {_full_name(known)} and {_full_name(system)}. Rename yours."
        )
    if name in registered():
        raise PluginError(
            f"{_place_of(system)}: the system {name} has the name of an avoidance model. Rename it."
        )
    _systems[name] = system
    note_origin(name, origin_from(system))
    return system


def _call_by_names_of_today(system: type[Any], kind: str) -> None:
    """Have a system declare columns by their names of today, and say which had others."""
    given = getattr(system, kind)
    if isinstance(given, tuple) and not COLUMNS.keys().isdisjoint(
        each for each in given if isinstance(each, str)
    ):
        for old in COLUMNS.keys() & set(given):
            note_old_name(f"the column {old}, which {system.__name__} {kind},", COLUMNS[old], stacklevel=2)
        setattr(system, kind, tuple(dict.fromkeys(COLUMNS.get(each, each) for each in given)))


def forget(name: str) -> None:
    """Take a system out of the list, if it is there."""
    if _systems.pop(name, None) is not None:
        forget_origin(name)


def registered_systems() -> dict[str, type[Any]]:
    """Return the systems that are not crowdsim's own, by name, in the order of registration."""
    return dict(_systems)


def origin_from(system: type) -> Origin:
    """Return where the source of a class is; of one that was typed into an interpreter, what can be said."""
    try:
        path = Path(inspect.getsourcefile(system) or "")
    except (TypeError, OSError):
        path = Path()
    if not path.is_file():
        return Origin(f"<{system.__module__}>", "")
    return Origin(str(path.resolve()), hashlib.sha256(path.read_bytes()).hexdigest())


def recorded_origin(name: str) -> dict[str, str]:
    """Return the origin of a system as headers of recordings keep it."""
    origin = origin_of(name)
    assert origin is not None, "register notes it"
    return {"file": origin.file, "sha256": origin.sha256, "entry_point": origin.entry_point, "kind": "system"}


def complaint_about(system: type[Any]) -> str:
    """Return what a class says of itself that cannot be, with the way out; an empty string if it is right."""
    own: Sequence[Any] = system.columns
    if not all(isinstance(column, Column) for column in own):
        return "has columns that are no Column (crowdsim.world.columns)."
    names = [column.name for column in own]
    taken = next(
        (
            name
            for name in names
            if name in (NAMES | RESERVED | COLUMNS.keys()) or names.count(name) > 1 or not name.isidentifier()
        ),
        None,
    )
    if taken is not None:
        return (
            f'has a column "{taken}", but a column has a name of its own, of letters, digits and underscores.'
        )
    odd = next(
        (column for column in own if column.width not in (1, 2) or np.dtype(column.dtype).kind not in "biuf"),
        None,
    )
    if odd is not None:
        return f"has the column {odd.name} of {odd.width} x {odd.dtype}, but a column has one or two numbers."
    for kind in ("reads", "writes", "counts"):
        names_of_kind = getattr(system, kind)
        if (
            not isinstance(names_of_kind, tuple)
            or not all(isinstance(name, str) for name in names_of_kind)
            or len(set(names_of_kind)) != len(names_of_kind)
        ):
            return (
                f'has {kind} = {names_of_kind!r}, but that is a tuple of different names: {kind} = ("a", '
                '"b").'
            )
    unknown = next(
        (name for name in (*system.reads, *system.writes) if name not in NAMES and name not in names), None
    )
    if unknown is not None:
        return (
            f'declares the column "{unknown}", which there is not. `crowdsim tick` shows columns; one of '
            "its own needs columns = (Column(...),)."
        )
    shut = next((name for name in system.writes if name in NAMES and name not in OPEN_COLUMNS), None)
    if shut is not None:
        return (
            f'declares to write "{shut}", which only crowdsim\'s own do. It can write columns of its own, '
            f"and {', '.join(OPEN_COLUMNS)}."
        )
    if old := next((name for name in system.counts if name in COUNTS), ""):
        return f'counts "{old}", the name that {COUNTS[old]} had before. Rename yours.'
    if (now := SYSTEMS.get(system.__name__)) is not None:
        return f"has the name that {now} had before, which recordings still have. Rename yours."
    if (system.after is None) == (system.before is None):
        return "has no place in the tick. Say one of both: after = Follow, or before = Avoid."
    if wrong := next((text for kind in system.components if (text := _complaint_about_component(kind))), ""):
        return wrong
    if not is_dataclass(system.Parameters) or any(
        "why" not in field.metadata for field in fields(system.Parameters)
    ):
        return "has no class Parameters that is a frozen dataclass of crowdsim.tunable.param fields."
    return ""


def _complaint_about_component(kind: Any) -> str:
    if not (isinstance(kind, type) and is_dataclass(kind)):
        return f"has the component {kind!r}, which is no dataclass."
    wrong = next((field.name for field in fields(kind) if _type_name(field.type) not in FIELD_TYPES), None)
    if wrong is not None:
        return (
            f"has the component {kind.__name__}, whose field {wrong} is neither int, float nor bool: only "
            "these are saved."
        )
    return ""


def _type_name(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")


def field_types(kind: type) -> Mapping[str, str]:
    """Return the types with which the fields of a component are saved, by name."""
    return {field.name: FIELD_TYPES[_type_name(field.type)] for field in fields(kind)}


def _full_name(system: type) -> str:
    return f"{system.__module__}.{system.__qualname__}"


def _place_of(system: type) -> str:
    return origin_from(system).file


plugins_may_register(registered_systems, forget)
