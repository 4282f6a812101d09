"""BreakSymmetry: exact symmetries, and rings of agents that hold each other fast, are broken by a seeded
turn, and no agent is pushed far back by oncoming ones that get on; both are counted and recorded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.symmetry import SymmetryBreaker
from crowdsim.avoidance.symmetry_switch import SymmetrySwitch
from crowdsim.saved import MOST, Arrays, Saved
from crowdsim.systems.base.system import Setup, System, Tick
from crowdsim.world.events import EventKind
from crowdsim.world.states import WALKING
from crowdsim.world.world import World

_NONE: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


class BreakSymmetry(System):
    """Turn the preferred velocities of agents that a symmetry holds, slow down those that are pushed back,
    and say so.

    The velocities are those that `Avoid` shows to the models; `Walk` writes them anew.

    Parameters
    ----------
    world : World
    switch : SymmetrySwitch
    parameters : SymmetryBreaker.Parameters
    """

    reads = (
        "entity",
        "position",
        "velocity",
        "walked_velocity",
        "preferred_velocity",
        "activity",
        "blocker",
        "symmetry_draw",
    )
    writes = ("preferred_velocity", "velocity")
    counts = ("symmetry_exact", "symmetry_rings", "ground_held")

    def __init__(self, world: World, switch: SymmetrySwitch, parameters: SymmetryBreaker.Parameters) -> None:
        super().__init__(world)
        self.enabled = switch.enabled
        self._breaker = SymmetryBreaker(parameters)
        # Agents that were turned, or held their ground, in the last tick: an event is noted when that begins.
        self._last = self._held = _NONE

    @classmethod
    def from_setup(cls, setup: Setup) -> BreakSymmetry:
        """Make the system as the section `symmetry` asks for it."""
        symmetry = setup.scenario.symmetry
        return cls(
            setup.world, symmetry.parameters(SymmetrySwitch), symmetry.parameters(SymmetryBreaker.Parameters)
        )

    def process(self, tick: Tick) -> None:
        """Let the breaker look at all agents that walk."""
        agents = self.world.agents
        if not self.enabled:
            tick.counts.update(dict.fromkeys(self.counts, 0.0))
            return
        active = (agents.activity == WALKING).view(np.uint8)
        wanted = agents.preferred_velocity.copy()
        touched = np.empty(len(agents), dtype=np.uint8)
        turned = self._breaker.adjust(
            agents.entity, agents.position, agents.walked_velocity, wanted, active, agents.blocker,
            agents.symmetry_draw, tick.length, tick.team, agents.preferred_velocity, touched,
        )  # fmt: skip
        tick.counts["symmetry_exact"], tick.counts["symmetry_rings"] = (
            float(turned.exact),
            float(turned.mutual),
        )
        rows = (touched != 0).nonzero()[0] if turned.exact or turned.mutual else _NONE
        self._last = self._note(tick, EventKind.SYMMETRY_BROKEN, rows, self._last)
        holds = self._breaker.stand(agents.velocity, wanted, active, agents.blocker, tick.length, tick.team)
        tick.counts["ground_held"] = float(len(holds))
        self._held = self._note(tick, EventKind.GROUND_HELD, holds, self._held)

    def _note(
        self, tick: Tick, kind: EventKind, rows: NDArray[np.int64], last: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Note an event for agents of these rows, (k,), that were not among them in the last tick; return
        which these are.
        """
        agents = self.world.agents
        if not len(rows):
            return _NONE
        own, begins = agents.entity[rows], rows
        if len(last):  # both ascend
            begins = rows[last.take(last.searchsorted(own), mode="clip") != own]
        if len(begins):
            self.world.events.note(
                tick.number, kind, agents.entity[begins], agents.position[begins], agents.blocker[begins]
            )
        return own

    def state(self) -> dict[str, NDArray[Any]]:
        """Return for how long each was held, and which were turned or held their ground in the last tick."""
        return {
            **{f"breaker/{name}": array for name, array in self._breaker.state().items()},
            "last": self._last.copy(),
            "held": self._held.copy(),
        }

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` gave."""
        saved = Saved.of(state)
        self._last, self._held = (
            saved.take("last", "i8", low=1, high=MOST),
            saved.take("held", "i8", low=1, high=MOST),
        )
        self._breaker.restore(saved.below("breaker/"))
