"""The paths that agents would take if each were alone:
whether there is one, how long it is, and to which piece of the goal it leads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.threads import Team
from crowdsim.navigation.corridor.measure import measure_corridors, measure_paths
from crowdsim.navigation.grid.grid import Grid
from crowdsim.navigation.grid.search import FOUND as FOUND_ON_GRID
from crowdsim.navigation.planning.mesh_planner import usual_planner
from crowdsim.navigation.planning.protocol import Planner
from crowdsim.navigation.search.slot_fields import FOUND, UNREACHABLE
from crowdsim.scenario.parameters import Chosen
from crowdsim.setup.build import Built, agents_of, grid_of, planner_of
from crowdsim.world.world import World

_ALL = 1 << 40
_Paths = tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.int32]]


def answers_of(planner: Any, *request: Any) -> Any:
    """Return all answers of a planner to requests, as its `submit` takes them, without a budget."""
    planner.submit(0, *request)
    return planner.advance(_ALL, Team())[0]


def answers_over_cells(
    world: World,
    planner: Any,
    position: NDArray[np.float64],
    polygon: NDArray[np.int64],
    goal: NDArray[np.int32],
    radius: NDArray[np.float64],
) -> tuple[Any, Any]:
    """Return what knows to which points of their goals agents can go, and the answers of a planner over
    cells; their entities are places in these arrays, from 1 on.
    """
    chooser = planner.chooser(world.mesh, world.goals)
    which, choices = chooser.choices(goal, polygon, planner.needs(radius), radius)
    asks = np.flatnonzero(which >= 0)
    nowhere = np.zeros(len(asks), dtype=np.int64)
    request = (asks + 1, position[asks], nowhere, which[asks], radius[asks], choices)
    return chooser, answers_of(planner, *request)


def lengths_of(
    world: World,
    position: NDArray[np.float64],
    polygon: NDArray[np.int64],
    goal: NDArray[np.int32],
    radius: NDArray[np.float64],
    *,
    planner: Planner | None = None,
    in_time: bool = False,
) -> _Paths:
    """Search for corridors and measure them, without a budget.

    Parameters
    ----------
    world : World
    position : (n, 2) float64, m
    polygon : (n,) int64
    goal : (n,) int32
    radius : (n,) float64, m
    planner : Planner, optional
        An idle one; by default that of a scenario that does not say how paths are found.
    in_time : bool
        Give not lengths along the surface, but how far one would go in the same time on level ground.

    Returns
    -------
    status : (n,) uint8
        FOUND or UNREACHABLE.
    length : (n,) float64, m
        inf where there is no path.
    piece : (n,) int32
        Piece of the goal at the end; -1 where there is no path.
    """
    count = len(goal)
    planner = planner or usual_planner(world.mesh, world.goals)
    answers = answers_of(planner, np.arange(1, count + 1), position, polygon, goal, radius)
    order = np.argsort(answers.entity, kind="stable")
    status, piece = answers.status[order], answers.piece[order]
    start, sizes = answers.start[:-1][order], np.diff(answers.start)[order].astype(np.int32)
    length, effort = np.empty(count), np.empty(count)
    corridors = (world.mesh, world.goals, answers.cells, start, sizes, polygon, piece, position, radius)
    if world.is_even:
        measure_corridors(*corridors, length)
        return status, length, piece
    measure_paths(*corridors, length, effort)
    return status, effort if in_time else length, piece


class Legs:
    """Agents that go from goal to goal, all of them one leg at a time;
    from a goal they go on where its piece has its middle.

    Parameters
    ----------
    built : Built

    Attributes
    ----------
    rows : (k,) int64
        Agents on this leg, by place in the order of identity.
    goal : (k,) int32
    speed : (k,) float64, m/s
        Desired speed on this leg.
    position, polygon : (n, 2) float64, m, and (n,) int64
        Where all agents have got to.
    number : int
        How many legs came before.
    """

    def __init__(self, built: Built) -> None:
        self._goals, self._own_speed = built.world.goals, built.agents.desired_speed
        self._itineraries = [built.world.itineraries[number] for number in built.agents.itinerary.tolist()]
        self.position, self.polygon = built.agents.position.copy(), built.polygon.copy()
        self.number = 0
        self._begin(np.arange(len(built.agents)))

    def _begin(self, rows: NDArray[np.int64]) -> None:
        self.rows = rows[
            np.array(
                [len(self._itineraries[row].goals) > self.number for row in rows.tolist()], dtype=np.bool_
            )
        ]
        own = [self._itineraries[row] for row in self.rows.tolist()]
        self.goal = np.array([each.goals[self.number] for each in own], dtype=np.int32)
        speed = np.array([each.speeds[self.number] for each in own], dtype=np.float64)
        self.speed = np.where(np.isnan(speed), self._own_speed[self.rows], speed)

    def go_on(self, piece: NDArray[Any]) -> None:
        """Begin the next leg from pieces of the goals, (k,);
        agents with -1 have not got there and drop out.
        """
        there = piece >= 0
        rows, piece = self.rows[there], piece[there]
        self.position[rows], self.polygon[rows] = self._goals.pole[piece], self._goals.piece_polygon[piece]
        self.number += 1
        self._begin(rows)


class PathFinder:
    """Asks for each agent the planner that its group has in the run.

    Parameters
    ----------
    built : Built

    Raises
    ------
    ScenarioError
        If a planner cannot work on this ground.
    """

    def __init__(self, built: Built) -> None:
        self.built = built
        self._whose = {
            number: agents_of(built, chosen) for number, chosen in enumerate(built.scenario.navigations)
        }
        self._planners = [
            None if chosen.over_cells else planner_of(built, chosen) for chosen in built.scenario.navigations
        ]
        self.grids: list[Grid | None] = [
            grid_of(built, chosen) if chosen.over_cells else None for chosen in built.scenario.navigations
        ]

    def grid_under(self, row: int) -> tuple[Chosen, Grid] | None:
        """Return the navigation and the cells of an agent by place in the order of identity;
        None where it finds corridors.
        """
        for number, grid in enumerate(self.grids):
            if grid is not None and self._whose[number][row]:
                return self.built.scenario.navigations[number], grid
        return None

    def lengths_of(
        self,
        rows: NDArray[np.int64],
        position: NDArray[np.float64],
        polygon: NDArray[np.int64],
        goal: NDArray[np.int32],
    ) -> _Paths:
        """Search for paths and measure them, without a budget.

        Parameters
        ----------
        rows : (n,) int64
            The agents, by place in the order of identity.
        position : (n, 2) float64, m
        polygon : (n,) int64
        goal : (n,) int32

        Returns
        -------
        status, length, piece
            See `lengths_of`. A path over cells that ends before the goal is none.
        """
        count = len(rows)
        status, length, piece = (
            np.full(count, UNREACHABLE, dtype=np.uint8),
            np.full(count, np.inf),
            np.full(count, -1, dtype=np.int32),
        )
        radius = self.built.agents.radius[rows]
        for number, chosen in enumerate(self.built.scenario.navigations):
            mine = np.flatnonzero(self._whose[number][rows])
            grid, planner = self.grids[number], self._planners[number]
            if not len(mine):
                continue
            if grid is not None:
                found = self._over(grid, chosen, position[mine], polygon[mine], goal[mine], radius[mine])
            else:
                found = lengths_of(
                    self.built.world, position[mine], polygon[mine], goal[mine], radius[mine], planner=planner
                )
            status[mine], length[mine], piece[mine] = found
        return status, length, piece

    def _over(
        self,
        grid: Grid,
        chosen: Chosen,
        position: NDArray[np.float64],
        polygon: NDArray[np.int64],
        goal: NDArray[np.int32],
        radius: NDArray[np.float64],
    ) -> _Paths:
        """Search for paths over cells and measure them."""
        planner = planner_of(self.built, chosen, grid=grid)
        chooser, answers = answers_over_cells(self.built.world, planner, position, polygon, goal, radius)
        status, length = np.full(len(goal), UNREACHABLE, dtype=np.uint8), np.full(len(goal), np.inf)
        piece = np.full(len(goal), -1, dtype=np.int32)
        found = answers.status == FOUND_ON_GRID
        rows = answers.entity[found] - 1
        status[rows], length[rows], piece[rows] = (
            FOUND,
            answers.length[found],
            chooser.piece_at(goal[rows], answers.target[found]),
        )
        return status, length, piece


def ideal_times(built: Built) -> NDArray[np.float64]:
    """Return how long each agent would take if it were alone:
    its quickest path over the mesh through its goals at its desired speed.

    Parameters
    ----------
    built : Built

    Returns
    -------
    (n,) float64, s
        By place in the order of identity; nan for those without a goal, inf where there is no path. A goal
        counts as reached where an agent counts as arrived; from an area the path goes on from the area's
        middle.
    """
    world, legs = built.world, Legs(built)
    total = np.full(len(built.agents), np.nan)
    total[legs.rows] = 0.0
    within = np.array([goal.arrive_within for goal in built.scenario.goals] or [0.0])
    while len(rows := legs.rows):
        _, length, piece = lengths_of(
            world, legs.position[rows], legs.polygon[rows], legs.goal, built.agents.radius[rows], in_time=True
        )
        reach = np.where(piece >= 0, within[world.goals.piece_source[np.maximum(piece, 0)]], 0.0)
        total[rows] += np.maximum(0.0, length - reach) / legs.speed
        legs.go_on(piece)
    return total
