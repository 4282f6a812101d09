"""A system of one's own: agents tire while they walk, and rest while they are slow."""

from dataclasses import dataclass

import numpy as np

from crowdsim.geometry.lengths import hypots
from crowdsim.systems import System, register
from crowdsim.systems.gauge import Gauge
from crowdsim.tunable import param
from crowdsim.world.columns import AgentState, Column


@dataclass
class Rest:
    """Component of an agent that rests.

    Attributes
    ----------
    since : int, tick
    """

    since: int


@register
class Tire(System):
    """Slow agents down the more they have walked; one that is tired out rests for a while."""

    after = Gauge  # by then all agents prefer a velocity
    reads = ("entity", "activity", "velocity", "preferred_velocity", "fatigue")
    writes = ("preferred_velocity", "fatigue")
    counts = ("resting", "mean_fatigue")
    columns = (Column("fatigue", "float64", "", "0 is fresh, 1 is tired out", within=(0.0, 1.0)),)
    components = (Rest,)

    @dataclass(frozen=True)
    class Parameters:
        """What a scenario can set: `crowdsim parameters systems.Tire --plugin docs/examples/fatigue.py` shows
        it.
        """

        endurance: float = param(
            40.0,
            "m",
            above=0.0,
            high=1e5,
            why="path length after which an agent is tired out; larger lets all walk on",
        )
        rest: float = param(
            5.0, "s", above=0.0, high=1e4, why="how long it rests then; larger leaves more people standing"
        )

    def process(self, tick):
        """Count what was walked, let the tired rest, and slow the others down."""
        agents, own = self.world.agents, self.parameters
        walks = agents.activity == AgentState.WALKING
        length = hypots(agents.velocity[:, 0], agents.velocity[:, 1]) * tick.length
        agents.fatigue[walks] = np.minimum(1.0, agents.fatigue[walks] + length[walks] / own.endurance)
        resting = dict(self.world.query(Rest))
        for row in np.flatnonzero(walks & (agents.fatigue == 1.0)):
            entity = int(agents.entity[row])
            if entity not in resting:
                resting[entity] = Rest(tick.number)
                self.world.entities.add(entity, resting[entity])
        for entity, rest in resting.items():
            row = np.searchsorted(agents.entity, entity)
            if (tick.number - rest.since) * tick.length < own.rest:
                agents.preferred_velocity[row] = 0.0
            else:
                self.world.entities.remove(entity, Rest)
                agents.fatigue[row] = 0.5
        agents.preferred_velocity[walks] *= 1.0 - 0.5 * agents.fatigue[walks, None]
        tick.counts["resting"] = float(len(self.world.query(Rest)))
        tick.counts["mean_fatigue"] = float(agents.fatigue[walks].mean()) if walks.any() else 0.0
