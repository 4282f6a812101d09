"""The systems that find ways and lead agents along them, as a scenario asks for them: one planner for everybody, or one for each way of finding a way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.grid.parameters import WalkParameters, WayParameters
from crowdsim.navigation.grid.planner import GridPlanner
from crowdsim.navigation.grid.targets import targets_of
from crowdsim.scenario.build import Built, grid_of, make_planner
from crowdsim.scenario.parameters import Chosen
from crowdsim.systems.by_group import FollowByGroup, PlanByGroup
from crowdsim.systems.follow import Follow
from crowdsim.systems.plan import Plan, default_budget
from crowdsim.systems.ways import FollowWays, PlanWays, Ways
from crowdsim.systems.ways import default_budget as default_grid_budget

Planning = Plan | PlanWays | PlanByGroup
Following = Follow | FollowWays | FollowByGroup


def plan_and_follow(built: Built) -> tuple[Planning, Following]:
    """Return the systems in the places of Plan and Follow in the tick; the world is told whose agents have corridors.

    Raises
    ------
    ScenarioError
        If a planner cannot work on this ground.
    """
    scenario, world = built.scenario, built.world
    work = int(scenario.budget.values["work"])
    kinds = scenario.navigations
    on_grid = np.array([scenario.navigation_of(group).name == "grid" for group in scenario.groups], dtype=np.bool_)
    world.corridor_groups = ~on_grid if on_grid.any() else None
    if len(kinds) == 1:
        return _one(built, kinds[0], None, work)
    parts = []
    for chosen in kinds:
        groups = np.array([scenario.navigation_of(group) == chosen for group in scenario.groups], dtype=np.bool_)
        parts.append(_one(built, chosen, groups, 0))
    plans, follows = [plan for plan, _ in parts], [follow for _, follow in parts]
    return PlanByGroup(world, plans, work or sum(plan.budget for plan in plans)), FollowByGroup(world, follows)


def _one(built: Built, chosen: Chosen, groups: NDArray[np.bool_] | None, work: int) -> tuple[Plan | PlanWays, Follow | FollowWays]:
    """Return the systems of one way of finding a way, for some groups; without `work`, with the budget that so many agents need."""
    world, scenario = built.world, built.scenario
    agents = sum(group.count for place, group in enumerate(scenario.groups) if groups is None or groups[place])
    if chosen.name != "grid":
        return Plan(world, make_planner(scenario, world, chosen), work or default_budget(agents), groups), Follow(world, groups)
    ways = Ways(chosen.parameters(WalkParameters))
    planner = GridPlanner(grid_of(built, chosen), targets_of(world.goals), chosen.parameters(WayParameters))
    return PlanWays(world, planner, ways, work or default_grid_budget(agents), groups), FollowWays(world, ways, groups)
