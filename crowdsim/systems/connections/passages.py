"""Passages, ladders, doors, escalators, drops and jumps: what leads from one end to another in a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.scenario.connections import Connection
from crowdsim.setup.gates import SPACING_M
from crowdsim.systems.base.system import Tick, ticks_of
from crowdsim.systems.connections.gates import Gates
from crowdsim.world.columns import NEVER
from crowdsim.world.portals import WALKS_M_S
from crowdsim.world.riding import RideStep

SHUT = -1
FLOW_1_MS = 1.22  # Over a metre of an edge go so many a second, as through a door [Weidmann 1993].


class Passage:
    """A connection with two ends while the run lasts.

    Those that wait at both ends go in by the turn in which they came. One that may not yet lets none behind
    it go before; over the edge of a drop each goes where and when it comes to it.

    Parameters
    ----------
    connection : Connection
    number : int
    gates : Gates
    tick_length : float, s

    Attributes
    ----------
    ready : list of int
        From which tick on the next one may go in at each end.
    opens : int
        When a door that is being unlocked is open; `SHUT` while none unlocks it.
    open_until : int
        When it shuts again.
    """

    def __init__(self, connection: Connection, number: int, gates: Gates, tick_length: float) -> None:
        self.connection, self.number, self.gates, self._tick = connection, number, gates, tick_length
        self.ready = [0, 0]
        self.opens, self.open_until = SHUT, 0
        self._seconds = connection.seconds[0]
        if connection.kind == "door":  # as fast as people walk
            first = int(gates.facts.first_gate[number])
            self._seconds = float(hypots(*(gates.point[first + 1] - gates.point[first])) / WALKS_M_S)

    @property
    def seconds(self) -> float:
        """How long it takes from end to end."""
        portals = self.gates.facts.portals
        if not self.connection.is_jump or portals is None:
            return self._seconds
        return float(portals.seconds[self._slot])

    @property
    def _slot(self) -> int:
        """The number of the portal that it is; below 0 if it is none."""
        return self.number - self.gates.facts.first_portal

    def ticks(self, seconds: float) -> int:
        """Return a time in ticks."""
        return ticks_of(seconds, self._tick)

    def serve(self, tick: Tick) -> None:
        """Let those come out whose ride is over, and others go in."""
        agents, gates = self.gates.world.agents, self.gates
        portals, slot = gates.facts.portals, self._slot
        if portals is not None and slot >= 0 and portals.opened[slot] == tick.number:  # one has just jumped
            self.ready[0] = tick.number + self.ticks(self.connection.headway)
        riders = gates.riders(self.number)
        over = riders[agents.ride_until[riders] <= tick.number]
        agents.ride_step[over] = RideStep.LEAVING
        for row in over[np.lexsort((agents.entity[over], agents.ride_until[over]))].tolist():
            gates.alight(tick, row)
        riders = gates.riders(self.number)
        for row in gates.lines(self.number).tolist():
            if not self._may_go_in(tick.number, row, riders):
                if self.connection.is_drop or self.connection.is_jump:
                    continue
                return
            end = gates.gates[int(agents.gate[row])].end
            self.ready[end] = tick.number + self.ticks(self.connection.headway)
            gates.board(tick.number, row, tick.number + self._ride(row))
            riders = np.append(riders, row)

    def _ride(self, row: int) -> int:
        agents = self.gates.world.agents
        portals = self.gates.facts.portals
        if self.connection.is_jump and portals is not None:
            return self.ticks(portals.run_up_s(self._slot, agents.position[row]) + self.seconds)
        if self.connection.kind != "door":
            return self.ticks(self.seconds)
        length = sum(self._legs(row, agents.position[row]))
        return max(1, self.ticks(length / float(agents.desired_speed[row])))

    def _legs(self, row: int, begin: NDArray[np.float64]) -> tuple[float, float]:
        """Return how far it is from a place to the middle of the end before a door, and on behind it (m)."""
        agents, point = self.gates.world.agents, self.gates.point
        first, last = point[agents.gate[row]], point[agents.gate_out[row]]
        return float(hypots(*(first - begin))), float(hypots(*(last - first)))

    def _place(self, row: int, share: float) -> NDArray[np.float64]:
        """Return where one that rides is, (2,) m: on the line to where it comes out. Through a door it
        leads by the middle of the end before it, not through the wall beside it; one that jumps takes off in
        the middle.
        """
        agents, gates = self.gates.world.agents, self.gates
        begin, end = agents.boarded_at[row], gates.landing(row)
        portals = gates.facts.portals
        if self.connection.is_jump and portals is not None:  # its gate may be gone
            run_up, middle = portals.run_up_s(self._slot, begin), portals.begin[self._slot]
            gone = share * (run_up + self.seconds)
            if gone < run_up:
                end, share = middle, gone / run_up
            else:
                begin, share = middle, (gone - run_up) / self.seconds
        elif self.connection.kind == "door":
            before, behind = self._legs(row, begin)
            gone, middle = share * (before + behind), gates.point[agents.gate[row]]
            if gone < before:
                end, share = middle, gone / before
            else:
                begin, share = middle, (gone - before) / max(behind, 1e-9)
        found: NDArray[np.float64] = begin + share * (end - begin)
        return found

    def _may_go_in(self, tick: int, row: int, riders: NDArray[np.int64]) -> bool:
        agents, gates = self.gates.world.agents, self.gates
        end = gates.gates[int(agents.gate[row])].end
        if len(riders) >= self.connection.capacity or tick < self.ready[end] or not gates.is_ready(row):
            return False
        if self.connection.is_shared and np.any(agents.gate[riders] != agents.gate[row]):
            return False
        return not self.connection.key or self._is_open(tick)

    def _is_open(self, tick: int) -> bool:
        """Return whether a door is open; one that stands before it begins to unlock it."""
        if tick < self.open_until:
            return True
        if self.opens == SHUT:
            self.opens = tick + self.ticks(self.connection.opening)
        if tick < self.opens:
            return False
        self.opens = SHUT
        self.open_until = tick + max(1, self.ticks(self.connection.stays_open))
        return True

    def carry(self, tick: int) -> None:
        """Move those that ride to the other end; they are on the floor of the nearer one."""
        agents, gates = self.gates.world.agents, self.gates
        for row in gates.riders(self.number).tolist():
            begin, end = int(agents.ride_since[row]), int(agents.ride_until[row])
            share = min(1.0, (tick - begin) / max(1, end - begin))
            to = int(agents.gate_out[row])
            gates.put(row, self._place(row, share), to if share >= 0.5 else int(agents.gate[row]))

    def expected(self, ahead: int) -> float:
        """Return how long an agent expects to wait behind so many others, s."""
        if self.connection.is_drop:
            width = SPACING_M * self.gates.gates[int(self.gates.facts.first_gate[self.number])].edge_spots
            return ahead / (FLOW_1_MS * width)
        each = max(self.connection.headway, self.seconds / self.connection.capacity)
        return ahead * each + (self.connection.opening if self.connection.key else 0.0)

    def ride_s(self, begin: int, end: int) -> float:
        """Return how long it takes from one end to the other, s."""
        return self.seconds

    def numbers(self) -> list[int]:
        """Return what lives in it."""
        return [*self.ready, self.opens, self.open_until, 0, 0]

    def take(self, numbers: list[int]) -> None:
        """Take back what `numbers` gave."""
        self.ready, self.opens, self.open_until = numbers[:2], numbers[2], numbers[3]

    def bounds(self) -> tuple[list[int], list[int]]:
        """Return the least and greatest values of `numbers`."""
        return [0, 0, SHUT, 0, 0, 0], [NEVER, NEVER, NEVER, NEVER, 0, 0]
