"""GoRound: walkers look on a small grid for a way round what stands between them and the next corner of their path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies.replan import ReplanParameters
from crowdsim.geometry.cells import CellIndex
from crowdsim.navigation.local_grid.detours import EVERY_LINE, LocalGridParameters, Standing, Walking, find_local_paths
from crowdsim.navigation.local_grid.search import LEADS_ROUND, NO_PATH, NOT_ASKED
from crowdsim.setup.groups import shares_round_standers
from crowdsim.systems.base.setup import Setup
from crowdsim.systems.base.standing import standing
from crowdsim.systems.base.system import System, Tick
from crowdsim.systems.notice import ticks_of
from crowdsim.systems.paths.replan_wishes import wish_to_replan
from crowdsim.systems.paths.shut_portals import forget_old, forget_open, remember_shut
from crowdsim.world.columns import AgentState, PathStatus, ReplanCause, has_way
from crowdsim.world.world import World

_CELL_M = 2.0  # Of the index of those who stand; results do not depend on it.
# Of the grid of those whose paths lead round standers, where no other was asked for: as large as there are, for those who stand in rows.
_ROUND_CELLS, _ROUND_CELL_M = 64, 0.15
_HAS_WAY = (PathStatus.FOUND, PathStatus.FOUND_THROUGH_AGENTS, PathStatus.NEAREST_REACHABLE)


class GoRound(System):
    """Turn preferred velocities to where the local grid leads: of everybody, or of those alone whose paths are to lead round those who stand.

    The path knows walls, the grid also those who stand and obstacles that move, where they are now. Where no way leads to the next corner, a walker
    goes as near as can be, and from there on straight along its path: whoever stands there may step aside. Replan hears of it.

    Without local grids, the paths of some groups lead round those who stand (`round_standers`): their walkers look where somebody who stands cuts the line
    to their next corner, and go through where no way round is.

    Parameters
    ----------
    world : World
    parameters : LocalGridParameters
    replans : bool
        Whether agents ask for new ways.
    shares : (groups,) float64, optional
        `obstacle_radius_share` of groups on corridors whose paths lead round those who stand; EVERY_LINE of others. None do by default;
        with local grids they change nothing.
    """

    reads = (
        "group", "activity", "path_status", "is_driven", "is_yielding", "position", "radius", "next_corner", "preferred_velocity", "surface", "layer",
        "corridor_start", "corridor_length", "priced_portal", "priced_until", "is_stuck",
    )
    writes = ("preferred_velocity", "local_way", "replan_wish", "priced_portal", "priced_until")
    counts = ("local_grids", "led_round", "no_local_way")

    def __init__(self, world: World, parameters: LocalGridParameters, replans: bool, shares: NDArray[np.float64] | None = None) -> None:
        super().__init__(world)
        self.parameters, self.replans = parameters, replans
        self._shares = None if parameters.local_grid or shares is None or np.all(shares == EVERY_LINE) else np.append(shares, EVERY_LINE)
        own = (int(parameters.local_grid_cells), float(parameters.local_grid_cell))
        self._side, self._cell = own if parameters.local_grid else (_ROUND_CELLS, _ROUND_CELL_M)
        self._standing = CellIndex(_CELL_M)

    @classmethod
    def from_setup(cls, setup: Setup) -> GoRound:
        """Make the system for all agents, or for those whose paths lead round agents that stand."""
        replans = setup.of_bodies(ReplanParameters).replanning
        return cls(setup.world, setup.of_bodies(LocalGridParameters), replans, shares_round_standers(setup.scenario))

    @property
    def is_idle(self) -> bool:
        """Whether the scenario does not ask for it."""
        return not self.parameters.local_grid and self._shares is None

    def process(self, tick: Tick) -> None:
        """Ask the grids of those who have a way; without anybody who stands there is nothing to ask."""
        agents = self.world.agents
        tick.counts.update(dict.fromkeys(self.counts, 0.0))
        if self.is_idle:
            return
        is_for_all = self._shares is None
        agents.local_way[:] = NOT_ASKED
        stands = np.flatnonzero(standing(agents) | (is_for_all & (agents.activity == AgentState.OBSTACLE)))
        walks = (agents.activity == AgentState.WALKING) & (agents.is_driven == 0) & np.isin(agents.path_status, _HAS_WAY)
        share = np.full(len(agents), EVERY_LINE)
        if self._shares is not None:
            share = self._shares[agents.group]  # of obstacles, which have no group, the last
            # Who is stuck going round goes through: people stand so thick that the way round is another one at every step.
            walks &= (share != EVERY_LINE) & (agents.is_stuck == 0)
        asked = np.flatnonzero(walks)
        if not len(stands):
            agents.priced_portal[:] = -1  # nothing is shut where nobody stands
        if not len(stands) or not len(asked):
            return
        aim, outcome = self._ask(tick, asked, stands, share[asked])
        agents.local_way[asked] = outcome
        way = aim - agents.position[asked]
        far = np.hypot(way[:, 0], way[:, 1])
        turns = ((outcome == LEADS_ROUND) & (far > 0.0)) | ((outcome == NO_PATH) & (far >= self._cell))
        rows, way, far = asked[turns], way[turns], far[turns]
        speed = np.hypot(agents.preferred_velocity[rows, 0], agents.preferred_velocity[rows, 1])
        agents.preferred_velocity[rows] = way * (speed / far)[:, None]
        if self.replans and is_for_all:
            wish_to_replan(agents, asked[outcome == NO_PATH], ReplanCause.NO_LOCAL_WAY)
            self._remember(tick, asked, aim, outcome)
        tick.counts["local_grids"] = float(len(asked))
        tick.counts["led_round"], tick.counts["no_local_way"] = self.count_of(outcome == LEADS_ROUND), self.count_of(outcome == NO_PATH)

    def _remember(self, tick: Tick, asked: NDArray[np.int64], aim: NDArray[np.float64], outcome: NDArray[np.uint8]) -> None:
        """Let those who follow corridors remember at which portals there is no way, for their next searches."""
        agents, own = self.world.agents, self.parameters
        follows = self.world.on_corridors()[asked] & has_way(agents.path_status[asked]) & (agents.corridor_length[asked] > 0)
        shut = follows & (outcome == NO_PATH)
        reach = 0.5 * self._side * self._cell
        forget_old(agents, asked, tick.number)
        forget_open(self.world, asked[follows & ~shut], reach)
        remember_shut(self.world, asked[shut], aim[shut], reach, tick.number + ticks_of(own.local_grid_memory, tick.length))

    def _ask(
        self, tick: Tick, asked: NDArray[np.int64], stands: NDArray[np.int64], share: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return where the grids of agents lead, (k, 2) m, and what they say of the straight line, (k,)."""
        world, agents, side, cell = self.world, self.world.agents, self._side, self._cell
        body = agents.radius[stands]
        widest = float(max(body.max() + agents.radius[asked].max(), share.max() * body.max()))
        world.reach_walls(side * cell + widest)  # a grid's corner is 0.71 of a side away
        part, _ = world.ground_of(agents.position)
        cells = self._standing.build(agents.position[stands], np.zeros(len(stands), dtype=np.int32))
        walls = world.walls
        walking = Walking(agents.position, agents.next_corner, agents.radius, part, world.polygons())
        aim, outcome = np.empty((len(asked), 2)), np.empty(len(asked), dtype=np.uint8)
        tick.team.run(
            find_local_paths, len(asked), asked, np.zeros(len(asked), dtype=np.int32), share, walking, Standing(cells, stands, body, widest),
            (walls.start, walls.end, walls.zone_start, walls.zone_wall), side, cell, aim, outcome, at_least=64,
        )  # fmt: skip
        return aim, outcome
