"""BreakSymmetry: exact symmetries, and rings of agents that hold each other fast, are broken by a seeded turn that is counted and recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.symmetry import UNTOUCHED, SymmetryBreaker
from crowdsim.systems.base import System, Tick
from crowdsim.tunable import param
from crowdsim.world.columns import AgentState
from crowdsim.world.events import EventKind
from crowdsim.world.world import World


@dataclass(frozen=True)
class SymmetrySwitch:
    """Whether symmetries are broken at all."""

    enabled: bool = param(
        True, "",
        why="off, a scene that is exactly symmetric stays so bit for bit, and people who meet head-on stop for good: for tests of models",
    )  # fmt: skip


class BreakSymmetry(System):
    """Turn the preferred velocities of those whom a symmetry holds, and say so (PEERS: declared, seeded, recorded).

    Parameters
    ----------
    world : World
    switch : SymmetrySwitch
    parameters : SymmetryBreaker.Parameters
    """

    reads = ("entity", "position", "velocity", "preferred_velocity", "activity", "is_driven", "blocker", "symmetry_draw")
    writes = ("preferred_velocity",)
    counts = ("symmetry_exact", "symmetry_rings")

    def __init__(self, world: World, switch: SymmetrySwitch, parameters: SymmetryBreaker.Parameters) -> None:
        super().__init__(world)
        self.enabled = switch.enabled
        self._breaker = SymmetryBreaker(parameters)
        self._last: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # who was turned in the last tick: an event is noted when a turn begins

    def process(self, tick: Tick) -> None:
        """Let the breaker look at everybody who walks."""
        agents = self.world.agents
        tick.counts["symmetry_exact"] = tick.counts["symmetry_rings"] = 0.0
        if not self.enabled:
            return
        active = (agents.activity == AgentState.WALKING).view(np.uint8)
        wanted = agents.preferred_velocity.copy()
        touched = np.empty(len(agents), dtype=np.uint8)
        turned = self._breaker.adjust(
            agents.entity, agents.position, agents.velocity, wanted, active, agents.blocker, agents.symmetry_draw, tick.length, tick.team,
            agents.preferred_velocity, touched,
        )  # fmt: skip
        tick.counts["symmetry_exact"], tick.counts["symmetry_rings"] = float(turned.exact), float(turned.mutual)
        rows = np.flatnonzero(touched != UNTOUCHED)
        begins = rows[~np.isin(agents.entity[rows], self._last)]
        self._last = agents.entity[rows].copy()
        self.world.events.note(tick.number, EventKind.SYMMETRY_BROKEN, agents.entity[begins], agents.position[begins], agents.blocker[begins])

    def state(self) -> dict[str, NDArray[Any]]:
        """Return who was held for how long, and who was turned in the last tick."""
        return {**{f"breaker/{name}": array for name, array in self._breaker.state().items()}, "last": self._last.copy()}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take back what `state()` gave."""
        self._last = state["last"].copy()
        self._breaker.restore({name[8:]: array for name, array in state.items() if name.startswith("breaker/")})
