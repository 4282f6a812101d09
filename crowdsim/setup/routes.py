"""Routes over connections: whether an agent walks to its goal or goes to a connection, and to which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.goals.destinations import Points, as_goals
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.mesh.group_ground import GroupGround
from crowdsim.navigation.mesh.mesh import NavMesh, locate_many, see_many
from crowdsim.navigation.planning.mesh_planner import MeshPlanner, usual_planner
from crowdsim.navigation.planning.portals import FoundCorridors
from crowdsim.navigation.planning.protocol import Asked
from crowdsim.navigation.search.sharing import ShareParameters
from crowdsim.scenario.waypaths import Waypath
from crowdsim.world.world import World

AT_ONCE = 256  # Agents that are looked at together.
# Requests for which no searches are shared: a planner that shares some is made anew each time, which takes a
# millisecond, as much as so many searches of their own.
FEW = 128
SAME_S = 1e-9  # Rounding: routes that take as long.
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
    onward : (k, g) float64, s
        And from where it comes out at each gate.
    """

    gate: NDArray[np.int32]
    gate_out: NDArray[np.int32]
    seconds: NDArray[np.float64]
    onward: NDArray[np.float64]


class Legs(NamedTuple):
    """How long agents walk.

    Attributes
    ----------
    walk : (k,) float64, s
        To their goals; inf where no path leads there, here and below.
    to_gate : (k, g) float64, s
        To each gate.
    to_goal : (k, g) float64, s
        From each gate to their goals.
    between : (r, g, g) float64, m
        From gate to gate, by how wide agents are.
    size : (k,) int64
        Which of these holds for an agent.
    speed : (k,) float64, m/s
    """

    walk: NDArray[np.float64]
    to_gate: NDArray[np.float64]
    to_goal: NDArray[np.float64]
    between: NDArray[np.float64]
    size: NDArray[np.int64]
    speed: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: Sequence[Legs], places: Sequence[NDArray[np.int64]]) -> Legs:
        """Return those of several parts of some agents, of which each has the places given, (k,)."""
        if len(parts) == 1:
            return parts[0]
        back = np.argsort(np.concatenate(places))
        before = np.cumsum([0, *(len(each.between) for each in parts)])
        sizes = np.concatenate([each.size + first for each, first in zip(parts, before, strict=False)])
        walk, to_gate, to_goal, speed = (
            np.concatenate([getattr(each, name) for each in parts])[back]
            for name in ("walk", "to_gate", "to_goal", "speed")
        )
        between = np.concatenate([each.between for each in parts])
        return cls(walk, to_gate, to_goal, between, sizes[back], speed)

    def only(self, part: Any) -> Legs:
        """Return those of some agents."""
        return Legs(
            self.walk[part], self.to_gate[part], self.to_goal[part], self.between, self.size[part],
            self.speed[part],
        )  # fmt: skip


def quickest(
    legs: Legs, begin: NDArray[np.int64], end: NDArray[np.int64], cost: NDArray[np.float64]
) -> Chosen:
    """Return for agents whether they walk, or to which gate they go.

    Parameters
    ----------
    legs : Legs
        Of k agents.
    begin, end : (p,) int64
        Gates from which one can get to which.
    cost : (k, p) float64, s
        How long that takes each; inf where it may not.

    Notes
    -----
    From the goal backwards, all agents at once, until nothing gets quicker (Bellman and Ford). Of routes that
    take as long an agent takes that with the fewest rides, then that by the gate with the lowest number.
    Twin: `tests/reference/routes.py`.
    """
    rows, count = legs.to_gate.shape
    ahead = np.full((rows, count), np.inf)  # from where it goes in at a gate to the goal
    choice = np.full((rows, count), -1, dtype=np.int32)
    for _ in range(count + 1):
        on = legs.to_goal.copy()  # from where it comes out at a gate
        for size in range(len(legs.between)):
            own = legs.size == size
            steps = legs.between[size][None] / legs.speed[own, None, None] + ahead[own, None, :]
            on[own] = np.minimum(on[own], steps.min(axis=2))
        total, before = cost + on[:, end], ahead.copy()
        for pair, gate in enumerate(begin.tolist()):
            better = total[:, pair] < ahead[:, gate] - SAME_S
            ahead[better, gate] = total[better, pair]
            choice[better, gate] = end[pair]
        if np.array_equal(before, ahead):
            break
    whole = legs.to_gate + ahead
    best = np.argmin(whole, axis=1)
    least = whole[np.arange(rows), best]
    rides = least < legs.walk - SAME_S
    out = choice[np.arange(rows), best]
    return Chosen(
        np.where(rides, best, -1).astype(np.int32),
        np.where(rides, out, -1).astype(np.int32),
        np.minimum(least, legs.walk),
        on,
    )


