"""Places for agents where something appears: the nearest that leave them room."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.navigation.tiles.relocate import RAYS, STEP_OF_RADIUS
from crowdsim.scenario.shapes import circle_corners

# Beyond the far side of what appears. An agent without a free place so near stays, and contacts push as far
# as they can.
_FARTHEST_M = 4.0
_TOUCHING_M = 1e-6  # Closer to a wall by this is rounding.


def nearest_free(
    ground: Any, outline: Any, position: NDArray[np.float64], radius: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return for agents the nearest places on the ground that are clear of an outline.

    Parameters
    ----------
    ground : shapely Polygon or MultiPolygon, m
    outline : shapely Polygon, m
        Of what appears.
    position : (n, 2) float64, m
    radius : (n,) float64, m

    Returns
    -------
    (n, 2) float64, m
        Where nothing is found, the position itself. To each place a straight line leads on the ground,
        through what appears, but through no wall. Agents do not heed each other: those that are put on the
        same place are pushed apart later.
    """
    rays = circle_corners((0.0, 0.0), 1.0, RAYS)
    left, bottom, right, top = outline.bounds
    size = float(np.hypot(right - left, top - bottom))
    walls, found = ground.boundary, position.copy()
    for row, (here, own) in enumerate(zip(position, radius.tolist(), strict=True)):
        away = STEP_OF_RADIUS * own * np.arange(1, int((size + _FARTHEST_M) / (STEP_OF_RADIUS * own)) + 1)
        # nearest first, then in the order of the rays
        places = (here + away[:, None, None] * rays).reshape(-1, 2)
        points = shapely.points(places)
        is_free = (shapely.distance(points, outline) >= own) & (
            shapely.distance(points, walls) >= own - _TOUCHING_M
        )
        for place in places[is_free]:
            if shapely.covers(ground, shapely.LineString([here, place])):
                found[row] = place
                break
    return found
