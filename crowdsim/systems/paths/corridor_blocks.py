"""Blocks in the store of corridors: larger ones for agents whose corridors grow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.planning.work import pieces
from crowdsim.world.world import World


def make_room(world: World, rows: NDArray[np.int64], portals: NDArray[np.int64]) -> None:
    """Give agents blocks that corridors of so many portals fit in; what is in those that are too small moves.

    Parameters
    ----------
    world : World
        Columns `corridor_start` and `corridor_capacity` and the store of corridors are written.
    rows : (k,) int64
    portals : (k,) int64
    """
    agents, store = world.agents, world.corridors
    need = store.capacities_for(portals)
    small = agents.corridor_capacity[rows] < need
    if not small.any():
        return
    mine = rows[small]
    length = agents.corridor_length[mine].astype(np.int64)
    # before others get the blocks that are given back
    corridors = pieces(store.portals, agents.corridor_start[mine], length)
    agents.corridor_start[mine] = store.exchange(
        agents.corridor_start[mine], agents.corridor_capacity[mine], need[small]
    )
    agents.corridor_capacity[mine] = need[small]
    store.fill(agents.corridor_start[mine], np.concatenate([[0], np.cumsum(length)]), corridors)
