"""Hiding from others: where one is out of sight, and since when."""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.kernels.decorator import kernel
from crowdsim.navigation.mesh.mesh import is_in_sight, locate, make_flood, wall_distance
from crowdsim.navigation.visibility.corners import find_corners
from crowdsim.scenario.behaviours import State
from crowdsim.setup.placement import WALL_MARGIN_M
from crowdsim.systems.base.system import Tick
from crowdsim.systems.behaviour.actions import Action, Crew
from crowdsim.world.columns import Errand, Wait

ROUND_CORNER = 8  # Places round each corner, and one in the middle of each polygon.
BESIDE_M = 0.15  # How far from the corner a body stands.
NEAREST = 64  # Places that are looked at for one that hides.
FLIGHT = 0.5  # What a metre away from those that seek is worth, beside a metre of path.
WITHIN_M = 0.3


class Spots:
    """Places at which an agent of some radius may hide: round the corners of walls, where the points of
    visibility lie ([Norberg 2004], section 4), and in the middles of the polygons of the mesh.

    Attributes
    ----------
    place : (s, 2) float64, m
    polygon : (s,) int64
    layer : (s,) int32
    """

    def __init__(self, mesh: Any, radius: float) -> None:
        corner = mesh.vertex[find_corners(mesh).vertex, :2]
        angle = 2.0 * np.pi * np.arange(ROUND_CORNER) / ROUND_CORNER
        # rounded, since sine and cosine differ between processors in their last bits
        ring = np.round((radius + BESIDE_M) * np.column_stack([np.cos(angle), np.sin(angle)]), 6)
        layers = np.unique(mesh.polygon_layer)
        round_corners = (corner[:, None] + ring[None]).reshape(-1, 2)
        place = np.concatenate([np.tile(round_corners, (len(layers), 1)), _middles(mesh)])
        layer = np.concatenate([np.repeat(layers, len(round_corners)), mesh.polygon_layer]).astype(np.int32)
        polygon = np.empty(len(place), dtype=np.int64)
        find_ground(mesh, place, layer, radius + WALL_MARGIN_M, make_flood(mesh.polygon_count), polygon)
        there = polygon >= 0
        self.place, self.polygon, self.layer = place[there], polygon[there], layer[there]


def _middles(mesh: Any) -> NDArray[np.float64]:
    """Return the mean corner of each polygon of a mesh, (np, 2), m."""
    owner, count = mesh.edge_polygon, mesh.polygon_count
    corner = mesh.vertex[mesh.edge_vertex, :2]
    sums = [np.bincount(owner, weights=corner[:, axis], minlength=count) for axis in (0, 1)]
    return np.column_stack(sums) / np.maximum(np.bincount(owner, minlength=count), 1)[:, None]


@kernel
def find_ground(mesh, place, layer, clear, flood, polygon):
    """Find the polygons under places, (s, 2) m, on floors, (s,), that have so much room (m) round them;
    `polygon`, (s,) int64, receives them, -1 where there is none.
    """
    for spot in range(layer.size):
        x, y = place[spot, 0], place[spot, 1]
        found = locate(mesh, x, y, layer[spot])
        if found >= 0 and wall_distance(mesh, found, x, y, clear, flood) < clear:
            found = -1
        polygon[spot] = found


@kernel
def see_places(mesh, polygon, place, to, layer, seen):
    """Find which places are seen from others: `seen`, (w, s) uint8, receives 1 where a straight line on the
    mesh leads from `place`, (w, 2) m, in polygons (w,), to `to`, (s, 2) m, on floors, (s,).
    """
    for watcher in range(polygon.size):
        for spot in range(layer.size):
            seen[watcher, spot] = is_in_sight(
                mesh, polygon[watcher], place[watcher, 0], place[watcher, 1], to[spot, 0], to[spot, 1],
                layer[spot],
            )  # fmt: skip


