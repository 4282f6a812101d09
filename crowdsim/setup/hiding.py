"""From which watchers the agents with a navigation hide, and what a metre costs them for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.threads import Team
from crowdsim.navigation.mesh.mesh import NavMesh, locate_many
from crowdsim.navigation.mesh.watchers import Watchers, place_watchers
from crowdsim.navigation.search.watching import WatchParameters
from crowdsim.navigation.visibility.exposure import prices_at
from crowdsim.navigation.visibility.weights import shunned_points
from crowdsim.scenario.model import Group
from crowdsim.scenario.parameters import Chosen


def hides(chosen: Chosen) -> bool:
    """Return whether a navigation hides from watchers, or shuns points."""
    return any(chosen.values.get(key) for key in ("unseen_from", "unseen_by", "shun"))


def watching_groups(groups: Sequence[Group], chosen: Chosen) -> NDArray[np.bool_] | None:
    """Return which groups are watchers for agents with a navigation, (groups,) bool; None where none is."""
    names = chosen.values.get("unseen_by", ())
    return np.array([group.name in names for group in groups], dtype=np.bool_) if names else None


def watchers_at(mesh: NavMesh, position: NDArray[np.float64], layer: NDArray[np.int32]) -> Watchers:
    """Return watchers at places, (w, 2) m, on floors, (w,); those off the ground see nothing."""
    polygon = np.empty(len(position), dtype=np.int64)
    locate_many(0, len(position), mesh, position, layer, polygon)
    return Watchers(polygon[polygon >= 0], np.ascontiguousarray(position[polygon >= 0]))


def metre_prices(
    mesh: NavMesh,
    first: NavMesh | None,
    chosen: Chosen,
    moving: Watchers,
    team: Team,
    point: NDArray[np.float64],
    layer: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Return what a metre costs at points for agents that hide, (n,) float64, >= 1.

    Parameters
    ----------
    mesh : NavMesh
        The ground as it is now, over which one sees.
    first : NavMesh or None
        The ground at the beginning, where that is another.
    chosen : Chosen
        The navigation.
    moving : Watchers
        Those that are agents, where they are now.
    team : Team
    point : (n, 2) float64, m
    layer : (n,) int32
        Floors of the points.

    Raises
    ------
    NavigationError
        If a watcher stood off the ground at the beginning.
    """
    said = chosen.parameters(WatchParameters)
    watchers = place_watchers(mesh, said.unseen_from, first).beside(moving)
    shunned = shunned_points(first or mesh, said.shun, said.shun_reach, said.shun_cost)
    return prices_at(mesh, point, layer, watchers, said.exposure, shunned, team)
