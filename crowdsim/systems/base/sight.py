"""Which agents are near each other, and which of those see each other."""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.navigation.mesh.mesh import see_many
from crowdsim.world.columns import AgentColumns
from crowdsim.world.world import World


def pairs_within(
    agents: AgentColumns, rows: NDArray[np.int64], others: NDArray[np.int64], distance: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of agents on one floor within a distance of each other.

    Parameters
    ----------
    agents : AgentColumns
    rows : (k,) int64
    others : (m,) int64
        Rows of those with which they are paired; none with itself.
    distance : float, m

    Returns
    -------
    first, second : (pairs,) int64
        Places in `rows`, ascending, and rows of others, ascending for each of these.
    """
    if not len(others) or not len(rows):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    tree = shapely.STRtree(shapely.points(agents.position[others]))
    first, second = tree.query(shapely.points(agents.position[rows]), predicate="dwithin", distance=distance)
    found = others[second]
    right = (rows[first] != found) & (agents.layer[rows[first]] == agents.layer[found])
    order = np.lexsort((found[right], first[right]))
    return first[right][order], found[right][order]


def in_sight(world: World, rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which agents, (k,) rows, see the others beside them, (k,) rows: no wall is between them."""
    agents, seen = world.agents, np.zeros(len(rows), dtype=np.bool_)
    see_many(
        rows, world.mesh, world.polygons(), agents.position, agents.position[others], agents.layer[others],
        seen,
    )  # fmt: skip
    return seen
