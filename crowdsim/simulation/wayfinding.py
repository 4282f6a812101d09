"""The systems that find ways and lead agents along them, as a scenario asks for them: one planner for everybody, or one for each way of finding a way."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies.spread import SpreadParameters
from crowdsim.navigation.corridor.guess import WaitParameters
from crowdsim.navigation.goals.fronts import WIDEST_M
from crowdsim.navigation.goals.targets import TargetParameters, points_of
from crowdsim.navigation.grid.parameters import WalkParameters, WayParameters
from crowdsim.navigation.grid.planner import GridPlanner
from crowdsim.navigation.grid.waiting import CellWaitParameters
from crowdsim.navigation.local_grid.detours import EVERY_LINE, LocalGridParameters
from crowdsim.navigation.planning.protocol import Planner
from crowdsim.scenario.areas import closed_at_the_begin
from crowdsim.scenario.parameters import Chosen
from crowdsim.setup.build import Built, grid_of, make_planner
from crowdsim.systems.base.slices import Budget
from crowdsim.systems.by_group import FollowByGroup, PlanByGroup
from crowdsim.systems.follow import Follow
from crowdsim.systems.ground.ground_change import Closed
from crowdsim.systems.on_grid import FollowWays, PlanWays, Ways
from crowdsim.systems.paths.cell_guesses import CellGuesses
from crowdsim.systems.paths.corner_guesses import CornerGuesses
from crowdsim.systems.plan import Plan
from crowdsim.world.world import World

if TYPE_CHECKING:
    from crowdsim.navigation.visibility.planner import VisibilityPlanner
    from crowdsim.scenario.model import Scenario

Planning = Plan | PlanWays | PlanByGroup
Following = Follow | FollowWays | FollowByGroup


def plan_and_follow(built: Built, budget: Budget) -> tuple[Planning, Following]:
    """Return the systems in the places of Plan and Follow in the tick; the world is told whose agents have corridors.

    Raises
    ------
    ScenarioError
        If a planner cannot work on this ground.
    """
    scenario, world = built.scenario, built.world
    kinds = scenario.navigations
    on_grid = np.array([scenario.navigation_of(group).is_grid for group in scenario.groups], dtype=np.bool_)
    world.corridor_groups = ~on_grid if on_grid.any() else None
    if len(kinds) == 1:
        return _one(built, kinds[0], budget, None, "searches")
    parts = []
    for place, chosen in enumerate(kinds):
        groups = np.array([scenario.navigation_of(group) == chosen for group in scenario.groups], dtype=np.bool_)
        parts.append(_one(built, chosen, budget, groups, f"searches {place}"))
    return PlanByGroup(world, [plan for plan, _ in parts], budget), FollowByGroup(world, [follow for _, follow in parts])


def goes_round_standers(chosen: Chosen) -> bool:
    """Return whether ways lead round those who stand: on grids always, on meshes where that is asked for."""
    return chosen.is_grid or bool(chosen.values["round_standers"])


def shares_round_standers(scenario: Scenario) -> NDArray[np.float64]:
    """Return (groups,) float64: `obstacle_radius_share` of those on corridors that go round standers between corners too, EVERY_LINE of others."""
    chosen = [scenario.navigation_of(group) for group in scenario.groups]
    return np.array([each.values["obstacle_radius_share"] if each.values.get("round_standers") else EVERY_LINE for each in chosen], dtype=np.float64)


def guessing_groups(scenario: Scenario) -> NDArray[np.bool_]:
    """Return (groups,) bool: whose agents walk on guesses while they wait for their paths."""
    chosen = [scenario.navigation_of(group) for group in scenario.groups]
    return np.array([each.values["while_waiting"] == "guess" for each in chosen], dtype=np.bool_)


def _one(built: Built, chosen: Chosen, budget: Budget, groups: NDArray[np.bool_] | None, name: str) -> tuple[Plan | PlanWays, Follow | FollowWays]:
    """Return the systems of one way of finding a way, for some groups."""
    world, scenario = built.world, built.scenario
    if not chosen.is_grid:
        def make(world: World) -> Planner:
            return make_planner(scenario, world, chosen)

        bodies = scenario.bodies
        price = bodies.parameters(LocalGridParameters).local_grid_price if bodies.values["local_grid"] and bodies.values["replanning"] else 0.0
        waiting = chosen.parameters(WaitParameters).while_waiting
        same = chosen.parameters(TargetParameters).same_target
        plan = Plan(world, make(world), budget, groups, name, make, waiting == "previous", price, same)
        # Joining over corners finds the shortest way on from a guess, which may lead through those whom a way goes round.
        if chosen.name == "visibility" and waiting != "stay" and not goes_round_standers(chosen):
            plan.corner_guesses = CornerGuesses(world, lambda: cast("VisibilityPlanner", plan.planner).terrain)
        return plan, Follow(world, groups, waiting, plan.corner_guesses)
    ways = Ways(chosen.parameters(WalkParameters))
    planner = GridPlanner(grid_of(built, chosen), points_of(world.goals).point, chosen.parameters(WayParameters))
    on_cells = PlanWays(world, planner, ways, budget, groups, name)
    on_cells.show([Closed(each.name, each.polygon, is_ground=True) for each in closed_at_the_begin(scenario.geometry.areas)])
    waiting = chosen.parameters(CellWaitParameters).while_waiting
    if waiting in ("guess", "previous"):
        on_cells.guesses = CellGuesses(world, planner, waiting == "previous", on_cells.past_walls)
    reach = scenario.bodies.parameters(SpreadParameters).spread_reach
    return on_cells, FollowWays(world, ways, groups, on_cells.guesses, waiting == "stay", reach + WIDEST_M if reach > 0.0 else 0.0)