def _nothing() -> None:
    """Return the ground of agents that are kept off none."""


class Routes:
    """The quickest routes over walks and connections on a graph of gates.

    Walks are measured on the mesh, whatever planner leads agents along them, and take as long as an agent
    likes to walk. So each planner finds one walk at a time, and knows nothing of connections.

    Parameters
    ----------
    world : World
        With connections.
    kept_off : callable, optional
        Returns the ground of the agents, where their paths are kept off some; asked again when ground
        changes.

    Attributes
    ----------
    begin, end : (p,) int64
        Gates from which one can get to which, in pairs.
    connection : (p,) int64
        By which.
    """

    def __init__(self, world: World, kept_off: Callable[[], GroupGround | None] | None = None) -> None:
        assert world.riding is not None
        self._world, facts = world, world.riding
        self._kept_off = kept_off if kept_off is not None else _nothing
        pairs = [
            (first + a, first + b, number)
            for number, (first, each) in enumerate(
                zip(facts.first_gate.tolist(), facts.connections, strict=True)
            )
            for a, b in each.pairs()
        ]
        self.begin, self.end, self.connection = np.array(pairs, dtype=np.int64).T
        self._version = -1  # of the gates
        self._is_closed = np.zeros(0, dtype=np.bool_)
        self._known_mesh: NavMesh | None = None
        self._mesh: NavMesh = world.mesh  # over which they may walk
        self._own: GroupGround | None = None
        self._polygon = np.zeros(0, dtype=np.int64)
        self._between: dict[float, NDArray[np.float64]] = {}
        self._to_goals: dict[tuple[int, float], NDArray[np.float64]] = {}
        self._known_goals: GoalPieces | None = None
        self._planners: list[tuple[GoalPieces, MeshPlanner]] = []  # of the ground as it is now, the last two

    def _stand_on_ground(self) -> None:
        """Find the gates on the ground as it is now."""
        mesh, riding = self._world.mesh, self._world.riding
        assert riding is not None
        if self._known_mesh is not mesh or self._version != riding.version:
            self._known_mesh, self._version = mesh, riding.version
            self._point = np.array([gate.point for gate in riding.gates])
            self._layer = np.array([gate.layer for gate in riding.gates], dtype=np.int32)
            count = len(self._layer)
            self._own = self._kept_off()
            self._mesh = mesh if self._own is None else self._own.passable
            self._between.clear()
            self._known_goals = None
            self._planners.clear()
            self._goals = as_goals(mesh, Points(self._point, self._layer, np.full(count, 0.1)))
            self._polygon = np.empty(count, dtype=np.int64)
            locate_many(0, count, mesh, self._point, self._layer, self._polygon)
            self._is_closed = self._find_closed()
        if self._known_goals is not self._world.goals:
            self._known_goals = self._world.goals
            self._to_goals.clear()

    def closed(self) -> NDArray[np.bool_]:
        """Return which pairs of gates lead nowhere now, (p,): parts of waypaths over closed ground, and what
        leads from, over or to ground that the agents are kept off.
        """
        self._stand_on_ground()
        return self._is_closed

    def _find_closed(self) -> NDArray[np.bool_]:
        facts = self._world.riding
        assert facts is not None
        is_off = self._is_barred(self._polygon)
        found = is_off[self.begin] | is_off[self.end]
        for number, (first, each) in enumerate(
            zip(facts.first_gate.tolist(), facts.connections, strict=True)
        ):
            if each.waypath is not None:
                # of the pieces between waypoints before each waypoint, how many are blocked
                before = np.cumsum([0, *self._blocked(each.waypath)])
                own = np.flatnonzero(self.connection == number)
                found[own] |= before[self.begin[own] - first] != before[self.end[own] - first]
        return found

    def _blocked(self, waypath: Waypath) -> NDArray[np.bool_]:
        """Return which pieces between waypoints lead over ground that the agents may not walk on now,
        (w - 1,).
        """
        line = waypath.line
        layer = np.full(len(line), max(0, waypath.layer), dtype=np.int32)
        polygon, seen = np.empty(len(line), dtype=np.int64), np.zeros(len(line) - 1, dtype=np.bool_)
        locate_many(0, len(line), self._mesh, line, layer, polygon)
        may_walk = (polygon >= 0) & ~self._is_barred(polygon)
        there = np.flatnonzero(may_walk[:-1] & may_walk[1:])
        own = np.zeros(len(there), dtype=np.bool_)
        see_many(there, self._mesh, polygon, line, np.ascontiguousarray(line[there + 1]), layer[there], own)
        seen[there] = own
        found: NDArray[np.bool_] = np.add.reduceat(~seen, waypath.waypoint[:-1]) > 0
        return found

    def _is_barred(self, polygon: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which polygons, (k,), -1 for none, the agents are kept off, (k,)."""
        if self._own is None:
            return np.zeros(len(polygon), dtype=np.bool_)
        return (polygon >= 0) & self._own.barred[polygon]

    def measure(self, walkers: Walkers, goal: NDArray[np.int32]) -> Legs:
        """Return how long agents walk, (k,), each to its goal, (k,), and to and from gates."""
        self._stand_on_ground()
        if self._own is not None:
            begin, under, _ = self._own.walks_off(walkers.place, walkers.polygon)
            walkers = walkers._replace(place=begin, polygon=under)
        parts = [slice(at, at + AT_ONCE) for at in range(0, len(goal), AT_ONCE)]
        legs = [self._legs(walkers.only(part), goal[part]) for part in parts]
        size = np.ceil(walkers.radius / SAME_M - 1e-9) * SAME_M
        sizes, kind = np.unique(size, return_inverse=True)
        between = np.array([self._between_gates(float(each)) for each in sizes])
        walk, to_gate = (np.concatenate(each) for each in zip(*legs, strict=True))
        speed = np.maximum(walkers.speed, 1e-3)
        goals, place = np.unique(np.column_stack([kind.reshape(-1), goal]), axis=0, return_inverse=True)
        to_goal = np.array([self._from_gates(int(each), float(sizes[row])) for row, each in goals]).reshape(
            -1, len(self._layer)
        )[place.reshape(-1)]
        return Legs(
            walk / speed, to_gate / speed[:, None], to_goal / speed[:, None], between, kind.reshape(-1), speed
        )

    def choose(self, legs: Legs, cost: NDArray[np.float64], may: NDArray[np.bool_]) -> Chosen:
        """Return what agents do next.

        Parameters
        ----------
        legs : Legs
            Of k agents.
        cost : (p,) or (k, p) float64, s
            How long each pair of gates takes, waiting included.
        may : (k, p) bool
            Which pairs each may use.
        """
        return quickest(legs, self.begin, self.end, np.where(may, cost, np.inf))

    def _legs(
        self, walkers: Walkers, goal: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how far it is to their goals, (k,) m, and to each gate, (k, g) m."""
        count, rows = len(self._layer), len(goal)
        gate = np.tile(np.arange(count, dtype=np.int32), rows)
        walk = self._lengths(self._world.goals, walkers.place, walkers.polygon, goal, walkers.radius)
        each = (
            np.repeat(walkers.place, count, axis=0), np.repeat(walkers.polygon, count), gate,
            np.repeat(walkers.radius, count),
        )  # fmt: skip
        return walk, self._lengths(self._goals, *each).reshape(rows, count)

    def _from_gates(self, goal: int, radius: float) -> NDArray[np.float64]:
        """Return how far it is from each gate to a goal, (g,) m."""
        if (goal, radius) not in self._to_goals:
            count = len(self._layer)
            self._to_goals[goal, radius] = self._from_points(
                self._world.goals, np.full(count, goal, dtype=np.int32), np.arange(count), radius
            )
        return self._to_goals[goal, radius]

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

    def _planner(self, goals: GoalPieces, requests: int) -> MeshPlanner:
        """Return a planner that answers whatever it was asked before as if it were new."""
        mesh = self._mesh
        if requests > FEW:
            return usual_planner(mesh, goals)
        for known, planner in self._planners:
            if known is goals:
                return planner
        kind = "optimal" if mesh.is_even else "mesh"
        planner = MeshPlanner(mesh, goals, ShareParameters(share_searches=False), kind)
        self._planners = [*self._planners[-1:], (goals, planner)]
        return planner

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
        mesh = self._mesh
        asked = Asked(
            mesh,
            goals,
            np.ascontiguousarray(place),
            np.ascontiguousarray(polygon),
            goal,
            np.ascontiguousarray(radius),
        )
        paths = FoundCorridors(self._planner(goals, len(goal)), asked)
        length = paths.lengths(in_time=True)
        return np.where(paths.piece >= 0, length, np.inf)