class Flee(Action):
    """Hide from others: go where none of them sees it, until none has seen it for a while."""

    looks = True

    def __init__(self, crew: Crew, states: dict[int, State]) -> None:
        super().__init__(crew, states)
        self._spots: dict[float, Spots] = {}
        self._mesh: Any = None

    def begin(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Go out of sight."""
        self.crew.agents.seen_tick[rows] = tick.number
        self.crew.agents.errand[rows] = Errand.NONE
        self.crew.errands.stop(rows, Wait.STAY)
        self._hide(number, rows)

    def arrived(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Stand there."""
        self.crew.agents.errand[rows] = Errand.NONE
        self.crew.errands.stop(rows, Wait.STAY)

    def look(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Go on, if one of the others sees it and it has nowhere to go, or sees where it goes."""
        agents, state = self.crew.agents, self.states[number]
        hidden = agents.seen_tick[rows] + self.crew.conditions.ticks(state.seconds) <= tick.number
        self.crew.errands.stop(rows[hidden], Wait.NOTHING)
        agents.errand[rows[hidden]] = Errand.DONE
        seen = agents.seen_tick[rows] == tick.number
        failed = rows[agents.errand[rows] == Errand.FAILED]
        agents.errand[failed] = Errand.NONE
        self.crew.errands.stop(failed, Wait.STAY)
        rows = rows[seen & ~hidden]
        if len(rows):
            self._hide(number, rows[(agents.errand[rows] != Errand.GOING) | self._is_found_out(number, rows)])

    def _watchers(self, number: int, row: int) -> NDArray[np.int64]:
        """Return the rows of those that may see an agent: those from which it hides, as far as they see."""
        state = self.states[number]
        _, other = self.crew.conditions.pairs(np.array([row]), state.others, 2.0 * state.distance)
        return other

    def _is_found_out(self, number: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return of agents that are on their way, (k,), whether one of the others sees where they go."""
        agents, world = self.crew.agents, self.crew.world
        found = np.zeros(len(rows), dtype=np.bool_)
        for place, row in enumerate(rows.tolist()):
            if agents.goal[row] >= world.destinations.fixed:
                to = world.destinations.places_of(agents.goal[[row]])
                watchers = self._watchers(number, row)
                found[place] = bool(self._seen(watchers, to, agents.layer[[row]]).any())
        return found

    def _seen(
        self, watchers: NDArray[np.int64], to: NDArray[np.float64], layer: NDArray[np.int32]
    ) -> NDArray[np.uint8]:
        """Return which watchers see which places, (w, s)."""
        world = self.crew.world
        seen = np.zeros((len(watchers), len(to)), dtype=np.uint8)
        see_places(
            world.mesh, world.polygons(watchers), world.agents.position[watchers],
            np.ascontiguousarray(to), layer.astype(np.int32), seen,
        )  # fmt: skip
        return seen

    def _hide(self, number: int, rows: NDArray[np.int64]) -> None:
        """Send agents out of sight."""
        agents = self.crew.agents
        for row in rows.tolist():
            spots = self._spots_for(float(agents.radius[row]))
            own = np.flatnonzero(spots.layer == agents.layer[row])
            apart = hypots(*(spots.place[own] - agents.position[row]).T)
            own = own[np.argsort(apart, kind="stable")[:NEAREST]]
            watchers = self._watchers(number, row)
            if not len(own) or not len(watchers):
                continue
            chosen = self._best(row, watchers, spots, own)
            one = np.array([row])
            if not self.crew.errands.go_to(one, spots.place[[chosen]], spots.layer[[chosen]], WITHIN_M).all():
                self.crew.errands.stop(one, Wait.STAY)

    def _best(self, row: int, watchers: NDArray[np.int64], spots: Spots, own: NDArray[np.int64]) -> int:
        """Return the place that is out of sight and near, and far from those that seek; if they see all of
        them, that which is farthest from them.
        """
        agents = self.crew.agents
        place = spots.place[own]
        seen = self._seen(watchers, place, spots.layer[own]).any(axis=0)
        path = hypots(*(place - agents.position[row]).T)
        away = hypots(*(place[None] - agents.position[watchers][:, None]).transpose(2, 0, 1)).min(axis=0)
        first: NDArray[np.bool_] = path < away  # it is there before them
        price = path - FLIGHT * away
        for fits in (~seen & first, ~seen):
            if fits.any():
                return int(own[int(np.argmin(np.where(fits, price, np.inf)))])
        return int(own[int(np.argmax(np.where(first | ~first.any(), away, -np.inf)))])

    def _spots_for(self, radius: float) -> Spots:
        """Return the places for a radius, on the ground as it is now."""
        mesh = self.crew.world.mesh
        if self._mesh is not mesh:
            self._mesh = mesh
            self._spots.clear()
        if radius not in self._spots:
            self._spots[radius] = Spots(mesh, radius)
        return self._spots[radius]


class Sightings:
    """Notes when those that hide were seen last.

    Parameters
    ----------
    crew : Crew
    states : sequence of State
        Of all machines.
    """

    def __init__(self, crew: Crew, states: list[State]) -> None:
        self._crew = crew
        # states whose agents hide: from which others, and how far those see
        self._asked: dict[int, tuple[tuple[int | str, ...], float]] = {}
        for number, state in enumerate(states):
            if state.kind == "flee":
                self._asked[number] = state.others, state.distance
            for condition in state.conditions():
                if condition.kind == "hidden":
                    self._asked[number] = condition.others, condition.distance

    def look(self, tick: Tick) -> None:
        """Note which agents are seen now."""
        agents = self._crew.agents
        for number, (others, distance) in self._asked.items():
            rows = np.flatnonzero(agents.machine_state == number)
            if len(rows):
                first, second = self._crew.conditions.pairs(rows, others, distance)
                seen = self._crew.conditions.sees(second, rows[first])
                agents.seen_tick[rows[first[seen]]] = tick.number

    def begin(self, number: int, rows: NDArray[np.int64], tick: int) -> None:
        """Let agents begin to hide that begin a state."""
        if number in self._asked:
            self._crew.agents.seen_tick[rows] = tick
