"""A machine of one's own in Python: clerks share their work fairly, which no chain of states can say.

The states stand in the scenario; this class decides which comes next for those in the state `decide`: the
place at which the fewest have worked so far.
"""

from dataclasses import dataclass

import numpy as np

from crowdsim.saved import Saved
from crowdsim.systems import System, register
from crowdsim.systems.behave import Behave
from crowdsim.tunable import param


@register
class Shift(System):
    """Send clerks that are done to the place that was served least."""

    before = Behave
    reads = ("entity", "machine_state", "state_wish")
    writes = ("state_wish",)

    @dataclass(frozen=True)
    class Parameters:
        """What a scenario can set."""

        places: int = param(3, "", low=1, high=100, why="work at so many places: states work 1, work 2, ...")

    def __init__(self, world, states):
        super().__init__(world)
        self.states = states
        self.served = np.zeros(100, dtype=np.int64)

    @classmethod
    def from_setup(cls, setup):
        """Return the system with the numbers of the states by their names."""
        names = setup.scenario.behaviours.state_names
        return cls(setup.world, {name.split(": ")[1]: number for number, name in enumerate(names)})

    def process(self, tick):
        """Let those that are to decide go where the fewest were."""
        agents = self.world.agents
        for row in np.flatnonzero(agents.machine_state == self.states["decide"]).tolist():
            place = int(np.argmin(self.served[: self.parameters.places]))
            self.served[place] += 1
            agents.state_wish[row] = self.states[f"work {place + 1}"]

    def state(self):
        """Return what it keeps between ticks."""
        return {"served": self.served}

    def restore(self, state):
        """Take it back."""
        saved = Saved.of(state)
        self.served = saved.take("served", "i8", (100,), low=0, high=2**40).copy()
        saved.finish()
