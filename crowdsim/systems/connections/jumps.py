"""Jumps: agents leave portals, others follow by them, and portals go."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.mesh.mesh import make_flood
from crowdsim.navigation.mesh.slopes import heights_at
from crowdsim.scenario.jumps import Jumps
from crowdsim.setup.entrances import find_room
from crowdsim.setup.placement import GAP_M, WALL_MARGIN_M
from crowdsim.systems.base.system import Setup, ticks_of
from crowdsim.systems.connections.gates import Gates
from crowdsim.systems.paths.lost_paths import ask_anew, forget_path
from crowdsim.world.columns import AgentState
from crowdsim.world.events import EventKind
from crowdsim.world.portals import Portals
from crowdsim.world.riding import RideStep, let_go

SAME_M = 0.5  # One that jumps so near to where a portal begins and ends leaves no other.
_NOWHERE = -1


class JumpPortals:
    """The portals of a run, of agents that jump by themselves and of those that follow.

    What lives between ticks is in the world.

    Parameters
    ----------
    setup : Setup
        Of a scenario in which agents jump.
    gates : Gates
    """

    def __init__(self, setup: Setup, gates: Gates) -> None:
        assert setup.scenario.jumps is not None and gates.facts.portals is not None
        self.world, self.gates, self.tick_length = setup.world, gates, setup.scenario.tick
        self.jumps: Jumps = setup.scenario.jumps
        self.portals: Portals = gates.facts.portals
        self._has_floors = len(setup.scenario.geometry.grounds) > 1

    def why_not(self, row: int, place: NDArray[np.float64], floor: int) -> str:
        """Return in words why an agent cannot jump to a place, (2,) m, on a floor; empty where it can."""
        agents = self.world.agents
        self.gates.look_at_gates()
        if agents.ride_step[row] >= RideStep.RIDING:
            return "it is at a connection and on no ground"
        if agents.activity[row] not in (AgentState.WALKING, AgentState.STANDING, AgentState.WAITING):
            return "it is not there"
        if not self.world.has_ground()[row]:
            return "there is no ground under it"
        polygon = self._room(row, place, floor)
        if polygon < 0:
            return f"its body, {2.0 * agents.radius[row]:g} m wide, does not fit on the ground there"
        fall = float(self.world.heights()[row] - self._height(polygon, place))
        distance = float(hypots(*(place - agents.position[row])))
        return self.jumps.why_not(distance, fall)

    def leap(self, tick: int, row: int, place: NDArray[np.float64], floor: int, heard: int) -> bool:
        """Let an agent jump to a place, (2,) m, on a floor, if a portal can lie there; return whether.

        Nothing speaks against it, see `why_not`. Others hear of it in the tick `heard`.
        """
        agents, portals = self.world.agents, self.portals
        begin, own_floor = agents.position[row].copy(), int(agents.layer[row]) if self._has_floors else -1
        slot = self._same(begin, place, own_floor, floor)
        until = heard + ticks_of(self.jumps.lasts, self.tick_length)
        if slot >= 0:
            portals.until[slot] = until
            if self._in_air(slot) >= self.jumps.capacity:
                return False
        else:
            slot = self._free()
            if slot < 0:
                return False
            lie_there = portals.lie_there()
            if len(lie_there) >= self.jumps.at_most:
                self._close(tick, int(lie_there[0]))
            fall = float(self.world.heights()[row] - self._height(self._room(row, place, floor), place))
            portals.open(
                slot, left_by=int(agents.entity[row]), opened=heard, until=until, begin=begin, end=place,
                floor=(own_floor, floor), seconds=self.jumps.seconds(float(hypots(*(place - begin))), fall),
            )  # fmt: skip
            self.gates.look_at_gates()
        self._take_off(tick, row, slot)
        return True

    def _take_off(self, tick: int, row: int, slot: int) -> None:
        agents, gates = self.world.agents, self.gates
        number = gates.facts.first_portal + slot
        first = int(gates.facts.first_gate[number])
        let_go(agents, np.array([row]))
        agents.bound_for[row] = agents.goal[row]
        agents.gate[row], agents.gate_out[row] = first, first + 1
        self.world.events.note(
            tick, EventKind.JUMPED, agents.entity[[row]], self.portals.end[[slot]], gates.value[first]
        )
        gates.note(tick, EventKind.WAITS_AT, np.array([row]), first)
        run_up = self.portals.run_up_s(slot, agents.position[row])
        flight = ticks_of(run_up + float(self.portals.seconds[slot]), self.tick_length)
        gates.board(tick, row, tick + flight)

    def close(self, tick: int) -> None:
        """Take away portals whose time is over."""
        for slot in np.flatnonzero(self.portals.is_open & (self.portals.until <= tick)).tolist():
            self._close(tick, slot)
        self.gates.look_at_gates()

    def _close(self, tick: int, slot: int) -> None:
        """Take a portal away: agents that are on their way to it, or wait there, look for another path."""
        agents, gates, events = self.world.agents, self.gates, self.world.events
        first = int(gates.facts.first_gate[gates.facts.first_portal + slot])
        value = gates.value[first]
        nobody = np.zeros(1, dtype=np.int64)
        events.note(tick, EventKind.PORTAL_GONE, nobody, self.portals.begin[[slot]], value)
        self.portals.close(slot)
        hopes = np.isin(agents.ride_step, (RideStep.COMING, RideStep.IN_LINE)) & (agents.gate == first)
        rows = np.flatnonzero(hopes)
        if len(rows):
            events.note(tick, EventKind.PORTAL_GONE, agents.entity[rows], agents.position[rows], value)
            gates.leave(tick, rows)
            ask_anew(agents, rows)
            forget_path(agents, rows)

    def _same(self, begin: NDArray[np.float64], end: NDArray[np.float64], floor: int, to_floor: int) -> int:
        """Return the portal that lies there already; -1 if none does."""
        portals = self.portals
        is_same = portals.is_open & (portals.floor == [floor, to_floor]).all(axis=1)
        is_same &= hypots(*(portals.begin - begin).T) <= SAME_M
        is_same &= hypots(*(portals.end - end).T) <= SAME_M
        found = np.flatnonzero(is_same)
        return int(found[0]) if len(found) else _NOWHERE

    def _in_air(self, slot: int) -> int:
        return len(self.gates.riders(self.gates.facts.first_portal + slot))

    def _free(self) -> int:
        """Return where a portal has room: none lies there, and nobody is in the air over it; else -1."""
        for slot in np.flatnonzero(~self.portals.is_open).tolist():
            if not self._in_air(slot):
                return int(slot)
        return _NOWHERE

    def _room(self, row: int, place: NDArray[np.float64], floor: int) -> int:
        """Return the polygon under a place where an agent's body fits between walls; -1 if it does not."""
        mesh, found = self.world.mesh, np.empty(1, dtype=np.int64)
        others, radius = np.zeros((1, 2)), self.world.agents.radius[[row]]
        fits = find_room(
            mesh, place.reshape(1, 1, 2), floor, radius, WALL_MARGIN_M, GAP_M, others, np.zeros(1), 0,
            make_flood(mesh.polygon_count), np.empty((1, 2)), found,
        )  # fmt: skip
        return int(found[0]) if fits else _NOWHERE

    def _height(self, polygon: int, place: NDArray[np.float64]) -> float:
        out = np.empty(1)
        heights_at(0, 1, self.world.mesh, np.array([polygon]), place.reshape(1, 2), out)
        return float(out[0])
