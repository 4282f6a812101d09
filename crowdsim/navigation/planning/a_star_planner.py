"""A base for planners in plain Python that weigh metres: A* with weights and a heuristic of one's own
([Norberg 2004], section 3).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Generator, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.mesh.mesh import NavMesh, are_parted, height_at, is_cut_off, width_between
from crowdsim.navigation.planning.plain_planner import Path, PlainPlanner, Request

START = -1


class Spot(NamedTuple):
    """A point of a path, (x, y, z) m, in a polygon of the mesh."""

    x: float
    y: float
    z: float
    polygon: int


class AStarPlanner(PlainPlanner):
    """A planner whose paths are the cheapest by what `weight` says, over the middles of portals.

    A plug-in derives from it, gives it a `name`, and writes `weight`, `heuristic`, or both. With neither it
    finds paths that are short along the surface.

    Notes
    -----
    A path is the cheapest over middles of portals if `heuristic` is nowhere above what is left, and falls by
    no more than a part costs along it (it is consistent).
    """

    def __init__(self, mesh: NavMesh, goals: GoalPieces, parameters: Any = None) -> None:
        super().__init__(mesh, goals, parameters)
        ends = mesh.vertex[mesh.edge_vertex], mesh.vertex[mesh.edge_end]
        # python's numbers, which are quicker one by one
        self._middle: list[list[float]] = (0.5 * (ends[0] + ends[1])).tolist()
        self._twin: list[int] = mesh.edge_twin.tolist()
        self._polygon: list[int] = mesh.edge_polygon.tolist()
        self._first: list[int] = mesh.polygon_start.tolist()
        self._width: list[float] = mesh.edge_width.tolist()

    def weight(self, request: Request, start: Spot, end: Spot) -> float:
        """Return what a straight part of a path costs, at least 0; `math.inf` where none may lead.

        Parameters
        ----------
        request : Request
        start, end : Spot
            In one polygon: `end` lies on its edge, or is the goal.
        """
        return math.dist(start[:3], end[:3])

    def heuristic(self, request: Request, spot: Spot) -> float:
        """Return what is left of a path at a point at least: 0 looks everywhere."""
        return min(
            (math.dist(spot[:3], target[:3]) for target in self._targets(request.goal).values()), default=0.0
        )

    def take_goals(self, goals: GoalPieces, changed: NDArray[np.int64]) -> None:
        """Search for other goals from now on; see `Planner.take_goals`."""
        super().take_goals(goals, changed)
        self._known.clear()

    @property
    def _known(self) -> dict[int, dict[int, Spot]]:
        """The targets of goals, as far as they were asked for."""
        found: dict[int, dict[int, Spot]] = self.__dict__.setdefault("_known_targets", {})
        return found

    def _targets(self, goal: int) -> dict[int, Spot]:
        """Return a point in each piece of a goal, by piece."""
        if goal not in self._known:
            found = {}
            for piece in self.pieces(goal):
                polygon = int(self.goals.piece_polygon[piece])
                x, y = self.target[piece].tolist()
                found[piece] = Spot(x, y, float(height_at(self.mesh, polygon, x, y)), polygon)
            self._known[goal] = found
        return self._known[goal]

    def search(self, request: Request) -> Generator[None, None, Path | None]:
        """Search; see `PlainPlanner.search`."""
        targets = self._targets(request.goal)
        goal_in: dict[int, list[int]] = {}
        for piece, spot in targets.items():
            goal_in.setdefault(spot.polygon, []).append(piece)
        begin = Spot(
            request.x,
            request.y,
            float(height_at(self.mesh, request.polygon, request.x, request.y)),
            request.polygon,
        )
        # what waits: bound, portal or -1 - piece, portal before, cost to there
        ahead: list[tuple[float, int, int, float]] = [(0.0, START, START, 0.0)]
        came: dict[int, int] = {}
        is_begun = False
        while ahead:
            _, here, before, cost = heapq.heappop(ahead)
            if is_begun and here < 0:
                return Path(-1 - here, self._walked(came, before))
            if is_begun and here in came:
                continue
            if is_begun:
                came[here] = before
            is_begun = True
            spot = begin if here == START else self._spot(self._twin[here])
            for piece in goal_in.get(spot.polygon, ()):
                left = self.weight(request, spot, targets[piece])
                if left < math.inf and self._can_arrive(request, spot, here, targets[piece]):
                    heapq.heappush(ahead, (cost + left, -1 - piece, here, cost + left))
            for portal in self._portals_out(request, spot, here):
                if portal in came:
                    continue
                x, y, z = self._middle[portal]
                part = self.weight(request, spot, Spot(x, y, z, spot.polygon))
                if part < math.inf:
                    total = cost + part
                    beyond = self._spot(self._twin[portal])
                    heapq.heappush(ahead, (total + self.heuristic(request, beyond), portal, here, total))
            yield
        return None

    def _can_arrive(self, request: Request, spot: Spot, came_by: int, target: Spot) -> bool:
        """Return whether no gap that is too narrow lies between a goal and where a path comes in."""
        width = 2.0 * request.radius
        if came_by == START:
            return not are_parted(self.mesh, spot.polygon, spot.x, spot.y, target.x, target.y, width)
        return not is_cut_off(self.mesh, spot.polygon, self._twin[came_by], target.x, target.y, width)

    def _spot(self, edge: int) -> Spot:
        """Return the middle of a half-edge, in its polygon."""
        x, y, z = self._middle[edge]
        return Spot(x, y, z, self._polygon[edge])

    def _portals_out(self, request: Request, spot: Spot, came_by: int) -> Iterator[int]:
        """Return the half-edges through which an agent can leave a polygon that it came into by a portal, or
        begins in.
        """
        width, polygon = 2.0 * request.radius, spot.polygon
        entry = self._twin[came_by] if came_by != START else START
        for edge in range(self._first[polygon], self._first[polygon + 1]):
            if self._twin[edge] < 0 or edge == entry or self._width[edge] < width:
                continue
            if entry == START:
                if is_cut_off(self.mesh, polygon, edge, spot.x, spot.y, width):
                    continue
            elif width_between(self.mesh, polygon, entry, edge) < width:
                continue
            yield edge

    @staticmethod
    def _walked(came: dict[int, int], portal: int) -> list[int]:
        """Return the portals of a path whose last one is given."""
        found = []
        while portal != START:
            found.append(portal)
            portal = came[portal]
        return found[::-1]
