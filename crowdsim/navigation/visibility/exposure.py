"""What a metre costs at points: more where watchers see it, and near points that are shunned.

For planners whose metres have one price in each polygon or cell; those over points of visibility know it
along lines (`crowdsim.navigation.visibility.weights`).
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.kernels.threads import Team
from crowdsim.navigation.mesh.mesh import NavMesh, is_in_sight
from crowdsim.navigation.mesh.watchers import Watchers


@lean_kernel
def count_watchers(start, stop, mesh, polygon, place, point, layer, seen):
    """Count the watchers that see the points of rows start..stop - 1.

    Parameters
    ----------
    start, stop : int
    mesh : NavMesh
    polygon : (w,) int64
    place : (w, 2) float64, m
        See `Watchers`.
    point : (n, 2) float64, m
    layer : (n,) int32
        Floors of the points.
    seen : (n,) int32
        Receives how many watchers see each.

    Notes
    -----
    Cost: some 40 ns for each polygon that a line of sight crosses. Twin: `tests/reference/exposure.py`.
    """
    for row in range(start, stop):
        seen[row] = 0
        for watcher in range(polygon.size):
            if is_in_sight(
                mesh, polygon[watcher], place[watcher, 0], place[watcher, 1], point[row, 0], point[row, 1],
                layer[row],
            ):  # fmt: skip
                seen[row] += 1


def prices_at(
    mesh: NavMesh,
    point: NDArray[np.float64],
    layer: NDArray[np.int32],
    watchers: Watchers,
    exposure: float,
    shunned: NDArray[np.float64],
    team: Team,
) -> NDArray[np.float64]:
    """Return what a metre costs at points, (n,) float64, >= 1.

    Parameters
    ----------
    mesh : NavMesh
    point : (n, 2) float64, m
    layer : (n,) int32
        Floors of the points.
    watchers : Watchers
    exposure : float
        What a metre costs more for each watcher that sees it.
    shunned : (m, 5) float64
        See `Weights`.
    team : Team
    """
    price, seen = np.ones(len(point)), np.zeros(len(point), dtype=np.int32)
    if len(watchers.polygon) and exposure > 0.0:
        team.run(count_watchers, len(point), mesh, *watchers, np.ascontiguousarray(point), layer, seen)
        price += exposure * seen
    for x, y, reach, cost, floor in shunned.tolist():
        share = ((point[:, 0] - x) ** 2 + (point[:, 1] - y) ** 2) / (reach * reach)
        price += np.where((layer == floor) | (floor < 0), cost * np.maximum(0.0, 1.0 - share), 0.0)
    return price
