"""Plan and Follow where groups find their ways in different ways: each group has its planner, and all share the budget of the tick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.threads import Team
from crowdsim.saved import Arrays, Saved
from crowdsim.systems.base.slices import Budget, search
from crowdsim.systems.base.system import System, Tick
from crowdsim.systems.follow import Follow
from crowdsim.systems.ground.ground_change import GroundChange
from crowdsim.systems.on_grid import FollowWays, PlanWays
from crowdsim.systems.plan import Plan
from crowdsim.world.world import World


class PlanByGroup(System):
    """Let several planners search, each for its own groups; the place of Plan in the tick.

    Parameters
    ----------
    world : World
    parts : sequence of Plan and PlanWays
        For groups that are nobody else's.
    budget : Budget
        Says how far the searches of all of them get in a tick.

    Notes
    -----
    Planners with open requests have slices in turn, so that nobody starves; what somebody does not need goes to the others. The answers do not depend on
    it, only their ticks.
    """

    reads = tuple(dict.fromkeys((*Plan.reads, *PlanWays.reads)))
    writes = tuple(dict.fromkeys((*Plan.writes, *PlanWays.writes)))
    counts = Plan.counts

    def __init__(self, world: World, parts: Sequence[Plan | PlanWays], budget: Budget) -> None:
        super().__init__(world)
        self.parts, self.budget = tuple(parts), budget

    def process(self, tick: Tick) -> None:
        """Let all ask, then search."""
        self.budget.begin()
        for part in self.parts:
            part.ask(tick)
        search(tick, self.budget, [part.searches for part in self.parts])

    def take_mesh(self) -> None:
        """Search on the mesh that the world has now."""
        for part in self.parts:
            assert isinstance(part, Plan)  # a world in tiles has no grids
            part.take_mesh()

    def stand_on(self, tick: int, change: GroundChange, team: Team) -> None:
        """Search on another ground from now on; whoever waits for a way asks again."""
        for part in self.parts:
            part.stand_on(tick, change, team)

    def forget(self, entity: NDArray[np.int64]) -> None:
        """Forget the requests of agents that changed their mind."""
        for part in self.parts:
            part.forget(entity)

    def keep_ways(self, rows: NDArray[np.int64], goal: int) -> NDArray[np.bool_]:
        """Let those keep their ways whose new goal is where they lead; return who does, (k,)."""
        return np.logical_or.reduce([part.keep_ways(rows, goal) for part in self.parts])

    def lose_ways(self, rows: NDArray[np.int64]) -> None:
        """Take the ways of agents that are sent elsewhere."""
        for part in self.parts:
            part.lose_ways(rows)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the searches, queues and walks of all parts."""
        return {f"{place}/{name}": array for place, part in enumerate(self.parts) for name, array in part.state().items()}

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave."""
        saved = Saved.of(state)
        for place, part in enumerate(self.parts):
            part.restore(saved.below(f"{place}/"))


class FollowByGroup(System):
    """Set preferred velocities, of each group as its ways are; the place of Follow in the tick.

    Parameters
    ----------
    world : World
    parts : sequence of Follow and FollowWays
        For groups that are nobody else's.
    """

    reads = tuple(dict.fromkeys((*Follow.reads, *FollowWays.reads)))
    writes = tuple(dict.fromkeys((*Follow.writes, *FollowWays.writes)))
    counts = Follow.counts

    def __init__(self, world: World, parts: Sequence[Follow | FollowWays]) -> None:
        super().__init__(world)
        self.parts = tuple(parts)

    def process(self, tick: Tick) -> None:
        """Let each lead its own."""
        guessing = 0.0
        for part in self.parts:
            part.process(tick)
            guessing += tick.counts["guessing"]
        tick.counts["guessing"] = guessing
