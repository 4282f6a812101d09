"""Which agents are stationary, in the way of others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.world.columns import AgentColumns, AgentState


def standing(agents: AgentColumns) -> NDArray[np.bool_]:
    """Return (n,) bool: agents that stand, for want of a goal or a path, or until their start;
    those that step aside do not.
    """
    stays = (agents.activity == AgentState.STANDING) | (agents.activity == AgentState.WAITING)
    return stays & (agents.is_yielding == 0) & (agents.is_driven == 0)
