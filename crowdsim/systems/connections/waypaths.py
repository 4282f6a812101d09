"""Waypaths: agents walk along drawn lines from waypoint to waypoint, and do there what the line says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.goals.destinations import Points
from crowdsim.saved import Saved
from crowdsim.scenario.connections import Connection
from crowdsim.scenario.waypaths import Waypath
from crowdsim.systems.base.system import Tick, ticks_of
from crowdsim.systems.connections.gates import AT_SPOT_M, Gates
from crowdsim.systems.paths.lost_paths import ask_anew, forget_path
from crowdsim.systems.paths.sending import send
from crowdsim.world.columns import NEVER, AgentState, Wait
from crowdsim.world.events import EventKind
from crowdsim.world.riding import MOST_SPOT, RideStep, let_go
from crowdsim.world.world import World

# How far ahead of itself on the line an agent aims, m or s, whichever is more (pure pursuit [Coulter 1992]):
# nearer follows it more closely, farther comes back to it less abruptly.
AHEAD_M, AHEAD_S = 1.0, 0.5
NEXT = 3.0  # So many times as far ahead is the point after that.
PASSED_M = 0.3  # So near to a waypoint an agent is at it.
# So much farther behind than it aims ahead an agent is looked for on the line, which may cross itself farther
# off.
BEHIND_M = 10.0


class Along:
    """Agents on a waypath while the run lasts: on foot, from waypoint to waypoint. What lives is in columns.

    Parameters
    ----------
    connection : Connection
        That has a waypath.
    number : int
    gates : Gates
    tick_length : float, s

    Attributes
    ----------
    aims : list of tuple
        Agents that are to go to points of the line, (k,) rows, (k, 2) m and floors, (k,); see `send_along`.
    """

    def __init__(self, connection: Connection, number: int, gates: Gates, tick_length: float) -> None:
        assert connection.waypath is not None
        self.connection, self.number, self.gates, self._tick = connection, number, gates, tick_length
        self.waypath: Waypath = connection.waypath
        self.aims: list[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int32]]] = []
        self._at = self.waypath.along[self.waypath.waypoint]  # of each waypoint, m
        self._first = int(gates.facts.first_gate[number])
        # of each waypoint the next one at which agents wait, itself included, in both directions; far beyond
        # the ends where there is none
        waits = [at for at, what in enumerate(self.waypath.what) if what.wait > 0.0]
        count = range(len(self._at))
        self._waits_after = np.array([min([k for k in waits if k >= at], default=MOST_SPOT) for at in count])
        self._waits_before = np.array([max([k for k in waits if k <= at], default=-1) for at in count])

    def serve(self, tick: Tick) -> None:
        """Let agents go on along the line."""
        agents, gates = self.gates.world.agents, self.gates
        comes = (agents.ride_step == RideStep.COMING) & (gates.connection[agents.gate] == self.number)
        rows = np.flatnonzero(comes & (agents.activity == AgentState.WAITING))
        over = rows[agents.waypath_until[rows] <= tick.number]
        if len(over):
            agents.activity[over], agents.waits[over] = AgentState.WALKING, Wait.NOTHING
            agents.waypath_until[over] = NEVER
        rows = np.flatnonzero(comes & (agents.activity == AgentState.WALKING))
        if not len(rows):
            return
        speed = agents.desired_speed[rows] * agents.waypath_pace[rows]
        ahead = np.maximum(AHEAD_M, AHEAD_S * speed)
        self._begin(tick.number, rows, ahead)
        on = ~np.isnan(agents.waypath_aim[rows])
        rows, ahead = rows[on], ahead[on]
        if not len(rows):
            return
        forward = np.where(agents.gate_out[rows] > agents.gate[rows], 1, -1)
        here = self._places(rows, forward, BEHIND_M + NEXT * ahead)
        stays = self._pass(
            tick, rows, forward, here, np.maximum(PASSED_M, agents.desired_speed[rows] * self._tick)
        )
        self._aim(tick.number, rows[stays], forward[stays], here[stays], ahead[stays])

    def carry(self, tick: int) -> None:
        """Nobody is carried."""

    def _begin(self, tick: int, rows: NDArray[np.int64], ahead: NDArray[np.float64]) -> None:
        """Let those begin that have come near enough to the waypoint where they join the line."""
        agents, gates = self.gates.world.agents, self.gates
        apart = hypots(*(agents.position[rows] - gates.point[agents.gate[rows]]).T)
        begins = rows[np.isnan(agents.waypath_aim[rows]) & (apart <= ahead)]
        if len(begins):
            agents.waypoint_next[begins] = agents.gate[begins] - self._first
            agents.waypath_aim[begins] = self._at[agents.waypoint_next[begins]]
            agents.waypath[begins] = self.number
            for kind in (EventKind.WAITS_AT, EventKind.BOARDED):
                value = gates.value[agents.gate[begins]]
                gates.world.events.note(tick, kind, agents.entity[begins], agents.position[begins], value)

    def _places(
        self, rows: NDArray[np.int64], forward: NDArray[np.int64], behind: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return where on the line agents are, (k,) m along it: the nearest point of it that is no farther
        behind where they aim, (k,) m.
        """
        agents, line, along = self.gates.world.agents, self.waypath.line, self.waypath.along
        place, aim = agents.position[rows], agents.waypath_aim[rows]
        step, size = np.diff(line, axis=0), np.diff(along)
        # of each agent on each piece, at most between these
        low, high = np.minimum(aim, aim - forward * behind), np.maximum(aim, aim - forward * behind)
        first = np.clip(low[:, None] - along[:-1], 0.0, size)
        last = np.clip(high[:, None] - along[:-1], 0.0, size)
        at = ((place[:, None] - line[:-1]) * step).sum(axis=2) / size
        at = np.clip(at, first, last)
        apart = hypots(*(place[:, None] - line[:-1] - (at / size)[:, :, None] * step).transpose(2, 0, 1))
        is_outside = (low[:, None] > along[1:]) | (high[:, None] < along[:-1])
        piece = np.argmin(np.where(is_outside, np.inf, apart), axis=1)
        found: NDArray[np.float64] = along[piece] + at[np.arange(len(rows)), piece]
        return found

    def _pass(
        self,
        tick: Tick,
        rows: NDArray[np.int64],
        forward: NDArray[np.int64],
        here: NDArray[np.float64],
        reach: NDArray[np.float64],
    ) -> NDArray[np.bool_]:
        """Let agents do what the waypoints say that they have come to; return which go on along the line."""
        agents = self.gates.world.agents
        goes_on = np.ones(len(rows), dtype=np.bool_)
        while True:
            upcoming = agents.waypoint_next[rows]
            passes = goes_on & (forward * (self._at[upcoming] - here) <= reach)
            if not passes.any():
                return goes_on
            leaves = passes & (agents.gate_out[rows] - self._first == upcoming)
            self._leave(tick.number, rows[leaves])
            goes_on &= ~leaves
            for at in np.unique(upcoming[passes & ~leaves]).tolist():
                own = rows[passes & ~leaves & (upcoming == at)]
                what = self.waypath.what[at]
                if not np.isnan(what.speed):
                    agents.waypath_pace[own] = what.speed
                if what.crouch is not None:
                    agents.crouches[own] = what.crouch
                if what.wait > 0.0:
                    self.gates.stop(own, Wait.TIME)
                    agents.activity[own] = AgentState.WAITING
                    agents.waypath_until[own] = tick.number + ticks_of(what.wait, self._tick)
                    goes_on &= ~np.isin(rows, own)
            went = rows[passes & ~leaves]
            agents.waypoint_next[went] += forward[passes & ~leaves].astype(np.int32)

    def _leave(self, tick: int, rows: NDArray[np.int64]) -> None:
        """Let agents, (k,) rows, leave the line: they look for a path to their goals."""
        if not len(rows):
            return
        agents, gates = self.gates.world.agents, self.gates
        value = gates.value[agents.gate_out[rows]]
        gates.world.events.note(tick, EventKind.ALIGHTED, agents.entity[rows], agents.position[rows], value)
        walk_as_usual(agents, rows)
        let_go(agents, rows)
        ask_anew(agents, rows)
        forget_path(agents, rows)

    def _aim(
        self,
        tick: int,
        rows: NDArray[np.int64],
        forward: NDArray[np.int64],
        here: NDArray[np.float64],
        ahead: NDArray[np.float64],
    ) -> None:
        """Let agents go to a point of the line ahead of them, those that have come near to the last one."""
        agents, world = self.gates.world.agents, self.gates.world
        upcoming, last = agents.waypoint_next[rows], agents.gate_out[rows] - self._first
        # not beyond where they leave the line, or wait on it
        stop = np.where(
            forward > 0,
            np.minimum(last, self._waits_after[upcoming]),
            np.maximum(last, self._waits_before[upcoming]),
        )
        end = self._at[stop]
        want = np.where(
            forward > 0, np.minimum(here + NEXT * ahead, end), np.maximum(here - NEXT * ahead, end)
        )
        left = forward * (agents.waypath_aim[rows] - here)
        is_new = ((left < ahead) & (np.abs(want - agents.waypath_aim[rows]) > AT_SPOT_M)) | (
            agents.goal[rows] < world.destinations.fixed
        )
        rows, want = rows[is_new], want[is_new]
        if not len(rows):
            return
        agents.waypath_aim[rows] = want
        place = np.column_stack([np.interp(want, self.waypath.along, axis) for axis in self.waypath.line.T])
        self.aims.append((rows, place, np.full(len(rows), self.waypath.layer, dtype=np.int32)))

    def expected(self, ahead: int) -> float:
        """Return how long an agent waits: nobody does, s."""
        return 0.0

    def ride_s(self, begin: int, end: int) -> float:
        """Return how long it takes beside the walk, s."""
        return 0.0

    def walk_m(self, begin: int, end: int) -> float:
        """Return what the walk from one waypoint to another costs, in m of ground elsewhere."""
        return float(abs(self._at[end] - self._at[begin])) * self.waypath.factor

    def numbers(self) -> list[int]:
        """Return what lives in it: nothing."""
        return [0, 0, 0, 0, 0, 0]

    def take(self, numbers: list[int]) -> None:
        """Take back what `numbers` gave."""

    def check(self, saved: Saved, is_at: NDArray[np.bool_]) -> None:
        """Require that agents that are on the line, of those that are at connections, (n,) bool, come to a
        waypoint between those where they join it and leave it.
        """
        agents, gates = self.gates.world.agents, self.gates
        is_on = is_at & (gates.connection[agents.gate] == self.number) & ~np.isnan(agents.waypath_aim)
        ends = np.sort(np.stack([agents.gate, agents.gate_out]) - self._first, axis=0)
        is_between = (ends[0] <= agents.waypoint_next) & (agents.waypoint_next <= ends[1])
        saved.require(~is_on | is_between, "waypoint_next", "it does not come there on its part of the line")

    def bounds(self) -> tuple[list[int], list[int]]:
        """Return the least and greatest values of `numbers`."""
        return [0] * 6, [0] * 6


