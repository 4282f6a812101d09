"""Modules that were documented under another name:
programs and plug-ins that import them go on working, and are told the new name.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
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
    "crowdsim.systems.slices": "crowdsim.systems.base.slices",
    "crowdsim.threads": "crowdsim.kernels.threads",
}


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
            warnings.warn(f"{old} is called {MOVED[old]} now.", DeprecationWarning, stacklevel=2)
        sys.modules[old] = importlib.import_module(MOVED[old])


def understand_old_names() -> None:
    """Have Python find modules under their old names;
    before it looks for files, since a package's old name has the folder of the new one.
    """
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
