"""Planners by name. A new one is a folder whose module registers its kind, and a line here."""

from __future__ import annotations

import importlib
from typing import NamedTuple

from crowdsim.navigation.planning.registry import PlannerKind, kinds


class Own(NamedTuple):
    """A planner of crowdsim's own: the module that registers its kind,
    and what scenarios are read by before that is imported, since it needs the compiler.
    """

    module: str
    over_cells: bool = False


OWN = {
    "mesh": Own("crowdsim.navigation.planning.mesh_planner"),
    "optimal": Own("crowdsim.navigation.planning.mesh_planner"),
    "visibility": Own("crowdsim.navigation.visibility.planner"),
    "grid": Own("crowdsim.navigation.grid.planner", over_cells=True),
    "s2-grid": Own("crowdsim.navigation.grid.planner", over_cells=True),
}


def planner_kind(name: str) -> PlannerKind:
    """Return the kind of planner that has a name; KeyError if there is none."""
    if name in OWN:
        importlib.import_module(OWN[name].module)
    return kinds()[name]


def leads_over_cells(name: str) -> bool:
    """Return whether paths of a kind of planner lead over the cells of a grid; False where there is none."""
    known = OWN.get(name) or kinds().get(name)
    return known is not None and known.over_cells


def planner_kinds() -> list[PlannerKind]:
    """Return all kinds of planners: crowdsim's own in the order of the list, then those of plug-ins."""
    own = [planner_kind(name) for name in OWN]
    return [*own, *(kind for name, kind in kinds().items() if name not in OWN)]
