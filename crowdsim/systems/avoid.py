"""Avoid: the avoidance model turns preferred velocities into safe ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.model import AvoidanceModel, Choice, CrowdView
from crowdsim.systems.base import System, Tick
from crowdsim.world.columns import AgentState, Diagnosis
from crowdsim.world.world import World


class Avoid(System):
    """Let the model choose a velocity for everyone who walks (SYSTEMS A1 to A5).

    Parameters
    ----------
    world : World
    model : AvoidanceModel
    """

    reads = (
        "entity", "position", "velocity", "preferred_velocity", "radius", "maximum_speed", "activity", "surface", "layer", "neighbour_reach", "is_driven",
    )
    writes = ("chosen_velocity", "diagnosis", "blocker", "neighbour_reach")
    counts = ("relaxed", "infeasible")

    def __init__(self, world: World, model: AvoidanceModel) -> None:
        super().__init__(world)
        self.model = model

    def process(self, tick: Tick) -> None:
        """Show the model the crowd, keep what it chose."""
        world, agents = self.world, self.world.agents
        assert tick.cells is not None, "Index runs before Avoid"
        active = ((agents.activity == AgentState.WALKING) | (agents.is_driven == 1)).view(np.uint8)
        view = CrowdView(
            agents.entity, agents.position, agents.velocity, agents.preferred_velocity, agents.radius, agents.maximum_speed, active, world.polygons(),
            agents.layer, tick.cells, world.walls, agents.neighbour_reach,
        )
        self.model.prepare(len(agents))
        counts = np.zeros((2, len(agents)), dtype=np.int32)
        choice = Choice(agents.chosen_velocity, agents.diagnosis, agents.blocker, counts[0], counts[1])
        self.model.choose(view, tick.length, tick.team, choice)
        tick.counts["relaxed"] = self.count_of(agents.diagnosis == Diagnosis.RELAXED)
        tick.counts["infeasible"] = self.count_of(agents.diagnosis == Diagnosis.INFEASIBLE)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what the model remembers."""
        return dict(self.model.state())

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take back what `state()` gave."""
        self.model.restore(state)
