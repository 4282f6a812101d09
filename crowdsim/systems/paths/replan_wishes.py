"""Wishes for a new path, which `crowdsim.systems.replan` grants."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.world.columns import AgentColumns, ReplanCause


def wish_to_replan(agents: AgentColumns, rows: NDArray[np.int64] | NDArray[np.bool_], cause: ReplanCause) -> None:
    """Note that agents want a new path to their goal.

    `Replan` grants the wish in its next turn to agents that walk and have a path, and to none sooner than a cooldown after its last path came. The
    latest cause is the one that is counted. A wish is forgotten when the agent gets a path for another reason, or stands.

    Parameters
    ----------
    agents : AgentColumns
    rows : (k,) int or (n,) bool
    cause : ReplanCause
    """
    agents.replan_wish[rows] = cause
