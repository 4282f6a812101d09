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
