"""Ride: agents wait at connections, go in, ride, and come out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.saved import MOST, Arrays, Saved
from crowdsim.systems.base.system import Setup, Tick, TickSystem, ticks_of
from crowdsim.systems.connections.gates import Gates
from crowdsim.systems.connections.jumps import JumpPortals
from crowdsim.systems.connections.lifts import Lift
from crowdsim.systems.connections.passages import Passage
from crowdsim.systems.connections.waypaths import Along, leave_behind, send_along
from crowdsim.systems.paths.lost_paths import LOST
from crowdsim.world.columns import AgentState
from crowdsim.world.riding import RIDING_COLUMNS, WAYPATH_COLUMNS, RideStep

RIDES = tuple(column.name for column in RIDING_COLUMNS if column.name != "lacks_key")
ON_WAYPATHS = tuple(column.name for column in WAYPATH_COLUMNS)
LOOK_S = 0.25  # How often those that wait look whether they stand at their places.


Carrier = Passage | Lift | Along


def carriers_of(setup: Setup, gates: Gates) -> list[Carrier]:
    """Return the connections of a scenario as they are at the beginning."""
    kinds: dict[str, type[Carrier]] = {"lift": Lift, "waypath": Along}
    return [
        kinds.get(each.kind, Passage)(each, number, gates, setup.scenario.tick)
        for number, each in enumerate(gates.facts.connections)
    ]


class Ride(TickSystem):
    """Let agents through connections.

    Those that wait stand at places of their own before a gate and go in by their turn. While they ride they
    are on no ground, and no other meets them. They come out where there is room.
    """

    reads = (
        "entity", "key", "activity", "goal", "position", "layer", "surface", "radius", "desired_speed",
        "path_status", "waits", "start_tick", "goal_piece", *RIDES, *ON_WAYPATHS,
    )  # fmt: skip
    writes = (
        "activity", "goal", "position", "tentative_position", "next_corner", "surface", "layer", "velocity",
        "preferred_velocity", "chosen_velocity", "walked_velocity", "counted_position", "progress_place",
        "progress_direction", "wall_distance", "corner_vertex", "guessed", "waits", "remaining",
        "is_yielding", "replan_wish", *LOST, *RIDES, *ON_WAYPATHS,
    )  # fmt: skip
    counts = ("riding", "waiting_at_connections")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._is_idle = setup.world.riding is None
        self.jumps: JumpPortals | None = None
        self.carriers: list[Carrier] = []
        if self._is_idle:
            return
        self._gates = Gates(setup)
        self.carriers = carriers_of(setup, self._gates)
        self._waypaths = [each for each in self.carriers if isinstance(each, Along)]
        self._look = max(1, ticks_of(LOOK_S, setup.scenario.tick))
        if setup.scenario.jumps is not None:
            self.jumps = JumpPortals(setup, self._gates)

    @property
    def is_idle(self) -> bool:
        """Whether there are no connections."""
        return self._is_idle

    def process(self, tick: Tick) -> None:
        """Let those wait that have come, and each connection go on by a tick."""
        tick.counts["riding"] = tick.counts["waiting_at_connections"] = 0.0
        if self._is_idle:
            return
        agents = self.world.agents
        self._gates.look_at_gates()
        if self.jumps is not None:
            self.jumps.close(tick.number)
        if self._waypaths:
            leave_behind(tick.number, self.world, self._gates)
        if np.any(agents.ride_step):
            self._gates.join(tick.number)
        at_one = agents.ride_step != RideStep.NONE
        in_use = set(np.unique(self._gates.connection[agents.gate[at_one]]).tolist())
        for number, carrier in enumerate(self.carriers):
            if number in in_use or isinstance(carrier, Lift):  # a lift goes on by itself
                carrier.serve(tick)
                carrier.carry(tick.number)
        if self._waypaths:
            send_along(tick.number, self.world, self._waypaths)
        if tick.number % self._look == 0:
            self._gates.look(tick.number)
        tick.counts["riding"] = self.count_of(agents.ride_step >= RideStep.RIDING)
        tick.counts["waiting_at_connections"] = self.count_of(agents.ride_step == RideStep.IN_LINE)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return where lifts are and which doors are open; all else stands in columns."""
        if self._is_idle:
            return {}
        return {"carriers": np.array([each.numbers() for each in self.carriers], dtype=np.int64)}

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave."""
        saved = Saved.of(state)
        if not self._is_idle:
            low, high = zip(*(each.bounds() for each in self.carriers), strict=True)
            numbers = saved.take(
                "carriers", "i8", (len(self.carriers), 6), low=np.array(low), high=np.array(high)
            )
            self._check(saved)
            for each, own in zip(self.carriers, numbers.tolist(), strict=True):
                each.take(own)
        saved.finish()

    def _check(self, saved: Saved) -> None:
        """Require that agents are at connections as they can be."""
        agents, gates = self.world.agents, self._gates
        gates.look_at_gates()  # portals lie where they lay
        step, at, to = agents.ride_step, agents.gate, agents.gate_out
        is_at = step != RideStep.NONE
        saved.require(is_at == (at >= 0), "gate", "an agent at a connection has a gate, and no other")
        saved.require(is_at == (to >= 0), "gate_out", "an agent at a connection has a gate, and no other")
        saved.require(
            ~is_at | (gates.connection[at] == gates.connection[to]),
            "gate_out",
            "belongs to another connection",
        )
        saved.require(
            (step >= RideStep.RIDING) == ((agents.activity == AgentState.RIDING) & ~self.world.drives()),
            "ride_step",
            "those that ride, and no others, are off the floor",
        )
        saved.require(
            (step != RideStep.IN_LINE) | (agents.gate_spot >= 0), "gate_spot", "one that waits has a place"
        )
        for waypath in self._waypaths:
            waypath.check(saved, is_at)
        places = np.array(
            [MOST if gate.moves_up else len(gate.spots) for gate in gates.gates], dtype=np.int64
        )
        saved.require(~is_at | (agents.gate_spot < places[at]), "gate_spot", "the gate has no such place")
        away = self.world.outside
        saved.require(
            not np.any(away["ride_step"]) and not np.any(away["gate"] >= 0),
            "carriers",
            "agents that are not in the world are at no connection",
        )
        for number, each in enumerate(gates.facts.connections):
            inside = np.count_nonzero(is_at & (step >= RideStep.RIDING) & (gates.connection[at] == number))
            saved.require(inside <= each.capacity, "ride_step", f"more ride than {each.name} takes")