def send_along(tick: int, world: World, waypaths: Sequence[Along]) -> None:
    """Send agents of all waypaths to the points ahead of them, at once: planners hear of new goals once."""
    aims = [each for waypath in waypaths for each in waypath.aims]
    for waypath in waypaths:
        waypath.aims = []
    if not aims:
        return
    rows, place, layer = (np.concatenate(each) for each in zip(*aims, strict=True))
    order = np.argsort(rows)
    rows, bound = rows[order], world.agents.bound_for[rows[order]]
    points = Points(place[order], layer[order], np.full(len(rows), AT_SPOT_M))
    send(world, rows, world.set_points(points), tick, to_gate=True)
    world.agents.bound_for[rows] = bound


def walk_as_usual(agents: Any, rows: NDArray[np.int64]) -> None:
    """Let agents, (k,) rows, walk as they do away from all waypaths."""
    agents.waypath_pace[rows], agents.crouches[rows] = 1.0, 0
    agents.waypath_aim[rows], agents.waypath_until[rows] = np.nan, NEVER
    agents.waypath[rows] = agents.waypoint_next[rows] = -1


def leave_behind(tick: int, world: World, gates: Gates) -> None:
    """Let those walk as usual that were sent elsewhere while they were on a waypath."""
    agents = world.agents
    is_on = (agents.ride_step == RideStep.COMING) & gates.is_waypoint[agents.gate]
    rows = np.flatnonzero((agents.waypath >= 0) & ~is_on)
    if len(rows):
        value = np.array(
            [gates.value[gates.facts.first_gate[each]] for each in agents.waypath[rows].tolist()]
        )
        world.events.note(
            tick, EventKind.LEFT_GATE, agents.entity[rows], agents.position[rows],
            value + np.maximum(agents.waypoint_next[rows], 0),
        )  # fmt: skip
        walk_as_usual(agents, rows)
