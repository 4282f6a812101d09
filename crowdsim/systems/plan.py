"""Plan: paths are asked for and searched for within the budget,
and agents are set on those that were found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.steps import Steps
from crowdsim.kernels.threads import Team
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.saved import Arrays, Saved
from crowdsim.systems.base.system import GroundChange, Setup, Tick, TickSystem
from crowdsim.systems.paths.lost_paths import LOST, TAKEN
from crowdsim.systems.paths.paths import SearchTask, search


class Plan(TickSystem):
    """Let agents that have no path ask for one, search within the budget, set them on what was found.

    Others reach requests and paths by it, as `World.planning`.

    Notes
    -----
    Planners with open requests have slices in turn, so that none starves; what one does not need goes to the
    others. The answers do not depend on it, only their ticks.
    """

    reads = (
        "entity",
        "group",
        "activity",
        "goal",
        "position",
        "surface",
        "layer",
        "radius",
        "corridor_start",
        "corridor_capacity",
        "path_tick",
        "priced_portal",
        "asks_again",
        "is_yielding",
        "is_driven",
        *LOST,
        *TAKEN,
    )
    writes = (
        "activity",
        "path_tick",
        "corridor_start",
        "corridor_capacity",
        "guessed",
        "corner_vertex",
        "replan_wish",
        *LOST,
        *TAKEN,
    )
    counts = SearchTask.counts

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.paths, self.budget = setup.paths, setup.budget
        setup.world.planning = self

    def process(self, tick: Tick) -> None:
        """Take requests, then search."""
        self.budget.begin()
        for each in self.paths:
            each.look_at_watchers(tick)
            each.ask(tick)
        search(tick, self.budget, [each.searches for each in self.paths])

    def foresee(self, mesh: NavMesh) -> Steps[None]:
        """Prepare for a mesh on which the world will stand, a step for each planner that can."""
        for each in self.paths:
            if each.foresees:
                each.foresee(mesh)
                yield "planner"

    def stand_on(self, tick: int, change: GroundChange, team: Team) -> None:
        """Search on another ground from now on; agents that wait for a path ask again."""
        for each in self.paths:
            each.stand_on(tick, change, team)

    def take_goals(self, changed: NDArray[np.int64]) -> None:
        """Search for the goals that the world has now, of which some, (k,), are new or lie elsewhere."""
        for each in self.paths:
            each.take_goals(changed)

    def forget(self, entity: NDArray[np.int64]) -> None:
        """Forget the requests of agents that changed their mind."""
        for each in self.paths:
            each.forget(entity)

    def keep_paths(self, rows: NDArray[np.int64], goal: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Let agents, (k,) rows, keep paths that lead to other goals, (k,), too; return which do, (k,)."""
        return np.logical_or.reduce([each.keep(rows, goal) for each in self.paths])

    def lose_paths(self, rows: NDArray[np.int64]) -> None:
        """Take the paths of agents that are sent elsewhere, but for those that keep to them until they have
        another.
        """
        for each in self.paths:
            each.lose(rows[each.mine()[rows]])

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the searches, request queues and paths of all planners."""
        return {
            f"{place}/{name}": array
            for place, each in enumerate(self.paths)
            for name, array in (
                each.state() | each.watch_state() | each.asking.state(each.world.agents)
            ).items()
        }

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave, to a world in which all agents are where they were."""
        saved = Saved.of(state)
        for place, each in enumerate(self.paths):
            each.restore_watch(saved.below(f"{place}/"))
            each.asking.restore(saved.below(f"{place}/"), each.world.agents)
            each.restore(saved.below(f"{place}/"))
