"""The paths that agents would take if each were alone, found by the planners of their groups:
whether there is one, how long it is, to which piece of the goal it leads, and its line for pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.grid.layout import Shut
from crowdsim.navigation.planners import planner_kind
from crowdsim.navigation.planning.mesh_planner import usual_planner
from crowdsim.navigation.planning.portals import FoundCorridors
from crowdsim.navigation.planning.protocol import Asked, FoundPaths, Line
from crowdsim.setup.build import Built, agents_of, own_ground, planner_of


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


class FoundByGroups(FoundPaths):
    """Paths of agents, (n,), that their groups' planners found:
    each of `parts` has places in these n, ascending, what was found for them, and whether they walk along
    curves.
    """

    def __init__(self, count: int, parts: Sequence[tuple[NDArray[np.int64], FoundPaths, bool]]) -> None:
        self._parts, self.piece = parts, np.full(count, -1, dtype=np.int32)
        for mine, found, _ in parts:
            self.piece[mine] = found.piece

    def lengths(self, *, in_time: bool = False) -> NDArray[np.float64]:
        """Return how long the paths are; see `FoundPaths.lengths`."""
        length = np.full(len(self.piece), np.inf)
        for mine, found, _ in self._parts:
            length[mine] = found.lengths(in_time=in_time)
        return length

    def lines(self) -> list[Line]:
        """Return the paths as lines, those of one planner after those of the other."""
        return [
            line._replace(row=int(mine[line.row]))
            for mine, found, is_curved in self._parts
            for line in (found.curves() if is_curved and isinstance(found, FoundCorridors) else found.lines())
        ]


class PathFinder:
    """Asks for each agent the planner that its group has in the run.

    Parameters
    ----------
    built : Built
    standing : sequence of Shut
        Obstacles that have come, see `planner_of`.

    Raises
    ------
    ScenarioError
        If a planner cannot work on this ground.
    """

    def __init__(self, built: Built, standing: Sequence[Shut] = ()) -> None:
        self.built = built
        self._planners = []
        for chosen in built.scenario.navigations:
            own = own_ground(built, chosen)
            planner = planner_of(built, chosen, own, standing)
            find = planner_kind(chosen.name).space.find
            is_curved = chosen.values.get("smoothing") == "bezier"
            self._planners.append((find, planner, own, agents_of(built, chosen), is_curved))

    def find(
        self,
        rows: NDArray[np.int64],
        position: NDArray[np.float64],
        polygon: NDArray[np.int64],
        goal: NDArray[np.int32],
    ) -> FoundPaths:
        """Search for paths, without a budget.

        Parameters
        ----------
        rows : (n,) int64
            The agents, by place in the order of identity.
        position : (n, 2) float64, m
        polygon : (n,) int64
        goal : (n,) int32
        """
        world, radius, parts = self.built.world, self.built.agents.radius[rows], []
        for find, planner, own, is_whose, is_curved in self._planners:
            mine = np.flatnonzero(is_whose[rows])
            if len(mine):
                begin, under = position[mine], polygon[mine]
                if own.filtered is not None:
                    begin, under, _ = own.filtered.walks_off(begin, under)
                asked = Asked(world.mesh, world.goals, begin, under, goal[mine], radius[mine])
                parts.append((mine, find(planner, asked), is_curved))
        return FoundByGroups(len(rows), parts)


def lines_of(built: Built, most: int) -> list[Line]:
    """Return the paths of agents to their first goals; the row of a line is the agent's place in the order of
    identity.

    Parameters
    ----------
    built : Built
    most : int
        Of how many agents, evenly over all that have a goal; an agent without a path has no line.

    Raises
    ------
    ScenarioError
        If a planner cannot work on this ground.
    """
    legs = Legs(built)
    shown = slice(None, None, max(1, -(-len(legs.rows) // most)))
    rows, goal = legs.rows[shown], legs.goal[shown]
    found = PathFinder(built).find(rows, legs.position[rows], legs.polygon[rows], goal)
    return [line._replace(row=int(rows[line.row])) for line in found.lines()]


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
    mesh, goals = world.mesh, world.goals
    while len(rows := legs.rows):
        position, polygon, radius = legs.position[rows], legs.polygon[rows], built.agents.radius[rows]
        asked = Asked(mesh, goals, position, polygon, legs.goal, radius)
        found = FoundCorridors(usual_planner(mesh, goals), asked)
        reach = np.where(found.piece >= 0, within[goals.piece_source[np.maximum(found.piece, 0)]], 0.0)
        total[rows] += np.maximum(0.0, found.lengths(in_time=True) - reach) / legs.speed
        legs.go_on(found.piece)
    return total
