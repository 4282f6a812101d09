"""KeepTogether: members of a party walk side by side or in a line, and wait for each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.bodies.party import IGNORED, PRESENT, REACH_M, WALKS, Member, Told, keep_together
from crowdsim.geometry.lengths import hypots
from crowdsim.scenario.model import Scenario
from crowdsim.setup.parties import parties_of
from crowdsim.systems.base.parties import PartyRows
from crowdsim.systems.base.system import Setup, Tick, TickSystem, shares_in_plan, ticks_of
from crowdsim.world.columns import AgentState, PathStatus, Wait
from crowdsim.world.riding import RideStep, RidingFacts

CLEAR_OF_GATE_M = 1.5  # So far from where a connection lets out members wait for others that still come.


class KeepTogether(TickSystem):
    """Change preferred velocities by where the other members of a party are, and say how fast members go at
    most to avoid others; without parties, do nothing.

    Members that are held because others lag wait by design, at most as long as their patience: then they go
    on alone until the others have come up. Those on their way to a connection do not wait: those that have
    come out wait for them on the other side. Nothing of it changes paths.
    """

    reads = (
        "entity", "group", "index", "party", "party_wait", "activity", "path_status", "goal", "stage",
        "is_driven", "ride_step", "gate", "position", "surface", "layer", "preferred_velocity", "remaining",
        "progress_place", "progress_direction", "desired_speed", "maximum_speed", "radius", "waits",
    )  # fmt: skip
    writes = ("preferred_velocity", "waits", "party_wait")
    counts = ("wait_for_party",)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        scenario = setup.scenario
        self._rules = _rules_of(scenario)
        self._leading = [  # groups in which the first of each party leads the others
            (number, parties)
            for number, group in enumerate(scenario.groups)
            if group.together is not None
            and group.together.leader
            and (parties := parties_of(scenario, group)) is not None
        ]
        self._rows = PartyRows()
        self._led = np.zeros(0, dtype=np.uint8)

    @property
    def is_idle(self) -> bool:
        """Whether no agents form parties."""
        return not self.world.has_parties

    def process(self, tick: Tick) -> None:
        """Find out which members walk, and change what they prefer."""
        tick.counts["wait_for_party"] = 0.0
        if self.is_idle:
            return
        world, agents = self.world, self.world.agents
        self._find()
        rows, first, label = self._rows.members, self._rows.first, self._rows.label
        if not len(rows):
            return
        wanted = agents.preferred_velocity.copy()
        state = np.zeros(len(agents), dtype=np.uint8)
        state[rows] = self._states(rows)
        held = np.zeros(len(agents), dtype=np.uint8)
        tick.limits = np.full(len(agents), np.inf)
        told = Told(agents.preferred_velocity, tick.limits, held, agents.party_wait)
        world.reach_walls(REACH_M)
        walls = world.walls
        moved = agents.position - agents.progress_place
        remaining = agents.remaining - np.sum(moved * agents.progress_direction, axis=1)
        pace = None if world.is_even else shares_in_plan(world, tick, wanted)
        member = Member(
            state, agents.position, wanted, remaining, agents.layer, agents.stage, agents.desired_speed,
            agents.maximum_speed, agents.radius, world.polygons(), agents.party_wait.copy(),
        )  # fmt: skip
        tick.team.run(
            keep_together, len(label), first, rows, self._led, self._outside(), member,
            self._rules[label[:, 0]],
            (walls.start, walls.end, walls.zone_start, walls.zone_wall), world.mesh, told, at_least=16,
        )  # fmt: skip
        if pace is not None:  # in another direction the slope is another
            walks = rows[state[rows] == WALKS]
            agents.preferred_velocity[walks] *= (
                shares_in_plan(world, tick, agents.preferred_velocity)[walks] / pace[walks]
            )[:, None]
        own = rows[(agents.waits[rows] == Wait.NOTHING) | (agents.waits[rows] == Wait.PARTY)]
        agents.waits[own] = np.where(held[own] == 1, np.uint8(Wait.PARTY), np.uint8(Wait.NOTHING))
        tick.counts["wait_for_party"] = self.count_of(held == 1)

    def _states(self, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return what members are to their parties, (k,)."""
        agents = self.world.agents
        speed = np.sum(agents.preferred_velocity[rows] * agents.preferred_velocity[rows], axis=1)
        free = (agents.is_driven[rows] == 0) & (agents.goal[rows] >= 0)
        walks = free & (agents.activity[rows] == AgentState.WALKING) & (speed > 0.0)
        walks &= agents.desired_speed[rows] > 0.0
        # what cannot get to its goal, and goes as near as it can, is waited for
        walks &= agents.path_status[rows] != PathStatus.NEAREST_REACHABLE
        there = free & (agents.activity[rows] <= AgentState.STANDING)
        state = np.where(walks, WALKS, np.where(there, PRESENT, IGNORED)).astype(np.uint8)
        riding = self.world.riding
        if riding is not None and np.any(agents.ride_step[rows]):
            self._at_connections(riding, rows, free, state)
        return state

    def _at_connections(
        self, riding: RidingFacts, rows: NDArray[np.int64], free: NDArray[np.bool_], state: NDArray[np.uint8]
    ) -> None:
        """Change what members, (k,) rows, are to parties of which some are at a connection or on their way
        there; (k,) bool are free to wait for others.

        Those go together as long as all still have the same gate before them, but do not wait for those that
        stand there already. Once some have come out, these wait for the others, beyond the gate.
        """
        agents = self.world.agents
        party = np.repeat(np.arange(len(self._rows.label)), np.diff(self._rows.first))
        step, gate, count = agents.ride_step[rows], agents.gate[rows], len(self._rows.label)
        at, walks = free & (step != RideStep.NONE), state == WALKS
        comes = walks & (step == RideStep.COMING)
        has_some, is_through = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
        has_some[party[at]] = True
        is_through[party[walks & ~at]] = True
        low, high = np.full(count, len(riding.gates)), np.full(count, -1)
        np.minimum.at(low, party[comes], gate[comes])
        np.maximum.at(high, party[comes], gate[comes])
        go_together = (low == high) & ~is_through
        state[at & ~comes] = IGNORED
        state[at & ~go_together[party]] = PRESENT
        out = np.flatnonzero(walks & ~at & has_some[party])
        state[out[self._is_near_gate(riding, rows[out])]] = PRESENT

    def _is_near_gate(self, riding: RidingFacts, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which members, (k,) rows, would be in the path of others that come out, (k,) bool."""
        agents, found = self.world.agents, np.zeros(len(rows), dtype=np.bool_)
        for gate in riding.gates:
            if riding.connections[gate.connection].waypath is not None:  # nobody comes out there
                continue
            reach = float(hypots(*(gate.triangles - gate.point).T).max(initial=0.0)) + CLEAR_OF_GATE_M
            away = hypots(*(agents.position[rows] - gate.point).T)
            found |= (away < reach) & ((gate.layer < 0) | (agents.layer[rows] == gate.layer))
        return found

    def _find(self) -> None:
        """Find the parties anew if agents have come or gone."""
        agents, parties = self.world.agents, self._rows
        if not parties.find(agents):
            return
        first = parties.first[:-1]
        self._led = np.zeros(len(first), dtype=np.uint8)
        for number, drawn in self._leading:
            own = np.flatnonzero(parties.label[:, 0] == number)
            index = agents.index[parties.members[first[own]]]
            self._led[own] = drawn.first_of(index) == index

    def _outside(self) -> NDArray[np.uint8]:
        """Return of which parties some are still to come in, (parties,)."""
        found = np.zeros(len(self._rows.label), dtype=np.uint8)
        waiting = self.world.parties_outside
        if waiting:
            known = zip(*self._rows.label.T.tolist(), strict=True)
            found[:] = [(int(group), int(party)) in waiting for group, party in known]
        return found


def _rules_of(scenario: Scenario) -> NDArray[np.float64]:
    """Return the rules of each group as the kernel takes them, (groups, 6)."""
    found = np.zeros((len(scenario.groups), 6))
    for row, group in zip(found, scenario.groups, strict=True):
        own = group.together
        if own is not None:
            patience = float(ticks_of(own.patience, scenario.tick))
            row[:] = (own.spacing, own.abreast, own.gap, patience, own.hurry, own.slower)
    return found
