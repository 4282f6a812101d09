"""Turn: each agent looks where it goes, and stands or walks."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.bodies.turn import HALF_TURN_RAD, TurnParameters, turn_headings
from crowdsim.geometry.directions import direction_at
from crowdsim.kernels.decorator import lean_kernel
from crowdsim.systems.base.system import Setup, Tick, TickSystem
from crowdsim.world.columns import Gait
from crowdsim.world.states import HELD, WALKING

WALK, STAND = np.uint8(Gait.WALK), np.uint8(Gait.STAND)


@lean_kernel
def find_gaits(start, stop, activity, is_yielding, is_driven, preferred_velocity, out):
    """Write WALK for agents of a range that want to get on by themselves, or as a program leads them, else
    STAND, (n,) uint8.

    All others are columns of agents. Twin: `tests/reference/rows.py`.
    """
    for row in range(np.uint64(start), np.uint64(stop)):
        wants = preferred_velocity[row, 0] != 0.0 or preferred_velocity[row, 1] != 0.0
        goes = activity[row] == WALKING or is_yielding[row] != 0 or is_driven[row] != 0
        out[row] = WALK if wants and goes and is_driven[row] != HELD else STAND


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
        tick.team.run(
            find_gaits, len(agents), agents.activity, agents.is_yielding, agents.is_driven,
            agents.preferred_velocity, agents.gait,
        )  # fmt: skip
        turn_x, turn_y = direction_at(min(HALF_TURN_RAD, float(self.parameters.rotation_speed) * tick.length))
        tick.team.run(
            turn_headings, len(agents), agents.velocity, agents.gait, agents.heading, turn_x, turn_y,
            agents.heading,
        )  # fmt: skip
        riding = self.world.riding
        if riding is not None and riding.has_waypaths:
            agents.gait[(agents.gait == Gait.WALK) & (agents.crouches == 1)] = Gait.CROUCH
