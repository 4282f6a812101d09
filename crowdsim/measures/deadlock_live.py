"""The present moment of a world that goes on, as a diagnosis of stuck agents takes it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crowdsim.measures.deadlock_causes import Moment
from crowdsim.measures.deadlock_places import Segments
from crowdsim.scenario.model import Goal
from crowdsim.world.world import World


def present_moment(
    world: World, tick: int, tick_length: float, goals: Sequence[Goal], people: int, is_stuck: NDArray[np.bool_], going_on: Sequence[int]
) -> Moment:
    """Return the moment at the end of a tick.

    Parameters
    ----------
    world : World
    tick : int
    tick_length : float, s
    goals : sequence of Goal
        Of the scenario.
    people : int
        How many agents the scenario has: entities above are obstacles.
    is_stuck : (n,) bool
    going_on : sequence of int
        Entities of obstacles that will yet go on; see `Drive.going_on`.
    """
    agents, walls = world.agents, world.walls
    return Moment(
        tick, tick_length, agents.entity, agents.position, agents.radius, agents.layer, agents.activity, agents.goal, agents.path_status, agents.path_tick,
        agents.preferred_velocity, agents.next_corner, agents.diagnosis, agents.blocker, is_stuck, agents.stuck_tick,
        Segments(walls.start, walls.end, walls.layer), goals, np.isin(agents.entity, np.array(going_on, dtype=np.int64)), people,
    )  # fmt: skip
