"""Planners by name. A new one is a folder whose module registers its kind, and a line here."""

from __future__ import annotations

import importlib

from crowdsim.navigation.planning.registry import PlannerKind, kinds

# The modules that register crowdsim's own kinds of planners.
OWN = {
    "mesh": "crowdsim.navigation.planning.mesh_planner",
    "optimal": "crowdsim.navigation.planning.mesh_planner",
    "hierarchical": "crowdsim.navigation.hierarchy.planner",
    "visibility": "crowdsim.navigation.visibility.planner",
    "grid": "crowdsim.navigation.grid.planner",
    "s2-grid": "crowdsim.navigation.grid.planner",
}
# Those that search cells, for which a grid is laid over the ground: scenarios are read by this, before what
# registers them is imported, since that needs the compiler.
OVER_CELLS = frozenset({"grid", "s2-grid"})


def planner_kind(name: str) -> PlannerKind:
    """Return the kind of planner that has a name; KeyError if there is none."""
    if name in OWN:
        importlib.import_module(OWN[name])
    return kinds()[name]


def planner_kinds() -> list[PlannerKind]:
    """Return all kinds of planners: crowdsim's own in the order of the list, then those of plug-ins."""
    own = [planner_kind(name) for name in OWN]
    return [*own, *(kind for name, kind in kinds().items() if name not in OWN)]
