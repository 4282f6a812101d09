"""Which agents stand about, in the way of others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.world.columns import AgentColumns, AgentState


def standing(agents: AgentColumns) -> NDArray[np.bool_]:
    """Return (n,) bool: who stands, for want of a goal, of a way, or of its time; those who step aside do not."""
    stays = (agents.activity == AgentState.STANDING) | (agents.activity == AgentState.WAITING)
    return stays & (agents.is_yielding == 0) & (agents.is_driven == 0)
