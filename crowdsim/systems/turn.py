"""Turn: each agent looks where it goes, and stands or walks."""

from __future__ import annotations

import numpy as np

from crowdsim.bodies.turn import HALF_TURN_RAD, TurnParameters, turn_headings
from crowdsim.geometry.directions import direction_at
from crowdsim.systems.base.system import Setup, Tick, TickSystem, on_their_way
from crowdsim.world.columns import Gait


class Turn(TickSystem):
    """Turn headings to where agents go, and set which stand and which walk.

    Nothing else depends on it: it is for pictures, and for readers of a run.
    """

    reads = (
        "activity",
        "is_yielding",
        "is_driven",
        "velocity",
        "preferred_velocity",
        "heading",
        "crouches",
        "gait",
    )
    writes = ("heading", "gait")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.parameters = setup.of_bodies(TurnParameters)

    def process(self, tick: Tick) -> None:
        """An agent with a preferred velocity walks, also where others block it; one that walks turns."""
        agents = self.world.agents
        wants = (agents.preferred_velocity[:, 0] != 0.0) | (agents.preferred_velocity[:, 1] != 0.0)
        agents.gait[:] = np.where(
            wants & (on_their_way(agents) | (agents.is_driven == 1)),
            np.uint8(Gait.WALK),
            np.uint8(Gait.STAND),
        )
        turn_x, turn_y = direction_at(min(HALF_TURN_RAD, float(self.parameters.rotation_speed) * tick.length))
        heading = np.empty((len(agents), 2))
        tick.team.run(
            turn_headings, len(agents), agents.velocity, agents.gait, agents.heading, turn_x, turn_y, heading
        )
        agents.heading[:] = heading
        riding = self.world.riding
        if riding is not None and riding.has_waypaths:
            agents.gait[(agents.gait == Gait.WALK) & (agents.crouches == 1)] = Gait.CROUCH
