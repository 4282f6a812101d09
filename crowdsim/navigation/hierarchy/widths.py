"""Widths for which the graph over areas is made: a layer of costs serves all agents up to one of them.

An agent is searched for with the next of them. Those that no gap of the ground tells apart do well with one:
where each gap lets both through or neither, their paths are the same. So there is a width every 1/8 m, and
where gaps lie between, widths that are those of the gaps. With the former alone agents of 0.76 m were sent
round all doors of 0.8 m.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.navigation.mesh.mesh import NavMesh

WIDTH_STEP_M = 0.125
WIDEST_M = 64.0  # Wider agents are searched for on all ground.
# Of the gaps in so much of width the narrowest and the widest count. Smaller makes more layers, and larger
# sends more agents round gaps that are hardly wider than they are.
GAPS_APART_M = 1.0 / 32.0


def find_widths(mesh: NavMesh) -> NDArray[np.float64]:
    """Return the widths, ascending, for which the graph over areas of a mesh can be made, (k,) m."""
    parts = round(WIDEST_M / GAPS_APART_M)
    narrowest, widest = np.full(parts, np.inf), np.full(parts, -np.inf)
    for gap in (mesh.edge_width[mesh.edge_twin >= 0], mesh.pair_width):
        within = gap[(gap > 0.0) & (gap < WIDEST_M)].astype(np.float64)
        part = (within / GAPS_APART_M).astype(np.int64)
        np.minimum.at(narrowest, part, within)
        np.maximum.at(widest, part, within)
    is_there = np.isfinite(narrowest)
    steps = WIDTH_STEP_M * np.arange(round(WIDEST_M / WIDTH_STEP_M))
    return np.unique(np.concatenate([steps, narrowest[is_there], widest[is_there]]))


def classes_of(widths: NDArray[np.float64], width: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return which of the `widths` agents of a width (m) are searched for with; as many as there are for
    those that are wider than all.
    """
    return np.searchsorted(widths, width).astype(np.int64)
