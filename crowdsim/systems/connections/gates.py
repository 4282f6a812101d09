"""Gates of connections: which agents wait there, go in by turn, ride and come out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.corridor.corner_cache import NOT_CACHED
from crowdsim.navigation.goals.destinations import Points
from crowdsim.navigation.mesh.mesh import locate_many, make_flood, see_many
from crowdsim.setup.entrances import draw_spots, find_room, shares_of
from crowdsim.setup.gates import lay_portals
from crowdsim.setup.placement import GAP_M, WALL_MARGIN_M
from crowdsim.systems.base.system import Setup, Tick
from crowdsim.systems.paths.lost_paths import GAVE_UP, forget_path, lose_paths
from crowdsim.systems.paths.sending import send
from crowdsim.world.columns import AgentState, Stepping, Wait
from crowdsim.world.events import EventKind
from crowdsim.world.random import Stream
from crowdsim.world.riding import Gate, RideStep, forget, let_go

JOIN_M = 1.0  # So near to the place behind the last one an agent waits with the others.
AT_SPOT_M = 0.2
OFF_M = 0.45  # So far from its place one that was pushed goes back.
BESIDE_M = 1.0  # One that stands so near to a place that has become free moves up.
DROP_M = 0.4  # So near to its place at an edge an agent drops.
RUN_UP_M = 1.2  # So near to the place of take-off an agent runs up and jumps.
CARRIED_OFF_M = 2.0  # One that is farther from there has lost its turn.
BOARD_M = 3.0  # So near to the middle of the area an agent goes in, or within `JOIN_M` of its place.
THRONG_M = 7.0  # So near to a gate those that come are held up by those that wait there.
TRIES = 24  # Places that one that comes out tries in a tick.


def nearest_in_triangles(triangles: NDArray[np.float64], place: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the point of some triangles, (t, 3, 2), that is nearest to a place, (2,)."""
    side = np.roll(triangles, -1, axis=1) - triangles
    to = place - triangles
    turn = side[..., 0] * to[..., 1] - side[..., 1] * to[..., 0]
    if np.any((turn >= 0.0).all(axis=1) | (turn <= 0.0).all(axis=1)):
        return place
    length = np.maximum((side * side).sum(axis=2), 1e-12)
    share = np.clip((side * to).sum(axis=2) / length, 0.0, 1.0)
    points = (triangles + share[..., None] * side).reshape(-1, 2)
    found: NDArray[np.float64] = points[np.argmin(hypots(*(points - place).T))]
    return found


