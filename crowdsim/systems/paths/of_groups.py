"""The paths of the groups of a scenario: one kind for all, or one for each kind of navigation that groups
have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies.spread import SpreadParameters
from crowdsim.navigation.corridor.guess import WaitParameters
from crowdsim.navigation.goals.fronts import WIDEST_M
from crowdsim.navigation.goals.targets import TargetParameters
from crowdsim.navigation.grid.parameters import WalkParameters
from crowdsim.navigation.grid.waiting import CellWaitParameters
from crowdsim.navigation.local_grid.detours import LocalGridParameters
from crowdsim.scenario.areas import closed_at_the_begin
from crowdsim.scenario.parameters import Chosen
from crowdsim.setup.build import Built, planner_of
from crowdsim.systems.base.ground_changes import Closed
from crowdsim.systems.base.slices import Budget
from crowdsim.systems.paths.corner_guesses import CornerGuesses
from crowdsim.systems.paths.corridor_paths import CorridorPaths
from crowdsim.systems.paths.paths import Paths
from crowdsim.systems.paths.waypoint_paths import WaypointPaths
from crowdsim.world.world import World


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
    for place, chosen in enumerate(kinds):
        groups = (
            None
            if len(kinds) == 1
            else np.array(
                [scenario.navigation_of(group) == chosen for group in scenario.groups], dtype=np.bool_
            )
        )
        paths.append(
            _paths_of(built, chosen, budget, groups, "searches" if len(kinds) == 1 else f"searches {place}")
        )
    on_corridors = {chosen: each.on_corridors for chosen, each in zip(map(str, kinds), paths, strict=True)}
    of_group = np.array(
        [on_corridors[str(scenario.navigation_of(group))] for group in scenario.groups], dtype=np.bool_
    )
    world.corridor_groups = None if of_group.all() else of_group
    return tuple(paths)


def _paths_of(
    built: Built, chosen: Chosen, budget: Budget, groups: NDArray[np.bool_] | None, name: str
) -> Paths:
    """Return the paths of some groups, found as `chosen` says."""
    world, scenario = built.world, built.scenario
    if not chosen.over_cells:

        def make(world: World) -> Any:
            return planner_of(built, chosen, world)

        bodies = scenario.bodies
        price = (
            bodies.parameters(LocalGridParameters).local_grid_price
            if bodies.values["local_grid"] and bodies.values["replanning"]
            else 0.0
        )
        waiting = chosen.parameters(WaitParameters).while_waiting
        same = chosen.parameters(TargetParameters).same_target
        paths = CorridorPaths(world, make(world), budget, groups, name, make, waiting, price, same)
        # Joining over corners finds the shortest path on from a guess, which may lead through agents that
        # stand: a planner that goes round them has no terrain.
        if hasattr(paths.planner, "terrain") and waiting != "stay":
            paths.corner_guesses = CornerGuesses(world, lambda: paths.planner.terrain)
        return paths
    waiting = chosen.parameters(CellWaitParameters).while_waiting
    reach = scenario.bodies.parameters(SpreadParameters).spread_reach
    near = reach + WIDEST_M if reach > 0.0 else 0.0
    over_cells = WaypointPaths(
        world,
        planner_of(built, chosen),
        budget,
        groups,
        name,
        chosen.parameters(WalkParameters),
        waiting,
        near,
    )
    over_cells.show(
        [
            Closed(each.name, each.polygon, is_ground=True)
            for each in closed_at_the_begin(scenario.geometry.areas)
        ]
    )
    return over_cells
