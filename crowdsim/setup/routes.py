"""Routes over connections: whether an agent walks to its goal or goes to a connection, and to which."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.goals.destinations import Points, as_goals
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.mesh.mesh import locate_many
from crowdsim.navigation.planning.mesh_planner import usual_planner
from crowdsim.navigation.planning.portals import FoundCorridors
from crowdsim.navigation.planning.protocol import Asked
from crowdsim.world.world import World

AT_ONCE = 256  # Agents that are looked at together.
SAME_M = 0.02  # Radii up to so much apart have the same paths from gate to gate.


class Walkers(NamedTuple):
    """Agents that ask for a route.

    Attributes
    ----------
    place : (k, 2) float64, m
    polygon : (k,) int64
        Of the mesh under each.
    radius : (k,) float64, m
    speed : (k,) float64, m/s
    """

    place: NDArray[np.float64]
    polygon: NDArray[np.int64]
    radius: NDArray[np.float64]
    speed: NDArray[np.float64]

    def only(self, part: Any) -> Walkers:
        """Return some of them."""
        return Walkers(self.place[part], self.polygon[part], self.radius[part], self.speed[part])


class Chosen(NamedTuple):
    """What agents do next.

    Attributes
    ----------
    gate, gate_out : (k,) int32
        Where each goes in, and where it comes out; -1 where it walks to its goal.
    seconds : (k,) float64, s
        How long it expects to take; inf where nothing leads there.
    """

    gate: NDArray[np.int32]
    gate_out: NDArray[np.int32]
    seconds: NDArray[np.float64]


class Routes:
    """The quickest routes over walks and connections ([Dijkstra 1959] on a graph of gates).

    Walks are measured on the mesh, whatever planner leads agents along them, and take as long as an agent
    likes to walk. So each planner finds one walk at a time, and knows nothing of connections.

    Parameters
    ----------
    world : World
        With connections.

    Attributes
    ----------
    begin, end : (p,) int64
        Gates from which one can get to which, in pairs.
    connection : (p,) int64
        By which.
    """

    def __init__(self, world: World) -> None:
        assert world.riding is not None
        self._world, facts = world, world.riding
        pairs = [
            (first + a, first + b, number)
            for number, (first, each) in enumerate(
                zip(facts.first_gate.tolist(), facts.connections, strict=True)
            )
            for a, b in each.pairs()
        ]
        self.begin, self.end, self.connection = np.array(pairs, dtype=np.int64).T
        self._point = np.array([gate.point for gate in facts.gates])
        self._layer = np.array([gate.layer for gate in facts.gates], dtype=np.int32)
        self._mesh: Any = None
        self._polygon = np.zeros(0, dtype=np.int64)
        self._between: dict[float, NDArray[np.float64]] = {}

    def choose(
        self,
        who: Walkers,
        goal: NDArray[np.int32],
        cost: NDArray[np.float64],
        may: NDArray[np.bool_],
    ) -> Chosen:
        """Return what agents do next.

        Parameters
        ----------
        who : Walkers
            (k,)
        goal : (k,) int32
            Where they are bound for.
        cost : (p,) float64, s
            How long each pair of gates takes, waiting included.
        may : (k, p) bool
            Which pairs each may use.
        """
        parts = [slice(at, at + AT_ONCE) for at in range(0, len(goal), AT_ONCE)]
        found = []
        for part in parts:
            found.append(self._choose(who.only(part), goal[part], cost, may[part]))
        return Chosen(*(np.concatenate(each) for each in zip(*found, strict=True)))

    def _stand_on_ground(self) -> None:
        """Find the gates on the ground as it is now."""
        mesh, count = self._world.mesh, len(self._layer)
        if self._mesh is not mesh:
            self._mesh = mesh
            self._between.clear()
            self._goals = as_goals(mesh, Points(self._point, self._layer, np.full(count, 0.1)))
            self._polygon = np.empty(count, dtype=np.int64)
            locate_many(0, count, mesh, self._point, self._layer, self._polygon)

    def _choose(
        self,
        who: Walkers,
        goal: NDArray[np.int32],
        cost: NDArray[np.float64],
        may: NDArray[np.bool_],
    ) -> Chosen:
        self._stand_on_ground()
        world, count, rows = self._world, len(self._layer), len(goal)
        place, polygon, radius, speed = who.place, who.polygon, who.radius, np.maximum(who.speed, 1e-3)
        walk = self._lengths(world.goals, place, polygon, goal, radius) / speed
        gate = np.tile(np.arange(count, dtype=np.int32), rows)
        to_gate = (
            self._lengths(
                self._goals,
                np.repeat(place, count, axis=0),
                np.repeat(polygon, count),
                gate,
                np.repeat(radius, count),
            ).reshape(rows, count)
            / speed[:, None]
        )
        size = np.ceil(radius / SAME_M - 1e-9) * SAME_M
        kinds, kind = np.unique(np.column_stack([size, goal]), axis=0, return_inverse=True)
        kind = kind.reshape(-1)
        to_goal = np.array([self._from_gates(world.goals, int(each[1]), float(each[0])) for each in kinds])
        out = to_goal[kind] / speed[:, None]
        between = np.array([self._between_gates(float(each[0])) for each in kinds])
        ahead = np.full((rows, count), np.inf)  # from where it goes in at a gate to the goal
        choice = np.full((rows, count), -1, dtype=np.int32)
        each_cost = np.where(may, cost[None, :], np.inf)
        for _ in range(count + 1):
            on = np.empty_like(out)
            for number in range(len(kinds)):
                own = kind == number
                steps = between[number][None] / speed[own, None, None] + ahead[own, None, :]
                on[own] = np.minimum(out[own], steps.min(axis=2))
            total = each_cost + on[:, self.end]
            before = ahead.copy()
            for pair, begin in enumerate(self.begin.tolist()):
                better = total[:, pair] < ahead[:, begin] - 1e-9
                ahead[better, begin] = total[better, pair]
                choice[better, begin] = self.end[pair]
            if np.array_equal(before, ahead):
                break
        whole = to_gate + ahead
        best = np.argmin(whole, axis=1)
        least = whole[np.arange(rows), best]
        rides = least < walk - 1e-9
        gate_in = np.where(rides, best, -1).astype(np.int32)
        gate_out = np.where(rides, choice[np.arange(rows), best], -1).astype(np.int32)
        return Chosen(gate_in, gate_out, np.minimum(least, walk))

    def _from_gates(self, goals: GoalPieces, goal: int, radius: float) -> NDArray[np.float64]:
        """Return how far it is from each gate to a goal, (g,) m."""
        count = len(self._layer)
        return self._from_points(goals, np.full(count, goal, dtype=np.int32), np.arange(count), radius)

    def _between_gates(self, radius: float) -> NDArray[np.float64]:
        """Return how far it is from each gate to each, (g, g) m."""
        if radius not in self._between:
            count = len(self._layer)
            begin, end = np.divmod(np.arange(count * count), count)
            found = self._from_points(self._goals, end.astype(np.int32), begin, radius)
            self._between[radius] = found.reshape(count, count)
        return self._between[radius]

    def _from_points(
        self, goals: GoalPieces, goal: NDArray[np.int32], gate: NDArray[np.int64], radius: float
    ) -> NDArray[np.float64]:
        found = np.full(len(goal), np.inf)
        there = self._polygon[gate] >= 0
        own = gate[there]
        found[there] = self._lengths(
            goals, self._point[own], self._polygon[own], goal[there], np.full(len(own), radius)
        )
        return found

    def _lengths(
        self,
        goals: GoalPieces,
        place: NDArray[np.float64],
        polygon: NDArray[np.int64],
        goal: NDArray[np.int32],
        radius: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return how long paths are, (k,), as seconds at 1 m/s; inf where there is none."""
        if not len(goal):
            return np.zeros(0)
        mesh = self._world.mesh
        asked = Asked(
            mesh,
            goals,
            np.ascontiguousarray(place),
            np.ascontiguousarray(polygon),
            goal,
            np.ascontiguousarray(radius),
        )
        paths = FoundCorridors(usual_planner(mesh, goals), asked)
        length = paths.lengths(in_time=True)
        return np.where(paths.piece >= 0, length, np.inf)
