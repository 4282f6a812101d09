"""Jump: agents jump from where they stand to a point, and leave portals by which others follow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.saved import Saved
from crowdsim.scenario.behaviours import State
from crowdsim.systems.base.system import Tick
from crowdsim.systems.behaviour.actions import Action, Crew
from crowdsim.systems.connections.gates import Gates
from crowdsim.systems.connections.jumps import JumpPortals
from crowdsim.world.columns import Errand, Wait
from crowdsim.world.riding import RideStep

_TRIES, _FLIES, _LANDED = 0, 1, 2  # steps


class Jump(Action):
    """Jump to a point. Where it is too far, or there is no room for its body, that cannot be done; while
    another is in the air there, the agent waits.
    """

    looks = True

    def __init__(self, crew: Crew, states: dict[int, State]) -> None:
        super().__init__(crew, states)
        self._portals = JumpPortals(crew.setup, Gates(crew.setup))

    def begin(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Let them jump."""
        self.crew.errands.stop(rows, Wait.NOTHING)
        self.crew.agents.step[rows] = _TRIES
        self._try(tick, number, rows)

    def arrived(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Take no note: they go nowhere on foot."""
        self.crew.agents.errand[rows] = Errand.NONE

    def look(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        """Let those try again that could not."""
        self._try(tick, number, rows[self.crew.agents.step[rows] == _TRIES])

    def every_tick(self, tick: Tick) -> None:
        """Let those be done that have landed."""
        agents = self.crew.agents
        for number in self.states:
            landed = (agents.machine_state == number) & (agents.step == _FLIES)
            landed &= agents.ride_step == RideStep.NONE
            agents.step[landed], agents.errand[landed] = _LANDED, Errand.DONE

    def _try(self, tick: Tick, number: int, rows: NDArray[np.int64]) -> None:
        agents, portals = self.crew.agents, self._portals
        goal = self.crew.setup.scenario.goals[self.states[number].goals[0]]
        place = np.array(goal.point, dtype=np.float64)
        portals.gates.look_at_gates()
        for row in rows.tolist():
            agents.errand[row] = Errand.NONE
            if portals.why_not(row, place, goal.layer):
                agents.errand[row] = Errand.FAILED
            elif portals.leap(tick.number, row, place, goal.layer, tick.number + 1):
                agents.step[row] = _FLIES

    def check(self, saved: Saved, number: int, rows: NDArray[np.int64]) -> None:
        """Require that those in the air, and no others, are so by their step."""
        step = self.crew.agents.step[rows]
        saved.require((step >= _TRIES) & (step <= _LANDED), "step", "no agent that jumps has this step")
