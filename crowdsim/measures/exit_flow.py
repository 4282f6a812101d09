"""How many get through an exit in a second, for each metre of its width:
what shows first whether a crowd flows as people do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

# Specific flow of measured people through doors of 0.8 to 2 m, 1/(m s), rising with the width;
# docs/learn/models.md.
PEOPLE_PER_M_S = (1.2, 2.3)
LEAST_COUNTED = 20  # Arrivals in a row that make a flow: of fewer, chance decides.
_TOUCH_M = 1e-3  # Ground and exits lie on grids of micrometres; a gap of a millimetre between them is none.


def exit_width(ground: Any, area: Any) -> float:
    """Return how wide the openings are through which one comes from the ground into an exit.

    Parameters
    ----------
    ground : shapely Polygon or MultiPolygon
        Where one may walk, in plan.
    area : shapely Polygon or MultiPolygon
        The exit; it may reach beyond the ground.

    Returns
    -------
    float, m
        Where ground borders the exit from wall to wall, the straight distance between the walls; where an
        exit stands free, its circumference. 0 where no ground borders it. A door that stands before the exit
        is not looked for.
    """
    width = 0.0
    for line in openings_of(ground, area):
        if line.is_closed:
            width += float(line.length)
        else:
            first, last = np.asarray(line.coords[0]), np.asarray(line.coords[-1])
            width += float(np.hypot(*(last - first)))
    return width


def openings_of(ground: Any, area: Any) -> list[Any]:
    """Return the lines along which ground borders an exit, each from wall to wall,
    closed where it meets no wall; see `exit_width`.
    """
    border = shapely.difference(
        shapely.boundary(shapely.intersection(ground, area)),
        shapely.buffer(shapely.boundary(ground), _TOUCH_M),
    )
    found = []
    for line in shapely.get_parts(shapely.line_merge(border)):
        if line.geom_type == "LineString" and not line.is_empty:
            ends = [
                shapely.shortest_line(end, shapely.boundary(ground)).coords[-1]
                for end in (shapely.Point(line.coords[0]), shapely.Point(line.coords[-1]))
            ]
            found.append(
                line if line.is_closed else shapely.LineString([ends[0], *line.coords[1:-1], ends[1]])
            )
    return found


def busiest_flow(times: NDArray[np.float64]) -> float:
    """Return the flow in the time in which it was greatest over half of those that came.

    Parameters
    ----------
    times : (n,) float64, s
        When each came through.

    Returns
    -------
    float, 1/s
        (k - 1) over the shortest time in which k came, k being half of all but at least 20; NaN where fewer
        than 20 came, or all of them at once.
    """
    count = max(LEAST_COUNTED, -(-len(times) // 2))
    if len(times) < count:
        return float("nan")
    ordered = np.sort(times)
    shortest = float(np.min(ordered[count - 1 :] - ordered[: len(ordered) - count + 1]))
    return (count - 1) / shortest if shortest > 0.0 else float("nan")