class Gates:
    """The gates of all connections, and the agents at them.

    Which agents wait, ride and leave stands in columns; here is nothing that lives between ticks.

    Parameters
    ----------
    setup : Setup
    """

    def __init__(self, setup: Setup) -> None:
        assert setup.world.riding is not None
        self.world, self.facts = setup.world, setup.world.riding
        self._seed = setup.scenario.seed
        self.gates, self._scenario = self.facts.gates, setup.scenario
        self.value = np.array([gate.value for gate in self.gates], dtype=np.int64)
        self.connection = np.array([gate.connection for gate in self.gates], dtype=np.int64)
        self.is_waypoint = np.array(
            [self.facts.connections[gate.connection].waypath is not None for gate in self.gates]
        )
        self.is_jump = np.array([self.facts.connections[gate.connection].is_jump for gate in self.gates])
        self._version = -1
        self.look_at_gates()

    def look_at_gates(self) -> None:
        """Take note of gates that have changed: portals come and go."""
        if self._version == self.facts.version:
            return
        self._version = self.facts.version
        lay_portals(self._scenario, self.facts)
        self.point = np.array([gate.point for gate in self.gates])
        self.layer = np.array([gate.layer for gate in self.gates], dtype=np.int32)
        self._shares = [shares_of(gate.triangles) for gate in self.gates]
        self._mesh: Any = None
        self._polygon = np.zeros(0, dtype=np.int64)

    @property
    def polygon(self) -> NDArray[np.int64]:
        """The polygon of the mesh under the middle of each gate, (g,); -1 where there is no ground now."""
        if self._mesh is not self.world.mesh:
            self._mesh = self.world.mesh
            self._polygon = np.empty(len(self.gates), dtype=np.int64)
            locate_many(0, len(self.gates), self._mesh, self.point, self.layer, self._polygon)
        return self._polygon

    def lines(self, connection: int) -> NDArray[np.int64]:
        """Return the rows of those that wait at a connection, those first that came first, (k,)."""
        agents = self.world.agents
        rows = np.flatnonzero(agents.ride_step == RideStep.IN_LINE)
        rows = rows[self.connection[agents.gate[rows]] == connection]
        return rows[np.lexsort((agents.entity[rows], agents.gate_spot[rows], agents.ride_since[rows]))]

    def riders(self, connection: int) -> NDArray[np.int64]:
        """Return the rows of those that are in a connection, those first that went in first, (k,)."""
        agents = self.world.agents
        rows = np.flatnonzero(agents.ride_step >= RideStep.RIDING)
        rows = rows[self.connection[agents.gate[rows]] == connection]
        return rows[np.lexsort((agents.entity[rows], agents.ride_since[rows]))]

    def is_ready(self, row: int) -> bool:
        """Return whether one that waits is near enough to go in."""
        agents, gate = self.world.agents, self.gates[int(self.world.agents.gate[row])]
        place = agents.position[row]
        spot = gate.spots[min(int(agents.gate_spot[row]), len(gate.spots) - 1)]
        if self.is_jump[agents.gate[row]]:
            return bool(hypots(*(place - gate.point)) <= RUN_UP_M) and self._sees(row, gate)
        if gate.edge_spots:
            return bool(agents.gate_spot[row] < gate.edge_spots and hypots(*(place - spot)) <= DROP_M)
        return bool(hypots(*(place - gate.point)) <= BOARD_M or hypots(*(place - spot)) <= JOIN_M)

    def _sees(self, row: int, gate: Gate) -> bool:
        """Return whether there is ground all the way to the middle of a gate."""
        rows, found = np.array([row]), np.empty(1, dtype=np.bool_)
        layer = np.array([max(0, gate.layer)], dtype=np.int32)
        polygons, position = self.world.polygons(), self.world.agents.position
        see_many(rows, self.world.mesh, polygons, position, gate.point[None, :], layer, found)
        return bool(found[0])

    def tail(self, gate: int) -> int:
        """Return the place for the next one that waits at a gate; -1 where all are taken."""
        agents = self.world.agents
        taken = agents.gate_spot[(agents.gate == gate) & (agents.ride_step == RideStep.IN_LINE)]
        free = np.ones(len(self.gates[gate].spots), dtype=np.bool_)
        free[taken[taken < len(free)]] = False
        return int(np.argmax(free)) if free.any() else -1

    def come(self, tick: int, rows: NDArray[np.int64]) -> None:
        """Send agents to where they are to wait, those that are on their way and those that wait already."""
        agents = self.world.agents
        place = np.empty((len(rows), 2))
        for gate in np.unique(agents.gate[rows]).tolist():
            own = agents.gate[rows] == gate
            place[own] = self._places(self.gates[gate], gate, rows[own])
        layer = self.layer[agents.gate[rows]]
        polygon = np.empty(len(rows), dtype=np.int64)
        locate_many(0, len(rows), self.world.mesh, place, layer, polygon)
        there = polygon >= 0
        rows = rows[there]
        if len(rows):
            points = Points(place[there], layer[there], np.full(len(rows), AT_SPOT_M))
            bound = agents.bound_for[rows].copy()
            send(self.world, rows, self.world.set_points(points), tick, to_gate=True)
            agents.bound_for[rows] = bound

    def leave(self, tick: int, rows: NDArray[np.int64]) -> None:
        """Let agents, (k,) rows, that are on their way to gates, or wait there, leave them."""
        agents = self.world.agents
        waits = rows[agents.ride_step[rows] == RideStep.IN_LINE]
        for gate in np.unique(agents.gate[waits]).tolist():
            self.note(tick, EventKind.LEFT_GATE, waits[agents.gate[waits] == gate], gate)
        let_go(agents, rows)

    def _places(self, gate: Gate, number: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        agents = self.world.agents
        last, tail = len(gate.spots) - 1, self.tail(number)
        spot = np.where(agents.ride_step[rows] == RideStep.IN_LINE, agents.gate_spot[rows], tail)
        found: NDArray[np.float64] = gate.spots[np.where(spot < 0, last, np.minimum(spot, last))]
        return found

    def join(self, tick: int) -> None:
        """Let those wait with the others that have come near enough, and those stand that are at their
        places.
        """
        agents = self.world.agents
        coming = np.flatnonzero(agents.ride_step == RideStep.COMING)
        failed = np.isin(agents.path_status[coming], GAVE_UP)
        let_go(agents, coming[failed & (agents.activity[coming] == AgentState.STANDING)])
        coming = coming[
            (agents.activity[coming] == AgentState.WALKING) & ~self.is_waypoint[agents.gate[coming]]
        ]
        layer = self.layer[agents.gate[coming]]
        coming = coming[(layer < 0) | (agents.layer[coming] == layer)]  # not below or above it
        if self.facts.portals is not None:
            self._lose_turns(tick)
        for gate in np.unique(agents.gate[coming]).tolist():
            self._join_at(tick, gate, coming[agents.gate[coming] == gate])
        self._move_up()
        rows = np.flatnonzero(agents.ride_step == RideStep.IN_LINE)
        there = self._off(rows) <= AT_SPOT_M
        stands = (agents.activity[rows] == AgentState.WALKING) & there
        stands |= agents.activity[rows] == AgentState.STANDING  # no path leads to its place
        self._stand(rows[stands])

    def _lose_turns(self, tick: int) -> None:
        """Let those be on their way again that waited to jump and that the crowd has carried off: others are
        nearer.
        """
        agents = self.world.agents
        waits = (agents.ride_step == RideStep.IN_LINE) & (agents.activity == AgentState.WALKING)
        rows = np.flatnonzero(waits)
        is_off = hypots(*(agents.position[rows] - self.point[agents.gate[rows]]).T) > CARRIED_OFF_M
        rows = rows[is_off & self.is_jump[agents.gate[rows]]]
        for gate in np.unique(agents.gate[rows]).tolist():
            self.note(tick, EventKind.LEFT_GATE, rows[agents.gate[rows] == gate], gate)
        agents.ride_step[rows], agents.ride_since[rows], agents.gate_spot[rows] = RideStep.COMING, tick, -1

    def _join_at(self, tick: int, gate: int, rows: NDArray[np.int64]) -> None:
        agents = self.world.agents
        while len(rows):
            tail = self.tail(gate)
            if tail < 0:
                return
            apart = hypots(*(agents.position[rows] - self.gates[gate].spots[tail]).T)
            first = int(np.lexsort((agents.entity[rows], apart))[0])
            if apart[first] > JOIN_M:
                return
            row = rows[first]
            agents.ride_step[row], agents.ride_since[row] = RideStep.IN_LINE, tick
            agents.gate_spot[row], agents.waits[row] = tail, Wait.CONNECTION
            self.note(tick, EventKind.WAITS_AT, np.array([row]), gate)
            rows = np.delete(rows, first)

    def _move_up(self) -> None:
        """Give those that stand in a line the places by their turn; round an area those move up that stand
        beside a place that has become free, so that free places are behind the others.
        """
        agents = self.world.agents
        for number in np.unique(agents.gate[agents.ride_step == RideStep.IN_LINE]).tolist():
            gate = self.gates[number]
            if not gate.moves_up:
                self._leave_the_edge(number, gate)
                self._close_ranks(number, gate)
            else:
                rows = np.flatnonzero((agents.gate == number) & (agents.ride_step == RideStep.IN_LINE))
                order = np.lexsort((agents.entity[rows], agents.gate_spot[rows], agents.ride_since[rows]))
                agents.gate_spot[rows[order]] = np.arange(len(rows))

    def _leave_the_edge(self, number: int, gate: Gate) -> None:
        """Let those that have been carried off from their places at an edge change places with those that
        wait beside these, the ones first that came first: else nobody drops until they are back.
        """
        if not gate.edge_spots:
            return
        agents = self.world.agents
        rows = np.flatnonzero((agents.gate == number) & (agents.ride_step == RideStep.IN_LINE))
        at_edge = rows[agents.gate_spot[rows] < gate.edge_spots]
        for row in at_edge[self._off(at_edge) > JOIN_M].tolist():
            edge = int(agents.gate_spot[row])
            behind = rows[agents.gate_spot[rows] >= gate.edge_spots]
            behind = behind[hypots(*(agents.position[behind] - gate.spots[edge]).T) <= BESIDE_M]
            if len(behind):
                first = int(behind[np.lexsort((agents.entity[behind], agents.ride_since[behind]))[0]])
                agents.gate_spot[row], agents.gate_spot[first] = agents.gate_spot[first], edge

    def _close_ranks(self, number: int, gate: Gate) -> None:
        agents = self.world.agents
        rows = np.flatnonzero((agents.gate == number) & (agents.ride_step == RideStep.IN_LINE))
        last = int(agents.gate_spot[rows].max(initial=-1))
        taken = set(agents.gate_spot[rows].tolist())
        for first in [spot for spot in range(last) if spot not in taken]:
            free = first
            while True:
                spots = agents.gate_spot[rows]
                apart = hypots(*(gate.spots[spots] - gate.spots[free]).T)
                near = np.flatnonzero((spots > free) & (apart <= BESIDE_M))
                if not len(near):
                    break
                turn = np.lexsort((agents.entity[rows[near]], agents.ride_since[rows[near]]))
                row = int(rows[near[turn[0]]])
                free, agents.gate_spot[row] = int(agents.gate_spot[row]), free

    def _off(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how far those that wait are from their places, (k,) m."""
        agents = self.world.agents
        return hypots(*(agents.position[rows] - self._spots_of(rows)).T)

    def _spots_of(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        agents = self.world.agents
        found = np.empty((len(rows), 2))
        for gate in np.unique(agents.gate[rows]).tolist():
            own = agents.gate[rows] == gate
            found[own] = self._places(self.gates[gate], gate, rows[own])
        return found

    def _stand(self, rows: NDArray[np.int64]) -> None:
        """Let those that wait stand."""
        if len(rows):
            self.stop(rows)
            self.world.agents.activity[rows] = AgentState.WAITING

    def stop(self, rows: NDArray[np.int64], waits: Wait = Wait.CONNECTION) -> None:
        """Take the paths of agents; they are bound for the goals behind their connections."""
        world, agents = self.world, self.world.agents
        world.planning.lose_paths(rows)
        lose_paths(agents, rows)
        forget_path(agents, rows)
        world.planning.forget(agents.entity[rows])
        agents.goal[rows], agents.guessed[rows] = agents.bound_for[rows], -1
        agents.is_yielding[rows], agents.waits[rows] = Stepping.NOWHERE, waits

    def look(self, tick: int) -> None:
        """Send those to their places that are not there and do not go there."""
        world, agents = self.world, self.world.agents
        waits = np.isin(agents.ride_step, (RideStep.COMING, RideStep.IN_LINE))
        rows = np.flatnonzero(waits & ~self.is_waypoint[agents.gate])
        if not len(rows):
            return
        self._note_throng(rows[agents.ride_step[rows] == RideStep.COMING])
        spot = self._spots_of(rows)
        goes = (agents.activity[rows] == AgentState.WALKING) & (agents.goal[rows] >= world.destinations.fixed)
        head = np.where(goes[:, None], np.inf, agents.position[rows])
        head[goes] = world.destinations.places_of(agents.goal[rows[goes]])
        comes = agents.ride_step[rows] == RideStep.COMING
        off = hypots(*(head - spot).T) > np.where(comes, JOIN_M / 2.0, np.where(goes, 0.01, OFF_M))
        if off.any():
            self.come(tick, rows[off])
            again = rows[off & ~comes]
            agents.waits[again] = Wait.CONNECTION

    def _note_throng(self, rows: NDArray[np.int64]) -> None:
        """Let those that come, (k,), wait for the connection too where others stand before them."""
        agents = self.world.agents
        has_line = np.bincount(
            agents.gate[agents.ride_step == RideStep.IN_LINE], minlength=len(self.gates)
        ).astype(np.bool_)
        gate = agents.gate[rows]
        near = has_line[gate] & (hypots(*(agents.position[rows] - self.point[gate]).T) <= THRONG_M)
        agents.waits[rows[near & (agents.waits[rows] == Wait.NOTHING)]] = Wait.CONNECTION
        agents.waits[rows[~near & (agents.waits[rows] == Wait.CONNECTION)]] = Wait.NOTHING

    def board(self, tick: int, row: int, until: int) -> None:
        """Let one go in, to come out in the tick `until`."""
        agents, one = self.world.agents, np.array([row])
        self.stop(one)
        agents.ride_step[row], agents.ride_since[row], agents.ride_until[row] = RideStep.RIDING, tick, until
        agents.boarded_at[row], agents.gate_spot[row] = agents.position[row], -1
        agents.activity[row] = AgentState.RIDING
        for name in ("velocity", "preferred_velocity", "chosen_velocity", "walked_velocity"):
            getattr(agents, name)[row] = 0.0
        self.note(tick, EventKind.BOARDED, one, int(agents.gate[row]))

    def put(self, row: int, place: NDArray[np.float64], gate: int) -> None:
        """Put one that rides somewhere, on the floor of a gate."""
        agents, polygon = self.world.agents, int(self.polygon[gate])
        agents.position[row] = agents.tentative_position[row] = agents.next_corner[row] = place
        if polygon >= 0:
            agents.surface[row] = self.world.handles_of(np.array([polygon]))[0]
            agents.layer[row] = self.world.mesh.polygon_layer[polygon]

    def alight(self, tick: Tick, row: int) -> bool:
        """Let one come out, if there is room; return whether it has."""
        agents, world = self.world.agents, self.world
        number = int(agents.gate_out[row])
        gate = self.gates[number]
        if self.polygon[number] < 0 or not len(gate.triangles):
            return False
        spots = np.empty((1, TRIES, 2))
        key, first = agents.key[row : row + 1], 3 * TRIES * tick.number
        draw_spots(self._seed, int(Stream.ALIGHT), key, first, gate.triangles, self._shares[number], spots)
        landing = self.landing(row)  # one that comes out alone does so there
        if len(gate.landing):  # and one below an edge as near to it as there is room
            apart = hypots(*(spots[0] - landing).T)
            spots[0] = spots[0, np.argsort(apart, kind="stable")]
        spots[0, 0] = landing
        radius = agents.radius[row : row + 1]
        reach = np.abs(agents.position - gate.point).max(axis=1) - agents.radius
        near = reach <= float(np.abs(gate.triangles - gate.point).max()) + float(radius[0]) + GAP_M
        near &= agents.activity != AgentState.RIDING
        if gate.layer >= 0:
            near &= agents.layer == gate.layer
        known = int(np.count_nonzero(near))
        others = np.concatenate([agents.position[near], np.zeros((1, 2))])
        other_radius = np.concatenate([agents.radius[near], np.zeros(1)])
        place, polygon = np.empty((1, 2)), np.empty(1, dtype=np.int64)
        found = find_room(
            world.mesh, spots, gate.layer, radius, WALL_MARGIN_M, GAP_M, others, other_radius, known,
            make_flood(world.mesh.polygon_count), place, polygon,
        )  # fmt: skip
        if not found:
            return False
        self._come_out(tick.number, row, place[0], int(polygon[0]))
        return True

    def landing(self, row: int) -> NDArray[np.float64]:
        """Return where one that rides comes out, if there is room, (2,) m: in the middle, or below the place
        at an edge from which it drops.
        """
        agents = self.world.agents
        gate, out = self.gates[int(agents.gate[row])], self.gates[int(agents.gate_out[row])]
        if not gate.edge_spots or not len(out.landing):
            return out.point
        return nearest_in_triangles(out.landing, agents.boarded_at[row] + (out.point - gate.point))

    def _come_out(self, tick: int, row: int, place: NDArray[np.float64], polygon: int) -> None:
        agents, one = self.world.agents, np.array([row])
        self.put(row, place, int(agents.gate_out[row]))
        agents.surface[row] = self.world.handles_of(np.array([polygon]))[0]
        agents.layer[row] = self.world.mesh.polygon_layer[polygon]
        agents.counted_position[row] = agents.progress_place[row] = place
        agents.progress_direction[row], agents.wall_distance[row] = 0.0, 0.0
        agents.corner_vertex[row], agents.guessed[row] = NOT_CACHED, -1
        gate, goal = int(agents.gate_out[row]), int(agents.bound_for[row])
        agents.goal[row] = goal
        if agents.waits[row] == Wait.CONNECTION:  # else its machine has let it wait for something
            agents.waits[row] = Wait.NOTHING
        agents.activity[row] = AgentState.WALKING if goal >= 0 else AgentState.STANDING
        lose_paths(agents, one)
        forget_path(agents, one)
        self.note(tick, EventKind.ALIGHTED, one, gate)
        forget(agents, one)

    def note(self, tick: int, kind: EventKind, rows: NDArray[np.int64], gate: int) -> None:
        """Note an event at a gate."""
        agents = self.world.agents
        self.world.events.note(
            tick, kind, agents.entity[rows], agents.position[rows], np.full(len(rows), self.value[gate])
        )
