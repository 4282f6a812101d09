"""GoRound: walkers look on a small grid for a path round what stands between them and their next corner."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies.replan import ReplanParameters
from crowdsim.geometry.cells import CellIndex
from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.local_grid.detours import (
    EVERY_LINE,
    LocalGridParameters,
    Standing,
    Walking,
    find_local_paths,
)
from crowdsim.navigation.local_grid.search import LEADS_ROUND, NO_PATH, NOT_ASKED
from crowdsim.scenario.model import Scenario
from crowdsim.systems.base.system import Setup, Tick, TickSystem, ticks_of
from crowdsim.systems.paths.lost_paths import wish_to_replan
from crowdsim.systems.paths.shut_portals import forget_old, forget_open, remember_shut
from crowdsim.world.columns import AgentState, PathStatus, ReplanCause
from crowdsim.world.states import has_path, standing

_CELL_M = 2.0  # Of the index of stationary agents; results do not depend on it.
# Of the grid for paths that lead round stationary agents, where the scenario has no local grid: as large as
# can be, for agents that stand in rows.
_ROUND_CELLS, _ROUND_CELL_M = 64, 0.15
_HAS_PATH = (PathStatus.FOUND, PathStatus.FOUND_THROUGH_AGENTS, PathStatus.NEAREST_REACHABLE)


class GoRound(TickSystem):
    """Turn preferred velocities to where the local grid leads:
    of all agents, or of those alone that are to go round stationary agents.

    The path knows walls, the grid also stationary agents and obstacles that move, where they are now. Where
    no path leads to the next corner, a walker goes as near as can be, and from there on straight along its
    path: the agents that stand there may step aside. Replan hears of it.

    Without local grids, the paths of some groups lead round stationary agents (`round_stationary`): their
    walkers look where one cuts the line to their next corner, and go through where no path leads round it.
    """

    reads = (
        "group",
        "activity",
        "path_status",
        "is_driven",
        "is_yielding",
        "position",
        "radius",
        "next_corner",
        "preferred_velocity",
        "surface",
        "layer",
        "corridor_start",
        "corridor_length",
        "priced_portal",
        "priced_until",
        "is_stuck",
    )
    writes = ("preferred_velocity", "local_path", "replan_wish", "priced_portal", "priced_until")
    counts = ("local_grids", "led_round", "no_local_path")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.parameters = parameters = setup.of_bodies(LocalGridParameters)
        self.replans = setup.of_bodies(ReplanParameters).replanning
        shares = _shares_of_groups(setup.scenario)
        is_for_some = not parameters.local_grid and np.any(shares != EVERY_LINE)
        self._shares = np.append(shares, EVERY_LINE) if is_for_some else None
        own = (int(parameters.local_grid_cells), float(parameters.local_grid_cell))
        self._side, self._cell = own if parameters.local_grid else (_ROUND_CELLS, _ROUND_CELL_M)
        self._standing = CellIndex(_CELL_M)

    @property
    def is_idle(self) -> bool:
        """Whether the scenario goes without it."""
        return not self.parameters.local_grid and self._shares is None

    def process(self, tick: Tick) -> None:
        """Look on the grids of agents that have a path, where any agent stands."""
        agents = self.world.agents
        tick.counts.update(dict.fromkeys(self.counts, 0.0))
        if self.is_idle:
            return
        is_for_all = self._shares is None
        agents.local_path[:] = NOT_ASKED
        stands = np.flatnonzero(standing(agents) | (is_for_all & (agents.activity == AgentState.OBSTACLE)))
        walks = (
            (agents.activity == AgentState.WALKING)
            & (agents.is_driven == 0)
            & np.isin(agents.path_status, _HAS_PATH)
        )
        share = np.full(len(agents), EVERY_LINE)
        if self._shares is not None:
            share = self._shares[agents.group]  # of obstacles, which have no group, the last
            # Agents that are stuck going round go through: where others stand so thick, the path round them
            # changes at every step.
            walks &= (share != EVERY_LINE) & (agents.is_stuck == 0)
        looking = np.flatnonzero(walks)
        if not len(stands):
            agents.priced_portal[:] = -1  # nothing is shut where no agent stands
        if not len(stands) or not len(looking):
            return
        waypoint, outcome = self._look(tick, looking, stands, share[looking])
        agents.local_path[looking] = outcome
        line = waypoint - agents.position[looking]
        far = hypots(line[:, 0], line[:, 1])
        turns = ((outcome == LEADS_ROUND) & (far > 0.0)) | ((outcome == NO_PATH) & (far >= self._cell))
        rows, line, far = looking[turns], line[turns], far[turns]
        speed = hypots(agents.preferred_velocity[rows, 0], agents.preferred_velocity[rows, 1])
        agents.preferred_velocity[rows] = line * (speed / far)[:, None]
        if self.replans and is_for_all:
            wish_to_replan(agents, looking[outcome == NO_PATH], ReplanCause.NO_LOCAL_PATH)
            self._remember(tick, looking, waypoint, outcome)
        tick.counts["local_grids"] = float(len(looking))
        tick.counts["led_round"], tick.counts["no_local_path"] = (
            self.count_of(outcome == LEADS_ROUND),
            self.count_of(outcome == NO_PATH),
        )

    def _remember(
        self,
        tick: Tick,
        looking: NDArray[np.int64],
        waypoint: NDArray[np.float64],
        outcome: NDArray[np.uint8],
    ) -> None:
        """Let agents on corridors remember the portals at which their grids found no path,
        for their next searches.
        """
        agents, own = self.world.agents, self.parameters
        follows = (
            self.world.on_corridors()[looking]
            & has_path(agents.path_status[looking])
            & (agents.corridor_length[looking] > 0)
        )
        shut = follows & (outcome == NO_PATH)
        reach = 0.5 * self._side * self._cell
        forget_old(agents, looking, tick.number)
        forget_open(self.world, looking[follows & ~shut], reach)
        remember_shut(
            self.world,
            looking[shut],
            waypoint[shut],
            reach,
            tick.number + ticks_of(own.local_grid_memory, tick.length),
        )

    def _look(
        self, tick: Tick, looking: NDArray[np.int64], stands: NDArray[np.int64], share: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return where the grids of agents lead, (k, 2) m, and what they say of the straight line, (k,)."""
        world, agents, side, cell = self.world, self.world.agents, self._side, self._cell
        radius = agents.radius[stands]
        widest = float(max(radius.max() + agents.radius[looking].max(), share.max() * radius.max()))
        world.reach_walls(side * cell + widest)  # a grid's corner is 0.71 of a side away
        part, _ = world.ground_of(agents.position)
        cells = self._standing.build(agents.position[stands], np.zeros(len(stands), dtype=np.int32))
        walls = world.walls
        walking = Walking(agents.position, agents.next_corner, agents.radius, part, world.polygons())
        waypoint, outcome = np.empty((len(looking), 2)), np.empty(len(looking), dtype=np.uint8)
        tick.team.run(
            find_local_paths, len(looking), looking, np.zeros(len(looking), dtype=np.int32), share, walking,
            Standing(cells, stands, radius, widest),
            (walls.start, walls.end, walls.zone_start, walls.zone_wall), side, cell, waypoint, outcome,
            at_least=64,
        )  # fmt: skip
        return waypoint, outcome


def _shares_of_groups(scenario: Scenario) -> NDArray[np.float64]:
    """Return (groups,) float64: `obstacle_radius_share` of those on corridors that go round stationary agents
    between corners too, EVERY_LINE of others.
    """
    chosen = [scenario.navigation_of(group) for group in scenario.groups]
    shares = [
        each.values["obstacle_radius_share"] if each.values.get("round_stationary") else EVERY_LINE
        for each in chosen
    ]
    return np.array(shares, dtype=np.float64)
