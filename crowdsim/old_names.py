"""Names of before: programs, plug-ins, scenarios and recordings that have them go on working,
and are told the new name.

Each name that users may have written or recorded, and that has another one now, stands in a table here. A
name of before is not given to anything else: it would be taken for what it was.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from enum import Enum

E = TypeVar("E", bound="Enum")

# What pytest calls the plug-in, in projects that load it by name: nothing is to be said of that.
PLUGIN = "crowdsim.pytest_plugin"
MOVED = {
    PLUGIN: "crowdsim.regression.pytest_plugin",
    "crowdsim.navigation.build": "crowdsim.navigation.mesh.build",
    "crowdsim.navigation.measure": "crowdsim.navigation.corridor.measure",
    "crowdsim.navigation.planner": "crowdsim.navigation.planning.mesh_planner",
    "crowdsim.pictures.visibility": "crowdsim.pictures.scenario",
    "crowdsim.schedule": "crowdsim.simulation",
    "crowdsim.schedule.checkpoints": "crowdsim.simulation.checkpoints",
    "crowdsim.systems.drive": "crowdsim.systems.move_obstacles",
    "crowdsim.systems.gates": "crowdsim.systems.change_ground",
    "crowdsim.systems.notice": "crowdsim.systems.detect_blocked",
    "crowdsim.systems.slices": "crowdsim.systems.base.slices",
    "crowdsim.systems.watch": "crowdsim.systems.detect_stuck",
    "crowdsim.threads": "crowdsim.kernels.threads",
}
# classes of systems, and what recordings call them
SYSTEMS = {
    "Drive": "MoveObstacles",
    "Gates": "ChangeGround",
    "Notice": "DetectBlocked",
    "Watch": "DetectStuck",
}
# of agents, as systems read and write them; some are recorded
COLUMNS = {
    "corner_post": "corner_vertex",
    "held_ticks": "blocked_ticks",
    "local_way": "local_path",
    "progress_way": "progress_direction",
}
# of each tick
COUNTS = {
    "held_up": "blocked",
    "no_local_way": "no_local_path",
    "nudges_held_up": "nudges_blocked",
    "replans_held_up": "replans_blocked",
    "replans_no_local_way": "replans_no_local_path",
    "replans_people_ahead": "replans_agents_ahead",
    "replans_way_shut": "replans_path_closed",
}
# of scenarios, by section
PARAMETERS = {
    "avoidance": {
        "behind": "horizon_share_behind",
        "time_horizon_standing": "time_horizon_stationary",
        "weight_impact": "weight_time_to_collision",
    },
    "bodies": {"held_share": "blocked_share", "held_time": "blocked_time"},
    "navigation": {"cells": "faces", "round_standers": "round_stationary"},
}
# causes of new paths, as verdicts count them
CAUSES = {
    "people ahead": "agents ahead",
    "held up": "blocked",
    "way shut": "path closed",
    "path shut": "path closed",
    "no local way": "no local path",
}
# functions of `crowdsim.measures`
FUNCTIONS = {"who_waits_for_whom": "waiting_graph"}
# layers that `crowdsim plot --show` draws
LAYERS = {"ways": "paths"}
# scenes and models of `crowdsim bench`, on the command line and in its history
BENCHMARKS = {"ways": "paths", "mesh ways": "mesh paths"}


class OldNameWarning(DeprecationWarning):
    """Something was asked for by the name that it had before."""


def note_old_name(what: str, now: str, stacklevel: int = 1) -> None:
    """Warn that something is called otherwise now.

    Parameters
    ----------
    what : str
        What it was asked for as: ``crowdsim.systems.Watch``.
    now : str
    stacklevel : int
        How many calls above the function that notes it the line lies that has the old name; 1 is its caller.
    """
    warnings.warn(f"{what} is called {now} now.", OldNameWarning, stacklevel=stacklevel + 2)


def name_today(what: str, name: str, renamed: Mapping[str, str], stacklevel: int = 1) -> str:
    """Return what is called `name` by its name of today; if that is another, with a warning as by
    `note_old_name`.
    """
    if name in renamed:
        note_old_name(f"{what} {name}", renamed[name], stacklevel + 1)
    return renamed.get(name, name)


class Counts(dict[str, float]):
    """What was counted, by its names of today; it is found under those of before too."""

    def __missing__(self, name: str) -> float:
        if COUNTS.get(name) not in self:
            raise KeyError(name)
        return self[name_today("the count", name, COUNTS)]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a count, or another value where there is none."""
        if name not in self and COUNTS.get(name) in self:
            name = name_today("the count", name, COUNTS)
        return super().get(name, default)


class OldName:
    """In the body of an enum: a name of before of one of its members.

    It is no member, so that lists have each member once; to ask for it says what it is called now.
    """

    def __init__(self, now: str) -> None:
        self._now = now

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, member: Any, owner: type[Enum]) -> Any:
        """Return the member."""
        note_old_name(f"{owner.__name__}.{self._name}", self._now)
        return owner[self._now]


def member_named(owner: type[E], name: str) -> E:
    """Return the member of an enum by its name, or by one that it had before.

    Raises
    ------
    KeyError
        If there is none.
    """
    found: E = getattr(owner, name) if isinstance(vars(owner).get(name), OldName) else owner[name]
    return found


def names_of_now(names: Iterable[str], renamed: Mapping[str, str]) -> tuple[str, ...]:
    """Return names with those of before replaced;
    one stays where the new one is there too, and so is another thing.
    """
    given = tuple(names)
    return tuple(now if (now := renamed.get(name, name)) not in given else name for name in given)


class _Finder:
    """Finds a module under its old name: it is the same module, not a copy."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how an old name is imported; None for every other name."""
        return ModuleSpec(name, self) if name in MOVED else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python to make a module, which nobody sees."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of the new name in the place of the old one."""
        old = module.__name__
        if old != PLUGIN:
            note_old_name(old, MOVED[old])
        sys.modules[old] = importlib.import_module(MOVED[old])


def understand_old_names() -> None:
    """Have Python find modules under their old names;
    before it looks for files, since a package's old name has the folder of the new one.
    """
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
