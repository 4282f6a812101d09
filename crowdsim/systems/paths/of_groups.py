"""The paths of the groups of a scenario: one kind for all, or one for each kind of navigation that groups
have.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies.spread import SpreadParameters
from crowdsim.navigation.corridor.guess import WaitParameters
from crowdsim.navigation.goals.fronts import WIDEST_M
from crowdsim.navigation.goals.targets import TargetParameters
from crowdsim.navigation.grid.parameters import WalkParameters
from crowdsim.navigation.grid.planner import CELLS
from crowdsim.navigation.grid.waiting import CellWaitParameters
from crowdsim.navigation.local_grid.detours import LocalGridParameters
from crowdsim.navigation.planners import planner_kind
from crowdsim.navigation.planning.portals import PORTALS
from crowdsim.scenario.areas import closed_at_the_begin
from crowdsim.scenario.parameters import Chosen
from crowdsim.setup.build import Built, planner_of
from crowdsim.systems.base.ground_changes import Closed
from crowdsim.systems.base.slices import Budget
from crowdsim.systems.paths.corner_guesses import CornerGuesses
from crowdsim.systems.paths.corridor_paths import CorridorPaths
from crowdsim.systems.paths.paths import Paths
from crowdsim.systems.paths.waypoint_paths import WaypointPaths


def paths_of_groups(built: Built, budget: Budget) -> tuple[Paths, ...]:
    """Return the paths of all groups, those of each kind of navigation apart;
    the world learns which groups have corridors.

    Raises
    ------
    ScenarioError
        If a planner cannot work on this ground.
    """
    scenario, world = built.scenario, built.world
    kinds, paths = scenario.navigations, []
    on_corridors = np.zeros(len(scenario.groups), dtype=np.bool_)
    for place, chosen in enumerate(kinds):
        groups = np.array(
            [scenario.navigation_of(group) == chosen for group in scenario.groups], dtype=np.bool_
        )
        space = planner_kind(chosen.name).space
        on_corridors |= groups & (space is PORTALS)
        which = (None, "searches") if len(kinds) == 1 else (groups, f"searches {place}")
        paths.append(_PATHS[space](built, chosen, budget, *which))
    world.corridor_groups = None if on_corridors.all() else on_corridors
    return tuple(paths)


def _corridor_paths(
    built: Built, chosen: Chosen, budget: Budget, groups: NDArray[np.bool_] | None, name: str
) -> Paths:
    """Return the paths of some groups, found as `chosen` says."""
    bodies, make = built.scenario.bodies, partial(planner_of, built, chosen)
    price = (
        bodies.parameters(LocalGridParameters).local_grid_price
        if bodies.values["local_grid"] and bodies.values["replanning"]
        else 0.0
    )
    waiting = chosen.parameters(WaitParameters).while_waiting
    same = chosen.parameters(TargetParameters).same_target
    paths = CorridorPaths(built.world, make(), budget, groups, name, make, waiting, price, same)
    # Joining over corners finds the shortest path on from a guess, which may lead through agents that stand:
    # a planner that goes round them has no terrain.
    if hasattr(paths.planner, "terrain") and waiting != "stay":
        paths.corner_guesses = CornerGuesses(built.world, lambda: paths.planner.terrain)
    return paths


def _waypoint_paths(
    built: Built, chosen: Chosen, budget: Budget, groups: NDArray[np.bool_] | None, name: str
) -> Paths:
    """Return the paths of some groups over cells, found as `chosen` says."""
    scenario, planner = built.scenario, planner_of(built, chosen)
    waiting = chosen.parameters(CellWaitParameters).while_waiting
    reach = scenario.bodies.parameters(SpreadParameters).spread_reach
    near = reach + WIDEST_M if reach > 0.0 else 0.0
    walk = chosen.parameters(WalkParameters)
    paths = WaypointPaths(built.world, planner, budget, groups, name, walk, waiting, near)
    paths.show(
        [
            Closed(each.name, each.polygon, is_ground=True)
            for each in closed_at_the_begin(scenario.geometry.areas)
        ]
    )
    return paths


# What answers become, by what planners search.
_PATHS = {PORTALS: _corridor_paths, CELLS: _waypoint_paths}
