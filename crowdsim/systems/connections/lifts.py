"""Lifts: collective in the direction of travel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.scenario.connections import Connection
from crowdsim.setup.gates import seconds_between
from crowdsim.systems.base.system import Tick, ticks_of
from crowdsim.systems.connections.gates import Gates
from crowdsim.world.columns import NEVER

CLOSED, OPENING, OPEN, CLOSING, MOVING = range(5)
# Those that have waited for so long at stops further on are left room by those that came after them: else a
# lift that is always full where it begins would pass them for good.
PATIENCE_S = 60.0
CABIN_M = 0.45  # Between those that stand in the cabin, in pictures.
CABIN_ROW = 3


class Lift:
    """A lift while the run lasts.

    It goes on in its direction as long as somewhere further on one waits or wants out, and stops where one
    wants out, or waits to go in that direction and has room. Then it turns. With no call it stands.

    Parameters
    ----------
    connection : Connection
    number : int
    gates : Gates
    tick_length : float, s

    Attributes
    ----------
    stop : int
        Where it is, or which it left last.
    phase : int
        Whether its doors are shut, opening, open or closing, or it moves.
    until : int
        When that is over: opening, closing, and from stop to stop.
    direction : int
        1 up, -1 down, 0 none.
    ready : int
        From which tick on the next one may go in or out.
    shuts : int
        When its doors may shut again at the earliest.
    """

    def __init__(self, connection: Connection, number: int, gates: Gates, tick_length: float) -> None:
        self.connection, self.number, self.gates, self._tick = connection, number, gates, tick_length
        self.first = int(gates.facts.first_gate[number])
        self.stop, self.phase, self.until, self.direction, self.ready, self.shuts = 0, CLOSED, 0, 0, 0, 0
        self._transfer = self.ticks(connection.transfer)

    def ticks(self, seconds: float) -> int:
        """Return a time in ticks."""
        return ticks_of(seconds, self._tick)

    def serve(self, tick: Tick) -> None:
        """Go on by a tick."""
        now = tick.number
        if self.phase == MOVING and now >= self.until:
            self.stop += self.direction
            self.phase = CLOSED
        if self.phase == CLOSING and now >= self.until:
            self.phase = CLOSED
        if self.phase == CLOSED:
            self._decide(now)
        if self.phase == OPENING and now >= self.until:
            self.phase, self.ready = OPEN, now
            self.shuts = now + self.ticks(self.connection.dwell)
        if self.phase == OPEN:
            self._exchange(tick)

    def _calls(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of those that wait, their stops, and the directions in which they go, (k,)."""
        rows = self.gates.lines(self.number)
        agents = self.gates.world.agents
        begin = agents.gate[rows].astype(np.int64) - self.first
        return rows, begin, np.sign(agents.gate_out[rows].astype(np.int64) - self.first - begin)

    def _turn(self, riders: NDArray[np.int64], begin: NDArray[np.int64], heading: NDArray[np.int64]) -> None:
        """Choose the direction."""
        to = self.gates.world.agents.gate_out[riders].astype(np.int64) - self.first
        calls = np.concatenate([begin, to])
        for direction in (self.direction, -self.direction) if self.direction else ():
            here = (begin == self.stop) & (heading == direction)
            if np.any((calls - self.stop) * direction > 0) or (here.any() and not len(riders)):
                self.direction = direction
                return
        self.direction = 0
        if len(begin):  # the first of those that wait have come first
            apart = int(begin[0]) - self.stop
            self.direction = int(heading[0]) if apart == 0 else int(np.sign(apart))

    def _decide(self, now: int) -> None:
        riders = self.gates.riders(self.number)
        rows, begin, heading = self._calls()
        if not len(riders) and not len(rows):
            self.direction = 0
            return
        self._turn(riders, begin, heading)
        to = self.gates.world.agents.gate_out[riders] - self.first
        wants_out = bool(np.any(to == self.stop))
        if wants_out or self._admitted(now, riders, rows, begin, heading):
            self.phase, self.until = OPENING, now + self.ticks(self.connection.doors)
        elif np.any((np.concatenate([begin, to]) - self.stop) * self.direction > 0):
            low = min(self.stop, self.stop + self.direction)
            self.phase, self.until = MOVING, now + max(1, self.ticks(self.connection.seconds[low]))

    def _admitted(
        self,
        now: int,
        riders: NDArray[np.int64],
        rows: NDArray[np.int64],
        begin: NDArray[np.int64],
        heading: NDArray[np.int64],
    ) -> list[int]:
        """Return the rows of those that may go in here, the first ones first."""
        room, found = self.connection.capacity - len(riders), list[int]()
        for row in rows[(begin == self.stop) & (heading == self.direction)].tolist():
            if room - len(found) > self._elders(now, row, rows, begin, heading):
                found.append(row)
        return found

    def _exchange(self, tick: Tick) -> None:
        """Let those out that are there, then others in, one after the other."""
        now, gates = tick.number, self.gates
        agents = gates.world.agents
        riders = gates.riders(self.number)
        for row in riders[agents.gate_out[riders] - self.first == self.stop].tolist():
            if now < self.ready or not gates.alight(tick, row):
                return
            self.ready = now + self._transfer
        riders = gates.riders(self.number)
        rows, begin, heading = self._calls()
        self._turn(riders, begin, heading)
        for row in self._admitted(now, riders, rows, begin, heading):
            if now < self.ready:
                return
            if gates.is_ready(row):
                gates.board(now, row, NEVER)
                self.ready = now + self._transfer
        if now >= max(self.shuts, self.ready):
            self.phase, self.until = CLOSING, now + self.ticks(self.connection.doors)

    def _elders(
        self,
        now: int,
        row: int,
        rows: NDArray[np.int64],
        begin: NDArray[np.int64],
        heading: NDArray[np.int64],
    ) -> int:
        """Return for how many that have waited for long further on one leaves room that came after them."""
        since = self.gates.world.agents.ride_since
        on = ((begin - self.stop) * self.direction > 0) & (heading == self.direction)
        long = (now - since[rows]) * self._tick >= PATIENCE_S
        return int(np.count_nonzero(on & long & (since[rows] < since[row])))

    def carry(self, tick: int) -> None:
        """Let those that ride stand in the cabin, at the stop that it is nearer to."""
        gates, stop = self.gates, self.stop
        if self.phase == MOVING:
            low = min(self.stop, self.stop + self.direction)
            if 2 * (self.until - tick) <= self.ticks(self.connection.seconds[low]):
                stop += self.direction
        gate = self.first + stop
        for place, row in enumerate(np.sort(gates.riders(self.number)).tolist()):
            at = np.array([place % CABIN_ROW, place // CABIN_ROW], dtype=np.float64)
            gates.put(row, gates.point[gate] + CABIN_M * (at - np.array([1.0, 1.0])), gate)

    def expected(self, ahead: int) -> float:
        """Return how long an agent expects to wait behind so many others, s: for half a round, and for one
        more as often as those before it fill the cabin.
        """
        stops = len(self.connection.ends)
        whole = 2.0 * seconds_between(self.connection, 0, stops - 1)
        whole += 2.0 * (2.0 * self.connection.doors + self.connection.dwell)
        return whole / 2.0 + whole * (ahead // self.connection.capacity)

    def ride_s(self, begin: int, end: int) -> float:
        """Return how long it takes from one stop to another, with doors, s."""
        return (
            seconds_between(self.connection, begin, end) + 2.0 * self.connection.doors + self.connection.dwell
        )

    def numbers(self) -> list[int]:
        """Return what lives in it."""
        return [self.stop, self.phase, self.until, self.direction + 1, self.ready, self.shuts]

    def take(self, numbers: list[int]) -> None:
        """Take back what `numbers` gave."""
        self.stop, self.phase, self.until, direction, self.ready, self.shuts = numbers
        self.direction = direction - 1

    def bounds(self) -> tuple[list[int], list[int]]:
        """Return the least and greatest values of `numbers`."""
        return [0] * 6, [len(self.connection.ends) - 1, MOVING, NEVER, 2, NEVER, NEVER]
