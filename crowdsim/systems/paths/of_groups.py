"""The paths of the groups of a scenario: one kind for all, or one for each kind of navigation that groups
have.
"""

from __future__ import annotations

import numpy as np

from crowdsim.navigation.grid.planner import CELLS
from crowdsim.navigation.planners import planner_kind
from crowdsim.navigation.planning.portals import PORTALS
from crowdsim.navigation.planning.protocol import SearchSpace
from crowdsim.setup.build import Built
from crowdsim.systems.base.slices import Budget
from crowdsim.systems.paths.corridor_paths import CorridorPaths
from crowdsim.systems.paths.paths import Paths
from crowdsim.systems.paths.waypoint_paths import WaypointPaths

# What answers become, by what planners search.
_PATHS: dict[SearchSpace, type[Paths]] = {PORTALS: CorridorPaths, CELLS: WaypointPaths}


def paths_of_groups(built: Built, budget: Budget) -> tuple[Paths, ...]:
    """Return the paths of all groups, those of each kind of navigation apart;
    the world learns which groups have corridors.

    Raises
    ------
    ScenarioError
        If a planner cannot work on this ground.
    """
    scenario = built.scenario
    of_groups = [scenario.navigation_of(group) for group in scenario.groups]
    paths: list[Paths] = []
    on_corridors = np.zeros(len(of_groups), dtype=np.bool_)
    for place, chosen in enumerate(scenario.navigations):
        theirs = np.array([each == chosen for each in of_groups], dtype=np.bool_)
        is_only = len(scenario.navigations) == 1
        groups, name = (None, "searches") if is_only else (theirs, f"searches {place}")
        space = planner_kind(chosen.name).space
        on_corridors |= theirs & (space is PORTALS)
        paths.append(_PATHS[space](built, chosen, budget, groups, name))
    built.world.corridor_groups = None if on_corridors.all() else on_corridors
    return tuple(paths)
